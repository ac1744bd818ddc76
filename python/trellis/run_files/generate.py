"""This module has the run file of `trellis generate`: quenched configurations by heat bath and
over-relaxation."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from ..ground.action_parameters import GAUGE_ACTIONS
from .common import LatticeTable, MachineTable, NotNegative, RunFile, SeedTable, Table
from .online import MeasureTable

#: Only runs with [molecular_dynamics] have these tables.
OF_TRAJECTORIES = (
    "molecular_dynamics",
    "integrator",
    "trajectories",
    "fermions",
    "metropolis",
    "smearing",
    "background",
)


class ActionTable(Table):
    """The table [action] has the gauge action, doc/conventions.md "Gauge action"."""

    type: Literal["wilson"] = Field(
        default="wilson", description="The heat bath has the plaquette action (wilson)."
    )
    beta: NotNegative = Field(description="This is the coupling 6 / g0^2.")

    @field_validator("type", mode="before")
    @classmethod
    def _heat_bath_of_plaquettes(cls, value: Any) -> Any:
        if isinstance(value, str) and value in ("custom", *GAUGE_ACTIONS) and value != "wilson":
            raise ValueError(
                "the heat bath has the plaquette action alone (wilson); other gauge actions run by "
                "trajectories: [molecular_dynamics] and [[integrator]] in place of [heatbath] and [sweeps]"
            )
        return value


class StartTable(Table):
    """The table [start] has the field at sweep or trajectory 0."""

    type: Literal["hot", "cold", "weak", "file"] = Field(
        default="hot",
        description="The first field has random links (hot), unit links (cold), links near one (weak), or "
        "those of a configuration (file).",
    )
    spread: float = Field(
        default=0.2, gt=0, le=10, description="The random algebra elements of a weak field have this size."
    )
    file: str | None = Field(
        default=None,
        description="A start of type file takes this gauge configuration, which has any known format.",
    )

    @model_validator(mode="after")
    def _file_where_needed(self) -> Self:
        if (self.type == "file") != (self.file is not None):
            raise ValueError('start.file is given exactly if start.type is "file"')
        return self


class HeatbathTable(Table):
    """The table [heatbath] has Cabibbo-Marinari sweeps with Kennedy-Pendleton heat baths."""

    over_relaxation: int = Field(
        default=4, ge=0, description="So many over-relaxation sweeps follow each heat-bath sweep."
    )


class SweepsTable(Table):
    """The table [sweeps] says how many there are: each is one heat-bath sweep with its over-relaxation
    sweeps; they count from 1."""

    total: int = Field(ge=1, description="The whole run has so many sweeps, thermalisation included.")
    thermalisation: int = Field(
        default=0, ge=0, description="The run keeps no configuration up to and including this sweep."
    )
    keep_every: int = Field(
        ge=1, description="The run keeps the configuration of every n-th sweep after the thermalisation."
    )
    checkpoint_every: int = Field(
        default=100,
        ge=1,
        description="The run saves its state after every n-th sweep, and keeps the last two.",
    )
    print_every: int = Field(
        default=10, ge=1, description="The run prints the mean plaquette of every n sweeps."
    )

    @model_validator(mode="after")
    def _something_is_left(self) -> Self:
        if self.thermalisation >= self.total:
            raise ValueError(
                f"sweeps.thermalisation = {self.thermalisation} leaves none of sweeps.total = {self.total}"
            )
        return self

    def keeps_any(self, last: int) -> bool:
        """Return True if a run to this sweep keeps a configuration."""
        return last - self.thermalisation >= self.keep_every

    def kept(self, sweep: int) -> bool:
        """Return True if the configuration after this sweep is to be kept."""
        return sweep > self.thermalisation and (sweep - self.thermalisation) % self.keep_every == 0


class OutputTable(Table):
    """The table [output] says where the run writes."""

    directory: str = Field(
        min_length=1,
        description="This folder gets configuration.NNNNNN.ildg, checkpoint.NNNNNN.ildg and stream.h5. It "
        "is relative to the folder that the command is started in.",
    )


class GenerateRun(RunFile):
    """The run makes quenched SU(3) gauge configurations at one beta."""

    lattice: LatticeTable
    action: ActionTable
    start: StartTable = StartTable()
    heatbath: HeatbathTable = HeatbathTable()
    random: SeedTable
    sweeps: SweepsTable
    output: OutputTable
    measure: MeasureTable | None = Field(
        default=None, description="On-line measurements are made while the run goes on. The default is none."
    )
    machine: MachineTable = MachineTable()

    @model_validator(mode="before")
    @classmethod
    def _no_quarks(cls, content: Any) -> Any:
        found = [name for name in OF_TRAJECTORIES if isinstance(content, dict) and name in content]
        if found:
            raise ValueError(
                f"{' and '.join(f'[{name}]' for name in found)} beside [heatbath] or [sweeps]: the heat bath "
                "is quenched and makes no trajectories; leave these out, or run by trajectories, with "
                "[molecular_dynamics], [[integrator]] and [trajectories] in place of [heatbath] and [sweeps]"
            )
        return content

    @model_validator(mode="after")
    def _loops_fit(self) -> Self:
        if self.measure is not None and self.measure.loops is not None:
            self.measure.loops.require_fit(self.lattice.extents)
        return self
