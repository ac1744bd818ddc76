"""These tests cover `trellis glass`: what it writes, the same bits on any ranks and after any stop, and what
it refuses."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import time
from pathlib import Path

import h5py
import numpy as np
import pytest
from command_line import command, environment, run

from trellis.errors import BadArgument, FileError
from trellis.glass import GlassResult, Step
from trellis.glass import run as simulate
from trellis.glass.walkers import Walkers
from trellis.run_files import GlassRun, parse_run_file

ROOT = Path(__file__).resolve().parents[3]
TEXT = """
[lattice]
extents = [4, 4, 4]
[couplings]
type = "gaussian"
samples = 4
[spins]
temperatures = [0.4, 0.45, 0.5]
replicas = 2
[steps]
total = 12
over_relaxation = 2
checkpoint_every = 4
[random]
seed = 7
[output]
directory = "glass"
"""


def content(folder: Path) -> dict[str, np.ndarray]:
    """Return the tables, and the spins of the last checkpoint."""
    found = {}
    last = sorted(folder.glob("checkpoint.*.h5"))[-1]
    for path in (folder / "glass.h5", last):
        with h5py.File(path) as file:
            file.visititems(
                lambda name, of, path=path: (
                    found.update({f"{path.name}/{name}": of[()]}) if isinstance(of, h5py.Dataset) else None
                )
            )
    return found


def assert_same(a: dict[str, np.ndarray], b: dict[str, np.ndarray]) -> None:
    assert a.keys() == b.keys()
    for name, values in a.items():
        assert values.tobytes() == b[name].tobytes(), name


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> dict[str, np.ndarray]:
    folder = tmp_path_factory.mktemp("whole")
    (folder / "run.toml").write_text(TEXT)
    found = json.loads(run("glass", "run.toml", "--json", cwd=folder).stdout)
    assert found["run"] == "glass"
    assert found["steps"] == 12
    assert found["lattice"] == [4, 4, 4, 4]
    assert found["grid"] == [1, 1, 1, 1]
    assert len(found["energies"]) == 3
    assert all(-3 < energy < -0.8 for energy in found["energies"])
    assert all(0 < share <= 1 for share in found["exchange_acceptance"])
    assert found["nanoseconds_per_spin"] > 0
    return content(folder / "glass")


def test_tables_are_complete(whole) -> None:
    assert list(whole["glass.h5/bins/counts"]) == [1, 2, 4, 5]
    assert whole["glass.h5/bins/energy"].shape == (4, 4, 3)
    assert whole["checkpoint.0000000012.h5/spins/spins_5"].shape == (4, 4, 4, 4, 2)
    square = whole["glass.h5/bins/overlap_squared"] / whole["glass.h5/bins/counts"][:, None, None]
    assert (square > 0).all()
    assert (square < 1).all()
    assert (whole["glass.h5/bins/overlap_k_squared"] > 0).all()


@pytest.mark.parametrize(
    ("ranks", "grid"), [(2, None), (2, [1, 1, 2, 1]), (4, [2, 2, 1, 1]), (8, [2, 2, 2, 1])]
)
def test_bits_depend_on_no_ranks(whole, tmp_path: Path, ranks: int, grid: list[int] | None) -> None:
    machine = "" if grid is None else f"[machine]\ngrid = {grid}\n"
    (tmp_path / "run.toml").write_text(TEXT + machine)
    found = json.loads(run("glass", "run.toml", "--json", cwd=tmp_path, ranks=ranks).stdout)
    assert found["grid"] == (grid or [1, 1, 1, 2])
    assert_same(content(tmp_path / "glass"), whole)


def test_a_resumed_run_has_the_same_bits(whole, tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text(TEXT.replace("total = 12", "total = 5"))
    run("glass", "run.toml", cwd=tmp_path)
    (tmp_path / "run.toml").write_text(TEXT)
    refused = run("glass", "run.toml", cwd=tmp_path, status=1)
    assert "--resume" in refused.stderr
    found = json.loads(run("glass", "run.toml", "--resume", "--json", cwd=tmp_path, ranks=2).stdout)
    assert found["resumed_from"] == 5
    assert_same(content(tmp_path / "glass"), whole)


def test_a_killed_run_goes_on_with_the_same_bits(tmp_path: Path) -> None:
    long = TEXT.replace("total = 12", "total = 100000").replace(
        "checkpoint_every = 4", "checkpoint_every = 10"
    )
    (tmp_path / "run.toml").write_text(long)
    process = subprocess.Popen(
        command("glass", "run.toml"), cwd=tmp_path, env=environment(), stdout=subprocess.DEVNULL
    )
    folder = tmp_path / "glass"
    deadline = time.monotonic() + 120
    while len(list(folder.glob("checkpoint.*.h5"))) < 2 and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    last = int(sorted(folder.glob("checkpoint.*.h5"))[-1].name.split(".")[1])
    (tmp_path / "run.toml").write_text(re.sub(r"total = \d+", f"total = {last + 15}", long))
    run("glass", "run.toml", "--resume", cwd=tmp_path)
    other = tmp_path / "other"
    other.mkdir()
    (other / "run.toml").write_text(re.sub(r"total = \d+", f"total = {last + 15}", long))
    run("glass", "run.toml", cwd=other)
    mine, expected = content(folder), content(other / "glass")
    assert_same(mine, expected)


def test_a_stop_is_saved_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text(TEXT.replace("total = 12", "total = 1000000"))
    process = subprocess.Popen(
        command("glass", "run.toml", "--json"),
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.PIPE,
        text=True,
    )
    while not (tmp_path / "glass" / "glass.h5").exists() and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(signal.SIGTERM)
    said, _ = process.communicate(timeout=60)
    assert process.returncode == 3
    found = json.loads(said)
    assert found["stopped"]
    assert (tmp_path / "glass" / f"checkpoint.{found['steps']:010d}.h5").exists()


def without_clocks(values: dict) -> dict:
    return {key: value for key, value in values.items() if "seconds" not in key}


def test_from_python(
    whole, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture
) -> None:
    """The function is silent, from a path and from a model; its result is what --json prints, and the bits
    are the same."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run.toml").write_text(TEXT)
    steps: list[Step] = []
    result = simulate("run.toml", on_progress=steps.append)
    assert isinstance(result, GlassResult)
    assert_same(content(tmp_path / "glass"), whole)
    assert [step.number for step in steps if step.what == "sweep"] == [None, *range(1, 13)]
    (tmp_path / "glass").rename(tmp_path / "from_path")
    model = simulate(parse_run_file(TEXT, GlassRun))
    assert without_clocks(model.to_json()) == without_clocks(result.to_json())
    assert_same(content(tmp_path / "glass"), whole)
    assert capfd.readouterr() == ("", "")
    (tmp_path / "glass").rename(tmp_path / "from_model")
    printed = json.loads(run("glass", "run.toml", "--json", cwd=tmp_path).stdout)
    assert without_clocks(printed) == without_clocks(json.loads(json.dumps(result.to_json())))


