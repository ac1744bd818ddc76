"""Set-ups of multigrid that are read from files solve as what was written; nothing else is taken for them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from command_line import command, environment

import trellis as tr
from trellis.solve import multigrid_output

EXTENTS = (8, 4, 4, 8)
SETUP = {"vectors": 6, "block": (2, 2, 2, 2), "sweeps": 1}


@pytest.fixture(scope="module")
def U() -> tr.GaugeField:
    return tr.quenched(lattice=EXTENTS, beta=6.0, seed=4, sweeps=10)


@pytest.fixture(scope="module")
def M(U: tr.GaugeField) -> tr.WilsonClover:
    return tr.WilsonClover(U, mass=-0.2, csw=1.3)


@pytest.fixture(scope="module")
def mg(M: tr.WilsonClover) -> tr.Multigrid:
    return tr.multigrid(M, **SETUP)


@pytest.fixture(scope="module")
def path(mg: tr.Multigrid, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("multigrid") / "mg.h5"
    mg.write(path, run_file="[lattice]")
    return path


def solution(mg: tr.Multigrid, M: tr.WilsonClover) -> np.ndarray:
    numbers = np.random.default_rng(3).standard_normal((2, *reversed(EXTENTS), 4, 3))
    solve = tr.gcr(tolerance=1e-8, preconditioner=mg, fallback=False)
    return solve(M).solve(numbers[0] + 1j * numbers[1])[0]


def test_what_is_read_has_the_bits_of_what_was_written(
    M: tr.WilsonClover, mg: tr.Multigrid, path: Path, tmp_path: Path
) -> None:
    read = tr.read_multigrid(path, M)
    assert str(read) == str(mg)
    assert read.residuals == mg.residuals
    np.testing.assert_array_equal(solution(read, M), solution(mg, M))
    read.write(tmp_path / "again.h5")
    with h5py.File(path) as one, h5py.File(tmp_path / "again.h5") as two:
        names = [f"{name}_{i:04d}" for name in ("coefficients", "column") for i in range(6)]
        assert sorted(one["multigrid"]) == sorted(two["multigrid"]) == names
        for name, column in one["multigrid"].items():
            blocks = tuple(reversed(mg.coarse_lattice))
            assert column.shape == ((8, 4, 4, 8, 4, 3) if name.startswith("column") else (*blocks, 12))
            assert column.dtype == np.complex64
            np.testing.assert_array_equal(column[...], two["multigrid"][name][...])
        assert one["multigrid"].attrs["statement"] == two["multigrid"].attrs["statement"]
        assert one.attrs["run_file"] == "[lattice]"
    np.testing.assert_array_equal(solution(read.update(M), M), solution(mg.update(M), M))


@pytest.mark.parametrize("storage", ["half", "single"])
def test_the_storage_of_p_is_read_as_it_was_written(M: tr.WilsonClover, tmp_path: Path, storage: Any) -> None:
    mg = tr.multigrid(M, **SETUP, prolongator_storage=storage)
    mg.write(tmp_path / "mg.h5")
    read = tr.read_multigrid(tmp_path / "mg.h5", M)
    assert read.bytes == mg.bytes
    np.testing.assert_array_equal(solution(read, M), solution(mg, M))


def test_files_of_earlier_versions_have_p_in_16_bits(
    M: tr.WilsonClover, mg: tr.Multigrid, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = multigrid_output.values
    monkeypatch.setattr(
        multigrid_output,
        "values",
        lambda record: {name: v for name, v in values(record).items() if name != "prolongator_storage"},
    )
    mg.write(tmp_path / "earlier.h5")
    monkeypatch.undo()
    np.testing.assert_array_equal(solution(tr.read_multigrid(tmp_path / "earlier.h5", M), M), solution(mg, M))


def test_three_levels_are_read_with_the_bits_that_were_written(M: tr.WilsonClover, tmp_path: Path) -> None:
    mg = tr.multigrid(M, vectors=[6, 7], block=[(2, 2, 2, 2), (2, 1, 1, 2)], sweeps=1)
    path = tmp_path / "three.h5"
    mg.write(path)
    read = tr.read_multigrid(path, M)
    assert str(read) == str(mg)
    assert read.levels == 3
    np.testing.assert_array_equal(solution(read, M), solution(mg, M))
    with h5py.File(path, "r+") as file:
        names = [name for name in file["multigrid"] if name.startswith("level_1")]
        assert names == [f"level_1_column_{i:04d}" for i in range(7)]
        assert file["multigrid"][names[0]].shape == (4, 2, 2, 4, 12)
        del file["multigrid"][names[-1]]
    with pytest.raises(tr.ChecksumError, match="a column is gone"):
        tr.read_multigrid(path, M)


def test_another_mass_is_read_as_it_is_shifted(
    U: tr.GaugeField, M: tr.WilsonClover, mg: tr.Multigrid, path: Path, tmp_path: Path
) -> None:
    """Another mass is read even where the written one was shifted itself: D_c is built for the mass of the
    set-up."""
    masses = [tr.WilsonClover(U, mass=m, csw=1.3, twisted_mass=t) for m, t in ((-0.1, 0.0), (-0.2, -0.05))]
    shifted = mg.at(masses[0])
    assert shifted.operator == masses[0]._record
    shifted.write(tmp_path / "shifted.h5")
    for operator in (M, *masses):
        expected = solution(mg, operator)
        for file in (path, tmp_path / "shifted.h5"):
            np.testing.assert_array_equal(solution(tr.read_multigrid(file, operator), operator), expected)
        np.testing.assert_array_equal(solution(shifted.at(operator), operator), expected)


def test_files_of_one_rank_and_of_two_are_the_same(U: tr.GaugeField, path: Path, tmp_path: Path) -> None:
    U.write(tmp_path / "links.ildg")
    script = """
