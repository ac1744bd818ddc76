"""Text files may be packed by gzip."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

from ..records.errors import MeasurementFileError

_MAGIC = b"\x1f\x8b"
_LINE_ENDS = (b"\n", b"\r")


def unpacked(path: Path) -> bytes:
    """Return the content of a file, which is unpacked where it begins as gzip's files do.

    Raises
    ------
    MeasurementFileError
        It begins so, and is damaged.
    """
    raw = path.read_bytes()
    if not raw.startswith(_MAGIC):
        return raw
    try:
        return gzip.decompress(raw)
    except (OSError, EOFError, zlib.error) as error:
        raise MeasurementFileError(path, "file", expected="a whole file of gzip", found=error) from None


def ends_with_a_line(path: Path) -> bool:
    """Return True if the last line of a text has an end."""
    with open(path, "rb") as raw:
        if raw.read(len(_MAGIC)) == _MAGIC:
            return unpacked(path).endswith(_LINE_ENDS)
        raw.seek(max(0, path.stat().st_size - 1))
        return raw.read().endswith(_LINE_ENDS)


def without_packing(name: str) -> str:
    """Return the name of a file without the .gz at its end."""
    return name.removesuffix(".gz")
