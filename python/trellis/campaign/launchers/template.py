"""Every attempt runs through a command of the site: mpirun, jsrun, aprun, or another starter of programs.

The words come from the machine file; the programs that they start are processes of this host to us, and what
they do on other nodes is theirs to end. Which nodes died is not known: the outputs decide, as always.
"""

from __future__ import annotations

import dataclasses
import re
import shutil
from collections.abc import Mapping, Sequence

from ...ground.errors import BadArgument, NotAvailable
from ..model import Machine, Placement
from .base import Handle, Launch
from .process import ProcessLauncher

#: These words belong to `preset` in [launcher_options].
PRESETS: dict[str, list[str]] = {
    "mpirun": ["mpirun", "-n", "{ranks}", "--host", "{slots}", "--bind-to", "none"],
    "jsrun": [
        "jsrun", "--nrs", "{ranks}", "--tasks_per_rs", "1", "--cpu_per_rs", "{threads}",
        "--gpu_per_rs", "{gpus_per_rank}", "--rs_per_host", "{ranks_per_node}",
    ],
    "aprun": ["aprun", "-n", "{ranks}", "-N", "{ranks_per_node}", "-d", "{threads}", "-L", "{hosts}"],
    # This is for HPE Cray PALS.
    "pals": [
        "mpiexec", "-n", "{ranks}", "--ppn", "{ranks_per_node}", "--depth", "{threads}", "--hosts", "{hosts}",
    ],
    # This is for MPICH and Intel MPI.
    "hydra": ["mpiexec", "-n", "{ranks}", "-ppn", "{ranks_per_node}", "-hosts", "{hosts}"],
}  # fmt: skip
NAMES = (
    "ranks",
    "nodes",
    "threads",
    "gpus",
    "gpus_per_rank",
    "ranks_per_node",
    "hosts",
    "slots",
    "host_file",
)
_NAME = re.compile(r"\{(\w+)\}")


class TemplateLauncher(ProcessLauncher):
    """Its options are ``preset`` (a name of PRESETS), or ``command``, the words before the task's own.

    In the words, {ranks}, {nodes}, {threads}, {gpus}, {gpus_per_rank}, {ranks_per_node}, {hosts} (a,b),
    {slots} (a:2,b:2) and {host_file} (one line per rank) are filled in.
    """

    preset = ""  #: it counts where the machine file says neither `preset` nor `command`

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine)
        options = machine.launcher_options
        preset = str(options.get("preset", "" if "command" in options else self.preset))
        if ("command" in options) == bool(preset):
            raise BadArgument(f"machine {machine.name}: launcher 'template' needs `preset` or `command`")
        if preset and preset not in PRESETS:
            raise BadArgument(f"machine {machine.name}: no preset {preset!r}; there are {', '.join(PRESETS)}")
        self.words = PRESETS[preset] if preset else [str(word) for word in options["command"]]
        unknown = {name for word in self.words for name in _NAME.findall(word)} - set(NAMES)
        if unknown:
            raise BadArgument(
                f"machine {machine.name}: unknown {', '.join(sorted(unknown))} in `command`; known: "
                f"{', '.join(NAMES)}"
            )
        self.mpi = []  # the words below are for tasks of one rank too

    def start(self) -> None:
        if shutil.which(self.words[0]) is None:
            raise NotAvailable(f"launcher 'template' needs {self.words[0]}, which is not here")
        super().start()

    def launch(self, launch: Launch, placement: Placement, environment: Mapping[str, str]) -> Handle:
        words = tuple(fill(self.words, launch, placement))
        return super().launch(
            dataclasses.replace(launch, command=words + launch.command), placement, environment
        )


def fill(words: Sequence[str], launch: Launch, placement: Placement) -> list[str]:
    """Return words with their placeholders filled in."""
    places = placement.places
    gpus = sum(len(place.gpus) for place in places)
    path = launch.log.with_name(launch.log.name + ".hosts")
    if any("{host_file}" in word for word in words):
        path.write_text("".join(f"{place.node}\n" * place.ranks for place in places))
    values = {
        "ranks": str(placement.ranks),
        "nodes": str(len(places)),
        "threads": str(max(len(place.cpus) // place.ranks for place in places)),
        "gpus": str(gpus),
        "gpus_per_rank": str(gpus // placement.ranks),
        "ranks_per_node": str(max(place.ranks for place in places)),
        "hosts": ",".join(placement.nodes),
        "slots": ",".join(f"{place.node}:{place.ranks}" for place in places),
        "host_file": str(path),
    }
    return [_NAME.sub(lambda match: values[match[1]], word) for word in words]
