"""An engine may give no answer for a while; questions to it are asked again, with growing pauses."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

from ...ground.errors import NotAvailable

#: A question is repeated for this long where nothing can go on without its answer.
SECONDS = 300.0
#: The pause between two questions has the first length at first, doubles each time, and ends at the second.
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0
_LOOK_SECONDS = 0.1

T = TypeVar("T")


class NoAnswer(NotAvailable):
    """An engine failed to answer, or said odd things: the same question may have an answer later."""


def patiently(question: Callable[[], T], is_stopped: Callable[[], bool] = lambda: False) -> T:
    """Return the answer to a question that raises NoAnswer for a while.

    A line on standard error says that it waits.

    Parameters
    ----------
    is_stopped
        Somebody wants this program to end: the question is not repeated any more.

    Raises
    ------
    NotAvailable
        There was no answer for `SECONDS`.
    """
    begin, pause = time.monotonic(), FIRST_PAUSE
    while True:
        try:
            return question()
        except NoAnswer as error:
            waited = time.monotonic() - begin
            if is_stopped():
                raise
            if waited >= SECONDS:
                raise NotAvailable(f"{error} (asked again and again for {waited:.0f} s)") from None
            if pause == FIRST_PAUSE:
                _tell(f"{error}: asked again, for up to {SECONDS:g} s")
        _wait(min(pause, SECONDS - waited), is_stopped)
        pause = min(2 * pause, LONGEST_PAUSE)


def _tell(text: str) -> None:
    with contextlib.suppress(OSError, ValueError):  # nobody reads it
        print(f"notice: {text}", file=sys.stderr, flush=True)


def _wait(seconds: float, is_stopped: Callable[[], bool]) -> None:
    end = time.monotonic() + seconds
    while not is_stopped() and (left := end - time.monotonic()) > 0:
        time.sleep(min(left, _LOOK_SECONDS))


@contextlib.contextmanager
def expected_answer(question: str) -> Iterator[None]:
    """Treat an answer in another form than the one that is read inside as no answer.

    Raises
    ------
    NoAnswer
        The message has the question.
    """
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise NoAnswer(f"{question}: the answer has not the expected form: {error!r}") from None
