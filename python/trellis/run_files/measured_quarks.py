"""This module has the quarks of `trellis measure`: [fermion] is one of these, by its `type`."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from ..ground.action_parameters import mass_to_kappa
from ..ground.operator_records import has_mirrored_slices
from .common import LARGEST, Coupling, HoppingParameter, Positive, expecting
from .phases import NotFactors, Phase, phase_factors, word_to_phase
from .quark import Quark
from .quarks import (
    Clover,
    Coefficients,
    DomainWall,
    TwistedMass,
    Wilson,
    WilsonKind,
    numbers_of,
    plain_coefficients,
    require_diagonal,
)


def _whole_phase(phase: float | str) -> float | str:
    """Replace whole phases by 0 and 1, whose factors are exact."""
    return phase if isinstance(phase, str) or not float(phase).is_integer() else phase % 2


#: This is the boundary in the direction of time.
TimePhase = Annotated[
    Literal["dirichlet"] | Coupling,
    BeforeValidator(
        word_to_phase, json_schema_input_type=Literal["periodic", "antiperiodic", "dirichlet"] | float
    ),
    AfterValidator(_whole_phase),
    expecting(
        '"antiperiodic", "periodic", "dirichlet", or a phase over pi (1: antiperiodic) between '
        f"{-LARGEST:g} and {LARGEST:g}"
    ),
]
PhasesOrWall = Annotated[tuple[Phase, Phase, Phase, TimePhase], Field(strict=False), NotFactors]


def _is_even(phase_over_pi: float) -> bool:
    """Return True if the phase factor is 1; the rounding of thirds is allowed for."""
    return abs(phase_over_pi - 2 * round(phase_over_pi / 2)) < 1e-9


class _Measured(Quark):
    """These are the keys of every [fermion]."""

    boundary: PhasesOrWall = Field(  # type: ignore[assignment]
        default=(0.0, 0.0, 0.0, 1.0),
        description="Quarks have these boundary conditions in x, y, z, t: words, or phases over pi (0 is "
        'periodic, 1 antiperiodic); in t "dirichlet" is another word. Phases in space cancel in mesons; '
        "baryons need three quarks to be periodic, and with that multiples of 2/3.",
    )
    nu: Positive = Field(
        default=1.0,
        description="The spatial hops have this factor, for anisotropic lattices; those of domain_wall are "
        "the hops of D_W.",
    )
    xi0: Positive = Field(
        default=1.0, description="This is the bare anisotropy; that of domain_wall is the one of D_W."
    )
    link_reals: Literal[18, 12, 8] | None = Field(
        default=None,
        description="A link is stored as so many reals: 18, or 12 or 8 where links are special unitary. 8 "
        "saves memory traffic and costs arithmetic: it is meant for GPUs. The default is 12, or 18 for "
        "links that were rounded to 32 bits.",
    )
    strange_mass: Coupling | None = Field(
        default=None, description="This mass gives a second, heavier flavour."
    )

    @property
    def phase_factors(self) -> tuple[complex, ...]:
        """Return the phase factors for crossing the boundary in x, y, z, t; 0 is a wall."""
        *space, time = self.boundary
        return (*phase_factors(space), 0.0 if isinstance(time, str) else phase_factors([time])[0])

    def operator_arguments(self) -> dict[str, Any]:
        """Return the arguments of the operator beside the links, by their names."""
        own = {"nu": self.nu, "xi0": self.xi0, "link_reals": self.link_reals}
        return super().operator_arguments() | own

    @property
    def dataset_attributes(self) -> dict[str, str | float]:
        """Return the attributes of a correlator's dataset that say which operator the quark has."""
        raise NotImplementedError

    @property
    def hopping_parameters(self) -> dict[str, float]:
        """Return the hopping parameters that the run file gives, by their keys."""
        return {}

    @property
    def wall_height(self) -> float | None:
        """Return M5, the height of the domain wall; None without one."""
        return None

    @property
    def down(self) -> Self:
        """Return the other flavour of a doublet; the quark itself without one."""
        return self

    @property
    def is_open(self) -> bool:
        """Return True with Dirichlet walls in time."""
        return self.boundary[3] == "dirichlet"

    @property
    def has_twist(self) -> bool:
        """Return True if quarks are not periodic in space."""
        return any(not _is_even(phase) for phase in self.boundary[:3])

    @property
    def has_periodic_baryons(self) -> bool:
        """Return True if three quarks together are periodic in space."""
        return all(_is_even(3 * phase) for phase in self.boundary[:3])

    @property
    def has_strange(self) -> bool:
        """Return True if a second flavour is given."""
        return self.strange_mass is not None

    @property
    def strange(self) -> Self:
        """Return the second flavour: the first one with another mass."""
        return self.model_copy(update={"mass": self.strange_mass})


