"""This module tells the state of a campaign's tasks from its folder; it changes nothing."""

from __future__ import annotations

import contextlib
from collections import Counter
from pathlib import Path
from typing import Any

from ..ground.errors import Error, FileError
from .attempt import told_failure
from .claims import Claims, History
from .files import load_made_tasks
from .model import Campaign, Failure, State, Task
from .outputs import still_valid
from .progress import Progress
from .records import read_records, records_of


def read_status(campaign: Campaign) -> dict[str, Any]:
    """Return the state of all tasks from outputs, claims and the records of what predicates said.

    Returns
    -------
    dict
        run, campaign, tasks (state -> count), running (a list of task, attempt, places), failed and skipped
        (task -> reason), managers. A task is ready when nothing but room is missing: one that waits for a
        file, or whose predicate has not been asked, is waiting.
    """
    root, state = Path(campaign.root), Path(campaign.state)
    claims = Claims(state, lease_seconds=campaign.lease_seconds)
    histories = claims.histories()
    progress = Progress(campaign.tasks)
    running, failed, refused = [], {}, {}
    todo = list(campaign.tasks)
    for name in todo:  # it grows by tasks that tasks made
        task, history = campaign.tasks[name], histories.get(name, History())
        if history.end == "done":
            stored = history.content["outputs"]
            if not task.outputs or still_valid(root, stored, task, finish=False) is None:
                progress.done(name)
                try:
                    todo += _made(task, campaign, progress)
                except Error as error:
                    refused[f"{name} (tasks made)"] = str(error)
        elif history.attempt >= 0 and not history.end and claims.is_alive(history.manager):
            progress.set([name], State.RUNNING)
            running.append(
                {"task": name, "attempt": history.attempt, "places": history.claim.get("places", [])}
            )
        elif history.end == "failed" and _is_spent(task, history):
            failed[name] = f"{history.content['failure']}: {told_failure(history.content)}"
    skipped: dict[str, str] = {}
    for name in failed:
        _skip_followers(progress.failed(name), "failed", skipped)
    for name, reason in _said_by_predicates(state).items():
        if name not in progress.state or progress.state[name] is not State.WAITING:
            continue
        if reason is None:
            skipped[name] = "its predicate was false"
            _skip_followers(progress.failed(name, State.SKIPPED), "was skipped", skipped)
        else:
            failed[name] = f"{Failure.INPUT.value}: {reason}"
            _skip_followers(progress.failed(name), "failed", skipped)
    tasks = campaign.tasks
    progress.set((name for name in progress.free() if _is_ready(tasks[name], root)), State.READY)
    return {
        "run": "status",
        "campaign": campaign.name,
        "tasks": {state.value: count for state, count in progress.counts.items() if count},
        "running": running,
        "failed": {**failed, **refused},
        "skipped": skipped,
        "managers": {name: alive for name, alive in claims.known_managers().items() if alive},
    }


def _skip_followers(gone: list[str], what: str, skipped: dict[str, str]) -> None:
    """Add to `skipped` the tasks that will not run because of `gone`: a task and all that it stops."""
    for name in gone[1:]:
        skipped[name] = f"it needs {gone[0]}, which {what}"


def _said_by_predicates(state: Path) -> dict[str, str | None]:
    """Return the tasks that the last answer of their predicate left out (None), or why there was none.

    A later run asks again, and may have claimed them.
    """
    query = "SELECT task, kind, detail FROM event WHERE kind IN ('skipped', 'predicate-failed') ORDER BY time"
    answers: dict[str, str | None] = {}
    for path in records_of(state):
        with contextlib.suppress(FileError), read_records(path) as base:  # a damaged one says nothing
            for row in base.execute(query):
                answers[row["task"]] = row["detail"] if row["kind"] == "predicate-failed" else None
    return answers


def _is_ready(task: Task, root: Path) -> bool:
    return not task.predicate and all((root / path).exists() for path in task.needs)


def _made(task: Task, campaign: Campaign, progress: Progress) -> list[str]:
    if task.makes is None:
        return []
    made = load_made_tasks(Path(campaign.root) / task.makes, campaign)
    campaign.tasks.update(made)
    progress.add(made)
    return list(made)


def _is_spent(task: Task, history: History) -> bool:
    counts = Counter(failure["failure"] for failure in history.failures)
    return any(counts[failure.value] > task.retries.allowed(failure) for failure in Failure)
