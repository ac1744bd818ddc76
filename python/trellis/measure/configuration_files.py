"""This module finds the files of the configurations that are measured, and their numbers."""

from __future__ import annotations

import glob
import re
from collections.abc import Callable
from pathlib import Path

from ..ground.errors import BadArgument
from ..run_files.measure import ConfigurationsTable

_NUMBER = re.compile(r"(\d+)\D*$")
#: Results hold numbers of configurations up to the first, and noise fields are numbered up to the second.
LARGEST_NUMBER, LARGEST_OF_NOISE = 2**63 - 1, 2**31 - 1


def find_configurations(
    table: ConfigurationsTable,
    say: Callable[[str], None] = lambda line: None,
    *,
    largest: int = LARGEST_NUMBER,
) -> list[tuple[int, str]]:
    """Return the number and file of each configuration, ascending.

    The number is the last one in the file's name; a name without one gets its place, from 1, in the sorted
    order of all files.

    Parameters
    ----------
    say
        Gets a line about the files that have no number in their names.
    largest
        The largest number that a configuration may have.

    Raises
    ------
    BadArgument
        Nothing matches, a number comes twice or is too large, or first and last leave nothing.
    """
    paths = _matching(table)
    found: dict[int, str] = {}
    placed: dict[str, int] = {}
    for place, path in enumerate(paths, start=1):
        number = _number_in(path)
        if number is None:
            number = placed[path] = place
        if number > largest:
            raise BadArgument(
                f"configurations.files: {path}: expected a number of at most {largest} in the file's name, "
                f"found {number}; rename the file, or link it under another name"
            )
        if number in found:
            raise BadArgument(
                f"configurations.files: configuration {number} twice: {found[number]} and {path}"
                f"{_why_placed([found[number], path], placed)}"
            )
        found[number] = path
    chosen = _between_limits(found, table)
    _tell_places([(number, path) for number, path in chosen if path in placed], say)
    return chosen


def _matching(table: ConfigurationsTable) -> list[str]:
    """Return all files of the patterns, each once, sorted."""
    patterns = [table.files] if isinstance(table.files, str) else table.files
    if not patterns:
        raise BadArgument("configurations.files: expected at least one file name or pattern, found []")
    found: set[str] = set()
    for pattern in patterns:
        paths = glob.glob(pattern, recursive=True)
        if not paths:
            begin = "" if Path(pattern).is_absolute() else f" in {Path.cwd()}, where names begin"
            raise BadArgument(f"configurations.files: nothing matches {pattern!r}{begin}")
        found.update(paths)
    return sorted(found)


def _number_in(path: str) -> int | None:
    """Return the last number in a file's name, before its ending if there is one."""
    match = _NUMBER.search(Path(path).name.rsplit(".", 1)[0]) or _NUMBER.search(Path(path).name)
    return int(match[1]) if match else None


def _why_placed(paths: list[str], placed: dict[str, int]) -> str:
    """Return the rest of a message about two files, of which some have no number in their names."""
    without = [path for path in paths if path in placed]
    return f"; {without[0]} has no number in its name, and that place in sorted order" if without else ""


def _tell_places(numbered: list[tuple[int, str]], say: Callable[[str], None]) -> None:
    if len(numbered) == 1:
        number, path = numbered[0]
        say(f"{path} has no number in its name: it is configuration {number}, by its place in sorted order")
    elif numbered:
        (first, first_path), (last, last_path) = numbered[0], numbered[-1]
        say(
            f"{len(numbered)} files have no number in their names: they are configurations by their places "
            f"in sorted order, from {first} ({first_path}) to {last} ({last_path})"
        )


def _between_limits(found: dict[int, str], table: ConfigurationsTable) -> list[tuple[int, str]]:
    """Return the configurations with numbers from the table's first to its last, in ascending order."""
    first = table.first if table.first is not None else -1
    chosen = [
        (n, p) for n, p in sorted(found.items()) if n >= first and (table.last is None or n <= table.last)
    ]
    if not chosen:
        limits = [f"at least first = {table.first}"] if table.first is not None else []
        limits += [f"at most last = {table.last}"] if table.last is not None else []
        raise BadArgument(
            f"configurations: none of {len(found)} ({min(found)} to {max(found)}) is {' and '.join(limits)}"
        )
    return chosen


def between(table: ConfigurationsTable, first: int | None, last: int | None) -> ConfigurationsTable:
    """Return the table with only its configurations from number first to last; None: no limit."""
    lower = [n for n in (table.first, first) if n is not None]
    upper = [n for n in (table.last, last) if n is not None]
    return table.model_copy(update={"first": max(lower, default=None), "last": min(upper, default=None)})
