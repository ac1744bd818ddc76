#!/usr/bin/env python3
"""Draw the pictures of doc/architecture.md: layers.png from src/CMakeLists.txt, and lanes.png.

usage: .venv/bin/python doc/figures/draw_architecture.py
"""

from __future__ import annotations

import re
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch, Rectangle

HERE = Path(__file__).resolve().parent
RULE = HERE.parents[1] / "src" / "CMakeLists.txt"
WORDS = {
    "base": "errors, stops, exact sums, the clock",
    "algebra": "lanes, matrices, random numbers",
    "lattice": "sites, neighbours, process grid, lane split",
    "view": "how a kernel sees a field",
    "device": "memory, threads, launches, tuner",
    "comm": "ranks, halos' messages, sums",
    "kernels": "one text for each formula",
    "field": "fields, halos, linear algebra",
    "operator": "Wilson to HISQ, even-odd",
    "solver": "solvers that compose",
    "gauge": "loops, smearing, forces, flow",
    "multigrid": "levels, set-up, cycles",
    "glass": "spin glasses",
    "io": "gauge files, HDF5",
    "update": "heat bath, HMC",
    "measure": "sources, correlators",
}
ABOVE = (("bindings", "trellis._core, no logic"), ("python/trellis", "the user's API, run files, commands"))
COLOURS = ("#9ecae1", "#fdd0a2", "#c7e9c0", "#dadaeb")
SIDE = 8  # sites of the lattice of lanes.png in each of its two directions
SUB = SIDE // 2


def folders_seen() -> dict[str, tuple[str, ...]]:
    """The rule of src/CMakeLists.txt: each folder with those that it sees."""
    found = re.findall(r"^trellis_add_folder\((\w+)(?: SEES ([a-z ]+))?", RULE.read_text(), re.MULTILINE)
    return {name: tuple(seen.split()) for name, seen in found}


def floors(seen: dict[str, tuple[str, ...]]) -> dict[str, int]:
    """The floor of a folder is one above the highest that it sees; those that none sees are at the top."""
    found: dict[str, int] = {}
    for name, others in seen.items():
        found[name] = 1 + max((found[other] for other in others), default=-1)
    unseen = found.keys() - {other for others in seen.values() for other in others}
    return found | dict.fromkeys(unseen, max(found.values()))


def box(axes: Axes, at: tuple[float, float], name: str, text: str, colour: str) -> None:
    width, height = 4.4, 0.66
    style = FancyBboxPatch((at[0] - width / 2, at[1] - height / 2), width, height, boxstyle="round,pad=0.02")
    style.set(facecolor=colour, edgecolor="#444444", linewidth=0.8, zorder=4)  # above arrows
    axes.add_patch(style)
    axes.text(at[0], at[1] + 0.12, name, ha="center", va="center", fontsize=10, fontweight="bold", zorder=5)
    axes.text(at[0], at[1] - 0.17, text, ha="center", va="center", fontsize=7.5, zorder=5)


