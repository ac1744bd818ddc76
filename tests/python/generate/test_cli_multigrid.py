"""With multigrid trellis generate makes trajectories of conjugate gradients and the same bits, and refuses
some keys."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from command_line import run, sha256, write_run_file
from run_file_texts import changed, level, trajectories

from trellis.errors import RunFileError
from trellis.generate.trajectory_warnings import TrajectoryWarnings
from trellis.run_files import HmcRun, parse_run_file

LIGHT = {"name": "light", "type": "clover", "n_f": 2, "kappa": 0.13, "csw": 1.5, "solver": "multigrid"}
RUN = {
    "lattice": {"extents": [4, 4, 4, 8]},
    "action": {"beta": 5.6},
    "integrator": [level(3, "light"), level(2)],
    "molecular_dynamics": {"length": 0.3, "tolerance": 1e-7},
    "metropolis": {"tolerance": 1e-9},
    "start": {"type": "weak", "spread": 0.4},
    "trajectories": {"total": 2, "thermalisation": 2},
}
SMALL = {"vectors": 6, "sweeps": 1, "refresh": 0.1}


def run_text(light: dict[str, Any] | None = None, **tables: Any) -> str:
    return trajectories(RUN, {"fermions": [changed(LIGHT, {"multigrid": SMALL}, light or {})]}, tables)


def series(folder: Path) -> dict[str, np.ndarray]:
    """Return the arrays that a run has written, by name."""
    with h5py.File(folder / "out" / "stream.h5") as file:
        return {name: dataset[()] for name, dataset in file["observables"].items() if "seconds" not in name}


def content(folder: Path) -> dict[str, bytes | str]:
    found: dict[str, bytes | str] = {name: values.tobytes() for name, values in series(folder).items()}
    return found | {"links": sha256(max(folder.glob("out/*.ildg")))}


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = write_run_file(tmp_path_factory.mktemp("plain"), run_text())
    run("generate", "run.toml", cwd=folder)
    return folder


@pytest.mark.parametrize("grid", [(1, 1, 1, 1), (1, 1, 2, 2)])
@pytest.mark.slow
def test_the_same_bits_after_a_stop_and_on_other_ranks_and_lanes(
    plain: Path, tmp_path: Path, grid: tuple[int, ...]
) -> None:
    folder = write_run_file(tmp_path, run_text())
    run("generate", "run.toml", "--trajectories", 1, cwd=folder, TRELLIS_LANES="4")
    write_run_file(folder, run_text(machine={"grid": list(grid)}))
    run("generate", "run.toml", cwd=folder, ranks=math.prod(grid))
    assert content(folder) == content(plain)


def test_trajectories_are_those_of_conjugate_gradients_and_a_run_may_change_to_them(
    plain: Path, tmp_path: Path
) -> None:
    folder = write_run_file(tmp_path, run_text({"solver": "cg", "multigrid": None}))
    run("generate", "run.toml", "--trajectories", 1, cwd=folder)
    found, expected = series(folder), series(plain)
    assert abs(found["dH"][0] - expected["dH"][0]) < 1e-4
    assert abs(found["plaquette"][0] - expected["plaquette"][0]) < 1e-7
    assert expected["iterations.light"][0] < found["iterations.light"][0] / 2
    write_run_file(folder, run_text())
    said = run("generate", "run.toml", "--trajectories", 1, cwd=folder)
    assert "fermions.0.solver: 'cg' -> 'multigrid' from trajectory 2 on" in said.stdout + said.stderr
    assert abs(series(folder)["dH"][1] - expected["dH"][1]) < 1e-4


def test_hasenbusch_ratios_and_the_default_blocks_of_8_to_the_4(tmp_path: Path) -> None:
    light = {"hasenbusch": [0.4], "multigrid": None}
    dH = []
    for solver in ("multigrid", "cg"):
        text = run_text(
            light | {"solver": solver},
            lattice={"extents": [8, 8, 8, 8]},
            integrator=[level(1, "light", scheme="leapfrog"), level(2)],
            molecular_dynamics={"length": 0.1, "tolerance": 1e-9},
            trajectories={"total": 1, "thermalisation": 1},
        )
        folder = write_run_file(tmp_path / solver, text)
        run("generate", "run.toml", cwd=folder)
        dH.append(series(folder)["dH"][0])
    assert dH[0] == pytest.approx(dH[1], abs=1e-5)


@pytest.mark.parametrize(
    ("light", "tables", "text"),
    [
        ({"solver": "cg"}, {}, 'fermions.0.multigrid: expected solver = "multigrid" beside it, found "cg"'),
        ({"solver": "gcr"}, {}, "fermions.0.solver: "),
        ({"n_f": 1}, {}, "fermions.0.solver: one flavour has a rational function"),
        (
            {"multigrid": {"block": [2, 2, 2, 8]}},
            {},
            "fermions.0.multigrid.block: expected an even number of blocks of at least 2 sites in t, where "
            r"the lattice has 8 sites \(legal: 2, 4\)",
        ),
        (
            {"multigrid": None},
            {"lattice": {"extents": [4, 4, 2, 8]}},
            "fermions.0.*: multigrid cuts the lattice into an even number of blocks of at least 2 sites in "
            "each direction, which the extent 2 in z does not allow",
        ),
        (
            {"multigrid": {"smoother": "sap"}},
            {"lattice": {"extents": [6, 4, 4, 8]}},
            "fermions.0.multigrid.smoother: sap works on blocks of even extents, and these are "
            r"\[3, 2, 2, 4\]",
        ),
        ({"multigrid": {"refresh": 0.0}}, {}, "fermions.0.multigrid.refresh"),
        ({"multigrid": {"vectors": 97}}, {}, "fermions.0.multigrid.vectors"),
        (
            {},
            {"molecular_dynamics": {"precision": "single"}},
            "molecular_dynamics.precision: multigrid of fermions 'light' solves to true residuals in double",
        ),
    ],
)
def test_run_files_that_multigrid_cannot_serve(
    light: dict[str, Any], tables: dict[str, Any], text: str
) -> None:
    with pytest.raises(RunFileError, match=text):
        parse_run_file(run_text(light, **tables), HmcRun)


def test_ranks_that_cut_blocks_are_refused_before_the_run_begins(tmp_path: Path) -> None:
    folder = write_run_file(tmp_path, run_text(machine={"grid": [1, 1, 1, 4]}))
    said = run("generate", "run.toml", cwd=folder, ranks=4, status=1)
    assert "fermions 'light': multigrid needs whole blocks of 2x2x2x4 sites on each rank" in said.stderr
    assert "set machine.grid to one of [" in said.stderr
    assert not (folder / "out").exists()


def test_solves_that_conjugate_gradients_take_over_are_warned_about_once() -> None:
    class Said(list):
        warning = line = list.append

    said = Said()
    warnings = TrajectoryWarnings(parse_run_file(run_text(), HmcRun), said)  # type: ignore[arg-type]
    record = {"guarded_links": 0, "dH": 0.0}
    record["monomials"] = [{"name": "light", "solves": 9, "multigrid_fallbacks": 2}]
    for number in (1, 2):
        warnings.look_at(record, number)
    assert len(said) == 1
    assert "trajectory 1: multigrid got stuck in light" in said[0]
    warnings.say_stuck()
    assert said[1:] == ["light: conjugate gradients took over 4 solves of multigrid"]
