"""Stages of Trellis become tasks: each has a run file with changes, and the command that runs it."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from ..ground.errors import BadArgument
from ..run_files import GenerateRun, HmcRun, MeasureRun
from ..run_files.loading import validate_run
from ..run_files.writing import to_toml


def run_file_model(kind: str, content: Mapping[str, Any]) -> Any:
    """Return the model of a stage's run files; None for analyze, which checks its options itself."""
    if kind == "generate":
        return HmcRun if "molecular_dynamics" in content else GenerateRun
    return {"measure": MeasureRun}.get(kind)


def run_file_text(kind: str, template: Mapping[str, Any], changes: Mapping[str, Any], where: str) -> str:
    """Return the TOML text of a run file with changes {"table.key": value}.

    Raises
    ------
    BadArgument
        A change is for something that is not a table.
    RunFileError
        The changed file is not valid, or has words of an earlier language; the message has every problem.
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
        validate_run(content, model, f"{where}: the run file with `set`")
    return to_toml(content)
