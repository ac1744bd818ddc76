"""This is the interface of launchers."""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..model import Machine, Placement
from .agent import MARKER as MARKER  # <state folder>:<task>:<attempt> finds left-over processes

#: The variable is "1" for a task that is one process on its first node, whatever it reserves.
LAUNCH_ONCE = "TRELLIS_LAUNCH_ONCE"
MANAGER = "TRELLIS_CAMPAIGN_MANAGER"  # this variable has the manager's identifier


@dataclass(frozen=True, slots=True)
class Launch:
    """This is an attempt as launchers see it.

    Attributes
    ----------
    task, attempt
        Name, and number from 0.
    command
        All placeholders are filled in.
    directory, log
        Working directory, and the file for standard output and error; absolute.
    """

    task: str
    attempt: int
    command: tuple[str, ...]
    directory: Path
    log: Path


@dataclass(frozen=True, slots=True)
class Ended:
    """A launcher makes these observations at the end of an attempt; the outputs decide
    whether the task is done.

    Attributes
    ----------
    status
        Exit status; negative: minus the signal; None: not known.
    lost_nodes
        Nodes that died meanwhile, as far as the launcher knows.
    launcher_error
        It says why the program was never started; None if it was.
    out_of_memory
        The launcher saw that memory was exceeded.
    """

    status: int | None
    lost_nodes: tuple[str, ...] = ()
    launcher_error: str | None = None
    out_of_memory: bool = False


@dataclass(slots=True)
class Handle:
    """This is an attempt that was launched. Adapters derive from this and keep what they need."""

    launch: Launch
    placement: Placement
    identity: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Orphan:
    """This is an attempt of a dead manager that still runs.

    :meth:`Launcher.end_orphan` needs `identity`.
    """

    task: str
    attempt: int
    manager: str
    identity: Mapping[str, object]


class Launcher(abc.ABC):
    """A launcher starts attempts on nodes.

    It neither plans nor judges: a placement comes in, an :class:`Ended` goes out. All functions return
    at once, but `start` and `close`. Nothing raises for a task that fails; what cannot be launched ends
    with `launcher_error`.
    """

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        #: This tells whether somebody wants this program to end: `start` then waits no longer
        #: for an engine's answer.
        self.is_stopped: Callable[[], bool] = lambda: False

    def start(self) -> None:  # noqa: B027
        """Connect, start agents and wait for the first lump; this precedes the first launch.

        Raises
        ------
        NotAvailable
            The launcher needs something that is not here.
        """

    @abc.abstractmethod
    def launch(self, launch: Launch, placement: Placement, environment: Mapping[str, str]) -> Handle:
        """Start an attempt in a process group (or step) of its own. `environment` is complete."""

    @abc.abstractmethod
    def poll(self, timeout: float) -> list[tuple[Handle, Ended]]:
        """Return the attempts that ended since the last call; wait up to `timeout` seconds for the first."""

    @abc.abstractmethod
    def kill(self, handle: Handle, *, hard: bool = False) -> None:
        """Ask an attempt and all that it started to end (hard: SIGKILL). `poll` reports its end."""

    def missing_nodes(self) -> Sequence[str]:
        """Return the nodes that have not reported after `start`; `node_changes` tells when they join."""
        return ()

    def node_changes(self) -> tuple[Sequence[str], Sequence[str]]:
        """Return the names of nodes that joined and that were lost since the last call."""
        return (), ()

    def seconds_left(self) -> float | None:
        """Return the seconds until the allocation ends; None: it has no end."""
        return None

    def orphans(self, state: Path, managers: Mapping[str, bool]) -> list[Orphan]:
        """Return the attempts of this campaign that run under none of the managers that are alive.

        Parameters
        ----------
        managers
            Each known manager has True if it is alive. One that is not listed counts as dead.
        """
        return []

    def end_orphan(self, orphan: Orphan, *, hard: bool) -> bool:
        """Send the signal to an orphan; return True if anything of it is still there."""
        return False

    def close(self) -> None:  # noqa: B027
        """Close the launcher after the last attempt has ended."""
