"""This module has the places of ranks on the process grid, and the surface between nodes that they make.

Nothing here loads the compiled part: models and forecasts use it where no core is. The rules are those of
src/trellis/lattice/rank_map.cpp and geometry.cpp (``group_by_node``); tests compare the two.

Places are numbered with x fastest, as sites are. A map is a list with the rank of each place.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Literal, get_args

from .errors import BadArgument

#: These are four numbers, in x, y, z, t.
Extents = tuple[int, int, int, int]
#: "box" puts the ranks of a node side by side; the others put ranks in their order.
RankOrder = Literal["box", "x_fastest", "time_fastest"]


def rank_places(order: RankOrder, lattice: Extents, grid: Extents, nodes: Sequence[int]) -> list[int]:
    """Return the rank of each place of the grid.

    Parameters
    ----------
    nodes
        The node of each rank, any numbers. Where nodes do not have as many ranks each as a box of the grid,
        "box" is "x_fastest".

    Raises
    ------
    BadArgument
        The order is none of the three, the grid does not divide the lattice, or there is not one node for
        each rank.
    """
    _check(lattice, grid, len(nodes))
    if order not in get_args(RankOrder):
        raise BadArgument(f"rank order: expected one of {', '.join(get_args(RankOrder))}, found {order!r}")
    if order == "time_fastest":
        return _time_fastest(grid)
    if order == "x_fastest":
        return list(range(len(nodes)))
    return _in_boxes(lattice, grid, nodes)


def node_box(lattice: Extents, grid: Extents, ranks: int) -> Extents | None:
    """Return the box of ``ranks`` places with the least surface to other boxes; None where none fits."""
    _check(lattice, grid, math.prod(grid))
    least, best = math.inf, None
    # x is the outermost loop: of equal boxes the first one stays, as in the compiled rule
    for x, y, z, t in itertools.product(*(_divisors(extent) for extent in grid)):
        box = (x, y, z, t)
        if math.prod(box) != ranks:
            continue
        surface = sum(
            extent / (length * part)
            for extent, length, part in zip(grid, lattice, box, strict=True)
            if extent > part
        )
        if surface < least:
            least, best = surface, box
    return best


def surface_between_nodes(
    lattice: Extents, grid: Extents, rank_at: Sequence[int], nodes: Sequence[int]
) -> int:
    """Return the sites of all faces from a node to others, forwards and backwards; the node with the most
    counts.

    Parameters
    ----------
    rank_at
        The rank of each place, x fastest.
    nodes
        The node of each rank.
    """
    _check(lattice, grid, len(nodes))
    local = [length // extent for length, extent in zip(lattice, grid, strict=True)]
    sites = dict.fromkeys(nodes, 0)
    for place in _places(grid):
        node = nodes[rank_at[_index(place, grid)]]
        for mu, step in itertools.product(range(4), (1, -1)):
            neighbour = list(place)
            neighbour[mu] = (place[mu] + step) % grid[mu]
            if nodes[rank_at[_index(neighbour, grid)]] != node:
                sites[node] += math.prod(local) // local[mu]
    return max(sites.values())


def nodes_are_boxes(grid: Extents, rank_at: Sequence[int], nodes: Sequence[int]) -> bool:
    """Return True if the places of each node fill a box of the grid.

    A node that is no box sends more than it must: some of its ranks have no neighbour beside them.
    """
    places: dict[int, list[Extents]] = {}
    for place in _places(grid):
        places.setdefault(nodes[rank_at[_index(place, grid)]], []).append(place)
    return all(_is_box(those) for those in places.values())


def grid_by_primes(lattice: Extents, ranks: int) -> Extents:
    """Return the process grid that QMP's rule chooses.

    It cuts the longest local extent, by the largest prime first. Of equal extents it takes one that is cut
    already, else the last (usqcd-software/qmp, lib/QMP_topology.c).
    Trellis takes the grid with the least surface instead; this one is for comparison.

    Raises
    ------
    BadArgument
        A prime of the number of ranks divides no local extent.
    """
    local, grid = list(lattice), [1, 1, 1, 1]
    for prime in _primes(ranks):
        divisible = [mu for mu in range(4) if local[mu] % prime == 0]
        if not divisible:
            raise BadArgument(f"lattice {lattice}: no local extent of {local} can be cut by {prime}")
        longest = max(local[mu] for mu in divisible)
        equal = [mu for mu in divisible if local[mu] == longest]
        mu = ([mu for mu in equal if grid[mu] > 1] or equal)[-1]
        local[mu] //= prime
        grid[mu] *= prime
    return (grid[0], grid[1], grid[2], grid[3])


def nodes_in_turn(ranks: int, ranks_per_node: int) -> list[int]:
    """Return the node of each rank where ranks fill one node after the other."""
    return [rank // ranks_per_node for rank in range(ranks)]


def _check(lattice: Extents, grid: Extents, ranks: int) -> None:
    if math.prod(grid) != ranks:
        raise BadArgument(f"grid {grid}: expected {math.prod(grid)} ranks, found {ranks}")
    for length, extent in zip(lattice, grid, strict=True):
        if extent < 1 or length % extent != 0:
            raise BadArgument(f"lattice {lattice} cannot be cut by the grid {grid}")


def _places(grid: Extents) -> list[Extents]:
    """Return all places, x fastest."""
    backwards = itertools.product(*(range(extent) for extent in reversed(grid)))
    return [(x, y, z, t) for t, z, y, x in backwards]


def _index(place: Sequence[int], grid: Extents) -> int:
    return place[0] + grid[0] * (place[1] + grid[1] * (place[2] + grid[2] * place[3]))


def _time_fastest(grid: Extents) -> list[int]:
    x_extent, y_extent, z_extent, t_extent = grid
    return [
        t + t_extent * (z + z_extent * (y + y_extent * x))
        for x, y, z, t in _places((x_extent, y_extent, z_extent, t_extent))
    ]


def _in_boxes(lattice: Extents, grid: Extents, nodes: Sequence[int]) -> list[int]:
    ranks_of: dict[int, list[int]] = {}
    for rank, node in enumerate(nodes):
        ranks_of.setdefault(node, []).append(rank)
    in_order = list(range(len(nodes)))
    counts = {len(ranks) for ranks in ranks_of.values()}
    if len(ranks_of) <= 1 or len(counts) != 1:
        return in_order
    box = node_box(lattice, grid, counts.pop())
    if box is None:
        return in_order
    boxes = _places(
        (grid[0] // box[0], grid[1] // box[1], grid[2] // box[2], grid[3] // box[3]),
    )
    rank_at = in_order
    for first, node in zip(boxes, sorted(ranks_of), strict=True):
        for inside, rank in zip(_places(box), ranks_of[node], strict=True):
            place = [f * b + i for f, b, i in zip(first, box, inside, strict=True)]
            rank_at[_index(place, grid)] = rank
    return rank_at


def _is_box(places: Sequence[Extents]) -> bool:
    sizes = []
    for mu in range(4):
        found = {place[mu] for place in places}
        if max(found) - min(found) + 1 != len(found):
            return False
        sizes.append(len(found))
    return math.prod(sizes) == len(places)


def _divisors(number: int) -> list[int]:
    return [d for d in range(1, number + 1) if number % d == 0]


def _primes(number: int) -> list[int]:
    """Return the prime factors, the largest first."""
    found, divisor = [], 2
    while number > 1:
        while number % divisor == 0:
            found.append(divisor)
            number //= divisor
        divisor += 1
    return found[::-1]
