"""The history of a campaign comes from the records of all its managers and gives the report's figures.

Records are committed four times a second. The claims of a manager that was killed have
what it had not committed.
"""

from __future__ import annotations

import json
import math
import sqlite3
import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from ..ground.errors import FileError
from .claims import Claims
from .model import Task
from .records import read_records, records_of
from .unrecorded_attempts import end_lost, unrecorded

#: The causes of idle GPUs are shown in this order.
CAUSES = (
    "start-up",
    "dependencies",
    "ready but not started",
    "failed attempts",
    "nodes lost",
    "no work left",
)


@dataclass(frozen=True, slots=True)
class AttemptRecord:
    """This is one attempt, with times in seconds since the first record.

    `places` has (node, cores, GPUs, share).

    `outcome` is that of the records, or ``lost``: it had not ended when its manager was killed.
    """

    task: str
    number: int
    group: str
    places: tuple[tuple[str, tuple[int, ...], tuple[int, ...], float], ...]
    estimate: float | None
    start: float
    end: float
    outcome: str
    reason: str
    status: int | None
    log: str

    @property
    def gpus(self) -> float:
        return sum(len(gpus) * share for _, _, gpus, share in self.places)

    @property
    def cpus(self) -> float:
        return float(sum(len(cpus) for _, cpus, _, _ in self.places))


@dataclass(slots=True)
class NodeRecord:
    """This is a node with its stays in the campaign.

    A stay is given in seconds since the first record; stays are in order, without overlaps.

    `reason` says why it left before its manager ended; "" if it did not.
    """

    name: str
    cpus: int
    gpus: int
    stays: list[tuple[float, float]] = field(default_factory=list)
    reason: str = ""

    def add(self, begin: float, end: float) -> None:
        """Add a stay; two managers may have used the node at once."""
        merged: list[tuple[float, float]] = []
        for first, last in sorted([*self.stays, (begin, max(begin, end))]):
            if merged and first <= merged[-1][1]:
                merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
            else:
                merged.append((first, last))
        self.stays = merged


@dataclass(slots=True)
class History:
    """This is everything that the records of a campaign say.

    Attributes
    ----------
    began
        Seconds since 1970 of the first record; all other times count from here.
    end
        The time of the last record.
    unreadable
        It says why the records of some managers could not be read: what these did is not in here.
    done
        Tasks that are done by their claims, some of them without an attempt that is recorded as done.
    """

    began: float = 0.0
    end: float = 0.0
    managers: list[dict[str, Any]] = field(default_factory=list)
    nodes: dict[str, NodeRecord] = field(default_factory=dict)
    attempts: list[AttemptRecord] = field(default_factory=list)
    events: list[dict[str, Any]] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    done: set[str] = field(default_factory=set)


def read_history(state: Path) -> History:
    """Merge the records of all managers in a state folder.

    Raises
    ------
    FileError
        There are none, or none can be read.
    """
    paths = records_of(state)
    if not paths:
        raise FileError(f"{state}: no records of a campaign (it was never run)")
    rows: dict[str, list[dict[str, Any]]] = defaultdict(list)
    unreadable = []
    claims = Claims(state)
    alive, ends = claims.known_managers(), claims.histories()
    end_of_managers: dict[str, float] = {}
    for path in paths:
        try:
            own = _rows(path)
        except (FileError, OSError, sqlite3.DatabaseError) as error:
            unreadable.append(str(error) if isinstance(error, FileError) else f"{path}: {error}")
            continue
        end = end_of_managers[path.stem] = _end_of_manager(own)
        for node in own["node"]:
            node["end"] = node["left"] or end
        if not any(manager["ended"] is None and alive.get(manager["id"]) for manager in own["manager"]):
            for attempt in own["attempt"]:
                if attempt["ended"] is None:
                    end_lost(attempt, end, claims)
        for table, found in own.items():
            rows[table] += found
    rows["attempt"] += unrecorded(rows["attempt"], claims, alive, end_of_managers)
    times = [row["started"] for row in rows["manager"] + rows["attempt"] if row["started"] is not None]
    if not times:
        raise FileError("\n".join([f"{state}: the records are empty", *unreadable]))
    history = History(began=min(times), managers=rows["manager"], events=rows["event"], unreadable=unreadable)
    history.done = {task for task, claim in ends.items() if claim.end == "done"}
    times += [row["ended"] for row in rows["attempt"] + rows["manager"] if row["ended"] is not None]
    history.end = max([*times, *(row["time"] for row in rows["event"])]) - history.began
    for row in rows["event"]:
        row["time"] -= history.began
    history.events.sort(key=lambda row: row["time"])
    for row in rows["node"]:
        _merge_node(history, row)
    history.attempts = sorted((_attempt(history, row) for row in rows["attempt"]), key=lambda a: a.start)
    return history


