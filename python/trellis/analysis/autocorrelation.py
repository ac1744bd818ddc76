"""Integrated autocorrelation times and Gamma-method errors (Wolff 2004, hep-lat/0306017), by pyerrors.

Where measurements are missing, a measurement has fewer neighbours at each distance. With N_t pairs at the
distance t among N measurements, N_t = N - t without gaps,

    variance of the mean = Gamma(0)/N [1 + 2 sum_t rho(t) N_t / (N - t)].

pyerrors takes N_t / (N - t) as 1: with half of the measurements missing at random its error is 1.5 times too
large. tau_int remains that of the chain.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyerrors
from numpy.typing import NDArray

#: pyerrors needs this many.
MINIMUM_SAMPLES = 5
#: Of the values: what sums of a field that stands still differ by, in another order or after a round trip.
_ROUNDING = 1e-12


def is_constant(values: NDArray) -> bool:
    """Whether values along the first axis are the same but for rounding."""
    values = np.asarray(values)
    if len(values) == 0:
        return True
    spread = np.max(np.abs(values - values[0]))
    return bool(spread <= _ROUNDING * np.max(np.abs(values)))


@dataclass(frozen=True)
class Autocorrelation:
    """Statistics of one time series.

    Attributes
    ----------
    count
        Number of measurements.
    spacing
        Trajectories between neighbouring measurements.
    mean, error
        Mean and its Gamma-method error.
    naive_error
        The error if the measurements were independent.
    tau_int, tau_int_error
        Integrated autocorrelation time in units of the spacing, 1/2 for independent measurements.
    window
        Where pyerrors ends the sum.
    rho, rho_error
        Normalised autocorrelation function at lags 0, 1, ..., a little beyond the window.
    """

    name: str
    count: int
    spacing: int
    mean: float
    error: float
    naive_error: float
    tau_int: float
    tau_int_error: float
    window: int
    rho: NDArray
    rho_error: NDArray

    @property
    def variance_factor(self) -> float:
        """Variance of the mean over that of independent measurements: 2 tau_int, less with gaps."""
        return (self.error / self.naive_error) ** 2

    @property
    def significant(self) -> bool:
        """tau_int exceeds 1/2 by more than its error."""
        return self.tau_int - self.tau_int_error > 0.5


def autocorrelation(name: str, values: NDArray, trajectories: NDArray) -> Autocorrelation | None:
    """Gamma method on one real series; None when it is too short or constant.

    Parameters
    ----------
    values, trajectories
        Same length, trajectories ascending. Gaps that are multiples of the spacing are taken into account.
    """
    values = np.asarray(values, dtype=float)
    if len(values) < MINIMUM_SAMPLES or is_constant(values):
        return None
    steps = np.diff(trajectories)
    spacing = int(np.gcd.reduce(steps))
    numbers = (np.asarray(trajectories) - trajectories[0]) // spacing + 1
    if (
        len(numbers) * 20 < numbers[-1] - numbers[0]
    ):  # hardly any neighbours: count measurements, not trajectories
        numbers = np.arange(1, len(values) + 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        observable = pyerrors.Obs([values], ["ensemble"], idl=[numbers.tolist()])
        observable.gamma_method(S=2.0)
    key = "ensemble"
    window = int(observable.e_windowsize[key])
    shown = min(len(observable.e_rho[key]), max(3 * window + 2, 12), len(values) // 2 + 1)
    return Autocorrelation(
        name=name,
        count=len(values),
        spacing=spacing,
        mean=float(observable.value),
        error=float(observable.dvalue) * _with_gaps(numbers, observable.e_rho[key][: window + 1]),
        naive_error=float(values.std(ddof=1) / np.sqrt(len(values))),
        tau_int=float(observable.e_tauint[key]),
        tau_int_error=float(observable.e_dtauint[key]),
        window=window,
        rho=np.asarray(observable.e_rho[key][:shown], dtype=float),
        rho_error=np.asarray(observable.e_drho[key][:shown], dtype=float),
    )


def _with_gaps(numbers: NDArray, rho: NDArray) -> float:
    """Factor on the error, 1 without gaps; rho(t) at t = 0 ... window, `numbers` from 1."""
    count, is_there = len(numbers), np.zeros(int(numbers[-1]) + len(rho), dtype=bool)
    is_there[numbers] = True
    lags = range(1, min(len(rho), count))
    shares = [min(1.0, float(is_there[numbers + t].sum()) / (count - t)) for t in lags]
    all_pairs = 1 + 2 * float(np.sum(rho[1 : 1 + len(shares)]))
    pairs = 1 + 2 * float(np.dot(rho[1 : 1 + len(shares)], shares))
    return float(np.sqrt(pairs / all_pairs)) if pairs > 0 and all_pairs > 0 else 1.0


def error_factor(
    series: NDArray, trajectories: NDArray, choice: Literal["auto", "gamma", "none"]
) -> tuple[float, float | None]:
    """2 tau_int of a series where it counts (AnalysisOptions.autocorrelation), else 1; and tau_int."""
    tau = None if choice == "none" else autocorrelation("charge", series, trajectories)
    if tau is None or not (tau.significant or choice == "gamma"):
        return 1.0, None
    return max(1.0, tau.variance_factor), tau.tau_int


def bin_series(values: NDArray, trajectories: NDArray, size: int) -> tuple[NDArray, NDArray]:
    """Means of `size` successive entries along the first axis; a remainder at the beginning is dropped.

    Returns
    -------
    values, trajectories
        Of the bins; a bin carries the trajectory number of its last entry.
    """
    if size == 1:
        return values, trajectories
    bins = len(values) // size
    kept = values[len(values) - bins * size :]
    return kept.reshape(bins, size, *values.shape[1:]).mean(axis=1), trajectories[
        len(values) - bins * size :
    ][size - 1 :: size]
