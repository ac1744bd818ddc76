"""This module has the quarks with spin of a measurement: their propagators from a source, and all that is
contracted."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..evolve.quark_operators import make_measured_operator
from ..ground.solve_report import SolveReport
from ..hadrons.channels import NAMED_BARYONS, MesonChannel
from ..hadrons.correlators import contract_baryon, contract_mesons
from ..hadrons.sequential_propagators import QuarkLine
from ..quarks.domain_wall import MoebiusDomainWall, propagator_norm
from ..quarks.operators import WilsonClover
from ..quarks.propagators import Propagator
from ..quarks.sources import Source
from ..run_files import MeasureRun
from ..run_files.measured_quarks import MeasuredQuark
from ..solve.values import Solver
from .configuration import ConfigurationInHand, MeasuredSource
from .currents import contract_feynman_hellmann, feynman_hellmann_propagators, three_point_functions
from .low_modes import deflated_solver
from .multigrid import (
    ConfigurationMultigrid,
    flavours_for_multigrid,
    multigrid_of,
    right_hand_sides,
)
from .setup import make_solver
from .stored_propagators import ConfigurationPropagators


class SpinQuarks:
    """These are the quarks with spin of one configuration: up, down where it is solved for apart, strange.

    Collective.

    Parameters
    ----------
    text
        The run file, for provenance.
    solver
        The run's solver, without low modes and multigrid.
    channels, momenta
        The mesons, and the momenta of all correlators.
    check
        Is called between parts of the work; it may raise where the run has to stop.
    say
        Gets a line about low modes, or about the set-up of multigrid.

    Attributes
    ----------
    files
        It stores the propagators, or takes them from files.
    multigrid
        It is that of the configuration, where the run solves with it.
    solver_choice
        Why the solvers were chosen; empty where the run file has chosen.
    """

    def __init__(
        self,
        run: MeasureRun,
        text: str,
        solver: Solver,
        configuration: ConfigurationInHand,
        files: ConfigurationPropagators,
        channels: list[MesonChannel],
        momenta: list[tuple[int, int, int]],
        *,
        check: Callable[[], None],
        say: Callable[[str], None],
    ) -> None:
        self._run, self._text, self._solver, self._configuration = run, text, solver, configuration
        self.files, self._channels, self._momenta = files, channels, momenta
        self._check, self._say = check, say
        self.multigrid: ConfigurationMultigrid | None = None
        self.solver_choice = ""
        quarks = self._flavours()
        operators = {
            flavour: make_measured_operator(quark, configuration.links, run.solver.columns)
            for flavour, quark in quarks.items()
        }
        solvers = self._solvers(quarks, operators)
        self._solves = {flavour: solvers[flavour](M) for flavour, M in operators.items()}

    def _flavours(self) -> dict[str, MeasuredQuark]:
        run, fermion = self._run, self._run.spin_quark
        assert fermion is not None  # the caller has such a run
        tables: dict[str, MeasuredQuark] = {"up": fermion}
        if run.has_doublet:
            tables["down"] = fermion.down
        if fermion.has_strange:
            tables["strange"] = fermion.strange
        return tables

    def _solvers(
        self, quarks: dict[str, MeasuredQuark], operators: dict[str, WilsonClover | MoebiusDomainWall]
    ) -> dict[str, Solver]:
        """Return the solver of each flavour, with what is set up for its operator. Collective."""
        run = self._run
        if not run.has_solves:
            return dict.fromkeys(operators, self._solver)
        if run.solver.multigrid is None:
            return {flavour: self._deflated(M, flavour) for flavour, M in operators.items()}
        self._check()
        solvers = dict.fromkeys(operators, self._solver)
        chosen = self._flavours_for_multigrid(operators)
        if not chosen:
            return solvers
        self.multigrid = multigrid_of(
            run.solver.multigrid,
            {flavour: quarks[flavour] for flavour in chosen},
            {flavour: operators[flavour] for flavour in chosen},
            sources=right_hand_sides(run, len(chosen)),
            name=f"multigrid.{self._configuration.number:06d}.h5",
            run_file=self._text,
        )
        for line in (self.multigrid.words, *self.multigrid.lightest.notes):
            self._say(f"configuration {self._configuration.number}: {line}")
        made = self.multigrid.of_each
        return solvers | {flavour: make_solver(run.solver, mg) for flavour, mg in made.items()}

    def _flavours_for_multigrid(self, operators: dict[str, Any]) -> tuple[str, ...]:
        """Return the flavours that multigrid solves; the others have the run's own solver. Collective."""
        run = self._run
        if run.solver.always_has_multigrid:
            return tuple(operators)
        each = dict.fromkeys(operators, right_hand_sides(run, 1))
        chosen = flavours_for_multigrid(run, operators, sources=each)
        self.solver_choice = chosen.words
        self._say(f"configuration {self._configuration.number}: {chosen.words}")
        return chosen.flavours

    def measure(self, source: Source, index: int) -> MeasuredSource:
        """Measure the source of this number among those of the configuration. Collective."""
        quarks, are_read = self._propagators(source, index)
        reports = [quark.report for quark in quarks.values() if quark.report is not None]
        table, more = self._correlators(quarks)
        return table, reports + more, are_read + [False] * len(more)

    def _propagators(self, source: Source, index: int) -> tuple[dict[str, Propagator], list[bool]]:
        """Return the propagators of all flavours by name, and for each of them whether it was read."""
        quarks, are_read = {}, []
        for flavour, solve in self._solves.items():
            self._check()
            needs_fields = flavour == "up" and self._run.needs_fields
            quarks[flavour], is_read = self.files.get(
                flavour, index, source, solve, keep_fields=needs_fields, before_solve=self._check
            )
            are_read.append(is_read)
        return quarks, are_read

    def _correlators(self, quarks: dict[str, Propagator]) -> tuple[dict[str, NDArray], list[SolveReport]]:
        """Return all correlators of a source, and the reports of the further solves."""
        run, S, solves = self._run, quarks["up"], self._solves
        links, path = self._configuration.smearing_links, self._configuration.path
        light = [flavour for flavour in ("up", "down") if flavour in quarks]
        currents = {
            flavour: feynman_hellmann_propagators(
                run.feynman_hellmann, solves[flavour], quarks[flavour], path, self._check
            )
            for flavour in light
        }
        if not run.three_point.has_conserved:
            S.fields = None  # they are Ls propagators, for the conserved currents alone
        reports = [F.report for of in currents.values() for F in of.values() if F.report is not None]
        table = self._midpoint(S)
        sinks, smearing = quarks, None
        if run.sink.is_gaussian:
            width, steps = run.source.width, run.source.steps
            smearing = (links, width, steps)
            sinks = {n: Q.smear_sink(links, width=width, steps=steps) for n, Q in quarks.items()}
            currents = {
                flavour: {n: F.smear_sink(links, width=width, steps=steps) for n, F in of.items()}
                for flavour, of in currents.items()
            }
        table |= self._contract(sinks["up"], sinks.get("down"), sinks.get("strange"))
        table |= contract_feynman_hellmann(
            sinks["up"], sinks.get("down"), currents["up"], currents.get("down", {}), self._momenta
        )
        del currents
        up, *down = (QuarkLine(solves[n], quarks[n], sinks[n]) for n in light)
        transfers = run.three_point.momenta or self._momenta
        inserted, more = three_point_functions(
            run.three_point, up, down[0] if down else None, smearing, transfers, path, self._check
        )
        S.fields = None
        return table | inserted, reports + more

    def _deflated(self, M: WilsonClover | MoebiusDomainWall, flavour: str) -> Solver:
        self._check()
        number = self._configuration.number
        return deflated_solver(
            self._solver,
            self._run.deflation,
            self._run.solver.even_odd,
            M,
            self._say,
            name=f"modes.{number:06d}{'' if flavour == 'up' else '_' + flavour}.h5",
            run_file=self._text,
        )

    def _contract(
        self, S: Propagator, down: Propagator | None, strange: Propagator | None
    ) -> dict[str, NDArray[np.complex128]]:
        """Return [momentum, time] by name; without a down quark of its own S is both."""
        result: dict[str, NDArray[np.complex128]] = {}
        flavours = {False: S, True: strange}
        for of_quark, of_antiquark in itertools.product(flavours, repeat=2):
            quark, antiquark = flavours[of_quark], flavours[of_antiquark]
            chosen = [
                c for c in self._channels if (c.has_strange_quark, c.has_strange) == (of_quark, of_antiquark)
            ]
            if chosen and quark is not None and antiquark is not None:
                pairs = [(channel.sink, channel.source) for channel in chosen]
                values = contract_mesons(quark, antiquark, pairs, self._momenta)
                result |= {channel.name: values[i] for i, channel in enumerate(chosen)}
        for name in self._run.correlators.baryons:
            channel = NAMED_BARYONS[name]
            result[name] = contract_baryon(
                channel.operator,
                up=S,
                down=S if down is None else down,
                strange=strange,
                form=channel.form,
                parity=channel.parity,
                momenta=self._momenta,
            )
        return result

    def _midpoint(self, S: Propagator) -> dict[str, NDArray[np.complex128]]:
        """Return for domain walls the numerator of m_res (its denominator is the pion of point sinks), zero
        momentum."""
        if S.midpoint is None:
            return {}
        norms = {"midpoint": propagator_norm(S.midpoint), "midpoint_pion": propagator_norm(S)}
        if S.axial_current is not None:
            norms["conserved_axial"] = S.axial_current
        zero = np.zeros((len(self._momenta), S.geometry.extents[3]), dtype=np.complex128)
        result = {}
        for name, values in norms.items():
            result[name] = zero.copy()
            result[name][0] = values
        return result
