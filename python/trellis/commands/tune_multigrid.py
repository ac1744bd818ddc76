"""This module runs trellis tune --multigrid: it finds parameters of multigrid by the clock, as a table for
the run file.

Parameters change bits, and clocks differ from machine to machine: what is found here is printed and never
kept in the tuner's cache. A run has it once it stands in its run file.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from ..evolve.quark_operators import make_operator
from ..evolve.smeared_links import smeared_links
from ..gauge.field_files import read_with_report
from ..ground.compiled_core import load
from ..ground.errors import BadArgument, NumericError
from ..ground.parallel import broadcast, on_root
from ..measure.configuration_files import find_configurations
from ..measure.inputs import require_one_lattice
from ..measure.multigrid import lightest, require_blocks, right_hand_sides
from ..quarks.operators import WilsonClover
from ..run_files import MeasureRun
from ..run_files.measured_quarks import MeasuredQuark
from ..run_files.multigrid import MeasuredMultigridTable
from ..runs.setup import load_run, set_threads
from ..solve.choice import krylov_solver
from ..solve.gcr import gcr
from ..solve.multigrid import multigrid
from ..solve.values import Solver
from .output import Output

_VECTORS = (12, 16, 20, 24, 28)
_SMOOTHINGS = {"sap": (1, 2, 3, 4), "mr": (4, 6, 8, 12)}
_COARSE_TOLERANCES = (0.02, 0.05, 0.1, 0.2)
#: A time has to be shorter by this part: those of two runs of the same work differ as much.
_GAIN = 0.02
_SEED = 1


@dataclass(frozen=True)
class Parameters:
    """These are the keys of [solver.multigrid] that are tried."""

    vectors: int
    sweeps: int
    smoother: str
    smoothing: int
    coarse_tolerance: float


@dataclass(frozen=True)
class Trial:
    """These are the seconds that parameters take.

    Attributes
    ----------
    setup, solve
        They are those of a set-up, and of one right-hand side.
    total
        It is for the right-hand sides of the run on one configuration.
    """

    setup: float
    solve: float
    iterations: int
    total: float


def tune_multigrid(run_file: Path, *, json: bool) -> int:
    """Try parameters on the first configuration of a run, and print the fastest as a table.

    Returns
    -------
    int
        Exit status: 0.

    Raises
    ------
    BadArgument
        The run has no quarks that multigrid solves.
    """
    output = Output(json)
    run, _ = load_run(run_file, MeasureRun)
    quarks = _quarks(run)
    set_threads(run.machine, output)
    start = time.perf_counter()
    found = on_root(lambda: find_configurations(run.configurations))
    require_one_lattice(found, run.configurations)
    U = read_with_report(found[0][1], grid=run.machine.grid, lattice=run.configurations.lattice)
    M = make_operator(quarks[lightest(quarks)], smeared_links(run.smearing, U))
    table = run.solver.multigrid or MeasuredMultigridTable()
    require_blocks(table, U.geometry.extents)
    search = _Search(run, table, M, right_hand_sides(run, len(quarks)), output)
    best = search.run()
    krylov = search.seconds_of_krylov()
    fits = search.tried[best].total < krylov * search.sources
    text = _table(run, table, best) if fits else _krylov_table(run)
    output.line(f"bicgstab: {krylov:.3g} s a right-hand side, {krylov * search.sources:.3g} s for all")
    output.line("")
    output.line(text)
    output.result(
        {
            "run": "tune multigrid",
            "configuration": found[0][1],
            "right_hand_sides": search.sources,
            "trials": [asdict(key) | asdict(value) for key, value in search.tried.items()],
            "best": asdict(best),
            "bicgstab_seconds": krylov,
            "multigrid_pays": fits,
            "table": text,
            "seconds": time.perf_counter() - start,
            "ranks": load().size(),
        }
    )
    return 0


def _quarks(run: MeasureRun) -> dict[str, MeasuredQuark]:
    fermion = run.spin_quark
    if fermion is None or not fermion.has_multigrid:
        raise BadArgument(
            "--multigrid: expected a run file of measure with a fermion of type wilson, clover or "
            "twisted_mass"
        )
    quarks: dict[str, MeasuredQuark] = {"up": fermion}
    if fermion.has_strange:
        quarks["strange"] = fermion.strange
    return quarks


class _Search:
    """It changes one parameter after the other, while that makes the run's solves faster."""

    def __init__(
        self, run: MeasureRun, table: MeasuredMultigridTable, M: WilsonClover, sources: int, output: Output
    ) -> None:
        self.M, self.sources, self._table, self._output = M, sources, table, output
        self._limits: dict[str, Any] = {
            "tolerance": run.solver.tolerance,
            "max_iterations": run.solver.max_iterations,
        }
        self.tried: dict[Parameters, Trial] = {}

    def run(self) -> Parameters:
        """Return the fastest parameters. Collective."""
        extents = self.M.geometry.extents
        table = self._table
        begin = multigrid(
            self.M, vectors=table.first_vectors, block=table.block_on(extents), sources=self.sources
        )
        best = Parameters(
            table.first_vectors,
            begin.sweeps if table.sweeps is None else table.sweeps,
            table.smoother_on(extents),
            table.smoothing_on(extents),
            table.coarse_tolerance,
        )
        self._output.line(
            f"{self.sources} right-hand sides of {self.M!r}; seconds of a set-up, of one right-hand side and "
            "of all"
        )
        self._try(best)
        for change in (_other_sweeps, _other_smoothings, _other_vectors, _other_tolerances, _other_smoothers):
            for other in change(best):
                if self._try(other) < (1 - _GAIN) * self.tried[best].total:
                    best = other
        return best

    def seconds_of_krylov(self) -> float:
        """Return what BiCGStab takes for one right-hand side. Collective."""
        return self._solve(krylov_solver(**self._limits)).seconds

    def _try(self, key: Parameters) -> float:
        if key not in self.tried:
            self.tried[key] = trial = self._measure(key)
            values = ", ".join(f"{name} = {value}" for name, value in asdict(key).items())
            self._output.line(
                f"{values}: {trial.setup:.3g}, {trial.solve:.3g} ({trial.iterations} iterations), "
                f"{trial.total:.3g}"
            )
        return self.tried[key].total

    def _measure(self, key: Parameters) -> Trial:
        try:
            made = multigrid(
                self.M,
                block=self._table.block_on(self.M.geometry.extents),
                seed=self._table.seed,
                **asdict(key),
            )
        except (BadArgument, NumericError):  # this smoother, or so many vectors, do not suit these blocks
            return Trial(float("inf"), float("inf"), 0, float("inf"))
        solver = gcr(preconditioner=made, **self._limits)
        reports = [self._solve(solver) for _ in range(2)]
        solve = min(report.seconds for report in reports)
        setup = broadcast(made.seconds)
        solve = broadcast(solve if reports[0].converged else float("inf"))
        return Trial(setup, solve, reports[0].iterations, setup + self.sources * solve)

    def _solve(self, solver: Solver) -> Any:
        return load().try_solver(solver._spec(), self.M._core, self._limits["max_iterations"], _SEED)


