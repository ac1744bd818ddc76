"""trellis generate with [molecular_dynamics]: trajectories, states, the stream, and a stop between two."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import Any

import numpy as np

from ..evolve.ensemble import State, Stream, load_last_state, save_state, states
from ..evolve.monomials import Interval, make_hmc, make_sea, naming_keys
from ..evolve.online_measurements import OnlineMeasurements, sea_flavours
from ..evolve.rational import Rational, announcing
from ..gauge.fields import GaugeField, Geometry
from ..ground.compiled_core import load
from ..ground.errors import BadArgument, NumericError
from ..ground.parallel import broadcast, on_root
from ..ground.provenance import build_provenance, now
from ..run_files import HmcRun
from ..runs.changed_keys import changes, course_of, describe_change, physics_of, require_tested
from ..runs.folder_lock import FolderLock
from ..runs.reporting import ReporterWithBar
from ..runs.setup import (
    gauge_field_bytes,
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
    warn_of_large_rho,
    warn_of_valence,
)
from ..runs.stopping import StopRequest
from .failed_solve import keeping_failed_solves
from .memory import hmc_bytes
from .step_proposal import propose_steps
from .trajectory_report import Part, describe_parts, describe_trajectory, largest_change

#: Beyond this a trajectory is practically never accepted.
_LARGE_VIOLATION = 10.0
#: So many in a row are no first steps from a start far from equilibrium, of which each run has some.
_MANY_VIOLATIONS = 3
#: Relative errors of heat bath or accept step above this are warned about.
_LARGE_RATIONAL_ERROR = 1e-4
#: Of heat bath and accept step: above, the bias of averages can be seen, and acceptance does not show it.
_LARGE_RESIDUAL = 1e-6
#: Gauge fields that a trajectory goes through again and again: which memory is its roof.
_FIELDS = 6
#: Of a trajectory that ends where its rational functions do not hold.
_MOST_REPEATS = 5
#: Trajectories of each kind in --tune.
_PROPOSAL_SAMPLES = 6


def generate_hmc(
    run: HmcRun, text: str, output: ReporterWithBar, *, trajectories: int | None = None
) -> dict[str, Any]:
    """Run, or go on with, a chain; returns the JSON object of `trellis generate --json`.

    Parameters
    ----------
    trajectories
        Make so many more, whatever run.trajectories.total is.
    """
    with naming_keys(run):
        return _Chain(run, text, output).run_all(trajectories)


def propose_hmc_steps(
    run: HmcRun, text: str, output: ReporterWithBar, *, acceptance: float
) -> dict[str, Any]:
    """Propose steps for `trellis generate --tune`, at the run's last state or after its thermalisation."""
    chain = _Chain(run, text, output)
    with naming_keys(run):
        U = chain.last_or_start(only_read=True)
        chain._prepare(U)
        for number in range(chain.number + 1, run.trajectories.thermalisation + 1):
            record = chain.hmc.trajectory(U, number, test=False)
            output.line(f"thermalisation {number}: plaquette {U.plaquette:.6f}  dH {record['dH']:+.3f}")
        return propose_steps(
            run, U, chain.intervals, output, acceptance=acceptance, samples=_PROPOSAL_SAMPLES
        )


def _links(count: int) -> str:
    return f"{count} link{'' if count == 1 else 's'}"


