"""The adapters for HyperQueue and Flux.

HyperQueue: against a program that stands in for `hq`. Flux: against one that stands in for `flux`, and
against the real one where it is installed (:mod:`flux_tools`).
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from campaign_tools import alive, wait_for
from campaign_tools import attempts_of as rows
from flux_tools import ENGINES, NO_FLUX, flux_instance, real_flux

from trellis.campaign.files import parse_campaign, parse_machine
from trellis.campaign.launchers import make_launcher
from trellis.campaign.launchers.base import MANAGER, MARKER, Ended, Launch
from trellis.campaign.manager import Manager
from trellis.campaign.model import Place, Placement
from trellis.errors import NotAvailable

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


@dataclass
class Engine:
    """Machine file of two nodes of this host, and how one of them dies."""

    machine: str
    kill_node: Callable[[str], None]


@pytest.fixture
def engine(request, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{ENGINES}:{os.environ['PATH']}")
    if request.param == "hyperqueue":
        yield _hyperqueue(tmp_path)
        return
    with _flux(request.param, tmp_path, monkeypatch) as instance:
        options = f'flux = "{instance.program}"'
        text = MACHINE.replace("LAUNCHER", "flux").replace("OPTIONS", options)
        yield Engine(text, instance.kill_node)


@contextmanager
def _flux(kind: str, folder: Path, monkeypatch, **options):
    is_real = kind == "flux"
    if is_real and real_flux() is None:
        pytest.skip(NO_FLUX)
    with flux_instance(folder / "flux", ["n1", "n-2"], is_real=is_real, **options) as instance:
        for key, value in instance.environment.items():
            monkeypatch.setenv(key, value)
        yield instance


def _hyperqueue(folder: Path) -> Engine:
    script = folder / "nodes.sh"
    script.write_text('#!/bin/bash\nfor n in n1 n-2; do SLURMD_NODENAME=$n "$@" & done\nwait\n')
    script.chmod(0o755)
    options = f'worker_command = ["{script}"]\nmpi = ["{sys.executable}", "{_ranks(folder)}", "{{slots}}"]'

    def kill_node(name: str) -> None:
        words = ["pgrep", "-f", f"worker start .*--hostname={name}"]
        pids = subprocess.run(words, capture_output=True, text=True).stdout.split()
        own = [pid for pid in pids if os.readlink(f"/proc/{pid}/cwd") == str(folder)]
        os.kill(int(own[0]), signal.SIGKILL)

    return Engine(MACHINE.replace("LAUNCHER", "hyperqueue").replace("OPTIONS", options), kill_node)


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


every = pytest.mark.parametrize("engine", ["hyperqueue", "flux-stand-in", "flux"], indirect=True)
on_flux = pytest.mark.parametrize("engine", ["flux-stand-in", "flux"], indirect=True)
on_real_flux = pytest.mark.parametrize("engine", ["flux"], indirect=True)


@every
def test_a_campaign(engine, tmp_path):
    """Failures are repeated, several ranks start as often as they should, statuses come through."""
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
    """The engine says so, the node is left out, its tasks run on the other."""
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


@pytest.mark.parametrize("kind", ["flux-stand-in", "flux"])
def test_several_brokers_on_one_host(kind, tmp_path, monkeypatch):
    """Nodes that share their name cannot be chosen by it."""
    with _flux(kind, tmp_path, monkeypatch, are_named=False) as instance:
        options = f'flux = "{instance.program}"'
        machine = parse_machine(MACHINE.replace("LAUNCHER", "flux").replace("OPTIONS", options))
        with pytest.raises(NotAvailable, match="several on one host"):
            make_launcher(machine)


@on_flux
def test_flux_does_not_share_gpus(engine, tmp_path):
    campaign = parse_campaign(TASKS.replace("GPUS", "0.5"), tmp_path)
    found = Manager(campaign, parse_machine(engine.machine)).run()
    assert found.counts == {"done": 1, "failed": 6}
    assert "does not share a GPU" in found.failed["small-1"]


# How attempts end under Flux


class One:
    """Attempts of a launcher, one after the other or beside each other."""

    def __init__(self, engine: Engine, folder: Path) -> None:
        self.folder, self.count = folder, 0
        self.launcher = make_launcher(parse_machine(engine.machine))
        self.launcher.start()
        (folder / "logs").mkdir(exist_ok=True)

    def begin(self, *command: str, places: tuple[Place, ...] = (Place("n1", 1, (0,)),)):
        name = f"t{self.count}"
        self.count += 1
        environment = {**os.environ, MARKER: f"{self.folder}:{name}:0", MANAGER: "m"}
        launch = Launch(name, 0, command, self.folder, self.folder / f"logs/{name}.0.log")
        return self.launcher.launch(launch, Placement(places), environment)

    def end(self, handle) -> Ended:
        ended: list = []
        deadline = time.monotonic() + 180
        while not ended:
            assert time.monotonic() < deadline
            ended = self.launcher.poll(0.1)
        assert [one for one, _ in ended] == [handle]
        return ended[0][1]

    def text(self, handle) -> list[str]:
        """Lines of the log, but those of Flux on cores that are not there."""
        return [x for x in handle.launch.log.read_text().splitlines() if "cpu-affinity" not in x]


@pytest.fixture
def one(engine, tmp_path):
    found = One(engine, tmp_path)
    yield found
    found.launcher.close()


@on_flux
def test_statuses(one):
    """A program's own end is told from what Flux could not do."""
    assert one.end(one.begin("sh", "-c", "exit 0")) == Ended(0)
    assert one.end(one.begin("sh", "-c", "exit 5")) == Ended(5)
    assert one.end(one.begin("sh", "-c", "exit 120")) == Ended(120)
    assert one.end(one.begin("sh", "-c", "kill -9 $$")) == Ended(-9)
    assert one.end(one.begin("sh", "-c", "kill -15 $$")) == Ended(-15)
    pair = (Place("n1", 1, (0,)), Place("n-2", 1, (0,)))
    fails = "if test $FLUX_TASK_RANK = 1; then exit 7; fi; sleep 300"
    assert one.end(one.begin("sh", "-c", fails, places=pair)) == Ended(7)
    error = one.end(one.begin("/nowhere/program")).launcher_error
    assert "start failed: /nowhere/program" in error
    large = (Place("n1", 1, tuple(range(9))),)
    assert "alloc: unsatisfiable" in one.end(one.begin("true", places=large)).launcher_error
    error = one.end(one.begin("true", places=(Place("n3", 1, (0,)),))).launcher_error
    assert "host 'n3' not found" in error


