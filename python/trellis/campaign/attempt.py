"""An attempt of a task is launched here, and its end gets a meaning."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ..ground.crash_safe_files import make_folder
from ..ground.launched_ranks import without_launcher
from .formats import SHELL, fill_at_launch
from .launchers.base import MANAGER, MARKER, Ended, Handle, Launch
from .model import Campaign, Failure, Machine, Output, Placement, Task
from .outputs import problem_of, renamed_outputs, set_aside, temporary_name

_NO_MEMORY = re.compile(
    rb"std::bad_alloc|MemoryError|OutOfMemory|[Oo]ut of memory|oom-kill|cudaErrorMemoryAllocation"
    rb"|Cannot allocate memory"
)

_TOO_LONG = {
    "timeout": "ran longer than its timeout",
    "hang": "ran so many times its estimate (hang_factor) that it is taken for hanging",
    "silence": "neither log nor outputs grew",
}


@dataclass(slots=True)
class Attempt:
    """This is a task that runs.

    Attributes
    ----------
    deadline, grown_at, size
        Time-outs need them, by the monotonic clock; size is that of log and outputs at the last look.
    limit
        The deadline comes from this: the task's "timeout", or "hang" from the campaign's hang limit.
    killed_for
        The manager ended it for this reason: "timeout", "hang", "silence", "shutdown"; "taken over" if
        another manager has its task now; "" if it did not.
    is_alive
        True if it had written anything when it was ended.
    """

    task: Task
    number: int
    placement: Placement
    estimate: float
    outputs: list[tuple[Output, str, bool]]  # these are output, path, whether the manager renames it
    log: Path
    started: float
    started_at: float
    handle: Handle | None = None
    deadline: float | None = None
    limit: str = "timeout"
    killed_for: str = ""
    is_alive: bool = True
    grown_at: float = 0.0
    size: int = -1
    inputs: dict[str, Any] = field(default_factory=dict)


def safe_name(task: str) -> str:
    """Return a file name for logs and run files of a task; long names end in a hash."""
    name = quote(task, safe="=+,@ ")
    return name if len(name) < 200 else name[:150] + "-" + hashlib.sha256(task.encode()).hexdigest()[:12]


def outputs_of(task: Task, number: int, alternative: int, state: Path) -> list[tuple[Output, str, bool]]:
    """Return the outputs with the paths that this attempt writes.

    A task without outputs has one: an empty file that the shell around it makes when its status is 0.
    """
    if not task.outputs:
        path = state / "ended" / safe_name(task.name)
        marker = Output(str(path), min_bytes=0)
        return [(marker, temporary_name(marker, number), True)]
    renamed = renamed_outputs(task, alternative)
    return [
        (output, temporary_name(output, number) if i in renamed else output.path, i in renamed)
        for i, output in enumerate(task.outputs)
    ]


def prepare(
    attempt: Attempt, campaign: Campaign, machine: Machine, *, keeps_whole: bool
) -> tuple[Launch, list[str]]:
    """Make folders, set old files aside and fill in the command.

    Parameters
    ----------
    keeps_whole
        Outputs that the program itself renames are whole when they are there: a program that goes on where
        an attempt was ended (--resume) finds them again.

    Returns
    -------
    launch, aside
        The launcher gets the first; the second has the names of files that were set aside.
    """
    root, state, task = Path(campaign.root), Path(campaign.state), attempt.task
    aside = []
    for output, written, is_renamed in attempt.outputs:
        make_folder((root / output.path).parent)
        if keeps_whole and output.is_atomic and not is_renamed:
            if problem_of(root / output.path, output)[0] is None:
                continue
        # Earlier attempts that were killed with their managers left the files that they had written.
        earlier = (root / temporary_name(output, n) for n in range(attempt.number) if is_renamed)
        for path in {root / output.path, root / written, *earlier}:
            moved = set_aside(path)
            if moved is not None:
                aside.append(str(moved))
    if task.makes is not None and (moved := set_aside(root / task.makes)) is not None:
        aside.append(str(moved))  # an older run's further tasks are not this attempt's
    way = task.alternatives[attempt.placement.alternative]
    values = launch_values(attempt, state)
    if task.run_file:
        path = Path(str(values["run_file"]))
        make_folder(path.parent)
        path.write_text(task.run_file)
    written_names = [written for _, written, _ in attempt.outputs]
    words = way.command or task.command
    lines = {2} if words[:2] == SHELL else set()
    command = tuple(
        fill_at_launch(word, values, written_names, f"task {task.name!r}", for_shell=i in lines)
        for i, word in enumerate(words)
    )
    command = machine.batch.inside_container(command)
    if not task.outputs:
        marker = str(root / attempt.outputs[0][1])
        command = ("/bin/sh", "-c", '"$@" && : > "$0"', marker, *command)
    directory = root / task.directory
    make_folder(directory)
    make_folder(attempt.log.parent)
    return Launch(task.name, attempt.number, command, directory, attempt.log), aside


def launch_values(attempt: Attempt, state: Path) -> dict[str, object]:
    """Return the values that {names} of a command have at launch."""
    way = attempt.task.alternatives[attempt.placement.alternative]
    return {
        "ranks": attempt.placement.ranks,
        "threads": way.request.threads,
        "nodes": len(attempt.placement.places),
        "gpus": sum(len(place.gpus) for place in attempt.placement.places),
        "attempt": attempt.number,
        "run_file": state / "run_files" / f"{safe_name(attempt.task.name)}.toml",
    }


def environment_of(attempt: Attempt, campaign: Campaign, machine: Machine, manager: str) -> dict[str, str]:
    """Return the whole environment of an attempt."""
    task, places = attempt.task, attempt.placement.places
    way = task.alternatives[attempt.placement.alternative]
    first = next(node for node in machine.nodes if node.name == places[0].node)
    environment = without_launcher(os.environ)
    environment.update(first.environment)
    environment.update(_joined(first.gpus[gpu].environment for gpu in places[0].gpus))
    if any(node.gpus for node in machine.nodes):
        environment["CUDA_VISIBLE_DEVICES"] = ",".join(map(str, places[0].gpus))
    environment["OMP_NUM_THREADS"] = str(way.request.threads)
    environment["TRELLIS_NODES"] = ",".join(attempt.placement.nodes)
    environment["TRELLIS_CPUS"] = ",".join(map(str, places[0].cpus))
    names = [written for _, written, _ in attempt.outputs]
    values = launch_values(attempt, Path(campaign.state))
    for source in (task.environment, way.environment):
        for name, value in source.items():
            environment[name] = fill_at_launch(value, values, names, f"task {task.name!r}")
    environment[MARKER] = f"{campaign.state}:{task.name}:{attempt.number}"
    environment[MANAGER] = manager
    return environment


def _joined(environments: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """Return one environment for several GPUs; values that differ are joined by commas in their order."""
    values: dict[str, dict[str, None]] = {}
    for environment in environments:
        for name, value in environment.items():
            values.setdefault(name, {})[value] = None
    return {name: ",".join(each) for name, each in values.items()}


def check_outputs(attempt: Attempt, root: Path) -> tuple[str | None, dict[str, dict[str, Any]]]:
    """Return the first fault of the outputs (None: all are valid), and the record {path: facts}."""
    stored: dict[str, dict[str, Any]] = {}
    for output, written, is_renamed in attempt.outputs:
        problem, facts = problem_of(root / written, output)
        if problem is not None:
            return problem, stored
        if is_renamed:
            facts["temporary"] = written
        stored[output.path] = facts
    return None, stored


def publish(attempt: Attempt, root: Path) -> None:
    """Give valid outputs their names.

    The claim has said before that the attempt is done, so that another manager may have done this, too.
    """
    for output, written, is_renamed in attempt.outputs:
        if not is_renamed:
            continue
        try:
            os.replace(root / written, root / output.path)
        except FileNotFoundError:
            if not (root / output.path).exists():
                raise


def classify(attempt: Attempt, ended: Ended, problem: str) -> tuple[Failure, str]:
    """Return the class and reason of a failure. `problem` says what is wrong with the outputs."""
    if attempt.killed_for == "hang" and not attempt.is_alive:
        return Failure.LAUNCHER, "hangs: nothing was written up to the hang limit, as if it had never begun"
    if attempt.killed_for in _TOO_LONG:
        return Failure.TIMEOUT, _TOO_LONG[attempt.killed_for]
    if ended.launcher_error is not None:
        return Failure.LAUNCHER, ended.launcher_error
    if ended.lost_nodes:
        return Failure.NODE, f"lost {', '.join(ended.lost_nodes)}"
    if ended.out_of_memory or _NO_MEMORY.search(log_tail(attempt.log)):
        return Failure.OUT_OF_MEMORY, "memory was exhausted"
    status = "unknown status" if ended.status is None else f"status {ended.status}"
    return Failure.TASK, f"{status}; {problem}"


def told_failure(content: Mapping[str, Any]) -> str:
    """Return the reason of a failure for people, from its file; it names the log where more is to be read."""
    log = content.get("log")
    return f"{content['reason']}; log: {log}" if log else str(content["reason"])


def log_of(attempt: Attempt) -> str | None:
    """Return the file in which the reason of a failure is to be read; None: there is none.

    Messages of the launcher itself (srun, flux, hq) lie beside the log of the program.
    """
    log = attempt.log
    own = [log.with_name(log.name + suffix) for suffix in (".srun", ".client")]
    for path in (log, *own):
        if path.exists() and path.stat().st_size > 0:
            return str(path)
    return str(log) if log.exists() else None


def log_tail(path: Path, count: int = 4096) -> bytes:
    """Return the last bytes of a log."""
    try:
        with open(path, "rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(-min(file.tell(), count), os.SEEK_CUR)
            return file.read()
    except OSError:
        return b""


def grown_size(attempt: Attempt, root: Path) -> int:
    """Return the number of bytes of log and outputs; a hanging task adds none."""
    total = 0
    for path in (attempt.log, *(root / written for _, written, _ in attempt.outputs)):
        try:
            total += path.stat().st_size
        except OSError:
            continue
    return total
