"""These figures are about a chain and about the data of a fit."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from ..analysis.records.record import Series
from ..analysis.records.results import AutocorrelationResult, ParticleResult, Results
from .style import COLOURS, FAINT, INK, MARKERS, label

#: A stream has this series of the topological charge first.
CHARGE = "topological_charge"
_FORCE, _LARGEST = "force.", "force_largest."


def charge_histogram(name: str, series: Series) -> Figure:
    """Draw how often each topological charge was measured, with a normal distribution of the same <Q^2>.

    Where the charges are wide enough, the bars stand at the integers.
    """
    charge = np.array([q for q in series.value if q is not None], dtype=float)
    figure = Figure(figsize=(5.6, 3.6))
    axes = figure.subplots()
    width = float(np.sqrt(np.mean(charge**2)))
    step = 1.0 if width > 1 else max(width / 2, 1e-12)
    most = max(int(np.ceil(np.abs(charge).max() / step - 0.5)), 1)
    edges = step * (np.arange(-most, most + 2) - 0.5)
    counts, _ = np.histogram(charge, edges)
    centres = (edges[1:] + edges[:-1]) / 2
    axes.bar(centres, counts, 0.9 * step, color=COLOURS[0], alpha=0.75, label=f"{len(charge)} configurations")
    fine = np.linspace(edges[0], edges[-1], 200)
    if width > 0:
        normal = len(charge) * step * np.exp(-(fine**2) / (2 * width**2)) / (width * np.sqrt(2 * np.pi))
        text = rf"normal, $\langle Q^2 \rangle$ = {width**2:.3g}"
        axes.plot(fine, normal, color=COLOURS[1], lw=1.3, label=text)
    axes.set_xlabel(f"topological charge $Q$ ({name.replace('_', ' ')})" if name != CHARGE else "$Q$")
    axes.set_ylabel("configurations")
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    axes.legend(loc="best")
    return figure


def force_series(results: Results) -> dict[str, Series]:
    """Return the series of the forces by name of the observable, those of means before the largest."""
    found: dict[str, Series] = {}
    for prefix in (_FORCE, _LARGEST):
        for name in [*results.observables, *results.series]:
            observable = results.observables.get(name)
            series = results.series.get(name) if observable is None else observable.series
            if name.startswith(prefix) and series is not None:
                found[name] = series
    return found


def forces(series: dict[str, Series]) -> Figure:
    """Draw the mean and the largest force of each monomial, on a logarithmic axis."""
    figure = Figure(figsize=(9.2, 3.4))
    axes = figure.subplots()
    monomials = [name.removeprefix(_FORCE) for name in series if name.startswith(_FORCE)]
    for name, of_trajectories in series.items():
        monomial = name.removeprefix(_LARGEST).removeprefix(_FORCE)
        k = monomials.index(monomial) if monomial in monomials else len(monomials)
        is_mean = name.startswith(_FORCE)
        value = np.array(of_trajectories.value, dtype=float)
        value[value <= 0] = np.nan  # a logarithmic axis has none of them
        look = "-" if is_mean else ":"
        text = monomial if is_mean else f"{monomial}, largest"
        axes.plot(of_trajectories.x, value, look, color=COLOURS[k % len(COLOURS)], lw=1.0, label=text)
    axes.set_yscale("log")
    axes.set_xlabel("trajectory")
    axes.set_ylabel("force on a link (lattice units)")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=8))
    figure.legend(loc="outside right upper")
    return figure


def correlation_matrix(name: str, particle: ParticleResult) -> Figure:
    """Draw the correlations between the times of the best fit (left), and the weights of all fits (right)."""
    figure = Figure(figsize=(9.2, 3.8))
    left, right = figure.subplots(1, 2, width_ratios=[1, 1.25])
    matrix = np.array(particle.correlation, dtype=float)
    first = particle.fit.t_min
    edges = first - 0.5 + np.arange(len(matrix) + 1)
    # A mesh of few colours is no image, and neither is its bar: a page has no images inside of its figures.
    few = mpl.colormaps["RdBu_r"].resampled(40)
    mesh = left.pcolormesh(edges, edges, matrix, vmin=-1, vmax=1, cmap=few)
    figure.colorbar(mesh, ax=left, label="correlation")
    left.invert_yaxis()
    left.grid(visible=False)
    left.set_title(f"{label(name)}: correlation of times")
    left.set_xlabel("$t/a$")
    left.set_ylabel("$t'/a$")
    for axis in (left.xaxis, left.yaxis):
        axis.set_major_locator(MaxNLocator(integer=True))
    _draw_weights(right, particle)
    return figure


def _draw_weights(axes: Axes, particle: ParticleResult) -> None:
    """Draw the weight of each fit in the average against its mass: a narrow peak needs no average."""
    for k, states in enumerate(sorted({fit.n_states for fit in particle.scan})):
        fits = [fit for fit in particle.scan if fit.n_states == states]
        axes.errorbar(
            [fit.mass for fit in fits],
            [fit.weight for fit in fits],
            xerr=[fit.mass_error for fit in fits],
            fmt=MARKERS[k % len(MARKERS)],
            color=COLOURS[k % len(COLOURS)],
            mfc="white",
            label="1 state" if states == 1 else f"{states} states",
        )
    low, high = particle.mass - particle.mass_error, particle.mass + particle.mass_error
    axes.axvspan(low, high, color=FAINT, alpha=0.3, lw=0, label="average")
    heavy = [fit for fit in particle.scan if fit.weight > 0.01] or particle.scan
    masses = [f.mass - 1.3 * f.mass_error for f in heavy] + [f.mass + 1.3 * f.mass_error for f in heavy]
    axes.set_xlim(min(*masses, low), max(*masses, high))
    axes.xaxis.set_major_locator(MaxNLocator(nbins=5))
    axes.set_title("Weights of the fits")
    axes.set_xlabel(r"$a\,m$")
    axes.set_ylabel("weight")
    axes.legend(loc="best")


def moving_particles(results: Results) -> dict[str, dict[int, ParticleResult]]:
    """Return by particle its fits at each |n|^2, where there are momenta beside zero."""
    found: dict[str, dict[int, ParticleResult]] = {}
    for name, particle in results.particles.items():
        if not name.endswith("_parity_partner"):
            found.setdefault(particle.particle, {})[particle.momentum_squared] = particle
    return {name: fits for name, fits in found.items() if len(fits) > 1 and 0 in fits}


def dispersion(moving: dict[str, dict[int, ParticleResult]], extent: int) -> Figure:
    """Draw (aE)^2 against (ap)^2, p^2 = (2 pi / L)^2 n^2, with m^2 + p^2 and the form of a lattice boson.

    The latter is 4 sinh^2(E/2) = 4 sinh^2(m/2) + 4 sin^2(p/2), here for momenta along one axis. Where the
    extent is not known (0) energies stand against n^2, without curves.
    """
    figure = Figure(figsize=(5.6, 4.0))
    axes = figure.subplots()
    unit = (2 * np.pi / extent) ** 2 if extent else 1.0
    for k, (name, fits) in enumerate(moving.items()):
        n2 = np.array(sorted(fits))
        energy = np.array([fits[n].mass for n in n2])
        error = np.array([fits[n].mass_error for n in n2])
        colour = COLOURS[k % len(COLOURS)]
        marker = MARKERS[k % len(MARKERS)]
        axes.errorbar(
            unit * n2, energy**2, 2 * energy * error, fmt=marker, color=colour, mfc="white", label=label(name)
        )
        if not extent:
            continue
        p2 = np.linspace(0, unit * n2[-1] * 1.05, 100)
        axes.plot(p2, energy[0] ** 2 + p2, color=colour, lw=0.9)
        axes.plot(p2, lattice_energy(energy[0], np.sqrt(p2)) ** 2, color=colour, lw=0.9, ls=(0, (4, 2)))
    if extent:
        axes.plot([], [], color=INK, lw=0.9, label="$m^2 + p^2$")
        axes.plot([], [], color=INK, lw=0.9, ls=(0, (4, 2)), label="lattice boson, one axis")
    axes.set_xlabel("$(ap)^2$" if extent else "$n^2$")
    axes.set_ylabel("$(aE)^2$")
    axes.set_xlim(-0.03 * axes.get_xlim()[1], None)  # the whole point at rest needs room
    axes.set_ylim(0, None)
    axes.legend(loc="best")
    return figure


def lattice_energy(mass: float, momentum: NDArray) -> NDArray:
    """Return E with 4 sinh^2(E/2) = 4 sinh^2(m/2) + 4 sin^2(p/2)."""
    return 2 * np.arcsinh(np.sqrt(np.sinh(mass / 2) ** 2 + np.sin(momentum / 2) ** 2))


def draw_summation(axes: Axes, observable: AutocorrelationResult) -> None:
    """Draw tau_int against the window W where the sum ends.

    It is corrected for the mean that was subtracted and has the error 2 tau sqrt((W + 1/2 - tau) / N), as the
    value of the report has them (U. Wolff, hep-lat/0306017).
    """
    rho = np.array(observable.rho.value, dtype=float)
    window, count = np.arange(len(rho)), max(observable.count, 1)
    summed = 0.5 + np.concatenate([[0.0], np.cumsum(rho[1:])])
    tau = summed * (1 + (2 * window + 1) / count) / (1 + 1 / count)
    error = 2 * np.abs(tau) * np.sqrt(np.clip(window + 0.5 - summed, 0, None) / count)
    axes.errorbar(window, tau, error, fmt="o", color=COLOURS[3], mfc="white", mew=1.1)
    axes.axvline(observable.window, color=INK, lw=0.9, ls=(0, (3, 2)))
    axes.axhline(0.5, color=FAINT, lw=0.8)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=6))
    axes.set_xlabel("window of the sum")
    axes.set_ylabel(r"$\tau_{\mathrm{int}}$ up to the window")
