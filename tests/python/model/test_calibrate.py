"""In calibrations numbers of benchmarks become a machine whose forecasts give the same seconds."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from trellis.commands import model_calibrate
from trellis.commands.cli import app
from trellis.errors import BadArgument
from trellis.model.calibrate import Calibration, add_exchange, add_kernels, add_node_rate, fit_messages
from trellis.model.calibrate_solves import add_glass, add_multigrid, add_solver
from trellis.model.calibrated_file import machine_text
from trellis.model.forecast import forecast_of
from trellis.model.machine import HardwareModel, parse_hardware
from trellis.model.phases import Phase, Workload
from trellis.model.workloads import glass, multigrid, solves

LOCAL = (8, 8, 8, 8)
CEILINGS = {"peak_gflops": 60.0, "read_bandwidth_gbytes_per_second": 15.0}


def exchange_rows(where: str = "in a node", rate: float = 5e9) -> list[dict[str, Any]]:
    points = [(size, 2e-6 + size / rate) for size in (8, 512, 32768, 2097152)]
    return [
        {"pattern": "ping_pong", "bytes": b, "messages": 1, "ranks": 2, "seconds": s, "where": where}
        for b, s in points
    ]


def hop_row(ranks: int, seconds: float, *, link_reals: int = 18, rhs: int = 1) -> dict[str, Any]:
    lattice = [8, 8, 8, 8 * ranks]
    flops = 1320.0 * 4096 * ranks
    return {
        "kernel": "wilson_hop",
        "precision": "double",
        "link_reals": link_reals,
        "rhs": rhs,
        "lattice": lattice,
        "ranks": ranks,
        "seconds": seconds,
        "gflops": 1e-9 * flops / seconds,
        "flops": flops,
        "bytes": 1536.0 * 4096 * ranks,
        "peak_gflops": 60.0 * ranks,
        "read_bandwidth_gbytes_per_second": 15.0 * ranks,
    }


def machine_of(calibration: Calibration) -> HardwareModel:
    return parse_hardware(machine_text(calibration, day="2026-01-01"))


def calibrated() -> Calibration:
    calibration = Calibration("here", 2, 16.0, sum_us={2: 0.0})  # sums take no time here
    add_kernels(calibration, {"results": [hop_row(1, 5e-4), hop_row(2, 8e-4)]})
    return calibration


def seconds_on(machine: HardwareModel, phases: Sequence[Phase], ranks: int) -> float:
    grid = (1, 1, 1, ranks)
    work = Workload("w", tuple(phases))
    return forecast_of(work, machine.with_ranks(ranks), 1, (8, 8, 8, 8 * ranks), grid).seconds


def test_messages_have_a_latency_and_a_rate() -> None:
    points = [(size, 2e-6 + size / 5e9) for size in (8, 512, 32768, 2097152)]
    exact = fit_messages(points)
    assert exact.values["latency_us"] == pytest.approx(2.0, rel=1e-4)
    assert exact.values["gbs"] == pytest.approx(5.0, rel=1e-4)


@pytest.mark.parametrize(("ranks", "expected"), [(1, 5e-4), (2, 8e-4)])
def test_ranks_that_were_busy_count(ranks: int, expected: float) -> None:
    """A hop takes as long as measured with as many busy ranks."""
    hop = Phase("hop", 1320.0 * 4096, kernel="wilson_hop", extents=LOCAL, link_reals=18, rhs=1)
    assert seconds_on(machine_of(calibrated()), [hop], ranks) == pytest.approx(expected, rel=1e-3)


def test_links_and_batches_choose_the_speed() -> None:
    calibration = Calibration("here", 1, 16.0)
    rows = [hop_row(1, 5e-4), hop_row(1, 4e-4, link_reals=12), hop_row(1, 3e-4, rhs=12)]
    add_kernels(calibration, {"results": rows})
    machine = machine_of(calibration)
    for link_reals, rhs, expected in ((18, 1, 5e-4), (12, 1, 4e-4), (18, 12, 3e-4)):
        hop = Phase("hop", 1320.0 * 4096, kernel="wilson_hop", extents=LOCAL, link_reals=link_reals, rhs=rhs)
        assert seconds_on(machine, [hop], 1) == pytest.approx(expected, rel=1e-3)


def test_a_system_has_the_share_of_its_own_roofline() -> None:
    """The hop takes 5e-4 s where its bytes alone take 1536 x 4096 / 15 GB/s; the system has 1632 a site."""
    once = solves.application(solves.System("wilson_schur", False, 24), LOCAL, (1, 1, 1, 1))
    phase = Phase("s", once.flops, kernel="wilson_schur", extents=LOCAL, link_reals=18, rhs=1)
    found = seconds_on(machine_of(calibrated()), [phase], 1)
    assert once.bytes == pytest.approx(1632 * 4096)
    assert found == pytest.approx(5e-4 * 1632 / 1536, rel=1e-3)


def test_linear_algebra_is_an_iteration_without_its_hops() -> None:
    calibration = calibrated()
    summary = {"lattice": list(LOCAL), "cg_iteration_ms": 1.5, "hops_of_it_ms": 1.1}
    add_solver(calibration, {"results": [{"ranks": 1}], "summaries": [summary]})
    system = solves.System("wilson_schur", False, 24)
    phases = solves.conjugate_gradients("cg", system, LOCAL, (1, 1, 1, 1), 1)
    assert seconds_on(machine_of(calibration), phases[1:], 1) == pytest.approx(4e-4, rel=1e-3)


def test_parts_of_multigrid_give_their_seconds() -> None:
    """A forecast of the measured solve is the sum of its parts."""
    calibration = calibrated()
    rows: list[dict[str, Any]] = [
        {"kernel": "multigrid_solve", "lattice": list(LOCAL), "rhs": 1, "ranks": 1, "columns_per_cycle": 1.0}
    ]
    for k, part in enumerate(multigrid.PARTS, start=1):
        row = {"kernel": f"multigrid_solve_{part}", "rhs": 1, "seconds_per_cycle": 1e-3 * k}
        rows.append({**row, "sums_per_cycle": 4.0})
    add_multigrid(calibration, {"results": rows}, block=(4, 4, 4, 4), vectors=20, cycles=3)
    levels = [multigrid.Level((4, 4, 4, 4), 20, 4.0)]
    phases = multigrid.cycle("mg", LOCAL, (1, 1, 1, 1), levels, iterations=8)
    machine = machine_of(calibration)
    assert seconds_on(machine, phases, 1) == pytest.approx(8 * 15e-3, rel=0.01)


def test_updates_of_spin_glasses() -> None:
    calibration = calibrated()
    row = {
        "kernel": "over_relaxation",
        "precision": "float",
        "link_reals": 0,
        "lattice": [16, 16, 16, 2],
        "rhs": 1,
        "ranks": 2,
        "seconds": 4e-6,
        "flops": 55.0 * 8192,
        "couplings": "plus_minus",
        "sweeps_per_pass": 1,
    }
    add_glass(calibration, {"results": [row]})
    sweep = glass.sweep((16, 16, 16), (1, 1, 1), couplings="packed")
    machine = machine_of(calibration).with_ranks(2)
    found = forecast_of(sweep, machine, 1, (16, 16, 16, 2), (1, 1, 1, 2))
    assert found.seconds == pytest.approx(4e-6, rel=0.02)


def test_networks_and_nodes_are_told_apart() -> None:
    calibration = calibrated()
    calibration.sum_us.clear()
    rows = [*exchange_rows(), *exchange_rows("between nodes", 1e9)]
    rows += [{"pattern": "sum", "ranks": 2, "seconds": 3e-6, "sums": 1}]
    add_exchange(calibration, {"results": rows})
    both = {"pattern": "both_ways", "bytes": 2097152, "pairs": 2, "seconds": 4e-3, "where": "between nodes"}
    add_node_rate(calibration, {"results": [both]})
    machine = machine_of(calibration)
    link = machine.link("device-device")
    assert link is not None
    assert link.gbs == pytest.approx(5.0, rel=1e-3)
    assert machine.network_link.gbs == pytest.approx(1.0, rel=1e-3)
    assert machine.network_link.shared_by == 2
    assert machine.network_bytes_per_second() == pytest.approx(2 * 2097152 / 4e-3, rel=1e-3)
    assert machine.sum_seconds(2) == pytest.approx(3e-6)
    with pytest.raises(BadArgument, match="less than two sizes"):
        add_exchange(calibration, {"results": rows[:1]})
    with pytest.raises(BadArgument, match="no kernel was measured"):
        machine_text(Calibration("here", 2, 16.0), day="2026-01-01")


def fake_programs(folder: Path) -> dict[str, Path]:
    """Return programs that print what benchmarks print."""
    exchange = {"results": [*exchange_rows(), {"pattern": "sum", "ranks": 2, "seconds": 3e-6, "sums": 1}]}
    answers: dict[str, Any] = {
        **{name: {"results": []} for name in ("staggered", "gauge", "glass", "domain_wall", "multigrid")},
        "wilson": {"results": [hop_row(1, 5e-4)]},
        "solver": {"results": [], "summaries": []},
        "exchange": exchange,
    }
    found = {}
    for name, answer in answers.items():
        path = folder / f"bench_{name}"
        (folder / f"{name}.json").write_text(json.dumps(answer))
        path.write_text(f'#!/bin/sh\necho "{name} $*" >> {folder}/calls\ncat {folder}/{name}.json\n')
        path.chmod(0o755)
        found[name] = path
    return found


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fakes = fake_programs(tmp_path)
    launch = tmp_path / "mpirun"
    launch.write_text(
        f'#!/bin/sh\necho "mpirun $1 $2 $3 $4" >> {tmp_path}/calls\n'
        'while [ ! -x "$1" ]; do shift; done\nexec "$@"\n'
    )
    launch.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setattr(model_calibrate, "programs", lambda: fakes)
    target = tmp_path / "machine.toml"
    words = [
        "model",
        "calibrate",
        "-o",
        str(target),
        "--ranks",
        "2",
        "--hosts",
        "a,b",
        "--name",
        "m",
        "--json",
    ]
    ended = CliRunner().invoke(app, words)
    assert ended.exit_code == 0, ended.output
    found = json.loads(ended.stdout)
    assert found["nodes"] == 2
    assert found["left_out"] == []
    calls = (tmp_path / "calls").read_text()
    assert "mpirun -n 2 --host a:2" in calls
    assert "mpirun -n 2 --host a:1,b:1" in calls
    assert "mpirun -n 4 --host a:2,b:2" in calls
    assert "wilson --lattice 4.4.4.16,8.8.8.16,8.8.8.32,16.16.16.32" in calls
    machine = parse_hardware(target.read_text())
    assert machine.is_calibrated
    assert machine.nodes.count == 2


def test_a_calibration_in_too_little_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rest is written, and benchmarks that had no time are named."""
    fakes = fake_programs(tmp_path)
    monkeypatch.setattr(model_calibrate, "programs", lambda: fakes)
    clock = iter(range(0, 100000, 100))
    monkeypatch.setattr(model_calibrate.time, "monotonic", lambda: float(next(clock)))
    words = ["model", "calibrate", "-o", str(tmp_path / "m.toml"), "--ranks", "1"]
    ended = CliRunner().invoke(app, words)
    assert ended.exit_code == 0, ended.output
    assert "time ran short; not measured: solver on 1" in ended.output


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-o", "nowhere/m.toml"], "there is no folder"),
        (["--hosts", "a,,b"], "expected names such as node1,node2"),
    ],
)
def test_mistakes(options: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(model_calibrate, "programs", lambda: fake_programs(tmp_path))
    ended = CliRunner().invoke(app, ["model", "calibrate", *options])
    assert ended.exit_code != 0
    assert message in " ".join(ended.output.split())


def test_programs_that_are_missing_or_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_calibrate, "programs", dict)
    ended = CliRunner().invoke(app, ["model", "calibrate", "-o", str(tmp_path / "m.toml")])
    assert "./bootstrap bench" in ended.output
    fakes = fake_programs(tmp_path)
    (tmp_path / "bench_wilson").write_text("#!/bin/sh\necho no memory >&2\nexit 3\n")
    monkeypatch.setattr(model_calibrate, "programs", lambda: fakes)
    ended = CliRunner().invoke(app, ["model", "calibrate", "-o", str(tmp_path / "m.toml"), "--ranks", "1"])
    assert "ended with status 3: no memory" in " ".join(ended.output.split())
    assert not (tmp_path / "m.toml").exists()
