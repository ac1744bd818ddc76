"""Ranks end while others wait for them: by exceptions, by SystemExit, with threads, and early."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from command_line import command, environment

HEAD = "import sys, threading\nimport trellis as tr\n"
#: These are the seconds until a rank says that others do not end, and until a failed one ends them.
QUICK = {"TRELLIS_END_SECONDS": "1"}
#: This is longer than a test waits: a normal end is not delayed.
PATIENT = {"TRELLIS_END_SECONDS": "1000"}


def start(folder: Path, text: str, ranks: int = 2, **extra: str) -> subprocess.Popen[str]:
    (folder / "program.py").write_text(HEAD + text)
    words = command(ranks=ranks)  # the test is skipped where there is no MPI
    words[words.index("-m") :] = ["program.py"]
    return subprocess.Popen(
        words,
        cwd=folder,
        env=environment(**{**QUICK, **extra}),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def end(folder: Path, text: str, status: int, ranks: int = 2, **extra: str) -> tuple[str, str]:
    """Return standard output and error of a program with this end."""
    process = start(folder, text, ranks, **extra)
    try:
        said = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == status, said
    return said


@pytest.mark.parametrize("ranks", [2, 3])
def test_an_exception_on_one_rank_ends_the_job(tmp_path: Path, ranks: int) -> None:
    # Each rank writes once: what several ranks write in pieces is mixed.
    text = 'print(f"begun {tr.rank()}\\n", end="", flush=True)\nif tr.rank() == 1:\n    1 / 0\ntr.barrier()\n'
    out, errors = end(tmp_path, text, 1, ranks)
    assert errors.count("ZeroDivisionError: division by zero") == 1
    assert f"trellis: rank 1 of {ranks} ends with status 1 and other ranks do not: the job is ended" in errors
    assert "begun 1" in out


@pytest.mark.parametrize(
    ("how", "status", "said"),
    [
        ("sys.exit(3)", 3, ""),
        ("raise SystemExit(7)", 7, ""),
        ("exit(259)", 3, ""),
        ('sys.exit("no such quark")', 1, "no such quark"),
        ("raise KeyboardInterrupt", 130, "KeyboardInterrupt"),
    ],
)
def test_an_exit_with_a_status(tmp_path: Path, how: str, status: int, said: str) -> None:
    text = f"if tr.rank() == 0:\n    {how}\ntr.barrier()\n"
    _, errors = end(tmp_path, text, status)
    assert said in errors
    assert f"trellis: rank 0 of 2 ends with status {status} and other ranks do not" in errors


def test_an_exception_in_a_thread(tmp_path: Path) -> None:
    text = """
def work():
    raise LookupError("of a thread")
if tr.rank() == 1:
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
tr.barrier()
if tr.rank() == 0:
    tr.barrier()
"""
    _, errors = end(tmp_path, text, 1)
    assert errors.count("LookupError: of a thread") == 1


def test_a_thread_that_exits_ends_alone(tmp_path: Path) -> None:
    text = "t = threading.Thread(target=sys.exit, args=(3,))\ntr.rank()\nt.start()\nt.join()\ntr.barrier()\n"
    assert end(tmp_path, text, 0) == ("", "")


@pytest.mark.parametrize("place", ["before", "after"])
def test_a_hook_of_the_user_runs(tmp_path: Path, place: str) -> None:
    hook = 'sys.excepthook = lambda kind, error, _: print("mine:", error, file=sys.stderr)\n'
    text = "tr.rank()\n" + hook if place == "after" else hook
    _, errors = end(tmp_path, text + "if tr.rank() == 1:\n    1 / 0\ntr.barrier()\n", 1)
    assert errors.count("mine: division by zero") == 1
    assert "Traceback" not in errors
    assert "trellis: rank 1 of 2 ends with status 1" in errors


def test_an_exception_with_an_open_file_ends_the_job(tmp_path: Path) -> None:
    """The destructor of the file waits for all ranks."""
    text = """
from trellis.ground.compiled_core import load
def work():
    file = load().Hdf5File.create("out.h5")
    if tr.rank() == 1:
        raise ValueError("in the middle")
    tr.barrier()
    tr.barrier()
work()
"""
    assert "ValueError: in the middle" in end(tmp_path, text, 1)[1]


@pytest.mark.parametrize(("how", "status"), [("sys.exit(3)", 3), ("sys.exit(0)", 0), ("pass", 0)])
def test_all_ranks_end_alike_and_quietly(tmp_path: Path, how: str, status: int) -> None:
    _, errors = end(tmp_path, f"tr.barrier()\n{how}\n", status, **PATIENT)
    assert "trellis:" not in errors
    assert "MPI_ABORT" not in errors


def test_statuses_that_differ_where_all_ranks_end(tmp_path: Path) -> None:
    """The job has the status of rank 0, as after a command that was asked to stop."""
    _, errors = end(tmp_path, "tr.barrier()\nsys.exit(3 if tr.rank() == 0 else 0)\n", 3, **PATIENT)
    assert "trellis:" not in errors
    assert "MPI_ABORT" not in errors


def test_ranks_that_end_early_are_named(tmp_path: Path) -> None:
    """One line says which ranks have ended; the job goes on, and ends with 0 if the others come to their
    end."""
    text = """
import time
from pathlib import Path
tr.barrier()
if tr.rank() == 1:
    while not Path("go_on").exists():
        time.sleep(0.01)
"""
    process = start(tmp_path, text, ranks=3)
    assert process.stderr is not None
    line = process.stderr.readline()
    assert line.startswith(
        "trellis: ranks 0, 2 ended with status 0, and rank 1 did not within 1 s: if they wait for each "
    )
    (tmp_path / "go_on").touch()
    assert process.communicate(timeout=60) == ("", "")
    assert process.returncode == 0


def test_a_child_of_a_rank_is_no_rank(tmp_path: Path) -> None:
    text = """
import os
tr.barrier()
child = os.fork()
if child == 0:
    sys.exit(5)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 5
tr.barrier()
"""
    _, errors = end(tmp_path, text, 0)
    assert "trellis:" not in errors


def test_delays_that_are_none(tmp_path: Path) -> None:
    _, errors = end(tmp_path, "tr.barrier()\n", 1, TRELLIS_END_SECONDS="soon")
    assert "TRELLIS_END_SECONDS: expected a whole number from 1 to 1000000, found soon" in errors


def test_one_rank_keeps_its_hooks(tmp_path: Path) -> None:
    text = (
        "hooks = sys.excepthook, threading.excepthook\n"
        "assert tr.rank() == 0\nassert hooks == (sys.excepthook, threading.excepthook)\n1 / 0\n"
    )
    _, errors = end(tmp_path, text, 1, ranks=1, **PATIENT)
    assert errors.rstrip().endswith("ZeroDivisionError: division by zero")
