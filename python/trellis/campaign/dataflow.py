"""At most one task makes a file, and a task that needs the file waits for its maker."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from ..ground.errors import BadArgument
from .model import Task


def link_files(
    tasks: Mapping[str, Task], root: Path, where: str, *, known: Mapping[str, Task] | None = None
) -> None:
    """Add to `after` of each task the makers of the files that it `needs`.

    Without that, a file that an older run left, or one that is being written, would count as there.

    Parameters
    ----------
    root
        Relative paths start here.
    known
        Tasks that are there already, whose `after` does not change.

    Raises
    ------
    BadArgument
        Two tasks (or one task twice) have the same output.
    """
    makers: dict[str, str] = {}
    for name, task in {**(known or {}), **tasks}.items():
        for output in task.outputs:
            path = os.path.normpath(os.path.join(root, output.path))
            if path in makers:
                other = makers[path]
                who = "twice" if other == name else f"and of task {other!r}"
                raise BadArgument(f"{where}: task {name!r}: {output.path!r} is its output {who}")
            makers[path] = name
    for task in tasks.values():
        found = (makers.get(os.path.normpath(os.path.join(root, path))) for path in task.needs)
        task.after = tuple(dict.fromkeys([*task.after, *(name for name in found if name is not None)]))
