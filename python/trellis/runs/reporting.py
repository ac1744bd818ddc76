"""This module has reports of a run while it works: what the applications say, and to whom."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Literal, Protocol

from ..ground.compiled_core import load
from ..ground.errors import Error
from ..ground.parallel import broadcast
from .stopping import StopRequest


def counted(count: int, noun: str) -> str:
    """Return "1 rank" or "2 ranks"."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


class Reporter(Protocol):
    """It gets what a run has to say; the output of a command is one, and :class:`StepReporter` another."""

    def line(self, text: str) -> None:
        """Take a line for people."""

    def stopped(self, text: str) -> None:
        """Take the line about how a run ended that was asked to, and the way on."""

    def warning(self, text: str) -> None:
        """Take a warning."""

    def notice(self, text: str) -> None:
        """Take something that was asked for and is good to know."""


@dataclass(frozen=True)
class Step:
    """This is one step of a run, or one thing that it has to say.

    Attributes
    ----------
    what
        ``propagators``: a propagator's source is done. ``configuration``: a configuration is measured and
        saved. ``sweep`` and ``trajectory``: one is done. ``thermalisation``: a trajectory is done that the
        proposal of steps begins with. The first step of propagators, sweeps or trajectories says that the
        work begins; it has no `number` and no text. ``stopped``: the run ends early, saved.
        ``note``, ``notice`` and ``warning`` have a text alone.
    text
        The line that the command prints; empty: it prints none.
    number
        Number of the configuration, sweep or trajectory, None where there is none.
    completed, total
        So many are done, of so many; None where nothing is counted. Propagators and configurations are those
        of this call; sweeps and trajectories are those of the whole run.
    numbers
        Numbers of this step by name; ``seconds`` are in s, residuals are relative, ``t0`` is t0/a^2 and
        ``w0`` is w0/a; ``accepted`` is 1 or 0.
    """

    what: Literal[
        "propagators",
        "configuration",
        "sweep",
        "trajectory",
        "thermalisation",
        "stopped",
        "note",
        "notice",
        "warning",
    ]
    text: str = ""
    number: int | None = None
    completed: int | None = None
    total: int | None = None
    numbers: Mapping[str, float] = field(default_factory=dict)


class StepReporter:
    """It hands steps to a function on rank 0; other ranks say nothing.

    An error of the function ends the run on all ranks: as a context this object asks for a stop, gets no
    further steps, and raises the error at the end, when the work is saved.

    Parameters
    ----------
    on_progress
        None: nobody wants to know.
    stop
        Is asked to stop the run where the function raises, so that all ranks stop together. None: the run has
        nothing to save, and a KeyboardInterrupt of the function is an error like others.
    """

    def __init__(self, on_progress: Callable[[Step], None] | None, stop: StopRequest | None = None) -> None:
        self._on_progress, self._stop = on_progress, stop
        self._failure: BaseException | None = None

    def __enter__(self) -> StepReporter:
        return self

    def __exit__(
        self, _type: type[BaseException] | None, error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        if error is None:
            self.raise_failure()
        elif self._failure is not None and error is not self._failure:
            error.add_note(f"before, on_progress raised {_described(self._failure)}")

    def step(self, step: Step) -> None:
        """Hand a step on."""
        if self._on_progress is None or self._failure is not None or load().rank() != 0:
            return
        try:
            self._on_progress(step)
        except BaseException as error:
            if self._stop is None or not isinstance(error, KeyboardInterrupt):
                self._failure = error
                if self._stop is not None:
                    self._stop.ask(f"on_progress raised {_described(error)}")
            elif not self._stop.ask("KeyboardInterrupt"):  # the second one does not wait
                raise

    def raise_failure(self) -> None:
        """Raise what the function has raised, on all ranks. Collective."""
        if load().maximum(0.0 if self._failure is None else 1.0) == 0.0:
            return
        failure = broadcast(None if self._failure is None else _portable(self._failure))
        if self._failure is not None:
            failure = self._failure  # this one has its traceback
        assert failure is not None
        raise failure

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


def _described(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def _portable(error: BaseException) -> BaseException:
    """Return the error, or one with its text where pickle cannot bring it to other ranks."""
    try:
        found = pickle.loads(pickle.dumps(error))
    except Exception:
        found = None
    return error if isinstance(found, BaseException) else Error(f"on_progress raised {_described(error)}")
