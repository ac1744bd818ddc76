"""The plots of a report come from the numbers in Results alone."""

from __future__ import annotations

import math

import gvar as gv
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from ..analysis.masses.effective_mass import log_effective_mass, periodic_effective_mass
from ..analysis.masses.models import SpectralModel
from ..analysis.records.record import Series
from ..analysis.records.results import AutocorrelationResult, FitResult, ParticleResult, Results
from .statistics_figures import draw_summation
from .style import (
    BAND_ALPHA,
    COLOURS,
    FAINT,
    INK,
    MARKERS,
    colour_and_marker,
    label,
    observable_label,
    show_first_times,
)

TIME_LABEL = r"time from the source $t/a$  (lattice units)"
MASS_LABEL = r"$a\,m$  (lattice units)"
#: Fits with less weight than this are drawn faintly.
_FAINT_WEIGHT = 0.01
#: A legend above the axes has this many particles; more are listed to the right of them.
_MOST_ABOVE = 4
#: A legend beside the axes has at most this many rows.
_MOST_ROWS = 20
#: A legend under the label of the time axis lies this far from the axes, in heights of its letters.
_BELOW_LABELS = 3.6


def _arrays(series: Series) -> tuple[NDArray, NDArray, NDArray]:
    x, value, error = (np.array(v, dtype=float) for v in (series.x, series.value, series.error))
    return x, value, error


def fitted_correlator(particle: ParticleResult, fit: FitResult, t: NDArray) -> NDArray:
    """Return the best fit at times t, in units of the measured correlator (the first
    of a simultaneous fit).
    """
    behind, alternates = ("log(Eb)" in fit.parameters), ("log(Eo)" in fit.parameters)
    extent, count = len(particle.correlator.x), len(particle.normalisation)
    model = SpectralModel(fit.n_states, count, extent, particle.image, behind, alternates)
    p = gv.BufferDict(fit.parameters)
    times = [t] * len(particle.normalisation)
    return particle.normalisation[0] * np.asarray(model(times, p)[: len(t)], dtype=float)


def correlators(results: Results) -> Figure:
    """Draw all correlators on a logarithmic axis, with the best fits."""
    figure = Figure(figsize=(5.6, 4.2))
    axes = figure.subplots()
    names = list(results.particles)
    for name in names:
        if name.endswith("_parity_partner"):
            continue  # these are the same data, from behind
        colour, marker = colour_and_marker(name, names)
        _draw_correlator(axes, results.particles[name], colour, marker, label(name))
    axes.set_yscale("log")
    axes.set_xlabel(TIME_LABEL)
    axes.set_ylabel(r"correlator $C(t)$  (lattice units)")
    axes.set_xlim(-0.4, results.lattice[3] - 0.6)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=9))
    _legend_of_particles(figure, axes, ncols=_MOST_ABOVE)
    return figure


def _legend_of_particles(figure: Figure, axes: Axes, *, ncols: int, title: str | None = None) -> None:
    """Draw a legend outside the axes, where it covers no data; `ncols` is for a few names.

    A figure with a list beside its axes becomes wider by it, so that the axes keep their size.
    """
    handles, labels = axes.get_legend_handles_labels()
    if len(handles) <= _MOST_ABOVE:
        figure.legend(
            handles, labels, loc="outside upper center", ncols=min(ncols, max(1, len(handles))), title=title
        )
        return
    columns = math.ceil(len(handles) / _MOST_ROWS)
    legend = figure.legend(handles, labels, loc="outside right upper", ncols=columns, title=title)
    width, height = figure.get_size_inches()
    figure.set_size_inches(width + legend.get_window_extent().width / figure.dpi, height)


def _draw_correlator(axes: Axes, particle: ParticleResult, colour: str, marker: str, text: str) -> None:
    t, mean, error = _arrays(particle.correlator)
    good = mean > 2 * error
    axes.errorbar(
        t[good], mean[good], error[good], fmt=marker, color=colour, mfc="white", mew=1.1, label=text
    )
    fine = np.linspace(particle.fit.t_min, particle.fit.t_max, 60)
    axes.plot(fine, fitted_correlator(particle, particle.fit, fine), color=colour)
    if particle.image > 0:
        axes.plot(len(t) - fine, fitted_correlator(particle, particle.fit, fine), color=colour)


