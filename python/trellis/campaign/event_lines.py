"""Lines of JSON tell monitors outside what happens in a campaign: each manager has a file, which grows.

A line is one object with `time` (seconds since 1970), `manager` and `event`. :mod:`.records` writes them
beside the history; nothing reads them here, and nothing is decided by them.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any


class EventLines:
    """These are the lines of one manager, in <state>/events/<manager>.jsonl.

    Parameters
    ----------
    on_loss
        Told once why lines are missing: a monitor is no reason for a campaign to end.
    """

    def __init__(self, path: Path, on_loss: Callable[[str], None] = lambda reason: None) -> None:
        self.path, self._on_loss, self._is_whole = path, on_loss, True

    def write(self, event: str, **values: Any) -> None:
        """Add a line; values of None and empty texts are left out."""
        line: Mapping[str, Any] = {"time": time.time(), "manager": self.path.stem, "event": event}
        line = {**line, **{key: value for key, value in values.items() if value not in (None, "")}}
        try:
            self.path.parent.mkdir(exist_ok=True)
            with open(self.path, "a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
        except OSError as error:
            if self._is_whole:
                self._is_whole = False
                self._on_loss(f"{self.path}: {error.strerror}")
