"""Attempts run through a client of another engine: it submits a job, waits, and ends with it.

HyperQueue and Flux have this in common: jobs have names, by which this and later managers find, end and await
them. The planner has chosen the nodes; the engine starts the programs there, and ends them with their job.
"""

from __future__ import annotations

import abc
import dataclasses
import hashlib
import json
import math
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ...ground.errors import NotAvailable
from ..model import Machine, Placement
from . import patience
from .base import LAUNCH_ONCE, MANAGER, MARKER, Ended, Handle, Launch, Orphan
from .patience import NoAnswer
from .process import ProcessHandle, ProcessLauncher
from .slurm_system import ask

_NAME = "trellis"
#: After a job was made to end, its client has this many seconds to say so; then it is killed, too.
_CLIENT_SECONDS = 10.0
#: A job whose client is gone is made to end; its end is awaited for so many seconds, and
#: asked for with such pauses.
_LINGER_SECONDS, _LINGER_PAUSE = 30.0, 0.2


@dataclasses.dataclass(slots=True)
class _Lingering:
    """This is an attempt whose client ended, perhaps before its job."""

    handle: Handle
    ended: Ended
    since: float
    next_look: float


@dataclasses.dataclass(slots=True)
class _Unjudged:
    """This is an attempt whose client ended while the engine gives no answer to how its job did."""

    handle: Handle
    ended: Ended
    since: float
    next_look: float


