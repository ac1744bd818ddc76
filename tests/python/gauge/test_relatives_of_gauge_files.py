"""Some gauge files look like one of the formats and are another one, and some callers give wrong lattices."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import pytest
from foreign_gauge_files import (
    bridge,
    ddalphaamg,
    ildg_format,
    openqcd,
    plaquettes,
    random_links,
    raw,
    record,
    scidac_xml,
    special_unitary,
)
from test_foreign_gauge_files import called

import trellis as tr
from trellis.commands.convert import convert
from trellis.commands.info import info

LATTICE = (2, 4, 6, 8)
U = random_links(LATTICE)


def open_in_time() -> bytes:
    """Return a field with open boundary conditions as openQCD exports it: links beyond the end are zero."""
    links = U.copy()
    links[-1, :, :, :, 3] = 0
    return openqcd(links)


def schroedinger_functional() -> bytes:
    """Return links that are fixed and diagonal at t = 0; the plaquettes at the other end are not those of the
    file."""
    links = U.copy()
    phase = np.exp(1j * np.array([0.1, 0.2, -0.3]))
    links[0, :, :, :, :3] = np.diag(phase)
    content = bytearray(openqcd(links))
    content[16:24] = np.array(3 * plaquettes(links)[0] + 0.01).tobytes()
    return bytes(content)


def openqcd_big_endian() -> bytes:
    content = openqcd(U)
    return (
        np.frombuffer(content[:16], "<i4").astype(">i4").tobytes()
        + np.frombuffer(content[16:], "<f8").astype(">f8").tobytes()
    )


def ildg(links: np.ndarray, *, field: str = "su3gauge", states_lattice: bool = True) -> bytes:
    xml = ildg_format(links, 64).replace("su3gauge", field)
    data = record("ildg-binary-data", raw(links, 64, rows=links.shape[-1]))
    return (record("ildg-format", xml) if states_lattice else b"") + data


def scidac(links: np.ndarray) -> bytes:
    """Return a SciDAC file with the size of a site in the record's XML."""
    of_file, of_record = scidac_xml(links, 64)
    size = 16 * links.shape[-1] ** 2
    of_record = of_record.replace("<typesize>144<", f"<typesize>{size}<")
    return (
        record("scidac-private-file-xml", of_file)
        + record("scidac-private-record-xml", of_record)
        + record("scidac-binary-data", raw(links, 64, rows=links.shape[-1]))
    )


SU2, SU4 = special_unitary((4, 4, 4, 4), 2), special_unitary((4, 4, 4, 4), 4)

#: Each name has its content, and what it is called.
RELATIVES: dict[str, tuple[bytes, str]] = {
    "DDalphaAMG": (ddalphaamg(U), "is a raw configuration of DDalphaAMG (little-endian"),
    "DDalphaAMG, big-endian": (ddalphaamg(U, ">"), "is a raw configuration of DDalphaAMG (big-endian"),
    "openQCD, big-endian": (openqcd_big_endian(), "is an openQCD file in big-endian byte order"),
    "open boundaries": (
        open_in_time(),
        "file with open boundary conditions in time (its 48 time-like",
    ),
    "Schroedinger functional": (schroedinger_functional(), "Schroedinger-functional boundary conditions"),
    "su2gauge": (ildg(SU2, field="su2gauge"), "expected field su3gauge, found 'su2gauge'"),
    "SU(2) as su3gauge": (ildg(SU2), "the size of SU(2) links of 64 bits, and only SU(3)"),
    "SU(4) as su3gauge": (ildg(SU4), "the size of SU(4) links of 64 bits, and only SU(3)"),
    "SU(2) alone": (ildg(SU2, states_lattice=False), "the size of SU(2) links of 64 bits on 4x4x4x4"),
    "SU(4) alone": (ildg(SU4, states_lattice=False), "the size of SU(4) links of 64 bits on 4x4x4x4"),
    "SU(2) of another shape": (
        ildg(special_unitary((2, 2, 4, 6), 2), states_lattice=False),
        "no whole number of sites with four 3x3 matrices",
    ),
    "SciDAC of SU(2)": (scidac(SU2), "256 bytes a site"),
    "SciDAC of SU(4)": (scidac(SU4), "the size of SU(4) links"),
}


@pytest.mark.parametrize("name", RELATIVES)
def test_relatives_are_named_and_refused(name: str, tmp_path: Path) -> None:
    content, said = RELATIVES[name]
    file = tmp_path / "file"
    file.write_bytes(content)
    with pytest.raises(tr.FileError) as error:
        tr.read_gauge_field(file)
    assert said in str(error.value)
    status, text, _ = called(lambda: info(file, lattice=None, json=True))
    assert status == 1
    assert said in json.loads(text)["error"]
    target = tmp_path / "new"
    status, text, _ = called(
        lambda: convert(file, target, format="ildg", precision=None, lattice=None, json=True)
    )
    assert status == 1
    assert said in json.loads(text)["error"]
    assert not target.exists()


