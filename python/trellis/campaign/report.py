"""`trellis campaign report` makes one HTML page about a campaign; it refers to nothing outside itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from ..ground.crash_safe_files import make_folder, write_text
from ..ground.errors import FileError
from . import drawings
from .history import History, accuracy, gpu_idle_until_last, idle_by_cause, last_attempts, read_history
from .model import Campaign, Task
from .times import show_seconds

_LISTED_FAILURES = 200
_LISTED_EVENTS = 500
_NO_FAILURE = ("done", "running", "released")


def summarize(history: History, tasks: Mapping[str, Task]) -> dict[str, Any]:
    """Return the figures of the report as one JSON object."""
    last = last_attempts(history)
    names = {**dict.fromkeys(tasks), **dict.fromkeys(last)}
    counts = Counter({"done": 0})
    for name in names:
        outcome = last[name].outcome if name in last else "waiting"
        if name in history.done:
            outcome = "done"
        counts[outcome if outcome in ("done", "running", "waiting") else "not done"] += 1
    runs_done = Counter(a.task for a in history.attempts if a.outcome == "done")
    return {
        "tasks": len(names),
        "counts": dict(counts),
        "attempts": len(history.attempts),
        "failures": dict(Counter(a.outcome for a in history.attempts if a.outcome not in _NO_FAILURE)),
        "tasks_run_twice": sum(count > 1 for count in runs_done.values()),
        "seconds": history.end,
        "nodes": len(history.nodes),
        "gpus": sum(node.gpus for node in history.nodes.values()),
        "gpu_seconds": idle_by_cause(history, tasks),
        "core_seconds": idle_by_cause(history, tasks, of="cpus"),
        "gpu_idle_fraction_until_last_gpu_task": gpu_idle_until_last(history),
        "unreadable_records": history.unreadable,
        "tasks_per_hour": 3600 * counts["done"] / history.end if history.end > 0 else 0.0,
        "estimates": {
            a.group: {"count": a.count, "low": a.low, "median": a.median, "high": a.high}
            for a in accuracy(history)
        },
    }


def render(name: str, history: History, tasks: Mapping[str, Task]) -> str:
    """Return the page's text."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["duration"] = show_seconds
    figures = summarize(history, tasks)
    of = "GPU" if sum(figures["gpu_seconds"].values()) > 0 else "core"
    causes = figures[f"{of.lower()}_seconds"]
    failures = [a for a in history.attempts if a.outcome not in _NO_FAILURE]
    drawn = {
        "idle": drawings.idle_bar(causes),
        "gantt": drawings.gantt(history),
        "throughput": drawings.throughput(history),
        "estimates": drawings.estimates(history),
        "graph": drawings.task_graph(history, tasks),
    }
    return environment.get_template("report.html.j2").render(
        name=name,
        counts=figures["counts"],
        total=figures["tasks"],
        attempts=figures["attempts"],
        rate=figures["tasks_per_hour"],
        end=history.end,
        nodes=history.nodes,
        gpus=figures["gpus"],
        idle=causes if sum(causes.values()) > 0 else None,
        idle_total=sum(causes.values()),
        idle_of=of,
        idle_until_last=figures["gpu_idle_fraction_until_last_gpu_task"],
        colours=drawings.CAUSE_COLOURS,
        group_colours=drawings.group_colours(history),
        accuracy=accuracy(history),
        failures=failures[-_LISTED_FAILURES:],
        failure_total=len(failures),
        failure_counts=figures["failures"],
        lost=[node for node in history.nodes.values() if node.reason],
        events=history.events[-_LISTED_EVENTS:],
        managers=history.managers,
        unreadable=history.unreadable,
        drawings={key: Markup(text) for key, text in drawn.items()},
    )


def write_report(campaign: Campaign, path: Path) -> dict[str, Any]:
    """Write the page, whole or not at all.

    Returns
    -------
    dict
        The figures; see :func:`summarize`.

    Raises
    ------
    FileError
        The campaign has no records, or `path` is a folder or device.
    """
    history = read_history(Path(campaign.state))
    text = render(campaign.name, history, campaign.tasks)
    try:
        make_folder(path.parent)
    except FileError as error:
        raise FileError(f"{error}; --output puts the page elsewhere") from None
    write_text(path, text)
    return summarize(history, campaign.tasks)
