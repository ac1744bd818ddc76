"""This module has the smearing of links, in the same words wherever links are smeared.

The places are [smearing] and [source.links] of `trellis measure`, and [smearing], [[measure.valence]] and
[measure.loops] of `trellis generate`.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Discriminator, Field, Tag

from ..ground.stout_limits import LARGE_RHO, MOST_RHO
from .common import StoutMatrix, StoutWeight, Table, at_key

#: More steps of smearing are a slip, and would take a day.
MOST_STEPS = 10**5


def _shape_of_rho(value: Any) -> str:
    return "matrix" if isinstance(value, list | tuple) else "number"


StoutWeights = Annotated[
    Annotated[StoutWeight, Tag("number")] | Annotated[StoutMatrix, Tag("matrix")],
    Discriminator(_shape_of_rho),
]


class StoutTable(Table):
    """This is stout smearing (Morningstar and Peardon)."""

    rho: StoutWeights = Field(
        description=f"Every staple has this weight, at most {MOST_RHO:g} in size. Above {LARGE_RHO:g} the "
        "shortest waves grow by more than half in every step, and with negative weights all waves grow: "
        "both are warned about. Four rows of four weights stand for the staples of U_mu in the plane of mu "
        "and nu in row mu, column nu (x, y, z, t), with zeros on the diagonal.",
    )
    steps: int = Field(ge=1, le=MOST_STEPS, description="The links are smeared so many times.")
    spatial: bool = Field(
        default=False, description="With true only spatial links are smeared, by their spatial staples."
    )

    @property
    def weight(self) -> str:
        """Return the weights in words: one, or those of all planes."""
        if isinstance(self.rho, float):
            return f"{self.rho:g}"
        return "/".join(f"{weight:g}" for row in self.rho for weight in row)


class ApeTable(Table):
    """This is APE smearing."""

    alpha: float = Field(gt=0, le=1, description="The mean of the staples has this weight.")
    steps: int = Field(ge=1, le=MOST_STEPS, description="The links are smeared so many times.")
    spatial: bool = Field(
        default=False, description="With true only spatial links are smeared, by their spatial staples."
    )

    @property
    def weight(self) -> str:
        """Return the weight in words."""
        return f"{self.alpha:g}"


class FlowSmearingTable(Table):
    """The gradient flow (Wilson) smears the links."""

    time: float = Field(gt=0, description="The flow ends at this time t / a^2.")


class SmearingTable(Table):
    """The table asks for smearing of links; by default there is none. APE comes first, then stout, then
    flow."""

    ape: ApeTable | None = Field(default=None, description="APE smearing comes first. The default is none.")
    stout: StoutTable | None = Field(
        default=None, description="Stout smearing follows APE smearing. The default is none."
    )
    flow: FlowSmearingTable | None = Field(
        default=None, description="Gradient flow comes last. The default is none."
    )

    @property
    def is_thin(self) -> bool:
        """Return True if links stay as they are."""
        return self.ape is None and self.stout is None and self.flow is None

    @property
    def words(self) -> str:
        """Return the smearing in words, as attributes of datasets have it: "ape 0.5x10 stout 0.1x3 flow
        1"."""
        parts = []
        for name, table in (("ape", self.ape), ("stout", self.stout)):
            if table is not None:
                parts.append(f"{name}{'_spatial' if table.spatial else ''} {table.weight}x{table.steps}")
        if self.flow is not None:
            parts.append(f"flow {self.flow.time:g}")
        return " ".join(parts) or "thin"

    def require_stout_alone(self, key: str, most_steps: int) -> None:
        """Refuse smearing that forces do not go through, and more steps than these.

        Parameters
        ----------
        key
            The table's name in the run file, for messages.
        """
        for name in ("ape", "flow"):
            if getattr(self, name) is not None:
                raise at_key(f"{key}.{name}", "forces go through stout smearing alone; leave it out")
        if self.stout is not None and self.stout.spatial:
            raise at_key(
                f"{key}.stout.spatial", "forces go through smearing of all links: expected false", True
            )
        if self.stout is not None and self.stout.steps > most_steps:
            raise at_key(f"{key}.stout.steps", f"expected at most {most_steps} steps", self.stout.steps)

    def require_spatial(self, key: str) -> None:
        """Refuse smearing of other than spatial links by spatial staples."""
        if self.flow is not None:
            raise at_key(f"{key}.flow", "flow changes temporal links, too; leave it out")
        for name, table in (("ape", self.ape), ("stout", self.stout)):
            if table is not None and not table.spatial:
                raise at_key(f"{key}.{name}", "spatial links alone are smeared here: expected spatial = true")
