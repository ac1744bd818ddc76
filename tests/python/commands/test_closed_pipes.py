"""Nobody reads the output of a run any more: what it has is saved, and one line on standard error says so."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest
from campaign_tools import machine_text, wait_for, write
from command_line import command, environment, run, write_run_file
from run_file_texts import heat_bath, measurement

import trellis as tr
from trellis.runs.stopping import StopRequest


def generate(total: int) -> str:
    rare = {"keep_every": 1000000, "checkpoint_every": 1000000}
    return heat_bath(sweeps={"total": total, **rare, "print_every": 10})


MEASURE = measurement(correlators={"mesons": ["pion"], "baryons": []}, output={"directory": "measured"})


def left_alone(*words: object, cwd: Path, after: str) -> str:
    """Return the errors of a command whose output is read up to a line with this text; it ends with status
    1."""
    process = subprocess.Popen(
        command(*words),
        cwd=cwd,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    if after:
        assert any(after in line for line in process.stdout)
    process.stdout.close()
    said = process.stderr.read()
    assert process.wait(120) == 1, said
    return "".join(line for line in said.splitlines(keepends=True) if not line.startswith("warning"))


def test_generate_saves(tmp_path: Path) -> None:
    folder = write_run_file(tmp_path, generate(10**6))
    said = left_alone("generate", "run.toml", cwd=folder, after="sweeps 1 to")
    number = int(next(folder.glob("out/checkpoint.*.json")).name.split(".")[1])
    assert said == (
        f"error: standard output: nobody reads it any more: stopped after sweep {number}; its state is "
        "saved, go on with --resume\n"
    )
    (folder / "run.toml").write_text(generate(number + 1))
    assert f"resuming after sweep {number}" in run("generate", "run.toml", "--resume", cwd=folder).stdout


def test_measure_saves(tmp_path: Path) -> None:
    for number in range(1, 30):
        tr.cold((4, 4, 4, 4)).write(tmp_path / f"field.{number}.ildg")
    (tmp_path / "run.toml").write_text(MEASURE)
    said = left_alone("measure", "run.toml", cwd=tmp_path, after="1")
    done = len(list(tmp_path.glob("measured/*.h5")))
    assert said.startswith("error: standard output: nobody reads it any more: stopped ")
    assert said.count("\n") == 1
    assert 0 < done < 29


def test_a_campaign_ends_what_runs_and_starts_nothing_more(tmp_path: Path) -> None:
    tasks = "".join(
        f'[[task]]\nname = "{name}"\ncommand = "sleep 0.3; date > {{output}}"\noutputs = ["{name}"]\n{after}'
        for name, after in (
            ("a", ""),
            ("b", 'after = ["a"]\n'),
            ("c", 'after = ["b"]\n'),
            ("d", 'after = ["c"]\n'),
        )
    )
    write(tmp_path, tasks)
    (tmp_path / "machine.toml").write_text(machine_text())
    words = ("campaign", "run", "campaign.toml", "--machine", "machine.toml")
    said = left_alone(*words, cwd=tmp_path, after="a: 1 task done")
    assert said.startswith("error: drained after ")
    assert said.endswith("; the same command goes on\n")
    assert (tmp_path / "work/b").exists()
    assert not (tmp_path / "work/d").exists()
    assert "4 done" in run(*words, cwd=tmp_path).stdout


def test_a_reader_that_leaves_before_the_first_line(tmp_path: Path) -> None:
    folder = write_run_file(tmp_path, generate(10))
    reader, writer = os.pipe()
    os.close(reader)
    found = subprocess.run(
        command("generate", "run.toml"), cwd=folder, env=environment(), stdout=writer, stderr=subprocess.PIPE,
        text=True, check=False,
    )  # fmt: skip
    os.close(writer)
    assert found.returncode == 1
    assert "error: standard output: nobody reads it any more" in found.stderr


def test_a_hang_up_ends_a_campaign_in_good_order(tmp_path: Path) -> None:
    write(
        tmp_path,
        '[[task]]\nname = "a"\ncommand = "touch begun; sleep 1; date > {output}"\noutputs = ["a"]\n',
    )
    (tmp_path / "machine.toml").write_text(machine_text())
    process = subprocess.Popen(
        command("campaign", "run", "campaign.toml", "--machine", "machine.toml"),
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),  # the tests may run under nohup
    )
    wait_for((tmp_path / "work/begun").exists)
    process.send_signal(signal.SIGHUP)
    process.send_signal(signal.SIGHUP)
    said = process.communicate(timeout=60)[0]
    assert process.returncode == 0
    assert "1 done" in said


@pytest.mark.parametrize("is_ignored", [False, True])
def test_a_hang_up_that_is_ignored_stays_so(is_ignored: bool) -> None:
    """The program nohup makes it ignored."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN if is_ignored else signal.SIG_DFL)
    try:
        with StopRequest() as stop:
            os.kill(os.getpid(), signal.SIGHUP)
            assert stop.reason == ("" if is_ignored else "SIGHUP")
    finally:
        signal.signal(signal.SIGHUP, before)


def test_streams_that_were_closed_before_the_program_began(tmp_path: Path) -> None:
    """A daemon closes its streams; once, the first line of output ended the program with a traceback."""
    folder = write_run_file(tmp_path, generate(2))

    def status(*words: object) -> int:
        closed = ["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", *command(*words)]
        return subprocess.run(closed, cwd=folder, env=environment(), check=False).returncode

    assert status("generate", "run.toml") == 0
    (links,) = folder.glob("out/*2.ildg")
    assert status("info", links) == 0
    assert status("info", "--json", "run.toml") == 1
