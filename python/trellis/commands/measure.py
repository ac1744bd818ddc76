"""trellis measure: configurations -> propagators -> correlators.NNNNNN.h5, one file per configuration."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from ..measure.application import run as measure_files
from ..runs.reporting import Step
from ..runs.stopping import exit_status
from .output import Output


def measure(
    run_file: Path, *, resume: bool, json: bool, first: int | None = None, last: int | None = None
) -> int:
    """Measure on every configuration of a run file, or on those of its numbers first..last.

    Returns
    -------
    int
        Exit status: 0, or `stopping.STOPPED`.
    """
    output = Output(json)
    with ExitStack() as bars:
        result = measure_files(
            run_file, resume=resume, first=first, last=last, on_progress=_printing(output, bars)
        )
    output.result(result.to_json())
    return exit_status(result.stopped)


def _printing(output: Output, bars: ExitStack) -> Callable[[Step], None]:
    """Print steps, and show on a bar how many propagators are done."""
    shown: list[Callable[[int], None]] = []

    def show(step: Step) -> None:
        if step.what == "propagators":
            assert step.completed is not None
            assert step.total is not None
            if not shown:
                shown.append(bars.enter_context(output.progress("propagators", step.total)))
            if step.completed:
                shown[0](step.completed)
        output.show(step)

    return show
