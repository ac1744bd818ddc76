"""This module knows the ranks. Under mpirun every rank runs the same Python program; nothing here needs
mpi4py."""

from __future__ import annotations

import pickle
import threading
import time
from collections.abc import Callable
from typing import TypeVar

from .compiled_core import load
from .errors import Error

T = TypeVar("T")

#: Ctrl-C is looked for after so many seconds while work is done aside.
_BETWEEN_LOOKS = 0.05


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


def on_root_aside(work: Callable[[], T]) -> T:
    """Do work of LAPACK, which no signal ends, and return its result as :func:`on_root` does. Collective.

    A thread of rank 0 does it, and all ranks wait: Ctrl-C ends the wait on all of them together. The thread
    then goes on until its work is done, and nobody takes the result.
    """
    core = load()
    made: list[T] = []
    failure: list[BaseException] = []

    def do() -> None:
        try:
            made.append(work())
        except BaseException as error:  # it is raised where the caller waits
            failure.append(error)

    def result() -> T:
        if failure:
            raise failure[0]
        return made[0]

    thread = threading.Thread(target=do, daemon=True) if core.rank() == 0 else None
    if thread is not None:
        thread.start()
    while True:
        core.stop_together()
        if broadcast(thread is not None and not thread.is_alive()):
            return on_root(result)
        if thread is not None:
            thread.join(_BETWEEN_LOOKS)
        else:
            time.sleep(_BETWEEN_LOOKS)


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