class ClientLauncher(ProcessLauncher):
    """This part does not depend on the engine. The client's own messages go to <log>.client."""

    #: Programs of a job that was made to end may still run for this long after the engine calls it ended.
    after_end = 0.0

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine)
        self.mpi = []
        self.is_bound = False
        self.missing: list[str] = []
        names = [node.name for node in machine.nodes]
        seconds = float(machine.launcher_options.get("check_seconds", 5))
        self.watch = NodeWatch(names, self.nodes_up, seconds)
        self.doomed: dict[str, tuple[str, ...]] = {}  # a job that could never start has its nodes here
        self.killed: dict[str, float] = {}  # an ended job has its time of a hard end, or infinity
        self.lingering: list[_Lingering] = []
        self.unjudged: list[_Unjudged] = []

    @abc.abstractmethod
    def client(
        self, launch: Launch, placement: Placement, environment: Mapping[str, str], name: str
    ) -> list[str]:
        """Return the words of the command that submits a job of this name and waits for it."""

    @abc.abstractmethod
    def jobs(self, *, waiting: bool = False) -> list[tuple[str, str]]:
        """Return identifier and name of the jobs that wait or run; only those that wait, if asked."""

    @abc.abstractmethod
    def nodes_up(self) -> set[str]:
        """Return the names of the nodes on which the engine starts jobs now."""

    @abc.abstractmethod
    def end_jobs(self, jobs: Sequence[str], *, hard: bool) -> None:
        """Ask jobs to end, or make them end."""

    @abc.abstractmethod
    def judge(self, handle: Handle, status: int, messages: str) -> Ended:
        """Return how the attempt ended, from the exit status and the messages of its client.

        Raises
        ------
        NoAnswer
            The engine does not say it now.
        NotAvailable
            It will never say it.
        """

    def refuse(self, launch: Launch, placement: Placement) -> str | None:
        """Return why the engine cannot do it; None: it can."""
        return None

    def follow_nodes(self, up: set[str]) -> None:
        """Follow the nodes; call this at the end of `start` with the nodes that are up then."""
        self.missing = [node.name for node in self.machine.usable if node.name not in up]
        self.watch.set_up(up)
        self.watch.start()

    def missing_nodes(self) -> Sequence[str]:
        return self.missing

    def node_changes(self) -> tuple[Sequence[str], Sequence[str]]:
        return self.watch.changes()

    def close(self) -> None:
        super().close()
        self.watch.stop()

    def launch(self, launch: Launch, placement: Placement, environment: Mapping[str, str]) -> Handle:
        if (problem := self.refuse(launch, placement)) is not None:
            refused = ProcessHandle(launch, placement, error=problem)
            self.failed.append(refused)
            return refused
        name = job_name(launch, environment)
        if environment.get(LAUNCH_ONCE) == "1":
            placement = Placement((dataclasses.replace(placement.places[0], ranks=1),))
        words = tuple(self.client(launch, placement, environment, name))
        sent = dataclasses.replace(launch, command=words, log=messages_of(launch))
        handle = super().launch(sent, placement, environment)
        handle.launch = launch
        handle.identity = {**handle.identity, "name": name, "marker": environment.get(MARKER, "")}
        return handle

    def poll(self, timeout: float) -> list[tuple[Handle, Ended]]:
        self._end_late_clients()
        self._end_doomed()
        reported = []
        is_hasty = bool(self.lingering or self.unjudged)
        clients = super().poll(min(timeout, _LINGER_PAUSE) if is_hasty else timeout)
        now = time.monotonic()
        for one in [*(_Unjudged(*client, now, now) for client in clients), *self._due(now)]:
            handle, ended = one.handle, self._judged(one)
            if ended is None:
                self.unjudged.append(one)
                continue
            name = str(handle.identity.get("name", ""))
            is_killed = self.killed.pop(name, None) is not None
            if name and (is_killed or ended.launcher_error):
                first_look = now + self.after_end if is_killed else now
                self.lingering.append(_Lingering(handle, ended, now, first_look))
            else:
                reported.append((handle, ended))
        return reported + self._gone()

    def _due(self, now: float) -> list[_Unjudged]:
        """Return the attempts of which the engine is to be asked again now, and take them out."""
        due = [one for one in self.unjudged if one.next_look <= now]
        self.unjudged = [one for one in self.unjudged if one.next_look > now]
        return due

    def _judged(self, one: _Unjudged) -> Ended | None:
        """Return how the attempt ended; None: the engine gives no answer and is to be asked again."""
        if one.ended.launcher_error or not one.handle.identity.get("name"):
            return one.ended
        try:
            return self._judge(one.handle, one.ended)
        except NotAvailable as error:
            now = time.monotonic()
            if isinstance(error, NoAnswer) and now - one.since < patience.SECONDS:
                pause = max(patience.FIRST_PAUSE, now - one.since)
                one.next_look = now + min(pause, patience.LONGEST_PAUSE)
                return None
            return Ended(None, launcher_error=str(error))

    def _judge(self, handle: Handle, ended: Ended) -> Ended:
        if doomed := self.doomed.pop(str(handle.identity["name"]), None):
            return Ended(None, lost_nodes=doomed)
        if ended.status is not None and ended.status < 0:
            return Ended(None, launcher_error=f"its client was ended by signal {-ended.status}")
        path = messages_of(handle.launch)
        text = path.read_text(errors="replace") if path.exists() else ""
        judged = self.judge(handle, ended.status or 0, text)
        if judged == Ended(0):
            path.unlink(missing_ok=True)  # what clients say of a job that went well is of no use
        return judged

    def _gone(self) -> list[tuple[Handle, Ended]]:
        """Return the attempts whose clients ended early, and whose jobs are over now:
        nothing runs beside the next.
        """
        gone: list[tuple[Handle, Ended]] = []
        now = time.monotonic()
        for one in [one for one in self.lingering if one.next_look <= now]:
            one.next_look = now + _LINGER_PAUSE
            named = self._named(str(one.handle.identity["name"]))
            if named:
                self.end_jobs(named, hard=True)
            patient = patience.SECONDS if named is None else _LINGER_SECONDS
            if named != [] and now - one.since < patient:
                continue
            self.lingering.remove(one)
            self._end_marked(one.handle)
            gone.append((one.handle, one.ended))
        return gone

    def _end_marked(self, handle: Handle) -> None:
        """End the processes on this host that a killed helper of the engine left of an attempt."""
        if marker := str(handle.identity["marker"]):
            left = Orphan(handle.launch.task, handle.launch.attempt, "", {"marker": marker})
            super().end_orphan(left, hard=True)

    def _end_doomed(self) -> None:
        """End jobs that wait for a node which is down: they would wait until it comes back."""
        down = self.watch.news_of_down()
        handles = [handle for handle in self.running.values() if not down.isdisjoint(handle.placement.nodes)]
        if not handles:
            return
        try:
            waiting = {name for _, name in self.jobs(waiting=True)}
        except NotAvailable:
            return
        for handle in handles:
            name = str(handle.identity["name"])
            if name in waiting:
                self.doomed[name] = tuple(sorted(down & set(handle.placement.nodes)))
                self.kill(handle, hard=True)

    def _end_late_clients(self) -> None:
        for handle in list(self.running.values()) if self.killed else ():
            name = str(handle.identity["name"])
            if time.monotonic() - self.killed.get(name, math.inf) > _CLIENT_SECONDS:
                super().kill(handle, hard=True)

    def kill(self, handle: Handle, *, hard: bool = False) -> None:
        """End the job; its client says when that has happened."""
        name = str(handle.identity.get("name", ""))
        if not name:
            return
        self.killed[name] = min(self.killed.get(name, math.inf), time.monotonic() if hard else math.inf)
        if named := self._named(name):
            self.end_jobs(named, hard=hard)
        else:
            super().kill(handle, hard=hard)

    def _named(self, name: str) -> list[str] | None:
        """Return the jobs of this name that wait or run; None: the engine gives no answer."""
        try:
            return [job for job, other in self.jobs() if other == name]
        except NotAvailable:
            return None

    def orphans(self, state: Path, managers: Mapping[str, bool]) -> list[Orphan]:
        """Return jobs of this campaign, and clients on this host."""
        found = {(orphan.task, orphan.attempt): orphan for orphan in super().orphans(state, managers)}
        for _, name in self.jobs():
            parts = name.split("|", 4)
            if len(parts) != 5 or parts[:2] != [_NAME, _short(str(state))] or managers.get(parts[2], False):
                continue
            marker = f"{state}:{parts[4]}:{parts[3]}"
            identity = {"name": name, "marker": marker}
            found[parts[4], int(parts[3])] = Orphan(parts[4], int(parts[3]), parts[2], identity)
        return list(found.values())

    def end_orphan(self, orphan: Orphan, *, hard: bool) -> bool:
        """End the job; an engine that gives no answer has not said that it is over."""
        named = self._named(str(orphan.identity.get("name", "")))
        if named:
            self.end_jobs(named, hard=hard)
        return super().end_orphan(orphan, hard=hard) or named != []


