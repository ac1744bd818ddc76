"""This module has the report of a solve: methods, iterations, true residuals and speed; and the error of one
that failed."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import Any

from .errors import BadArgument, Error


@dataclass(frozen=True)
class SolveReport:
    """This is the report of a solve; `print(report)` shows it.

    Attributes
    ----------
    method
        It names the methods in words.
    iterations
        The right-hand side that took most took so many.
    relative_residuals
        |b - M x| / |b| of each right-hand side, recomputed in double from the final x.
    converged, reason
        They say whether every tolerance was met, and why the solve stopped.
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
        This machine could reach this at the solve's ratio of flops to bytes: the smaller of its peak and its
        measured bandwidth (for a working set of this size) times that ratio; None if not measured.
    conventional_gflops
        They have the flops of domain-wall operators as papers count them, with dense matrices in the fifth
        dimension (9.8 to 12.1 thousand for a 5-D site in S and S^dagger, Ls = 12 to 20); else as gflops.
    peak_gflops
        10^9 fused multiply-add flops per second of all ranks, measured; None if not.
    messages, message_bytes
        Messages of halos that one rank sent, and the bytes in them; None where an older record has no number.
    sums
        Global reductions; None likewise.
    launches
        Kernels that one rank launched; None likewise.
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
    messages: int | None = None
    message_bytes: int | None = None
    sums: int | None = None
    launches: int | None = None

    @property
    def intensity(self) -> float:
        """Return the arithmetic intensity: flops per must-move byte."""
        return self.gflops / self.gbytes_per_second if self.gbytes_per_second else 0.0

    @property
    def share_of_peak(self) -> float | None:
        """Return conventional flops per second over the peak."""
        if not self.peak_gflops or self.conventional_gflops is None:
            return None
        return self.conventional_gflops / self.peak_gflops

    @property
    def share_of_roof(self) -> float | None:
        """Return gflops / roof_gflops."""
        return self.gflops / self.roof_gflops if self.roof_gflops else None

    @property
    def largest_residual(self) -> float:
        """Return the worst of the true residuals."""
        return max(self.relative_residuals)

    def with_roof(self, roof_gflops: float) -> SolveReport:
        """Return a copy that knows the roof.

        Parameters
        ----------
        roof_gflops
            It is the attribute of this name.
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
            The picture is saved there (PNG, PDF or SVG, by the ending); without it nothing is saved.

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


class NotConverged(Error):
    """A solver missed its tolerance.

    Parameters
    ----------
    message
        This is printed: the method, the number of iterations and the residual that was reached.
    report
        See below.

    Attributes
    ----------
    report : trellis.SolveReport or None
        Iterations, true residuals and the reason why each solve stopped; None of a search for modes.
    """

    def __init__(self, message: str, report: SolveReport | None = None) -> None:
        super().__init__(message)
        self.report = report
