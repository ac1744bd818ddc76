"""These tests read propagators of Chroma and lalibe in HDF5 files, built to the format, and lalibe's own."""

from __future__ import annotations

import os
from pathlib import Path

import h5py
import numpy as np
import pytest

import trellis as tr

LATTICE = (2, 4, 6, 8)
GEOMETRY = tr.Geometry(LATTICE)
SHAPE = (*LATTICE[::-1], 4, 4, 3, 3)


def record_xml(at: str = "1 2 3 4", boundary: str = "1 1 1 -1", root: str = "Propagator") -> str:
    return (
        f"<?xml version='1.0'?><{root}><ForwardProp><boundary>{boundary}</boundary></ForwardProp>"
        f"<PropSource><t_srce>{at}</t_srce></PropSource></{root}>"
    )


def write_qdp(path: Path, values: np.ndarray, record: str | None = None, bits: int = 64) -> None:
    """Write an array whose sites are of nested array types of {r, i}, as the HDF5 writer of QDP++ does."""
    kind = np.dtype([("r", f"<f{bits // 8}"), ("i", f"<f{bits // 8}")])
    colours = h5py.h5t.array_create(h5py.h5t.py_create(kind), (3, 3))
    site = h5py.h5t.array_create(colours, (4, 4))
    with h5py.File(path, "w") as file:
        group = file.create_group("props/light")
        space = h5py.h5s.create_simple(values.shape[:4])
        dataset = h5py.h5d.create(group.id, b"PS_up", site, space)
        stored = np.ascontiguousarray(values, dtype=f"<c{bits // 4}").view(kind).reshape(values.shape)
        dataset.write(h5py.h5s.ALL, h5py.h5s.ALL, stored, mtype=site)
        if record is not None:
            group["PS_up"].attrs["record_xml"] = np.bytes_(record.encode())


def numbers() -> np.ndarray:
    rng = np.random.default_rng(2)
    return rng.standard_normal(SHAPE) + 1j * rng.standard_normal(SHAPE)


@pytest.mark.parametrize("bits", [32, 64])
def test_numbers_source_and_phases_come_from_the_file(tmp_path: Path, bits: int) -> None:
    values = numbers()
    write_qdp(tmp_path / "p.h5", values, record_xml(), bits)
    with pytest.warns(UserWarning, match="props/light/PS_up has no checksum"):
        S = tr.read_qdp_propagator(tmp_path / "p.h5", "/props/light/PS_up", GEOMETRY)
    assert S.source_at == (1, 2, 3, 4)
    assert S.boundary == (1, 1, 1, -1)
    assert not S.is_sink_smeared
    np.testing.assert_array_equal(S.to_numpy(), values.astype(f"c{bits // 4}"))
    write_qdp(tmp_path / "p.h5", values, record_xml(root="SinkSmear"), bits)
    with pytest.warns(UserWarning, match="no checksum"):
        assert tr.read_qdp_propagator(tmp_path / "p.h5", "props/light/PS_up", GEOMETRY).is_sink_smeared


@pytest.mark.filterwarnings("ignore:.*no checksum")
def test_a_file_without_xml_needs_the_source(tmp_path: Path) -> None:
    write_qdp(tmp_path / "p.h5", numbers())
    with pytest.raises(tr.BadArgument, match=r"source_at: expected x, y, z, t, which .* does not say"):
        tr.read_qdp_propagator(tmp_path / "p.h5", "props/light/PS_up", GEOMETRY)
    S = tr.read_qdp_propagator(tmp_path / "p.h5", "props/light/PS_up", GEOMETRY, source_at=(0, 0, 0, 0))
    assert S.boundary == (1, 1, 1, -1)


@pytest.mark.filterwarnings("ignore:.*no checksum")
def test_what_does_not_fit_is_refused(tmp_path: Path) -> None:
    path, values = tmp_path / "p.h5", numbers()
    write_qdp(path, values, record_xml())

    def refused(error: type[Exception], said: str, name: str = "props/light/PS_up", **given: object) -> None:
        with pytest.raises(error, match=said):
            tr.read_qdp_propagator(path, name, given.pop("geometry", GEOMETRY), **given)

    refused(tr.FileError, r"source_at: expected \[0, 0, 0, 0\], found \[1, 2, 3, 4\]", source_at=(0, 0, 0, 0))
    refused(tr.FileError, "boundary: expected", boundary=(1, 1, 1, 1))
    refused(tr.FileError, "expected an array props/light/PS_dn, found none", "props/light/PS_dn")
    refused(tr.FileError, "expected an array other/PS_up, found none .the root has props", "other/PS_up")
    refused(tr.FileError, "expected an array /, found none", "/")
    refused(tr.FileError, "props/light/PS_up", geometry=tr.Geometry((4, 4, 6, 8)))
    refused(tr.FileError, "props/light: expected an array", "props/light", source_at=(0, 0, 0, 0))
    write_qdp(path, values, record_xml(at="1 2"))
    refused(tr.FileError, "t_srce: expected four numbers, found '1 2'")
    write_qdp(path, values, record_xml(boundary="1 1 1"))
    refused(tr.FileError, "boundary: expected four phases")
    write_qdp(path, values, record_xml(at="1 2 3 9"))
    refused(tr.BadArgument, "outside the lattice")
    path.write_bytes(path.read_bytes()[:30000])
    refused(tr.FileError, "cannot open|HDF5|file signature")
    path.write_bytes(b"no HDF5")
    refused(tr.FileError, "cannot open|HDF5|file signature")


LALIBE = Path(os.environ.get("TRELLIS_TEST_DATA", "")) / "lalibe"


@pytest.mark.skipif(not LALIBE.is_dir(), reason="needs the external data (TRELLIS_TEST_DATA)")
def test_lalibe_s_own_propagator_is_a_solution() -> None:
    """The whole propagator is that of our clover operator on the same field, from its smeared source."""
    field = LALIBE.parent / "weak_field" / "weak_field.lime"
    U = tr.read_gauge_field(field)
    with pytest.warns(UserWarning, match="no checksum"):
        S = tr.read_qdp_propagator(LALIBE / "test_propagator_t4.h5", "/sh_sig2p0_n5/PS_up_4", U.geometry)
    assert S.source_at == (0, 0, 0, 4)
    M = tr.WilsonClover(U, mass=0.1, csw=1.17)
    source = tr.gaussian_source(U, (0, 0, 0, 4), width=2.0, steps=5)
    ours = tr.even_odd(tr.cg(tolerance=1e-12))(M).propagator(source)
    assert abs(S.to_numpy() - ours.to_numpy()).max() < 1e-8 * abs(ours.to_numpy()).max()
    np.testing.assert_allclose(
        tr.meson(S, S, "gamma5", "gamma5"), tr.meson(ours, ours, "gamma5", "gamma5"), rtol=1e-8
    )
