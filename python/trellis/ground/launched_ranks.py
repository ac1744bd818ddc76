"""This module reads the number of ranks that a launcher (mpirun, srun) has started from the environment of
this process.

Nothing here loads the compiled part.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

#: These variables have the number of processes and that of this one, the innermost launcher first: mpirun
#: inside a job step leaves those of the step. src/trellis/comm/launcher.cpp has the same list;
#: tests/python/ground/test_launchers.py compares the two.
VARIABLES = (
    ("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"),
    ("PMIX_SIZE", "PMIX_RANK"),
    ("PMI_SIZE", "PMI_RANK"),
    ("SLURM_STEP_NUM_TASKS", "SLURM_PROCID"),
)
#: This variable with the value 1 says that processes that were started together work each for itself.
SINGLETONS = "TRELLIS_SINGLETONS"


def _of_launcher() -> tuple[int, int]:
    """Return the number of processes, and that of this one, as the innermost launcher says; (1, 0) without
    one."""
    if os.environ.get(SINGLETONS, "").strip() == "1":
        return 1, 0
    for size, number in VARIABLES:
        processes, own = _whole(size), _whole(number)
        if processes is not None and own is not None:
            return (processes, own) if processes > 1 else (1, 0)
    return 1, 0


def _whole(name: str) -> int | None:
    """Return the whole number in a variable, or None; the first use of MPI refuses other texts."""
    text = os.environ.get(name, "").strip()
    return int(text) if text.isascii() and text.isdigit() else None


def launched_rank() -> int:
    """Return the rank by the launcher's environment; 0 in a single process."""
    return _of_launcher()[1]


def launched_ranks() -> int:
    """Return the number of ranks by the launcher's environment; 1 in a single process."""
    return _of_launcher()[0]


def was_launched() -> bool:
    """Return True if a launcher of ranks started this process, even as the only one."""
    names = ("OMPI_COMM_WORLD_SIZE", "PMI_RANK", "PMIX_RANK")
    return any(name in os.environ for name in names)


def without_launcher(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment for a process that does not belong to the ranks of this one.

    A launcher that starts the process sets its own variables. A job step of Slurm is made one of a single
    task, and not forgotten: what passes the environment on by differences (HyperQueue) has the step of its
    workers.
    """
    sizes = {size for size, _ in VARIABLES}
    kept = {name: value for name, value in environment.items() if name not in sizes}
    return kept | {"SLURM_STEP_NUM_TASKS": "1"}
