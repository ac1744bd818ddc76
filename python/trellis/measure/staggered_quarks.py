"""This module has staggered quarks of a measurement: propagators of all masses of a source, local mesons,
condensates."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..evolve.quark_operators import make_operator
from ..ground.solve_report import SolveReport
from ..hadrons.staggered_mesons import LOCAL_CHANNELS, StaggeredChannel, staggered_mesons
from ..quarks.sources import Source
from ..quarks.staggered_propagators import StaggeredPropagator
from ..run_files import MeasureRun
from ..run_files.staggered_measurement import CondensateTable, MeasuredStaggeredKind
from ..solve.staggered import HISQ, Staggered
from ..solve.values import Solver
from .configuration import ConfigurationInHand, MeasuredSource
from .multigrid import ConfigurationMultigrid
from .stored_staggered_propagators import StoredStaggeredPropagators

#: Names of condensates begin with it.
CONDENSATE = "condensate"
#: So many noise vectors are solved for together.
VECTORS_AT_A_TIME = 12


@dataclass(frozen=True)
class StaggeredMeson:
    """This is a dataset of local mesons: its name, the channel, and the masses of quark and antiquark."""

    name: str
    channel: StaggeredChannel
    masses: tuple[float, float]


def staggered_mesons_of(run: MeasureRun) -> list[StaggeredMeson]:
    """Return the datasets of a run's local mesons: of one mass by the channels' names, else of all pairs."""
    quark = run.staggered_quark
    if quark is None:
        return []
    channels = [LOCAL_CHANNELS[name] for name in run.local_mesons]
    if len(quark.masses) == 1:
        return [StaggeredMeson(channel.name, channel, (quark.mass, quark.mass)) for channel in channels]
    pairs = itertools.combinations_with_replacement(quark.masses, 2)
    return [
        StaggeredMeson(_name(channel.name, pair), channel, pair) for pair in pairs for channel in channels
    ]


def _name(channel: str, masses: tuple[float, float]) -> str:
    """Return "rho_m0.1_m0.2_x" of "rho_x": analyses average over the axis at the end."""
    pair = "_".join(f"m{mass!r}" for mass in masses)
    stem, _, axis = channel.rpartition("_")
    return f"{stem}_{pair}_{axis}" if axis in ("x", "y", "z") else f"{channel}_{pair}"


def flavour_of(quark: MeasuredStaggeredKind, mass: float) -> str:
    """Return the word for a mass in names of propagators' files; the first one is up, as of other quarks."""
    return "up" if mass == quark.mass else f"m{mass!r}"


