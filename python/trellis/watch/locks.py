"""The lock of a run's folder is looked at: the kernel says whether it is held, and no lock is taken.

``runs/folder_lock.py`` has the locks: a byte stands for each configuration, and the lines of the file say who
holds which. A run that ends well takes its line away, one that is killed leaves it.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .settled import settled

#: These numbers are those of folder_lock.py.
_FIRST, _LARGEST = 1 << 32, 1 << 60
#: This is struct flock of Linux on 64 bits: kind, from where, start, length, process.
_FLOCK = "hhqqi"
_NOBODY: list[dict[str, Any]] = []


@dataclass(frozen=True)
class Lock:
    """This is the answer to a look at the lock of a folder.

    Attributes
    ----------
    is_held
        A run writes here.
    is_left
        A line is there whose run holds nothing any more: it was killed.
    holders
        A text for each run that writes: its process and host, and since when.
    numbers
        The numbers of the configurations that all these lines name.
    """

    is_held: bool = False
    is_left: bool = False
    holders: list[str] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    since: str = ""


def look_at_lock(folder: Path, command: str) -> Lock:
    """Return what ``COMMAND.lock`` in a folder says; an empty answer where there is none."""
    path = folder / f"{command}.lock"
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return Lock()
    try:
        lines = settled(lambda: _lines(descriptor), _NOBODY)
        alive = [line for line in lines if any(_is_locked(descriptor, n) for n in line["numbers"])]
    finally:
        os.close(descriptor)
    numbers = sorted({n for line in lines for n in line["numbers"]})
    holders = [f"process {line['pid']} on {line['host']}, since {line['since']}" for line in alive]
    since = max((str(line["since"]) for line in alive), default="")
    return Lock(bool(alive), len(alive) < len(lines), holders, numbers, since)


def _lines(descriptor: int) -> list[dict[str, Any]]:
    """Return the whole lines; ValueError where the last one is only half written."""
    text = os.pread(descriptor, os.fstat(descriptor).st_size, 0).decode(errors="replace")
    if text and not text.endswith("\n"):
        raise ValueError("half a line")
    found = []
    for line in text.splitlines():
        with contextlib.suppress(ValueError):
            content = json.loads(line)
            if isinstance(content, dict) and {"pid", "host", "since", "numbers"} <= content.keys():
                numbers = content["numbers"] if isinstance(content["numbers"], list) else []
                found.append(content | {"numbers": [n for n in numbers if isinstance(n, int)]})
    return found


def _is_locked(descriptor: int, number: int) -> bool:
    """Return True if another process holds the byte of a number (F_GETLK asks and takes nothing)."""
    asked = struct.pack(_FLOCK, fcntl.F_RDLCK, os.SEEK_SET, _FIRST + number % _LARGEST, 1, 0)
    try:
        kind = struct.unpack(_FLOCK, fcntl.fcntl(descriptor, fcntl.F_GETLK, asked))[0]
    except OSError:  # the file system has no locks
        return False
    return kind != fcntl.F_UNLCK
