"""This module takes Ctrl-C, SIGTERM, SIGUSR1, SIGHUP and a closed pipe as a wish: the work in hand is
finished and saved."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from contextvars import ContextVar
from types import FrameType
from typing import Any

from ..ground.compiled_core import load
from .streams import outliving_readers

#: A run that was asked to stop before its end has this exit status: what it has is saved, and --resume goes
#: on.
STOPPED = 3


def exit_status(is_stopped: bool) -> int:
    """Return the exit status of a run.

    Only rank 0 has one that is not 0, since the first such status ends an MPI job.
    """
    return STOPPED if is_stopped and load().rank() == 0 else 0


class Stopped(BaseException):
    """It says that work was given up between two steps because a stop was asked for; it is not an error."""


#: The first SIGINT prints these words on standard error: those of a command whose work in hand may take long.
_FIRST_WORDS: ContextVar[str] = ContextVar("first_words", default="")


@contextlib.contextmanager
def answering(first_words: str) -> Iterator[None]:
    """Runs that begin inside answer the first SIGINT with these words."""
    token = _FIRST_WORDS.set(first_words)
    try:
        yield
    finally:
        _FIRST_WORDS.reset(token)


class StopRequest:
    """While it is entered, signals and lost readers are noted; a second SIGINT interrupts at once.

    SIGUSR1 is for mpirun, which passes it on; of the others it makes an end of its own, soon after. SIGHUP
    comes when a terminal or its ssh goes away; nohup has it ignored, and so it stays.
    """

    def __init__(self) -> None:
        self.reason, self.first_words = "", _FIRST_WORDS.get()
        self._before: dict[int, Any] = {}

    def __enter__(self) -> StopRequest:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGHUP):
                if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:
                    self._before[number] = signal.signal(number, self._note)
        self._readers = outliving_readers(self._note_loss)
        self._readers.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._readers.__exit__(None, None, None)
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before = {}

    def _note(self, number: int, _frame: FrameType | None) -> None:
        if self.reason and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.reason = signal.Signals(number).name
        if self.first_words and number == signal.SIGINT and load().rank() == 0:
            # A handler may run while a line is printed: Python's own buffers are not for it.
            with contextlib.suppress(OSError):
                os.write(2, f"\n{self.first_words}\n".encode())

    def ask(self, reason: str) -> bool:
        """Ask for a stop; return False where one was asked for before."""
        is_first = not self.reason
        self.reason = self.reason or reason
        return is_first

    def _note_loss(self, reason: str) -> None:
        self.reason = self.reason or reason

    def is_wanted(self) -> bool:
        """Return True on every rank if any rank was asked to stop. Collective."""
        wanted = load().maximum(1.0 if self.reason else 0.0) > 0.5
        if wanted and not self.reason:
            self.reason = "another rank was asked to stop"
        return wanted

    def check(self) -> None:
        """Raise Stopped, on every rank, if any rank was asked. Collective."""
        if self.is_wanted():
            raise Stopped(self.reason)
