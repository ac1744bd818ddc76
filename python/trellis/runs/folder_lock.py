"""This module lets one run at a time write a file of a results folder, by a lock that ends with its process,
even by kill -9.

``NAME.lock`` in the folder is locked byte by byte (POSIX record locks, which the kernel drops): a byte stands
for a configuration, so that runs of ``trellis measure`` with others (``--first``, ``--last``) share a folder.
The text in the file says who holds what, for messages. It goes away with the last run that ends well.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import socket
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ..ground.errors import FileError
from ..ground.parallel import on_root
from ..ground.provenance import now

#: These are the byte that is locked while the text is read and written, and that of number 0.
_TEXT, _FIRST = 0, 1 << 32
#: Numbers of configurations beyond share bytes.
_LARGEST = 1 << 60
#: The text may be locked for so many seconds: its holders need a fraction of one.
_PATIENCE = 10.0
_HELD = (errno.EACCES, errno.EAGAIN)
#: File systems without locks say one of these.
_ENOTSUPP = 524  #: it is Linux's own, without a name for programs: Cray's DVS lets it through
_NOT_THERE = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EINVAL, _ENOTSUPP)


class FolderLock:
    """It is held while it is entered, by rank 0; what it raises is raised on all ranks.

    Parameters
    ----------
    folder
        It exists.
    command
        "generate" or "measure".
    warn
        Gets a warning where the file system has no locks: the run goes on without.
    numbers
        They are those of configurations that this run writes; None: all.

    Raises
    ------
    FileError
        Another run holds one of them.
    """

    def __init__(
        self, folder: Path, command: str, warn: Callable[[str], None], numbers: Sequence[int] | None = None
    ) -> None:
        self.folder, self.command, self.warn = folder, command, warn
        self.numbers = numbers
        self.path = folder / f"{command}.lock"
        self._descriptor: int | None = None

    def __enter__(self) -> FolderLock:
        said = on_root(self._take)
        if said:
            self.warn(said)
        return self

    def __exit__(self, *_: object) -> None:
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is None:  # this is another rank, or there are no locks
            return
        try:
            with contextlib.suppress(OSError):  # a text that stays is that of nobody: it holds no lock
                _lock_text(descriptor, self.path)
                others = [line for line in _read_text(descriptor) if not _is_ours(line)]
                alive = [line for line in others if not _is_dead(descriptor, line)]
                if alive:
                    _write_text(descriptor, alive)
                else:
                    self.path.unlink()
        finally:
            os.close(descriptor)

    def _take(self) -> str:
        """Take the lock; return a warning if the file system has no locks."""
        try:
            self._descriptor = self._locked()
        except OSError as error:
            if error.errno in _NOT_THERE:
                reason = "not supported" if error.errno == _ENOTSUPP else error.strerror
                return (
                    f"{self.path}: the file system has no locks ({reason}): see to it that no other "
                    f"trellis {self.command} writes here meanwhile"
                )
            if isinstance(error, FileError):
                raise
            raise OSError(error.errno, error.strerror, str(self.path)) from error
        return ""

    def _locked(self) -> int:
        """Open the file, lock the bytes of this run and write its text; return the descriptor."""
        descriptor = self._open()
        try:
            held = _read_text(descriptor)
            for number in self._bytes():
                if not _try_lock(descriptor, _byte(number)):
                    raise FileError(self._who_writes(number, held))
            mine = set(self._bytes())
            dead = [line for line in held if mine.intersection(_numbers_in(line))]  # their runs were killed
            with contextlib.suppress(OSError):  # the disk is full: the lock is held, and messages name nobody
                _write_text(descriptor, [*(line for line in held if line not in dead), self._text()])
            fcntl.lockf(descriptor, fcntl.LOCK_UN, 1, _TEXT)
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor

    def _bytes(self) -> Sequence[int]:
        return (0,) if self.numbers is None else self.numbers

    def _open(self) -> int:
        """Open the file and lock its text; a file that its last holder has removed is opened anew."""
        while True:
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o666)
            try:
                _lock_text(descriptor, self.path)
                with contextlib.suppress(FileNotFoundError):
                    if os.path.samestat(os.fstat(descriptor), os.stat(self.path)):
                        return descriptor
            except BaseException:
                os.close(descriptor)
                raise
            os.close(descriptor)

    def _text(self) -> dict[str, Any]:
        return {
            "pid": os.getpid(),
            "host": socket.gethostname(),
            "since": now(),
            "numbers": list(self._bytes()),
        }

    def _who_writes(self, number: int, held: list[dict[str, Any]]) -> str:
        known = next((line for line in reversed(held) if number in _numbers_in(line)), None)
        who = f" (pid {known['pid']} on {known['host']}, since {known['since']})" if known else ""
        what = "here" if self.numbers is None else f"configuration {number} here"
        way = "wait until it ends, or choose another folder"
        if self.numbers is not None:
            way += ", or other configurations (--first, --last)"
        return f"{self.folder}: another trellis {self.command}{who} is writing {what}; {way}"


def _byte(number: int) -> int:
    return _FIRST + number % _LARGEST


def _try_lock(descriptor: int, byte: int) -> bool:
    """Lock a byte without waiting; return True if that succeeded."""
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, byte)
    except OSError as error:
        if error.errno in _HELD:
            return False
        raise
    return True


def _lock_text(descriptor: int, path: Path) -> None:
    end = time.monotonic() + _PATIENCE
    while not _try_lock(descriptor, _TEXT):
        if time.monotonic() > end:
            raise FileError(
                f"{path}: expected it to be free within {_PATIENCE:g} s, found it locked by a run that "
                "starts or ends, or was halted"
            )
        time.sleep(0.05)


def _read_text(descriptor: int) -> list[dict[str, Any]]:
    """Return the lines of the lock file; damaged ones are left out, since they are for messages only."""
    found = []
    for line in os.pread(descriptor, os.fstat(descriptor).st_size, 0).decode(errors="replace").splitlines():
        with contextlib.suppress(ValueError):
            content = json.loads(line)
            if isinstance(content, dict) and {"pid", "host", "since", "numbers"} <= content.keys():
                found.append(content)
    return found


def _write_text(descriptor: int, lines: list[dict[str, Any]]) -> None:
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, "".join(json.dumps(line) + "\n" for line in lines).encode(), 0)


def _numbers_in(line: dict[str, Any]) -> list[int]:
    numbers = line["numbers"]
    return [n for n in numbers if isinstance(n, int)] if isinstance(numbers, list) else []


def _is_dead(descriptor: int, line: dict[str, Any]) -> bool:
    """Return True if the run of this line holds no lock any more.

    The bytes that this locks to find out are freed with the descriptor.
    """
    return all(_try_lock(descriptor, _byte(number)) for number in _numbers_in(line))


def _is_ours(line: dict[str, Any]) -> bool:
    return line["pid"] == os.getpid() and line["host"] == socket.gethostname()
