"""Nodes come under suspicion here: a node is quarantined for its own failures, never for those of a task.

A failure is a node's when the launcher says so, when the machine's health command fails there, or when two
tasks that failed on it alone worked elsewhere, with no success on the node in between.
"""

from __future__ import annotations

import json
import os
from pathlib import Path


class NodeHealth:
    """This is evidence against nodes; quarantined ones are remembered in a folder that managers share."""

    def __init__(self, folder: Path, *, node_failures: int, manager: str = "reader") -> None:
        self.folder, self.node_failures, self.manager = folder, node_failures, manager
        self.counted: dict[str, int] = {}
        self.suspects: dict[str, set[str]] = {}  # a node has tasks that failed on it alone since a success
        self.cleared: dict[str, set[str]] = {}  # a node has those of them that worked elsewhere
        self.quarantined: dict[str, str] = {}
        for path in folder.glob("*.json"):
            self.quarantined[path.stem] = _reason(path)

    def node_failed(self, node: str) -> bool:
        """Note a failure that is the node's; return True if it is to be quarantined now."""
        self.counted[node] = self.counted.get(node, 0) + 1
        return self.counted[node] >= self.node_failures and node not in self.quarantined

    def task_failed(self, task: str, nodes: tuple[str, ...]) -> None:
        """Note a failure that looks like the task's."""
        if len(nodes) == 1:
            self.suspects.setdefault(nodes[0], set()).add(task)

    def task_done(self, task: str, nodes: tuple[str, ...]) -> list[str]:
        """Note a success; return the nodes against which the evidence is now enough."""
        for node in nodes:
            self.suspects.pop(node, None)
            self.cleared.pop(node, None)
        guilty = []
        for node, tasks in self.suspects.items():
            if task in tasks:
                cleared = self.cleared.setdefault(node, set())
                cleared.add(task)
                if len(cleared) >= 2 and node not in self.quarantined:
                    guilty.append(node)
        return guilty

    def release(self, node: str) -> None:
        """Let the node be used again."""
        del self.quarantined[node]
        self.counted.pop(node, None)
        (self.folder / f"{node}.json").unlink(missing_ok=True)

    def quarantine(self, node: str, reason: str) -> None:
        self.quarantined[node] = reason
        self.folder.mkdir(parents=True, exist_ok=True)
        partial = self.folder / f"{node}.{self.manager}.partial"  # several managers may find it at once
        partial.write_text(json.dumps({"node": node, "reason": reason}))
        os.replace(partial, self.folder / f"{node}.json")


def _reason(path: Path) -> str:
    try:
        return str(json.loads(path.read_text())["reason"])
    except (OSError, ValueError, KeyError, TypeError):
        return "the reason cannot be read"
