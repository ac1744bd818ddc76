"""This module has choices and results of the fits of nucleon charges (charges.py)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

#: This is tau_n (1 + 3 (g_A/g_V)^2) in seconds (A. Czarnecki, W. Marciano, A. Sirlin, arXiv:1802.01804).
LIFETIME_CONSTANT = 5172.0


_Positive = Annotated[float, Field(gt=0)]
#: A log-normal prior has a centre, and a width of its logarithm.
GapPrior = Annotated[tuple[_Positive, _Positive], Field(strict=False)]
#: A normal prior has a centre and a width.
RatioPrior = Annotated[tuple[float, _Positive], Field(strict=False)]


class ChargeOptions(BaseModel):
    """These are choices of :func:`fit_charges`; the priors are stated here and nowhere tuned."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    max_states: int = Field(default=2, ge=1, le=3, description="A fit has at most so many states.")
    t_min_first: int = Field(default=1, ge=0, description="This t_min is tried first.")
    t_min_last: int | None = Field(
        default=None,
        ge=0,
        description="This t_min is tried last. By default there are then still more points than parameters.",
    )
    t_max: int | None = Field(
        default=None,
        ge=1,
        description="This is the last time slice of C in fits. The default follows from the noise.",
    )
    noise_limit: float = Field(
        default=0.3, gt=0, description="By default fits end where the relative error of C exceeds this."
    )
    configurations_per_point: float = Field(
        default=4.0,
        gt=1,
        description="With fewer configurations per fitted point the correlations are shrunk.",
    )
    gap_prior: GapPrior | None = Field(
        default=None,
        description="The gaps have a log-normal prior with this centre and this width of the logarithm. The "
        "default is what the times can resolve, from 1/t_max to 2, one width to each side.",
    )
    amplitude_ratio_prior: RatioPrior = Field(
        default=(1.0, 4.0), description="A_1/A_0 has a normal prior with this centre and width."
    )
    charge_prior_width: float = Field(
        default=10.0,
        gt=0,
        description="The parameters g, b and c have a normal prior of this width around 0.",
    )


@dataclass(frozen=True)
class ChargeWindow:
    """This is one fit: its window, states, charges and weight in the average.

    `errors` are those that an average of this window alone has: with 2 tau_int of each charge, and stretched
    where the fit does not describe the data. `profiled` says that values and errors are median and width
    under the profile likelihood (fits of several states), else those of the best fit.
    """

    t_min: int
    t_max: int
    states: int
    values: dict[str, float]
    errors: dict[str, float]
    chi2: float
    expected_chi2: float
    p_value: float
    points: int
    weight: float
    profiled: bool = False


@dataclass(frozen=True)
class ChargeEstimate:
    """This is a number with its statistical error (data and priors) and the spread of the models."""

    value: float
    statistical_error: float
    model_error: float
    tau_int: float | None = None

    @property
    def error(self) -> float:
        """Return both errors in quadrature."""
        return float(np.hypot(self.statistical_error, self.model_error))


@dataclass(frozen=True)
class ChargeQuality:
    """These numbers tell how far the fits can be trusted (charge_quality.py computes them).

    Attributes
    ----------
    p_value
        Mean over the fits with their weights in the average.
    drift
        Each charge has the largest difference of a later window from the window of largest weight, in errors.
    excited_at_end
        exp(-gap t_max), of fixed sinks exp(-gap t/2) at the largest separation t, weighted; None where one
        state decides.
    excited_at_end_limit
        The largest that the likelihood allows at 95 %, weighted over the profiled fits; None without them.
    prior_shift
        Each charge moves by so many of its errors when the priors of the gaps move by their widths.
    configurations_per_point
        Independent ones, in the largest window.
    """

    p_value: float
    drift: dict[str, float]
    excited_at_end: float | None
    prior_shift: dict[str, float]
    excited_at_end_limit: float | None
    configurations_per_point: float


@dataclass(frozen=True)
class ChargeResult:
    """:func:`fit_charges` returns the charges and their diagnostics in this form.

    Attributes
    ----------
    charges
        The bare charges by name.
    ratio
        charges["A"] / charges["V"], where both are there; z_v = 1 / charges["V"]; tau_n in seconds.
    energy
        E_0.
    effective
        name -> (t, g_eff, error); subtracted: the same with the excited states of the best two-state fit
        taken away.
    quality
        p-value and stability of the fits.
    misfit
        Factor on the statistical errors, above 1 where fits do not describe the data.
    autocorrelation_factor
        The largest 2 tau_int of a charge where it was applied to the covariance, else 1.
    dependent
        Currents whose correlator is a function of the others on every configuration (charge_data.py).
    warnings
        They say why the numbers may be wrong; empty where nothing was found.
    gap_prior
        The log-normal prior of the gaps that was used: centre, width.
    one_more_state
        The charges with one state more than in the fit of largest weight, from t_min_first: what they would
        be, and how well they would be known, if the data had that state. Empty where it cannot be fitted.
    influence
        The influence of each configuration on every charge and on their ratio "A/V": sqrt(sum influence^2 /
        (n (n - 1))) is the statistical error without the part of the priors.
    curves
        Three-point functions have name -> separation -> (tau, R(t, tau)) of the fit of largest weight.
    """

    charges: dict[str, ChargeEstimate]
    ratio: ChargeEstimate | None
    z_v: ChargeEstimate | None
    tau_n: ChargeEstimate | None
    energy: ChargeEstimate
    windows: list[ChargeWindow]
    effective: dict[str, tuple[NDArray, NDArray, NDArray]]
    subtracted: dict[str, tuple[NDArray, NDArray, NDArray]]
    quality: ChargeQuality
    misfit: float = 1.0
    autocorrelation_factor: float = 1.0
    dependent: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    gap_prior: tuple[float, float] | None = None
    one_more_state: dict[str, ChargeEstimate] = field(default_factory=dict)
    influence: dict[str, NDArray] = field(default_factory=dict)
    curves: dict[str, dict[int, tuple[NDArray, NDArray]]] = field(default_factory=dict)

    def minus(self, other: ChargeResult) -> dict[str, ChargeEstimate]:
        """Return the differences of charges and of their ratio from those of other fits of
        the same configurations.

        Noise that both have cancels, as far as it is that of the configurations; errors of priors and models
        are added in quadrature.
        """
        mine, others = self._all(), other._all()
        found = {}
        for name in mine.keys() & others.keys():
            a, b = mine[name], others[name]
            n = len(self.influence[name])
            common = float(self.influence[name] @ other.influence[name]) / (n * (n - 1))
            variance = a.statistical_error**2 + b.statistical_error**2 - 2 * common
            found[name] = ChargeEstimate(
                a.value - b.value,
                float(np.sqrt(max(variance, 0.0))),
                float(np.hypot(a.model_error, b.model_error)),
            )
        return {name: found[name] for name in mine if name in found}

    def _all(self) -> dict[str, ChargeEstimate]:
        """Return the charges and their ratio, by the names of `influence`."""
        if self.ratio is None:
            return self.charges
        return self.charges | {name: self.ratio for name in self.influence if "/" in name}


def neutron_lifetime(g: ChargeEstimate) -> ChargeEstimate:
    """Return tau_n = 5172.0 s / (1 + 3 g^2) with g = g_A/g_V; the error has d tau / d g =
    -6 g tau^2 / 5172.0 s.
    """
    tau = LIFETIME_CONSTANT / (1 + 3 * g.value**2)
    slope = abs(6 * g.value * tau**2 / LIFETIME_CONSTANT)
    return ChargeEstimate(tau, slope * g.statistical_error, slope * g.model_error, g.tau_int)
