"""This module has checksums of the datasets of results (doc/formats.md): bits that changed on a disk are
noticed.

HDF5 has checksums of what it says about a dataset, and none of the numbers. Files without the attribute, of
older versions or other programs, are read as they are.
"""

from __future__ import annotations

import json
import zlib
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .errors import ChecksumError, FileError
from .parallel import on_root

#: The attribute with the checksum of a dataset has this name.
NAME = "crc32"


def crc32(values: ArrayLike) -> int:
    """Return CRC-32 of the shape as JSON, then of the little-endian bytes in row-major order."""
    array = np.asarray(values)
    shape = json.dumps(array.shape).encode()
    return zlib.crc32(array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes(), zlib.crc32(shape))


def difference(stored: ArrayLike, values: ArrayLike) -> tuple[str, str] | None:
    """Return the checksum of the attribute and that of the numbers, as texts; None if they agree."""
    expected, found = np.ravel(stored).tolist(), crc32(values)
    if expected == [found]:
        return None
    text = f"{expected[0]:08x}" if [type(n) for n in expected] == [int] else repr(expected)
    return f"{NAME} = {text}", f"{found:08x}: the numbers are not those that were written"


def write(group: Any, name: str, values: ArrayLike) -> None:
    """Write a dataset of int64, float64 or complex128 with its checksum; rank 0 has the numbers. Collective.

    Parameters
    ----------
    group
        An HDF5 group of the compiled part.
    """
    array = np.ascontiguousarray(values)
    for kinds, dtype, put in (
        ("iu", np.int64, group.write_int64),
        ("c", np.complex128, group.write_complex128),
        ("bf", np.float64, group.write_float64),
    ):
        if array.dtype.kind in kinds:
            array = array.astype(dtype, copy=False)
            put(name, array)
    group.set_integer(NAME, on_root(lambda: crc32(array)), name)  # clocks of other ranks say something else


def read(group: Any, name: str, where: str, *, integers: bool = False) -> NDArray:
    """Read a dataset of :func:`write`. Collective.

    Parameters
    ----------
    group
        It is one of the compiled part's HDF5.
    where
        File and group, for messages.
    integers
        int64; else float64 or complex128.

    Raises
    ------
    FileError
        It cannot be read.
    ChecksumError
        Its numbers have changed.
    """
    values = group.read_int64(name) if integers else _read_numbers(group, name)
    if group.has_attribute(NAME, name):
        wrong = difference(group.integers(NAME, name), values)
        if wrong is not None:
            raise ChecksumError(f"{where}/{name}: expected {wrong[0]}, found {wrong[1]}")
    return values


def _read_numbers(group: Any, name: str) -> NDArray:
    try:
        return group.read_float64(name)
    except FileError:
        return group.read_complex128(name)
