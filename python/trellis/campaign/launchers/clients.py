"""Attempts through a client of another engine: the client submits a job, waits, and ends with it.

What HyperQueue and Flux have in common: jobs have names, by which this and later managers find, end and await
them. The planner has chosen the nodes; the engine starts the programs there, and ends them with their job.
"""

from __future__ import annotations

import abc
import dataclasses
import hashlib
import json
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ...errors import NotAvailable
from ..model import Machine, Placement
from .base import LAUNCH_ONCE, MANAGER, Ended, Handle, Launch, Orphan
from .process import ProcessHandle, ProcessLauncher
from .slurm_system import ask

_NAME = "trellis"


class ClientLauncher(ProcessLauncher):
    """The part that does not depend on the engine. The client's own messages go to <log>.client."""

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine)
        self.mpi = []
        self.is_bound = False

    @abc.abstractmethod
    def client(
        self, launch: Launch, placement: Placement, environment: Mapping[str, str], name: str
    ) -> list[str]:
        """The words that submit a job of this name and wait for it."""

    @abc.abstractmethod
    def jobs(self) -> list[tuple[str, str]]:
        """Identifier and name of the jobs that wait or run."""

    @abc.abstractmethod
    def end_jobs(self, jobs: Sequence[str], *, hard: bool) -> None:
        """Ask jobs to end, or make them."""

    @abc.abstractmethod
    def judge(self, handle: Handle, status: int, messages: str) -> Ended:
        """What the end of the client means."""

    def refuse(self, placement: Placement) -> str | None:
        """Why the engine cannot do it; None: it can."""
        return None

    def launch(self, launch: Launch, placement: Placement, environment: Mapping[str, str]) -> Handle:
        if (problem := self.refuse(placement)) is not None:
            handle = ProcessHandle(launch, placement, error=problem)
            self.failed.append(handle)
            return handle
        name = job_name(launch, environment)
        if environment.get(LAUNCH_ONCE) == "1":
            placement = Placement((dataclasses.replace(placement.places[0], ranks=1),))
        words = tuple(self.client(launch, placement, environment, name))
        sent = dataclasses.replace(launch, command=words, log=messages_of(launch))
        handle = super().launch(sent, placement, environment)
        handle.launch = launch
        handle.identity = {**handle.identity, "name": name}
        return handle

    def poll(self, timeout: float) -> list[tuple[Handle, Ended]]:
        return [
            (handle, ended if ended.launcher_error else self._judge(handle, ended))
            for handle, ended in super().poll(timeout)
        ]

    def _judge(self, handle: Handle, ended: Ended) -> Ended:
        path = messages_of(handle.launch)
        text = path.read_text(errors="replace") if path.exists() else ""
        return self.judge(handle, ended.status or 0, text)

    def kill(self, handle: Handle, *, hard: bool = False) -> None:
        named = self._named(str(handle.identity.get("name", "")))
        if named:
            self.end_jobs(named, hard=hard)
        if hard or not named:
            super().kill(handle, hard=hard)

    def _named(self, name: str) -> list[str]:
        try:
            return [job for job, other in self.jobs() if other == name]
        except NotAvailable:
            return []

    def orphans(self, state: Path, managers: Mapping[str, bool]) -> list[Orphan]:
        """Jobs of this campaign, and clients on this host."""
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
        named = self._named(str(orphan.identity.get("name", "")))
        if named:
            self.end_jobs(named, hard=hard)
        return super().end_orphan(orphan, hard=hard) or bool(named)


def job_name(launch: Launch, environment: Mapping[str, str]) -> str:
    """trellis|campaign|manager|attempt|task"""
    state = str(launch.log.parent.parent)  # logs lie in <state>/logs
    return "|".join((_NAME, _short(state), environment.get(MANAGER, ""), str(launch.attempt), launch.task))


def messages_of(launch: Launch) -> Path:
    """Where the client's own messages go."""
    return launch.log.with_name(launch.log.name + ".client")


def ask_json(*command: str) -> Any:
    """The JSON that a command prints.

    Raises
    ------
    NotAvailable
        It failed, or printed something else.
    """
    text = ask(*command)
    try:
        return json.loads(text)
    except ValueError as error:
        raise NotAvailable(f"{' '.join(command)}: not JSON: {error}") from None


def end_process(process: subprocess.Popen | None) -> None:
    """A helper of the launcher, with all that it started."""
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
    """Asks an engine from time to time which nodes are up; an engine that does not answer loses none."""

    def __init__(self, names: Sequence[str], ask_for_nodes: Callable[[], set[str]], seconds: float) -> None:
        super().__init__(daemon=True, name="node-watch")
        self._names, self._ask, self._seconds = frozenset(names), ask_for_nodes, seconds
        self._ended = threading.Event()
        self._lock = threading.Lock()
        self._up: set[str] = set()
        self._told: set[str] = set()

    def set_up(self, nodes: set[str]) -> None:
        """What is known before it starts."""
        self._up, self._told = nodes & self._names, nodes & self._names

    def run(self) -> None:
        while not self._ended.wait(self._seconds):
            try:
                up = self._ask() & self._names
            except NotAvailable:
                continue
            with self._lock:
                self._up = up

    def changes(self) -> tuple[list[str], list[str]]:
        """Nodes that joined and that were lost since the last call."""
        with self._lock:
            joined, lost = sorted(self._up - self._told), sorted(self._told - self._up)
            self._told = set(self._up)
        return joined, lost

    def stop(self) -> None:
        self._ended.set()


def _short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:10]
