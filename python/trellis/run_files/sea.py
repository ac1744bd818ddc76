"""This module has the sea quarks of a run file with [molecular_dynamics]: [[fermions]], and their rational
functions."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from .common import Coupling, Name, Table, at_key
from .quark import Quark
from .quarks import Clover, Hisq, Staggered, StaggeredKind, TwistedMass, Wilson, WilsonKind
from .sea_multigrid import SeaMultigridTable

#: Coefficients in double can reach this relative error of rational functions.
SMALLEST_TOLERANCE = 1e-15

Tolerance = Annotated[float, Field(ge=SMALLEST_TOLERANCE, lt=0.1)]


class HisqTable(Table):
    """The table [hisq] has the keys that all flavours of type hisq share."""

    force_cut: float = Field(
        default=5e-5,
        ge=0,
        le=1,
        description="Where the smallest eigenvalue of V^dagger V of a fat7 link is below this, the force "
        "takes all three as raised by it. That is a smaller force than the derivative, of an unchanged "
        "action. On unit links the eigenvalues are 1, and 0 switches this off.",
    )


class RationalTable(Table):
    """It has orders and residuals of a rational action; every key has a default."""

    order: int | None = Field(
        default=None,
        ge=1,
        le=60,
        description="The rational function of the accept step has so many poles, and that of the heat bath, "
        "where it has no key of its own. The default follows from tolerance.",
    )
    heat_bath_order: int | None = Field(
        default=None,
        ge=1,
        le=60,
        description="The rational function of the heat bath has so many poles. The default follows from "
        "heat_bath_tolerance where that is given, else from order and tolerance.",
    )
    dynamics_order: int | None = Field(
        default=None,
        ge=1,
        le=60,
        description="The rational function of the molecular dynamics has so many poles. The default follows "
        "from its tolerance.",
    )
    tolerance: Tolerance = Field(
        default=1e-10, description="Where no order is given, the largest relative error is this."
    )
    heat_bath_tolerance: Tolerance | None = Field(
        default=None,
        description="The largest relative error in the heat bath is this. The default is that of the accept "
        "step.",
    )
    dynamics_tolerance: Tolerance = Field(
        default=1e-6, description="The largest relative error in the molecular dynamics is this."
    )
    high: float | None = Field(
        default=None,
        gt=0,
        description="The spectral interval ends here. The default is what is measured on the first field, "
        "times 1.2.",
    )
    low: float | None = Field(
        default=None,
        gt=0,
        description="The spectral interval begins here. The default is the mass squared (staggered), or "
        "what is measured on the first field, over 4.",
    )

    @model_validator(mode="after")
    def _low_below_high(self) -> Self:
        if self.low is not None and self.high is not None and self.low >= self.high:
            raise ValueError(f"low = {self.low:g} is not below high = {self.high:g}")
        return self

    @property
    def has_own_heat_bath(self) -> bool:
        """Return True if the heat bath has keys of its own."""
        return self.heat_bath_order is not None or self.heat_bath_tolerance is not None

    @property
    def heat_bath(self) -> tuple[int | None, float]:
        """Return the heat bath's order (None: the tolerance decides) and tolerance."""
        if not self.has_own_heat_bath:
            return self.order, self.tolerance
        return self.heat_bath_order, self.heat_bath_tolerance or self.tolerance


class Flavour(Quark):
    """These are the keys of every [[fermions]]: n_f degenerate flavours, and how their determinant is
    made."""

    name: Name = Field(
        description="The flavour and its monomials have this name in [[integrator]] and in the stream."
    )
    n_f: float = Field(
        ge=1e-3,
        description="So many degenerate flavours are in the sea. Wilson kinds have 2, or 1 (rational); "
        "staggered and hisq have any number, by det^(n_f/4).",
    )
    pseudofermions: int | None = Field(
        default=None,
        ge=1,
        le=100,
        description="So many pseudofermions share the determinant of a rational action. The default is 1.",
    )
    rational: RationalTable = RationalTable()

    @property
    def is_rational(self) -> bool:
        """Return True if the action of the flavour is a rational function."""
        return True

    @property
    def hasenbusch_masses(self) -> Sequence[float]:
        """Return the descending masses that split the determinant of two flavours; none where it is whole."""
        return ()

    @property
    def operator_flavours(self) -> int:
        """Return the number of flavours whose determinant is that of the flavour's hermitian even-odd
        operator."""
        return 2

    @property
    def multigrid_table(self) -> SeaMultigridTable | None:
        """Return [fermions.multigrid] with its defaults; None with another solver."""
        return None

    @property
    def monomial_names(self) -> list[str]:
        """Return the names of the flavour's parts that [[integrator]] may list."""
        return [self.name]


