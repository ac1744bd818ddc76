"""This module has multigrid in run files: the keys of its tables, and which blocks a lattice has."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field

from .common import FourIntegers, Table, at_key

#: The rule looks for blocks of this extent.
_WISHED = 4
#: On coarse lattices it looks for this extent.
_WISHED_OF_COARSE = 2
#: The second lattice has more sites than these where there is a third by the rule, with blocks of so many.
_SITES_OF_TWO_LEVELS, _LEAST_BLOCK = 4096, 8
#: A level has so many times the test vectors of the level above, and at most so many.
_OF_LEVEL_ABOVE, _MOST_VECTORS = 1.4, 96

_Vectors = Annotated[int, Field(ge=1, le=_MOST_VECTORS)]


class MultigridTable(Table):
    """These are the keys of every table of multigrid: test vectors, set-up and cycle (tr.multigrid)."""

    levels: int | None = Field(
        default=None,
        ge=2,
        le=8,
        description="Lattices, the finest one included. Default: as many as vectors or block list; else "
        "three where the second lattice has more than 4096 sites, which blocks of 8 or more fit, else two.",
    )
    vectors: _Vectors | list[_Vectors] = Field(
        default=20,
        description="Test vectors, or a list, of each level but the coarsest; more of them mean fewer "
        "iterations, which cost more each. Default of a coarse level: 1.4 times those of the level above.",
    )
    block: FourIntegers | list[FourIntegers] | None = Field(
        default=None,
        description="Sites of an aggregate in x, y, z, t, or a list of blocks, of each level but the "
        "coarsest; a lattice has an even number of them in each direction, and each rank whole ones. "
        "Default: legal extents near 4, and near 2 on coarse lattices, by the lattice alone.",
    )
    cycle: Literal["k", "v"] = Field(
        default="k",
        description="What levels between the finest and the coarsest do with a residual: flexible GCR with "
        "their cycle as preconditioner, or one cycle.",
    )
    sweeps: int | None = Field(
        default=None,
        ge=0,
        le=100,
        description="How often the set-up replaces the test vectors by a cycle of them. Default: as often as "
        "pays for the right-hand sides of the run, by counted work.",
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
    coarse_solver: Literal["gcr", "schwarz"] = Field(
        default="gcr",
        description="Of the coarse operator: gcr alone, or with the additive Schwarz method on boxes of 2^4 "
        "coarse sites inside, which asks for fewer messages and sums on many nodes.",
    )
    coarse_ranks: int = Field(
        default=0,
        ge=0,
        exclude=True,  # no bit depends on it
        description="Ranks that have the coarse lattice, at most; the others sleep while these solve on it. "
        "0: all, or fewer where a rank would have less than 4 coarse sites.",
    )
    prolongator_storage: Literal["half", "single"] = Field(
        default="half",
        description="In which cycles read P: 16-bit fixed point, or single precision, from twice the memory.",
    )
    seed: int = Field(
        default=1, ge=0, lt=2**63, description="Of the noise from which the test vectors begin."
    )

    @property
    def first_vectors(self) -> int:
        """Return the number of test vectors of the finest lattice."""
        return self.vectors[0] if isinstance(self.vectors, list) else self.vectors

    def block_on(self, extents: Sequence[int]) -> tuple[int, ...]:
        """Return the extents of an aggregate on a lattice that :meth:`require_fit` allows."""
        given = self._given_blocks()
        if given:
            return given[0]
        return tuple(min(_legal(extent), key=lambda b: abs(b - _WISHED)) for extent in extents)

    def levels_on(self, extents: Sequence[int]) -> int:
        """Return the number of levels on a lattice."""
        if self.levels is not None:
            return self.levels
        listed = max(len(self._given_blocks()), len(self.vectors) if isinstance(self.vectors, list) else 0)
        if listed > 1:
            return listed + 1
        second = _coarse(extents, self.block_on(extents))
        block = [_nearest_coarse(extent) for extent in second]
        return 3 if math.prod(second) > _SITES_OF_TWO_LEVELS and math.prod(block) >= _LEAST_BLOCK else 2

    def blocks_on(self, extents: Sequence[int]) -> list[tuple[int, ...]]:
        """Return the blocks of all levels but the coarsest."""
        given, blocks, lattice = self._given_blocks(), [self.block_on(extents)], tuple(extents)
        for level in range(1, self.levels_on(extents) - 1):
            lattice = _coarse(lattice, blocks[-1])
            blocks.append(given[level] if level < len(given) else tuple(map(_nearest_coarse, lattice)))
        return blocks

    def vectors_on(self, extents: Sequence[int]) -> list[int]:
        """Return the test vectors of all levels but the coarsest."""
        numbers = list(self.vectors) if isinstance(self.vectors, list) else [self.vectors]
        for block in self.blocks_on(extents)[len(numbers) :]:
            rule = math.floor(_OF_LEVEL_ABOVE * numbers[-1] + 0.5)
            numbers.append(min(rule, _MOST_VECTORS, math.prod(block) * numbers[-1]))
        return numbers

    def _given_blocks(self) -> list[tuple[int, ...]]:
        if self.block is None:
            return []
        return [tuple(b) for b in self.block] if isinstance(self.block, list) else [tuple(self.block)]

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
            given = self._given_blocks()
            b = given[0][mu] if given else legal[0]
            if b < 2 or extent % b or extent // b % 2:
                raise at_key(
                    f"{key}.block",
                    f"expected an even number of blocks of at least 2 sites in {name}, where the lattice has "
                    f"{extent} sites (legal: {', '.join(map(str, legal))})",
                    list(given[0]),
                )
        self._require_fit_of_coarse(key, extents)
        if self.smoother == "sap" and any(b % 2 for b in self.block_on(extents)):
            raise at_key(
                f"{key}.smoother",
                f"sap works on blocks of even extents, and these are {list(self.block_on(extents))}: "
                'expected another block, or "mr"',
                self.smoother,
            )

    def _require_fit_of_coarse(self, key: str, extents: Sequence[int]) -> None:
        levels = self.levels_on(extents)
        for name in ("vectors", "block"):
            listed = self.vectors if name == "vectors" else self._given_blocks()
            if isinstance(listed, list) and len(listed) > levels - 1:
                raise at_key(
                    f"{key}.{name}",
                    f"expected at most {levels - 1} of them for {levels} levels, found {len(listed)}",
                    getattr(self, name),
                )
        lattice = tuple(extents)
        blocks = self.blocks_on(extents)
        for level, block in enumerate(blocks):
            if level > 0:
                self._require_coarse_block(key, lattice, block)
            lattice = _coarse(lattice, block)

    @staticmethod
    def _require_coarse_block(key: str, lattice: Sequence[int], block: Sequence[int]) -> None:
        for name, extent, b in zip("xyzt", lattice, block, strict=True):
            if b not in _legal_coarse(extent):
                raise at_key(
                    f"{key}.block",
                    f"expected an even number of blocks in {name}, where the coarse lattice has {extent} "
                    f"sites (legal: {', '.join(map(str, _legal_coarse(extent)))})",
                    list(block),
                )
        if math.prod(block) < 2:
            raise at_key(
                f"{key}.levels",
                f"expected fewer levels: the coarse lattice {list(lattice)} has no coarser one",
                list(block),
            )


class MeasuredMultigridTable(MultigridTable):
    """The table [solver.multigrid] has test vectors, set-up and cycle of solver.type = "multigrid" or
    "auto"."""

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


def _legal_coarse(extent: int) -> list[int]:
    """Return the extents of blocks of which a direction of a coarse lattice has an even number."""
    return [b for b in range(1, extent // 2 + 1) if extent % b == 0 and extent // b % 2 == 0]


def _nearest_coarse(extent: int) -> int:
    return min(_legal_coarse(extent), key=lambda b: abs(b - _WISHED_OF_COARSE))


def _coarse(extents: Sequence[int], block: Sequence[int]) -> tuple[int, ...]:
    return tuple(extent // b for extent, b in zip(extents, block, strict=True))
