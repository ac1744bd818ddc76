"""This module has measurements on the configurations of a running chain ([measure] of a run file)."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..gauge.flow import flow_history
from ..ground.errors import BadArgument
from ..ground.solve_report import NotConverged
from ..run_files.valence import as_valence
from ..solve.cg import cg
from ..solve.even_odd import even_odd
from ..solve.mixed_precision import mixed_precision
from .quark_operators import FlavourOperators
from .smeared_links import smeared_links

if TYPE_CHECKING:
    from ..gauge.fields import GaugeField
    from ..run_files.online import LoopTable, MeasureTable, NoiseTable, OnlineFlowTable
    from ..run_files.quarks import BackgroundTable
    from ..run_files.sea import SeaQuark
    from ..run_files.smearing import SmearingTable
    from ..run_files.valence import ValenceQuark

#: A measurement is a number, or an array with a first axis of noise vectors, flow times or R.
Values = dict[str, Any]


def sea_flavours(
    fermions: Sequence[SeaQuark], smearing: SmearingTable, background: BackgroundTable
) -> list[ValenceQuark]:
    """Return the flavours of the sea, with the links and the field that they see there."""
    return [as_valence(fermion, smearing, background) for fermion in fermions]


class OnlineMeasurements:
    """These are the on-line measurements that [measure] asks for.

    Values depend on the links, the table, and (seed, stream, number) alone. All flavours see the same noise
    vectors, so that their differences are less noisy.

    Parameters
    ----------
    table
        [measure]; None: nothing is ever measured.
    flavours
        The flavours of the sea; those of [[measure.valence]] are added.
    thermalisation
        Nothing is measured up to and including the trajectory (or sweep) of this number.
    """

    def __init__(
        self,
        table: MeasureTable | None,
        flavours: Sequence[ValenceQuark],
        *,
        seed: int,
        stream: int,
        thermalisation: int,
    ) -> None:
        self.table = table
        self._measured_before: dict[str, dict[str, Any]] = {}
        self.seed, self.stream, self.thermalisation = seed, stream, thermalisation
        self.flavours = [*flavours, *(table.valence if table else [])]
        if table and table.fermions is not None and not self.flavours:
            raise BadArgument(
                "measure.fermions: the run has no quarks; add [[measure.valence]], or leave the table out"
            )
        if table and table.fermions is not None and table.fermions.magnetisation:
            if all(flavour.has_spin for flavour in self.flavours):
                raise BadArgument(
                    "measure.fermions.magnetisation is that of staggered and HISQ flavours, and there is none"
                )
        if table and table.valence and flavours:
            taken = {f.name for f in flavours} & {f.name for f in table.valence}
            if taken:
                raise BadArgument(f"measure.valence: the name {taken.pop()!r} is that of a sea quark")

    def measure(self, U: GaugeField, number: int) -> Values:
        """Measure what is due after trajectory (or sweep) `number`; the result is empty if nothing is.

        Collective.
        """
        after = number - self.thermalisation
        if self.table is None or after <= 0:
            return {}
        begin = time.perf_counter()
        values: Values = {}
        fermions, flow, loops = self.table.fermions, self.table.flow, self.table.loops
        if fermions is not None and after % fermions.every == 0:
            values |= self._fermions(fermions, U, number)
        if flow is not None and after % flow.every == 0:
            values |= self._flow(flow, U, number)
        if loops is not None and after % loops.every == 0:
            values |= self._loops(loops, U, number)
        if values:
            values["seconds_measure"] = time.perf_counter() - begin
        return values

    def record(self) -> dict[str, dict[str, Any]]:
        """Return the parameters on which the values of each series depend, which a state records.

        They are JSON values by the name of the table.
        """
        return {**self._measured_before, **self._meaning()}

    def go_on(self, stored: dict[str, dict[str, Any]] | None, where: str) -> None:
        """Compare the tables with the record of the state that a run goes on from; tables may come and go.

        Raises
        ------
        BadArgument
            Values of a series would depend on other parameters than those before them.
        """
        self._measured_before = stored or {}
        for name, values in self._meaning().items():
            before = self._measured_before.get(name, values)
            changed = [key for key in values if key in before and before[key] != values[key]]
            if changed:
                said = ", ".join(
                    f"{key} = {before[key]!r} before, and {values[key]!r} now" for key in changed
                )
                raise BadArgument(
                    f"{where}: {name} was measured with {said}: a changed [measure] needs another folder"
                )

    def _meaning(self) -> dict[str, dict[str, Any]]:
        """Return the parameters of each table on which its values depend.

        The accuracy of solves and of the flow's steps is left out.
        """
        if self.table is None:
            return {}
        kept = {"fermions": {"vectors", "noise"}, "flow": {"action", "time", "spacing"}}
        found = {}
        for name, part in (
            ("fermions", self.table.fermions),
            ("flow", self.table.flow),
            ("loops", self.table.loops),
        ):
            if part is not None:
                found[f"measure.{name}"] = part.model_dump(
                    mode="json", include=kept.get(name), exclude={"every"}
                )
        for flavour in self.table.valence:
            found[f"measure.valence {flavour.name!r}"] = flavour.model_dump(mode="json", exclude={"name"})
        return found

    def axes(self) -> dict[str, list[float]]:
        """Return the flow times of the series that depend on them."""
        if self.table is None or self.table.flow is None:
            return {}
        flow = self.table.flow
        count = int(np.ceil(flow.time / flow.spacing * (1 - 1e-12)))
        times = np.minimum(flow.spacing * np.arange(count + 1), flow.time).tolist()
        names = ("energy_clover", "energy_plaquette", "charge_clover", "charge_improved")
        return {f"flow_{name}": times for name in names}

    def _fermions(self, table: NoiseTable, U: GaugeField, number: int) -> Values:
        solver = mixed_precision(cg(tolerance=table.tolerance, max_iterations=table.max_iterations))
        values: Values = {}
        iterations = 0
        key: dict[str, Any] = {
            "vectors": table.vectors,
            "noise": table.noise,
            "seed": self.seed,
            "stream": self.stream,
            "configuration": number,
            "susceptibility": table.susceptibility,
        }
        operators = FlavourOperators(U)
        for flavour in self.flavours:
            M = operators.of(flavour)
            planes = () if flavour.has_spin else table.magnetisation
            try:
                found = even_odd(solver)(M)._observables(n_f=flavour.n_f, planes=planes, **key)
            except NotConverged as error:
                raise NotConverged(
                    f"{error}; the run file has measure.fermions.max_iterations = {table.max_iterations}, "
                    f"measure.fermions.tolerance = {table.tolerance:g} (flavour {flavour.name!r}, after "
                    f"trajectory or sweep {number})",
                    error.report,
                ) from error
            iterations += found.report.iterations
            series = found.series()
            values |= {f"{name}.{flavour.name}": v for name, v in series.items() if v is not None}
        values["iterations_measure"] = float(iterations)
        return values

    def _flow(self, table: OnlineFlowTable, U: GaugeField, number: int) -> Values:
        del number
        history = flow_history(
            U,
            time=table.time,
            spacing=table.spacing,
            action=table.action,
            tolerance=table.tolerance,
            step=table.step,
        )
        return {
            "flow_energy_clover": history.energy_clover,
            "flow_energy_plaquette": history.energy_plaquette,
            "flow_charge_clover": history.charge_clover,
            "flow_charge_improved": history.charge_improved,
            "t0": history.t0,
            "w0": history.w0,
            "topological_charge": float(history.charge_improved[-1]),
        }

    def _loops(self, table: LoopTable, U: GaugeField, number: int) -> Values:
        del number
        return {
            "wilson_loops": smeared_links(table.smearing, U).wilson_loops(
                spatial=table.spatial, temporal=table.temporal, planes=table.planes
            )
        }
