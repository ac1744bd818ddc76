"""These helpers run `trellis` in a process of its own, alone or under mpirun."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import prepared_processes
import pytest
from prepared_server import server_for

from trellis.ground.compiled_core import load
from trellis.runs.stopping import STOPPED

#: Any machine needs this to start more ranks than it has cores, as root in a container too.
_ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    # Looking for networks takes a fifth of a second.
    "OMPI_MCA_pml": "ob1",
    "OMPI_MCA_btl": "self,vader",
    "OMP_NUM_THREADS": "1",
    "TRELLIS_CACHE": os.devnull,  # whose runs these are decides nothing
}


def environment(**extra: str) -> dict[str, str]:
    return {**os.environ, **_ENVIRONMENT, **extra}


def command(*arguments: object, ranks: int = 1) -> list[str]:
    """Return the command line; skip the test where ranks are asked for and there is no MPI."""
    trellis = [sys.executable, "-m", "trellis", *map(str, arguments)]
    if ranks == 1:
        return trellis
    if shutil.which("mpirun") is None or load().communicator_name() != "MPI":
        pytest.skip("this build or this machine has no MPI")
    return ["mpirun", "-n", str(ranks), *trellis]


def run(
    *arguments: object, cwd: Path, ranks: int = 1, status: int | None = 0, **extra: str
) -> subprocess.CompletedProcess[str]:
    """Run a command to the end and check the exit status (None stands for any but 0).

    The ranks are forks of a process that has imported trellis, unless the environment differs in what a
    library reads when it is loaded.
    """
    words, whole = command(*arguments, ranks=ranks), environment(**extra)
    server = server_for(str(arguments[0]) if arguments else "", whole)
    if server is not None:
        at = words.index(sys.executable)
        words[at : at + 3] = [sys.executable, "-I", "-S", prepared_processes.__file__, server]
    found = subprocess.run(
        words, cwd=cwd, env=whole, capture_output=True, text=True, timeout=300, check=False
    )
    text = f"{found.stdout}\n{found.stderr}"
    if status is None:
        assert found.returncode != 0, text
    else:
        assert found.returncode == status, text
    return found


def run_program(text: str, *words: str, cwd: Path, ranks: int = 1) -> None:
    """Run a Python program with these arguments and require that it ends well and prints nothing."""
    (cwd / "program.py").write_text(text)
    launcher = command(ranks=ranks)
    launcher = launcher[: launcher.index(sys.executable)]
    found = subprocess.run(
        [*launcher, sys.executable, "program.py", *words],
        cwd=cwd,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (found.returncode, found.stdout, found.stderr) == (0, "", "")


def _raise_interrupt() -> None:
    raise KeyboardInterrupt


#: A user's function may do these things while a run calls it, and the run is to be saved.
INTERRUPTS: dict[str, Callable[[], None]] = {
    "raised": _raise_interrupt,
    "SIGINT": lambda: signal.raise_signal(signal.SIGINT),
    "SIGTERM": lambda: signal.raise_signal(signal.SIGTERM),
}


def flip_a_bit(path: Path, name: str) -> None:
    """Flip a bit in the numbers of a dataset of HDF5, as a disk might; no library is asked to write."""
    with h5py.File(path) as file:
        at = file[name].id.get_offset() + file[name].id.get_storage_size() // 2
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(content)


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def write_run_file(folder: Path, text: str) -> Path:
    """Write run.toml into a folder, which is made; return the folder."""
    folder.mkdir(exist_ok=True)
    (folder / "run.toml").write_text(text)
    return folder


def stream_content(folder: Path) -> dict[str, str | bytes]:
    """Return the bits of all configurations and checkpoints of out/, and of all that its stream says but
    seconds."""
    found: dict[str, str | bytes] = {path.name: sha256(path) for path in sorted(folder.glob("out/*.ildg"))}
    with h5py.File(folder / "out" / "stream.h5") as file:
        found["trajectory"] = file["trajectory"][()].tobytes()
        for name, dataset in file["observables"].items():
            if not name.startswith("seconds"):
                found[name] = dataset[()].tobytes()
        for name, group in file.get("occasional", {}).items():
            found[name] = group["value"][()].tobytes()
    return found


def stopped_by_signal(
    *arguments: object,
    cwd: Path,
    when: Callable[[], object],
    after: float = 0.0,
    by: signal.Signals = signal.SIGTERM,
    ranks: int = 1,
) -> dict[str, Any]:
    """Start a command, send SIGTERM (or `by`) so long after a condition holds, and return its JSON object.

    The command ends with status 3, and says that it was stopped.
    """
    process = subprocess.Popen(
        command(*arguments, "--json", ranks=ranks),
        cwd=cwd,
        env=environment(),
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(by, signal.SIG_DFL),  # the tests may run under nohup
    )
    deadline = time.monotonic() + 60
    while not when() and time.monotonic() < deadline:
        time.sleep(0.005)
    time.sleep(after)
    process.send_signal(by)
    found = json.loads(process.communicate(timeout=60)[0])
    assert process.returncode == STOPPED
    assert found["stopped"]
    return found
