"""trellis schema prints the keys of each kind of file, with their meaning and defaults, as JSON schema."""

from __future__ import annotations

import importlib
import json as json_text
from dataclasses import dataclass

from ..ground.launched_ranks import launched_rank
from ..ground.nearest_word import did_you_mean


@dataclass(frozen=True)
class Kind:
    """This is a kind of file.

    Attributes
    ----------
    files
        The files of this kind, in words.
    module, model
        Its model is there; it is loaded when its schema is asked for.
    """

    files: str
    module: str
    model: str


KINDS = {
    "measure": Kind("run files of trellis measure", "run_files.measure", "MeasureRun"),
    "generate": Kind("run files of trellis generate by heat bath", "run_files.generate", "GenerateRun"),
    "hmc": Kind("run files of trellis generate with [molecular_dynamics]", "run_files.hmc", "HmcRun"),
    "glass": Kind("run files of trellis glass", "run_files.glass", "GlassRun"),
    "campaign": Kind("files of trellis campaign", "campaign.tables", "CampaignFile"),
    "machine": Kind("machine files of trellis campaign", "campaign.machine_tables", "MachineFile"),
    "analyze": Kind("options of trellis analyze", "analysis", "AnalysisOptions"),
}


def unknown_kind(kind: str) -> str:
    """Return what is wrong with a kind that there is not; nothing where there is one."""
    return (
        ""
        if kind in KINDS
        else f"expected one of {', '.join(KINDS)}, found {kind!r}{did_you_mean(kind, KINDS)}"
    )


def schema(kind: str | None, *, json: bool) -> int:
    """Print the schema of a kind of file, or without one the kinds. Rank 0 prints.

    Returns
    -------
    int
        Exit status: 0.
    """
    if launched_rank() == 0:
        print(_kinds(json=json) if kind is None else schema_text(kind))
    return 0


def schema_text(kind: str) -> str:
    """Return the JSON schema of a kind of file, whose model is loaded now."""
    model = getattr(importlib.import_module(f"trellis.{KINDS[kind].module}"), KINDS[kind].model)
    return json_text.dumps(model.model_json_schema(), indent=2)


def _kinds(*, json: bool) -> str:
    if json:
        return json_text.dumps({"kinds": {name: kind.files for name, kind in KINDS.items()}})
    return "\n".join(f"trellis schema {name:10}{kind.files}" for name, kind in KINDS.items())
