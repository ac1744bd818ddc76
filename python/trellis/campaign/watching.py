"""Attempts that run are watched: there are time-outs, silence, hanging, and nodes that come and go."""

from __future__ import annotations

import heapq
import time

from .attempt import Attempt, grown_size
from .judging import is_sound
from .manager_state import Course

#: A task has this much time between SIGTERM and SIGKILL.
GRACE_SECONDS = 5.0
#: A quarantined node that comes back and is sound is used again this many times.
MOST_RETURNS = 2


class Watch:
    """This ends attempts that take too long, and follows the launcher's nodes."""

    def __init__(self, course: Course) -> None:
        self.course = course
        self.killed: list[tuple[float, str]] = []
        self.returns: dict[str, int] = {}

    def look_at_times(self, now: float) -> None:
        """Look at the limits of all running attempts."""
        for attempt in self.course.running.values():
            if attempt.handle is None or attempt.killed_for:
                continue
            if attempt.deadline is not None and now > attempt.deadline:
                attempt.is_alive = grown_size(attempt, self.course.root) > 0
                self.kill(attempt, attempt.limit)
            elif attempt.task.silence is not None:
                size = grown_size(attempt, self.course.root)
                if size != attempt.size:
                    attempt.size, attempt.grown_at = size, now
                elif now - attempt.grown_at > attempt.task.silence:
                    self.kill(attempt, "silence")

    def look_at_claims(self) -> None:
        """Look at the claims: others may have taken this manager for dead, and what they run
        must not run here, too.
        """
        for name, attempt in self.course.running.items():
            if attempt.handle is None or attempt.killed_for:
                continue
            if self.course.claims.is_taken_over(name, attempt.number):
                self.kill(attempt, "taken over")

    def kill(self, attempt: Attempt, why: str) -> None:
        """Ask an attempt to end; :meth:`kill_hard` makes it end."""
        attempt.killed_for = why
        assert attempt.handle is not None
        self.course.launcher.kill(attempt.handle)
        heapq.heappush(self.killed, (time.monotonic() + GRACE_SECONDS, attempt.task.name))

    def kill_hard(self, now: float) -> None:
        """End the attempts that have not ended by themselves after they were asked to."""
        while self.killed and self.killed[0][0] <= now:
            attempt = self.course.running.get(heapq.heappop(self.killed)[1])
            if attempt is not None and attempt.killed_for and attempt.handle is not None:
                self.course.launcher.kill(attempt.handle, hard=True)

    def look_at_nodes(self) -> None:
        """Look at nodes that were lost, that report late, or that come back."""
        course = self.course
        joined, lost = course.launcher.node_changes()
        for name in lost:
            if name in course.planner.pool.nodes:
                course.leave(name, "lost", "node-lost")
        for name in joined:
            if name not in course.planner.pool.nodes and self._may_join(name):
                course.join(name)
                course.records.event("node-joined", node=name)
                course.say(f"{name} joined")

    def _may_join(self, name: str) -> bool:
        """A quarantined node stays out, unless the machine's health command finds it sound again."""
        course = self.course
        if name not in course.health.quarantined:
            return True
        returns = self.returns[name] = self.returns.get(name, 0) + 1
        if course.machine.health and returns <= MOST_RETURNS and is_sound(course.machine.health, name):
            course.health.release(name)
            return True
        course.records.event("node-kept-out", node=name, detail=course.health.quarantined[name])
        course.say(f"{name} is back, but in quarantine ({course.health.quarantined[name]})")
        return False
