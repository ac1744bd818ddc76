"""These tests run whole campaigns on a real Slurm, and make the faults that need one."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import attempts
import campaign_tools as tools
import pytest
from conftest import Allocation

from trellis.campaign.files import load_campaign, load_machine, parse_campaign, parse_machine
from trellis.campaign.history import gpu_idle_until_last, read_history
from trellis.campaign.manager import Manager
from trellis.campaign.model import Campaign
from trellis.campaign.utilisation import simulate

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"

MACHINE = """
[machine]
name = "virtual-slurm"
launcher = "{launcher}"
[[nodes]]
count = 4
prefix = "n"
cpus = 4
gpus = 2
[launcher_options]
check_seconds = 1
"""

#: Each task adds a line to a file when it begins and when it ends: what ran twice is seen from outside.
TRACED = """
[campaign]
name = "traced"
lease = 5
[[task]]
name = "t{{i}}"
over = {{ i = "0..{last}" }}
command = "echo begin {{i}} >> trace; sleep {seconds}; echo end {{i}} >> trace; echo fine > {{output}}"
estimate = {seconds}
gpus_per_rank = 1
outputs = [{{ path = "out.{{i}}", end_marker = "fine" }}]
"""


def machine(launcher: str):
    return parse_machine(MACHINE.format(launcher=launcher))


def traced(folder: Path, tasks: int, seconds: float) -> Campaign:
    return parse_campaign(TRACED.format(last=tasks - 1, seconds=seconds), folder)


def trace(folder: Path) -> tuple[Counter, Counter]:
    """Return the number of times that each task began and ended."""
    lines = [line.split() for line in (folder / "trace").read_text().splitlines()]
    return Counter(i for what, i in lines if what == "begin"), Counter(
        i for what, i in lines if what == "end"
    )


@pytest.mark.slow
@pytest.mark.parametrize("launcher", ["slurm_steps", "slurm"])
def test_idle_gpus_of_the_194_tasks(allocation, tmp_path, launcher, record_property):
    """At most 12 % of the GPUs' time is idle until the last GPU task, where naive bundling has about 41 %."""
    text = (EXAMPLES / "campaign_194.toml").read_text()
    campaign = parse_campaign(text, tmp_path)
    found = Manager(campaign, machine(launcher)).run()
    assert found.counts == {"done": 194}
    idle = gpu_idle_until_last(read_history(Path(campaign.state)))
    naive = simulate(load_machine("virtual"), load_campaign(EXAMPLES / "campaign_194.toml").tasks)
    record_property("gpu_idle_fraction", idle)
    print(f"{launcher}: idle {idle:.3f}, {found.seconds:.1f} s, naive "
          f"{naive['naive_gpu_idle_fraction_until_last_gpu_task']:.3f}")  # fmt: skip
    assert naive["naive_gpu_idle_fraction_until_last_gpu_task"] > 0.35
    assert idle <= 0.12


def test_task_over_several_nodes(allocation, tmp_path):
    text = """
[campaign]
name = "wide"
[[task]]
name = "wide"
command = '''
  echo $SLURMD_NODENAME $SLURM_PROCID $CUDA_VISIBLE_DEVICES >> places
  [ $SLURM_PROCID != 0 ] || echo x > {output}'''
nodes = 2
ranks = 4
gpus_per_rank = 1
outputs = ["wide.out"]
"""
    assert Manager(parse_campaign(text, tmp_path), machine("slurm_steps")).run().counts == {"done": 1}
    lines = sorted(line.split() for line in (tmp_path / "places").read_text().splitlines())
    assert [line[1] for line in lines] == ["0", "1", "2", "3"]
    assert len({line[0] for line in lines}) == 2
    assert {line[2] for line in lines} == {"0,1"}


@pytest.mark.slow
@pytest.mark.parametrize("launcher", ["slurm_steps", "slurm"])
def test_node_death_costs_its_tasks_another_attempt_and_nothing_else(own_allocation, tmp_path, launcher):
    """The program srun returns 0 for the steps of the dead node; their outputs are not there, so they run
    again."""
    campaign = traced(tmp_path, 24, 2)
    cluster = own_allocation.cluster
    killed = []

    manager = Manager(campaign, machine(launcher))
    look = manager._look_around

    def look_and_kill() -> None:
        look()
        if killed or not (tmp_path / "trace").exists():
            return
        begun = {f"t{i}" for i in trace(tmp_path)[0]}
        if any("n3" in a.placement.nodes and name in begun for name, a in manager.running.items()):
            killed.append(time.monotonic())
            cluster.kill_node("n3")

    manager._look_around = look_and_kill
    found = manager.run()
    assert killed
    assert found.counts == {"done": 24}
    begun, ended = trace(tmp_path)
    assert set(ended.values()) == {1}
    assert sum(begun.values()) - 24 == sum(count > 1 for count in begun.values()) > 0
    history = read_history(Path(campaign.state))
    failures = [a for a in history.attempts if a.outcome != "done"]
    # A task that ends before Slurm takes the node for dead, on a busy machine, fails by the launcher's fault
    # or its own.
    outcomes = {a.outcome for a in failures}
    assert "node" in outcomes
    assert outcomes <= {"node", "launcher", "task"}
    assert {place[0] for a in failures for place in a.places} == {"n3"}
    assert history.nodes["n3"].reason


