"""This module runs trellis campaign plan, run, status, retry, simulate."""

from __future__ import annotations

import contextlib
import fnmatch
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.live import Live
from rich.table import Table
from rich.text import Text

from ..campaign.claims import Claims
from ..campaign.files import load_campaign, load_machine
from ..campaign.model import Campaign, Machine, tasks_for_model
from ..campaign.shapes import check_requests
from ..campaign.status import read_status
from ..campaign.times import show_seconds
from ..campaign.utilisation import simulate as simulate_campaign
from ..ground.errors import BadArgument
from ..runs.reporting import counted
from ..runs.streams import outliving_readers
from .output import Output


def load_for_machine(file: Path, machine: str) -> tuple[Campaign, Machine]:
    """Return a campaign with the estimates that it leaves to the scaling model, and its machine.

    Raises
    ------
    BadArgument
        The model cannot forecast a task, or the machine has no tables for it.
    """
    campaign, where = load_campaign(file), load_machine(machine)
    if tasks_for_model(campaign.tasks):
        from ..model.machine import load_hardware
        from ..model.plan import with_estimates
        from ..model.workloads.iterations import parse_iterations

        campaign.tasks, _ = with_estimates(
            campaign.tasks, load_hardware(machine), parse_iterations(None), only_asked=True
        )
    return campaign, where


def plan(file: Path, *, machine: str, json: bool) -> int:
    """Check a campaign against a machine and show the expected course, with estimates taken as true."""
    output = Output(json)
    campaign, where = load_for_machine(file, machine)
    check_requests(campaign.tasks.values(), where)
    exact = {name: replace(task, spread=0.0) for name, task in campaign.tasks.items()}
    ideal = replace(where, start_up=replace(where.start_up, bad_fraction=0.0))
    found = simulate_campaign(ideal, exact, naive=False)
    groups = Counter(task.group for task in campaign.tasks.values())
    result = {
        **found,
        "run": "plan",
        "campaign": campaign.name,
        "groups": dict(groups),
        "state": campaign.state,
    }
    output.result(result)
    tasks, nodes = counted(len(campaign.tasks), "task"), counted(len(where.usable), "node")
    output.line(f"{campaign.name}: {tasks} on {where.name} ({nodes})")
    for group, count in groups.items():
        one = next(task for task in campaign.tasks.values() if task.group == group)
        need = one.request
        output.line(
            f"  {count:6d} x {group}: {counted(need.ranks, 'rank')} x {counted(need.threads, 'core')}, "
            f"{need.gpus:g} GPU{'' if need.gpus == 1 else 's'}, "
            f"about {show_seconds(one.estimate)}"
        )
    output.line(
        f"expected {show_seconds(found['makespan_seconds'])}; no order ends before "
        f"{show_seconds(found['lower_bound_seconds'])}"
    )
    if found["tasks_held"]:
        output.warning(f"{found['tasks_left']} tasks do not fit one allocation; the next goes on with them")
    return 0


def run(file: Path, *, machine: str, seconds: float | None, json: bool) -> int:
    """Run a campaign to its end or that of the allocation; return 0 if nothing failed."""
    from ..campaign.manager import Manager
    from .campaign_view import CampaignView

    output = Output(json)
    campaign, where = load_for_machine(file, machine)
    manager = Manager(campaign, where, say=output.line, seconds=seconds)
    with outliving_readers(lambda _: manager.stop()), CampaignView(manager, output):
        found = manager.run()
    result = {
        "run": "campaign",
        "campaign": campaign.name,
        "state": campaign.state,
        "manager": manager.claims.id,
        "tasks": found.counts,
        "attempts": found.started,
        "failed": found.failed,
        "reason": found.reason,
        "seconds": found.seconds,
    }
    output.result(result)
    unfinished = found.reason in ("drained", "interrupted") or "held" in found.counts
    way_on = "; the same command goes on" if unfinished else ""
    output.stopped(f"{found.reason} after {show_seconds(found.seconds)}: {_counted(found.counts)}{way_on}")
    return 1 if found.failed else 0


def _counted(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.items()) or "no tasks"


