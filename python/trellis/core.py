"""The one place that loads the compiled part, trellis._core."""

from __future__ import annotations

import os
from types import ModuleType

from .errors import NotAvailable


def load() -> ModuleType:
    """The module trellis._core.

    Unless OMP_WAIT_POLICY is set, threads sleep at barriers instead of spinning: on a core that something
    else uses too, spinning was seen to cost a factor of five, and nothing was seen to be lost on free ones.

    Raises
    ------
    NotAvailable
        It was not built, or it was built for another Python.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # read when the OpenMP library is loaded
    try:
        from . import _core
    except ImportError as error:
        raise NotAvailable(
            f"the compiled part of trellis cannot be loaded ({error}); build it with ./bootstrap build"
        ) from error
    return _core
