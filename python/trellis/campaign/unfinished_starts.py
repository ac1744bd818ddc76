"""A manager that was killed may have been starting programs: they are between their fork and their exec.

Such a process is a copy of its manager and shows nothing of the attempt that it will be. But the kernel's
name of a process (prctl(2), PR_SET_NAME) goes to its copies and is replaced by exec: managers bear one of
their own, and who has the name of a dead manager is on its way to an exec. For a moment within exec a process
has its new name, but neither arguments nor an environment yet.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import os
import signal
import time
from collections.abc import Callable, Collection, Iterator

_PR_SET_NAME, _PR_GET_NAME = 15, 16
_LIBC = ctypes.CDLL(None, use_errno=True)


def process_name(manager: str) -> str:
    """Return the kernel's name of a manager's process; the kernel keeps 15 bytes."""
    return "trellis" + hashlib.sha256(manager.encode()).hexdigest()[:8]


@contextlib.contextmanager
def named(manager: str) -> Iterator[None]:
    """Bear a manager's name; the thread that starts programs has to call this."""
    before = ctypes.create_string_buffer(16)
    _LIBC.prctl(_PR_GET_NAME, before, 0, 0, 0)
    _LIBC.prctl(_PR_SET_NAME, process_name(manager).encode(), 0, 0, 0)
    try:
        yield
    finally:
        _LIBC.prctl(_PR_SET_NAME, before, 0, 0, 0)


def wait_for_exec(
    managers: Collection[str],
    *,
    patience: float,
    most: float,
    sleep: Callable[[float], None] = time.sleep,
) -> bool:
    """Wait until all copies of dead managers on this host are the programs that they were to be.

    Parameters
    ----------
    patience
        A copy that has not come to its exec after so many seconds (it is stopped, or its file system hangs)
        is killed; it has begun nothing. What has neither arguments nor an environment for so long, and is not
        known to be a copy, is left alone: a program may have removed them.
    most
        Copies are awaited for no more than so many seconds.

    Returns
    -------
    bool
        False if there still is a copy then: it cannot even be killed.
    """
    names = {process_name(manager).encode() for manager in managers}
    begin = time.monotonic()
    while True:
        copies, within_exec = _look(names)
        waited = time.monotonic() - begin
        if not copies and (not within_exec or waited > patience):
            return True
        if copies and waited > most:
            return False
        if waited > patience:
            for pid in copies:
                _kill_copy(pid, names)
        sleep(0.002)


def _look(names: Collection[bytes]) -> tuple[list[int], list[int]]:
    """Return the processes with such a name, and those in the middle of exec."""
    copies, within_exec = [], []
    for entry in os.scandir("/proc"):
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            if _name_of(int(entry.name)) in names:
                copies.append(int(entry.name))
            elif _is_within_exec(entry.path):
                within_exec.append(int(entry.name))
        except OSError:  # it has ended, or is another user's
            continue
    return copies, within_exec


def _name_of(pid: int) -> bytes | None:
    """Return the name of a process; None: it has ended, and waits to be asked for its status."""
    with open(f"/proc/{pid}/stat", "rb") as file:
        head, _, rest = file.read().rpartition(b")")
    return None if rest.split()[0] in (b"Z", b"X") else head.partition(b"(")[2]


def _is_within_exec(folder: str) -> bool:
    for name in ("environ", "cmdline"):
        with open(f"{folder}/{name}", "rb") as file:
            if file.read(1):
                return False
    os.stat(f"{folder}/exe")  # this raises for threads of the kernel and for ended ones
    return True


def _kill_copy(pid: int, names: Collection[bytes]) -> None:
    """Kill a copy by a descriptor, so that it is the process that was looked at."""
    with contextlib.suppress(OSError):
        descriptor = os.pidfd_open(pid)
        try:
            if _name_of(pid) in names:
                signal.pidfd_send_signal(descriptor, signal.SIGKILL)
        finally:
            os.close(descriptor)
