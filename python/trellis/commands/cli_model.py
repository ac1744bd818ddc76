"""The commands `trellis model ...`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from . import console

app = typer.Typer(
    name="model",
    help="How a run scales on a machine, and what limits it.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
MachineName = Annotated[
    str, typer.Option("--machine", "-m", help="A machine file, or the name of one that comes with trellis.")
]
RunFile = Annotated[Path, typer.Argument(metavar="RUN.toml", help="A run file.", show_default=False)]
Iterations = Annotated[
    str | None,
    typer.Option(
        metavar="N|NAME=N,...",
        help="Iterations of a solve, for all solves or by name: of a past run, never invented.",
    ),
]


@app.command()
def published(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="A part of the table.")] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the table of doc/model.md.")] = False,
    json: Json = False,
) -> None:
    """Published figures beside the model's: what was given, fitted, checked and predicted."""
    from .model import published as command

    console.run(lambda: command(name, markdown=markdown, json=json), json)