def interrupt_python() -> None:
    raise KeyboardInterrupt


INTERRUPTS = {
    "SIGINT": lambda: signal.raise_signal(signal.SIGINT),
    "SIGTERM": lambda: signal.raise_signal(signal.SIGTERM),
    "KeyboardInterrupt": interrupt_python,
}


@pytest.mark.parametrize("interrupt", INTERRUPTS)
def test_an_interrupted_call_is_saved(
    whole, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, interrupt: str
) -> None:
    monkeypatch.chdir(tmp_path)
    model = parse_run_file(TEXT, GlassRun)
    handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]

    def stop_at_the_fifth(step: Step) -> None:
        if step.what == "sweep" and step.number == 5:
            INTERRUPTS[interrupt]()

    result = simulate(model, on_progress=stop_at_the_fifth)
    assert (result.stopped, result.steps) == (True, 5)
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == handlers
    assert not simulate(model, resume=True).stopped
    assert_same(content(tmp_path / "glass"), whole)


def test_an_error_of_on_progress_is_raised_when_the_state_is_saved(
    whole, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    model = parse_run_file(TEXT, GlassRun)

    def fail_at_the_fifth(step: Step) -> None:
        if step.number == 5:
            raise ZeroDivisionError("of a user")

    with pytest.raises(ZeroDivisionError, match="of a user"):
        simulate(model, on_progress=fail_at_the_fifth)
    assert simulate(model, resume=True).resumed_from == 5
    assert_same(content(tmp_path / "glass"), whole)


def test_a_damaged_checkpoint_is_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    model = parse_run_file(TEXT, GlassRun)
    simulate(model)
    last = tmp_path / "glass" / "checkpoint.0000000012.h5"
    last.write_bytes(last.read_bytes()[:2000])
    warnings = []
    result = simulate(
        model, resume=True, on_progress=lambda s: warnings.append(s.text) if s.what == "warning" else None
    )
    assert result.resumed_from == 8
    assert "checkpoint.0000000012.h5 is skipped" in warnings[0]
    for path in (tmp_path / "glass").glob("checkpoint.*.h5"):
        path.write_bytes(b"nothing")
    with pytest.raises(FileError, match="all damaged"):
        simulate(model, resume=True)


def test_another_run_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    simulate(parse_run_file(TEXT, GlassRun))
    with pytest.raises(BadArgument, match="another folder"):
        simulate(parse_run_file(TEXT.replace("0.45, 0.5", "0.45, 0.6"), GlassRun), resume=True)
    with pytest.raises(BadArgument, match="GlassRun"):
        simulate(3)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("[4, 4, 4]", "[4, 5, 4]"), "the extent in y is 5"),
        (("[4, 4, 4]", "[1, 1, 1]"), "no bonds"),
        (("[0.4, 0.45, 0.5]", "[0.3, 0.2]"), "from the lowest to the highest"),
        (("[0.4, 0.45, 0.5]", "[0.0, 0.2]"), "greater than or equal to"),
        (("samples = 4", "samples = 3"), "1 or an even number"),
        (('"gaussian"', '"ising"'), "gaussian"),
        (("total = 12", "total = 12\nmeasure_every = 13"), "measures nothing"),
        (("replicas = 2", "replicas = 0"), "greater than or equal to 1"),
    ],
)
def test_bad_run_files_name_the_key(tmp_path: Path, change: tuple[str, str], said: str) -> None:
    (tmp_path / "run.toml").write_text(TEXT.replace(*change))
    found = run("glass", "run.toml", cwd=tmp_path, status=1)
    assert said in found.stderr
    assert "run.toml:" in found.stderr


