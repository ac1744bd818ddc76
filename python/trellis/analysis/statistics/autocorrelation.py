"""This module has autocorrelation times and errors by the Gamma method (Wolff 2004, hep-lat/0306017).

Every error of a mean that analysis and reports give comes from :func:`gamma_method` here. pyerrors does the
work where the numbers of the measurements are regular. It assumes that all measurements have every
separation: where a random fifth of them is there, its error is up to 2 times too large. Irregular numbers
therefore go to :mod:`trellis.analysis.statistics.separations`, which sums over the pairs that exist.

Several streams of one ensemble (records/numbering.py) are replicas of pyerrors. They have one mean, in which
every measurement counts the same, and deviations are those from it.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyerrors
from numpy.typing import NDArray

from ..records.numbering import has_streams, number_text, numbers_in_streams, plain_numbers, streams_of
from .separations import separation_sums, typical_spacing

#: pyerrors needs at least this many measurements.
MINIMUM_SAMPLES = 5
#: Sums of a field that stands still differ by less, in another order or after a round trip.
_ROUNDING = 1e-12
_ENSEMBLE = "ensemble"


def is_constant(values: NDArray) -> bool:
    """Return True if the values along the first axis are equal but for rounding."""
    values = np.asarray(values)
    if len(values) == 0:
        return True
    spread = np.max(np.abs(values - values[0]))
    return bool(spread <= _ROUNDING * np.max(np.abs(values)))


@dataclass(frozen=True)
class Autocorrelation:
    """These are the statistics of one time series.

    Attributes
    ----------
    count
        Number of measurements.
    spacing
        Trajectories between neighbouring measurements; of irregular numbers the smallest common step.
    mean, error
        Mean and its Gamma-method error.
    naive_error
        The error if the measurements were independent.
    tau_int, tau_int_error
        Integrated autocorrelation time in units of the spacing, 1/2 for independent measurements.
    window
        The sum ends here, in units of the spacing.
    rho, rho_error
        Normalised autocorrelation function at lags 0, 1, ..., a little beyond the window; NaN at lags that
        hardly any measurements have.
    significant
        True if tau_int exceeds 1/2 by more than its error. It is True for irregular numbers if the variance
        exceeds that of independent measurements by more than its error.
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
    significant: bool

    @property
    def variance_factor(self) -> float:
        """Return the variance of the mean over that of independent measurements: 2
        tau_int for regular numbers.
        """
        return (self.error / self.naive_error) ** 2


def autocorrelation(name: str, values: NDArray, trajectories: NDArray) -> Autocorrelation | None:
    """Apply the Gamma method to one real series; return None when it is too short or constant.

    Parameters
    ----------
    values, trajectories
        Same length. Trajectories are integers and ascend in each stream; they need not be regular.

    Raises
    ------
    ValueError
        The numbers do not ascend, are not integers, or are not as many as the values.
    """
    values = np.asarray(values, dtype=float)
    numbers = _checked_numbers(name, trajectories, len(values))
    if len(values) < MINIMUM_SAMPLES or is_constant(values):
        return None
    return gamma_method(name, observable_of(values, numbers), float(values.std(ddof=1)))


def _checked_numbers(name: str, trajectories: NDArray, count: int) -> NDArray:
    numbers = np.asarray(trajectories)
    if numbers.shape != (count,):
        raise ValueError(f"{name}: expected {count} trajectory numbers, one a value, found {numbers.shape}")
    whole = numbers if has_streams(numbers) else numbers.astype(np.int64)
    if not has_streams(numbers) and np.any(whole != numbers):
        raise ValueError(f"{name}: expected trajectory numbers that are integers, found {numbers}")
    for _, places, own in streams_of(whole):
        falls = np.flatnonzero(np.diff(own) <= 0)
        if len(falls):
            k, after = places[falls[0]], places[falls[0] + 1]
            raise ValueError(
                f"{name}: expected trajectory numbers that ascend, found {number_text(whole[after])} after "
                f"{number_text(whole[k])}; sort the measurements and give each number once"
            )
    return whole


def observable_of(values: NDArray, numbers: NDArray, name: str = _ENSEMBLE) -> pyerrors.Obs:
    """Return the mean of a series as pyerrors has it, for functions of several means.

    Streams are replicas. pyerrors takes deviations of each replica from its own mean, which makes errors of
    short streams too small; these are from the mean of all, as in Wolff's equation (4) and following.
    """
    values, numbers = np.asarray(values, dtype=float), np.asarray(numbers)
    if not has_streams(numbers):
        return pyerrors.Obs([values], [name], idl=[numbers.tolist()])
    mean, parts = float(values.mean()), streams_of(numbers)
    names = [f"{name}|{stream}" for stream, _, _ in parts]
    deviations = [values[places] - mean for _, places, _ in parts]
    numbered = [own.tolist() for _, _, own in parts]
    observable = pyerrors.Obs(deviations, names, idl=numbered, means=[mean] * len(parts))
    observable._value = mean  # pyerrors has no other way to be told
    return observable


