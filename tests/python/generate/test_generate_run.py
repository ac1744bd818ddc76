"""These tests call trellis.generate.run, the command from Python: silent, with steps, stopped and resumed
with equal bits."""

from __future__ import annotations

import dataclasses
import json
import re
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import INTERRUPTS, run_program, stream_content
from command_line import run as run_command
from run_file_texts import heat_bath, level, trajectories

import trellis as tr
from trellis.generate import Step
from trellis.run_files import GenerateRun, HmcRun, MeasureRun, parse_run_file

LATTICE = {"extents": [2, 2, 2, 4]}
SWEEPS = heat_bath(
    lattice=LATTICE,
    sweeps={"total": 6, "thermalisation": 1, "keep_every": 2, "checkpoint_every": 2, "print_every": 3},
)
TRAJECTORIES = trajectories(
    lattice=LATTICE,
    action={"type": "symanzik", "beta": 4.0},
    integrator=[level(4) | {"lambda": 0.19}],
    trajectories={"total": 6, "thermalisation": 2, "keep_every": 2, "checkpoint_every": 5},
)
RUNS = {"sweep": (SWEEPS, GenerateRun), "trajectory": (TRAJECTORIES, HmcRun)}
Make = Callable[..., tr.generate.HeatBathResult | tr.generate.TrajectoriesResult]


