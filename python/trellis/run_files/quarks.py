"""The quarks of `trellis measure` and how they are solved for: [fermion], [solver], [deflation]."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, ValidationError, WrapValidator, model_validator

from ..ground.action_parameters import kappa_to_mass
from ..ground.operator_records import has_mirrored_slices
from .common import (
    LARGEST,
    Coupling,
    HoppingParameter,
    Positive,
    Table,
    ThreePhases,
    at_key,
    require_diagonal,
)

#: Of the coefficients of domain walls; 1.5 and 0.5 are usual, and far from them nothing converges.
LARGEST_COEFFICIENT = 100.0


def _expecting(expected: str) -> WrapValidator:
    """Return a validator with one message for a union, which else has a message for each of its types."""

    def validate(value: Any, check: Callable[[Any], Any]) -> Any:
        try:
            return check(value)
        except ValidationError:
            raise ValueError(f"expected {expected}") from None

    return WrapValidator(validate)


_Coefficient = Annotated[float, Field(ge=-LARGEST_COEFFICIENT, le=LARGEST_COEFFICIENT)]
#: A number, or one for each slice, complex ones as [re, im].
Coefficients = Annotated[
    _Coefficient
    | Annotated[
        list[_Coefficient | Annotated[tuple[_Coefficient, _Coefficient], Field(strict=False)]],
        Field(min_length=1),
    ],
    _expecting(
        "a number, or a list with a number or [re, im] for each slice, none larger than "
        f"{LARGEST_COEFFICIENT:g}"
    ),
]


def _in_words(boundary: float | str) -> float | str:
    """Replace whole phases by their words, so that both ways to write them give the same run."""
    if isinstance(boundary, str) or not float(boundary).is_integer():
        return boundary
    return "antiperiodic" if boundary % 2 else "periodic"


TimeBoundary = Annotated[
    Literal["antiperiodic", "periodic", "dirichlet"] | Coupling,
    AfterValidator(_in_words),
    _expecting(
        '"antiperiodic", "periodic", "dirichlet", or a phase over pi (1: antiperiodic) between '
        f"{-LARGEST:g} and {LARGEST:g}"
    ),
]


def _numbers(values: Coefficients) -> list[complex]:
    """Return coefficients as complex numbers: one, or one for each slice."""
    listed = values if isinstance(values, list) else [values]
    return [complex(*z) if isinstance(z, tuple) else complex(z) for z in listed]


def _is_even(phase_over_pi: float) -> bool:
    """Return True if the phase factor is 1; the rounding of thirds is allowed for."""
    return abs(phase_over_pi - 2 * round(phase_over_pi / 2)) < 1e-9


class FermionTable(Table):
    """[fermion]: doc/conventions.md "Gamma matrices and Wilson fermions"."""

    type: Literal["wilson_clover", "moebius"] = Field(
        default="wilson_clover",
        description="moebius: domain wall, with mass as m_f; Shamir is b5 = 1, c5 = 0.",
    )
    kappa: HoppingParameter | None = Field(
        default=None, description="Hopping parameter, not 0; this or mass."
    )
    mass: Coupling | None = Field(default=None, description="Bare mass 1/(2 kappa) - 4; this or kappa.")
    csw: Coupling = Field(default=0.0, description="Clover coefficient; 0 is the Wilson operator.")
    boundary_t: TimeBoundary = Field(
        default="antiperiodic",
        description="Boundary condition of the quarks in time: a word, or a phase over pi (1: antiperiodic).",
    )
    boundary_space: ThreePhases | None = Field(
        default=None,
        description="Phases over pi for crossing the boundary in x, y, z (1: antiperiodic); default: 0. They "
        "cancel in mesons; baryons need three quarks to be periodic, multiples of 2/3.",
    )
    nu: Positive = Field(
        default=1.0, description="Anisotropy: factor of the spatial hops; moebius: of those of D_W."
    )
    xi0: Positive = Field(default=1.0, description="Anisotropy: the bare one; moebius: of D_W.")
    csw_temporal: Coupling | None = Field(
        default=None, description="Anisotropy: c_T, with csw as c_R; default: csw."
    )
    twisted_mass: Coupling = Field(
        default=0.0,
        description="mu of + i mu gamma5: that of up; down has -mu. nucleon, lambda and currents take solves "
        "for both, twice as many; mesons are up with an antiquark of down.",
    )
    b5: Coefficients = Field(
        default=1.5,
        description="moebius: D_+ = b5 D_W(-M5) + 1; one number, or a list with one for each slice, where "
        "[re, im] is a complex one (zMoebius).",
    )
    c5: Coefficients = Field(default=0.5, description="moebius: D_- = 1 - c5 D_W(-M5); the same.")
    M5: float = Field(default=1.8, ge=0.01, lt=2, description="moebius: domain-wall height.")
    Ls: int = Field(default=12, ge=2, le=32, description="moebius: slices; even for m_res.")
    link_reals: Literal[18, 12, 8] | None = Field(
        default=None,
        description="Reals of a stored link: 18, or 12 or 8 where links are special unitary. 8 saves memory "
        "traffic for arithmetic: it is meant for GPUs. Default: 12, or 18 for links rounded to 32 bits.",
    )

    strange_kappa: HoppingParameter | None = Field(
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
        other = {"kappa", "strange_kappa", "csw", "csw_temporal", "twisted_mass"}
        wrong = given & (other if self.type == "moebius" else {"b5", "c5", "M5", "Ls"})
        if wrong:
            raise ValueError(f"fermion of type {self.type} does not take {', '.join(sorted(wrong))}")
        if self.type == "moebius":
            self._require_domain_walls()
        elif not self._has_site_term:
            self._require_diagonals()
        return self

    @property
    def _has_site_term(self) -> bool:
        """True if the site term of the operator is more than a number."""
        return self.csw != 0 or bool(self.csw_temporal) or self.twisted_mass != 0

    def _require_diagonals(self) -> None:
        for key in ("mass", "kappa", "strange_mass", "strange_kappa"):
            given = getattr(self, key)
            if given is not None:
                mass = given if key.endswith("mass") else kappa_to_mass(given)
                diagonal = 1 + 3 * self.nu / self.xi0 + mass
                require_diagonal(diagonal, "1 + 3 nu / xi0 + mass", f"fermion.{key} = {given:g}")

    def _require_domain_walls(self) -> None:
        """Refuse masses that no quark has, and coefficients without a kernel.

        The kernel is (b5 + c5) D_W / (2 + (b5 - c5) D_W).
        """
        for name, mass in (("mass", self.mass), ("strange_mass", self.strange_mass)):
            if mass is not None and not -1 < mass < 1:
                raise at_key(
                    name,
                    "m_f of domain-wall quarks lies between -1 and 1 (there are no walls at 1, the "
                    f"Pauli-Villars mass), found {mass:g}",
                )
        for name, values in (("b5", self.b5), ("c5", self.c5)):
            if len(_numbers(values)) not in (1, self.Ls):
                raise at_key(
                    name,
                    f"expected one number, or one for each of the Ls = {self.Ls} slices, "
                    f"found {len(_numbers(values))}",
                )
        b5, c5 = (sum(_numbers(v)) / len(_numbers(v)) for v in (self.b5, self.c5))
        if not (b5 + c5).real > 0:
            raise ValueError(
                "fermion.b5, fermion.c5: expected b5 + c5 above 0 in the mean over the slices, found "
                f"{(b5 + c5).real:g}"
            )

    @property
    def is_uniform(self) -> bool:
        """True if all slices have one real b5 and one real c5."""
        numbers = [_numbers(self.b5), _numbers(self.c5)]
        return all(len(n) == 1 and n[0].imag == 0 for n in numbers)

    @property
    def is_gamma5_hermitian(self) -> bool:
        """True if S^dagger = gamma5 S gamma5 holds for one and the same flavour.

        It does not hold with a twisted mass; for domain walls see :func:`has_mirrored_slices`.
        """
        if self.type != "moebius":
            return self.twisted_mass == 0
        return has_mirrored_slices(_numbers(self.b5), _numbers(self.c5), self.Ls)

    @property
    def has_conjugate(self) -> bool:
        """True if gamma5 S^dagger gamma5 is the quark itself, or with a twisted mass its partner."""
        return self.is_gamma5_hermitian or self.type != "moebius"

    @property
    def has_twist(self) -> bool:
        """True if quarks are not periodic in space."""
        return any(not _is_even(phase) for phase in self.boundary_space or ())

    @property
    def has_periodic_baryons(self) -> bool:
        """True if three quarks together are periodic in space."""
        return all(_is_even(3 * phase) for phase in self.boundary_space or ())

    @property
    def has_strange(self) -> bool:
        """True if a second flavour is given."""
        return self.strange_kappa is not None or self.strange_mass is not None


class SolverTable(Table):
    """[solver]: how propagators are solved for."""

    type: Literal["cg", "bicgstab", "gcr", "mr"] = Field(
        default="cg", description="cg works on the normal equations; mr converges for heavy quarks only."
    )
    tolerance: float = Field(default=1e-10, gt=0, lt=1, description="Of |b - M x| / |b|.")
    max_iterations: int = Field(
        default=10000, ge=1, description="Of a solve; one that has not converged by then is an error."
    )
    inner_precision: Literal["double", "float", "half", "fp16"] = Field(
        default="half",
        description="Storage in the inner solver of the mixed-precision scheme; half is 16-bit fixed point, "
        "fp16 16-bit floating point (faster, less accurate: for heavy quarks); double switches the scheme "
        "off.",
    )
    even_odd: Literal["symmetric", "asymmetric", "none"] = Field(
        default="symmetric", description="Form of the even-odd Schur complement."
    )
    restart_length: int | None = Field(
        default=None, ge=1, le=1000, description="gcr: steps between restarts; default: 16."
    )
    relaxation: float | None = Field(
        default=None, gt=0, lt=2, description="mr: factor of each step; default: 1."
    )
    update_threshold: float | None = Field(
        default=None,
        gt=0,
        lt=1,
        description="Mixed precision: the residual is recomputed in double when it has dropped by this "
        "factor; default: by type and inner_precision.",
    )
    fallback: bool = Field(
        default=True,
        exclude=True,  # another way to the same residual
        description="A solve that is stuck goes on with a surer method (cg, then wider storage inside), "
        "and the results list its stages; false: it is an error.",
    )
    columns_per_solve: Literal[1, 2, 3, 4, 6, 12] | None = Field(
        default=None,
        description="moebius: how many of a propagator's twelve columns are solved together; default: 1. 12 "
        "of them took 0.98 to 1.14 times less time than 12 alone (the slices share the links already) and "
        "twelve times the memory. Other fermions have all twelve in one batch.",
    )

    @model_validator(mode="after")
    def _keys_of_the_method(self) -> Self:
        for key, method in (("restart_length", "gcr"), ("relaxation", "mr")):
            if getattr(self, key) is not None and self.type != method:
                raise at_key(
                    key, f'expected solver.type = "{method}" beside it, found "{self.type}"; leave it out'
                )
        if self.update_threshold is not None and self.inner_precision == "double":
            raise at_key(
                "update_threshold",
                'expected solver.inner_precision = "float", "half" or "fp16" beside it, found "double"; '
                "leave it out",
            )
        return self

    @property
    def columns(self) -> int:
        """columns_per_solve."""
        return self.columns_per_solve or 1


class DeflationTable(Table):
    """[deflation]: low modes of the system that is solved, found once per configuration; none by default."""

    directory: str | None = Field(
        default=None,
        min_length=1,
        exclude=True,  # where modes lie is no property of what is measured with them
        description="Keep each configuration's modes here, modes.NUMBER.h5 and modes.NUMBER_strange.h5, and "
        "take from here what an earlier run has kept. Default: they are found anew by every run.",
    )
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
    max_restarts: int | None = Field(
        default=None, ge=1, description="The search ends there with an error; default: 100."
    )
    degree: int | None = Field(
        default=None, ge=1, le=10000, description="Of the Chebyshev filter; default: found."
    )
    cutoff: Positive | None = Field(
        default=None, description="The filter damps eigenvalues of A^dagger A from here on; default: found."
    )
    upper: Positive | None = Field(
        default=None, description="A bound of the spectrum of A^dagger A; default: estimated."
    )
    reduction: float | None = Field(
        default=None,
        gt=0,
        lt=1,
        description="A solve's residual is deflated anew when it has dropped by this factor; default: 1e-4, "
        "with storage half 1e-3.",
    )

    @model_validator(mode="after")
    def _cutoff_below_the_bound(self) -> Self:
        if self.cutoff is not None and self.upper is not None and not self.cutoff < self.upper:
            raise at_key(
                "cutoff", f"expected one below deflation.upper = {self.upper:g}, found {self.cutoff:g}"
            )
        return self
