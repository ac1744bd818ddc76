"""This module has BiCGStab."""

from __future__ import annotations

from dataclasses import dataclass

from ..quarks.operators import QuarkOperator
from .bound import BoundSolver
from .custom_operator import CustomOperator
from .values import Krylov, Solver, limits


@dataclass(frozen=True, repr=False)
class Bicgstab(Krylov):
    """See :func:`bicgstab`."""

    _method = "bicgstab"
    _vectors = 8


def bicgstab(
    *,
    tolerance: float = 1e-10,
    max_iterations: int = 10000,
    fallback: bool = True,
    iterations: int | None = None,
    preconditioner: Solver | BoundSolver | QuarkOperator | CustomOperator | None = None,
) -> Bicgstab:
    """Return BiCGStab (van der Vorst, 1992); an iteration applies the operator twice.

    Parameters
    ----------
    tolerance, max_iterations, fallback, iterations
        They are those of :func:`cg`.
    preconditioner
        It is applied to residuals, and is approximately the inverse of the operator that is solved: a solver
        (of that operator, inside ``tr.even_odd`` of its system), a solver bound to another operator of the
        same links, or an operator. It need not be linear.

    Raises
    ------
    BadArgument
        A value outside its range, or another kind of preconditioner.
    """
    return Bicgstab(**limits(tolerance, max_iterations, fallback, iterations, preconditioner))
