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

#: Parts of an outer iteration, each a kernel multigrid_PART.
PARTS = ("outside", "residual", "smoother", "transfer", "coarse")
#: Vectors that GCR has kept on average (src/trellis/multigrid/forecast.cpp).
KEPT = 5
#: Exchanges of a cycle's smoother: one a colour in each of three cycles of the Schwarz method.
SMOOTHER_EXCHANGES = 6
#: Applications of the operator that a Schwarz cycle is worth: four steps of minimal residual in each block,
#: and a residual (doc/operators/multigrid.md); a step of minimal residual on the lattice is one.
SCHWARZ_CYCLE, MR_STEP = 4.65, 1.0
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


def smoother(
    fine: Extents, grid: Sequence[int], applications: float, *, operator: str, rhs: int = 1
) -> Counts:
    """Return the cost of a cycle's smoother: so many applications of the fine operator without messages.

    The Schwarz method works on blocks; its messages are those of one application a cycle and colour.
    """
    once = counts(operator, fine, grid, precision="float", link_reals=18, rhs=rhs)
    return Counts(applications * once.flops, applications * once.bytes, (), 0, 8)


def cycle(
    name: str,
    fine: Extents,
    grid: Sequence[int],
    levels: Sequence[Level],
    *,
    operator: str = "clover",
    smoothing: float = 4.0,
    rhs: int = 1,
    iterations: float = 1.0,
) -> list[Phase]:
    """Return the phases of a solve: outer operator, smoother, transfer and coarse levels of each iteration.

    Each has a kernel of its own, whose speed a calibration measures (:data:`PARTS`).

    Parameters
    ----------
    smoothing
        Applications of the fine operator that a cycle's smoother is worth.
    iterations
        Outer iterations, each with a cycle.
    """

    def part(words: str, kernel: str, of: Counts, local: Extents, repeats: float) -> Phase:
        return phase_of(
            f"{name}: {words}",
            of,
            local,
            kernel=f"multigrid_{kernel}",
            precision="float",
            repeats=repeats,
            rhs=rhs,
        )

    outer = outer_step(fine, grid, operator=operator, rhs=rhs)
    inner = counts(operator, fine, grid, precision="float", link_reals=18, rhs=rhs)
    smoothed = smoother(fine, grid, smoothing, operator=operator, rhs=rhs)
    smoothed = Counts(smoothed.flops, smoothed.bytes, inner.times(SMOOTHER_EXCHANGES).messages, 0, 8)
    phases = [
        part("outer iteration", "outside", outer, fine, iterations),
        part("residual", "residual", inner, fine, iterations),
        part("smoother", "smoother", smoothed, fine, iterations),
    ]
    above, reals = fine, 24
    visits = iterations
    for depth, level in enumerate(levels, start=2):
        local: Extents = tuple(  # type: ignore[assignment]
            max(n // b, 1) for n, b in zip(above, level.block, strict=True)
        )
        moved = transfer(above, level.vectors, rhs, reals)
        phases.append(part(f"transfer to level {depth}", "transfer", moved, above, visits))
        once = coarse_operator(local, grid, level.vectors, rhs)
        sums = 1.0 if level.sums is None else level.sums / level.iterations
        summed = Counts(once.flops, once.bytes, once.messages, once.sums + sums, once.launches + 2)
        phases.append(part(f"level {depth}", "coarse", summed, local, visits * level.iterations))
        visits *= level.cycles
        above, reals = local, 4 * level.vectors
    return phases


def outer_step(local: Extents, grid: Sequence[int], *, operator: str, rhs: int = 1) -> Counts:
    """Return the cost of an iteration of flexible GCR in double, without its cycle.

    The operator is applied once. New vectors are made orthogonal to those that are kept, in float; with
    KEPT of them this takes as many passes of reading and as many operations as field/cost.cpp counts.
    """
    once = counts(operator, local, grid, precision="double", link_reals=18, rhs=rhs)
    reals = 24.0 * volume(local) * rhs
    flops = once.flops + reals * 4 * 3 * KEPT
    moved = once.bytes + reals * _REAL * (10 + 2 * KEPT)
    return Counts(flops, moved, once.messages, 2, once.launches + 8)
