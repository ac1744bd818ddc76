"""This module has charges from three-point functions with a fixed sink.

They stand beside those of the Feynman-Hellmann method.

    R(t, tau) = C3(t, tau) / C(t)  ->  g + b [exp(-gap tau) + exp(-gap (t - tau))] + c exp(-gap t)

in the middle of a large separation t. The results have R at tau = t/2 (the mean of the two middle slices for
an odd t) for every separation, and the summation method's slopes, S(t) = sum_{tau=1}^{t-1} R(t, tau),
[S(t') - S(t)] / (t' - t) -> g + O(exp(-gap t)) (L. Maiani et al., Nucl. Phys. B 293 (1987) 420). Nothing is
extrapolated to infinite t: fixed_sink.py has the fits. Errors are linear responses to the configurations,
each with the 2 tau_int of its own quantity where it counts, as the option `autocorrelation` says
(options.py).

Without momentum transfer a nucleon that moves at the sink moves at the source too: C is then C(t) at the
momentum p of the sink, and R goes to the matrix element <p|J|p>/(2 E) in the place of the charge: g_V for V4,
g_A [m + p_3^2/(E + m)]/E for A3, from u^dagger u = 2 E and the spin s^3 = 1 + p_3^2/(m (E + m)) of a state
that is polarised along z in its rest frame.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..records.errors import AnalysisError
from ..records.measurements import Measurements
from ..records.momenta import AT_REST, Momentum, at_rest
from ..statistics.autocorrelation import error_factor

#: The current of a dataset fh_CURRENT_UU or three_point_CURRENT_tTT has this charge; others keep their names.
CHARGE_OF_CURRENT = {
    "A3": "A",
    "V4": "V",
    "S": "S",
    "T12": "T",
    "A3_conserved": "A_conserved",
    "V4_conserved": "V_conserved",
}
_NAME = re.compile(r"three_point_(?P<current>\w+?)_t(?P<separation>\d+)(?P<flavour>_UU|_DD)?")


@dataclass(frozen=True)
class Sampled:
    """These are means with the influence of each configuration on them, shape [configuration, ...].

    Attributes
    ----------
    trajectories, autocorrelations
        Numbers of the configurations, and AnalysisOptions.autocorrelation.
    """

    value: NDArray
    influence: NDArray
    trajectories: NDArray
    autocorrelations: Literal["auto", "gamma", "none"] = "auto"

    @property
    def naive_error(self) -> NDArray:
        """Return the statistical errors that hold if the configurations are independent."""
        n = len(self.influence)
        return np.sqrt((self.influence**2).sum(axis=0) / (n * (n - 1)))

    @property
    def error(self) -> NDArray:
        """Return the errors with the 2 tau_int of each quantity where it counts."""
        columns = self.influence.reshape(len(self.influence), -1).T
        factors = [error_factor(c, self.trajectories, self.autocorrelations)[0] for c in columns]
        return self.naive_error * np.sqrt(factors).reshape(self.value.shape)

    def over(self, other: Sampled) -> Sampled:
        """Return the ratio of two, with their correlation."""
        ratio = self.value / other.value
        return self.of(ratio, (self.influence - other.influence * ratio) / other.value)

    def of(self, value: NDArray, influence: NDArray) -> Sampled:
        """Return another quantity on the same configurations."""
        return Sampled(value, influence, self.trajectories, self.autocorrelations)


@dataclass(frozen=True)
class ThreePointCharge:
    """This is one bare charge.

    Attributes
    ----------
    separations
        t, ascending.
    ratio
        R(t, tau) for tau = 0 ... t, one for each separation.
    midpoint
        R(t, t/2) for each separation.
    slope
        The slope of the summed ratio between neighbouring separations; None with one separation.
    """

    separations: list[int]
    ratio: list[Sampled]
    midpoint: Sampled
    slope: Sampled | None


def three_point_functions(measurements: Measurements) -> dict[str, dict[int, NDArray]]:
    """Return isovector C3 at zero momentum transfer by charge and separation.

    Each is real, shape [configuration, time].
    """
    found: dict[str, dict[int, NDArray]] = {}
    for name, data in measurements.correlators.items():
        match = _NAME.fullmatch(name)
        if match is None:
            continue
        if match["flavour"] == "_DD":
            _require_other(measurements, name, "_DD", "_UU")
            continue
        separation, extent = int(match["separation"]), data.values.shape[2]
        if not 1 <= separation < extent:
            raise AnalysisError(f"{name}: expected a separation in 1..{extent - 1}, found {separation}")
        values = at_rest(data)
        if match["flavour"] == "_UU":
            other = _require_other(measurements, name, "_UU", "_DD")
            values = values - at_rest(measurements.correlators[other])
        charge = CHARGE_OF_CURRENT.get(match["current"], match["current"])
        by_separation = found.setdefault(charge, {})
        if separation in by_separation:
            raise AnalysisError(f"{name}: expected current and separation once, found them again")
        by_separation[separation] = values
    return found


def sink_momenta(measurements: Measurements) -> dict[str, dict[int, Momentum]]:
    """Return the nucleon's momentum n at the sink of :func:`three_point_functions`, by charge and separation.

    Raises
    ------
    AnalysisError
        An attribute sink_momentum is not three whole numbers, or the other flavour has another one.
    """
    found: dict[str, dict[int, Momentum]] = {}
    for name, data in measurements.correlators.items():
        match = _NAME.fullmatch(name)
        if match is None:
            continue
        n = np.ravel(data.attributes.get("sink_momentum", AT_REST))
        if n.shape != (3,) or n.dtype.kind not in "iuf" or np.any(n != np.round(n)):
            raise AnalysisError(f"{name}: sink_momentum: expected three whole numbers, found {n.tolist()}")
        momentum: Momentum = (int(n[0]), int(n[1]), int(n[2]))
        charge = CHARGE_OF_CURRENT.get(match["current"], match["current"])
        other = found.setdefault(charge, {}).setdefault(int(match["separation"]), momentum)
        if other != momentum:
            raise AnalysisError(
                f"{name}: expected the sink_momentum {list(other)} of the other flavour, found "
                f"{list(momentum)}"
            )
    return found


def _require_other(measurements: Measurements, name: str, flavour: str, other_flavour: str) -> str:
    other = name.removesuffix(flavour) + other_flavour
    if other not in measurements.correlators:
        raise AnalysisError(f"{name}: expected {other} beside it, found nothing")
    return other


def three_point_charge(
    two_point: NDArray,
    three_point: dict[int, NDArray],
    *,
    trajectories: NDArray | None = None,
    autocorrelations: Literal["auto", "gamma", "none"] = "auto",
) -> ThreePointCharge:
    """Return ratios, midpoints and slopes of one charge.

    Parameters
    ----------
    two_point
        C(t) at the momentum that the nucleon has at the sink, real, shape [configuration, time].
    three_point
        Separation -> C3(t, tau), real, shape [configuration, time].
    trajectories
        Numbers of the configurations; default 0, 1, 2, ...
    autocorrelations
        The choice of AnalysisOptions.autocorrelation.

    Raises
    ------
    AnalysisError
        The shapes do not fit, or there are fewer than two configurations.
    """
    if len(two_point) < 2:
        raise AnalysisError(f"three-point functions: expected 2 configurations, found {len(two_point)}")
    if trajectories is None:
        trajectories = np.arange(len(two_point))
    C = Sampled(two_point.mean(axis=0), two_point - two_point.mean(axis=0), trajectories, autocorrelations)
    separations = sorted(three_point)
    ratios, middles, sums = [], [], []
    for t in separations:
        C3 = three_point[t]
        if C3.shape != two_point.shape:
            raise AnalysisError(f"separation {t}: expected shape {two_point.shape}, found {C3.shape}")
        inserted = C3[:, : t + 1]
        ratio = C.of(inserted.mean(axis=0), inserted - inserted.mean(axis=0)).over(
            C.of(C.value[t : t + 1], C.influence[:, t : t + 1])
        )
        ratios.append(ratio)
        middle = np.zeros(t + 1)
        middle[[t // 2, (t + 1) // 2]] = 1.0 if t % 2 == 0 else 0.5
        inside = np.zeros(t + 1)
        inside[1:t] = 1.0
        middles.append((middle @ ratio.value, ratio.influence @ middle))
        sums.append((inside @ ratio.value, ratio.influence @ inside))
    midpoint = C.of(np.array([m for m, _ in middles]), np.array([i for _, i in middles]).T)
    slope = None
    if len(separations) > 1:
        steps = np.diff(separations)
        value = np.diff([s for s, _ in sums]) / steps
        slope = C.of(value, np.diff(np.array([i for _, i in sums]).T, axis=1) / steps)
    return ThreePointCharge(separations, ratios, midpoint, slope)
