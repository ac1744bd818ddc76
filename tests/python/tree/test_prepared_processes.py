"""The forks in which tests run commands are like processes of an interpreter that is started for them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import prepared_processes
import pytest
from campaign_tools import wait_for
from command_line import command, environment, run, write_run_file
from prepared_server import server_for
from run_file_texts import heat_bath

COMMANDS = [
    (),
    ("--version",),
    ("generate", "--help"),
    ("generate", "nowhere.toml"),
    ("generate", "a", "b"),
    ("schema", "measure"),
    ("info", "program.py", "--json"),
]


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_fork_says_what_a_new_interpreter_says(tmp_path: Path, words: tuple[str, ...]) -> None:
    (tmp_path / "program.py").touch()
    new = subprocess.run(
        command(*words), cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False
    )
    fork = run(*words, cwd=tmp_path, status=new.returncode)
    assert (fork.stdout, fork.stderr) == (new.stdout, new.stderr)
    assert new.stdout + new.stderr


def test_variables_that_libraries_read_when_they_are_loaded_need_a_new_interpreter() -> None:
    server = server_for("info", environment())
    assert server is not None
    assert server_for("generate", environment(TRELLIS_LANES="3")) == server
    assert server_for("info", environment(OMP_NUM_THREADS="7")) is None


@pytest.mark.parametrize("kill", [os.killpg, os.kill])
def test_a_fork_ends_with_its_rank(tmp_path: Path, kill: Callable[[int, int], None]) -> None:
    server = server_for("generate", environment())
    assert server is not None
    write_run_file(tmp_path, heat_bath(sweeps={"total": 10**9, "keep_every": 10**9}))
    with subprocess.Popen(
        [sys.executable, "-I", "-S", prepared_processes.__file__, server, "generate", "run.toml"],
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        process_group=0,
    ) as rank:
        wait_for((tmp_path / "out").exists)
        kill(rank.pid, signal.SIGKILL)
        assert rank.wait(60) == -signal.SIGKILL
        assert rank.stdout is not None
        rank.stdout.read()  # this ends when no process has the pipe any more
