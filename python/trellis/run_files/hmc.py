"""This module has the run file of `trellis generate` with [molecular_dynamics]: HMC and RHMC, quenched or
with sea quarks."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import Field, model_validator

from ..ground.action_parameters import GAUGE_ACTIONS
from ..ground.nearest_word import did_you_mean, nearest
from .common import Coupling, LatticeTable, MachineTable, NotNegative, RunFile, Table, at_key
from .dynamics import (
    IntegratorLevel,
    MetropolisTable,
    MolecularDynamicsTable,
    RandomTable,
    TrajectoriesTable,
    require_end,
)
from .generate import OutputTable, StartTable
from .online import MeasureTable
from .quarks import BackgroundTable, Hisq, StaggeredKind
from .sea import HisqTable, SeaQuarkTable
from .smearing import SmearingTable

#: A force goes through at most so many steps of stout smearing.
MOST_STOUT_STEPS = 20


class GaugeActionTable(Table):
    """The table [action] has the gauge action, doc/conventions.md "Gauge action"."""

    type: Literal["wilson", "symanzik", "iwasaki", "dbw2", "custom"] = Field(
        default="wilson",
        description="The action gives these weights to 1x1 and 2x1 loops; symanzik is that of tree level.",
    )
    beta: NotNegative = Field(
        description="This is the coupling 6 / g0^2; the coefficient c0 = 1 - 8 c1 is not part of it."
    )
    c1: Coupling | None = Field(
        default=None, description="The 2x1 loops of a custom action have this weight."
    )

    @model_validator(mode="after")
    def _c1_where_needed(self) -> Self:
        if (self.type == "custom") != (self.c1 is not None):
            raise ValueError('action.c1 is given exactly if action.type is "custom"')
        return self

    @property
    def weight(self) -> float:
        """Return c1."""
        return GAUGE_ACTIONS[self.type] if self.c1 is None else self.c1


class HmcRun(RunFile):
    """The run makes gauge configurations by hybrid Monte Carlo."""

    lattice: LatticeTable
    action: GaugeActionTable
    integrator: list[IntegratorLevel] = Field(
        min_length=1, description="The integrator has these nested time scales, the outermost first."
    )
    smearing: SmearingTable = Field(
        default=SmearingTable(),
        description="Quarks other than HISQ's see links that are stout-smeared like this.",
    )
    hisq: HisqTable = HisqTable()
    background: BackgroundTable = BackgroundTable()
    fermions: list[SeaQuarkTable] = Field(
        default=[], description="The sea has these quarks; without any the run is quenched."
    )
    molecular_dynamics: MolecularDynamicsTable
    metropolis: MetropolisTable = MetropolisTable()
    trajectories: TrajectoriesTable
    start: StartTable = Field(
        default_factory=StartTable,
        description="This is the first field. Without the table it is cold beside [[fermions]], which on a "
        "hot field take many iterations and change their action by hundreds in a trajectory, and hot in a "
        "quenched run.",
    )
    random: RandomTable
    output: OutputTable
    measure: MeasureTable | None = Field(
        default=None, description="On-line measurements are made while the run goes on. The default is none."
    )
    machine: MachineTable = MachineTable()

    @model_validator(mode="before")
    @classmethod
    def _no_heat_bath(cls, content: Any) -> Any:
        found = [name for name in ("heatbath", "sweeps") if isinstance(content, dict) and name in content]
        if found:
            raise ValueError(
                f"{' and '.join(f'[{name}]' for name in found)} beside [molecular_dynamics]: a run is one of "
                "the heat bath ([heatbath], [sweeps]) or of trajectories ([molecular_dynamics], "
                "[[integrator]], [trajectories]); leave one of them out"
            )
        return content

    @model_validator(mode="before")
    @classmethod
    def _start_that_suits_quarks(cls, content: Any) -> Any:
        if isinstance(content, dict) and content.get("fermions") and "start" not in content:
            return content | {"start": {"type": "cold"}}
        return content

    @model_validator(mode="after")
    def _names_differ(self) -> Self:
        taken = {"gauge": "the gauge action"}
        for number, fermion in enumerate(self.fermions):
            key = f"fermions.{number}.name"
            if "." in fermion.name:
                raise at_key(key, "has a dot, which parts of a flavour have", fermion.name)
            own = {fermion.name: f"fermions {fermion.name!r}"}
            if fermion.has_clover_term:
                own[f"{fermion.name}_determinant"] = f"the clover determinant of fermions {fermion.name!r}"
            for name, what in own.items():
                if name in taken:
                    raise at_key(key, f"the name {name!r} is taken by {taken[name]}", fermion.name)
                taken[name] = what
        return self

    @model_validator(mode="after")
    def _smearing_fits(self) -> Self:
        self.smearing.require_stout_alone("smearing", MOST_STOUT_STEPS)
        if not self.smearing.is_thin and self.fermions and all(f.has_own_smearing for f in self.fermions):
            raise at_key(
                "smearing",
                "HISQ flavours have their own smearing, and [smearing] is for the others, of which there are "
                "none; leave that table out",
            )
        if "hisq" in self.model_fields_set and not self.has_hisq:
            raise at_key(
                "hisq",
                "no flavour of [[fermions]] has type hisq, and this table is for their force; leave it out",
            )
        if self.measure is not None and self.measure.loops is not None:
            self.measure.loops.require_fit(self.lattice.extents)
        return self

    @model_validator(mode="after")
    def _multigrid_fits(self) -> Self:
        for number, fermion in enumerate(self.fermions):
            table = fermion.multigrid_table
            if table is None:
                continue
            table.require_fit(f"fermions.{number}.multigrid", self.lattice.extents)
            if self.molecular_dynamics.precision == "single":
                raise at_key(
                    "molecular_dynamics.precision",
                    f"multigrid of fermions {fermion.name!r} solves to true residuals in double: expected "
                    '"double" or "mixed"',
                    self.molecular_dynamics.precision,
                )
        return self

    @model_validator(mode="after")
    def _background_acts(self) -> Self:
        quanta = [*self.background.b, *self.background.e]
        charged = [f for f in self.fermions if isinstance(f, StaggeredKind) and f.charge_thirds]
        if any(quanta) and not charged:
            raise ValueError(
                f"background: b = {list(self.background.b)}, e = {list(self.background.e)}, and no flavour "
                "of the sea has charge_thirds: give the charges, or leave the table out"
            )
        return self

    @model_validator(mode="after")
    def _heat_bath_is_rational(self) -> Self:
        found = self.metropolis.heat_bath_tolerance
        if found is not None and not any(fermion.is_rational for fermion in self.fermions):
            key = "metropolis.heat_bath_tolerance"
            raise at_key(key, "no flavour has a heat bath by a rational function; leave it out", found)
        return self

    @model_validator(mode="after")
    def _steps_end(self) -> Self:
        require_end(self.integrator)
        return self

    @model_validator(mode="after")
    def _every_monomial_once(self) -> Self:
        known = ["gauge", *[name for fermion in self.fermions for name in fermion.monomial_names]]
        used: list[str] = []
        for number, level in enumerate(self.integrator):
            key = f"integrator.{number}.monomials"
            for name in self.expanded(level):
                if name not in known:
                    hint = f"{did_you_mean(name, known)} There are" if nearest(name, known) else "; there are"
                    message = f"{name!r} is no monomial of this run{hint} {', '.join(known)}"
                    raise at_key(key, message)
                if name in used:
                    raise at_key(key, f"{name!r} is in more than one place of [[integrator]]")
                used.append(name)
        missing = [name for name in known if name not in used]
        if missing:
            raise ValueError(f"integrator: no level has {', '.join(map(repr, missing))}")
        return self

    @property
    def has_hisq(self) -> bool:
        """Return True if a flavour of the sea is HISQ."""
        return any(isinstance(fermion, Hisq) for fermion in self.fermions)

    def expanded(self, level: IntegratorLevel) -> list[str]:
        """Return the monomials of a level; a flavour's name stands for all its parts."""
        parts = {fermion.name: fermion.monomial_names for fermion in self.fermions}
        return [part for name in level.monomials for part in parts.get(name, [name])]

    def precision_of(self, part: str) -> Literal["double", "single"]:
        """Return the precision of the fields in a part of a trajectory ("gauge_force", "smearing", ...)."""
        is_stout = part == "smearing" and not self.smearing.is_thin
        return self.molecular_dynamics.arithmetic if part == "gauge_force" or is_stout else "double"
