"""Median and central interval of the charges under the likelihood of a two-state fit.

A two-state fit has three parameters that enter non-linearly: theta = (log E0, log gap, r). At fixed theta C
and g_eff are linear in A0 and in every g, b and c, which least squares gives at once. The profile likelihood

    L(theta) = exp(-1/2 min over the linear ones of [chi^2 + their priors]) * prior(theta)

is skew wherever the gap is not well known: a small gap goes with a charge far away and a large error. Best
fit and curvature there give high values too small an error and low ones too large a one: pulls of
pseudo-experiments then have means of 0.15 to 0.25. Taken instead is the distribution

    P(g) = <normal distribution around g(theta) with the error sigma_g(theta) of the linear fit>

averaged over theta with L: its median, and half the length of its central interval of 68.3 % as the error.
The linear parameters are at their best values, not integrated: their volume, largest where the data say
nothing about them, would be a prior for small gaps.

The averages are importance sums over quasi-random points (Sobol's, with a fixed scramble) of Student's t
distribution with the covariance of the fit, which is adapted to L a few times.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr
from scipy.stats import chi2, norm, qmc

_DRAWS = 1024
_TAILS = 4  # degrees of freedom of the proposal
_ADAPTATIONS = 3
_ENOUGH = 0.3  # effective draws over draws: no further adaptation
#: Effective draws below which the averages are not used.
LEAST_EFFECTIVE_DRAWS = 20.0


@dataclass(frozen=True)
class ProfileInput:
    """A fit at its best parameters: data, weights, times, theta and its covariance, priors (mean, width)."""

    data: NDArray
    weights: NDArray
    t_c: NDArray
    t_g: NDArray
    charges: int
    ratios: list[tuple[int, int]]  # of charges i and j
    theta: NDArray
    covariance: NDArray
    prior_mean: NDArray
    prior_width: NDArray
    charge_prior_width: float


@dataclass(frozen=True)
class Interval:
    """Median, and half the length of the central 68.3 %."""

    median: float
    half_width: float


@dataclass(frozen=True)
class Profile:
    """Averages over the profile likelihood.

    Attributes
    ----------
    energy, charges, ratios
        Of E0, of each charge, and of charge i over charge j by (i, j).
    effective_draws
        1 / sum of the squared weights.
    """

    energy: Interval
    charges: list[Interval]
    ratios: dict[tuple[int, int], Interval]
    effective_draws: float


@cache
def _draws() -> NDArray:
    """Student's t with unit scale matrix in three dimensions, shape [draw, 3]."""
    uniform = np.clip(qmc.Sobol(4, seed=3).random(_DRAWS), 1e-12, 1 - 1e-12)
    return norm.ppf(uniform[:, :3]) * np.sqrt(_TAILS / chi2.ppf(uniform[:, 3], _TAILS))[:, None]


@dataclass(frozen=True)
class _Sample:
    theta: NDArray
    weights: NDArray
    linear: NDArray  # best linear parameters, [draw, A0 and (g, b, c) of each charge]
    inverse: NDArray  # their covariance

    @property
    def effective(self) -> float:
        return float(1 / np.sum(self.weights**2))


def profile(fit: ProfileInput) -> Profile | None:
    """The averages; None where the points miss the likelihood (too few effective draws)."""
    centre, covariance = fit.theta, fit.covariance
    sample = _sample(fit, centre, covariance)
    if sample is None:
        return None
    for _ in range(_ADAPTATIONS):
        if sample.effective > _ENOUGH * _DRAWS:
            break
        mean = sample.weights @ sample.theta
        spread = (sample.theta - mean).T @ ((sample.theta - mean) * sample.weights[:, None])
        share = 0.7 if sample.effective > 0.01 * _DRAWS else 0.4
        centre, covariance = (
            share * new + (1 - share) * old for new, old in ((mean, centre), (spread, covariance))
        )
        moved = _sample(fit, centre, covariance)
        if moved is None or moved.effective <= sample.effective:
            break
        sample = moved
    if sample.effective < LEAST_EFFECTIVE_DRAWS:
        return None
    return _profile(sample, fit)


def _profile(sample: _Sample, fit: ProfileInput) -> Profile:
    kept = sample.weights > 1e-9 * sample.weights.max()
    w, x, V = sample.weights[kept], sample.linear[kept], sample.inverse[kept]
    w = w / w.sum()
    places = [1 + 3 * i for i in range(fit.charges)]

    def interval(values: NDArray, variances: NDArray) -> Interval:
        low, middle, high = _quantiles(w, values, np.sqrt(np.maximum(variances, 0.0)))
        return Interval(middle, (high - low) / 2)

    ratios = {}
    for i, j in fit.ratios:
        a, v = places[i], places[j]
        ratio = x[:, a] / x[:, v]
        variance = V[:, a, a] - 2 * ratio * V[:, a, v] + ratio**2 * V[:, v, v]
        ratios[i, j] = interval(ratio, variance / x[:, v] ** 2)
    return Profile(
        energy=interval(np.exp(sample.theta[kept, 0]), np.zeros(len(w))),
        charges=[interval(x[:, k], V[:, k, k]) for k in places],
        ratios=ratios,
        effective_draws=sample.effective,
    )


