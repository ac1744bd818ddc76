"""Sea quarks of a run file with [molecular_dynamics]: [[fermions]], their links and background field."""

from __future__ import annotations

import itertools
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from ..ground.stout_limits import LARGE_RHO, MOST_RHO
from .common import (
    ChargeThirds,
    Coupling,
    ElectricQuanta,
    FourPhases,
    HoppingParameter,
    MagneticQuanta,
    Name,
    StoutMatrix,
    StoutWeight,
    Table,
    at_key,
    require_diagonal,
)

#: Relative errors of rational functions that coefficients in double can reach.
SMALLEST_TOLERANCE = 1e-15
#: Of staggered flavours: squares of smaller masses, and their ratios to the spectrum, leave double precision.
SMALLEST_MASS = 1e-150

Tolerance = Annotated[float, Field(ge=SMALLEST_TOLERANCE, lt=0.1)]


class SmearingTable(Table):
    """[smearing]: of the links that the fermions see."""

    rho: StoutWeight | None = Field(
        default=None,
        description=f"Stout weight of every staple (Morningstar and Peardon), at most {MOST_RHO:g} in size; "
        f"above {LARGE_RHO:g} the shortest waves grow by more than half at every level, and with negative "
        "weights all waves grow: both are warned about.",
    )
    rho_mu_nu: StoutMatrix | None = Field(
        default=None,
        description="In the place of rho: four rows of four weights, of the staples of U_mu in the plane "
        "of mu and nu in row mu, column nu (x, y, z, t), with zeros on the diagonal.",
    )
    levels: int = Field(ge=0, le=20, description="How often.")

    @model_validator(mode="after")
    def _one_of(self) -> Self:
        if (self.rho is None) == (self.rho_mu_nu is None):
            raise ValueError("give rho or rho_mu_nu, and not both")
        return self

    @property
    def weights(self) -> float | StoutMatrix:
        """The weights of stout smearing, as :meth:`trellis.GaugeField.stout` takes them for rho."""
        return self.rho_mu_nu if self.rho is None else self.rho  # type: ignore[return-value]


class HisqTable(Table):
    """[hisq]: keys that all flavours of type hisq share."""

    force_cut: float = Field(
        default=5e-5,
        ge=0,
        le=1,
        description="Where the smallest eigenvalue of V^dagger V of a fat7 link is below it, the force takes "
        "all three as raised by it: a smaller force than the derivative, of an unchanged action. 0: never; "
        "on unit links they are 1.",
    )


class BackgroundTable(Table):
    """[background]: quanta of a constant U(1) field; a flavour sees charge_thirds times as many."""

    b: MagneticQuanta = Field(default=(0, 0, 0), description="b_x, b_y, b_z; integers.")
    e: ElectricQuanta = Field(default=(0, 0, 0), description="e_x, e_y, e_z; integers.")


class RationalTable(Table):
    """Orders and residuals of a rational action; every key has a default."""

    order: int | None = Field(
        default=None,
        ge=1,
        le=60,
        description="Poles of the accept step, and of the heat bath where it has no key of its own; default: "
        "from tolerance.",
    )
    heat_bath_order: int | None = Field(
        default=None,
        ge=1,
        le=60,
        description="Poles of the heat bath; default: from heat_bath_tolerance where that is given, else as "
        "order and tolerance say.",
    )
    dynamics_order: int | None = Field(
        default=None, ge=1, le=60, description="Poles in the molecular dynamics; default: from its tolerance."
    )
    tolerance: Tolerance = Field(default=1e-10, description="Largest relative error where no order is given.")
    heat_bath_tolerance: Tolerance | None = Field(
        default=None, description="In the heat bath; default: that of the accept step."
    )
    dynamics_tolerance: Tolerance = Field(default=1e-6, description="In the molecular dynamics.")
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

    @property
    def has_own_heat_bath(self) -> bool:
        """True if the heat bath has keys of its own."""
        return self.heat_bath_order is not None or self.heat_bath_tolerance is not None

    @property
    def heat_bath(self) -> tuple[int | None, float]:
        """The heat bath's order (None: the tolerance decides) and tolerance."""
        if not self.has_own_heat_bath:
            return self.order, self.tolerance
        return self.heat_bath_order, self.heat_bath_tolerance or self.tolerance


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
    kappa: HoppingParameter | None = Field(default=None, description="wilson: 1 / (2 (4 + mass)).")
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
        if self.mass is None or self.mass <= 0:
            found = "none" if self.mass is None else f"{self.mass:g}"
            raise ValueError(
                f"fermions {self.name!r}: {self.type} flavours have a mass above 0, found {found}"
            )
        if self.mass < SMALLEST_MASS:
            raise at_key(
                "mass",
                f"the spectrum begins at its square, which double precision does not have: at least "
                f"{SMALLEST_MASS:g}",
                self.mass,
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
        if (self.mass is None) == (self.kappa is None):
            raise ValueError(f"fermions {self.name!r}: give mass or kappa, and not both")
        if self.csw == 0 and self.twisted_mass == 0:
            said = f"fermions {self.name!r}: mass = {self.bare_mass:g}"
            require_diagonal(4.0 + self.bare_mass, "4 + mass", said)
        if self.csw != 0 and self.twisted_mass == 0 and 4.0 + self.bare_mass <= 0:
            # the clover term has no trace: no determinant with positive pivots on any links
            key = "mass" if self.kappa is None else "kappa"
            raise at_key(
                key,
                "expected a mass above -4, or a kappa above 0, beside csw: the clover term's determinant has "
                "a logarithm only where 4 + mass outweighs it",
                getattr(self, key),
            )
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
    def is_rational(self) -> bool:
        """True if the action of the flavour is a rational function."""
        return self.type != "wilson" or self.n_f == 1

    @property
    def monomial_names(self) -> list[str]:
        """The names of the flavour's parts that [[integrator]] may list."""
        if not self.hasenbusch:
            return [self.name]
        return [f"{self.name}.{k}" for k in range(len(self.hasenbusch) + 1)]
