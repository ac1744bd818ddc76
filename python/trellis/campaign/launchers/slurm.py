"""Slurm is used in two ways: resident agents run the many small tasks, job steps run MPI tasks.

Both share nodes, so that Slurm cannot be asked to choose GPUs: steps overlap with the agents' step, and get
the GPUs of the plan. Where each task is to be a step of its own, confined by Slurm, take ``slurm_steps``.
"""

from __future__ import annotations

import select
from collections.abc import Mapping, Sequence
from pathlib import Path

from ..model import Machine, Placement
from .agents import AgentHandle, AgentLauncher
from .base import LAUNCH_ONCE, Ended, Handle, Launch, Launcher, Orphan
from .slurm_steps import SlurmStepLauncher


class SlurmLauncher(Launcher):
    """Options are those of :class:`.slurm_steps.SlurmStepLauncher` and :class:`.agents.AgentLauncher`."""

    def __init__(self, machine: Machine) -> None:
        self._steps = SlurmStepLauncher(machine, overlap=True)
        self._agents = AgentLauncher(machine)
        super().__init__(self._steps.machine)

    def start(self) -> None:
        self._steps.is_stopped = self._agents.is_stopped = self.is_stopped
        self._steps.start()
        self._agents.start()

    def launch(self, launch: Launch, placement: Placement, environment: Mapping[str, str]) -> Handle:
        is_small = placement.ranks == 1 or environment.get(LAUNCH_ONCE) == "1"
        launcher = self._agents if is_small else self._steps
        return launcher.launch(launch, placement, environment)

    def poll(self, timeout: float) -> list[tuple[Handle, Ended]]:
        ended = self._steps.poll(0) + self._agents.poll(0)
        if ended or timeout <= 0:
            return ended
        waiter = select.poll()
        for descriptor in (*self._steps.descriptors(), *self._agents.descriptors()):
            waiter.register(descriptor, select.POLLIN)
        waiter.poll(1000 * timeout)
        return self._steps.poll(0) + self._agents.poll(0)

    def kill(self, handle: Handle, *, hard: bool = False) -> None:
        (self._agents if isinstance(handle, AgentHandle) else self._steps).kill(handle, hard=hard)

    def missing_nodes(self) -> Sequence[str]:
        return self._agents.missing_nodes()

    def node_changes(self) -> tuple[Sequence[str], Sequence[str]]:
        dead = self._steps.node_changes()[1]
        for node in dead:  # its connection may never end by itself: it says nothing more
            self._agents.lose(node)
        joined, lost = self._agents.node_changes()
        return [node for node in joined if node not in dead], sorted({*lost, *dead})

    def seconds_left(self) -> float | None:
        return self._steps.seconds_left()

    def orphans(self, state: Path, managers: Mapping[str, bool]) -> list[Orphan]:
        """Return the orphans among the steps only: agents end with their manager."""
        return self._steps.orphans(state, managers)

    def end_orphan(self, orphan: Orphan, *, hard: bool) -> bool:
        return self._steps.end_orphan(orphan, hard=hard)

    def close(self) -> None:
        self._agents.close()
        self._steps.close()
