"""Run file of `trellis measure`: propagators and correlators on a set of configurations."""

from __future__ import annotations

from typing import Annotated, Literal, Self, get_args

from pydantic import Field, model_validator

from ..ground.operator_records import NEEDS_GAMMA5_HERMITICITY
from .common import (
    LARGEST,
    FourIntegers,
    MachineTable,
    RunFile,
    Table,
    ThreeIntegers,
    at_key,
    require_flow_times,
)
from .contractions import (
    STRANGE,
    UP_AND_DOWN,
    CorrelatorsTable,
    FeynmanHellmannTable,
    ThreePointTable,
    conserved,
)
from .measured_quarks import MeasuredDomainWall, MeasuredQuark
from .quarks import DomainWall, WilsonKind
from .smearing import MOST_STEPS, SmearingTable
from .solvers import DeflationTable, SolverTable
from .staggered_measurement import (
    CondensateTable,
    LocalMeson,
    MeasuredHisq,
    MeasuredStaggered,
    MeasuredStaggeredKind,
    require_no_staggered_keys,
    require_staggered,
)
from .stored import MeasureOutputTable, StoredPropagatorsTable

#: The table [fermion].
FermionTable = Annotated[MeasuredQuark | MeasuredStaggered | MeasuredHisq, Field(discriminator="type")]


class ConfigurationsTable(Table):
    """[configurations]: what is measured on."""

    files: str | list[str] = Field(
        description="File names or patterns (*, ?, **), relative to the folder that the command is started "
        "in. The last number in a name is the number of the configuration; a name without one gets its "
        "place, from 1, in sorted order."
    )
    first: int | None = Field(default=None, description="Leave out numbers below this.")
    last: int | None = Field(default=None, description="Leave out numbers above this.")
    lattice: FourIntegers | None = Field(
        default=None, description="x, y, z, t; only for files that do not say it."
    )


