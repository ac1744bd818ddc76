"""Configurations have numbers, in one stream or in several.

Numbers of one stream are int64. Several streams (replicas) of one ensemble may have the same numbers:
arrays of them have the fields `stream`, a name, and `number`, and ascend by both. Masks, slices and
concatenation work alike for both; code that subtracts numbers takes them stream by stream from
:func:`streams_of`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...ground.errors import BadArgument

#: The name of a stream has at most this length.
NAME_LENGTH = 64
STREAM_NAME_IN_WORDS = f"a name of 1 to {NAME_LENGTH} characters that can be printed, without |"
_FIELDS = np.dtype([("stream", f"U{NAME_LENGTH}"), ("number", np.int64)])


def numbers_in_streams(streams: Sequence[str] | NDArray, numbers: NDArray) -> NDArray:
    """Return an array with the fields `stream` and `number`.

    Parameters
    ----------
    streams
        A name for each number; none of them is empty, longer than NAME_LENGTH or has a bar "|" in it.

    Raises
    ------
    BadArgument
        A name cannot be one, or there are not as many names as numbers.
    """
    numbers = np.asarray(numbers)
    if len(streams) != len(numbers):
        raise BadArgument(
            f"streams: expected {len(numbers)} names, one for each number, found {len(streams)}"
        )
    for name in set(map(str, streams)):
        if not is_stream_name(name):
            raise BadArgument(f"streams: expected {STREAM_NAME_IN_WORDS}, found {name!r}")
    found = np.zeros(len(numbers), dtype=_FIELDS)
    found["stream"] = list(map(str, streams))
    found["number"] = numbers
    return found


def is_stream_name(name: str) -> bool:
    """Return True if a stream can have this name."""
    return 0 < len(name) <= NAME_LENGTH and "|" not in name and name.isprintable()


def has_streams(numbers: NDArray) -> bool:
    """Return True if the numbers say which stream they are of."""
    return numbers.dtype.names is not None


def plain_numbers(numbers: NDArray) -> NDArray:
    """Return the numbers without their streams."""
    return numbers["number"] if has_streams(numbers) else numbers


def stream_names(numbers: NDArray) -> list[str]:
    """Return the name of the stream of each number; an empty list without names."""
    return [str(name) for name in numbers["stream"]] if has_streams(numbers) else []


def streams_of(numbers: NDArray) -> list[tuple[str, NDArray, NDArray]]:
    """Return name, places and numbers of each stream; one stream without a name is called ""."""
    if not has_streams(numbers):
        return [("", np.arange(len(numbers)), numbers)]
    names, first = np.unique(numbers["stream"], return_index=True)
    ordered = names[np.argsort(first)]
    places = [np.flatnonzero(numbers["stream"] == name) for name in ordered]
    return [(str(n), p, numbers["number"][p]) for n, p in zip(ordered, places, strict=True)]


def number_text(number: np.generic) -> str:
    """Return "120", or "120 of stream a"."""
    if not isinstance(number, np.void):
        return str(number)
    return f"{int(number['number'])} of stream {number['stream']}"


def same_numbers(first: NDArray, second: NDArray) -> bool:
    """Return True if both have the same numbers in the same order, of the same streams."""
    return has_streams(first) == has_streams(second) and np.array_equal(first, second)