class _MeasuredWilson(_Measured, WilsonKind):
    """These are the keys of [fermion] for the Wilson kinds."""

    strange_kappa: HoppingParameter | None = Field(
        default=None,
        description="This hopping parameter gives a second, heavier flavour; strange_mass is the other way "
        "to give it.",
    )

    @model_validator(mode="after")
    def _one_strange_mass(self) -> Self:
        if self.strange_kappa is not None and self.strange_mass is not None:
            raise ValueError("give strange_kappa or strange_mass, and not both")
        if self.has_strange and not any(self.site_terms):
            key = "strange_mass" if self.strange_kappa is None else "strange_kappa"
            require_diagonal(*self.diagonal(self.strange.bare_mass), key, getattr(self, key))
        return self

    def diagonal(self, mass: float) -> tuple[float, str]:
        """Return the number in the site term, with its formula."""
        return 1 + 3 * self.nu / self.xi0 + mass, "1 + 3 nu / xi0 + mass"

    @property
    def has_strange(self) -> bool:
        """Return True if a second flavour is given."""
        return self.strange_kappa is not None or self.strange_mass is not None

    @property
    def strange(self) -> Self:
        """Return the second flavour: the first one with another mass."""
        return self.model_copy(update={"kappa": self.strange_kappa, "mass": self.strange_mass})

    @property
    def dataset_attributes(self) -> dict[str, str | float]:
        """Return the attributes of a correlator's dataset that say which operator the quark has."""
        arguments = {"csw": 0.0, "twisted_mass": 0.0, "csw_temporal": None, **self.operator_arguments()}
        csw, csw_temporal = arguments["csw"], arguments["csw_temporal"]
        return {
            "kappa": float(mass_to_kappa(self.bare_mass)),
            "csw": float(csw),
            "csw_temporal": float(csw if csw_temporal is None else csw_temporal),
            "twisted_mass": float(arguments["twisted_mass"]),
            "nu": float(self.nu),
            "xi0": float(self.xi0),
        }

    @property
    def hopping_parameters(self) -> dict[str, float]:
        """Return the hopping parameters that the run file gives, by their keys."""
        given = {"fermion.kappa": self.kappa, "fermion.strange_kappa": self.strange_kappa}
        return {key: kappa for key, kappa in given.items() if kappa is not None}

    @property
    def is_gamma5_hermitian(self) -> bool:
        """Return True if S^dagger = gamma5 S gamma5 holds for one and the same flavour."""
        return True

    @property
    def has_conjugate(self) -> bool:
        """Return True if gamma5 S^dagger gamma5 is the quark itself, or with a twisted mass its partner."""
        return True


class _MeasuredClover(_MeasuredWilson):
    """This is the key of [fermion] for quarks with a clover term."""

    csw_temporal: Coupling | None = Field(
        default=None,
        description="On anisotropic lattices this is the coefficient c_T, and csw is c_R. The default is "
        "csw.",
    )

    def operator_arguments(self) -> dict[str, Any]:
        """Return the arguments of the operator beside the links, by their names."""
        return super().operator_arguments() | {"csw_temporal": self.csw_temporal}

    @property
    def site_terms(self) -> tuple[float, ...]:
        """Return the coefficients of what the site term has beside a number."""
        return (*super().site_terms, self.csw_temporal or 0.0)


class MeasuredWilson(_MeasuredWilson, Wilson):
    """This is [fermion] of type wilson: doc/conventions.md "Gamma matrices and Wilson fermions"."""


class MeasuredClover(_MeasuredClover, Clover):
    """This is [fermion] of type clover."""


class MeasuredTwistedMass(_MeasuredClover, TwistedMass):
    """This is [fermion] of type twisted_mass, which is up; down has the opposite twisted mass.

    nucleon, lambda and currents take solves for both flavours, twice as many; mesons are up with an
    antiquark of down.
    """

    @property
    def is_gamma5_hermitian(self) -> bool:
        """Return True if S^dagger = gamma5 S gamma5 holds for one and the same flavour."""
        return not self.is_twisted

    @property
    def down(self) -> Self:
        """Return the other flavour of the doublet."""
        return self.model_copy(update={"twisted_mass": -self.twisted_mass})


class MeasuredDomainWall(_Measured, DomainWall):
    """This is [fermion] of type domain_wall."""

    @model_validator(mode="after")
    def _has_strange_walls(self) -> Self:
        if self.strange_mass is not None:
            self.require_wall_mass("strange_mass", self.strange_mass)
        return self

    @property
    def is_gamma5_hermitian(self) -> bool:
        """Return True if S^dagger = gamma5 S gamma5 holds; see :func:`has_mirrored_slices`."""
        return has_mirrored_slices(numbers_of(self.b5), numbers_of(self.c5), self.Ls)

    @property
    def dataset_attributes(self) -> dict[str, str | float]:
        """Return the attributes of a correlator's dataset that say which operator the quark has."""
        found: dict[str, str | float] = {"b5": _number_or_text(self.b5), "c5": _number_or_text(self.c5)}
        found |= {"M5": self.M5, "Ls": float(self.Ls)}
        if (self.nu, self.xi0) != (1, 1):
            found |= {"nu": float(self.nu), "xi0": float(self.xi0)}
        return found

    @property
    def wall_height(self) -> float | None:
        """Return M5, the height of the domain wall."""
        return self.M5

    @property
    def has_conjugate(self) -> bool:
        """Return True if gamma5 S^dagger gamma5 is the quark itself."""
        return self.is_gamma5_hermitian


def _number_or_text(value: Coefficients) -> float | str:
    """Return one coefficient as a number, and a list as a text with Python's complex numbers: 1.5+0.25j."""
    numbers = plain_coefficients(value)
    if isinstance(numbers, list):
        return " ".join(repr(z).strip("()") for z in numbers)
    return float(numbers.real)


MeasuredQuark = MeasuredWilson | MeasuredClover | MeasuredTwistedMass | MeasuredDomainWall
