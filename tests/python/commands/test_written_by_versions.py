"""Files of released versions are read, their runs go on, and what is written names the version.

tests/data/make_written_by.py writes tests/data/written_by_VERSION once for each release.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest
from command_line import run

import trellis as tr

DATA = Path(__file__).resolve().parents[2] / "data"
sys.path.insert(0, str(DATA))

from make_more_written_by import numbers_of, runs_of  # noqa: E402
from make_written_by import read_fields, run_results  # noqa: E402

RELEASED = sorted(path.name.removeprefix("written_by_") for path in DATA.glob("written_by_[0-9]*.*.*"))


@pytest.mark.parametrize("version", RELEASED)
def test_fields_are_read(version: str) -> None:
    folder = DATA / f"written_by_{version}"
    assert read_fields(folder) == json.loads((folder / "expected.json").read_text())["fields"]


@pytest.mark.parametrize("version", RELEASED)
def test_a_run_goes_on_with_the_same_bits(version: str, tmp_path: Path) -> None:
    """The folder has 4 of 8 sweeps, and the correlators of the configuration that was made then."""
    folder = shutil.copytree(DATA / f"written_by_{version}", tmp_path / "runs")
    done = json.loads(run("generate", "whole.toml", "--resume", "--json", cwd=folder).stdout)
    assert (done["resumed_from"], done["sweeps"]) == (4, 8)
    again = json.loads(run("measure", "spectrum.toml", "--resume", "--json", cwd=folder).stdout)
    assert (again["skipped"], again["configurations"]) == (1, [4])
    assert run_results(folder) == json.loads((folder / "expected.json").read_text())["runs"]


@pytest.mark.parametrize("version", RELEASED)
def test_set_ups_propagators_correlators_and_results_are_read(version: str) -> None:
    """The numbers of a solve with the set-up are those of that version within its tolerance."""
    folder = DATA / f"written_by_{version}" / "more"
    expected = json.loads((folder / "expected.json").read_text())["numbers"]
    found = numbers_of(folder)
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        flat = [value for part in np.atleast_1d(np.array(values, dtype=object)) for value in np.ravel(part)]
        own = [
            value for part in np.atleast_1d(np.array(found[name], dtype=object)) for value in np.ravel(part)
        ]
        assert own == pytest.approx(flat, rel=1e-8), name


@pytest.mark.parametrize("version", RELEASED)
def test_trajectories_and_spins_go_on_with_the_same_bits(version: str, tmp_path: Path) -> None:
    folder = shutil.copytree(DATA / f"written_by_{version}" / "more", tmp_path / "runs")
    done = json.loads(run("generate", "hmc.toml", "--resume", "--json", cwd=folder).stdout)
    assert done["resumed_from"] == 2
    run("glass", "glass.toml", "--resume", cwd=folder)
    assert runs_of(folder) == json.loads((folder / "expected.json").read_text())["runs"]


@pytest.mark.parametrize("version", RELEASED)
def test_a_campaign_goes_on(version: str, tmp_path: Path) -> None:
    """The task that was done is known and stays done; the other one failed then, and fails again."""
    folder = shutil.copytree(DATA / f"written_by_{version}" / "more" / "campaign", tmp_path / "campaign")
    told = run("campaign", "status", "campaign.toml", "--json", cwd=folder)
    before = json.loads(told.stdout)
    assert before["tasks"] == {"done": 1, "failed": 1}, before
    stamp = (folder / "work" / "made.txt").stat().st_mtime_ns
    run("campaign", "run", "campaign.toml", "--machine", "machine.toml", "--json", cwd=folder, status=None)
    assert (folder / "work" / "made.txt").stat().st_mtime_ns == stamp


def test_what_is_written_names_the_version(tmp_path: Path) -> None:
    """MILC and openQCD files have no place for a text."""
    U = tr.quenched((2, 2, 2, 4), beta=5.7, seed=7, sweeps=3)
    name = f"Trellis {tr.__version__}".encode()
    for form in ("ildg", "scidac", "nersc", "nersc-2row"):
        U.write(tmp_path / form, format=form)
        assert name in (tmp_path / form).read_bytes(), form
        assert tr.read_gauge_field(tmp_path / form).plaquette == pytest.approx(U.plaquette, rel=1e-12)
    solve = tr.even_odd(tr.cg(tolerance=1e-9))
    M = tr.WilsonClover(U, kappa=0.12, csw=1.0)
    S = solve(M).propagator(tr.point_source(U.geometry, (0, 0, 0, 0)))
    S.write(tmp_path / "wilson.scidac")
    assert name in (tmp_path / "wilson.scidac").read_bytes()
    S.write(tmp_path / "wilson.h5")
    tr.lanczos(M, count=2).write(tmp_path / "modes.h5")
    for file in ("wilson.h5", "modes.h5"):
        with h5py.File(tmp_path / file) as content:
            assert content.attrs["trellis_version"] in (tr.__version__, tr.__version__.encode())
