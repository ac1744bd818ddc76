"""A killed manager may not have committed attempts, or their ends, to its records;
the claims tell of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from .claims import Claims

#: The report shows these columns of an attempt in the records.
_ATTEMPT_COLUMNS = (
    *("task", "number", "task_group", "places", "estimate", "started", "ended", "status"),
    *("outcome", "reason", "log"),
)


def unrecorded(
    recorded: Iterable[Mapping[str, Any]],
    claims: Claims,
    alive: Mapping[str, bool],
    ends: Mapping[str, float],
) -> list[dict[str, Any]]:
    """Return the attempts that their managers were killed too early to record, from their claims."""
    known = {(row["task"], row["number"]) for row in recorded}
    found = []
    for task, number in claims.attempts():
        if (task, number) in known:
            continue
        claim = claims.claim_of(task, number)
        if not isinstance(claim.get("started"), (int, float)):  # found outputs and cut claims have none
            continue
        row = dict.fromkeys(_ATTEMPT_COLUMNS) | {
            "task": task,
            "number": number,
            "task_group": claim.get("group"),
            "places": json.dumps(claim.get("places")),
            "estimate": claim.get("estimate"),
            "started": claim["started"],
        }
        manager = claim.get("manager", "")
        if not alive.get(manager):
            end_lost(row, max(ends.get(manager, 0.0), claim["started"]), claims)
        found.append(row)
    return found


def end_lost(attempt: dict[str, Any], end: float, claims: Claims) -> None:
    """Complete the record of an attempt whose manager did not record its end; the claim may tell it."""
    task, number = attempt["task"], attempt["number"]
    kind, content = claims.end_of(task, number)
    seconds = content.get("seconds")
    if kind and isinstance(seconds, (int, float)):
        end = attempt["started"] + seconds
    if kind == "failed":
        attempt.update(outcome=content["failure"], reason=content["reason"], status=content.get("status"))
    elif kind == "released":
        attempt.update(outcome=kind, reason="the manager stopped")
    elif kind == "done" or _was_taken_over(claims, task, number):
        attempt.update(outcome="done")
    else:
        attempt.update(outcome="lost", reason="its manager was killed")
    attempt.update(ended=end)


def _was_taken_over(claims: Claims, task: str, number: int) -> bool:
    """Return True if a later manager found that the attempt had made whole outputs."""
    while claims.claim_of(task, number + 1).get("taken_over") is not None:
        number += 1
        if claims.end_of(task, number)[0] == "done":
            return True
    return False