def test_killed_manager_leaves_steps_that_the_next_one_ends(allocation, tmp_path):
    """A kill -9 hits the manager alone: its steps run on. The next manager ends them, and nothing ends
    twice."""
    text = TRACED.format(last=7, seconds=1)
    assert "sleep 1;" in text  # the first attempts are not about to end by themselves when they are ended
    text = text.replace("sleep 1;", "test {attempt} != 0 || sleep 60; sleep 1;")
    (tmp_path / "campaign.toml").write_text(text)
    words = tools.run_words(tmp_path / "campaign.toml", MACHINE.format(launcher="slurm_steps"))
    first = subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.DEVNULL)
    notes = tmp_path / "trace"
    tools.wait_for(lambda: notes.exists() and len(notes.read_text().splitlines()) >= 6, 30)
    first.kill()
    first.wait()
    second = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=100, check=True)
    assert json.loads(second.stdout)["tasks"] == {"done": 8}
    begun, ended = trace(tmp_path)
    assert len(ended) == 8
    assert set(ended.values()) == {1}
    assert sum(begun.values()) > 8


def test_sigterm_drains(allocation, tmp_path):
    """Running tasks are finished, no new task is started, and the next manager goes on."""
    (tmp_path / "campaign.toml").write_text(TRACED.format(last=15, seconds=2))
    words = tools.run_words(tmp_path / "campaign.toml", MACHINE.format(launcher="slurm"))
    first = subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    tools.wait_for((tmp_path / "trace").exists, 30)
    os.kill(first.pid, signal.SIGTERM)
    result = json.loads(first.communicate(timeout=60)[0])
    assert result["reason"] == "drained"
    begun, ended = trace(tmp_path)
    assert begun == ended
    assert 0 < len(ended) < 16
    subprocess.run(words, cwd=tmp_path, check=True, timeout=100, stdout=subprocess.DEVNULL)
    begun, ended = trace(tmp_path)
    assert len(begun) == 16
    assert set(begun.values()) == set(ended.values()) == {1}


def test_nothing_too_long_is_started_before_the_end(cluster, monkeypatch, tmp_path):
    """The allocation has one minute: of two tasks the one that needs five is held."""
    made = Allocation(cluster, monkeypatch, minutes=1)
    text = """
[campaign]
name = "end"
[[task]]
name = "short"
command = "echo x > {output}"
estimate = 1
outputs = ["short"]
[[task]]
name = "long"
command = "echo x > {output}"
estimate = "5min"
outputs = ["long"]
"""
    found = Manager(parse_campaign(text, tmp_path), machine("slurm_steps")).run()
    made.end()
    assert (tmp_path / "short").exists()
    assert not (tmp_path / "long").exists()
    assert found.counts["done"] == 1
    assert not found.failed


def test_dead_node_is_left_out_by_agents(own_allocation, tmp_path):
    """One node never reports: the others work."""
    cluster = own_allocation.cluster
    cluster.kill_node("n4")
    deadline = time.monotonic() + 40
    while not cluster.node_state("n4").startswith("down"):
        assert time.monotonic() < deadline
        time.sleep(0.2)
    campaign = traced(tmp_path, 8, 0.2)
    assert Manager(campaign, machine("slurm")).run().counts == {"done": 8}
    used = {place[0] for a in read_history(Path(campaign.state)).attempts for place in a.places}
    assert used <= {"n1", "n2", "n3"}


def test_machine_takes_the_names_of_the_allocation(allocation, tmp_path):
    text = MACHINE.replace('prefix = "n"', 'prefix = "node"').replace("count = 4", "count = 6")
    manager = Manager(traced(tmp_path, 2, 0.1), parse_machine(text.format(launcher="slurm_steps")))
    assert [node.name for node in manager.machine.nodes] == ["n1", "n2", "n3", "n4"]
    assert manager.run().counts == {"done": 2}
    assert attempts.machine().nodes[0].name == "n1"


@pytest.mark.slow
def test_allocations_are_renewed_until_the_campaign_is_done(cluster, tmp_path):
    """The first job is cancelled while it works; its successor goes on, and cancels its own at the end: what
    a predicate leaves out is no work for another."""
    (tmp_path / "campaign.toml").write_text(
        """
[campaign]
name = "renewed"
lease = 4
[[task]]
name = "t{i}"
over = { i = "1..8" }
command = "echo $SLURM_JOB_ID > begun.{i}; sleep 2; echo $SLURM_JOB_ID > {output}"
estimate = 2
threads = 4
outputs = ["out.{i}"]
[[task]]
name = "not-wanted"
predicate = "exit 1"
command = "true"
"""
    )
    (tmp_path / "machine.toml").write_text(
        MACHINE.format(launcher="slurm") + '[allocation]\nlength = "10min"\n'
    )
    environment = {
        k: v for k, v in {**os.environ, **cluster.environment}.items() if not k.startswith("SLURM_JOB")
    }
    words = [
        sys.executable,
        "-m",
        "trellis",
        "campaign",
        "submit",
        "campaign.toml",
        "-m",
        "machine.toml",
        "-n",
        "4",
    ]
    submitted = subprocess.run(
        [*words, "--json"], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60
    )
    assert submitted.returncode == 0, submitted.stderr
    first = json.loads(submitted.stdout)["job"]
    deadline = time.monotonic() + 100
    while len(list(tmp_path.glob("begun.*"))) < 3:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    cluster.call("scancel", first)
    while "trellis-renewed" in cluster.output("squeue", "-h", "-o", "%j"):
        assert time.monotonic() < deadline, "jobs are left"
        time.sleep(0.5)
    jobs = {(tmp_path / f"out.{i}").read_text().strip() for i in range(1, 9)}
    assert jobs - {first}, "the second allocation did nothing"
    assert len(list((tmp_path / "renewed.state").glob("allocation.*.json"))) == 2
