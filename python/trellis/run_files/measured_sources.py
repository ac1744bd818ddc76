"""This module has sources and sinks in run files of `trellis measure`: [source] and [sink]."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from .common import LARGEST, FourIntegers, Table, ThreeIntegers, at_key
from .smearing import MOST_STEPS, SmearingTable


class SourceTable(Table):
    """The table [source] has one propagator (12 solves) per position."""

    type: Literal["point", "gaussian", "wall", "noise"] = Field(
        default="point",
        description="Sources are of this type. noise has one random number on each site of a time slice "
        "(one-end trick), for mesons at rest.",
    )
    positions: list[FourIntegers] = Field(
        default_factory=lambda: [(0, 0, 0, 0)],
        min_length=1,
        description="Sources lie at these x, y, z, t, which count from 0; of wall and noise only t counts.",
    )
    shift_seed: int | None = Field(
        default=None,
        ge=0,
        description="All positions of a configuration are shifted by one vector that depends on this seed "
        "and on the configuration's number: sources are then less correlated. With Dirichlet walls in time "
        "the shift is one in space alone.",
    )
    shifts: int = Field(
        default=1,
        ge=1,
        le=10**6,
        description="With shift_seed a configuration has so many such vectors; every position is used with "
        "each of them, and no two sources are at one place.",
    )
    width: float = Field(
        default=2.0,
        gt=0,
        le=LARGEST,
        description="A gaussian has this width w in lattice units (doc/conventions.md).",
    )
    steps: int = Field(
        default=10, ge=1, le=MOST_STEPS, description="A gaussian is made in so many steps of smearing."
    )
    momentum: ThreeIntegers | None = Field(
        default=None,
        description="Each quark's wall has exp(i p.x), p = 2 pi n / L, with this n. The default is 0. "
        "Mesons are at rest, and baryons have the momentum 3 p.",
    )
    sites: Literal["all", "corners"] | None = Field(
        default=None,
        description="Walls and noise of staggered quarks lie on the corners (x, y, z even), where all local "
        "mesons have the sign 1, or on all sites, for pion_5 alone. The default is corners.",
    )
    noise: Literal["z2", "z4", "u1"] | None = Field(
        default=None,
        description="The components of noise are +-1 (z2), +-1 and +-i (z4), or of modulus 1 (u1). The "
        "default is z4.",
    )
    noise_seed: int | None = Field(
        default=None,
        ge=0,
        description="The numbers of noise depend on this seed, the configuration's number and index.",
    )
    index: int | None = Field(
        default=None,
        ge=0,
        le=MOST_STEPS,
        description="This is the number of the noise field. The default is 0.",
    )
    links: SmearingTable | None = Field(
        default=None,
        description="Gaussian smearing at source and sink sees the configuration's links smeared like this. "
        "The default is the links that the fermions see.",
    )

    @model_validator(mode="after")
    def _shifts_need_a_seed(self) -> Self:
        if self.shifts > 1 and self.shift_seed is None:
            raise at_key("shifts", "needs source.shift_seed", self.shifts)
        places = [p[3] if self.is_slice else p for p in self.positions]
        if len(set(places)) != len(places):
            raise at_key("positions", "twice the same", list(map(list, self.positions)))
        return self

    @model_validator(mode="after")
    def _noise_has_a_seed(self) -> Self:
        if self.is_noise and self.noise_seed is None:
            raise at_key("type", "noise needs source.noise_seed", self.type)
        for key in ("noise", "noise_seed", "index"):
            if not self.is_noise and key in self.model_fields_set:
                raise at_key(
                    key, f'expected source.type = "noise" beside it, found "{self.type}"; leave it out'
                )
        return self

    @model_validator(mode="after")
    def _walls_have_momenta(self) -> Self:
        if self.momentum is not None and self.type != "wall":
            raise at_key(
                "momentum", f'expected source.type = "wall" beside it, found "{self.type}"; leave it out'
            )
        return self

    @model_validator(mode="after")
    def _slices_have_sites(self) -> Self:
        if self.sites is not None and not self.is_slice:
            wanted = 'expected source.type = "wall" or "noise" beside it'
            raise at_key("sites", f'{wanted}, found "{self.type}"; leave it out')
        return self

    @property
    def is_gaussian(self) -> bool:
        """Return True if the source is a point that is smeared."""
        return self.type == "gaussian"

    @property
    def is_noise(self) -> bool:
        """Return True if the source is a noise field, which depends on the configuration's number."""
        return self.type == "noise"

    @property
    def is_slice(self) -> bool:
        """Return True if the source covers a time slice; only t of its positions then counts."""
        return self.type in ("wall", "noise")

    @property
    def count(self) -> int:
        """Return the number of sources on a configuration."""
        return self.shifts * len(self.positions)


class SinkTable(Table):
    """The table [sink] has the other end of the propagators, where quarks are contracted."""

    type: Literal["point", "gaussian"] = Field(
        default="point", description="The sink is a point, or a gaussian with width and steps of [source]."
    )

    @property
    def is_gaussian(self) -> bool:
        """Return True if the propagators are smeared at the sink."""
        return self.type == "gaussian"
