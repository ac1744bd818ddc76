"""This module has the bars of `progress=True`: by tqdm in a notebook, by Rich on a terminal, and seldom lines
elsewhere.

Everything goes to standard error, where it is in nobody's way, and to rank 0 alone.
"""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Literal, Protocol

from .launched_ranks import launched_rank

Place = Literal["notebook", "terminal", "lines"]
#: So many seconds lie between two lines where there is neither a notebook nor a terminal, and between two
#: drawings.
_BETWEEN_LINES, _BETWEEN_DRAWINGS = 10.0, 0.1


class Display(Protocol):
    """It takes how much is done, and a text about it."""

    def show(self, done: float, text: str) -> None:
        """Draw, if it is time."""

    def close(self) -> None:
        """Draw the last state and end."""


def place_of_display() -> Place:
    """Return where standard error goes: to a notebook's cell, a terminal, or a pipe or file."""
    get_shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)
    if type(get_shell()).__name__ == "ZMQInteractiveShell":
        return "notebook"
    return "terminal" if sys.stderr is not None and sys.stderr.isatty() else "lines"


@contextmanager
def displaying(what: str, total: float, *, wanted: bool = True) -> Iterator[Callable[[float, str], None]]:
    """Yield a function that shows how much of `total` is done, and a text; it shows nothing where not wanted.

    Parameters
    ----------
    what
        A word in front: "solve".
    total
        The work has so much, in any unit.
    """
    if not wanted or launched_rank() != 0:
        yield lambda done, text: None
        return
    display = _display(what, total)
    try:
        yield display.show
    finally:
        display.close()


def _display(what: str, total: float) -> Display:
    place = place_of_display()
    if place == "terminal":
        return _RichDisplay(what, total)
    if place == "notebook":
        try:
            tqdm = importlib.import_module("tqdm.auto").tqdm
        except ImportError:  # it is optional
            return _LineDisplay(what, total, end="\r", between=_BETWEEN_DRAWINGS)
        return _TqdmDisplay(what, total, tqdm)
    return _LineDisplay(what, total, end="\n", between=_BETWEEN_LINES)


class _RichDisplay:
    def __init__(self, what: str, total: float) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[text]}"),
        )
        self._progress = Progress(
            *columns, TimeElapsedColumn(), console=Console(stderr=True, highlight=False)
        )
        self._progress.start()
        self._task = self._progress.add_task(what, total=total, text="")

    def show(self, done: float, text: str) -> None:
        self._progress.update(self._task, completed=done, text=text)

    def close(self) -> None:
        self._progress.stop()


class _TqdmDisplay:
    def __init__(self, what: str, total: float, tqdm: Callable[..., Any]) -> None:
        form = "{l_bar}{bar}| {elapsed}{postfix}"
        self._bar = tqdm(total=total, desc=what, bar_format=form, mininterval=_BETWEEN_DRAWINGS)

    def show(self, done: float, text: str) -> None:
        self._bar.set_postfix_str(text, refresh=False)
        self._bar.n = min(done, self._bar.total)
        self._bar.refresh()

    def close(self) -> None:
        self._bar.close()


class _LineDisplay:
    """It shows lines of text: each over the one before (`end` is a carriage return), or one below the
    other."""

    def __init__(self, what: str, total: float, *, end: str, between: float) -> None:
        self._what, self._total, self._end, self._between = what, total, end, between
        self._next, self._begin = time.monotonic() + between, time.monotonic()
        self._last, self._longest, self._is_shown = "", 0, True

    def show(self, done: float, text: str) -> None:
        share = f"{100 * min(done / self._total, 1):.0f} %, " if self._total > 0 else ""
        self._last, self._is_shown = f"{self._what}: {share}{text}", False
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + self._between
            self._write(self._end)

    def close(self) -> None:
        if not self._is_shown or self._end == "\r":
            self._write("\n")

    def _write(self, end: str) -> None:
        self._is_shown = True
        line = f"{self._last}, {time.monotonic() - self._begin:.1f} s"
        self._longest = max(self._longest, len(line))
        if sys.stderr is not None:
            sys.stderr.write(line.ljust(self._longest) + end)
            sys.stderr.flush()
