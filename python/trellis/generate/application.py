"""This module makes a generation from Python: it does what `trellis generate` does, without a line of
output."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from pathlib import Path

from ..ground import arguments
from ..ground.errors import BadArgument
from ..ground.parallel import on_root
from ..run_files import GenerateRun, HmcRun
from ..run_files.generate import OF_TRAJECTORIES
from ..run_files.loading import load_toml
from ..runs.given_run import given_run
from ..runs.reporting import Step, StepReporter
from ..runs.step_display import displaying_steps
from ..runs.stopping import StopRequest
from .result import HeatBathResult, StepProposal, TrajectoriesResult


def run(
    run: str | PathLike[str] | GenerateRun | HmcRun,
    *,
    resume: bool = False,
    trajectories: int | None = None,
    on_progress: Callable[[Step], None] | None = None,
    progress: bool = False,
) -> HeatBathResult | TrajectoriesResult:
    """Make the configurations of a run, as `trellis generate` does; nothing is printed.

    Collective. SIGINT, SIGTERM, SIGUSR1, SIGHUP, and a KeyboardInterrupt of `on_progress` end the run after
    the sweep or trajectory in hand: its state is saved, and the result says `stopped`. A second SIGINT raises
    KeyboardInterrupt at once. The threads, the exchange of halos and the order of ranks that
    [machine] names stay set.

    Parameters
    ----------
    run
        Path of a run file, or a validated model. Relative paths in it begin at the working folder.
    resume
        Go on with a heat bath that has states already. Trajectories go on in any case.
    trajectories
        Make so many more trajectories, whatever trajectories.total is; None: up to that.
    on_progress
        Is called on rank 0 with each step. An error other than KeyboardInterrupt that it raises ends the run
        in the same way, and is then raised on all ranks.
    progress
        Show a bar of the steps on standard error.

    Returns
    -------
    HeatBathResult or TrajectoriesResult
        `trellis generate --json` prints it.

    Raises
    ------
    RunFileError
        The run file cannot be read or is not valid; the message names file, line and key.
    BadArgument
        The folder has states of another run, or of a heat bath while `resume` is False.
    FileError, ChecksumError, OutOfMemory, NotConverged, NumericError
        A file is damaged or cannot be written; memory is short; a solve or a trajectory has failed.
    """
    if trajectories is not None:
        trajectories = arguments.integer("trajectories", trajectories, least=1)
    model, text = _loaded(run)
    stop = StopRequest()
    with displaying_steps(progress, on_progress) as told, StepReporter(told, stop) as output:
        if isinstance(model, HmcRun):
            from .trajectories import generate_trajectories

            return generate_trajectories(model, text, output, stop, trajectories=trajectories)
        if trajectories is not None:
            raise BadArgument(
                f"trajectories = {trajectories} (--trajectories): expected a run with [molecular_dynamics], "
                "found one by heat bath, whose length is sweeps.total"
            )
        from .sweeps import generate_sweeps

        return generate_sweeps(model, text, output, stop, resume=resume)


def propose_steps(
    run: str | PathLike[str] | HmcRun,
    *,
    acceptance: float = 0.85,
    on_progress: Callable[[Step], None] | None = None,
) -> StepProposal:
    """Propose steps of the integrator, as `trellis generate --tune` does; nothing is printed or written.

    Collective. It begins at the run's last state, or at its start, from which it makes the trajectories of
    the thermalisation first.

    Parameters
    ----------
    run
        Path of a run file with [molecular_dynamics], or a validated model.
    acceptance
        The wished one, from 0.05 to 0.999.
    on_progress
        Is called on rank 0 with each step. What it raises is raised on all ranks.

    Returns
    -------
    StepProposal
        `trellis generate --tune --json` prints it.

    Raises
    ------
    RunFileError
        The run file cannot be read or is not valid; the message names file, line and key.
    BadArgument
        The run is a heat bath, or the folder has states of another run.
    FileError, ChecksumError, OutOfMemory, NotConverged, NumericError
        A file is damaged; memory is short; a solve or a trajectory has failed.
    """
    acceptance = arguments.real("acceptance", acceptance, least=0.05, most=0.999)
    model, text = _loaded(run)
    if not isinstance(model, HmcRun):
        raise BadArgument(
            "steps are proposed (--tune) for a run with [molecular_dynamics]: found one by heat bath, which "
            "has no integrator"
        )
    from .trajectories import propose_steps_of

    with StepReporter(on_progress) as output:
        return propose_steps_of(model, text, output, acceptance=acceptance)


def _loaded(run: str | PathLike[str] | GenerateRun | HmcRun) -> tuple[GenerateRun | HmcRun, str]:
    """Return the model and the text of its run file. Collective."""
    model: GenerateRun | HmcRun
    model, text, _ = given_run(run, GenerateRun, HmcRun, kind_of=_kind_of)
    return model, text


def _kind_of(run_file: Path) -> type[GenerateRun] | type[HmcRun]:
    """Return the model of a run file. Collective."""
    return HmcRun if on_root(lambda: _has_trajectories(run_file)) else GenerateRun


def _has_trajectories(run_file: Path) -> bool:
    """Return True if the run file is one of trajectories, which [molecular_dynamics] decides.

    A file that lacks this table and means trajectories is told that alone.
    """
    tables = load_toml(run_file)
    if "molecular_dynamics" in tables:
        return True
    if "heatbath" in tables or "sweeps" in tables:
        return False
    return any(name in tables for name in OF_TRAJECTORIES)
