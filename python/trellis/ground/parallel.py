"""This module knows the ranks. Under mpirun every rank runs the same Python program; nothing here needs
mpi4py."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import TypeVar

from .compiled_core import load
from .errors import Error

T = TypeVar("T")


def rank() -> int:
    """Return the number of this process, from 0."""
    return load().rank()


def ranks() -> int:
    """Return the number of processes."""
    return load().size()


def barrier() -> None:
    """Wait for all ranks."""
    load().barrier()


def broadcast(value: T, root: int = 0) -> T:
    """Return the value of rank `root` on every rank. Collective; the value is pickled."""
    core = load()
    if core.size() == 1:
        return value
    return pickle.loads(core.broadcast(pickle.dumps(value) if core.rank() == root else b"", root))


def on_root(work: Callable[[], T]) -> T:
    """Do the work on rank 0 and return its result on every rank. Collective.

    An Error or OSError that is raised on rank 0 is raised on every rank.
    """
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
    except Error:  # processes are no ranks, or their launcher tells no number: each ends by itself
        return
    if size > 1:
        core.abort(status)
