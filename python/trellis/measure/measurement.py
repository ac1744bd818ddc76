"""This module makes propagators of configurations, and correlators.NNNNNN.h5 of these, one file per
configuration."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from ..evolve.smeared_links import smeared_links
from ..gauge.field_files import read_with_report
from ..gauge.fields import GaugeField
from ..gauge.flow import FlowHistory, flow_history
from ..gauge.geometry import Geometry
from ..ground.compiled_core import load
from ..ground.errors import BadArgument
from ..ground.parallel import on_root
from ..ground.solve_report import NotConverged, SolveReport
from ..hadrons.correlators import momenta_up_to
from ..run_files import MeasureRun
from ..runs.reporting import Step, StepReporter, counted
from ..runs.setup import require_memory
from ..runs.stopping import StopRequest
from ..solve.multigrid import Multigrid
from .channels import meson_channels
from .configuration import ConfigurationInHand
from .currents import require_momenta, require_separations
from .finished_sources import load_sources, remove_sources, save_sources
from .inputs import FileStamp
from .memory import measurement_bytes
from .result_files import Measured, result_file, write_result
from .run_warnings import are_beyond, warn_of_keys
from .setup import make_solver
from .sources import has_fixed_time, make_source, source_positions
from .speed import Speed
from .spin_quarks import SpinQuarks
from .staggered_quarks import StaggeredQuarks, staggered_mesons_of
from .stored_propagators import ConfigurationPropagators
from .stored_staggered_propagators import StoredStaggeredPropagators


def _numbers(reports: list[SolveReport], history: FlowHistory | None) -> dict[str, float]:
    """Return the numbers of a configuration: those of its solves and of its flow."""
    numbers: dict[str, float] = {"solves": len(reports)}
    if reports:
        numbers["iterations_max"] = max(r.iterations for r in reports)
        numbers["relative_residual_max"] = max(r.largest_residual for r in reports)
    return numbers if history is None else numbers | {"t0": history.t0, "w0": history.w0}


def _way_on(run: MeasureRun, report: SolveReport | None) -> str:
    """Return the keys of the run file that a solve, or without a report the search for low modes, depends
    on."""
    if report is None:
        return "raise deflation.tolerance or deflation.basis, or ask for fewer deflation.modes"
    solver = run.solver
    keys = f"solver.tolerance ({solver.tolerance:g})"
    if report.iterations >= solver.max_iterations:
        return f"raise solver.max_iterations ({solver.max_iterations}) or {keys}"
    if solver.multigrid is not None:
        vectors = solver.multigrid.first_vectors
        return f"raise {keys} or solver.multigrid.vectors ({vectors}), or take another type"
    return f"raise {keys}, or choose another solver.inner_precision ({solver.inner_precision}) or solver.type"


class Measurement:
    """This is a measurement: the state that the configurations of a run share, and the work on each of
    them."""

    def __init__(self, run: MeasureRun, text: str, output: StepReporter, stop: StopRequest) -> None:
        self.run, self.text, self.output, self.stop = run, text, output, stop
        #: These are the quarks of the configuration that is measured.
        self.in_hand, self.sources_done = False, 0
        self.quarks: SpinQuarks | StaggeredQuarks | None = None
        self.resume, self.read = False, 0  #: so many propagators came from files
        self.solver = make_solver(run.solver)
        self.staggered_mesons = staggered_mesons_of(run)
        try:
            self.channels = [] if run.staggered_quark else meson_channels(run.correlators)
        except ValueError as error:
            raise BadArgument(str(error)) from error
        for channel in self.channels:  # unknown names are refused before anything is solved
            load().require_gamma(channel.sink)
            load().require_gamma(channel.source)
        self.momenta = momenta_up_to(run.correlators.max_momentum_squared)
        self.reports: list[SolveReport] = []
        self.setup_seconds = 0.0  #: set-ups of multigrid took so long
        self.total = self.total_configurations = 0  #: this call has so many propagators and configurations
        self.memory_is_checked = self.is_warned_of_momenta = self.is_warned_of_files = False
        self.is_translation_noted = False
        self.extents: tuple[int, ...] | None = None  #: all configurations have this lattice
        warn_of_keys(run, output)

    def measure_configuration(self, number: int, path: str, folder: Path, count: int) -> None:
        run = self.run
        start = time.perf_counter()
        self.in_hand, self.sources_done, self.quarks = True, 0, None
        stamp = FileStamp.of(path)
        U = read_with_report(path, grid=run.machine.grid, lattice=run.configurations.lattice)
        self.require_lattice(path, U.geometry.extents)
        self._check_memory(U.geometry)
        assert U.report is not None
        for warning in U.report.warnings:
            self.output.warning(f"{path}: {warning}")
        history = self._flow(U)  # it is first: after the last source nothing but the writing can be stopped
        try:
            measured = self._correlators(U, number, path, count, folder)
        except NotConverged as error:
            raise NotConverged(f"{error}; {_way_on(run, error.report)}", error.report) from error
        measured.history = history
        write_result(
            result_file(folder, number),
            run,
            self.text,
            number=number,
            path=path,
            stamp=stamp,
            U=U,
            channels=[*self.channels, *self.staggered_mesons],
            momenta=self.momenta,
            measured=measured,
        )
        remove_sources(folder, number)
        self.in_hand = False
        reports = measured.solved
        read = len(measured.reports) - len(reports)
        said = f"configuration {number}: "
        said += f"{counted(read, 'stored propagator')}, " if read else ""
        if reports:
            worst = max(r.largest_residual for r in reports)
            what = "propagators" if self.run.staggered_quark is None else "solves"
            said += (
                f"{len(reports)} {what}, at most {max(r.iterations for r in reports)} iterations and "
                f"a residual of {worst:.1e}, "
            )
            speed = Speed.of(reports)
            said += "" if speed is None else f"{speed}, "
        if history is not None:
            said += f"t0/a^2 = {history.t0:.4f}, w0/a = {history.w0:.4f}, "
        seconds = time.perf_counter() - start
        self.output.step(
            Step(
                "configuration",
                f"{said}{seconds:.1f} s",
                number=number,
                completed=count + 1,
                total=self.total_configurations,
                numbers=_numbers(reports, history) | {"seconds": seconds},
            )
        )
        if measured.multigrid is not None and count == 0:  # those of the others are in their results
            self._report_multigrid(measured.multigrid.lightest, number, folder)

    def _report_multigrid(self, multigrid: Multigrid, number: int, folder: Path) -> None:
        """Print the report of the levels, and write it as a page with the picture."""
        for line in str(multigrid).splitlines():
            self.output.line(f"  {line}")
        page = folder / f"multigrid.{number:06d}.html"
        on_root(lambda: multigrid.write_page(page, title=f"Multigrid of configuration {number}"))

    def require_lattice(self, path: Path | str, extents: tuple[int, ...]) -> None:
        """Require one lattice of all configurations: no analysis combines correlators of several lattices."""
        if self.extents is not None and self.extents != extents:
            raise BadArgument(
                f"configurations.files: {path} has the lattice {list(extents)}: expected that of the "
                f"configurations, {list(self.extents)}"
            )

    def note_translation(self, text: str) -> None:
        """Say once that the words of what an earlier run left are translated."""
        if not self.is_translation_noted:
            self.output.notice(text)
        self.is_translation_noted = True

    def _flow(self, U: GaugeField) -> FlowHistory | None:
        table = self.run.flow
        if table is None:
            return None
        return flow_history(
            U,
            time=table.time,
            spacing=table.spacing,
            action=table.action,
            tolerance=table.tolerance,
            progress=lambda _: self.stop.check(),
        )

    def _correlators(self, U: GaugeField, number: int, path: str, count: int, folder: Path) -> Measured:
        """Measure the correlators of all sources; there are none without [fermion]."""
        run = self.run
        measured = Measured([], [], [], None)
        if run.fermion is None:
            return measured
        require_separations(run.three_point, U.geometry.extents[3])
        require_momenta(run.feynman_hellmann, U.geometry.extents)
        require_momenta(run.three_point, U.geometry.extents, "three_point")
        self._warn_of_momenta(U.geometry.extents)
        links = smeared_links(run.smearing, U)
        smearing_links = links if run.source.links is None else smeared_links(run.source.links, U)
        fixed_time = run.spin_quark is not None and has_fixed_time(run.spin_quark)
        measured.positions = source_positions(run.source, number, U.geometry.extents, fixed_time=fixed_time)
        self.quarks = quarks = self._quarks(
            ConfigurationInHand(number, path, U, links, smearing_links), folder
        )
        measured.solver_choice = quarks.solver_choice
        if quarks.multigrid is not None:
            measured.multigrid = quarks.multigrid
            self.setup_seconds += quarks.multigrid.seconds
        useless = load_sources(folder, number, run, U, measured, path, self.note_translation)
        if useless:
            self.output.warning(useless)
        self.sources_done = len(measured.tables)
        if self.sources_done:
            self.output.line(f"configuration {number}: {self.sources_done} sources are done already")
        has_spin = run.spin_quark is not None
        for index, at in [*enumerate(measured.positions)][self.sources_done :]:
            self.stop.check()
            source = make_source(run.source, smearing_links, at, number, has_spin=has_spin)
            try:
                table, reports, are_read = quarks.measure(source, index)
            except NotConverged as error:
                raise NotConverged(f"{path}, source {at}: {error}", error.report) from error
            measured.tables.append(table)
            measured.reports += reports
            measured.are_read += are_read
            self.reports += [r for r, is_read in zip(reports, are_read, strict=True) if not is_read]
            self.read += sum(are_read)
            if index + 1 < len(measured.positions):
                save_sources(folder, number, run, U, measured)
            self.sources_done += 1
            worst = {
                "iterations": float(max((r.iterations for r in reports), default=0)),
                "relative_residual": max((r.largest_residual for r in reports), default=0.0),
            }
            done = count * len(measured.positions) + index + 1
            self.output.step(
                Step("propagators", number=number, completed=done, total=self.total, numbers=worst)
            )
        return measured

    def _quarks(self, configuration: ConfigurationInHand, folder: Path) -> SpinQuarks | StaggeredQuarks:
        """Return the quarks of a configuration, which are measured source by source. Collective."""
        of_files: Any = StoredStaggeredPropagators if self.run.staggered_quark else ConfigurationPropagators
        files = of_files(
            self.run,
            self.text,
            configuration.number,
            configuration.U,
            folder,
            resume=self.resume,
            warn=self._warn_once,
        )
        if self.run.staggered_quark is not None:
            return StaggeredQuarks(self.run, self.solver, configuration, files, self.momenta, self.stop.check)
        return SpinQuarks(
            self.run,
            self.text,
            self.solver,
            configuration,
            files,
            self.channels,
            self.momenta,
            check=self.stop.check,
            say=self.output.line,
        )

    @property
    def propagators_stored(self) -> int:
        """Return the number of files of propagators that were written of the configuration in hand."""
        return 0 if self.quarks is None else self.quarks.files.stored

    def _warn_once(self, warning: str) -> None:
        """Print the first warning about stored propagators, and none of the later ones."""
        if not self.is_warned_of_files:
            self.output.warning(warning)
        self.is_warned_of_files = True

    def _warn_of_momenta(self, extents: tuple[int, ...]) -> None:
        """Warn once of momenta that are others modulo L, or L/2; analyses average by n^2."""
        parts = 2 if self.run.staggered_quark is None else 4
        if self.is_warned_of_momenta or not are_beyond(self.momenta, extents, parts):
            return
        self.is_warned_of_momenta = True
        known = {
            2: "are momenta of smaller n modulo L, under another n^2",
            4: "are smaller momenta of another local meson, whose sign is the momentum L/2",
        }
        self.output.warning(
            f"correlators.max_momentum_squared = {self.run.correlators.max_momentum_squared}: components "
            f"beyond L/{parts} on {list(extents[:3])} {known[parts]}"
        )

    def _check_memory(self, geometry: Geometry) -> None:
        if self.memory_is_checked:
            return
        self.memory_is_checked = True
        needed = measurement_bytes(
            self.run,
            geometry,
            mesons=len(self.channels) + len(self.staggered_mesons),
            momenta=len(self.momenta),
        )
        require_memory(needed, "this run", self.run.machine, self.output)
