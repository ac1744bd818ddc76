"""This module has solvers that begin with low modes taken out."""

from __future__ import annotations

from dataclasses import dataclass

from ..ground.arguments import instance, real
from ..ground.errors import BadArgument
from ..quarks.operators import QuarkOperator
from .deflation import Eigenvectors
from .even_odd import EvenOdd
from .values import Solver, solver_value


@dataclass(frozen=True, repr=False)
class Deflated(Solver):
    """See :func:`deflated`."""

    _method = "deflated"

    solver: Solver
    eigenvectors: Eigenvectors
    reduction: float

    def _schur_form(self) -> str:
        return self.solver._schur_form()

    def _storage(self) -> str:
        return self.solver._storage()

    def _require_operator(self, M: QuarkOperator, form: str) -> None:
        own_form = self.solver.form if isinstance(self.solver, EvenOdd) else form
        self.eigenvectors._require_operator(M, own_form)
        self.solver._require_operator(M, form)


def deflated(solver: Solver, eigenvectors: Eigenvectors, *, reduction: float = 0.0) -> Deflated:
    """Return a solver that takes low modes out of the residual before it starts, and again on the way.

    It adds x += V lambda^-1 V^dagger A^dagger (b - A x), with the eigenvectors V of A^dagger A.

    Parameters
    ----------
    solver
        It is any that is not deflated itself. Around ``tr.even_odd(...)`` the eigenvectors are those of its
        system, as they are inside.
    eigenvectors
        They are those of the same operator and even-odd form; binding the solver to an operator with other
        parameters or links is a BadArgument.
    reduction
        The residual is deflated anew when it has dropped by this factor; 0 chooses by the storage of the
        vectors.

    Raises
    ------
    BadArgument
        The eigenvectors are those of another even-odd form than that of an even-odd solver, the solver is
        deflated already, or either is something else.
    """
    if isinstance(solver, Deflated):
        raise BadArgument(f"deflated takes a solver that is not deflated yet, found {solver!r}")
    solver_value("deflated", solver)
    instance("eigenvectors", eigenvectors, Eigenvectors)
    if isinstance(solver, EvenOdd) and solver.form != eigenvectors.even_odd:
        raise BadArgument(
            f"the solver's even-odd form is {solver.form!r}, that of the eigenvectors is "
            f"{eigenvectors.even_odd!r}"
        )
    return Deflated(solver, eigenvectors, real("reduction", reduction, least=0, below=1))
