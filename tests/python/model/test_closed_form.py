"""These tests compare the closed form with times that were worked out by hand."""

from __future__ import annotations

import math

import pytest

from trellis.errors import BadArgument, RunFileError
from trellis.model.closed_form import border_first, overlapped, phase_time
from trellis.model.machine import load_hardware, parse_hardware
from trellis.model.mapping import by_box
from trellis.model.phases import Phase, halo

MACHINE = """
[machine]
name = "small"
[[nodes]]
count = 4
cpus = 4
[[device]]
name = "device"
kind = "gpu"
count = 2
peak_gflops = { float = 1000.0 }
memory = [{ mib = 1.0, gbs = 1000.0 }, { gbs = 100.0 }]
efficiency = 1.0
launch_us = 1.0
rates = [
  { kernel = "hop", precision = "float", extents = [4, 4, 4, 4], gflops = 10.0 },
  { kernel = "hop", precision = "float", extents = [8, 8, 8, 8], gflops = 50.0 },
]
[[link]]
between = "node-nic"
gbs = 1.0
latency_us = 5.0
overhead_us = 2.0
shared_by = 2
[[link]]
between = "device-device"
gbs = 10.0
[costs]
overlap = { value = 1000.0, origin = "test" }
exchange_us = { value = 3.0, origin = "test" }
in_node = { value = 2.0, origin = "test" }
sum_us = { value = 1.0, origin = "test" }
sum_log2_us = { value = 2.0, origin = "test" }
"""


def test_messages_of_a_halo() -> None:
    found = halo((4, 6, 8, 10), (1, 2, 1, 3), 48.0, sites=0.5)
    assert [(m.mu, m.step) for m in found] == [(1, 1), (1, -1), (3, 1), (3, -1)]
    assert [m.size for m in found] == [24 * 320, 24 * 320, 24 * 192, 24 * 192]


def test_a_phase_by_hand() -> None:
    machine = parse_hardware(MACHINE)
    local, grid = (4, 4, 4, 4), (1, 1, 2, 4)
    phase = Phase(
        "hop",
        flops=1e4,
        messages=halo(local, grid, 100.0),
        sums=2,
        kernel="hop",
        precision="float",
        extents=local,
    )
    found = phase_time(phase, machine, by_box(grid, (1, 1, 2, 1)))
    assert found.local == pytest.approx(1e4 / 10e9)
    # Two ranks share the card: each sends two faces in t, 64 sites of 100 bytes.
    assert found.network == pytest.approx(4 * 6400 / 1e9 + 4 * 2e-6 + 5e-6)
    # Both faces in z stay in the node.
    assert found.in_node == pytest.approx(2 * 2 * 6400 / 10e9)
    assert found.overhead == pytest.approx(2 * 3e-6)
    assert found.sums == pytest.approx(2 * (1e-6 + 3 * 2e-6))
    assert found.total == pytest.approx(found.network + found.in_node + found.overhead + found.sums, rel=1e-3)
    assert found.limit == "network"


def test_speeds_between_measured_volumes() -> None:
    machine = parse_hardware(MACHINE)

    def speed(*extents: int) -> float | None:
        return machine.measured_gflops(Phase("hop", kernel="hop", precision="float", extents=extents))  # type: ignore[arg-type]

    assert speed(4, 4, 4, 4) == 10
    assert speed(4, 4, 8, 8) == pytest.approx(30)
    assert speed(8, 8, 8, 16) == 50
    assert speed(64, 64, 64, 64) is None


def test_the_roofline_where_no_speed_is_measured() -> None:
    machine = parse_hardware(MACHINE)
    near = Phase("x", flops=1e6, bytes=1e6, precision="float", working_set=2**19, launches=3)
    far = Phase("x", flops=1e6, bytes=1e6, precision="float", working_set=2**21)
    ranks = by_box((1, 1, 1, 1), (1, 1, 1, 1))
    assert phase_time(near, machine, ranks).local == pytest.approx(1e-6 + 3e-6)
    assert phase_time(far, machine, ranks).local == pytest.approx(1e-5)
    assert phase_time(far, machine, ranks).limit == "memory"
    busy = Phase("x", flops=1e9, bytes=1e6, precision="float", working_set=2**21)
    assert phase_time(busy, machine, ranks).limit == "arithmetic"


def test_overlap() -> None:
    assert overlapped(3.0, 4.0, 2.0) == pytest.approx(5.0)
    assert overlapped(3.0, 4.0, 1.0) == pytest.approx(7.0)
    assert overlapped(0.0, 4.0, 5.9) == 4.0
    assert overlapped(0.0, 0.0, 5.9) == 0.0
    assert border_first(10.0, 0.2, 3.0) == 10.0
    assert border_first(10.0, 0.2, 9.0) == 11.0
    assert math.isclose(overlapped(1e-300, 2e-300, 5.0), 2e-300 * (1 + 2**-5.0) ** 0.2)


def test_staged_paths_add_copies() -> None:
    card = 'name = "off"\nbetween = "node-nic"\npath = "staged"\ngbs = 1.0\n'
    bus = '[[link]]\nbetween = "device-host"\ngbs = 4.0\nlatency_us = 10.0\n'
    text = MACHINE.replace('between = "node-nic"\ngbs = 1.0\n', card).replace("[costs]", f"{bus}[costs]")
    local, grid = (4, 4, 4, 4), (1, 1, 1, 4)
    phase = Phase("hop", messages=halo(local, grid, 100.0), kernel="hop", precision="float", extents=local)
    ranks = by_box(grid, (1, 1, 1, 1))
    staged = phase_time(phase, parse_hardware(text), ranks).network
    peer = phase_time(phase, parse_hardware(MACHINE), ranks).network
    assert staged - peer == pytest.approx(2 * 2 * 6400 / 4e9 + 2 * 10e-6)


def test_mistakes_in_machine_files() -> None:
    with pytest.raises(BadArgument, match=r"the model needs a table \[\[device\]\]"):
        load_hardware("laptop")
    with pytest.raises(BadArgument, match=r"no machine 'nowhere'.*daint_gh200"):
        load_hardware("nowhere")
    with pytest.raises(RunFileError, match="gbs"):
        parse_hardware(MACHINE.replace("gbs = 10.0", "gbs = -1.0"))
    with pytest.raises(RunFileError, match="expected precisions among"):
        parse_hardware(MACHINE.replace("float = 1000.0", "quad = 1000.0"))
    with pytest.raises(RunFileError, match="needs extents"):
        parse_hardware(MACHINE + '[fabric]\ntopology = "torus"\nlink_gbs = 1.0\n')
    with pytest.raises(BadArgument, match="expected a link among none, found 'p2p'"):
        parse_hardware(MACHINE).link_named("p2p")
    alone = parse_hardware(MACHINE.replace('between = "node-nic"', 'between = "device-host"'))
    with pytest.raises(BadArgument, match="one node only"):
        _ = alone.network_link
