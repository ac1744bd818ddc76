"""This module simulates a spin glass from Python: it does what `trellis glass` does, without a line of
output."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from os import PathLike
from pathlib import Path

from ..ground.compiled_core import load
from ..ground.errors import BadArgument
from ..ground.parallel import broadcast, on_root
from ..run_files import GlassRun
from ..runs.folder_lock import FolderLock
from ..runs.given_run import given_run
from ..runs.reporting import Step, StepReporter
from ..runs.setup import make_output_folder, require_memory, set_threads
from ..runs.step_display import displaying_steps
from ..runs.stopping import StopRequest
from .files import RESULTS, checkpoints, load_last_checkpoint, write_checkpoint, write_results
from .observables import LogarithmicBins, measure
from .result import GlassResult
from .walkers import Walkers

#: Random numbers have this stream: a run has one.
_STREAM = 0
#: Spins lie twice in memory while they are read or written, as doubles, one slot at a time.
_BYTES_OF_COPY = 2 * 4 * 8


def run(
    run: str | PathLike[str] | GlassRun,
    *,
    resume: bool = False,
    on_progress: Callable[[Step], None] | None = None,
    progress: bool = False,
) -> GlassResult:
    """Simulate the spin glass of a run file, as `trellis glass` does; nothing is printed.

    Collective. SIGINT, SIGTERM, SIGUSR1, SIGHUP, and a KeyboardInterrupt of `on_progress` end the run after
    the step in hand: its state is saved, and the result says `stopped`. A second SIGINT raises
    KeyboardInterrupt at once. The threads, the exchange of halos and the order of ranks that
    [machine] names stay set.

    Parameters
    ----------
    run
        Path of a run file, or a validated model. Relative paths in it begin at the working folder.
    resume
        Go on from the last checkpoint of the folder.
    on_progress
        Is called on rank 0 with each step. An error other than KeyboardInterrupt that it raises ends the run
        in the same way, and is then raised on all ranks.
    progress
        Show a bar of the steps on standard error.

    Returns
    -------
    GlassResult
        `trellis glass --json` prints it.

    Raises
    ------
    RunFileError
        The run file cannot be read or is not valid; the message names file, line and key.
    BadArgument
        The folder has checkpoints of another run, or some while `resume` is False; no grid of ranks divides
        the lattice.
    FileError, ChecksumError, OutOfMemory, NumericError
        A file is damaged or cannot be written; memory is short; a sum is not finite.
    """
    model, text, _ = given_run(run, GlassRun)
    stop = StopRequest()
    with displaying_steps(progress, on_progress) as told, StepReporter(told, stop) as output:
        return _Simulation(model, text, output, stop).run_all(resume)


class _Simulation:
    """This is one run: spins, tables, the number of the step, and the folder."""

    def __init__(self, run: GlassRun, text: str, output: StepReporter, stop: StopRequest) -> None:
        self.run, self.text, self.output, self.stop = run, text, output, stop
        self.folder = Path(run.output.directory)
        self.step = 0
        self.saved: int | None = None
        self.resumed_from: int | None = None
        self.temperatures = len(run.spins.temperatures)
        self.bins = LogarithmicBins(run.couplings.samples, self.temperatures)
        self.walkers = Walkers(run.couplings.samples, self.temperatures, run.spins.replicas)
        betas = [1 / t for t in run.spins.temperatures]
        self.betas, self.betas_of_slots = betas, betas * run.spins.replicas
        set_threads(run.machine, output)
        self.lattice = load().make_spin_lattice(run.extents, run.machine.grid or (0, 0, 0, 0))

    def run_all(self, resume: bool) -> GlassResult:
        run, output = self.run, self.output
        slots = len(self.betas_of_slots)
        sites = math.prod(self.lattice.local_extents)
        real = 8 if run.spins.storage == "double" else 4
        needed = sites * ((slots + 1) * 3 * real + _BYTES_OF_COPY)
        require_memory(needed, "this run", run.machine, output)
        output.raise_failure()
        on_root(lambda: make_output_folder(self.folder))
        with FolderLock(self.folder, "glass", output.warning):
            self.core = load().SpinGlass(self.lattice, run.spins.storage, slots)
            self.core.draw_couplings(run.couplings.type, run.random.seed, _STREAM)
            self._begin(resume)
            return self._go()

    def _begin(self, resume: bool) -> None:
        found = None
        if resume:
            found = load_last_checkpoint(
                self.folder, self.run, self.bins, self.walkers, self.core, self.output.warning
            )
        elif broadcast(bool(checkpoints(self.folder))):
            raise BadArgument(
                f"{self.folder} has checkpoints of an earlier run; go on with --resume, or choose "
                f"another folder"
            )
        if found is None:
            if resume:
                self.output.line("nothing to resume: starting at step 1")
            self.core.randomise(self.run.random.seed, _STREAM)
            return
        self.step = self.saved = self.resumed_from = found
        self.output.line(f"resuming after step {found}")

    def _go(self) -> GlassResult:
        run, output, stop = self.run, self.output, self.stop
        steps, first = run.steps, self.step
        extents = "x".join(map(str, run.lattice.extents))
        output.line(
            f"{extents}, {run.couplings.type}, {run.couplings.samples} samples, {self.temperatures} "
            f"temperatures, "
            f"{run.spins.replicas} replicas: steps {first + 1} to {steps.total} into {self.folder}"
        )
        start = time.perf_counter()
        self.update_seconds = 0.0
        with stop:
            output.step(Step("sweep", completed=self.step, total=steps.total))
            while self.step < steps.total and not stop.is_wanted():
                self._one_step()
            if self.saved != self.step:
                self._save()
        stopped = self.step < steps.total
        if stopped:
            output.stopped(
                f"{stop.reason}: stopped after step {self.step}; its state is saved, go on with --resume"
            )
        return self._result(first, time.perf_counter() - start, stopped=stopped)

    def _one_step(self) -> None:
        run, steps = self.run, self.run.steps
        self.step += 1
        seed = run.random.seed
        start = time.perf_counter()
        self.core.heat_bath(self.betas_of_slots, seed, _STREAM, self.step)
        self.core.over_relax(run.over_relaxation)
        self.update_seconds += time.perf_counter() - start
        if steps.exchange_every and self.step % steps.exchange_every == 0 and self.temperatures > 1:
            number = self.step // steps.exchange_every
            pairs, is_exchanged, _ = self.core.exchange_temperatures(self.betas, seed, _STREAM, number)
            self.walkers.exchange(pairs, is_exchanged)
        if self.step % steps.measure_every == 0:
            values = measure(self.core, run.extents, self.temperatures, run.spins.replicas)
            self.bins.add(self.step, values)
        text = ""
        if self.step % steps.print_every == 0 and (energies := self._energies()) is not None:
            text = (
                f"step {self.step:8d}  energy a site {energies[0]:.6f} at T = {run.spins.temperatures[0]:g}"
            )
        self.output.step(Step("sweep", text, number=self.step, completed=self.step, total=steps.total))
        if self.step % steps.checkpoint_every == 0 or self.step == steps.total:
            self._save()

    def _save(self) -> None:
        """Write the results first and then the checkpoint, so that no checkpoint has steps that they lack."""
        tables = (self.run, self.text, self.step, self.bins, self.walkers)
        write_results(self.folder / RESULTS, *tables)
        write_checkpoint(self.folder, *tables, self.core)
        self.saved = self.step

    def _energies(self) -> list[float] | None:
        """Return the mean energy a site of each temperature in the last bin."""
        means = self.bins.last_mean("energy")
        return None if means is None else [float(e) for e in means.mean(axis=0)]

    def _result(self, first: int, seconds: float, *, stopped: bool) -> GlassResult:
        run, made = self.run, self.step - first
        energies = self._energies()
        spins = math.prod(run.extents) * len(self.betas_of_slots) * (1 + run.over_relaxation) * made
        result = GlassResult(
            directory=str(self.folder),
            results=str(self.folder / RESULTS),
            lattice=run.extents,
            couplings=run.couplings.type,
            temperatures=tuple(run.spins.temperatures),
            replicas=run.spins.replicas,
            steps=self.step,
            resumed_from=self.resumed_from,
            stopped=stopped,
            energies=None if energies is None else tuple(energies),
            exchange_acceptance=tuple(self.walkers.acceptance()),
            round_trips=int(self.walkers.round_trips.sum()),
            seconds=seconds,
            nanoseconds_per_spin=self.update_seconds / spins * 1e9 if made else None,
            ranks=load().size(),
            grid=tuple(self.lattice.grid),
        )
        if made:
            self.output.line(
                f"{made} steps in {seconds:.1f} s, {result.nanoseconds_per_spin:.2f} ns a spin; "
                f"{result.round_trips} round trips"
            )
        return result
