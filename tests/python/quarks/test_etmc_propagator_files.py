"""Propagators of tmLQCD are read: its operator and its files are built here from its documents."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from command_line import run_program

import trellis as tr

LATTICE = (4, 2, 2, 4)
GEOMETRY = tr.Geometry(LATTICE)
AT = (1, 0, 1, 2)
THETA = (0.3, 0.0, 0.0, 1.0)
MASS, MU = 0.4, 0.25
#: doc/gamma.tex of tmLQCD has these matrices, t first; gamma5 is diag(1, 1, -1, -1).
GAMMA_T = np.array([[0, 0, -1, 0], [0, 0, 0, -1], [-1, 0, 0, 0], [0, -1, 0, 0]], dtype=complex)
GAMMA_X = np.array([[0, 0, 0, -1j], [0, 0, -1j, 0], [0, 1j, 0, 0], [1j, 0, 0, 0]])
GAMMA_Y = np.array([[0, 0, 0, -1], [0, 0, 1, 0], [0, 1, 0, 0], [-1, 0, 0, 0]], dtype=complex)
GAMMA_Z = np.array([[0, 0, -1j, 0], [0, 0, 0, 1j], [1j, 0, 0, 0], [0, -1j, 0, 0]])
GAMMA5 = np.diag([1, 1, -1, -1]).astype(complex)
Records = list[tuple[str, bytes]]


def applied(links: np.ndarray, psi: np.ndarray) -> np.ndarray:
    """Apply tmLQCD's operator to psi [t, z, y, x, spin, colour, column]; its phases are on all links."""
    out = (4 + MASS) * psi + 1j * MU * np.einsum("ab,tzyxbcn->tzyxacn", GAMMA5, psi)
    for mu, gamma in enumerate((GAMMA_X, GAMMA_Y, GAMMA_Z, GAMMA_T)):
        axis, phase = 3 - mu, np.exp(1j * np.pi * THETA[mu] / LATTICE[mu])
        U = phase * links[..., mu, :, :]
        ahead = np.einsum("tzyxij,tzyxajn->tzyxain", U, np.roll(psi, -1, axis))
        behind = np.roll(np.einsum("tzyxji,tzyxajn->tzyxain", U.conj(), psi), 1, axis)
        for sign, hopped in ((-1, ahead), (1, behind)):
            out -= 0.5 * np.einsum("ab,tzyxbcn->tzyxacn", np.eye(4) + sign * gamma, hopped)
    return out


@pytest.fixture(scope="module")
def links() -> tr.GaugeField:
    return tr.weak_field(LATTICE, seed=5, spread=0.7)


@pytest.fixture(scope="module")
def columns(links: tr.GaugeField) -> np.ndarray:
    """Return the solutions [column, t, z, y, x, spin, colour] of the twelve columns 3 spin + colour."""
    shape = (*LATTICE[::-1], 4, 3)
    rows = int(np.prod(shape))
    unit = np.eye(rows, dtype=complex).reshape(*shape, rows)
    matrix = applied(links.to_numpy(), unit).reshape(rows, rows)
    places = np.arange(rows).reshape(shape)[AT[3], AT[2], AT[1], AT[0]].ravel()
    return np.linalg.solve(matrix, np.eye(rows)[:, places]).T.reshape(12, *shape)


def lime(records: Records) -> bytes:
    content = b""
    for kind, data in records:
        content += struct.pack(">IHHQ128s", 0x456789AB, 1, 0, len(data), kind.encode()) + data
        content += bytes(-len(data) % 8)
    return content


def field(values: np.ndarray, bits: int, *, with_checksum: bool = True) -> Records:
    """Return the records of one field as tmLQCD's io/spinor_write*.c write them; their <lz> is that of x."""
    x, y, _, t = LATTICE
    text = '<?xml version="1.0" encoding="UTF-8"?>\n<etmcFormat>\n  <field>diracFermion</field>\n'
    text += f"  <precision>{bits}</precision>\n  <flavours>1</flavours>\n  <lx>{x}</lx>\n  <ly>{y}</ly>\n"
    text += f"  <lz>{x}</lz>\n  <lt>{t}</lt>\n</etmcFormat>"
    numbers = np.stack([values.real, values.imag], axis=-1).astype(f">f{bits // 8}")
    sums = [0, 0]
    for site, content in enumerate(numbers.reshape(-1, 24)):
        crc = zlib.crc32(content.tobytes())
        for k, modulus in enumerate((29, 31)):
            by = site % modulus
            sums[k] ^= ((crc << by) | (crc >> (32 - by))) & 0xFFFFFFFF
    checksum = "<scidacChecksum><version>1.0</version>"
    checksum += f"<suma>{sums[0]:08x}</suma><sumb>{sums[1]:08x}</sumb></scidacChecksum>"
    records = [("etmc-propagator-format", text.encode()), ("scidac-binary-data", numbers.tobytes())]
    return [*records, ("scidac-checksum", checksum.encode())] if with_checksum else records


TYPE = ("propagator-type", b"DiracFermion_Sink")


def solved_here(links: tr.GaugeField) -> np.ndarray:
    M = tr.WilsonClover(
        links, mass=MASS, twisted_mass=-MU, boundary=tuple(np.exp(1j * np.pi * np.array(THETA)))
    )
    return tr.bicgstab(tolerance=1e-13)(M).propagator(tr.point_source(GEOMETRY, AT)).to_numpy()


