"""This module writes run files that programs make: tables become TOML."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def model_to_toml(run: BaseModel) -> str:
    """Return TOML of the keys that a validated run was given.

    A run file with this text gives the same results. Keys that the model leaves out of records, such as the
    folder of low modes, are left out here, too.
    """
    return to_toml(run.model_dump(mode="json", by_alias=True, exclude_unset=True, exclude_none=True))


def to_toml(content: Mapping[str, Any]) -> str:
    """Return TOML of nested tables with plain values and lists; a list of tables becomes [[name]]."""
    return "\n".join(_table(content, ())).strip() + "\n"


def _table(content: Mapping[str, Any], path: tuple[str, ...]) -> list[str]:
    lines = [f"[{'.'.join(map(_key, path))}]"] if path else []
    nested = []
    for name, value in content.items():
        if _is_nested(value):
            nested.append((name, value))
        else:
            lines.append(f"{_key(name)} = {toml_value(value)}")
    lines.append("")
    for name, value in nested:
        lines += _tables(value, (*path, name))
    return lines


def _is_nested(value: Any) -> bool:
    """Return True for a table and for a list that has tables alone."""
    if isinstance(value, list | tuple):
        return len(value) > 0 and all(isinstance(table, Mapping) for table in value)
    return isinstance(value, Mapping)


def _tables(value: Any, path: tuple[str, ...]) -> list[str]:
    if isinstance(value, Mapping):
        return _table(value, path)
    lines = []
    for table in value:
        header, *content = _table(table, path)
        lines += [f"[{header}]", *content]
    return lines


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _text(name)


def _text(text: str) -> str:
    """Return a basic string of TOML: that of JSON with DEL escaped, too."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def toml_value(value: Any) -> str:
    """Return a plain value, a list or an inline table as TOML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(toml_value, value)) + "]"
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(k)} = {toml_value(v)}" for k, v in value.items()) + " }"
    if isinstance(value, str):
        return _text(value)
    return repr(value)
