"""Running `trellis` in a process of its own, alone or under mpirun."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from trellis.core import load

#: What any machine needs to start more ranks than it has cores, as root in a container too.
_ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    "OMP_NUM_THREADS": "1",
}


def environment(**extra: str) -> dict[str, str]:
    return {**os.environ, **_ENVIRONMENT, **extra}


def command(*arguments: object, ranks: int = 1) -> list[str]:
    """The command line; skips the test where ranks are asked for and there is no MPI."""
    trellis = [sys.executable, "-m", "trellis", *map(str, arguments)]
    if ranks == 1:
        return trellis
    if shutil.which("mpirun") is None or load().communicator_name() != "MPI":
        pytest.skip("this build or this machine has no MPI")
    return ["mpirun", "-n", str(ranks), *trellis]


def run(
    *arguments: object, cwd: Path, ranks: int = 1, status: int | None = 0, **extra: str
) -> subprocess.CompletedProcess[str]:
    """Run to the end and check the exit status (None: any but 0)."""
    found = subprocess.run(
        command(*arguments, ranks=ranks),
        cwd=cwd,
        env=environment(**extra),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    text = f"{found.stdout}\n{found.stderr}"
    if status is None:
        assert found.returncode != 0, text
    else:
        assert found.returncode == status, text
    return found


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
