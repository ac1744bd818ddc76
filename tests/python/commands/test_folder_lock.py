"""The second of two runs in one folder is refused, whatever became of earlier ones."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from command_line import command, environment, run, write_run_file
from run_file_texts import heat_bath, measurement

import trellis as tr
from trellis.errors import FileError
from trellis.runs import folder_lock
from trellis.runs.folder_lock import FolderLock


def generate(total: int) -> str:
    return heat_bath(sweeps={"total": total, "keep_every": 1000000, "checkpoint_every": 5})


HOLDER = """\
import sys, time
from pathlib import Path
from trellis.runs.folder_lock import FolderLock
numbers = [int(n) for n in sys.argv[2:]] or None
with FolderLock(Path(sys.argv[1]), "measure" if numbers else "generate", print, numbers):
    print("held", flush=True)
    sys.stdin.readline()
"""


class Holder:
    """This process holds a lock until it is told to end."""

    def __init__(self, folder: Path, *numbers: int) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", HOLDER, str(folder), *map(str, numbers)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment(),
        )
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "held\n"

    def end(self) -> None:
        self.process.communicate("\n", timeout=30)

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


def take(folder: Path, *numbers: int) -> list[str]:
    """Take a lock that is to be had, and return its warnings."""
    said: list[str] = []
    with FolderLock(folder, "measure" if numbers else "generate", said.append, numbers or None):
        pass
    return said


def test_another_process_is_refused(tmp_path: Path) -> None:
    holder = Holder(tmp_path)
    expected = (
        f"{tmp_path}: another trellis generate \\\\(pid {holder.process.pid} on {socket.gethostname()}, "
        "since 2.*Z\\\\) is writing here; wait until it ends"
    ).replace("\\\\", "\\")
    with pytest.raises(FileError, match=expected):
        take(tmp_path)
    holder.end()
    assert list(tmp_path.iterdir()) == []
    assert take(tmp_path) == []
    assert list(tmp_path.iterdir()) == []


def test_a_kill_leaves_no_lock(tmp_path: Path) -> None:
    holder = Holder(tmp_path, 1, 2)
    holder.kill()
    assert json.loads((tmp_path / "measure.lock").read_text())["numbers"] == [1, 2]
    second = Holder(tmp_path, 5)  # it has another configuration: the first one's text is still there
    assert len((tmp_path / "measure.lock").read_text().splitlines()) == 2
    assert take(tmp_path, 1) == []
    second.end()
    assert list(tmp_path.iterdir()) == []


def test_runs_of_other_configurations_share_a_folder(tmp_path: Path) -> None:
    first, second = Holder(tmp_path, 1, 2), Holder(tmp_path, 3)
    for number, holder in ((2, first), (3, second)):
        text = rf"\(pid {holder.process.pid} on .* is writing configuration {number} here; .*--first, --last"
        with pytest.raises(FileError, match=text):
            take(tmp_path, 4, number)
    first.end()
    assert take(tmp_path, 1, 2, 4) == []
    with pytest.raises(FileError, match="configuration 3"):
        take(tmp_path, 3)
    second.end()
    assert list(tmp_path.iterdir()) == []


def test_a_text_that_says_nothing(tmp_path: Path) -> None:
    """The text is for messages: what somebody wrote there holds no lock, and does no harm."""
    (tmp_path / "generate.lock").write_text('no JSON\n[1]\n{"pid": 1}\n')
    holder = Holder(tmp_path)
    os.truncate(tmp_path / "generate.lock", 0)
    with pytest.raises(FileError, match="another trellis generate is writing here"):
        take(tmp_path)
    holder.end()
    assert list(tmp_path.iterdir()) == []


def test_a_file_system_without_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(37, "No locks available")

    monkeypatch.setattr(folder_lock.fcntl, "lockf", refuse)
    said = take(tmp_path)
    assert len(said) == 1
    assert (
        "generate.lock: the file system has no locks (No locks available): see to it that no other" in said[0]
    )


def test_a_halted_run_that_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder_lock, "_PATIENCE", 0.1)
    monkeypatch.setattr(folder_lock, "_try_lock", lambda *_: False)
    with pytest.raises(FileError, match=r"expected it to be free within 0.1 s"):
        take(tmp_path)


@pytest.mark.parametrize("ranks", [1, 2])
def test_generate_twice(tmp_path: Path, ranks: int) -> None:
    """The second run is refused and changes nothing; a kill leaves nothing that refuses the next one."""
    folder = write_run_file(tmp_path, generate(1000000))
    first = subprocess.Popen(
        command("generate", "run.toml"), cwd=folder, env=environment(), stdout=subprocess.DEVNULL
    )
    deadline = time.monotonic() + 60
    while not list(folder.glob("out/*.json")) and time.monotonic() < deadline:
        time.sleep(0.01)
    for options in ([], ["--resume"]):
        said = run("generate", "run.toml", *options, cwd=folder, ranks=ranks, status=1).stderr
        assert f"out: another trellis generate (pid {first.pid} on {socket.gethostname()}, since 2" in said
    assert first.poll() is None
    first.send_signal(signal.SIGKILL)
    first.wait()
    state = max(int(path.name.split(".")[1]) for path in folder.glob("out/*.json"))
    (folder / "run.toml").write_text(generate(state + 5))
    run("generate", "run.toml", "--resume", cwd=folder, ranks=ranks)
    assert not list(folder.glob("out/*.lock"))


def test_measure_twice(tmp_path: Path) -> None:
    """One run holds its configurations, and another one measures others."""
    for number in (1, 2):
        tr.weak_field((4, 4, 4, 4), seed=number).write(tmp_path / f"field.{number}.ildg")
    (tmp_path / "run.toml").write_text(measurement(correlators={"mesons": ["pion"], "baryons": []}))
    (tmp_path / "out").mkdir()
    holder = Holder(tmp_path / "out", 1)
    said = run("measure", "run.toml", cwd=tmp_path, status=1).stderr
    assert f"another trellis measure (pid {holder.process.pid} on" in said
    assert "is writing configuration 1 here" in said
    run("measure", "run.toml", "--first", 2, cwd=tmp_path)
    holder.end()
    run("measure", "run.toml", "--resume", cwd=tmp_path)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "correlators.000001.h5",
        "correlators.000002.h5",
    ]
