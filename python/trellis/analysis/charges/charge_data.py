"""This module prepares the data of the fits of nucleon charges: C, the correlators of each
current, and their covariance.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..records.charge_results import ChargeOptions
from ..records.errors import FitFailed
from ..statistics.weights import shrinkage_intensity
from .charge_model import ChargeModel, FeynmanHellmannModel

#: This part of the variances of a datum and of C(t) is added to the former: nothing is known more exactly.
NUGGET = 1e-7
#: The correlation matrix of few configurations is shrunk by at least this much, even where
#: the data ask for less.
LEAST_SHRINKAGE = 0.02
#: At least this many degrees of freedom are assumed: Student's t has no variance for two and fewer.
_LEAST_FREEDOM = 2.5
#: A current whose noise falls to this part of itself is a function of the others.
_DEGENERATE = 1e-6


def effective_charge(two_point: NDArray, numerator: NDArray) -> tuple[NDArray, NDArray]:
    """Return g_eff(t) = N(t+1)/C(t+1) - N(t)/C(t) and its error.

    Parameters
    ----------
    two_point, numerator
        Real, shape [configuration, time].

    Returns
    -------
    value, error
        Shape [time - 1].
    """
    value, influence = _effective(two_point, numerator)
    return value, np.sqrt((influence**2).sum(axis=0) / (len(influence) * (len(influence) - 1)))


def _effective(two_point: NDArray, numerator: NDArray) -> tuple[NDArray, NDArray]:
    """Return g_eff of the means, and the influence of each configuration on it, shape
    [configuration, time - 1].
    """
    C, N = two_point.mean(axis=0), numerator.mean(axis=0)
    influence = (numerator - two_point * (N / C)) / C
    return np.diff(N / C), np.diff(influence, axis=1)


#: A curve holds the times of the current and R at these times, by charge and by separation.
Curves: TypeAlias = dict[str, dict[int, tuple[NDArray, NDArray]]]


class FitData(ABC):
    """These are means, influences of the configurations and their covariance: C comes first,
    then each current's data.

    A current may be an exact function of the others (of the conserved vector current with Dirichlet time N is
    t C, on every configuration): the covariance is singular then. NUGGET times itself and times that of C at
    its time is added to every variance, which is a relative 3e-4 of the errors; the fit follows such
    relations as closely as that.

    Parameters
    ----------
    is_open
        Nothing runs backwards (Dirichlet time): windows may reach to T - 1, else to T/2 - 1.
    """

    #: Fits have at least this many states.
    least_states = 1
    is_fixed_sink = False
    mean: NDArray
    influence: NDArray
    covariance: NDArray

    def __init__(self, two_point: NDArray, names: list[str], options: ChargeOptions, is_open: bool) -> None:
        self.options, self.names = options, names
        self.count, self.extent = two_point.shape
        self.inflation = 1.0
        #: This holds g_eff and the influence of each configuration on it, by charge, where there is one.
        self.effective: dict[str, tuple[NDArray, NDArray]] = {}
        C = two_point.mean(axis=0)
        error = two_point.std(axis=0, ddof=1) / np.sqrt(self.count)
        noisy = np.flatnonzero((error > options.noise_limit * np.abs(C)) | (C <= 0))
        noisy = noisy[noisy > options.t_min_first]
        last = self.extent - 1 if is_open else self.extent // 2 - 1
        if len(noisy):
            last = min(last, int(noisy[0]) - 1)
        self.t_max = last if options.t_max is None else options.t_max
        if options.t_max is None and self.t_max < options.t_min_first + 2:
            raise FitFailed(
                f"charges: expected a signal to t = {options.t_min_first + 2} at least, found its end at "
                f"t = {self.t_max} of {self.extent} times (charges.noise_limit, or charges.t_max)"
            )
        if not options.t_min_first + 2 <= self.t_max < self.extent:
            raise FitFailed(
                f"charges: expected t_max in {options.t_min_first + 2}..{self.extent - 1}, found {self.t_max}"
            )
        # The times can tell such gaps: 1/t_max has hardly died out at the end, and 2 is gone after a slice.
        self.gap_prior = options.gap_prior or (
            float(np.sqrt(2 / self.t_max)),
            float(np.log(2 * self.t_max) / 2),
        )
        self.t_min_last = self.t_max - 2 if options.t_min_last is None else options.t_min_last
        self.scale = float(C[options.t_min_first])

    def _set(self, samples: NDArray, beside: NDArray) -> None:
        """Set means and covariance; `beside` is the place of C at the time of each datum."""
        self.mean = samples.mean(axis=0)
        self.influence = samples - self.mean
        self.covariance = self.influence.T @ self.influence / (self.count * (self.count - 1))
        variances = np.diag(self.covariance)
        self.covariance += NUGGET * np.diag(variances + variances[beside])

    @abstractmethod
    def rows(self, t_min: int) -> tuple[NDArray, NDArray]:
        """Return the times of C in the window, and the places of all its data in `mean`, C first."""

    @abstractmethod
    def window(self, t_min: int, states: int) -> tuple[ChargeModel, NDArray]:
        """Return the model of the window, and the places of its data."""

    @abstractmethod
    def free(self, t_min: int, states: int) -> int:
        """Return points less parameters: windows with none left would add only their
        priors to the average.
        """

    @abstractmethod
    def _to_ratios(self, places: NDArray) -> NDArray:
        """Return the matrix that takes the data at these places to the quantities that are
        shrunk, to first order.
        """

    def dependent(self) -> list[str]:
        """Return the currents that are on every configuration a function of C and the
        others at the same time.
        """
        return []

    def curves(self, p: dict[str, float], t_min: int, states: int) -> Curves:
        """Return the ratios that a fit with the parameters p predicts; figures draw them beside the data."""
        return {}

    @property
    def effective_count(self) -> float:
        """Return the number of independent configurations."""
        return self.count / self.inflation

    def inflate(self, factor: float) -> None:
        """Multiply the covariance by 2 tau_int; windows stay as they are."""
        self.covariance = self.covariance * factor
        self.inflation *= factor

    @property
    def is_few(self) -> bool:
        """Return True if there are too few configurations for correlated weights; the largest
        window decides for all.
        """
        points = len(self.rows(self.options.t_min_first)[1])
        return self.effective_count < self.options.configurations_per_point * points

    @property
    def student_factor(self) -> float:
        """Return the variance of Student's t, nu / (nu - 2) with nu = n - 1, for errors
        that come from n numbers.
        """
        nu = max(self.effective_count - 1, _LEAST_FREEDOM)
        return nu / (nu - 2)

    def shrunk_weights(self, places: NDArray) -> NDArray:
        """Return the inverse covariance; the correlations of C(t) and of ratios to it are shrunk in it.

        The matrix (1 - lambda) R + lambda 1 takes the place of R. lambda comes from the data
        (weights.shrinkage_intensity) times 2 tau_int, and is at least LEAST_SHRINKAGE. These quantities are
        shrunk and not the fitted ones, which follow C; ratios hardly do.
        """
        to_ratios = self._to_ratios(places)
        covariance = to_ratios @ self.covariance[np.ix_(places, places)] @ to_ratios.T
        sigma = np.sqrt(np.diag(covariance))
        shrinkage = shrinkage_intensity(self.influence[:, places] @ to_ratios.T) * self.inflation
        shrinkage = min(max(shrinkage, LEAST_SHRINKAGE), 1.0)
        correlation = (1 - shrinkage) * covariance / np.outer(sigma, sigma) + shrinkage * np.eye(len(places))
        scaled = to_ratios.T / sigma
        return scaled @ np.linalg.inv(correlation) @ scaled.T


class ChargeData(FitData):
    """The data are C, then N of each charge.

    C and N are fitted, not their ratio: where C has an error of 20 %, g_eff is far from linear in the data,
    and its covariance follows the fluctuation of C. A multiple of C is subtracted from N, so that N begins
    with 0: the constant in N/C, contact terms in it, can be far larger than the charges.
    """

    def __init__(
        self,
        two_point: NDArray,
        numerators: dict[str, NDArray],
        options: ChargeOptions,
        *,
        is_open: bool = False,
    ) -> None:
        super().__init__(two_point, list(numerators), options, is_open)
        self.effective = {name: _effective(two_point, N) for name, N in numerators.items()}
        parts = [two_point / self.scale]
        for N in numerators.values():
            first = N[:, options.t_min_first].mean() / self.scale
            parts.append((N - first * two_point) / self.scale)
        self._set(np.concatenate(parts, axis=1), np.tile(np.arange(self.extent), len(parts)))

    def dependent(self) -> list[str]:
        """Return the currents that are on every configuration a function of C and the
        others at the same time.
        """
        if self.count <= 2 + len(self.names):
            return []
        parts = self.influence.reshape(self.count, -1, self.extent)
        found = []
        for i, name in enumerate(self.names, start=1):
            left = []
            for t in range(self.options.t_min_first, self.t_max + 1):
                others, own = np.delete(parts[:, :, t], i, axis=1), parts[:, i, t]
                others = others / np.maximum(np.abs(others).max(axis=0), np.finfo(float).tiny)
                rest = own - others @ np.linalg.lstsq(others, own, rcond=1e-12)[0]
                scale = max(float(own @ own), float(parts[:, 0, t] @ parts[:, 0, t]))
                left.append(float(rest @ rest) / scale)
            if max(left) < _DEGENERATE:
                found.append(name)
        return found

    def free(self, t_min: int, states: int) -> int:
        """Return the number of data minus the number of parameters.

        The parameters are E0, A0, every g and constant; each further state adds a gap, r, every b and c.
        """
        return len(self.rows(t_min)[1]) - 2 * states * (1 + len(self.names))

    def rows(self, t_min: int) -> tuple[NDArray, NDArray]:
        t = np.arange(t_min, self.t_max + 1)
        return t, np.concatenate([i * self.extent + t for i in range(1 + len(self.names))])

    def window(self, t_min: int, states: int) -> tuple[ChargeModel, NDArray]:
        t, places = self.rows(t_min)
        return FeynmanHellmannModel(self.names, states, t), places

    def _to_ratios(self, places: NDArray) -> NDArray:
        """Return C(t), and N/C at the first time and every g_eff(t)."""
        length = len(places) // (1 + len(self.names))
        C = self.mean[places[:length]]
        to_ratios = np.zeros((len(places), len(places)))
        to_ratios[:length, :length] = np.eye(length)
        step = np.eye(length) - np.eye(length, k=-1)  # N/C comes first, then its differences
        for i in range(1, 1 + len(self.names)):
            rows = slice(i * length, (i + 1) * length)
            R = self.mean[places[rows]] / C
            to_ratios[rows, :length] = step @ np.diag(-R / C)
            to_ratios[rows, rows] = step @ np.diag(1 / C)
        return to_ratios
