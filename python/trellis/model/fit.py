"""A few constants are fitted to named data, with errors; a fit also says what the data do not determine.

Constants are positive, and are fitted by their logarithms; residuals are logarithms of model over data.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from ..ground.errors import BadArgument

Constants = Mapping[str, float]
Residuals = Callable[[Constants], "NDArray[np.float64]"]

#: A constant whose relative error is larger is not determined by the data.
LARGEST_RELATIVE_ERROR = 0.5
#: A smaller singular value of the scaled Jacobian, against the largest, is a direction without data.
_SMALLEST_SINGULAR_VALUE = 1e-6
_SMALL_CHANGE = 1e-3


@dataclass(frozen=True)
class Fit:
    """This is the outcome of a fit.

    Attributes
    ----------
    values
        The constants.
    relative_errors
        Their relative standard errors; infinite where nothing in the data depends on a constant.
    rms
        Root mean square of log(model / data) over the data.
    covariance
        That of the logarithms of the constants, in their order.
    points
        The number of data.
    """

    values: dict[str, float]
    relative_errors: dict[str, float]
    rms: float
    covariance: NDArray[np.float64]
    points: int

    @property
    def undetermined(self) -> list[str]:
        """Return the constants that the data do not determine."""
        return [name for name, error in self.relative_errors.items() if not error < LARGEST_RELATIVE_ERROR]

    def require_determined(self) -> None:
        """Refuse to go on with constants that the data do not determine.

        Raises
        ------
        BadArgument
            There are such constants.
        """
        if self.undetermined:
            found = ", ".join(
                f"{n} = {self.values[n]:.3g} +- {100 * self.relative_errors[n]:.0f} %"
                for n in self.undetermined
            )
            raise BadArgument(
                f"the data do not determine {found}: measure where they matter, or give their values"
            )

    def relative_error(self, quantity: Callable[[Constants], float]) -> float:
        """Return the relative error of a quantity that follows from the errors of the constants.

        It is of first order, by small changes of the logarithms of the constants.
        """
        central = quantity(self.values)
        changes = []
        for name, value in self.values.items():
            changed = {**self.values, name: value * (1 + _SMALL_CHANGE)}
            changes.append(np.log(quantity(changed) / central) / np.log1p(_SMALL_CHANGE))
        slope = np.array(changes)
        return float(np.sqrt(max(slope @ self.covariance @ slope, 0.0)))

    def band(
        self, quantity: Callable[[Constants], float], model_error: float, coverage: float = 0.9
    ) -> tuple[float, float]:
        """Return the ends of a band about a quantity: errors of constants and of the model in squares.

        Parameters
        ----------
        model_error
            Relative standard deviation of the form of the model.
        coverage
            Probability of the band.
        """
        own = self.relative_error(quantity)
        return band(quantity(self.values), float(np.hypot(own, model_error)), coverage)


def band(central: float, relative_error: float, coverage: float = 0.9) -> tuple[float, float]:
    """Return the ends of a band about a value whose logarithm has a normal distribution."""
    width = NormalDist().inv_cdf(0.5 + coverage / 2) * relative_error
    return central * math.exp(-width), central * math.exp(width)


def fit(residuals: Residuals, start: Constants) -> Fit:
    """Fit constants by least squares.

    Parameters
    ----------
    residuals
        log(model / data) of each datum, from the constants.
    start
        First values of the constants.

    Raises
    ------
    BadArgument
        There are fewer data than constants.
    """
    from scipy.optimize import least_squares  # the import takes a quarter of a second

    names = list(start)

    def of_logarithms(logarithms: NDArray[np.float64]) -> NDArray[np.float64]:
        return residuals(dict(zip(names, np.exp(logarithms).tolist(), strict=True)))

    first = np.log(list(start.values()))
    count = len(of_logarithms(first))
    if count < len(names):
        raise BadArgument(f"a fit of {len(names)} constants needs as many data, found {count}")
    found = least_squares(of_logarithms, first)
    covariance, errors = _errors(found.jac, found.fun, names)
    return Fit(
        values=dict(zip(names, np.exp(found.x).tolist(), strict=True)),
        relative_errors=errors,
        rms=float(np.sqrt(np.mean(found.fun**2))),
        covariance=covariance,
        points=count,
    )


def _errors(
    jacobian: NDArray[np.float64], residuals: NDArray[np.float64], names: Sequence[str]
) -> tuple[NDArray[np.float64], dict[str, float]]:
    """Return the covariance, and the errors; directions without data have infinite errors."""
    freedom = max(len(residuals) - len(names), 1)
    variance = max(float(np.sum(residuals**2)) / freedom, 1e-30)
    _, singular, directions = np.linalg.svd(jacobian, full_matrices=False)
    kept = singular > _SMALLEST_SINGULAR_VALUE * max(singular.max(), 1e-300)
    inverse = (directions[kept].T / singular[kept] ** 2) @ directions[kept]
    lost = np.any(np.abs(directions[~kept]) > 1e-3, axis=0)
    errors = np.where(lost, np.inf, np.sqrt(variance * np.diag(inverse)))
    return variance * inverse, dict(zip(names, errors.tolist(), strict=True))


def leave_out_rms(
    groups: Sequence[object],
    fit_without: Callable[[object], Constants],
    residuals_of: Callable[[Constants, object], NDArray[np.float64]],
) -> float:
    """Return the root mean square of log(model / data) of each group, by fits that do not know it.

    Parameters
    ----------
    fit_without
        Constants from the data of all groups but one.
    residuals_of
        Residuals of one group.
    """
    found = np.concatenate([residuals_of(fit_without(group), group) for group in groups])
    return float(np.sqrt(np.mean(found**2)))
