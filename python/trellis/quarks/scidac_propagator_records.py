"""This module has the statements about a propagator that Trellis writes into the record of a SciDAC file and
reads back."""

from __future__ import annotations

import math
import os
import re
import struct
from dataclasses import dataclass

from ..ground.arguments import phases
from ..ground.errors import BadArgument, FileError
from ..ground.operator_records import OperatorRecord

_HEADER = struct.Struct(">IHHQ128s")
_MAGIC = 0x456789AB
#: This record about a staggered propagator stands behind its colour vectors: QIO's own records hold 1 kB of
#: text.
STAGGERED_RECORD = "trellis-propagator-xml"
#: The texts of Trellis are short; a longer record is another program's.
_LONGEST = 1 << 20


@dataclass(frozen=True)
class Statements:
    """These are the statements of a record; a statement that it does not make is None.

    Attributes
    ----------
    boundary
        Phases in x, y, z, t.
    norm2
        Sum of the squares of all numbers.
    operator
        The operator that the propagator was solved with.
    is_sink_smeared
        True if the sink was smeared.
    """

    boundary: tuple[complex, ...] | None = None
    norm2: float | None = None
    operator: OperatorRecord | None = None
    is_sink_smeared: bool = False

    def to_text(self) -> str:
        """Return the elements for the record, which stand between <propagator> and </propagator>."""
        parts = []
        if self.boundary is not None:
            numbers = " ".join(f"{z.real!r} {z.imag!r}" for z in self.boundary)
            parts.append(f"<boundary_phases>{numbers}</boundary_phases>")
        if self.norm2 is not None:
            parts.append(f"<norm2>{self.norm2!r}</norm2>")
        if self.operator is not None:
            parts.append(f"<operator>{self.operator.to_text()}</operator>")
        if self.is_sink_smeared:
            parts.append("<sink_smeared>1</sink_smeared>")
        return "".join(parts)

    @classmethod
    def of_text(cls, text: str, path: str) -> Statements:
        """Read the statements that :meth:`to_text` wrote into a record.

        Parameters
        ----------
        path
            The file's name, for messages.

        Raises
        ------
        FileError
            An element cannot be read.
        """
        if "<propagator>" not in text:
            return cls()
        found = {name: element(text, name) for name in ("boundary_phases", "norm2", "operator")}
        smeared = element(text, "sink_smeared")
        try:
            name = "boundary_phases"
            boundary = None if found[name] is None else _boundary(found[name] or "")
            name = "norm2"
            norm2 = None if found[name] is None else _numbers(found[name] or "", 1)[0]
            name = "operator"
            operator = None if found[name] is None else OperatorRecord.from_text(found[name] or "")
            name = "sink_smeared"
            if smeared not in (None, "1"):
                raise ValueError("expected 1")
        except (ValueError, BadArgument) as error:
            raise FileError(
                f"{path}: scidac-record-xml: <{name}>: {error}, found {element(text, name)!r}"
            ) from None
        return cls(boundary, norm2, operator, smeared is not None)


def record_text(path: str) -> str:
    """Return the text of the first record that Trellis wrote; "" where there is none. Errors are the
    reader's."""
    try:
        size = os.path.getsize(path)
        with open(path, "rb") as file:
            while len(header := file.read(_HEADER.size)) == _HEADER.size:
                magic, _, _, length, kind = _HEADER.unpack(header)
                if magic != _MAGIC or length > size:
                    return ""
                name = kind.split(b"\0")[0]
                if name in (b"scidac-record-xml", STAGGERED_RECORD.encode()) and length <= _LONGEST:
                    text = file.read(length).rstrip(b"\0").decode(errors="replace")
                    if "<propagator>" in text:
                        return text
                    file.seek(-length % 8, os.SEEK_CUR)
                else:
                    file.seek(length + -length % 8, os.SEEK_CUR)
    except OSError:
        return ""
    return ""


def element(text: str, name: str) -> str | None:
    """Return the text of the first element <name>...</name>; None if there is none."""
    found = re.search(f"<{name}>(.*?)</{name}>", text, re.DOTALL)
    return None if found is None else found[1].strip()


def _numbers(text: str, count: int) -> list[float]:
    wanted = f"expected {count} finite numbers" if count > 1 else "expected a finite number"
    try:
        values = [float(word) for word in text.split()]
    except ValueError:
        raise ValueError(wanted) from None
    if len(values) != count or not all(map(math.isfinite, values)):
        raise ValueError(wanted)
    return values


def _boundary(text: str) -> tuple[complex, ...]:
    values = _numbers(text, 8)
    return tuple(phases([complex(re, im) for re, im in zip(values[::2], values[1::2], strict=True)]))
