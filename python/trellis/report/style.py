"""The plots have one look: one set of colours and sizes for all.

Colours are those of Okabe and Ito (2008), which stay apart for every common kind of colour blindness; markers
differ too, so that nothing depends on colour alone.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

if TYPE_CHECKING:
    from matplotlib.typing import RcKeyType

COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"]
MARKERS = ["o", "s", "D", "^", "v", "P", "X"]
#: These particles keep their colour in every report.
_FIXED = {"pion": 0, "rho": 1, "nucleon": 2, "nucleon_parity_partner": 3}
#: Charges of the nucleon have this order of their panels, and each has its colour in every picture.
_CHARGES = {"A": 0, "V": 1, "S": 2, "T": 3}
INK = "#222222"
FAINT = "#8a8f98"
BAND_ALPHA = 0.22

_LABELS = {
    "pion": r"$\pi$",
    "rho": r"$\rho$",
    "nucleon": r"$N$",
    "nucleon_parity_partner": r"$N\ (J^P = \frac{1}{2}^-)$",
    "nucleon_negative": r"$N\ (J^P = \frac{1}{2}^-)$",
    "kaon": r"$K$",
    "delta": r"$\Delta$",
    "sigma_star": r"$\Sigma^*$",
    "xi_star": r"$\Xi^*$",
    "lambda": r"$\Lambda$",
    "sigma": r"$\Sigma$",
    "xi": r"$\Xi$",
    "omega": r"$\Omega$",
}

_RC: dict[RcKeyType, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "mathtext.fontset": "dejavusans",
    "font.size": 9.5,
    "axes.labelsize": 10.5,
    "axes.titlesize": 10.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "text.color": INK,
    "axes.linewidth": 0.8,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e3e6ea",
    "grid.linewidth": 0.6,
    "xtick.direction": "in",
    "ytick.direction": "in",
    "xtick.top": True,
    "ytick.right": True,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.labelsize": 9,
    "ytick.labelsize": 9,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "legend.handlelength": 1.4,
    "lines.linewidth": 1.3,
    "lines.markersize": 4.6,
    "errorbar.capsize": 0,
    "figure.facecolor": "white",
    "figure.constrained_layout.use": True,
    "savefig.dpi": 180,
    "svg.fonttype": "path",
}


def look() -> AbstractContextManager[None]:
    """Return a context in which figures get this look; nothing outside it changes."""
    return mpl.rc_context(_RC)


def colour_and_marker(name: str, names: list[str]) -> tuple[str, str]:
    """Return colour and marker of a particle among `names`: each has a pair of its own,
    for all pairs there are.
    """
    pairs = _pairs()
    if name in _FIXED:
        return pairs[_FIXED[name]]
    taken = {_FIXED[n] for n in names if n in _FIXED}
    free = [pair for i, pair in enumerate(pairs) if i not in taken]
    # Partners come last: they have figures of their own, and the others keep the colours that differ most.
    others = sorted((n for n in names if n not in _FIXED), key=lambda n: n.endswith("_parity_partner"))
    return free[others.index(name) % len(free)]


def _pairs() -> list[tuple[str, str]]:
    """Return all colours with all markers: each round through the colours shifts the markers by one."""
    count = len(COLOURS)
    return [
        (COLOURS[i % count], MARKERS[(i + i // count) % len(MARKERS)]) for i in range(count * len(MARKERS))
    ]


def charge_colours(names: list[str]) -> dict[str, str]:
    """Return the colour of each charge, in the order of the panels; `names` are all that the report has."""
    free = [i for i in range(len(COLOURS)) if i not in _CHARGES.values()]
    others = [n for n in names if n not in _CHARGES]
    known = {n: i for n, i in _CHARGES.items() if n in names}
    return {
        n: COLOURS[i] for n, i in (known | {n: free[k % len(free)] for k, n in enumerate(others)}).items()
    }


def show_first_times(axes: Axes, times: list[int]) -> None:
    """Draw the axis of t_min with whole numbers, and with room beside a single window."""
    axes.set_xlim(min(times) - 1, max(times) + 1)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))


def label(name: str) -> str:
    """Return the particle's symbol, or its name with spaces."""
    return _LABELS.get(name, name.replace("_", " "))


#: These observables have names that say little; figures have these words.
_OBSERVABLES = {
    "dH": "ΔH",
    "exp_minus_dH": "exp(−ΔH)",
    "polyakov_loop_real": "Re Polyakov loop",
    "polyakov_loop_imag": "Im Polyakov loop",
    "polyakov_loop_abs": "|Polyakov loop|",
    "kinetic": "kinetic energy",
    "accepted": "acceptance",
    "t0": "t₀/a² (each configuration)",
    "w0": "w₀/a (each configuration)",
}


def observable_label(name: str) -> str:
    """Return its name in figures and tables: "number_density.up_imag" is "Im number density, up"."""
    if name in _OBSERVABLES:
        return _OBSERVABLES[name]
    text = name
    for ending, part in (("_real", "Re "), ("_imag", "Im ")):
        if name.endswith(ending):
            text = part + name.removesuffix(ending)
    return text.replace(".", ", ", 1).replace("_", " ")
