"""These tests cover staggered propagators: of one mass and of several by one multi-shift solve, condensates,
files."""

from __future__ import annotations

import json
import os
import struct
import warnings
from pathlib import Path

import numpy as np
import pytest
from dense_operators import dense_staggered
from numpy.typing import NDArray

import trellis as tr

LATTICE = (4, 4, 4, 6)
MASSES = (0.5, 0.02, 0.1)
DATA = Path(os.environ.get("TRELLIS_TEST_DATA", ""))
needs_data = pytest.mark.skipif(
    not (DATA / "gold.json").is_file(), reason="needs the external data (TRELLIS_TEST_DATA)"
)


@pytest.fixture(scope="module")
def U() -> tr.GaugeField:
    return tr.quenched(lattice=LATTICE, beta=6.0, seed=3, sweeps=10)


def even_point(U: tr.GaugeField) -> tr.Source:
    return tr.point_source(U.geometry, (1, 2, 0, 3), has_spin=False)


def solution(M: NDArray, source: tr.Source) -> NDArray:
    """Return M^-1 source by NumPy, [t, z, y, x, colour, column]."""
    from trellis.ground.compiled_core import load

    b = load().source_to_numpy(source._core)
    return np.linalg.solve(M, b.reshape(-1, 3)).reshape(b.shape)


@pytest.mark.parametrize("where", ["even", "odd", "wall"])
def test_one_solve_gives_the_propagators_of_all_masses(U, where):
    sources = {
        "even": even_point(U),
        "odd": tr.point_source(U.geometry, (1, 2, 1, 3), has_spin=False),
        "wall": tr.wall_source(U.geometry, 1, has_spin=False),
    }
    source, M = sources[where], tr.Staggered(U, mass=7.0)
    found = M.propagators(source, masses=MASSES, solver=tr.cg(tolerance=1e-11))
    assert [S.operator.parameters["mass"] for S in found] == list(MASSES)
    for S, mass in zip(found, MASSES, strict=True):
        expected = solution(dense_staggered(U.to_numpy(), mass), source)
        assert np.linalg.norm(S.to_numpy() - expected) < 1e-9 * np.linalg.norm(expected)
        assert len(S.report.relative_residuals) == 3
        assert 0 < S.report.largest_residual <= 1e-11
        assert S.report.method == "multi-shift cg, 3 masses"
        own = tr.Staggered(U, mass=mass).propagator(source)
        assert np.linalg.norm(S.to_numpy() - own.to_numpy()) < 1e-7 * np.linalg.norm(expected)
        assert own.operator.difference(S.operator) == ""


def test_residuals_are_the_true_ones_of_every_mass(U):
    """A recursion in single precision misses the tolerance, and each mass is finished in double."""
    source, masses = even_point(U), (1.0, 0.01)
    solver = tr.mixed_precision(tr.cg(tolerance=1e-12), inner="half")
    found = tr.Staggered(U, mass=1.0).propagators(source, masses=masses, solver=solver)
    for S, mass in zip(found, masses, strict=True):
        M, values = tr.Staggered(U, mass=mass), S.to_numpy()
        for column in range(3):
            r = M(values[..., column])
            r[3, 0, 2, 1, column] -= 1
            assert np.linalg.norm(r) <= 1.1e-12
            assert abs(np.linalg.norm(r) - S.report.relative_residuals[column]) < 2e-14


def test_hisq_has_them_too(U):
    M, source = tr.HISQ(U, mass=0.3), even_point(U)
    found = M.propagators(source, masses=[0.3, 0.05])
    alone = [M.propagator(source), M.flavour(mass=0.05).propagator(source, guess=found[0])]
    for S, T in zip(found, alone, strict=True):
        assert np.linalg.norm(S.to_numpy() - T.to_numpy()) < 1e-8 * np.linalg.norm(T.to_numpy())
        assert (S.operator.name, S.operator.difference(T.operator)) == ("HISQ", "")


def test_what_cannot_be_solved_is_said(U):
    M, source = tr.Staggered(U, mass=0.1), even_point(U)
    with pytest.raises(tr.NotConverged) as error:
        M.propagators(source, masses=[0.1, 0.2], solver=tr.cg(tolerance=1e-10, max_iterations=2))
    assert len(error.value.report.relative_residuals) == 6
    kept = M.propagators(source, masses=[0.1], solver=tr.cg(max_iterations=2), allow_not_converged=True)
    assert not kept[0].report.converged
    for masses in ([], [0.1, 0.0]):
        with pytest.raises(tr.BadArgument, match="masses: expected at least one"):
            M.propagators(source, masses=masses)
    for solver in (tr.bicgstab(), tr.cg(iterations=3)):
        with pytest.raises(tr.BadArgument, match="several masses share one multi-shift solve"):
            M.propagators(source, masses=[0.1], solver=solver)


