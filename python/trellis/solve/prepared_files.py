"""This module has the common parts of files of prepared results: low modes, set-ups of multigrid.

A file has a group with arrays, a statement in JSON of all else, and a checksum of the statement and of the
arrays' checksums. So no part of one file is taken for that of another.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..ground.errors import ChecksumError, FileError
from ..ground.version import conventions_version
from ..quarks.propagator_metadata import GAMMA_BASIS

STATEMENT, CHECKSUM = "statement", "statement_checksum"


def checksum(root: Any, name: str, statement: str, fields: Iterable[str], arrays: Iterable[str] = ()) -> int:
    """Return CRC-32 of the statement, of the checksums of fields in the group `name`, and of small arrays
    there."""
    sums = [root.integers("scidac_checksum", f"{name}/{field}") for field in fields]
    crc = zlib.crc32(json.dumps([statement, [list(s) for s in sums]]).encode())
    group = root.group(name)
    for array in arrays:
        numbers = np.ascontiguousarray(group.read_float64(array), dtype="<f8")
        crc = zlib.crc32(numbers.tobytes(), crc)
    return crc


@contextmanager
def named(path: str) -> Iterator[None]:
    """Add the file's name to errors about arrays."""
    try:
        yield
    except (ChecksumError, FileError) as error:
        if path in str(error):
            raise
        raise type(error)(f"{path}: {error}") from None


def require_kind(root: Any, path: str, kind: str, group: str, extents: Sequence[int]) -> None:
    """Raise FileError unless it is a file of this kind for a lattice of these extents, with a statement."""
    for name, expected in (
        ("kind", kind),
        ("conventions_version", conventions_version),
        ("gamma_basis", GAMMA_BASIS),
    ):
        found = root.text(name) if root.has_attribute(name) else None
        if found != expected:
            raise FileError(f"{path}: {name}: expected {expected!r}, found {found!r}")
    lattice = list(root.integers("lattice")) if root.has_attribute("lattice") else None
    if lattice != list(extents):
        raise FileError(f"{path}: lattice: expected {list(extents)}, found {lattice}")
    for name in (STATEMENT, CHECKSUM):
        if not root.has(group) or not root.has_attribute(name, group):
            raise FileError(f"{path}: expected a group /{group} with the attribute {name}")
