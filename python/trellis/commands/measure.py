"""This module runs trellis measure: configurations -> propagators -> correlators.NNNNNN.h5, one file per
configuration."""

from __future__ import annotations

from pathlib import Path

from ..measure.application import run as measure_configurations
from ..runs.stopping import answering, exit_status
from .output import Output

_ANSWER = "the run stops after the solve in hand; Ctrl-C once more ends that, too"


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
    with output.showing_steps({"propagators": "propagators"}) as show, answering(_ANSWER):
        result = measure_configurations(run_file, resume=resume, first=first, last=last, on_progress=show)
    output.result(result.to_json())
    return exit_status(result.stopped)
