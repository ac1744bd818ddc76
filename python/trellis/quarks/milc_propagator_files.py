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

from ..gauge.geometry import Geometry
from ..ground.arguments import file_path, instance, phases
from ..ground.compiled_core import load
from ..ground.errors import ChecksumError, FileError
from ..ground.parallel import on_root
from .operators import ANTIPERIODIC_IN_TIME
from .propagators import site_of
from .staggered_propagators import StaggeredPropagator

_MAGIC = 23209
_HEADER_BYTES, _CHECK_BYTES, _COLOURS, _WORDS_PER_SITE = 88, 12, 3, 6


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
    order, sums = on_root(lambda: _order_and_sums(path, lattice))
    columns = []
    for colour in range(_COLOURS):
        values, *found = load().read_stored_sites(
            path, lattice._core, _data_at(lattice, colour), _WORDS_PER_SITE, 32,
            is_little_endian=order == "<", has_milc_sums=True,
        )  # fmt: skip
        for name, stored, own in zip(("sum29", "sum31"), sums[colour], found, strict=True):
            if stored != own:
                raise ChecksumError(
                    f"{path}: {name} of colour {colour}: expected {stored:08x}, found {own:08x}"
                )
        columns.append(values.view(np.complex128))
    return StaggeredPropagator.from_numpy(np.stack(columns, axis=-1), lattice, source_at=at, boundary=used)


def _data_at(lattice: Geometry, colour: int) -> int:
    """Return where the data of a colour begin in the file."""
    of_colour = _CHECK_BYTES + 4 * _WORDS_PER_SITE * lattice.volume
    return _HEADER_BYTES + colour * of_colour + _CHECK_BYTES


def _order_and_sums(path: str, lattice: Geometry) -> tuple[str, list[tuple[int, int]]]:
    """Return the byte order of a file whose header and size are right, and its checksums of each colour."""
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
    return order, [_stated_sums(path, order, lattice, colour) for colour in range(_COLOURS)]


def _stated_sums(path: str, order: str, lattice: Geometry, colour: int) -> tuple[int, int]:
    with open(path, "rb") as file:
        file.seek(_data_at(lattice, colour) - _CHECK_BYTES)
        stated, *sums = struct.unpack(f"{order}3I", file.read(_CHECK_BYTES))
    if stated != colour:
        raise FileError(f"{path}: expected the colour {colour} of the source, found {stated}")
    return sums[0], sums[1]
