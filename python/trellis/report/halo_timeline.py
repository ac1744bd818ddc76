"""A timeline shows what the faces and the sites of a hop do meanwhile, by each way of its halo."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from matplotlib.figure import Figure

from .style import COLOURS

#: Steps have these colours, in the order of the legend.
_STEPS = ("packing", "inner sites", "halo", "unpacking", "waiting", "border")
#: This is the number of lattices and storages that have a panel.
_MOST_PANELS = 16


class Bar(NamedTuple):
    """This is a step on one of two lines, with its beginning and its end in microseconds."""

    line: str
    step: str
    begin: float
    end: float


def bars(row: Mapping[str, object]) -> list[Bar]:
    """Return the steps of a row of `trellis bench halo --json` in the order in which they begin.

    On a GPU the inner sites are computed while faces are packed, and ghosts are unpacked beside them. The
    cores of a host do these things one after the other.
    """
    packing, halo, unpacking, interior, border = (
        1e6 * float(str(row[f"{step}_seconds"]))
        for step in ("packing", "halo", "unpacking", "interior", "border")
    )
    is_gpu = row.get("backend") == "cuda"
    begin = 0.0 if is_gpu else packing
    here, come = begin + interior, packing + halo
    found = [
        Bar("faces" if is_gpu else "sites", "packing", 0.0, packing),
        Bar("sites", "inner sites", begin, here),
        Bar("faces", "halo", packing, come),
    ]
    if is_gpu:
        come += unpacking
        found.append(Bar("faces", "unpacking", come - unpacking, come))
    start = max(here, come)
    found.append(Bar("sites", "waiting", here, start))
    if not is_gpu:
        found.append(Bar("sites", "unpacking", start, start + unpacking))
        start += unpacking
    found.append(Bar("sites", "border", start, start + border))
    return found


def halo_timeline(results: Sequence[Mapping[str, object]]) -> Figure:
    """Draw a panel for each lattice and storage, with two lines for each way.

    Parameters
    ----------
    results
        The results of `trellis bench halo --json`. Rows that are no hops, or of ways that the machine does
        not have, are left out.
    """
    panels: dict[str, list[Mapping[str, object]]] = {}
    for row in results:
        lattice = row.get("lattice")
        if row.get("pattern") == "halo" and "missing" not in row and isinstance(lattice, list):
            panels.setdefault(f"{'x'.join(map(str, lattice))}, {row['precision']}", []).append(row)
    shown = list(panels.items())[:_MOST_PANELS]
    columns = min(4, len(shown))
    lines = -(-len(shown) // columns)
    ways = max(len(rows) for rows in panels.values())
    figure = Figure(figsize=(3.4 * columns + 1.4, (0.42 * ways + 0.9) * lines + 0.5))
    for number, (title, rows) in enumerate(shown):
        axes = figure.add_subplot(lines, columns, number + 1)
        for place, row in enumerate(rows):
            for bar in bars(row):
                height = place + (0.0 if bar.line == "faces" else 0.36)
                colour = "white" if bar.step == "waiting" else COLOURS[_STEPS.index(bar.step) % len(COLOURS)]
                axes.barh(
                    height,
                    bar.end - bar.begin,
                    left=bar.begin,
                    height=0.32,
                    color=colour,
                    edgecolor="0.4",
                    lw=0.5,
                    label=bar.step if number == 0 and place == 0 else None,
                )
        axes.set_yticks([place + 0.18 for place in range(len(rows))], [str(row["way"]) for row in rows])
        axes.invert_yaxis()
        axes.set_title(title, fontsize=8)
        axes.set_xlabel("us", fontsize=8)
        axes.tick_params(labelsize=7)
    figure.legend(loc="outside right upper", fontsize=7.5)
    return figure
