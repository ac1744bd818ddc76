"""This module looks at a campaign: it reads copies of the claims and records of its managers."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

from ..campaign.files import load_campaign
from ..campaign.history import History, read_history
from ..campaign.model import Campaign
from ..campaign.status import read_status
from ..campaign.times import show_seconds
from ..ground.errors import FileError
from . import alarms
from .settled import age_of
from .view_model import Curve, Listing, Picture, State, Watched

#: The tables list this many running tasks and failures; so many bytes of a log are read for its last line.
_MOST_LISTED, _LOG_BYTES = 12, 4000
#: The curve of finished tasks has this many points.
_POINTS = 200
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0b-\x1f]")


def look_at_campaign(file: Path) -> Watched:
    """Return what there is to see of a campaign file's campaign."""
    campaign = load_campaign(file)
    status = read_status(campaign)
    found = Watched("campaign", f"campaign {campaign.name}: {campaign.state}", unit="tasks")
    counts = Counter(status["tasks"])
    found.completed, found.total = counts["done"], sum(counts.values())
    state = Path(campaign.state)
    try:
        history: History | None = read_history(state)
    except FileError as error:
        history = None
        if any((state / "records").glob("*.sqlite")):
            found.alarms.append(f"damaged: {error}")
    found.age = age_of(*state.glob("records/*.sqlite*"), *(state / "claims").glob("*"))
    found.state = _state(status, found, history)
    words = ", ".join(f"{count} {name}" for name, count in counts.items() if count) or "no tasks"
    found.facts.append(("tasks", words))
    found.facts += [("manager", name) for name in status["managers"]]
    if history is not None:
        _add_history(found, status, history, campaign)
    _add_alarms(found, status, history, campaign)
    return found


def _state(status: dict[str, Any], found: Watched, history: History | None) -> State:
    left = set(status["tasks"]) - {"done", "failed", "skipped"}
    if status["managers"]:
        return "running"
    if not left:
        return "finished"
    if history is None:
        return "not begun"
    ended = all(manager["ended"] is not None for manager in history.managers)
    return "stopped" if ended else "killed"


def _add_history(found: Watched, status: dict[str, Any], history: History, campaign: Campaign) -> None:
    ends = sorted(a.end for a in history.attempts if a.outcome == "done")
    if len(ends) > 1:
        times = [history.end * k / _POINTS for k in range(_POINTS + 1)]
        counted, k = [], 0
        for t in times:
            while k < len(ends) and ends[k] <= t:
                k += 1
            counted.append(k)
        curve = Curve.of("done", [t / 3600 for t in times], counted)
        found.pictures.append(Picture("Finished tasks", [curve], horizontal="hours"))
    running = [a for a in history.attempts if a.outcome == "running"]
    if found.state == "running":
        found.seconds_left = _seconds_left(history, campaign, {a.task for a in running})
    rows = []
    for a in running[:_MOST_LISTED]:
        nodes = ", ".join(place[0] for place in a.places)
        estimate = show_seconds(a.estimate) if a.estimate else "–"
        seconds = show_seconds(max(history.end - a.start, 0.0))
        rows.append([a.task, nodes, seconds, estimate, last_whole_line(Path(a.log))])
    if rows:
        columns = ["task", "where", "for", "of about", "last line"]
        found.listings.append(Listing("Running tasks", columns, rows))
    groups = Counter(task.group for task in campaign.tasks.values())
    done = Counter(campaign.tasks[name].group for name in history.done if name in campaign.tasks)
    rows = [[group, f"{done[group]} of {count}"] for group, count in groups.items()]
    found.listings.append(Listing("Groups", ["group", "done"], rows))


def _seconds_left(history: History, campaign: Campaign, running: set[str]) -> float | None:
    """Return the estimated seconds of work that is left, over as many tasks at a time as run now."""
    if not running:
        return None
    last = {a.task: a for a in history.attempts}
    left = 0.0
    for name, task in campaign.tasks.items():
        if name in history.done:
            continue
        spent = history.end - last[name].start if name in running else 0.0
        left += max(task.estimate - spent, 0.0)
    return left / len(running)


def last_whole_line(log: Path) -> str:
    """Return the last line of a log that ends with an end of line: half a line is being written."""
    try:
        with open(log, "rb") as file:
            file.seek(0, 2)
            file.seek(max(file.tell() - _LOG_BYTES, 0))
            text = file.read().decode(errors="replace")
    except OSError:
        return ""
    whole = re.split(r"[\r\n]", text)[:-1]
    lines = (_CONTROL.sub("", line).strip() for line in reversed(whole))
    return next((line for line in lines if line), "")


def _add_alarms(found: Watched, status: dict[str, Any], history: History | None, campaign: Campaign) -> None:
    failed = status["failed"]
    if failed:
        name, reason = next(iter(failed.items()))
        more = f" and {len(failed) - 1} more" if len(failed) > 1 else ""
        found.alarms.append(f"failed: {name}{more}: {reason} (trellis campaign retry lets them run again)")
        rows = [[name, str(reason)] for name, reason in list(failed.items())[:_MOST_LISTED]]
        found.listings.append(Listing("Failed tasks", ["task", "why"], rows))
    if found.state == "killed":
        found.alarms.append("killed: no manager is alive and tasks are left; trellis campaign run goes on")
    if status["skipped"]:
        found.notices.append(f"{len(status['skipped'])} tasks are skipped")
    if history is not None:
        lost = [node.name for node in history.nodes.values() if node.reason]
        if lost:
            found.alarms.append(
                f"nodes: {', '.join(lost[:5])} left the campaign: {history.nodes[lost[0]].reason}"
            )
        found.alarms += [f"damaged: {text}" for text in history.unreadable]
    if found.state != "finished":
        root = Path(campaign.root)
        found.alarms += alarms.disk(root, 0.0, None)
