"""One program runs on each node of an allocation.

One srun or other words of the site start all of them.
"""

from __future__ import annotations

import secrets
import subprocess
import time
from collections.abc import Mapping, Sequence
from typing import IO

from ...ground.errors import NotAvailable
from . import patience, slurm_system
from .slurm_watch import all_steps

#: srun itself ends with this status where it could not make a step.
_SRUN_FAILED = 1


class NodePrograms:
    """This starts the programs, once more where srun failed and Slurm has no step of its name.

    Parameters
    ----------
    words
        The site's; empty: srun.
    name
        The step's name begins like this.
    """

    def __init__(
        self,
        words: Sequence[str],
        name: str,
        nodes: Sequence[str],
        program: Sequence[str],
        *,
        environment: Mapping[str, str],
        output: IO | None = None,
    ) -> None:
        self.name = f"{name}-{secrets.token_hex(4)}"
        self.words = list(words) or slurm_system.one_per_node(self.name, nodes)
        self._is_srun = not words
        self._command = [*self.words, *program]
        self._environment, self._output = dict(environment), output
        self._pause = patience.FIRST_PAUSE
        self._next = 0.0
        self.process = self._start()

    def _start(self) -> subprocess.Popen:
        self._pause, self._next = 2 * self._pause, time.monotonic() + self._pause
        return subprocess.Popen(
            self._command,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            start_new_session=True,
        )

    def may_report(self) -> bool:
        """Return True if programs that have not reported yet may still do so; call this repeatedly."""
        if self.process.poll() is None:
            return True
        if not self._is_srun or self.process.returncode != _SRUN_FAILED:
            return False
        if time.monotonic() >= self._next:
            try:
                is_there = any(name == self.name for _, name in all_steps())
            except NotAvailable:
                is_there = True  # nobody knows: a second one might run beside the first
            if is_there:
                self._next = time.monotonic() + self._pause
            else:
                self.process = self._start()
        return True
