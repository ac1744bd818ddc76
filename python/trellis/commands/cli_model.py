"""This module has the commands `trellis model ...`."""

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
    str,
    typer.Option(
        "--machine",
        "-m",
        help="A machine file with a table device, or the name of one from papers: daint_gh200, summit, ...",
    ),
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


@app.command()
def forecast(
    run_file: RunFile,
    machine: MachineName,
    nodes: Annotated[str, typer.Option(metavar="N,N,...", help="Numbers of nodes.")] = "1,2,4,8,16",
    iterations: Iterations = None,
    past: Annotated[
        Path | None, typer.Option(metavar="RESULT", help="A past run, whose iterations count.")
    ] = None,
    lattice: Annotated[
        str | None, typer.Option(metavar="X.Y.Z.T", help="Extents, where the run file does not say them.")
    ] = None,
    grid: Annotated[
        str | None, typer.Option(metavar="X.Y.Z.T", help="Process grid; default: the one of least surface.")
    ] = None,
    order: Annotated[
        str | None, typer.Option(metavar="xyzt", help="Order of ranks on nodes; default: boxes.")
    ] = None,
    ranks_per_node: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Ranks of a node; default: one for each device.")
    ] = None,
    threads: Annotated[
        int, typer.Option(metavar="N", min=1, help="Cores of a rank, with --ranks-per-node.")
    ] = 1,
    weak: Annotated[
        bool, typer.Option("--weak", help="Keep the local lattice of the smallest number of nodes.")
    ] = False,
    csv: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the table as CSV.")] = None,
    latex: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the table for LaTeX.")] = None,
    page: Annotated[Path | None, typer.Option(metavar="FILE", help="Write a page with plots.")] = None,
    production: Annotated[
        int | None, typer.Option(metavar="N", help="Nodes of production runs: bold in the LaTeX table.")
    ] = None,
    json: Json = False,
) -> None:
    """Time of a run's step on so many nodes: speed-up, efficiency, memory, what limits, and a band."""
    from .model import forecast as command

    console.run(
        lambda: command(
            run_file,
            machine=machine,
            nodes=nodes,
            iterations=iterations,
            past=past,
            lattice=lattice,
            grid=grid,
            order=order,
            ranks_per_node=ranks_per_node,
            threads=threads,
            weak=weak,
            csv=csv,
            latex=latex,
            page=page,
            production=production,
            json=json,
        ),
        json,
    )


@app.command()
def choose(
    run_file: RunFile,
    machine: MachineName,
    within: Annotated[
        str | None, typer.Option(metavar="TIME", help="All steps within this: 24h, 90min.")
    ] = None,
    efficiency: Annotated[
        float | None, typer.Option(metavar="E", min=0, help="At least this efficiency, as fast as possible.")
    ] = None,
    steps: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Steps of the run; default: its total.")
    ] = None,
    most_nodes: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Default: the machine's, at most 1024.")
    ] = None,
    iterations: Iterations = None,
    past: Annotated[
        Path | None, typer.Option(metavar="RESULT", help="A past run, whose iterations count.")
    ] = None,
    lattice: Annotated[
        str | None, typer.Option(metavar="X.Y.Z.T", help="Extents, where the run file does not say them.")
    ] = None,
    json: Json = False,
) -> None:
    """Nodes, process grid, rank order and way of the network for a deadline or an efficiency."""
    from .model import choose as command

    console.run(
        lambda: command(
            run_file,
            machine=machine,
            within=within,
            efficiency=efficiency,
            steps=steps,
            most_nodes=most_nodes,
            iterations=iterations,
            past=past,
            lattice=lattice,
            json=json,
        ),
        json,
    )


@app.command()
def plan(
    file: Annotated[Path, typer.Argument(metavar="CAMPAIGN.toml", help="The campaign file.")],
    machine: MachineName,
    iterations: Iterations = None,
    lattice: Annotated[
        str | None, typer.Option(metavar="X.Y.Z.T", help="Extents, where run files do not say them.")
    ] = None,
    json: Json = False,
) -> None:
    """Node hours and course of a campaign, whose stages without an estimate take what the model says."""
    from .model import plan as command

    console.run(
        lambda: command(file, machine=machine, iterations=iterations, lattice=lattice, json=json), json
    )


@app.command()
def compare(
    result: Annotated[Path, typer.Argument(metavar="RESULT", help="stream.h5 or correlators.NNNNNN.h5.")],
    machine: MachineName,
    iterations: Iterations = None,
    json: Json = False,
) -> None:
    """A measured time beside its forecast, and what to check where a run is slower than it should be."""
    from .model import compare as command

    console.run(lambda: command(result, machine=machine, iterations=iterations, json=json), json)


@app.command()
def calibrate(
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="M.toml", help="The machine file.")
    ] = Path("machine.toml"),
    ranks: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Ranks of a node; default: one for each core.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="Name of the machine; default: the host's.")] = None,
    hosts: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,...",
            help="Nodes for mpirun, whose network is measured; default: those of the allocation.",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Measure this machine in under three minutes: kernels, exchanges, sums; write a machine file.

    Inside an allocation of Slurm or PBS the network between two of its nodes is measured, too.
    """
    from .model_calibrate import calibrate as command

    console.run(lambda: command(output, ranks=ranks, name=name, hosts=hosts, json=json), json)
