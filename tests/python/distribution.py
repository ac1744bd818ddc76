"""Distribute the tests among the processes of pytest-xdist (`pytest -n 3`)."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

from xdist.scheduler.loadscope import LoadScopeScheduling
from xdist.workermanage import WorkerController

ROOT = Path(__file__).resolve().parents[2]
#: Tests in these folders wait for other processes most of their time.
WAITING = ("/slurm/", "/campaign/")


def waits(scope: str) -> bool:
    return scope == "slurm" or any(folder in scope for folder in WAITING)


@cache
def long_tests_of(scope: str) -> int:
    """Return how many tests of a file are marked as slow, so that files of long ones do not come last."""
    path = ROOT / scope
    return path.read_text().count("pytest.mark.slow") if path.is_file() else 0


class Distribution(LoadScopeScheduling):
    """Tests of a file stay together, for they share fixtures, and so do all of Slurm's: they share a cluster.

    Where there are more processes than cores, the first one takes what waits, and nothing else, so that the
    others have the cores.
    """

    def _split_scope(self, nodeid: str) -> str:
        return "slurm" if "/slurm/" in nodeid else nodeid.split("::", 1)[0]

    def _has_more_processes_than_cores(self) -> bool:
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        return self.numnodes > cores and len(self.nodes) > 1

    def _assign_work_unit(self, node: WorkerController) -> None:
        own = list(self.workqueue)
        if self._has_more_processes_than_cores():
            is_first = node.gateway.id == "gw0"
            own = [scope for scope in own if waits(scope) == is_first]
            if is_first and not own:
                node.shutdown()
                return
        # Slurm's come first, for they take longest and cannot be divided.
        order = {s: (s == "slurm", long_tests_of(s), len(self.workqueue[s])) for s in own or self.workqueue}
        self.workqueue.move_to_end(max(order, key=order.__getitem__), last=False)
        super()._assign_work_unit(node)
