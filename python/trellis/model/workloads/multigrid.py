"""Phases of a solve by multigrid: the fine operator, smoother, transfer, and the coarse operator by level.

The coarse operator of n test vectors has dense blocks of (2 n)^2 complex numbers: eight for its hops and one
for its diagonal (src/trellis/multigrid/coarse_operator.cpp).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..costs import Counts, counts
from ..phases import Extents, Phase, halo, volume
from .solves import phase_of

#: Bytes of a number of the coarse operator's blocks and of its vectors.
_STORED, _REAL = 2.0, 4.0


@dataclass(frozen=True)
class Level:
    """This is a coarse level.

    Attributes
    ----------
    block
        Sites of an aggregate of the level above, in each direction.
    vectors
        Test vectors.
    iterations
        Applications of this level's operator in a visit: those of its smoother and solver.
    cycles
        Visits to the next coarser level in a visit to this one; of the coarsest level they say nothing.
    sums
        Global sums in a visit; default: one an application, as one-sum GCR has.
    """

    block: Extents
    vectors: int
    iterations: float
    cycles: float = 1.0
    sums: float | None = None


def level_between(block: Extents, vectors: int, cycles: float, smoothing: int, *, is_k_cycle: bool) -> Level:
    """Return a level between the finest and the coarsest (src/trellis/multigrid/cycle.cpp).

    A cycle applies the operator for its residual and in each step of its smoother. In a K-cycle each
    iteration of flexible GCR is a cycle, one more application, and one sum; a V-cycle is one cycle alone.
    """
    of_gcr = 1.0 if is_k_cycle else 0.0
    applications = cycles * (1 + smoothing + of_gcr)
    return Level(block, vectors, applications, cycles, cycles * (smoothing + of_gcr))


def coarse_operator(local: Extents, grid: Sequence[int], vectors: int, rhs: int = 1) -> Counts:
    """Return the cost of an application of a coarse operator on all of its sites."""
    rows = 2.0 * vectors
    sites = volume(local)
    flops = sites * rhs * 8 * 9 * rows * rows
    moved = sites * (_STORED * 9 * 2 * rows * rows + 2 * _REAL * 4 * rows * rhs)
    messages = halo(local, grid, 2 * rows * _REAL * rhs)
    return Counts(flops, moved, messages, 0, 4 + 2 * sum(n > 1 for n in grid))


def transfer(local: Extents, vectors: int, rhs: int = 1, reals: int = 24) -> Counts:
    """Return the cost of a restriction and a prolongation: the test vectors are read in both.

    Parameters
    ----------
    reals
        Real numbers of a site of the finer level: 24 of the finest one, 4 n below n test vectors.
    """
    sites = volume(local)
    flops = 2 * sites * rhs * vectors * reals * 4.0
    moved = 2 * sites * (vectors * reals * _STORED + reals * _REAL * rhs)
    return Counts(flops, moved, (), 0, 2)


def cycle(
    name: str,
    fine: Extents,
    grid: Sequence[int],
    levels: Sequence[Level],
    *,
    operator: str = "clover",
    link_reals: int = 18,
    smoothing: float = 4.0,
    rhs: int = 1,
    iterations: float = 1.0,
) -> list[Phase]:
    """Return the phases of a solve: outer operator, smoother, transfer and coarse levels of each iteration.

    Parameters
    ----------
    smoothing
        Applications of the fine operator that a cycle's smoother is worth.
    iterations
        Outer iterations, each with a cycle.
    """
    fine_once = counts(operator, fine, grid, precision="float", link_reals=link_reals, rhs=rhs)
    phases = [
        phase_of(
            f"{name}: operator", fine_once, fine, kernel=operator, precision="float", repeats=2 * iterations
        ),
        phase_of(
            f"{name}: smoother",
            fine_once,
            fine,
            kernel=operator,
            precision="float",
            repeats=smoothing * iterations,
        ),
    ]
    above, reals = fine, 24
    visits = iterations
    for depth, level in enumerate(levels, start=2):
        local: Extents = tuple(  # type: ignore[assignment]
            max(n // b, 1) for n, b in zip(above, level.block, strict=True)
        )
        moved = transfer(above, level.vectors, rhs, reals)
        phases.append(
            phase_of(
                f"{name}: transfer to level {depth}",
                moved,
                above,
                kernel=None,
                precision="float",
                repeats=visits,
            )
        )
        once = coarse_operator(local, grid, level.vectors, rhs)
        sums = 1.0 if level.sums is None else level.sums / level.iterations
        summed = Counts(once.flops, once.bytes, once.messages, once.sums + sums, once.launches + 2)
        phases.append(
            phase_of(
                f"{name}: level {depth}",
                summed,
                local,
                kernel=None,
                precision="float",
                repeats=visits * level.iterations,
            )
        )
        visits *= level.cycles
        above, reals = local, 4 * level.vectors
    return phases
