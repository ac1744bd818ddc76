"""This module has the tables of contractions in run files of `trellis measure`.

They are [correlators], [feynman_hellmann] and [three_point].
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from .common import Table, at_key
from .staggered_measurement import LocalMeson


class MesonTable(Table):
    """A table [[correlators.meson]] is a meson by its gamma matrices."""

    name: str = Field(pattern=r"^[A-Za-z][A-Za-z0-9_]*$", description="The dataset has this name.")
    sink: str = Field(
        description='The meson has this gamma matrix at the sink: "gamma5", "gamma_x", "gamma_t gamma5", ...'
    )
    source: str = Field(description="The meson has this gamma matrix at the source.")
    quark: Literal["light", "strange"] | None = Field(
        default=None, description="The quark is of this flavour. The default is light."
    )
    antiquark: Literal["light", "strange"] | None = Field(
        default=None,
        description="The antiquark is of this flavour. The default is light. A strange antiquark makes the "
        "meson a kaon, and a strange quark beside it a phi.",
    )

    @property
    def has_strange(self) -> bool:
        """Return True if the quark or the antiquark is the second flavour."""
        return "strange" in (self.quark, self.antiquark)


NamedMeson = Literal["pion", "rho", "a0", "a1", "b1", "pion_a4", "kaon", "all"]
PositiveBaryon = Literal[
    "nucleon",
    "nucleon_projected",
    "delta",
    "delta_full",
    "lambda",
    "sigma",
    "xi",
    "sigma_star",
    "xi_star",
    "omega",
]
#: These are the same with the other parity: tr.baryon(..., parity=-1).
NegativeBaryon = Literal[
    "nucleon_negative",
    "nucleon_projected_negative",
    "delta_negative",
    "delta_full_negative",
    "lambda_negative",
    "sigma_negative",
    "xi_negative",
    "sigma_star_negative",
    "xi_star_negative",
    "omega_negative",
]
NamedBaryon = Literal[PositiveBaryon, NegativeBaryon]


def of_both_parities(names: set[str]) -> set[str]:
    """Return these baryons and their partners of negative parity, which have _negative behind the name."""
    return names | {f"{name}_negative" for name in names}


#: These have up and down quarks.
UP_AND_DOWN = of_both_parities({"nucleon", "nucleon_projected", "lambda"})
#: These have a strange quark.
STRANGE = {"kaon"} | of_both_parities({"lambda", "sigma", "xi", "sigma_star", "xi_star", "omega"})


class CorrelatorsTable(Table):
    """The table [correlators] says what is contracted."""

    mesons: list[NamedMeson] = Field(
        default=["pion", "rho"],
        description="These mesons are measured. rho, a1 and b1 stand for three polarisations (rho_x, rho_y, "
        "rho_z); kaon needs a strange quark; all stands for the 256 pairs of gamma matrices.",
    )
    meson: list[MesonTable] = Field(
        default=[], description="Further mesons are given by their gamma matrices."
    )
    baryons: list[NamedBaryon] = Field(
        default=["nucleon"],
        description="These baryons are measured. nucleon and delta_full, and with a strange quark lambda, "
        "sigma, xi, sigma_star, xi_star and omega, have the form full, whose diquark is C gamma5 or, for "
        "the decuplet, C gamma_k. nucleon_projected and delta have the form projected, the mean over spins "
        "(doc/conventions.md). A name with _negative behind it (nucleon_negative, ...) stands for the "
        "parity partner, by the projector (1 - gamma_t)/2.",
    )
    local_mesons: list[LocalMeson] | None = Field(
        default=None,
        description="These local mesons of staggered quarks (doc/operators/staggered_mesons.md) are "
        "measured in the place of mesons and baryons. The default is all eight.",
    )
    conserved_axial: bool = Field(
        default=False,
        description="With true, domain_wall quarks have A_4(t) of the partially conserved axial current "
        "measured with the pion at the source, at zero momentum. This needs an even Ls and one real b5 and "
        "c5.",
    )
    max_momentum_squared: Annotated[int, Field(ge=0, le=1000)] = Field(
        default=0,
        description="Correlators have all momenta p = 2 pi n / L with n^2 up to this (132 000 of them up to "
        "1000).",
    )


#: These are the local currents.
LocalCurrent = Literal[
    "V1", "V2", "V3", "V4", "A1", "A2", "A3", "A4", "S", "P", "T12", "T13", "T14", "T23", "T24", "T34"
]  # fmt: skip
ConservedCurrent = Literal[
    "V1_conserved",
    "V2_conserved",
    "V3_conserved",
    "V4_conserved",
    "A1_conserved",
    "A2_conserved",
    "A3_conserved",
    "A4_conserved",
]


def conserved(currents: list) -> list[str]:
    """Return the conserved currents among these."""
    return [name for name in currents if name.endswith("_conserved")]


class FeynmanHellmannTable(Table):
    """The table [feynman_hellmann] has a nucleon with a current, with one further propagator for each."""

    currents: list[Literal[LocalCurrent, ConservedCurrent]] = Field(
        default=[],
        description="These currents are measured. Vn stands for gamma_n (n = 1, 2, 3, 4 for x, y, z, t), An "
        "for -i gamma_n gamma5, S for 1, P for gamma5 and Tmn for -i gamma_m gamma_n; A, P and T have the "
        "polarised projector. V4_conserved, ... stand for the conserved current, and A3_conserved, ... for "
        "the partially conserved one of domain_wall with an even Ls. The datasets are called fh_A3_UU, "
        "fh_A3_DD, ... (doc/operators/feynman_hellmann.md).",
    )
    momenta: list[Annotated[list[int], Field(min_length=3, max_length=3)]] = Field(
        default=[[0, 0, 0]],
        min_length=1,
        description="Each n stands for a momentum q = 2 pi n / L of the current, which takes a propagator "
        "of its own; the datasets of q other than 0 are called fh_A3_q1_0_0_UU. Components lie between -L/2 "
        "and L/2, and no momentum comes twice modulo L.",
    )

    @model_validator(mode="after")
    def _all_different(self) -> Self:
        for name, values in (("currents", self.currents), ("momenta", list(map(tuple, self.momenta)))):
            if len(set(values)) != len(values):
                raise at_key(name, "twice the same", getattr(self, name))
        return self

    @property
    def has_conserved(self) -> bool:
        """Return True if a current is conserved; domain walls then need 5-D fields."""
        return bool(conserved(self.currents))

    @property
    def count(self) -> int:
        """Return the number of further propagators for each source."""
        return len(self.currents) * len(self.momenta)


class ThreePointTable(Table):
    """The table [three_point] has a nucleon with a current between source and sink, by sequential
    propagators."""

    currents: list[Literal[LocalCurrent, ConservedCurrent]] = Field(
        default=[],
        description="These currents are measured, with the names of [feynman_hellmann]. Each separation and "
        "projector takes one further propagator (V and S share one, A, P and T the other). Conserved ones "
        "of domain_wall need one real b5 and c5, and the memory of two 5-D solutions.",
    )
    separations: list[Annotated[int, Field(ge=1)]] = Field(
        default=[], description="The sink lies so many time slices behind the source, at least 1."
    )
    insertion: Literal["isovector", "separate"] = Field(
        default="isovector",
        description="With isovector, one propagator has up - down, and the dataset is called "
        "three_point_A3_t06. With separate, each has its own, and the datasets are called "
        "three_point_A3_t06_UU and three_point_A3_t06_DD. With a twisted mass both take two propagators.",
    )
    momenta: list[Annotated[list[int], Field(min_length=3, max_length=3)]] | None = Field(
        default=None,
        min_length=1,
        description="Each n stands for a momentum q = 2 pi n / L of the current; one propagator serves all "
        "of them. The default is the momenta of [correlators]. Components lie between -L/2 and L/2, and no "
        "momentum comes twice modulo L.",
    )
    sink_momentum: Annotated[list[int], Field(min_length=3, max_length=3)] = Field(
        default=[0, 0, 0], description="The nucleon has the momentum p = 2 pi n / L with this n at the sink."
    )

    @property
    def has_conserved(self) -> bool:
        """Return True if a current is conserved; domain walls then need 5-D fields."""
        return bool(conserved(self.currents))

    @model_validator(mode="after")
    def _both_or_none(self) -> Self:
        if bool(self.currents) != bool(self.separations):
            raise ValueError("give currents and separations, or neither")
        momenta = list(map(tuple, self.momenta or []))
        for name, values in (
            ("currents", self.currents),
            ("separations", self.separations),
            ("momenta", momenta),
        ):
            if len(set(values)) != len(values):
                raise at_key(name, "twice the same", getattr(self, name))
        for name in ("momenta", "sink_momentum"):
            if not self.currents and name in self.model_fields_set:
                raise at_key(name, "give three_point.currents and three_point.separations too")
        return self
