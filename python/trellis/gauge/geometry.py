"""This module has lattices, and how they are cut over ranks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

from ..ground.arguments import integers
from ..ground.compiled_core import load
from ..ground.tuning import prepare

if TYPE_CHECKING:
    from .. import _core

FourIntegers = Sequence[int]
T = TypeVar("T")


def in_four_directions(values: Sequence[T]) -> tuple[T, T, T, T]:
    """Return the core's four values for x, y, z, t as a tuple of known length."""
    x, y, z, t = values
    return x, y, z, t


class Geometry:
    """This is the lattice, and how it is cut over ranks.

    Parameters
    ----------
    extents
        Lx, Ly, Lz, Lt; each even or 1. Quarks, flow and charge need at least 2.
    grid
        Ranks in x, y, z, t; default: the grid with the least communication.

    Raises
    ------
    BadArgument
        An extent is odd and not 1, or the lattice cannot be cut like that; the message lists the legal grids.
    """

    def __init__(self, extents: FourIntegers, grid: FourIntegers | None = None) -> None:
        prepare()
        self._core: _core.Lattice = load().make_lattice(integers("extents", extents, 4), grid_or_zeros(grid))

    @classmethod
    def _of(cls, core: _core.Lattice) -> Geometry:
        geometry = cls.__new__(cls)
        geometry._core = core
        return geometry

    @property
    def extents(self) -> tuple[int, int, int, int]:
        """Return Lx, Ly, Lz, Lt of the whole lattice."""
        return in_four_directions(self._core.extents)

    @property
    def local_extents(self) -> tuple[int, int, int, int]:
        """Return the extents of this rank's part."""
        return in_four_directions(self._core.local_extents)

    @property
    def origin(self) -> tuple[int, int, int, int]:
        """Return x, y, z, t of the first site of this rank."""
        return in_four_directions(self._core.origin)

    @property
    def grid(self) -> tuple[int, int, int, int]:
        """Return the numbers of ranks in x, y, z, t."""
        return in_four_directions(self._core.grid)

    @property
    def volume(self) -> int:
        """Return the number of sites of the whole lattice."""
        return self._core.volume

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Geometry) and self._core == other._core

    def __hash__(self) -> int:
        return hash((self.extents, self.grid))

    def __reduce__(self) -> tuple[type[Geometry], tuple[FourIntegers, FourIntegers]]:
        return Geometry, (self.extents, self.grid)

    def __repr__(self) -> str:
        x, y, z, t = self.extents
        return f"Geometry(({x}, {y}, {z}, {t}), grid={self.grid})"


def grid_or_zeros(grid: FourIntegers | None) -> list[int]:
    """Return the numbers of a process grid as the core takes them; zeros leave the choice to it."""
    return [0, 0, 0, 0] if grid is None else integers("grid", grid, 4)
