"""Messages of srun and of Slurm's daemon say something about a step.

srun's exit status is not believed, so that its words decide whether a node, a rank or the step failed.
"""

from __future__ import annotations

import re
from pathlib import Path

from . import slurm_system
from .base import Launch

_NODE_FAILURE = re.compile(r"[Nn]ode failure on ([\w.,\[\]-]+)")
_NO_NODE = re.compile(
    r"Required node not available|Requested node configuration|Zero Bytes were transmitted"
    r"|Communication connection failure"
)
_NO_STEP = re.compile(
    r"Unable to (?:create|confirm|allocate)|[Uu]nable to launch|Invalid (?:job|generic|node)"
    r"|More processors requested|Requested node configuration is not available|Task launch for .* failed"
    r"|Application launch failed"
)
_RANK_FAILED = re.compile(r"error: [\w.-]+: tasks? [\d,-]+: ")
#: Slurm's daemon writes this into a task's log: the other nodes wait for its message, or give up on MPI_Init.
_LOST_MESSAGE = re.compile(
    r"slurmstepd-[\w.-]+: error:\s+mpi/pmix\w*: .*(?:retry limit|Cannot send message).*"
)
_OUT_OF_MEMORY = re.compile(r"oom[-_ ]?kill|OUT_OF_MEMORY|out[- ]of[- ]memory", re.IGNORECASE)


def file_of(launch: Launch) -> Path:
    """Return the file of srun's own messages on an attempt."""
    return launch.log.with_name(launch.log.name + ".srun")


def lost_message(launch: Launch) -> str | None:
    """Return the words of Slurm's daemon on a message that it lost. They stand at the head of the log."""
    try:
        with open(launch.log, "rb") as file:
            found = _LOST_MESSAGE.search(file.read(4096).decode(errors="replace"))
    except OSError:
        return None
    return f"Slurm lost a message between the nodes of the step: {found.group()}" if found else None


def failed_nodes(text: str) -> set[str]:
    """Return the nodes that srun calls failed."""
    return {name for found in _NODE_FAILURE.findall(text) for name in slurm_system.expand_hosts(found)}


def lacks_a_node(text: str) -> bool:
    """Return True where srun did not reach a node."""
    return bool(_NO_NODE.search(text))


def refuses_the_step(text: str) -> bool:
    """Return True where srun did not make the step."""
    return bool(_NO_STEP.search(text))


def says_out_of_memory(text: str) -> bool:
    """Return True where the step took more memory than it had."""
    return bool(_OUT_OF_MEMORY.search(text))


def says_that_a_rank_failed(launch: Launch) -> bool:
    """Return True once srun has said that a rank of the attempt failed."""
    path = file_of(launch)
    return bool(path.stat().st_size and _RANK_FAILED.search(path.read_text(errors="replace")))