@pytest.fixture(params=RUNS)
def kind(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the kind of a run's steps; its run file is run.toml in the working folder."""
    (tmp_path / "run.toml").write_text(RUNS[request.param][0])
    monkeypatch.chdir(tmp_path)
    return str(request.param)


@pytest.fixture
def whole(kind: str, tmp_path: Path) -> dict[str, str | bytes]:
    """Return the bits of the run that nothing stopped."""
    del kind
    tr.generate.run("run.toml")
    found = stream_content(tmp_path)
    (tmp_path / "out").rename(tmp_path / "whole")
    return found


def of_the_end(found: dict[str, str | bytes]) -> dict[str, str | bytes]:
    """Leave out checkpoints, of which a run that was stopped has others."""
    return {name: bits for name, bits in found.items() if not name.startswith("checkpoint")}


def without_clocks(lines: list[str]) -> list[str]:
    """Return the lines up to the table of seconds by kind of work, without what depends on the machine."""
    tables = [at for at, line in enumerate(lines) if line.startswith("part ")]
    kept = lines[: tables[0]] if tables else lines
    return [re.sub(r"[\d.]+ (s|GF/s|MiB|GiB|%)(?=\W|$)", "", line) for line in kept]


def test_from_a_path(kind: str, tmp_path: Path, capfd: pytest.CaptureFixture) -> None:
    """The run is silent; its steps have the lines of the command in order, and its result has the fields of
    --json."""
    steps: list[Step] = []
    result = tr.generate.run(Path("run.toml"), on_progress=steps.append)
    assert capfd.readouterr() == ("", "")
    names = ("configuration.000003", "configuration.000005")
    if kind == "trajectory":
        names = ("configuration.000004", "configuration.000006")
    assert result.configurations == tuple(f"out/{name}.ildg" for name in names)
    assert (result.resumed_from, result.stopped, result.ranks) == (None, False, 1)
    counted = [(s.number, s.completed, s.total) for s in steps if s.what == kind]
    assert counted == [(None, 0, 6), *((n, n, 6) for n in range(1, 7))]
    assert steps[-1].what == "note"
    last = [step for step in steps if step.what == kind][-1]
    assert last.numbers["plaquette"] == result.plaquette_last
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.stopped = True  # type: ignore[misc]
    api = stream_content(tmp_path)
    (tmp_path / "out").rename(tmp_path / "api")
    printed = json.loads(run_command("generate", "run.toml", "--json", cwd=tmp_path).stdout)
    of_result = json.loads(json.dumps(result.to_json()))
    assert list(printed) == list(of_result)
    clocks = re.compile("seconds|gflops|share|performance")
    assert {k: v for k, v in printed.items() if not clocks.match(k)} == {
        k: v for k, v in of_result.items() if not clocks.match(k)
    }
    assert stream_content(tmp_path) == api
    (tmp_path / "out").rename(tmp_path / "json")
    lines = run_command("generate", "run.toml", cwd=tmp_path).stdout.splitlines()
    texts = [line for step in steps if step.text for line in step.text.splitlines()]
    assert len(texts) > 4
    assert without_clocks(texts) == without_clocks(lines)


def test_from_a_model(kind: str, whole: dict, tmp_path: Path) -> None:
    """The bits are the same as from the file; the states keep the model as the text of a run file."""
    text, model = RUNS[kind]
    run = parse_run_file(text, model)
    assert not tr.generate.run(run).stopped
    assert stream_content(tmp_path) == whole
    record = json.loads(max((tmp_path / "out").glob("*.json")).read_text())
    assert parse_run_file(record["provenance"]["run_file"], model) == run


@pytest.mark.parametrize("interrupt", INTERRUPTS)
def test_interrupted(
    kind: str, whole: dict, tmp_path: Path, capfd: pytest.CaptureFixture, interrupt: str
) -> None:
    """A run is saved after the step in hand, and resumed with the same bits; signals have their handlers
    again."""
    handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    steps: list[Step] = []

    def stop_at_the_third(step: Step) -> None:
        steps.append(step)
        if step.what == kind and step.number == 3:
            INTERRUPTS[interrupt]()

    result = tr.generate.run("run.toml", on_progress=stop_at_the_third)
    assert result.stopped
    said = [step.text for step in steps if step.what == "stopped"]
    assert len(said) == 1
    assert f": stopped after {kind} 3; its state is saved" in said[0]
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == handlers
    if kind == "sweep":
        with pytest.raises(tr.BadArgument, match="out has states of an earlier run; go on with --resume"):
            tr.generate.run("run.toml")
    result = tr.generate.run("run.toml", resume=True)
    assert (result.stopped, result.resumed_from) == (False, 3)
    assert of_the_end(stream_content(tmp_path)) == of_the_end(whole)
    assert capfd.readouterr() == ("", "")


def test_an_error_of_on_progress_is_raised_when_the_state_is_saved(
    kind: str, whole: dict, tmp_path: Path
) -> None:
    steps: list[Step] = []

    def fail_at_the_third(step: Step) -> None:
        steps.append(step)
        if step.what == kind and step.number == 3:
            raise ZeroDivisionError("of a user")

    with pytest.raises(ZeroDivisionError, match="of a user"):
        tr.generate.run("run.toml", on_progress=fail_at_the_third)
    assert steps[-1].number == 3
    assert tr.generate.run("run.toml", resume=True).resumed_from == 3
    assert of_the_end(stream_content(tmp_path)) == of_the_end(whole)


def test_an_error_of_on_progress_before_the_work_begins(kind: str, tmp_path: Path) -> None:
    del kind

    def fail(step: Step) -> None:
        raise ZeroDivisionError(step.text)

    with pytest.raises(ZeroDivisionError, match="memory: about"):
        tr.generate.run("run.toml", on_progress=fail)
    assert not (tmp_path / "out").exists()


def test_an_error_of_the_run_comes_before_one_of_on_progress(kind: str, tmp_path: Path) -> None:
    """The run's own error is raised, and the other one is a note of it."""
    small = "\n[machine]\nmemory_gib = 1e-6\n"
    (tmp_path / "run.toml").write_text(RUNS[kind][0] + small)

    def fail(step: Step) -> None:
        raise ZeroDivisionError("of a user")

    with pytest.raises(tr.OutOfMemory) as error:
        tr.generate.run("run.toml", on_progress=fail)
    assert error.value.__notes__ == ["before, on_progress raised ZeroDivisionError: of a user"]


def test_more_trajectories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run = parse_run_file(TRAJECTORIES, HmcRun)
    result = tr.generate.run(run, trajectories=2)
    assert isinstance(result, tr.generate.TrajectoriesResult)
    assert (result.trajectories, result.made, result.metropolis_tested) == (2, 2, 0)
    steps: list[Step] = []
    tr.generate.run(run, trajectories=1, on_progress=steps.append)
    assert [(s.number, s.completed, s.total) for s in steps if s.what == "trajectory"] == [
        (None, 2, 3),
        (3, 3, 3),
    ]
    with pytest.raises(tr.BadArgument, match="trajectories must be an integer from 1 to"):
        tr.generate.run(run, trajectories=0)
    with pytest.raises(
        tr.BadArgument, match=r"trajectories = 1 .* expected a run with \[molecular_dynamics\]"
    ):
        tr.generate.run(parse_run_file(SWEEPS, GenerateRun), trajectories=1)


def test_proposal_of_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture
) -> None:
    """The function returns what --tune prints and writes nothing; what on_progress raises is raised at
    once."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run.toml").write_text(TRAJECTORIES)
    steps: list[Step] = []
    found = tr.generate.propose_steps("run.toml", acceptance=0.9, on_progress=steps.append)
    assert capfd.readouterr() == ("", "")
    assert not (tmp_path / "out").exists()
    assert [(s.number, s.completed, s.total) for s in steps if s.what == "thermalisation"] == [
        (1, 1, 2),
        (2, 2, 2),
    ]
    words = ("generate", "run.toml", "--tune", "--acceptance", "0.9", "--json")
    assert json.loads(run_command(*words, cwd=tmp_path).stdout) == json.loads(json.dumps(found.to_json()))

    def interrupt(step: Step) -> None:
        if step.number == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tr.generate.propose_steps("run.toml", on_progress=interrupt)
    with pytest.raises(tr.BadArgument, match=r"acceptance must be at most 0\.999, found 1"):
        tr.generate.propose_steps("run.toml", acceptance=1)
    with pytest.raises(tr.BadArgument, match="found one by heat bath, which has no integrator"):
        tr.generate.propose_steps(parse_run_file(SWEEPS, GenerateRun))  # type: ignore[arg-type]


def test_wrong_runs(kind: str, tmp_path: Path, capfd: pytest.CaptureFixture) -> None:
    text, _ = RUNS[kind]
    (tmp_path / "wrong.toml").write_text(text.replace("beta", "beto"))
    with pytest.raises(tr.RunFileError, match=r"wrong\.toml:\d: action\.beto: unknown key"):
        tr.generate.run("wrong.toml")
    with pytest.raises(tr.RunFileError, match="cannot be read"):
        tr.generate.run(tmp_path / "none.toml")
    measure = MeasureRun.model_construct()
    with pytest.raises(
        tr.BadArgument, match=r"expected the path of a run file, .*GenerateRun or a .*, found"
    ):
        tr.generate.run(measure)  # type: ignore[arg-type]
    assert capfd.readouterr() == ("", "")


PROGRAM = """\
import sys
import trellis as tr
steps = []
def note(step):
    steps.append(step)
    if step.number == 3 and "stop" in sys.argv:
        raise KeyboardInterrupt
    if step.number == 4 and "fail" in sys.argv:
        raise ZeroDivisionError("of a user")
    if step.what == "thermalisation":
        raise SystemExit(3)
