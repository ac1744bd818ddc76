"""This module has standard output and error of commands that save their work where nobody takes their output
any more."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from rich.console import Console

UNREAD = "nobody reads it any more"


class _Loss:
    """This is the loss of this process's standard streams: its reason, and the callbacks that are told of
    it."""

    def __init__(self) -> None:
        self.callbacks: list[Callable[[str], None]] = []
        self.reason = ""
        self.last_words = ""


_loss = _Loss()


@contextmanager
def outliving_readers(tell: Callable[[str], None]) -> Iterator[None]:
    """While it is entered, output that cannot be written raises nothing: `tell` gets the reason, once.

    A pipe was closed, a terminal went away with its ssh, the disk behind a log is full.
    """
    _loss.callbacks.append(tell)
    try:
        yield
    finally:
        _loss.callbacks.remove(tell)


def loss() -> tuple[str, str]:
    """Return why output was lost ("": it was not), and the last words of the run that this stopped.

    Both are forgotten.
    """
    found = _loss.reason, _loss.last_words
    _loss.reason = _loss.last_words = ""
    return found


def set_last_words(text: str) -> None:
    """Set the text that the end of a command prints on standard error if its output was lost."""
    _loss.last_words = text


def silence(stream: TextIO) -> None:
    """Send the stream to /dev/null, since writing its buffer would fail again at the program's end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


class GuardedStream:
    """This is standard output or error for rich, with the loss of its reader told to whom it concerns."""

    def __init__(self, name: str) -> None:
        self._name = name

    @property
    def _target(self) -> TextIO:
        stream = getattr(sys, self._name)  # tests replace it, and a progress bar does
        return getattr(stream, "rich_proxied_file", stream)

    def write(self, text: str) -> int:
        try:
            return self._target.write(text)
        except OSError as error:
            self._lost(error)
            return len(text)

    def flush(self) -> None:
        try:
            self._target.flush()
        except OSError as error:
            self._lost(error)

    def _lost(self, error: OSError) -> None:
        if not _loss.callbacks:
            raise error
        where = {"stdout": "standard output", "stderr": "standard error"}[self._name]
        how = UNREAD if isinstance(error, BrokenPipeError) else error.strerror
        silence(self._target)
        if not _loss.reason:
            _loss.reason = f"{where}: {how}"
            for tell in list(_loss.callbacks):
                tell(_loss.reason)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._target, name)


class GuardedConsole(Console):
    """This is a console on such a stream."""

    def __init__(self, *, stderr: bool = False, **options: Any) -> None:
        super().__init__(file=GuardedStream("stderr" if stderr else "stdout"), **options)  # type: ignore[arg-type]

    def on_broken_pipe(self) -> None:
        """Raise the error again: the command decides, and rich would end the program in its own way."""
        raise
