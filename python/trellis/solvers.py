"""Solvers as values: small frozen objects that say which method and how far, and compose.

>>> import trellis as tr
>>> solve = tr.even_odd(tr.mixed_precision(tr.cg(tolerance=1e-10), inner="half"))
>>> S = solve(M).propagator(tr.point_source(U.geometry, (0, 0, 0, 0)))          # doctest: +SKIP

Tolerances are |b - A x| / |b| of every right-hand side, of the true residual computed in double.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from .arguments import choice, instance, integer, real
from .core import load
from .errors import BadArgument

if TYPE_CHECKING:
    from .bound_solvers import BoundSolver
    from .operators import QuarkOperator

InnerPrecision = Literal["float", "single", "half", "fp16"]
SchurForm = Literal["symmetric", "asymmetric"]


class Solver:
    """Base of all solver values. Calling one with an operator binds it: ``solve(M)``."""

    def __call__(self, M: QuarkOperator) -> BoundSolver:
        """The solver of M x = b."""
        from .bound_solvers import BoundSolver

        return BoundSolver(self, M)

    def __getattr__(self, name: str) -> Any:
        if name in ("observables", "propagator", "solve"):
            raise AttributeError(f"a solver is bound to an operator by a call first: solver(M).{name}(...)")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)

    def _spec(self) -> Any:
        """The compiled part's spec of the Krylov method."""
        raise NotImplementedError

    def _schur_form(self) -> str:
        """ "none", "symmetric" or "asymmetric"."""
        return "none"

    def _require_operator(self, M: QuarkOperator) -> None:
        """BadArgument where the solver holds something of another operator."""


def _checked(tolerance: float, max_iterations: int) -> tuple[float, int]:
    tolerance = real("tolerance", tolerance, above=0)
    if not tolerance < 1:
        raise BadArgument(f"tolerance must lie between 0 and 1, found {tolerance}")
    return tolerance, integer("max_iterations", max_iterations, least=1)


@dataclass(frozen=True)
class Cg(Solver):
    """See :func:`cg`."""

    tolerance: float
    max_iterations: int
    fallback: bool = True

    def _spec(self) -> Any:
        return load().CgSpec(self.tolerance, self.max_iterations, self.fallback)


@dataclass(frozen=True)
class Bicgstab(Solver):
    """See :func:`bicgstab`."""

    tolerance: float
    max_iterations: int
    fallback: bool = True

    def _spec(self) -> Any:
        return load().BicgstabSpec(self.tolerance, self.max_iterations, self.fallback)


@dataclass(frozen=True)
class Gcr(Solver):
    """See :func:`gcr`."""

    tolerance: float
    max_iterations: int
    restart_length: int
    fallback: bool = True

    def _spec(self) -> Any:
        return load().GcrSpec(self.tolerance, self.max_iterations, self.restart_length, self.fallback)


@dataclass(frozen=True)
class Mr(Solver):
    """See :func:`mr`."""

    tolerance: float
    max_iterations: int
    relaxation: float
    fallback: bool = True

    def _spec(self) -> Any:
        return load().MrSpec(self.tolerance, self.max_iterations, self.relaxation, self.fallback)


@dataclass(frozen=True)
class MixedPrecision(Solver):
    """See :func:`mixed_precision`."""

    solver: Cg | Bicgstab | Gcr | Mr
    inner: InnerPrecision
    update_threshold: float

    def _spec(self) -> Any:
        return load().MixedPrecisionSpec(self.solver._spec(), self.inner, self.update_threshold)


@dataclass(frozen=True)
class EvenOdd(Solver):
    """See :func:`even_odd`."""

    solver: Solver
    form: SchurForm

    def _spec(self) -> Any:
        return self.solver._spec()

    def _schur_form(self) -> str:
        return self.form


def cg(*, tolerance: float = 1e-10, max_iterations: int = 10000, fallback: bool = True) -> Cg:
    """Conjugate gradients: of A itself where A is hermitian, else on A^dagger A x = A^dagger b.

    Parameters
    ----------
    tolerance
        Of |b - A x| / |b|, between 0 and 1.
    max_iterations
        The solve ends there, converged or not.
    fallback
        A solve that is stuck goes on from its best x with a surer method: with cg, and in low storage then
        with the next wider one, each with `max_iterations` of its own (``report.stages``). False: it ends
        as stagnated.

    Raises
    ------
    BadArgument
        A tolerance outside (0, 1), no iteration, or a fallback that is not True or False.
    """
    return Cg(*_checked(tolerance, max_iterations), instance("fallback", fallback, bool))


