"""This module has staggered propagators and condensates, of one mass by any solver or of several by one
multi-shift solve."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..ground.arguments import instance, real
from ..ground.compiled_core import load
from ..ground.errors import BadArgument
from ..ground.solve_report import SolveReport
from ..quarks.sources import Source
from ..quarks.staggered import StaggeredOperator
from ..quarks.staggered_propagators import StaggeredPropagator
from .bound import BoundSolver, require_converged
from .cg import Cg, cg
from .even_odd import EvenOdd, even_odd
from .mixed_precision import MixedPrecision
from .noise_traces import noise_key
from .values import Solver, solver_value


def bound_to(M: StaggeredOperator, solver: Solver | None) -> BoundSolver:
    """Return the even-odd solver of an operator that a method's argument stands for."""
    if solver is None:
        solver = cg(tolerance=1e-10)
    solver_value("solver", solver)
    return BoundSolver(solver if solver._schur_form() != "none" else even_odd(solver), M)


@dataclass(frozen=True)
class StaggeredCondensates:
    """These are the chiral condensates of several masses on one configuration, bare, of one flavour.

    Attributes
    ----------
    masses
        The masses.
    condensate
        (1 / 4) Tr M^-1 / V, shape [mass, noise vector]; the mean over the vectors is the estimate.
    report
        This is the report of the solve, which all masses share; residuals are [mass][vector], one after the
        other.
    """

    masses: tuple[float, ...]
    condensate: NDArray[np.float64]
    report: SolveReport


class MassSolves(StaggeredOperator):
    """This class has the solves of staggered operators for propagators and for several masses."""

    def propagator(
        self,
        source: Source,
        *,
        solver: Solver | None = None,
        guess: StaggeredPropagator | None = None,
        allow_not_converged: bool = False,
    ) -> StaggeredPropagator:
        """Return S = M^-1 source, solved for all three columns in one batch. Collective.

        Parameters
        ----------
        source
            It comes from :func:`point_source` and the like with ``has_spin=False``, on the operator's
            lattice.
        solver
            Any solver; default cg(tolerance=1e-10).
        guess
            The solve starts here, for example the propagator of another mass; zero without it.
        allow_not_converged
            Return what was reached instead of raising; ``S.report`` tells how far it is.

        Raises
        ------
        NotConverged
            The tolerance was missed; the exception has the report.
        BadArgument
            Source, guess and operator live on different lattices, or the source has spin.
        """
        bound = bound_to(self, solver)
        start = None if guess is None else instance("guess", guess, StaggeredPropagator)._core
        right = _without_spin(source)._core
        found = load().solve_staggered_propagator(self._matrix, bound.solver._spec(), right, start)
        report = bound._report(found.report)
        if not allow_not_converged:
            require_converged(report)
        return StaggeredPropagator(found, report, self._record, source)

    def propagators(
        self,
        source: Source,
        *,
        masses: Sequence[float],
        solver: Solver | None = None,
        allow_not_converged: bool = False,
    ) -> list[StaggeredPropagator]:
        """Return propagators of several masses, with this operator's links, by one multi-shift solve.

        Collective.

        All masses share the search space of the smallest one. Each mass's true residual |b - M x| / |b| is
        computed in double, and a mass that misses the tolerance is finished by conjugate gradients of its
        own. The reports are those of the whole solve, with the residuals of one mass each.

        Parameters
        ----------
        source
            It is that of :meth:`propagator`.
        masses
            The masses, not 0; that of the operator does not matter.
        solver
            ``tr.cg(...)``, and ``tr.mixed_precision(tr.cg(...))`` for a recursion in single precision (16
            bits are too few for it); default cg(tolerance=1e-10).
        allow_not_converged
            Return what was reached instead of raising.

        Raises
        ------
        NotConverged
            The tolerance was missed; the exception has the report.
        BadArgument
            Another solver, no mass or one that is 0, a source with spin or of another lattice.
        """
        listed, limits = _masses(masses), multi_shift_limits(solver)
        found = load().solve_staggered_propagators(self._matrix, listed, _without_spin(source)._core, *limits)
        bound = BoundSolver(_multi_shift_cg(solver), self)
        reports = [bound._report(S.report) for S in found]
        if not allow_not_converged:
            require_converged(_of_all(reports))
        return [
            StaggeredPropagator(S, report, self._record_of_mass(mass), source)
            for S, report, mass in zip(found, reports, listed, strict=True)
        ]

    def condensates(
        self,
        *,
        masses: Sequence[float],
        vectors: int,
        seed: int,
        noise: Literal["z2", "z4"] = "z4",
        stream: int = 0,
        configuration: int = 0,
        first: int = 0,
        solver: Solver | None = None,
    ) -> StaggeredCondensates:
        """Return condensates of several masses by the same noise vectors and multi-shift solves. Collective.

        The vectors are those of :meth:`observables` with the same key.

        Parameters
        ----------
        masses, solver
            They are those of :meth:`propagators`.
        vectors
            Number of noise vectors; twelve at a time are solved for, each time for all masses.
        noise
            Components of the vectors: "z2" (+-1) or "z4" (+-1 and +-i).
        seed, stream, configuration, first
            They are the key of the random numbers: `configuration` is its number, `first` that of the first
            vector.

        Raises
        ------
        NotConverged
            The tolerance was missed.
        BadArgument
            Another solver or noise, no mass or one that is 0, a number outside its range.
        """
        key = noise_key(
            noise, seed=seed, stream=stream, configuration=configuration, first=first, vectors=vectors
        )
        listed = _masses(masses)
        traces, found = load().staggered_mass_traces(self._matrix, listed, *key, *multi_shift_limits(solver))
        report = BoundSolver(_multi_shift_cg(solver), self)._report(
            found, columns=min(vectors, load().noise_vectors_at_a_time)
        )
        require_converged(report)
        volume = float(np.prod(self.geometry.extents))
        return StaggeredCondensates(tuple(listed), np.array(traces).real / (4 * volume), report)


