"""This module has quarks in run files: one class for each `type`, with the keys of its operator.

[fermion] (measured_quarks.py), [[fermions]] (sea.py) and [[measure.valence]] (valence.py) are unions of these
classes by `type`, to which they add the keys of their place. Their base class has the questions that the
program asks of a quark.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from ..ground.action_parameters import kappa_to_mass
from .common import (
    ChargeThirds,
    Coupling,
    ElectricQuanta,
    HoppingParameter,
    MagneticQuanta,
    Table,
    at_key,
    expecting,
)
from .quark import Quark

#: Coefficients of domain walls are at most this; 1.5 and 0.5 are usual, and far from them nothing converges.
LARGEST_COEFFICIENT = 100.0
#: Squares of smaller staggered masses, and their ratios to the spectrum, leave double precision.
SMALLEST_MASS = 1e-150
#: The diagonal of a Wilson operator is at least this in size: it is what rounding leaves of zero, and more.
_LEAST_DIAGONAL = 1e-12

_Coefficient = Annotated[float, Field(ge=-LARGEST_COEFFICIENT, le=LARGEST_COEFFICIENT)]
#: This is a number, or one for each slice, complex ones as [re, im].
Coefficients = Annotated[
    _Coefficient
    | Annotated[
        list[_Coefficient | Annotated[tuple[_Coefficient, _Coefficient], Field(strict=False)]],
        Field(min_length=1),
    ],
    expecting(
        "a number, or a list with a number or [re, im] for each slice, none larger than "
        f"{LARGEST_COEFFICIENT:g}"
    ),
]


def numbers_of(values: Coefficients) -> list[complex]:
    """Return coefficients as complex numbers: one, or one for each slice."""
    listed = values if isinstance(values, list) else [values]
    return [complex(*z) if isinstance(z, tuple) else complex(z) for z in listed]


def plain_coefficients(values: Coefficients) -> complex | list[complex]:
    """Return b5 or c5 as arguments of the operator: one number, or a list; [re, im] is a complex one."""
    if not isinstance(values, list):
        return values
    return [complex(*z) if isinstance(z, tuple) else z for z in values]


def require_diagonal(value: float, formula: str, key: str, found: float) -> None:
    """Refuse a Wilson operator without other site terms whose diagonal is zero.

    Even-odd preconditioning divides by the diagonal.

    Parameters
    ----------
    value, formula
        The diagonal, and how it follows from the keys.
    key, found
        The key of the mass, and its value.

    Raises
    ------
    ValidationError
        The diagonal is zero.
    """
    if abs(value) < _LEAST_DIAGONAL:
        raise at_key(
            key,
            f"expected another mass or kappa: {formula}, the diagonal of the operator, would be zero",
            found,
        )


class WilsonKind(Quark):
    """These are quarks of the Wilson kinds, whose mass is given by `mass` or `kappa`."""

    operator_name: ClassVar[str] = "WilsonClover"
    has_multigrid: ClassVar[bool] = True

    kappa: HoppingParameter | None = Field(
        default=None,
        description="This is the hopping parameter 1 / (2 (4 + mass)), other than 0; mass is the other way "
        "to give it.",
    )
    mass: Coupling | None = Field(
        default=None, description="This is the bare mass 1/(2 kappa) - 4; kappa is the other way to give it."
    )

    @model_validator(mode="after")
    def _one_mass(self) -> Self:
        if (self.kappa is None) == (self.mass is None):
            raise ValueError("give mass or kappa, and not both")
        if not any(self.site_terms):
            key = "mass" if self.kappa is None else "kappa"
            require_diagonal(*self.diagonal(self.bare_mass), key, getattr(self, key))
        return self

    @property
    def bare_mass(self) -> float:
        """Return the mass, from kappa where that is given."""
        return kappa_to_mass(self.kappa) if self.kappa is not None else float(self.mass or 0.0)

    @property
    def given_mass(self) -> str:
        """Return the key of the mass with its value, as the run file has it: "kappa = 0.13"."""
        return super().given_mass if self.kappa is None else f"kappa = {self.kappa:g}"

    @property
    def site_terms(self) -> tuple[float, ...]:
        """Return the coefficients of what the site term has beside a number: clover term and twisted mass."""
        return ()

    def diagonal(self, mass: float) -> tuple[float, str]:
        """Return the number in the site term, and its formula."""
        return 4.0 + mass, "4 + mass"


class Wilson(WilsonKind):
    """These are Wilson quarks."""

    type: Literal["wilson"] = Field(description="These are Wilson quarks.")


class Clover(WilsonKind):
    """These are Wilson quarks with a clover term."""

    type: Literal["clover"] = Field(description="These are Wilson quarks with a clover term.")
    csw: Coupling = Field(description="This is the clover coefficient.")

    @property
    def has_clover_term(self) -> bool:
        """Return True if the operator has a clover term."""
        return self.csw != 0

    def operator_arguments(self) -> dict[str, Any]:
        """Return the arguments of the operator beside the links, by their names."""
        return super().operator_arguments() | {"csw": self.csw}

    @property
    def site_terms(self) -> tuple[float, ...]:
        """Return the coefficient of the clover term."""
        return (self.csw,)


class TwistedMass(WilsonKind):
    """This is a doublet of Wilson quarks with a twisted mass, and a clover term where csw is given."""

    type: Literal["twisted_mass"] = Field(description="These are Wilson quarks with a twisted mass.")
    twisted_mass: Coupling = Field(
        description="This is mu of the term + i mu gamma5 tau3: up has +mu, and down has -mu."
    )
    csw: Coupling = Field(default=0.0, description="This is the clover coefficient.")

    @property
    def has_clover_term(self) -> bool:
        """Return True if the operator has a clover term."""
        return self.csw != 0

    @property
    def is_twisted(self) -> bool:
        """Return True if the twisted mass is not zero."""
        return self.twisted_mass != 0

    def operator_arguments(self) -> dict[str, Any]:
        """Return the arguments of the operator beside the links, by their names."""
        return super().operator_arguments() | {"csw": self.csw, "twisted_mass": self.twisted_mass}

    @property
    def site_terms(self) -> tuple[float, ...]:
        """Return the coefficients of clover term and twisted mass."""
        return (self.csw, self.twisted_mass)


class DomainWall(Quark):
    """These are Moebius domain-wall quarks; Shamir's are b5 = 1, c5 = 0."""

    operator_name: ClassVar[str] = "MoebiusDomainWall"

    type: Literal["domain_wall"] = Field(description="These are Moebius domain-wall quarks.")
    mass: Coupling = Field(description="This is m_f, between -1 and 1.")
    b5: Coefficients = Field(
        default=1.5,
        description="D_+ is b5 D_W(-M5) + 1. b5 is one number, or a list with one for each slice, where "
        "[re, im] is a complex one (zMoebius).",
    )
    c5: Coefficients = Field(
        default=0.5, description="D_- is 1 - c5 D_W(-M5). c5 is one number or a list, as b5 is."
    )
    M5: float = Field(default=1.8, ge=0.01, lt=2, description="This is the height of the domain wall.")
    Ls: int = Field(
        default=12,
        ge=2,
        le=32,
        description="The fifth dimension has so many slices; m_res needs an even number.",
    )

    @model_validator(mode="after")
    def _has_walls(self) -> Self:
        """Refuse coefficients without a kernel (b5 + c5) D_W / (2 + (b5 - c5) D_W)."""
        self.require_wall_mass("mass", self.mass)
        for name, values in (("b5", self.b5), ("c5", self.c5)):
            if len(numbers_of(values)) not in (1, self.Ls):
                raise at_key(
                    name,
                    f"expected one number, or one for each of the Ls = {self.Ls} slices, "
                    f"found {len(numbers_of(values))}",
                )
        b5, c5 = (sum(numbers_of(v)) / len(numbers_of(v)) for v in (self.b5, self.c5))
        if not (b5 + c5).real > 0:
            raise ValueError(
                f"b5, c5: expected b5 + c5 above 0 in the mean over the slices, found {(b5 + c5).real:g}"
            )
        return self

    @staticmethod
    def require_wall_mass(key: str, mass: float) -> None:
        """Refuse a mass that no domain-wall quark has."""
        if not -1 < mass < 1:
            raise at_key(
                key,
                "m_f of domain-wall quarks lies between -1 and 1 (there are no walls at 1, the "
                f"Pauli-Villars mass), found {mass:g}",
            )

    @property
    def bare_mass(self) -> float:
        """Return m_f."""
        return self.mass

    def operator_arguments(self) -> dict[str, Any]:
        """Return the arguments of the operator beside the links, by their names."""
        walls = {"b5": plain_coefficients(self.b5), "c5": plain_coefficients(self.c5)}
        return super().operator_arguments() | walls | {"M5": self.M5, "Ls": self.Ls}

    @property
    def slices(self) -> int:
        """Return Ls."""
        return self.Ls

    @property
    def has_midpoint(self) -> bool:
        """Return True for an even Ls, whose middle lies between two slices."""
        return self.Ls % 2 == 0

    @property
    def is_uniform(self) -> bool:
        """Return True if all slices have one real b5 and one real c5."""
        numbers = [numbers_of(self.b5), numbers_of(self.c5)]
        return all(len(n) == 1 and n[0].imag == 0 for n in numbers)


