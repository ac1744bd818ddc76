"""This module has the figures of DD-alphaAMG on QPACE 3 (Georg, Richtmann, Wettig 2017).

They are nodes where the order of ranks breaks the box.
"""

from __future__ import annotations

from ..mapping import best_box, by_box, by_order, qmp_grid, surface
from .rows import Row

GROUP = "mapping"
EXTENTS = (32, 32, 32, 96)
NODES = (2, 3, 4, 6, 8, 12, 16, 24, 32)


def broken_at(per_node: int, order: str) -> list[int]:
    """Return the node counts at which the ranks of a node fill no box of the process grid."""
    return [
        nodes
        for nodes in NODES
        if not by_order(qmp_grid(EXTENTS, nodes * per_node), per_node, order).is_box()
    ]


def surface_gain(nodes: int, per_node: int) -> float:
    """Return the largest surface of a node with time fastest over that of the best box."""
    grid = qmp_grid(EXTENTS, nodes * per_node)
    local = [n // g for n, g in zip(EXTENTS, grid, strict=True)]
    ordered = surface(by_order(grid, per_node, "tzyx"), local)
    return ordered / surface(by_box(grid, best_box(grid, per_node, local)), local)


def rows() -> list[Row]:
    """Return the node counts, and the gain of reordering."""
    source = "Georg, Richtmann, Wettig 2017; grids by QMP's rule, nothing fitted"
    found = []
    for per_node in (4, 8, 2):
        broken = broken_at(per_node, "tzyx")
        words = ", ".join(map(str, broken)) or "none"
        published = "drops at 6 and 12" if per_node == 4 else "no statement"
        agrees = {6, 12} <= set(broken) if per_node == 4 else None
        figure = f"nodes where ranks fill no box, {per_node} a node, time fastest"
        found.append(Row(GROUP, figure, published, words, "checked", source, agrees=agrees))
    fastest = {per_node: broken_at(per_node, "xyzt") for per_node in (2, 4, 8)}
    found.append(
        Row(
            GROUP,
            "nodes where ranks fill no box, x fastest",
            "cured by another order",
            ", ".join(str(n) for broken in fastest.values() for n in broken) or "none",
            "checked",
            source,
            agrees=not any(fastest.values()),
        )
    )
    found += [
        Row(
            GROUP,
            f"surface of a node, time fastest over best box, {nodes} nodes of 4 ranks",
            None,
            surface_gain(nodes, 4),
            "predicted",
            source,
        )
        for nodes in (4, 6, 8, 12, 16)
    ]
    return found
