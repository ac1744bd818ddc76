"""This module draws effective energies of a generalised eigenvalue problem beside the fitted ones."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ..analysis.records.results import Results
from .style import BAND_ALPHA, COLOURS, MARKERS


def gevp_figure(results: Results, name: str) -> Figure:
    """Draw E_n(t, t0) at the fixed t0 (left) and at t0 = t / 2 (right); bands are the fits of the states."""
    problem = results.gevp[name]
    figure = Figure(figsize=(9.2, 3.8))
    panels = figure.subplots(1, 2, sharey=True)
    titles = (f"fixed $t_0$ = {problem.t0}", "window, $t_0$ = $t$/2")
    for axes, title, window in zip(panels, titles, (False, True), strict=True):
        for n, state in enumerate(problem.states):
            colour, marker = COLOURS[n % len(COLOURS)], MARKERS[n % len(MARKERS)]
            found = state.energies_in_window if window else state.energies
            x, energy, error = (np.array(v, dtype=float) for v in (found.x, found.value, found.error))
            axes.errorbar(
                x, energy, error, fmt=marker, color=colour, mfc="white", mew=1.1, label=f"state {n}"
            )
            particle = results.particles.get(f"{name}_{n}")
            if particle is not None:
                low, high = particle.mass - particle.mass_error, particle.mass + particle.mass_error
                axes.axhspan(low, high, color=colour, alpha=BAND_ALPHA, lw=0)
        axes.set_title(title)
        axes.set_xlabel(r"time from the source $t/a$  (lattice units)")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=9))
    panels[0].set_ylabel(r"effective energy $a\,E_n$")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(labels))
    return figure
