"""The provenance of an attempt has the size and checksum of each file that it reads."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .model import Task
from .outputs import checksum


class Inputs:
    """This keeps facts about inputs. A file is hashed once, and again when its size or time of change differ.

    Parameters
    ----------
    hash_bytes
        Larger files are named with their size and time of change alone.
    """

    def __init__(self, root: Path, *, hash_bytes: int) -> None:
        self.root, self.hash_bytes = root, hash_bytes
        self._known: dict[str, tuple[tuple[int, int, int], dict[str, Any]]] = {}

    def of(self, task: Task, done: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
        """Return {path: facts} of what a task reads.

        These are the outputs of the tasks it waits for (as recorded when they were made), its
        `needs` and its run file.
        """
        facts: dict[str, Any] = {}
        for name in task.after[:1000]:
            for path, stored in done.get(name, {}).items():
                facts[path] = {key: stored[key] for key in ("bytes", "sha256") if key in stored}
        for path in task.needs:
            facts[path] = self.file(path)
        if task.run_file:
            text = task.run_file.encode()
            facts["run file"] = {"bytes": len(text), "sha256": hashlib.sha256(text).hexdigest()}
        return facts

    def file(self, path: str) -> dict[str, Any]:
        """Return size and checksum of a file; `problem` says what could not be read."""
        try:
            status = (self.root / path).stat()
            key = (status.st_size, status.st_mtime_ns, status.st_ino)
            known = self._known.get(path)
            if known is None or known[0] != key:
                known = key, self._facts(path, status.st_size, status.st_mtime)
                self._known[path] = known
            return known[1]
        except OSError as error:
            return {"problem": error.strerror or str(error)}

    def _facts(self, path: str, size: int, changed: float) -> dict[str, Any]:
        if size > self.hash_bytes or not (self.root / path).is_file():
            return {"bytes": size, "changed": changed}
        return {"bytes": size, "sha256": checksum(self.root / path)}