def bicgstab(*, tolerance: float = 1e-10, max_iterations: int = 10000, fallback: bool = True) -> Bicgstab:
    """BiCGStab (van der Vorst, 1992); an iteration applies the operator twice.

    Parameters
    ----------
    tolerance, max_iterations, fallback
        As for :func:`cg`.

    Raises
    ------
    BadArgument
        A tolerance outside (0, 1), or no iteration.
    """
    return Bicgstab(*_checked(tolerance, max_iterations), instance("fallback", fallback, bool))


def gcr(
    *, tolerance: float = 1e-10, max_iterations: int = 10000, restart_length: int = 16, fallback: bool = True
) -> Gcr:
    """GCR (the iterates of GMRES; Eisenstat, Elman and Schultz, 1983), restarted.

    Parameters
    ----------
    tolerance, max_iterations, fallback
        As for :func:`cg`.
    restart_length
        Steps between restarts: so many vectors are kept.

    Raises
    ------
    BadArgument
        A tolerance outside (0, 1), no iteration, or no step.
    """
    steps = integer("restart_length", restart_length, least=1)
    return Gcr(*_checked(tolerance, max_iterations), steps, instance("fallback", fallback, bool))


def mr(
    *, tolerance: float = 1e-10, max_iterations: int = 10000, relaxation: float = 1.0, fallback: bool = True
) -> Mr:
    """Minimal residual, a smoother more than a solver.

    Parameters
    ----------
    tolerance, max_iterations, fallback
        As for :func:`cg`.
    relaxation
        Factor of each step, between 0 and 2.

    Raises
    ------
    BadArgument
        A tolerance outside (0, 1), no iteration, or a factor outside (0, 2).
    """
    factor = real("relaxation", relaxation, above=0, below=2)
    return Mr(*_checked(tolerance, max_iterations), factor, instance("fallback", fallback, bool))


def mixed_precision(
    solver: Cg | Bicgstab | Gcr | Mr, *, inner: InnerPrecision = "float", update_threshold: float = 0.0
) -> MixedPrecision:
    """Iterate in low storage, correct from residuals recomputed in double.

    Parameters
    ----------
    solver
        The method that iterates; its tolerance is that of the whole solve.
    inner
        "float" (or "single"), "half": 16-bit fixed point with a scale per site, or "fp16": 16-bit floating
        point, faster and ten times less accurate, for operators that are well conditioned. Both forms of 16
        bits are computed in float.
    update_threshold
        The residual is recomputed when it has dropped by this factor; 0 chooses by method and precision, and
        with cg follows the rounding that earlier updates have found.

    Raises
    ------
    BadArgument
        A solver of another kind, another precision, or a threshold outside [0, 1).
    """
    if not isinstance(solver, Cg | Bicgstab | Gcr | Mr):
        raise BadArgument(f"mixed_precision takes cg, bicgstab, gcr or mr, found {solver!r}")
    choice("inner", inner, "float", "single", "half", "fp16")
    return MixedPrecision(solver, inner, real("update_threshold", update_threshold, least=0, below=1))


def even_odd(solver: Solver, *, form: SchurForm = "symmetric") -> EvenOdd:
    """Solve the Schur complement on the even sites instead of M, and reconstruct the odd ones.

    Parameters
    ----------
    solver
        What solves the Schur system; its tolerance is one of M x = b, whose residual the report has.
    form
        "asymmetric": A_ee - 1/4 H_eo A_oo^-1 H_oe; "symmetric": 1 - 1/4 A_ee^-1 H_eo A_oo^-1 H_oe.

    Raises
    ------
    BadArgument
        A solver of another kind, or another form.
    """
    if isinstance(solver, EvenOdd) or not isinstance(solver, Solver):
        raise BadArgument(f"even_odd takes cg, bicgstab, gcr, mr or mixed_precision, found {solver!r}")
    choice("form", form, "symmetric", "asymmetric")
    return EvenOdd(solver, form)


