"""This module has the solver of `trellis measure`, with the solvers inside it, and its low modes: [solver],
[deflation]."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from .common import Positive, Table, at_key
from .multigrid import MeasuredMultigridTable

_INSIDE = "This solver preconditions each step of bicgstab, gcr or mr; it may have one inside it."
_TOLERANCE = "The solver ends when |b - M x| / |b| is at most this."


class MethodTable(Table):
    """These are the keys of every solver: its method, its precision and its even-odd form."""

    type: Literal["cg", "bicgstab", "gcr", "mr"] = Field(
        default="cg",
        description="The solver has this method. cg works on the normal equations; mr converges for heavy "
        "quarks only.",
    )
    max_iterations: int = Field(
        default=10000,
        ge=1,
        description="A solve that has not converged after so many iterations is an error.",
    )
    inner_precision: Literal["double", "float", "half", "fp16"] = Field(
        default="double",
        description="The inner solver of the mixed-precision scheme stores its fields in this precision. "
        "half is 16-bit fixed point; fp16 is 16-bit floating point (faster, less accurate: for heavy "
        "quarks); double switches the scheme off. The default is half in [solver], and double in solvers "
        "inside it.",
    )
    even_odd: Literal["symmetric", "asymmetric", "none"] = Field(
        default="none",
        description="The even-odd Schur complement has this form. The default is symmetric in [solver], and "
        "none in solvers inside it.",
    )
    restart_length: int | None = Field(
        default=None,
        ge=1,
        le=1000,
        description="gcr, multigrid and auto restart after so many steps. The default is 16.",
    )
    relaxation: float | None = Field(
        default=None, gt=0, lt=2, description="Each step of mr has this factor. The default is 1."
    )
    update_threshold: float | None = Field(
        default=None,
        gt=0,
        lt=1,
        description="In mixed precision the residual is recomputed in double when it has dropped by this "
        "factor. The default depends on type and inner_precision.",
    )

    @model_validator(mode="after")
    def _keys_of_the_method(self) -> Self:
        for key, methods in (("restart_length", ("gcr", "multigrid", "auto")), ("relaxation", ("mr",))):
            if getattr(self, key) is not None and self.type not in methods:
                raise at_key(
                    key, f'expected type = "{methods[0]}" beside it, found "{self.type}"; leave it out'
                )
        if self.update_threshold is not None and self.inner_precision == "double":
            raise at_key(
                "update_threshold",
                'expected inner_precision = "float", "half" or "fp16" beside it, found "double"; '
                "leave it out",
            )
        return self

    @property
    def has_shifts(self) -> bool:
        """Return True if one solve serves several shifts of an operator, and with them several masses."""
        return self.type == "cg"

    @property
    def has_restarts(self) -> bool:
        """Return True if the method keeps the directions of its steps, from a restart to the next one."""
        return self.type in ("gcr", "multigrid", "auto")

    def _require_inside(self, inside: PreconditionerTable | None) -> None:
        """Refuse a preconditioner that the method, or its even-odd system, does not have."""
        if inside is not None and self.type == "cg":
            raise at_key(
                "preconditioner",
                "cg needs a hermitian preconditioner, which a solver is not: expected another type beside it",
            )
        if inside is not None and self.even_odd != "none" and inside.has_even_odd:
            raise at_key(
                "preconditioner",
                'the system of an even-odd solver has no even-odd form: expected even_odd = "none"',
            )


class PreconditionerTable(MethodTable):
    """The table [solver.preconditioner] has a solver inside another one, to a tolerance or of so many
    iterations."""

    fallback: ClassVar[bool] = True

    tolerance: float | None = Field(default=None, gt=0, lt=1, description=_TOLERANCE)
    iterations: int | None = Field(
        default=None, ge=1, description="The solver ends after so many iterations; it then has no tolerance."
    )
    preconditioner: PreconditionerTable | None = Field(default=None, description=_INSIDE)

    @model_validator(mode="after")
    def _ends(self) -> Self:
        if (self.iterations is None) == (self.tolerance is None):
            raise ValueError("give iterations or tolerance, and not both")
        self._require_inside(self.preconditioner)
        return self

    @property
    def has_even_odd(self) -> bool:
        """Return True if it, or a solver inside it, solves a Schur complement."""
        inside = self.preconditioner
        return self.even_odd != "none" or (inside is not None and inside.has_even_odd)


#: [solver] of type multigrid works inside as these words of its keys say: there is no other way.
_OF_MULTIGRID: dict[str, Any] = {"even_odd": "none", "inner_precision": "float"}
#: BiCGStab in [solver] of type auto works inside as these say.
_OF_AUTO: dict[str, Any] = {"even_odd": "symmetric", "inner_precision": "half"}


_BESIDE_MULTIGRID: dict[str, dict[str, Any]] = {"multigrid": _OF_MULTIGRID, "auto": _OF_AUTO}


class SolverTable(MethodTable):
    """The table [solver] says how propagators are solved for."""

    iterations: ClassVar[int | None] = None

    type: Literal["cg", "bicgstab", "gcr", "mr", "multigrid", "auto"] = Field(  # type: ignore[assignment]
        default="cg",
        description="The solver has this method. cg works on the normal equations; mr converges for heavy "
        "quarks only; multigrid is gcr with adaptive multigrid, for light wilson, clover and twisted_mass "
        "quarks: a configuration has one set-up for all sources and masses; auto takes multigrid for the "
        "quarks for which it pays, by counted work, and bicgstab for the others.",
    )
    multigrid: MeasuredMultigridTable | None = Field(
        default=None,
        description="The table has the test vectors, the set-up and the cycle of multigrid, for multigrid "
        "and auto. The default is the table's defaults.",
    )
    tolerance: float = Field(default=1e-10, gt=0, lt=1, description=_TOLERANCE)
    inner_precision: Literal["double", "float", "half", "fp16"] = Field(
        default="half",
        description=f"{MethodTable.model_fields['inner_precision'].description} With multigrid it is float.",
    )
    even_odd: Literal["symmetric", "asymmetric", "none"] = Field(
        default="symmetric",
        description=f"{MethodTable.model_fields['even_odd'].description} With multigrid it is none.",
    )
    preconditioner: PreconditionerTable | None = Field(default=None, description=_INSIDE)
    fallback: bool = Field(
        default=True,
        exclude=True,  # it is another way to the same residual
        description="A solve that is stuck goes on with a surer method (cg, then wider storage inside), and "
        "the results list its stages. With false it is an error.",
    )
    columns_per_solve: Literal[1, 2, 3, 4, 6, 12] | None = Field(
        default=None,
        description="So many of the twelve columns of a domain_wall propagator are solved together. The "
        "default is 1. Twelve of them took 0.98 to 1.14 times less time than twelve alone (the slices share "
        "the links already) and twelve times the memory. Other fermions have all twelve in one batch.",
    )

    @model_validator(mode="before")
    @classmethod
    def _values_of_multigrid(cls, given: Any) -> Any:
        if isinstance(given, dict) and given.get("type") in _BESIDE_MULTIGRID:
            return {**_BESIDE_MULTIGRID[given["type"]], "multigrid": {}, **given}
        return given

    @model_validator(mode="after")
    def _fits_inside(self) -> Self:
        self._require_inside(self.preconditioner)
        return self

    @model_validator(mode="after")
    def _keys_of_multigrid(self) -> Self:
        if self.type not in _BESIDE_MULTIGRID:
            if self.multigrid is not None:
                raise at_key(
                    "multigrid", f'expected type = "multigrid" beside it, found "{self.type}"; leave it out'
                )
            return self
        how = {
            "multigrid": "multigrid solves on all sites, with vectors in float",
            "auto": "auto has bicgstab on the even sites with 16 bits inside, or multigrid",
        }[self.type]
        for key, own in _BESIDE_MULTIGRID[self.type].items():
            if getattr(self, key) != own:
                raise at_key(key, f'{how}: expected "{own}", found "{getattr(self, key)}"; leave it out')
        for key in ("update_threshold", "preconditioner"):
            if getattr(self, key) is not None:
                raise at_key(key, f'expected another type than "{self.type}" beside it; leave it out')
        return self

    @property
    def always_has_multigrid(self) -> bool:
        """Return True if no trial decides whether quarks are solved with multigrid."""
        return self.type == "multigrid"

    @property
    def columns(self) -> int:
        """Return columns_per_solve."""
        return self.columns_per_solve or 1


class DeflationTable(Table):
    """The table [deflation] asks for low modes of the system that is solved, found once per configuration; by
    default there are none."""

    directory: str | None = Field(
        default=None,
        min_length=1,
        exclude=True,  # where modes lie is no property of what is measured with them
        description="Each configuration's modes are kept here, in modes.NUMBER.h5 and "
        "modes.NUMBER_strange.h5, and those that an earlier run has kept are taken from here. By default "
        "every run finds them anew.",
    )
    modes: int = Field(ge=1, description="So many eigenvectors of A^dagger A are found.")
    storage: Literal["double", "float", "half"] = Field(
        default="float", description="The eigenvectors are kept in this precision."
    )
    tolerance: float = Field(
        default=1e-8,
        gt=0,
        lt=1,
        description="An eigenvector is found when |A^dagger A v - lambda v| over the largest eigenvalue is "
        "at most this.",
    )
    block: int = Field(
        default=4, ge=1, description="So many right-hand sides share an application of the operator."
    )
    basis: int | None = Field(
        default=None,
        ge=3,
        description="The basis has at most so many vectors. The default is 2 modes + 4 block.",
    )
    max_restarts: int | None = Field(
        default=None,
        ge=1,
        description="The search ends with an error after so many restarts. The default is 100.",
    )
    degree: int | None = Field(
        default=None,
        ge=1,
        le=10000,
        description="The Chebyshev filter has this degree. By default it is found.",
    )
    cutoff: Positive | None = Field(
        default=None,
        description="The filter damps eigenvalues of A^dagger A from here on. By default the value is found.",
    )
    upper: Positive | None = Field(
        default=None,
        description="The spectrum of A^dagger A lies below this. By default the bound is estimated.",
    )
    reduction: float | None = Field(
        default=None,
        gt=0,
        lt=1,
        description="A solve's residual is deflated anew when it has dropped by this factor. The default is "
        "1e-4, and with storage half 1e-3.",
    )

    @model_validator(mode="after")
    def _cutoff_below_the_bound(self) -> Self:
        if self.cutoff is not None and self.upper is not None and not self.cutoff < self.upper:
            raise at_key(
                "cutoff", f"expected one below deflation.upper = {self.upper:g}, found {self.cutoff:g}"
            )
        return self
