"""This is the Gamma method for measurements whose numbers are irregular: it sums over real separations.

With numbers n_i of N measurements and deviations d_i from their mean,

    variance of the mean = 1/N^2 sum_ij Gamma(|n_i - n_j|),

and the products d_i d_j of all pairs that are at most a window apart estimate the sum. A separation that few
pairs have thus counts as often as it occurs. Separations go into bins, one spacing wide and centred on its
multiples; S_k is the sum of the products of bin k, N_k the number of its pairs, and bin 0 holds pairs that
are nearer than half a spacing. With the length L of the chain in spacings,

    rho_k = (S_k / N_k) / Gamma(0),     tau_int = 1/2 + sum_k rho_k,
    factor = 1 + 2 sum_k S_k / (1 - k / L) / (N Gamma(0)),     variance of the mean = factor Gamma(0) / N.

The end of the sums is that of Wolff (hep-lat/0306017, section 3.3), and so is the correction of the mean:
deviations from the sample's own mean make every product too small by the variance of the mean. Where
measurements lie more densely in one part than in another, the products that count most are too small by more
(_unevenness): rho, and with it the end of the sums, is corrected for what is missing beyond that. For a
regular chain every formula is the one of pyerrors.

Several streams of one ensemble have one mean, and only pairs of one stream are summed: the streams lie one
behind the other, further apart than any window reaches.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..records.numbering import streams_of

#: A step, or a separation, is common if one measurement in this many has it.
_COMMON = 20
#: This is the number of bins that are summed at a time.
_CHUNK = 64
#: The end of the sums and the lack of rho depend on each other: they are found in turn so often.
_CORRECTIONS = 3


@dataclass(frozen=True)
class SeparationSums:
    """The sums of one series give this; tau_int, window and rho are in units of the spacing.

    Attributes
    ----------
    spacing
        Unit of the separations, trajectories.
    factor, factor_error
        Variance of the mean over Gamma(0) / N, and its own error.
    error
        The error of the mean.
    rho
        NaN where hardly a pair has that separation.
    """

    spacing: int
    factor: float
    factor_error: float
    error: float
    tau_int: float
    tau_int_error: float
    window: int
    rho: NDArray
    rho_error: NDArray


def _pairs(numbers: NDArray, deviations: NDArray, edges: NDArray) -> tuple[NDArray, NDArray]:
    """Return products and number of the pairs i < j with edges[k] < n_j - n_i <= edges[k + 1]."""
    room = np.iinfo(np.int64).max - numbers  # numbers may have 19 digits
    ends = np.searchsorted(numbers, numbers + np.minimum(edges[:, None], room), side="right")
    sums = np.concatenate([[0.0], np.cumsum(deviations)])[ends]
    return np.diff(sums, axis=0) @ deviations, np.diff(ends, axis=0).sum(axis=1)


def _edges(first: int, last: int, spacing: int) -> NDArray:
    """Return the last separation before each of the bins first ... last, and behind; bin 0 begins above 0."""
    most = np.iinfo(np.int64).max
    return np.array([min(max(0, (2 * k - 1) * spacing // 2), most) for k in range(first, last + 2)])


def _fills_bins(numbers: NDArray, spacing: int, reach: int) -> bool:
    """Return True if separations up to `reach` are common in every bin."""
    last, zeros = max(1, -(-reach // spacing)), np.zeros(len(numbers))
    for first in range(1, last + 1, _CHUNK):
        chunk = _edges(first, min(first + _CHUNK - 1, last), spacing)
        if np.any(_pairs(numbers, zeros, chunk)[1] * _COMMON < len(numbers)):
            return False
    return True


def typical_spacing(numbers: NDArray) -> int:
    """Return the step of regular numbers; else the smallest common step whose multiples
    are common separations.

    Parameters
    ----------
    numbers
        int, ascending, shape [measurement], at least two; or those of several streams.
    """
    parts = [own for _, _, own in streams_of(numbers)]
    numbers = _one_behind_the_other(parts)
    steps = np.concatenate([np.diff(own) for own in parts])
    values, counts = np.unique(steps, return_counts=True)
    if len(values) == 1:
        return int(values[0])
    common = values[(counts * _COMMON >= len(steps)) & (counts > 1)].tolist()
    median, reach = (int(np.quantile(steps, q, method="lower")) for q in (0.5, 1 - 1 / _COMMON))
    candidates = sorted({*common, median, reach})
    return next((c for c in candidates if _fills_bins(numbers, c, reach)), candidates[-1])


def _one_behind_the_other(parts: list[NDArray]) -> NDArray:
    """Return the numbers of streams from 0 on, with a hole as long as the longest of them behind each."""
    if len(parts) == 1:
        return parts[0] - parts[0][0]
    hole = max(int(own[-1] - own[0]) for own in parts) + 1
    placed, start = [], 0
    for own in parts:
        placed.append(own - own[0] + start)
        start = int(placed[-1][-1]) + hole
    return np.concatenate(placed)


class _Bins:
    """These are sums over bins, as many as have been asked for."""

    def __init__(self, deviations: NDArray, parts: list[NDArray], spacing: int) -> None:
        self.deviations, self.spacing = deviations, spacing
        self.numbers = _one_behind_the_other(parts)
        self.count = len(self.numbers)
        self.lengths = np.array([float(own[-1] - own[0]) / spacing + 1 for own in parts])
        self.last = max(2, min(int(self.lengths.max()) // 2, self.count)) - 1
        self.gamma = float(deviations @ deviations) / self.count
        self.products, self.pairs = np.zeros(0), np.zeros(0)
        self.missing = 0.0  # rho of uneven numbers misses so much
        self.extend(0)

    def extend(self, to: int) -> None:
        """Fill the bins up to `to` and a few more, at most all."""
        while len(self.pairs) <= min(to, self.last):
            first = len(self.pairs)
            last = min(first + _CHUNK - 1, self.last)
            products, pairs = _pairs(self.numbers, self.deviations, _edges(first, last, self.spacing))
            # The ends of the chain have fewer neighbours, whatever is missing.
            separations = np.arange(first, last + 1)[:, None]
            inside = 1 - np.minimum(separations, self.lengths).sum(axis=1) / self.lengths.sum()
            self.products = np.concatenate([self.products, products / inside])
            self.pairs = np.concatenate([self.pairs, pairs / inside])

    @property
    def is_common(self) -> NDArray:
        """Return which bins have enough pairs; the separation 0 is one."""
        found = self.pairs * _COMMON >= self.count
        found[0] = True
        return found

    def corrected_products(self) -> NDArray:
        """Return the products with what each of them lacks beyond the variance of the mean."""
        return self.products + self.missing * self.gamma * self.pairs

    def rho(self) -> NDArray:
        """Return rho; between bins with pairs it is a straight line."""
        known = np.flatnonzero(self.is_common)
        values = self.corrected_products()[known] / np.maximum(self.pairs[known], 1) / self.gamma
        values[0] = 1.0
        return np.interp(np.arange(len(self.pairs)), known, values)


def _running_tau(rho: NDArray) -> NDArray:
    """Return tau_int for every end of the sum, not below 1/2."""
    tau = 0.5 + np.cumsum(np.concatenate([[0.0], rho[1:]]))
    return np.where(tau <= 0.5, 0.5 + np.finfo(float).eps, tau)


def _window(bins: _Bins, S: float) -> int:
    """Return the smallest W at which exp(-W / tau) - tau / sqrt(W N / p) is negative.

    tau = S / log[(2 tau_int + 1) / (2 tau_int - 1)]; p is the share of the measurements that have a neighbour
    at a separation of the window, 1 if none is missing: the variance is known to 2 sqrt(p W / N) of itself.
    """
    to = 0
    while True:
        bins.extend(to)
        known = int(np.flatnonzero(bins.is_common)[-1])
        tau = _running_tau(bins.rho())[1 : known + 1]
        W = np.arange(1, known + 1)
        tau = S / np.log((2 * tau + 1) / (2 * tau - 1))
        share = np.cumsum(bins.pairs[1 : known + 1]) / (W * bins.count)
        ends = np.flatnonzero(np.exp(-W / tau) - tau / np.sqrt(W * bins.count / share) < 0)
        if len(ends):
            return int(W[ends[0]])
        if len(bins.pairs) > bins.last:
            return max(1, known)
        to = len(bins.pairs)


def _unevenness(parts: list[NDArray], reach: int, spacing: int) -> float:
    """Return what products of pairs lack on the average, in units of the variance v of the mean.

    It is 1 for even numbers. The deviation at i is correlated with the mean by c_i = v d_i, where d_i is the
    density of measurements up to `reach` away from i, in units of its mean. A product lacks c_i + c_j - v,
    and i is in d_i times as many pairs: v (2 <d^2> - 1) on the average.
    """
    densities = []
    for own in parts:
        numbers = own - own[0]
        upper = numbers + np.minimum(reach, np.iinfo(np.int64).max - numbers)
        lower = numbers - reach
        count = np.searchsorted(numbers, upper, side="right") - np.searchsorted(numbers, lower)
        length = np.minimum(upper, numbers[-1]) - np.maximum(lower, numbers[0])
        densities.append(count / (length.astype(float) + spacing))
    density = np.concatenate(densities)
    return float(2 * np.mean(density**2) / np.mean(density) ** 2 - 1)


def _rho_error(rho: NDArray, window: int, pairs: float) -> NDArray:
    """Return Wolff's equation (E.11), for lags up to the window; 0 beyond."""
    error = np.zeros(len(rho))
    for lag in range(1, min(window, len(rho) - 1) + 1):
        k = np.arange(1, len(rho) - lag)
        terms = rho[k + lag] + rho[np.abs(k - lag)] - 2 * rho[lag] * rho[k]
        error[lag] = np.sqrt(np.sum(terms**2) / pairs)
    return error


