"""An effective mass is the energy that a single state needs between neighbouring time slices.

All functions take arrays of floats or of gvars and return the same; they give NaN where
no real solution exists.
"""

from __future__ import annotations

import gvar as gv
import numpy as np
from scipy.optimize import brentq


def log_effective_mass(correlator) -> np.ndarray:
    """Return m(t + 1/2) = ln C(t) / C(t + 1), shape [time - 1]."""
    correlator = np.asarray(correlator)
    means = gv.mean(correlator) if correlator.dtype == object else correlator
    result = np.full(len(correlator) - 1, np.nan, dtype=correlator.dtype)
    for t in range(len(result)):
        if means[t] * means[t + 1] > 0:
            result[t] = np.log(correlator[t] / correlator[t + 1])
    return result


def arccosh_effective_mass(correlator) -> np.ndarray:
    """Return m(t) = arccosh [C(t - 1) + C(t + 1)] / (2 C(t)), shape [time - 2], the first at t = 1."""
    correlator = np.asarray(correlator)
    means = gv.mean(correlator) if correlator.dtype == object else correlator
    result = np.full(len(correlator) - 2, np.nan, dtype=correlator.dtype)
    for t in range(1, len(correlator) - 1):
        if means[t] != 0 and (means[t - 1] + means[t + 1]) / (2 * means[t]) > 1:
            x = (correlator[t - 1] + correlator[t + 1]) / (2 * correlator[t])
            result[t - 1] = np.log(x + np.sqrt(x * x - 1))
    return result


def periodic_effective_mass(correlator, time_extent: int, image: int = 1) -> np.ndarray:
    """Return m(t + 1/2), shape [time - 1], that solves C(t) / C(t + 1) = f(m (T/2 - t)) / f(m (T/2 - t - 1)).

    f is cosh for image +1 and sinh for image -1, and T is the time extent. `correlator` holds t = 0 ... at
    most T/2. The error follows from the derivative of the equation at the solution.
    """
    if image not in (1, -1):
        raise ValueError(f"periodic_effective_mass: image: expected +1 or -1, found {image}")
    correlator = np.asarray(correlator)
    is_gvar = correlator.dtype == object
    result = np.full(len(correlator) - 1, np.nan, dtype=correlator.dtype)
    for t in range(len(result)):
        if gv.mean(correlator[t + 1]) == 0 if is_gvar else correlator[t + 1] == 0:
            continue
        ratio = correlator[t] / correlator[t + 1]
        solved = _solve_ratio(float(gv.mean(ratio)) if is_gvar else float(ratio), time_extent / 2 - t, image)
        if solved is not None:
            mass, slope = solved
            result[t] = gv.gvar_function(ratio, mass, 1.0 / slope) if is_gvar else mass
    return result


def _log_ratio(mass: float, distance: float, image: int) -> float:
    """Return ln f(m d) / f(m (d - 1)) without overflow.

    It is m + ln (1 + s e^{-2 m d}) / (1 + s e^{-2 m (d - 1)}).
    """
    return (
        mass
        + np.log1p(image * np.exp(-2 * mass * distance))
        - np.log1p(image * np.exp(-2 * mass * (distance - 1)))
    )


def _solve_ratio(ratio: float, distance: float, image: int) -> tuple[float, float] | None:
    """Return m and d ratio / d m, or None."""
    if distance < 1 or (distance == 1 and image < 0) or ratio <= 0:
        return None
    low, high = 1e-10, 50.0
    target = np.log(ratio)
    if not _log_ratio(low, distance, image) < target < _log_ratio(high, distance, image):
        return None
    mass = brentq(lambda m: _log_ratio(m, distance, image) - target, low, high, xtol=1e-15, rtol=1e-14)
    step = 1e-6 * max(mass, 1e-3)
    slope = (_log_ratio(mass + step, distance, image) - _log_ratio(mass - step, distance, image)) / (2 * step)
    return mass, ratio * slope
