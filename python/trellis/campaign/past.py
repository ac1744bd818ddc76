"""What was there before this manager, and what others do beside it: orphans, histories, foreign claims."""

from __future__ import annotations

import time
from typing import Any

from ..errors import NotAvailable
from .attempt import outputs_of
from .claims import History
from .course import Course
from .launchers.base import Orphan
from .model import Failure, State, Task
from .outputs import problem_of, still_valid

#: Between SIGTERM and SIGKILL to what outlived its manager.
GRACE_SECONDS = 5.0
#: From the death of a manager to the search for what it left: a process that it had just forked bears the
#: marker of its attempt only from its exec on.
EXEC_SECONDS = 0.1


class Past:
    """Attempts of other managers, dead or alive."""

    def __init__(self, course: Course) -> None:
        self.course = course
        #: Dead managers whose orphans have been met: only then may their tasks run again.
        self.met: set[str] = set()

    # Before the first launch

    def meet_orphans(self) -> None:
        """What dead managers left running is ended, or awaited."""
        course = self.course
        managers = course.claims.known_managers()
        dead = {name for name, is_alive in managers.items() if not is_alive}
        if dead - self.met:
            time.sleep(EXEC_SECONDS)
        orphans = course.launcher.orphans(course.state, managers)
        self._end_or_await(orphans)
        self.met |= dead

    def _end_or_await(self, orphans: list[Orphan]) -> None:
        course = self.course
        if course.campaign.orphans == "await":
            for orphan in orphans:
                course.awaited[orphan.task] = orphan
                course.say(f"waiting for {orphan.task}, which outlived its manager")
            return
        for hard in (False, True):
            deadline = time.monotonic() + GRACE_SECONDS
            left = [o for o in orphans if course.launcher.end_orphan(o, hard=hard)]
            while left and time.monotonic() < deadline:
                time.sleep(0.02)
                left = [o for o in left if course.launcher.end_orphan(o, hard=hard)]
            if not left:
                break
        for orphan in left:  # a process that cannot die, or Slurm gives no answer: nothing runs beside it
            course.awaited[orphan.task] = orphan
            course.say(f"{orphan.task} outlived its manager and cannot be ended: waiting for it")
        for orphan in orphans:
            if orphan.task in course.awaited:
                continue
            course.records.event("orphan-ended", task=orphan.task, detail=f"attempt {orphan.attempt}")
            course.say(f"ended attempt {orphan.attempt} of {orphan.task}, which outlived its manager")

    def look_at_history(self) -> None:
        """What is done, what failed, what others run."""
        course = self.course
        course.histories = course.claims.histories()
        todo = list(course.tasks)
        while todo:
            made: list[str] = []
            for name in todo:
                if name in course.histories:
                    made += self.judge(name, course.histories[name])
                else:
                    self._adopt(course.tasks[name])
            todo = made
        if course.cost.refit():
            course.planner.graph_changed()
        for name in course.progress.free():
            course.free(name)

    def judge(self, name: str, history: History) -> list[str]:
        """Returns the names of tasks that a done task has made."""
        course, task = self.course, self.course.tasks[name]
        if history.end == "done":
            stored = history.content["outputs"]
            problem = still_valid(course.root, stored, task) if task.outputs else None
            if problem is None:
                self._learn(task, history)
                return course.is_done(name, stored)
            course.say(f"{name} was done, but {problem}: it runs again")
            course.records.event("invalid", task=name, detail=problem)
        elif history.end == "" and course.claims.is_alive(history.manager):
            course.foreign.add(name)
        elif history.end == "" and not self._has_met_orphans_of(history.manager):
            course.foreign.add(name)  # until the engine says what still runs
        elif history.end == "" and (taken := self._take_over(task, history)) is not None:
            return course.is_done(name, taken)
        elif course.retries_left(task, history) is None:
            last = history.failures[-1]
            course.give_up(name, Failure(last["failure"]), last["reason"], is_new=False)
        return []

    def _has_met_orphans_of(self, manager: str) -> bool:
        """False: the engine gives no answer now, and what the manager started may still run."""
        if manager not in self.met:  # it died after the last look
            try:
                self.meet_orphans()
            except NotAvailable:
                return False
            self.met.add(manager)  # a claim that was cut names nobody
        return True

    def _learn(self, task: Task, history: History) -> None:
        """How long it took, from its claim: estimates go on where the last allocation's were."""
        seconds, alternative = history.content.get("seconds"), history.claim.get("alternative", 0)
        is_known = isinstance(alternative, int) and 0 <= alternative < len(task.alternatives)
        if is_known and isinstance(seconds, (int, float)) and 0 < seconds < 1e300:
            self.course.cost.learn(task, alternative, seconds)

    def _adopt(self, task: Task) -> None:
        """A task that was never claimed is done if its outputs are there and prove themselves."""
        course = self.course
        if not task.outputs or not all(output.proves_itself for output in task.outputs):
            return
        stored = {}
        for output in task.outputs:
            problem, facts = problem_of(course.root / output.path, output)
            if problem is not None:
                return
            stored[output.path] = facts
        if course.claims.claim(task.name, 0, {"task": task.name, "adopted": True}):
            course.claims.end(task.name, 0, "done", {"outputs": stored, "adopted": True})
            course.is_done(task.name, stored)

    def _take_over(self, task: Task, history: History) -> dict[str, Any] | None:
        """What a dead manager's attempt left, if all of it proves itself: then it need not run again."""
        course = self.course
        if task.name in course.awaited or not all(output.proves_itself for output in task.outputs):
            return None
        stored: dict[str, Any] = {}
        alternative = history.claim.get("alternative", 0)
        for output, written, is_renamed in outputs_of(task, history.attempt, alternative, course.state):
            problem, facts = problem_of(course.root / written, output)
            if problem is not None:
                return None
            stored[output.path] = {**facts, **({"temporary": written} if is_renamed else {})}
        number = history.attempt + 1
        if not stored or not task.outputs or not course.claims.claim(task.name, number, {"task": task.name}):
            return None
        history.attempt = number
        course.claims.end(task.name, number, "done", {"outputs": stored, "taken_over": True})
        return stored if still_valid(course.root, stored, task) is None else None

    # Now and then

    def look_at_foreign(self) -> None:
        """Tasks that other managers had claimed."""
        course = self.course
        for name in list(course.foreign):
            history = course.claims.history(name)
            if history.end == "" and course.claims.is_alive(history.manager):
                continue
            if history.end == "":
                if not self._has_met_orphans_of(history.manager):
                    continue
                course.records.event("claim-taken-over", task=name, detail=history.manager)
            course.foreign.discard(name)
            self._judge_again(name, history)

    def look_at_awaited(self) -> None:
        """Attempts that outlived their manager: at their end the outputs decide as always."""
        course = self.course
        if not course.awaited:
            return
        try:
            orphans = course.launcher.orphans(course.state, course.claims.known_managers())
        except NotAvailable:  # the engine gives no answer now: they may still run
            return
        alive = {orphan.task for orphan in orphans}
        for name in [name for name in course.awaited if name not in alive]:
            del course.awaited[name]
            self._judge_again(name, course.claims.history(name))

    def _judge_again(self, name: str, history: History) -> None:
        progress = self.course.progress
        self.course.histories[name] = history
        for other in [name, *self.judge(name, history)]:
            if progress.state[other] is State.WAITING and progress.missing[other] == 0:
                self.course.free(other)
