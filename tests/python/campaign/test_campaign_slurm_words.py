"""Recorded output of Slurm's commands gives the right lost nodes, allocations and left-over steps."""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from campaign_tools import alive, machine, run, start, wait_for, write

from trellis.campaign import allocations
from trellis.campaign.allocations import batch_script
from trellis.campaign.files import load_campaign, parse_machine
from trellis.campaign.launchers import process as process_launcher
from trellis.campaign.launchers import slurm_system, slurm_watch
from trellis.campaign.launchers.agents import AgentLauncher
from trellis.campaign.launchers.base import Launch, Orphan
from trellis.campaign.launchers.process import ProcessLauncher
from trellis.campaign.launchers.slurm import SlurmLauncher
from trellis.campaign.launchers.slurm_steps import SlurmStepLauncher
from trellis.campaign.model import Place, Placement
from trellis.errors import NotAvailable

NODES = (
    '[machine]\nname = "m"\nlauncher = "slurm"\n[[nodes]]\ncount = 2\ncpus = 2\n[allocation]\nlength = "1h"\n'
)


@pytest.fixture
def says(monkeypatch):
    """Give answers of Slurm's commands by their names; raise an answer that is an exception."""
    answers: dict[str, str | Exception] = {}

    def ask(*command: str, timeout: float = 60) -> str:
        answer = answers[command[0]]
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(slurm_system, "ask", ask)
    monkeypatch.setenv("SLURM_JOB_ID", "17")
    return answers


def test_the_job_of_an_array_is_told_from_the_others(says) -> None:
    says["squeue"] = "18|59:02|n[3-4]\n17|1:00:00|n[1-2]\n19|1:00:00|"
    assert slurm_system.allocation_now() == (3600.0, {"n1", "n2"})


@pytest.mark.parametrize("answer", ["", "17|1:00:00|", "17|1:00:00|(null)", "18|1:00:00|n[1-2]"])
def test_an_answer_without_nodes_is_no_loss_of_all_nodes(says, answer: str) -> None:
    says["squeue"] = "17|1:00:00|n[1-2]"
    says["sinfo"] = "n1 mixed\nn2 allocated"
    watch = slurm_watch.StepWatch(["n1", "n2"], 0.01)
    says["squeue"] = answer
    with pytest.raises(NotAvailable, match="17"):
        slurm_system.allocation_now()
    watch.start()
    time.sleep(0.1)
    assert watch.lost() == set()
    assert watch.is_alive(), "it goes on asking"
    watch.stop()


def test_known_hosts_keep_their_entries() -> None:
    where = parse_machine(
        '[machine]\nname = "m"\n[[nodes]]\nnames = ["a"]\ncpus = 2\n[[nodes]]\nnames = ["b"]\ncpus = 4\n'
        '[[nodes]]\nnames = ["c"]\ncpus = 6\n'
    )
    nodes = slurm_system.machine_on_hosts(where, ["b", "x"]).nodes
    assert [(node.name, node.cpus) for node in nodes] == [("b", 4), ("x", 2)]


def test_a_controller_that_is_away_ends_no_manager(says) -> None:
    says["scancel"] = says["squeue"] = NotAvailable(
        "slurm_load_jobs error: Unable to contact slurm controller"
    )
    slurm_watch.signal_steps(["17.3"], hard=True)
    launcher = SlurmStepLauncher(parse_machine(NODES))
    orphan = Orphan("t", 0, "m", {"step": "trellis|0|m|0|t"})
    assert launcher.end_orphan(orphan, hard=True), "nobody said that it is over"


@pytest.mark.parametrize(("hard", "signal_name"), [(False, "TERM"), (True, "KILL")])
def test_steps_are_stopped_before_they_are_signalled(monkeypatch, hard: bool, signal_name: str) -> None:
    """Slurm signals children first: a shell would go on to its next command."""
    asked: list[tuple[str, ...]] = []
    monkeypatch.setattr(slurm_system, "ask", lambda *words, timeout: asked.append(words))
    slurm_watch.signal_steps(["17.3", "17.4"], hard=hard)
    assert asked == [("scancel", f"--signal={s}", "17.3", "17.4") for s in ("STOP", signal_name, "CONT")]


