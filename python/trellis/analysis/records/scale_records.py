"""An ensemble has a scale, which a user states; physical units follow from it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from .record import Record, format_error

#: This is hbar c in MeV fm, exact since 2019 (CODATA 2018): 1.054571817e-34 J s times 299792458 m/s.
HBAR_C = 197.3269804

_Positive = Annotated[float, Field(gt=0)]
_Error = Annotated[float, Field(ge=0)]
_WithError = Annotated[tuple[_Positive, _Error], Field(strict=False)]


class ScaleOptions(BaseModel):
    """This is a length in fm with its error that is known in lattice units, too."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    quantity: Literal["a", "sqrt_t0", "w0", "r0"] = Field(
        description="The scale: the lattice spacing a itself, the square root of the flow time t0, "
        "w0, or the "
        "Sommer scale r0."
    )
    fm: _WithError = Field(description="Its value in fm and the error of that.")
    lattice_units: _WithError | None = Field(
        default=None,
        description="quantity / a and its error on this ensemble. The default for sqrt_t0 and w0 is what the "
        "stream of the analysis gives; a has none.",
    )


class ScaleResult(Record):
    """This is the lattice spacing; its error is that of both, the scale in fm and in lattice units.

    extents_fm is (Lx, Ly, Lz, Lt) times a; it is None where files do not say the spatial extents.
    """

    quantity: str
    a_fm: float
    a_fm_error: float
    inverse_a_gev: float
    inverse_a_gev_error: float
    lattice_units: tuple[float, float] | None
    extents_fm: tuple[float, float, float, float] | None


class PhysicalMass(Record):
    """This is a mass in MeV: error^2 = own_error^2 + scale_error^2; the scale's error
    is one for all masses.
    """

    mev: float
    error: float
    own_error: float
    scale_error: float

    @property
    def formatted(self) -> str:
        """Return value(error)."""
        return format_error(self.mev, self.error)
