"""Reports of a run while it works: what the applications say, and to whom."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Literal, Protocol

from ..ground.compiled_core import load
from .stopping import StopRequest


def counted(count: int, noun: str) -> str:
    """ "1 rank", "2 ranks"."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


class Reporter(Protocol):
    """Gets what a run has to say; the output of a command is one, and :class:`StepReporter` another."""

    def line(self, text: str) -> None:
        """Take a line for people."""

    def stopped(self, text: str) -> None:
        """Take the line about how a run ended that was asked to, and the way on."""

    def warning(self, text: str) -> None:
        """Take a warning."""

    def notice(self, text: str) -> None:
        """Take something that was asked for and is good to know."""


class ReporterWithBar(Reporter, Protocol):
    """A reporter that also shows how much is done."""

    def progress(
        self, text: str, total: int, completed: int = 0
    ) -> AbstractContextManager[Callable[[int], None]]:
        """Yield the function that sets how much is done."""


@dataclass(frozen=True)
class Step:
    """One step of a run, or one thing that it has to say.

    Attributes
    ----------
    what
        ``propagators``: a propagator's source is done, or (with `completed` 0) the work begins.
        ``configuration``: a configuration is done and saved. ``stopped``: the run ends early, saved.
        ``note``, ``notice`` and ``warning`` have a text alone.
    text
        The line that the command prints; empty: it prints none.
    number
        Number of the configuration, None where there is none.
    completed, total
        How many are done in this call, and of how many; None where nothing is counted.
    numbers
        Numbers of this step by name; ``seconds`` are in s, residuals are relative, ``t0`` is t0/a^2 and
        ``w0`` is w0/a.
    """

    what: Literal["propagators", "configuration", "stopped", "note", "notice", "warning"]
    text: str = ""
    number: int | None = None
    completed: int | None = None
    total: int | None = None
    numbers: Mapping[str, float] = field(default_factory=dict)


class StepReporter:
    """Hands steps to a function on rank 0; other ranks say nothing.

    Parameters
    ----------
    on_progress
        None: nobody wants to know.
    stop
        Is asked to stop the run where the function raises KeyboardInterrupt, so that all ranks stop together.
    """

    def __init__(self, on_progress: Callable[[Step], None] | None, stop: StopRequest) -> None:
        self._on_progress, self._stop = on_progress, stop

    def step(self, step: Step) -> None:
        """Hand a step on."""
        if self._on_progress is None or load().rank() != 0:
            return
        try:
            self._on_progress(step)
        except KeyboardInterrupt:
            if not self._stop.ask("KeyboardInterrupt"):  # the second one does not wait
                raise

    def line(self, text: str) -> None:
        """Hand a line for people on."""
        self.step(Step("note", text))

    def stopped(self, text: str) -> None:
        """Hand on how the run ended that was asked to, and the way on."""
        self.step(Step("stopped", text))

    def warning(self, text: str) -> None:
        """Hand a warning on."""
        self.step(Step("warning", text))

    def notice(self, text: str) -> None:
        """Hand something on that was asked for and is good to know."""
        self.step(Step("notice", text))
