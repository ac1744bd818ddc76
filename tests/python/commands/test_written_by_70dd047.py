"""Runs that commit 70dd047 left half done are read, and go on with the bits of runs that nothing stopped.

The files lie in tests/data/written_by_70dd047, whose README says how they were made.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tomllib
from pathlib import Path

import h5py
import numpy as np
import pytest
from command_line import run, sha256

import trellis as tr
from trellis.analysis import read_measurements
from trellis.run_files.earlier import TRANSLATED, translate
from trellis.run_files.writing import to_toml

WRITTEN = Path(__file__).resolve().parents[2] / "data" / "written_by_70dd047"
EXPECTED: dict[str, dict[str, str]] = json.loads((WRITTEN / "expected.json").read_text())
#: These are noise traces of staggered and HISQ flavours: their solves have taken more iterations since
#: 70dd047.
TRACES: dict[str, dict[str, list]] = json.loads((WRITTEN / "traces.json").read_text())


def digests(folder: Path) -> dict[str, str]:
    """Return the sha256 of the links of each configuration and of each dataset of physics, cut to 16 digits.

    Seconds and counts of flops and bytes are no physics.
    """
    found: dict[str, str] = {}

    def add(name: str, values: np.ndarray) -> None:
        shape = f"{values.dtype.str} {values.shape}\n"
        found[name] = hashlib.sha256(shape.encode() + values.tobytes()).hexdigest()[:16]

    for path in folder.glob("*.ildg"):
        add(path.name, tr.read_gauge_field(path).to_numpy())
    for path in folder.glob("*.h5"):
        with h5py.File(path) as file:
            names: list[str] = []
            file.visit(names.append)
            for name in names:
                parts = name.split("/")
                is_work = parts[0] == "work" or any(part.startswith("seconds") for part in parts)
                if isinstance(file[name], h5py.Dataset) and not is_work:
                    add(f"{path.name}/{name}", file[name][()])
    return dict(sorted(found.items()))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a copy whose run files are in present words; the records in states and results are as they
    were."""
    found = shutil.copytree(WRITTEN, tmp_path_factory.mktemp("earlier") / "runs")
    for path in found.glob("*.toml"):
        path.write_text(to_toml(translate(tomllib.loads(path.read_text())).content))
    return found


@pytest.mark.parametrize(
    ("name", "words", "said"),
    [
        ("heatbath", ("generate", "--resume"), {"resumed_from": 4, "sweeps": 8}),
        ("staggered", ("generate",), {"resumed_from": 2, "trajectories": 4}),
        ("clover", ("generate",), {"resumed_from": 2, "trajectories": 4}),
        ("spectrum", ("measure", "--resume"), {"skipped": 1, "configurations": [3, 4], "solves": 2}),
        ("domain_wall", ("measure", "--resume"), {"configurations": [4], "solves": 3}),
        ("stored_propagators", ("measure",), {"configurations": [4], "stored_propagators": 1, "solves": 0}),
    ],
)
def test_goes_on_with_the_same_bits(
    folder: Path, name: str, words: tuple[str, ...], said: dict[str, object]
) -> None:
    there = {path: sha256(path) for path in (folder / name).glob("c*.000003.*")}  # it is complete: it stays
    command, *options = words
    refused = run(command, str(WRITTEN / f"{name}.toml"), *options, cwd=folder, status=1).stderr
    assert "words of an earlier language of run files:" in refused
    done = run(command, f"{name}.toml", *options, "--json", cwd=folder)
    assert done.stderr.count(TRANSLATED) == (name != "stored_propagators")
    found = json.loads(done.stdout)
    assert {key: found[key] for key in said} == said
    bits = digests(folder / name)
    assert {key: bits.get(key) for key in EXPECTED[name]} == EXPECTED[name]
    assert {path: sha256(path) for path in there} == there
    if name in TRACES:
        require_traces(folder / name / "stream.h5", TRACES[name])


def require_traces(stream: Path, expected: dict[str, list]) -> None:
    """The solves have residuals of 1e-9 and less, and inverse masses are at most 5."""
    with h5py.File(stream) as file:
        for series, values in expected.items():
            found, numbers = file["occasional"][series]["value"][()], np.array(values)
            assert np.abs(found.view(float) - numbers).max() < 5e-8 * np.abs(numbers).max(), series


def test_is_read() -> None:
    assert digests(WRITTEN / "twisted_mass") == EXPECTED["twisted_mass"]
    propagator = tr.read_propagator(WRITTEN / "twisted_mass" / "propagator.000004.0.h5")
    assert propagator.operator is not None
    assert propagator.operator.parameters["twisted_mass"] == 0.3
    for name, tested in (("heatbath", [3, 4]), ("staggered", [2]), ("clover", [2])):
        series = read_measurements(WRITTEN / name / "stream.h5").observables["plaquette"]
        assert series.trajectories.tolist() == tested
    measured = read_measurements(WRITTEN / "spectrum")
    assert measured.configurations.tolist() == [3]
    assert measured.correlators["kaon"].source_counts.tolist() == [2]
