"""trellis generate makes gauge configurations, which are checkpointed and resumable bit for bit."""

from __future__ import annotations

from pathlib import Path

from ..generate.application import propose_steps
from ..generate.application import run as generate_configurations
from ..runs.stopping import exit_status
from .output import Output


def generate(
    run_file: Path, *, resume: bool, json: bool, trajectories: int | None = None, tune: float | None = None
) -> int:
    """Run, or go on with, the run of a file: heat bath, or trajectories ([molecular_dynamics]).

    Returns
    -------
    int
        Exit status: 0, or `stopping.STOPPED`.
    """
    output = Output(json)
    if tune is not None:
        output.result(propose_steps(run_file, acceptance=tune, on_progress=output.show).to_json())
        return 0
    with output.showing_steps({"sweep": "sweeps", "trajectory": "trajectories"}) as show:
        result = generate_configurations(run_file, resume=resume, trajectories=trajectories, on_progress=show)
    output.result(result.to_json())
    return exit_status(result.stopped)