def _other_sweeps(best: Parameters) -> Iterator[Parameters]:
    for sweeps in (best.sweeps - 1, best.sweeps + 1, best.sweeps + 2):
        if sweeps >= 0:
            yield replace(best, sweeps=sweeps)


def _other_smoothings(best: Parameters) -> Iterator[Parameters]:
    return (replace(best, smoothing=n) for n in _SMOOTHINGS[best.smoother] if n != best.smoothing)


def _other_vectors(best: Parameters) -> Iterator[Parameters]:
    return (replace(best, vectors=n) for n in _VECTORS if n != best.vectors)


def _other_tolerances(best: Parameters) -> Iterator[Parameters]:
    return (replace(best, coarse_tolerance=t) for t in _COARSE_TOLERANCES if t != best.coarse_tolerance)


def _other_smoothers(best: Parameters) -> Iterator[Parameters]:
    other = "mr" if best.smoother == "sap" else "sap"
    return (replace(best, smoother=other, smoothing=n) for n in _SMOOTHINGS[other][1:3])


def _table(run: MeasureRun, table: MeasuredMultigridTable, best: Parameters) -> str:
    """Return [solver] with its table as a run file has it."""
    lines = ["[solver]", 'type = "multigrid"', f"tolerance = {run.solver.tolerance:g}", "[solver.multigrid]"]
    if table.block is not None:
        lines.append(f"block = {list(table.block)}")
    if table.directory is not None:
        lines.append(f'directory = "{table.directory}"')
    lines += [
        f'{name} = "{value}"' if isinstance(value, str) else f"{name} = {value}"
        for name, value in asdict(best).items()
    ]
    return "\n".join(lines)


def _krylov_table(run: MeasureRun) -> str:
    """Return [solver] where multigrid does not pay."""
    return f'[solver]\ntype = "bicgstab"\ntolerance = {run.solver.tolerance:g}'
