"""This module keeps Ctrl-C from getting lost in libraries that catch all exceptions.

lsqfit and gvar have clauses `except:` without a name. A KeyboardInterrupt that Python raises within one of
them is gone, and the analysis goes on as if nobody had pressed anything.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def interrupts_kept() -> Iterator[None]:
    """Raise KeyboardInterrupt at the end, too, where Ctrl-C came in between and was swallowed.

    It changes nothing in other threads, and where someone else handles SIGINT.
    """
    if (
        threading.current_thread() is not threading.main_thread()
        or signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    ):
        yield
        return
    pressed = False

    def note(_number: int, _frame: FrameType | None) -> None:
        nonlocal pressed
        pressed = True
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if pressed:
            raise KeyboardInterrupt from None
