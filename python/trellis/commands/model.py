"""trellis model prints published figures, forecasts, choices, plans and comparisons by the scaling model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from rich import box
from rich.table import Table

from ..campaign.files import load_campaign, load_machine
from ..campaign.simulator import Simulator
from ..campaign.times import parse_seconds, show_seconds
from ..campaign.utilisation import simulate
from ..ground.crash_safe_files import write_text
from ..ground.errors import BadArgument
from ..model import choose as choices
from ..model import compare as comparisons
from ..model import forecast as forecasts
from ..model import plan as plans
from ..model import tables
from ..model.machine import load_hardware
from ..model.workloads.iterations import IterationCounts, both, parse_iterations, read_iterations
from ..model.workloads.runs import extents_of, load_any_run, steps_of
from .arguments import parse_lattice
from .output import Output

_MOST_NODES = 1024


def published(name: str | None, *, markdown: bool, json: bool) -> int:
    """Print the table of published figures, or a part of it.

    Returns
    -------
    int
        Exit status: 0.
    """
    from ..model.published import table as published_table

    output = Output(json)
    rows = published_table.published_rows(name)
    summary = published_table.summary(rows)
    output.result({"rows": published_table.as_json(rows), "summary": summary})
    if markdown:
        output.line(published_table.markdown(rows).rstrip("\n"))
        return 0
    table = _table(("part", "figure", "published", "model", "deviation", "kind"))
    for row in rows:
        table.add_row(
            row.group,
            row.figure,
            published_table.show_number(row.published),
            published_table.show_number(row.model),
            published_table.show_agreement(row),
            row.kind,
        )
    output.console.print(table, markup=False)
    words = []
    if summary["numbers"]:
        words.append(
            f"{summary['numbers']} numbers, rms {100 * summary['rms']:.1f} %, "
            f"{summary['within_10_percent']} within 10 %, worst {100 * summary['worst']:.0f} %"
        )
    if summary["statements"]:
        words.append(f"{summary['statements_that_agree']} of {summary['statements']} statements agree")
    output.line(f"checked and predicted: {'; '.join(words) or 'nothing that is printed here'}")
    return 0


def forecast(
    run_file: Path,
    *,
    machine: str,
    nodes: str,
    iterations: str | None,
    past: Path | None,
    lattice: str | None,
    grid: str | None,
    order: str | None,
    ranks_per_node: int | None,
    threads: int,
    weak: bool,
    csv: Path | None,
    latex: Path | None,
    page: Path | None,
    production: int | None,
    json: bool,
) -> int:
    """Forecast a run file on a machine, print the table, and write the files that are asked for."""
    output = Output(json)
    run, hardware, counts = load_any_run(run_file), load_hardware(machine), _iterations(iterations, past)
    chosen = parse_nodes(nodes)
    if production is not None and production not in chosen:
        raise BadArgument(f"--production: expected one of --nodes {nodes}, found {production}")
    if ranks_per_node is not None or threads > 1:
        per_node = ranks_per_node or max(1, hardware.device.count // threads)
        hardware = hardware.with_ranks(per_node, threads)

    def table_of(is_weak: bool) -> forecasts.ForecastTable:
        return forecasts.forecast(
            run,
            hardware,
            chosen,
            counts,
            lattice=parse_lattice(lattice),
            grid=_parse_grid(grid),
            order=order,
            weak=is_weak,
        )

    found = table_of(weak)
    output.result(forecasts.as_json(found))
    _print_forecasts(output, found)
    if csv is not None:
        write_text(csv, tables.csv_text(found))
    if latex is not None:
        write_text(latex, tables.latex_text(found, production=production))
    if page is not None:
        from ..model.page import write_page

        write_page(found, page, weak=None if weak else table_of(True), device=hardware.device)
    return 0


def _print_forecasts(output: Output, found: forecasts.ForecastTable) -> None:
    """Print what fits 80 columns; CSV and JSON have all."""
    table = _table(("nodes", "grid", "seconds", "band", "gain", "eff.", "GiB", "node h", "limit"))
    for row in found.rows:
        of = tables.cells(row)
        memory = of["memory_gib"] + ("" if row.fits else "!")
        table.add_row(
            of["nodes"],
            of["grid"],
            of["seconds"],
            f"{of['low']}-{of['high']}",
            of["speed_up"],
            of["efficiency"],
            memory,
            of["node_hours"],
            of["limit"],
        )
    output.console.print(table, markup=False)
    if not all(row.fits for row in found.rows):
        output.warning("! more memory a rank than there is")
    output.line(f"seconds of a {found.step}; iterations: {found.iterations}")
    if found.is_nominal:
        output.line("nominal: nothing was measured on this machine, and forecasts are good to a factor 2")
    for count, reason in found.left_out.items():
        output.warning(f"{count} nodes: {reason}")


def choose(
    run_file: Path,
    *,
    machine: str,
    within: str | None,
    efficiency: float | None,
    steps: int | None,
    most_nodes: int | None,
    iterations: str | None,
    past: Path | None,
    lattice: str | None,
    json: bool,
) -> int:
    """Choose a way to run for a deadline or an efficiency, and print it."""
    output = Output(json)
    run, hardware, counts = load_any_run(run_file), load_hardware(machine), _iterations(iterations, past)
    extents = extents_of(run, parse_lattice(lattice))
    most = most_nodes or min(hardware.nodes.count, _MOST_NODES)
    found = choices.candidates(run, hardware, counts, extents, most)
    count = steps or steps_of(run)
    seconds = None if within is None else parse_seconds(within)
    chosen = choices.choose(found, within=seconds, steps=count, efficiency=efficiency)
    row = chosen.forecast
    total = None if count is None else count * row.seconds
    output.result(
        {
            "nodes": row.nodes,
            "ranks": row.ranks,
            "grid": list(row.grid),
            "order": chosen.order_in_words,
            "ranks_of_a_node": list(row.box),
            "link": chosen.link,
            "seconds": row.seconds,
            "low": row.low,
            "high": row.high,
            "efficiency": row.efficiency,
            "limit": row.limit,
            "steps": count,
            "total_seconds": total,
            "node_hours": None if count is None else count * row.node_hours,
            "nominal": not hardware.is_calibrated,
        }
    )
    output.line(f"{row.nodes} nodes, {row.ranks} ranks, machine.grid = {list(row.grid)}")
    output.line(f"ranks on nodes: {chosen.order_in_words}; to other nodes: {chosen.link or 'no link'}")
    output.line(
        f"{row.seconds:.4g} s a step ({row.low:.3g} to {row.high:.3g}), efficiency {row.efficiency:.2f}, "
        f"limited by {row.limit}"
    )
    if total is not None and count is not None:
        output.line(f"{count} steps: {show_seconds(total)}, {count * row.node_hours:.4g} node hours")
    return 0


def plan(file: Path, *, machine: str, iterations: str | None, lattice: str | None, json: bool) -> int:
    """Simulate a campaign with durations by the model, and print node hours and the course."""
    output = Output(json)
    campaign, nodes, hardware = load_campaign(file), load_machine(machine), load_hardware(machine)
    tasks, estimates = plans.with_estimates(
        campaign.tasks, hardware, parse_iterations(iterations), lattice=parse_lattice(lattice)
    )
    figures = simulate(nodes, tasks, naive=False)
    runs = Simulator(nodes, tasks).run().runs
    hours = math.fsum((run.end - run.begin) * len(set(run.placement.nodes)) for run in runs) / 3600
    output.result(
        {
            **figures,
            "run": "model plan",
            "campaign": campaign.name,
            "task_node_hours": hours,
            "estimates_by_the_model": estimates,
            "gantt": [
                {"task": run.task, "begin": run.begin, "end": run.end, "nodes": list(run.placement.nodes)}
                for run in runs
            ],
            "nominal": not hardware.is_calibrated,
        }
    )
    output.line(
        f"{campaign.name} on {nodes.name}: {show_seconds(figures['makespan_seconds'])}, "
        f"{hours:.4g} node hours of tasks; {len(estimates)} of {len(tasks)} tasks by the model"
    )
    for line in gantt_lines([(run.task, run.begin, run.end) for run in runs]):
        output.line(line)
    return 0


def gantt_lines(runs: Sequence[tuple[str, float, float]], *, width: int = 50, most: int = 40) -> list[str]:
    """Return a Gantt chart of text: a line for each task in the order of starts, at most so many."""
    if not runs:
        return []
    end = max(run[2] for run in runs) or 1.0
    ordered = sorted(runs, key=lambda run: (run[1], run[2]))
    lines = []
    for name, begin, stop in ordered[:most]:
        first = int(width * begin / end)
        length = max(1, round(width * (stop - begin) / end))
        lines.append(
            f"{name[:28]:28} |{' ' * first}{'#' * length}".ljust(width + 30)
            + f"| {show_seconds(stop - begin)}"
        )
    if len(ordered) > most:
        lines.append(f"... and {len(ordered) - most} more tasks")
    return lines


def compare(result: Path, *, machine: str, iterations: str | None, json: bool) -> int:
    """Compare a result with its forecast; the exit status is 0 whatever comes out."""
    output = Output(json)
    found = comparisons.compare(result, load_hardware(machine), parse_iterations(iterations))
    row = found.forecast
    output.result(
        {
            "step": found.step,
            "steps": found.steps,
            "measured_seconds": found.measured,
            "forecast_seconds": row.seconds,
            "low": row.low,
            "high": row.high,
            "ratio": found.ratio,
            "verdict": found.verdict,
            "limit": row.limit,
            "advice": found.advice(),
        }
    )
    output.line(
        f"a {found.step}: measured {found.measured:.4g} s, forecast {row.seconds:.4g} s "
        f"({row.low:.3g} to {row.high:.3g}): {found.ratio:.2f} times the forecast"
    )
    words = {
        "within": "within the band",
        "slower": "slower than the machine should be",
        "faster": "faster than the band",
    }
    output.line(words[found.verdict])
    for line in found.advice():
        output.line(f"  {line}")
    return 0


def parse_nodes(text: str) -> list[int]:
    """Return the numbers of "1,2,4".

    Raises
    ------
    BadArgument
        They are no positive numbers.
    """
    try:
        found = [int(part) for part in text.split(",")]
    except ValueError:
        found = []
    if not found or any(n < 1 for n in found):
        raise BadArgument(f"--nodes: expected numbers above 0 such as 1,2,4, found {text!r}")
    return found


def _parse_grid(text: str | None) -> tuple[int, int, int, int] | None:
    return parse_lattice(text, "--grid")


def _iterations(text: str | None, past: Path | None) -> IterationCounts:
    return both(parse_iterations(text), None if past is None else read_iterations(past))


def _table(headings: Sequence[str]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False, padding=(0, 1, 0, 0))
    for heading in headings:
        table.add_column(heading, overflow="fold")
    return table