def _staggered_mass(mass: float) -> float:
    if mass <= 0:
        raise ValueError("expected a mass above 0")
    if mass < SMALLEST_MASS:
        raise ValueError(
            "the spectrum begins at its square, which double precision does not have: expected at least "
            f"{SMALLEST_MASS:g}"
        )
    return mass


class StaggeredKind(Quark):
    """These are staggered quarks, whose mass is above 0."""

    mass: Annotated[Coupling, AfterValidator(_staggered_mass)] = Field(
        description="This is the bare mass, above 0."
    )
    mu_over_ipiT: Coupling = Field(
        default=0.0, description="This is the imaginary chemical potential over i pi T."
    )
    charge_thirds: ChargeThirds = Field(
        default=0, description="Quarks have this charge in a background field, in units of e/3."
    )

    @property
    def bare_mass(self) -> float:
        """Return the mass."""
        return self.mass

    def operator_arguments(self) -> dict[str, Any]:
        """Return the arguments of the operator beside the links, by their names."""
        charge = {"mu_over_ipiT": self.mu_over_ipiT, "charge_thirds": self.charge_thirds}
        return super().operator_arguments() | charge

    @property
    def has_spin(self) -> bool:
        """Return False: a site has a colour vector."""
        return False

    @property
    def lower_bound(self) -> float:
        """Return the square of the mass."""
        return self.bare_mass**2


