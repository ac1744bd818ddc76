"""Run file of `trellis measure`: propagators and correlators on a set of configurations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal, Self

from pydantic import Field, ValidationError, WrapValidator, model_validator

from .common import LARGEST, Coupling, FourIntegers, MachineTable, Positive, Table, require_flow_times


class ConfigurationsTable(Table):
    """[configurations]: what is measured on."""

    files: str | list[str] = Field(
        description="File names or patterns (*, ?, **), relative to the folder that the command is started "
        "in. The last number in a name is the number of the configuration."
    )
    first: int | None = Field(default=None, description="Leave out numbers below this.")
    last: int | None = Field(default=None, description="Leave out numbers above this.")
    lattice: FourIntegers | None = Field(
        default=None, description="x, y, z, t; only for files that do not say it."
    )


#: Of the coefficients of domain walls; 1.5 and 0.5 are usual, and far from them nothing converges.
LARGEST_COEFFICIENT = 100.0


def _coefficients(value: Any, check: Callable[[Any], Any]) -> Any:
    """One message in the words of the run file, where the union would give one for each of its types."""
    try:
        return check(value)
    except ValidationError:
        raise ValueError(
            "expected a number, or a list with a number or [re, im] for each slice, none larger than "
            f"{LARGEST_COEFFICIENT:g}"
        ) from None


_Coefficient = Annotated[float, Field(ge=-LARGEST_COEFFICIENT, le=LARGEST_COEFFICIENT)]
#: A number, or one for each slice, complex ones as [re, im].
Coefficients = Annotated[
    _Coefficient
    | Annotated[
        list[_Coefficient | Annotated[tuple[_Coefficient, _Coefficient], Field(strict=False)]],
        Field(min_length=1),
    ],
    WrapValidator(_coefficients),
]


def _numbers(values: Coefficients) -> list[complex]:
    """As complex numbers: one, or one for each slice."""
    listed = values if isinstance(values, list) else [values]
    return [complex(*z) if isinstance(z, tuple) else complex(z) for z in listed]


class FermionTable(Table):
    """[fermion]: doc/conventions.md "Gamma matrices and Wilson fermions"."""

    type: Literal["wilson_clover", "moebius"] = Field(
        default="wilson_clover",
        description="moebius: domain wall, with mass as m_f; Shamir is b5 = 1, c5 = 0.",
    )
    kappa: Positive | None = Field(default=None, description="Hopping parameter; this or mass.")
    mass: Coupling | None = Field(default=None, description="Bare mass 1/(2 kappa) - 4; this or kappa.")
    csw: Coupling = Field(default=0.0, description="Clover coefficient; 0 is the Wilson operator.")
    boundary_t: Literal["antiperiodic", "periodic", "dirichlet"] = Field(
        default="antiperiodic", description="Boundary condition of the quarks in time; periodic in space."
    )
    nu: Positive = Field(default=1.0, description="Anisotropy: factor of the spatial hops.")
    xi0: Positive = Field(default=1.0, description="Anisotropy: the bare one.")
    csw_temporal: Coupling | None = Field(
        default=None, description="Anisotropy: c_T, with csw as c_R; default: csw."
    )
    twisted_mass: Coupling = Field(default=0.0, description="mu of + i mu gamma5.")
    b5: Coefficients = Field(
        default=1.5,
        description="moebius: D_+ = b5 D_W(-M5) + 1; one number, or a list with one for each slice, where "
        "[re, im] is a complex one (zMoebius).",
    )
    c5: Coefficients = Field(default=0.5, description="moebius: D_- = 1 - c5 D_W(-M5); the same.")
    M5: float = Field(default=1.8, ge=0.01, lt=2, description="moebius: domain-wall height.")
    Ls: int = Field(default=12, ge=2, le=32, description="moebius: slices; even for m_res.")
    link_reals: Literal[18, 12, 8] = Field(
        default=12,
        description="Reals of a stored link: 18, or 12 or 8 where links are special unitary. 8 saves memory "
        "traffic for arithmetic: it is meant for GPUs.",
    )

    strange_kappa: Positive | None = Field(
        default=None, description="A second, heavier flavour; this or strange_mass."
    )
    strange_mass: Coupling | None = Field(default=None, description="The same by its mass.")

    @model_validator(mode="after")
    def _one_mass(self) -> Self:
        if self.type == "moebius" and self.mass is None and self.kappa is None:
            raise ValueError("a fermion of type moebius needs fermion.mass, m_f")
        if (self.kappa is None) == (self.mass is None):
            raise ValueError("give fermion.kappa or fermion.mass, and not both")
        if self.strange_kappa is not None and self.strange_mass is not None:
            raise ValueError("give fermion.strange_kappa or fermion.strange_mass, and not both")
        given = self.model_fields_set
        other = {"kappa", "strange_kappa", "csw", "csw_temporal", "nu", "xi0", "twisted_mass", "link_reals"}
        wrong = given & (other if self.type == "moebius" else {"b5", "c5", "M5", "Ls"})
        if wrong:
            raise ValueError(f"fermion of type {self.type} does not take {', '.join(sorted(wrong))}")
        if self.type == "moebius":
            self._require_domain_walls()
        return self

    def _require_domain_walls(self) -> None:
        """Masses of quarks, and coefficients that leave a kernel (b5 + c5) D_W / (2 + (b5 - c5) D_W)."""
        for name, mass in (("mass", self.mass), ("strange_mass", self.strange_mass)):
            if mass is not None and not -1 < mass < 1:
                raise ValueError(
                    f"fermion.{name}: m_f of domain-wall quarks lies between -1 and 1 (there are no walls at "
                    f"1, the Pauli-Villars mass), found {mass:g}"
                )
        for name, values in (("b5", self.b5), ("c5", self.c5)):
            if len(_numbers(values)) not in (1, self.Ls):
                raise ValueError(
                    f"fermion.{name}: expected one number, or one for each of the Ls = {self.Ls} slices, "
                    f"found {len(_numbers(values))}"
                )
        b5, c5 = (sum(_numbers(v)) / len(_numbers(v)) for v in (self.b5, self.c5))
        if not (b5 + c5).real > 0:
            raise ValueError(
                "fermion.b5, fermion.c5: expected b5 + c5 above 0 in the mean over the slices, found "
                f"{(b5 + c5).real:g}"
            )

    @property
    def is_uniform(self) -> bool:
        """One real b5 and c5 for all slices."""
        numbers = [_numbers(self.b5), _numbers(self.c5)]
        return all(len(n) == 1 and n[0].imag == 0 for n in numbers)

    @property
    def has_strange(self) -> bool:
        """A second flavour is given."""
        return self.strange_kappa is not None or self.strange_mass is not None


class SolverTable(Table):
    """[solver]: how propagators are solved for."""

    type: Literal["cg", "bicgstab", "gcr"] = Field(
        default="cg", description="cg works on the normal equations."
    )
    tolerance: float = Field(default=1e-10, gt=0, lt=1, description="Of |b - M x| / |b|.")
    max_iterations: int = Field(default=10000, ge=1)
    inner_precision: Literal["double", "float", "half"] = Field(
        default="half",
        description="Storage in the inner solver of the mixed-precision scheme; half is 16-bit fixed point; "
        "double switches the scheme off.",
    )
    even_odd: Literal["symmetric", "asymmetric", "none"] = Field(
        default="symmetric", description="Form of the even-odd Schur complement."
    )


class SmearingTable(Table):
    """[smearing]: of the links that the fermions see; [source.links]: of those that gaussian sources and
    sinks use. None by default. First APE, then stout, then flow."""

    stout_steps: int = Field(default=0, ge=0)
    stout_rho: float = Field(default=0.1, gt=0, lt=0.25)
    ape_steps: int = Field(default=0, ge=0)
    ape_alpha: float = Field(default=0.5, gt=0, le=1, description="Weight of the staples' mean.")
    ape_spatial: bool = Field(default=False, description="Only spatial links, by their spatial staples.")
    flow_time: float = Field(
        default=0.0,
        ge=0,
        description="Gradient flow (Wilson) up to this t / a^2, as flowed links.",
    )


class DeflationTable(Table):
    """[deflation]: low modes of the system that is solved, found once per configuration; none by default."""

    modes: int = Field(ge=1, description="Number of eigenvectors of A^dagger A.")
    storage: Literal["double", "float", "half"] = Field(
        default="float", description="In which the eigenvectors are kept."
    )
    tolerance: float = Field(
        default=1e-8, gt=0, lt=1, description="Of |A^dagger A v - lambda v| over the largest eigenvalue."
    )
    block: int = Field(default=4, ge=1, description="Right-hand sides that share an application.")
    basis: int | None = Field(
        default=None, ge=3, description="Largest number of basis vectors; default: 2 modes + 4 block."
    )


class SourceTable(Table):
    """[source]: one propagator (12 solves) per position."""

    type: Literal["point", "gaussian", "wall"] = "point"
    positions: list[FourIntegers] = Field(
        default_factory=lambda: [(0, 0, 0, 0)],
        min_length=1,
        description="x, y, z, t of each source, from 0 (wall: only t counts).",
    )
    shift_seed: int | None = Field(
        default=None,
        ge=0,
        description="Shift all positions of a configuration by one vector that depends on this seed and the "
        "configuration's number: less correlated sources.",
    )
    shifts: int = Field(
        default=1,
        ge=1,
        le=10**6,
        description="With shift_seed: how many such vectors a configuration has; every position is used with "
        "each of them.",
    )
    width: float = Field(
        default=2.0, gt=0, le=LARGEST, description="gaussian: w, lattice units (doc/conventions.md)."
    )
    steps: int = Field(default=10, ge=1, description="gaussian: number of smearing steps.")
    links: SmearingTable | None = Field(
        default=None,
        description="gaussian: the configuration's links smeared like this are used at source and sink; "
        "default: the links that the fermions see.",
    )

    @model_validator(mode="after")
    def _shifts_need_a_seed(self) -> Self:
        if self.shifts > 1 and self.shift_seed is None:
            raise ValueError("source.shifts needs source.shift_seed")
        places = [p[3] if self.type == "wall" else p for p in self.positions]
        if len(set(places)) != len(places):
            raise ValueError(f"source.positions: twice the same in {list(map(list, self.positions))}")
        return self

    @property
    def count(self) -> int:
        """Sources on a configuration."""
        return self.shifts * len(self.positions)


class FlowTable(Table):
    """[flow]: the gradient flow of the links, for E(t), t0, w0 and the charge; none without it."""

    action: Literal["wilson", "symanzik"] = "wilson"
    time: float = Field(gt=0, description="Where the flow ends, t / a^2.")
    spacing: float = Field(default=0.1, gt=0, description="Between two measurements, t / a^2.")
    tolerance: float = Field(
        default=1e-6,
        gt=0,
        lt=1,
        description="Of the estimated error of a step, which sets its length.",
    )

    @model_validator(mode="after")
    def _enough_times(self) -> Self:
        require_flow_times(self.time, self.spacing)
        return self


class SinkTable(Table):
    """[sink]"""

    type: Literal["point", "gaussian"] = Field(
        default="point", description="gaussian: width and steps as in [source]."
    )


class MesonTable(Table):
    """[[correlators.meson]]: a meson by its gamma matrices."""

    name: str = Field(pattern=r"^[A-Za-z][A-Za-z0-9_]*$", description="Name of the dataset.")
    sink: str = Field(description='Gamma matrix at the sink: "gamma5", "gamma_x", "gamma_t gamma5", ...')
    source: str = Field(description="Gamma matrix at the source.")


NamedMeson = Literal["pion", "rho", "a0", "a1", "b1", "pion_a4", "kaon", "all"]
NamedBaryon = Literal[
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


#: What has a strange quark.
STRANGE = {"kaon", "lambda", "sigma", "xi", "sigma_star", "xi_star", "omega"}


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
        "nucleon_projected, delta (doc/conventions.md).",
    )
    conserved_axial: bool = Field(
        default=False,
        description="moebius: A_4(t) of the partially conserved axial current with the pion at the source, "
        "zero momentum; needs an even Ls and one real b5 and c5.",
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


class FeynmanHellmannTable(Table):
    """[feynman_hellmann]: nucleon with a current, one further propagator for each."""

    currents: list[Literal[LocalCurrent, ConservedCurrent]] = Field(
        default=[],
        description="Vn: gamma_n (n = 1, 2, 3, 4 for x, y, z, t); An: -i gamma_n gamma5; S: 1; P: gamma5; "
        "Tmn: -i gamma_m gamma_n. A, P and T with the polarised projector. V4_conserved, ...: the conserved "
        "current, A3_conserved, ...: the partially conserved one of moebius with an even Ls. Datasets "
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
                raise ValueError(f"feynman_hellmann.{name}: twice the same in {getattr(self, name)}")
        return self

    @property
    def has_conserved(self) -> bool:
        """Whether 5-D fields are needed."""
        return any(name.endswith("_conserved") for name in self.currents)

    @property
    def count(self) -> int:
        """Propagators for each source."""
        return len(self.currents) * len(self.momenta)


class ThreePointTable(Table):
    """[three_point]: nucleon with a current between source and sink, by sequential propagators."""

    currents: list[LocalCurrent] = Field(
        default=[],
        description="The local ones of [feynman_hellmann]. One further propagator for each separation and "
        "projector (V and S share one, A, P and T the other).",
    )
    separations: list[Annotated[int, Field(ge=1)]] = Field(
        default=[], description="Times of the sink from the source, from 1."
    )
    insertion: Literal["isovector", "separate"] = Field(
        default="isovector",
        description="isovector: up - down in one propagator, dataset three_point_A3_t06; separate: one for "
        "each, three_point_A3_t06_UU and three_point_A3_t06_DD.",
    )

    @model_validator(mode="after")
    def _both_or_none(self) -> Self:
        if bool(self.currents) != bool(self.separations):
            raise ValueError("three_point: give currents and separations, or neither")
        for name, values in (("currents", self.currents), ("separations", self.separations)):
            if len(set(values)) != len(values):
                raise ValueError(f"three_point.{name}: twice the same in {values}")
        return self


class MeasureOutputTable(Table):
    """[output]"""

    directory: str = Field(
        min_length=1,
        description="Folder for correlators.NNNNNN.h5; relative to the folder that the command is "
        "started in.",
    )
    propagators: bool = Field(default=False, description="Save the propagators too (propagator.NNNNNN.h5).")
    propagator_bits: Literal[32, 64] = Field(
        default=64, description="Single or double precision of saved propagators."
    )


class MeasureRun(Table):
    """Correlators of Wilson-clover or domain-wall quarks, one file per configuration."""

    configurations: ConfigurationsTable
    fermion: FermionTable | None = Field(default=None, description="Without it no correlators are measured.")
    flow: FlowTable | None = None
    solver: SolverTable = SolverTable()
    deflation: DeflationTable | None = None
    source: SourceTable = SourceTable()
    sink: SinkTable = SinkTable()
    smearing: SmearingTable = SmearingTable()
    correlators: CorrelatorsTable = CorrelatorsTable()
    feynman_hellmann: FeynmanHellmannTable = FeynmanHellmannTable()
    three_point: ThreePointTable = ThreePointTable()
    output: MeasureOutputTable
    machine: MachineTable = MachineTable()

    @model_validator(mode="after")
    def _something_to_measure(self) -> Self:
        if self.fermion is None and self.flow is None:
            raise ValueError("give [fermion] for correlators, or [flow], or both")
        if self.source.links is not None and "gaussian" not in (self.source.type, self.sink.type):
            raise ValueError("source.links is for gaussian sources or sinks")
        if self.fermion is not None:
            self._require_quarks(self.fermion)
        is_moebius = self.fermion is not None and self.fermion.type == "moebius"
        if self.correlators.conserved_axial and not is_moebius:
            raise ValueError("correlators.conserved_axial belongs to a fermion of type moebius")
        if self.correlators.conserved_axial and self.fermion is not None:
            if self.fermion.Ls % 2 or not self.fermion.is_uniform:
                raise ValueError(
                    "correlators.conserved_axial: expected an even fermion.Ls and one real b5 and c5, found "
                    f"Ls = {self.fermion.Ls}, b5 = {self.fermion.b5}, c5 = {self.fermion.c5}"
                )
        self._require_conserved(is_moebius)
        if self.deflation is not None and self.fermion is None:
            raise ValueError("[deflation] belongs to solves: give [fermion]")
        return self

    def _require_conserved(self, is_moebius: bool) -> None:
        conserved = [name for name in self.feynman_hellmann.currents if name.endswith("_conserved")]
        fermion = self.fermion
        if not conserved or fermion is None:
            return
        axial = [name for name in conserved if name.startswith("A")]
        if axial and not (is_moebius and fermion.Ls % 2 == 0):
            raise ValueError(
                f"feynman_hellmann.currents: {', '.join(axial)} belong to a fermion of type moebius with an "
                "even Ls"
            )
        if not is_moebius and fermion.nu != fermion.xi0:
            raise ValueError("feynman_hellmann.currents: conserved currents need nu / xi0 = 1")

    def _require_quarks(self, fermion: FermionTable) -> None:
        wanted = {*self.correlators.mesons, *self.correlators.baryons} & STRANGE
        if wanted and not fermion.has_strange:
            raise ValueError(
                f"{', '.join(sorted(wanted))} need fermion.strange_kappa or fermion.strange_mass"
            )
