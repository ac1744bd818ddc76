"""Flavours that are measured while configurations are made, and are not in the sea: [[measure.valence]]."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from ..ground.stout_limits import LARGE_RHO, MOST_RHO
from .common import Coupling, StoutMatrix, StoutWeight, at_key
from .quarks import (
    BackgroundTable,
    Clover,
    Hisq,
    Quark,
    Staggered,
    StaggeredKind,
    TwistedMass,
    Wilson,
)
from .sea import SeaQuark, SmearingTable


class _Valence(Quark):
    """The keys of every [[measure.valence]]."""

    name: str = Field(pattern=r"^[A-Za-z][A-Za-z0-9_-]*$", description="In the stream.")
    n_f: Coupling = Field(
        default=1.0,
        gt=0,
        description="Observables are summed over so many flavours; those of twisted_mass are of the doublet.",
    )


class _OnStoutLinks(_Valence):
    """The stout smearing of the links of a valence flavour."""

    rho: StoutWeight = Field(
        default=0.0,
        description=f"Stout weight of its links, at most {MOST_RHO:g} in size; warned about below 0 and "
        f"above {LARGE_RHO:g}.",
    )
    rho_mu_nu: StoutMatrix | None = Field(
        default=None, description="In the place of rho: a weight for each plane, as in [smearing]."
    )
    levels: int = Field(default=0, ge=0, le=20, description="Stout levels of its links.")

    @model_validator(mode="after")
    def _one_weight(self) -> Self:
        if self.rho != 0 and self.rho_mu_nu is not None:
            raise at_key("rho_mu_nu", "give rho or rho_mu_nu, and not both")
        return self

    @property
    def weights(self) -> float | StoutMatrix:
        """The weights of stout smearing, as :meth:`trellis.GaugeField.stout` takes them for rho."""
        return self.rho if self.rho_mu_nu is None else self.rho_mu_nu


class _InBackground(_Valence, StaggeredKind):
    """The field that a staggered valence flavour sees."""

    background: BackgroundTable = Field(
        default=BackgroundTable(), description="Quanta b and e, as in [background] of the sea."
    )


class ValenceWilson(_OnStoutLinks, Wilson):
    """[[measure.valence]] of type wilson."""


class ValenceClover(_OnStoutLinks, Clover):
    """[[measure.valence]] of type clover."""


class ValenceTwistedMass(_OnStoutLinks, TwistedMass):
    """[[measure.valence]] of type twisted_mass."""


class ValenceStaggered(_OnStoutLinks, _InBackground, Staggered):
    """[[measure.valence]] of type staggered: naive staggered quarks."""


class ValenceHisq(_InBackground, Hisq):
    """[[measure.valence]] of type hisq, which has its own smearing."""

    @property
    def weights(self) -> float:
        """No stout smearing."""
        return 0.0

    @property
    def levels(self) -> int:
        """No stout smearing."""
        return 0


ValenceQuark = ValenceWilson | ValenceClover | ValenceTwistedMass | ValenceStaggered | ValenceHisq
#: A table of [[measure.valence]].
ValenceQuarkTable = Annotated[ValenceQuark, Field(discriminator="type")]

#: By their types, which are those of the sea, too.
VALENCE_QUARKS: dict[str, type[ValenceQuark]] = {
    "wilson": ValenceWilson,
    "clover": ValenceClover,
    "twisted_mass": ValenceTwistedMass,
    "staggered": ValenceStaggered,
    "hisq": ValenceHisq,
}


def as_valence(quark: SeaQuark, smearing: SmearingTable, background: BackgroundTable) -> ValenceQuark:
    """Return a flavour of the sea as one that is measured, with the links and the field that it sees."""
    kind = VALENCE_QUARKS[quark.type]
    given = {key: value for key, value in quark if key in kind.model_fields}
    if isinstance(quark, StaggeredKind):
        given["background"] = background
    if issubclass(kind, _OnStoutLinks):
        given |= {"rho": smearing.rho or 0.0, "rho_mu_nu": smearing.rho_mu_nu, "levels": smearing.levels}
    return kind.model_validate(given)
