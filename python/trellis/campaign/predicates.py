"""Predicates of tasks: commands asked at run time whether a task is to run."""

from __future__ import annotations

import heapq
import subprocess
import time
from typing import TYPE_CHECKING

from .model import Failure, State

if TYPE_CHECKING:
    from .course import Course

ASK_AGAIN_SECONDS = 1.0


class Predicates:
    """The predicates under way, and those to be asked again."""

    def __init__(self, course: Course) -> None:
        self.course = course
        self.asking: dict[str, subprocess.Popen] = {}
        self.later: list[tuple[float, str]] = []

    def __bool__(self) -> bool:
        """Whether an answer may still come."""
        return bool(self.asking or self.later)

    def ask(self, name: str) -> None:
        """Start a task's predicate."""
        course = self.course
        try:
            self.asking[name] = subprocess.Popen(
                course.tasks[name].predicate,
                cwd=course.root,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
            )
        except OSError as error:
            self._fail(name, f"predicate: {error}")

    def look(self) -> None:
        """Status 0 runs the task, 1 skips it, 75 asks again; all else fails it."""
        course = self.course
        for name, process in list(self.asking.items()):
            status = process.poll()
            if status is None:
                continue
            del self.asking[name]
            if status == 0:
                course.ready(name)
            elif status == 1:
                course.records.event("skipped", task=name, detail="predicate")
                course.gone(course.progress.failed(name, State.SKIPPED))
            elif status == 75:
                heapq.heappush(self.later, (time.monotonic() + ASK_AGAIN_SECONDS, name))
            else:
                self._fail(name, f"predicate ended with status {status}")
        while self.later and self.later[0][0] <= time.monotonic():
            self.ask(heapq.heappop(self.later)[1])

    def _fail(self, name: str, reason: str) -> None:
        self.course.records.event("predicate-failed", task=name, detail=reason)
        self.course.give_up(name, Failure.INPUT, reason)

    def close(self) -> None:
        """End those that still run."""
        for process in self.asking.values():
            process.kill()
            process.wait()
