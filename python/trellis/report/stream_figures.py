"""This module has plots of the on-line measurements of a stream."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ..analysis.records.online_records import FlowResult, LoopResult, ValueRecord
from .style import BAND_ALPHA, COLOURS, FAINT, INK, MARKERS

_TARGET = 0.3
#: Values with larger relative errors say nothing and are left out.
_LARGEST_ERROR = 0.5


def flow_figure(flow: FlowResult) -> Figure:
    """Return t^2 E(t) with t0."""
    figure = Figure(figsize=(5.6, 3.9))
    axes = figure.subplots()
    t, value, error = (
        np.array(v, dtype=float) for v in (flow.t2_energy.x, flow.t2_energy.value, flow.t2_energy.error)
    )
    axes.fill_between(t, value - error, value + error, color=COLOURS[0], alpha=BAND_ALPHA, lw=0)
    axes.plot(
        t,
        value,
        "-o",
        color=COLOURS[0],
        mfc="white",
        mew=1.1,
        ms=3.6,
        label=r"$t^2 \langle E \rangle$, clover",
    )
    axes.axhline(_TARGET, color=FAINT, lw=0.9, ls=(0, (3, 2)), label=f"{_TARGET:g}")
    if flow.t0 is not None:
        low, high = flow.t0.value - flow.t0.error, flow.t0.value + flow.t0.error
        axes.axvspan(low, high, color=COLOURS[1], alpha=0.4, lw=0, label=rf"$t_0/a^2$ = {flow.t0.formatted}")
    axes.set_xlabel(r"flow time $t/a^2$")
    axes.set_ylabel(r"$t^2 \langle E(t) \rangle$")
    axes.set_xlim(0, None)
    axes.set_ylim(0, None)
    axes.legend(loc="best")
    return figure


def _points(records: dict[str, ValueRecord], first: int) -> dict[int, list[tuple[int, float, float]]]:
    """Return by T (or R) the other extent, value and error; values that are mostly noise are left out."""
    found: dict[int, list[tuple[int, float, float]]] = {}
    for name, record in records.items():
        extents = [int(n) for n in name.split("x")]
        if record.error < _LARGEST_ERROR * abs(record.value):
            found.setdefault(extents[first], []).append((extents[1 - first], record.value, record.error))
    return found


def loops_figure(loops: LoopResult) -> Figure:
    """Return the effective potential against R (left) and Creutz ratios (right)."""
    figure = Figure(figsize=(9.2, 3.7))
    left, right = figure.subplots(1, 2)
    for axes, records, text in (
        (left, loops.potential, "$T$ = {}"),
        (right, loops.creutz, "$T$ = {}"),
    ):
        points = _points(records, 1)
        for k, (extent, rows) in enumerate(sorted(points.items())):
            x, value, error = np.array(sorted(rows)).T
            shift = 0.06 * (k - 0.5 * (len(points) - 1))
            look = {"fmt": MARKERS[k % len(MARKERS)], "color": COLOURS[k % len(COLOURS)], "mfc": "white"}
            axes.errorbar(x + shift, value, error, mew=1.1, label=text.format(extent), **look)
        axes.set_xlabel(r"$R/a$")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
        if all(value > error for rows in points.values() for _, value, error in rows):
            axes.set_ylim(0, None)  # else the axis would be turned round, or end above a value
        if points:
            extents = [x for rows in points.values() for x, _, _ in rows]
            axes.set_xlim(min(extents) - 0.5, max(extents) + 0.5)  # ticks are integers for one R, too
            axes.legend(loc="best", ncols=2)
        else:
            axes.text(0.5, 0.5, "the errors are too large", color=INK, ha="center", transform=axes.transAxes)
    left.set_ylabel(r"$a\,V(R) \approx \ln\, W(R,T) / W(R,T+1)$")
    right.set_ylabel(r"Creutz ratio $\chi(R,T)$")
    return figure
