"""The model gives estimates of a campaign's stages, which the campaign's simulator takes."""

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
from .phases import Extents
from .workloads.iterations import IterationCounts, both, parse_iterations
from .workloads.runs import AnyRun, extents_of, process_grid, run_of, steps_of


def with_estimates(
    tasks: Mapping[str, Task],
    machine: HardwareModel,
    iterations: IterationCounts,
    *,
    lattice: Extents | None = None,
    only_asked: bool = False,
) -> tuple[dict[str, Task], dict[str, float]]:
    """Return the tasks with durations by the model where they have a run file and no estimate of their own.

    Parameters
    ----------
    iterations, lattice
        Tasks that say none themselves take these.
    only_asked
        True: tasks with `estimate = "model"` alone; others without an estimate stay without.

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
    known: dict[tuple[object, ...], float] = {}
    for name, task in tasks.items():
        if not task.run_file or not any(_is_open(way, only_asked) for way in task.alternatives):
            continue
        alternatives = []
        for way in task.alternatives:
            if not _is_open(way, only_asked):
                alternatives.append(way)
                continue
            key = (task.run_file, way.request.ranks, way.request.threads, way.by_model)
            if key not in known:
                known[key] = _seconds(task, way, machine, iterations, lattice)
            alternatives.append(replace(way, estimate=known[key], is_estimated=True))
        found[name] = replace(task, alternatives=tuple(alternatives))
        estimates[name] = alternatives[0].estimate
    return found, estimates


def _is_open(way: Alternative, only_asked: bool) -> bool:
    return not way.is_estimated and (way.by_model is not None or not only_asked)


def _seconds(
    task: Task,
    way: Alternative,
    machine: HardwareModel,
    iterations: IterationCounts,
    lattice: Extents | None,
) -> float:
    """Return the duration of a task: all steps of its run file on the ranks that it asks for."""
    asked, request = way.by_model, way.request
    try:
        if asked is not None:
            iterations = both(parse_iterations(asked.iterations), iterations)
            lattice = _parse_extents(asked.lattice) or lattice
        run = run_of(parse_toml(task.run_file, task.name), task.name, task.run_file)
        extents = extents_of(run, lattice)
        grid = process_grid(run, extents, request.ranks)
        threads = request.threads if machine.device.kind == "cpu" else 1
        most = max(1, machine.ranks_per_node // threads)
        nodes = request.nodes or math.ceil(request.ranks / most)
        spread = machine.with_ranks(min(most, math.ceil(request.ranks / nodes)), threads)
        once = one_forecast(run, spread, nodes, extents, grid, iterations)
    except BadArgument as error:
        raise BadArgument(f"task {task.name}: {error}") from error
    return _steps(run) * once.seconds


def _parse_extents(text: str | None) -> Extents | None:
    if text is None:
        return None
    found = tuple(int(part) if part.isdigit() else 0 for part in text.split("."))
    if len(found) != 4 or min(found) < 1:
        raise BadArgument(f"estimate.lattice: expected four numbers such as 8.8.8.16, found {text!r}")
    return found


def _steps(run: AnyRun) -> int:
    """Return the steps of a run; files of configurations count one each, patterns one."""
    if isinstance(run, MeasureRun):
        files = run.configurations.files
        return len(files) if isinstance(files, list) else 1
    return steps_of(run) or 1
