"""A run file's multigrid has coarse levels; given iterations tell what each does in a visit."""

from __future__ import annotations

from collections.abc import Sequence

from ...ground.errors import BadArgument
from ...run_files.multigrid import MultigridTable
from ..phases import Extents
from .iterations import IterationCounts
from .multigrid import Level, Smoother, level_between

#: This many steps of GCR smooth a level between the finest and the coarsest (doc/operators/multigrid.md).
COARSE_SMOOTHING = 4


def coarse_levels(table: MultigridTable, extents: Sequence[int], counts: IterationCounts) -> list[Level]:
    """Return all levels below the finest one.

    Parameters
    ----------
    extents
        The whole lattice.
    counts
        `coarse` is the number of applications of the coarsest operator in a visit. `level2` and so on are
        the iterations of a level between in a visit, which K-cycles need; the finest level is level 1.

    Raises
    ------
    BadArgument
        One of these numbers is not given.
    """
    blocks: list[Extents] = [tuple(block) for block in table.blocks_on(extents)]  # type: ignore[misc]
    vectors = table.vectors_on(extents)
    is_k_cycle = table.cycle == "k"
    found: list[Level] = []
    for number, (block, count) in enumerate(zip(blocks[:-1], vectors[:-1], strict=True), start=2):
        cycles = _given(counts, f"level{number}", f"iterations of level {number}") if is_k_cycle else 1.0
        found.append(level_between(block, count, cycles, COARSE_SMOOTHING, is_k_cycle=is_k_cycle))
    applications = _given(counts, "coarse", "applications of the coarsest operator")
    return [*found, Level(blocks[-1], vectors[-1], applications)]


def smoother_of(table: MultigridTable, extents: Sequence[int]) -> Smoother:
    """Return the smoother of a cycle on the finest level."""
    return Smoother(table.smoothing_on(extents), table.smoother_on(extents) == "sap")


def _given(counts: IterationCounts, name: str, words: str) -> float:
    if name not in counts.of_a_solve:
        raise BadArgument(
            f"multigrid: the {words} in a cycle of the level above are not known: give --iterations {name}=N "
            "of a past run; the model invents none"
        )
    return counts.of_a_solve[name]
