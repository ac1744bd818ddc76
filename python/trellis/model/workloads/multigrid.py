"""A solve by multigrid has phases: fine operator, smoother, transfer, and the coarse operator by level.

The coarse operator of n test vectors has dense blocks of (2 n)^2 complex numbers: eight for its hops and one
for its diagonal (src/trellis/multigrid/coarse_operator.cpp).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..costs import Counts, counts
from ..phases import Extents, Message, Phase, halo, volume
from .solves import phase_of

#: An outer iteration has these parts, each a kernel multigrid_PART.
PARTS = ("outside", "residual", "smoother", "transfer", "coarse")
#: GCR has kept this many vectors on average (src/trellis/multigrid/forecast.cpp).
KEPT = 5
#: The first is the operations of a Schwarz cycle, in applications of the operator (four steps of minimal
#: residual in each block, and a residual); the second is the bytes a site that it moves: the steps stay in a
#: cache. Both are the core's Cost. A step of minimal residual on the lattice is one application.
SCHWARZ_CYCLE, SCHWARZ_BYTES = 4.65, 1248.0
MR_STEP = 1.0
#: An outer iteration has this many sums, on average over solves of eight.
OUTER_SUMS = 4.5
#: These are the bytes of a number of the prolongator, of the coarse operator's blocks, and of vectors.
_STORED, _MATRIX, _REAL = 2.0, 4.0, 4.0


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
    moved = sites * (_MATRIX * 9 * 2 * rows * rows + 2 * _REAL * 4 * rows * rhs)
    messages = halo(local, grid, 2 * rows * _REAL * rhs)
    return Counts(flops, moved, messages, 0, 5 + 4 * sum(n > 1 for n in grid))


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
    return Counts(flops, moved, (), 0, 7)


@dataclass(frozen=True)
class Smoother:
    """This is the smoother of a cycle on the finest level.

    Attributes
    ----------
    steps
        Cycles of the Schwarz method, or steps of minimal residual on the lattice.
    is_schwarz
        True for the Schwarz method.
    """

    steps: float
    is_schwarz: bool = True

    @property
    def exchanges(self) -> float:
        """Return the number of exchanges: one for each colour of a Schwarz cycle but the
        first, or one for each step.
        """
        return 2 * self.steps - 1 if self.is_schwarz else self.steps

    def cost(self, fine: Extents, grid: Sequence[int], *, operator: str, rhs: int = 1) -> Counts:
        """Return the cost in a cycle. An exchange has one message where an application has one a parity."""
        once = counts(operator, fine, grid, precision="float", link_reals=18, rhs=rhs)
        flops = self.steps * (SCHWARZ_CYCLE if self.is_schwarz else MR_STEP) * once.flops
        moved = self.steps * (SCHWARZ_BYTES * volume(fine) * rhs if self.is_schwarz else once.bytes)
        messages = tuple(
            Message(m.mu, m.step, 2 * m.size, m.count * self.exchanges / 2) for m in once.messages
        )
        cuts = sum(n > 1 for n in grid)
        return Counts(flops, moved, messages, 0, 4 * self.steps + 4 * self.exchanges * cuts)


def residual(fine: Extents, grid: Sequence[int], *, operator: str, rhs: int = 1) -> Counts:
    """Return the cost of a cycle's residual: an application in single precision, and a difference."""
    once = counts(operator, fine, grid, precision="float", link_reals=18, rhs=rhs)
    reals = 24.0 * volume(fine) * rhs
    return once + Counts(2 * reals, 3 * _REAL * reals, (), 0, 2)


def cycle(
    name: str,
    fine: Extents,
    grid: Sequence[int],
    levels: Sequence[Level],
    *,
    operator: str = "clover",
    smoother: Smoother = Smoother(3),
    rhs: int = 1,
    iterations: float = 1.0,
) -> list[Phase]:
    """Return the phases of a solve: outer operator, smoother, transfer and coarse levels of each iteration.

    Each has a kernel of its own, whose speed a calibration measures (:data:`PARTS`).

    Parameters
    ----------
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
    inner = residual(fine, grid, operator=operator, rhs=rhs)
    smoothed = smoother.cost(fine, grid, operator=operator, rhs=rhs)
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
    return Counts(flops, moved, once.messages, OUTER_SUMS, once.launches + 12)
