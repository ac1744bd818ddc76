"""Run files that programs make: tables become TOML."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

_BARE = re.compile(r"^[A-Za-z0-9_-]+$")


def model_to_toml(run: BaseModel) -> str:
    """Return TOML of the keys that a validated run was given.

    A run file with this text gives the same results. Keys that the model leaves out of records, such as the
    folder of low modes, are left out here, too.
    """
    return to_toml(run.model_dump(mode="json", by_alias=True, exclude_unset=True, exclude_none=True))


def to_toml(content: Mapping[str, Any]) -> str:
    """Return TOML of nested tables with plain values and lists."""
    return "\n".join(_table(content, ())).strip() + "\n"


def _table(content: Mapping[str, Any], path: tuple[str, ...]) -> list[str]:
    lines = [f"[{'.'.join(map(_key, path))}]"] if path else []
    nested = []
    for name, value in content.items():
        if isinstance(value, Mapping):
            nested.append((name, value))
        else:
            lines.append(f"{_key(name)} = {_value(value)}")
    lines.append("")
    for name, value in nested:
        lines += _table(value, (*path, name))
    return lines


def _key(name: str) -> str:
    return name if _BARE.match(name) else json.dumps(name)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_value, value)) + "]"
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(k)} = {_value(v)}" for k, v in value.items()) + " }"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return repr(value)
