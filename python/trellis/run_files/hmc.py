"""Run file of `trellis generate` with [molecular_dynamics]: HMC and RHMC, quenched or with sea quarks."""

from __future__ import annotations

import itertools
import re
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from .common import (
    ChargeThirds,
    Coupling,
    FourPhases,
    LatticeTable,
    MachineTable,
    Positive,
    Table,
    ThreeQuanta,
)
from .generate import StartTable
from .online import MeasureTable

#: c1 of the gauge actions, doc/conventions.md "Gauge action".
GAUGE_ACTIONS = {"wilson": 0.0, "symanzik": -1.0 / 12.0, "iwasaki": -0.331, "dbw2": -1.4088}

#: Drifts of a step, by scheme.
_DRIFTS = {"leapfrog": 1, "omelyan2": 2, "omelyan4": 5, "force_gradient": 2}
#: Of one level in a trajectory: a million steps are a step size of 1e-6, beyond any need.
MOST_STEPS = 10**6

#: What true residuals in double can be asked for.
SMALLEST_RESIDUAL = 1e-15
#: What the recursion of a solve in float may be asked for.
SMALLEST_SINGLE_RESIDUAL = 1e-8

_NAME = re.compile(r"^[A-Za-z][A-Za-z0-9_-]*(\.[0-9]+)?$")


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
    beta: Coupling = Field(ge=0, description="6 / g0^2; the coefficient c0 = 1 - 8 c1 is not part of it.")
    c1: Coupling | None = Field(default=None, description="custom: weight of the 2x1 loops.")

    @model_validator(mode="after")
    def _c1_where_needed(self) -> Self:
        if (self.type == "custom") != (self.c1 is not None):
            raise ValueError('action.c1 is given exactly if action.type is "custom"')
        return self

    @property
    def weight(self) -> float:
        """c1."""
        return GAUGE_ACTIONS[self.type] if self.c1 is None else self.c1


class SmearingTable(Table):
    """[smearing]: of the links that the fermions see."""

    rho: float = Field(
        ge=0,
        le=0.25,
        description="Stout weight of every staple (Morningstar and Peardon); above 1/8 short waves grow.",
    )
    levels: int = Field(ge=0, le=20, description="How often.")


class BackgroundTable(Table):
    """[background]: quanta of a constant U(1) field; a flavour sees charge_thirds times as many."""

    b: ThreeQuanta = Field(default=(0, 0, 0), description="b_x, b_y, b_z; integers.")
    e: ThreeQuanta = Field(default=(0, 0, 0), description="e_x, e_y, e_z; integers.")


class RationalTable(Table):
    """Orders and residuals of a rational action; every key has a default."""

    order: int | None = Field(
        default=None, ge=1, le=60, description="Poles of heat bath and accept step; default: from tolerance."
    )
    dynamics_order: int | None = Field(
        default=None, ge=1, le=60, description="Poles in the molecular dynamics; default: from its tolerance."
    )
    tolerance: float = Field(
        default=1e-10, gt=0, lt=0.1, description="Largest relative error where no order is given."
    )
    dynamics_tolerance: float = Field(default=1e-6, gt=0, lt=0.1, description="In the molecular dynamics.")
    high: float | None = Field(
        default=None,
        gt=0,
        description="Upper end of the spectral interval; default: measured on the first field, times 1.2.",
    )
    low: float | None = Field(
        default=None,
        gt=0,
        description="Lower end; default: mass squared (staggered), or measured on the first field, over 4.",
    )

    @model_validator(mode="after")
    def _low_below_high(self) -> Self:
        if self.low is not None and self.high is not None and self.low >= self.high:
            raise ValueError(f"low = {self.low:g} is not below high = {self.high:g}")
        return self


