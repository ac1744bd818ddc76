"""This module judges fits of nucleon charges by p-values, fit windows and the decay of excited states.

Where the data have more states than the fits, the first windows have a small p-value, or their charges move
when the fit begins later. Where the data do not tell how far away the excited states are, the prior of the
gap does, and the charges move with it. All are said in words; none changes a number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..records.charge_results import ChargeQuality
from .charge_data import FitData
from .charge_fit import POOR_FIT, ChargeFit
from .link_smearing import SLICES_OFF, why_later

if TYPE_CHECKING:
    from ..records.charge_records import NucleonCharges

#: A charge that moves by more of its errors than this, or stretched errors beyond this, are warned about.
LARGE_DRIFT, LARGE_MISFIT = 3.0, 1.05
#: A larger share of the excited state at the last time slice makes errors too small (howto/axial_charge.md).
LARGE_REMAINDER = 0.1
#: This is the same share in the middle of the largest separation of fixed sinks. A third state changes the
#: charge by several errors from there on.
LARGE_REMAINDER_IN_THE_MIDDLE = 0.05
#: This is the same share, for the largest one that the likelihood allows at 95 %.
LARGE_REMAINDER_LIMIT = 0.15
#: A charge is warned about if it moves by more of its errors than this when the priors of the
#: gaps move by their widths.
LARGE_PRIOR_SHIFT = 0.3
#: Fewer independent configurations for a fitted point are warned about.
FEW_CONFIGURATIONS = 4.0
_AT_END = "at the last time slice of the fits"
_IN_THE_MIDDLE = "in the middle of the largest separation"
#: Two-state fits with a smaller part of the weight decide nothing.
_HALF = 0.5


def charge_quality(
    data: FitData, fits: Sequence[ChargeFit], weights: NDArray, errors: Mapping[str, float]
) -> ChargeQuality:
    """Judge the fits, each with its weight in the average; `errors` are the errors of the averages."""
    best = fits[int(np.argmax(weights))]
    later = [fit for fit in fits if fit.states == best.states and fit.t_min > best.t_min]
    drift = {name: max((_apart(data, name, best, fit) for fit in later), default=0.0) for name in data.names}
    pairs = [(w, f) for w, f in zip(weights, fits, strict=True) if f.states > 1]
    remainder = None
    if sum(w for w, _ in pairs) > _HALF:
        total = sum(w * np.exp(-np.exp(fit.p["loggap"]) * fit.farthest) for w, fit in pairs)
        remainder = float(total / sum(w for w, _ in pairs))
    shift = {name: float(weights @ [f.prior_shift[name] for f in fits]) / errors[name] for name in data.names}
    limits = [(w, f.remainder_limit) for w, f in zip(weights, fits, strict=True) if f.is_profiled]
    total = sum(w for w, _ in limits)
    limit = sum(w * x for w, x in limits) / total if total > _HALF else None
    return ChargeQuality(
        p_value=float(weights @ [fit.p_value for fit in fits]),
        drift=drift,
        excited_at_end=remainder,
        prior_shift=shift,
        excited_at_end_limit=limit,
        configurations_per_point=data.effective_count / len(data.rows(data.options.t_min_first)[1]),
    )


def _apart(data: FitData, name: str, a: ChargeFit, b: ChargeFit) -> float:
    """Return the difference of a charge in two windows over its error; they share
    data, and priors pull both.
    """
    slope = a.correction * a.response[name] - b.correction * b.response[name]
    variance = slope @ data.covariance @ slope + (a.prior_error[name] - b.prior_error[name]) ** 2
    return float(abs(a.value[name] - b.value[name]) / np.sqrt(variance)) if variance > 0 else 0.0


def charge_notes(record: NucleonCharges) -> list[str]:
    """Return remarks on the fits that a reader may want to know, in words."""
    found = []
    names = [name for fit in (record, *record.others.values()) for name in fit.dependent]
    if names:
        found.append(
            f"nucleon charges: N of {', '.join(names)} is on every configuration a function of C and the "
            "other currents (as that of the conserved vector current is t C): the fits follow it"
        )
    sinks = record.fixed_sink
    if sinks is not None and sinks.smeared_links is not None and sinks.t_min_first == SLICES_OFF:
        found.append(f"fixed sinks: {why_later(sinks.smeared_links)}")
    moving = [name for name, charge in record.three_point.items() if any(charge.sink_momentum)]
    if moving:
        n = record.three_point[moving[0]].sink_momentum
        found.append(
            f"fixed sinks: the nucleon has the momentum n = {n} at source and sink of {', '.join(moving)}: "
            "R = C3/C is formed with C at that momentum, and goes to <p|J|p>/(2 E), which for A is "
            "g_A [m + p_z^2/(E + m)]/E and for V g_V"
        )
    return found


def charge_warnings(record: NucleonCharges) -> list[str]:
    """Return warnings in words, for the results and the report."""
    found = _of_fit(record, "")
    for name, other in record.others.items():
        found += _of_fit(other, f" ({name.replace('_', ' ')})")
    if record.fixed_sink is not None:
        found += _of_fit(record.fixed_sink, " by fixed sinks", is_fixed_sink=True)
        for name, other in record.fixed_sink.others.items():
            found += _of_fit(other, f" by fixed sinks ({name.replace('_', ' ')})", is_fixed_sink=True)
        first = record.fixed_sink.t_min_first
        if record.fixed_sink.smeared_links is not None and first is not None and first < SLICES_OFF:
            found.append(
                f"nucleon charges by fixed sinks: windows begin at t = {first}, as asked for, on links that "
                f"are smeared in time ({record.fixed_sink.smeared_links}): the current reaches source and "
                f"sink there; without charges.t_min_first {SLICES_OFF} slices are kept"
            )
    for name, gap in record.fixed_sink_difference.items():
        if abs(gap.value) > LARGE_DRIFT * gap.error:
            found.append(
                f"nucleon charges: g_{name.replace('/', '/g_')} by fixed sinks differs from that by "
                f"Feynman-Hellmann by {gap.formatted}: the excited states of one of them are not described"
            )
    conserved = record.charges.get("V_conserved")
    if conserved is not None and abs(conserved.value - 1) > LARGE_DRIFT * conserved.error:
        found.append(
            f"nucleon charges: g_V of the conserved current is {conserved.formatted}, expected 1: its fits "
            "miss something, and so may those of the other currents"
        )
    below = record.charges.get("V") or conserved
    if record.g_a_over_g_v is not None and below is not None:
        if abs(below.value) < LARGE_DRIFT * below.error:
            found.append(
                f"nucleon charges: g_V = {below.formatted} is consistent with 0 within {LARGE_DRIFT:g} of "
                "its errors: g_A/g_V, 1/g_V and tau_n mean nothing, nor do their errors"
            )
    ratio, tau = record.g_a_over_g_v, record.tau_n
    if ratio is not None and tau is not None and abs(ratio.value) < ratio.error:
        found.append(
            f"nucleon charges: g_A/g_V = {ratio.formatted} is smaller than its error: that of tau_n = "
            f"{tau.formatted} s, to first order, vanishes where g_A/g_V does: do not read it"
        )
    return found


def _of_fit(record: NucleonCharges, which: str, *, is_fixed_sink: bool = False) -> list[str]:
    if record.p_value is None:
        return []
    quality = ChargeQuality(
        p_value=record.p_value,
        drift=record.drift,
        excited_at_end=record.excited_at_end,
        prior_shift=record.prior_shift,
        excited_at_end_limit=record.excited_at_end_limit,
        configurations_per_point=record.configurations_per_point or np.inf,
    )
    one_state = one_state_warning([w.states for w in record.windows], record.one_more_state)
    found = warnings_of(quality, record.misfit, is_fixed_sink=is_fixed_sink, has_excited_states=not one_state)
    found += one_state
    return [f"nucleon charges{which}: {words}" for words in found]


def one_state_warning(states: Sequence[int], more: Mapping[str, object]) -> list[str]:
    """Warn where the windows hold one state and `more` (one_more_state) has no charges of a second one."""
    if more or not states or max(states) > 1:
        return []
    return [
        "the windows are too short for two states: charges contain what is left of the excited states, and "
        "their errors do not: take more time slices or better sources"
    ]


def warnings_of(
    quality: ChargeQuality, misfit: float, *, is_fixed_sink: bool = False, has_excited_states: bool = True
) -> list[str]:
    """Return the warnings in words."""
    found = []
    if quality.configurations_per_point < FEW_CONFIGURATIONS:
        priors = (
            ", and the priors of the excited states are a large part of the errors, which are rather too "
            "large than too small"
        )
        found.append(
            f"{quality.configurations_per_point:.1f} independent configurations for a fitted point: the "
            f"correlations are shrunk{priors if has_excited_states else ''}: take more configurations"
        )
    if misfit > LARGE_MISFIT or quality.p_value < POOR_FIT:
        found.append(
            f"fits that do not describe the data (p < {POOR_FIT:g}) have weight in the "
            f"average, whose p-value is {quality.p_value:.2g}; statistical errors are stretched by "
            f"{misfit:.2g}. The data may have more states than the fits: look at the windows, raise "
            "charges.t_min_first"
        )
    for name, drift in quality.drift.items():
        if drift > LARGE_DRIFT:
            found.append(
                f"g_{name} moves by {drift:.1f} of its errors when the fit begins later "
                "than in the window of largest weight: a further excited state is likely; raise "
                "charges.t_min_first"
            )
    largest = LARGE_REMAINDER_IN_THE_MIDDLE if is_fixed_sink else LARGE_REMAINDER
    if quality.excited_at_end is not None and quality.excited_at_end > largest and is_fixed_sink:
        found.append(
            f"{100 * quality.excited_at_end:.0f} % of the excited state are left {_IN_THE_MIDDLE}: what "
            "the fit takes away is right if the data have no more states than the fit; with one more, "
            "charges can be wrong by several of their errors: take larger separations, look at one_more_state"
        )
    elif quality.excited_at_end is not None and quality.excited_at_end > largest:
        found.append(
            f"the excited state is still {100 * quality.excited_at_end:.0f} % of its size at "
            "the last time slice of the fits: read the errors as too small by up to a half, vary "
            "charges.gap_prior, or take more time slices or better sources"
        )
    elif quality.excited_at_end_limit is not None and quality.excited_at_end_limit > LARGE_REMAINDER_LIMIT:
        found.append(
            f"the data allow (95 %) that {100 * quality.excited_at_end_limit:.0f} % of an excited state are "
            f"left {_IN_THE_MIDDLE if is_fixed_sink else _AT_END}: charges can be "
            "wrong by more than their errors; take more time slices or better sources"
        )
    moved = {name: shift for name, shift in quality.prior_shift.items() if shift > LARGE_PRIOR_SHIFT}
    if moved:
        said = ", ".join(f"g_{name} by {shift:.1f}" for name, shift in moved.items())
        found.append(
            "the data do not tell how far away the excited states are: when the priors of the gaps move by "
            f"their widths, charges move ({said} of their errors): vary charges.gap_prior, or take more time "
            "slices or better sources"
        )
    return found
