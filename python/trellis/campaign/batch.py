"""A site has words for its batch jobs, and for what stands around the programs in them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Batch:
    """These are the words of the table `[batch]` of a machine file.

    Attributes
    ----------
    system
        "slurm", "pbs" or "lsf".
    account, partition, qos, constraint
        Words of the batch system; "" leaves one out. `partition` is the queue of PBS and LSF, `constraint` a
        feature of the nodes.
    gpu_option
        Slurm is asked for the GPUs of a node in this way: "gres", "gpus-per-node" or "none".
    modules
        They are loaded in the batch job.
    prologue
        Lines of shell that follow in the batch script, before anything runs.
    container
        Words that stand before the command of each task; none: tasks run on the nodes as they are.
    container_python
        The interpreter inside the container, for the stages of trellis.
    options
        Further options of the batch system.
    """

    system: str = "slurm"
    account: str = ""
    partition: str = ""
    qos: str = ""
    constraint: str = ""
    gpu_option: str = "gres"
    modules: tuple[str, ...] = ()
    prologue: tuple[str, ...] = ()
    container: tuple[str, ...] = ()
    container_python: str = "python3"
    options: tuple[str, ...] = ()

    def inside_container(self, command: Sequence[str]) -> tuple[str, ...]:
        """Return the command of a task with the container's words before it, if there is one."""
        if not self.container:
            return tuple(command)
        is_stage = command[0] == sys.executable  # that interpreter is outside the container
        words = (self.container_python, *command[1:]) if is_stage else tuple(command)
        return (*self.container, *words)