class FermionTable(Table):
    """[[fermions]]: n_f degenerate flavours."""

    name: Name = Field(description="Of its monomials; in [[integrator]] and in the stream.")
    type: Literal["staggered", "hisq", "wilson"] = Field(
        description="staggered: rooted, even-odd, on the links of [smearing]; hisq: staggered with HISQ's "
        "own two levels of smearing and the Naik term; wilson: even-odd, with a clover term where csw is "
        "not 0."
    )
    n_f: float = Field(
        ge=1e-3,
        description="Degenerate flavours. wilson: 2, or 1 (rational). staggered, hisq: any number, "
        "det^(n_f/4).",
    )
    epsilon: Coupling = Field(default=0.0, description="hisq: correction of the Naik term, for heavy quarks.")
    mass: Coupling | None = Field(default=None, description="Bare mass (wilson: or kappa).")
    kappa: Positive | None = Field(default=None, description="wilson: 1 / (2 (4 + mass)).")
    csw: Coupling = Field(default=0.0, description="wilson: clover coefficient.")
    twisted_mass: Coupling = Field(default=0.0, description="wilson: mu of + i mu gamma5 tau3; n_f = 2.")
    hasenbusch: list[Coupling] = Field(
        default=[],
        description="wilson, n_f = 2: descending masses rho_1 > rho_2 > ... > 0 that split det(A), A the "
        "even-odd operator squared, into det(A + rho_1^2) and ratios; monomials NAME.0 (the lightest) "
        "... NAME.n; NAME stands for all of them.",
    )
    boundary: FourPhases = Field(
        default=(0.0, 0.0, 0.0, 1.0),
        description="Phases over pi for crossing the boundary in x, y, z, t; 1: antiperiodic.",
    )
    mu_over_ipiT: Coupling = Field(default=0.0, description="staggered, hisq: imaginary chemical potential.")
    charge_thirds: ChargeThirds = Field(default=0, description="staggered, hisq: charge in units of e/3.")
    pseudofermions: int | None = Field(
        default=None, ge=1, le=100, description="Rational: how many share the determinant; default 1."
    )
    rational: RationalTable = RationalTable()

    @model_validator(mode="after")
    def _legal(self) -> Self:
        if (self.mass is None) == (self.kappa is None):
            raise ValueError(f"fermions {self.name!r}: give mass or kappa, and not both")
        if self.type != "hisq" and self.epsilon != 0:
            raise ValueError(f"fermions {self.name!r}: epsilon is for type hisq")
        if self.type in ("staggered", "hisq"):
            self._require_staggered()
        else:
            self._require_wilson()
        return self

    def _require_staggered(self) -> None:
        if self.kappa is not None:
            raise ValueError(f"fermions {self.name!r}: kappa is for type wilson; {self.type} takes mass")
        if not self.mass or self.mass < 0:
            raise ValueError(
                f"fermions {self.name!r}: {self.type} flavours have a mass above 0, found {self.mass:g}"
            )
        for key in ("csw", "twisted_mass"):
            if getattr(self, key) != 0:
                raise ValueError(f"fermions {self.name!r}: {key} is for type wilson")
        if self.hasenbusch:
            raise ValueError(f"fermions {self.name!r}: hasenbusch is for type wilson")
        fields = self.pseudofermions or 1
        if self.n_f > 4 * fields:
            raise ValueError(
                f"fermions {self.name!r}: n_f = {self.n_f:g} needs pseudofermions of at least n_f / 4"
            )

    def _require_wilson(self) -> None:
        if self.n_f not in (1, 2):
            raise ValueError(f"fermions {self.name!r}: n_f is 1 or 2 for type wilson, found {self.n_f:g}")
        if self.mu_over_ipiT != 0 or self.charge_thirds != 0:
            raise ValueError(f"fermions {self.name!r}: mu_over_ipiT and charge_thirds are for type staggered")
        if self.n_f == 1 and (self.hasenbusch or self.twisted_mass != 0):
            raise ValueError(f"fermions {self.name!r}: hasenbusch and twisted_mass need n_f = 2")
        if self.n_f == 2 and self.pseudofermions not in (None, 1):
            raise ValueError(f"fermions {self.name!r}: two wilson flavours take one pseudofermion")
        if self.n_f == 2 and "rational" in self.model_fields_set:
            raise ValueError(
                f"fermions {self.name!r}: two wilson flavours need no rational function; leave rational out, "
                "or split the determinant with hasenbusch"
            )
        if any(r <= 0 for r in self.hasenbusch) or any(
            a <= b for a, b in itertools.pairwise(self.hasenbusch)
        ):
            raise ValueError(
                f"fermions {self.name!r}: hasenbusch masses are positive and descend, found {self.hasenbusch}"
            )

    @property
    def bare_mass(self) -> float:
        """The mass, from kappa where that is given."""
        return 1.0 / (2.0 * self.kappa) - 4.0 if self.kappa is not None else float(self.mass or 0.0)

    @property
    def monomial_names(self) -> list[str]:
        """What [[integrator]] may name."""
        if not self.hasenbusch:
            return [self.name]
        return [f"{self.name}.{k}" for k in range(len(self.hasenbusch) + 1)]


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
        "(leapfrog has one drift in a step, omelyan2 and force_gradient two, omelyan4 five). At most a "
        "million of a level in a trajectory.",
    )
    # `lambda` is a keyword of Python
    lambda_: float = Field(
        default=0.1931833275037836,
        ge=0.01,
        le=0.49,
        alias="lambda",
        description="Parameter of omelyan2; towards 0 and 1/2 it is leapfrog at a higher price.",
    )
    monomials: list[Name] = Field(min_length=1, description='"gauge", and names of [[fermions]].')

    @model_validator(mode="after")
    def _lambda_where_used(self) -> Self:
        if self.scheme != "omelyan2" and "lambda_" in self.model_fields_set:
            raise ValueError(f'lambda is a parameter of omelyan2, not of scheme = "{self.scheme}"')
        return self


