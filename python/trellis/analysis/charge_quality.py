"""Whether fits of nucleon charges can be trusted: their p-value, their windows, and how far states die out.

The model has one excited state. Where the data have more, the first windows have a small p-value, or their
charges move when the fit begins later. Both are said in words; neither changes a number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .charge_fit import POOR_FIT, ChargeData, ChargeFit
from .charge_results import ChargeQuality

if TYPE_CHECKING:
    from .results import NucleonCharges

#: A charge that moves by more of its errors than this, or stretched errors beyond this, are warned about.
LARGE_DRIFT, LARGE_MISFIT = 3.0, 1.05
#: Share of the excited state at the last time slice from which errors are too small (howto/axial_charge.md).
LARGE_REMAINDER = 0.1
#: With less of the weight two-state fits decide nothing.
_HALF = 0.5


def charge_quality(data: ChargeData, fits: Sequence[ChargeFit], weights: NDArray) -> ChargeQuality:
    """What the fits and their weights in the average say."""
    best = fits[int(np.argmax(weights))]
    later = [fit for fit in fits if fit.states == best.states and fit.t_min > best.t_min]
    drift = {name: max((_apart(data, name, best, fit) for fit in later), default=0.0) for name in data.names}
    pairs = [(w, f) for w, f in zip(weights, fits, strict=True) if f.states == 2]
    remainder = None
    if sum(w for w, _ in pairs) > _HALF:
        total = sum(w * np.exp(-np.exp(fit.p["loggap"]) * data.t_max) for w, fit in pairs)
        remainder = float(total / sum(w for w, _ in pairs))
    return ChargeQuality(float(weights @ [fit.p_value for fit in fits]), drift, remainder)


def _apart(data: ChargeData, name: str, a: ChargeFit, b: ChargeFit) -> float:
    """Difference of a charge in two windows over its error; they share data, and priors pull both."""
    slope = a.correction * a.response[name] - b.correction * b.response[name]
    variance = slope @ data.covariance @ slope + (a.prior_error[name] - b.prior_error[name]) ** 2
    return float(abs(a.value[name] - b.value[name]) / np.sqrt(variance)) if variance > 0 else 0.0


def charge_warnings(record: NucleonCharges) -> list[str]:
    """In words, for the results and the report."""
    found = []
    if record.p_value is not None and (record.misfit > LARGE_MISFIT or record.p_value < POOR_FIT):
        found.append(
            f"nucleon charges: fits that do not describe the data (p < {POOR_FIT:g}) have weight in the "
            f"average, whose p-value is {record.p_value:.2g}; statistical errors are stretched by "
            f"{record.misfit:.2g}. The data may have more states than the fits: look at the windows, raise "
            "charges.t_min_first"
        )
    for name, drift in record.drift.items():
        if drift > LARGE_DRIFT:
            found.append(
                f"nucleon charges: g_{name} moves by {drift:.1f} of its errors when the fit begins later "
                "than in the window of largest weight: a further excited state is likely; raise "
                "charges.t_min_first"
            )
    if record.excited_at_end is not None and record.excited_at_end > LARGE_REMAINDER:
        found.append(
            f"nucleon charges: the excited state is still {100 * record.excited_at_end:.0f} % of its size at "
            "the last time slice of the fits: read the errors as too small by up to a half, vary "
            "charges.gap_prior, or take more time slices or better sources"
        )
    return found
