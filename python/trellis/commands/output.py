"""This module has the output of commands: one process prints, plain text or one JSON object."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
)
from rich.table import Column
from rich.text import Text

from ..ground.errors import FileError
from ..ground.launched_ranks import launched_rank, was_launched
from ..runs.reporting import Step
from ..runs.streams import GuardedConsole, set_last_words


class _PaceColumn(ProgressColumn):
    """It shows the seconds for each piece of work so far, and the time left at that pace.

    rich's own estimate knows the last half minute only: of trajectories that take longer it says nothing.
    """

    def render(self, task: Task) -> Text:
        made, at = task.completed - task.fields["first"], task.fields["at"]
        if made <= 0 or at is None or task.total is None or task.elapsed is None:
            return Text("left -:--:--")
        each = at / made
        left = max(each * (task.total - task.completed) - (task.elapsed - at), 0.0)
        minutes, seconds = divmod(round(left), 60)
        return Text(f"{each:.3g} s each, left {minutes // 60}:{minutes % 60:02d}:{seconds:02d}")


class Output:
    """This is the standard output of a command.

    Parameters
    ----------
    json
        Print one JSON object, with :meth:`result`, and nothing else; lines for people are left out.
    """

    def __init__(self, json: bool = False) -> None:
        self.json = json
        self.is_root = launched_rank() == 0
        self.console: Console = GuardedConsole(
            quiet=json or not self.is_root,
            highlight=False,
            soft_wrap=True,
            emoji=False,
            force_terminal=None if _reaches_a_terminal() else False,
        )
        self.errors: Console = GuardedConsole(
            stderr=True, quiet=not self.is_root, highlight=False, soft_wrap=True, emoji=False
        )

    def show(self, step: Step) -> None:
        """Print a step of a run as the line that it brings along."""
        if not step.text:
            return
        kinds = {"warning": self.warning, "notice": self.notice, "stopped": self.stopped}
        kinds.get(step.what, self.line)(step.text)

    def line(self, text: str, style: str | None = None) -> None:
        """Print a line for people."""
        with naming_standard_output():
            self.console.print(text, style=style, markup=False)

    def stopped(self, text: str) -> None:
        """Print a line for people: how a run ended that was asked to, and the way on."""
        set_last_words(text)
        self.line(text)

    def warning(self, text: str) -> None:
        """Print a warning on standard error."""
        self.errors.print(f"warning: {text}", style="yellow", markup=False)

    def notice(self, text: str) -> None:
        """Print on standard error something that was asked for and is good to know."""
        self.errors.print(f"notice: {text}", markup=False)

    def remark(self, text: str) -> None:
        """Print a line for people on standard error, where the output is a file's text."""
        self.errors.print(text, markup=False)

    def result(self, content: dict[str, Any]) -> None:
        """Print the JSON object, in JSON mode."""
        if self.json and self.is_root:
            with naming_standard_output():
                sys.stdout.write(json.dumps(content, indent=2, allow_nan=False) + "\n")
                sys.stdout.flush()

    @contextmanager
    def showing_steps(self, bars: Mapping[str, str]) -> Iterator[Callable[[Step], None]]:
        """Yield a function that prints steps, and shows on a bar how many of a kind are done.

        Parameters
        ----------
        bars
            The bar's text for each kind of step that is counted on one; a run has one such kind.
        """
        with ExitStack() as stack:
            shown: list[Callable[[int], None]] = []

            def show(step: Step) -> None:
                if step.what in bars and step.completed is not None and step.total is not None:
                    if not shown:
                        bar = self.progress(bars[step.what], step.total, step.completed)
                        shown.append(stack.enter_context(bar))
                    else:
                        shown[0](step.completed)
                self.show(step)

            yield show

    @contextmanager
    def progress(self, text: str, total: int, completed: int = 0) -> Iterator[Callable[[int], None]]:
        """Show a bar, on a terminal, with the time of each piece and the time left; yield the function that
        sets how much is done."""
        columns = (
            TextColumn("{task.description}"),
            BarColumn(bar_width=10),
            MofNCompleteColumn(),
            TimeElapsedColumn(table_column=Column(no_wrap=True)),
            _PaceColumn(table_column=Column(no_wrap=True)),
        )
        is_shown = self.is_root and not self.json and self.console.is_terminal
        with Progress(*columns, console=self.console, disable=not is_shown, transient=True) as bar:
            task = bar.add_task(text, total=total, completed=completed, first=completed, at=None)
            bar.start_task(task)
            yield lambda done: bar.update(task, completed=done, at=bar.tasks[0].elapsed)


def _reaches_a_terminal() -> bool:
    """Return True if a terminal at standard output is one that somebody looks at.

    Open MPI gives rank 0 a terminal of its own whose text goes where mpirun's goes, perhaps to a file.
    """
    if not was_launched():
        return True
    try:
        target = os.readlink(f"/proc/{os.getppid()}/fd/1")
    except OSError:  # the launcher's helper is another user's: its end may be anything
        return False
    return target.startswith(("/dev/pts/", "/dev/tty"))


@contextmanager
def naming_standard_output() -> Iterator[None]:
    """Name standard output in the message of a full disk; the system's own names no file."""
    try:
        yield
    except BrokenPipeError:  # head or less had enough
        raise
    except OSError as error:
        raise FileError(f"standard output: cannot be written: {error.strerror}") from error
