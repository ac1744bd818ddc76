"""Launchers: how an attempt is started on its nodes. One adapter a file; :mod:`.base` has the interface."""

from __future__ import annotations

import importlib

from ...errors import BadArgument
from ..model import Machine
from .base import Launcher

#: Name in machine files -> module of this package and class.
LAUNCHERS: dict[str, tuple[str, str]] = {
    "flux": ("flux", "FluxLauncher"),
    "hyperqueue": ("hyperqueue", "HyperQueueLauncher"),
    "process": ("process", "ProcessLauncher"),
    "slurm": ("slurm", "SlurmLauncher"),
    "slurm_agents": ("agents", "AgentLauncher"),
    "slurm_steps": ("slurm_steps", "SlurmStepLauncher"),
    "template": ("template", "TemplateLauncher"),
}


def make_launcher(machine: Machine, name: str | None = None) -> Launcher:
    """The launcher that a machine file names.

    Raises
    ------
    BadArgument
        There is no such launcher.
    NotAvailable
        What it needs is not installed here.
    """
    chosen = name or machine.launcher
    if chosen not in LAUNCHERS:
        raise BadArgument(f"no launcher {chosen!r}; there are {', '.join(sorted(LAUNCHERS))}")
    module, kind = LAUNCHERS[chosen]
    return getattr(importlib.import_module(f".{module}", __name__), kind)(machine)
