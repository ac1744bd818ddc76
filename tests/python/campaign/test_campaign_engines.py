"""These tests cover the adapters for HyperQueue and Flux.

For HyperQueue a program stands in for `hq`. For Flux one stands in for `flux`, and the real one is used where
it is installed (:mod:`engine_tools`).
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from campaign_tools import attempts_of as rows
from engine_tools import ENGINES, MACHINE, engine_of

from trellis.campaign.files import parse_campaign, parse_machine
from trellis.campaign.launchers import make_launcher
from trellis.campaign.launchers.base import MANAGER, MARKER, Launch
from trellis.campaign.manager import Manager
from trellis.campaign.model import Place, Placement
from trellis.errors import NotAvailable

TASKS = """
[campaign]
name = "c"
[[task]]
name = "small-{i}"
over = { i = "1..6" }
command = "test {i} != 3 || test {attempt} != 0 || exit 5; echo $NODE $CUDA_VISIBLE_DEVICES > {output}"
environment = { NODE = "$SLURMD_NODENAME" }
gpus_per_rank = GPUS
outputs = ["small.{i}"]
[[task]]
name = "wide"
command = "echo here >> ran; echo x > {output}"
ranks = 4
nodes = 2
outputs = ["wide"]
"""


@pytest.fixture
def engine(request, tmp_path, monkeypatch):
    with engine_of(request.param, tmp_path, monkeypatch) as found:
        yield found


every = pytest.mark.parametrize("engine", ["hyperqueue", "flux-stand-in", "flux"], indirect=True)


@every
def test_a_campaign(engine, tmp_path):
    """Failures are repeated, several ranks start as often as they should, and statuses come through."""
    campaign = parse_campaign(TASKS.replace("GPUS", "1"), tmp_path)
    found = Manager(campaign, parse_machine(engine.machine)).run()
    assert found.counts == {"done": 7}
    assert (tmp_path / "ran").read_text() == "here\n" * 4
    failed = [row for row in rows(Path(campaign.state)) if row["outcome"] != "done"]
    assert [(row["task"], row["outcome"], row["status"]) for row in failed] == [("small-3", "task", 5)]
    assert not list(tmp_path.glob("hq-server.*"))


@every
def test_a_task_is_killed_and_left_overs_are_found(engine, tmp_path):
    launcher = make_launcher(parse_machine(engine.machine))
    launcher.start()
    environment = {**os.environ, MARKER: f"{tmp_path}:t:0", MANAGER: "dead"}
    launch = Launch("t", 0, ("sh", "-c", "echo $$ > pid; sleep 300"), tmp_path, tmp_path / "logs/t.0.log")
    (tmp_path / "logs").mkdir()
    handle = launcher.launch(launch, Placement((Place("n1", 1, (0,)),)), environment)
    deadline = time.monotonic() + 180
    while not ((tmp_path / "pid").exists() and (tmp_path / "pid").read_text()):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    found = launcher.orphans(tmp_path, {})
    assert [(orphan.task, orphan.attempt, orphan.manager) for orphan in found] == [("t", 0, "dead")]
    assert launcher.orphans(tmp_path, {"dead": True}) == []
    launcher.kill(handle)
    ended = []
    while not ended and time.monotonic() < deadline:
        ended = launcher.poll(0.1)
    assert ended[0][1].status != 0
    assert not Path(f"/proc/{(tmp_path / 'pid').read_text().strip()}").exists()
    assert launcher.orphans(tmp_path, {}) == []
    launcher.close()


@every
def test_a_node_dies(engine, tmp_path, monkeypatch):
    """The engine says so, the node is left out, and its tasks run on the other one."""
    tasks = '[campaign]\nname = "c"\n[[task]]\nname = "t-{i}"\nover = { i = "1..8" }\nthreads = 2\n'
    tasks += 'command = "touch begun; until test -e killed; do sleep 0.05; done; echo x > {output}"\n'
    tasks += 'outputs = ["t.{i}"]\n'
    campaign = parse_campaign(tasks, tmp_path)
    manager = Manager(campaign, parse_machine(engine.machine))
    look, killed = manager._look_around, []

    def look_and_kill() -> None:
        look()
        if not killed and any("n-2" in a.placement.nodes for a in manager.running.values()):
            if (tmp_path / "begun").exists():
                killed.append(True)
                engine.kill_node("n-2")
        elif killed and "n-2" not in manager.course.planner.pool.nodes:
            (tmp_path / "killed").touch()

    monkeypatch.setattr(manager, "_look_around", look_and_kill)
    assert manager.run().counts == {"done": 8}
    assert killed
    found = rows(Path(campaign.state))
    assert {row["outcome"] for row in found} == {"node", "done"}
    lost = max(row["ended"] for row in found if row["outcome"] == "node")
    assert all('"n1"' in row["places"] for row in found if row["started"] > lost)


@pytest.mark.parametrize(
    ("launcher", "words"), [("hyperqueue", "install HyperQueue's binary"), ("flux", "install flux-core")]
)
def test_not_installed(launcher, words, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NotAvailable, match=words):
        make_launcher(parse_machine(MACHINE.replace("LAUNCHER", launcher).replace("OPTIONS", ""))).start()


def test_outside_a_flux_instance(monkeypatch):
    monkeypatch.setenv("PATH", f"{ENGINES}:{os.environ['PATH']}")
    monkeypatch.delenv("FLUX_URI", raising=False)
    with pytest.raises(NotAvailable, match="FLUX_URI is not set"):
        make_launcher(parse_machine(MACHINE.replace("LAUNCHER", "flux").replace("OPTIONS", "")))
