"""The format of a campaign's state folder: managers of different versions of Trellis must not share one."""

from __future__ import annotations

import os
import uuid
from pathlib import Path

from ..errors import FileError

#: Grows with each change of claims or their names that an older manager would misread.
FORMAT = 1


def check_format(state: Path) -> None:
    """Make the folder, or see whether its files mean what this version takes them to mean.

    Raises
    ------
    FileError
        They were written in another format.
    """
    state.mkdir(parents=True, exist_ok=True)
    path = state / "format"
    try:
        found = path.read_text(errors="replace").strip()
    except FileNotFoundError:
        partial = path.with_name(f"format.{uuid.uuid4().hex}.partial")  # several managers may begin at once
        partial.write_text(f"{FORMAT}\n")
        os.replace(partial, path)
        return
    if found != str(FORMAT):
        raise FileError(
            f"{state}: written in format {found or 'unknown'} by another version of Trellis; this one has "
            f"format {FORMAT}: go on with that version, or take another `state` folder"
        )
