"""The plots of nucleon charges: both methods, plateaus of fixed sinks, stability of the fits."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from trellis.analysis.results import ChargeRecord, NucleonCharges, Results, Series

from .style import BAND_ALPHA, COLOURS, INK, MARKERS

#: Fits with less weight than this are drawn faintly.
_FAINT_WEIGHT = 0.01


def charge_figures(results: Results) -> dict[str, Figure]:
    """All of them by name; nothing without charges."""
    record = results.nucleon_charges
    if record is None:
        return {}
    made = {"effective_charges": effective_charges(record)}
    if record.windows:
        made["charge_stability"] = charge_stability(record)
    if record.three_point:
        made["three_point"] = three_point(record)
    return made


def _names(record: NucleonCharges) -> list[str]:
    return list(dict.fromkeys([*record.charges, *record.effective, *record.three_point]))


def _arrays(series: Series) -> tuple[NDArray, NDArray, NDArray]:
    x, value, error = (np.array(v, dtype=float) for v in (series.x, series.value, series.error))
    return x, value, error


def effective_charges(record: NucleonCharges) -> Figure:
    """g_eff(t) by both methods with the averaged charge as a band, one panel for each current.

    Feynman-Hellmann: at t >= 1 (at 0 the current sits on the source too), open; without the excited states of
    the best fit, filled. Fixed sinks: the middle of R(t, tau) at the separation t, squares.
    """
    names = _names(record)
    figure = Figure(figsize=(5.6, 1.0 + 2.5 * len(names)))
    all_axes = np.atleast_1d(figure.subplots(len(names), 1, sharex=True))
    for i, (axes, name) in enumerate(zip(all_axes, names, strict=True)):
        charge, colour = record.charges.get(name), COLOURS[i % len(COLOURS)]
        if charge is not None:
            _band(axes, charge, colour)
            axes.set_title(rf"$g_{{{name}}}$ = {charge.formatted} (bare)", loc="right", fontsize="small")
        _draw(axes, record.effective.get(name), charge, 0.0, "o", colour, "white", "Feynman-Hellmann")
        _draw(
            axes, record.subtracted.get(name), charge, 0.13, "o", colour, colour, "excited states taken away"
        )
        fixed = record.three_point.get(name)
        midpoint = None if fixed is None else fixed.midpoint
        _draw(axes, midpoint, charge, -0.13, "s", INK, "white", "fixed sink at $t$, middle")
        axes.set_ylabel(rf"$g_{{{name}}}^{{\mathrm{{eff}}}}(t)$")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=9))
    handles, labels = all_axes[0].get_legend_handles_labels()
    if handles:  # above the panels: "best" looks at points and not at their error bars
        figure.legend(handles, labels, loc="outside upper center", ncols=len(handles), fontsize="x-small")
    all_axes[-1].set_xlabel(r"time from the source $t/a$  (lattice units)")
    return figure


def _band(axes: Axes, charge: ChargeRecord, colour: str) -> None:
    axes.axhspan(
        charge.value - charge.error, charge.value + charge.error, color=colour, alpha=BAND_ALPHA, lw=0
    )


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
    """Points off the source whose error is small enough to be looked at."""
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
    """R(t, tau) against tau - t/2, one panel for each current; bands: the other method."""
    names = list(record.three_point)
    figure = Figure(figsize=(5.6, 1.0 + 2.5 * len(names)))
    all_axes = np.atleast_1d(figure.subplots(len(names), 1, sharex=True))
    for axes, name in zip(all_axes, names, strict=True):
        charge, fixed = record.charges.get(name), record.three_point[name]
        if charge is not None:
            _band(axes, charge, COLOURS[0])
        for k, (separation, ratio) in enumerate(zip(fixed.separations, fixed.ratio, strict=True)):
            tau, value, error = _arrays(ratio)
            axes.errorbar(
                tau[1:-1] + 0.06 * (k - (len(fixed.separations) - 1) / 2),
                value[1:-1],
                error[1:-1],
                fmt=MARKERS[k % len(MARKERS)],
                color=COLOURS[(k + 1) % len(COLOURS)],
                mfc="white",
                mew=1.1,
                label=f"$t$ = {separation}",
            )
        axes.set_ylabel(rf"$R_{{{name}}}(t, \tau)$")
    all_axes[0].legend(loc="best", fontsize="small", ncols=3)
    is_whole = all(t % 2 == 0 for fixed in record.three_point.values() for t in fixed.separations)
    all_axes[-1].xaxis.set_major_locator(MaxNLocator(nbins=9, steps=[1, 5, 10], integer=is_whole))
    all_axes[-1].set_xlabel(r"time of the current $\tau - t/2$  (lattice units)")
    return figure


def charge_stability(record: NucleonCharges) -> Figure:
    """Every charge in every window against its first time, one and two states, with the average as a band."""
    names = list(record.charges)
    figure = Figure(figsize=(5.6, 2.0 + 2.0 * len(names)))
    all_axes = figure.subplots(len(names) + 1, 1, sharex=True, height_ratios=[2] * len(names) + [1])
    for axes, name in zip(all_axes, names, strict=False):
        charge = record.charges[name]
        _band(axes, charge, COLOURS[2])
        low, high = [charge.value - 2.5 * charge.error], [charge.value + 2.5 * charge.error]
        for window in record.windows:
            value, error, k = window.values[name], window.errors[name], window.states - 1
            is_heavy = window.weight >= _FAINT_WEIGHT
            if is_heavy:
                low.append(value - 1.15 * error)
                high.append(value + 1.15 * error)
            axes.errorbar(
                window.t_min + 0.22 * (k - 0.5),
                value,
                error,
                fmt=MARKERS[k],
                color=COLOURS[k],
                alpha=1.0 if is_heavy else 0.35,
                mfc="white",
                mew=1.1,
            )
        axes.set_ylim(min(low), max(high))
        axes.set_ylabel(rf"$g_{{{name}}}$ (bare)")
    for states in sorted({w.states for w in record.windows}):
        chosen = [w for w in record.windows if w.states == states]
        x = [w.t_min + 0.4 * (states - 1.5) for w in chosen]
        text = "1 state" if states == 1 else f"{states} states"
        all_axes[-1].bar(
            x, [w.weight for w in chosen], 0.4, color=COLOURS[states - 1], alpha=0.85, label=text
        )
    all_axes[-1].set_ylabel("weight")
    all_axes[-1].set_xlabel(r"first time slice of the fit $t_{\min}/a$")
    all_axes[-1].xaxis.set_major_locator(MaxNLocator(integer=True))
    all_axes[-1].legend(loc="best", fontsize="small")
    return figure
