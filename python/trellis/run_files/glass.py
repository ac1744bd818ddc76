"""This module has the run file of `trellis glass`: Heisenberg spin glasses by heat bath, over-relaxation and
tempering."""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from .common import MachineTable, Positive, RunFile, Table, ThreeIntegers

#: At most so many sets of spins share couplings: memory and work grow with them.
MOST_SETS = 4096


def _legal_extents(extents: tuple[int, ...]) -> tuple[int, ...]:
    for name, extent in zip("xyz", extents, strict=True):
        if extent < 1 or (extent > 1 and extent % 2) or extent > 2048:
            raise ValueError(
                f"the extent in {name} is {extent}, but extents are even numbers up to 2048, or 1 for a "
                f"direction "
                "without bonds"
            )
    if all(extent == 1 for extent in extents):
        raise ValueError("a lattice of one site has no bonds")
    return extents


def _ascending(values: list[float]) -> list[float]:
    if any(b <= a for a, b in pairwise(values)):
        raise ValueError("temperatures are listed from the lowest to the highest, each once")
    return values


class SpinLatticeTable(Table):
    """The table [lattice] has the extents of the lattice of spins."""

    extents: Annotated[ThreeIntegers, AfterValidator(_legal_extents)] = Field(
        description="Lx, Ly, Lz; even numbers, or 1 for a direction without bonds. The lattice is periodic."
    )


class CouplingsTable(Table):
    """The table [couplings] has J of the bonds, H = - sum J S . S'."""

    type: Literal["gaussian", "plus_minus", "ferromagnet"] = Field(
        description="gaussian: of mean 0 and variance 1; plus_minus: +1 or -1; ferromagnet: +1."
    )
    samples: int = Field(
        default=1,
        ge=1,
        le=2**20,
        description="Samples of the couplings (of a ferromagnet: independent copies): 1 or an even number.",
    )

    @model_validator(mode="after")
    def _one_or_even(self) -> Self:
        if self.samples > 1 and self.samples % 2:
            raise ValueError(f"couplings.samples = {self.samples}: expected 1 or an even number")
        return self


class SpinsTable(Table):
    """The table [spins] says at which temperatures spins are, how many replicas there are, and how they are
    stored."""

    temperatures: Annotated[list[Positive], AfterValidator(_ascending)] = Field(
        min_length=1, description="Temperatures in units of J, from the lowest to the highest."
    )
    replicas: int = Field(
        default=2,
        ge=1,
        le=16,
        description="Independent sets of spins at every temperature; overlaps need two.",
    )
    storage: Literal["single", "double"] = Field(
        default="single", description="Storage of spins and couplings."
    )

    @model_validator(mode="after")
    def _not_too_many(self) -> Self:
        sets = self.replicas * len(self.temperatures)
        if sets > MOST_SETS:
            raise ValueError(f"{sets} sets of spins (replicas x temperatures): expected at most {MOST_SETS}")
        return self


class StepsTable(Table):
    """The table [steps] says how many there are: each is a heat-bath sweep, its over-relaxation sweeps, and
    an exchange of temperatures."""

    total: int = Field(ge=1, lt=2**32, description="Steps of the whole run; they count from 1.")
    over_relaxation: int | None = Field(
        default=None,
        ge=0,
        le=10000,
        description="Over-relaxation sweeps after each heat-bath sweep; default: the longest extent.",
    )
    exchange_every: int = Field(
        default=1, ge=0, description="Exchange temperatures after every n-th step; 0: never."
    )
    measure_every: int = Field(default=1, ge=1, description="Measure after every n-th step.")
    checkpoint_every: int = Field(default=1000, ge=1, description="Save the state after every n-th step.")
    print_every: int = Field(default=1000, ge=1, description="Print a line after every n-th step.")

    @model_validator(mode="after")
    def _measures(self) -> Self:
        if self.measure_every > self.total:
            raise ValueError(
                f"steps.measure_every = {self.measure_every} measures nothing in steps.total = {self.total}"
            )
        return self


class SpinRandomTable(Table):
    """The table [random] has the seed of the random numbers."""

    seed: int = Field(ge=0, lt=2**63, description="Seed of all random numbers of the run.")


class SpinOutputTable(Table):
    """The table [output] says where the run writes."""

    directory: str = Field(
        min_length=1,
        description="Folder for glass.h5 and the checkpoints; relative to the folder that the command is "
        "started in.",
    )


class GlassRun(RunFile):
    """The run has classical Heisenberg spins with couplings on the bonds of a cubic lattice."""

    lattice: SpinLatticeTable
    couplings: CouplingsTable
    spins: SpinsTable
    steps: StepsTable
    random: SpinRandomTable
    output: SpinOutputTable
    machine: MachineTable = MachineTable()

    @property
    def over_relaxation(self) -> int:
        """Return the over-relaxation sweeps of a step."""
        given = self.steps.over_relaxation
        return max(self.lattice.extents) if given is None else given

    @property
    def extents(self) -> tuple[int, int, int, int]:
        """Return Lx, Ly, Lz and the samples."""
        return (*self.lattice.extents, self.couplings.samples)
