"""These tests show measured times beside forecasts: verdicts, what to check, ranks with threads, and files of
other kinds."""

from __future__ import annotations

import json
from pathlib import Path

import h5py
import numpy as np
import pytest
from typer.testing import CliRunner

from trellis.commands.cli import app
from trellis.errors import BadArgument, FileError
from trellis.model.compare import Comparison, compare
from trellis.model.machine import HardwareModel, parse_hardware
from trellis.model.workloads.iterations import parse_iterations

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
MACHINE = """
[machine]
name = "here"
[[nodes]]
count = 1
cpus = 4
[[device]]
name = "core"
kind = "cpu"
count = 4
peak_gflops = { double = 50.0, float = 100.0 }
memory = [{ gbs = 5.0 }]
[costs]
measured = true
model_error = { value = 0.1, origin = "a test" }
"""


def machine() -> HardwareModel:
    return parse_hardware(MACHINE)


def stream(
    path: Path, seconds: float, *, ranks: int = 1, threads: int = 1, run: str = "quenched_hmc"
) -> Path:
    with h5py.File(path, "w") as file:
        file.attrs["run_file"] = (EXAMPLES / f"{run}.toml").read_text()
        file.attrs["ranks"], file.attrs["threads_per_rank"] = ranks, threads
        file.attrs["lattice"] = [8, 8, 8, 16]
        file["work/seconds"] = np.full(5, seconds)
    return path


def compared(path: Path) -> Comparison:
    return compare(path, machine(), parse_iterations(None))


@pytest.mark.parametrize(("factor", "verdict"), [(1.0, "within"), (1.3, "slower"), (0.7, "faster")])
def test_verdicts(tmp_path: Path, factor: float, verdict: str) -> None:
    """The band of a model error of .1 is 18 % wide upwards."""
    path = tmp_path / "stream.h5"
    expected = compared(stream(path, 1.0)).forecast.seconds
    found = compared(stream(path, factor * expected))
    assert found.verdict == verdict
    assert found.ratio == pytest.approx(factor)
    assert bool(found.advice()) == (verdict != "within")


def test_threads_share_the_work_of_a_rank(tmp_path: Path) -> None:
    path = tmp_path / "stream.h5"
    one = compared(stream(path, 1.0)).forecast
    two = compared(stream(path, 1.0, threads=2)).forecast
    assert two.ranks == 1
    assert two.seconds == pytest.approx(one.seconds / 2, rel=0.01)


def test_more_threads_than_cores_are_told_first(tmp_path: Path) -> None:
    found = compared(stream(tmp_path / "stream.h5", 1e6, ranks=2, threads=4))
    assert found.advice()[0] == "8 threads ran on 4 cores: give fewer"
    with pytest.raises(BadArgument, match="it ran on 8 ranks; expected at most 4"):
        compared(stream(tmp_path / "stream.h5", 1.0, ranks=8))


def test_a_run_with_quarks_needs_its_iterations(tmp_path: Path) -> None:
    path = stream(tmp_path / "stream.h5", 1.0, run="stout_2p1")
    with pytest.raises(FileError, match="expected iterations of solves of a past run"):
        compared(path)


def test_other_files(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="there is no such file"):
        compared(tmp_path / "nothing.h5")
    with pytest.raises(FileError, match="it is a folder"):
        compared(tmp_path)
    (tmp_path / "text.h5").write_text("no")
    with pytest.raises(FileError, match="it is no HDF5 file"):
        compared(tmp_path / "text.h5")
    with h5py.File(tmp_path / "heat_bath.h5", "w") as file:
        file.attrs["run_file"], file.attrs["ranks"], file.attrs["lattice"] = "", 1, [8, 8, 8, 16]
    with pytest.raises(FileError, match="it has no seconds of its steps"):
        compared(tmp_path / "heat_bath.h5")


def test_the_command(tmp_path: Path) -> None:
    path, file = stream(tmp_path / "stream.h5", 1e3), tmp_path / "machine.toml"
    file.write_text(MACHINE)
    ended = CliRunner().invoke(app, ["model", "compare", str(path), "-m", str(file), "--json"])
    assert ended.exit_code == 0, ended.output
    found = json.loads(ended.stdout)
    assert found["verdict"] == "slower"
    assert found["steps"] == 5
    assert any("doctor" in line for line in found["advice"])
