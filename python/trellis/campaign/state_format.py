"""A campaign's state folder has a format: managers of different versions of Trellis must not share one."""

from __future__ import annotations

import os
from pathlib import Path

from ..ground.crash_safe_files import make_folder
from ..ground.errors import FileError

#: The number grows with each change of claims or their names that an older manager would misread.
FORMAT = 1


def check_format(state: Path) -> None:
    """Make the folder, or check that its files mean what this version takes them to mean.

    Raises
    ------
    FileError
        They were written in another format.
    """
    make_folder(state)
    path = state / "format"
    try:
        found = path.read_text(errors="replace").strip()
    except FileNotFoundError:
        found = ""
    if not found:  # a manager that is killed here leaves it empty; of several that begin at once all write it
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o666)
        try:
            os.write(descriptor, f"{FORMAT}\n".encode())
        finally:
            os.close(descriptor)
        return
    if found != str(FORMAT):
        raise FileError(
            f"{state}: written in format {found} by another version of Trellis; this one has "
            f"format {FORMAT}: go on with that version, or take another `state` folder"
        )