def _multi_shift_cg(solver: Solver | None) -> Solver:
    """Return the conjugate gradients that a multi-shift solve takes its limits from, perhaps in low storage.

    Raises
    ------
    BadArgument
        The solver is another method.
    """
    if solver is None:
        return cg(tolerance=1e-10)
    inside = solver_value("solver", solver)
    while isinstance(inside, EvenOdd | MixedPrecision):
        inside = inside.solver
    if not isinstance(inside, Cg) or inside.preconditioner is not None or inside.iterations:
        raise BadArgument(
            "several masses share one multi-shift solve: expected tr.cg() with a tolerance and without a "
            f"preconditioner, or tr.mixed_precision(tr.cg()), found {solver!r}"
        )
    return solver


def multi_shift_limits(solver: Solver | None) -> tuple[float, int, str]:
    """Return the tolerance, the largest number of iterations and the precision of a multi-shift solve."""
    outside: Any = _multi_shift_cg(solver)
    precision = "double" if outside._storage() == "double" else "single"
    while not isinstance(outside, Cg):
        outside = outside.solver
    return outside.tolerance, outside.max_iterations, precision


def _masses(masses: Sequence[float]) -> list[float]:
    """Return the masses as numbers; raise BadArgument for none, or one that is 0."""
    found = [real("masses", mass) for mass in masses]
    if not found or 0 in found:
        raise BadArgument(f"masses: expected at least one number, and none that is 0, found {list(masses)}")
    return found


def _without_spin(source: Source) -> Source:
    if instance("source", source, Source).has_spin:
        raise BadArgument(
            f"source: expected one of staggered quarks (has_spin=False), found {source!r} with spin"
        )
    return source


def _of_all(reports: list[SolveReport]) -> SolveReport:
    """Return the report of a solve that all masses share, with all residuals."""
    residuals = tuple(r for report in reports for r in report.relative_residuals)
    return dataclasses.replace(reports[0], relative_residuals=residuals)
