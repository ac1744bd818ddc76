"""A node needs a bandwidth at which messages hide behind computing (INFN 2013, five rows)."""

from __future__ import annotations

import numpy as np

from ..closed_form import traffic_to_other_nodes
from ..mapping import by_box
from ..phases import Phase, halo, volume
from .rows import Row

#: One GPU reaches these GF/s: the Wilson hop of QUDA in single precision on a GTX 280 (arXiv 0911.3191).
SPEED = 135.0
#: A Wilson hop takes these flops, and a half spinor has these bytes in single precision.
FLOPS_PER_SITE, BYTES_PER_FACE_SITE = 1320.0, 48.0
GLOBAL = (64, 64, 64, 128)
#: A row has the lattice of a GPU, the GPUs of a node side by side in time, and the published GB/s.
TABLE = [
    ((16, 16, 16, 16), 2, 4.3),
    ((16, 16, 16, 32), 2, 4.0),
    ((32, 32, 32, 32), 2, 2.1),
    ((16, 16, 16, 32), 4, 7.4),
    ((32, 32, 32, 32), 4, 3.7),
]
GROUP = "balance"


def needed_gbs(local: tuple[int, ...], per_node: int, speed: float = SPEED) -> float:
    """Return the GB/s, one way, that a node must send in the time of its GPUs' work."""
    grid = tuple(n // m for n, m in zip(GLOBAL, local, strict=True))
    phase = Phase(
        "hop",
        flops=FLOPS_PER_SITE * volume(local),
        messages=halo(local, grid, BYTES_PER_FACE_SITE),
        precision="float",
    )
    ranks = by_box(grid, (1, 1, 1, per_node))
    sizes, _ = traffic_to_other_nodes(phase, ranks)
    of_a_node = np.bincount(ranks.nodes.ravel(), weights=sizes.ravel()).max()
    return float(of_a_node) / (phase.flops / (1e9 * speed)) * 1e-9


def rows() -> list[Row]:
    """Return the five rows; the speed of a GPU is that of another paper, and nothing is fitted."""
    return [
        Row(
            GROUP,
            f"GB/s a node, {'x'.join(map(str, local))} a GPU, {per_node} GPUs a node",
            published,
            needed_gbs(local, per_node),
            "checked",
            "INFN 2013; 135 GF/s a GPU (arXiv 0911.3191) lie in the window of all rows, 134.8 to 135.1",
        )
        for local, per_node, published in TABLE
    ]
