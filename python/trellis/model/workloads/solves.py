"""Solves have phases: hops of an iteration, its linear algebra and sums, and multi-shift iterations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..costs import Counts, counts
from ..phases import Extents, Phase, volume

#: Linear algebra is a kernel of its own; its speed is that of spinors with one right-hand side.
LINEAR_ALGEBRA = "linear_algebra"
#: A real number of each storage has these bytes; SCALE_BYTES are those of the scale that a spinor or colour
#: vector has beside its 16-bit numbers.
REAL_BYTES = {"double": 8.0, "float": 4.0, "half": 2.0, "fp16": 2.0}
SCALE_BYTES = {"double": 0.0, "float": 0.0, "half": 4.0, "fp16": 0.0}


@dataclass(frozen=True)
class System:
    """A solve iterates on this system: an even-odd operator of the core.

    Attributes
    ----------
    kernel
        Its name in costs.json.
    is_hermitian
        True if an iteration applies it once; otherwise it and its adjoint.
    reals
        Real numbers of a site: 24, or 6 of staggered quarks.
    precision, link_reals
        Storage of the iterations.
    rhs
        Right-hand sides of a batch.
    Ls
        Slices of the fifth dimension.
    """

    kernel: str
    is_hermitian: bool
    reals: int
    precision: str = "double"
    link_reals: int = 18
    rhs: int = 1
    Ls: int = 1


def passes(system: System, local: Extents, fields: float, flops_per_real: float, sums: int) -> Counts:
    """Return the cost of reads and writes of so many fields of one parity, as field/cost.cpp counts them."""
    objects = volume(local) / 2 * system.rhs * system.Ls
    size = system.reals * REAL_BYTES[system.precision] + SCALE_BYTES[system.precision]
    return Counts(objects * system.reals * flops_per_real, objects * fields * size, (), sums, 1)


def application(system: System, local: Extents, grid: Sequence[int], *, suffix: str = "") -> Counts:
    """Return the cost of the system, of its adjoint ("_dagger"), or of the sum beside it ("_sum")."""
    return counts(
        system.kernel + suffix,
        local,
        grid,
        precision=system.precision,
        link_reals=system.link_reals,
        rhs=system.rhs,
        Ls=system.Ls,
    )


def hops_of_iteration(system: System, local: Extents, grid: Sequence[int]) -> Counts:
    """Return the cost of the applications in an iteration of conjugate gradients, with their sums."""
    once = application(system, local, grid) + application(system, local, grid, suffix="_sum")
    if system.is_hermitian:
        return once
    adjoint = application(system, local, grid, suffix="_dagger")
    return once + adjoint + application(system, local, grid, suffix="_sum")


def phase_of(
    name: str,
    of: Counts,
    local: Extents,
    *,
    kernel: str | None,
    precision: str,
    repeats: float,
    overlaps: bool = True,
    link_reals: int = 0,
    rhs: int = 0,
) -> Phase:
    """Return the phase of a cost."""
    return Phase(
        name,
        flops=of.flops,
        bytes=of.bytes,
        messages=of.messages,
        sums=of.sums,
        launches=of.launches,
        repeats=repeats,
        kernel=kernel,
        precision=precision,
        extents=local,
        link_reals=link_reals,
        rhs=rhs,
        overlaps=overlaps,
        working_set=of.bytes,
    )


def extents_of_spinors(system: System, local: Extents) -> Extents:
    """Return extents on which one spinor has as many numbers as the vectors of a batch have on these.

    Speeds of linear algebra are looked up by them.
    """
    spinors = system.reals * system.rhs * system.Ls / 24
    return (*local[:3], max(round(local[3] * spinors), 1))


def conjugate_gradients(
    name: str, system: System, local: Extents, grid: Sequence[int], iterations: float
) -> list[Phase]:
    """Return the phases of a solve by conjugate gradients, on the normal equations where that is needed.

    Residual, solution and direction take eight passes over a field and one sum (doc/roofline.md).
    """
    hops = hops_of_iteration(system, local, grid)
    algebra = passes(system, local, 3, 4, 1) + passes(system, local, 5, 4, 0)
    return [
        phase_of(
            f"{name}: hops",
            hops,
            local,
            kernel=system.kernel,
            precision=system.precision,
            repeats=iterations,
            link_reals=system.link_reals,
            rhs=system.rhs,
        ),
        phase_of(
            f"{name}: linear algebra",
            algebra,
            extents_of_spinors(system, local),
            kernel=LINEAR_ALGEBRA,
            precision=system.precision,
            repeats=iterations,
        ),
    ]


def multi_shift(
    name: str, system: System, local: Extents, grid: Sequence[int], iterations: float, shifts: int
) -> list[Phase]:
    """Return the phases of a multi-shift solve.

    An iteration takes eight passes as one shift does, and one pass for each further shift with one for all
    (solver/multi_shift_cg.hpp). Shifts that are done early are counted as if they went on.
    """
    algebra = passes(system, local, 3, 4, 1) + passes(system, local, 5, 4, 0)
    if shifts > 1:
        algebra += passes(system, local, shifts, 4 * (shifts - 1), 0)
    hops = hops_of_iteration(system, local, grid)
    return [
        phase_of(
            f"{name}: hops",
            hops,
            local,
            kernel=system.kernel,
            precision=system.precision,
            repeats=iterations,
            link_reals=system.link_reals,
            rhs=system.rhs,
        ),
        phase_of(
            f"{name}: linear algebra",
            algebra,
            extents_of_spinors(system, local),
            kernel=LINEAR_ALGEBRA,
            precision=system.precision,
            repeats=iterations,
        ),
    ]
