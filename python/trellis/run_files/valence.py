"""This module has flavours that are measured while configurations are made, and are not in the sea:
[[measure.valence]]."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import Field

from .common import Coupling
from .quark import Quark
from .quarks import (
    BackgroundTable,
    Clover,
    Hisq,
    Staggered,
    StaggeredKind,
    TwistedMass,
    Wilson,
)
from .sea import SeaQuark
from .smearing import SmearingTable


class _Valence(Quark):
    """These are the keys of every [[measure.valence]]."""

    name: str = Field(
        pattern=r"^[A-Za-z][A-Za-z0-9_-]*$", description="The flavour has this name in the stream."
    )
    n_f: Coupling = Field(
        default=1.0,
        gt=0,
        description="Observables are summed over so many flavours; those of twisted_mass are of the doublet.",
    )


class _OnSmearedLinks(_Valence):
    """This is the smearing of the links of a valence flavour."""

    smearing: SmearingTable = Field(
        default=SmearingTable(),
        description="The links of the flavour are smeared like this; the smearing of the sea is not "
        "inherited.",
    )


class _InBackground(_Valence, StaggeredKind):
    """This is the field that a staggered valence flavour sees."""

    background: BackgroundTable = Field(
        default=BackgroundTable(),
        description="The flavour sees a field with the quanta b and e, as [background] gives that of the "
        "sea.",
    )

    def operator_arguments(self) -> dict[str, Any]:
        """Return the arguments of the operator beside the links, by their names."""
        return super().operator_arguments() | {"b": self.background.b, "e": self.background.e}


class ValenceWilson(_OnSmearedLinks, Wilson):
    """This is [[measure.valence]] of type wilson."""


class ValenceClover(_OnSmearedLinks, Clover):
    """This is [[measure.valence]] of type clover."""


class ValenceTwistedMass(_OnSmearedLinks, TwistedMass):
    """This is [[measure.valence]] of type twisted_mass."""


class ValenceStaggered(_OnSmearedLinks, _InBackground, Staggered):
    """This is [[measure.valence]] of type staggered: naive staggered quarks."""


class ValenceHisq(_InBackground, Hisq):
    """This is [[measure.valence]] of type hisq, which has its own smearing."""

    smearing: ClassVar[SmearingTable] = SmearingTable()


ValenceQuark = ValenceWilson | ValenceClover | ValenceTwistedMass | ValenceStaggered | ValenceHisq
#: This is a table of [[measure.valence]].
ValenceQuarkTable = Annotated[ValenceQuark, Field(discriminator="type")]

#: These are the classes by their types, which the sea has, too.
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
    if issubclass(kind, _OnSmearedLinks):
        given["smearing"] = smearing
    return kind.model_validate(given)
