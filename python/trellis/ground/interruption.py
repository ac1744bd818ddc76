"""This module handles Ctrl-C on several ranks: all of them stop at the same place, though the signal reaches
each by itself.

The compiled part runs Python's signal handlers while it computes, and what they raise ends the call on all
ranks in the same iteration. Between two such calls Python would raise KeyboardInterrupt on one rank alone,
for which the others would wait for ever: there the signal is a request, which the next call takes along.
"""

from __future__ import annotations

import signal
import threading
from types import FrameType, ModuleType

from .launched_ranks import launched_ranks


def watch(core: ModuleType) -> None:
    """Take SIGINT over, in a process that was started with others and where Python's own handler has it."""
    if launched_ranks() == 1 or threading.current_thread() is not threading.main_thread():
        return
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        return

    def note(_number: int, _frame: FrameType | None) -> None:
        if not core.request_stop():  # the second one does not wait for the other ranks
            raise KeyboardInterrupt

    signal.signal(signal.SIGINT, note)
