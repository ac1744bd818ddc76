"""trellis generate: gauge configurations, checkpointed, resumable bit for bit."""

from __future__ import annotations

from pathlib import Path

from ..generate.sweeps import generate_run
from ..ground.errors import BadArgument
from ..ground.parallel import on_root
from ..run_files import GenerateRun, HmcRun
from ..run_files.generate import OF_TRAJECTORIES
from ..run_files.loading import load_toml
from ..runs.setup import load_run
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
    if on_root(lambda: _has_trajectories(run_file)):
        from ..generate.trajectories import generate_hmc, propose_hmc_steps

        chain, text = load_run(run_file, HmcRun)
        if tune is not None:
            output.result(propose_hmc_steps(chain, text, output, acceptance=tune))
            return 0
        result = generate_hmc(chain, text, output, trajectories=trajectories)
        output.result(result)
        return exit_status(result["stopped"])
    if trajectories is not None or tune is not None:
        raise BadArgument("--trajectories and --tune are for runs with [molecular_dynamics]")
    run, text = load_run(run_file, GenerateRun)
    result = generate_run(run, text, output, resume=resume)
    output.result(result)
    return exit_status(result["stopped"])


def _has_trajectories(run_file: Path) -> bool:
    """[molecular_dynamics] says so; a file that lacks it and means trajectories is told that alone."""
    tables = load_toml(run_file)
    if "molecular_dynamics" in tables:
        return True
    if "heatbath" in tables or "sweeps" in tables:
        return False
    return any(name in tables for name in OF_TRAJECTORIES)