class StaggeredQuarks:
    """These are the staggered quarks of one configuration.

    Parameters
    ----------
    momenta
        The momenta of all correlators.
    check
        Is called before each solve; it may raise where the run has to stop.

    Attributes
    ----------
    files
        It stores the propagators, or takes them from files.
    multigrid, solver_choice
        Quarks with spin have these; there is no multigrid for staggered quarks, and nothing to choose.
    """

    multigrid: ConfigurationMultigrid | None = None
    solver_choice: str = ""

    def __init__(
        self,
        run: MeasureRun,
        solver: Solver,
        configuration: ConfigurationInHand,
        files: StoredStaggeredPropagators,
        momenta: list[tuple[int, int, int]],
        check: Callable[[], None],
    ) -> None:
        assert run.staggered_quark is not None  # the caller has such a run
        self._run, self._solver, self._configuration = run, solver, configuration
        self.files, self._momenta, self._check = files, momenta, check
        self._quark: MeasuredStaggeredKind = run.staggered_quark
        self._mesons = staggered_mesons_of(run)
        self._operator: Staggered | HISQ = make_operator(self._quark, configuration.links)

    def measure(self, source: Source, index: int) -> MeasuredSource:
        """Measure the source of this number; condensates come with the first. Collective."""
        table: dict[str, NDArray] = {}
        reports: list[SolveReport] = []
        are_read: list[bool] = []
        if self._mesons or self._run.output.propagators:
            quarks, reports, are_read = self._propagators(source, index)
            table |= self._contract(quarks)
        if index == 0:
            condensates, more = self._condensates()
            table |= condensates
            reports, are_read = reports + more, are_read + [False] * len(more)
        return table, reports, are_read

    def _propagators(
        self, source: Source, index: int
    ) -> tuple[dict[float, StaggeredPropagator], list[SolveReport], list[bool]]:
        """Return the propagators by mass, and the reports of solves, with True for those that were read.

        Where one mass is not stored, the solve is that of all masses, so that no bit depends on what is
        stored. Collective.
        """
        found: dict[float, StaggeredPropagator] = {}
        guesses: dict[float, StaggeredPropagator] = {}
        for mass in self._quark.masses:
            operator = self._operator._record_of_mass(mass)
            S, guess = self.files.get(flavour_of(self._quark, mass), index, source, operator)
            found |= {} if S is None else {mass: S}
            guesses |= {} if guess is None else {mass: guess}
        reports = [S.report for S in found.values() if S.report is not None]
        are_read = [True] * len(reports)
        if len(found) < len(self._quark.masses):
            self._check()
            solved = solve_all_masses(self._operator, self._quark.masses, source, self._solver, guesses)
            for mass, S in zip(self._quark.masses, solved, strict=True):
                if mass not in found:
                    self.files.keep(S, flavour_of(self._quark, mass), index, source)
                    found[mass] = S
            reports, are_read = [_shared_report(solved), *reports], [False, *are_read]
        return found, reports, are_read

    def _contract(self, quarks: dict[float, StaggeredPropagator]) -> dict[str, NDArray[np.complex128]]:
        """Return the mesons of a source by the names of their datasets, [momentum, time]. Collective."""
        mesons, links = self._mesons, self._configuration.smearing_links
        source = self._run.source
        if self._run.sink.is_gaussian:
            smearing: dict[str, Any] = {"width": source.width, "steps": source.steps}
            quarks = {mass: S.smear_sink(links, **smearing) for mass, S in quarks.items()}
        table: dict[str, NDArray[np.complex128]] = {}
        for pair in dict.fromkeys(meson.masses for meson in mesons):
            chosen = {meson.channel.name: meson.name for meson in mesons if meson.masses == pair}
            values = staggered_mesons(
                *(quarks[m] for m in pair), channels=list(chosen), momenta=self._momenta
            )
            table |= {chosen[channel]: value for channel, value in values.items()}
        return table

    def _condensates(self) -> tuple[dict[str, NDArray[np.float64]], list[SolveReport]]:
        """Return the condensate of each mass, a number for each noise vector, and the reports of solves."""
        table, masses = self._run.condensate, self._quark.masses
        if table is None:
            return {}, []
        names = [CONDENSATE] if len(masses) == 1 else [f"{CONDENSATE}_m{mass!r}" for mass in masses]
        batches, reports = [], []
        for first in range(0, table.vectors, VECTORS_AT_A_TIME):
            self._check()
            vectors = min(VECTORS_AT_A_TIME, table.vectors - first)
            values, report = self._condensates_of(table, first, vectors)
            batches.append(values)
            reports.append(report)
        return dict(zip(names, np.concatenate(batches, axis=1), strict=True)), reports

    def _condensates_of(
        self, table: CondensateTable, first: int, vectors: int
    ) -> tuple[NDArray[np.float64], SolveReport]:
        """Return the condensates of some noise vectors, [mass, vector], and the report of their solve."""
        key: dict[str, Any] = {"vectors": vectors, "seed": table.noise_seed, "first": first}
        key |= {"configuration": self._configuration.number, "noise": table.noise}
        if len(self._quark.masses) == 1:  # any solver serves one mass
            one = self._operator.observables(n_f=1, solver=self._solver, **key)
            return one.condensate[np.newaxis], one.report
        found = self._operator.condensates(masses=self._quark.masses, solver=self._solver, **key)
        return found.condensate, found.report


def solve_all_masses(
    M: Staggered | HISQ,
    masses: tuple[float, ...],
    source: Source,
    solver: Solver,
    guesses: dict[float, StaggeredPropagator] | None = None,
) -> list[StaggeredPropagator]:
    """Solve for all masses of one source; one mass alone may have any solver, and a guess. Collective."""
    if len(masses) == 1:
        return [M.propagator(source, solver=solver, guess=(guesses or {}).get(masses[0]))]
    return M.propagators(source, masses=masses, solver=solver)


def _shared_report(solved: list[StaggeredPropagator]) -> SolveReport:
    """Return the report of a solve that these propagators share, with the residuals of all."""
    reports = [S.report for S in solved if S.report is not None]
    residuals = tuple(r for report in reports for r in report.relative_residuals)
    return dataclasses.replace(reports[0], relative_residuals=residuals)
