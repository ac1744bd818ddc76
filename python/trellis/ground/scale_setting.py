"""This module has t0 and w0 of one history of the gradient flow. It needs NumPy only: analysis and the
compiled core both use it."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def reference_time(times: ArrayLike, energy: ArrayLike, target: float = 0.3) -> float:
    """Return t0 / a^2, where t^2 E first reaches the target.

    Parameters
    ----------
    times
        Flow times t / a^2, ascending, at least four; the first may be 0.
    energy
        E(t) at these times.
    target
        t^2 E has to reach this.

    Returns
    -------
    float
        It comes from cubic interpolation of t^2 E; NaN if the target is not reached.

    Raises
    ------
    ValueError
        Fewer than four times, times that do not ascend, energies of another shape, or a target that is not
        positive.
    """
    t, f = _history(times, energy, target)
    return _crossing(t, t**2 * f, target)


def w0_scale(times: ArrayLike, energy: ArrayLike, target: float = 0.3) -> float:
    """Return w0 / a: t d/dt (t^2 E) reaches the target at t = w0^2.

    The derivative is that of the polynomial through five neighbouring times (Borsanyi et al.,
    arXiv:1203.4469).

    Parameters
    ----------
    times, energy, target
        They are those of :func:`reference_time`, with at least five times.

    Returns
    -------
    float
        NaN if the target is not reached.

    Raises
    ------
    ValueError
        Fewer than five times; else as for :func:`reference_time`.
    """
    t, f = _history(times, energy, target)
    if len(t) < 5:
        raise ValueError(f"the derivative needs five flow times, found {len(t)}")
    slope = np.array([_slope(t, t**2 * f, i) for i in range(len(t))])
    return float(np.sqrt(_crossing(t, t * slope, target)))


def _history(times: ArrayLike, energy: ArrayLike, target: float) -> tuple[NDArray, NDArray]:
    """Return times and energies as arrays if they are a history of the flow."""
    t, f = np.asarray(times, dtype=float), np.asarray(energy, dtype=float)
    if t.ndim != 1 or f.shape != t.shape:
        raise ValueError(
            f"times and energy must be as many numbers each, found the shapes {t.shape} and {f.shape}"
        )
    if not (np.isfinite(t).all() and (np.diff(t) > 0).all() and (t >= 0).all()):
        raise ValueError(f"times must ascend from 0 or more, found {t.tolist()[:8]}")
    if not 0 < target < np.inf:
        raise ValueError(f"target must be a positive number, found {target!r}")
    return t, f


def _slope(t: NDArray, f: NDArray, i: int) -> float:
    first = min(max(i - 2, 0), len(t) - 5)
    near = slice(first, first + 5)
    coefficients = np.polyfit(t[near] - t[i], f[near], 4)
    return float(coefficients[-2])


def _crossing(t: NDArray, f: NDArray, target: float) -> float:
    """Return the first t with f = target, f rising, on the cubic through the four points around it."""
    if len(t) < 4:
        raise ValueError(f"interpolation needs four flow times, found {len(t)}")
    for i in range(1, len(t)):
        if not f[i - 1] <= target <= f[i] or f[i] == f[i - 1]:
            continue
        first = min(max(i - 2, 0), len(t) - 4)
        near = slice(first, first + 4)
        cubic = np.polynomial.Polynomial.fit(t[near], f[near], 3)
        low, high = t[i - 1], t[i]
        for _ in range(200):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if cubic(middle) < target else (low, middle)
        return float(0.5 * (low + high))
    return float("nan")
