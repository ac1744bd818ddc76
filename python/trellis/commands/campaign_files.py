"""This module runs trellis campaign report, import-metaq, submit."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from ..campaign.allocations import batch_script
from ..campaign.allocations import submit as submit_allocations
from ..campaign.files import load_campaign, load_machine, parse_campaign
from ..campaign.metaq import read_directory
from ..campaign.metaq_import import campaign_text
from ..campaign.report import write_report
from ..campaign.times import show_seconds
from ..ground.errors import BadArgument, FileError
from .output import Output, naming_standard_output


def report(file: Path, page: Path | None, *, json: bool) -> int:
    """Write the report of a campaign from the records of all its managers."""
    output = Output(json)
    campaign = load_campaign(file)
    page = page or Path(campaign.state) / "report.html"
    try:
        figures = write_report(campaign, page)
    except FileError:
        raise  # it says itself what is wrong
    except OSError as error:
        raise FileError(f"{page}: {error.strerror}; --output puts the page elsewhere") from error
    output.result({"run": "report", "campaign": campaign.name, "page": str(page), **figures})
    done, idle = figures["counts"]["done"], figures["gpu_idle_fraction_until_last_gpu_task"]
    output.line(f"{done} of {figures['tasks']} tasks done in {show_seconds(figures['seconds'])}")
    if idle is not None:
        output.line(f"GPUs idle until the last GPU task ended: {100 * idle:.1f} %")
    for reason in figures["unreadable_records"]:
        output.warning(f"not in the report: {reason}")
    output.line(str(page))
    return 0


def import_metaq(
    folder: Path, file: Path, *, name: str | None, machine: str, strict: bool, cores_per_node: int, json: bool
) -> int:
    """Write a campaign file for the scripts of a METAQ directory; the directory stays as it is."""
    output = Output(json)
    if file.exists():
        raise BadArgument(f"{file} is there already; it is not overwritten")
    found = read_directory(folder)
    if not found.tasks:
        raise BadArgument(f"{folder}: nothing in priority/ and todo/")
    chosen = name or re.sub(r"^[^A-Za-z0-9]+|[^A-Za-z0-9._-]", "-", file.stem).lstrip("-") or "metaq"
    text = campaign_text(found, chosen, machine=machine, strict=strict, cores_per_node=cores_per_node)
    parse_campaign(text, file.parent, str(file))
    file.write_text(text, encoding="utf-8")
    warnings = [*found.warnings, *(f"{task.path}: {text}" for task in found.tasks for text in task.warnings)]
    for text in warnings:
        output.warning(text)
    output.result({"run": "import-metaq", "file": str(file), "tasks": len(found.tasks), "warnings": warnings})
    output.line(f"{file}: {len(found.tasks)} tasks")
    return 0


def submit(
    file: Path,
    *,
    machine: str,
    allocations: int,
    nodes: int | None,
    options: list[str],
    dry_run: bool,
    json: bool,
) -> int:
    """Submit allocations, one after the other until the campaign is done; or show their batch script."""
    output = Output(json)
    campaign, where = load_campaign(file), load_machine(machine)
    if dry_run:
        script = batch_script(campaign, file, where, machine, options=options, nodes=nodes)
        output.result({"run": "submit", "campaign": campaign.name, "job": None, "script": script})
        if not json:
            with naming_standard_output():
                sys.stdout.write(script)
                sys.stdout.flush()
        return 0
    job = submit_allocations(
        campaign, file, where, machine, allocations=allocations, options=options, nodes=nodes
    )
    output.result({"run": "submit", "campaign": campaign.name, "job": job, "allocations": allocations})
    output.line(f"job {job}, at most {allocations} allocations")
    return 0