def test_condensates_of_several_masses_are_those_of_each(U):
    key = {"vectors": 4, "seed": 5, "configuration": 3, "first": 2}
    found = tr.Staggered(U, mass=9.0).condensates(masses=MASSES, **key)
    assert found.condensate.shape == (3, 4)
    for values, mass in zip(found.condensate, MASSES, strict=True):
        own = tr.Staggered(U, mass=mass).observables(n_f=1, **key)
        np.testing.assert_allclose(values, own.condensate, rtol=1e-8)
    many = tr.Staggered(U, mass=9.0).condensates(masses=MASSES, **key | {"vectors": 14})
    assert many.condensate.shape == (3, 14)
    assert len(many.report.relative_residuals) == 3 * 14
    np.testing.assert_allclose(many.condensate[:, :4], found.condensate, rtol=1e-8)
    last = tr.Staggered(U, mass=9.0).condensates(masses=MASSES, **key | {"vectors": 1, "first": 2 + 13})
    np.testing.assert_allclose(many.condensate[:, 13], last.condensate[:, 0], rtol=1e-8)


@needs_data
def test_pions_and_condensates_equal_external_numbers():
    """gold.json was made by another program from its own inverse of M on the field F4."""
    entries = {e["id"]: e["values"] for e in json.loads((DATA / "gold.json").read_text())["entries"]}
    U = tr.read_gauge_field(DATA / "quenched/b6.0_4x4x4x4.ildg")
    masses = [0.02, 0.1, 0.5]
    M = tr.Staggered(U, mass=1.0)
    found = M.propagators(
        tr.point_source(U.geometry, (0, 0, 0, 0), has_spin=False),
        masses=masses,
        solver=tr.cg(tolerance=1e-13),
    )
    condensates = M.condensates(masses=masses, vectors=64, seed=2)
    for k, mass in enumerate(masses):
        gold = entries[f"stag.thin.m{mass}.F4"]
        pion = (np.abs(found[k].to_numpy()) ** 2).sum(axis=(1, 2, 3, 4, 5))
        np.testing.assert_allclose(pion, gold["pion"], rtol=1e-10)
        samples = condensates.condensate[k]
        error = samples.std(ddof=1) / np.sqrt(len(samples))
        assert abs(samples.mean() - gold["trMinv_over_V"] / 4) < 4 * error
        exact = np.trace(np.linalg.inv(dense_staggered(U.to_numpy(), mass))).real / 256
        assert abs(exact - gold["trMinv_over_V"]) < 1e-11


@pytest.fixture(scope="module")
def S(U) -> tr.StaggeredPropagator:
    source = tr.gaussian_source(U, (1, 2, 0, 3), width=1.0, steps=3, has_spin=False)
    return tr.Staggered(U, mass=0.2).propagators(source, masses=[0.2])[0]


def read(path: Path, S: tr.StaggeredPropagator) -> tr.StaggeredPropagator:
    if path.suffix == ".lime":
        return tr.read_scidac_staggered_propagator(path, S.geometry)
    return tr.read_staggered_propagator(path)


@pytest.mark.parametrize("name", ["S.h5", "S.lime"])
@pytest.mark.parametrize("precision", [32, 64])
def test_files_give_propagators_back(S, tmp_path, name, precision):
    path = tmp_path / name
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        S.write(path, precision=precision)
        back = read(path, S)
    exact = S.to_numpy()
    rounded = exact.astype(np.complex64).astype(complex) if precision == 32 else exact
    assert np.array_equal(back.to_numpy(), rounded)
    assert (back.source_at, back.boundary) == ((1, 2, 0, 3), (1, 1, 1, -1))
    assert back.operator == S.operator
    data = bytearray(path.read_bytes())
    kind = f"{'<' if name == 'S.h5' else '>'}f{precision // 8}"
    place = data.find(np.array(exact[1, 3, 0, 2, 1, 0].real, kind).tobytes())
    assert place > 0
    data[place] ^= 16
    path.write_bytes(data)
    with pytest.raises(tr.ChecksumError, match="checksum"):
        read(path, S)
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(tr.FileError):
        read(path, S)


def test_files_of_the_other_kind_are_named(U, S, tmp_path):
    spin = tr.cg(tolerance=1e-3)(tr.WilsonClover(U, mass=2.0)).propagator(
        tr.point_source(U.geometry, (0, 0, 0, 0))
    )
    spin.write(tmp_path / "spin.h5")
    S.write(tmp_path / "S.h5")
    with pytest.raises(tr.FileError, match=r"which trellis.read_propagator reads"):
        tr.read_staggered_propagator(tmp_path / "spin.h5")
    with pytest.raises(tr.FileError, match=r"which trellis.read_staggered_propagator reads"):
        tr.read_propagator(tmp_path / "S.h5")