def status(file: Path, *, watch: bool, json: bool) -> int:
    """Print the state of a campaign once, or until it is over."""
    output = Output(json)
    campaign = load_campaign(file)
    found = read_status(campaign)
    if not watch or json:
        output.result(found)
        if found["running"] or found["failed"] or found["skipped"]:
            output.console.print(_status_table(found))
        else:
            output.line(f"{found['campaign']}: {_counted(found['tasks'])}")
        return 0
    with Live(_status_table(found), console=output.console, refresh_per_second=2) as live:
        with contextlib.suppress(KeyboardInterrupt):
            while set(found["tasks"]) - {"done", "failed", "skipped"}:
                time.sleep(1.0)
                found = read_status(load_campaign(file))
                live.update(_status_table(found))
    return 0


def _status_table(found: dict[str, Any]) -> Table:
    """Return the table of a state; names and reasons are texts, whatever brackets are in them."""
    table = Table(title=f"{found['campaign']}: {_counted(found['tasks'])}", title_justify="left")
    for column in ("task", "state", "where or why"):
        table.add_column(column)
    for entry in found["running"][:30]:
        nodes = ", ".join(place[0] for place in entry["places"])
        table.add_row(Text(entry["task"]), f"running (attempt {entry['attempt']})", Text(nodes))
    for state in ("failed", "skipped"):
        for name, reason in list(found[state].items())[:30]:
            table.add_row(Text(name), state, Text(reason))
    return table


def retry(file: Path, patterns: list[str], *, nodes: list[str], json: bool) -> int:
    """Make failures count no more, and take nodes out of quarantine."""
    output = Output(json)
    campaign = load_campaign(file)
    state = Path(campaign.state)
    claims = Claims(state, lease_seconds=campaign.lease_seconds)
    failed = {name: h for name, h in claims.histories().items() if h.end == "failed"}
    chosen = [n for n in failed if not patterns or any(n == p or fnmatch.fnmatchcase(n, p) for p in patterns)]
    if patterns and not chosen:
        raise BadArgument(
            f"no failed task matches {', '.join(patterns)}; failed: {', '.join(failed) or 'none'}"
        )
    for node in nodes:
        path = state / "quarantine" / f"{node}.json"
        if not path.is_file():
            raise BadArgument(f"{node} is not in quarantine")
        path.unlink()
    for name in chosen:
        claims.allow_retry(name, failed[name].attempt)
    output.result({"run": "retry", "tasks": chosen, "nodes": nodes})
    names = f": {', '.join(chosen[:20])}" if chosen else ", as none failed"
    output.line(f"{counted(len(chosen), 'task')} may run again{names}")
    return 0


def simulate(file: Path, *, machine: str, seed: int, period: float, naive: bool, json: bool) -> int:
    """Run a campaign on a simulated machine."""
    output = Output(json)
    campaign, where = load_for_machine(file, machine)
    start = time.perf_counter()
    found = simulate_campaign(where, campaign.tasks, seed=seed, period=period, naive=naive)
    found["seconds"] = time.perf_counter() - start
    output.result(found)
    done, bound = found["tasks_done"], found["lower_bound_seconds"]
    output.line(
        f"{done} of {found['tasks']} tasks in {show_seconds(found['makespan_seconds'])} on {where.name}"
    )
    output.line(f"no order ends before {show_seconds(bound)}")
    if found["gpus"]:
        idle, until_last = found["gpu_idle_fraction"], found["gpu_idle_fraction_until_last_gpu_task"]
        is_used = any(task.request.gpus_per_rank for task in campaign.tasks.values())
        more = f", until the last GPU task ended {100 * until_last:.1f} %" if is_used else ""
        output.line(f"GPUs idle: {100 * idle:.1f} %{more}")
    if found["nodes_usable"]:
        output.line(f"all usable nodes busy after {show_seconds(found['startup_seconds'])}")
    else:
        output.line("no node was ever usable: all were bad, or joined too late")
    if naive:
        output.line(f"bundles with barriers: {show_seconds(found['naive_makespan_seconds'])}")
    return 0
