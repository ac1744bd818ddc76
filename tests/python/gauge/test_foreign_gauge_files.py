"""These tests run `trellis info` and `trellis convert` on odd but legal files that other programs might have
written."""

from __future__ import annotations

import contextlib
import io
import json
import os
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from foreign_gauge_files import (
    bridge,
    checksum_xml,
    ildg_format,
    link_trace,
    milc,
    milc_version_1,
    nersc,
    openqcd,
    plaquettes,
    random_links,
    raw,
    record,
    scidac_sums,
    scidac_xml,
)

import trellis as tr
from trellis.commands import console
from trellis.commands.convert import convert
from trellis.commands.info import info

LATTICE = (2, 4, 6, 8)
U = random_links(LATTICE)
PLAQUETTES = plaquettes(U)
SITES = 384


def called(command) -> tuple[int, str, str]:
    """Return exit status, output and errors of a command's function, as the command line runs it."""
    out, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
        with pytest.raises(typer.Exit) as ended:
            console.run(command, True)
    assert "Traceback" not in errors.getvalue()
    return ended.value.exit_code, out.getvalue(), errors.getvalue()


def ildg(bits: int = 64, *, sums: bool = True) -> bytes:
    data = raw(U, bits)
    return (
        record("ildg-format", ildg_format(U, bits), 0x8000, pad=b"\xff")
        + record("ildg-binary-data", data)
        + (record("scidac-checksum", checksum_xml(*scidac_sums(data, SITES)), 0x4000) if sums else b"")
    )


def scidac(bits: int = 64, *, xml: bool = True, other: bool = False) -> bytes:
    of_file, of_record = scidac_xml(U, bits)
    data = raw(U, bits)
    return (
        (record("scidac-private-file-xml", of_file, 0x8000) if xml else b"")
        + (record("scidac-private-record-xml", of_record.replace("count>4", "count>1")) if other else b"")
        + (record("scidac-binary-data", bytes(96)) if other else b"")
        + record("x-unknown", b"\xff\0abc", 0xC000)
        + (record("scidac-private-record-xml", of_record, 0x8000) if xml else b"")
        + record("scidac-binary-data", data, 0x4000)
    )


#: Each name has its content, format and bits, and says whether checksums are stored and whether --lattice is
#: needed.
SOUND: dict[str, tuple[bytes, str, int, list[bool], bool]] = {
    "ildg": (ildg(), "ildg", 64, [True, True], False),
    "ildg32": (ildg(32), "ildg", 32, [True, True], False),
    "ildg without checksum": (ildg(sums=False), "ildg", 64, [False, False], False),
    "ildg, data alone": (record("ildg-binary-data", raw(U, 32)), "ildg", 32, [False, False], True),
    "ildg, format last": (
        record("ildg-binary-data", raw(U, 64)) + record("ildg-format", ildg_format(U, 64)),
        "ildg",
        64,
        [False, False],
        False,
    ),
    "scidac": (scidac(), "scidac", 64, [False, False], False),
    "scidac32, another field first": (scidac(32, other=True), "scidac", 32, [False, False], False),
    "scidac without XML": (scidac(xml=False), "scidac", 64, [False, False], True),
    "scidac, XML last": (
        record("scidac-binary-data", raw(U, 64))
        + record("scidac-private-record-xml", scidac_xml(U, 64)[1])
        + record("scidac-private-file-xml", scidac_xml(U, 64)[0]),
        "scidac",
        64,
        [False, False],
        False,
    ),
    **{
        f"nersc of {rows} rows, {bits} bits, {order}": (
            nersc(U, bits, order, rows),
            "nersc" if rows == 3 else "nersc-2row",
            bits,
            [True],
            False,
        )
        for rows in (2, 3)
        for bits in (32, 64)
        for order in "<>"
    },
    "nersc, order not said": (
        nersc(U, 32, ">", changes={"FLOATING_POINT": "IEEE32"}),
        "nersc",
        32,
        [True],
        False,
    ),
    "nersc of DOS": (nersc(U, line_end="\r\n", equals="="), "nersc", 64, [True], False),
    "nersc with blanks": (nersc(U, line_end=" \n\t ", equals="\t=  "), "nersc", 64, [True], False),
    "nersc with a name in Latin-1": (
        nersc(U).replace(b"END_HEADER", b"CREATOR = J\xfcrgen\nEND_HEADER", 1),
        "nersc",
        64,
        [True],
        False,
    ),
    "ildg with a record type in Latin-1": (
        ildg() + record("x-J\xfcrgen", b"\xfc", 0xC000),
        "ildg",
        64,
        [True, True],
        False,
    ),
    "nersc without sums": (
        nersc(U, changes={"CHECKSUM": None, "PLAQUETTE": None, "LINK_TRACE": None}),
        "nersc",
        64,
        [False],
        False,
    ),
    "nersc with empty sums": (
        nersc(U, changes={"CHECKSUM": "", "PLAQUETTE": "", "LINK_TRACE": ""}),
        "nersc",
        64,
        [False],
        False,
    ),
    "milc<": (milc(U, "<"), "milc", 32, [True, True], False),
    "milc>": (milc(U, ">"), "milc", 32, [True, True], False),
    "milc version 1<": (milc_version_1(U, "<"), "milc", 32, [False], False),
    "milc version 1>": (milc_version_1(U, ">"), "milc", 32, [False], False),
    "openqcd": (openqcd(U), "openqcd", 64, [False], False),
    "bridge": (bridge(U), "bridge-text", 64, [False], True),
    "bridge of DOS": (bridge(U, "\r\n"), "bridge-text", 64, [False], True),
}


