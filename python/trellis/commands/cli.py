"""This is the command line. Each command is a thin layer over a function of trellis.commands."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
import typer.main

from . import cli_campaign, cli_model, console
from .old_options import AnalyzeSchema, GenerateSchema, HmcSchema, MeasureSchema

app = typer.Typer(
    name="trellis",
    help="Lattice QCD from a gauge field to a number with an error bar.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)

app.add_typer(cli_campaign.app)
app.add_typer(cli_model.app)

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
Resume = Annotated[bool, typer.Option("--resume", help="Go on where an earlier run stopped.")]
RunFile = Annotated[Path, typer.Argument(metavar="RUN.toml", help="The run file.", show_default=False)]
Lattice = Annotated[
    str | None,
    typer.Option(metavar="X.Y.Z.T", help="Extents, for files that do not say them."),
]


@app.command()
def info(
    file: Annotated[Path, typer.Argument(help="A gauge configuration.")],
    json: Json = False,
    lattice: Lattice = None,
) -> None:
    """Show the format and the observables of a gauge file, and check it (exit status 0 if it is sound)."""
    from .info import info as command

    console.run(lambda: command(file, lattice=lattice, json=json), json)


@app.command()
def convert(
    source: Annotated[Path, typer.Argument(metavar="IN", help="A gauge configuration.")],
    target: Annotated[Path, typer.Argument(metavar="OUT", help="The file to write.")],
    format: Annotated[
        str, typer.Option("--format", help="ildg, scidac, nersc, nersc-2row, milc or openqcd.")
    ],
    precision: Annotated[
        int | None, typer.Option(help="Bits of each number, 32 or 64; default: 64, or what the format has.")
    ] = None,
    byte_order: Annotated[str, typer.Option(help="nersc, nersc-2row, milc: big or little.")] = "big",
    logical_file_name: Annotated[
        str, typer.Option("--lfn", help="ildg: logical file name (record ildg-data-lfn).")
    ] = "",
    ensemble_id: Annotated[str, typer.Option(help="nersc: ENSEMBLE_ID.")] = "",
    ensemble_label: Annotated[str, typer.Option(help="nersc: ENSEMBLE_LABEL.")] = "",
    lattice: Lattice = None,
    json: Json = False,
) -> None:
    """Write a gauge configuration in another format."""
    from .convert import convert as command

    console.run(
        lambda: command(
            source,
            target,
            format=format,
            precision=precision,
            byte_order=byte_order,
            logical_file_name=logical_file_name,
            ensemble_id=ensemble_id,
            ensemble_label=ensemble_label,
            lattice=lattice,
            json=json,
        ),
        json,
    )


@app.command("convert-input")
def convert_input(
    source: Annotated[Path, typer.Argument(metavar="INPUT", help="An input of another program.")],
    program: Annotated[
        str, typer.Option("--from", help="milc (su3_rhmc_hisq), openacc (OpenStaPLE) or openqcd (qcd1).")
    ],
    target: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="RUN.toml", help="Write it there; default: print it."),
    ] = None,
    action: Annotated[
        str | None,
        typer.Option(
            help="openacc: the gauge action it was compiled with: wilson, symanzik (default), iwasaki, dbw2."
        ),
    ] = None,
    lattice: Annotated[
        str | None, typer.Option(metavar="X.Y.Z.T", help="openqcd: the extents it was compiled with.")
    ] = None,
    flavours: Annotated[
        str | None,
        typer.Option(metavar="N,N,...", help="milc: n_f of each mass; default: dyn_flavors of the input."),
    ] = None,
    tree_level: Annotated[
        bool, typer.Option("--tree-level", help="milc: the tree-level gauge action also where u0 is not 1.")
    ] = False,
    periodic: Annotated[
        bool, typer.Option("--periodic", help="openqcd: periodic in time, whatever the input says.")
    ] = False,
    one_replica: Annotated[
        bool, typer.Option("--one-replica", help="openacc: without parallel tempering.")
    ] = False,
    json: Json = False,
) -> None:
    """A run file of generate from an input of MILC, the OpenACC staggered code or openQCD."""
    from .arguments import parse_lattice
    from .convert_input import convert_input as command
    from .convert_input import parse_flavours

    console.run(
        lambda: command(
            source,
            program=program,
            target=target,
            json=json,
            action=action,
            extents=parse_lattice(lattice),
            flavours=parse_flavours(flavours),
            tree_level=tree_level,
            periodic=periodic,
            one_replica=one_replica,
        ),
        json,
    )


@app.command()
def generate(
    run_file: RunFile,
    resume: Resume = False,
    json: Json = False,
    schema: GenerateSchema = False,
    schema_hmc: HmcSchema = False,
    trajectories: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Make N more trajectories, whatever the run file's total is."),
    ] = None,
    tune: Annotated[
        bool, typer.Option("--tune", help="Propose steps of the integrator instead of running.")
    ] = False,
    acceptance: Annotated[
        float | None,
        typer.Option(metavar="P", min=0.05, max=0.999, help="Wished by --tune; default: 0.85."),
    ] = None,
) -> None:
    r"""Make gauge configurations: by heat bath, or with \[molecular_dynamics] by hybrid Monte Carlo."""
    from .generate import generate as command

    if acceptance is not None and not tune:
        raise typer.BadParameter("--acceptance belongs to --tune: a run has the acceptance of its integrator")
    if trajectories is not None and tune:
        raise typer.BadParameter("--trajectories belongs to a run: --tune makes a few of its own, always 6")
    wished = (acceptance or 0.85) if tune else None
    console.run(
        lambda: command(run_file, resume=resume, json=json, trajectories=trajectories, tune=wished),
        json,
        is_run=True,
    )


@app.command()
def glass(run_file: RunFile, resume: Resume = False, json: Json = False) -> None:
    """Simulate a Heisenberg spin glass: heat bath, over-relaxation and parallel tempering."""
    from .glass import glass as command

    console.run(lambda: command(run_file, resume=resume, json=json), json, is_run=True)


@app.command()
def measure(
    run_file: RunFile,
    resume: Resume = False,
    json: Json = False,
    schema: MeasureSchema = False,
    first: Annotated[
        int | None,
        typer.Option(metavar="N", help="Leave out configurations below this number: runs side by side."),
    ] = None,
    last: Annotated[
        int | None, typer.Option(metavar="N", help="Leave out configurations above this number.")
    ] = None,
) -> None:
    """Propagators and correlators on a set of configurations."""
    from .measure import measure as command

    console.run(
        lambda: command(run_file, resume=resume, json=json, first=first, last=last), json, is_run=True
    )


@app.command()
def watch(
    run: Annotated[
        Path,
        typer.Argument(
            metavar="RUN",
            help="A run file, a campaign file, a folder of results, or its stream.h5.",
            show_default=False,
        ),
    ],
    page: Annotated[
        bool, typer.Option("--page", help="Serve a page that refreshes itself, to this machine alone.")
    ] = False,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Of the page; 0: the system chooses.")] = 0,
    browser: Annotated[bool, typer.Option("--browser", help="Open the page in a browser.")] = False,
    every: Annotated[float, typer.Option(metavar="S", min=0.2, help="Seconds between two looks.")] = 2.0,
    once: Annotated[bool, typer.Option("--once", help="Show it once; status 1 with alarms.")] = False,
    json: Json = False,
) -> None:
    """Show a run under way, and what needs a person: generate, measure, glass or campaign; it only reads."""
    from .watch import watch as command

    if not page and (port or browser):
        raise typer.BadParameter("--port and --browser belong to --page")
    console.run(
        lambda: command(run, page=page, port=port, opens=browser, every=every, once=once, json=json), json
    )


@app.command()
def schema(
    kind: Annotated[
        str | None,
        typer.Argument(
            metavar="KIND",
            help="measure, generate, hmc, glass, campaign, machine or analyze; without one they are listed.",
            show_default=False,
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Print all keys of a kind of file, with their meaning and defaults, as JSON schema."""
    from .schema import schema as command
    from .schema import unknown_kind

    if kind is not None and (wrong := unknown_kind(kind)):
        raise typer.BadParameter(wrong)
    console.run(lambda: command(kind, json=json), json)


