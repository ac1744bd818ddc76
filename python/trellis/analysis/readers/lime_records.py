"""This module reads the records of a LIME file without the compiled part.

LIME is SciDAC's format of messages (lime_fixed_types.h).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

from ..records.errors import MeasurementFileError

_MAGIC = b"\x45\x67\x89\xab"
_HEADER = 144
_TYPE_LENGTH = 128


def is_lime(raw: bytes) -> bool:
    """Return True if a LIME file begins like this."""
    return raw[:4] == _MAGIC


def lime_records(path: Path, raw: bytes) -> Iterator[tuple[str, bytes]]:
    """Return type and data of each record; data are padded to 8 bytes in the file.

    Raises
    ------
    MeasurementFileError
        The file ends within a record, or a record begins with something else.
    """
    at = 0
    while at < len(raw):
        header = raw[at : at + _HEADER]
        if header.startswith(_MAGIC) and len(header) < _HEADER:
            expected = f"a header of {_HEADER} bytes"
            raise MeasurementFileError(
                path, f"LIME record at byte {at}", expected=expected, found=len(header)
            )
        if header[:4] != _MAGIC:
            found = header[:4].hex() or "the end of the file"
            raise MeasurementFileError(path, f"LIME record at byte {at}", expected="456789ab", found=found)
        (length,) = struct.unpack(">Q", header[8:16])
        data = raw[at + _HEADER : at + _HEADER + length]
        if len(data) < length:
            raise MeasurementFileError(
                path, f"LIME record at byte {at}", expected=f"{length} bytes", found=len(data)
            )
        yield header[16 : 16 + _TYPE_LENGTH].split(b"\0")[0].decode(errors="replace"), data
        at += _HEADER + -(-length // 8) * 8
