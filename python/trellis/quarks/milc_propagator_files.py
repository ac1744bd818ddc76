"""This module reads staggered propagators in MILC's own binary format (generic_ks/io_prop_ks.c).

A file has 32-bit words in either byte order: 23209, four extents, 64 characters of a date, site order 0.
For each colour of the source follow the colour's number, two checksums and the colour vectors of all sites in
single precision, x fastest. The checksums are those of MILC's gauge files: the exclusive or of the data's
words, each rotated left by its index modulo 29, and modulo 31.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..gauge.geometry import Geometry
from ..ground.arguments import file_path, instance, phases
from ..ground.errors import ChecksumError, FileError
from ..ground.parallel import on_root
from .operators import ANTIPERIODIC_IN_TIME
from .propagators import site_of
from .staggered_propagators import StaggeredPropagator

_MAGIC = 23209
_HEADER_BYTES, _CHECK_BYTES, _COLOURS, _WORDS_PER_SITE = 88, 12, 3, 6
_WORDS_AT_ONCE = 29 * 31 * 4096


def read_milc_staggered_propagator(
    path: str | os.PathLike,
    geometry: Geometry,
    *,
    source_at: Sequence[int],
    boundary: Sequence[complex] | None = None,
) -> StaggeredPropagator:
    """Read a propagator in MILC's own binary format. Collective.

    The numbers are taken as they stand: MILC solves with 2 m + 2 D, and its staggered phases differ by a sign
    for each site (doc/formats.md).

    Parameters
    ----------
    path
        The file.
    geometry
        The lattice.
    source_at
        x, y, z, t from which times and momenta count; the file does not say it.
    boundary
        Fermion boundary phases in x, y, z, t; default: antiperiodic in time.

    Raises
    ------
    FileError
        Not such a file, of another lattice or size, or with sites in another order.
    ChecksumError
        A stored checksum is another one.
    BadArgument
        The source lies outside the lattice, or a phase is none.
    """
    lattice, path = instance("geometry", geometry, Geometry), file_path(path)
    at, used = site_of(lattice, source_at), phases(boundary or ANTIPERIODIC_IN_TIME)
    order = on_root(lambda: _checked_order(path, lattice))
    x, y, z, t = lattice.extents
    origin, local = lattice.origin, lattice.local_extents
    box = tuple(slice(origin[mu], origin[mu] + local[mu]) for mu in (3, 2, 1, 0))
    columns = []
    for colour in range(_COLOURS):
        stored = np.memmap(path, f"{order}f4", "r", _data_at(lattice, colour), (t, z, y, x, _COLOURS, 2))
        part = np.asarray(stored[box], dtype=np.float64)
        columns.append(part[..., 0] + 1j * part[..., 1])
    return StaggeredPropagator.from_numpy(np.stack(columns, axis=-1), lattice, source_at=at, boundary=used)


def _data_at(lattice: Geometry, colour: int) -> int:
    """Return where the data of a colour begin in the file."""
    of_colour = _CHECK_BYTES + 4 * _WORDS_PER_SITE * lattice.volume
    return _HEADER_BYTES + colour * of_colour + _CHECK_BYTES


def _checked_order(path: str, lattice: Geometry) -> str:
    """Return the byte order of a file whose header, size and checksums are right."""
    size = os.path.getsize(path)
    with open(path, "rb") as file:
        header = file.read(_HEADER_BYTES)
    magic = {order: struct.unpack_from(f"{order}i", header)[0] for order in "<>" if len(header) >= 4}
    order = next((order for order, word in magic.items() if word == _MAGIC), None)
    if order is None or len(header) < _HEADER_BYTES:
        raise FileError(
            f"{path}: expected a staggered propagator of MILC, which begins with {_MAGIC} and has a header "
            f"of {_HEADER_BYTES} bytes, found 0x{header[:4].hex()} in {size} bytes"
        )
    extents = struct.unpack_from(f"{order}4i", header, 4)
    if extents != tuple(lattice.extents):
        raise FileError(f"{path}: expected the lattice {list(lattice.extents)}, found {list(extents)}")
    (site_order,) = struct.unpack_from(f"{order}i", header, 84)
    if site_order != 0:
        raise FileError(f"{path}: expected site order 0 (natural), found {site_order}")
    expected = _data_at(lattice, _COLOURS) - _CHECK_BYTES
    if size != expected:
        raise FileError(f"{path}: expected {expected} bytes for three colours, found {size}")
    for colour in range(_COLOURS):
        _compare_checksums(path, order, lattice, colour)
    return order


def _compare_checksums(path: str, order: str, lattice: Geometry, colour: int) -> None:
    at = _data_at(lattice, colour)
    with open(path, "rb") as file:
        file.seek(at - _CHECK_BYTES)
        stated, *sums = struct.unpack(f"{order}3I", file.read(_CHECK_BYTES))
    if stated != colour:
        raise FileError(f"{path}: expected the colour {colour} of the source, found {stated}")
    words = np.memmap(path, f"{order}u4", "r", at, _WORDS_PER_SITE * lattice.volume)
    found = [_rotated_sum(words, modulus) for modulus in (29, 31)]
    for name, stored, own in zip(("sum29", "sum31"), sums, found, strict=True):
        if stored != own:
            raise ChecksumError(f"{path}: {name} of colour {colour}: expected {stored:08x}, found {own:08x}")


def _rotated_sum(words: NDArray[np.uint32], modulus: int) -> int:
    """Return the exclusive or of all words, each rotated left by its index modulo `modulus`."""
    total = 0
    for first in range(0, len(words), _WORDS_AT_ONCE):  # a multiple of both moduli
        part = words[first : first + _WORDS_AT_ONCE].astype(np.uint64)
        by = np.arange(len(part), dtype=np.uint64) % np.uint64(modulus)
        turned = (part << by) | (part >> (np.uint64(32) - by))
        total ^= int(np.bitwise_xor.reduce(turned & np.uint64(0xFFFFFFFF)))
    return total
