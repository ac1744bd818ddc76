"""Readers take the files of folders; what looks like a file of theirs and is none does not pass unseen."""

from __future__ import annotations

from pathlib import Path

from ..records.errors import MeasurementFileError


def is_readable_file(path: Path) -> bool:
    """Return True for a file and False for a folder.

    Raises
    ------
    MeasurementFileError
        The path is a link that leads nowhere: a configuration would be missing without a word.
    """
    if path.is_symlink() and not path.exists():
        raise MeasurementFileError(
            path, "link", expected="a file behind it", found=f"nothing at {path.readlink()}"
        )
    return path.is_file()
