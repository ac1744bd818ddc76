"""This module has generalised conjugate residuals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..ground.arguments import integer
from ..ground.compiled_core import load
from ..quarks.operators import QuarkOperator
from .bound import BoundSolver
from .custom_operator import CustomOperator
from .multigrid import Multigrid
from .values import Krylov, Solver, limits


@dataclass(frozen=True, repr=False)
class Gcr(Krylov):
    """See :func:`gcr`."""

    _method = "gcr"

    _vectors = 4

    restart_length: int

    def _own_vectors(self) -> int:
        """Each step until a restart keeps two."""
        return self._vectors + 2 * min(self.restart_length, self.max_iterations)

    def _storage(self) -> str:
        return "float" if isinstance(self.preconditioner, Multigrid) else "double"

    def _spec(self) -> Any:
        if not isinstance(self.preconditioner, Multigrid):
            return super()._spec()
        return load().multigrid_solver(
            self.preconditioner._core,
            self.tolerance,
            self.max_iterations,
            self.restart_length,
            self.fallback,
            self.iterations,
        )


def gcr(
    *,
    tolerance: float = 1e-10,
    max_iterations: int = 10000,
    restart_length: int = 16,
    fallback: bool = True,
    iterations: int | None = None,
    preconditioner: Solver | BoundSolver | QuarkOperator | CustomOperator | Multigrid | None = None,
) -> Gcr:
    """Return flexible GCR (the iterates of FGMRES; Eisenstat, Elman and Schultz, 1983), restarted.

    >>> import trellis as tr
    >>> solve = tr.gcr(tolerance=1e-10, preconditioner=tr.mr(iterations=8))


    Parameters
    ----------
    tolerance, max_iterations, fallback, iterations
        They are those of :func:`cg`.
    restart_length
        Steps between restarts: so many vectors are kept, twice.
    preconditioner
        It is applied to residuals, and is approximately the inverse of the operator that is solved: a solver
        (of that operator, inside ``tr.even_odd`` of its system), a solver bound to another operator of the
        same links, an operator, or a multigrid (:func:`multigrid`), with which the vectors are kept in float.
        It need not be linear.

    Raises
    ------
    BadArgument
        A value outside its range, or another kind of preconditioner.
    """
    steps = integer("restart_length", restart_length, least=1)
    return Gcr(
        **limits(tolerance, max_iterations, fallback, iterations, preconditioner), restart_length=steps
    )
