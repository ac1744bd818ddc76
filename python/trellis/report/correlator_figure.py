"""A correlator and its effective mass are drawn here, before any fit."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ..analysis.records.record import Series
from .style import COLOURS, label


def correlator_figure(name: str, mean: Series, effective_mass: Series) -> Figure:
    """Draw |C(t)| on a logarithmic axis (left) and the effective mass (right).

    Points with a negative mean have open symbols.
    """
    figure = Figure(figsize=(9.2, 3.8))
    left, right = figure.subplots(1, 2)
    t, value, error = (np.array(v, dtype=float) for v in (mean.x, mean.value, mean.error))
    for sign, fill, text in ((1, COLOURS[0], "positive"), (-1, "white", "negative")):
        chosen = sign * value > 0
        if chosen.any():
            left.errorbar(t[chosen], sign * value[chosen], error[chosen], fmt="o", color=COLOURS[0],
                          mfc=fill, mew=1.1, label=text)  # fmt: skip
    left.set_yscale("log")
    if np.any(value < 0):
        left.legend()
    left.set_title(label(name))
    left.set_ylabel(r"correlator $C(t)$  (lattice units)")
    x, mass, mass_error = (
        np.array(v, dtype=float) for v in (effective_mass.x, effective_mass.value, effective_mass.error)
    )
    right.errorbar(x, mass, mass_error, fmt="o", color=COLOURS[0], mfc="white", mew=1.1)
    right.set_title("effective mass")
    right.set_ylabel(r"effective mass $a\,m_{\mathrm{eff}}$  (lattice units)")
    for axes in (left, right):
        axes.set_xlabel(r"time from the source $t/a$  (lattice units)")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=9))
    return figure
