"""A run needs a person beyond these limits; sentences say so."""

from __future__ import annotations

import math
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..ground.byte_counts import show_bytes

#: The alarms look back over the first number of trajectories; the acceptance needs at
#: least the second number.
LOOK_BACK, _LEAST_ACCEPTANCE = 50, 10
#: A run below this share of accepted trajectories wastes most of its time.
_LOW_ACCEPTANCE = 0.5
#: A trajectory with a larger violation is practically never accepted.
_LARGE_VIOLATION = 10.0
#: <exp(-dH)> needs this many trajectories, and so many errors from 1 are no chance.
_LEAST_CREUTZ, _CREUTZ_ERRORS = 20, 4.0
#: A solve may end at this multiple of its tolerance: residuals are recomputed at the end.
_RESIDUAL_SLACK = 2.0
#: A run that still holds its lock may hang after this many paces of silence, and at least so many seconds.
_SILENT_PACES, _SILENT_SECONDS = 20.0, 600.0
#: A disk has to have at least this many bytes left.
_LEAST_FREE = 1 << 28


def acceptance(accepted: Sequence[float]) -> list[str]:
    """Return alarms about the trajectories after the thermalisation; the newest one is the last."""
    last = list(accepted)[-LOOK_BACK:]
    if len(last) < _LEAST_ACCEPTANCE:
        return []
    share = float(np.mean(last))
    if share >= _LOW_ACCEPTANCE:
        return []
    return [
        f"acceptance: {100 * share:.0f} % of the last {len(last)} trajectories, expected at least "
        f"{100 * _LOW_ACCEPTANCE:.0f} %: raise the steps of [[integrator]] (trellis generate --tune proposes "
        "them)"
    ]


def energy_violation(numbers: Sequence[int], dH: Sequence[float]) -> list[str]:
    """Return alarms about dH after the thermalisation, and about <exp(-dH)> = 1 (M. Creutz 1988)."""
    found = []
    newest = list(zip(numbers, dH, strict=True))[-LOOK_BACK:]
    bad = [(n, x) for n, x in newest if not math.isfinite(x) or x > _LARGE_VIOLATION]
    if bad:
        number, value = bad[-1]
        more = f" ({len(bad)} of the last {len(newest)} trajectories)" if len(bad) > 1 else ""
        found.append(f"dH = {value:.3g} in trajectory {number} is above {_LARGE_VIOLATION:g}{more}")
    weights = np.exp(-np.asarray([x for x in dH if math.isfinite(x)], dtype=float).clip(-700, 700))
    if len(weights) >= _LEAST_CREUTZ:
        error = float(weights.std(ddof=1) / math.sqrt(len(weights)))
        away = abs(float(weights.mean()) - 1)
        if error > 0 and away > _CREUTZ_ERRORS * error:
            found.append(
                f"<exp(-dH)> = {weights.mean():.4g} +- {error:.2g} is {away / error:.2g} errors from 1: "
                "residuals of the solves may be too large, or the run is not thermalised"
            )
    return found


def residuals(found: Sequence[float], tolerance: float | None) -> list[str]:
    """Return alarms about solves whose true residual is above the tolerance of the run file."""
    bad = [r for r in found if not math.isfinite(r) or (tolerance and r > _RESIDUAL_SLACK * tolerance)]
    if not bad:
        return []
    asked = "a finite number" if tolerance is None else f"{tolerance:g}"
    return [f"residuals: {len(bad)} of {len(found)} solves missed {asked}; the largest is {max(bad):.2g}"]


def disk(folder: Path, each: float, left: int | None) -> list[str]:
    """Return alarms about the disk of a folder.

    Parameters
    ----------
    each
        Bytes of each further file.
    left
        So many more are written; None: nobody knows.
    """
    try:
        free = shutil.disk_usage(folder).free
    except OSError:
        return []
    if left and each * left > free:
        return [
            f"disk: {left} more files need {show_bytes(each * left)}, and {show_bytes(free)} are free in "
            f"{folder}"
        ]
    least = max(3 * each, _LEAST_FREE)
    return [f"disk: {show_bytes(free)} are free in {folder}"] if free < least else []


def silence(age: float | None, pace: float | None) -> list[str]:
    """Return alarms about a run that holds its lock and writes nothing.

    Parameters
    ----------
    age
        Seconds since it last wrote.
    pace
        Seconds between two writes so far.
    """
    limit = max(_SILENT_SECONDS, _SILENT_PACES * (pace or 0.0))
    if age is None or age < limit:
        return []
    return [f"silence: nothing was written for {age / 60:.0f} minutes; the run may hang"]
