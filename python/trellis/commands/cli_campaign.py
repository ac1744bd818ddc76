"""This module has the commands `trellis campaign ...`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from . import console
from .old_options import CampaignSchema, MachineSchema

app = typer.Typer(
    name="campaign",
    help="Thousands of dependent tasks on the nodes of an allocation.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
File = Annotated[Path, typer.Argument(metavar="CAMPAIGN.toml", help="The campaign file.")]
MachineName = Annotated[
    str, typer.Option("--machine", "-m", help="A machine file, or the name of one that comes with trellis.")
]


@app.command()
def plan(
    file: File,
    machine: MachineName = "laptop",
    json: Json = False,
    schema: CampaignSchema = False,
    schema_machine: MachineSchema = False,
) -> None:
    """Check the file and the machine, and show which tasks would run when, without running them."""
    from .campaign import plan as command

    console.run(lambda: command(file, machine=machine, json=json), json)


@app.command()
def run(
    file: File,
    machine: MachineName = "laptop",
    seconds: Annotated[
        float | None, typer.Option(metavar="S", min=0, help="Stop after so long, as an allocation does.")
    ] = None,
    json: Json = False,
) -> None:
    """Run it, or go on with it. After SIGTERM (or Ctrl-C) no task starts; a second one ends running tasks."""
    from .campaign import run as command

    console.run(lambda: command(file, machine=machine, seconds=seconds, json=json), json, is_run=True)


@app.command()
def status(
    file: File,
    watch: Annotated[bool, typer.Option("--watch", "-w", help="Show it anew every second.")] = False,
    json: Json = False,
) -> None:
    """Show how many tasks are done, running and failed, where tasks run, and why tasks failed."""
    from .campaign import status as command

    console.run(lambda: command(file, watch=watch, json=json), json)


@app.command()
def retry(
    file: File,
    tasks: Annotated[
        list[str] | None,
        typer.Argument(metavar="TASK...", help="Names or patterns; default: all that failed."),
    ] = None,
    node: Annotated[
        list[str] | None, typer.Option(help="Take this node out of quarantine, too.", show_default=False)
    ] = None,
    json: Json = False,
) -> None:
    """Let failed tasks run again: their failures so far count no more."""
    from .campaign import retry as command

    console.run(lambda: command(file, tasks or [], nodes=node or [], json=json), json)


@app.command()
def simulate(
    file: File,
    machine: MachineName = "virtual",
    seed: Annotated[int, typer.Option(help="Of durations and of what goes wrong.")] = 1,
    period: Annotated[
        float, typer.Option(min=0, help="Least simulated seconds between planning passes.")
    ] = 0.0,
    naive: Annotated[
        bool, typer.Option(help="Compare with bundles of one kind and a barrier after each.")
    ] = True,
    json: Json = False,
) -> None:
    """Run it on a simulated machine: makespan, idle fractions, lower bound, comparison with bundling."""
    from .campaign import simulate as command

    console.run(
        lambda: command(file, machine=machine, seed=seed, period=period, naive=naive, json=json), json
    )


@app.command()
def report(
    file: File,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The page; default: report.html in the state folder."),
    ] = None,
    json: Json = False,
) -> None:
    """One HTML page: Gantt chart, idle time by cause, throughput, failures, estimates, task graph."""
    from .campaign_files import report as command

    console.run(lambda: command(file, output, json=json), json)


@app.command("import-metaq")
def import_metaq(
    folder: Annotated[Path, typer.Argument(metavar="METAQ", help="The folder with todo/ and priority/.")],
    file: Annotated[Path, typer.Argument(metavar="CAMPAIGN.toml", help="The campaign file to write.")],
    name: Annotated[str | None, typer.Option(help="Of the campaign; default: the file's.")] = None,
    machine: Annotated[str, typer.Option(help="Of the folders below working/ and jobs/.")] = "machine",
    strict: Annotated[bool, typer.Option(help="Non-zero status: failed/, not finished/.")] = False,
    cores_per_node: Annotated[int, typer.Option(min=1, help="What NODES reserve of each node.")] = 1,
    json: Json = False,
) -> None:
    """A campaign file whose tasks are the scripts of a METAQ directory."""
    from .campaign_files import import_metaq as command

    console.run(
        lambda: command(
            folder, file, name=name, machine=machine, strict=strict, cores_per_node=cores_per_node, json=json
        ),
        json,
    )


@app.command()
def submit(
    file: File,
    machine: MachineName,
    allocations: Annotated[
        int, typer.Option("--allocations", "-n", min=1, help="At most so many, one after the other.")
    ] = 1,
    nodes: Annotated[
        int | None, typer.Option(min=1, help="Nodes of an allocation; default: all of the machine file.")
    ] = None,
    option: Annotated[
        list[str] | None, typer.Option(help="For the batch system, e.g. --option=--partition=gpu.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the batch script; submit nothing.")
    ] = False,
    json: Json = False,
) -> None:
    """Submit it to Slurm, PBS or LSF, renewed until it is done."""
    from .campaign_files import submit as command

    console.run(
        lambda: command(
            file,
            machine=machine,
            allocations=allocations,
            nodes=nodes,
            options=option or [],
            dry_run=dry_run,
            json=json,
        ),
        json,
    )
