"""These tests cover programs that a manager had forked, but which had not come to their exec when it was
killed."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import campaign_tools as tools
import pytest
from campaign_tools import events, machine, run, write

from trellis.campaign import manager as manager_module
from trellis.campaign import orphans
from trellis.campaign import unfinished_starts as copies
from trellis.campaign.files import load_campaign
from trellis.campaign.manager import Manager
from trellis.campaign.model import State

#: The first attempt does not end by itself.
TASK = (
    "[[task]]\nname = 't'\noutputs = ['t']\n"
    "command = 'echo {attempt} >> begun; test {attempt} = 1 || sleep 600; echo x > {output}'\n"
)


def begin_and_halt_before_exec(path: Path) -> None:
    """Run a manager whose programs wait between fork and exec until the file `gate` says something."""
    gate = str(path.parent / "gate")

    def fork(arguments, programs, close, keep, folder, environment, *more):
        descriptors, error_pipe = more[:6], more[7]
        pid = os.fork()
        if pid:
            return pid
        os.setsid()
        for own, wanted in ((descriptors[0], 0), (descriptors[3], 1), (descriptors[5], 2)):
            os.dup2(own, wanted)
        with open(gate) as file:  # it waits until somebody opens it for writing
            file.read()
        os.close(error_pipe)
        os.chdir(folder)
        os.execve(programs[0], arguments, dict(word.split(b"=", 1) for word in environment))

    subprocess._fork_exec = fork
    run(path)


def children_of(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@contextlib.contextmanager
def copy_of_a_dead_manager(path: Path) -> Iterator[int]:
    """Kill a manager while the process that it starts waits for `gate` before its exec."""
    os.mkfifo(path.parent / "gate")
    manager = tools.fork_to(begin_and_halt_before_exec, path)
    tools.wait_for(lambda: children_of(manager.pid))
    (copy,) = children_of(manager.pid)
    manager.kill()
    manager.join()
    assert tools.alive(copy)
    try:
        yield copy
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(copy, signal.SIGKILL)


def test_a_program_that_was_just_forked_is_waited_for(tmp_path: Path, monkeypatch) -> None:
    """The program shows nothing of its attempt before its exec; then it is ended, and the task runs again."""
    path = write(tmp_path, TASK)
    looks = []

    def open_gate(seconds: float) -> None:
        looks.append(seconds)
        if len(looks) == 3:
            assert not (tmp_path / "work/begun").exists()
            (tmp_path / "gate").write_text("go on")

    real = copies.wait_for_exec
    monkeypatch.setattr(
        orphans,
        "wait_for_exec",
        lambda names, **limits: real(names, patience=60.0, most=60.0, sleep=open_gate),
    )
    with copy_of_a_dead_manager(path) as copy:
        assert run(path).counts == {"done": 1}
        assert not tools.alive(copy)
    assert len(looks) >= 3
    assert [event["detail"] for event in events(tmp_path, "orphan-ended")] == ["attempt 0"]
    assert (tmp_path / "work/begun").read_text().split()[-1] == "1"


def test_a_manager_that_has_ended_is_no_copy_of_itself(tmp_path: Path, monkeypatch) -> None:
    """The process of a manager that has ended may go on with other things."""
    path = write(tmp_path, "[[task]]\nname = 't'\ncommand = 'true'\n")
    monkeypatch.setattr(orphans, "GRACE_SECONDS", 0.01)
    reader, writer = os.pipe()

    def run_and_stay() -> None:
        os.close(writer)
        manager = Manager(load_campaign(path), machine())
        with copies.named(manager.claims.id):
            manager.run()
            (tmp_path / "ended").touch()
            os.read(reader, 1)

    first = tools.fork_to(run_and_stay)
    tools.wait_for((tmp_path / "ended").exists)
    assert run(path).counts == {"done": 1}
    assert first.exitcode is None
    os.close(writer)
    first.join()
    os.close(reader)
    assert first.exitcode == 0


@pytest.fixture
def copy() -> Iterator[int]:
    """Yield a process that bears the name of a manager, and waits."""
    reader, writer = os.pipe()
    with copies.named("dead"):
        pid = os.fork()
        if pid == 0:
            os.close(writer)
            os.read(reader, 1)
            os._exit(0)
    yield pid
    os.close(writer)
    os.close(reader)
    os.waitpid(pid, 0)


def test_a_copy_that_never_comes_to_its_exec_is_killed(copy: int) -> None:
    os.kill(copy, signal.SIGSTOP)
    assert copies.wait_for_exec({"another"}, patience=60.0, most=60.0)
    assert tools.alive(copy)
    assert copies.wait_for_exec({"another", "dead"}, patience=0.01, most=60.0)
    assert not tools.alive(copy)


def test_a_copy_that_cannot_be_killed(copy: int, monkeypatch) -> None:
    monkeypatch.setattr(copies, "_kill_copy", lambda pid, names: None)
    assert not copies.wait_for_exec({"dead"}, patience=0.01, most=0.02)


def test_in_the_middle_of_exec_a_process_has_nothing(monkeypatch) -> None:
    """In the middle of exec a process shows nothing: it is waited for, but not for ever, as a program may
    have removed its arguments and its environment."""
    found = [([], [1]), ([], [1]), ([], [])]
    monkeypatch.setattr(copies, "_look", lambda names: found.pop(0))
    assert copies.wait_for_exec({"dead"}, patience=60.0, most=0.0, sleep=lambda seconds: None)
    assert not found
    monkeypatch.setattr(copies, "_look", lambda names: ([], [1]))
    assert copies.wait_for_exec({"dead"}, patience=0.01, most=0.0)


def test_the_name_is_borne_while_a_manager_works(tmp_path: Path) -> None:
    path = write(
        tmp_path, "[[task]]\nname = 't'\ncommand = 'cat /proc/$PPID/comm > {output}'\noutputs = ['t']\n"
    )
    own = Path("/proc/self/comm").read_text()
    manager = Manager(load_campaign(path), machine())
    assert manager.run().counts == {"done": 1}
    assert (tmp_path / "work/t").read_text() == copies.process_name(manager.claims.id) + "\n"
    assert Path("/proc/self/comm").read_text() == own


def test_nothing_runs_beside_what_cannot_be_killed(tmp_path: Path, monkeypatch) -> None:
    """The tasks of its manager wait, and others do not."""
    path = write(tmp_path, TASK)
    others = "[[task]]\nname = 'one'\ncommand = 'true'\n[[task]]\nname = 'two'\nafter = ['one']\n"
    monkeypatch.setattr(manager_module, "LOOK_SECONDS", 0.01)
    said: list[str] = []
    with copy_of_a_dead_manager(path):
        path.write_text(path.read_text() + others + "command = 'true'\n")
        second = Manager(load_campaign(path), machine(), say=said.append)
        real = copies.wait_for_exec

        def refuse_until_others_are_done(names: set[str], **limits: float) -> bool:
            assert not (tmp_path / "work/begun").exists()
            if second.course.progress.state["two"] is not State.DONE:
                return False
            (tmp_path / "gate").write_text("go on")
            return real(names, patience=60.0, most=60.0)

        monkeypatch.setattr(orphans, "wait_for_exec", refuse_until_others_are_done)
        assert second.run().counts == {"done": 3}
    assert any("cannot be ended" in line for line in said)
    assert (tmp_path / "work/begun").read_text().split()[-1] == "1"