def test_an_orphan_gets_sigterm_once_and_sigkill_until_it_is_gone(monkeypatch) -> None:
    """The manager asks every 20 ms: a program that saves its work is not to be stopped each time."""
    asked: list[str] = []
    is_away = True

    def ask(*words: str, timeout: float = 60) -> str:
        if words[0] == "squeue":
            return "17.3 trellis|0|m|0|t"
        if is_away:
            raise NotAvailable("no controller")
        asked.append(words[1].removeprefix("--signal="))
        return ""

    monkeypatch.setattr(slurm_system, "ask", ask)
    monkeypatch.setenv("SLURM_JOB_ID", "17")
    launcher = SlurmStepLauncher(parse_machine(NODES))
    orphan = Orphan("t", 0, "m", {"step": "trellis|0|m|0|t"})
    assert launcher.end_orphan(orphan, hard=False)
    is_away = False  # what the controller did not take is said again
    for hard in (False, False, True, True):
        assert launcher.end_orphan(orphan, hard=hard)
    assert asked == ["STOP", "TERM", "CONT", *2 * ["STOP", "KILL", "CONT"]]


def test_what_an_agent_ran_is_lost_with_a_node_that_slurm_takes_for_dead(says, tmp_path: Path) -> None:
    """A node without power sends no end of its connection."""
    launcher = SlurmLauncher(parse_machine(NODES))
    agents: AgentLauncher = launcher._agents
    here, there = socket.socketpair()
    agents._agents["n1"], agents._nodes[here.fileno()], agents._received["n1"] = here, "n1", b""
    agents._poll.register(here, select.POLLIN)
    launch = Launch("t", 0, ("true",), tmp_path, tmp_path / "logs/t.log")
    handle = agents.launch(launch, Placement((Place("n1", 1, (0,), ()),)), {})
    assert launcher.poll(0) == []
    launcher._steps._lost.add("n1")
    assert launcher.node_changes() == ([], ["n1"])
    assert [(h, end.lost_nodes) for h, end in launcher.poll(0)] == [(handle, ("n1",))]
    there.close()


def test_connections_of_agents_end_when_nothing_answers() -> None:
    agents = AgentLauncher(parse_machine(NODES))
    here, there = socket.create_server(("127.0.0.1", 0)), socket.socket()
    there.connect(here.getsockname())
    stranger, _ = here.accept()
    agents._strangers[stranger.fileno()] = (stranger, b"")
    agents._poll.register(stranger, select.POLLIN)
    there.sendall(f'{{"agent": "n1", "secret": "{agents._secret}", "protocol": 1}}\n'.encode())
    agents._introduce(stranger.fileno())
    assert agents.has_agent("n1")
    assert stranger.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
    assert stranger.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) > 0
    for each in (stranger, there, here):
        each.close()


# The tests from here on are about allocations.


def run_script(folder: Path, monkeypatch, *, left: int, refusals: int, tasks: str) -> list[str]:
    """Run the batch script where sbatch refuses so often; return what was asked of sbatch and scancel."""
    programs = folder / "bin"
    programs.mkdir()
    asked = folder / "asked"
    for name, text in {
        "sbatch": f'echo "sbatch $TRELLIS_ALLOCATIONS_LEFT $*" >> {asked}\n'
        f"[ $(grep -c ^sbatch {asked}) -gt {refusals} ] && echo 18\n",
        "squeue": "true\n",
        "scancel": f'echo "scancel $*" >> {asked}\n',
        "python": f'if [ "$2" = trellis ]; then echo \'{{"tasks": {tasks}}}\'; exit 3; fi\n'
        f'exec {sys.executable} "$@"\n',
    }.items():
        (programs / name).write_text(f"#!/bin/sh\n{text}")
        (programs / name).chmod(0o755)
    monkeypatch.setattr(allocations.sys, "executable", str(programs / "python"))
    path = write(folder / "with blank", '[[task]]\nname = "t"\ncommand = "true"\n')
    campaign = load_campaign(path)
    Path(campaign.state).mkdir(parents=True)
    text = batch_script(campaign, path, parse_machine(NODES), "m.toml")
    assert "#SBATCH --no-requeue\n" in text  # else a job that runs again would have two successors
    assert f"#SBATCH --output='{campaign.state}/allocation.%j.log'\n" in text
    ended = subprocess.run(
        ["bash", "-c", text],
        env={
            **os.environ,
            "PATH": f"{programs}:{os.environ['PATH']}",
            "SLURM_JOB_ID": "17",
            "TRELLIS_ALLOCATIONS_LEFT": str(left),
        },
    )
    assert ended.returncode == 3, "the manager's"
    return [" ".join(line.split()[:2]) for line in asked.read_text().splitlines()] if asked.exists() else []