def effective_masses(results: Results) -> Figure:
    """Return effective masses of all particles, with the averaged masses as bands."""
    figure = Figure(figsize=(5.6, 4.2))
    axes = figure.subplots()
    names = [n for n in results.particles if not n.endswith("_parity_partner")]
    for name in names:
        particle = results.particles[name]
        colour, marker = colour_and_marker(name, list(results.particles))
        t, mass, error = _readable(particle)
        text = f"{label(name)}   {particle.formatted}"
        axes.errorbar(t, mass, error, fmt=marker, color=colour, mfc="white", mew=1.1, label=text)
        curve_t, curve = _fit_effective_mass(particle)
        axes.plot(curve_t, curve, color=colour, lw=0.9, ls=(0, (4, 2)), zorder=2)
        _band(axes, particle, colour, 0, results.lattice[3] // 2)
    axes.set_xlabel(TIME_LABEL)
    axes.set_ylabel(r"effective mass $a\,m_{\mathrm{eff}}$  (lattice units)")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=9))
    axes.set_xlim(0, None)
    bottom, top = _mass_range([results.particles[n] for n in names])
    axes.set_ylim(bottom, top)
    _legend_of_particles(figure, axes, ncols=2, title="mass from the fits")
    return figure


def _readable(particle: ParticleResult) -> tuple[NDArray, NDArray, NDArray]:
    """Return effective masses whose error is small enough to be looked at."""
    t, mass, error = _arrays(particle.effective_mass)
    keep = error < 0.35 * max(particle.mass, 1e-3)
    return t[keep], mass[keep], error[keep]


def _mass_range(particles: list[ParticleResult]) -> tuple[float, float]:
    low, high = [], []
    for particle in particles:
        _, mass, error = _readable(particle)
        low += [particle.mass - 3 * particle.mass_error, *(mass - error)]
        high += [particle.mass + 3 * particle.mass_error, *(mass + error)]
    centre = max(p.mass for p in particles)
    smallest = min(p.mass for p in particles)
    bottom, top = max(0.6 * smallest, min(low)), min(max(high), 2.0 * centre)
    return max(0.0, bottom - 0.06 * (top - bottom)), top + 0.04 * (top - bottom)


def _band(axes: Axes, particle: ParticleResult, colour: str, start: float, end: float) -> None:
    low, high = particle.mass - particle.mass_error, particle.mass + particle.mass_error
    axes.fill_between([start, end], low, high, color=colour, alpha=BAND_ALPHA, lw=0)
    axes.plot([start, end], [particle.mass] * 2, color=colour, lw=1.0)


def particle_figure(name: str, results: Results) -> Figure:
    """Draw one particle, in the colour that it has among all particles of the results."""
    return fit_figure(name, results.particles[name], colour_and_marker(name, list(results.particles)))


def fit_figure(name: str, particle: ParticleResult, look: tuple[str, str] | None = None) -> Figure:
    """Draw the effective mass with the best fit (left) and the stability of the fits over t_min (right).

    `look` is the colour and the marker; the default is that of a particle alone.
    """
    colour, marker = look or colour_and_marker(name, [name])
    figure = Figure(figsize=(9.2, 4.2))
    grid = figure.add_gridspec(3, 2, width_ratios=[1, 1.12], height_ratios=[3.2, 1, 1])
    _effective_mass_panel(figure.add_subplot(grid[:, 0]), name, particle, colour, marker)
    top = figure.add_subplot(grid[0, 1])
    middle = figure.add_subplot(grid[1, 1], sharex=top)
    bottom = figure.add_subplot(grid[2, 1], sharex=top)
    _stability_panels(top, middle, bottom, particle, colour)
    return figure