def _rows(path: Path) -> dict[str, list[dict[str, Any]]]:
    """Return all rows of one manager's records, by table; rows without a time say nothing."""
    own = {}
    with read_records(path) as base:
        for table, key in (
            ("manager", "started"),
            ("node", "name"),
            ("attempt", "started"),
            ("event", "time"),
        ):
            found = base.execute(f"SELECT * FROM {table} WHERE {key} IS NOT NULL")
            own[table] = [dict(row) for row in found]
    return own


def _end_of_manager(own: Mapping[str, list[dict[str, Any]]]) -> float:
    """Return the time at which the manager ended, or that of its last record if it was killed."""
    ends = [row["ended"] for row in own["manager"]]
    if ends and None not in ends:
        return max(ends)
    times = [row[key] for row in own["attempt"] for key in ("started", "ended")]
    times += [row["time"] for row in own["event"]] + [row["started"] for row in own["manager"]]
    return max((time for time in times if time is not None), default=0.0)


def _merge_node(history: History, row: Mapping[str, Any]) -> None:
    node = history.nodes.setdefault(row["name"], NodeRecord(row["name"], row["cpus"], row["gpus"]))
    node.add((row["joined"] or history.began) - history.began, row["end"] - history.began)
    node.reason = row["reason"] or node.reason


def _attempt(history: History, row: Mapping[str, Any]) -> AttemptRecord:
    try:
        given = json.loads(row["places"] or "[]")
        places = tuple((node, tuple(c), tuple(g), share) for node, _, c, g, share in given)
    except (ValueError, TypeError):
        places = ()
    end = history.end if row["ended"] is None else row["ended"] - history.began
    return AttemptRecord(
        task=row["task"],
        number=row["number"],
        group=row["task_group"] or "",
        places=places,
        estimate=row["estimate"],
        start=row["started"] - history.began,
        end=max(end, row["started"] - history.began),
        outcome=row["outcome"] or "running",
        reason=row["reason"] or "",
        status=row["status"],
        log=row["log"] or "",
    )


def idle_by_cause(
    history: History, tasks: Mapping[str, Task], *, of: Literal["gpus", "cpus"] = "gpus"
) -> dict[str, float]:
    """Return GPU (or core) seconds by cause, with ``work`` for the work that counted; the
    sum is all there were.

    A GPU is idle for want of ready tasks (``dependencies``), or although a task that needs GPUs was ready
    (``ready but not started``: launching, or nothing fitted). Readiness follows from the graph and the times
    at which the tasks it names were done. While no manager ran, no GPU was there and nothing is counted.
    """

    def there(node: NodeRecord) -> int:
        return node.gpus if of == "gpus" else node.cpus

    def used(attempt: AttemptRecord) -> float:
        return attempt.gpus if of == "gpus" else attempt.cpus

    users = [a for a in history.attempts if used(a)]
    total = sum(map(there, history.nodes.values()))
    result = dict.fromkeys(("work", *CAUSES), 0.0)
    if not users or not total:
        return result
    first, last = min(a.start for a in users), max(a.end for a in users)
    changes: list[tuple[float, str, float]] = [(0.0, "there", 0.0)]
    presence = [stay for node in history.nodes.values() for stay in node.stays]
    campaign = NodeRecord("", 0, 0)
    for begin, end in presence:
        campaign.add(begin, end)
    for begin, end in campaign.stays:
        changes += [(begin, "open", total), (end, "open", -total)]
    for node in history.nodes.values():
        for begin, end in node.stays:
            changes += [(begin, "there", there(node)), (end, "there", -there(node))]
        if node.reason and node.stays:
            changes.append((node.stays[-1][1], "lost", there(node)))
    for a in users:
        kind = "work" if a.outcome in ("done", "running") else "failed"
        changes += [(a.start, kind, used(a)), (a.end, kind, -used(a))]
    changes += _readiness(history, {n: t for n, t in tasks.items() if of == "cpus" or t.request.gpus})
    changes += [(first, "mark", 0.0), (last, "mark", 0.0), (history.end, "mark", 0.0)]
    changes.sort(key=lambda change: change[0])
    level = dict.fromkeys(("open", "there", "lost", "work", "failed", "ready"), 0.0)
    before = 0.0
    for time, kind, step in changes:
        span = min(time, history.end) - before
        if span > 0:
            idle = max(level["there"] - level["work"] - level["failed"], 0.0)
            result["work"] += span * level["work"]
            result["failed attempts"] += span * level["failed"]
            away = max(level["open"] - level["there"], 0.0)
            result["nodes lost"] += span * min(level["lost"], away)
            result["start-up"] += span * max(away - level["lost"], 0.0)
            middle = before + span / 2
            result[_cause(middle, first, last, level["ready"] > 1e-9)] += span * idle
            before += span
        if kind != "mark":
            level[kind] += step
    return result


