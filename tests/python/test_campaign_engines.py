"""The adapters for HyperQueue and Flux, against programs that stand in for `hq` and `flux`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from campaign_tools import attempts_of as rows

from trellis.campaign.files import parse_campaign, parse_machine
from trellis.campaign.launchers import make_launcher
from trellis.campaign.launchers.base import MANAGER, MARKER, Launch
from trellis.campaign.manager import Manager
from trellis.campaign.model import Place, Placement
from trellis.errors import NotAvailable

ENGINES = Path(__file__).resolve().parents[1] / "support/engines"
MACHINE = """
[machine]
name = "m"
launcher = "LAUNCHER"
settle = 0
[[nodes]]
names = ["n1", "n-2"]
cpus = 4
gpus = 2
[allocation]
join_timeout = 120
[launcher_options]
check_seconds = 0.2
OPTIONS
"""
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
    """Machine text with the engine's stand-in on the path; its nodes are processes of this host."""
    monkeypatch.setenv("PATH", f"{ENGINES}:{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)
    if request.param == "flux":
        monkeypatch.setenv("FLUX_URI", "local:///nowhere")
        monkeypatch.setenv("FLUX_FAKE_FOLDER", str(tmp_path / "flux"))
        monkeypatch.setenv("FLUX_FAKE_HOSTS", "n1,n-2")
        return MACHINE.replace("LAUNCHER", "flux").replace("OPTIONS", "")
    script = tmp_path / "nodes.sh"
    script.write_text('#!/bin/bash\nfor n in n1 n-2; do SLURMD_NODENAME=$n "$@" & done\nwait\n')
    script.chmod(0o755)
    options = f'worker_command = ["{script}"]\nmpi = ["{sys.executable}", "{_ranks(tmp_path)}", "{{slots}}"]'
    return MACHINE.replace("LAUNCHER", "hyperqueue").replace("OPTIONS", options)


def _ranks(folder: Path) -> Path:
    """Starts as many copies as the slots say."""
    path = folder / "ranks.py"
    path.write_text(
        "import subprocess, sys\n"
        "count = sum(int(part.split(':')[1]) for part in sys.argv[1].split(','))\n"
        "ranks = [subprocess.Popen(sys.argv[2:]) for _ in range(count)]\n"
        "sys.exit(max(rank.wait() for rank in ranks))\n"
    )
    return path


both = pytest.mark.parametrize("engine", ["hyperqueue", "flux"], indirect=True)


@both
def test_a_campaign(engine, tmp_path):
    """Failures are repeated, several ranks start as often as they should, statuses come through."""
    campaign = parse_campaign(TASKS.replace("GPUS", "1"), tmp_path)
    found = Manager(campaign, parse_machine(engine)).run()
    assert found.counts == {"done": 7}
    assert (tmp_path / "ran").read_text() == "here\n" * 4
    failed = [row for row in rows(Path(campaign.state)) if row["outcome"] != "done"]
    assert [(row["task"], row["outcome"], row["status"]) for row in failed] == [("small-3", "task", 5)]
    assert not list(tmp_path.glob("hq-server.*"))


@both
def test_a_task_is_killed_and_left_overs_are_found(engine, tmp_path):
    launcher = make_launcher(parse_machine(engine))
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


@both
def test_a_node_dies(engine, tmp_path, monkeypatch):
    """The engine says so, the node is left out, its tasks run on the other."""
    tasks = '[campaign]\nname = "c"\n[[task]]\nname = "t-{i}"\nover = { i = "1..8" }\nthreads = 2\n'
    tasks += 'command = "touch begun; until test -e killed; do sleep 0.05; done; echo x > {output}"\n'
    tasks += 'outputs = ["t.{i}"]\n'
    campaign = parse_campaign(tasks, tmp_path)
    manager = Manager(campaign, parse_machine(engine))
    look, killed = manager._look_around, []

    def look_and_kill() -> None:
        look()
        if not killed and any("n-2" in a.placement.nodes for a in manager.running.values()):
            if (tmp_path / "begun").exists():
                killed.append(True)
                if "hyperqueue" in engine:
                    words = ["pgrep", "-f", "worker start .*--hostname=n-2"]
                    pids = subprocess.run(words, capture_output=True, text=True).stdout.split()
                    own = [pid for pid in pids if os.readlink(f"/proc/{pid}/cwd") == str(tmp_path)]
                    os.kill(int(own[0]), signal.SIGKILL)
                else:
                    (tmp_path / "flux/down.n-2").touch()
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


@pytest.mark.parametrize("engine", ["flux"], indirect=True)
def test_flux_does_not_share_gpus(engine, tmp_path):
    campaign = parse_campaign(TASKS.replace("GPUS", "0.5"), tmp_path)
    found = Manager(campaign, parse_machine(engine)).run()
    assert found.counts == {"done": 1, "failed": 6}
    assert "does not share a GPU" in found.failed["small-1"]
