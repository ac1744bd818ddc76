"""This module has [measure] of `trellis generate`: what is measured while configurations are made."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from .common import Extents, Table, at_key
from .flow import FlowTable
from .smearing import SmearingTable
from .valence import ValenceQuarkTable


def _check_plane_names(planes: tuple[str, ...]) -> tuple[str, ...]:
    if len(set(planes)) != len(planes):
        raise ValueError(f"a plane is named twice in {list(planes)}")
    return planes


Plane = Literal["xy", "xz", "xt", "yz", "yt", "zt"]


class Periodic(Table):
    """This table measures something after every n-th trajectory or sweep past the thermalisation."""

    every: int = Field(
        default=10,
        ge=1,
        description="The run measures after every n-th trajectory or sweep past the thermalisation.",
    )


class NoiseTable(Periodic):
    """The table [measure.fermions] has traces of flavours with noise vectors (doc/operators/staggered.md,
    wilson.md).

    Condensate and quark-number density are always measured; the flavours are those of [[fermions]] and of
    [[measure.valence]].
    """

    vectors: int = Field(default=4, ge=1, le=4096, description="Each flavour has so many noise vectors.")
    noise: Literal["z2", "z4"] = Field(
        default="z4", description="The components of the vectors are +-1 (z2), or +-1 and +-i (z4)."
    )
    susceptibility: bool = Field(
        default=False,
        description="With true the second derivatives by the chemical potential are measured, too.",
    )
    magnetisation: Annotated[tuple[Plane, ...], AfterValidator(_check_plane_names)] = Field(
        default=(),
        strict=False,
        description="The magnetisation of staggered and HISQ flavours is measured in these planes: xy, xz, "
        "xt, yz, yt, zt.",
    )
    tolerance: float = Field(
        default=1e-10, gt=0, lt=0.1, description="Solves end when |b - M x| / |b| is at most this."
    )
    max_iterations: int = Field(
        default=20000, ge=1, description="A solve ends with an error after so many iterations."
    )


class OnlineFlowTable(FlowTable, Periodic):
    """The table [measure.flow] has the gradient flow, with t0, w0 and the topological charge."""

    step: float | None = Field(
        default=None,
        gt=0,
        le=0.1,
        description="Steps have this fixed length in t / a^2, in the place of the tolerance.",
    )


class LoopTable(Periodic):
    """The table [measure.loops] has Wilson loops W(R, T) along the axes, with smeared spatial links."""

    spatial: int = Field(default=4, ge=1, le=64, description="This is the largest R.")
    temporal: int = Field(default=4, ge=1, le=64, description="This is the largest T.")
    planes: Literal["temporal", "spatial", "all"] = Field(
        default="temporal",
        description="R lies along mu and T along nu. With temporal, nu is t; with spatial, both are "
        "spatial; with all, loops lie in all twelve pairs.",
    )
    smearing: SmearingTable = Field(
        default=SmearingTable(), description="Spatial links are smeared like this, with spatial = true."
    )

    @model_validator(mode="after")
    def _smearing_of_spatial_links(self) -> Self:
        self.smearing.require_spatial("smearing")
        if not self.smearing.is_thin and self.planes == "all":
            raise at_key(
                "smearing", 'planes = "all" takes temporal and spatial links alike: expected no smearing'
            )
        return self

    def require_fit(self, extents: Extents) -> None:
        """Refuse loops that are longer than the lattice, with the keys of the whole run file."""
        longest_spatial = min(extents[:3]) if self.planes != "all" else min(extents)
        longest_temporal = {"temporal": extents[3], "spatial": min(extents[:3]), "all": min(extents)}
        for name, asked, there in (
            ("spatial", self.spatial, longest_spatial),
            ("temporal", self.temporal, longest_temporal[self.planes]),
        ):
            if asked > there:
                raise at_key(f"measure.loops.{name}", f"longer than the lattice, {there}", asked)


class MeasureTable(Table):
    """The table [measure] has on-line measurements; each table is left out, or has its own `every`."""

    fermions: NoiseTable | None = Field(
        default=None, description="Noise traces of flavours are measured. The default is none."
    )
    valence: list[ValenceQuarkTable] = Field(
        default=[], description="These flavours are measured and are not in the sea."
    )
    flow: OnlineFlowTable | None = Field(
        default=None, description="The gradient flow gives t0, w0 and the charge. The default is none."
    )
    loops: LoopTable | None = Field(
        default=None, description="Wilson loops are measured. The default is none."
    )

    @model_validator(mode="after")
    def _names_differ(self) -> Self:
        names = [flavour.name for flavour in self.valence]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"measure.valence: the name {name!r} is taken")
        if names and self.fermions is None:
            raise ValueError("measure.valence is measured with [measure.fermions], which is missing")
        return self
