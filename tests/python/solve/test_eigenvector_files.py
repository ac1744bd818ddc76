"""Low modes that are read from files deflate as those that were found, and nothing else is taken for them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest
from command_line import command, environment

import trellis as tr

EXTENTS = (4, 4, 4, 4)


@pytest.fixture(scope="module")
def U() -> tr.GaugeField:
    return tr.quenched(lattice=EXTENTS, beta=6.0, seed=4, sweeps=10)


def operator(U: tr.GaugeField, kind: str) -> tr.WilsonClover | tr.MoebiusDomainWall:
    if kind == "moebius":
        return tr.MoebiusDomainWall(U, mass=0.01, Ls=4, b5=1.5, c5=0.5)
    return tr.WilsonClover(U, mass=-0.5, csw=1.0)


def run_script(script: str, *, ranks: int, cwd: Path) -> None:
    before = command(ranks=ranks)[:-3]  # "python -m trellis" is cut off
    subprocess.run(
        [*before, sys.executable, "-c", script], cwd=cwd, env=environment(), check=True, timeout=120
    )


@pytest.mark.parametrize(
    ("kind", "form", "storage"),
    [
        ("clover", "symmetric", "double"),
        ("clover", "none", "float"),
        ("clover", "asymmetric", "half"),
        ("moebius", "symmetric", "float"),
    ],
)
def test_solves_with_stored_modes_are_the_same(
    U: tr.GaugeField, tmp_path: Path, kind: str, form: str, storage: str
) -> None:
    """Solves are the same bit for bit, except for 16 bits: their scales are rounded."""
    M = operator(U, kind)
    modes = tr.lanczos(M, count=8, even_odd=form, storage=storage, tolerance=1e-6)
    modes.write(tmp_path / "modes.h5")
    found = tr.read_eigenvectors(tmp_path / "modes.h5", M, least=8)
    np.testing.assert_array_equal(found.values, modes.values)
    np.testing.assert_array_equal(found.residuals, modes.residuals)
    assert str(found) == str(modes)
    assert found.bytes == modes.bytes
    assert found.tolerance == modes.tolerance == 1e-6
    assert found.converged
    solver = tr.cg(tolerance=1e-9) if form == "none" else tr.even_odd(tr.cg(tolerance=1e-9), form=form)
    source = tr.point_source(U.geometry, (0, 0, 0, 0))
    plain = solver(M).propagator(source)
    expected, read = (tr.deflated(solver, m)(M).propagator(source) for m in (modes, found))
    assert read.report is not None
    assert expected.report is not None
    assert plain.report is not None
    assert read.report.iterations == expected.report.iterations < plain.report.iterations
    if storage == "half":
        np.testing.assert_allclose(read.to_numpy(), expected.to_numpy(), rtol=0, atol=1e-9)
    else:
        np.testing.assert_array_equal(read.to_numpy(), expected.to_numpy())


def test_vectors_are_where_the_file_says(U: tr.GaugeField, tmp_path: Path) -> None:
    """The vectors have norm 1; they lie as [t][z][y][x], and pairs of sites share the numbers of the one of
    the parity."""
    M = operator(U, "clover")
    tr.lanczos(M, count=2, storage="double", tolerance=1e-6).write(tmp_path / "half.h5")
    tr.lanczos(M, count=2, even_odd="none", storage="double", tolerance=1e-6).write(tmp_path / "full.h5")
    for name, shape in (("half", (4, 4, 4, 4, 6)), ("full", (4, 4, 4, 4, 1, 4, 3))):
        with h5py.File(tmp_path / f"{name}.h5") as file:
            vector = file["eigenvectors/vector_0001"][...]
        assert vector.shape == shape
        assert np.vdot(vector, vector).real == pytest.approx(1, abs=1e-12)


def test_the_same_file_on_two_ranks(U: tr.GaugeField, tmp_path: Path) -> None:
    """One rank writes and two read, and the other way: the numbers of all vectors agree."""
    U.write(tmp_path / "links.ildg")
    script = """
import trellis as tr
U = tr.read_gauge_field("links.ildg")
M = tr.WilsonClover(U, mass=-0.5, csw=1.0)
tr.lanczos(M, count=4, tolerance=1e-6).write(f"modes{tr.ranks()}.h5")
"""
    solve = """
