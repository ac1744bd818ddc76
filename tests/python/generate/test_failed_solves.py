"""If a solve fails, `trellis generate` keeps the links and all data that repeating it needs."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from command_line import run, write_run_file
from run_file_texts import ENDING, FAILING, trajectories

import trellis as tr
from trellis.evolve.hmc import HMC, Level, gauge_monomial
from trellis.generate.failed_solve import keeping_failed_solves

RUN = trajectories(FAILING)


def failed_files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("failed_solve*"))


@pytest.fixture(scope="module")
def failed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Return the folder of a run whose first trajectory fails, and what it says."""
    folder = write_run_file(tmp_path_factory.mktemp("failed"), RUN)
    return folder, run("generate", "run.toml", cwd=folder, status=1).stderr


def test_a_solve_that_failed_can_be_repeated(failed: tuple[Path, str]) -> None:
    folder, said = failed
    out, name = folder / "out", "failed_solve.000001"
    assert failed_files(out) == [f"{name}.ildg", f"{name}.json", f"{name}.start.ildg"]
    assert f"trajectory 1; the links and how to repeat it are kept in out: {name}.ildg" in said
    record = json.loads((out / f"{name}.json").read_text())
    assert (record["trajectory"], record["stage"], record["seed"]) == (1, "force", 5)
    assert record["provenance"]["run_file"] == RUN
    assert record["error"] in said
    start, U = (tr.read_gauge_field(out / f"{name}{which}.ildg") for which in (".start", ""))
    assert start.plaquette == 1
    assert U.plaquette < 0.9
    (monomial, *_) = tr.hamiltonian(folder / "run.toml", start)["light"]
    monomial.draw(start, seed=record["seed"], stream=record["stream"], number=record["trajectory"])
    monomial.force(start)
    with pytest.raises(tr.NumericError) as error:
        monomial.force(U)
    assert record["error"] in str(error.value)


def test_a_chain_goes_on_beside_kept_solves(failed: tuple[Path, str], tmp_path: Path) -> None:
    folder = Path(shutil.copytree(failed[0], tmp_path / "run"))
    (folder / "run.toml").write_text(trajectories(ENDING))
    run("generate", "run.toml", cwd=folder)
    more = trajectories(ENDING, trajectories={"total": 3})
    (folder / "run.toml").write_text(more)
    run("generate", "run.toml", "--resume", cwd=folder)
    undisturbed = write_run_file(tmp_path / "other", more)
    run("generate", "run.toml", cwd=undisturbed)
    for name in ("checkpoint.000002.ildg", "checkpoint.000003.ildg"):
        assert (folder / "out" / name).read_bytes() == (undisturbed / "out" / name).read_bytes()
    assert len(failed_files(folder / "out")) == 3


def test_the_latest_failure_alone_is_kept(tmp_path: Path) -> None:
    U, V = tr.weak_field((4, 2, 2, 4), seed=1), tr.weak_field((4, 2, 2, 4), seed=2)
    report = tr.NotConverged("no", None)
    for number, at, error in ((1, V, tr.NumericError("NaN")), (12, U, report)):
        with pytest.raises(type(error), match=f"{error}; trajectory {number}; the links .* failed_solve"):
            with keeping_failed_solves(tmp_path, number, U, lambda at=at: (at, "force"), lambda: {"seed": 4}):
                raise error
    assert failed_files(tmp_path) == ["failed_solve.000012.ildg", "failed_solve.000012.json"]
    kept = tr.read_gauge_field(tmp_path / "failed_solve.000012.ildg")
    assert np.array_equal(kept.to_numpy(), U.to_numpy())


def test_what_cannot_be_kept_hides_nothing(tmp_path: Path) -> None:
    """The folder takes no files, or the links are no links: the error of the solve comes first."""
    U = tr.weak_field((4, 2, 2, 4), seed=1)
    with pytest.raises(tr.NumericError, match=r"^no end; trajectory 3; failed_solve.* could not be written"):
        with keeping_failed_solves(tmp_path / "none", 3, U, lambda: (U, "force"), dict):
            raise tr.NumericError("no end")
    links = U.copy()
    links._core.from_numpy(np.full_like(U.to_numpy(), np.nan))
    with pytest.raises(tr.NumericError, match=r"^NaN; trajectory 3; .*000003.ildg could not be"):
        with keeping_failed_solves(tmp_path, 3, U, lambda: (links, "force"), dict):
            raise tr.NumericError("NaN")
    assert failed_files(tmp_path) == ["failed_solve.000003.json", "failed_solve.000003.start.ildg"]


def test_a_failed_trajectory_leaves_no_kicks_behind(tmp_path: Path) -> None:
    """The inner level's kicks that were due with the failed force do not enter the next trajectory."""
    path, cold = tmp_path / "run.toml", tr.cold((4, 4, 4, 4))
    limits = {"tolerance": 1e-2, "max_iterations": 16}  # this is enough for the force on cold links
    path.write_text(trajectories(FAILING, metropolis=limits))
    light, gauge = tr.hamiltonian(path, cold)["light"], gauge_monomial(beta=4.0)

    def chain() -> HMC:
        return HMC([Level("leapfrog", 1, light), Level("leapfrog", 1, [gauge])], seed=5, length=0.01)

    hmc, rough = chain(), tr.weak_field((4, 4, 4, 4), seed=1, spread=0.4)
    with pytest.raises(tr.NumericError, match="monomial light"):
        hmc.energy_violation(rough, 1)
    assert hmc.failed is not None
    assert hmc.failed[1] == "force"
    found, expected = cold.copy(), cold.copy()
    hmc.trajectory(found, 1)
    chain().trajectory(expected, 1)
    assert hmc.failed is None
    assert np.array_equal(found.to_numpy(), expected.to_numpy())