@app.command()
def analyze(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="PATH...",
            help="Measurement files, a stream.h5 of trellis generate, or folders.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the results.")] = Path(
        "analysis"
    ),
    companion: Annotated[
        list[Path] | None,
        typer.Option(help="Measurements of another action or lattice, for a second part of the report."),
    ] = None,
    title: Annotated[str | None, typer.Option(help="Title of the report.")] = None,
    options: Annotated[
        Path | None,
        typer.Option(help="TOML file with options of the analysis; trellis schema analyze lists its keys."),
    ] = None,
    json: Json = False,
    schema: AnalyzeSchema = False,
) -> None:
    """Masses with errors, plots and report.html from measured correlators, or from a gauge stream."""
    from .analyze import analyze as command

    if not paths:
        raise typer.BadParameter("files or folders with measurements, or a stream.h5, are needed: PATH...")
    console.run(
        lambda: command(paths, output, companion=companion or [], title=title, options=options, json=json),
        json,
    )


@app.command()
def doctor(
    json: Json = False,
    lattice: Annotated[
        str, typer.Option(metavar="X.Y.Z.T", help="Lattice for which the lane split is shown.")
    ] = "16.16.16.16",
    quick: Annotated[bool, typer.Option(help="Leave out the speed measurements.")] = False,
    device: Annotated[
        str, typer.Option(metavar="cpu|cuda", help="cuda: also show what links on a GPU leave to the host.")
    ] = "cpu",
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw the roofline of this machine (png, pdf, svg).")
    ] = None,
) -> None:
    """Show the abilities of this build and this machine: a first look when something is slow or missing."""
    from .doctor import doctor as command

    console.run(lambda: command(lattice=lattice, quick=quick, device=device, json=json, plot=plot), json)


