"""The one place that loads the compiled part, trellis._core."""

from __future__ import annotations

import os
from pathlib import Path
from types import ModuleType

from .errors import NotAvailable

#: Turns of a waiting thread before it sleeps, some 20 to 50 microseconds: the length of one pass over a small
#: lattice.
_SPINS = 1000


def _finds_free_cores() -> bool:
    """Whether every thread of this process finds a core that nothing else uses at the moment."""
    try:
        running = int(Path("/proc/loadavg").read_text().split()[3].split("/")[0]) - 1  # without this process
        threads = int(os.environ.get("OMP_NUM_THREADS", "") or len(os.sched_getaffinity(0)))
    except (OSError, ValueError, IndexError, AttributeError):
        return False
    return running + threads <= len(os.sched_getaffinity(0))


def load() -> ModuleType:
    """The module trellis._core.

    Unless OMP_WAIT_POLICY is set, threads sleep at barriers instead of spinning: on a core that something
    else uses too, spinning was seen to cost a factor of five. Where the cores are free when the program
    begins they spin for a moment first (GOMP_SPINCOUNT): two threads that sleep at once were slower than one
    on 8^4.

    Raises
    ------
    NotAvailable
        It was not built, or it was built for another Python.
    """
    if "OMP_WAIT_POLICY" not in os.environ:  # both are read when the OpenMP library is loaded
        os.environ["OMP_WAIT_POLICY"] = "passive"
        if _finds_free_cores():
            os.environ.setdefault("GOMP_SPINCOUNT", str(_SPINS))
    try:
        from . import _core
    except ImportError as error:
        raise NotAvailable(
            f"the compiled part of trellis cannot be loaded ({error}); build it with ./bootstrap build"
        ) from error
    return _core
