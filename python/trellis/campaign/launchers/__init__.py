"""A launcher starts an attempt on its nodes. Each file is one adapter; :mod:`.base` has the interface."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass

from ...ground.errors import BadArgument
from ...ground.nearest_word import did_you_mean
from ..model import Machine
from .base import Launcher


@dataclass(frozen=True, slots=True)
class Adapter:
    """An adapter has a launcher's module and class, and the type of each key of
    `[launcher_options]` it knows.
    """

    module: str
    kind: str
    options: Mapping[str, type]


_PROCESS = {"mpi": list, "bind": bool}
_TEMPLATE = {**_PROCESS, "preset": str, "command": list}
_SLURM = {
    "mpi": str,
    "options": list,
    "environment": dict,
    "overlap": bool,
    "check_seconds": float,
    "stuck_seconds": float,
    "kill_wait_seconds": float,
    "python": str,
    "agent_command": list,
}

#: These are the launchers by their names in machine files.
LAUNCHERS: dict[str, Adapter] = {
    "flux": Adapter("flux", "FluxLauncher", {"flux": str, "options": list, "check_seconds": float}),
    "hyperqueue": Adapter(
        "hyperqueue",
        "HyperQueueLauncher",
        {"hq": str, "server_dir": str, "worker_command": list, "mpi": list, "check_seconds": float},
    ),
    "lsf": Adapter("batch_hosts", "LsfLauncher", _TEMPLATE),
    "pbs": Adapter("batch_hosts", "PbsLauncher", _TEMPLATE),
    "process": Adapter("process", "ProcessLauncher", _PROCESS),
    "slurm": Adapter("slurm", "SlurmLauncher", _SLURM),
    "slurm_agents": Adapter("agents", "AgentLauncher", _SLURM),
    "slurm_steps": Adapter("slurm_steps", "SlurmStepLauncher", _SLURM),
    "template": Adapter("template", "TemplateLauncher", _TEMPLATE),
}

_WORDS = {str: "a text", list: "a list of words", dict: "a table", bool: "true or false", float: "seconds"}


def check_options(name: str, options: Mapping[str, object]) -> None:
    """Refuse options for a launcher that does not exist, and options that a launcher does not know.

    Raises
    ------
    BadArgument
        The message has the launchers that there are, or the nearest key.
    """
    if name not in LAUNCHERS:
        raise BadArgument(f"no launcher {name!r}; there are {', '.join(sorted(LAUNCHERS))}")
    known = LAUNCHERS[name].options
    for key, value in options.items():
        if key not in known:
            hint = did_you_mean(key, known) or "."
            raise BadArgument(
                f"launcher_options.{key}: unknown to the launcher {name!r}{hint} It knows {', '.join(known)}"
            )
        expected = known[key]
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 0
        if not (is_number if expected is float else isinstance(value, expected)):
            raise BadArgument(f"launcher_options.{key}: expected {_WORDS[expected]}, found {value!r}")


def make_launcher(machine: Machine, name: str | None = None) -> Launcher:
    """Return the launcher that a machine file names.

    Raises
    ------
    BadArgument
        There is no such launcher, or it does not know an option.
    NotAvailable
        The launcher needs something that is not installed here.
    """
    chosen = name or machine.launcher
    check_options(chosen, machine.launcher_options)
    adapter = LAUNCHERS[chosen]
    return getattr(importlib.import_module(f".{adapter.module}", __name__), adapter.kind)(machine)
