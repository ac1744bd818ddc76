"""This module has solvers through the Schur complement on the even sites."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..ground.arguments import choice
from ..ground.errors import BadArgument
from ..quarks.operators import QuarkOperator
from .values import Solver, solver_value

SchurForm = Literal["symmetric", "asymmetric"]


@dataclass(frozen=True, repr=False)
class EvenOdd(Solver):
    """See :func:`even_odd`."""

    _method = "even_odd"

    solver: Solver
    form: SchurForm

    def _schur_form(self) -> str:
        return self.form

    def _storage(self) -> str:
        return self.solver._storage()

    def _require_operator(self, M: QuarkOperator, form: str) -> None:
        if form != "none":
            raise BadArgument(
                f"even_odd stands inside another even_odd, whose system has no even-odd form: {self!r}"
            )
        self.solver._require_operator(M, self.form)


def even_odd(solver: Solver, *, form: SchurForm = "symmetric") -> EvenOdd:
    """Solve the Schur complement on the even sites instead of M, and reconstruct the odd ones.

    Parameters
    ----------
    solver
        It solves the Schur system; its tolerance is one of M x = b, whose residual the report has.
    form
        "asymmetric": A_ee - 1/4 H_eo A_oo^-1 H_oe; "symmetric": 1 - 1/4 A_ee^-1 H_eo A_oo^-1 H_oe.

    Raises
    ------
    BadArgument
        No solver, an even-odd solver, or another form.
    """
    if isinstance(solver, EvenOdd):
        raise BadArgument(f"even_odd takes a solver of the Schur system, found {solver!r}")
    choice("form", form, "symmetric", "asymmetric")
    return EvenOdd(solver_value("even_odd", solver), form)
