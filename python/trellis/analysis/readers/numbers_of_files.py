"""Measurement files say their streams, and how many sources were averaged before."""

from __future__ import annotations

import re
from pathlib import Path

import h5py
import numpy as np
from numpy.typing import NDArray

from ..records.errors import AnalysisError, MeasurementFileError
from ..records.numbering import STREAM_NAME_IN_WORDS, is_stream_name, numbers_in_streams
from .root_attributes import text_of, whole_numbers


def numbers_with_streams(path: Path, file: h5py.File, numbers: NDArray, pattern: str | None) -> NDArray:
    """Return the numbers with the names of their streams, from the path or from /streams; else as they are.

    Parameters
    ----------
    pattern
        Regular expression with one group that is searched for in the path; None: only the file says it.

    Raises
    ------
    MeasurementFileError
        A path has no match, or names do not fit the numbers.
    AnalysisError
        The pattern is no regular expression with one group.
    """
    if pattern is not None:
        return numbers_in_streams([stream_in_path(path, pattern)] * len(numbers), numbers)
    stored = file.get("streams")
    if stored is None:
        return numbers
    if not isinstance(stored, h5py.Dataset) or stored.shape != numbers.shape:
        expected, found = f"{len(numbers)} names", getattr(stored, "shape", "a group")
        raise MeasurementFileError(path, "/streams", expected=expected, found=found)
    try:
        return numbers_in_streams([text_of(name) or "" for name in stored[()]], numbers)
    except ValueError as error:
        raise MeasurementFileError(path, "/streams", expected="names", found=error) from None


def stream_in_path(path: Path, pattern: str) -> str:
    """Return the name of the stream that the pattern finds in the path."""
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        raise AnalysisError(f"stream: expected a regular expression, found {pattern!r} ({error})") from None
    if compiled.groups != 1:
        raise AnalysisError(
            f"stream: expected a regular expression with one group, found {compiled.groups} in {pattern!r}"
        )
    match = compiled.search(str(path))
    if match is None or not match[1]:
        raise MeasurementFileError(path, "path", expected=f"a stream's name by {pattern!r}", found=str(path))
    if not is_stream_name(match[1]):
        raise MeasurementFileError(path, "stream", expected=STREAM_NAME_IN_WORDS, found=repr(match[1]))
    return match[1]


def source_counts_of(path: Path, where: str, attributes: dict, count: int, sources: int) -> NDArray:
    """Return how many sources each configuration has: as many as are stored, or as were averaged before."""
    if "source_counts" not in attributes:
        return np.full(count, sources)
    what = f"attribute source_counts of {where}"
    found = whole_numbers(path, what, attributes.pop("source_counts"), f"[{count}]")
    if found.shape != (count,) or np.any(found < 1):
        raise MeasurementFileError(path, what, expected=f"{count} numbers from 1 on", found=found.tolist())
    return found