@on_flux
def test_a_working_directory_that_a_node_does_not_see(one, monkeypatch):
    """Flux would run the program in /tmp."""
    client = one.launcher.client

    def elsewhere(*arguments):
        return [f"{word}/nowhere" if word.startswith("--cwd=") else word for word in client(*arguments)]

    monkeypatch.setattr(one.launcher, "client", elsewhere)
    assert "Could not change dir to" in one.end(one.begin("true")).launcher_error


@on_flux
def test_words_that_flux_would_change(one):
    assert "{{id}}" in one.end(one.begin("echo", "{{id}}")).launcher_error
    handle = one.begin("echo", "{id}", "$HOME", "a b")
    assert one.end(handle) == Ended(0)
    assert one.text(handle) == ["{id} $HOME a b"]


@on_flux
def test_ranks_are_spread_as_planned(one):
    """Also where nodes get different numbers."""
    places = (Place("n-2", 3, (0, 1, 2)), Place("n1", 2, (0, 1)))
    handle = one.begin("sh", "-c", "echo $FLUX_TASK_RANK ${FLUX_URI##*-}", places=places)
    assert one.end(handle) == Ended(0)
    assert sorted(one.text(handle)) == ["0 1", "1 1", "2 1", "3 0", "4 0"]


@on_flux
def test_gpus_are_given_once(one):
    """To two jobs that run at once on one node."""
    command = ("sh", "-c", "echo $CUDA_VISIBLE_DEVICES > gpu.$0; until test -e all; do sleep 0.02; done")
    running = [one.begin(*command, name, places=(Place("n1", 1, (0,), (0,)),)) for name in "ab"]
    files = [one.folder / f"gpu.{name}" for name in "ab"]
    wait_for(lambda: all(file.exists() and file.read_text() for file in files))
    (one.folder / "all").touch()
    while running:
        for handle, ended in one.launcher.poll(0.1):
            assert ended == Ended(0)
            running.remove(handle)
    assert sorted(file.read_text() for file in files) == ["0\n", "1\n"]


@on_flux
def test_a_task_that_ignores_sigterm_is_killed(one):
    """And reported when nothing of it is left."""
    handle = one.begin("sh", "-c", "trap '' TERM; echo $$ > pid; while true; do sleep 0.05; done")
    pid = one.folder / "pid"
    wait_for(lambda: pid.exists() and pid.read_text())
    one.launcher.kill(handle)
    assert one.launcher.poll(0.3) == []
    one.launcher.kill(handle, hard=True)
    assert one.end(handle).status != 0
    assert not alive(int(pid.read_text()))


@on_flux
def test_a_job_that_waits_is_ended_at_once(one):
    whole = (Place("n1", 1, (0, 1, 2, 3)),)
    first = one.begin("sh", "-c", "touch begun; until test -e go; do sleep 0.02; done", places=whole)
    wait_for((one.folder / "begun").exists)
    second = one.begin("touch", "never", places=whole)
    wait_for(lambda: len(one.launcher.jobs("pending")) == 1)
    one.launcher.kill(second)
    assert one.end(second).status != 0
    (one.folder / "go").touch()
    assert one.end(first) == Ended(0)
    assert not (one.folder / "never").exists()


@on_flux
def test_a_client_that_is_killed(one):
    """Its job is ended before the attempt is reported: nothing may run beside the next."""
    handle = one.begin("sh", "-c", "echo $$ > pid; sleep 300")
    pid = one.folder / "pid"
    wait_for(lambda: pid.exists() and pid.read_text())
    os.kill(handle.process.pid, signal.SIGKILL)
    assert one.end(handle).status != 0
    assert not alive(int(pid.read_text()))
    assert one.launcher.jobs() == []


@on_flux
def test_a_job_that_waits_for_a_node_that_is_down(engine, one):
    """It would wait until the node comes back."""
    whole = (Place("n-2", 1, (0, 1, 2, 3)),)
    first = one.begin("sh", "-c", "touch begun; exec sleep 300", places=whole)
    wait_for((one.folder / "begun").exists)
    second = one.begin("true", places=whole)
    wait_for(lambda: len(one.launcher.jobs("pending")) == 1)
    engine.kill_node("n-2")
    ended = {}
    while len(ended) < 2:
        ended |= {handle.launch.task: end for handle, end in one.launcher.poll(0.1)}
    lost = Ended(None, lost_nodes=("n-2",))
    assert ended == {first.launch.task: lost, second.launch.task: lost}