@dataclass(frozen=True)
class SolveReport:
    """What a solve did. `print(report)` shows it.

    Attributes
    ----------
    method
        In words.
    iterations
        Of the right-hand side that took most.
    relative_residuals
        |b - M x| / |b| of each right-hand side, recomputed in double from the final x.
    converged, reason
        Whether every tolerance was met, and why the solve stopped.
    stages
        A line for each part of a solve that was stuck and went on with a surer method; else empty.
    history
        The largest |r| / |b| of the recursion after each iteration, where the solve was asked for it; else
        empty.
    seconds
        Wall clock.
    gflops, gbytes_per_second
        10^9 floating-point operations and must-move bytes per second, all ranks.
    roof_gflops
        What this machine could reach at the solve's ratio of flops to bytes: the smaller of its peak and its
        measured bandwidth (for a working set of this size) times that ratio; None if not measured.
    conventional_gflops
        With the flops of domain-wall operators as papers count them, with dense matrices in the fifth
        dimension (9.8 to 12.1 thousand for a 5-D site in S and S^dagger, Ls = 12 to 20); else as gflops.
    peak_gflops
        10^9 fused multiply-add flops per second of all ranks, measured; None if not.
    """

    method: str
    iterations: int
    relative_residuals: tuple[float, ...]
    converged: bool
    reason: str
    seconds: float
    gflops: float
    gbytes_per_second: float
    roof_gflops: float | None = None
    conventional_gflops: float | None = None
    peak_gflops: float | None = None
    stages: tuple[str, ...] = ()
    history: tuple[float, ...] = ()

    @property
    def intensity(self) -> float:
        """Arithmetic intensity: flops per must-move byte."""
        return self.gflops / self.gbytes_per_second if self.gbytes_per_second else 0.0

    @property
    def share_of_peak(self) -> float | None:
        """Conventional flops per second over the peak."""
        if not self.peak_gflops or self.conventional_gflops is None:
            return None
        return self.conventional_gflops / self.peak_gflops

    @property
    def share_of_roof(self) -> float | None:
        """gflops / roof_gflops."""
        return self.gflops / self.roof_gflops if self.roof_gflops else None

    @property
    def largest_residual(self) -> float:
        """The worst of the true residuals."""
        return max(self.relative_residuals)

    def with_roof(self, roof_gflops: float) -> SolveReport:
        """A copy that knows the roof.

        Parameters
        ----------
        roof_gflops
            As the attribute of this name.
        """
        return replace(self, roof_gflops=roof_gflops)

    def __str__(self) -> str:
        residuals = f"{min(self.relative_residuals):.2e} to {self.largest_residual:.2e}"
        if len(self.relative_residuals) == 1:
            residuals = f"{self.largest_residual:.2e}"
        speed = f"{self.gflops:.1f} GF/s, {self.gbytes_per_second:.1f} GB/s"
        if self.share_of_roof is not None:
            speed += f", {100 * self.share_of_roof:.0f} % of the roof ({self.roof_gflops:.0f} GF/s)"
        if self.share_of_peak is not None:
            speed += (
                f"\n{self.intensity:.2f} flop/byte; {self.conventional_gflops:.1f} GF/s as papers count, "
                f"{100 * self.share_of_peak:.1f} % of the peak ({self.peak_gflops:.0f} GF/s)"
            )
        stages = "".join(f"\n  {stage}" for stage in self.stages)
        return (
            f"{self.method}: {self.reason} after {self.iterations} iterations, "
            f"{len(self.relative_residuals)} right-hand sides\n"
            f"true residuals {residuals}; {self.seconds:.3g} s; {speed}{stages}"
        )

    def plot(self, path: str | os.PathLike | None = None) -> Any:
        """Draw the residual after each iteration.

        Parameters
        ----------
        path
            Where the picture is saved (PNG, PDF or SVG, by the ending); without it nothing is saved.

        Returns
        -------
        matplotlib.figure.Figure

        Raises
        ------
        BadArgument
            The solve was not asked for its history.
        """
        if not self.history:
            raise BadArgument("this solve has no history: ask for it with solve(..., history=True)")
        from matplotlib.figure import Figure

        figure = Figure(figsize=(6, 4), layout="constrained")
        axes = figure.add_subplot()
        axes.semilogy(range(1, len(self.history) + 1), self.history)
        axes.set(xlabel="iteration", ylabel="largest |r| / |b| of the recursion", title=self.method)
        axes.grid(alpha=0.3)
        if path is not None:
            figure.savefig(path)
        return figure
