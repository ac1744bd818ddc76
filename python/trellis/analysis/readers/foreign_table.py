"""This module reads a plain table of text, which has one line for each configuration, source and time.

The first line that is not empty names the columns; a # may stand before it. Columns are

    configuration, time     required, whole numbers
    stream, source          optional: a word, a whole number
    NAME                    a real correlator
    NAME.re, NAME.im        a complex one

Further lines that begin with # are comments.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ..records.errors import MeasurementFileError
from ..records.foreign_options import ForeignOptions
from ..records.numbering import STREAM_NAME_IN_WORDS, is_stream_name
from .foreign_entries import Entry
from .packed_files import unpacked
from .sources import from_the_source

_KEYS = ("configuration", "time", "stream", "source")


def read_table(path: Path, options: ForeignOptions, stream: str) -> Iterator[Entry]:
    """Read the correlators of a table; `stream` is the name for files without that column.

    Raises
    ------
    MeasurementFileError
        Columns or lines do not fit, or times are missing or occur twice.
    """
    columns, rows = _lines(path)
    groups: dict[tuple[str, int, int], dict[int, list[float]]] = {}
    names = [n for n in columns if n not in _KEYS]
    for place, words in rows:
        by_name = dict(zip(columns, words, strict=True))
        number, source = (_whole(path, place, by_name, k) for k in ("configuration", "source"))
        key = (by_name.get("stream", stream), number, source)
        if "stream" in by_name and not is_stream_name(key[0]):
            raise MeasurementFileError(
                path, f"line {place}: stream", expected=STREAM_NAME_IN_WORDS, found=repr(key[0])
            )
        time = _whole(path, place, by_name, "time")
        times = groups.setdefault(key, {})
        if time in times:
            raise MeasurementFileError(
                path, f"line {place}", expected="each time once", found=f"t = {time} again"
            )
        times[time] = [_number(path, place, by_name[n]) for n in names]
    for (own_stream, configuration, source), times in groups.items():
        if sorted(times) != list(range(len(times))):
            where = f"configuration {configuration}, source {source}"
            lacking = next(t for t in range(len(times) + 1) if t not in times)
            found = f"none at t = {lacking}" if min(times) >= 0 else f"t = {min(times)}"
            raise MeasurementFileError(path, where, expected=f"the times 0 to {max(times)}", found=found)
        array = np.array([times[t] for t in range(len(times))])
        for name, values in _correlators(path, names, array):
            kind = options.types.get(name, "meson")
            shifted = from_the_source(
                name, values[np.newaxis, np.newaxis], options.source_time, kind, options.boundary_t
            )[0, 0]
            attributes = {"type": kind, "particle": name, "boundary_t": options.boundary_t}
            yield Entry(path, configuration, name, shifted, attributes, stream=own_stream, source=source)


def _lines(path: Path) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """Return the names of the columns, and the words of each line with its number."""
    try:
        text = unpacked(path).decode("utf-8-sig")  # spreadsheets put a mark before the first word
    except UnicodeDecodeError:
        raise MeasurementFileError(path, "file", expected="text", found="bytes that are none") from None
    columns: list[str] = []
    rows = []
    for place, line in enumerate(text.splitlines(), start=1):
        words = line.replace(",", " ").split()
        if not words:
            continue
        if not columns:
            columns = [w for w in (words[0].lstrip("#"), *words[1:]) if w]
            continue
        if words[0].startswith("#"):
            continue
        if len(words) != len(columns):
            expected = f"{len(columns)} words ({' '.join(columns)})"
            raise MeasurementFileError(path, f"line {place}", expected=expected, found=len(words))
        rows.append((place, words))
    lacking = [key for key in _KEYS[:2] if key not in columns]
    if lacking or len(set(columns)) != len(columns) or not set(columns) - set(_KEYS):
        expected = "a first line with configuration, time and names of correlators, each once"
        raise MeasurementFileError(path, "columns", expected=expected, found=" ".join(columns) or "nothing")
    return columns, rows


def _whole(path: Path, place: int, words: dict[str, str], key: str) -> int:
    text = words.get(key, "0")
    try:
        number = int(text)
    except ValueError:
        number = None
    if number is None or abs(number) >= 1 << 63:
        raise MeasurementFileError(
            path, f"line {place}: {key}", expected="a whole number of 64 bits", found=repr(text)
        )
    return number


def _number(path: Path, place: int, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise MeasurementFileError(path, f"line {place}", expected="a number", found=repr(text)) from None


def _correlators(path: Path, names: list[str], array: np.ndarray):
    """Return names and values of the correlators; NAME.re and NAME.im become one."""
    for place, name in enumerate(names):
        stem, _, part = name.rpartition(".")
        if part == "im" and stem:
            if f"{stem}.re" not in names:
                raise MeasurementFileError(path, "columns", expected=f"{stem}.re beside it", found=name)
            continue
        if part == "re" and stem:
            other = f"{stem}.im"
            imaginary = array[:, names.index(other)] if other in names else 0.0
            yield stem, array[:, place] + 1j * imaginary
        else:
            yield name, array[:, place]
