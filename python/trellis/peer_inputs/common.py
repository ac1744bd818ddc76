"""The converters share these functions: they read keys, name the key in errors and write run files."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..ground.errors import BadArgument, RunFileError
from ..run_files import HmcRun, parse_run_file
from ..run_files.writing import to_toml


def lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield number, from 1, and content of each line without its comment; empty ones come too.

    Files of some editors begin with a byte order mark, which is no part of the first word.
    """
    for number, line in enumerate(text.removeprefix("\ufeff").splitlines(), start=1):
        yield number, line.split("#", 1)[0].strip()


class Getter:
    """A getter has the values of groups; errors name group and key, and it knows which
    keys nobody asked for.
    """

    def __init__(self, groups: Iterable[tuple[str, dict[str, str]]], where: str) -> None:
        self.groups, self.where = list(groups), where
        self._asked: set[tuple[str, str]] = set()

    def text(self, group: str, key: str, default: Any = None) -> str:
        self._asked.add((group, key))
        for name, values in self.groups:
            if name == group and key in values:
                return values[key]
        if default is None:
            raise BadArgument(f"{self.where} lacks {key} of {group}")
        return str(default)

    def number(self, group: str, key: str, default: float | None = None) -> float:
        return number_of(self.text(group, key, default), f"{self.where}: {key} of {group}")

    def integer(self, group: str, key: str, default: int | None = None) -> int:
        value = self.number(group, key, default)
        if value != int(value):
            raise BadArgument(f"{self.where}: {group}: {key} = {value:g}: expected an integer")
        return int(value)

    def take(self, group: str, *keys: str) -> None:
        """Mark keys as read that were read otherwise."""
        self._asked.update((group, key) for key in keys)

    def was_asked(self, group: str) -> bool:
        """Return True if a key of the group was read."""
        return any(name == group for name, _ in self._asked)

    def said(self, group: str, *keys: str) -> str:
        """Return the input's text for keys, for messages: "StoreConfInterval = 0 of MontecarloParameters"."""
        found = [
            f"{key} = {values[key]}"
            for name, values in self.groups
            if name == group
            for key in keys
            if key in values
        ]
        return f"{', '.join(found)} of {group}" if found else ""

    def not_asked(self) -> list[str]:
        """Return the keys of the groups of which something was taken, in the order of the input."""
        groups = {group for group, _ in self._asked}
        return [
            f"{key} of {name}"
            for name, values in self.groups
            if name in groups
            for key in values
            if (name, key) not in self._asked
        ]


def number_of(text: str, what: str) -> float:
    """Read a number, also as Fortran writes it: 1.0d-8."""
    try:
        value = float(text.lower().replace("d", "e"))
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise BadArgument(f"{what}: expected a number, found {text!r}")
    return value


def left_out(getters: Iterable[Getter]) -> list[str]:
    """Return a remark about keys that were read and not used: misspelt ones stand there, too."""
    keys = list(dict.fromkeys(key for getter in getters for key in getter.not_asked()))
    return [f"not taken over: {', '.join(keys)}"] if keys else []


def legal_names(found: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return names of flavours as run files have them, all different, and a remark on each changed one."""
    names: list[str] = []
    remarks = []
    for name in found:
        legal = re.sub(r"[^A-Za-z0-9_-]", "_", name)
        if not re.match("[A-Za-z]", legal):
            legal = f"flavour_{legal}"
        taken, number, stem = {"gauge", *names}, 2, legal
        while legal in taken:
            legal = f"{stem}_{number}"
            number += 1
        names.append(legal)
        if legal != name:
            why = "the name is taken" if name in taken else "names consist of letters, digits, _ and -"
            remarks.append(f"the flavour {name!r} is {legal} here: {why}")
    return names, remarks


def run_file(
    source: str,
    remarks: Iterable[str],
    tables: Iterable[tuple[str, Any]],
    *,
    where: str,
    said: Mapping[str, str],
) -> str:
    """Return the text of a run file that `trellis generate` takes.

    Parameters
    ----------
    where
        Messages have this word: "the MILC input".
    said
        Keys of the run file, "trajectories.keep_every" or "fermions.0.mass", and what the input says of them,
        for messages.

    Raises
    ------
    BadArgument
        `trellis generate` would refuse it; the message says what of the input that comes from.
    """
    text = _text(source, remarks, tables)
    try:
        parse_run_file(text, HmcRun)
    except RunFileError as error:
        problems = [_of_the_input(problem, said) for problem in str(error).splitlines()]
        raise BadArgument("\n".join(f"{where}: {problem}" for problem in problems)) from None
    return text


def _of_the_input(problem: str, said: Mapping[str, str]) -> str:
    """Turn "run file:7: lattice.extents: why" into "nx = 5 of Geometry: lattice.extents: why"."""
    found = re.match(r"run file(?::\d+)?: (?P<path>[^:]+): (?P<message>.*)", problem)
    if found is None:
        return problem
    path, message = found["path"], found["message"]
    sources = _sources(path, message, said)
    shown = "" if path.startswith("(") else f"{path}: "
    return f"{'; '.join(sources)}: {shown}{message}" if sources else f"{shown}{message}"


def _sources(path: str, message: str, said: Mapping[str, str]) -> list[str]:
    """Return the input's text for a key; for a table, its texts for the keys that the message names."""
    names = path.split(".")
    for length in range(len(names), 0, -1):
        key = ".".join(names[:length])
        if key in said:
            return [said[key]] if said[key] else []
    words = set(re.findall(r"\w+", message))
    return list(
        dict.fromkeys(
            what
            for key, what in said.items()
            if what and (path.startswith("(") or key.startswith(f"{path}.")) and key.split(".")[-1] in words
        )
    )


def _text(source: str, remarks: Iterable[str], tables: Iterable[tuple[str, Any]]) -> str:
    """Return the tables as TOML, below comments that say where they come from."""
    lines = [f"# From {source}.", *[f"# {_printable(remark)}" for remark in remarks], ""]
    return "\n".join(lines) + "\n" + to_toml(dict(tables))


def _printable(text: str) -> str:
    """Return a text with printable characters only, as comments of TOML need it."""
    return "".join(c if c.isprintable() else "?" for c in text)
