"""The charges have a median and a central interval under the likelihood of a fit of several states.

Only the energies enter non-linearly: theta = (log E0, log gap, log gap 2). At fixed theta the data are
linear in the amplitudes and in A0 times every g and what else a charge has (charge_model.py), which least
squares gives at once. The profile likelihood

    L(theta) = exp(-1/2 min over the linear ones of [chi^2 + their priors]) * prior(theta)

is skew wherever the gap is not well known: a small gap goes with a charge far away and a large error. The
best fit and the curvature there give high values too small an error and low ones too large a one: pulls of
pseudo-experiments then have means of 0.15 to 0.25. The distribution that is taken instead is

    P(g) = <normal distribution around g(theta) with the error sigma_g(theta) of the linear fit>

averaged over the gaps with L. The value is its median, and the error is half the length of its central
interval of 68.3 %. The linear parameters are at their best values, not integrated: their volume,
largest where the data say nothing about them, would be a prior for small gaps. The integral over E0 is
that of a normal distribution.

The averages are sums over nodes in the logarithms of the gaps: some around the best fit, and some over the
whole prior, since the likelihood may have another maximum. Noise can make a small gap look like a large one,
whose charge then seems to be known ten times better than it is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from .charge_model import ChargeModel

#: Each gap has so many nodes, by the number of gaps: _NEAR is for those around the best fit, to five of its
#: errors, and _FAR for those over the prior, to three of its widths. Two gaps have the square of them.
_NEAR = {1: 25, 2: 13}
_FAR = {1: 21, 2: 11}
_ALLOWED = 3.84 / 2  # log L may lie so far below its maximum: 95 % for one parameter
_NEGLIGIBLE = 20.0  # nodes further below the maximum of log L do not count
_STEPS = 12  # E0 takes at most so many steps at fixed gaps


@dataclass(frozen=True)
class ProfileInput:
    """The input is a fit at its best parameters: data, weights, model, theta and its
    covariance, priors (mean, width).

    theta = (log E0, log gap, log gap 2, ...); `amplitude` is A0, the unit of the priors of the linear ones.
    """

    data: NDArray
    weights: NDArray
    model: ChargeModel
    ratios: list[tuple[int, int]]  # each is of charges i and j
    theta: NDArray
    covariance: NDArray
    prior_mean: NDArray
    prior_width: NDArray
    amplitude: float
    amplitude_ratio_prior: tuple[float, float]
    charge_prior_width: float


@dataclass(frozen=True)
class Interval:
    """An interval has the median, and as its error half the length of the central 68.3 %."""

    median: float
    half_width: float


@dataclass(frozen=True)
class Profile:
    """These are averages over the profile likelihood.

    Attributes
    ----------
    energy, charges, ratios
        The averages of E0, of each charge, and of charge i over charge j by (i, j).
    prior_shifts
        The mean of each charge moves so far when the prior of a gap moves by its width, gaps in quadrature:
        covariance of charge and log gap over the width.
    remainder_limit
        The largest exp(-gap t) at the farthest time that the likelihood allows at 95 %: L above exp(-3.84/2)
        of its maximum.
    """

    energy: Interval
    charges: list[Interval]
    ratios: dict[tuple[int, int], Interval]
    prior_shifts: list[float]
    remainder_limit: float


@dataclass(frozen=True)
class _Nodes:
    theta: NDArray  # its shape is [node, energy]
    height: NDArray  # this is log L, 0 at the highest node
    energy_error: NDArray  # this is that of log E0 at fixed gaps
    weights: NDArray
    linear: NDArray  # they are the best: A0, A1, ..., and A0 times those of each charge
    covariance: NDArray  # this is that of the linear ones at fixed gaps


def profile(fit: ProfileInput) -> Profile | None:
    """Return the averages; None where there is no likelihood at all."""
    errors, gaps = np.sqrt(np.diag(fit.covariance))[1:], len(fit.theta) - 1
    near, far = np.linspace(-5.0, 5.0, _NEAR[gaps]), np.linspace(-3.0, 3.0, _FAR[gaps])
    axes = [
        np.unique(np.concatenate([best + error * near, mean + width * far]))
        for best, error, mean, width in zip(
            fit.theta[1:], errors, fit.prior_mean[1:], fit.prior_width[1:], strict=True
        )
    ]
    nodes = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))
    lengths = [np.gradient(axis) for axis in axes]  # this is the trapezoidal rule
    measure = np.prod(np.stack(np.meshgrid(*lengths, indexing="ij"), axis=-1), axis=-1).reshape(-1)
    try:
        found = _at_best_energy(fit, nodes, measure)
    except np.linalg.LinAlgError:
        return None
    return None if found is None else _profile(found, fit)


def _at_best_energy(fit: ProfileInput, gaps: NDArray, measure: NDArray) -> _Nodes | None:
    """Return L at fixed gaps with the best E0, by Gauss-Newton steps that are halved where they lead down.

    d model / d log E0 = -E0 t model; what the linear parameters can follow of it is projected out.
    """
    theta = np.column_stack([np.full(len(gaps), fit.theta[0]), gaps])
    best = conditional(fit, theta)
    step, variance, _ = _energy_step(fit, theta, best[1], best[2])
    for _ in range(_STEPS):
        near = best[0] > best[0].max() - _NEGLIGIBLE
        if np.all(step[near] ** 2 < 1e-4 * variance[near]):
            break
        tried = theta.copy()
        tried[:, 0] += np.clip(step, -0.5, 0.5)
        found = conditional(fit, tried)
        is_up = found[0] >= best[0]
        theta[is_up] = tried[is_up]
        for kept, new in zip(best, found, strict=True):
            kept[is_up] = new[is_up]
        following, variance, _ = _energy_step(fit, theta, best[1], best[2])
        step = np.where(is_up, following, step / 2)
    _, variance, follow = _energy_step(fit, theta, best[1], best[2])
    log_likelihood, linear, inverse = best
    is_good = np.isfinite(log_likelihood) & (linear[:, 0] > 0) & (variance > 0) & np.isfinite(variance)
    if not is_good.any():
        return None
    follow, variance, height = follow[is_good], variance[is_good], log_likelihood[is_good]
    height = height - height.max()
    weights = measure[is_good] * np.sqrt(variance) * np.exp(height)
    covariance = inverse[is_good] + variance[:, None, None] * follow[:, :, None] * follow[:, None, :]
    return _Nodes(
        theta[is_good], height, np.sqrt(variance), weights / weights.sum(), linear[is_good], covariance
    )


def _energy_step(
    fit: ProfileInput, theta: NDArray, linear: NDArray, inverse: NDArray
) -> tuple[NDArray, NDArray, NDArray]:
    """Return the Gauss-Newton step of log E0, its variance, and minus the slope of the
    linear parameters in it.
    """
    with np.errstate(all="ignore"):
        X = fit.model.design(theta)
        model = (X @ linear[:, :, None])[:, :, 0]
        slope = -np.exp(theta[:, :1]) * fit.model.times * model
        weighted = slope @ fit.weights
        projection = (np.swapaxes(X, 1, 2) @ weighted[:, :, None])[:, :, 0]
        follow = (inverse @ projection[:, :, None])[:, :, 0]
        precision = fit.prior_width[0] ** -2.0
        curvature = (weighted * slope).sum(axis=1) - (projection * follow).sum(axis=1) + precision
        gradient = (weighted * (fit.data - model)).sum(axis=1)
        gradient -= precision * (theta[:, 0] - fit.prior_mean[0])
        step = np.where(curvature > 0, gradient / curvature, 0.0)
        return np.nan_to_num(step, posinf=0.0, neginf=0.0), 1 / curvature, follow


def _profile(nodes: _Nodes, fit: ProfileInput) -> Profile:
    kept = nodes.weights > 1e-9 * nodes.weights.max()
    w, x, V = nodes.weights[kept], nodes.linear[kept], nodes.covariance[kept]
    w = w / w.sum()
    E0, A0 = np.exp(nodes.theta[kept, 0]), x[:, :1]
    places = fit.model.places_of_charges()
    g = x[:, places] / A0
    # By charge, d (g A0 / A0) = [d (g A0) - g d A0] / A0 holds.
    slope = np.zeros((len(x), len(places), x.shape[1]))
    for i, k in enumerate(places):
        slope[:, i, k], slope[:, i, 0] = 1 / A0[:, 0], -g[:, i] / A0[:, 0]
    covariance = slope @ V @ np.swapaxes(slope, 1, 2)

    def interval(values: NDArray, variances: NDArray) -> Interval:
        low, middle, high = _quantiles(w, values, np.sqrt(np.maximum(variances, 0.0)))
        return Interval(middle, (high - low) / 2)

    ratios = {}
    for i, j in fit.ratios:
        ratio = g[:, i] / g[:, j]
        variance = covariance[:, i, i] - 2 * ratio * covariance[:, i, j] + ratio**2 * covariance[:, j, j]
        ratios[i, j] = interval(ratio, variance / g[:, j] ** 2)
    return Profile(
        energy=interval(E0, (E0 * nodes.energy_error[kept]) ** 2),
        charges=[interval(g[:, i], covariance[:, i, i]) for i in range(len(places))],
        ratios=ratios,
        prior_shifts=_prior_shifts(w, g, nodes.theta[kept], fit),
        remainder_limit=float(
            np.exp(-np.exp(nodes.theta[nodes.height > -_ALLOWED, 1].min()) * fit.model.farthest)
        ),
    )


def _prior_shifts(w: NDArray, g: NDArray, theta: NDArray, fit: ProfileInput) -> list[float]:
    away, moves = theta[:, 1:] - w @ theta[:, 1:], g - w @ g
    shifts = (moves * w[:, None]).T @ away / fit.prior_width[1:]
    return [float(x) for x in np.sqrt((shifts**2).sum(axis=1))]


def _quantiles(weights: NDArray, means: NDArray, errors: NDArray) -> list[float]:
    """Return the quantiles at -1, 0 and 1 sigma of a weighted sum of normal distributions, by bisection."""
    errors = np.maximum(errors, 1e-12 * np.maximum(np.abs(means), 1e-300))
    levels = ndtr(np.array([-1.0, 0.0, 1.0]))
    low = np.full(3, (means - 9 * errors).min())
    high = np.full(3, (means + 9 * errors).max())
    for _ in range(45):
        middle = (low + high) / 2
        is_below = weights @ ndtr((middle - means[:, None]) / errors[:, None]) < levels
        low, high = np.where(is_below, middle, low), np.where(is_below, high, middle)
    return [float(x) for x in (low + high) / 2]


def conditional(fit: ProfileInput, theta: NDArray) -> tuple[NDArray, NDArray, NDArray]:
    """Return log L at each theta (-inf where there is none), the best linear
    parameters and their covariance.
    """
    states = theta.shape[1]
    with np.errstate(all="ignore"):
        X = fit.model.design(theta)
        is_good = np.isfinite(X).all(axis=(1, 2))
        X[~is_good] = 1.0
        root = np.linalg.cholesky(fit.weights)
        white = root.T @ X
        transposed = np.swapaxes(white, 1, 2)
        hessian = transposed @ white
        right = transposed @ (root.T @ fit.data)
        ratio, width = fit.amplitude_ratio_prior
        widths = np.full(X.shape[2], fit.charge_prior_width * fit.amplitude)
        widths[1:states] = width * fit.amplitude
        precision = widths**-2.0
        precision[0] = 0.0
        centre = np.zeros(X.shape[2])
        centre[1:states] = ratio * fit.amplitude
        places = np.arange(X.shape[2])
        hessian[:, places, places] += precision
        right += precision * centre
        scale = np.sqrt(np.einsum("njj->nj", hessian))
        scaled = hessian / (scale[:, :, None] * scale[:, None, :])
        is_good &= np.isfinite(scaled).all(axis=(1, 2))
        scaled[~is_good] = np.eye(X.shape[2])
        inverse = np.linalg.inv(scaled) / (scale[:, :, None] * scale[:, None, :])
        linear = (inverse @ right[:, :, None])[:, :, 0]
        log_likelihood = 0.5 * np.einsum("nj,nj->n", linear, right)
        log_likelihood -= 0.5 * (((theta - fit.prior_mean) / fit.prior_width) ** 2).sum(axis=1)
    return np.where(is_good, log_likelihood, -np.inf), linear, inverse
