"""This module does `trellis generate` with [molecular_dynamics]: trajectories, states, the stream, and a stop
between two."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import Any

import numpy as np

from ..evolve.ensemble import State, Stream, load_last_state, save_state, states
from ..evolve.monomials import naming_keys
from ..evolve.online_measurements import OnlineMeasurements, sea_flavours
from ..gauge.fields import GaugeField
from ..gauge.geometry import Geometry
from ..ground.compiled_core import load
from ..ground.errors import BadArgument
from ..ground.parallel import broadcast, on_root
from ..ground.provenance import build_provenance, now
from ..run_files import HmcRun
from ..runs.changed_keys import changes, course_of, describe_change, physics_of, require_tested
from ..runs.folder_lock import FolderLock
from ..runs.reporting import Step, StepReporter
from ..runs.setup import (
    gauge_field_bytes,
    make_output_folder,
    read_stream,
    require_blocks_fit,
    require_lattice,
    require_memory,
    require_naik_fits,
    set_aside_damaged,
    set_aside_links,
    set_aside_stream,
    set_threads,
    start_field,
)
from ..runs.stopping import StopRequest
from .covered_trajectories import CoveredTrajectories
from .failed_solve import keeping_failed_solves
from .memory import hmc_bytes
from .result import StepProposal, TrajectoriesResult
from .step_proposal import scan_steps
from .trajectory_report import Part, describe_parts, describe_trajectory
from .trajectory_warnings import TrajectoryWarnings, warn_of_parameters

#: A trajectory goes through so many gauge fields again and again: they say which memory is its roof.
_FIELDS = 6
#: A proposal of steps has so many trajectories of each kind.
_PROPOSAL_SAMPLES = 6


def generate_trajectories(
    run: HmcRun, text: str, output: StepReporter, stop: StopRequest, *, trajectories: int | None = None
) -> TrajectoriesResult:
    """Run, or go on with, a chain, after the run file was read.

    Parameters
    ----------
    trajectories
        Make so many more, whatever run.trajectories.total is.
    """
    with naming_keys(run):
        return _Chain(run, text, output).run_all(trajectories, stop)


def propose_steps_of(run: HmcRun, text: str, output: StepReporter, *, acceptance: float) -> StepProposal:
    """Propose steps at the run's last state or after its thermalisation, after the run file was read."""
    chain = _Chain(run, text, output)
    with naming_keys(run):
        U = chain.last_or_start(only_read=True)
        chain.evolution.prepare(U)
        last = run.trajectories.thermalisation
        for number in range(chain.number + 1, last + 1):
            record = chain.evolution.hmc.trajectory(U, number, test=False)
            numbers = {"plaquette": U.plaquette, "dH": record["dH"]}
            said = f"thermalisation {number}: plaquette {numbers['plaquette']:.6f}  dH {numbers['dH']:+.3f}"
            output.step(Step("thermalisation", said, number, number, last, numbers))
            output.raise_failure()
        return scan_steps(
            run,
            U,
            chain.evolution.intervals,
            output,
            acceptance=acceptance,
            samples=_PROPOSAL_SAMPLES,
        )


