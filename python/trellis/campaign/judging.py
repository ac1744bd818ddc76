"""The outputs of an attempt decide whether it succeeded, whatever its exit status is."""

from __future__ import annotations

import os
import subprocess
import time
from typing import Any

from .attempt import Attempt, check_outputs, classify, log_of, publish, told_failure
from .launchers.base import Ended
from .manager_state import Course
from .model import Failure, State
from .outputs import set_aside
from .tasks_of_others import Past

_RELEASED = {
    "shutdown": "the manager stopped",
    "taken over": "another manager took this one for dead, and its task over",
}


class Judge:
    """A judge ends attempts of this manager."""

    def __init__(self, course: Course, past: Past) -> None:
        self.course, self.past = course, past
        self.settling: dict[str, tuple[float, Ended, float]] = {}  # a task has until when, end, duration

    def ended(self, attempt: Attempt, ended: Ended) -> None:
        """Judge an attempt of which the launcher says that it ended, or that it could not be launched."""
        seconds = time.monotonic() - attempt.started
        if not self._judge(attempt, ended, seconds, is_final=self.course.machine.settle_seconds <= 0):
            until = time.monotonic() + self.course.machine.settle_seconds
            attempt.handle = None  # there is nothing left to kill
            self.settling[attempt.task.name] = until, ended, seconds

    def look_at_settling(self) -> None:
        """Judge attempts that ended well, but whose files were not seen before."""
        now = time.monotonic()
        for name, (until, ended, seconds) in list(self.settling.items()):
            attempt = self.course.running[name]
            _refresh(attempt, self.course)
            if self._judge(attempt, ended, seconds, is_final=now >= until):
                del self.settling[name]

    def finish(self) -> None:
        """Judge what is still unclear, because the manager ends."""
        for name, (_, ended, seconds) in self.settling.items():
            self._judge(self.course.running[name], ended, seconds, is_final=True)
        self.settling.clear()

    def _judge(self, attempt: Attempt, ended: Ended, seconds: float, *, is_final: bool) -> bool:
        """Judge an attempt; return False if the outputs are to be looked at again.

        A parallel file system may show a node's files a little late. An attempt with exit status 0 is looked
        at again before its outputs count as missing.
        """
        course = self.course
        problem, stored = check_outputs(attempt, course.root)
        if problem is None and not attempt.task.outputs and attempt.placement.ranks > 1:
            # The marker is one for all ranks: it says that one of them ended well.
            if ended.status != 0 or ended.lost_nodes:
                problem = "it has no outputs, and its ranks did not all end well"
        is_clean = ended.status == 0 and not ended.lost_nodes and not attempt.killed_for
        if problem is not None and is_clean and not is_final:
            return False
        del course.running[attempt.task.name]
        if not attempt.killed_for and course.claims.is_taken_over(attempt.task.name, attempt.number):
            attempt.killed_for = "taken over"  # its outputs are the other manager's to make
        if problem is None and (not attempt.killed_for or _is_proof(attempt)):
            try:
                course.claims.end(
                    attempt.task.name, attempt.number, "done", {"outputs": stored, "seconds": seconds}
                )
                publish(attempt, course.root)
            except OSError as error:
                problem = f"outputs could not be published: {error}"
            else:
                self._succeeded(attempt, ended, stored, seconds)
                return True
        self._failed(attempt, ended, problem or f"ended for {attempt.killed_for}", seconds)
        return True

    def _succeeded(self, attempt: Attempt, ended: Ended, stored: dict[str, Any], seconds: float) -> None:
        course, name = self.course, attempt.task.name
        self._record_end(attempt, ended, "done", "", stored)
        course.planner.finished(name)
        course.cost.learn(attempt.task, attempt.placement.alternative, seconds)
        for node in course.health.task_done(name, attempt.placement.nodes):
            course.quarantine(node, "two tasks that failed on it worked elsewhere")
        self.past.meet_made(course.is_done(name, stored))

    def _failed(self, attempt: Attempt, ended: Ended, problem: str, seconds: float) -> None:
        course, task, name = self.course, attempt.task, attempt.task.name
        nodes = attempt.placement.nodes
        if attempt.killed_for in _RELEASED:
            self._end_claim(attempt, "released", {"nodes": list(nodes), "seconds": seconds})
            self._record_end(attempt, ended, "released", _RELEASED[attempt.killed_for], {})
            course.not_started(name)
            if attempt.killed_for == "taken over":
                course.say(f"{name}: {_RELEASED['taken over']}")
                course.foreign.add(name)
            return
        failure, reason = classify(attempt, ended, problem)
        bad = ended.lost_nodes
        if failure is Failure.TASK:
            bad = tuple(node for node in nodes if not is_sound(course.machine.health, node))
            if bad:
                failure, reason = Failure.NODE, f"the health command fails on {', '.join(bad)}; {reason}"
        content: dict[str, Any] = {"failure": failure.value, "reason": reason, "nodes": list(nodes)}
        content |= {"status": ended.status, "seconds": seconds}
        if (log := log_of(attempt)) is not None:
            content["log"] = log
        self._end_claim(attempt, "failed", content)
        self._record_end(attempt, ended, failure.value, reason, {}, log=content.get("log"))
        course.histories[name].failures.append(content)
        for _, written, is_renamed in attempt.outputs:
            if is_renamed and task.outputs and (aside := set_aside(course.root / written)):
                course.records.event("set-aside", task=name, detail=str(aside))
        course.planner.finished(name, again=True)
        for node in bad if failure is Failure.NODE else ():
            if course.health.node_failed(node):
                course.quarantine(node, reason)
        if failure is Failure.TASK:
            course.health.task_failed(name, nodes)
        if course.retries_left(task, course.histories[name]) is None:
            course.give_up(name, failure, told_failure(content))
            return
        course.say(f"{name}: attempt {attempt.number} failed ({failure.value}): {told_failure(content)}")
        course.progress.set([name], State.WAITING)
        course.free(name)

    def _end_claim(self, attempt: Attempt, kind: str, content: dict[str, Any]) -> None:
        try:
            self.course.claims.end(attempt.task.name, attempt.number, kind, content)
        except OSError as error:
            self.course.say(f"{attempt.task.name}: its end could not be written: {error}")

    def _record_end(
        self,
        attempt: Attempt,
        ended: Ended,
        outcome: str,
        reason: str,
        outputs: dict,
        *,
        log: str | None = None,
    ) -> None:
        self.course.records.end_attempt(
            attempt.task.name,
            attempt.number,
            ended=time.time(),
            status=ended.status,
            outcome=outcome,
            reason=reason,
            outputs=outputs,
            log=log,
        )


def _is_proof(attempt: Attempt) -> bool:
    """Return True if valid outputs of an attempt that was killed count: they are certainly whole.

    A program that hangs at its end, or is caught by the end of the allocation there, has done its work.
    """
    outputs = attempt.task.outputs
    return attempt.killed_for != "taken over" and bool(outputs) and all(o.proves_itself for o in outputs)


def is_sound(health: tuple[str, ...], node: str) -> bool:
    """Return True if the machine's health command finds a node sound; {node} stands for its name."""
    if not health:
        return True
    command = [word.replace("{node}", node) for word in health]
    try:
        return subprocess.run(command, stdin=subprocess.DEVNULL, timeout=30, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def _refresh(attempt: Attempt, course: Course) -> None:
    """Read a folder, so that a network file system asks its server anew."""
    for _, written, _ in attempt.outputs:
        try:
            with os.scandir((course.root / written).parent) as entries:
                next(entries, None)
        except OSError:
            continue
