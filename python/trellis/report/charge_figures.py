"""Nucleon charges have these plots: both methods, plateaus of fixed sinks, stability of the fits."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.legend_handler import HandlerTuple
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from ..analysis.records.charge_records import ChargeRecord, NucleonCharges
from ..analysis.records.record import Series
from ..analysis.records.results import Results
from .style import BAND_ALPHA, INK, MARKERS, charge_colours, show_first_times

#: Fits with less weight than this are drawn faintly.
_FAINT_WEIGHT = 0.01
#: Fits of one window with different numbers of states stand this far apart, and so wide are their bars.
_SIDE = 0.24
#: The figure says this where points of one time do not stand at that time.
_SHIFTED = "points of one time are shifted sideways for legibility"


def charge_drawings(results: Results) -> dict[str, Callable[[], Figure]]:
    """Return by name the functions that draw the figures of charges; none if there are no charges."""
    record = results.nucleon_charges
    if record is None:
        return {}
    drawings: dict[str, Callable[[], Figure]] = {"effective_charges": partial(effective_charges, record)}
    if record.windows:
        drawings["charge_stability"] = partial(charge_stability, record)
    if record.three_point:
        drawings["three_point"] = partial(three_point, record)
    if record.fixed_sink is not None:
        drawings["fixed_sink_stability"] = partial(charge_stability, record.fixed_sink)
    return drawings


def _colours(record: NucleonCharges) -> dict[str, str]:
    """Return the colour of each charge; the order is that of the panels of every figure."""
    return charge_colours(list(dict.fromkeys([*record.charges, *record.effective, *record.three_point])))


def _arrays(series: Series) -> tuple[NDArray, NDArray, NDArray]:
    x, value, error = (np.array(v, dtype=float) for v in (series.x, series.value, series.error))
    return x, value, error


def _shades(count: int) -> list[str]:
    """Return greys from dark to light: colours are those of the charges."""
    return [str(level) for level in np.linspace(0.13, 0.62, max(count, 2))[:count]]


def _legend_above(figure: Figure, *, title: str | None = None) -> None:
    """Draw the legend of the fullest panel above all panels.

    Matplotlib's place "best" avoids points, but covers error bars.
    """
    handles, labels = max(
        (a.get_legend_handles_labels() for a in figure.axes), key=lambda found: len(found[0])
    )
    if handles:
        figure.legend(
            handles,
            labels,
            loc="outside upper center",
            ncols=len(handles),
            fontsize="x-small",
            title=title,
            title_fontsize="x-small",
        )


def _symbol(name: str) -> str:
    """Return the name in mathematical text: A, T34, A with "cons."."""
    current, _, kind = name.partition("_")
    return current + (rf"\,\mathrm{{{kind[:4]}.}}" if kind == "conserved" else kind.replace("_", ""))


def _title(axes: Axes, record: NucleonCharges, name: str) -> None:
    """Set the title: the charge of the band, or why there is none."""
    charge = record.charges.get(name)
    if charge is not None:
        text = rf"$g_{{{_symbol(name)}}}$ = {charge.formatted} (bare)"
    else:
        text = "no fit" if name in record.effective else "no Feynman-Hellmann data"
    axes.set_title(text, loc="right", fontsize="small")


def effective_charges(record: NucleonCharges) -> Figure:
    """Return g_eff(t) by both methods with the averaged charge as a band, one panel for each current.

    Points of Feynman-Hellmann stand at t >= 1 (at 0 the current sits on the source too) and are open;
    without the excited states of the best fit they are filled. Squares are fixed sinks: the middle of R(t,
    tau) at the separation t.
    """
    colours = _colours(record)
    figure = Figure(figsize=(5.6, 1.0 + 2.5 * len(colours)))
    all_axes = np.atleast_1d(figure.subplots(len(colours), 1, sharex=True))
    for axes, (name, colour) in zip(all_axes, colours.items(), strict=True):
        charge = record.charges.get(name)
        if charge is not None:
            _band(axes, charge, colour)
        _title(axes, record, name)
        _draw(axes, record.effective.get(name), charge, 0.0, "o", colour, "white", "Feynman-Hellmann")
        _draw(
            axes, record.subtracted.get(name), charge, 0.13, "o", colour, colour, "excited states taken away"
        )
        fixed = record.three_point.get(name)
        midpoint = None if fixed is None else fixed.midpoint
        _draw(axes, midpoint, charge, -0.13, "s", INK, "white", "fixed sink at $t$, middle")
        axes.set_ylabel(rf"$g_{{{_symbol(name)}}}^{{\mathrm{{eff}}}}(t)$")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=9, min_n_ticks=1))
    is_shifted = bool(record.subtracted or record.three_point)
    _legend_above(figure, title=_SHIFTED if is_shifted else None)
    all_axes[-1].set_xlabel(r"time from the source $t/a$  (lattice units)")
    return figure


def _band(axes: Axes, charge: ChargeRecord, colour: str, text: str | None = None) -> None:
    low, high = charge.value - charge.error, charge.value + charge.error
    axes.axhspan(low, high, color=colour, alpha=BAND_ALPHA, lw=0, label=text)


def _outline(axes: Axes, charge: ChargeRecord, text: str) -> None:
    """Draw a band whose edges are seen on top of another one."""
    low, high = charge.value - charge.error, charge.value + charge.error
    axes.axhspan(low, high, facecolor="none", edgecolor=INK, hatch="////", alpha=0.35, lw=1.0, label=text)


def _draw(
    axes: Axes,
    series: Series | None,
    charge: ChargeRecord | None,
    shift: float,
    marker: str,
    colour: str,
    face: str,
    text: str,
) -> None:
    """Draw the points off the source whose error is small enough to be looked at."""
    if series is None:
        return
    t, value, error = _arrays(series)
    limit = (
        max(0.5 * abs(charge.value), 3 * charge.error)
        if charge
        else 0.5 * np.nanmax(np.abs(value), initial=0.0)
    )
    keep = (error < limit) & (t >= 1)
    axes.errorbar(
        t[keep] + shift, value[keep], error[keep], fmt=marker, color=colour, mfc=face, mew=1.1, label=text
    )


def three_point(record: NucleonCharges) -> Figure:
    """Draw R(t, tau) against tau - t/2, one panel for each current; bands are the fits of both methods."""
    colours = {name: colour for name, colour in _colours(record).items() if name in record.three_point}
    separations = sorted({t for fixed in record.three_point.values() for t in fixed.separations})
    shades = _shades(len(separations))
    figure = Figure(figsize=(5.6, 1.0 + 2.5 * len(colours)))
    all_axes = np.atleast_1d(figure.subplots(len(colours), 1, sharex=True))
    for axes, (name, colour) in zip(all_axes, colours.items(), strict=True):
        charge, fixed = record.charges.get(name), record.three_point[name]
        if charge is not None:
            _band(axes, charge, colour, "Feynman-Hellmann")
        _title(axes, record, name)
        own = None if record.fixed_sink is None else record.fixed_sink.charges.get(name)
        if own is not None:
            _outline(axes, own, "fixed sinks")
            axes.set_title(f"fixed sinks: {own.formatted}", loc="left", fontsize="small")
        for separation, ratio in zip(fixed.separations, fixed.ratio, strict=True):
            k = separations.index(separation)
            tau, value, error = _arrays(ratio)
            axes.errorbar(
                tau[1:-1] + 0.06 * (k - (len(separations) - 1) / 2),
                value[1:-1],
                error[1:-1],
                fmt=MARKERS[k % len(MARKERS)],
                color=shades[k],
                mfc="white",
                mew=1.1,
                label=f"$t$ = {separation}",
            )
            curve = record.fixed_sink and record.fixed_sink.ratio_fit.get(name, {}).get(separation)
            if curve:  # a curve of one time is a point
                line = "-" if curve.x[0] < curve.x[-1] else "_"
                axes.plot(curve.x, curve.value, line, color=shades[k], lw=1.0, ms=14, zorder=1)
        axes.set_ylabel(rf"$R_{{{_symbol(name)}}}(t, \tau)$")
    _legend_above(figure, title=_SHIFTED if len(separations) > 1 else None)
    is_whole = all(t % 2 == 0 for t in separations)
    all_axes[-1].xaxis.set_major_locator(
        MaxNLocator(nbins=9, steps=[1, 5, 10], integer=is_whole, min_n_ticks=1)
    )
    all_axes[-1].set_xlabel(r"time of the current $\tau - t/2$  (lattice units)")
    return figure


def charge_stability(record: NucleonCharges) -> Figure:
    """Draw every charge in every window against its first time, by states, with the average as a band."""
    fitted = record.windows[0].values  # other currents have fits of their own, in record.others
    colours = {name: colour for name, colour in _colours(record).items() if name in fitted}
    figure = Figure(figsize=(5.6, 2.0 + 2.0 * len(colours)))
    all_axes = figure.subplots(len(colours) + 1, 1, sharex=True, height_ratios=[2] * len(colours) + [1])
    all_states = sorted({w.states for w in record.windows})
    shifts = {n: _SIDE * (k - (len(all_states) - 1) / 2) for k, n in enumerate(all_states)}
    for axes, (name, colour) in zip(all_axes, colours.items(), strict=False):
        charge = record.charges[name]
        _band(axes, charge, colour)
        low, high = [charge.value - 2.5 * charge.error], [charge.value + 2.5 * charge.error]
        for window in record.windows:
            value, error = window.values[name], window.errors[name]
            is_heavy = window.weight >= _FAINT_WEIGHT
            if is_heavy:
                low.append(value - 1.15 * error)
                high.append(value + 1.15 * error)
            axes.errorbar(
                window.t_min + shifts[window.states],
                value,
                error,
                fmt=MARKERS[window.states - 1],
                color=colour,
                alpha=1.0 if is_heavy else 0.35,
                mfc="white",
                mew=1.1,
            )
        axes.set_ylim(min(low), max(high))
        axes.set_ylabel(rf"$g_{{{_symbol(name)}}}$ (bare)")
        _title(axes, record, name)
    _weights(figure, all_axes[-1], record, shifts)
    return figure


def _weights(figure: Figure, axes: Axes, record: NucleonCharges, shifts: dict[int, float]) -> None:
    """Draw the panel of the weights, and the legend of markers and bars; `shifts`
    goes by number of states.
    """
    handles: list[Any] = []  # these are a line and bars, which Matplotlib's types do not know
    for (states, shift), shade in zip(shifts.items(), _shades(len(shifts)), strict=True):
        chosen = [w for w in record.windows if w.states == states]
        x = [w.t_min + shift for w in chosen]
        bars = axes.bar(x, [w.weight for w in chosen], _SIDE, color=shade)
        marker = Line2D([], [], ls="", marker=MARKERS[states - 1], color=INK, mfc="white", mew=1.1)
        handles.append((marker, bars))
    figure.legend(
        handles,
        ["1 state" if states == 1 else f"{states} states" for states in shifts],
        loc="outside upper center",
        ncols=len(handles),
        fontsize="x-small",
        handler_map={tuple: HandlerTuple(ndivide=None)},
        handlelength=2.6,
        title=_SHIFTED if len(handles) > 1 else None,
        title_fontsize="x-small",
    )
    axes.set_ylabel("weight")
    axes.set_ylim(0, None)
    axes.set_xlabel(r"first time slice of the fit $t_{\min}/a$")
    show_first_times(axes, [window.t_min for window in record.windows])
