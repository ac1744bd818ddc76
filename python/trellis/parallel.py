"""Ranks. Under mpirun every rank runs the same Python program; nothing here needs mpi4py."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from typing import TypeVar

from .core import load
from .errors import Error, NotAvailable

T = TypeVar("T")

#: What mpirun, srun and their like set in the environment of more than one process.
_RANK_VARIABLES = (
    ("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"),
    ("PMI_SIZE", "PMI_RANK"),
    ("PMIX_SIZE", "PMIX_RANK"),
    ("SLURM_STEP_NUM_TASKS", "SLURM_PROCID"),
)


def rank() -> int:
    """Number of this process, from 0."""
    return load().rank()


def ranks() -> int:
    """Number of processes."""
    return load().size()


def barrier() -> None:
    """Wait for all ranks."""
    load().barrier()


def broadcast(value: T, root: int = 0) -> T:
    """The value of rank `root`, on every rank. Collective; the value is pickled."""
    core = load()
    if core.size() == 1:
        return value
    return pickle.loads(core.broadcast(pickle.dumps(value) if core.rank() == root else b"", root))


def on_root(work: Callable[[], T]) -> T:
    """What `work` returns on rank 0, on every rank; what trellis raises there is raised on every rank."""
    made: list[T] = []
    failure: Error | OSError | None = None
    if load().rank() == 0:
        try:
            made.append(work())
        except (Error, OSError) as error:
            failure = error
    made, failure = broadcast((made, failure))
    if failure is not None:
        raise failure
    return made[0]


def launched_rank() -> int:
    """Rank by the launcher's environment; 0 in a single process. Does not load the compiled part."""
    for size, number in _RANK_VARIABLES:
        if os.environ.get(size, "1") != "1" and number in os.environ:
            return int(os.environ[number])
    return 0


def was_launched() -> bool:
    """Whether a launcher of ranks started this process, be it as the only one."""
    names = ("OMPI_COMM_WORLD_SIZE", "PMI_RANK", "PMIX_RANK")
    return any(name in os.environ for name in names)


def launched_ranks() -> int:
    """Number of ranks by the launcher's environment. Does not load the compiled part."""
    found = (os.environ.get(size, "1") for size, number in _RANK_VARIABLES if number in os.environ)
    return max((int(size) for size in found if size.isdigit()), default=1)


def abort(status: int = 1) -> None:
    """End the job on all ranks at once (MPI_Abort); returns in a single process.

    Parameters
    ----------
    status
        Exit status.
    """
    core = load()
    try:
        size = core.size()
    except NotAvailable:  # processes that are no ranks: each ends by itself
        return
    if size > 1:
        core.abort(status)
