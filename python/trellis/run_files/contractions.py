"""The tables of contractions in run files of `trellis measure`.

They are [correlators], [feynman_hellmann] and [three_point].
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from .common import Table, at_key
from .staggered_measurement import LocalMeson


class MesonTable(Table):
    """[[correlators.meson]]: a meson by its gamma matrices."""

    name: str = Field(pattern=r"^[A-Za-z][A-Za-z0-9_]*$", description="Name of the dataset.")
    sink: str = Field(description='Gamma matrix at the sink: "gamma5", "gamma_x", "gamma_t gamma5", ...')
    source: str = Field(description="Gamma matrix at the source.")
    quark: Literal["light", "strange"] | None = Field(default=None, description="Default: light.")
    antiquark: Literal["light", "strange"] | None = Field(
        default=None,
        description="Default: light. Strange is that of the kaon, both are those of the phi.",
    )

    @property
    def has_strange(self) -> bool:
        """True if the quark or the antiquark is the second flavour."""
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
#: The same with the other parity: tr.baryon(..., parity=-1).
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


#: What has up and down quarks.
UP_AND_DOWN = of_both_parities({"nucleon", "nucleon_projected", "lambda"})
#: What has a strange quark.
STRANGE = {"kaon"} | of_both_parities({"lambda", "sigma", "xi", "sigma_star", "xi_star", "omega"})


class CorrelatorsTable(Table):
    """[correlators]: what is contracted."""

    mesons: list[NamedMeson] = Field(
        default=["pion", "rho"],
        description="rho, a1 and b1 stand for three polarisations (rho_x, rho_y, rho_z); kaon needs a "
        "strange quark; all: the 256 pairs of gamma matrices.",
    )
    meson: list[MesonTable] = Field(default=[], description="Further mesons.")
    baryons: list[NamedBaryon] = Field(
        default=["nucleon"],
        description="Form full (C gamma5 or, for the decuplet, C gamma_k diquark): nucleon, delta_full; with "
        "a strange quark lambda, sigma, xi, sigma_star, xi_star, omega. Form projected, mean over spins: "
        "nucleon_projected, delta (doc/conventions.md). With _negative behind the name (nucleon_negative, "
        "...) the parity partner, by the projector (1 - gamma_t)/2.",
    )
    local_mesons: list[LocalMeson] | None = Field(
        default=None,
        description="Staggered quarks: local mesons (doc/operators/staggered_mesons.md), in the place of "
        "mesons and baryons; default: all eight.",
    )
    conserved_axial: bool = Field(
        default=False,
        description="domain_wall: A_4(t) of the partially conserved axial current with the pion at the "
        "source, zero momentum; needs an even Ls and one real b5 and c5.",
    )
    max_momentum_squared: Annotated[int, Field(ge=0, le=1000)] = Field(
        default=0, description="All momenta with n^2 up to this, p = 2 pi n / L (132 000 of them up to 1000)."
    )


#: Local currents.
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
    """[feynman_hellmann]: nucleon with a current, one further propagator for each."""

    currents: list[Literal[LocalCurrent, ConservedCurrent]] = Field(
        default=[],
        description="Vn: gamma_n (n = 1, 2, 3, 4 for x, y, z, t); An: -i gamma_n gamma5; S: 1; P: gamma5; "
        "Tmn: -i gamma_m gamma_n. A, P and T with the polarised projector. V4_conserved, ...: the conserved "
        "current, A3_conserved, ...: the partially conserved one of domain_wall with an even Ls. Datasets "
        "fh_A3_UU, fh_A3_DD, ... (doc/operators/feynman_hellmann.md).",
    )
    momenta: list[Annotated[list[int], Field(min_length=3, max_length=3)]] = Field(
        default=[[0, 0, 0]],
        min_length=1,
        description="n of the current's momentum q = 2 pi n / L, a propagator for each; datasets of q not 0 "
        "are called fh_A3_q1_0_0_UU. Between -L/2 and L/2, and none twice modulo L.",
    )

    @model_validator(mode="after")
    def _all_different(self) -> Self:
        for name, values in (("currents", self.currents), ("momenta", list(map(tuple, self.momenta)))):
            if len(set(values)) != len(values):
                raise at_key(name, "twice the same", getattr(self, name))
        return self

    @property
    def has_conserved(self) -> bool:
        """True if a current is conserved; domain walls then need 5-D fields."""
        return bool(conserved(self.currents))

    @property
    def count(self) -> int:
        """The number of further propagators for each source."""
        return len(self.currents) * len(self.momenta)


class ThreePointTable(Table):
    """[three_point]: nucleon with a current between source and sink, by sequential propagators."""

    currents: list[Literal[LocalCurrent, ConservedCurrent]] = Field(
        default=[],
        description="Those of [feynman_hellmann]. One further propagator for each separation and "
        "projector (V and S share one, A, P and T the other). Conserved ones of domain_wall need one real b5 "
        "and c5, and the memory of two 5-D solutions.",
    )
    separations: list[Annotated[int, Field(ge=1)]] = Field(
        default=[], description="Times of the sink from the source, from 1."
    )
    insertion: Literal["isovector", "separate"] = Field(
        default="isovector",
        description="isovector: up - down in one propagator, dataset three_point_A3_t06; separate: one for "
        "each, three_point_A3_t06_UU and three_point_A3_t06_DD. With a twisted mass both take two.",
    )
    momenta: list[Annotated[list[int], Field(min_length=3, max_length=3)]] | None = Field(
        default=None,
        min_length=1,
        description="n of the current's momentum q = 2 pi n / L, all from one propagator; default: those of "
        "[correlators]. Between -L/2 and L/2, and none twice modulo L.",
    )
    sink_momentum: Annotated[list[int], Field(min_length=3, max_length=3)] = Field(
        default=[0, 0, 0], description="n of the nucleon's momentum at the sink, p = 2 pi n / L."
    )

    @property
    def has_conserved(self) -> bool:
        """True if a current is conserved; domain walls then need 5-D fields."""
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
