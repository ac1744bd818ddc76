"""This module makes one fit of one model in one window of times.

The minimum is found by lsqfit, from the centre of the priors and, with several states, from the best of
energies spread over them (spectrum_start.py): the lower one of the two. With the Jacobian J there, the
weights W, the inverse prior covariance P and H = J^T W J + P, the parameters respond to the data by
G = H^-1 J^T W, so that

    covariance of the parameters = G C G^T + H^-1 P H^-1,

where C is the covariance of the data, whatever W is (for W = C^-1 this is lsqfit's own H^-1). The sum of
squares at the minimum is distributed as sum_i lambda_i z_i^2, z_i standard normal and lambda_i the
eigenvalues of C^(1/2) (W - W J H^-1 J^T W) C^(1/2) (Bruno and Sommer 2022, arXiv:2209.14188): this gives the
expected chi^2 and the p-value.

A weight matrix from n samples (nu = n - 1) makes chi^2 too large and errors too small. For W = C^-1 and
f = data - parameters, chi^2 is Hotelling's: chi^2 / nu = chi2_f / chi2_(nu - f + 1), and the covariance is
multiplied by nu / (nu - f) (the inverse of the mean of J^T W J) times (nu - 1) / (nu - f - 1) (the scatter of
W itself; Rao 1967; Toussaint and Freeman 2008, arXiv:0808.2211, to first order). A regularised W is used with
f = (directions that come from the samples) - parameters, at least 0; pseudo-experiments check this.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import gvar as gv
import lsqfit
import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag
from scipy.special import gammaincc

from ...ground.swallowed_interrupts import interrupts_kept
from ..statistics.weights import Weights
from .models import SpectralModel
from .spectrum_start import spread_start

MONTE_CARLO_P_VALUE_DRAWS = 10000
#: Minima whose chi^2 differ by less are the same one, up to where the minimiser stopped.
_SAME_MINIMUM = 1e-3


@dataclass(frozen=True)
class WindowFit:
    """This is the result of one fit.

    Attributes
    ----------
    model, times
        The model that was fitted, and the times; there is one array of times per correlator.
    parameters
        Best values by name (names of the model, logarithms where the name says so).
    covariance
        Statistical covariance of the parameters in the model's order, from the data alone.
    prior_covariance
        The part that comes from the priors.
    energies
        E_0, E_1, ...
    energy_response
        d E_n / d data, shape [state, data].
    chi2, chi2_prior
        Weighted sum of squares of the data, and of the priors.
    data_count, parameter_count
        Sizes of the fit.
    expected_chi2
        Mean of chi2 + chi2_prior if the model is true.
    p_value
        Probability of a larger chi2 + chi2_prior if the model is true; see the module text.
    q
        The textbook value: chi^2 with data_count - parameter_count degrees of freedom.
    information_criterion
        chi2 + chi2_prior + 2 parameter_count - 2 data_count, or its generalisation for W != C^-1.
    small_sample_factor
        The correction that `covariance` contains.
    energy_errors, energy_prior_errors
        Total errors of the energies, and the part of the priors in them.
    """

    model: SpectralModel
    times: list[NDArray]
    parameters: dict[str, float]
    covariance: NDArray
    prior_covariance: NDArray
    energies: NDArray
    energy_response: NDArray
    energy_errors: NDArray
    chi2: float
    chi2_prior: float
    data_count: int
    parameter_count: int
    expected_chi2: float
    p_value: float
    q: float
    information_criterion: float
    small_sample_factor: float
    energy_prior_errors: NDArray

    @property
    def dof(self) -> int:
        return self.data_count - self.parameter_count


def fit_window(
    model: SpectralModel, times: list[NDArray], weights: Weights, prior: gv.BufferDict, *, seed: int = 1
) -> WindowFit | None:
    """Fit the model; return None when the minimiser does not converge or the minimum is singular.

    Parameters
    ----------
    times
        One array of times per correlator; `weights.mean` holds the data in this order.
    """
    starts: list[gv.BufferDict | None] = [None]  # None stands for the centre of the priors
    if model.states > 1 or model.alternates:
        spread = spread_start(model, times, weights.mean, _inverse(weights.weight_covariance), prior)
        starts += [] if spread is None else [spread]
    converged = [fit for start in starts if (fit := minimum(model, times, weights, prior, start)) is not None]
    if not converged:
        return None
    lowest = min(converged, key=lambda fit: fit.chi2)
    if converged[0].chi2 < lowest.chi2 + _SAME_MINIMUM:
        lowest = converged[0]
    return _evaluate(model, times, weights, prior, lowest.pmean, seed)


def minimum(
    model: SpectralModel,
    times: list[NDArray],
    weights: Weights,
    prior: gv.BufferDict,
    start: gv.BufferDict | None,
) -> lsqfit.nonlinear_fit | None:
    """Return the fit at which the minimiser ends; None where it does not converge.

    Steps of the minimiser may overflow; numpy does not warn of that.
    """
    try:
        with np.errstate(all="ignore"), interrupts_kept():
            fit = lsqfit.nonlinear_fit(
                data=(times, weights.mean, weights.weight_covariance),
                fcn=model,
                prior=prior,
                p0=start,
                maxit=500,
                tol=1e-10,
            )
    except (ValueError, ArithmeticError, np.linalg.LinAlgError):
        return None
    return fit if fit.error is None and np.isfinite(fit.chi2) else None


def _evaluate(
    model: SpectralModel,
    times: list[NDArray],
    weights: Weights,
    prior: gv.BufferDict,
    p: gv.BufferDict,
    seed: int,
) -> WindowFit | None:
    """Return errors, chi^2 and its distribution at the minimum p, as in the module text.

    Samples that do not determine the weights have none: then it returns None.
    """
    jacobian = model.jacobian(times, p)
    w = _inverse(weights.weight_covariance)
    precision = np.diag(1.0 / np.array([prior[name].sdev for name in model.names]) ** 2)
    hessian = jacobian.T @ w @ jacobian + precision
    if not np.all(np.isfinite(hessian)) or np.linalg.cond(hessian) > 1e14:
        return None
    inverse = np.linalg.inv(hessian)
    response = inverse @ jacobian.T @ w
    residual = weights.mean - model(times, p)
    chi2 = float(residual @ w @ residual)
    chi2_prior = float(sum(((p[k] - prior[k].mean) / prior[k].sdev) ** 2 for k in model.names))
    rows, big_w, big_c = _augmented(model, jacobian, w, weights.covariance, precision)
    kernel = big_w - big_w @ rows @ inverse @ rows.T @ big_w
    free = big_w - big_w @ rows @ np.linalg.pinv(rows.T @ big_w @ rows, hermitian=True) @ rows.T @ big_w
    free_rank = max(weights.estimated_rank - model.parameter_count, 0.0)
    if weights.samples - 2 <= free_rank:
        return None
    correction = small_sample_correction(weights.samples, free_rank)
    covariance = response @ weights.covariance @ response.T * correction
    prior_covariance = inverse @ precision @ inverse
    slope = energy_slope(model, p)
    total = slope @ (covariance + prior_covariance) @ slope.T
    dof = len(weights.mean) - model.parameter_count
    spectrum = chi2_spectrum(kernel, big_c)
    scale = chi2_scale(weights.samples, free_rank)
    aic = (chi2 + chi2_prior) / scale - 2 * np.trace(free @ big_c)
    return WindowFit(
        model=model,
        times=times,
        parameters={name: float(p[name]) for name in model.names},
        covariance=covariance,
        prior_covariance=prior_covariance,
        energies=np.array(model.energies(p), dtype=float),
        energy_response=slope @ response,
        energy_errors=np.sqrt(np.diag(total)),
        chi2=chi2,
        chi2_prior=chi2_prior,
        data_count=len(weights.mean),
        parameter_count=model.parameter_count,
        expected_chi2=float(spectrum.sum() * scale),
        p_value=p_value(chi2 + chi2_prior, spectrum, weights.samples, free_rank, seed),
        q=float(gammaincc(dof / 2, (chi2 + chi2_prior) / 2)),
        information_criterion=float(aic),
        small_sample_factor=correction,
        energy_prior_errors=np.sqrt(np.diag(slope @ prior_covariance @ slope.T)),
    )


def _inverse(covariance: NDArray) -> NDArray:
    """Return C^-1 through the correlation matrix.

    Correlators span many orders of magnitude, correlations do not.
    """
    sigma = np.sqrt(np.diag(covariance))
    return np.linalg.inv(covariance / np.outer(sigma, sigma)) / np.outer(sigma, sigma)


def _augmented(model: SpectralModel, jacobian: NDArray, w: NDArray, c: NDArray, precision: NDArray):
    """Return J, W and C with the priors of the backward term as further data, which is what they are."""
    extra = len(model.names) - model.parameter_count
    if extra == 0:
        return jacobian, w, c
    rows = np.eye(len(model.names))[model.parameter_count :]
    kept = precision[model.parameter_count :, model.parameter_count :]
    return np.vstack([jacobian, rows]), block_diag(w, kept), block_diag(c, np.linalg.inv(kept))


def energy_slope(model: SpectralModel, p) -> NDArray:
    """Return d E_n / d parameter, shape [state, parameter]."""
    slope = np.zeros((model.states, len(model.names)))
    steps = [p["E0"]] + [p[f"gap{n}"] for n in range(1, model.states)]
    for n in range(model.states):
        slope[n:, n] = float(steps[n])
    return slope


def small_sample_correction(samples: float, free_rank: float) -> float:
    """Return the factor on the covariance of the parameters.

    The weight matrix is estimated from the same samples.
    """
    nu = samples - 1
    return nu / (nu - free_rank) * (nu - 1) / (nu - free_rank - 1)


def chi2_scale(samples: float, free_rank: float) -> float:
    """Return the mean of Hotelling's chi^2 over its value for infinitely many samples, nu
    / (nu - f - 1), f > 0.
    """
    nu = samples - 1
    return nu / (nu - free_rank - 1) if free_rank > 0 else 1.0


def chi2_spectrum(kernel: NDArray, covariance: NDArray) -> NDArray:
    """Return the eigenvalues of C^(1/2) kernel C^(1/2); C may be singular (fewer samples than data)."""
    sigma = np.sqrt(np.diag(covariance))
    values, vectors = np.linalg.eigh(covariance / np.outer(sigma, sigma))
    root = sigma[:, None] * vectors * np.sqrt(np.clip(values, 0.0, None))
    return np.clip(np.linalg.eigvalsh(root.T @ kernel @ root), 0.0, None)


@lru_cache(maxsize=4)
def _squares(seed: int, count: int) -> NDArray:
    """Return squares of standard normal numbers, shape [count, draw]; all fits of a scan share them."""
    return np.random.default_rng(seed).standard_normal((count, MONTE_CARLO_P_VALUE_DRAWS)) ** 2


def p_value(chi2: float, spectrum: NDArray, samples: float, free_rank: float, seed: int) -> float:
    """Return the Monte Carlo probability of sum lambda_i z_i^2 (over Hotelling's denominator) above chi2."""
    count = len(spectrum)
    draws = _squares(seed, -(-count // 32) * 32)[:count].T @ spectrum
    if free_rank > 0:
        nu = samples - 1
        draws *= nu / np.random.default_rng([seed, 1]).chisquare(nu - free_rank + 1, len(draws))
    return float((draws >= chi2).mean())
