"""This module has what a look at a run found, in a form that a terminal and a page show alike."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

State = Literal["not begun", "running", "finished", "stopped", "killed", "unknown"]
#: A curve shows this many points: more are not seen on a screen.
_MOST_POINTS = 400


@dataclass(frozen=True)
class Curve:
    """A curve has numbers of one kind against the number of a trajectory, solve or step; all are finite."""

    name: str
    x: list[float]
    y: list[float]

    @classmethod
    def of(cls, name: str, x: Iterable[Any], y: Iterable[Any]) -> Curve:
        """Return the curve with its newest points and so many older ones, evenly, as a screen shows."""
        points = [(float(a), float(b)) for a, b in zip(x, y, strict=True) if math.isfinite(b)]
        step = max(1, math.ceil(len(points) / _MOST_POINTS))
        kept = points[::-1][::step][::-1]
        return cls(name, [a for a, _ in kept], [b for _, b in kept])


@dataclass(frozen=True)
class Picture:
    """These curves share their axes.

    Attributes
    ----------
    level
        A value with a line of its own: 1 for exp(-dH), a tolerance; None without it.
    marks
        Points and no lines: the values are single decisions or counts.
    """

    title: str
    curves: list[Curve]
    horizontal: str = "trajectory"
    is_logarithmic: bool = False
    level: float | None = None
    marks: bool = False


@dataclass(frozen=True)
class Listing:
    """This is a table of texts."""

    title: str
    columns: list[str]
    rows: list[list[str]]


@dataclass
class Watched:
    """This is one look at a run.

    Attributes
    ----------
    kind
        "generate", "measure", "glass" or "campaign".
    title
        A line about the run.
    state
        "killed": its lock is gone without an end. "unknown": the file system has no locks.
    completed, total
        The numbers of the trajectories, sweeps, steps, configurations or tasks that `unit`
        names; None where not known.
    seconds_left
        At the pace so far, from now on; None where nothing is known of it.
    age
        Seconds since the run last wrote; None without a file.
    facts
        Names and texts, the most important first.
    alarms
        They need a person.
    notices
        They are good to know.
    """

    kind: str
    title: str
    state: State = "unknown"
    unit: str = "trajectories"
    completed: int | None = None
    total: int | None = None
    seconds_left: float | None = None
    age: float | None = None
    facts: list[tuple[str, str]] = field(default_factory=list)
    pictures: list[Picture] = field(default_factory=list)
    listings: list[Listing] = field(default_factory=list)
    alarms: list[str] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)

    @property
    def is_over(self) -> bool:
        """Return True where nothing more is written without a person."""
        return self.state in ("finished", "stopped", "killed")

    def to_json(self) -> dict[str, Any]:
        """Return the object that `trellis watch --json` prints."""
        found = asdict(self)
        found["facts"] = {name: text for name, text in self.facts}
        return {"run": "watch", **found}
