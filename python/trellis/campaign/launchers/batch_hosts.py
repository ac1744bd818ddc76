"""Allocations of PBS and LSF take their nodes and their end from the job.

A command of the site starts tasks there.

PBS lists the nodes in the file PBS_NODEFILE, LSF in that of LSB_DJOB_HOSTFILE. Neither says when the job
ends: the batch script of :mod:`..allocations` does, by the variable END.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

from ...ground.errors import BadArgument, NotAvailable
from ..model import Machine
from .slurm_system import machine_on_hosts
from .template import TemplateLauncher

#: This variable says when the allocation ends, in seconds since 1970.
END = "TRELLIS_ALLOCATION_END"


class HostsLauncher(TemplateLauncher):
    """Options are those of :class:`.template.TemplateLauncher`; ``preset`` is "mpirun" by default."""

    preset = "mpirun"
    system: str
    nodes_variable: str

    def __init__(self, machine: Machine) -> None:
        hosts = self._hosts()
        super().__init__(machine_on_hosts(machine, hosts) if hosts else machine)

    def _hosts(self) -> list[str]:
        """Return the names of the job's nodes, each once; outside a job none."""
        path = os.environ.get(self.nodes_variable)
        if not path:
            return []
        try:
            return list(dict.fromkeys(Path(path).read_text().split()))
        except OSError as error:
            raise NotAvailable(f"{self.nodes_variable}: {path}: {error.strerror}") from None

    def start(self) -> None:
        """Start as :meth:`.base.Launcher.start` does."""
        if not os.environ.get(self.nodes_variable):
            raise NotAvailable(
                f"not inside a {self.system} job ({self.nodes_variable} is not set): submit one, or let "
                "`trellis campaign submit` make one"
            )
        super().start()

    def seconds_left(self) -> float | None:
        text = os.environ.get(END)
        if text is None:
            return None
        try:
            return float(text) - time.time()
        except ValueError:
            raise BadArgument(f"{END}: expected seconds since 1970, found {text!r}") from None


class PbsLauncher(HostsLauncher):
    """This launcher is for jobs of PBS."""

    system = "PBS"
    nodes_variable = "PBS_NODEFILE"


class LsfLauncher(HostsLauncher):
    """This launcher is for jobs of LSF."""

    system = "LSF"
    nodes_variable = "LSB_DJOB_HOSTFILE"
