"""The strong scaling of the spin glass on APEnet+ (L = 256) is remade here for the process grids of trellis.

Messages and bytes are counts. Times are forecasts with the speed and the card of that machine, fitted on two
GPUs (:mod:`trellis.model.published.glass`); what cards forward for others is not in them.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..closed_form import border_first
from ..mapping import spin_grid
from ..workloads.glass import sweep
from .glass import EXTENT, LATENCY, SPINS, TOTAL, card_rate


@dataclass(frozen=True)
class RankRow:
    """This is a number of ranks: grid in x, y, z, counts of a rank in a sweep, ps a
    spin of the whole lattice.
    """

    ranks: int
    grid: tuple[int, ...]
    messages: float
    sent_bytes: float
    network: float
    total: float


def rank_row(ranks: int, grid: tuple[int, ...] | None = None) -> RankRow:
    """Return the counts and the forecast of so many ranks, on a grid or on that of trellis."""
    if grid is None:
        grid = spin_grid((EXTENT, EXTENT, EXTENT, 1), ranks)[:3]
    local = [EXTENT // n for n in grid]
    phase = sweep(local, grid).phases[0]
    messages, sent = phase.repeats * phase.message_count, phase.repeats * phase.sent_bytes
    network = (messages * LATENCY + sent / card_rate()) / SPINS * 1e12
    border = min(sum(2 / extent for extent, n in zip(local, grid, strict=True) if n > 1), 1.0)
    return RankRow(ranks, grid, messages, sent, network, border_first(2 * TOTAL[2] / ranks, border, network))


def markdown() -> str:
    """Return the table of doc/glass.md."""
    lines = [
        "| ranks | grid | messages | kB | network | all | all, cut in z alone |",
        "|---|---|---|---|---|---|---|",
    ]
    for ranks in (2, 4, 8, 16, 32, 64):
        row, slices = rank_row(ranks), rank_row(ranks, (1, 1, ranks))
        grid = " x ".join(map(str, row.grid))
        lines.append(
            f"| {ranks} | {grid} | {row.messages:.0f} | {row.sent_bytes / 1024:.0f} | {row.network:.0f} | "
            f"{row.total:.0f} | {slices.total:.0f} |"
        )
    return "\n".join(lines) + "\n"
