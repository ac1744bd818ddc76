"""Resident agents work in a real Slurm, alone and together with steps."""

from __future__ import annotations

import os
import signal
import socket
import statistics
import subprocess
import time
from pathlib import Path

import attempts
import pytest
from attempts import launch, log, place, wait

from trellis.campaign.launchers.agents import AgentLauncher
from trellis.campaign.launchers.slurm import SlurmLauncher


@pytest.fixture
def agents(allocation):
    launcher = AgentLauncher(attempts.machine())
    launcher.start()
    yield launcher
    launcher.close()


def agent_processes() -> list[int]:
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if len(words) > 2 and words[2].endswith(b"launchers/agent.py"):
            found.append(int(folder.name))
    return found


def test_places_gpus_statuses(agents, tmp_path):
    shown = ["sh", "-c", "echo $SLURMD_NODENAME [$CUDA_VISIBLE_DEVICES]; exit 3"]
    launch(agents, tmp_path, "a", shown, place("n4", gpus=(1,)))
    launch(agents, tmp_path, "b", ["/no/such/program"], place("n1"))
    launch(agents, tmp_path, "c", ["true"], place("n1", 2))
    ended = wait(agents, 3)
    assert log(tmp_path, "a") == "n4 [1]\n"
    assert (ended["a"].status, ended["a"].launcher_error) == (3, None)
    assert "/no/such/program" in ended["b"].launcher_error
    assert "single ranks" in ended["c"].launcher_error


def test_kill_ends_the_group(agents, tmp_path):
    handle = launch(agents, tmp_path, "long", ["sh", "-c", "sleep 301 & echo $! > child; wait"], place("n1"))
    while not (tmp_path / "child").exists() or not (tmp_path / "child").read_text():
        time.sleep(0.02)
    agents.kill(handle, hard=True)
    assert wait(agents, 1)["long"].status == -signal.SIGKILL
    child = int((tmp_path / "child").read_text())
    deadline = time.monotonic() + 30
    while Path(f"/proc/{child}").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not Path(f"/proc/{child}").exists()


def test_wrong_secret_is_turned_away(agents):
    port = agents._listener.getsockname()[1]
    with socket.create_connection(("127.0.0.1", port)) as stranger:
        stranger.sendall(b'{"agent": "n9", "secret": "guess"}\n')
        for _ in range(3):
            agents.poll(0.05)
        assert stranger.recv(10) == b""
    assert not agents.has_agent("n9")


def test_cost_of_small_tasks(agents, tmp_path, record_property):
    costs = []
    for round_ in range(3):
        start = time.monotonic()
        for number in range(64):
            launch(agents, tmp_path, f"{round_}-{number}", ["true"], place(f"n{1 + number % 4}"))
        assert {end.status for end in wait(agents, 64).values()} == {0}
        costs.append((time.monotonic() - start) / 64)
    record_property("seconds_per_task", statistics.median(costs))
    print(f"seconds per task: {sorted(costs)}")
    assert statistics.median(costs) < 0.02


def test_nothing_outlives_the_manager(allocation, tmp_path):
    """The manager's connections end, as the kernel ends them when it is killed: agents and tasks are gone."""
    launcher = AgentLauncher(attempts.machine())
    launcher.start()
    launch(launcher, tmp_path, "long", ["sh", "-c", "echo $$ > child; exec sleep 302"], place("n2"))
    while not (tmp_path / "child").exists() or not (tmp_path / "child").read_text():
        time.sleep(0.02)
    child = int((tmp_path / "child").read_text())
    launcher.close()
    assert not Path(f"/proc/{child}").exists()
    assert agent_processes() == []


def test_killed_agent_takes_its_node_and_its_children(allocation, tmp_path):
    launcher = AgentLauncher(attempts.machine())
    launcher.start()
    command = ["sh", "-c", "echo $PPID > parent; exec sleep 303"]
    launch(launcher, tmp_path, "doomed", command, place("n3"))
    while not (tmp_path / "parent").exists() or not (tmp_path / "parent").read_text():
        time.sleep(0.02)
    start = time.monotonic()
    os.kill(int((tmp_path / "parent").read_text()), signal.SIGKILL)
    end = wait(launcher, 1)["doomed"]
    assert time.monotonic() - start < 2
    assert end.lost_nodes == ("n3",)
    assert launcher.node_changes()[1] == ["n3"]
    launch(launcher, tmp_path, "late", ["true"], place("n3"))
    assert wait(launcher, 1)["late"].lost_nodes == ("n3",)
    launch(launcher, tmp_path, "other", ["true"], place("n2"))
    assert wait(launcher, 1)["other"].status == 0
    launcher.close()
    left = subprocess.run(["pgrep", "-f", "^sleep 303$"], capture_output=True, text=True).stdout
    assert left == ""


def test_agents_and_steps_together(allocation, tmp_path):
    launcher = SlurmLauncher(attempts.machine())
    launcher.start()
    command = ["sh", "-c", "echo $SLURMD_NODENAME $CUDA_VISIBLE_DEVICES $SLURM_STEP_NUM_TASKS; sleep 0.5"]
    launch(launcher, tmp_path, "pair", command, place("n1", gpus=(1,)), place("n2", gpus=(0,)))
    launch(launcher, tmp_path, "small", command, place("n1", gpus=(0,)))
    start = time.monotonic()
    assert {end.status for end in wait(launcher, 2).values()} == {0}
    assert time.monotonic() - start < 10
    assert sorted(log(tmp_path, "pair").splitlines()) == ["n1 1 2", "n2 0 2"]
    assert log(tmp_path, "small") == "n1 0\n"
    assert launcher.seconds_left() > 1000
    launcher.close()
