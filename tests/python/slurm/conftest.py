"""Tests that need a real Slurm: `cluster` is one with four virtual nodes, shared by the session.

They are skipped, with the reason, where it cannot be started. TRELLIS_INSTALL_SLURM=1 installs the packages
first.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SUPPORT = Path(__file__).resolve().parents[2] / "support" / "slurm"
sys.path.insert(0, str(SUPPORT))

from virtual_cluster import Unavailable, VirtualCluster, reason_not_available  # noqa: E402


@pytest.fixture(scope="session")
def installed() -> None:
    """Slurm's packages are there, or the test is skipped."""
    if reason_not_available() and os.environ.get("TRELLIS_INSTALL_SLURM") == "1":
        subprocess.run([SUPPORT / "install.sh"], check=True)
    if reason := reason_not_available():
        pytest.skip(reason)


@pytest.fixture(scope="session")
def cluster(installed: None):
    """Four nodes of four processors and two GPUs, shared: leave it as it was found."""
    yield from _start()


@pytest.fixture
def own_cluster(installed: None):
    """A cluster of the test's own, whose nodes it may kill; dead nodes are noticed after 5 s."""
    yield from _start(node_timeout=5)


def _start(**options: int):
    machine = VirtualCluster(nodes=4, cpus=4, gpus=2, **options)
    try:
        machine.start()
    except Unavailable as error:
        pytest.skip(f"no virtual Slurm cluster: {error}")
    yield machine
    machine.stop()