def _cause(time: float, first: float, last: float, some_ready: bool) -> str:
    if time < first:
        return "start-up"
    if time > last:
        return "no work left"
    return "ready but not started" if some_ready else "dependencies"


def _readiness(history: History, tasks: Mapping[str, Task]) -> Iterable[tuple[float, str, float]]:
    """Yield +1 when a task gets ready, -1 when an attempt of it starts, and +1 when that attempt failed."""
    done = {a.task: a.end for a in history.attempts if a.outcome == "done"}
    by_task: dict[str, list[AttemptRecord]] = defaultdict(list)
    for a in history.attempts:
        by_task[a.task].append(a)
    for name, task in tasks.items():
        attempts = by_task.get(name, [])
        if any(other not in done for other in task.after):
            continue
        ready = max((done.get(other, 0.0) for other in task.after), default=0.0)
        for attempt in attempts:
            if attempt.start > ready:
                yield ready, "ready", 1.0
                yield attempt.start, "ready", -1.0
            ready = attempt.end


def gpu_idle_until_last(history: History) -> float | None:
    """Return the share of idle GPUs: 1 - GPU seconds that counted / (GPUs * time).

    The time is that from the first start to the end of the last GPU task.
    """
    gpu_attempts = [a for a in history.attempts if a.gpus and a.outcome == "done"]
    total = sum(node.gpus for node in history.nodes.values())
    if not gpu_attempts or not total:
        return None
    begin = min(a.start for a in history.attempts)
    span = max(a.end for a in gpu_attempts) - begin
    return 1.0 - sum(a.gpus * (a.end - a.start) for a in gpu_attempts) / (total * span) if span > 0 else None


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Quantiles of (measured / estimated) duration show how good the estimates of a group were."""

    group: str
    count: int
    low: float
    median: float
    high: float


def accuracy(history: History) -> list[Accuracy]:
    """Return the accuracy by group, from the attempts that were done and had an estimate."""
    ratios: dict[str, list[float]] = defaultdict(list)
    for a in history.attempts:
        if a.outcome == "done" and a.estimate and a.end > a.start:
            ratios[a.group].append((a.end - a.start) / a.estimate)
    result = []
    for group, values in sorted(ratios.items()):
        values.sort()
        result.append(
            Accuracy(
                group,
                len(values),
                _quantile(values, 0.16),
                statistics.median(values),
                _quantile(values, 0.84),
            )
        )
    return result


def _quantile(ordered: list[float], fraction: float) -> float:
    return ordered[min(len(ordered) - 1, math.floor(fraction * len(ordered)))]


def last_attempts(history: History) -> dict[str, AttemptRecord]:
    """Return of each task the attempt that was done, or else the latest one."""
    last: dict[str, AttemptRecord] = {}
    for a in history.attempts:
        if a.task not in last or last[a.task].outcome != "done":
            last[a.task] = a
    return last