def separation_sums(deviations: NDArray, numbers: NDArray, S: float = 2.0) -> SeparationSums:
    """Return the error of the mean and the autocorrelation time from real separations.

    Parameters
    ----------
    deviations
        The deviations of a real series from its mean, shape [measurement].
    numbers
        int, ascending, same shape; or those of several streams (records/numbering.py), one stream behind the
        other.
    S
        Wolff's: how many times the exponential autocorrelation time is longer than tau_int.
    """
    parts = [own for _, _, own in streams_of(numbers)]
    bins = _Bins(np.asarray(deviations, dtype=float), parts, typical_spacing(numbers))
    if bins.gamma < 10 * np.finfo(float).tiny:
        return SeparationSums(bins.spacing, 1.0, 0.0, 0.0, 0.5, 0.0, 0, np.ones(1), np.zeros(1))
    N = bins.count
    for _ in range(_CORRECTIONS):
        W = _window(bins, S)
        bins.extend(3 * W + 2)
        neighbours = float(bins.pairs[1 : W + 1].sum()) / N
        # An error is at least that of independent measurements, as tau_int is at least 1/2.
        raw = max(1.0, 1 + 2 * float(bins.corrected_products()[: W + 1].sum()) / (N * bins.gamma))
        mean_removed = (1 + 2 * (neighbours + bins.pairs[0] / N)) / N
        factor = raw * (1 + mean_removed)
        bins.missing = factor / N * (_unevenness(parts, W * bins.spacing, bins.spacing) - 1)
    rho = bins.rho()
    tau = float(_running_tau(rho)[W])
    pairs = min(1.0, max(neighbours / W, 1 / _COMMON)) * N
    shown = min(len(rho), max(3 * W + 2, 12), N // 2 + 1)
    is_common = bins.is_common
    return SeparationSums(
        spacing=bins.spacing,
        factor=factor,
        factor_error=factor * 2 * float(np.sqrt(abs(neighbours + 0.5 - raw / 2) / N)),
        error=float(np.sqrt(factor * bins.gamma / N)),
        tau_int=(tau + (2 * W + 1) * raw / (2 * N)) / (1 + 1 / N),
        tau_int_error=tau * 2 * float(np.sqrt(abs(W + 0.5 - tau) / pairs)),
        window=W,
        rho=np.where(is_common, rho, np.nan)[:shown],
        rho_error=_rho_error(rho, W, pairs)[:shown],
    )
