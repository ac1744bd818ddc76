"""The ends of tasks are judged rightly under Flux.

A program stands in for Flux; where Flux is installed, the tests use the real one too (:mod:`engine_tools`).
"""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from campaign_tools import HEAD, alive, attempts, events, run, start, wait_for, write
from engine_tools import Attempts, engine_of, flux_machine, flux_of, require_ends_of_a_lost_node

from trellis.campaign.files import parse_machine
from trellis.campaign.launchers import make_launcher
from trellis.campaign.launchers.base import Ended
from trellis.campaign.model import Place
from trellis.errors import NotAvailable


@pytest.fixture
def engine(request, tmp_path, monkeypatch):
    with engine_of(request.param, tmp_path, monkeypatch) as found:
        yield found


on_flux = pytest.mark.parametrize("engine", ["flux-stand-in", "flux"], indirect=True)
on_real_flux = pytest.mark.parametrize("engine", ["flux"], indirect=True)


@pytest.fixture
def one(engine, tmp_path):
    found = Attempts(engine, tmp_path)
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
    """Ranks are spread as planned even where nodes get different numbers."""
    places = (Place("n-2", 3, (0, 1, 2)), Place("n1", 2, (0, 1)))
    handle = one.begin("sh", "-c", "echo $FLUX_TASK_RANK ${FLUX_URI##*-}", places=places)
    assert one.end(handle) == Ended(0)
    assert sorted(one.text(handle)) == ["0 1", "1 1", "2 1", "3 0", "4 0"]


@on_flux
def test_gpus_are_given_once(one):
    """Two jobs that run at once on one node get different GPUs."""
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
    """The task is killed, and reported when nothing of it is left."""
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
    wait_for(lambda: len(one.launcher.jobs(waiting=True)) == 1)
    one.launcher.kill(second)
    assert one.end(second).status != 0
    (one.folder / "go").touch()
    assert one.end(first) == Ended(0)
    assert not (one.folder / "never").exists()


@on_flux
def test_a_client_that_is_killed(one):
    """The job is ended before the attempt is reported: nothing may run beside the next attempt."""
    handle = one.begin("sh", "-c", "echo $$ > pid; sleep 300")
    pid = one.folder / "pid"
    wait_for(lambda: pid.exists() and pid.read_text())
    os.kill(handle.process.pid, signal.SIGKILL)
    assert one.end(handle).status != 0
    assert not alive(int(pid.read_text()))
    assert one.launcher.jobs() == []


@on_real_flux
def test_a_job_shell_that_is_killed(one):
    """Flux then ends nothing: what it had started is ended by its marker, before the attempt is reported."""
    handle = one.begin("sh", "-c", "echo $PPID $$ > pids; exec sleep 300")
    pids = one.folder / "pids"
    wait_for(lambda: pids.exists() and pids.read_text())
    shell, program = map(int, pids.read_text().split())
    os.kill(shell, signal.SIGKILL)
    assert one.end(handle).launcher_error == "job shell Killed"
    wait_for(lambda: not alive(program))


@on_flux
def test_a_job_that_waits_for_a_node_that_is_lost(engine, one):
    require_ends_of_a_lost_node(engine, one)


@pytest.mark.parametrize("kind", ["flux-stand-in", "flux"])
def test_several_brokers_on_one_host(kind, tmp_path, monkeypatch):
    """Nodes that share their name cannot be chosen by it."""
    with flux_of(kind, tmp_path, monkeypatch, are_named=False) as instance:
        machine = parse_machine(flux_machine(instance))
        with pytest.raises(NotAvailable, match="several on one host"):
            make_launcher(machine)


@on_flux
def test_gpus_are_not_shared(engine, tmp_path):
    task = '[[task]]\nname = "t"\ncommand = "true"\ngpus_per_rank = 0.5\n'
    found = run(write(tmp_path, task), parse_machine(engine.machine))
    assert "does not share a GPU" in found.failed["t"]


# The tests from here on run whole campaigns.

