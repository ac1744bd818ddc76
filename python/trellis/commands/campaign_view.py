"""This module has the view of a running campaign on a terminal: groups of tasks, running tasks, and its last
words."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Mapping
from types import TracebackType
from typing import Self

from rich.console import Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from ..campaign.attempt import log_tail
from ..campaign.manager import Manager
from ..campaign.model import State
from ..campaign.times import show_seconds
from .output import Output

_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0b-\x1f]")
MOST_RUNNING = 12


class CampaignView:
    """It shows a live view on a terminal, a line for each finished group elsewhere; nothing with --json.

    `results` are further words for the line of a group: what there is to look at once it is done.
    """

    def __init__(self, manager: Manager, output: Output, results: Mapping[str, str] | None = None) -> None:
        self.manager, self.output, self.results = manager, output, results or {}
        self.is_live = output.is_root and not output.json and output.console.is_terminal
        self.live = Live(console=output.console, auto_refresh=False, transient=True)
        self.began = time.monotonic()
        self.next = 0.0
        self.told: set[str] = set()
        manager.on_progress = lambda done, total: self.update()

    def __enter__(self) -> Self:
        if self.is_live:
            self.live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.update(now=True)
        if self.is_live:
            self.live.stop()

    def update(self, *, now: bool = False) -> None:
        """Draw; at most four times a second, and less often when there are many tasks."""
        moment = time.monotonic()
        if moment < self.next and not now:
            return
        course = self.manager.course
        self.next = moment + max(0.25, 1e-4 * len(course.tasks))
        states = course.progress.state
        total = Counter(task.group for task in course.tasks.values())
        done = Counter(task.group for name, task in course.tasks.items() if states[name] is State.DONE)
        for group, count in total.items():
            if done[group] == count and group not in self.told:
                self.told.add(group)
                seconds = show_seconds(moment - self.began)
                result = f"; {self.results[group]}" if group in self.results else ""
                self.output.line(f"{group}: {_tasks(count)} done, {seconds} after the start{result}")
        if self.is_live:
            self.live.update(Group(self._groups(total, done), self._running(moment)), refresh=True)

    def _groups(self, total: Counter[str], done: Counter[str]) -> Table:
        table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
        running = Counter(attempt.task.group for attempt in self.manager.running.values())
        for group, count in list(total.items())[:30]:
            filled = 24 * done[group] // count
            bar = Text("━" * filled, "green") + Text("━" * (24 - filled), "bright_black")
            table.add_row(Text(group), bar, f"{done[group]}/{count}", f"{running[group] or ''}")
        return table

    def _running(self, now: float) -> Table:
        table = Table(box=None, padding=(0, 2, 0, 0))
        for column in ("running", "for", "of about", "last line"):
            table.add_column(column, no_wrap=True)
        for attempt in list(self.manager.running.values())[:MOST_RUNNING]:
            table.add_row(
                Text(attempt.task.name),
                show_seconds(now - attempt.started),
                show_seconds(attempt.estimate),
                Text(last_line(log_tail(attempt.log, 2000)), "bright_black"),
            )
        return table


def last_line(log: bytes) -> str:
    """Return the last line of a log that is not empty, without what moves a cursor."""
    lines = [_CONTROL.sub("", line).strip() for line in re.split(r"[\r\n]", log.decode(errors="replace"))]
    return next((line for line in reversed(lines) if line), "")


def _tasks(count: int) -> str:
    return "1 task" if count == 1 else f"{count} tasks"
