"""A decision of the planner becomes a running attempt: it is claimed, prepared, launched and recorded."""

from __future__ import annotations

import math
import time

from .attempt import Attempt, environment_of, outputs_of, prepare, safe_name
from .claims import History
from .launchers.base import Ended
from .manager_state import Course
from .model import Placement, State, Task
from .planner import Start


def start(course: Course, decision: Start) -> tuple[Attempt, Ended] | None:
    """Start what the planner decided. Returns an attempt that ended before it began, if it did."""
    name, task = decision.task, course.tasks[decision.task]
    if course.missing_files(task):
        course.not_started(name)
        course.for_files.add(name)
        return None
    history = course.histories.get(name, History())
    number = history.attempt + 1
    if not course.claims.claim(name, number, _claim_content(decision, task.group)):
        course.not_started(name)
        course.foreign.add(name)
        return None
    is_unfinished = history.end != "done"  # else its outputs were found to be changed
    attempt = _attempt(course, decision, number)
    course.histories[name] = history
    history.attempt = number
    course.running[name] = attempt
    course.started += 1
    course.progress.set([name], State.RUNNING)
    try:
        launch, aside = prepare(attempt, course.campaign, course.machine, keeps_whole=is_unfinished)
    except OSError as error:
        _record(course, attempt, ())
        return attempt, Ended(None, launcher_error=str(error))
    for path in aside:
        course.records.event("set-aside", task=name, detail=path)
    _record(course, attempt, launch.command)
    environment = environment_of(attempt, course.campaign, course.machine, course.claims.id)
    attempt.handle = course.launcher.launch(launch, decision.placement, environment)
    return None


def _claim_content(decision: Start, group: str) -> dict[str, object]:
    return {
        "task": decision.task,
        "places": _places(decision.placement),
        "alternative": decision.placement.alternative,
        # The report needs these if this manager is killed before it commits its records.
        "group": group,
        "estimate": decision.estimate,
        "started": time.time(),
    }


def _places(placement: Placement) -> list[list[object]]:
    return [[p.node, p.ranks, list(p.cpus), list(p.gpus), p.share] for p in placement.places]


def _attempt(course: Course, decision: Start, number: int) -> Attempt:
    name, task = decision.task, course.tasks[decision.task]
    now = time.monotonic()
    hang = hang_seconds(course, task, decision.placement.alternative)
    limit = task.timeout if task.timeout is not None else hang
    return Attempt(
        task=task,
        number=number,
        placement=decision.placement,
        estimate=decision.estimate,
        outputs=outputs_of(task, number, decision.placement.alternative, course.state),
        log=course.state / "logs" / f"{safe_name(name)}.{number}.log",
        started=now,
        started_at=time.time(),
        deadline=None if limit is None else now + limit,
        limit="timeout" if task.timeout is not None else "hang",
        grown_at=now,
        inputs=course.inputs.of(task, course.facts),
    )


def hang_seconds(course: Course, task: Task, alternative: int) -> float | None:
    """Return the seconds after which an attempt without a `timeout` of its own counts
    as hanging; None: never.

    They are max(hang_least, hang_factor * estimate), by the larger of the file's estimate and the learned
    one. Without an estimate in the file, and before any task of the group has ended, nothing is known, and no
    attempt counts as hanging.
    """
    campaign = course.campaign
    way = task.alternatives[alternative]
    is_learned = (task.group, alternative) in course.cost.used
    if campaign.hang_factor <= 0 or not (way.is_estimated or is_learned):
        return None
    learned = course.cost.seconds(task, alternative)
    estimate = max(way.estimate, learned) if way.is_estimated else learned
    limit = max(campaign.hang_least_seconds, campaign.hang_factor * estimate)
    return limit if math.isfinite(limit) else None


def _record(course: Course, attempt: Attempt, command: tuple[str, ...]) -> None:
    task, placement = attempt.task, attempt.placement
    course.records.begin_attempt(
        task.name,
        attempt.number,
        task_group=task.group,
        parameters=dict(task.parameters),
        alternative=placement.alternative,
        places=_places(placement),
        command=command,
        estimate=attempt.estimate,
        started=attempt.started_at,
        inputs=attempt.inputs,
        log=str(attempt.log),
        ranks=placement.ranks,
        cpus=placement.cpus,
        gpus=placement.gpus,
    )
