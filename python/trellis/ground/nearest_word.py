"""This module finds the name that was probably meant by one that is not known."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

#: Two names have at least this share of letters in common, in order; "modules" and "node_failures" have 0.5.
_LEAST = 0.6


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Return the known name that is most like a word; None: no name is like it."""
    found = difflib.get_close_matches(word, list(known), n=1, cutoff=_LEAST)
    return found[0] if found else None


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return the end of a message: "; did you mean 'NAME'?", or nothing."""
    near = nearest(word, known)
    return f"; did you mean {near!r}?" if near is not None else ""