class MolecularDynamicsTable(Table):
    """[molecular_dynamics]"""

    length: float = Field(default=1.0, ge=1e-6, le=100, description="Of a trajectory.")
    residual: float = Field(
        default=1e-7,
        ge=SMALLEST_RESIDUAL,
        lt=0.1,
        description="|b - A x| / |b| of the solves in forces, for every shift.",
    )
    precision: Literal["double", "single"] = Field(
        default="double",
        description="Of the solves in forces. double: true residuals in double, iterations in float where "
        "they can. single: in float alone, `residual` by the recursion. Links, momenta, smearing and the "
        "rest of the forces are in double in any case.",
    )

    @model_validator(mode="after")
    def _within_float(self) -> Self:
        if self.precision == "single" and self.residual < SMALLEST_SINGLE_RESIDUAL:
            raise ValueError(
                f"residual = {self.residual:g} is beyond single precision: at least "
                f'{SMALLEST_SINGLE_RESIDUAL:g}, or precision = "double"'
            )
        return self


class MetropolisTable(Table):
    """[metropolis]: heat bath of the pseudofermions and accept step."""

    residual: float = Field(
        default=1e-10, ge=SMALLEST_RESIDUAL, lt=0.1, description="|b - A x| / |b| of their solves."
    )
    max_iterations: int = Field(default=20000, ge=1, description="Of any solve.")


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

    @model_validator(mode="after")
    def _total_includes_thermalisation(self) -> Self:
        """A run that only thermalises keeps nothing and says so: keep_every is left out."""
        left = self.total - self.thermalisation
        if left < 0 or (left == 0 and self.keep_every is not None):
            raise ValueError(
                f"trajectories.total = {self.total} includes trajectories.thermalisation = "
                f"{self.thermalisation}, which leaves no trajectory with a Metropolis test: expected a "
                "larger total (or, to thermalise only, the same number and no keep_every)"
            )
        return self

    def keeps_any(self, last: int) -> bool:
        """Whether a run to this trajectory keeps what it is asked for: something, or nothing."""
        return self.keep_every is None or last - self.thermalisation >= self.keep_every

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
        min_length=1,
        description="Folder for configuration.NNNNNN.ildg, checkpoint.NNNNNN.ildg and stream.h5; relative to "
        "the folder that the command is started in.",
    )