def records(path: Path) -> list[tuple[str, bytes]]:
    """Return types and contents of a LIME file."""
    data, found = path.read_bytes(), []
    while data:
        _, _, _, length, kind = struct.unpack(">IHHQ128s", data[:144])
        found.append((kind.split(b"\0")[0].decode(), data[144 : 144 + length]))
        data = data[144 + (length + 7) // 8 * 8 :]
    return found


def write_records(path: Path, contents: list[tuple[str, bytes]]) -> None:
    with open(path, "wb") as file:
        for kind, content in contents:
            file.write(struct.pack(">IHHQ128s", 0x456789AB, 1, 0xC000, len(content), kind.encode()))
            file.write(content + bytes(-len(content) % 8))


def test_scidac_files_have_the_records_of_milc(U, S, tmp_path):
    """Names and order are those of QIO's qioxml_usqcd_ksprop.h, type USQCD_ColorVector_Source_Sink_Pairs."""
    from trellis.ground.compiled_core import load

    path = tmp_path / "S.lime"
    S.write(path)
    found = records(path)
    assert b"<type>USQCD_ColorVector_Source_Sink_Pairs</type>" in found[1][1]
    texts = [content.decode() for kind, content in found if kind == "scidac-record-xml"]
    wanted = [(name, colour) for colour in range(3) for name in ("usqcdSourceInfo", "usqcdKSPropInfo")]
    for text, (name, colour) in zip(texts, wanted, strict=True):
        assert f"<{name}><version>1.0</version><color>{colour}</color><info>" in text
        assert len(text) < 1024  # QIO keeps no more
    assert sum(b"<datatype>QDP_D3_ColorVector</datatype>" in content for _, content in found) == 6
    vectors = [np.frombuffer(c, ">c16").reshape(6, 4, 4, 4, 3) for k, c in found if "binary" in k]
    source = load().source_to_numpy(S.source._core)
    for colour in range(3):
        assert np.array_equal(vectors[2 * colour], source[..., colour])
        assert np.array_equal(vectors[2 * colour + 1], S.to_numpy()[..., colour])


def test_scidac_files_of_milc_are_read(S, tmp_path):
    """MILC writes sources as one time slice, which is another size, and says neither place nor phases."""
    S.write(tmp_path / "S.lime")
    kept: list[tuple[str, bytes]] = []
    is_source = False
    for kind, content in records(tmp_path / "S.lime")[:-1]:  # the text of Trellis is left out
        if kind == "scidac-record-xml":
            is_source = b"usqcdSourceInfo" in content
        kept.append((kind, content[: len(content) // 6] if is_source and "binary" in kind else content))
    path = tmp_path / "milc.lime"
    write_records(path, kept)
    with pytest.raises(tr.BadArgument, match="does not say where the source is"):
        tr.read_scidac_staggered_propagator(path, S.geometry)
    back = tr.read_scidac_staggered_propagator(path, S.geometry, source_at=(1, 2, 0, 3))
    assert np.array_equal(back.to_numpy(), S.to_numpy())
    # The colours stand in another order, or one is missing.
    swapped = [
        (k, c.replace(b"<color>0<", b"<color>9<").replace(b"<color>2<", b"<color>0<")) for k, c in kept
    ]
    swapped = [(k, c.replace(b"<color>9<", b"<color>2<")) for k, c in swapped]
    write_records(path, swapped)
    back = tr.read_scidac_staggered_propagator(path, S.geometry, source_at=(1, 2, 0, 3))
    assert np.array_equal(back.to_numpy(), S.to_numpy()[..., ::-1])
    write_records(path, kept[: 2 + 4 * 5])
    with pytest.raises(tr.FileError, match=r"expected three colour vectors.*found 2"):
        tr.read_scidac_staggered_propagator(path, S.geometry, source_at=(1, 2, 0, 3))


def test_propagators_without_a_source_are_written_alone(S, tmp_path):
    T = tr.StaggeredPropagator.from_numpy(
        S.to_numpy(), S.geometry, source_at=S.source_at, boundary=S.boundary
    )
    T.write(tmp_path / "T.lime")
    assert sum("binary" in kind for kind, _ in records(tmp_path / "T.lime")) == 3
    assert np.array_equal(read(tmp_path / "T.lime", T).to_numpy(), S.to_numpy())
    with pytest.raises(tr.FileError, match="expected the source at"):
        tr.read_scidac_staggered_propagator(tmp_path / "T.lime", S.geometry, source_at=(0, 0, 0, 0))