class _Chain:
    """This is one run: the links, the number of the trajectory, and the folder."""

    def __init__(self, run: HmcRun, text: str, output: StepReporter) -> None:
        self.run, self.text, self.output = run, text, output
        self.folder = Path(run.output.directory)
        self.stream = Stream(self.folder / "stream.h5")
        #: These are the last trajectory so far, that of the last state, and the one at which this call ends.
        self.number = self.saved = self.last = 0
        self.resumed_from: int | None = None
        self.parts: dict[str, Part] = {}
        set_threads(run.machine, output)
        self.geometry = Geometry(run.lattice.extents, run.machine.grid)
        #: These are the keys that changed since trajectory 1, with their values before and the trajectory.
        self.changes: list[dict[str, Any]] = []
        self.evolution = CoveredTrajectories(run, output)
        self.warnings = TrajectoryWarnings(run, output)
        self.measurements = OnlineMeasurements(
            run.measure,
            sea_flavours(run.fermions, run.smearing, run.background),
            seed=run.random.seed,
            stream=run.random.stream,
            thermalisation=run.trajectories.thermalisation,
        )
        self.stream.axes = self.measurements.axes()
        valence = run.measure.valence if run.measure else []
        if any(flavour.has_naik_term for flavour in [*run.fermions, *valence]):
            require_naik_fits(self.geometry)
        for fermion in run.fermions:
            if fermion.multigrid_table is not None:
                block = fermion.multigrid_table.block_on(run.lattice.extents)
                require_blocks_fit(fermion.name, block, self.geometry)
        warn_of_parameters(run, output)

    def run_all(self, trajectories: int | None, stop: StopRequest) -> TrajectoriesResult:
        run, output = self.run, self.output
        require_memory(hmc_bytes(run, self.geometry), "this run", run.machine, output)
        output.raise_failure()
        on_root(lambda: make_output_folder(self.folder))
        with FolderLock(self.folder, "generate", output.warning):
            return self._run_locked(trajectories, stop)

    def _run_locked(self, trajectories: int | None, stop: StopRequest) -> TrajectoriesResult:
        output = self.output
        U = self.last_or_start()
        self.evolution.prepare(U)
        first = self.number
        self.last = self.run.trajectories.total if trajectories is None else first + trajectories
        if first < self.last:
            set_aside_links(self.stream, first, output)
        self._say_plan()
        start = time.perf_counter()
        with stop:
            output.step(Step("trajectory", completed=first, total=self.last))
            while self.number < self.last and not stop.is_wanted():
                self._one_trajectory(U)
                if self.number > self.saved and self.stream.is_due():
                    self._write_stream(max(self.saved, self.stream.last_state or 0))
            if self.number > self.saved:
                self._save(U, "checkpoint")
        if self.number < self.last:
            output.stopped(f"{stop.reason}: stopped after trajectory {self.number}; its state is saved")
        return self._summary(U, first, time.perf_counter() - start, stopped=self.number < self.last)

    def _say_plan(self) -> None:
        """Say which trajectories are made, and warn if none of them is kept."""
        run, last = self.run, self.last
        extents = "x".join(map(str, run.lattice.extents))
        plan = f"trajectories {self.number + 1} to {last} into {self.folder}"
        if self.number >= last:
            plan = f"nothing to do: {self.folder} has {self.number} trajectories, and trajectories.total = "
            plan += f"{last}"
        self.output.line(
            f"{extents}, {run.action.type} beta = {run.action.beta:g}, seed {run.random.seed}: {plan}"
        )
        if not run.trajectories.keeps_any(last):
            self.output.warning(
                f"trajectories.keep_every = {run.trajectories.keep_every} keeps no configuration up to "
                f"trajectory {last} after thermalisation = {run.trajectories.thermalisation}"
            )

    def last_or_start(self, *, only_read: bool = False) -> GaugeField:
        """Return the links to go on with: the last sound state in the folder, or the start.

        Parameters
        ----------
        only_read
            Nothing will be written: keys that leave the distribution alone may be any.
        """
        run = self.run
        found = load_last_state(self.folder, run.machine.grid, self.output.warning, self.output.notice)
        if found is None:
            if broadcast(bool(states(self.folder))):
                raise BadArgument(f"{self.folder} has states, and none of them can be used")
            set_aside_stream(self.stream, self.text, self.output)
            return start_field(run.start, self.geometry, run.random.seed, run.machine, self.output)
        state, U, record = found
        changed = changes(record, run, str(state.record))
        if not only_read:
            require_tested(changed, state.sweep, str(state.record))
            self._note_changes(record, changed, state.sweep + 1)
        require_lattice(str(state.links), U, self.geometry)
        self.number = self.saved = self.resumed_from = state.sweep
        self.evolution.intervals = record.get("intervals")
        self.measurements.go_on(record.get("measure"), str(state.record))
        read_stream(self.stream, state, "random.seed")
        if not only_read:
            set_aside_damaged(state, self.output)
        self.output.line(f"going on after trajectory {state.sweep} ({state.links.name})")
        return U

    def _note_changes(self, record: dict[str, Any], changed: list[dict[str, Any]], first: int) -> None:
        """Say what is not as it was up to the state, and keep it for states and stream to come."""
        for change in changed:
            self.output.notice(describe_change(change, first))
        self.changes = record.get("changes", []) + [{"from_trajectory": first, **c} for c in changed]

    def _one_trajectory(self, U: GaugeField) -> None:
        table = self.run.trajectories
        number = self.number + 1
        with keeping_failed_solves(
            self.folder, number, U, lambda: self.evolution.failed(U), self._how_to_repeat
        ):
            record, extra, begin = self.evolution.trajectory(U, number)
        self.number = number
        self.warnings.look_at(record, number)
        self._record(U, record)
        with keeping_failed_solves(self.folder, number, U, lambda: (U, "measurement"), self._how_to_repeat):
            extra |= self.measurements.measure(U, number)
        self.stream.append_occasional(number, extra)
        self._report_trajectory(record, time.perf_counter() - begin)
        if table.kept(number):
            self._save(U, "configuration")
        elif number % table.checkpoint_every == 0:
            self._save(U, "checkpoint")

    def _report_trajectory(self, record: dict[str, Any], seconds: float) -> None:
        numbers = {
            "plaquette": self.stream.values["plaquette"][-1].real,
            "dH": record["dH"],
            "accepted": float(record["is_accepted"]),
            "seconds": seconds,
        }
        text = describe_trajectory(self.number, record, self.stream, seconds)
        self.output.step(Step("trajectory", text, self.number, self.number, self.last, numbers))

    def _how_to_repeat(self) -> dict[str, Any]:
        """Return the keys of the random numbers and the intervals, for the record of a failed solve."""
        random = self.run.random
        return {
            "seed": random.seed,
            "stream": random.stream,
            "intervals": self.evolution.intervals,
            "provenance": {**build_provenance(), "created": now(), "run_file": self.text},
        }

    def _record(self, U: GaugeField, record: dict[str, Any]) -> None:
        loops = U.loops()
        values: dict[str, float | complex] = {
            "plaquette": loops["plaquette"],
            "rectangle": loops["rectangle"],
            "polyakov_loop": loops["polyakov_loop"],
            "dH": record["dH"],
            "exp_minus_dH": math.exp(min(-record["dH"], 700.0)),
            "accepted": float(record["is_accepted"]),
            "kinetic": record["kinetic_before"],
            "seconds": record["seconds"],
        }
        if self.run.has_hisq:
            values["hisq_guarded_links"] = float(record["guarded_links"])
        for monomial in record["monomials"]:
            name = monomial["name"]
            after = "action_after" if record["is_accepted"] else "action_before"
            values[f"action.{name}"] = monomial[after]
            values[f"force.{name}"] = monomial["force_mean"]
            values[f"force_largest.{name}"] = monomial["force_largest"]
            values[f"iterations.{name}"] = float(monomial["iterations"])
        work: dict[str, float] = {}
        fields = _FIELDS * gauge_field_bytes(self.geometry.extents, (1, 1, 1, 1))
        for name, counted in record["parts"].items():
            part = Part.of(counted, fields, self.run.precision_of(name))
            values[f"seconds.{name}"] = part.seconds
            if part.flops > 0:
                work |= {f"{name}.{key}": getattr(part, key) for key in ("flops", "bytes", "roof_seconds")}
            self.parts[name] = self.parts.get(name, Part()) + part
        self.stream.append(self.number, values, work)

    def _write_stream(self, state: int) -> None:
        """Write the stream, which users may read while the run goes on.

        `state` is the number that the last state has, or will have.
        """
        run = self.run
        attributes: dict[str, float | int | str] = {"beta": run.action.beta, "seed": run.random.seed}
        attributes |= {"thermalisation": run.trajectories.thermalisation, "last_state": state}
        if self.changes:
            attributes["changes"] = "\n".join(describe_change(c, c["from_trajectory"]) for c in self.changes)
        self.stream.write(self.text, run.lattice.extents, attributes)

    def _save(self, U: GaugeField, kind: str) -> None:
        """Save the stream before the state, so that no state has trajectories that the stream lacks."""
        run = self.run
        self._write_stream(self.number)
        content = {
            "physics": physics_of(run),
            "course": course_of(run),
            "changes": self.changes,
            "intervals": self.evolution.intervals,
            "measure": self.measurements.record(),
            "provenance": {**build_provenance(), "created": now(), "run_file": self.text},
        }
        save_state(State(kind, self.number, self.folder), U, content)
        self.saved = self.number

    def _summary(self, U: GaugeField, first: int, seconds: float, *, stopped: bool) -> TrajectoriesResult:
        made = self.number - first
        numbers, values = self.stream.sweeps, self.stream.values
        thermalisation = self.run.trajectories.thermalisation
        tested = [k for k, number in enumerate(numbers) if number > max(first, thermalisation)]
        new = [k for k, number in enumerate(numbers) if number > first]

        def mean(name: str, at: list[int]) -> float | None:
            return float(np.mean([values[name][k] for k in at])) if at else None

        # Without the test, the acceptance is that of all that were made: what it would have accepted.
        acceptance = mean("accepted", tested)
        if not tested and new:
            acceptance = float(np.mean([min(1.0, values["exp_minus_dH"][k].real) for k in new]))
            self.output.line(
                f"no Metropolis test up to trajectories.thermalisation = {thermalisation}; it would have "
                f"accepted {acceptance:.3g} of them (mean of min(1, exp(-dH)))"
            )
        self.warnings.warn_of_thermalisation()
        in_trajectories = sum(values["seconds"][k].real for k in new)
        by_part = {name: part.seconds / made for name, part in self.parts.items()} if made else {}
        if made:
            by_part["other"] = max(in_trajectories / made - sum(by_part.values()), 0.0)
        kept = [str(s.links) for s in broadcast(states(self.folder)) if s.kind == "configuration"]
        result = TrajectoriesResult(
            directory=str(self.folder),
            stream=str(self.stream.path),
            lattice=tuple(self.run.lattice.extents),
            trajectories=self.number,
            made=made,
            resumed_from=self.resumed_from,
            stopped=stopped,
            configurations=tuple(kept),
            seconds=seconds,
            seconds_per_trajectory=in_trajectories / made if made else None,
            acceptance=acceptance,
            metropolis_tested=len(tested),
            plaquette=mean("plaquette", tested or new),
            plaquette_last=U.plaquette,
            exp_minus_dh=mean("exp_minus_dH", tested or new),
            hisq_guarded_links=self.warnings.guarded_links if self.run.has_hisq else None,
            seconds_by_part=by_part,
            performance_by_part={name: part.rates() for name, part in self.parts.items() if part.flops},
            ranks=load().size(),
            grid=tuple(self.geometry.grid),
        )
        self.warnings.say_guarded(made)
        self.warnings.say_stuck()
        if made:
            for line in describe_parts(self.parts, in_trajectories, made):
                self.output.line(line)
        return result
