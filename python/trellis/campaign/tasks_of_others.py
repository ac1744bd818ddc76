"""The files tell the state of tasks that this manager does not run itself.

Such tasks are done, failed, held by another manager or left by a dead one. The cases are those of the table
"What a dead manager leaves" in doc/campaign/faults.md.
"""

from __future__ import annotations

import contextlib
from typing import Any

from ..ground.errors import FileError
from .attempt import outputs_of, told_failure
from .claims import History
from .manager_state import Course
from .model import Failure, Output, State, Task
from .orphans import Orphans
from .outputs import problem_of, set_aside, still_valid

#: These are outputs, the path that each was written to, and whether it still is to be renamed.
Written = list[tuple[Output, str, bool]]


class Past:
    """This judges tasks by their files."""

    def __init__(self, course: Course) -> None:
        self.course = course
        self.orphans = Orphans(course)

    # When

    def look_at_history(self) -> None:
        """Look at the history of all tasks; this happens once, at the beginning."""
        course = self.course
        course.histories = course.claims.histories()
        self._judge_all(list(course.tasks))
        if course.cost.refit():
            course.planner.graph_changed()
        for name in course.progress.free():
            course.free(name)

    def meet_made(self, made: list[str]) -> None:
        """Judge tasks that were made just now. An earlier run may have made the same, and done them."""
        self.course.is_begun = False  # none may start before all have been looked at
        judged = self._judge_all(made)
        self.course.is_begun = True
        self._free(judged)

    def look_at_foreign(self) -> None:
        """Look now and then at tasks that other managers had claimed."""
        course = self.course
        for name in list(course.foreign):
            is_judged = self._judge_again(name)
            last = course.histories.get(name, History())
            if is_judged and last.attempt >= 0 and last.end == "":
                course.records.event("claim-taken-over", task=name, detail=last.manager)

    def look_at_awaited(self) -> None:
        """Look now and then at attempts that outlived their manager. At their end the
        outputs decide as always.
        """
        for name in self.orphans.ended():
            self._judge_again(name)

    def _judge_all(self, names: list[str]) -> list[str]:
        """Judge these tasks, the tasks that they have made, and so on."""
        todo = list(names)
        for name in todo:
            todo += self.judge(name, self.course.histories.get(name, History()))
        return todo

    def _judge_again(self, name: str) -> bool:
        """Judge a task again; return True if no other manager holds it any more."""
        course = self.course
        course.foreign.discard(name)
        if course.progress.state[name] in (State.DONE, State.READY, State.RUNNING):
            return False  # it is known here already: another attempt was awaited
        made = self.judge(name, course.claims.history(name))
        self._free([name])
        self.meet_made(made)
        return name not in course.foreign

    def _free(self, names: list[str]) -> None:
        progress = self.course.progress
        for name in names:
            if progress.state[name] is State.WAITING and progress.missing[name] == 0:
                self.course.free(name)

    # What

    def judge(self, name: str, history: History) -> list[str]:
        """Judge one task: it is done, given up, held by another, or to run here; return
        the tasks that it made.
        """
        course, task = self.course, self.course.tasks[name]
        last = self._last_word(name, history)
        if last is None:
            course.foreign.add(name)
            return []
        if last.attempt >= 0:
            course.histories[name] = last
        stored = None  # it failed, or a manager that stopped released it
        if last.end == "done":
            stored = self._still_done(task, last)
        elif last.end == "":  # a dead manager began it, or nobody claimed it
            stored = self._found_whole(task, last)
        if stored is not None:
            return course.is_done(name, stored)
        if name not in course.foreign and course.retries_left(task, last) is None:
            self._set_aside(task, last)
            failure = last.failures[-1]
            course.give_up(name, Failure(failure["failure"]), told_failure(failure), is_new=False)
        return []

    def _last_word(self, name: str, history: History) -> History | None:
        """Return the latest history of a task that no living manager holds; None: one holds it.

        A manager that is dead now may have said how its attempt ended after `history` was read, and another
        one may have taken the task over.
        """
        while history.attempt >= 0 and history.end == "":
            if not self.orphans.is_over(history.manager):
                return None
            before, history = history, self.course.claims.history(name)
            if history.attempt == before.attempt:
                break
        return history

    def _still_done(self, task: Task, history: History) -> dict[str, Any] | None:
        """Return the outputs as they were recorded, if they still are so; those without their name get it."""
        course, stored = self.course, history.content["outputs"]
        problem = still_valid(course.root, stored, task)
        if problem is not None:
            course.say(f"{task.name} was done, but {problem}: it runs again")
            course.records.event("invalid", task=task.name, detail=problem)
            return None
        self._learn(task, history)
        return stored

    def _learn(self, task: Task, history: History) -> None:
        """Learn from a task's end how long it took, so that estimates go on from the last allocation's."""
        seconds, alternative = history.content.get("seconds"), _alternative(task, history)
        if alternative is not None and isinstance(seconds, (int, float)) and 0 < seconds < 1e300:
            self.course.cost.learn(task, alternative, seconds)

    def _found_whole(self, task: Task, history: History) -> dict[str, Any] | None:
        """Return outputs that no claim calls done, if all of them prove themselves.

        Outputs of a task that was never claimed are adopted; those that a dead manager's attempt left are
        taken over. Either is an attempt of its own, which starts nothing.
        """
        course, number = self.course, history.attempt + 1
        if task.name in course.awaited or not _can_prove(task, history):
            return None
        words, written = self._written_by(task, history)
        stored = {}
        for output, path, is_renamed in written:
            problem, facts = problem_of(course.root / path, output)
            if problem is not None:
                return None
            stored[output.path] = {**facts, **({"temporary": path} if is_renamed else {})}
        if not stored:
            return None
        if not course.claims.claim(task.name, number, {"task": task.name, **words}):
            course.foreign.add(task.name)  # another manager was faster
            return None
        course.histories[task.name] = history
        history.attempt = number
        course.claims.end(task.name, number, "done", {"outputs": stored})
        return stored if still_valid(course.root, stored, task) is None else None

    def _written_by(self, task: Task, history: History) -> tuple[dict[str, Any], Written]:
        """Return the keys of a claim and the paths to which the last attempt wrote; no paths: not known.

        A claim to adopt or to take over wrote nothing itself: it says what it had found.
        """
        if history.attempt < 0 or history.claim.get("adopted"):
            return {"adopted": True}, [(output, output.path, False) for output in task.outputs]
        number, alternative = history.claim.get("taken_over", history.attempt), _alternative(task, history)
        if not isinstance(number, int) or alternative is None:
            return {}, []
        words = {"taken_over": number, "alternative": alternative}
        return words, outputs_of(task, number, alternative, self.course.state)

    def _set_aside(self, task: Task, history: History) -> None:
        """Set aside the files that the last attempt of a task that failed for good had begun to write."""
        _, written = self._written_by(task, history)
        for path in (path for _, path, is_renamed in written if is_renamed and task.outputs):
            with contextlib.suppress(OSError, FileError):  # it does not count, wherever it lies
                if (aside := set_aside(self.course.root / path)) is not None:
                    self.course.records.event("set-aside", task=task.name, detail=str(aside))


def _alternative(task: Task, history: History) -> int | None:
    """Return the way in which the last attempt ran, if the file of the campaign still has it."""
    alternative = history.claim.get("alternative", 0)
    is_known = isinstance(alternative, int) and 0 <= alternative < len(task.alternatives)
    return alternative if is_known else None


def _can_prove(task: Task, history: History) -> bool:
    """Return True if files alone can show that a task is done.

    The marker of a task without outputs does if the task has one rank: the first rank to end makes it.
    """
    if task.outputs:
        return all(output.proves_itself for output in task.outputs)
    alternative = _alternative(task, history)
    return (
        history.attempt >= 0 and alternative is not None and task.alternatives[alternative].request.ranks == 1
    )