import numpy as np
import trellis as tr
U = tr.read_gauge_field("links.ildg")
M = tr.WilsonClover(U, mass=-0.5, csw=1.0)
modes = tr.read_eigenvectors("modes2.h5", M)
solver = tr.deflated(tr.even_odd(tr.cg(tolerance=1e-9)), modes)
S = solver(M).propagator(tr.point_source(U.geometry, (0, 0, 0, 0)))
pion = tr.meson(S, S, "gamma5", "gamma5")
if tr.rank() == 0:
    np.save(f"pion{tr.ranks()}.npy", pion)
"""
    for ranks in (1, 2):
        run_script(script, ranks=ranks, cwd=tmp_path)
    with h5py.File(tmp_path / "modes1.h5") as one, h5py.File(tmp_path / "modes2.h5") as two:
        names = sorted(one["eigenvectors"])
        assert names == sorted(two["eigenvectors"])
        assert len(names) == 6
        for name in names:
            np.testing.assert_array_equal(one["eigenvectors"][name][...], two["eigenvectors"][name][...])
    for ranks in (1, 2):
        run_script(solve, ranks=ranks, cwd=tmp_path)
    np.testing.assert_array_equal(np.load(tmp_path / "pion1.npy"), np.load(tmp_path / "pion2.npy"))


def test_ranks_of_different_clocks_write_one_file(U: tr.GaugeField, tmp_path: Path) -> None:
    """The seconds of a search differ from rank to rank, in their number of digits, too: rank 0's are kept."""
    U.write(tmp_path / "links.ildg")
    script = """
import trellis as tr
M = tr.WilsonClover(tr.read_gauge_field("links.ildg"), mass=-0.5, csw=1.0)
modes = tr.lanczos(M, count=3, tolerance=1e-5)
modes._core.seconds = (0.5, 0.1234567)[tr.rank()]
modes.write("modes.h5")
assert tr.read_eigenvectors("modes.h5", M).seconds == 0.5
"""
    run_script(script, ranks=2, cwd=tmp_path)


def test_other_operators_and_damage_are_refused(U: tr.GaugeField, tmp_path: Path) -> None:
    path = tmp_path / "modes.h5"
    M = operator(U, "clover")
    tr.lanczos(M, count=3, tolerance=1e-6).write(path)
    with pytest.raises(tr.BadArgument, match=r"modes.h5: .* those of mass = -0.5, not -0.4"):
        tr.read_eigenvectors(path, tr.WilsonClover(U, mass=-0.4, csw=1.0))
    with pytest.raises(tr.BadArgument, match="those of the operator WilsonClover"):
        tr.read_eigenvectors(path, operator(U, "moebius"))
    with pytest.raises(tr.BadArgument, match="at least 4 modes, found 3"):
        tr.read_eigenvectors(path, M, least=4)
    other = tr.quenched(lattice=(4, 4, 4, 8), beta=6.0, seed=4, sweeps=1)
    with pytest.raises(tr.FileError, match=r"lattice: expected \[4, 4, 4, 8\], found \[4, 4, 4, 4\]"):
        tr.read_eigenvectors(path, operator(other, "clover"))
    content = path.read_bytes()

    def changed(change: str) -> Path:
        copy = tmp_path / f"{change}.h5"
        copy.write_bytes(content)
        with h5py.File(copy, "r+") as file:
            group = file["eigenvectors"]
            if change == "number":
                group["vector_0001"][0, 0, 0, 0, 0] = 1
            elif change == "value":
                group["values"][1] *= 1.0001
            elif change == "vector":
                del group["vector_0002"]
            elif change == "swapped":
                group.move("vector_0001", "x")
                group.move("vector_0002", "vector_0001")
                group.move("x", "vector_0002")
            elif change == "statement":
                text = group.attrs["statement"]
                group.attrs["statement"] = np.bytes_(text.replace(b"-0.5", b"-0.4"))
        return copy

    for change in ("number", "value", "vector", "swapped", "statement"):
        with pytest.raises(tr.ChecksumError, match=rf"{change}\.h5.* expected .* found"):
            tr.read_eigenvectors(changed(change), M)
    (tmp_path / "short.h5").write_bytes(content[: len(content) // 2])
    with pytest.raises(tr.FileError, match=r"short\.h5"):
        tr.read_eigenvectors(tmp_path / "short.h5", M)
    U.write(tmp_path / "links.ildg")
    with pytest.raises(tr.FileError, match=r"links\.ildg"):
        tr.read_eigenvectors(tmp_path / "links.ildg", M)
