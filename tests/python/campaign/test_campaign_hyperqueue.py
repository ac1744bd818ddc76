"""A program that stands in for `hq` shows how the ends of tasks are judged under HyperQueue."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest
from campaign_tools import alive, start, wait_for, write
from engine_tools import Attempts, engine_of, require_ends_of_a_lost_node

from trellis.campaign.launchers.base import Ended
from trellis.campaign.model import Place


@pytest.fixture
def engine(tmp_path, monkeypatch):
    with engine_of("hyperqueue", tmp_path, monkeypatch) as found:
        yield found


@pytest.fixture
def one(engine, tmp_path):
    found = Attempts(engine, tmp_path)
    yield found
    found.launcher.close()


def _pid(folder: Path) -> int:
    path = folder / "pid"
    wait_for(lambda: path.exists() and path.read_text())
    return int(path.read_text())


def _server(folder: Path) -> int:
    """Return the process number of the server that was started in this folder."""
    return json.loads(next(folder.glob("hq-server.*/access")).read_text())["pid"]


def test_statuses(one):
    """In all these cases `hq submit --wait` itself ends with 0."""
    assert one.end(one.begin("sh", "-c", "exit 0")) == Ended(0)
    assert one.end(one.begin("sh", "-c", "exit 5")) == Ended(5)
    assert one.end(one.begin("sh", "-c", "kill -9 $$")) == Ended(-9)
    assert one.end(one.begin("/nowhere/program")) == Ended(127)


def test_a_job_that_somebody_cancels(one, tmp_path):
    """The job was not done, and it was not the program's failure."""
    handle = one.begin("sh", "-c", "echo $$ > pid; exec sleep 300")
    pid = _pid(tmp_path)
    [(job, _)] = one.launcher.jobs()
    folder = next(tmp_path.glob("hq-server.*"))
    subprocess.run(["hq", "--server-dir", folder, "job", "cancel", job], check=True)
    assert "canceled" in one.end(handle).launcher_error
    wait_for(lambda: not alive(pid))


def test_a_task_that_ignores_signals_is_gone_when_it_is_reported(one, tmp_path):
    handle = one.begin("sh", "-c", "trap '' INT TERM; echo $$ > pid; while true; do sleep 0.05; done")
    pid = _pid(tmp_path)
    one.launcher.kill(handle)
    assert one.end(handle).status != 0
    assert not alive(pid)


def test_threads_are_those_of_a_rank(one, monkeypatch):
    """A rank's number of threads stays even if the manager has the same number: HyperQueue would set it to
    the number of cores."""
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    places = (Place("n1", 4, (0, 1, 2, 3)),)
    handle = one.begin("sh", "-c", "echo $OMP_NUM_THREADS", places=places)
    assert one.end(handle) == Ended(0)
    assert one.text(handle) == ["1"] * 4


def test_programs_are_none_of_the_workers_that_were_started_together(one, monkeypatch):
    """Programs get the step of one task from the manager, even where its own environment has the same."""
    monkeypatch.setenv("SLURM_STEP_NUM_TASKS", "1")
    handle = one.begin("sh", "-c", "echo $SLURM_STEP_NUM_TASKS")
    assert one.end(handle) == Ended(0)
    assert one.text(handle) == ["1"]


def test_a_server_that_dies(one, tmp_path):
    """Clients end with 0 when the server dies, too; the workers end what they run, and no node is left."""
    handle = one.begin("sh", "-c", "echo $$ > pid; exec sleep 300")
    pid = _pid(tmp_path)
    os.kill(_server(tmp_path), signal.SIGKILL)
    assert "does not say how job" in one.end(handle).launcher_error
    wait_for(lambda: not alive(pid))
    wait_for(lambda: one.launcher.node_changes() == ([], ["n-2", "n1"]))


def test_output_as_the_user_likes_it(one, monkeypatch):
    """The program hq takes defaults from the environment."""
    monkeypatch.setenv("HQ_OUTPUT_MODE", "json")
    assert one.end(one.begin("true")) == Ended(0)


def test_a_killed_manager_leaves_nothing(engine, tmp_path):
    """The workers end with its server, and the tasks end with them."""
    path = write(tmp_path, '[[task]]\nname = "t"\ncommand = "echo $$ > ../pid; exec sleep 300"\n')
    manager = start(path, engine.machine)
    pid = _pid(tmp_path)
    server = _server(tmp_path)
    manager.kill()
    manager.wait()
    wait_for(lambda: not alive(server) and not alive(pid))


def test_a_job_that_waits_for_a_node_that_is_lost(engine, one):
    require_ends_of_a_lost_node(engine, one)
