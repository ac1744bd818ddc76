"""trellis glass simulates Heisenberg spin glasses, which are checkpointed and resumable bit for bit."""

from __future__ import annotations

from pathlib import Path

from ..glass.application import run as simulate
from ..runs.stopping import exit_status
from .output import Output


def glass(run_file: Path, *, resume: bool, json: bool) -> int:
    """Run, or go on with, the run of a file.

    Returns
    -------
    int
        Exit status: 0, or `stopping.STOPPED`.
    """
    output = Output(json)
    with output.showing_steps({"sweep": "steps"}) as show:
        result = simulate(run_file, resume=resume, on_progress=show)
    output.result(result.to_json())
    return exit_status(result.stopped)
