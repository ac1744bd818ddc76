"""This module does `trellis generate` by heat bath: sweeps, checkpoints, the stream, and a stop between
two."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

from ..evolve.ensemble import State, Stream, load_last_state, save_state, states
from ..evolve.heatbath import HeatBath
from ..evolve.online_measurements import OnlineMeasurements
from ..gauge.fields import GaugeField
from ..gauge.geometry import Geometry
from ..ground.compiled_core import load
from ..ground.errors import BadArgument
from ..ground.machine import fma_peak
from ..ground.parallel import broadcast, on_root
from ..ground.provenance import build_provenance, now
from ..run_files import GenerateRun
from ..runs.changed_keys import different_keys, differing_keys
from ..runs.folder_lock import FolderLock
from ..runs.reporting import Step, StepReporter, counted
from ..runs.setup import (
    make_output_folder,
    read_stream,
    require_lattice,
    require_memory,
    require_naik_fits,
    set_aside_damaged,
    set_aside_links,
    set_aside_stream,
    set_threads,
    start_field,
    warn_of_valence,
)
from ..runs.stopping import StopRequest
from .memory import heatbath_bytes
from .result import HeatBathResult


def generate_sweeps(
    run: GenerateRun, text: str, output: StepReporter, stop: StopRequest, *, resume: bool
) -> HeatBathResult:
    """Do everything after the run file was read."""
    return _Generation(run, text, output, stop).run_all(resume)


class _Generation:
    """This is one run: the links, the number of the sweep, and the folder."""

    def __init__(self, run: GenerateRun, text: str, output: StepReporter, stop: StopRequest) -> None:
        self.run, self.text, self.output, self.stop = run, text, output, stop
        self.folder = Path(run.output.directory)
        self.stream = Stream(self.folder / "stream.h5")
        self.sweep = self.saved = 0
        self.resumed_from: int | None = None
        self.heatbath_seconds = 0.0
        set_threads(run.machine, output)
        self.geometry = Geometry(run.lattice.extents, run.machine.grid)
        self.heatbath = HeatBath(
            beta=run.action.beta, seed=run.random.seed, over_relaxation=run.heatbath.over_relaxation
        )
        self.measurements = OnlineMeasurements(
            run.measure, [], seed=run.random.seed, stream=0, thermalisation=run.sweeps.thermalisation
        )
        self.stream.axes = self.measurements.axes()
        if run.measure is not None and any(flavour.has_naik_term for flavour in run.measure.valence):
            require_naik_fits(self.geometry)
        warn_of_valence(run.measure, output)

    def run_all(self, resume: bool) -> HeatBathResult:
        run, output = self.run, self.output
        require_memory(heatbath_bytes(run, self.geometry), "this run", run.machine, output)
        output.raise_failure()
        on_root(lambda: make_output_folder(self.folder))
        with FolderLock(self.folder, "generate", output.warning):
            return self._run_locked(resume)

    def _run_locked(self, resume: bool) -> HeatBathResult:
        run, output, stop = self.run, self.output, self.stop
        U = self._state(resume)
        if self.sweep < run.sweeps.total:
            set_aside_links(self.stream, self.sweep, output)
        extents = "x".join(map(str, run.lattice.extents))
        plan = f"sweeps {self.sweep + 1} to {run.sweeps.total} into {self.folder}"
        if self.sweep >= run.sweeps.total:
            plan = (
                f"nothing to do: {self.folder} has {self.sweep} sweeps, and sweeps.total = {run.sweeps.total}"
            )
        output.line(f"{extents}, beta = {run.action.beta:g}, seed {run.random.seed}: {plan}")
        if not run.sweeps.keeps_any(run.sweeps.total):
            output.warning(
                f"sweeps.keep_every = {run.sweeps.keep_every} keeps no configuration up to sweep "
                f"{run.sweeps.total} after thermalisation = {run.sweeps.thermalisation}"
            )
        first, start = self.sweep, time.perf_counter()
        is_saved = True
        with stop:
            output.step(Step("sweep", completed=self.sweep, total=run.sweeps.total))
            while self.sweep < run.sweeps.total and not stop.is_wanted():
                is_saved = self._one_sweep(U)
                if is_saved:
                    self.saved = self.sweep
                elif self.stream.is_due():
                    self._write_stream(max(self.saved, self.stream.last_state or 0))
            if not is_saved:
                self._save(U, "checkpoint")
        stopped = self.sweep < run.sweeps.total
        if stopped:
            output.stopped(
                f"{stop.reason}: stopped after sweep {self.sweep}; its state is saved, go on with --resume"
            )
        return self._summary(U, first, time.perf_counter() - start, stopped=stopped)

    def _state(self, resume: bool) -> GaugeField:
        """Return the links to go on with."""
        run, found = self.run, None
        if resume:
            found = load_last_state(self.folder, run.machine.grid, self.output.warning, self.output.notice)
        elif broadcast(bool(states(self.folder))):
            raise BadArgument(
                f"{self.folder} has states of an earlier run; go on with --resume, or choose another folder"
            )
        if found is None:
            if resume:
                self.output.line("nothing to resume: starting at sweep 1")
            set_aside_stream(self.stream, self.text, self.output)
            return start_field(run.start, self.geometry, run.random.seed, run.machine, self.output)
        state, U, record = found
        self._require_same_physics(record["physics"], state)
        require_lattice(str(state.links), U, self.geometry)
        self.sweep = self.saved = self.resumed_from = state.sweep
        self.measurements.go_on(record.get("measure"), str(state.record))
        read_stream(self.stream, state, "random.seed")
        set_aside_damaged(state, self.output)
        self.output.line(f"resuming after sweep {state.sweep} ({state.links.name})")
        return U

    def _physics(self) -> dict[str, Any]:
        """Return the tables that decide the bits; those of a resumed run must be the same."""
        run = self.run
        return {
            "lattice": list(run.lattice.extents),
            "action": run.action.model_dump(),
            "start": run.start.model_dump(),
            "heatbath": run.heatbath.model_dump(),
            "random": run.random.model_dump(),
        }

    def _require_same_physics(self, stored: dict[str, Any], state: State) -> None:
        found = differing_keys(stored, self._physics())
        if found:
            raise BadArgument(f"{state.record}: {different_keys(found)}; a changed run needs another folder")

    def _one_sweep(self, U: GaugeField) -> bool:
        """Do one sweep, and return True if the state was saved after it."""
        sweeps = self.run.sweeps
        self.sweep += 1
        start = time.perf_counter()
        self.heatbath.sweep(U, self.sweep)
        self.heatbath_seconds += time.perf_counter() - start
        self.stream.append(self.sweep, {"plaquette": U.plaquette, "polyakov_loop": U.polyakov_loop})
        measured = self.measurements.measure(U, self.sweep)
        if measured:
            measured["rectangle"] = U.loops()["rectangle"]
        self.stream.append_occasional(self.sweep, measured)
        self._report_sweep()
        if sweeps.kept(self.sweep):
            self._save(U, "configuration")
        elif self.sweep % sweeps.checkpoint_every == 0 or self.sweep == sweeps.total:
            self._save(U, "checkpoint")
        else:
            return False
        return True

    def _report_sweep(self) -> None:
        every, text = self.run.sweeps.print_every, ""
        if self.sweep % every == 0:
            text = f"sweep {self.sweep:6d}  plaquette {self.stream.mean('plaquette', every):.8f}"
        plaquette = self.stream.values["plaquette"][-1].real
        self.output.step(
            Step(
                "sweep",
                text,
                number=self.sweep,
                completed=self.sweep,
                total=self.run.sweeps.total,
                numbers={"plaquette": plaquette},
            )
        )

    def _write_stream(self, state: int) -> None:
        """Write the stream, which users may read while the run goes on.

        `state` is the number that the last state has, or will have.
        """
        run = self.run
        attributes = {"beta": run.action.beta, "seed": run.random.seed, "last_state": state}
        attributes["thermalisation"] = run.sweeps.thermalisation
        self.stream.write(self.text, run.lattice.extents, attributes)

    def _save(self, U: GaugeField, kind: str) -> None:
        """Save the stream first and then the state, so that no state has sweeps that the stream lacks."""
        self._write_stream(self.sweep)
        content = {
            "physics": self._physics(),
            "measure": self.measurements.record(),
            "provenance": {**build_provenance(), "created": now(), "run_file": self.text},
        }
        save_state(State(kind, self.sweep, self.folder), U, content)

    def _summary(self, U: GaugeField, first: int, seconds: float, *, stopped: bool) -> HeatBathResult:
        run = self.run
        plaquettes = self.stream.values["plaquette"][run.sweeps.thermalisation :]
        kept = [str(s.links) for s in broadcast(states(self.folder)) if s.kind == "configuration"]
        made = self.sweep - first
        flops = made * self.heatbath.flops_per_site * self.geometry.volume
        gflops = flops / self.heatbath_seconds * 1e-9 if made else None
        peak = load().minimum(fma_peak("double")) * load().size() * 1e-9
        result = HeatBathResult(
            directory=str(self.folder),
            stream=str(self.stream.path),
            lattice=tuple(run.lattice.extents),
            beta=run.action.beta,
            sweeps=self.sweep,
            resumed_from=self.resumed_from,
            stopped=stopped,
            configurations=tuple(kept),
            plaquette_mean=float(np.mean(plaquettes)) if plaquettes else None,
            plaquette_last=U.plaquette,
            seconds=seconds,
            seconds_per_sweep=seconds / made if made else None,
            gflops=gflops,
            share_of_peak=gflops / peak if gflops else None,
            ranks=load().size(),
            grid=tuple(self.geometry.grid),
        )
        mean = "-" if result.plaquette_mean is None else f"{result.plaquette_mean:.6f}"
        self.output.line(
            f"{counted(len(kept), 'configuration')} in {self.folder}; mean plaquette {mean}; "
            f"{made} sweeps in {seconds:.1f} s"
        )
        if gflops:
            self.output.line(
                f"heat bath and over-relaxation: {gflops:.1f} GF/s, {100 * gflops / peak:.0f} % of the peak"
            )
        return result
