"""What was there before this manager, and what others do beside it: orphans, histories, foreign claims."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from ..errors import NotAvailable
from .attempt import outputs_of
from .claims import History
from .course import Course
from .launchers.base import Orphan
from .model import Failure, Output, State, Task
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
        self._end_or_await(self._orphans(managers))
        self.met |= dead

    def _orphans(self, managers: Mapping[str, bool]) -> list[Orphan]:
        """A manager that began after the look at `managers` shows that it is alive before it launches."""
        found = self.course.launcher.orphans(self.course.state, managers)
        return [orphan for orphan in found if not self.course.claims.is_alive(orphan.manager)]

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
        last = self._last_word(name, history)
        if last is None:
            course.foreign.add(name)
            return []
        history = course.histories[name] = last
        if history.end == "done":
            stored = history.content["outputs"]
            problem = still_valid(course.root, stored, task) if task.outputs else None
            if problem is None:
                self._learn(task, history)
                return course.is_done(name, stored)
            course.say(f"{name} was done, but {problem}: it runs again")
            course.records.event("invalid", task=name, detail=problem)
        elif history.end == "" and (taken := self._take_over(task, history)) is not None:
            return course.is_done(name, taken)
        elif course.retries_left(task, history) is None:
            last_failure = history.failures[-1]
            course.give_up(name, Failure(last_failure["failure"]), last_failure["reason"], is_new=False)
        return []

    def _last_word(self, name: str, history: History) -> History | None:
        """What the files say of a task that nobody holds; None: somebody does.

        A manager that is dead now may have said how its attempt ended after `history` was read, and another
        one may have taken the task over.
        """
        while history.end == "":
            if not self._is_over(history.manager):
                return None
            before, history = history, self.course.claims.history(name)
            if history.attempt == before.attempt:
                break
        return history

    def _is_over(self, manager: str) -> bool:
        """Whether a manager is dead, and nothing of it runs; False also while the engine gives no answer."""
        if self.course.claims.is_alive(manager):
            self.met.discard(manager)
            return False
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
        found, left = self._left_by(task, history)
        for output, written, is_renamed in left:
            problem, facts = problem_of(course.root / written, output)
            if problem is not None:
                return None
            stored[output.path] = {**facts, **({"temporary": written} if is_renamed else {})}
        number = history.attempt + 1
        if not stored or not task.outputs:
            return None
        if not course.claims.claim(task.name, number, {"task": task.name, **found}):
            return None
        history.attempt = number
        course.claims.end(task.name, number, "done", {"outputs": stored, "taken_over": True})
        return stored if still_valid(course.root, stored, task) is None else None

    def _left_by(self, task: Task, history: History) -> tuple[dict[str, Any], list[tuple[Output, str, bool]]]:
        """Where a dead manager's attempt wrote, in the words of a claim and as paths; no paths: not known.

        A claim to take over or to adopt wrote nothing itself: it says what it had found.
        """
        if history.claim.get("adopted"):
            return {"adopted": True}, [(output, output.path, False) for output in task.outputs]
        number = history.claim.get("taken_over", history.attempt)
        alternative = history.claim.get("alternative", 0)
        if not isinstance(number, int) or alternative not in range(len(task.alternatives)):
            return {}, []
        left = outputs_of(task, number, alternative, self.course.state)
        return {"taken_over": number, "alternative": alternative}, left

    # Now and then

    def look_at_foreign(self) -> None:
        """Tasks that other managers had claimed."""
        course = self.course
        for name in list(course.foreign):
            history = self._last_word(name, course.claims.history(name))
            if history is None:
                continue
            if history.end == "":
                course.records.event("claim-taken-over", task=name, detail=history.manager)
            course.foreign.discard(name)
            self._judge_again(name, history)

    def look_at_awaited(self) -> None:
        """Attempts that outlived their manager: at their end the outputs decide as always."""
        course = self.course
        if not course.awaited:
            return
        try:
            orphans = self._orphans(course.claims.known_managers())
        except NotAvailable:  # the engine gives no answer now: they may still run
            return
        alive = {orphan.task for orphan in orphans}
        for name in [name for name in course.awaited if name not in alive]:
            del course.awaited[name]
            self._judge_again(name, course.claims.history(name))

    def _judge_again(self, name: str, history: History) -> None:
        if self.course.progress.state[name] in (State.DONE, State.READY, State.RUNNING):
            return  # known here already: what was awaited was another attempt
        made = self.judge(name, history)
        self._free([name])
        self.meet_made(made)

    def meet_made(self, made: list[str]) -> None:
        """Tasks that were made just now. An earlier run may have made the same, and done them."""
        course, todo = self.course, list(made)
        course.is_begun = False  # none may start before all have been looked at
        for name in todo:  # grows by what these have made
            if name in course.histories:
                todo += self.judge(name, course.histories[name])
        course.is_begun = True
        self._free(todo)

    def _free(self, names: list[str]) -> None:
        progress = self.course.progress
        for name in names:
            if progress.state[name] is State.WAITING and progress.missing[name] == 0:
                self.course.free(name)