def gamma_method(name: str, observable: pyerrors.Obs, deviation: float | None = None) -> Autocorrelation:
    """Apply the Gamma method to an observable of one ensemble; `observable.dvalue` becomes the error.

    Parameters
    ----------
    observable
        A mean or a function of means, with fluctuations on one ensemble.
    deviation
        Standard deviation of one measurement; default: from the fluctuations.
    """
    (key,) = observable.mc_names
    deltas, numbers = _deviations(observable)
    count = len(deltas)
    deviation = float(np.std(deltas, ddof=1)) if deviation is None else deviation
    if is_regular(numbers) and all(len(own) > 1 for _, _, own in streams_of(numbers)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            observable.gamma_method(S=2.0)
        spacing = typical_spacing(numbers)
        window, tau, tau_error = (
            found[key] for found in (observable.e_windowsize, observable.e_tauint, observable.e_dtauint)
        )
        rho, rho_error = observable.e_rho[key], observable.e_drho[key]
        significant = tau - tau_error > 0.5
    else:
        sums = separation_sums(deltas, numbers)
        observable._dvalue = sums.error  # pyerrors has no other way to be told
        spacing, window, tau, tau_error = sums.spacing, sums.window, sums.tau_int, sums.tau_int_error
        rho, rho_error = sums.rho, sums.rho_error
        significant = sums.factor - sums.factor_error > 1
    shown = min(len(rho), max(3 * int(window) + 2, 12), count // 2 + 1)
    return Autocorrelation(
        name=name,
        count=count,
        spacing=spacing,
        mean=float(observable.value),
        error=float(observable.dvalue),
        naive_error=deviation / float(np.sqrt(count)),
        tau_int=float(tau),
        tau_int_error=float(tau_error),
        window=int(window),
        rho=np.asarray(rho[:shown], dtype=float),
        rho_error=np.asarray(rho_error[:shown], dtype=float),
        significant=bool(significant),
    )


def _deviations(observable: pyerrors.Obs) -> tuple[NDArray, NDArray]:
    """Return the deviations of all replicas, and their numbers."""
    if len(observable.names) == 1 and "|" not in observable.names[0]:
        (name,) = observable.names
        return observable.deltas[name], np.asarray(observable.idl[name], dtype=np.int64)
    numbers = [np.asarray(observable.idl[name], dtype=np.int64) for name in observable.names]
    labels = [
        name.partition("|")[2] for name, own in zip(observable.names, numbers, strict=True) for _ in own
    ]
    deltas = np.concatenate([observable.deltas[name] for name in observable.names])
    return deltas, numbers_in_streams(labels, np.concatenate(numbers))


def is_regular(numbers: NDArray) -> bool:
    """Return True if neighbouring numbers are one step apart everywhere, the same in all streams."""
    steps = np.concatenate([np.diff(own) for _, _, own in streams_of(np.asarray(numbers))])
    return len(steps) == 0 or bool(np.all(steps == steps[0]))


def numbering_note(what: str, numbers: NDArray) -> str | None:
    """Explain how errors of irregular numbers are found; None for regular numbers and for too few of them."""
    numbers = np.asarray(numbers)
    if len(numbers) < MINIMUM_SAMPLES or is_regular(numbers):
        return None
    steps = np.concatenate([np.diff(own) for _, _, own in streams_of(numbers)])
    plain = plain_numbers(numbers)
    return (
        f"{what}: {len(numbers)} numbers from {plain.min()} to {plain.max()} are irregular (steps of "
        f"{steps.min()} to {steps.max()}): autocorrelations are summed over the separations that pairs of "
        f"them have, and tau_int is in units of {typical_spacing(numbers)} trajectories"
    )


def error_factor(
    series: NDArray, trajectories: NDArray, choice: Literal["auto", "gamma", "none"]
) -> tuple[float, float | None]:
    """Return 2 tau_int of a series where it counts (AnalysisOptions.autocorrelation), else 1; and tau_int."""
    tau = None if choice == "none" else autocorrelation("charge", series, trajectories)
    if tau is None or not (tau.significant or choice == "gamma"):
        return 1.0, None
    return max(1.0, tau.variance_factor), tau.tau_int


def bin_series(values: NDArray, trajectories: NDArray, size: int) -> tuple[NDArray, NDArray]:
    """Return means of `size` successive entries along the first axis; drop a remainder at the beginning.

    A bin has measurements of one stream.

    Returns
    -------
    values, trajectories
        The bins have these; a bin carries the trajectory number of its last entry.
    """
    if size == 1:
        return values, trajectories
    means, last = [], []
    for _, places, _ in streams_of(trajectories):
        bins = len(places) // size
        kept = places[len(places) - bins * size :]
        means.append(values[kept].reshape(bins, size, *values.shape[1:]).mean(axis=1))
        last.append(trajectories[kept][size - 1 :: size])
    return np.concatenate(means), np.concatenate(last)
