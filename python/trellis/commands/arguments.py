"""This module parses option values that several commands take."""

from __future__ import annotations

from ..ground.errors import BadArgument


def parse_lattice(text: str | None, option: str = "--lattice") -> tuple[int, int, int, int] | None:
    """Turn "8.8.8.16" or "8x8x8x16" into (8, 8, 8, 16)."""
    if text is None:
        return None
    try:
        extents = tuple(int(part) for part in text.replace("x", ".").split("."))
    except ValueError:
        extents = ()
    if len(extents) != 4:
        raise BadArgument(f"{option}: expected four numbers such as 8.8.8.16, found {text!r}")
    if any(extent < 1 for extent in extents):
        raise BadArgument(f"{option}: expected numbers above 0, found {text!r}")
    if any(extent > 2**31 - 1 for extent in extents):
        raise BadArgument(f"{option}: expected numbers of at most {2**31 - 1}, found {text!r}")
    return extents
