"""This module stops a process just before, in the midst of, or just after its N-th durable operation.

What a process does to files and other processes is counted where Python does it: opening for writing, each
write, renames, links, removals, folders, SQLite's statements that change something, starts of programs. A
process that was forked for a test calls :func:`install`; nothing of this is in the package.
"""

from __future__ import annotations

import builtins
import contextlib
import io
import os
import runpy
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

#: The side "midst" is in writes alone, which are what is counted then: half of the bytes have been written.
SIDES = ("before", "midst", "after")
_CHANGES = ("CREATE", "INSERT", "UPDATE", "COMMIT", "PRAGMA JOURNAL_MODE")


@dataclass
class Stop:
    """This class holds the operation at which a process stops, and the signal that stops it.

    Attributes
    ----------
    number
        Of the operation, from 1.
    how
        SIGKILL, or SIGSTOP: then the process goes on at SIGCONT.
    root
        Operations on paths elsewhere do not count.
    note
        Gets one line when the place is reached: what the operation was.
    """

    number: int
    side: str
    how: signal.Signals
    root: Path
    note: Path


class Counter:
    """This class counts operations, and stops the process."""

    def __init__(self, stop: Stop) -> None:
        self.stop, self.count = stop, 0
        self.is_inside = False

    def call(self, what: str, path: object, real: Callable[[], Any], half: Callable[[], Any] | None) -> Any:
        """Do the operation; the operations that it consists of do not count themselves."""
        is_write = half is not None
        if self.is_inside or not self._counts(path) or (self.stop.side == "midst" and not is_write):
            return real()
        self.count += 1
        side = self.stop.side if self.count == self.stop.number else ""
        self.is_inside = True
        try:
            if side == "midst" and half is not None:
                half()
            if side in ("before", "midst"):
                self._stop(what, path)
            try:
                return real()
            finally:
                if side == "after":
                    self._stop(what, path)
        finally:
            self.is_inside = False

    def _counts(self, path: object) -> bool:
        if isinstance(path, int):  # it is a descriptor
            try:
                path = os.readlink(f"/proc/self/fd/{path}")
            except OSError:
                return False
        return path is None or os.path.abspath(os.fsdecode(path)).startswith(str(self.stop.root))

    def _stop(self, what: str, path: object) -> None:
        partial = self.stop.note.with_name("note.partial")
        with _real_open(partial, "w") as file:
            file.write(f"{self.stop.side} {self.count}: {what} {path}")
        os.rename(partial, self.stop.note)  # this is inside an operation, and not counted
        os.kill(os.getpid(), self.stop.how)


_real_open = io.open


def install(stop: Stop) -> None:
    """Count from now on, in this process, which does nothing else any more."""
    counter = Counter(stop)
    for name in (
        "rename",
        "replace",
        "link",
        "unlink",
        "remove",
        "mkdir",
        "rmdir",
        "utime",
        "fsync",
        "truncate",
    ):
        _wrap(counter, os, name)
    real_open = os.open

    def open_descriptor(path: Any, flags: int, *words: Any, **named: Any) -> int:
        if not flags & (os.O_WRONLY | os.O_RDWR):
            return real_open(path, flags, *words, **named)
        return counter.call("os.open", path, lambda: real_open(path, flags, *words, **named), None)

    os.open = open_descriptor
    real_write = os.write

    def write_descriptor(descriptor: int, content: bytes) -> int:
        half = content[: len(content) // 2]
        return counter.call(
            "os.write",
            descriptor,
            lambda: real_write(descriptor, content),
            lambda: real_write(descriptor, half),
        )

    os.write = write_descriptor

    def open_file(path: Any, mode: str = "r", *words: Any, **named: Any) -> Any:
        if not set(mode) & set("wax+"):
            return _real_open(path, mode, *words, **named)
        file = counter.call("open", path, lambda: _real_open(path, mode, *words, **named), None)
        real = file.write

        def write(content: Any) -> int:
            def half() -> None:
                real(content[: len(content) // 2])
                file.flush()

            def whole() -> int:
                count = real(content)
                file.flush()
                return count

            return counter.call("write", path, whole, half)

        with contextlib.suppress(AttributeError):  # the file may have no buffer
            file.write = write
        return file

    builtins.open = io.open = open_file
    real_init = subprocess.Popen.__init__

    def start(self: Any, words: Any, *more: Any, **named: Any) -> None:
        counter.call(f"start {words!r:.60}", None, lambda: real_init(self, words, *more, **named), None)

    subprocess.Popen.__init__ = start
    connect = sqlite3.connect

    class Connection(sqlite3.Connection):
        def execute(self, statement: str, *values: Any) -> Any:
            if not statement.upper().startswith(_CHANGES):
                return super().execute(statement, *values)
            run = super().execute
            return counter.call(f"sql {statement[:40]}", None, lambda: run(statement, *values), None)

    sqlite3.connect = lambda path, **named: counter.call(
        "sqlite3.connect", None, lambda: connect(path, factory=Connection, **named), None
    )


def _wrap(counter: Counter, module: Any, name: str) -> None:
    real = getattr(module, name)

    def counted(path: Any, *words: Any, **named: Any) -> Any:
        return counter.call(name, path, lambda: real(path, *words, **named), None)

    setattr(module, name, counted)


def main() -> None:
    """Run a program of Python: NUMBER SIDE ROOT NOTE PROGRAM ARGUMENTS... ; it is killed there."""
    number, side, root, note, *program = sys.argv[1:]
    sys.argv = program
    install(Stop(int(number), side, signal.SIGKILL, Path(root), Path(note)))
    runpy.run_path(program[0], run_name="__main__")


if __name__ == "__main__":
    main()