class _SeaWilson(Flavour, WilsonKind):
    """These are the keys of [[fermions]] of the Wilson kinds."""

    hasenbusch: list[Coupling] = Field(
        default=[],
        description="With n_f = 2, descending masses rho_1 > rho_2 > ... > 0 split det(A), A the even-odd "
        "operator squared, into det(A + rho_1^2) and ratios. The monomials are NAME.0 (the lightest) ... "
        "NAME.n, and NAME stands for all of them.",
    )
    solver: Literal["cg", "multigrid"] = Field(
        default="cg",
        description="With n_f = 2, this solver serves the whole determinant, or beside hasenbusch the "
        "lightest part and, without a twisted mass, denominators with rho up to 0.1. cg works on the "
        "even-odd operator squared; multigrid works on its two factors, and pays for light quarks. Other "
        "solves take cg.",
    )
    multigrid: SeaMultigridTable | None = Field(
        default=None,
        description='This table belongs to solver = "multigrid". The default is the table\'s defaults.',
    )

    @model_validator(mode="after")
    def _multigrid_is_used(self) -> Self:
        if self.multigrid is not None and self.solver != "multigrid":
            raise at_key("multigrid", f'expected solver = "multigrid" beside it, found "{self.solver}"')
        if self.solver == "multigrid" and self.n_f != 2:
            raise at_key(
                "solver",
                "one flavour has a rational function, whose shifts are solved for together: expected "
                "n_f = 2 beside multigrid, or cg",
                self.solver,
            )
        return self

    @model_validator(mode="after")
    def _flavours_of_wilson_quarks(self) -> Self:
        if self.n_f not in (1, 2):
            raise at_key("n_f", "expected 1 or 2 flavours of Wilson quarks", self.n_f)
        if self.n_f == 1 and self.hasenbusch:
            raise at_key("hasenbusch", "expected n_f = 2 beside it; leave it out", self.hasenbusch)
        if self.n_f == 2 and self.pseudofermions not in (None, 1):
            raise at_key("pseudofermions", "two Wilson flavours take one pseudofermion", self.pseudofermions)
        if self.n_f == 2 and "rational" in self.model_fields_set:
            raise at_key(
                "rational",
                "two Wilson flavours need no rational function; leave rational out, or split the determinant "
                "with hasenbusch",
            )
        if any(r <= 0 for r in self.hasenbusch) or any(
            a <= b for a, b in itertools.pairwise(self.hasenbusch)
        ):
            raise at_key("hasenbusch", "hasenbusch masses are positive and descend", self.hasenbusch)
        return self

    @property
    def is_rational(self) -> bool:
        """Return True if the action of the flavour is a rational function."""
        return self.n_f == 1

    @property
    def hasenbusch_masses(self) -> Sequence[float]:
        """Return the descending masses that split the determinant of two flavours; none where it is whole."""
        return self.hasenbusch

    @property
    def multigrid_table(self) -> SeaMultigridTable | None:
        """Return [fermions.multigrid] with its defaults; None with another solver."""
        if self.solver != "multigrid":
            return None
        return self.multigrid or SeaMultigridTable()

    @property
    def monomial_names(self) -> list[str]:
        """Return the names of the flavour's parts that [[integrator]] may list."""
        if not self.hasenbusch:
            return [self.name]
        return [f"{self.name}.{k}" for k in range(len(self.hasenbusch) + 1)]


class _SeaStaggered(Flavour, StaggeredKind):
    """These are the keys of [[fermions]] of types staggered and hisq."""

    @model_validator(mode="after")
    def _enough_pseudofermions(self) -> Self:
        if self.n_f > 4 * (self.pseudofermions or 1):
            raise ValueError(f"n_f = {self.n_f:g} needs pseudofermions of at least n_f / 4")
        return self

    @property
    def operator_flavours(self) -> int:
        """Return four: staggered quarks have four tastes."""
        return 4


class SeaWilson(_SeaWilson, Wilson):
    """This is [[fermions]] of type wilson: even-odd Wilson quarks."""


class SeaClover(_SeaWilson, Clover):
    """This is [[fermions]] of type clover: even-odd Wilson quarks with a clover term."""

    @model_validator(mode="after")
    def _has_a_logarithm(self) -> Self:
        _require_positive_pivots(self)
        return self


class SeaTwistedMass(_SeaWilson, TwistedMass):
    """This is [[fermions]] of type twisted_mass: a doublet, n_f = 2."""

    @model_validator(mode="after")
    def _is_doublet(self) -> Self:
        if self.n_f != 2:
            raise at_key("n_f", "quarks with a twisted mass are a doublet: expected n_f = 2", self.n_f)
        if self.twisted_mass == 0:
            _require_positive_pivots(self)
        return self


def _require_positive_pivots(quark: SeaClover | SeaTwistedMass) -> None:
    """Refuse a mass where links may leave the clover determinant without positive pivots.

    The clover term has no trace.
    """
    if quark.csw != 0 and 4.0 + quark.bare_mass <= 0:
        key = "mass" if quark.kappa is None else "kappa"
        raise at_key(
            key,
            "expected a mass above -4, or a kappa above 0, beside csw: the clover term's determinant has "
            "a logarithm only where 4 + mass outweighs it",
            getattr(quark, key),
        )


class SeaStaggered(_SeaStaggered, Staggered):
    """This is [[fermions]] of type staggered: rooted, even-odd, on the links of [smearing]."""


class SeaHisq(_SeaStaggered, Hisq):
    """This is [[fermions]] of type hisq: staggered quarks on HISQ's own smeared links."""


SeaQuark = SeaWilson | SeaClover | SeaTwistedMass | SeaStaggered | SeaHisq
#: This is a table of [[fermions]].
SeaQuarkTable = Annotated[SeaQuark, Field(discriminator="type")]
