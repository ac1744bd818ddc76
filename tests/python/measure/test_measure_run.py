"""These tests call trellis.measure.run, the command from Python: silent, with steps, stopped and resumed with
equal bits."""

from __future__ import annotations

import dataclasses
import json
import signal
from pathlib import Path

import h5py
import pytest
from command_line import INTERRUPTS, run_program
from command_line import run as run_command
from run_file_texts import measurement

import trellis as tr
from trellis.measure import Step
from trellis.run_files import GenerateRun, MeasureRun, parse_run_file

MEASURE = measurement(source={"positions": [[0, 0, 0, 0], [1, 0, 0, 2]]})
#: A run of two configurations with two sources counts these steps: kind, configuration, done, of how many.
COUNTED = [
    ("propagators", None, 0, 4),
    ("propagators", 1, 1, 4),
    ("propagators", 1, 2, 4),
    ("configuration", 1, 1, 2),
    ("propagators", 2, 3, 4),
    ("propagators", 2, 4, 4),
    ("configuration", 2, 2, 2),
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for number in (1, 2):
        tr.weak_field((4, 4, 4, 4), seed=number).write(tmp_path / f"field.{number}.ildg")
    (tmp_path / "run.toml").write_text(MEASURE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def correlators(folder: Path) -> dict[str, bytes]:
    """Return the bits of all correlators of a folder's results."""
    found = {}
    for path in sorted(folder.glob("correlators.*.h5")):
        with h5py.File(path) as file:
            for name, dataset in file["correlators"].items():
                found[f"{path.name}/{name}"] = dataset[()].tobytes()
    return found


def counted(steps: list[Step]) -> list[tuple[str, int | None, int | None, int | None]]:
    return [(s.what, s.number, s.completed, s.total) for s in steps if s.total is not None]


def test_from_a_path(folder: Path, capfd: pytest.CaptureFixture) -> None:
    """The run is silent; its steps have the lines of the command in order, and its result has the fields of
    --json."""
    steps: list[Step] = []
    result = tr.measure.run("run.toml", on_progress=steps.append)
    assert capfd.readouterr() == ("", "")
    assert result.configurations == (1, 2)
    assert result.files == ("out/correlators.000001.h5", "out/correlators.000002.h5")
    assert (result.solves, result.skipped, result.stopped, result.ranks) == (4, 0, False, 1)
    assert counted(steps) == COUNTED
    done = [step for step in steps if step.what == "configuration"]
    assert max(step.numbers["relative_residual_max"] for step in done) == result.relative_residual_max
    assert max(step.numbers["iterations_max"] for step in done) == result.iterations_max
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.solves = 0  # type: ignore[misc]
    api = correlators(folder / "out")
    (folder / "out").rename(folder / "api")
    printed = json.loads(run_command("measure", "run.toml", "--json", cwd=folder).stdout)
    assert list(printed) == list(json.loads(json.dumps(result.to_json())))
    assert correlators(folder / "out") == api
    lines = run_command("measure", "run.toml", "--resume", cwd=folder).stdout.splitlines()
    again: list[Step] = []
    tr.measure.run("run.toml", resume=True, on_progress=again.append)
    without_time = [line.split(" in ")[0] for line in lines]
    assert [step.text.split(" in ")[0] for step in again if step.text] == without_time


def test_from_a_model(folder: Path) -> None:
    """The bits are the same as from the file, whose text results keep; `first` and `last` choose
    configurations."""
    tr.measure.run(folder / "run.toml")
    expected = correlators(folder / "out")
    (folder / "out").rename(folder / "of_file")
    model = parse_run_file(MEASURE, MeasureRun)
    assert tr.measure.run(model, last=1).configurations == (1,)
    assert tr.measure.run(model, first=2).configurations == (2,)
    assert correlators(folder / "out") == expected
    with h5py.File(folder / "out/correlators.000001.h5") as file:
        text = next(value for value in file.attrs.values() if isinstance(value, str) and "[fermion]" in value)
    assert parse_run_file(text, MeasureRun) == model


def test_resume(folder: Path) -> None:
    tr.measure.run("run.toml", last=1)
    with pytest.raises(tr.BadArgument, match="out has results of 1 of these configurations"):
        tr.measure.run("run.toml")
    result = tr.measure.run("run.toml", resume=True)
    assert (result.configurations, result.skipped) == ((1, 2), 1)


@pytest.mark.parametrize("interrupt", INTERRUPTS)
def test_interrupted(folder: Path, capfd: pytest.CaptureFixture, interrupt: str) -> None:
    """A run is saved after the source in hand, and resumed with the same bits; signals have their handlers
    again."""
    tr.measure.run("run.toml")
    expected = correlators(folder / "out")
    (folder / "out").rename(folder / "whole")
    handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    steps: list[Step] = []

    def stop_at_the_third(step: Step) -> None:
        steps.append(step)
        if step.what == "propagators" and step.completed == 3:
            INTERRUPTS[interrupt]()

    result = tr.measure.run("run.toml", on_progress=stop_at_the_third)
    assert result.stopped
    assert result.configurations == (1,)
    said = [step.text for step in steps if step.what == "stopped"]
    assert len(said) == 1
    assert "stopped in configuration 2, of which 1 of 2 sources are saved" in said[0]
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == handlers
    result = tr.measure.run("run.toml", resume=True)
    assert (result.stopped, result.solves, result.configurations) == (False, 1, (1, 2))
    assert correlators(folder / "out") == expected
    assert capfd.readouterr() == ("", "")


def test_wrong_runs(folder: Path, capfd: pytest.CaptureFixture) -> None:
    (folder / "wrong.toml").write_text(MEASURE.replace("kappa", "kapa"))
    with pytest.raises(tr.errors.RunFileError, match=r"wrong\.toml:6: fermion\.kapa: unknown key"):
        tr.measure.run("wrong.toml")
    with pytest.raises(tr.errors.RunFileError, match="cannot be read"):
        tr.measure.run(folder / "none.toml")
    (folder / "none.toml").write_text(MEASURE.replace("field.*", "no.*"))
    with pytest.raises(
        tr.errors.RunFileError, match=r"none\.toml:2: configurations\.files: nothing matches 'no\.\*'"
    ):
        tr.measure.run(folder / "none.toml")
    generate = GenerateRun.model_construct()
    with pytest.raises(tr.BadArgument, match=r"expected the path of a run file or a .*MeasureRun, found"):
        tr.measure.run(generate)  # type: ignore[arg-type]
    assert capfd.readouterr() == ("", "")


def test_an_error_of_on_progress_is_raised_when_the_work_is_saved(folder: Path) -> None:
    tr.measure.run("run.toml")
    expected = correlators(folder / "out")
    (folder / "out").rename(folder / "whole")
    steps: list[Step] = []

    def fail_at_the_third(step: Step) -> None:
        steps.append(step)
        if step.what == "propagators" and step.completed == 3:
            raise ZeroDivisionError("of a user")

    with pytest.raises(ZeroDivisionError, match="of a user"):
        tr.measure.run("run.toml", on_progress=fail_at_the_third)
    assert steps[-1].completed == 3
    assert tr.measure.run("run.toml", resume=True).solves == 1
    assert correlators(folder / "out") == expected


PROGRAM = """\
import sys
import trellis as tr
steps = []
class Odd(Exception):  # pickle does not know its argument
    def __init__(self, number, text):
        super().__init__(text)
def note(step):
    steps.append(step.what)
    if step.what == "propagators" and step.completed == 1 and "stop" in sys.argv:
        raise KeyboardInterrupt
    if step.what == "configuration" and "fail" in sys.argv:
        raise ZeroDivisionError("of a user")
    if "odd" in sys.argv:
        raise Odd(1, "of a user")
try:
    result = tr.measure.run("run.toml", resume="resume" in sys.argv, on_progress=note)
    said = result.configurations, result.stopped, result.ranks
except (ZeroDivisionError, Odd, tr.Error) as error:
    said = error
assert (len(steps) > 0) == (tr.rank() == 0)
open(f"{sys.argv[1]}.{tr.rank()}", "w").write(repr(said))
"""


def test_on_two_ranks(folder: Path) -> None:
    """Rank 0 alone has steps, and both have the result; what a step raises ends both, with the same bits."""
    tr.measure.run("run.toml")
    expected = correlators(folder / "out")
    (folder / "out").rename(folder / "whole")
    failed = ZeroDivisionError("of a user")
    for words, said in (
        (["odd"], ["Odd('of a user')", "Error('on_progress raised Odd: of a user')"]),
        (["stop"], [repr(((), True, 2))] * 2),
        (["fail", "resume"], [repr(failed)] * 2),
        (["resume"], [repr(((1, 2), False, 2))] * 2),
    ):
        run_program(PROGRAM, *words, cwd=folder, ranks=2)
        assert [(folder / f"{words[0]}.{rank}").read_text() for rank in (0, 1)] == said
    assert correlators(folder / "out") == expected
