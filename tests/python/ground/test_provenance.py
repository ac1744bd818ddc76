"""Every file says where it comes from, and that suffices to make it again."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import h5py
import pytest
from command_line import run, sha256
from run_file_texts import heat_bath, measurement

import trellis as tr
from trellis.ground.provenance import revision

#: The text of the run file is stored, with its comment, and not what became of it.
GENERATE = "# A comment that is kept.\n" + heat_bath(
    action={"beta": 5.7}, random={"seed": 11}, output={"directory": "ensemble"}
)
MEASURE = measurement(configurations={"files": "ensemble/*.ildg"}, fermion={"kappa": 0.12})


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("provenance")
    (path / "generate.toml").write_text(GENERATE)
    (path / "measure.toml").write_text(MEASURE)
    run("generate", "generate.toml", cwd=path)
    run("measure", "measure.toml", cwd=path)
    return path


def attributes(folder: Path, name: str) -> dict:
    with h5py.File(folder / name) as file:
        return {
            key: value.item() if hasattr(value, "item") and value.ndim == 0 else value
            for key, value in file.attrs.items()
        }


@pytest.mark.parametrize(
    "name, text", [("ensemble/stream.h5", GENERATE), ("out/correlators.000004.h5", MEASURE)]
)
def test_hdf5_files(folder: Path, name: str, text: str) -> None:
    found = attributes(folder, name)
    assert found["run_file"] == text
    assert found["trellis_version"] == tr.__version__
    assert found["revision"] == revision()
    assert found["conventions_version"] == tr.conventions_version
    assert found["ranks"] == 1
    assert found["threads_per_rank"] == 1
    assert "-O" in found["flags"]
    assert found["compiler"]
    assert found["beta"] == 5.7
    assert found["created"].startswith("20")


def test_seeds_and_inputs(folder: Path) -> None:
    assert attributes(folder, "ensemble/stream.h5")["seed"] == 11
    found = attributes(folder, "out/correlators.000004.h5")
    assert found["input_file"] == "ensemble/configuration.000004.ildg"
    U = tr.read_gauge_field(folder / found["input_file"])
    assert U.report is not None
    sums = [f"{c['kind']}={c['stored']:08x}" for c in U.report.checksums]
    assert found["input_checksum"].split() == sums
    assert found["plaquette"] == U.plaquette


def test_a_result_can_be_made_again_from_itself(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "generate.toml").write_text(attributes(folder, "ensemble/stream.h5")["run_file"])
    (tmp_path / "measure.toml").write_text(attributes(folder, "out/correlators.000004.h5")["run_file"])
    run("generate", "generate.toml", cwd=tmp_path)
    run("measure", "measure.toml", cwd=tmp_path)
    for name in ("configuration.000002.ildg", "configuration.000004.ildg"):
        assert sha256(tmp_path / "ensemble" / name) == sha256(folder / "ensemble" / name)
    for number in (2, 4):
        with (
            h5py.File(folder / "out" / f"correlators.{number:06d}.h5") as old,
            h5py.File(tmp_path / "out" / f"correlators.{number:06d}.h5") as new,
        ):
            for name in old["correlators"]:
                assert old[f"correlators/{name}"][()].tobytes() == new[f"correlators/{name}"][()].tobytes()


def test_records_of_configurations(folder: Path) -> None:
    record = json.loads((folder / "ensemble" / "configuration.000002.json").read_text())
    assert record["physics"]["random"]["seed"] == 11
    assert record["provenance"]["run_file"] == GENERATE
    assert record["provenance"]["trellis_version"] == tr.__version__
    assert (
        record["plaquette"]
        == tr.read_gauge_field(folder / "ensemble" / "configuration.000002.ildg").plaquette
    )


def written_revision(source: Path) -> str:
    """Return the revision that a build of these sources writes."""
    script = Path(__file__).parents[3] / "cmake" / "WriteRevision.cmake"
    output = source.with_suffix(".py")
    names = [f"-DSOURCE={source}", f"-DOUTPUT={output}"]
    made = subprocess.run(["cmake", *names, "-P", script], check=True, capture_output=True, text=True)
    assert made.stderr == ""  # a warning would be shown at every build
    content: dict[str, str] = {}
    exec(output.read_text(), content)
    return content["REVISION"]


@pytest.mark.skipif(not shutil.which("cmake") or not shutil.which("git"), reason="needs cmake and git")
def test_the_revision_of_sources(tmp_path: Path) -> None:
    """A commit, a commit with changes, and a tarball inside another checkout each have their revision."""
    source = tmp_path / "checkout"
    git = ["git", "-C", str(source), "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run(["git", "init", "-q", source], check=True)
    assert written_revision(source) == "unknown"  # it has no commit
    (source / "file").write_text("old")
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "-qm", "first"], check=True)
    head = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout
    assert written_revision(source) == head[:12]
    (source / "file").write_text("new")
    assert written_revision(source) == f"{head[:12]}-dirty"
    (source / "tarball").mkdir()
    assert written_revision(source / "tarball") == "unknown"


def test_a_package_without_a_revision(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "trellis._revision", None)
    assert revision() == "unknown"
    monkeypatch.setitem(sys.modules, "trellis._revision", SimpleNamespace(REVISION="v1-2-gabc"))
    assert revision() == "v1-2-gabc"
