"""This module ends a command: exceptions become a message and an exit status."""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

import typer
from rich.console import Console

from ..ground.errors import Error
from ..ground.launched_ranks import launched_rank
from ..runs.streams import UNREAD, loss, silence


def run(command: Callable[[], int | None], json: bool, *, is_run: bool = False) -> None:
    """Run a command and turn its exceptions into a message and an exit status.

    All ranks raise together what trellis raises on purpose and agrees on; whatever else happens on one
    rank is printed once and ends the job. A run (`is_run`) says it where its reader has left; another command
    ends as head or less expect it.
    """
    try:
        status = _told_loss(command() or 0)
    except typer.Exit:
        raise
    except KeyboardInterrupt:
        _fail("interrupted", json, 130)
    except (Error, OSError) as error:
        if isinstance(error, BrokenPipeError) and _reader_has_left():
            silence(sys.stdout)
            if is_run:
                _fail(f"standard output: {UNREAD}", json, 1)
            raise typer.Exit(128 + signal.SIGPIPE) from None
        _fail(_in_words(error), json, 1)
    except Exception as error:
        _fail(f"{type(error).__name__}: {error}", json, 1, details=traceback.format_exc())
    else:
        raise typer.Exit(status)


def _told_loss(status: int) -> int:
    """Return the status of a command; write one line and return 1 where its output was lost, and what it had
    was saved."""
    reason, last_words = loss()
    if not reason:
        return status
    with _as_far_as_it_goes(sys.stderr):
        text = last_words or f"{reason}: the run itself has ended well"
        sys.stderr.write(f"error: {text}\n")
        sys.stderr.flush()
    return 1


def _in_words(error: Exception) -> str:
    """Return the system's message without its error number: "FILE: Not a directory"."""
    if isinstance(error, OSError) and not isinstance(error, Error) and error.filename2 is None:
        if isinstance(error.filename, str | bytes) and error.strerror:
            return f"{os.fsdecode(error.filename)}: {error.strerror}"
    return str(error) or type(error).__name__


def _reader_has_left() -> bool:
    """Return True if nobody reads standard output any more: head or less has ended, which is no error."""
    poll = select.poll()
    poll.register(sys.stdout.fileno(), 0)
    return any(event & select.POLLERR for _, event in poll.poll(0))


def _fail(text: str, json_mode: bool, status: int, details: str = "") -> None:
    rank = launched_rank()
    if rank > 0:
        _wait_for_lower_ranks(rank)
    where = f" (rank {rank})" if rank > 0 else ""
    with _as_far_as_it_goes(sys.stderr):
        sys.stderr.write(details)
        Console(stderr=True, highlight=False, soft_wrap=True, emoji=False).print(
            f"error{where}: {text}", style="bold red", markup=False
        )
        sys.stderr.flush()
    with _as_far_as_it_goes(sys.stdout):
        if json_mode:
            sys.stdout.write(json.dumps({"error": text}) + "\n")
        sys.stdout.flush()
    _end_other_ranks(status)
    raise typer.Exit(status)


@contextmanager
def _as_far_as_it_goes(stream: TextIO) -> Iterator[None]:
    """Ignore a failed write of a message (full disk, closed pipe), so that the command keeps its status."""
    try:
        yield
    except OSError:
        silence(stream)


def _wait_for_lower_ranks(rank: int) -> None:
    """Sleep, while rank 0 prints an error that all ranks have and then ends the job."""
    import time

    time.sleep(2.0 + 0.1 * min(rank, 100))


def _end_other_ranks(status: int) -> None:
    from ..ground import parallel

    if "trellis._core" in sys.modules:
        parallel.abort(status)
