"""trellis measure: configurations -> propagators -> correlators.NNNNNN.h5, one file per configuration."""

from __future__ import annotations

import re
from pathlib import Path

from ..ground.errors import BadArgument, RunFileError
from ..measure.measurement import measure_run
from ..measure.setup import between
from ..run_files import MeasureRun
from ..run_files.loading import line_of
from ..runs.output import Output
from ..runs.setup import load_run
from ..runs.stopping import exit_status

#: What messages about a key of the run file begin with.
_KEY = re.compile(r"(\w+)\.(\w+): ")


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
    run, text = load_run(run_file, MeasureRun)
    run = run.model_copy(update={"configurations": between(run.configurations, first, last)})
    try:
        result = measure_run(run, text, output, resume=resume)
    except BadArgument as error:
        raise _in_run_file(error, run_file, run, text) from error
    output.result(result)
    return exit_status(result)


def _in_run_file(error: BadArgument, run_file: Path, run: MeasureRun, text: str) -> BadArgument:
    """Add the line of the key to an error about a key that does not suit the lattice or configurations."""
    key = _KEY.match(str(error))
    if key is None or not hasattr(getattr(run, key[1], None), key[2]):
        return error
    line = line_of(text, key.groups())
    return RunFileError(f"{run_file}:{line}: {error}" if line else f"{run_file}: {error}")
