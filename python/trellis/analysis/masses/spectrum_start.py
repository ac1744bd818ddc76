"""Fits of correlators start at the best of energies spread over the window and over the priors of the gaps.

At fixed energies C(t) = sum_n A_n basis(E_n, t) is linear in the amplitudes, which least squares gives at
once. Sums of exponentials have several minima, above all with amplitudes of both signs; the one that is
nearest to the centre of the priors need not be the deepest, and may be no description of the data at all.
"""

from __future__ import annotations

import gvar as gv
import numpy as np
from numpy.typing import NDArray

from .effective_mass import log_effective_mass, periodic_effective_mass
from .models import SpectralModel

#: E_0, and every gap, take so many values, by the number of states.
_NODES = {1: (16, 1), 2: (16, 11), 3: (10, 8)}
#: E_o takes so many values, where there is one.
_ALTERNATING_NODES = 6
#: E_0 is tried this far below and above the effective masses of the window, in the logarithm: excited states
#: move these away from E_0.
_BELOW, _ABOVE = 0.7, 0.3
#: The prior of a gap reaches this many widths to each side.
_WIDTHS = 2.0
#: Means over neighbours, with a time on each side, are taken of at least this many times.
_LEAST_SMOOTHED = 4
#: States that cannot be told from each other have no amplitudes.
_LARGEST_CONDITION = 1e12


def without_sign(mean: NDArray) -> NDArray:
    """Return [C(t - 1) + 2 C(t) + C(t + 1)] / 4, in which (-1)^t exp(-E t) is
    suppressed; ends are left alone.
    """
    smoothed = mean.copy()
    smoothed[1:-1] = (mean[:-2] + 2 * mean[1:-1] + mean[2:]) / 4
    return smoothed


def window_masses(model: SpectralModel, window: NDArray, mean: NDArray) -> NDArray:
    """Return effective masses of one correlator between neighbouring times of the window,
    where they are above 0.

    States with a sign (-1)^t are suppressed by a mean over neighbouring times.
    """
    if model.alternates and len(mean) >= _LEAST_SMOOTHED:
        window, mean = window[1:-1], without_sign(mean)[1:-1]
    if model.image:
        full = np.full(model.time_extent // 2 + 1, np.nan)
        full[window] = mean
        masses = periodic_effective_mass(full, model.time_extent, model.image)
    else:
        masses = log_effective_mass(mean)
    return masses[np.isfinite(masses) & (masses > 0)]


def spread_start(
    model: SpectralModel, times: list[NDArray], mean: NDArray, weights: NDArray, prior: gv.BufferDict
) -> gv.BufferDict | None:
    """Return the parameters of the best node; None where no node has positive ground states.

    Parameters
    ----------
    times
        The times of each correlator.
    mean, weights
        The mean of all data, and the matrix that weights their residuals.
    prior
        The prior of the model: its centres are the units of the amplitudes, and a backward state keeps them.
    """
    first = window_masses(model, times[0].astype(int), mean[: len(times[0])])
    centre = {name: float(prior[name].mean) for name in model.names}
    low = high = centre["log(E0)"]
    if len(first):
        low, high = np.log(first.min()), np.log(first.max())
    e_nodes, gap_nodes = _NODES[model.states]
    axes = [np.linspace(low - _BELOW, high + _ABOVE, e_nodes)]
    widths = np.linspace(-_WIDTHS, _WIDTHS, gap_nodes)
    for n in range(1, model.states):
        axes.append(centre[f"log(gap{n})"] + prior[f"log(gap{n})"].sdev * widths)
    if model.alternates:
        width = prior["log(Eo)"].sdev
        axes.append(centre["log(Eo)"] + width * np.linspace(-_WIDTHS, _WIDTHS, _ALTERNATING_NODES))
    theta = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))
    data = mean
    if model.behind:
        data = mean.copy()
        energy = np.exp(centre["log(Eb)"])
        data[: len(times[0])] -= centre["b"] * np.exp(-energy * (model.time_extent - times[0]))
    heights, amplitudes = _best_amplitudes(model, times, data, weights, prior, theta)
    for n in range(1, model.states):
        gap = prior[f"log(gap{n})"]
        heights = heights - 0.5 * ((theta[:, n] - gap.mean) / gap.sdev) ** 2
    if model.alternates:
        heights = heights - 0.5 * ((theta[:, -1] - centre["log(Eo)"]) / prior["log(Eo)"].sdev) ** 2
    columns = model.states + model.alternates
    is_good = np.isfinite(heights) & (amplitudes[:, ::columns] > 0).all(axis=1)
    if not is_good.any():
        return None
    best = int(np.argmax(np.where(is_good, heights, -np.inf)))
    start = gv.BufferDict(centre)
    start["log(E0)"] = theta[best, 0]
    for n in range(1, model.states):
        start[f"log(gap{n})"] = theta[best, n]
    if model.alternates:
        start["log(Eo)"] = theta[best, -1]
    for c in range(model.correlators):
        own = amplitudes[best, c * columns : (c + 1) * columns]
        start[f"log(A{c})"] = np.log(own[0])
        if model.alternates:
            start[f"o{c}"] = own[-1] / own[0]
        for n in range(1, model.states):
            start[f"r{c}_{n}"] = own[n] / own[0]
    return start


def _best_amplitudes(
    model: SpectralModel,
    times: list[NDArray],
    data: NDArray,
    weights: NDArray,
    prior: gv.BufferDict,
    theta: NDArray,
) -> tuple[NDArray, NDArray]:
    """Return the log likelihood up to a constant, shape [node], and A_cn [node, correlator and state].

    The priors of A_n/A_0 enter in units of the centre of A_0's prior, so that nodes which the data do not
    tell apart have amplitudes.
    """
    energies = np.cumsum(np.exp(theta[:, : model.states]), axis=1)
    columns = model.states + model.alternates
    precision, centre = np.zeros((2, model.correlators * columns))
    for c in range(model.correlators):
        unit = np.exp(prior[f"log(A{c})"].mean)
        ratios = [prior[f"r{c}_{n}"] for n in range(1, model.states)]
        ratios += [prior[f"o{c}"]] if model.alternates else []
        for place, ratio in enumerate(ratios, start=c * columns + 1):
            precision[place], centre[place] = (ratio.sdev * unit) ** -2.0, ratio.mean * unit
    X = np.zeros((len(theta), len(data), len(precision)))
    row = 0
    for c, t in enumerate(times):
        for n in range(model.states):
            X[:, row : row + len(t), c * columns + n] = model.basis(energies[:, n, None], t)
        if model.alternates:
            energy = np.exp(theta[:, -1, None])
            X[:, row : row + len(t), c * columns + model.states] = model.alternating_basis(energy, t)
        row += len(t)
    weighted = np.swapaxes(X, 1, 2) @ weights
    hessian = weighted @ X + np.diag(precision)
    right = weighted @ data + precision * centre
    size = np.sqrt(np.einsum("njj->nj", hessian))
    with np.errstate(all="ignore"):
        scaled = hessian / (size[:, :, None] * size[:, None, :])
        is_good = np.isfinite(scaled).all(axis=(1, 2))
        scaled[~is_good] = np.eye(len(precision))
        is_good &= np.linalg.cond(scaled) < _LARGEST_CONDITION
        scaled[~is_good] = np.eye(len(precision))
        amplitudes = np.linalg.solve(scaled, (right / size)[:, :, None])[:, :, 0] / size
        heights = 0.5 * (amplitudes * right).sum(axis=1)
    return np.where(is_good, heights, -np.inf), amplitudes
