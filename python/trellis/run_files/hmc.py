"""Run file of `trellis generate` with [molecular_dynamics]: HMC and RHMC, quenched or with sea quarks."""

from __future__ import annotations

import re
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from .common import LatticeTable, MachineTable, Table
from .generate import StartTable

#: c1 of the gauge actions, doc/conventions.md "Gauge action".
GAUGE_ACTIONS = {"wilson": 0.0, "symanzik": -1.0 / 12.0, "iwasaki": -0.331, "dbw2": -1.4088}

_NAME = re.compile(r"^[A-Za-z][A-Za-z0-9_-]*$")


def _check_name(name: str) -> str:
    if not _NAME.match(name):
        raise ValueError(f"a name consists of letters, digits, _ and -, found {name!r}")
    return name


Name = Annotated[str, AfterValidator(_check_name)]


class GaugeActionTable(Table):
    """[action]: the gauge action, doc/conventions.md "Gauge action"."""

    type: Literal["wilson", "symanzik", "iwasaki", "dbw2", "custom"] = Field(
        default="wilson", description="The weights of 1x1 and 2x1 loops; symanzik: tree level."
    )
    beta: float = Field(ge=0, description="6 / g0^2; the coefficient c0 = 1 - 8 c1 is not part of it.")
    c1: float | None = Field(default=None, description="custom: weight of the 2x1 loops.")

    @model_validator(mode="after")
    def _c1_where_needed(self) -> Self:
        if (self.type == "custom") != (self.c1 is not None):
            raise ValueError('action.c1 is given exactly if action.type is "custom"')
        return self

    @property
    def weight(self) -> float:
        """c1."""
        return GAUGE_ACTIONS[self.type] if self.c1 is None else self.c1


class IntegratorLevel(Table):
    """[[integrator]]: one time scale; the first table is the outermost (largest steps)."""

    scheme: Literal["leapfrog", "omelyan2", "omelyan4", "force_gradient"] = Field(
        default="omelyan2",
        description="omelyan2: minimum norm, second order (2MN); omelyan4: fourth order with five forces; "
        "force_gradient: fourth order with two forces and one shifted one.",
    )
    steps: int = Field(
        ge=1,
        description="First table: steps of a trajectory. Others: steps of each drift of the table before "
        "(leapfrog has one drift in a step, omelyan2 and force_gradient two, omelyan4 five).",
    )
    # `lambda` is a keyword of Python
    lambda_: float = Field(
        default=0.1931833275037836, gt=0, lt=0.5, alias="lambda", description="Parameter of omelyan2."
    )
    monomials: list[Name] = Field(min_length=1, description='"gauge", and names of [[fermions]].')


class MolecularDynamicsTable(Table):
    """[molecular_dynamics]"""

    length: float = Field(default=1.0, gt=0, le=100, description="Of a trajectory.")


class TrajectoriesTable(Table):
    """[trajectories]: they count from 1."""

    total: int = Field(ge=1, description="Trajectories of the whole run, thermalisation included.")
    thermalisation: int = Field(
        default=0, ge=0, description="The first so many are accepted without the Metropolis test."
    )
    keep_every: int | None = Field(
        default=None,
        ge=1,
        description="Keep the configuration of every n-th trajectory after the thermalisation.",
    )
    checkpoint_every: int = Field(
        default=10, ge=1, description="Save the state after every n-th trajectory; the last two are kept."
    )
    reversibility_every: int | None = Field(
        default=None, ge=1, description="Integrate forth and back before every n-th trajectory and record it."
    )

    def kept(self, number: int) -> bool:
        """Whether the configuration after this trajectory is one to keep."""
        after = number - self.thermalisation
        return self.keep_every is not None and after > 0 and after % self.keep_every == 0


class RandomTable(Table):
    """[random]"""

    seed: int = Field(ge=0, lt=2**63, description="Seed of all random numbers of the run.")
    stream: int = Field(
        default=0, ge=0, lt=2**63, description="Independent runs of one seed have different streams."
    )


class HmcOutputTable(Table):
    """[output]"""

    directory: str = Field(
        description="Folder for configuration.NNNNNN.ildg, checkpoint.NNNNNN.ildg and stream.h5; relative to "
        "the folder that the command is started in."
    )


class HmcRun(Table):
    """Gauge configurations by hybrid Monte Carlo."""

    lattice: LatticeTable
    action: GaugeActionTable
    integrator: list[IntegratorLevel] = Field(
        min_length=1, description="Nested time scales, outermost first."
    )
    molecular_dynamics: MolecularDynamicsTable
    trajectories: TrajectoriesTable
    start: StartTable = StartTable()
    random: RandomTable
    output: HmcOutputTable
    machine: MachineTable = MachineTable()

    @model_validator(mode="after")
    def _every_monomial_once(self) -> Self:
        known = ["gauge"]
        used = [name for level in self.integrator for name in level.monomials]
        for name in used:
            if name not in known:
                raise ValueError(
                    f"integrator: {name!r} is no monomial of this run; there are {', '.join(known)}"
                )
            if used.count(name) > 1:
                raise ValueError(f"integrator: {name!r} is on more than one place")
        missing = [name for name in known if name not in used]
        if missing:
            raise ValueError(f"integrator: no level has {', '.join(map(repr, missing))}")
        return self