def _effective_mass_panel(axes: Axes, name: str, particle: ParticleResult, colour: str, marker: str) -> None:
    t, mass, error = _readable(particle)
    axes.errorbar(t, mass, error, fmt=marker, color=colour, mfc="white", mew=1.1, label="measured", zorder=3)
    _band(axes, particle, colour, 0, particle.fit.t_max + 0.5)
    curve_t, curve = _fit_effective_mass(particle)
    states = "one state" if particle.fit.n_states == 1 else f"{particle.fit.n_states} states"
    behind = "log(Eb)" in particle.fit.parameters
    if behind:
        states += " and the one from behind"
    text = f"best fit: {states}, $t$ = {particle.fit.t_min} to {particle.fit.t_max}"
    axes.plot(curve_t, curve, color=INK, lw=1.1, ls=(0, (4, 2)), label=text, zorder=2)
    axes.set_title(f"{label(name)}    $a\\,m$ = {particle.formatted}")
    axes.set_xlabel(TIME_LABEL)
    axes.set_ylabel(r"effective mass $a\,m_{\mathrm{eff}}$")
    axes.set_xlim(0, None)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=9))
    axes.set_ylim(*_mass_range([particle]))
    _legend_below(axes, axes, ncols=1 if behind else 2)  # a wider legend would make the panel narrow


def _legend_below(axes: Axes, source: Axes, *, ncols: int) -> None:
    """Draw entries of `source` under the label of the time axis of `axes`, where they cover no data."""
    handles, labels = source.get_legend_handles_labels()
    axes.legend(
        handles,
        labels,
        loc="upper center",
        bbox_to_anchor=(0.5, 0),
        borderaxespad=_BELOW_LABELS,
        ncols=ncols,
    )


def _fit_effective_mass(particle: ParticleResult) -> tuple[NDArray, NDArray]:
    """Return the effective mass of the best fit, on a fine grid inside its window."""
    fit = particle.fit
    starts = np.linspace(fit.t_min, fit.t_max - 1, 40)
    extent = len(particle.correlator.x)
    here = fitted_correlator(particle, fit, starts)
    next_slice = fitted_correlator(particle, fit, starts + 1)
    result = []
    for start, a, b in zip(starts, here, next_slice, strict=True):
        if particle.image:  # the solver takes times from 0; shift the extent instead of the time
            result.append(periodic_effective_mass(np.array([a, b]), extent - 2 * start, particle.image)[0])
        else:
            result.append(log_effective_mass(np.array([a, b]))[0])
    return starts + 0.5, np.array(result, dtype=float)


def _stability_panels(top: Axes, middle: Axes, bottom: Axes, particle: ParticleResult, colour: str) -> None:
    """Draw mass, p-value and model weight of every fit against t_min."""
    states = sorted({fit.n_states for fit in particle.scan})
    width = 0.8 / len(states)
    for k, count in enumerate(states):
        fits = [f for f in particle.scan if f.n_states == count]
        x = np.array([f.t_min for f in fits]) + (k - (len(states) - 1) / 2) * 0.22
        style = COLOURS[(0, 1, 2)[k]]
        text = "1 state" if count == 1 else f"{count} states"
        for fit, position in zip(fits, x, strict=True):
            alpha = 1.0 if fit.weight >= _FAINT_WEIGHT else 0.35
            top.errorbar(position, fit.mass, fit.mass_error, fmt=MARKERS[k], color=style, alpha=alpha,
                         mfc=style if fit is _best(particle) else "white", mew=1.1)  # fmt: skip
        top.errorbar([], [], [], fmt=MARKERS[k], color=style, mfc="white", mew=1.1, label=text)
        middle.plot(x, [f.p_value for f in fits], MARKERS[k], color=style, mfc="white", mew=1.1, ms=3.8)
        bottom.bar(np.array([f.t_min for f in fits]) + (k - (len(states) - 1) / 2) * width,
                   [f.weight for f in fits], width, color=style, alpha=0.85)  # fmt: skip
    top.axhspan(particle.mass - particle.mass_error, particle.mass + particle.mass_error,
                color=colour, alpha=BAND_ALPHA, lw=0, label="average")  # fmt: skip
    top.set_title("Stability of the fits")
    top.set_ylabel(r"$a\,m$")
    top.set_ylim(*_stability_range(particle))
    middle.set_ylabel("p-value")
    middle.set_ylim(-0.08, 1.08)
    middle.set_yticks([0, 0.5, 1])
    bottom.set_ylabel("weight")
    bottom.set_ylim(0, None)
    bottom.set_xlabel(r"first time slice of the fit $t_{\min}/a$")
    _legend_below(bottom, top, ncols=len(states) + 1)
    show_first_times(bottom, [fit.t_min for fit in particle.scan])
    for axes in (top, middle):
        axes.tick_params(labelbottom=False)


