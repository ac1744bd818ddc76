"""This module has the attributes of an HDF5 file of a propagator beside its numbers: they are read, checked,
and protected by a checksum."""

from __future__ import annotations

import json
import math
import zlib
from typing import Any

from ..ground.arguments import phases
from ..ground.errors import BadArgument, ChecksumError, FileError
from ..ground.operator_records import OperatorRecord
from ..ground.version import conventions_version

#: All arrays and files have this spin basis.
GAMMA_BASIS = "DeGrand-Rossi"
#: The attribute `kind` of a file says this of quarks with spin, and of staggered ones.
SPIN_KIND, STAGGERED_KIND = "propagator", "staggered_propagator"
#: A site has so many numbers.
_NUMBERS = {SPIN_KIND: 144, STAGGERED_KIND: 9}
#: This function reads a kind.
_READERS = {SPIN_KIND: "trellis.read_propagator", STAGGERED_KIND: "trellis.read_staggered_propagator"}

_NAME = "metadata_checksum"


class Metadata:
    """These are the attributes of a file that change results.

    Parameters
    ----------
    root
        Group of the compiled part's HDF5.
    path
        Messages name it.
    kind
        The kind of propagator that is expected.
    size
        Bytes of the file, where it is read.

    Attributes
    ----------
    arrays : list of str
        "propagator", and "midpoint" where there is one.
    lattice, source_at : list of int
        x, y, z, t.
    boundary : list of complex
        Phases.
    operator : OperatorRecord or None
        It was solved with this, where the file says.
    is_sink_smeared : bool
        It is true if the file says that the sink was smeared.
    checksum : int
        CRC-32 of all that (doc/formats.md).
    """

    def __init__(self, root: Any, path: str, kind: str = SPIN_KIND, size: int | None = None) -> None:
        self._root, self._path, self._kind, self._size = root, path, kind, size
        if not root.has("propagator"):
            raise FileError(
                f"{path}: expected an array /propagator, found {', '.join(root.names()) or 'none'}"
            )
        self._require_kind()
        self._require_text("conventions_version", ".", conventions_version)
        if kind == SPIN_KIND:
            self._require_text("gamma_basis", "propagator", GAMMA_BASIS)
        self.arrays = [name for name in ("propagator", "midpoint") if root.has(name)]
        self.lattice = self._lattice()
        self.source_at = self._source_at()
        self.boundary = self._boundary()
        self.operator = self._operator()
        self.is_sink_smeared = self._is_sink_smeared()
        self.checksum = self._checksum()

    def compare(self) -> list[str]:
        """Return warnings: a file without a checksum.

        Raises
        ------
        ChecksumError
            It is another one.
        """
        if not self._root.has_attribute(_NAME, "propagator"):
            return [f"/propagator has no {_NAME}: source position and boundary phases are taken on trust"]
        (stored,) = self._integers(_NAME, "propagator", 1)
        if stored != self.checksum:
            raise ChecksumError(
                f"{self._path}: /propagator: {_NAME}: expected {stored:08x}, found {self.checksum:08x}: "
                "lattice, conventions_version, gamma_basis, source_at, boundary_real, boundary_imag, "
                "operator, sink_smeared, precision_bits, scidac_checksum or norm2 has changed, or an array "
                "is gone"
            )
        return []

    def _require_kind(self) -> None:
        found = self._optional_text("kind", ".")
        if found in _READERS and found != self._kind:
            raise FileError(
                f"{self._path}: expected a file of the kind {self._kind!r}, found {found!r}, which "
                f"{_READERS[found]} reads"
            )
        self._require_text("kind", ".", self._kind)

    def _lattice(self) -> list[int]:
        extents = self._integers("lattice", ".", 4)
        if min(extents) < 2 or any(n % 2 for n in extents):
            raise self._error("lattice", ".", "4 even extents", extents)
        if self._size is not None and math.prod(extents) * _NUMBERS[self._kind] * 8 > self._size:
            # these are numbers of 32 bits with two parts
            raise self._error("lattice", ".", f"extents that fit the file of {self._size} bytes", extents)
        return extents

    def _source_at(self) -> list[int]:
        at = self._integers("source_at", "propagator", 4)
        if any(not 0 <= x < n for x, n in zip(at, self.lattice, strict=True)):
            raise self._error("source_at", "propagator", f"a site of the lattice {self.lattice}", at)
        return at

    def _boundary(self) -> list[complex]:
        parts = [self._numbers(f"boundary_{part}", "propagator", 4) for part in ("real", "imag")]
        found = [complex(re, im) for re, im in zip(*parts, strict=True)]
        try:
            return phases(found)
        except BadArgument:
            names = "boundary_real, boundary_imag"
            raise self._error(names, "propagator", "phases of modulus 1, or 0", found) from None

    def _operator(self) -> OperatorRecord | None:
        if not self._root.has_attribute("operator", "propagator"):
            return None
        text = self._text("operator", "propagator")
        try:
            return OperatorRecord.from_text(text)
        except ValueError as error:
            wanted = str(error).removeprefix("expected ")
            raise self._error("operator", "propagator", wanted, text[:200]) from None

    def _is_sink_smeared(self) -> bool:
        """Return True if the sink is smeared; only such files have the attribute."""
        if not self._root.has_attribute("sink_smeared", "propagator"):
            return False
        found = self._integers("sink_smeared", "propagator", 1)
        if found != [1]:
            raise self._error("sink_smeared", "propagator", "1, or no such attribute", found)
        return True

    def _checksum(self) -> int:
        stored: dict[str, Any] = {
            "arrays": {
                name: {
                    "norm2": self._plain(name, "norm2", self._root.reals),
                    "precision_bits": self._plain(name, "precision_bits", self._root.integers),
                    "scidac_checksum": self._plain(name, "scidac_checksum", self._root.integers),
                }
                for name in self.arrays
            },
            "boundary": [[p.real, p.imag] for p in self.boundary],
            "conventions_version": self._optional_text("conventions_version", "."),
            "gamma_basis": self._optional_text("gamma_basis", "propagator"),
            "lattice": self.lattice,
            "operator": self._optional_text("operator", "propagator"),
            "source_at": self.source_at,
        }
        if self.is_sink_smeared:  # files of older versions have no such attribute
            stored["sink_smeared"] = 1
        return zlib.crc32(json.dumps(stored, sort_keys=True, separators=(",", ":")).encode())

    def _plain(self, array: str, name: str, read: Any) -> list[float] | None:
        """Return numbers whose values the compiled part checks itself; None if the attribute is absent."""
        if not self._root.has_attribute(name, array):
            return None
        try:
            return list(read(name, array))
        except FileError:
            raise self._error(name, array, "numbers", self._found(name, array)) from None

    def _optional_text(self, name: str, of: str) -> str | None:
        return self._text(name, of) if self._root.has_attribute(name, of) else None

    def _require_text(self, name: str, of: str, expected: str) -> None:
        """Compare a text with the one expected; files of older versions may lack it."""
        found = self._optional_text(name, of)
        if found not in (None, expected):
            raise self._error(name, of, repr(expected), found)

    def _text(self, name: str, of: str) -> str:
        try:
            return self._root.text(name, of)
        except (FileError, UnicodeDecodeError):
            raise self._error(name, of, "a text", self._found(name, of)) from None

    def _integers(self, name: str, of: str, count: int) -> list[int]:
        found = self._numbers(name, of, count)
        if any(x != int(x) or abs(x) >= 2**53 for x in found):
            raise self._error(name, of, f"{count} integers", found)
        return [int(x) for x in found]

    def _numbers(self, name: str, of: str, count: int) -> list[float]:
        """Return `count` finite numbers of an attribute."""
        wanted = f"{count} finite numbers" if count > 1 else "a finite number"
        try:
            found = list(self._root.reals(name, of))
        except FileError:
            raise self._error(name, of, wanted, self._found(name, of)) from None
        if len(found) != count or not all(map(math.isfinite, found)):
            raise self._error(name, of, wanted, found)
        return found

    def _found(self, name: str, of: str) -> Any:
        """Return the value of an attribute for messages; None if it is absent."""
        if not self._root.has_attribute(name, of):
            return None
        for read in (self._root.text, self._root.reals):
            try:
                return read(name, of)
            except (FileError, UnicodeDecodeError):
                continue
        return "neither numbers nor a text"

    def _error(self, name: str, of: str, expected: str, found: Any) -> FileError:
        where = "/" if of == "." else f"/{of}"
        text = "none" if found is None else found if found == "neither numbers nor a text" else repr(found)
        return FileError(f"{self._path}: {where}: attribute {name}: expected {expected}, found {text}")
