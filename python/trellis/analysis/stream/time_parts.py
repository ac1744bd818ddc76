"""The time of trajectories has parts; each has a share and a speed, compared with the machine's."""

from __future__ import annotations

import numpy as np

from ..records.measurements import Measurements, ObservableSeries
from ..records.results import AutocorrelationResult, PartResult

_PREFIX = "seconds."


def part_results(
    measurements: Measurements, observables: dict[str, AutocorrelationResult]
) -> dict[str, PartResult]:
    """Return the parts of a trajectory, the longest first, then "other": what no part accounts for.

    Parameters
    ----------
    observables
        The series have errors of their means here.
    """
    whole = measurements.observables.get("seconds")
    parts = {
        name.removeprefix(_PREFIX): series
        for name, series in measurements.observables.items()
        if name.startswith(_PREFIX)
    }
    if whole is None or not parts or not np.sum(whole.values) > 0:
        return {}
    mean = float(np.mean(whole.values))
    found = {name: _part(name, series, mean, measurements, observables) for name, series in parts.items()}
    found = dict(sorted(found.items(), key=lambda item: -item[1].seconds))
    rest = max(mean - sum(part.seconds for part in found.values()), 0.0)
    return found | {"other": PartResult(seconds=rest, share=rest / mean)}


def _part(
    name: str,
    series: ObservableSeries,
    whole: float,
    measurements: Measurements,
    observables: dict[str, AutocorrelationResult],
) -> PartResult:
    seconds = float(np.mean(series.values))
    errors = observables.get(f"{_PREFIX}{name}")
    result = PartResult(
        seconds=seconds, seconds_error=errors.error if errors else None, share=seconds / whole
    )
    keys = ("flops", "bytes", "roof_seconds")
    work = [w for w in (measurements.work.get(f"{name}.{key}") for key in keys) if w is not None]
    if len(work) < len(keys):
        return result
    numbers = work[0].trajectories
    recorded = np.isfinite([w.values for w in work]).all(axis=0) & np.isin(numbers, series.trajectories)
    taken = float(np.sum(series.values[np.isin(series.trajectories, numbers[recorded])]))
    if taken > 0:
        flops, moved, roof = (float(np.sum(w.values[recorded])) / taken for w in work)
        result.gflops, result.gbytes_per_second, result.fraction_of_roof = flops * 1e-9, moved * 1e-9, roof
    return result
