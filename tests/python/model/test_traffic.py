"""These tests cover counted traffic of breadth-first searches, and formulas of particle in cell."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse.csgraph import dijkstra

from trellis.errors import BadArgument
from trellis.model.graphs import adjacency, count_search, grid_messages, owners, rmat_edges
from trellis.model.workloads.traffic import crossing_per_face_cell, particle_step, search_phases

SCALE = 10


@pytest.fixture(scope="module")
def graph():  # type: ignore[no-untyped-def]
    return adjacency(rmat_edges(SCALE), 1 << SCALE)


def test_levels_are_those_of_scipy(graph) -> None:  # type: ignore[no-untyped-def]
    source = int(np.argmax(np.diff(graph.indptr)))
    found = count_search(graph, source, 4)
    distance = dijkstra(graph, indices=source, unweighted=True)
    expected = np.where(np.isinf(distance), -1, distance).astype(int)
    assert found.levels.tolist() == expected.tolist()
    reached = found.levels >= 0
    assert sum(found.edges) == np.diff(graph.indptr)[reached].sum()


def test_remote_edges_are_those_of_a_count(graph) -> None:  # type: ignore[no-untyped-def]
    ranks, source = 4, int(np.argmax(np.diff(graph.indptr)))
    found = count_search(graph, source, ranks)
    owner = owners(1 << SCALE, ranks)
    level = 1
    remote, unique = 0, set()
    for tail in np.flatnonzero(found.levels == level):
        for head in graph.indices[graph.indptr[tail] : graph.indptr[tail + 1]]:
            if owner[tail] != owner[head]:
                remote += 1
                unique.add((owner[tail], head))
    assert found.remote[level] == remote
    assert found.remote_unique[level] == len(unique)
    assert found.messages[level] == ranks * (ranks - 1)


def test_one_rank_sends_nothing(graph) -> None:  # type: ignore[no-untyped-def]
    assert not any(count_search(graph, 0, 1).remote)
    assert not any(grid_messages(graph, 0, 1, 1))


def test_a_grid_of_ranks_sends_less_than_a_row(graph) -> None:  # type: ignore[no-untyped-def]
    source = int(np.argmax(np.diff(graph.indptr)))
    row = count_search(graph, source, 16)
    assert sum(grid_messages(graph, source, 4, 4)) < sum(row.remote_unique)


def test_rmat_has_the_skew_of_its_quadrants() -> None:
    edges = rmat_edges(SCALE, seed=3)
    assert edges.shape == (2, 16 << SCALE)
    degree = np.bincount(edges[0], minlength=1 << SCALE)
    assert degree.max() > 20 * degree.mean()
    assert (rmat_edges(SCALE, seed=3) == edges).all()
    with pytest.raises(BadArgument, match="expected a scale from 1 to 26"):
        rmat_edges(40)
    with pytest.raises(BadArgument, match="expected a source"):
        count_search(adjacency(edges, 1 << SCALE), -1, 2)


def test_phases_of_a_search() -> None:
    phases = search_phases([10.0, 400.0], [6.0, 300.0], 4)
    assert [p.message_count for p in phases] == [3, 3]
    assert phases[1].sent_bytes == pytest.approx(300 / 4 * 8)
    assert not search_phases([10.0], [0.0], 1)[0].messages


def test_particles_that_cross_a_face() -> None:
    """A count of uniform particles with velocities of one size agrees with n <|v|> dt / (2 dx)."""
    random = np.random.default_rng(1)
    place, speed = random.random(1_000_000), 0.2 * random.choice([-1.0, 1.0], 1_000_000)
    crossing = np.count_nonzero(place + speed >= 1.0)
    assert crossing / 1e6 == pytest.approx(crossing_per_face_cell(1.0, 0.2), rel=0.01)
    step = particle_step((16, 16, 16, 1), (2, 1, 1, 1), particles_per_cell=10, mean_speed=0.2)
    sizes = [m.size for m in step.phases[0].messages]
    assert sizes == [256 * 2 * 4 * 9] * 2 + [256 * 1.0 * 8 * 4] * 2
