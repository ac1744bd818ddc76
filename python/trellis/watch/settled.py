"""Another process may be writing a file: a half-written file is waited for, and read again."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

Found = TypeVar("Found")
#: A file that cannot be read is looked at this many times, with so many seconds between two looks.
_TRIES, _PAUSE = 4, 0.05


def settled(read: Callable[[], Found], otherwise: Found) -> Found:
    """Return what `read` returns; return `otherwise` where it raises ValueError each time."""
    for _ in range(_TRIES - 1):
        try:
            return read()
        except ValueError:
            time.sleep(_PAUSE)
    try:
        return read()
    except ValueError:
        return otherwise


def stamp_of(path: Path) -> tuple[int, int, int] | None:
    """Return what changes with each new content of a file; None where there is no file."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


def age_of(*paths: Path) -> float | None:
    """Return the seconds since the newest of these files was written; None without any."""
    times = []
    for path in paths:
        try:
            times.append(path.stat().st_mtime)
        except OSError:
            continue
    return max(time.time() - max(times), 0.0) if times else None
