"""Every example of `trellis generate` runs on a lattice of 4^4, for three trajectories or sweeps."""

from __future__ import annotations

import json
import re
from pathlib import Path

import h5py
import pytest
from command_line import run

EXAMPLES = sorted(
    path
    for path in (Path(__file__).resolve().parents[3] / "examples").glob("*.toml")
    if not path.name.startswith("campaign") and "trellis generate" in path.read_text()
)
#: These tables are made smaller; whatever else the file says stays.
SMALLER = {
    "extents": "[4, 4, 4, 4]",
    "total": "3",
    "thermalisation": "1",
    "keep_every": "1",
    "checkpoint_every": "1",
    "every": "1",
    "vectors": "2",
    "time": "1.0",
}


def smaller(text: str) -> str:
    for key, value in SMALLER.items():
        text = re.sub(rf"(?m)^{key} = [^#\n]*", f"{key} = {value}  ", text)
    return text


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs(path: Path, tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text(smaller(path.read_text()))
    found = json.loads(run("generate", "run.toml", "--json", cwd=tmp_path).stdout)
    stream = tmp_path / found["directory"] / "stream.h5"
    with h5py.File(stream) as file:
        assert list(file["trajectory"][:]) == [1, 2, 3]
        plaquette = file["observables/plaquette"][:]
        assert (plaquette > 0).all()
        assert (plaquette <= 1).all()
    run("analyze", stream, "-o", "analysis", cwd=tmp_path)
    assert (tmp_path / "analysis" / "report.html").is_file()


def test_all_kinds_of_runs_have_an_example() -> None:
    names = {path.stem for path in EXAMPLES}
    wanted = {"quenched", "stout_2p1", "imaginary_mu", "magnetic_field", "hisq", "two_flavour_clover"}
    assert wanted <= names
