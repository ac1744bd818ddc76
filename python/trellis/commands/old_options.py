"""This module has options that are commands now: whoever gives one is told the command."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer


def _moved_to(kind: str) -> Callable[[bool], bool]:
    def refuse(given: bool) -> bool:
        if given:
            raise typer.BadParameter(f"this is a command now: trellis schema {kind}")
        return given

    return refuse


MeasureSchema = Annotated[bool, typer.Option("--schema", hidden=True, callback=_moved_to("measure"))]
GenerateSchema = Annotated[bool, typer.Option("--schema", hidden=True, callback=_moved_to("generate"))]
HmcSchema = Annotated[bool, typer.Option("--schema-hmc", hidden=True, callback=_moved_to("hmc"))]
AnalyzeSchema = Annotated[bool, typer.Option("--schema", hidden=True, callback=_moved_to("analyze"))]
CampaignSchema = Annotated[bool, typer.Option("--schema", hidden=True, callback=_moved_to("campaign"))]
MachineSchema = Annotated[bool, typer.Option("--schema-machine", hidden=True, callback=_moved_to("machine"))]
