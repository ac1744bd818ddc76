"""These tests send messages on a torus, in closed form and by SimGrid where it is there."""

from __future__ import annotations

from dataclasses import replace

import pytest

from trellis.errors import NotAvailable
from trellis.model import engine_simgrid
from trellis.model.closed_form import network_seconds
from trellis.model.machine import load_hardware
from trellis.model.mapping import by_box
from trellis.model.phases import Phase, halo
from trellis.model.torus import busiest_seconds, ring_on_torus, route, way

needs_simgrid = pytest.mark.skipif(not engine_simgrid.is_available(), reason="SimGrid is not there")


def test_ways_on_a_torus() -> None:
    assert way(3, 4, (4, 2)) == ([3, 0, 4], [(3, 0, 1), (0, 1, 1)])
    assert way(0, 3, (4, 2))[0] == [0, 3]
    assert way(0, 2, (4, 2))[0] == [0, 1, 2]
    assert way(5, 5, (4, 2)) == ([5], [])


def test_a_card_that_forwards_shares_its_rate() -> None:
    machine = load_hardware("apenet_cluster_1")
    four, eight = (busiest_seconds(ring_on_torus(n, (4, n // 4), machine, 1e6)) for n in (4, 8))
    assert eight / four == pytest.approx(1.25)
    assert four == pytest.approx(4e6 / (2 * 1.4e9))
    ring = ring_on_torus(8, (4, 2), machine, 1e6)
    assert ("card", 0) in route(ring, 3, 4)
    assert ("card", 0) not in route(replace(ring, forwards=False), 3, 4)


@needs_simgrid
def test_simgrid_finds_the_same_for_a_torus_that_forwards() -> None:
    machine = load_hardware("apenet_cluster_1")
    for nodes, extents in ((4, (4, 1)), (8, (4, 2))):
        ring = replace(ring_on_torus(nodes, extents, machine, 786432.0), latency_us=0.0, hop_us=0.0)
        assert engine_simgrid.simulate(ring) == pytest.approx(busiest_seconds(ring), rel=1e-6)


@needs_simgrid
def test_simgrid_agrees_with_the_closed_form_on_512_ranks() -> None:
    machine = load_hardware("daint_gh200")
    ranks = by_box((8, 8, 8, 1), (1, 1, 1, 1))
    phase = Phase("hop", messages=halo((16, 16, 16, 16), ranks.grid, 96.0, sites=0.5))
    found = engine_simgrid.network_seconds(phase, machine, ranks)
    assert found == pytest.approx(network_seconds(phase, machine, ranks)[0], rel=0.01)


@needs_simgrid
def test_contention_is_seen_by_the_engine_alone() -> None:
    """Rings of a 1-D cut fit a torus; with shuffled nodes they share its links."""
    machine = load_hardware("apenet_cluster_1")
    slow = replace(machine, fabric=machine.fabric.model_copy(update={"link_gbs": 0.5, "forwards": False}))
    near = replace(ring_on_torus(8, (8, 1), slow, 1e6), latency_us=0.0, hop_us=0.0)
    shuffled = [0, 4, 1, 5, 2, 6, 3, 7]
    far = replace(near, messages=tuple((shuffled[a], shuffled[b], size) for a, b, size in near.messages))
    assert engine_simgrid.simulate(far) > 2 * engine_simgrid.simulate(near)


def test_one_line_where_simgrid_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_simgrid.sys, "executable", "/bin/false")
    monkeypatch.setattr(engine_simgrid.shutil, "which", lambda *_, **__: None)
    with pytest.raises(NotAvailable, match="apt-get install python3-simgrid"):
        engine_simgrid.simulate(ring_on_torus(4, (4, 1), load_hardware("apenet_cluster_1"), 1.0))
