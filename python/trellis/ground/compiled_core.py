"""This module is the one place that loads the compiled part, trellis._core."""

from __future__ import annotations

import sys
from types import ModuleType

from . import interruption
from . import uncaught_exceptions as uncaught
from .errors import NotAvailable
from .wheel_builds import import_build

_NAME = f"{__name__.partition('.')[0]}._core"


def load() -> ModuleType:
    """Return the module trellis._core.

    Raises
    ------
    NotAvailable
        It was not built, or it was built for another Python or another processor.
    """
    try:
        if _NAME not in sys.modules:
            import_build()
        from .. import _core
    except ImportError as error:
        raise NotAvailable(
            f"the compiled part of trellis cannot be loaded ({error}); build it with ./bootstrap build"
        ) from error
    uncaught.watch(_core)
    interruption.watch(_core)
    return _core
