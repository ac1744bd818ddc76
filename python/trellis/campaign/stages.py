"""Trellis stages as tasks: a run file with changes, and the command that runs it."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from ..ground.errors import BadArgument
from ..ground.nearest_word import did_you_mean
from ..run_files import GenerateRun, HmcRun, MeasureRun
from ..run_files.writing import to_toml


def run_file_model(kind: str, content: Mapping[str, Any]) -> Any:
    """The model of a stage's run files; None for analyze, whose options are checked by itself."""
    if kind == "generate":
        return HmcRun if "molecular_dynamics" in content else GenerateRun
    return {"measure": MeasureRun}.get(kind)


def run_file_text(kind: str, template: Mapping[str, Any], changes: Mapping[str, Any], where: str) -> str:
    """The TOML text of a run file with changes {"table.key": value}.

    Raises
    ------
    BadArgument
        The changed file is not valid.
    """
    content = copy.deepcopy(dict(template))
    for dotted, value in changes.items():
        table = content
        *path, key = dotted.split(".")
        for name in path:
            table = table.setdefault(name, {})
            if not isinstance(table, dict):
                raise BadArgument(f"{where}: set: {dotted!r}: {name!r} is not a table")
        table[key] = value
    model = run_file_model(kind, content)
    if model is not None:
        try:
            model.model_validate(content)
        except ValidationError as error:
            raise BadArgument(f"{where}: the run file with `set`: {_first(error, model)}") from None
    return to_toml(content)


def _first(error: ValidationError, model: Any) -> str:
    found = error.errors()[0]
    shown = ".".join(map(str, found["loc"]))
    if found["type"] == "extra_forbidden":
        return f"{shown}: unknown key{did_you_mean(str(found['loc'][-1]), model.model_fields)}"
    return f"{shown}: {found['msg'].removeprefix('Value error, ')}; found {found['input']!r}"
