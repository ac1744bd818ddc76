"""trellis measure --resume: what it finds changed since the results were written."""

from __future__ import annotations

import os
from pathlib import Path

import h5py
import pytest
from command_line import run

import trellis as tr

MEASURE = """\
[configurations]
files = "field.*"
[fermion]
kappa = 0.1
[output]
directory = "out"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two configurations with their results."""
    for number in (1, 2):
        tr.weak_field((4, 4, 4, 4), seed=number).write(tmp_path / f"field.{number}.ildg")
    (tmp_path / "run.toml").write_text(MEASURE)
    run("measure", "run.toml", cwd=tmp_path)
    return tmp_path


def replace(path: Path, seed: int, format: str = "ildg") -> None:
    """By another field, which takes as many bytes."""
    tr.weak_field((4, 4, 4, 4), seed=seed).write(path, format)


def resume(folder: Path, status: int = 0, ranks: int = 1) -> str:
    found = run("measure", "run.toml", "--resume", cwd=folder, status=status, ranks=ranks)
    assert "Traceback" not in found.stderr
    return found.stdout + found.stderr


@pytest.mark.parametrize("ranks", [1, 2])
def test_replaced_configurations(folder: Path, ranks: int) -> None:
    """Refused by name; without its result the new one is measured, beside the other as it was."""
    replace(folder / "field.2.ildg", seed=3)
    results = [folder / "out" / f"correlators.{number:06d}.h5" for number in (1, 2)]
    before = [path.read_bytes() for path in results]
    said = resume(folder, status=1, ranks=ranks)
    assert "field.2.ildg was replaced since out/correlators.000002.h5 was measured on it" in said
    with h5py.File(results[1]) as file:
        assert f"expected {file.attrs['input_checksum']}, found scidac_a=" in said
    assert "remove the result to measure the new one" in said
    assert [path.read_bytes() for path in results] == before
    results[1].unlink()
    resume(folder)
    assert results[0].read_bytes() == before[0]
    with h5py.File(results[1]) as file:
        assert file.attrs["plaquette"] == tr.weak_field((4, 4, 4, 4), seed=3).plaquette


def test_all_that_were_replaced_are_named(folder: Path) -> None:
    for number in (1, 2):
        replace(folder / f"field.{number}.ildg", seed=number + 5)
    said = resume(folder, status=1)
    assert "field.1.ildg was replaced" in said
    assert "the same holds for field.2.ildg" in said


def test_the_same_content_with_another_date_or_name(folder: Path) -> None:
    """Copied or touched: read again, and no reason to stop."""
    os.utime(folder / "field.1.ildg", ns=(0, 0))
    (folder / "field.2.ildg").rename(folder / "field.x2.ildg")
    said = resume(folder)
    assert "field.1.ildg has another name or date" in said
    assert "field.x2.ildg has another name or date" in said
    assert "2 of 2 configurations are done already" in said


def test_files_without_checksums_are_compared_by_their_plaquette(folder: Path) -> None:
    """openQCD's format has none, and results of another format have checksums of another kind."""
    (folder / "field.1.ildg").unlink()
    replace(folder / "field.1.openqcd", 1, "openqcd")
    assert "field.1.openqcd has another name or date" in resume(folder)
    replace(folder / "field.1.openqcd", 7, "openqcd")
    assert "field.1.openqcd was replaced" in (said := resume(folder, status=1))
    old, new = (tr.weak_field((4, 4, 4, 4), seed=seed).plaquette for seed in (1, 7))
    assert f"expected the plaquette {old!r}, found {new!r}" in said


def test_results_of_older_versions(folder: Path) -> None:
    """They say nothing of size and date: the checksums decide."""
    for path in folder.glob("out/*.h5"):
        with h5py.File(path, "a") as file:
            del file.attrs["input_bytes"], file.attrs["input_modified_ns"]
    assert "the same content" in resume(folder)
    replace(folder / "field.2.ildg", seed=3)
    assert "field.2.ildg was replaced" in resume(folder, status=1)
