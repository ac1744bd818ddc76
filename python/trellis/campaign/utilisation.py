"""This module has idle fractions and the like, of simulated and of real attempts."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .model import Machine, Place, Placement, Task
from .records import read_records, records_of
from .simulator import Outcome, Run, Simulator, lower_bound, naive_bundling


def recorded_runs(state: Path) -> list[Run]:
    """Return the attempts of all managers of a campaign, in seconds since the first began."""
    rows: list[Any] = []
    for path in records_of(state):
        with read_records(path) as base:
            rows += base.execute(
                "SELECT task, places, started, ended, outcome FROM attempt WHERE ended IS NOT NULL"
            ).fetchall()
    first = min((row["started"] for row in rows), default=0.0)
    runs = []
    for row in rows:
        places = tuple(
            Place(node, ranks, tuple(cpus), tuple(gpus), share)
            for node, ranks, cpus, gpus, share in json.loads(row["places"])
        )
        begin, end = row["started"] - first, row["ended"] - first
        runs.append(Run(row["task"], Placement(places), begin, end, row["outcome"]))
    return runs


def gpu_idle(runs: Sequence[Run], gpus: int, until: float) -> float | None:
    """Return 1 - (GPU seconds of work that counted) / (GPUs * time); None without GPUs."""
    if not gpus or until <= 0:
        return None
    used = sum(
        run.placement.gpus * max(0.0, min(run.end, until) - run.begin)
        for run in runs
        if run.outcome == "done"
    )
    return 1.0 - used / (gpus * until)


def last_gpu_end(runs: Sequence[Run]) -> float:
    return max((r.end for r in runs if r.outcome == "done" and r.placement.gpus), default=0.0)


def blocks_kept(machine: Machine, placements: Sequence[Placement]) -> float:
    """Return the fraction of the attempts on several nodes that lie within one block."""
    block = {node.name: node.block for node in machine.nodes}
    several = [p for p in placements if len(p.places) > 1]
    if not several:
        return 1.0
    return sum(len({block[n] for n in p.nodes}) == 1 for p in several) / len(several)


def startup_seconds(outcome: Outcome) -> float:
    """Return the time at which the last of the used nodes began its first task."""
    first: dict[str, float] = {}
    for run in outcome.runs:
        for node in run.placement.nodes:
            if node in outcome.ready_at:
                first[node] = min(first.get(node, run.begin), run.begin)
    return max(first.values(), default=0.0)


def _finite(fraction: float | None) -> float:
    """Return the fraction, or 0 where there is nothing that could idle: no GPUs, or no task on them."""
    return 0.0 if fraction is None else fraction


def simulate(
    machine: Machine, tasks: Mapping[str, Task], *, seed: int = 1, period: float = 0.0, naive: bool = True
) -> dict[str, Any]:
    """Simulate a campaign; return the JSON object of `trellis campaign simulate --json`.

    All numbers are finite. Without GPUs both idle fractions are 0; without tasks on GPUs that until
    the last of them is 0. Where tasks are left and the allocation has no end, the makespan is the
    time of the last event.
    """
    outcome = Simulator(machine, tasks, seed=seed, period=period).run()
    runs = outcome.runs
    # All GPUs of the machine were idle where no node ever joined.
    gpus = sum(len(n.gpus) for n in machine.usable if n.name in outcome.ready_at or not outcome.ready_at)
    done = Counter(run.task for run in runs if run.outcome == "done")
    used = {node for run in runs for node in run.placement.nodes}
    end = outcome.end
    if outcome.left and machine.allocation_seconds is not None:
        end = machine.allocation_seconds
    result: dict[str, Any] = {
        "run": "simulate",
        "makespan_seconds": end,
        "gpu_idle_fraction": _finite(gpu_idle(runs, gpus, end)),
        "gpu_idle_fraction_until_last_gpu_task": _finite(gpu_idle(runs, gpus, last_gpu_end(runs))),
        "startup_seconds": startup_seconds(outcome),
        "tasks_done": len(done),
        "tasks_run_twice": sum(count > 1 for count in done.values()),
        "tasks": len(tasks),
        "tasks_left": outcome.left,
        "tasks_held": outcome.held,
        "attempts_failed": sum(run.outcome == "node" for run in runs),
        "attempts_killed": sum(run.outcome == "killed" for run in runs),
        "gpus": gpus,
        "nodes_usable": len(outcome.ready_at),
        "nodes_never_used": len(set(outcome.ready_at) - used),
        "within_one_block": blocks_kept(machine, [run.placement for run in runs]),
        "lower_bound_seconds": lower_bound(machine, tasks, seed),
        "planning_passes": outcome.passes,
        "longest_pass_seconds": outcome.longest_pass,
        "seed": seed,
        "machine": machine.name,
    }
    if naive:
        bundles = naive_bundling(machine, tasks, seed)
        all_gpus = sum(len(n.gpus) for n in machine.usable)
        result["naive_makespan_seconds"] = max(run.end for run in bundles)
        result["naive_gpu_idle_fraction_until_last_gpu_task"] = _finite(
            gpu_idle(bundles, all_gpus, last_gpu_end(bundles))
        )
    return result
