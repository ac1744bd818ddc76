"""Staggered propagators in MILC's own format are read: files that are built byte for byte as its
generic_ks/io_prop_ks.c writes them."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
from command_line import run_program

import trellis as tr

LATTICE = (2, 4, 6, 8)
GEOMETRY = tr.Geometry(LATTICE)


def rotated(word: int, places: int) -> int:
    return ((word << places) | (word >> (32 - places))) & 0xFFFFFFFF


def milc(values: np.ndarray, order: str) -> bytes:
    """Return the bytes of a propagator [t, z, y, x, colour sink, colour source]."""
    content = struct.pack(f"{order}5i", 23209, *values.shape[3::-1]) + b"stamp".ljust(64, b"\0")
    content += struct.pack(f"{order}i", 0)
    for colour in range(3):
        vectors = np.ascontiguousarray(values[..., colour], dtype=np.complex64)
        data = vectors.view(np.float32).astype(f"{order}f4").tobytes()
        words = struct.unpack(f"{order}{len(data) // 4}I", data)
        sums = [0, 0]
        for place, word in enumerate(words):
            sums = [sums[0] ^ rotated(word, place % 29), sums[1] ^ rotated(word, place % 31)]
        content += struct.pack(f"{order}3I", colour, *sums) + data
    return content


def numbers() -> np.ndarray:
    rng = np.random.default_rng(2)
    shape = (*LATTICE[::-1], 3, 3)
    return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(np.complex64)


@pytest.mark.parametrize("order", ["<", ">"])
def test_both_byte_orders(order: str, tmp_path: Path) -> None:
    (tmp_path / "S").write_bytes(milc(numbers(), order))
    S = tr.read_milc_staggered_propagator(tmp_path / "S", GEOMETRY, source_at=(1, 0, 3, 2))
    assert np.array_equal(S.to_numpy(), numbers())
    assert (S.source_at, S.boundary) == ((1, 0, 3, 2), (1, 1, 1, -1))


def test_ranks_read_their_own_parts(tmp_path: Path) -> None:
    (tmp_path / "S").write_bytes(milc(numbers(), "<"))
    program = """
import numpy as np, trellis as tr
geometry = tr.Geometry((2, 4, 6, 8), (1, 1, 1, 2))
S = tr.read_milc_staggered_propagator("S", geometry, source_at=(0, 0, 0, 0))
rng = np.random.default_rng(2)
whole = (rng.standard_normal((8, 6, 4, 2, 3, 3)) + 1j * rng.standard_normal((8, 6, 4, 2, 3, 3)))
assert np.array_equal(S.to_numpy(), whole.astype(np.complex64)[4 * tr.rank() : 4 * tr.rank() + 4])
"""
    run_program(program, cwd=tmp_path, ranks=2)


def test_what_does_not_fit_is_refused(tmp_path: Path) -> None:
    good = milc(numbers(), "<")
    path = tmp_path / "S"

    def refused(content: bytes, error: type[Exception], said: str, **given: object) -> None:
        path.write_bytes(content)
        with pytest.raises(error, match=said):
            tr.read_milc_staggered_propagator(
                path, given.get("geometry", GEOMETRY), source_at=given.get("source_at", (0, 0, 0, 0))
            )

    of_colour = (len(good) - 88) // 3
    refused(b"", tr.FileError, "begins with 23209")
    refused(b"x" * 200, tr.FileError, "begins with 23209 .*found 0x78787878 in 200 bytes")
    refused(good[:60], tr.FileError, "header of 88 bytes")
    refused(good[:-4], tr.FileError, rf"expected {len(good)} bytes for three colours, found {len(good) - 4}")
    refused(good + b"\0", tr.FileError, "for three colours")
    refused(good, tr.FileError, r"expected the lattice \[4, 4, 6, 8\], found \[2, 4, 6, 8\]",
            geometry=tr.Geometry((4, 4, 6, 8)))  # fmt: skip
    refused(good[:84] + b"\1" + good[85:], tr.FileError, "site order 0 .natural., found 1")
    damaged = bytearray(good)
    damaged[88 + 2 * of_colour + 500] ^= 1
    refused(bytes(damaged), tr.ChecksumError, "sum29 of colour 2")
    swapped = good[:88] + good[88 + of_colour : 88 + 2 * of_colour] + good[88 : 88 + of_colour]
    refused(swapped + good[88 + 2 * of_colour :], tr.FileError, "the colour 0 of the source, found 1")
    refused(good, tr.BadArgument, "outside the lattice", source_at=(0, 0, 0, 9))
