"""This module has conjugate gradients."""

from __future__ import annotations

from dataclasses import dataclass

from ..quarks.operators import QuarkOperator
from .bound import BoundSolver
from .custom_operator import CustomOperator
from .values import Krylov, Solver, limits


@dataclass(frozen=True, repr=False)
class Cg(Krylov):
    """See :func:`cg`."""

    _method = "cg"
    _vectors = 6  # those of the normal equations are among them


def cg(
    *,
    tolerance: float = 1e-10,
    max_iterations: int = 10000,
    fallback: bool = True,
    iterations: int | None = None,
    preconditioner: Solver | BoundSolver | QuarkOperator | CustomOperator | None = None,
) -> Cg:
    """Return conjugate gradients: of A itself where A is hermitian, else on A^dagger A x = A^dagger b.

    Parameters
    ----------
    tolerance
        The solve ends when |b - A x| / |b| is at most this; it lies between 0 and 1.
    max_iterations
        The solve ends there, converged or not.
    fallback
        A solve that is stuck goes on from its best x with a surer method: with cg, and in low storage then
        with the next wider one, each with `max_iterations` of its own (``report.stages``). False: it ends
        as stagnated.
    iterations
        So many iterations and no tolerance, for solvers inside others; such a solve never says that it has
        converged.
    preconditioner
        An operator that is declared linear, hermitian and positive, like those of
        :func:`custom_operator`; where A is not hermitian, it is one of A^dagger A.

    Raises
    ------
    BadArgument
        A value outside its range, or another kind of preconditioner.
    """
    return Cg(**limits(tolerance, max_iterations, fallback, iterations, preconditioner))
