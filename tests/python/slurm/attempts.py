"""This module launches single attempts by hand, for tests of launchers."""

from __future__ import annotations

import os
import time
from pathlib import Path

from trellis.campaign.launchers.base import MANAGER, MARKER, Ended, Handle, Launch, Launcher
from trellis.campaign.model import Gpu, Machine, Node, Place, Placement


def machine(**options: object) -> Machine:
    """Return the virtual cluster's four nodes, as a machine file would describe them."""
    nodes = tuple(Node(f"n{i}", cpus=4, gpus=(Gpu(), Gpu())) for i in range(1, 5))
    return Machine("virtual", nodes, launcher="slurm_steps", launcher_options=options)


def place(node: str, ranks: int = 1, cpus: int = 1, gpus: tuple[int, ...] = (), share: float = 1.0) -> Place:
    return Place(node, ranks, tuple(range(ranks * cpus)), gpus, share)


def launch(launcher: Launcher, folder: Path, name: str, command: list[str], *places: Place) -> Handle:
    environment = {
        "PATH": os.environ["PATH"],
        MARKER: f"{folder}:{name}:0",
        MANAGER: "tester",
        "CUDA_VISIBLE_DEVICES": ",".join(str(gpu) for gpu in places[0].gpus),
    }
    attempt = Launch(name, 0, tuple(command), folder, folder / "logs" / f"{name}.log")
    return launcher.launch(attempt, Placement(tuple(places)), environment)


def wait(launcher: Launcher, count: int, seconds: float = 240) -> dict[str, Ended]:
    """Return the ends of `count` attempts; a busy machine takes minutes for some."""
    ended: dict[str, Ended] = {}
    deadline = time.monotonic() + seconds
    while len(ended) < count:
        assert time.monotonic() < deadline, f"only {sorted(ended)} ended"
        ended |= {handle.launch.task: end for handle, end in launcher.poll(0.2)}
    return ended


def log(folder: Path, name: str) -> str:
    return (folder / "logs" / f"{name}.log").read_text()
