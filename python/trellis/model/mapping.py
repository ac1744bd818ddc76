"""Ranks lie on nodes in boxes, orders or by a file; faces of a rank leave its node or stay there.

Rank numbers run x fastest over the process grid, as those of trellis do; an order places them on nodes.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..ground.errors import BadArgument, FileError

Coordinates = tuple[int, ...]
#: A cut direction of at least this local extent has room for hops over three sites.
_ROOM = 4


@dataclass(frozen=True)
class RankMap:
    """This is a process grid, and the node of each rank.

    Attributes
    ----------
    grid
        Ranks in x, y, z, t.
    nodes
        Node of each rank, an array of the grid's shape: nodes[x, y, z, t].
    places
        Place of each rank on its node, from 0, likewise.
    """

    grid: Coordinates
    nodes: NDArray[np.int64]
    places: NDArray[np.int64]

    @property
    def node_count(self) -> int:
        """Return the number of nodes."""
        return int(self.nodes.max()) + 1

    @property
    def most_on_a_node(self) -> int:
        """Return the number of ranks on the fullest node."""
        return int(np.bincount(self.nodes.ravel()).max())

    def leaves_node(self, mu: int, step: int) -> NDArray[np.bool_]:
        """Return for each rank whether its neighbour in this direction is on another node."""
        return np.asarray(np.roll(self.nodes, -step, axis=mu) != self.nodes)

    def is_box(self) -> bool:
        """Return True if the ranks of each node fill a box of the grid, all of one shape."""
        shapes = set()
        for node in range(self.node_count):
            where = np.argwhere(self.nodes == node)
            shape = tuple(int(n) for n in where.max(axis=0) - where.min(axis=0) + 1)
            if math.prod(shape) != len(where):
                return False
            shapes.add(shape)
        return len(shapes) == 1


def by_order(grid: Sequence[int], ranks_per_node: int, order: str = "xyzt") -> RankMap:
    """Place ranks on nodes in the order of their coordinates; the order's first direction runs fastest.

    Raises
    ------
    BadArgument
        The order is not one of the four directions' names.
    """
    if sorted(order) != sorted("xyzt"[: len(grid)]):
        raise BadArgument(f"expected an order of x, y, z and t such as xyzt (x fastest), found {order!r}")
    axes = ["xyzt".index(letter) for letter in order]
    coordinates = np.indices(tuple(grid))
    number = np.zeros(tuple(grid), dtype=np.int64)
    stride = 1
    for axis in axes:
        number += stride * coordinates[axis]
        stride *= grid[axis]
    return RankMap(tuple(grid), number // ranks_per_node, number % ranks_per_node)


def by_box(grid: Sequence[int], box: Sequence[int]) -> RankMap:
    """Give each node a box of the grid.

    Raises
    ------
    BadArgument
        The box does not divide the grid.
    """
    if any(n % b for n, b in zip(grid, box, strict=True)):
        raise BadArgument(f"expected a box that divides the grid {tuple(grid)}, found {tuple(box)}")
    nodes = np.zeros(tuple(grid), dtype=np.int64)
    places = np.zeros(tuple(grid), dtype=np.int64)
    node_stride = place_stride = 1
    for axis, coordinate in enumerate(np.indices(tuple(grid))):
        nodes += node_stride * (coordinate // box[axis])
        places += place_stride * (coordinate % box[axis])
        node_stride *= grid[axis] // box[axis]
        place_stride *= box[axis]
    return RankMap(tuple(grid), nodes, places)


def from_file(path: Path | str, grid: Sequence[int]) -> RankMap:
    """Read the node of each rank, a number a line, ranks x fastest.

    Raises
    ------
    FileError
        The file cannot be read, or has not a number for each rank.
    """
    try:
        words = Path(path).read_text(encoding="utf-8").split()
        numbers = np.array([int(word) for word in words], dtype=np.int64)
    except OSError as error:
        raise FileError(f"{path}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise FileError(f"{path}: expected a whole number for each rank: {error}") from error
    ranks = math.prod(grid)
    if len(numbers) != ranks:
        raise FileError(f"{path}: expected the nodes of {ranks} ranks, found {len(numbers)}")
    _, nodes = np.unique(numbers, return_inverse=True)
    places = np.zeros(ranks, dtype=np.int64)
    for node in range(int(nodes.max()) + 1):
        mine = np.flatnonzero(nodes == node)
        places[mine] = np.arange(len(mine))
    shape = tuple(grid)
    return RankMap(shape, nodes.reshape(shape, order="F"), places.reshape(shape, order="F"))


def surface(ranks: RankMap, local: Sequence[int]) -> float:
    """Return the largest number of face sites of a node whose neighbours lie on other nodes."""
    size = math.prod(local)
    sites = np.zeros(ranks.grid)
    for mu, step in itertools.product(range(len(ranks.grid)), (1, -1)):
        if ranks.grid[mu] > 1:
            sites += ranks.leaves_node(mu, step) * (size // local[mu])
    return float(np.bincount(ranks.nodes.ravel(), weights=sites.ravel()).max())


def best_box(grid: Sequence[int], ranks_per_node: int, local: Sequence[int]) -> Coordinates:
    """Return the box of the grid with the least surface between nodes, that of trellis::group_by_node.

    If several have that surface, the least in the order of x, then y, z and t is taken.

    Raises
    ------
    BadArgument
        No box of so many ranks divides the grid.
    """
    found = [
        (_box_surface(grid, box, local), box)
        for box in factorisations(ranks_per_node, len(grid))
        if all(n % b == 0 for n, b in zip(grid, box, strict=True))
    ]
    if not found:
        raise BadArgument(
            f"expected a box of {ranks_per_node} ranks in the grid {tuple(grid)}; there is none"
        )
    least = min(size for size, _ in found)
    return min(box for size, box in found if size <= least * (1 + 1e-12))


def _box_surface(grid: Sequence[int], box: Sequence[int], local: Sequence[int]) -> float:
    node = [b * n for b, n in zip(box, local, strict=True)]
    size = math.prod(node)
    return sum(2 * size / node[mu] for mu in range(len(grid)) if grid[mu] > box[mu])


def factorisations(count: int, parts: int) -> list[Coordinates]:
    """Return all ways to write a number as a product of so many factors, in order."""
    if parts == 1:
        return [(count,)]
    return [
        (first, *rest) for first in _divisors(count) for rest in factorisations(count // first, parts - 1)
    ]


@cache
def _divisors(count: int) -> list[int]:
    small = [n for n in range(1, math.isqrt(count) + 1) if count % n == 0]
    return small + [count // n for n in reversed(small) if n * n != count]


def primes(count: int) -> list[int]:
    """Return the prime factors of a number, the largest first."""
    found, candidate = [], 2
    while count > 1:
        while count % candidate == 0:
            found.append(candidate)
            count //= candidate
        candidate += 1
    return found[::-1]


def least_surface_grid(extents: Sequence[int], ranks: int) -> Coordinates:
    """Return the process grid with the least surface a rank, as choose_process_grid of the core takes it.

    Local extents are even; those of cut directions are at least 4 where that is possible. If several grids
    have that surface, the one that cuts later directions more is taken.

    Raises
    ------
    BadArgument
        No grid leaves even local extents.
    """
    legal = [
        grid
        for grid in factorisations(ranks, len(extents))
        if all(n % (2 * g) == 0 for n, g in zip(extents, grid, strict=True))
    ]
    roomy = [
        grid for grid in legal if all(g == 1 or n // g >= _ROOM for n, g in zip(extents, grid, strict=True))
    ]
    if not legal:
        raise BadArgument(f"no process grid of {ranks} ranks leaves even local extents of {tuple(extents)}")
    size = math.prod(extents) // ranks

    def surface_of(grid: Coordinates) -> int:
        return sum(size // (n // g) for n, g in zip(extents, grid, strict=True) if g > 1)

    chosen = roomy or legal
    least = min(map(surface_of, chosen))
    return max((grid for grid in chosen if surface_of(grid) == least), key=lambda grid: grid[::-1])


def spin_grid(extents: Sequence[int], ranks: int) -> Coordinates:
    """Return the process grid of a spin glass (x, y, z, samples) with the fewest bonds between ranks.

    Samples are cut first, for no bond leads from one to another (choose_spin_grid of the core).

    Raises
    ------
    BadArgument
        No grid of so many ranks divides the lattice.
    """
    legal = [
        grid
        for grid in factorisations(ranks, len(extents))
        if all(n % g == 0 for n, g in zip(extents, grid, strict=True))
    ]
    if not legal:
        raise BadArgument(f"no grid of {ranks} ranks divides the lattice {tuple(extents)} (x, y, z, samples)")
    size = math.prod(extents) // ranks
    return min(legal, key=lambda grid: sum(size * grid[mu] // extents[mu] for mu in range(3) if grid[mu] > 1))


def qmp_grid(extents: Sequence[int], ranks: int) -> Coordinates:
    """Return the grid by the rule of QMP: the largest prime goes to the longest local extent.

    Ties go to a direction that is cut already, else to the last. (usqcd-software/qmp, QMP_topology.c)
    """
    local, grid = list(extents), [1] * len(extents)
    for prime in primes(ranks):
        possible = [mu for mu in range(len(extents)) if local[mu] % prime == 0]
        if not possible:
            raise BadArgument(f"no direction of {tuple(extents)} can be cut by {prime}")
        longest = max(local[mu] for mu in possible)
        mu = max((mu for mu in possible if local[mu] == longest), key=lambda mu: (grid[mu] > 1, mu))
        local[mu] //= prime
        grid[mu] *= prime
    return tuple(grid)
