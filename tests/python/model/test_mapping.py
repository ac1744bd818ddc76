"""These tests cover ranks on nodes: boxes, orders and files, and the surface between nodes."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import pytest

from trellis.errors import BadArgument, FileError
from trellis.model.mapping import (
    best_box,
    by_box,
    by_order,
    factorisations,
    from_file,
    least_surface_grid,
    primes,
    qmp_grid,
    surface,
)


def counted_surface(nodes: np.ndarray, local: tuple[int, ...]) -> float:
    """Count face sites to other nodes rank by rank, the slow way."""
    found = np.zeros(nodes.max() + 1)
    for where in itertools.product(*map(range, nodes.shape)):
        for mu, step in itertools.product(range(4), (1, -1)):
            if nodes.shape[mu] == 1:
                continue
            other = list(where)
            other[mu] = (other[mu] + step) % nodes.shape[mu]
            if nodes[tuple(other)] != nodes[where]:
                found[nodes[where]] += math.prod(local) / local[mu]
    return float(found.max())


@pytest.mark.parametrize("order", ["xyzt", "tzyx", "yxtz"])
def test_surface_of_orders_is_that_of_a_count(order: str) -> None:
    ranks = by_order((2, 3, 2, 4), 4, order)
    assert surface(ranks, (4, 8, 6, 2)) == counted_surface(ranks.nodes, (4, 8, 6, 2))


@pytest.mark.parametrize("box", [(1, 1, 2, 2), (2, 1, 2, 1), (1, 2, 1, 2), (4, 1, 1, 1)])
def test_surface_of_boxes_is_that_of_a_count(box: tuple[int, ...]) -> None:
    ranks = by_box((4, 2, 2, 4), box)
    assert ranks.is_box()
    assert np.bincount(ranks.nodes.ravel()).tolist() == [4] * 16
    assert surface(ranks, (4, 8, 6, 2)) == counted_surface(ranks.nodes, (4, 8, 6, 2))


def test_orders_run_as_they_say() -> None:
    ranks = by_order((2, 1, 1, 4), 2, "tzyx")
    assert ranks.nodes[0, 0, 0].tolist() == [0, 0, 1, 1]
    assert ranks.places[0, 0, 0].tolist() == [0, 1, 0, 1]
    assert by_order((2, 1, 1, 4), 2, "xyzt").nodes[:, 0, 0, 3].tolist() == [3, 3]


def test_the_best_box_is_the_least_of_all() -> None:
    grid, local = (4, 2, 2, 8), (4, 8, 8, 6)
    found = surface(by_box(grid, best_box(grid, 8, local)), local)
    boxes = [b for b in factorisations(8, 4) if all(g % n == 0 for g, n in zip(grid, b, strict=True))]
    assert found == min(surface(by_box(grid, box), local) for box in boxes)


def test_a_file_gives_any_map(tmp_path: Path) -> None:
    path = tmp_path / "map"
    path.write_text("\n".join("7 7 3 3 9 9 9 3".split()))
    ranks = from_file(path, (2, 2, 1, 2))
    assert ranks.node_count == 3
    assert ranks.nodes[1, 0, 0, 0] == ranks.nodes[0, 0, 0, 0]
    assert ranks.places[1, 1, 0, 1] == 2
    with pytest.raises(FileError, match="expected the nodes of 16 ranks, found 8"):
        from_file(path, (2, 2, 2, 2))
    path.write_text("1 two")
    with pytest.raises(FileError, match="expected a whole number"):
        from_file(path, (2, 1, 1, 1))


def test_rules_of_grids() -> None:
    assert primes(360) == [5, 3, 3, 2, 2, 2]
    assert least_surface_grid((16, 16, 16, 32), 2) == (1, 1, 1, 2)
    assert least_surface_grid((32, 32, 32, 32), 16) == (1, 1, 4, 4)  # as (2, 2, 2, 2), and cuts later
    assert math.prod(qmp_grid((32, 32, 32, 96), 48)) == 48
    with pytest.raises(BadArgument, match="no process grid of 7 ranks"):
        least_surface_grid((8, 8, 8, 8), 7)
    with pytest.raises(BadArgument, match="expected an order"):
        by_order((2, 2, 1, 1), 2, "xyzz")
    with pytest.raises(BadArgument, match="box that divides"):
        by_box((2, 2, 1, 1), (1, 1, 1, 2))