#: The program writes its process's number, and ends when a file is there; its output proves itself.
WAITS = """
[[task]]
name = "t-{i}"
over = { i = "1..3" }
threads = 4
command = "echo $$ >> begun; until test -e go; do sleep 0.05; done; echo end > {output}"
outputs = [{ path = "t.{i}", end_marker = "end" }]
"""


def _begun(folder: Path) -> list[int]:
    path = folder / "work/begun"
    return [int(line) for line in path.read_text().split()] if path.exists() else []


@on_flux
def test_status_0_without_outputs_and_without_any_asked_for(engine, tmp_path):
    tasks = '[[task]]\nname = "says-so"\ncommand = "true"\n'
    tasks += '[[task]]\nname = "lies"\ncommand = "true"\noutputs = ["x"]\nretries = { task = 0 }\n'
    found = run(write(tmp_path, tasks), parse_machine(engine.machine))
    assert found.counts == {"done": 1, "failed": 1}
    assert found.failed["lies"].startswith("task: status 0; x: not there; log: ")


@on_flux
def test_a_time_out_ends_the_job(engine, tmp_path):
    tasks = WAITS.replace("1..3", "1..1") + 'timeout = "1s"\nretries = { timeout = 0 }\n'
    found = run(write(tmp_path, tasks), parse_machine(engine.machine))
    assert "timeout" in found.failed["t-1"]
    assert not any(alive(pid) for pid in _begun(tmp_path))


@on_flux
def test_a_killed_manager_leaves_jobs_that_the_next_one_ends(engine, tmp_path):
    path = write(tmp_path, WAITS)
    first = start(path, engine.machine)
    wait_for(lambda: len(_begun(tmp_path)) == 2)
    left = _begun(tmp_path)
    first.kill()
    first.wait()
    assert all(alive(pid) for pid in left)
    (tmp_path / "work/begun").unlink()
    second = start(path, engine.machine)
    wait_for(lambda: len(_begun(tmp_path)) == 2)
    assert not any(alive(pid) for pid in left)
    (tmp_path / "work/go").touch()
    assert second.wait(180) == 0
    assert len(events(tmp_path, "orphan-ended")) == 2
    done = [(row["task"], row["number"]) for row in attempts(tmp_path) if row["outcome"] == "done"]
    assert sorted(done) == [("t-1", 1), ("t-2", 1), ("t-3", 0)]


@on_flux
def test_a_killed_manager_leaves_jobs_that_the_next_one_awaits(engine, tmp_path):
    path = write(tmp_path, WAITS, HEAD + 'orphans = "await"\n')
    first = start(path, engine.machine)
    wait_for(lambda: len(_begun(tmp_path)) == 2)
    first.kill()
    first.wait()
    second = start(path, engine.machine)
    wait_for(lambda: len(list((tmp_path / "work/c.state/records").glob("*.sqlite"))) == 2)
    (tmp_path / "work/go").touch()
    assert second.wait(180) == 0
    assert len(_begun(tmp_path)) == 3


@on_flux
def test_sigterm_drains(engine, tmp_path):
    """Running tasks are finished, and no other task is started."""
    process = start(write(tmp_path, WAITS), engine.machine)
    wait_for(lambda: len(_begun(tmp_path)) == 2)
    process.send_signal(signal.SIGTERM)
    (tmp_path / "work/go").touch()
    text, _ = process.communicate(timeout=180)
    assert '"reason": "drained"' in text
    assert [row["outcome"] for row in attempts(tmp_path)] == ["done", "done"]


@on_real_flux
def test_ranks_find_each_other(engine, tmp_path):
    """Ranks find each other by the PMI that MPI libraries start with; the stand-in has none."""
    program = parse_machine(engine.machine).launcher_options["flux"]
    tasks = f'[[task]]\nname = "t"\nranks = 4\nnodes = 2\ncommand = ["{program}", "pmi", "exchange"]\n'
    assert run(write(tmp_path, tasks), parse_machine(engine.machine)).counts == {"done": 1}
    assert "completed pmi exchange on 4 tasks" in (tmp_path / "work/c.state/logs/t.0.log").read_text()
