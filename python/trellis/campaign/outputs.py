"""This module checks that the files that a task should have made exist and are valid."""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..ground.crash_safe_files import require_replaceable
from .formats import uses_outputs
from .model import Output, Task

#: Files up to this size are hashed for the provenance even if no checksum is asked for.
HASH_BYTES = 1 << 24


def temporary_name(output: Output, attempt: int) -> str:
    """Return the name under which an attempt writes an output that the manager renames."""
    return f"{output.path}.attempt-{attempt}.partial"


def renamed_outputs(task: Task, alternative: int) -> set[int]:
    """Return the indices of the outputs that are written under a temporary name."""
    way = task.alternatives[alternative]
    values = (*task.environment.values(), *way.environment.values())
    return uses_outputs(way.command or task.command) | uses_outputs(values)


def problem_of(
    path: Path, output: Output, *, hash_bytes: int = HASH_BYTES
) -> tuple[str | None, dict[str, Any]]:
    """Return the fault of a file (None: there is none), and its size and checksum.

    Files above `hash_bytes` get no checksum if none is asked for.
    """
    try:
        status = path.stat()
        size = status.st_size
    except FileNotFoundError:
        return f"{output.path}: not there", {}
    except OSError as error:
        return f"{output.path}: {error.strerror}", {}
    if not stat.S_ISREG(status.st_mode):
        return f"{output.path}: not a regular file", {}
    facts: dict[str, Any] = {"bytes": size}
    if output.bytes is not None and size != output.bytes:
        return f"{output.path}: {size} bytes, expected {output.bytes}", facts
    if size < output.min_bytes:
        return f"{output.path}: {size} bytes, expected at least {output.min_bytes}", facts
    if output.end_marker is not None and not _ends_with(path, output.end_marker.encode()):
        return f"{output.path}: does not end with {output.end_marker!r}", facts
    if output.sha256 is not None or size <= hash_bytes:
        facts["sha256"] = checksum(path)
        if output.sha256 is not None and facts["sha256"] != output.sha256:
            return f"{output.path}: checksum {facts['sha256']}, expected {output.sha256}", facts
    return None, facts


def checksum(path: Path) -> str:
    """Return SHA-256 of a file, in hexadecimal."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _ends_with(path: Path, marker: bytes) -> bool:
    with open(path, "rb") as file:
        file.seek(0, os.SEEK_END)
        file.seek(-min(file.tell(), len(marker) + 64), os.SEEK_CUR)
        return file.read().rstrip().endswith(marker.rstrip())


def set_aside(path: Path) -> Path | None:
    """Rename a file that does not count to the first free `<name>.set-aside.N`; None if it is not there.

    Raises
    ------
    FileError
        It is a device or pipe.
    """
    if not path.is_dir():  # a folder may be set aside, too
        require_replaceable(path)
    for number in range(1_000_000):
        aside = path.with_name(f"{path.name}.set-aside.{number}")
        if aside.exists():
            continue
        try:
            os.rename(path, aside)
        except (FileNotFoundError, NotADirectoryError):
            return None
        return aside
    raise AssertionError


def still_valid(
    root: Path, stored: Mapping[str, Mapping[str, Any]], task: Task, *, finish: bool = True
) -> str | None:
    """Return the first fault of the outputs of a task that was recorded as done; None if they are valid.

    Parameters
    ----------
    stored
        path -> {bytes, temporary}, from the record.
    finish
        Do the renames that a dead manager did not come to; else files wait for them under their other name.
    """
    if finish:
        for name, facts in stored.items():
            temporary = facts.get("temporary") if isinstance(facts, Mapping) else None
            if temporary and not (root / name).exists():
                with contextlib.suppress(FileNotFoundError):  # its manager, or another, was faster
                    os.replace(root / temporary, root / name)
    for output in task.outputs:
        recorded = stored.get(output.path)
        if not isinstance(recorded, Mapping) or "bytes" not in recorded:
            return f"{output.path}: not among the recorded outputs"
        path = root / output.path
        temporary = recorded.get("temporary")
        if temporary and not path.exists() and (root / temporary).exists():
            path = root / temporary
        try:
            size = path.stat().st_size
        except OSError as error:
            return f"{output.path}: {error.strerror}"
        if size != recorded["bytes"]:
            return f"{output.path}: {size} bytes, {recorded['bytes']} were recorded"
        problem, _ = problem_of(path, output, hash_bytes=-1)  # the conditions of the file must hold
        if problem is not None:
            return problem
    return None