@app.command()
def tune(
    run_file: Annotated[Path, typer.Argument(metavar="RUN.toml", help="A run file of generate or measure.")],
    json: Json = False,
    multigrid: Annotated[
        bool,
        typer.Option("--multigrid", help="Print a solver table with the fastest multigrid; nothing is kept."),
    ] = False,
) -> None:
    """Find the fastest ways of a run file's kernels, and keep them in the user's cache folder."""
    if multigrid:
        from .tune_multigrid import tune_multigrid

        console.run(lambda: tune_multigrid(run_file, json=json), json)
        return
    from .tune import tune as command

    console.run(lambda: command(run_file, json=json), json)


@app.command(
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}
)
def bench(context: typer.Context) -> None:
    """Speed of the kernels beside what the machine can do, e.g. bench wilson --json."""
    from .bench import bench as command

    console.run(lambda: command(context.args), "--json" in context.args)


@app.command()
def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for everything.")] = Path("demo"),
    small: Annotated[
        bool, typer.Option("--small", help="On 4^3 lattices: the steps in a minute, and no physics.")
    ] = False,
    json: Json = False,
) -> None:
    """From nothing to hadron masses and g_A in minutes: generate, measure, analyze, a report to open."""
    from .demo import demo as command

    console.run(lambda: command(output, small=small, json=json), json)


@app.command()
def docs(
    build: Annotated[bool, typer.Option("--build", help="Build the site first, in about a minute.")] = False,
    path: Annotated[bool, typer.Option("--path", help="Print where it is, and open nothing.")] = False,
    json: Json = False,
) -> None:
    """Open the documents in a browser: searchable pages of all guides, names, keys and commands."""
    from .docs import docs as command

    console.run(lambda: command(build=build, path_only=path, json=json), json)


@app.callback(invoke_without_command=True)
def _options(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        from ..ground.version import __version__

        typer.echo(f"trellis {__version__}")
        raise typer.Exit(0)


@functools.cache
def program() -> Callable[[], object]:
    """Return the program with all its commands, which takes a tenth of a second to make."""
    return typer.main.get_command(app)


def main() -> None:
    """Entry point of the `trellis` program."""
    try:
        program()()
    except SystemExit as end:
        # Where Ctrl-C comes before a command itself runs, typer ends with status 130 and says nothing.
        if isinstance(getattr(end.__context__, "__cause__", None), KeyboardInterrupt):
            sys.stderr.write("error: interrupted\n")
        raise


if __name__ == "__main__":
    main()