def job_name(launch: Launch, environment: Mapping[str, str]) -> str:
    """Return the name trellis|campaign|manager|attempt|task."""
    state = str(launch.log.parent.parent)  # logs lie in <state>/logs
    return "|".join((_NAME, _short(state), environment.get(MANAGER, ""), str(launch.attempt), launch.task))


def messages_of(launch: Launch) -> Path:
    """Return the path of the file that gets the client's own messages."""
    return launch.log.with_name(launch.log.name + ".client")


def ask_json(*command: str) -> Any:
    """Return the JSON that a command prints.

    Raises
    ------
    NotAvailable
        It failed, or printed something else.
    """
    text = ask(*command)
    try:
        return json.loads(text)
    except ValueError as error:
        raise NoAnswer(f"{' '.join(command)}: not JSON: {error}") from None


def end_process(process: subprocess.Popen | None) -> None:
    """End a helper of the launcher, with all that it started."""
    if process is None:
        return
    try:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(10)
    except ProcessLookupError:
        process.wait()
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


class NodeWatch(threading.Thread):
    """This thread asks an engine from time to time which nodes are up.

    An engine that does not answer loses none.
    """

    def __init__(self, names: Sequence[str], ask_for_nodes: Callable[[], set[str]], seconds: float) -> None:
        super().__init__(daemon=True, name="node-watch")
        self._names, self._ask, self._seconds = frozenset(names), ask_for_nodes, seconds
        self._ended = threading.Event()
        self._lock = threading.Lock()
        self._up: set[str] = set()
        self._told: set[str] = set()
        self._is_new = False

    def set_up(self, nodes: set[str]) -> None:
        """Set the nodes that are known to be up before the watch starts."""
        self._up, self._told = nodes & self._names, nodes & self._names

    def run(self) -> None:
        while not self._ended.wait(self._seconds):
            try:
                up = self._ask() & self._names
            except NotAvailable:
                continue
            with self._lock:
                self._up, self._is_new = up, True

    def news_of_down(self) -> frozenset[str]:
        """Return the nodes that are down; empty if nothing was heard since the last call."""
        with self._lock:
            is_new, self._is_new = self._is_new, False
            return self._names - self._up if is_new else frozenset()

    def changes(self) -> tuple[list[str], list[str]]:
        """Return the nodes that joined and that were lost since the last call."""
        with self._lock:
            joined, lost = sorted(self._up - self._told), sorted(self._told - self._up)
            self._told = set(self._up)
        return joined, lost

    def stop(self) -> None:
        self._ended.set()


def _short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:10]
