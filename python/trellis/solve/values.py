"""This is the base class of all solver values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any, ClassVar

from ..ground.arguments import instance, integer, real
from ..ground.compiled_core import load
from ..ground.errors import BadArgument
from ..quarks.operators import QuarkOperator
from .bound import BoundSolver
from .custom_operator import CustomOperator
from .multigrid import Multigrid

#: Solvers may stand inside solvers to this depth; deeper ones are taken for a mistake.
_MOST_LEVELS = 32


@dataclass(frozen=True, repr=False)
class Solver:
    """This is the base of all solver values. Calling one with an operator binds it: ``solve(M)``."""

    #: The compiled part knows the method by this name.
    _method: ClassVar[str] = ""

    def __call__(self, M: QuarkOperator) -> BoundSolver:
        """Return the solver of M x = b."""
        return BoundSolver(self, M)

    def __repr__(self) -> str:
        shown = {k: v for k, v in self._parameters().items() if v is not None and (k, v) != ("iterations", 0)}
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in shown.items())})"

    def __getattr__(self, name: str) -> Any:
        if name in ("observables", "propagator", "solve"):
            raise AttributeError(f"a solver is bound to an operator by a call first: solver(M).{name}(...)")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)

    def _parameters(self) -> dict[str, Any]:
        """Return the parameters by the names of the compiled part."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    def _spec(self) -> Any:
        """Return the solver as a value of the compiled part."""
        self._require_no_cycle(())
        return load().solver(
            self._method, {k: _compiled(v) for k, v in self._parameters().items() if v is not None}
        )

    def _inside(self) -> Iterator[Solver]:
        """Yield the solvers among its parameters."""
        for value in self._parameters().values():
            solver = value if isinstance(value, Solver) else getattr(value, "solver", None)
            if isinstance(solver, Solver):
                yield solver

    def _require_no_cycle(self, outside: tuple[Solver, ...]) -> None:
        if any(solver is self for solver in outside) or len(outside) > _MOST_LEVELS:
            raise BadArgument(
                f"a solver stands inside itself: {type(self).__name__} in {len(outside)} others"
            )
        for solver in self._inside():
            solver._require_no_cycle((*outside, self))

    def _schur_form(self) -> str:
        """Return the even-odd form that it solves through: "none", "symmetric" or "asymmetric"."""
        return "none"

    def _storage(self) -> str:
        """Return the precision in which it iterates."""
        return "double"

    def _work_vectors(self) -> float:
        """Return the number of vectors in double that a right-hand side takes beside source and solution,
        with those of solvers inside."""
        return max((solver._work_vectors() for solver in self._inside()), default=0.0)

    def _require_operator(self, M: QuarkOperator, form: str) -> None:
        """Raise BadArgument where it holds something of another operator than M, or its system (of a
        form)."""
        for solver in self._inside():
            solver._require_operator(M, form)


@dataclass(frozen=True, repr=False)
class Krylov(Solver):
    """This is the base of the methods that iterate."""

    #: The method itself has so many vectors beside source and solution.
    _vectors: ClassVar[int] = 0

    tolerance: float
    max_iterations: int
    fallback: bool
    iterations: int
    preconditioner: Solver | BoundSolver | QuarkOperator | CustomOperator | Multigrid | None

    def _own_vectors(self) -> int:
        return self._vectors

    def _work_vectors(self) -> float:
        """A preconditioner takes a source and a solution, too."""
        return self._own_vectors() + sum(2 + solver._work_vectors() for solver in self._inside())

    def _require_operator(self, M: QuarkOperator, form: str) -> None:
        K: Any = self.preconditioner
        if isinstance(K, Solver | Multigrid):
            K._require_operator(M, form)
        elif K is not None:
            _require_same_links(K, M)


def limits(
    tolerance: float, max_iterations: int, fallback: bool, iterations: int | None, preconditioner: Any
) -> dict[str, Any]:
    """Return the checked arguments that all methods have, by the names of :class:`Krylov`."""
    tolerance = real("tolerance", tolerance, above=0)
    if not tolerance < 1:
        raise BadArgument(f"tolerance must lie between 0 and 1, found {tolerance}")
    if preconditioner is not None and not isinstance(
        preconditioner, Solver | BoundSolver | QuarkOperator | CustomOperator | Multigrid
    ):
        raise BadArgument(
            "a preconditioner is a solver, a solver bound to an operator, an operator, or a multigrid, found "
            f"{preconditioner!r}"
        )
    return {
        "tolerance": tolerance,
        "max_iterations": integer("max_iterations", max_iterations, least=1),
        "fallback": instance("fallback", fallback, bool),
        "iterations": 0 if iterations is None else integer("iterations", iterations, least=1),
        "preconditioner": preconditioner,
    }


def solver_value(name: str, value: Any) -> Solver:
    """Return the value itself, if it is a solver that is not bound to an operator."""
    if not isinstance(value, Solver):
        raise BadArgument(f"{name} takes a solver like tr.cg(), found {value!r}")
    return value


def _compiled(value: Any) -> Any:
    """Return a parameter as the compiled part takes it."""
    if isinstance(value, Solver):
        return value._spec()
    operator = getattr(value, "operator", None)
    if (
        isinstance(getattr(value, "solver", None), Solver) and operator is not None
    ):  # it is a solver of its own operator
        return value.solver._spec(), operator._core
    return getattr(value, "_core", value)


def _require_same_links(K: Any, M: QuarkOperator) -> None:
    """Raise BadArgument where a preconditioner was made for other links than M."""
    own = getattr(K, "operator", K)
    if not isinstance(own, QuarkOperator):
        return
    difference = own._record.links_difference(M._record)
    if difference:
        raise BadArgument(f"the preconditioner {K!r} was made for other links than {M!r}: {difference}")
