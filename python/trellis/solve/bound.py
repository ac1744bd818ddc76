"""This module has a solver with its operator, which solves for propagators and fields."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..ground.arguments import instance, real
from ..ground.compiled_core import load
from ..ground.copies_and_pickles import NoArray, SharedByCopies
from ..ground.errors import BadArgument
from ..ground.machine import peak_gflops, roof_gflops
from ..ground.solve_report import NotConverged, SolveReport
from ..quarks.operators import QuarkOperator
from ..quarks.propagators import Propagator
from ..quarks.sources import Source
from .noise_traces import (
    Noise,
    StaggeredObservables,
    WilsonObservables,
    noise_key,
    staggered_observables,
    wilson_observables,
)
from .solve_display import displaying_solve

if TYPE_CHECKING:
    from .. import _core


class SolverValue(Protocol):
    """This is a solver as a bound solver sees it; all solver values (values.py) are such."""

    def _spec(self) -> Any: ...

    def _storage(self) -> str: ...

    def _schur_form(self) -> str: ...

    def _require_no_cycle(self, outside: tuple[()]) -> None: ...

    def _require_operator(self, M: QuarkOperator, form: str) -> None: ...


class BoundSolver(SharedByCopies, NoArray):
    """This is a solver of M x = b, which `solver(M)` returns."""

    _no_array = "solver(M).solve(b) applies it to an array"

    def __init__(self, solver: SolverValue, M: QuarkOperator) -> None:
        if not isinstance(M, QuarkOperator):
            raise BadArgument(
                "a solver is bound to an operator, WilsonClover, MoebiusDomainWall, Staggered or HISQ, "
                f"found {M!r}"
            )
        self.solver = solver
        self.operator: Any = M
        solver._require_no_cycle(())
        solver._require_operator(M, "none")

    def __repr__(self) -> str:
        return f"{self.solver!r}({self.operator!r})"

    def propagator(
        self,
        source: Source,
        *,
        guess: Propagator | None = None,
        keep_fields: bool = False,
        axial_current: bool = False,
        allow_not_converged: bool = False,
        history: bool = False,
        progress: bool = False,
    ) -> Propagator:
        """Return S = M^-1 source, solved for all twelve columns in one batch. Collective.

        Parameters
        ----------
        source
            It comes from :func:`point_source` and the like, on the operator's lattice.
        guess
            The solve starts here, for example the propagator of another mass or a less accurate one; zero
            without it. Domain-wall fermions: one solved with ``keep_fields=True``, of the same Ls and
            ``columns_per_solve``.
        keep_fields
            Domain-wall fermions: keep the 5-D solutions (``S.fields``, Ls times a propagator).
        axial_current
            Contract the partially conserved axial current too (``S.axial_current``): domain-wall fermions
            with an even Ls and one real b5 and c5 for all slices.
        allow_not_converged
            Return what was reached instead of raising; ``S.report`` tells how far it is.
        history
            Record the residual after each iteration (``S.report.history``).
        progress
            Show iterations and residual on standard error while the solve lasts.

        Raises
        ------
        NotConverged
            The tolerance was missed; the exception has the report.
        BadArgument
            Source, guess and operator live on different lattices; a domain-wall guess without fields; no
            axial current or 5-D fields for this operator.
        """
        instance("source", source, Source)
        if guess is not None:
            instance("guess", guess, Propagator)
        spec = self._spec(history, progress)
        M = self.operator
        if not M._has_spin:
            raise BadArgument(f"this propagator() is for quarks with spin: use M.propagator(source) of {M!r}")
        if not source.has_spin:
            raise BadArgument(f"source: expected one of quarks with spin (has_spin=True), found {source!r}")
        with displaying_solve(progress, spec.tolerance):
            solved = M._solve_propagator(
                spec, source._core, guess, keep_fields=keep_fields, axial_current=axial_current
            )
        propagator = self._checked(solved.quark, allow_not_converged, solved.midpoint, solved.fields)
        propagator.axial_current = solved.axial_current
        if propagator.report is not None and not history:
            propagator.report = replace(propagator.report, history=())
        return propagator

    def observables(
        self,
        *,
        n_f: float,
        vectors: int,
        seed: int,
        noise: Noise = "z4",
        stream: int = 0,
        configuration: int = 0,
        first: int = 0,
        susceptibility: bool = False,
    ) -> WilsonObservables:
        """Return condensates, number density and susceptibility of Wilson-type quarks by noise vectors.

        Collective.

        Parameters
        ----------
        n_f
            Flavours of this entry; with a twisted mass 2, the doublet.
        vectors
            Number of noise vectors; they are solved in one batch.
        noise
            Components of the vectors: "z2" (+-1) or "z4" (+-1 and +-i).
        seed, stream, configuration, first
            They are the key of the random numbers: `configuration` is its number, `first` that of the first
            vector.
        susceptibility
            The second derivative by the chemical potential is wanted, too: it takes a second solve for each
            vector.

        Raises
        ------
        NotConverged
            The tolerance was missed.
        BadArgument
            Another noise, a number outside its range, a domain-wall operator.
        """
        M = self.operator
        if not (M._has_noise_traces and M._has_spin):
            raise BadArgument(f"observables() is for Wilson-type quarks, found {M!r}")
        found = self._observables(
            n_f=n_f,
            vectors=vectors,
            seed=seed,
            noise=noise,
            stream=stream,
            configuration=configuration,
            first=first,
            susceptibility=susceptibility,
        )
        return cast("WilsonObservables", found)

    def _observables(
        self,
        *,
        n_f: float,
        vectors: int,
        seed: int,
        noise: Noise,
        stream: int,
        configuration: int,
        susceptibility: bool,
        first: int = 0,
        planes: Sequence[str] = (),
    ) -> WilsonObservables | StaggeredObservables:
        """Return the traces with noise vectors of any operator that has them. Collective."""
        M = self.operator
        key = noise_key(
            noise, seed=seed, stream=stream, configuration=configuration, first=first, vectors=vectors
        )
        n_f = real("n_f", n_f, above=0)
        traces = M._noise_traces(key, susceptibility, planes, self.solver._spec())
        report = require_converged(self._report(traces.report))
        extents = M.geometry.extents
        if not M._has_spin:
            return staggered_observables(traces, extents=extents, n_f=n_f, planes=planes, report=report)
        return wilson_observables(traces, extents=extents, n_f=n_f, is_twisted=M._is_twisted, report=report)

    def _checked(
        self,
        S: _core.Propagator,
        allow_not_converged: bool,
        midpoint: _core.Propagator | None = None,
        fields: _core.DomainWallFields | None = None,
    ) -> Propagator:
        """Return the propagator with its report; raise NotConverged where the tolerance was missed."""
        report = self._report(S.report)
        if not allow_not_converged:
            require_converged(report)
        return Propagator(S, report, midpoint, fields, self.operator._record)

    def _require_own(self, S: Propagator, name: str = "S") -> None:
        """Raise BadArgument if S is known to be another operator's propagator, or to have a smeared sink."""
        S._require_point_sink(name)
        M = self.operator
        if not np.allclose(S.boundary, M.boundary, rtol=0, atol=1e-6):
            difference = f"boundary phases {S.boundary}, not {M.boundary}"
        else:
            difference = "" if S.operator is None else S.operator.difference(M._record)
        if difference:
            raise BadArgument(
                f"{name}: expected a propagator of the solver's own operator {M!r}, found one with "
                f"{difference}"
            )

    def solve(
        self,
        b: ArrayLike,
        *,
        guess: ArrayLike | None = None,
        allow_not_converged: bool = False,
        history: bool = False,
        progress: bool = False,
    ) -> tuple[NDArray[np.complex128], SolveReport]:
        """Return x with M x = b for one field. Collective.

        Parameters
        ----------
        b
            complex, this rank's part; of the shape that ``M.apply`` takes, [t, z, y, x, spin, colour], for
            domain-wall operators [s, t, z, y, x, spin, colour], for staggered ones [t, z, y, x, colour].
        guess
            x starts here, of the shape of `b`; zero without it.
        allow_not_converged
            Return what was reached instead of raising; the report tells how far it is.
        history
            Record the residual after each iteration (``report.history``).
        progress
            It is that of :meth:`propagator`.

        Returns
        -------
        x, report

        Raises
        ------
        NotConverged
            The tolerance was missed.
        BadArgument
            Another shape, or no numbers.
        """
        M = self.operator
        right = M._field("b", b)
        x = M._field("guess", np.zeros(np.shape(b)) if guess is None else guess)
        spec = self._spec(history, progress)
        with displaying_solve(progress, spec.tolerance):
            found = load().solve(spec, M._core, x, right)
        report = self._report(found) if history else replace(self._report(found), history=())
        if not allow_not_converged:
            require_converged(report)
        return M._to_numpy(x), report

    def _spec(self, history: bool, progress: bool) -> Any:
        """Return the solver's value; one that is shown records its history, too."""
        spec = self.solver._spec()
        is_recorded = instance("history", history, bool) | instance("progress", progress, bool)
        return spec.with_history() if is_recorded else spec

    def _report(self, found: _core.SolveReport, columns: int | None = None) -> SolveReport:
        """Return the report with the roof of this machine for the solve's working set.

        Parameters
        ----------
        columns
            Right-hand sides of an application, where they are not as many as the residuals.
        """
        seconds = max(found.seconds, 1e-12)
        precision = self.solver._storage()
        on_gpu = self.operator.device == "cuda"
        report = SolveReport(
            method=found.method,
            iterations=found.iterations,
            relative_residuals=tuple(found.relative_residual),
            converged=found.converged,
            reason=found.reason.replace("_", " "),
            seconds=found.seconds,
            gflops=found.cost.flops / seconds * 1e-9,
            gbytes_per_second=found.cost.bytes / seconds * 1e-9,
            conventional_gflops=found.cost.conventional_flops / seconds * 1e-9,
            peak_gflops=None if on_gpu else peak_gflops(precision),
            stages=tuple(found.stages),
            history=tuple(found.history),
            messages=found.cost.messages,
            message_bytes=int(found.cost.message_bytes),
            sums=found.cost.sums,
            launches=found.cost.launches,
        )
        if on_gpu:  # the peak and the bandwidth that are measured are the processor's
            return report
        scale = {"double": 1.0, "float": 0.5, "single": 0.5, "half": 0.25, "fp16": 0.25}[precision]
        at_once = self.operator._columns_at_once(columns or len(report.relative_residuals))
        working_set = scale * self.operator._core.cost(at_once).bytes
        return report.with_roof(roof_gflops(found.cost.flops, found.cost.bytes, working_set, precision))


def bound_solver(name: str, value: Any) -> BoundSolver:
    """Return the value itself if it is a solver that has its operator."""
    if not isinstance(value, BoundSolver):
        raise BadArgument(f"{name} must be a solver bound to its operator, like tr.cg()(M), found {value!r}")
    return value


def require_converged(report: SolveReport) -> SolveReport:
    """Return the report itself, or raise NotConverged."""
    if report.converged:
        return report
    before = "".join(f"{stage}; then " for stage in report.stages[:-1])
    raise NotConverged(
        f"{before}{report.method}: {report.reason} after {report.iterations} iterations; the largest true "
        f"residual is {report.largest_residual:.3e}",
        report,
    )
