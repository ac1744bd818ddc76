"""This module has the numbers of a multigrid by levels and by trials, as set-up and solves left them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..gauge.geometry import in_four_directions

if TYPE_CHECKING:
    from .. import _core


@dataclass(frozen=True)
class MultigridLevel:
    """This is one lattice of a multigrid, and the way to the next coarser one, as :attr:`Multigrid.table` has
    it.

    Attributes
    ----------
    lattice : tuple of int
        Extents in x, y, z, t.
    vectors : int
        Test vectors; 0 on the coarsest lattice, which has none, nor any of what follows but `bytes`.
    block : tuple of int or None
        Sites of an aggregate in x, y, z, t.
    residuals : tuple of float
        Mean |D v| / |v| of the test vectors before the first sweep and after each sweep.
    worst_residual : float
        A single vector has at most this, at the end.
    condition : float
        Largest estimate of the condition of a diagonal matrix of the next level.
    seconds : float
        The set-up took these; on the finest lattice they are those of the whole set-up, below it of the last
        one of this level and all below.
    bytes : int
        Coarse matrices of this level and prolongator to the next one, on this rank.
    cycles : int
        All solves so far made so many.
    cycle_seconds : dict
        Seconds of the parts of these cycles on this rank; "coarse" has all levels below in it.
    """

    lattice: tuple[int, int, int, int]
    vectors: int
    block: tuple[int, int, int, int] | None
    residuals: tuple[float, ...]
    worst_residual: float
    condition: float
    seconds: float
    bytes: int
    cycles: int
    cycle_seconds: dict[str, float]


@dataclass(frozen=True)
class MultigridTrial:
    """This is the convergence of solves after so many sweeps of a set-up, in one trial.

    Attributes
    ----------
    sweeps
        Made before the trial.
    iterations_per_digit
        Iterations in which the residual falls by a factor of 10.
    price_of_iteration
        Counted flops and bytes of an iteration, as seconds of a core with fixed speeds.
    """

    sweeps: int
    iterations_per_digit: float
    price_of_iteration: float


def levels_of(core: _core.Multigrid) -> tuple[MultigridLevel, ...]:
    """Return the levels, the finest one first."""
    reports: list[Any] = [core.report, *core.report.coarse_levels]
    conditions = [core.condition, *(report.condition for report in core.report.coarse_levels)]
    vectors = (core.vectors, *core.params.coarse_vectors)
    blocks = tuple(map(in_four_directions, (core.block, *core.params.coarse_blocks)))
    found = []
    for level, (lattice, size) in enumerate(zip(core.lattices, core.bytes_of_levels, strict=True)):
        extents = in_four_directions(lattice)
        if level == core.levels - 1:
            found.append(MultigridLevel(extents, 0, None, (), 0.0, 0.0, 0.0, size, 0, {}))
            continue
        report, profile = reports[level], dict(core.profiles[level])
        cycles = int(profile.pop("cycles"))
        profile.pop("columns")
        found.append(
            MultigridLevel(
                extents,
                vectors[level],
                blocks[level],
                tuple(report.residual),
                report.worst_residual,
                conditions[level],
                report.seconds,
                size,
                cycles,
                profile,
            )
        )
    return tuple(found)


def trials_of(core: _core.Multigrid) -> list[MultigridTrial]:
    """Return the trials by which the set-up chose its sweeps."""
    return [MultigridTrial(int(made), *numbers) for made, *numbers in core.report.trials]
