"""This module has the course of a measurement, which goes configuration by configuration, is saved after each
source, and continued."""

from __future__ import annotations

import contextlib
import re
import time
import warnings
from pathlib import Path

import numpy as np

from ..ground.compiled_core import load
from ..ground.errors import BadArgument
from ..ground.parallel import on_root
from ..quarks.domain_wall import SPATIAL_DOUBLERS
from ..quarks.sources import amplifying
from ..run_files import MeasureRun
from ..runs.folder_lock import FolderLock
from ..runs.reporting import Step, StepReporter, counted
from ..runs.setup import make_output_folder, set_threads
from ..runs.stopping import Stopped, StopRequest
from .configuration_files import LARGEST_NUMBER, LARGEST_OF_NOISE, find_configurations
from .finished_sources import remove_sources, unfinished_file
from .inputs import require_one_lattice, require_same_inputs
from .measurement import Measurement
from .multigrid import require_blocks
from .result import MeasureResult
from .result_files import require_same_run, result_file
from .speed import speed_in_json
from .stored_propagators import has_propagators


def measure_run(
    run: MeasureRun, text: str, output: StepReporter, stop: StopRequest, *, resume: bool
) -> MeasureResult:
    """Do everything after the run file was read."""
    set_threads(run.machine, output)
    folder = Path(run.output.directory)
    measurement = Measurement(run, text, output, stop)
    largest = LARGEST_OF_NOISE if run.source.is_noise else LARGEST_NUMBER
    found = on_root(lambda: find_configurations(run.configurations, output.notice, largest=largest))
    measurement.extents = require_one_lattice(found, run.configurations)
    require_blocks(run.solver.multigrid, measurement.extents)
    todo, _ = on_root(lambda: _split_done(found, folder))
    on_root(lambda: make_output_folder(folder))
    with FolderLock(folder, "measure", output.warning, [number for number, _ in todo]):
        return _measure_locked(measurement, found, folder, resume=resume)


def _measure_locked(
    measurement: Measurement, found: list[tuple[int, str]], folder: Path, *, resume: bool
) -> MeasureResult:
    """Measure all configurations; the lock of the folder keeps other runs from writing their results."""
    run, output, stop = measurement.run, measurement.output, measurement.stop
    todo, done = on_root(lambda: _split_done(found, folder))
    begun = on_root(lambda: [number for number, _ in todo if unfinished_file(folder, number).exists()])
    left = on_root(lambda: [number for number, _ in todo if has_propagators(folder, run, number)])
    measurement.resume = resume
    if (done or begun or left) and not resume:
        there = [f"results of {len(done)} of these configurations, the first {done[0]}"] if done else []
        there += [f"some sources of configuration {begun[0]}"] if begun else []
        there += [f"propagators of configuration {left[0]}"] if left and not begun else []
        raise BadArgument(
            f"{folder} has {' and '.join(there)}; go on with --resume, or choose another folder"
        )
    for number in done:
        measurement.require_lattice(
            result_file(folder, number),
            require_same_run(result_file(folder, number), run, measurement.note_translation),
        )
        remove_sources(folder, number)  # a run that was killed right behind the result left them
    now = dict(found)
    require_same_inputs([(result_file(folder, number), now[number]) for number in done], run, output.line)
    if done:
        output.line(f"{len(done)} of {len(found)} configurations are done already")
    start = time.perf_counter()
    measured = 0
    measurement.total, measurement.total_configurations = len(todo) * run.source.count, len(todo)
    with (
        stop,
        warnings.catch_warnings(),
        contextlib.suppress(Stopped),
    ):
        # Each is said once, with the keys.
        for said in (amplifying(1), amplifying(2), SPATIAL_DOUBLERS):
            warnings.filterwarnings("ignore", message=f".*{re.escape(said)}")
        output.step(Step("propagators", completed=0, total=measurement.total))
        for number, path in todo:
            stop.check()
            measurement.measure_configuration(number, path, folder, measured)
            measured += 1
    seconds = time.perf_counter() - start
    reports = measurement.reports
    finished = sorted([*done, *(number for number, _ in todo[:measured])])
    if measured < len(todo):
        output.stopped(_what_is_saved(stop.reason, measured, todo[measured][0], measurement))
    output.line(f"{counted(measured, 'configuration')} in {seconds:.1f} s; results in {folder}")
    return MeasureResult(
        directory=str(folder),
        files=tuple(str(result_file(folder, number)) for number in finished),
        configurations=tuple(finished),
        skipped=len(done),
        stopped=measured < len(todo),
        seconds=seconds,
        solves=len(reports),
        stored_propagators=measurement.read,
        iterations_max=max((r.iterations for r in reports), default=None),
        relative_residual_max=max((r.largest_residual for r in reports), default=None),
        solver_seconds=sum(r.seconds for r in reports),
        setup_seconds=measurement.setup_seconds,
        gflops=float(np.mean([r.gflops for r in reports])) if reports else None,
        share_of_roof=float(np.mean([r.share_of_roof or 0.0 for r in reports])) if reports else None,
        ranks=load().size(),
        **speed_in_json(reports),
    )


def _split_done(found: list[tuple[int, str]], folder: Path) -> tuple[list[tuple[int, str]], list[int]]:
    """Return the configurations without a result file, and the numbers of those that have one."""
    done = [number for number, _ in found if result_file(folder, number).exists()]
    return [(number, path) for number, path in found if number not in set(done)], done


def _what_is_saved(reason: str, saved: int, number: int, measurement: Measurement) -> str:
    """Say after a stop which results are saved, and which part of the configuration in hand is not."""
    text = f"{reason}: stopped before configuration {number}"
    if measurement.in_hand:
        what = "nothing is saved"
        if measurement.sources_done:
            what = f"{measurement.sources_done} of {measurement.run.source.count} sources are saved"
        elif measurement.propagators_stored:
            one = measurement.propagators_stored == 1
            what = f"{measurement.propagators_stored} {'propagator is' if one else 'propagators are'} saved"
        text = f"{reason}: stopped in configuration {number}, of which {what}"
    return f"{text}; saved of this run: {saved} configurations; --resume measures {number} and what follows"
