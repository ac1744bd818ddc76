"""What the converters share: values of keys with errors that name them, and the text of a run file."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

from ..errors import BadArgument


def lines(text: str) -> Iterator[tuple[int, str]]:
    """Number, from 1, and content of each line without its comment; empty ones too.

    Files of some editors begin with a byte order mark, which is no part of the first word.
    """
    for number, line in enumerate(text.removeprefix("\ufeff").splitlines(), start=1):
        yield number, line.split("#", 1)[0].strip()


class Getter:
    """Values of groups, with errors that name group and key; knows which keys nobody asked for."""

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
        """These were read otherwise."""
        self._asked.update((group, key) for key in keys)

    def was_asked(self, group: str) -> bool:
        """Whether something of a group was read."""
        return any(name == group for name, _ in self._asked)

    def not_asked(self) -> list[str]:
        """Keys of the groups of which something was taken, in the order of the input."""
        groups = {group for group, _ in self._asked}
        return [
            f"{key} of {name}"
            for name, values in self.groups
            if name in groups
            for key in values
            if (name, key) not in self._asked
        ]


def number_of(text: str, what: str) -> float:
    """Also as Fortran writes it, 1.0d-8."""
    try:
        value = float(text.lower().replace("d", "e"))
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise BadArgument(f"{what}: expected a number, found {text!r}")
    return value


def left_out(getters: Iterable[Getter]) -> list[str]:
    """A remark about what was read and not used: misspelt keys too stand there."""
    keys = list(dict.fromkeys(key for getter in getters for key in getter.not_asked()))
    return [f"not taken over: {', '.join(keys)}"] if keys else []


def to_toml(source: str, remarks: Iterable[str], tables: Iterable[tuple[str, Any]]) -> str:
    lines = [f"# From {source}.", *[f"# {remark}" for remark in remarks]]
    for name, content in tables:
        for table in content if isinstance(content, list) else [content]:
            lines += ["", f"[[{name}]]" if isinstance(content, list) else f"[{name}]"]
            lines += [f"{key} = {_literal(value)}" for key, value in table.items()]
    return "\n".join(lines) + "\n"


def _literal(value: Any) -> str:
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, list):
        return "[" + ", ".join(_literal(v) for v in value) + "]"
    return repr(value)
