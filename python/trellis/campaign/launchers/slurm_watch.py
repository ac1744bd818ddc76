"""This module watches the job steps that Slurm knows of, and the sruns of this host that wait for them."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from ...ground.errors import Error, NotAvailable
from . import slurm_system
from .patience import patiently

#: The names of a campaign's steps begin like this.
NAME = "trellis"


class StepWatch(threading.Thread):
    """This thread asks Slurm from time to time, since an answer may take long when the controller is busy."""

    def __init__(
        self, names: list[str], seconds: float, is_stopped: Callable[[], bool] = lambda: False
    ) -> None:
        super().__init__(daemon=True, name="slurm-watch")
        self._names, self._interval = names, seconds
        self._stop_event = threading.Event()
        self._lock = threading.Lock()
        self._lost: set[str] = set()
        self._end: float | None = None
        self._steps: tuple[float, frozenset[str]] = (0.0, frozenset())
        patiently(self._ask, is_stopped)

    def run(self) -> None:
        while not self._stop_event.wait(self._interval):
            with contextlib.suppress(Error):  # a controller that is away, or says odd things, is no loss
                self._ask()

    def _ask(self) -> None:
        left, nodes = slurm_system.allocation_now()
        lost = slurm_system.lost_nodes(self._names, nodes)
        asked = time.monotonic()
        steps = frozenset(name for _, name in all_steps())
        with self._lock:
            self._steps = asked, steps
            self._end = None if left is None else time.monotonic() + left
            self._lost |= lost

    def lost(self) -> set[str]:
        with self._lock:
            return set(self._lost)

    def steps(self) -> tuple[float, frozenset[str]]:
        """Return the time at which Slurm was last asked for its steps, and their names."""
        with self._lock:
            return self._steps

    def seconds_left(self) -> float | None:
        with self._lock:
            return None if self._end is None else self._end - time.monotonic()

    def stop(self) -> None:
        self._stop_event.set()


def all_steps() -> list[tuple[str, str]]:
    """Return identifier and name of each of this user's steps."""
    lines = slurm_system.ask("squeue", "--steps", "-h", "-u", str(os.getuid()), "-o", "%i %j").splitlines()
    return [(step, name) for step, _, name in (line.partition(" ") for line in lines)]


def local_sruns() -> list[tuple[int, str]]:
    """Return process and step name of the sruns of this host that a campaign has started."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        if os.path.basename(words[0]) == "srun":
            names = [word.removeprefix("--job-name=") for word in words if word.startswith("--job-name=")]
            found += [(int(folder.name), name) for name in names if name.startswith(f"{NAME}|")]
    return found


def steps_named(name: str) -> list[str]:
    with contextlib.suppress(NotAvailable):
        return [step for step, other in all_steps() if other == name]
    return []


def signal_steps(steps: Sequence[str], *, hard: bool) -> bool:
    """Signal steps and return True if Slurm took the signal; it does not while its controller is away.

    Slurm signals a step's processes one by one, children first: a shell whose program has been ended would go
    on to its next command, which may say that all is done. So they are stopped before.
    """
    taken = False
    for name in ("STOP", "KILL" if hard else "TERM", "CONT"):
        with contextlib.suppress(NotAvailable):
            slurm_system.ask("scancel", f"--signal={name}", *steps, timeout=10)
            taken = taken or name in ("KILL", "TERM")
    return taken