def test_twelve_files_are_the_propagator_here(
    links: tr.GaugeField, columns: np.ndarray, tmp_path: Path
) -> None:
    """The other basis, the sign of mu and the phases on all links come out."""
    paths = [tmp_path / f"source.0007.02.{k:02d}.inverted" for k in range(12)]
    for path, column in zip(paths, columns, strict=True):
        path.write_bytes(lime([TYPE, ("inverter-info", b"x"), *field(column, 64)]))
    S = tr.read_etmc_propagator(paths, GEOMETRY, source_at=AT, theta=THETA)
    np.testing.assert_allclose(S.to_numpy(), solved_here(links), rtol=0, atol=1e-10)
    assert S.source_at == AT
    np.testing.assert_allclose(S.boundary, np.exp(1j * np.pi * np.array(THETA)), atol=1e-14)


def test_one_file_with_sources_in_single_precision(
    links: tr.GaugeField, columns: np.ndarray, tmp_path: Path
) -> None:
    """Sources stand before their solutions and do not count."""
    records = [("propagator-type", b"DiracFermion_Source_Sink_Pairs")]
    for column in columns:
        source = [(kind.replace("propagator", "source"), data) for kind, data in field(0 * column, 32)]
        records += [*source, *field(column, 32)]
    (tmp_path / "S").write_bytes(lime(records))
    S = tr.read_etmc_propagator(tmp_path / "S", GEOMETRY, source_at=AT, theta=THETA)
    np.testing.assert_allclose(S.to_numpy(), solved_here(links), rtol=0, atol=1e-7)


def test_ranks_read_their_own_parts(columns: np.ndarray, tmp_path: Path) -> None:
    records = [record for column in columns for record in field(column, 64)]
    (tmp_path / "S").write_bytes(lime([TYPE, *records]))
    whole = tr.read_etmc_propagator(tmp_path / "S", GEOMETRY, source_at=AT, theta=THETA)
    np.save(tmp_path / "whole.npy", whole.to_numpy())
    program = f"""
import numpy as np, trellis as tr
geometry = tr.Geometry({LATTICE}, (1, 1, 1, 2))
S = tr.read_etmc_propagator("S", geometry, source_at={AT}, theta={THETA})
assert np.array_equal(S.to_numpy(), np.load("whole.npy")[2 * tr.rank() : 2 * tr.rank() + 2])
"""
    run_program(program, cwd=tmp_path, ranks=2)


def test_a_field_without_checksums_warns(columns: np.ndarray, tmp_path: Path) -> None:
    records = [record for k in range(12) for record in field(columns[k], 64, with_checksum=k == 3)]
    (tmp_path / "S").write_bytes(lime([TYPE, *records]))
    with pytest.warns(UserWarning, match="11 of 12 columns have no checksums"):
        tr.read_etmc_propagator(tmp_path / "S", GEOMETRY, source_at=AT)


def damaged(content: bytes) -> bytes:
    at = content.index(b"scidac-binary-data") + 200
    return content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]


@pytest.mark.parametrize(
    ("change", "error", "said"),
    [
        (damaged, tr.ChecksumError, "field at byte .*: expected [0-9a-f]{8} [0-9a-f]{8}, found"),
        (lambda content: content[:-3000], tr.FileError, "expected a whole LIME record at byte"),
        (lambda content: content + lime([TYPE])[:-20], tr.FileError, "expected a whole LIME record at byte"),
        (lambda _: b"", tr.FileError, "expected a LIME file, found nothing in it"),
        (lambda _: lime([TYPE]), tr.FileError, "expected 12 columns, .* found 0"),
        (
            lambda content: content.replace(b"DiracFermion_Sink", b"DiracFermion_Defl"),
            tr.FileError,
            "propagator-type: expected DiracFermion_Sink or",
        ),
        (
            lambda content: content.replace(b"<flavours>1", b"<flavours>2"),
            tr.FileError,
            "expected fields of one flavour, found 2",
        ),
    ],
)
def test_what_is_no_such_file_is_refused(change, error, said, columns, tmp_path: Path) -> None:
    content = lime([TYPE, *(record for column in columns for record in field(column, 64))])
    (tmp_path / "S").write_bytes(change(content))
    with pytest.raises(error, match=said):
        tr.read_etmc_propagator(tmp_path / "S", GEOMETRY, source_at=AT)


def test_another_lattice_is_refused(columns: np.ndarray, tmp_path: Path) -> None:
    (tmp_path / "S").write_bytes(lime([TYPE, *field(columns[0], 64)]))
    with pytest.raises(tr.FileError, match=r"expected 12 columns, .*, found 1$"):
        tr.read_etmc_propagator(tmp_path / "S", GEOMETRY, source_at=AT)
    with pytest.raises(tr.FileError, match=r"expected fields of .* bytes for the lattice"):
        tr.read_etmc_propagator(tmp_path / "S", tr.Geometry((4, 4, 4, 4)), source_at=AT)
    with pytest.raises(tr.BadArgument, match="theta: expected four numbers, found 3"):
        tr.read_etmc_propagator(tmp_path / "S", GEOMETRY, source_at=AT, theta=(0, 0, 1))
