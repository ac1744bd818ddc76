"""This module writes small campaigns for tests, runs them in this process or in one of their own, and
examines them."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from trellis.campaign.files import load_campaign, parse_machine
from trellis.campaign.manager import Manager, Result
from trellis.campaign.model import Machine
from trellis.campaign.records import read_records, records_of

HEAD = '[campaign]\nname = "c"\nroot = "work"\nlease = 2\n\n'


def machine_text(nodes: int = 2, cpus: int = 2, gpus: int = 0, more: str = "", allocation: str = "") -> str:
    return (
        f'[machine]\nname = "m"\n{more}\n[[nodes]]\ncount = {nodes}\ncpus = {cpus}\ngpus = {gpus}\n'
        f"[allocation]\n{allocation}\n"
    )


def machine(nodes: int = 2, cpus: int = 2, gpus: int = 0, more: str = "", allocation: str = "") -> Machine:
    return parse_machine(machine_text(nodes, cpus, gpus, more, allocation))


def agents(
    folder: Path, script: str, names: str, more: str = "", options: str = "", join: int = 120
) -> Machine:
    """Return nodes that a shell script starts: `node NAME` in it runs a node's agent until its connection
    ends."""
    path = folder / "nodes.sh"
    path.write_text(
        f'#!/bin/bash\nwords=("$@")\nnode() {{ SLURMD_NODENAME=$1 "${{words[@]}}"; }}\n{script}\nwait\n'
    )
    path.chmod(0o755)
    quoted = ", ".join(f'"{name}"' for name in names.split())
    return parse_machine(
        f'[machine]\nname = "m"\nlauncher = "slurm_agents"\nsettle = 0\n{more}\n'
        f"[[nodes]]\nnames = [{quoted}]\ncpus = 1\n[allocation]\njoin_timeout = {join}\n"
        f'[launcher_options]\nagent_command = ["{path}"]\n{options}\n'
    )


def write(folder: Path, tasks: str, head: str = HEAD) -> Path:
    """Return campaign.toml with these [[task]] tables."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "campaign.toml"
    path.write_text(head + tasks)
    return path


def run(path: Path, where: Machine | None = None, **options) -> Result:
    """Run a campaign in this process."""
    return Manager(load_campaign(path), where or machine(), **options).run()


def start(path: Path, where: str, **environment: str) -> subprocess.Popen:
    """Return a manager in a process of its own, on a machine given as text."""
    return subprocess.Popen(
        run_words(path, where),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, **environment},
    )


def run_words(path: Path, where: str) -> list[str]:
    """Return the command that runs a campaign on a machine given as text."""
    machine_file = path.parent / "machine.toml"
    machine_file.write_text(where)
    words = [sys.executable, "-m", "trellis", "campaign", "run", str(path)]
    return [*words, "--machine", str(machine_file), "--json"]


def fork(path: Path, where: Machine) -> multiprocessing.Process:
    """Return a manager in a process of its own that has imported everything: it begins within
    milliseconds."""
    return fork_to(run, path, where)


def fork_to(action: Callable, *words: object) -> multiprocessing.Process:
    """Return such a process that does anything."""
    process = multiprocessing.get_context("fork").Process(target=action, args=words)
    process.start()
    return process


def kill(process: subprocess.Popen) -> None:
    """Kill a process as the machine does it, without a chance to clean up."""
    process.send_signal(signal.SIGKILL)
    process.wait()


def wait_for(condition, seconds: float = 180.0) -> None:
    """Wait long, since a loaded machine is slow; what is awaited comes at once on one that is not."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


def attempts(folder: Path, name: str = "c") -> list[dict]:
    """Return rows of all managers' attempts, oldest first."""
    return attempts_of(folder / "work" / f"{name}.state")


def attempts_of(state: Path) -> list[dict]:
    """Return rows of all managers' attempts of a state folder, oldest first."""
    rows: list[dict] = []
    for path in records_of(state):
        with read_records(path) as base:
            rows += map(dict, base.execute("SELECT * FROM attempt"))
    return sorted(rows, key=lambda row: row["started"])


def events(folder: Path, kind: str, name: str = "c") -> list[dict]:
    rows: list[dict] = []
    for path in records_of(folder / "work" / f"{name}.state"):
        with read_records(path) as base:
            rows += map(dict, base.execute("SELECT * FROM event WHERE kind = ?", [kind]))
    return rows


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