class SourceTable(Table):
    """[source]: one propagator (12 solves) per position."""

    type: Literal["point", "gaussian", "wall", "noise"] = Field(
        default="point",
        description="noise: one random number a site of a time slice (one-end trick), for mesons at rest.",
    )
    positions: list[FourIntegers] = Field(
        default_factory=lambda: [(0, 0, 0, 0)],
        min_length=1,
        description="x, y, z, t of each source, from 0 (wall, noise: only t counts).",
    )
    shift_seed: int | None = Field(
        default=None,
        ge=0,
        description="Shift all positions of a configuration by one vector that depends on this seed and the "
        "configuration's number: less correlated sources. In space only with Dirichlet walls in time.",
    )
    shifts: int = Field(
        default=1,
        ge=1,
        le=10**6,
        description="With shift_seed: how many such vectors a configuration has; every position is used with "
        "each of them, and no two sources are at one place.",
    )
    width: float = Field(
        default=2.0, gt=0, le=LARGEST, description="gaussian: w, lattice units (doc/conventions.md)."
    )
    steps: int = Field(default=10, ge=1, le=MOST_STEPS, description="gaussian: number of smearing steps.")
    momentum: ThreeIntegers | None = Field(
        default=None,
        description="wall: n of exp(i p.x), p = 2 pi n / L, on each quark's wall; default: 0. Mesons are at "
        "rest, baryons have the momentum 3 p.",
    )
    sites: Literal["all", "corners"] | None = Field(
        default=None,
        description="wall, noise of staggered quarks: corners (x, y, z even), on which all local mesons have "
        "the sign 1, or all sites, for pion_5 alone; default: corners.",
    )
    noise: Literal["z2", "z4", "u1"] | None = Field(
        default=None, description="noise: components +-1, +-1 and +-i, or of modulus 1; default: z4."
    )
    noise_seed: int | None = Field(
        default=None,
        ge=0,
        description="noise: the key of its numbers, with the configuration's number and index.",
    )
    index: int | None = Field(
        default=None, ge=0, le=MOST_STEPS, description="noise: number of the noise field; default: 0."
    )
    links: SmearingTable | None = Field(
        default=None,
        description="gaussian: the configuration's links smeared like this are used at source and sink; "
        "default: the links that the fermions see.",
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
        """True if the source is a point that is smeared."""
        return self.type == "gaussian"

    @property
    def is_noise(self) -> bool:
        """True if the source is a noise field, which depends on the configuration's number."""
        return self.type == "noise"

    @property
    def is_slice(self) -> bool:
        """True if the source covers a time slice; only t of its positions then counts."""
        return self.type in ("wall", "noise")

    @property
    def count(self) -> int:
        """The number of sources on a configuration."""
        return self.shifts * len(self.positions)


class FlowTable(Table):
    """[flow]: the gradient flow of the links, for E(t), t0, w0 and the charge; none without it."""

    action: Literal["wilson", "symanzik"] = Field(
        default="wilson", description="Gauge action whose gradient drives the flow."
    )
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
    """[sink]: the other end of the propagators, where quarks are contracted."""

    type: Literal["point", "gaussian"] = Field(
        default="point", description="gaussian: width and steps as in [source]."
    )

    @property
    def is_gaussian(self) -> bool:
        """True if the propagators are smeared at the sink."""
        return self.type == "gaussian"


class MeasureRun(RunFile):
    """Correlators and condensates of quarks, one file per configuration."""

    configurations: ConfigurationsTable
    fermion: FermionTable | None = Field(default=None, description="Without it no correlators are measured.")
    flow: FlowTable | None = Field(
        default=None,
        description="Gradient flow of the links, for E(t), t0, w0 and the charge; default: none.",
    )
    solver: SolverTable = SolverTable()
    deflation: DeflationTable | None = Field(
        default=None, description="Low modes of the system that is solved, to deflate solves; default: none."
    )
    source: SourceTable = SourceTable()
    sink: SinkTable = SinkTable()
    smearing: SmearingTable = SmearingTable()
    correlators: CorrelatorsTable = CorrelatorsTable()
    feynman_hellmann: FeynmanHellmannTable = FeynmanHellmannTable()
    three_point: ThreePointTable = ThreePointTable()
    condensate: CondensateTable | None = Field(
        default=None, description="Condensates of staggered quarks; default: none."
    )
    stored_propagators: StoredPropagatorsTable | None = Field(
        default=None, description="Propagators that an earlier run saved, instead of solves."
    )
    output: MeasureOutputTable
    machine: MachineTable = MachineTable()

    @model_validator(mode="after")
    def _something_to_measure(self) -> Self:
        if self.fermion is None and self.flow is None:
            raise ValueError("give [fermion] for correlators, or [flow], or both")
        self._require_smearing()
        self._require_multigrid()
        if self.staggered_quark is not None:
            require_staggered(self, self.staggered_quark)
        else:
            require_no_staggered_keys(self)
            self._require_spin(self.spin_quark)
        self._require_stored()
        return self

    @property
    def spin_quark(self) -> MeasuredQuark | None:
        """[fermion], where it is a quark with spin."""
        return None if isinstance(self.fermion, MeasuredStaggeredKind) else self.fermion

    @property
    def staggered_quark(self) -> MeasuredStaggered | MeasuredHisq | None:
        """[fermion], where it is a staggered quark."""
        return self.fermion if isinstance(self.fermion, MeasuredStaggeredKind) else None

    @property
    def local_mesons(self) -> list[LocalMeson]:
        """The local mesons that a run with a staggered quark measures."""
        chosen = self.correlators.local_mesons
        return list(get_args(LocalMeson)) if chosen is None else chosen

    def _require_spin(self, fermion: MeasuredQuark | None) -> None:
        """Refuse what does not suit a quark with spin, or a run without quarks."""
        self._require_contractions_of_noise()
        if fermion is not None:
            self._require_quarks(fermion)
            self._require_one_distance(fermion)
            self._require_periodic(fermion)
            self._require_sinks_of_walls()
        if not isinstance(fermion, DomainWall):
            if self.solver.columns_per_solve is not None:
                raise at_key("solver.columns_per_solve", "belongs to a fermion of type domain_wall")
            if self.correlators.conserved_axial:
                raise at_key("correlators.conserved_axial", "belongs to a fermion of type domain_wall")
        elif self.correlators.conserved_axial and (fermion.Ls % 2 or not fermion.is_uniform):
            raise at_key(
                "correlators.conserved_axial",
                "expected an even fermion.Ls and one real b5 and c5, found "
                f"Ls = {fermion.Ls}, b5 = {fermion.b5}, c5 = {fermion.c5}",
            )
        if fermion is not None:
            self._require_conserved(fermion)
        if self.three_point.currents and fermion is not None and not fermion.has_conjugate:
            raise at_key("three_point", f"{NEEDS_GAMMA5_HERMITICITY}; [feynman_hellmann] needs no such thing")
        if fermion is not None and not self._has_results(fermion):
            raise ValueError(
                "nothing is made of the solves: give correlators, currents or output.propagators = true"
            )
        if self.deflation is not None and fermion is None:
            raise at_key("deflation", "[deflation] belongs to solves: give [fermion]")

    @property
    def has_gaussian_smearing(self) -> bool:
        """True if quarks are smeared at the source, at the sink, or at both."""
        return self.source.is_gaussian or self.sink.is_gaussian

    @property
    def has_solves(self) -> bool:
        """True if a propagator may be solved for; False if all come from stored ones."""
        stored = self.stored_propagators
        currents = self.feynman_hellmann.currents or self.three_point.currents
        return bool(stored is None or stored.use == "guess" or stored.missing == "solve" or currents)

    @property
    def has_doublet(self) -> bool:
        """True if up (+mu) and down (-mu) are solved for apart, as a twisted mass with use of both needs."""
        if self.spin_quark is None or self.spin_quark.twisted_mass == 0:
            return False
        currents = self.feynman_hellmann.currents or self.three_point.currents
        return bool(currents or UP_AND_DOWN & set(self.correlators.baryons))

    def _require_stored(self) -> None:
        """Refuse [stored_propagators] where files of propagators do not have what the run needs."""
        stored, fermion = self.stored_propagators, self.fermion
        if stored is None:
            return
        if fermion is None:
            raise at_key("stored_propagators", "[stored_propagators] belongs to quarks: give [fermion]")
        if not isinstance(fermion, DomainWall):
            return
        if stored.use == "guess":
            raise at_key(
                "stored_propagators.use",
                'the guess of a domain-wall solve is 5-D, and files hold the 4-D quark: expected "solution"',
                stored.use,
            )
        for table, names in self._conserved_currents().items():
            raise at_key(
                f"{table}.currents",
                f"{', '.join(names)} of domain walls need the 5-D solution, and files hold the 4-D quark: "
                "leave out [stored_propagators], or these currents",
            )

    def _require_multigrid(self) -> None:
        """Refuse multigrid for quarks that it does not serve, and beside low modes."""
        if not self.solver.is_multigrid:
            return
        if self.fermion is not None and not isinstance(self.fermion, WilsonKind):
            raise at_key(
                "solver.type",
                "multigrid solves quarks of type wilson, clover and twisted_mass: expected another solver "
                f'beside fermion.type = "{self.fermion.type}"',
                self.solver.type,
            )
        if self.deflation is not None:
            raise at_key(
                "deflation", 'solver.type = "multigrid" takes the low modes out itself; leave it out'
            )

    def _require_smearing(self) -> None:
        """Refuse keys of Gaussian smearing if neither source nor sink uses them."""
        if self.has_gaussian_smearing:
            return
        for key in ("width", "steps", "links"):
            if key in self.source.model_fields_set:
                raise at_key(
                    f"source.{key}",
                    f'source.{key} is for gaussian sources or sinks: expected source.type = "gaussian" or '
                    f'sink.type = "gaussian", found "{self.source.type}" and "{self.sink.type}"; leave it '
                    "out",
                )

    def _require_one_distance(self, fermion: MeasuredQuark) -> None:
        """Require that all sources have one distance from a Dirichlet wall, since they are averaged."""
        if not fermion.is_open:
            return
        times = sorted({position[3] for position in self.source.positions})
        why = 'fermion.boundary has "dirichlet" in t: correlators depend on the distance from the wall'
        if len(times) > 1:
            raise at_key("source.positions", f"expected one t, found {times}; {why}; one run for each t")
        if self.source.is_slice and self.source.shift_seed is not None:
            raise at_key(
                "source.shift_seed",
                f"a source of type {self.source.type} has no place but its t; {why}; leave it out",
            )

    def _require_periodic(self, fermion: MeasuredQuark) -> None:
        """With phases in space: what is projected on momenta 2 pi n / L, and what smearing leaves alone."""
        if not fermion.has_twist:
            return
        found = list(fermion.boundary[:3])
        if self.has_gaussian_smearing:
            raise at_key(
                "fermion.boundary",
                f"gaussian smearing is periodic in space: expected other sources and sinks beside {found}",
            )
        currents = self.feynman_hellmann.currents or self.three_point.currents
        if (self.correlators.baryons or currents) and not fermion.has_periodic_baryons:
            raise at_key(
                "fermion.boundary",
                "baryons are not periodic in space: expected multiples of 2/3, or correlators.baryons = [] "
                f"and no currents, found {found}",
            )

    def _require_sinks_of_walls(self) -> None:
        """Refuse contractions that walls with a momentum p do not have: their three quarks have 3 p."""
        momentum = self.source.momentum
        if momentum is None or not any(momentum):
            return
        for key, table in (("feynman_hellmann", self.feynman_hellmann), ("three_point", self.three_point)):
            if table.currents:
                raise at_key(
                    f"{key}.currents", f"nucleons with currents have walls at rest, found {list(momentum)}"
                )
        needed = 9 * sum(n * n for n in momentum)
        if self.correlators.baryons and self.correlators.max_momentum_squared < needed:
            raise at_key(
                "correlators.max_momentum_squared",
                f"three quarks from walls with source.momentum = {list(momentum)} have the momentum "
                f"{[3 * n for n in momentum]}: expected at least {needed}, or correlators.baryons = []",
                self.correlators.max_momentum_squared,
            )

    def _require_contractions_of_noise(self) -> None:
        """Refuse all but mesons at rest with noise, which cancels if quark and antiquark have one source."""
        if not self.source.is_noise or self.fermion is None:
            return
        wrong = {
            "correlators.baryons": (self.correlators.baryons, "[]"),
            "feynman_hellmann.currents": (self.feynman_hellmann.currents, "[]"),
            "three_point.currents": (self.three_point.currents, "[]"),
            "correlators.max_momentum_squared": (self.correlators.max_momentum_squared, "0"),
        }
        for key, (found, expected) in wrong.items():
            if found:
                raise at_key(
                    key,
                    f"with a source of type noise expected {key} = {expected}: only mesons at rest have a "
                    "mean over the noise",
                    found,
                )

    def _has_results(self, fermion: MeasuredQuark) -> bool:
        """Return True if solves have a result; those of domain walls with an even Ls always have m_res."""
        c = self.correlators
        currents = self.feynman_hellmann.currents or self.three_point.currents
        contracted = c.mesons or c.meson or c.baryons or currents
        return bool(fermion.has_midpoint or contracted or self.output.propagators)

    def _conserved_currents(self) -> dict[str, list[str]]:
        """Return the conserved currents of each table that has some, by the table's name."""
        found = {
            "feynman_hellmann": conserved(self.feynman_hellmann.currents),
            "three_point": conserved(self.three_point.currents),
        }
        return {table: names for table, names in found.items() if names}

    @property
    def needs_fields(self) -> bool:
        """True if the 5-D solutions of the light quark are kept."""
        return isinstance(self.fermion, DomainWall) and bool(self._conserved_currents())

    def _require_conserved(self, fermion: MeasuredQuark) -> None:
        """Refuse conserved currents that the fermion does not have."""
        walls = fermion if isinstance(fermion, MeasuredDomainWall) else None
        for table, names in self._conserved_currents().items():
            key = f"{table}.currents"
            axial = [name for name in names if name.startswith("A")]
            if axial and (walls is None or walls.Ls % 2):
                found = f"type = {fermion.type}" if walls is None else f"Ls = {walls.Ls}"
                raise at_key(
                    key,
                    f"{', '.join(axial)} belong to a fermion of type domain_wall with an even Ls, "
                    f"found {found}",
                )
            if table == "three_point" and walls is not None and not walls.is_uniform:
                raise at_key(
                    key,
                    f"{', '.join(names)} with a fixed sink: expected one real b5 and c5, found "
                    f"b5 = {walls.b5}, c5 = {walls.c5}; [feynman_hellmann] takes any",
                )

    def _require_quarks(self, fermion: MeasuredQuark) -> None:
        if fermion.link_reals == 8 and self.solver.inner_precision == "fp16":
            raise at_key(
                "fermion.link_reals",
                'links are not stored as 8 reals in solver.inner_precision = "fp16": expected 12 or 18, or '
                'inner_precision = "half"',
                8,
            )
        named: set[str] = {*self.correlators.mesons, *self.correlators.baryons}
        wanted = named & STRANGE | {meson.name for meson in self.correlators.meson if meson.has_strange}
        if wanted and not fermion.has_strange:
            raise at_key(
                "correlators",
                f"{', '.join(sorted(wanted))} need fermion.strange_kappa or fermion.strange_mass",
            )
