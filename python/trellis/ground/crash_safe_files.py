"""This module writes small files that are there as a whole or not at all, whenever the machine stops."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import Any

from .errors import FileError


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Write JSON as :func:`write_bytes` writes bytes."""
    write_text(path, json.dumps(content, indent=2, allow_nan=False) + "\n")


def write_text(path: Path, text: str) -> None:
    """Write a text in UTF-8 as :func:`write_bytes` writes bytes."""
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: Path, content: bytes) -> None:
    """Write under another name, synchronise with the disk, rename, synchronise the folder.

    Raises
    ------
    FileError
        A device, pipe or folder of that name: a rename would replace it.
    OSError
        No room, no permission: with the name of the file, which is what it was before.
    """
    require_replaceable(path)
    path = Path(behind_links(path))
    partial = path.with_name(path.name + ".partial")
    try:
        with open(partial, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    except OSError as error:
        _remove(partial)
        raise OSError(error.errno, error.strerror, str(path)) from error
    sync_folder(path.parent)


def _remove(partial: Path) -> None:
    """Remove an unfinished file if that is possible, so that its room on the disk is free again."""
    with contextlib.suppress(OSError):
        partial.unlink()


def behind_links(path: str | os.PathLike) -> str:
    """Return the file that a symbolic link stands for, or the path itself: the rename must not replace the
    link.

    Raises
    ------
    FileError
        The links go round in a circle.
    """
    found = os.path.realpath(path) if os.path.islink(path) else os.fspath(path)
    if os.path.islink(found):
        raise FileError(f"cannot write {os.fspath(path)}: expected a file, found symbolic links in a circle")
    return found


def require_replaceable(path: Path) -> None:
    """Raise FileError where something other than a regular file has that name."""
    if path.exists() and not path.is_file():
        what = "a folder" if path.is_dir() else "a device or pipe"
        raise FileError(f"cannot write {path}: it is {what}, and only a regular file is replaced")


def make_folder(folder: Path) -> None:
    """Make a folder, and those above it, unless they are there.

    Raises
    ------
    FileError
        It cannot be made; the message says what stands in the way.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"{folder} cannot be made: {why_no_folder(folder, error)}") from None


def why_no_folder(folder: Path, error: OSError) -> str:
    """Say why a folder could not be made: a file stands in its place, or a link leads nowhere."""
    for part in (folder, *folder.parents):
        if os.path.isdir(part):
            break
        where = "" if part == folder else f": {part}"
        if os.path.islink(part) and not os.path.exists(part):
            target = os.readlink(part)
            return f"expected a folder, found a symbolic link to {target}, which is not there{where}"
        if os.path.lexists(part):
            what = "a file" if os.path.isfile(part) else "a device or pipe"
            return f"expected a folder, found {what}{where}"
    return error.strerror or str(error)


def sync_folder(folder: Path) -> None:
    """Make renames and removals in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
