"""Predicates of tasks are commands that say at run time whether a task is to run."""

from __future__ import annotations

import contextlib
import heapq
import os
import signal
import subprocess
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ASK_AGAIN_SECONDS = 1.0
#: This many are asked at once; the others wait for their turn.
MOST_ASKED = 16
#: A predicate has failed if it gives no answer for this long.
ANSWER_SECONDS = 600.0


@dataclass(frozen=True)
class Answer:
    """This is the answer of a predicate: `is_wanted` says if the task is to run;
    `failure` explains a fault.
    """

    task: str
    is_wanted: bool = False
    failure: str = ""


class Predicates:
    """These are the predicates under way, and those to be asked again; they run in the folder `root`."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.commands: dict[str, Sequence[str]] = {}
        self.asking: dict[str, subprocess.Popen] = {}
        self.until: dict[str, float] = {}
        self.queue: deque[str] = deque()
        self.later: list[tuple[float, str]] = []
        self.answers: list[Answer] = []  #: nobody has heard these yet

    def __bool__(self) -> bool:
        """Return True if an answer may still come."""
        return bool(self.asking or self.queue or self.later or self.answers)

    def ask(self, name: str, command: Sequence[str]) -> None:
        """Ask a task's predicate, as soon as it is its turn."""
        self.commands[name] = command
        self.queue.append(name)
        self._start_some()

    def _start_some(self) -> None:
        while self.queue and len(self.asking) < MOST_ASKED:
            self._start(self.queue.popleft())

    def _start(self, name: str) -> None:
        try:
            self.asking[name] = subprocess.Popen(
                self.commands[name],
                cwd=self.root,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                start_new_session=True,
            )
            self.until[name] = time.monotonic() + ANSWER_SECONDS
        except OSError as error:
            self._fail(name, f"predicate: {error}")

    def hear(self) -> list[Answer]:
        """Return the new answers: status 0 runs the task, 1 skips it, 75 asks again, any other fails it."""
        for name, process in list(self.asking.items()):
            status = process.poll()
            if status is None:
                if time.monotonic() > self.until[name]:
                    _end(self.asking.pop(name))
                    self._fail(name, f"predicate gave no answer in {ANSWER_SECONDS:g} s")
                continue
            del self.asking[name]
            if status in (0, 1):
                self.answers.append(Answer(name, is_wanted=status == 0))
            elif status == 75:
                heapq.heappush(self.later, (time.monotonic() + ASK_AGAIN_SECONDS, name))
            else:
                self._fail(name, f"predicate ended with status {status}")
        while self.later and self.later[0][0] <= time.monotonic():
            self.queue.append(heapq.heappop(self.later)[1])
        self._start_some()
        heard, self.answers = self.answers, []
        return heard

    def _fail(self, name: str, reason: str) -> None:
        self.answers.append(Answer(name, failure=reason))

    def close(self) -> None:
        """End the predicates that still run."""
        for process in self.asking.values():
            _end(process)


def _end(process: subprocess.Popen) -> None:
    """End a predicate with all that it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
