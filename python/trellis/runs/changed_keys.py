"""This module has the keys that a run may change when it goes on: those that leave the distribution alone.

Keys are compared one by one, under the names that messages about run files use ("integrator.0.steps").
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ..ground.errors import BadArgument
from ..run_files import HmcRun

#: These keys leave the distribution alone: an accepted trajectory is as good with any of these.
_FREE = re.compile(
    r"integrator\..*"
    r"|molecular_dynamics\..*"
    r"|metropolis\.max_iterations"
    r"|hisq\..*"
    r"|fermions\.\d+\.rational\.(dynamics_order|dynamics_tolerance)"
    r"|fermions\.\d+\.(solver|multigrid)(\..*)?"
    r"|trajectories\..*"
    r"|measure\..*"
)
#: States of earlier versions lack these keys, which had their defaults there.
_NEW = re.compile(r"hisq\..*|fermions\.\d+\.(solver|multigrid)(\..*)?")
#: A key that is not there has this value, in messages and records.
_ABSENT = None


def physics_of(run: HmcRun) -> dict[str, Any]:
    """Return the tables that decide the bits of trajectories, as states have them."""
    content = run.model_dump(
        mode="json", by_alias=True, exclude={"machine", "output", "trajectories", "measure"}
    )
    content["thermalisation"] = run.trajectories.thermalisation
    return content


def course_of(run: HmcRun) -> dict[str, Any]:
    """Return the keys that decide when the run keeps, saves and measures, and no bit of a trajectory."""
    tables = {} if run.measure is None else run.measure.model_dump(include={"fermions", "flow", "loops"})
    every = {name: {"every": table["every"]} for name, table in tables.items() if table is not None}
    return {
        "trajectories": run.trajectories.model_dump(exclude={"total", "thermalisation"}),
        "measure": every,
    }


def changes(record: Mapping[str, Any], run: HmcRun, name: str) -> list[dict[str, Any]]:
    """Return the keys whose values are not those of a state, each with `key`, `before` and `now`.

    Parameters
    ----------
    record
        The record of the state that the run goes on from.
    name
        The state's name, for messages.

    Raises
    ------
    BadArgument
        Some of the keys decide the distribution; the message names these, and no others.
    """
    before = {**record["physics"], **record.get("course", course_of(run))}
    # A key that earlier versions did not have is not different where it has its default.
    given = _flat(run.model_dump(by_alias=True, exclude_defaults=True)).keys() | _flat(before).keys()
    found = differing_keys(before, {**physics_of(run), **course_of(run)})
    found = [
        change
        for change in found
        if change["key"] in given or (_FREE.fullmatch(change["key"]) and not _NEW.fullmatch(change["key"]))
    ]
    refused = [change for change in found if not _FREE.fullmatch(change["key"])]
    if refused:
        raise BadArgument(
            f"{name}: {different_keys(refused)}: what decides the distribution cannot be changed while a run "
            "goes on; a changed run needs another folder"
        )
    return found


def different_keys(found: list[dict[str, Any]]) -> str:
    """Return words like "action.beta = 4.0 before and 4.1 now"."""
    return ", ".join(f"{c['key']} = {_shown(c['before'])} before and {_shown(c['now'])} now" for c in found)


def describe_change(change: Mapping[str, Any], first: int) -> str:
    """Return a line like "integrator.0.steps: 8 -> 10 from trajectory 31 on"."""
    return (
        f"{change['key']}: {_shown(change['before'])} -> {_shown(change['now'])} from trajectory {first} on"
    )


def differing_keys(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the keys that differ in two nested tables, each with `key`, `before` and `now`.

    The value of a key that a table lacks is None.
    """
    a, b = _flat(before), _flat(now)
    return [
        {"key": key, "before": a.get(key, _ABSENT), "now": b.get(key, _ABSENT)}
        for key in sorted(a.keys() | b.keys())
        if a.get(key, _ABSENT) != b.get(key, _ABSENT)
    ]


def require_tested(found: list[dict[str, Any]], made: int, name: str) -> None:
    """Require that trajectories without the Metropolis test stay thermalisation.

    Raises
    ------
    BadArgument
        A change would make them part of the ensemble.
    """
    for change in found:
        if change["key"] != "trajectories.thermalisation":
            continue
        least = min(change["before"], made)
        if change["now"] < least:
            raise BadArgument(
                f"{name}: trajectories.thermalisation = {change['now']}: the first {least} trajectories were "
                f"accepted without the test and stay thermalisation: expected at least {least}"
            )


def _shown(value: Any) -> str:
    return "none" if value is _ABSENT else repr(value) if isinstance(value, str) else f"{value}"


def _flat(content: Mapping[str, Any], path: str = "") -> dict[str, Any]:
    """Return the keys with the names of their tables before them; lists of numbers or names are values."""
    found: dict[str, Any] = {}
    for name, value in content.items():
        key = f"{path}{name}"
        if key == "thermalisation":  # states of every version have it there
            key = "trajectories.thermalisation"
        if isinstance(value, Mapping):
            found |= _flat(value, f"{key}.")
        elif isinstance(value, list | tuple) and any(isinstance(v, Mapping) for v in value):
            found |= _flat({str(n): table for n, table in enumerate(value)}, f"{key}.")
        else:
            found[key] = list(value) if isinstance(value, tuple) else value
    return found