def test_example_runs_and_is_analysed(tmp_path: Path) -> None:
    text = (ROOT / "examples" / "spin_glass.toml").read_text()
    for key, value in {"extents": "[4, 4, 4]", "samples": "4", "total": "8", "measure_every": "1"}.items():
        text = re.sub(rf"(?m)^{key} = .*", f"{key} = {value}", text)
    (tmp_path / "run.toml").write_text(text)
    run("glass", "run.toml", cwd=tmp_path)
    found = json.loads(run("analyze", "spin_glass", "-o", "analysis", "--json", cwd=tmp_path).stdout)
    assert found["kind"] == "spin_glass"
    assert found["samples"] == 4
    page = (tmp_path / "analysis" / "report.html").read_text()
    assert "Spin glass" in page
    assert page.count("<svg") == 4


def test_round_trips_are_counted() -> None:
    walkers = Walkers(samples=1, temperatures=3, replicas=1)
    accepted = np.ones((1, 1), dtype=np.uint8)
    for pair in [(0, 1), (1, 2)] * 3:
        walkers.exchange([pair], accepted)
    # Walker 0 goes up in the first two steps, with 1, 2, 0 below; then 1 goes up, then 2, each from the
    # lowest.
    assert walkers.round_trips.sum() >= 1
    assert walkers.proposed.tolist() == [3, 3]
    assert walkers.acceptance() == [1.0, 1.0]
    assert sorted(walkers.walker[0]) == [0, 1, 2]
    walkers.exchange([(0, 1)], np.zeros((1, 1), dtype=np.uint8))
    assert walkers.acceptance()[0] == 0.75
