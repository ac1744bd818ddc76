"""This module has the minimal residual iteration."""

from __future__ import annotations

from dataclasses import dataclass

from ..ground.arguments import real
from ..quarks.operators import QuarkOperator
from .bound import BoundSolver
from .custom_operator import CustomOperator
from .values import Krylov, Solver, limits


@dataclass(frozen=True, repr=False)
class Mr(Krylov):
    """See :func:`mr`."""

    _method = "mr"
    _vectors = 6

    relaxation: float


def mr(
    *,
    tolerance: float = 1e-10,
    max_iterations: int = 10000,
    relaxation: float = 1.0,
    fallback: bool = True,
    iterations: int | None = None,
    preconditioner: Solver | BoundSolver | QuarkOperator | CustomOperator | None = None,
) -> Mr:
    """Return the minimal residual iteration, a smoother more than a solver.

    Parameters
    ----------
    tolerance, max_iterations, fallback, iterations
        They are those of :func:`cg`.
    relaxation
        This factor multiplies each step; it lies between 0 and 2.
    preconditioner
        It is applied to residuals, and is approximately the inverse of the operator that is solved: a solver
        (of that operator, inside ``tr.even_odd`` of its system), a solver bound to another operator of the
        same links, or an operator. It need not be linear.

    Raises
    ------
    BadArgument
        A value outside its range, or another kind of preconditioner.
    """
    factor = real("relaxation", relaxation, above=0, below=2)
    return Mr(**limits(tolerance, max_iterations, fallback, iterations, preconditioner), relaxation=factor)