import sys
import numpy as np
import trellis as tr
M = tr.WilsonClover(tr.read_gauge_field("links.ildg"), mass=-0.2, csw=1.3)
mg = tr.read_multigrid(sys.argv[1], M)
mg.write("two.h5")
S = tr.gcr(tolerance=1e-8, preconditioner=mg)(M).propagator(tr.point_source(M.geometry, (0, 0, 0, 0)))
pion = tr.meson(S, S, "gamma5", "gamma5")
if tr.rank() == 0:
    np.save(f"pion{tr.ranks()}.npy", pion)
"""
    for ranks in (1, 2):
        before = command(ranks=ranks)[:-3]  # "python -m trellis" is cut off
        arguments = [*before, sys.executable, "-c", script, str(path)]
        subprocess.run(arguments, cwd=tmp_path, env=environment(), check=True, timeout=120)
    np.testing.assert_array_equal(np.load(tmp_path / "pion1.npy"), np.load(tmp_path / "pion2.npy"))
    with h5py.File(path) as one, h5py.File(tmp_path / "two.h5") as two:
        for name, column in one["multigrid"].items():
            np.testing.assert_array_equal(column[...], two["multigrid"][name][...])
            assert list(column.attrs["scidac_checksum"]) == list(
                two["multigrid"][name].attrs["scidac_checksum"]
            )


def test_other_operators_are_refused_with_the_difference(U: tr.GaugeField, path: Path) -> None:
    def message(M: tr.WilsonClover) -> str:
        with pytest.raises(tr.BadArgument, match=r"mg\.h5: the multigrid does not belong to") as error:
            tr.read_multigrid(path, M)
        return str(error.value)

    assert "csw" in message(tr.WilsonClover(U, mass=-0.2, csw=1.0))
    assert "boundary" in message(tr.WilsonClover(U, mass=-0.2, csw=1.3, boundary=(1, 1, 1, 1)))
    moved = tr.quenched(lattice=EXTENTS, beta=6.0, seed=4, sweeps=11)
    assert "plaquette" in message(tr.WilsonClover(moved, mass=-0.2, csw=1.3))
    other = tr.WilsonClover(tr.quenched(lattice=(4, 4, 4, 8), beta=6.0, seed=4, sweeps=1), mass=-0.2, csw=1.3)
    with pytest.raises(tr.FileError, match=r"lattice: expected \[4, 4, 4, 8\], found \[8, 4, 4, 8\]"):
        tr.read_multigrid(path, other)
    with pytest.raises(tr.BadArgument, match="M must be"):
        tr.read_multigrid(path, tr.Staggered(U, mass=0.1))


def damaged(change: str, copy: Path) -> None:
    with h5py.File(copy, "r+") as file:
        group = file["multigrid"]
        if change == "number":
            group["column_0001"][0, 0, 0, 0, 0, 0] = 1
        elif change == "column":
            del group["column_0005"]
        elif change == "swapped":
            group.move("column_0001", "x")
            group.move("column_0002", "column_0001")
            group.move("x", "column_0002")
        elif change == "statement":
            text = group.attrs["statement"]
            group.attrs["statement"] = np.bytes_(text.replace(b"-0.2", b"-0.3"))


@pytest.mark.parametrize("change", ["number", "column", "swapped", "statement"])
def test_damage_is_noticed(M: tr.WilsonClover, path: Path, tmp_path: Path, change: str) -> None:
    copy = tmp_path / "copy.h5"
    copy.write_bytes(path.read_bytes())
    damaged(change, copy)
    with pytest.raises(tr.ChecksumError, match=r"copy\.h5.* expected .* found"):
        tr.read_multigrid(copy, M)


def test_files_that_are_none_of_its_are_refused(
    U: tr.GaugeField, M: tr.WilsonClover, path: Path, tmp_path: Path
) -> None:
    content = path.read_bytes()
    (tmp_path / "short.h5").write_bytes(content[: len(content) // 2])
    U.write(tmp_path / "links.ildg")
    tr.lanczos(M, count=1, tolerance=1e-3).write(tmp_path / "modes.h5")
    for name, words in (
        ("short.h5", "short"),
        ("links.ildg", "links"),
        ("gone.h5", "gone"),
        ("modes.h5", "kind: expected 'multigrid', found 'eigenvectors'"),
    ):
        with pytest.raises(tr.FileError, match=words):
            tr.read_multigrid(tmp_path / name, M)


def test_a_disk_that_is_full_leaves_the_file_before_as_it_was(
    U: tr.GaugeField, path: Path, tmp_path: Path
) -> None:
    """A limit of the size of files stands for the disk."""
    copy = tmp_path / "mg.h5"
    copy.write_bytes(path.read_bytes())
    script = """
import resource, signal, sys
import trellis as tr
M = tr.WilsonClover(tr.read_gauge_field("links.ildg"), mass=-0.2, csw=1.3)
mg = tr.read_multigrid("mg.h5", M)
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, resource.RLIM_INFINITY))
try:
    mg.write("mg.h5")
except tr.FileError as error:
    sys.exit(0 if "mg.h5" in str(error) else str(error))
sys.exit("it was written")
"""
    U.write(tmp_path / "links.ildg")
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, env=environment(), check=True, timeout=120)
    assert copy.read_bytes() == path.read_bytes()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["links.ildg", "mg.h5"]
