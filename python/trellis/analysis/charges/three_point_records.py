"""This module makes records of the ratios of three-point functions to C at the momentum of their sink."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ..records.charge_records import ThreePointRecord
from ..records.errors import AnalysisError
from ..records.measurements import CorrelatorData
from ..records.momenta import AT_REST, Momentum, at_momentum
from ..records.options import AnalysisOptions
from ..records.record import Series
from ..statistics.zero_times import missing_times, of_zeros
from .three_point import Sampled, ThreePointCharge, three_point_charge


def charges_at_sinks(
    nucleon: CorrelatorData,
    inserted: dict[str, dict[int, NDArray]],
    sinks: dict[str, dict[int, Momentum]],
    prepared: Callable[[NDArray], NDArray],
    trajectories: NDArray,
    options: AnalysisOptions,
) -> tuple[dict[str, ThreePointCharge], dict[str, str]]:
    """Return the ratios of every charge to C at the momentum of its sink, and why others have none.

    Parameters
    ----------
    inserted, sinks
        Charge -> separation -> C3(t, tau), binned, shape [configuration, time]; and momentum of the sink.
    prepared
        C as it was read -> with the sign and in the bins of `inserted`.
    trajectories
        Numbers of the bins.
    """
    found: dict[str, ThreePointCharge] = {}
    reasons: dict[str, str] = {}
    for name, by_separation in inserted.items():
        key = f"three-point functions of {name}"
        momenta = sorted(set(sinks[name].values()))
        if any(np.ptp(C3, axis=0).max() == 0 for C3 in by_separation.values()):
            reasons[key] = "expected configurations that differ, found equal ones"
            continue
        zeros = {t: missing_times(C3[:, :t], to_the_end=True) for t, C3 in by_separation.items()}
        t, times = next(((t, times) for t, times in zeros.items() if times), (0, []))
        if times:
            reasons[key] = f"separation {t}: {of_zeros(times, len(by_separation[t]))}"
            continue
        if len(momenta) > 1:
            reasons[key] = (
                "expected one momentum of the sink at all separations, found "
                f"{', '.join(str(list(n)) for n in momenta)}"
            )
            continue
        try:
            C = at_momentum(nucleon, momenta[0])
        except AnalysisError as error:
            reasons[key] = (
                f"the nucleon at the sink has the momentum {list(momenta[0])}, and R needs C(t) at that "
                f"momentum: {error} (correlators.max_momentum_squared of the run file)"
            )
            continue
        found[name] = three_point_charge(
            prepared(C),
            by_separation,
            trajectories=trajectories,
            autocorrelations=options.autocorrelation,
        )
    return found, reasons


def three_point_record(charge: ThreePointCharge, sink_momentum: Momentum = AT_REST) -> ThreePointRecord:
    """Return plain numbers."""
    times = charge.separations
    centres = [(a + b) / 2 for a, b in pairwise(times)]
    return ThreePointRecord(
        separations=times,
        ratio=[
            _series(np.arange(t + 1) - t / 2, ratio) for t, ratio in zip(times, charge.ratio, strict=True)
        ],
        midpoint=_series(times, charge.midpoint),
        slope=None if charge.slope is None else _series(centres, charge.slope),
        sink_momentum=list(sink_momentum),
    )


def three_point_ratio(charges: dict[str, ThreePointCharge]) -> Series | None:
    """Return g_A / g_V of the midpoints at the separations that both have."""
    if not {"A", "V"} <= set(charges):
        return None
    a, v = charges["A"], charges["V"]
    common = [t for t in a.separations if t in v.separations]
    if not common:
        return None
    of_a, of_v = ([c.separations.index(t) for t in common] for c in (a, v))
    A = a.midpoint.of(a.midpoint.value[of_a], a.midpoint.influence[:, of_a])
    V = v.midpoint.of(v.midpoint.value[of_v], v.midpoint.influence[:, of_v])
    return _series(common, A.over(V))


def _series(x, found: Sampled) -> Series:
    return Series(x=[float(t) for t in x], value=found.value.tolist(), error=found.error.tolist())
