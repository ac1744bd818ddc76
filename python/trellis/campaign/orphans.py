"""Attempts that dead managers left running are ended or awaited before their tasks may run again."""

from __future__ import annotations

import time

from ..ground.errors import NotAvailable
from .launchers.base import Orphan
from .manager_state import Course
from .unfinished_starts import wait_for_exec

#: Programs that outlived their manager have this long between SIGTERM and SIGKILL; copies of the
#: manager have it until exec.
GRACE_SECONDS = 5.0


class Orphans:
    """This meets each dead manager once."""

    def __init__(self, course: Course) -> None:
        self.course = course
        #: These are dead managers of which nothing runs any more, or whose programs are all awaited.
        self.met: set[str] = set()
        self._is_stuck = False

    def meet(self) -> None:
        """End or await what the managers left that have died since the last call.

        Raises
        ------
        NotAvailable
            The engine does not say what runs.
        """
        course = self.course
        managers = course.claims.known_managers()
        dead = {name for name, is_alive in managers.items() if not is_alive}
        killed = course.claims.killed & dead - self.met
        # A program that they were starting shows from its exec on which attempt it is. A manager
        # that has ended, or seems dead on another host, bears its name on, and left nothing that
        # is being started here.
        most = 0.0 if self._is_stuck else 2 * GRACE_SECONDS
        self._is_stuck = bool(killed) and not wait_for_exec(killed, patience=GRACE_SECONDS, most=most)
        if self._is_stuck:
            course.say("a dead manager was starting a program that cannot be ended: its tasks wait for that")
            return
        self._end_or_await(self._running(managers))
        if dead - self.met:
            course.claims.remove_unfinished()
        self.met |= dead

    def is_over(self, manager: str) -> bool:
        """Return True if a manager is dead and nothing of it runs; False while the engine gives no answer."""
        claims = self.course.claims
        if claims.is_alive(manager):
            self.met.discard(manager)
            return False
        if manager not in self.met:  # it died after the last look
            try:
                self.meet()
            except NotAvailable:
                return False
            if self._is_stuck:
                return False
            self.met.add(manager)  # a claim that was cut names nobody
        return True

    def ended(self) -> list[str]:
        """Return the tasks whose attempts were awaited and have ended."""
        awaited = self.course.awaited
        if not awaited:
            return []
        try:
            running = {orphan.task for orphan in self._running(self.course.claims.known_managers())}
        except NotAvailable:  # they may still run
            return []
        ended = [name for name in awaited if name not in running]
        for name in ended:
            del awaited[name]
        return ended

    def _running(self, managers: dict[str, bool]) -> list[Orphan]:
        """Return the orphans; a manager that began after the look at `managers` shows itself
        alive before it launches.
        """
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