@pytest.mark.parametrize("name", SOUND)
def test_sound_files(name: str, tmp_path: Path) -> None:
    content, format_name, bits, has_sums, needs_lattice = SOUND[name]
    (tmp_path / "file").write_bytes(content)
    lattice = "2.4.6.8" if needs_lattice else None
    status, text, errors = called(lambda: info(tmp_path / "file", lattice=lattice, json=True))
    assert status == 0, errors
    found: dict[str, Any] = json.loads(text)
    assert (found["format"], found["lattice"], found["precision_bits"]) == (format_name, list(LATTICE), bits)
    within = 1e-13 if bits == 64 else 1e-6
    kinds = ("plaquette", "plaquette_spatial", "plaquette_temporal")
    assert [found[kind] for kind in kinds] == pytest.approx(PLAQUETTES, abs=within)
    assert found["link_trace"] == pytest.approx(link_trace(U), abs=within)
    assert [check["stored"] is not None for check in found["checksums"]] == has_sums
    assert all(check["ok"] for check in found["values"])
    assert found["values"][-1]["name"] == "unitarity"
    for warning in found["warnings"]:
        assert f"{tmp_path / 'file'}: {warning}" in errors
    assert [check["ok"] for check in found["checksums"]] == [True if has else None for has in has_sums]
    assert ("checksum" in errors) == (not any(has_sums))  # missing ones are warned about
    status, _, _ = called(
        lambda: convert(
            tmp_path / "file", tmp_path / "new", format="scidac", precision=None, lattice=lattice, json=True
        )
    )
    assert status == 0
    links = tr.read_gauge_field(tmp_path / "new").to_numpy()
    assert abs(links - U).max() < (1e-15 if bits == 64 else 2e-7)


