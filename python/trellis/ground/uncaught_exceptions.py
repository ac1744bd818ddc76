"""This module handles uncaught exceptions on one of several ranks: the others would wait for it for ever.

The compiled part ends the job where a rank ends with another status than 0, by SystemExit too: exit() tells
it the status. Python calls destructors before that, and those of open files wait for all ranks: exceptions
are therefore handled here, as soon as they are printed. A thread's exception gives the process no status.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from types import ModuleType, TracebackType

from .launched_ranks import launched_ranks

_is_watching = False


def watch(core: ModuleType) -> None:
    """Add the end of the other ranks to the exception hooks of a process that was started with others.

    Further calls do nothing.
    """
    global _is_watching
    if _is_watching:
        return
    _is_watching = True
    if launched_ranks() == 1:
        return
    print_uncaught, print_uncaught_of_thread = sys.excepthook, threading.excepthook

    def hook(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
        print_uncaught(kind, error, traceback)
        if core.is_one_of_several_ranks() and not _is_at_a_prompt():
            _flush()
            core.end_rank(130 if issubclass(kind, KeyboardInterrupt) else 1)

    def thread_hook(arguments: threading.ExceptHookArgs) -> None:
        print_uncaught_of_thread(arguments)
        if core.is_one_of_several_ranks() and not issubclass(arguments.exc_type, SystemExit):
            _flush()
            core.abort(1)

    sys.excepthook, threading.excepthook = hook, thread_hook


def _is_at_a_prompt() -> bool:
    """Return True in an interactive session, which goes on after an exception."""
    return hasattr(sys, "ps1") or bool(sys.flags.interactive)


def _flush() -> None:
    """Flush the standard streams, since the core ends the process before Python would flush them."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()