def _quantiles(weights: NDArray, means: NDArray, errors: NDArray) -> list[float]:
    """Of the sum of normal distributions with these weights, by bisection: at -1, 0 and 1 sigma."""
    errors = np.maximum(errors, 1e-12 * np.maximum(np.abs(means), 1e-300))
    levels = ndtr(np.array([-1.0, 0.0, 1.0]))
    low = np.full(3, (means - 9 * errors).min())
    high = np.full(3, (means + 9 * errors).max())
    for _ in range(45):
        middle = (low + high) / 2
        is_below = weights @ ndtr((middle - means[:, None]) / errors[:, None]) < levels
        low, high = np.where(is_below, middle, low), np.where(is_below, high, middle)
    return [float(x) for x in (low + high) / 2]


def _design(fit: ProfileInput, theta: NDArray) -> tuple[NDArray, NDArray]:
    """d data / d linear parameters at each theta, shape [draw, data, linear], and where 1 + r x > 0."""
    E0, gap, r = np.exp(theta[:, :1]), np.exp(theta[:, 1:2]), theta[:, 2:]
    x = np.exp(-gap * fit.t_c)
    is_positive = (1 + r * x).min(axis=1) > 0

    def parts(t: NDArray) -> NDArray:
        """d (N/C) / d (g, b, c); charges.py."""
        y = np.exp(-gap * t)
        share = 1 / (1 + r * y)
        return np.stack([t * share, y * t * share, y * share], axis=2)

    design = np.zeros((len(theta), len(fit.data), 1 + 3 * fit.charges))
    design[:, : len(fit.t_c), 0] = np.exp(-E0 * fit.t_c) * (1 + r * x)
    difference = parts(fit.t_g + 1.0) - parts(fit.t_g + 0.0)
    for i in range(fit.charges):
        first = len(fit.t_c) + i * len(fit.t_g)
        design[:, first : first + len(fit.t_g), 1 + 3 * i : 4 + 3 * i] = difference
    return design, is_positive


def _sample(fit: ProfileInput, centre: NDArray, covariance: NDArray) -> _Sample | None:
    """Points around the centre, weighted with the profile likelihood over their own density."""
    z = _draws()
    try:
        theta = centre + z @ np.linalg.cholesky(covariance).T
    except np.linalg.LinAlgError:
        return None
    with np.errstate(all="ignore"):
        X, is_positive = _design(fit, theta)
        is_positive &= np.isfinite(X).all(axis=(1, 2))
        X[~is_positive] = 1.0
        WX = np.einsum("ij,njk->nik", fit.weights, X)
        hessian = np.einsum("nij,nik->njk", X, WX)
        places = np.arange(1, X.shape[2])
        hessian[:, places, places] += fit.charge_prior_width**-2.0
        right = np.einsum("nij,i->nj", WX, fit.data)
        scale = np.sqrt(np.einsum("njj->nj", hessian))
        scaled = hessian / (scale[:, :, None] * scale[:, None, :])
        is_positive &= np.isfinite(scaled).all(axis=(1, 2))
        scaled[~is_positive] = np.eye(X.shape[2])
        try:
            inverse = np.linalg.inv(scaled) / (scale[:, :, None] * scale[:, None, :])
        except np.linalg.LinAlgError:
            return None
        linear = np.einsum("njk,nk->nj", inverse, right)
        log_likelihood = 0.5 * np.einsum("nj,nj->n", linear, right)
        log_likelihood -= 0.5 * (((theta - fit.prior_mean) / fit.prior_width) ** 2).sum(axis=1)
        log_weight = log_likelihood + 0.5 * (_TAILS + 3) * np.log1p((z**2).sum(axis=1) / _TAILS)
    is_good = is_positive & np.isfinite(log_weight) & (linear[:, 0] > 0)
    if not is_good.any():
        return None
    log_weight = np.where(is_good, log_weight, -np.inf)
    weights = np.exp(log_weight - log_weight.max())
    linear[~is_good], inverse[~is_good], theta[~is_good] = 1.0, 0.0, centre
    return _Sample(theta, weights / weights.sum(), linear, inverse)