def damaged() -> dict[str, bytes]:
    good = ildg()
    sums = scidac_sums(raw(U, 64), SITES)
    turned = record("ildg-format", ildg_format(U, 64)) + record("ildg-binary-data", raw(U, 64, "<"))
    not_a_number = U.copy()
    not_a_number[7, 5, 3, 1, 3, 2, 2] = np.nan
    return {
        "a digit of the checksum": ildg(sums=False)
        + record("scidac-checksum", checksum_xml(sums[0] ^ 1, sums[1])),
        "the last bit of a number": bytes(b ^ (k == len(good) // 2 // 8 * 8) for k, b in enumerate(good)),
        "the other byte order": turned,
        "another precision": ildg().replace(b"<precision> 64", b"<precision> 32"),
        "an extent beyond 64 bits": nersc(U, changes={"DIMENSION_4": 2**64}),
        "extents that overflow": nersc(U, changes={f"DIMENSION_{k}": 2**20 for k in range(1, 5)}),
        "exchanged extents": nersc(U, changes={"DIMENSION_1": 4, "DIMENSION_2": 2, "CHECKSUM": None}),
        "no extent": nersc(U, changes={"DIMENSION_2": None}),
        "a wrong plaquette": nersc(U, changes={"PLAQUETTE": f"{PLAQUETTES[0] + 1e-5:.12f}"}),
        "NaN": record("ildg-format", ildg_format(U, 64)) + record("ildg-binary-data", raw(not_a_number, 64)),
        "NaN, and the header agrees": nersc(not_a_number),
        "a MILC sum": milc(U)[:88] + bytes(4) + milc(U)[92:],
        "a byte after the end": openqcd(U) + b"\0",
        "a byte after MILC version 1": milc_version_1(U) + b"\0",
        "MILC version 1 that ends early": milc_version_1(U)[:-4],
        "MILC of 1996": struct.pack("<5i", 53546, *U.shape[3::-1]) + bytes(400),
        "a sum that is decimal": nersc(U, changes={"CHECKSUM": "12345678901"}),
        "a number in Latin-1": nersc(U).replace(b"DIMENSION_2 = 4", b"DIMENSION_2 = \xb2", 1),
    }


SAID = {
    "an extent beyond 64 bits": "NERSC header",
    "extents that overflow": "1048576x1048576x1048576x1048576 needs more than",
    "a number in Latin-1": "DIMENSION_2",
    "a sum that is decimal": "CHECKSUM should be a hexadecimal number of 32 bits, found '12345678901'",
    "no extent": "has no DIMENSION_2",
    "a byte after MILC version 1": "expected 110620 bytes for 2x4x6x8, found 110621",
    "MILC version 1 that ends early": "expected 110620 bytes for 2x4x6x8, found 110616",
    "MILC of 1996": "is a MILC file of 1996 (only versions 1 to 5 are read)",
    "a byte after the end": "as an openQCD file it would have 221208 bytes",
}


@pytest.mark.parametrize("name", damaged())
def test_damaged_files(name: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(damaged()[name])
    status, text, errors = called(lambda: info(tmp_path / "file", lattice=None, json=True))
    assert status == 1
    found = json.loads(text)
    assert "error" in found or not all(
        check["ok"] in (True, None) for check in found["checksums"] + found["values"]
    )
    assert SAID.get(name, "expected") in errors
    status, _, _ = called(
        lambda: convert(
            tmp_path / "file", tmp_path / "new", format="ildg", precision=None, lattice=None, json=True
        )
    )
    assert status == 1
    assert not (tmp_path / "new").exists()


def test_json_says_what_failed(tmp_path: Path) -> None:
    not_a_number = U.copy()
    not_a_number[7, 5, 3, 1, 3, 2, 2] = np.nan
    (tmp_path / "file").write_bytes(nersc(not_a_number, changes={"PLAQUETTE": "0.5000000"}))
    status, text, errors = called(lambda: info(tmp_path / "file", lattice=None, json=True))
    assert status == 1
    found = json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    assert [(v["name"], v["ok"]) for v in found["values"]] == [
        ("plaquette", False),
        ("link_trace", False),
        ("unitarity", False),
    ]
    assert found["values"][0]["expected"] == 0.5
    assert found["values"][0]["found"] is None
    assert found["values"][0]["tolerance"] == 1e-6
    first = "1 of 1536 links are not SU(3); the first, U_t(x=1, y=3, z=5, t=7), has nan in row 3, column 3"
    assert any(warning.startswith(first) for warning in found["warnings"])
    assert any("cannot be computed" in warning for warning in found["warnings"]) == ("cannot" in errors)


def test_files_that_are_none(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "loop").symlink_to("loop")
    for name in ("pipe", "folder", "loop", "folder/file", "pipe/file"):
        status, text, _ = called(lambda name=name: info(tmp_path / name, lattice=None, json=True))
        assert status == 1
        assert name in json.loads(text)["error"]


def test_pipes_and_folders_are_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "good").write_bytes(ildg())
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name in ("pipe", "folder"):
        status, text, _ = called(
            lambda name=name: convert(
                tmp_path / "good", tmp_path / name, format="ildg", precision=None, lattice=None, json=True
            )
        )
        assert status == 1
        assert "only a regular file is replaced" in json.loads(text)["error"]
    assert (tmp_path / "pipe").is_fifo()
    assert (tmp_path / "folder").is_dir()


@pytest.mark.parametrize("digits", [1, 2])
def test_headers_of_few_digits_are_said_to_tell_little(tmp_path: Path, digits: int) -> None:
    rounded = f"{PLAQUETTES[0]:.{digits}f}"
    (tmp_path / "few").write_bytes(nersc(U, changes={"PLAQUETTE": rounded}))
    status, _, errors = called(lambda: info(tmp_path / "few", lattice=None, json=True))
    assert status == 0
    assert f"PLAQUETTE = {rounded} has too few digits to tell whether the links are damaged" in errors


def test_a_header_value_that_is_not_finite_is_not_said_to_have_few_digits(tmp_path: Path) -> None:
    (tmp_path / "nan").write_bytes(nersc(U, changes={"PLAQUETTE": "nan"}))
    status, text, errors = called(lambda: info(tmp_path / "nan", lattice=None, json=True))
    assert status == 1
    assert json.loads(text)["values"][0]["ok"] is False
    assert "digits" not in errors
