"""Attempts are processes on this machine, each attempt in a session of its own."""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import socket
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ...ground.errors import NotAvailable
from ..model import Machine, Placement
from .agent import EscapedProcesses
from .base import LAUNCH_ONCE, MANAGER, MARKER, Ended, Handle, Launch, Launcher, Orphan


@dataclass(slots=True)
class ProcessHandle(Handle):
    process: subprocess.Popen | None = None
    descriptor: int = -1
    error: str = ""


class ProcessLauncher(Launcher):
    """This launcher starts attempts with fork and exec; mpirun starts tasks of several ranks.

    It has these options (`[launcher_options]` of the machine file): `mpi`, the words before the
    command of a task of several ranks, default ["mpirun", "-n", "{ranks}"]; `bind`, true to bind tasks
    to their cores with taskset.
    """

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine)
        options = machine.launcher_options
        self.mpi = list(options.get("mpi", ["mpirun", "-n", "{ranks}"]))
        self.is_bound = bool(options.get("bind", False))
        self.running: dict[int, ProcessHandle] = {}
        self.failed: list[ProcessHandle] = []
        self.escaped = EscapedProcesses()
        self.terminated: set[tuple[int, str]] = set()  #: these processes of orphans have got their SIGTERM
        self.poller = select.poll()

    def start(self) -> None:
        if self.is_bound and shutil.which("taskset") is None:
            raise NotAvailable("launcher 'process' with bind = true needs taskset, which is not installed")
        self.escaped.start()

    def close(self) -> None:
        self.escaped.end([], [])
        self.escaped.stop()

    def launch(self, launch: Launch, placement: Placement, environment: Mapping[str, str]) -> Handle:
        handle = ProcessHandle(launch, placement)
        command = list(launch.command)
        if placement.ranks > 1 and environment.get(LAUNCH_ONCE) != "1":
            command = [word.replace("{ranks}", str(placement.ranks)) for word in self.mpi] + command
        if self.is_bound:
            cores = ",".join(str(cpu) for place in placement.places for cpu in place.cpus)
            command = ["taskset", "-c", cores, *command]
        try:
            with open(launch.log, "ab") as log:
                process = subprocess.Popen(
                    command,
                    cwd=launch.directory,
                    env=dict(environment),
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
        except OSError as error:
            handle.error = f"{command[0]}: {error}"
            self.failed.append(handle)
            return handle
        handle.process = process
        handle.identity = {"host": socket.gethostname(), "pid": process.pid}
        handle.descriptor = os.pidfd_open(process.pid)
        self.running[handle.descriptor] = handle
        self.poller.register(handle.descriptor, select.POLLIN)
        return handle

    def poll(self, timeout: float) -> list[tuple[Handle, Ended]]:
        ended: list[tuple[ProcessHandle, Ended]] = [
            (handle, Ended(None, launcher_error=handle.error)) for handle in self.failed
        ]
        self.failed.clear()
        with contextlib.suppress(InterruptedError):
            for descriptor, _ in self.poller.poll(0 if ended else 1000 * timeout):
                handle = self.running.pop(descriptor)
                self.poller.unregister(descriptor)
                os.close(descriptor)
                assert handle.process is not None
                _signal_group(
                    handle.process.pid, signal.SIGKILL
                )  # this ends what it left behind, before its number is free
                status = handle.process.wait()
                ended.append((handle, Ended(status)))
        if ended:
            self.escaped.end(
                [handle.process.pid for handle in self.running.values() if handle.process],
                [handle.process.pid for handle, _ in ended if handle.process],
            )
        return list(ended)

    def kill(self, handle: Handle, *, hard: bool = False) -> None:
        assert isinstance(handle, ProcessHandle)
        if (
            handle.process is not None and handle.process.returncode is None
        ):  # else its number may be another's
            _signal_group(handle.process.pid, signal.SIGKILL if hard else signal.SIGTERM)

    def orphans(self, state: Path, managers: Mapping[str, bool]) -> list[Orphan]:
        """Return processes of this campaign on this host, found by the marker in their environment."""
        found: dict[tuple[str, int], Orphan] = {}
        pids: dict[tuple[str, int], list[int]] = {}
        for pid, marker, manager in _marked_processes():
            if not marker.startswith(f"{state}:") or managers.get(manager, False):
                continue
            task, _, attempt = marker.removeprefix(f"{state}:").rpartition(":")
            key = (task, int(attempt))
            if key not in found:
                pids[key] = []
                found[key] = Orphan(*key, manager, {"marker": marker, "pids": pids[key]})
            pids[key].append(pid)
        return list(found.values())

    def end_orphan(self, orphan: Orphan, *, hard: bool) -> bool:
        """Signal by process, not by group: an MPI launcher puts its ranks into groups of their own.

        All are stopped first: a shell whose program has been ended would go on to its next command. SIGTERM
        is sent once: a program that saves its work on it is not interrupted again and again meanwhile.
        """
        found = {
            (pid, marker) for pid, marker, _ in _marked_processes() if marker == orphan.identity["marker"]
        }
        due = found if hard else found - self.terminated
        for number in (signal.SIGSTOP, signal.SIGKILL if hard else signal.SIGTERM, signal.SIGCONT):
            for pid, _ in due:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, number)
        self.terminated.update(due)
        return bool(found)


def _signal_group(group: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def _marked_processes() -> list[tuple[int, str, str]]:
    """Return process, marker and manager of everything that attempts have started.

    It counts on this host, for attempts of any campaign.
    """
    found = []
    key, manager = f"{MARKER}=".encode(), f"{MANAGER}=".encode()
    for entry in os.scandir("/proc"):
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            with open(f"/proc/{entry.name}/environ", "rb") as file:
                words = file.read().split(b"\0")
            with open(f"/proc/{entry.name}/stat", "rb") as file:
                if file.read().rpartition(b")")[2].split()[0] == b"Z":
                    continue
        except OSError:
            continue
        marker = next((w[len(key) :] for w in words if w.startswith(key)), None)
        if marker is not None:
            owner = next((w[len(manager) :] for w in words if w.startswith(manager)), b"")
            found.append((int(entry.name), marker.decode(), owner.decode()))
    return found
