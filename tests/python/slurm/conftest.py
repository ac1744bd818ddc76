"""Some tests need a real Slurm: `cluster` is one with four virtual nodes, shared by the session.

They are skipped, with the reason, where it cannot be started, and fail there if TRELLIS_REQUIRE_SLURM=1.
TRELLIS_INSTALL_SLURM=1 installs the packages first.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

SUPPORT = Path(__file__).resolve().parents[2] / "support" / "slurm"
sys.path[:0] = [str(SUPPORT), str(Path(__file__).resolve().parents[1])]

from virtual_cluster import Unavailable, VirtualCluster, reason_not_available  # noqa: E402


def _not_available(reason: str) -> None:
    if os.environ.get("TRELLIS_REQUIRE_SLURM") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def installed() -> None:
    """Install Slurm's packages, or skip the test where they are not there."""
    if reason_not_available() and os.environ.get("TRELLIS_INSTALL_SLURM") == "1":
        subprocess.run([SUPPORT / "install.sh"], check=True)
    if reason := reason_not_available():
        _not_available(reason)


@pytest.fixture(scope="session")
def cluster(installed: None):
    """Start four nodes of four processors and two GPUs, which tests share: leave them as they were found."""
    yield from _start()


@pytest.fixture
def own_cluster(installed: None):
    """Start a cluster of the test's own, whose nodes it may kill; dead nodes are noticed after 5 s."""
    yield from _start(node_timeout=5)


def _start(**options: int):
    machine = VirtualCluster(nodes=4, cpus=4, gpus=2, **options)
    try:
        machine.start()
    except Unavailable as error:
        _not_available(f"no virtual Slurm cluster: {error}")
    yield machine
    machine.stop()


class Allocation:
    """This class is a job of all nodes that only waits, and sets this process's environment as if it were
    inside."""

    def __init__(self, cluster: VirtualCluster, monkeypatch: pytest.MonkeyPatch, minutes: int = 30) -> None:
        self.cluster = cluster
        nodes = len(cluster.node_names)
        cluster.resume_drained_nodes()  # a step of an earlier test was slow to die on a busy machine
        self.job = cluster.output(
            "sbatch", "--parsable", "--no-kill", f"-N{nodes}", "--exclusive", f"--time={minutes}",
            f"--gres=gpu:{cluster.gpus}", "--output=/dev/null", "--wrap=sleep 1000",
        )  # fmt: skip
        deadline = time.monotonic() + 90
        while cluster.output("squeue", "-h", "-j", self.job, "-o", "%T") != "RUNNING":
            assert time.monotonic() < deadline, "the allocation does not start"
            time.sleep(0.05)
        for name in list(os.environ):
            if name.startswith("SLURM"):
                monkeypatch.delenv(name)
        monkeypatch.setenv("SLURM_CONF", cluster.environment["SLURM_CONF"])
        monkeypatch.setenv("PATH", cluster.environment["PATH"])
        monkeypatch.setenv("SLURM_JOB_ID", self.job)
        monkeypatch.setenv("SLURM_JOB_NODELIST", f"n[1-{nodes}]")

    def end(self, *, seconds: float = 20) -> None:
        """Cancel the job, and wait until it is gone; a node that the test has killed never says so."""
        self.cluster.call("scancel", self.job, check=False)
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and self.cluster.output(
            "squeue", "-h", "-j", self.job, check=False
        ):
            time.sleep(0.05)


@pytest.fixture
def allocation(cluster, monkeypatch):
    """Make an allocation of the shared cluster's four nodes."""
    made = Allocation(cluster, monkeypatch)
    yield made
    made.end()


@pytest.fixture
def own_allocation(own_cluster, monkeypatch):
    """Make an allocation of nodes that the test may kill."""
    made = Allocation(own_cluster, monkeypatch)
    yield made
    made.end(seconds=0)  # the cluster ends with it
