"""These tests cover places of ranks and the surface between nodes: known figures, and the same rules as the
compiled ones."""

from __future__ import annotations

import random
import subprocess
import sys

import pytest

from trellis.errors import BadArgument
from trellis.ground.compiled_core import load
from trellis.ground.rank_map import (
    Extents,
    grid_by_primes,
    node_box,
    nodes_are_boxes,
    nodes_in_turn,
    rank_places,
    surface_between_nodes,
)

#: This is the lattice of arXiv 1710.07041, whose solves were slow on 6 and 12 nodes with several ranks a
#: node.
LATTICE: Extents = (32, 32, 32, 96)
NODES = (2, 3, 4, 6, 8, 12, 16, 24, 32)
#: With 4 ranks a node, these are the sites of the largest node's surface, time fastest and as boxes.
SURFACES = {4: (192, 64), 6: (160, 64), 8: (144, 80), 12: (112, 64), 16: (80, 56)}


@pytest.mark.parametrize(("ranks_per_node", "broken"), [(2, ()), (4, (3, 6, 12)), (8, (3, 6, 12, 24))])
def test_time_fastest_breaks_the_boxes_of_these_nodes(ranks_per_node: int, broken: tuple[int, ...]) -> None:
    found: dict[str, list[int]] = {"box": [], "x_fastest": [], "time_fastest": []}
    for count in NODES:
        ranks = count * ranks_per_node
        grid, nodes = grid_by_primes(LATTICE, ranks), nodes_in_turn(ranks, ranks_per_node)
        for order in ("box", "x_fastest", "time_fastest"):
            if not nodes_are_boxes(grid, rank_places(order, LATTICE, grid, nodes), nodes):
                found[order].append(count)
    assert found == {"box": [], "x_fastest": [], "time_fastest": list(broken)}


@pytest.mark.parametrize("count", SURFACES)
def test_surfaces_of_four_ranks_a_node(count: int) -> None:
    grid, nodes = grid_by_primes(LATTICE, 4 * count), nodes_in_turn(4 * count, 4)
    found = [
        surface_between_nodes(LATTICE, grid, rank_places(order, LATTICE, grid, nodes), nodes) / 1024
        for order in ("time_fastest", "box")
    ]
    assert tuple(found) == SURFACES[count]


def test_a_box_is_not_more_than_the_orders() -> None:
    for ranks_per_node in (2, 4, 8):
        for count in NODES:
            nodes = nodes_in_turn(count * ranks_per_node, ranks_per_node)
            grid = grid_by_primes(LATTICE, len(nodes))
            box, *others = (
                surface_between_nodes(LATTICE, grid, rank_places(order, LATTICE, grid, nodes), nodes)
                for order in ("box", "x_fastest", "time_fastest")
            )
            assert box <= min(others)


def test_the_rules_are_those_of_the_compiled_part() -> None:
    numbers = random.Random(7)
    core = load()
    for _ in range(60):
        grid: Extents = tuple(numbers.choice((1, 1, 2, 3, 4)) for _ in range(4))  # type: ignore[assignment]
        lattice: Extents = tuple(extent * numbers.choice((2, 4, 6)) for extent in grid)  # type: ignore[assignment]
        ranks = grid[0] * grid[1] * grid[2] * grid[3]
        nodes = [rank // numbers.choice((2, 4)) for rank in range(ranks)]
        if numbers.random() < 0.7:
            nodes = nodes_in_turn(ranks, numbers.choice([d for d in range(1, ranks + 1) if ranks % d == 0]))
        if numbers.random() < 0.3:
            numbers.shuffle(nodes)
        for order in ("box", "x_fastest", "time_fastest"):
            places = rank_places(order, lattice, grid, nodes)
            assert places == core.place_ranks(lattice, grid, nodes, order), (lattice, grid, nodes, order)
            assert sorted(places) == list(range(ranks))


def test_places_by_hand() -> None:
    grid: Extents = (2, 1, 1, 3)
    nodes = nodes_in_turn(6, 2)
    assert rank_places("x_fastest", (4, 4, 4, 6), grid, nodes) == [0, 1, 2, 3, 4, 5]
    assert rank_places("time_fastest", (4, 4, 4, 6), grid, nodes) == [0, 3, 1, 4, 2, 5]
    assert node_box((4, 4, 4, 6), grid, 2) == (2, 1, 1, 1)
    # Each node has both places of x; forwards and backwards in t lie other nodes: these are 4 faces of 2 x 4
    # x 4 sites.
    assert surface_between_nodes((4, 4, 4, 6), grid, [0, 1, 2, 3, 4, 5], nodes) == 4 * 32
    assert not nodes_are_boxes(grid, [0, 3, 1, 4, 2, 5], nodes)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("boxes", (4, 4, 4, 4), (1, 1, 1, 2), [0, 1]), "expected one of box, x_fastest, time_fastest"),
        (("box", (4, 4, 4, 4), (1, 1, 1, 2), [0]), "expected 2 ranks, found 1"),
        (("box", (4, 4, 4, 4), (1, 1, 1, 3), [0, 0, 0]), "cannot be cut by the grid"),
    ],
)
def test_what_is_refused(arguments: tuple, said: str) -> None:
    with pytest.raises(BadArgument, match=said):
        rank_places(*arguments)


def test_grids_that_there_are_not() -> None:
    with pytest.raises(BadArgument, match="can be cut by 5"):
        grid_by_primes((4, 4, 4, 8), 10)


def test_no_compiled_part_is_loaded() -> None:
    code = "import sys, trellis.ground.rank_map; assert 'trellis._core' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