class HmcRun(Table):
    """Gauge configurations by hybrid Monte Carlo."""

    lattice: LatticeTable
    action: GaugeActionTable
    integrator: list[IntegratorLevel] = Field(
        min_length=1, description="Nested time scales, outermost first."
    )
    smearing: SmearingTable = SmearingTable(rho=0.0, levels=0)
    background: BackgroundTable = BackgroundTable()
    fermions: list[FermionTable] = Field(default=[], description="Sea quarks; none: quenched.")
    molecular_dynamics: MolecularDynamicsTable
    metropolis: MetropolisTable = MetropolisTable()
    trajectories: TrajectoriesTable
    start: StartTable = StartTable()
    random: RandomTable
    output: HmcOutputTable
    measure: MeasureTable | None = Field(default=None, description="On-line measurements.")
    machine: MachineTable = MachineTable()

    @model_validator(mode="after")
    def _names_differ(self) -> Self:
        names = ["gauge", *[fermion.name for fermion in self.fermions]]
        for name in names:
            if names.count(name) > 1 or "." in name:
                raise ValueError(f"fermions: the name {name!r} is taken, or has a dot")
        return self

    @model_validator(mode="after")
    def _smearing_fits(self) -> Self:
        if self.smearing.levels > 0 and any(f.type == "hisq" for f in self.fermions):
            raise ValueError(
                "fermions: HISQ flavours have their own smearing and do not stand beside [smearing]; leave "
                "that table out"
            )
        if self.measure is not None and self.measure.loops is not None:
            self.measure.loops.require_fit(self.lattice.extents)
        return self

    @model_validator(mode="after")
    def _background_acts(self) -> Self:
        quanta = [*self.background.b, *self.background.e]
        if any(quanta) and not any(fermion.charge_thirds for fermion in self.fermions):
            raise ValueError(
                f"background: b = {list(self.background.b)}, e = {list(self.background.e)}, and no flavour "
                "of the sea has charge_thirds: give the charges, or leave the table out"
            )
        return self

    @model_validator(mode="after")
    def _steps_end(self) -> Self:
        """A trajectory is not interrupted: one without an end would not be stopped by Ctrl-C either."""
        steps = 1
        for number, level in enumerate(self.integrator):
            steps *= level.steps
            if steps > MOST_STEPS:
                raise ValueError(
                    f"integrator: expected at most {MOST_STEPS} steps of a level in a trajectory, found "
                    f"{steps} of [[integrator]] number {number + 1} (steps count for each drift of the table "
                    "before, not for the trajectory)"
                )
            steps *= _DRIFTS[level.scheme]
        return self

    @model_validator(mode="after")
    def _every_monomial_once(self) -> Self:
        known = ["gauge", *[name for fermion in self.fermions for name in fermion.monomial_names]]
        used = [name for level in self.integrator for name in self.expanded(level)]
        for name in used:
            if name not in known:
                raise ValueError(
                    f"integrator: {name!r} is no monomial of this run; there are {', '.join(known)}"
                )
            if used.count(name) > 1:
                raise ValueError(f"integrator: {name!r} is in more than one place")
        missing = [name for name in known if name not in used]
        if missing:
            raise ValueError(f"integrator: no level has {', '.join(map(repr, missing))}")
        return self

    def expanded(self, level: IntegratorLevel) -> list[str]:
        """The monomials of a level; a flavour's name stands for all its parts."""
        parts = {fermion.name: fermion.monomial_names for fermion in self.fermions}
        return [part for name in level.monomials for part in parts.get(name, [name])]
