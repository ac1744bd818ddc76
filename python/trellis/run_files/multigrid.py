"""Multigrid in run files: the keys of its tables, and which blocks a lattice has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from .common import FourIntegers, Table, at_key

#: The extent of a block that the rule looks for.
_WISHED = 4


class MultigridTable(Table):
    """The keys of every table of multigrid: test vectors, set-up and cycle (tr.multigrid)."""

    vectors: int = Field(
        default=20,
        ge=1,
        le=96,
        description="Test vectors; more of them mean fewer iterations, which cost more each.",
    )
    block: FourIntegers | None = Field(
        default=None,
        description="Sites of an aggregate in x, y, z, t; the lattice has an even number of them in each "
        "direction, and each rank whole ones. Default: legal extents near 4, by the lattice alone.",
    )
    sweeps: int = Field(
        default=3,
        ge=0,
        le=100,
        description="How often the set-up replaces the test vectors by a cycle of them.",
    )
    smoother: Literal["sap", "mr"] | None = Field(
        default=None,
        description="Behind the coarse correction: the Schwarz method on the blocks, or even-odd minimal "
        "residual on the lattice; default: sap where the extents of the blocks are even, else mr.",
    )
    smoothing: int | None = Field(
        default=None,
        ge=1,
        le=1000,
        description="Cycles of sap, or steps of mr, behind the coarse correction; default: 3 of those, 6 of "
        "these.",
    )
    coarse_tolerance: float = Field(
        default=0.05, gt=0, lt=1, description="To which a cycle of a solve solves the coarse operator."
    )
    seed: int = Field(
        default=1, ge=0, lt=2**63, description="Of the noise from which the test vectors begin."
    )

    def block_on(self, extents: Sequence[int]) -> tuple[int, ...]:
        """Return the extents of an aggregate on a lattice that :meth:`require_fit` allows."""
        if self.block is not None:
            return tuple(self.block)
        return tuple(min(_legal(extent), key=lambda b: abs(b - _WISHED)) for extent in extents)

    def smoother_on(self, extents: Sequence[int]) -> Literal["sap", "mr"]:
        """Return the smoother on a lattice."""
        return self.smoother or ("mr" if any(b % 2 for b in self.block_on(extents)) else "sap")

    def smoothing_on(self, extents: Sequence[int]) -> int:
        """Return the cycles or steps of the smoother on a lattice."""
        return self.smoothing or (3 if self.smoother_on(extents) == "sap" else 6)

    def require_fit(self, key: str, extents: Sequence[int]) -> None:
        """Require blocks that divide the lattice, and even ones for sap.

        Parameters
        ----------
        key
            The name of this table in the run file.

        Raises
        ------
        ValidationError
            They do not; the message names those that do.
        """
        for mu, (name, extent) in enumerate(zip("xyzt", extents, strict=True)):
            legal = _legal(extent)
            if not legal:
                raise at_key(
                    key,
                    "multigrid cuts the lattice into an even number of blocks of at least 2 sites in each "
                    f"direction, which the extent {extent} in {name} does not allow: expected another "
                    "lattice, or another solver",
                )
            b = legal[0] if self.block is None else self.block[mu]
            if b < 2 or extent % b or extent // b % 2:
                raise at_key(
                    f"{key}.block",
                    f"expected an even number of blocks of at least 2 sites in {name}, where the lattice has "
                    f"{extent} sites (legal: {', '.join(map(str, legal))})",
                    list(self.block or ()),
                )
        if self.smoother == "sap" and any(b % 2 for b in self.block_on(extents)):
            raise at_key(
                f"{key}.smoother",
                f"sap works on blocks of even extents, and these are {list(self.block_on(extents))}: "
                'expected another block, or "mr"',
                self.smoother,
            )


class MeasuredMultigridTable(MultigridTable):
    """[solver.multigrid]: test vectors, set-up and cycle of solver.type = "multigrid"."""

    directory: str | None = Field(
        default=None,
        min_length=1,
        exclude=True,  # where set-ups lie is no property of what is measured with them
        description="Keep each configuration's set-up here, multigrid.NUMBER.h5, and take from here what an "
        "earlier run has kept. Default: it is made anew by every run.",
    )


def _legal(extent: int) -> list[int]:
    """Return the extents of blocks of which a direction of the lattice has an even number."""
    return [b for b in range(2, extent // 2 + 1) if extent % b == 0 and extent // b % 2 == 0]
