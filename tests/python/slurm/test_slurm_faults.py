"""Some faults need a real Slurm: stuck sruns, killed ranks, nodes that answer late."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import time
from pathlib import Path

import attempts
import pytest
from attempts import launch, log, place, wait
from campaign_tools import attempts_of as rows

from trellis.campaign.files import parse_campaign, parse_machine
from trellis.campaign.launchers.agents import AgentLauncher
from trellis.campaign.launchers.slurm_steps import SlurmStepLauncher
from trellis.campaign.manager import Manager

MACHINE = """
[machine]
name = "virtual-slurm"
launcher = "{launcher}"
settle = 0
[[nodes]]
count = 4
cpus = 4
gpus = 2
[launcher_options]
check_seconds = 0.5
stuck_seconds = 2
"""


def test_a_stuck_srun_is_ended_and_its_task_runs_again(allocation, tmp_path, monkeypatch):
    """The first srun stands still before it asks for a step: Slurm knows of none, and it would never end."""
    real = shutil.which("srun")
    (tmp_path / "bin").mkdir()
    shim = tmp_path / "bin/srun"
    shim.write_text(f'#!/bin/bash\nmkdir {tmp_path}/once 2>/dev/null && kill -STOP $$\nexec {real} "$@"\n')
    shim.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    task = 'name = "a"\ncommand = "sleep 4; echo x > {output}"\noutputs = ["a"]\n'
    campaign = parse_campaign(f'[campaign]\nname = "c"\n[[task]]\n{task}', tmp_path)
    begin = time.monotonic()
    found = Manager(campaign, parse_machine(MACHINE.format(launcher="slurm_steps"))).run()
    assert found.counts == {"done": 1}
    assert time.monotonic() - begin < 60
    first, second = rows(Path(campaign.state))
    assert (first["outcome"], second["outcome"]) == ("launcher", "done")  # 4 s of work are no standstill
    assert "srun was stuck" in first["reason"]


@pytest.mark.parametrize(
    "program",
    ["exec sleep 300", "sleep 300 & echo $! > child.$SLURM_PROCID; wait"],
    ids=["alone", "with-a-child"],
)
def test_one_rank_of_a_step_is_killed(allocation, tmp_path, program):
    """Slurm ends the other ranks, on the other node too. It would wait for ever for the dead rank's child."""
    launcher = SlurmStepLauncher(attempts.machine(check_seconds=0.5, kill_wait_seconds=2))
    launcher.start()
    command = ["sh", "-c", f"echo $$ > pid.$SLURM_PROCID; {program}"]
    launch(launcher, tmp_path, "wide", command, place("n1", 2), place("n2", 2))
    paths = [tmp_path / f"pid.{rank}" for rank in range(4)]
    deadline = time.monotonic() + 90
    while not all(path.exists() and path.read_text().endswith("\n") for path in paths):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    pids = [int(path.read_text()) for path in paths]
    os.kill(pids[3], signal.SIGKILL)
    end = wait(launcher, 1)["wide"]
    launcher.close()
    for path in tmp_path.glob("child.*"):  # without control groups this Slurm leaves a dead rank's child
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(path.read_text()), signal.SIGKILL)
    assert end.status != 0
    assert end.lost_nodes == ()
    while any(Path(f"/proc/{pid}").exists() for pid in pids):
        assert time.monotonic() < deadline + 90
        time.sleep(0.05)


def test_one_host_name_for_all_nodes(allocation, tmp_path):
    """Nodes are told apart by Slurm's names: each of four tasks, filling a node, has one of its own."""
    launcher = SlurmStepLauncher(attempts.machine())
    launcher.start()
    command = ["sh", "-c", "echo $(hostname) $SLURMD_NODENAME; sleep 1"]
    for node in ("n1", "n2", "n3", "n4"):
        launch(launcher, tmp_path, node, command, place(node, cpus=4))
    begin = time.monotonic()
    assert {end.status for end in wait(launcher, 4).values()} == {0}
    assert time.monotonic() - begin < 20
    launcher.close()
    lines = [log(tmp_path, node).split() for node in ("n1", "n2", "n3", "n4")]
    assert len({host for host, _ in lines}) == 1
    assert [node for _, node in lines] == ["n1", "n2", "n3", "n4"]


def test_an_agent_whose_node_answers_late_joins(own_allocation, tmp_path):
    """The node's daemon stands still while the agents are started, and goes on three seconds later."""
    daemon = own_allocation.cluster.daemon("n4")
    os.kill(daemon, signal.SIGSTOP)
    launcher = AgentLauncher(parse_machine(MACHINE.format(launcher="slurm_agents").replace(
        "[launcher_options]", "[allocation]\njoin_timeout = 2\n[launcher_options]")))  # fmt: skip
    try:
        launcher.start()
        assert launcher.missing_nodes() == ["n4"]
        launch(launcher, tmp_path, "early", ["true"], place("n1"))
        assert wait(launcher, 1)["early"].status == 0
        os.kill(daemon, signal.SIGCONT)
        joined: list[str] = []
        deadline = time.monotonic() + 120
        while "n4" not in joined and time.monotonic() < deadline:
            launcher.poll(0.1)
            joined += launcher.node_changes()[0]
        assert joined == ["n4"]
        launch(launcher, tmp_path, "late", ["true"], place("n4"))
        assert wait(launcher, 1)["late"].status == 0
    finally:
        os.kill(daemon, signal.SIGCONT)
        launcher.close()
