"""This module has reports on gauge files: the findings beside the links."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .geometry import in_four_directions

if TYPE_CHECKING:
    from .. import _core


@dataclass(frozen=True)
class FileReport:
    """This is a report on a gauge file: it names the format, and says whether the file is sound.

    Attributes
    ----------
    format, lattice, precision_bits
        They are as the file states them.
    checksums
        Dicts with kind, stored, computed, ok; stored and ok are None where the file has none.
    values
        Header values beside the values of the links: dicts with name, expected, found, tolerance, ok.
    warnings
        Sentences for the user.
    metadata
        Pairs of header keys and texts.
    ok
        True if no check failed.
    """

    format: str
    lattice: tuple[int, int, int, int]
    precision_bits: int
    checksums: list[dict[str, Any]]
    values: list[dict[str, Any]]
    warnings: list[str]
    metadata: list[tuple[str, str]]
    ok: bool

    @classmethod
    def _of(cls, core: _core.FileReport) -> FileReport:
        return cls(
            core.format,
            in_four_directions(core.lattice),
            core.precision_bits,
            core.checksums,
            core.values,
            list(core.warnings),
            list(core.metadata),
            core.ok,
        )
