"""Estimates of a campaign's stages by the model, for the campaign's simulator."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from ..campaign.model import Alternative, Task
from ..ground.errors import BadArgument
from ..run_files import MeasureRun
from ..run_files.loading import parse_toml
from .forecast import one_forecast
from .machine import HardwareModel
from .mapping import least_surface_grid
from .phases import Extents
from .workloads.iterations import IterationCounts
from .workloads.runs import AnyRun, extents_of, run_of, steps_of


def with_estimates(
    tasks: Mapping[str, Task],
    machine: HardwareModel,
    iterations: IterationCounts,
    *,
    lattice: Extents | None = None,
) -> tuple[dict[str, Task], dict[str, float]]:
    """Return the tasks with durations by the model where they have a run file and no estimate of their own.

    Returns
    -------
    tasks, estimates
        All tasks, and the durations in seconds of those that the model gave.

    Raises
    ------
    BadArgument
        A task with a run file cannot be forecast.
    """
    found, estimates = dict(tasks), {}
    known: dict[tuple[str, int], float] = {}
    for name, task in tasks.items():
        if not task.run_file or all(a.is_estimated for a in task.alternatives):
            continue
        alternatives = []
        for alternative in task.alternatives:
            key = (task.run_file, alternative.request.ranks)
            if not alternative.is_estimated and key not in known:
                known[key] = _seconds(task, alternative, machine, iterations, lattice)
            seconds = alternative.estimate if alternative.is_estimated else known[key]
            alternatives.append(replace(alternative, estimate=seconds, is_estimated=True))
        found[name] = replace(task, alternatives=tuple(alternatives))
        estimates[name] = alternatives[0].estimate
    return found, estimates


def _seconds(
    task: Task,
    alternative: Alternative,
    machine: HardwareModel,
    iterations: IterationCounts,
    lattice: Extents | None,
) -> float:
    """Return the duration of a task: all steps of its run file on the ranks that it asks for."""
    try:
        run = run_of(parse_toml(task.run_file, task.name), task.name, task.run_file)
        extents = extents_of(run, lattice)
        nodes = max(1, math.ceil(alternative.request.ranks / machine.ranks_per_node))
        grid = least_surface_grid(extents, nodes * machine.ranks_per_node)
        once = one_forecast(run, machine, nodes, extents, grid, iterations)
    except BadArgument as error:
        raise BadArgument(f"task {task.name}: {error}") from error
    return _steps(run) * once.seconds


def _steps(run: AnyRun) -> int:
    """Return the steps of a run; files of configurations count one each, patterns one."""
    if isinstance(run, MeasureRun):
        files = run.configurations.files
        return len(files) if isinstance(files, list) else 1
    return steps_of(run) or 1