class _Chain:
    """One run: the links, the number of the trajectory, and the folder."""

    def __init__(self, run: HmcRun, text: str, output: ReporterWithBar) -> None:
        self.run, self.text, self.output = run, text, output
        self.folder = Path(run.output.directory)
        self.stream = Stream(self.folder / "stream.h5")
        self.number = self.saved = 0
        self.resumed_from: int | None = None
        self.parts: dict[str, Part] = {}
        set_threads(run.machine, output)
        self.geometry = Geometry(run.lattice.extents, run.machine.grid)
        #: Of keys, since trajectory 1: what the run file had before, and from when on it is other.
        self.changes: list[dict[str, Any]] = []
        self.intervals: dict[str, dict[str, float]] | None = None
        self.is_covered = False
        self.spectrum_seconds = 0.0
        #: Links at which HISQ's guard acted, in the trajectories of this command.
        self.guarded_links = self.guarded_trajectories = 0
        #: dH of the thermalising trajectories of this command, and how many large ones are the last.
        self.thermalising: list[float] = []
        self.violations_in_a_row = 0
        self.has_warned_early = False
        self.measurements = OnlineMeasurements(
            run.measure,
            sea_flavours(run.fermions, run.smearing, run.background),
            seed=run.random.seed,
            stream=run.random.stream,
            thermalisation=run.trajectories.thermalisation,
        )
        self.stream.axes = self.measurements.axes()
        valence = run.measure.valence if run.measure else []
        if "hisq" in {flavour.type for flavour in run.fermions} | {flavour.type for flavour in valence}:
            require_naik_fits(self.geometry)
        self._warn_of_parameters()

    def run_all(self, trajectories: int | None) -> dict[str, Any]:
        run, output = self.run, self.output
        require_memory(hmc_bytes(run, self.geometry), "this run", run.machine, output)
        on_root(lambda: make_output_folder(self.folder))
        with FolderLock(self.folder, "generate", output.warning):
            return self._run_locked(trajectories)

    def _run_locked(self, trajectories: int | None) -> dict[str, Any]:
        run, output = self.run, self.output
        U = self.last_or_start()
        self._prepare(U)
        first = self.number
        last = run.trajectories.total if trajectories is None else first + trajectories
        if first < last:
            set_aside_links(self.stream, first, output)
        extents = "x".join(map(str, run.lattice.extents))
        plan = f"trajectories {first + 1} to {last} into {self.folder}"
        if first >= last:
            plan = f"nothing to do: {self.folder} has {first} trajectories, and trajectories.total = {last}"
        output.line(
            f"{extents}, {run.action.type} beta = {run.action.beta:g}, seed {run.random.seed}: {plan}"
        )
        if not run.trajectories.keeps_any(last):
            output.warning(
                f"trajectories.keep_every = {run.trajectories.keep_every} keeps no configuration up to "
                f"trajectory {last} after thermalisation = {run.trajectories.thermalisation}"
            )
        stop = StopRequest()
        start = time.perf_counter()
        with stop, output.progress("trajectories", last, self.number) as show:
            while self.number < last and not stop.is_wanted():
                self._one_trajectory(U)
                if self.number > self.saved and self.stream.is_due():
                    self._write_stream(max(self.saved, self.stream.last_state or 0))
                show(self.number)
            if self.number > self.saved:
                self._save(U, "checkpoint")
        if self.number < last:
            output.stopped(f"{stop.reason}: stopped after trajectory {self.number}; its state is saved")
        return self._summary(U, first, time.perf_counter() - start, stopped=self.number < last)

    def _warn_of_parameters(self) -> None:
        """Warn of parameters that are legal and seldom meant."""
        run = self.run
        warn_of_large_rho("smearing", run.smearing.weights, run.smearing.levels, self.output)
        warn_of_valence(run.measure, self.output)
        dynamics = run.molecular_dynamics.residual
        largest = min(_LARGE_RESIDUAL, dynamics)
        named = "molecular_dynamics.residual = " if largest == dynamics else ""
        for key in ("residual", "heat_bath_residual"):
            found = getattr(run.metropolis, key)
            if not run.fermions or found is None or found <= largest:
                continue
            self.output.warning(
                f"metropolis.{key} = {found:g} is looser than {named}{largest:g}: heat bath and accept "
                "step are not exact, and averages are biased while the acceptance looks well; set "
                f"metropolis.{key} to {largest:g} or less, or leave it out"
            )

    def _prepare(self, U: GaugeField) -> None:
        """Make monomials and integrator, with the intervals of the state or those measured on U."""
        run = self.run
        with announcing(self.output.notice):
            self.sea = make_sea(run, U, self.intervals)
        self.hmc = make_hmc(self.sea)
        self.intervals = self.sea.interval_record()
        for name, functions in self.sea.functions.items():
            interval = self.sea.intervals[name]
            text = ", ".join(f"{use} {r.order} ({r.error:.1e})" for use, r in functions.items())
            self.output.line(
                f"{name}: rational functions on [{interval.low:.4g}, {interval.high:.4g}], "
                f"order (error): {text}"
            )
            self._warn_of_coarse(name, functions)

    def _warn_of_coarse(self, name: str, functions: dict[str, Rational]) -> None:
        """Warn of a large error in the functions of a flavour that decide the weight of configurations."""
        (table,) = (fermion.rational for fermion in self.run.fermions if fermion.name == name)
        worst = max(("heat_bath", "metropolis"), key=lambda use: functions[use].error)
        error = functions[worst].error
        own = "heat_bath_" if worst == "heat_bath" and table.has_own_heat_bath else ""
        if error > _LARGE_RATIONAL_ERROR:
            self.output.warning(
                f"fermions {name!r}: a rational function is wrong by {error:.1e}, and the weight of the "
                f"configurations with it: raise rational.{own}order (or lower rational.{own}tolerance), or "
                "leave it out"
            )

    def _widen(self, U: GaugeField, wider: dict[str, Interval], first: str) -> None:
        """Make new rational functions for flavours with eigenvalues at U outside of their interval."""
        if not wider:
            return
        assert self.intervals is not None
        for name, interval in wider.items():
            known = self.intervals[name]
            left = [f"below {known['low']:.6g}"] if interval.low < known["low"] else []
            left += [f"above {known['high']:.6g}"] if interval.high > known["high"] else []
            self.output.warning(
                f"fermions {name!r}: the spectrum leaves its interval ({', '.join(left)}), which {first} "
                f"is [{interval.low:.6g}, {interval.high:.6g}]"
            )
            self.intervals[name] = {"low": interval.low, "high": interval.high}
        self._prepare(U)

    def last_or_start(self, *, only_read: bool = False) -> GaugeField:
        """The links to go on with: the last sound state in the folder, or the start.

        Parameters
        ----------
        only_read
            Nothing will be written: keys that leave the distribution alone may be any.
        """
        run = self.run
        found = load_last_state(self.folder, run.machine.grid, self.output.warning)
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
        self.intervals = record.get("intervals")
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
            self.folder, number, U, lambda: self.hmc.failed or (U, "spectrum"), self._how_to_repeat
        ):
            record, extra, begin = self._computed(U, number)
        self.number = number
        self._warn(record, number)
        self._record(U, record)
        with keeping_failed_solves(self.folder, number, U, lambda: (U, "measurement"), self._how_to_repeat):
            extra |= self.measurements.measure(U, number)
        self.stream.append_occasional(number, extra)
        self.output.line(describe_trajectory(number, record, self.stream, time.perf_counter() - begin))
        if table.kept(number):
            self._save(U, "configuration")
        elif number % table.checkpoint_every == 0:
            self._save(U, "checkpoint")

    def _how_to_repeat(self) -> dict[str, Any]:
        """Return the keys of the random numbers and the intervals, for the record of a failed solve."""
        random = self.run.random
        return {
            "seed": random.seed,
            "stream": random.stream,
            "intervals": self.intervals,
            "provenance": {**build_provenance(), "created": now(), "run_file": self.text},
        }

    def _computed(self, U: GaugeField, number: int) -> tuple[dict[str, Any], dict[str, Any], float]:
        """Compute a trajectory; return its record, the violations of reversibility, and its start time."""
        table = self.run.trajectories
        extra: dict[str, Any] = {}
        if not self.is_covered:  # what goes on in this process was looked at when it was proposed
            begin = time.perf_counter()
            self._widen(U, self.sea.outside(U), f"from trajectory {number} on")
            self.is_covered = True
            self.spectrum_seconds = time.perf_counter() - begin
        if table.reversibility_every and number % table.reversibility_every == 0:
            found = self.hmc.reversibility(U, number)
            extra = {f"reversibility_{name}": value for name, value in found.items()}
        begin = time.perf_counter()
        return self._covered_trajectory(U, number), extra, begin

    def _covered_trajectory(self, U: GaugeField, number: int) -> dict[str, Any]:
        """A trajectory whose two ends have their spectra within the intervals of the rational functions.

        Beyond, H is not what the accept step takes it for: where the proposed links leave an interval, it is
        widened and the trajectory repeated. Without accept step the wider one holds for the next trajectory.
        """
        tests = number > self.run.trajectories.thermalisation
        wider: dict[str, Interval] = {}

        def is_covered(V: GaugeField) -> bool:
            nonlocal wider
            begin = time.perf_counter()
            wider = self.sea.outside(V)
            self.spectrum_seconds += time.perf_counter() - begin
            return not (tests and wider)

        other_seconds = self.spectrum_seconds  # of the look at the first links
        for _ in range(_MOST_REPEATS):
            record = self.hmc.trajectory(U, number, test=tests, is_covered=is_covered)
            if record["is_valid"]:
                break
            other_seconds += record["seconds"]
            self._widen(U, wider, f"for trajectory {number}, which is repeated, and from there on")
        else:
            raise NumericError(
                f"trajectory {number}: the spectrum of {', '.join(wider)} has left its interval "
                f"{_MOST_REPEATS} times, although it was widened: raise the steps of [[integrator]]"
            )
        self._widen(U, wider, f"from trajectory {number + 1} on")
        record["seconds"] += other_seconds
        record["parts"]["spectrum"] = {"seconds": self.spectrum_seconds, "flops": 0.0, "bytes": 0.0}
        self.spectrum_seconds = 0.0
        return record

    def _warn(self, record: dict[str, Any], number: int) -> None:
        guarded = record["guarded_links"]
        self.guarded_links += guarded
        self.guarded_trajectories += guarded > 0
        if guarded and self.guarded_trajectories == 1:
            self.output.warning(
                f"trajectory {number}: eigenvalues of fat7 links below hisq.force_cut = "
                f"{self.run.hisq.force_cut:g} at {_links(guarded)}, summed over its forces, which are not "
                "the derivative of the action there: averages stay exact, dH grows; hisq_guarded_links in "
                "the stream has this number of every trajectory"
            )
        self._warn_of_violation(record, number)

    def _warn_of_violation(self, record: dict[str, Any], number: int) -> None:
        """Late in the thermalisation and after it of each, before of those that do not end by themselves."""
        thermalisation = self.run.trajectories.thermalisation
        is_large = record["dH"] > _LARGE_VIOLATION
        self.violations_in_a_row = self.violations_in_a_row + 1 if is_large else 0
        if number <= thermalisation:
            self.thermalising.append(record["dH"])
        if not is_large:
            return
        many, advice = "", ", shorten molecular_dynamics.length, or lengthen trajectories.thermalisation"
        if number <= thermalisation // 2:
            if self.has_warned_early or self.violations_in_a_row < _MANY_VIOLATIONS:
                return
            self.has_warned_early = True
            many, advice = f", the {_MANY_VIOLATIONS}rd in a row,", " or shorten molecular_dynamics.length"
        self.output.warning(
            f"trajectory {number}: dH = {record['dH']:.3g}{many} is above {_LARGE_VIOLATION:g}: raise the "
            f"steps of [[integrator]] ({largest_change(record)}){advice}"
        )

    def _warn_of_thermalisation(self) -> None:
        """Warn of trajectories of the thermalisation that the Metropolis test would have refused.

        The warning comes at the end of a command.
        """
        large = [dH for dH in self.thermalising if dH > _LARGE_VIOLATION]
        if large:
            self.output.warning(
                f"dH above {_LARGE_VIOLATION:g} in {len(large)} of {len(self.thermalising)} trajectories of "
                f"the thermalisation, the largest {max(large):.3g}: where that is not the start alone, raise "
                "the steps of [[integrator]] or shorten molecular_dynamics.length"
            )

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
            "intervals": self.intervals,
            "measure": self.measurements.record(),
            "provenance": {**build_provenance(), "created": now(), "run_file": self.text},
        }
        save_state(State(kind, self.number, self.folder), U, content)
        self.saved = self.number

    def _summary(self, U: GaugeField, first: int, seconds: float, *, stopped: bool) -> dict[str, Any]:
        made = self.number - first
        tested = [
            k
            for k, number in enumerate(self.stream.sweeps)
            if number > max(first, self.run.trajectories.thermalisation)
        ]
        values = self.stream.values

        def mean(name: str, at: list[int]) -> float | None:
            return float(np.mean([values[name][k] for k in at])) if at else None

        new = [k for k, number in enumerate(self.stream.sweeps) if number > first]
        # without the test, of all that were made: what it would have accepted
        acceptance = mean("accepted", tested)
        if not tested and new:
            acceptance = float(np.mean([min(1.0, values["exp_minus_dH"][k].real) for k in new]))
            self.output.line(
                f"no Metropolis test up to trajectories.thermalisation = "
                f"{self.run.trajectories.thermalisation}; it would have accepted {acceptance:.3g} of them "
                "(mean of min(1, exp(-dH)))"
            )
        self._warn_of_thermalisation()
        in_trajectories = sum(values["seconds"][k].real for k in new)
        by_part = {name: part.seconds / made for name, part in self.parts.items()} if made else {}
        if made:
            by_part["other"] = max(in_trajectories / made - sum(by_part.values()), 0.0)
        result = {
            "run": "generate",
            "directory": str(self.folder),
            "stream": str(self.stream.path),
            "lattice": list(self.run.lattice.extents),
            "trajectories": self.number,
            "made": made,
            "resumed_from": self.resumed_from,
            "stopped": stopped,
            "configurations": [
                str(s.links) for s in broadcast(states(self.folder)) if s.kind == "configuration"
            ],
            "seconds": seconds,
            "seconds_per_trajectory": in_trajectories / made if made else None,
            "acceptance": acceptance,
            "metropolis_tested": len(tested),
            "plaquette": mean("plaquette", tested or new),
            "plaquette_last": U.plaquette,
            "exp_minus_dh": mean("exp_minus_dH", tested or new),
            "hisq_guarded_links": self.guarded_links if self.run.has_hisq else None,
            "seconds_by_part": by_part,
            "performance_by_part": {name: part.rates() for name, part in self.parts.items() if part.flops},
            "ranks": load().size(),
            "grid": list(self.geometry.grid),
        }
        if self.guarded_links:
            self.output.line(
                f"HISQ's force guard acted in {self.guarded_trajectories} of {made} trajectories, at "
                f"{_links(self.guarded_links)} (summed over all forces)"
            )
        if made:
            for line in describe_parts(self.parts, in_trajectories, made):
                self.output.line(line)
        return result