def _best(particle: ParticleResult) -> FitResult:
    return max(particle.scan, key=lambda fit: fit.weight)


def _stability_range(particle: ParticleResult) -> tuple[float, float]:
    """Return a range from the fits that matter; outliers without weight may leave the frame."""
    low = [particle.mass - 2.5 * particle.mass_error]
    high = [particle.mass + 2.5 * particle.mass_error]
    for fit in particle.scan:
        if fit.weight >= _FAINT_WEIGHT:
            low.append(fit.mass - 1.15 * fit.mass_error)
            high.append(fit.mass + 1.15 * fit.mass_error)
    return max(0.0, min(low)), max(high)


def series_figure(name: str, series: Series) -> Figure:
    """Draw a time series without a mean."""
    figure = Figure(figsize=(9.2, 3.2))
    _draw_series(figure.subplots(), name, series)
    return figure


def _draw_series(axes: Axes, name: str, series: Series) -> None:
    t, value, _ = _arrays(series)
    many = len(t) > 200
    starts = np.flatnonzero(np.diff(t) <= 0) + 1  # several streams have a line each
    for piece in np.split(np.arange(len(t)), starts):
        axes.plot(t[piece], value[piece], "-" if many else "-o", color=COLOURS[0], lw=0.7, ms=3, mfc="white")
    axes.set_xlabel("trajectory or sweep")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=8))
    axes.set_ylabel(observable_label(name))
    axes.ticklabel_format(axis="y", useOffset=False)


def observable_figure(name: str, observable: AutocorrelationResult, series: Series) -> Figure:
    """Draw the series with its mean, the autocorrelation function, and tau_int against its window."""
    figure = Figure(figsize=(11.4, 3.2))
    left, right, last = figure.subplots(1, 3, width_ratios=[1.45, 1, 0.8])
    draw_summation(last, observable)
    _draw_series(left, name, series)
    left.axhspan(observable.mean - observable.error, observable.mean + observable.error,
                 color=COLOURS[1], alpha=0.3, lw=0)  # fmt: skip
    left.axhline(observable.mean, color=COLOURS[1], lw=1.1)
    right.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=8))
    left.set_title(f"mean {gv.gvar(observable.mean, observable.error)}")
    lag, rho, error = _arrays(observable.rho)
    noise = 1.0 / np.sqrt(observable.count)
    right.axhspan(-noise, noise, color=FAINT, alpha=0.25, lw=0, label="noise of independent data")
    right.axhline(0, color=FAINT, lw=0.8)
    error[error == 0] = np.nan  # pyerrors gives errors up to the end of its sum
    right.errorbar(lag, rho, error, fmt="o", color=COLOURS[2], mfc="white", mew=1.1)
    right.axvline(observable.window, color=INK, lw=0.9, ls=(0, (3, 2)), label="end of the sum")
    right.set_title(rf"$\tau_{{\mathrm{{int}}}}$ = {gv.gvar(observable.tau_int, observable.tau_int_error)}")
    apart = "trajectories" if observable.spacing == 1 else f"units of {observable.spacing} trajectories"
    right.set_xlabel(f"separation in {apart}")
    right.set_ylabel(r"autocorrelation $\rho$")
    right.legend(loc="upper right")
    return figure
