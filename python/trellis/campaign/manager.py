"""A manager runs a campaign: it claims, launches and judges, until nothing is left or the allocation ends."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..ground.errors import BadArgument, FileError
from ..ground.version import __version__
from .attempt import Attempt
from .judging import Judge
from .launchers import make_launcher
from .launchers.base import Launcher
from .launchers.patience import patiently
from .launching import start
from .manager_state import Course
from .model import Campaign, Failure, Machine, State, require_estimates
from .tasks_of_others import Past
from .unfinished_starts import named
from .watching import GRACE_SECONDS, Watch

LOOK_SECONDS = 1.0


@dataclass(slots=True)
class Result:
    """This is the end of a manager: its reason, and the counts of tasks by state."""

    counts: dict[str, int]
    failed: dict[str, str]
    started: int
    seconds: float
    reason: str
    problems: list[str] = field(default_factory=list)


class Manager:
    """This is one manager of a campaign on one machine.

    Parameters
    ----------
    say
        Gets a line for people at each event worth it.
    seconds
        Until this manager stops; default: the allocation's length, or no end.
    """

    def __init__(
        self,
        campaign: Campaign,
        machine: Machine,
        *,
        launcher: Launcher | None = None,
        say: Callable[[str], None] = lambda line: None,
        seconds: float | None = None,
    ) -> None:
        require_estimates(campaign.tasks)
        self.launcher = launcher or make_launcher(machine)
        self.machine = self.launcher.machine  # this one has the nodes of the allocation
        self.campaign = campaign
        self.began = time.monotonic()
        self.course = Course(campaign, self.machine, self.launcher, say, seconds)
        self.claims = self.course.claims
        self.past, self.watch = Past(self.course), Watch(self.course)
        self.judge = Judge(self.course, self.past)
        self.on_progress: Callable[[int, int], None] = lambda done, total: None
        self.signals = self.signals_told = 0
        self.next_look = self.next_beat = 0.0
        self.beaten = time.monotonic()

    @property
    def running(self) -> dict[str, Attempt]:
        """Return the attempts that have not ended, by task."""
        return self.course.running

    # The run

    def run(self) -> Result:
        """Run until all tasks have ended, the allocation ends, or SIGTERM arrives."""
        reason = "error"
        handlers = {s: signal.signal(s, self._on_signal) for s in _stop_signals()}
        with named(self.claims.id):
            try:
                self._begin()
                reason = self._loop()
            finally:
                self._close(reason)
                for number, handler in handlers.items():
                    signal.signal(number, handler)
        course = self.course
        counts = {state.value: count for state, count in course.progress.counts.items() if count}
        return Result(counts, course.failed, course.started, time.monotonic() - self.began, reason)

    def _begin(self) -> None:
        course, machine = self.course, self.machine
        try:
            course.claims.beat()
        except OSError as error:
            raise FileError(
                f"{course.claims.managers}: no sign of life can be written ({error}); the same command goes "
                "on when that is mended"
            ) from error
        course.records.insert(
            "manager",
            id=course.claims.id,
            host=socket.gethostname(),
            pid=os.getpid(),
            started=time.time(),
            code_version=__version__,
            machine={"name": machine.name, "nodes": len(machine.nodes), "launcher": machine.launcher},
            campaign={"name": self.campaign.name, "tasks": len(course.tasks), "text": self.campaign.text},
        )
        course.lines.write(
            "started",
            version=__version__,
            host=socket.gethostname(),
            pid=os.getpid(),
            campaign=self.campaign.name,
            tasks=len(course.tasks),
            machine=machine.name,
            nodes=len(machine.nodes),
        )
        self.launcher.is_stopped = lambda: self.signals > 0
        self.launcher.start()
        left = self.launcher.seconds_left()
        if left is not None and (course.end is None or time.monotonic() + left < course.end):
            course.end = time.monotonic() + left
            course.planner.end = course.end - machine.drain_seconds
        missing = set(self.launcher.missing_nodes())
        for node in machine.usable:
            if node.name not in course.health.quarantined and node.name not in missing:
                course.join(node.name)
        patiently(self._meet_left_overs, self.launcher.is_stopped)
        self.past.look_at_history()
        course.is_begun = True
        course.records.commit(now=True)

    def _meet_left_overs(self) -> None:
        with contextlib.suppress(OSError):  # an engine without answers must not make it seem dead
            self.claims.beat()
        self.past.orphans.meet()

    def _loop(self) -> str:
        course, planner = self.course, self.course.planner
        while True:
            self._look_around()
            for handle, ended in self.launcher.poll(self._pause()):
                self.judge.ended(course.running[handle.launch.task], ended)
            now = time.monotonic()
            if now >= self.next_beat:  # to judge large outputs takes long: nobody may claim who seems dead
                self._beat(now)
            for decision in planner.plan(now):
                if (not_begun := start(course, decision)) is not None:
                    self.judge.ended(*not_begun)
            course.records.commit()
            self.on_progress(course.progress.counts[State.DONE], len(course.tasks))
            if course.progress.is_over:
                return "finished"
            if course.end is not None and now >= course.end:
                return "allocation ended"
            if self.signals > self.signals_told:
                self.signals_told = self.signals
                if self.signals == 1 and course.running:
                    self.course.say("no more tasks are started; Ctrl-C once more ends those that run")
            if self.signals > 1:
                return "interrupted"
            if not course.running and not course.awaited and self._nothing_will_start():
                return "drained" if planner.is_draining else self._why_stuck()

    def _pause(self) -> float:
        """Return the seconds that the launcher may wait: few while planning could help, else more."""
        if not self.course.running:
            return 0.05
        return 0.02 if self.watch.killed or self.course.predicates.asking or self.judge.settling else 0.2

    def _nothing_will_start(self) -> bool:
        course, planner = self.course, self.course.planner
        if planner.is_draining:
            return True
        if course.foreign or course.predicates:
            return False
        if course.for_files:
            # Nothing runs that could make these files: they are missing inputs.
            for name in sorted(course.for_files):
                missing = course.missing_files(course.tasks[name])
                if missing:
                    course.give_up(name, Failure.INPUT, f"not there: {', '.join(missing)}")
            course.for_files.clear()
            return False
        return planner.waiting == 0 or not planner.pool.nodes or not self._something_fits()

    def _something_fits(self) -> bool:
        """Return True if a ready task fits the nodes that are left; all of them are idle now."""
        planner = self.course.planner
        return any(
            planner.pool.find(shape) for q in planner.queues.values() if q.entries for _, shape, _ in q.shapes
        ) or bool(planner.reservations)

    def _why_stuck(self) -> str:
        planner = self.course.planner
        if planner.held and not planner.waiting:
            return "the rest is too long for what is left of the allocation"
        return f"no usable node is left for {planner.waiting} tasks"

    # Now and then

    def _look_around(self) -> None:
        course, now = self.course, time.monotonic()
        if now >= self.next_beat:
            self._beat(now)
        course.hear_predicates()
        self.watch.kill_hard(now)
        if self.judge.settling:
            self.judge.look_at_settling()
        if now < self.next_look:
            return
        self.next_look = now + LOOK_SECONDS
        self.watch.look_at_times(now)
        self.watch.look_at_nodes()
        self.past.look_at_foreign()
        self.past.look_at_awaited()
        course.look_for_files()
        if course.cost.refit():
            course.planner.graph_changed()
            course.records.event(
                "model-fitted", detail=json.dumps({f"{g}/{a}": s for (g, a), s in course.cost.used.items()})
            )

    def _beat(self, now: float) -> None:
        """Show that it is alive; it ends before others could take it for dead.

        Raises
        ------
        FileError
            The state folder has not taken it for half a lease.
        """
        lease = self.campaign.lease_seconds
        try:
            self.course.claims.beat()
        except OSError as error:
            if now - self.beaten > lease / 2:
                raise FileError(
                    f"no sign of life could be written for {now - self.beaten:.0f} s, and others would soon "
                    f"take this manager for dead ({error}); the same command goes on when that is mended"
                ) from error
            self.next_beat = now + lease / 16
            return
        if now - self.beaten > lease:  # it was held up
            self.watch.look_at_claims()
        self.beaten, self.next_beat = now, now + lease / 4

    # The end

    def stop(self) -> None:
        """Start nothing more, as after a first SIGTERM."""
        self.signals = max(self.signals, 1)
        if not self.course.planner.is_draining:
            self.course.planner.drain()

    def _on_signal(self, number: int, frame: object) -> None:
        if number != signal.SIGHUP:  # a terminal that goes away with its ssh says it twice
            self.signals += 1
        self.stop()

    def _close(self, reason: str) -> None:
        """End the tasks that still run, and release their claims."""
        course = self.course
        for attempt in course.running.values():
            if attempt.handle is not None:
                attempt.killed_for = attempt.killed_for or "shutdown"
                self.launcher.kill(attempt.handle)
        deadline = time.monotonic() + GRACE_SECONDS
        hard = False
        while any(a.handle is not None for a in course.running.values()) and time.monotonic() < deadline:
            for handle, ended in self.launcher.poll(0.1):
                self.judge.ended(course.running[handle.launch.task], ended)
            if not hard and time.monotonic() > deadline - GRACE_SECONDS / 2:
                hard = True
                for attempt in course.running.values():
                    if attempt.handle is not None:
                        self.launcher.kill(attempt.handle, hard=True)
        self.judge.finish()
        course.predicates.close()
        self.launcher.close()
        progress = course.progress
        progress.set([n for n in course.planner.held if progress.state[n] is State.READY], State.HELD)
        course.records.event("ended", detail=reason)
        course.lines.write("tasks", **{state.value: count for state, count in progress.counts.items()})
        course.records.update("manager", {"id": course.claims.id}, ended=time.time())
        course.records.close()
        with contextlib.suppress(OSError):  # on its own host others see that the process is gone
            course.claims.remove_unfinished()
            course.claims.beat(ended=True)


def _stop_signals() -> list[signal.Signals]:
    """Return the signals that end a manager in good order; under nohup SIGHUP is ignored, and stays so."""
    heard = [signal.SIGTERM, signal.SIGINT]
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
        heard.append(signal.SIGHUP)
    return heard


def run_campaign(campaign: Campaign, machine: Machine, **options: Any) -> Result:
    """Run a campaign with a manager of this process; see :class:`Manager`."""
    if not campaign.tasks:
        raise BadArgument("the campaign has no tasks")
    return Manager(campaign, machine, **options).run()
