"""This module makes a measurement from Python: it does what `trellis measure` does, without a line of
output."""

from __future__ import annotations

import re
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any

from ..ground.errors import BadArgument, RunFileError
from ..run_files import MeasureRun
from ..run_files.loading import line_of
from ..runs.given_run import given_run
from ..runs.reporting import Step, StepReporter
from ..runs.step_display import displaying_steps
from ..runs.stopping import StopRequest
from .configuration_files import between
from .course import measure_run
from .result import MeasureResult

#: Messages about a key of the run file begin with it.
_KEY = re.compile(r"((?:\w+\.)+\w+): ")


def run(
    run: str | PathLike[str] | MeasureRun,
    *,
    resume: bool = False,
    first: int | None = None,
    last: int | None = None,
    on_progress: Callable[[Step], None] | None = None,
    progress: bool = False,
) -> MeasureResult:
    """Measure on every configuration of a run, as `trellis measure` does; nothing is printed.

    Collective. SIGINT, SIGTERM, SIGUSR1, SIGHUP, and a KeyboardInterrupt of `on_progress` end the run after
    the source in hand: what is finished is saved, and the result says `stopped`. A second SIGINT raises
    KeyboardInterrupt at once. The threads, the exchange of halos and the order of ranks that
    [machine] names stay set.

    Parameters
    ----------
    run
        Path of a run file, or a validated model. Relative paths in it begin at the working folder.
    resume
        Go on with a run that has results already.
    first, last
        Numbers of the first and last configuration that are measured; None: those of the run.
    on_progress
        Is called on rank 0 with each step. An error other than KeyboardInterrupt that it raises ends the run
        in the same way, and is then raised on all ranks.
    progress
        Show a bar of the steps on standard error.

    Returns
    -------
    MeasureResult
        `trellis measure --json` prints it.

    Raises
    ------
    RunFileError
        The run file cannot be read or is not valid; the message names file, line and key.
    BadArgument
        A key does not fit the configurations, or there are results and `resume` is False.
    FileError, ChecksumError, OutOfMemory, NotConverged
        A file is damaged or cannot be written; memory is short; a solve has not reached its tolerance.
    """
    model, text, path = given_run(run, MeasureRun)
    model = model.model_copy(update={"configurations": between(model.configurations, first, last)})
    stop = StopRequest()
    try:
        with displaying_steps(progress, on_progress) as told, StepReporter(told, stop) as output:
            return measure_run(model, text, output, stop, resume=resume)
    except BadArgument as error:
        if path is None:
            raise
        raise _in_run_file(error, path, model, text) from error


def _in_run_file(error: BadArgument, run_file: Path, run: MeasureRun, text: str) -> BadArgument:
    """Add the line of the key to an error about a key that does not suit the lattice or configurations."""
    key = _KEY.match(str(error))
    names = key[1].split(".") if key else []
    table: Any = run
    for name in names[:-1]:
        table = getattr(table, name, None)
    if not names or not hasattr(table, names[-1]):
        return error
    line = line_of(text, names)
    return RunFileError(f"{run_file}:{line}: {error}" if line else f"{run_file}: {error}")