def arrow(axes: Axes, begin: tuple[float, float], end: tuple[float, float]) -> None:
    head = {"arrowstyle": "-|>", "color": "#555555", "linewidth": 0.9, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", xy=(end[0], end[1] + 0.36), xytext=(begin[0], begin[1] - 0.36), arrowprops=head)


def draw_layers(path: Path) -> None:
    seen = folders_seen()
    floor = floors(seen)
    rows = {level: [name for name in seen if floor[name] == level] for level in set(floor.values())}
    places = {
        name: (4.9 * (index - (len(names) - 1) / 2), 1.05 * level)
        for level, names in rows.items()
        for index, name in enumerate(names)
    }
    figure, axes = plt.subplots(figsize=(12.4, 10.4))
    top = max(floor.values())
    for level, (name, text) in enumerate(ABOVE, start=top + 1):
        places[name] = (0.0, 1.05 * level)
        box(axes, places[name], name, text, "#eeeeee")
    for name, at in places.items():
        if name in seen:
            box(axes, at, name, WORDS[name], "#e8f1fa")
            for other in seen[name]:
                arrow(axes, at, places[other])
    arrow(axes, places[ABOVE[1][0]], places[ABOVE[0][0]])
    for name in rows[top]:
        arrow(axes, places[ABOVE[0][0]], places[name])
    note = "reference/\nsees base, algebra\nand lattice only"
    axes.text(4.9, 1.05, note, ha="center", va="center", fontsize=8, color="#666666")
    axes.set(xlim=(-9.8, 9.8), ylim=(-0.6, 1.05 * (top + 2) + 0.6))
    axes.axis("off")
    figure.savefig(path, dpi=110, bbox_inches="tight")
    plt.close(figure)


def lane_of(x: int, y: int) -> int:
    return x // SUB + 2 * (y // SUB)


def draw_lattice(axes: Axes, sub: tuple[int, int], title: str) -> None:
    """The lattice; the sites with coordinate `sub` in their quarter are one block, numbered by lane."""
    for x in range(SIDE):
        for y in range(SIDE):
            lane = lane_of(x, y)
            is_in_block = (x % SUB, y % SUB) == sub
            axes.add_patch(Rectangle((x, y), 1, 1, facecolor=COLOURS[lane], edgecolor="white", linewidth=1))
            if is_in_block:
                axes.add_patch(
                    Rectangle((x, y), 1, 1, facecolor="none", edgecolor="black", linewidth=1.8, zorder=3)
                )
                axes.text(x + 0.5, y + 0.5, str(lane), ha="center", va="center", fontweight="bold")
    axes.set(xlim=(-0.1, SIDE + 0.1), ylim=(-0.1, SIDE + 0.1), aspect="equal")
    axes.set_title(title, fontsize=9)
    axes.axis("off")


def draw_row(axes: Axes, y: float, label: str, lanes: tuple[int, ...], left: float = 0.0) -> None:
    axes.text(left - 0.2, y + 0.4, label, ha="right", va="center", fontsize=9)
    for place, lane in enumerate(lanes):
        corner = (left + place, y)
        axes.add_patch(Rectangle(corner, 1, 0.8, facecolor=COLOURS[lane], edgecolor="black", linewidth=0.8))
        axes.text(left + place + 0.5, y + 0.4, str(lane), ha="center", va="center", fontsize=9)


def draw_memory(axes: Axes) -> None:
    order, swapped = (0, 1, 2, 3), (1, 0, 3, 2)
    axes.text(-3.4, 6.9, "memory: [block][slot][component][lane]", fontsize=10, fontweight="bold")
    for index, component in enumerate(("re, component 0", "im, component 0", "re, component 1", "...")):
        draw_row(axes, 5.7 - index, component, order)
    axes.text(4.3, 4.6, "one row is one register:\nan instruction works\non four sites at once", fontsize=9)
    axes.text(-3.4, 1.4, "a neighbour in +x of a block", fontsize=10, fontweight="bold")
    draw_row(axes, 0.3, "inside (x = 0 to 2)", order)
    axes.text(4.3, 0.7, "one load of the next block,\nlanes as they are", fontsize=9, va="center")
    draw_row(axes, -1.1, "at the edge (x = 3)", swapped)
    axes.text(4.3, -0.7, "one load of block x = 0,\nlanes exchanged in pairs", fontsize=9, va="center")
    axes.set(xlim=(-3.6, 9.4), ylim=(-1.6, 7.4))
    axes.axis("off")


def draw_lanes(path: Path) -> None:
    figure = plt.figure(figsize=(10.5, 6.4))
    grid = figure.add_gridspec(2, 2, width_ratios=(1, 2.1), hspace=0.15, wspace=0.05)
    draw_lattice(figure.add_subplot(grid[0, 0]), (1, 2), "a block: sub-coordinate (1, 2) of each lane")
    draw_lattice(figure.add_subplot(grid[1, 0]), (3, 2), "a block at the edge: (3, 2)")
    draw_memory(figure.add_subplot(grid[:, 1]))
    figure.savefig(path, dpi=110, bbox_inches="tight")
    plt.close(figure)


if __name__ == "__main__":
    draw_layers(HERE / "layers.png")
    draw_lanes(HERE / "lanes.png")