@pytest.mark.parametrize(
    ("left", "refusals", "tasks", "expected"),
    [
        (3, 0, '{"done": 1, "held": 1}', ["sbatch 2"]),
        (3, 1, '{"done": 1, "held": 1}', ["sbatch 2", "sbatch 2"]),
        (3, 0, '{"done": 1}', ["sbatch 2", "scancel 18"]),
        (3, 1, '{"done": 1}', ["sbatch 2", "sbatch 2", "scancel 18"]),
        (1, 0, '{"done": 1, "held": 1}', []),
    ],
)
def test_allocations_are_renewed_though_sbatch_failed_at_first(
    tmp_path: Path, monkeypatch, left: int, refusals: int, tasks: str, expected: list[str]
) -> None:
    assert run_script(tmp_path, monkeypatch, left=left, refusals=refusals, tasks=tasks) == expected


def test_the_managers_status_survives_sigterm(tmp_path: Path, monkeypatch) -> None:
    """SIGTERM comes at the beginning of the drain: the manager goes on and ends by itself."""
    (tmp_path / "python").write_text(
        f"#!/bin/sh\ntrap 'touch {tmp_path}/told' TERM\ntouch {tmp_path}/begun\n"
        f"until [ -e {tmp_path}/told ]; do sleep 0.02; done\nsleep 0.3\nexit 3\n"
    )
    (tmp_path / "python").chmod(0o755)
    monkeypatch.setattr(allocations.sys, "executable", str(tmp_path / "python"))
    path = write(tmp_path, '[[task]]\nname = "t"\ncommand = "true"\n')
    campaign = load_campaign(path)
    Path(campaign.state).mkdir(parents=True)
    text = batch_script(campaign, path, parse_machine(NODES), "m.toml")
    job = subprocess.Popen(["bash", "-c", text], env={**os.environ, "SLURM_JOB_ID": "17"})
    wait_for((tmp_path / "begun").exists)
    job.terminate()
    assert job.wait(20) == 3


# The tests from here on are about what a dead manager left.


class Forgetful(ProcessLauncher):
    """This launcher cannot end what a dead manager left, and at times it gives no answer."""

    asked = 0

    def orphans(self, state, managers):
        self.asked += 1
        if self.asked == 2:
            raise NotAvailable("squeue: Unable to contact slurm controller")
        return super().orphans(state, managers)

    def end_orphan(self, orphan, *, hard):
        return True


def test_what_cannot_be_ended_is_awaited(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("trellis.campaign.orphans.GRACE_SECONDS", 0.1)
    path = write(
        tmp_path,
        '[[task]]\nname = "t"\ncommand = "echo $$ >> pids; sleep 3; echo end > {output}"\n'
        'outputs = [{ path = "t", end_marker = "end" }]\n',
    )
    manager = start(path, '[machine]\nname = "m"\n[[nodes]]\ncpus = 2\n')
    pids = tmp_path / "work/pids"
    wait_for(lambda: pids.exists() and pids.read_text().endswith("\n"))
    manager.kill()
    manager.wait()
    launcher = Forgetful(machine())
    assert run(path, launcher=launcher).counts == {"done": 1}
    assert launcher.asked > 2
    first, *others = pids.read_text().split()
    assert not others, "it was not started beside the one that runs"
    assert not alive(int(first))


@pytest.mark.parametrize("hard", [False, True])
def test_a_shell_does_not_go_on_when_its_program_is_ended(tmp_path: Path, monkeypatch, hard: bool) -> None:
    """The program's process is met first, and much time passes before the shell's."""
    line = f"sleep 600; echo fine > {tmp_path}/out"
    shell = subprocess.Popen(["sh", "-c", line])
    children = Path(f"/proc/{shell.pid}/task/{shell.pid}/children")
    wait_for(lambda: children.read_text().split())
    found = [(pid, "marker", "m") for pid in (int(children.read_text()), shell.pid)]
    monkeypatch.setattr(process_launcher, "_marked_processes", lambda: found)
    real_kill = os.kill

    def slow_kill(pid: int, number: int) -> None:
        real_kill(pid, number)
        time.sleep(0.2)

    monkeypatch.setattr(process_launcher.os, "kill", slow_kill)
    assert ProcessLauncher(machine()).end_orphan(Orphan("t", 0, "m", {"marker": "marker"}), hard=hard)
    assert shell.wait(20) == -(signal.SIGKILL if hard else signal.SIGTERM)
    assert not (tmp_path / "out").exists()