def test_damaged_openqcd_files_stay_damaged_ones(tmp_path: Path) -> None:
    content = bytearray(openqcd(U))
    content[16:24] = np.array(1.5).tobytes()
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(tr.ChecksumError, match=r"plaquette: expected 0\.5 as in the header.*DDalphaAMG"):
        tr.read_gauge_field(tmp_path / "file")
    content = bytearray(openqcd(U))
    content[24:168] = bytes(144)
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(tr.FileError, match="1 of 1536 links are not SU"):
        tr.read_gauge_field(tmp_path / "file")


#: These links are of a heat bath: neighbours are correlated, and nothing else is.
QUENCHED = tr.quenched(lattice=LATTICE, beta=6.0, seed=3, sweeps=4).to_numpy()


@pytest.mark.filterwarnings("ignore:.*no checksum")
@pytest.mark.parametrize("order", ["<", ">"])
def test_raw_files_of_ddalphaamg_are_read(order: str, tmp_path: Path) -> None:
    """Neighbours tell the order of the links; the links U, which know nothing of them, are refused above."""
    file = tmp_path / "file"
    file.write_bytes(ddalphaamg(QUENCHED, order))
    field = tr.read_gauge_field(file)
    assert field.report is not None
    assert field.report.format == "ddalphaamg"
    assert np.array_equal(field.to_numpy(), QUENCHED)
    status, text, _ = called(lambda: info(file, lattice="2.4.6.8", json=True))
    assert status == 0
    assert json.loads(text)["lattice"] == list(LATTICE)
    content = bytearray(file.read_bytes())
    content[16:24] = np.array(3 * plaquettes(QUENCHED)[0] + 1e-4).astype(f"{order}f8").tobytes()
    file.write_bytes(content)
    with pytest.raises(tr.ChecksumError, match="plaquette: expected"):
        tr.read_gauge_field(file)
    content = bytearray(ddalphaamg(QUENCHED, order))
    content[24:168] = bytes(144)
    file.write_bytes(content)
    with pytest.raises(tr.FileError, match="1 of 1536 links are not SU"):
        tr.read_gauge_field(file)
    with pytest.raises(tr.BadArgument, match="ddalphaamg"):
        field.write(tmp_path / "new", format="ddalphaamg")


#: These formats need not say their lattice.
WITHOUT_LATTICE = {"ildg": ildg(QUENCHED, states_lattice=False), "bridge": bridge(QUENCHED)}


@pytest.mark.filterwarnings("ignore:.*no checksum")
@pytest.mark.parametrize("name", WITHOUT_LATTICE)
def test_extents_in_another_order_are_refused(name: str, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(WITHOUT_LATTICE[name])
    for wrong in ((8, 6, 4, 2), (2, 4, 8, 6), (4, 2, 6, 8)):
        with pytest.raises(
            tr.FileError, match="the links fit 2x4x6x8 better: there the plaquette is 0"
        ) as error:
            tr.read_gauge_field(file, lattice=wrong)
        assert "x".join(map(str, wrong)) in str(error.value)
    status, text, _ = called(lambda: info(file, lattice="8.6.4.2", json=True))
    assert status == 1
    assert "2x4x6x8" in json.loads(text)["error"]
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        right = tr.read_gauge_field(file, lattice=LATTICE)
    assert np.array_equal(right.to_numpy(), QUENCHED)
    assert len(said) == 1
    assert "do not tell" not in str(said[0].message)


@pytest.mark.filterwarnings("ignore:.*no checksum")
def test_extents_that_nothing_can_check_are_doubted(tmp_path: Path) -> None:
    cold = np.broadcast_to(np.eye(3, dtype=complex), U.shape)
    for name, links in (("cold", cold), ("uncorrelated", U)):
        (tmp_path / name).write_bytes(ildg(links, states_lattice=False))
        with pytest.warns(UserWarning, match="do not tell whether it is 8x6x4x2, as given, or "):
            tr.read_gauge_field(tmp_path / name, lattice=(8, 6, 4, 2))


@pytest.mark.filterwarnings("ignore:.*no checksum", "ignore:.*ildg-format has no")
def test_extents_that_the_file_states_keep_their_places(tmp_path: Path) -> None:
    xml = ildg_format(U, 64).replace('<lx unit="a">2</lx>', "").replace("<ly>+4</ly>", "")
    (tmp_path / "file").write_bytes(
        record("ildg-format", xml) + record("ildg-binary-data", raw(QUENCHED, 64))
    )
    with pytest.raises(tr.FileError, match="the links fit 2x4x6x8 better"):
        tr.read_gauge_field(tmp_path / "file", lattice=(4, 2, 6, 8))
    with pytest.raises(tr.FileError, match="give different lattices"):
        tr.read_gauge_field(tmp_path / "file", lattice=(2, 4, 8, 6))