try:
    if "propose" in sys.argv:
        tr.generate.propose_steps("run.toml", on_progress=note)
    result = tr.generate.run("run.toml", resume="resume" in sys.argv, on_progress=note)
    said = result.resumed_from, result.stopped, result.ranks, result.plaquette_last
except (ZeroDivisionError, SystemExit) as error:
    said = error
assert (len(steps) > 0) == (tr.rank() == 0)
open(f"{sys.argv[1]}.{tr.rank()}", "w").write(repr(said))
"""


def test_on_two_ranks(kind: str, whole: dict, tmp_path: Path) -> None:
    """Rank 0 alone has steps, and both have the result; what a step raises ends both, with the same bits."""
    said = {}
    for words in (["stop"], ["fail", "resume"], ["resume"], *([["propose"]] if kind == "trajectory" else [])):
        if words == ["propose"]:
            (tmp_path / "out").rename(tmp_path / "resumed")
        run_program(PROGRAM, *words, cwd=tmp_path, ranks=2)
        said[words[0]], other = ((tmp_path / f"{words[0]}.{rank}").read_text() for rank in (0, 1))
        assert said[words[0]] == other
    assert said["stop"].startswith("(None, True, 2, ")
    assert said["fail"] == "ZeroDivisionError('of a user')"
    assert said["resume"].startswith("(4, False, 2, ")
    if kind == "trajectory":
        assert said["propose"] == "SystemExit(3)"
        (tmp_path / "resumed").rename(tmp_path / "out")
    assert of_the_end(stream_content(tmp_path)) == of_the_end(whole)