class Staggered(StaggeredKind):
    """These are naive staggered quarks."""

    operator_name: ClassVar[str] = "Staggered"

    type: Literal["staggered"] = Field(description="These are naive staggered quarks.")


class Hisq(StaggeredKind):
    """These are highly improved staggered quarks, with their own two levels of smearing and the Naik term."""

    operator_name: ClassVar[str] = "HISQ"

    type: Literal["hisq"] = Field(description="These are highly improved staggered quarks.")
    epsilon: Coupling = Field(
        default=0.0, description="This is the correction of the Naik term, for heavy quarks."
    )

    def operator_arguments(self) -> dict[str, Any]:
        """Return the arguments of the operator beside the links, by their names."""
        return super().operator_arguments() | {"epsilon": self.epsilon}

    @property
    def naik_epsilon(self) -> float:
        """Return the correction of the Naik term."""
        return self.epsilon

    @property
    def has_own_smearing(self) -> bool:
        """Return True: the links have two levels of smearing."""
        return True

    @property
    def has_naik_term(self) -> bool:
        """Return True: the Naik term has hops over three sites."""
        return True


class BackgroundTable(Table):
    """The table [background] has the quanta of a constant U(1) field; a quark sees charge_thirds times as
    many."""

    b: MagneticQuanta = Field(
        default=(0, 0, 0), description="The magnetic field has the integer quanta b_x, b_y, b_z."
    )
    e: ElectricQuanta = Field(
        default=(0, 0, 0), description="The electric field has the integer quanta e_x, e_y, e_z."
    )
