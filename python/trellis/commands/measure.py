"""trellis measure: configurations -> propagators -> correlators.NNNNNN.h5, one file per configuration."""

from __future__ import annotations

import glob
import hashlib
import json as json_text
import re
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..channels import NAMED_BARYONS, MesonChannel, meson_channels
from ..core import load
from ..correlators import baryon, mesons, momenta_up_to
from ..deflation import deflated, lanczos
from ..domain_wall import MoebiusDomainWall, propagator_norm
from ..errors import BadArgument, NotConverged
from ..feynman_hellmann import feynman_hellmann_propagator, nucleon_feynman_hellmann
from ..flow import FlowHistory, flow_history
from ..gauge import GaugeField, Geometry, read_gauge_field
from ..operators import WilsonClover
from ..parallel import on_root
from ..propagators import Propagator, Source, gaussian_source, point_source, wall_source
from ..provenance import write_root_attributes
from ..run_files import MeasureRun
from ..run_files.measure import (
    STRANGE,
    ConfigurationsTable,
    DeflationTable,
    FermionTable,
    SmearingTable,
    SolverTable,
    SourceTable,
)
from ..solvers import Solver, SolveReport, bicgstab, cg, even_odd, gcr, mixed_precision
from .console import Output
from .setup import gauge_field_bytes, load_run, make_output_folder, require_memory, set_threads
from .stopping import StopRequest

_PHASE_IN_TIME = {"antiperiodic": -1.0, "periodic": 1.0, "dirichlet": 0.0}
# Feynman-Hellmann currents: gamma matrix, factor, projector
_CURRENTS: dict[str, tuple[str, complex, Any]] = {
    "V4": ("gamma_t", 1, "unpolarised"),
    "A3": ("gamma_z gamma5", -1j, "polarised"),
    "S": ("1", 1, "unpolarised"),
    "T12": ("sigma_xy", -1, "polarised"),  # sigma_xy = i gamma_x gamma_y
}
_NUMBER = re.compile(r"(\d+)\D*$")


def measure(run_file: Path, *, resume: bool, json: bool) -> int:
    """Measure on every configuration of a run file."""
    output = Output(json)
    run, text = load_run(run_file, MeasureRun)
    result = measure_run(run, text, output, resume=resume)
    output.result(result)
    return 0


def measure_run(run: MeasureRun, text: str, output: Output, *, resume: bool) -> dict[str, Any]:
    """Everything after the run file was read; returns the JSON object of `trellis measure --json`."""
    set_threads(run.machine)
    folder = Path(run.output.directory)
    measurement = _Measurement(run, text, output)
    found = on_root(lambda: _find_configurations(run.configurations))
    todo, done = on_root(lambda: _split_done(found, folder))
    if done and not resume:
        raise BadArgument(
            f"{folder} has results of {len(done)} of these configurations, the first {done[0]}; go on with "
            "--resume, or choose another folder"
        )
    for number in done:
        _require_same_physics(result_file(folder, number), run)
    on_root(lambda: make_output_folder(folder))
    if done:
        output.line(f"{len(done)} of {len(found)} configurations are done already")
    start = time.perf_counter()
    stop, measured = StopRequest(), 0
    with stop, output.progress("propagators", len(todo) * len(run.source.positions)) as show:
        while measured < len(todo) and not stop.is_wanted():
            number, path = todo[measured]
            measurement.measure_configuration(number, path, folder, show, measured)
            measured += 1
    seconds = time.perf_counter() - start
    reports = measurement.reports
    finished = sorted([*done, *(number for number, _ in todo[:measured])])
    if measured < len(todo):
        output.line(
            f"{stop.reason}: stopped before configuration {todo[measured][0]}; the finished ones are "
            "saved, go on with --resume"
        )
    output.line(f"{measured} configurations in {seconds:.1f} s; results in {folder}")
    return {
        "run": "measure",
        "directory": str(folder),
        "files": [str(result_file(folder, number)) for number in finished],
        "configurations": finished,
        "skipped": len(done),
        "stopped": measured < len(todo),
        "seconds": seconds,
        "solves": len(reports),
        "iterations_max": max((r.iterations for r in reports), default=None),
        "relative_residual_max": max((r.largest_residual for r in reports), default=None),
        "solver_seconds": sum(r.seconds for r in reports),
        "gflops": float(np.mean([r.gflops for r in reports])) if reports else None,
        "share_of_roof": float(np.mean([r.share_of_roof or 0.0 for r in reports])) if reports else None,
        "ranks": load().size(),
    }


def result_file(folder: Path, number: int) -> Path:
    """Where the correlators of a configuration go."""
    return folder / f"correlators.{number:06d}.h5"


def _find_configurations(table: ConfigurationsTable) -> list[tuple[int, str]]:
    """Number and file of each configuration, ascending."""
    patterns = [table.files] if isinstance(table.files, str) else table.files
    found: dict[int, str] = {}
    for pattern in patterns:
        paths = sorted(glob.glob(pattern, recursive=True))
        if not paths:
            raise BadArgument(f"configurations.files: nothing matches {pattern!r}")
        for path in paths:
            match = _NUMBER.search(Path(path).name.rsplit(".", 1)[0]) or _NUMBER.search(Path(path).name)
            if match is None:
                raise BadArgument(f"configurations.files: {path}: expected a number in the file's name")
            number = int(match[1])
            if found.setdefault(number, path) != path:
                raise BadArgument(
                    f"configurations.files: configuration {number} twice: {found[number]} and {path}"
                )
    first = table.first if table.first is not None else -1
    chosen = [
        (n, p) for n, p in sorted(found.items()) if n >= first and (table.last is None or n <= table.last)
    ]
    if not chosen:
        raise BadArgument(
            f"configurations: none of {len(found)} lies between first = {table.first} and last = {table.last}"
        )
    return chosen


def _physics(run: MeasureRun) -> str:
    """What all files of a measurement have to share, as JSON text."""
    tables = {}
    for name in (
        "fermion",
        "solver",
        "deflation",
        "source",
        "sink",
        "smearing",
        "correlators",
        "feynman_hellmann",
        "flow",
    ):
        table = getattr(run, name)
        tables[name] = None if table is None else table.model_dump(mode="json")
    return json_text.dumps(tables, sort_keys=True)


def _without_none(value: Any) -> Any:
    """Keys that say nothing left out: newer versions have more of them."""
    if isinstance(value, dict):
        return {key: _without_none(entry) for key, entry in value.items() if entry is not None}
    return value


def _require_same_physics(path: Path, run: MeasureRun) -> None:
    """Refuse to go on beside results of other parameters. Collective."""
    stored = json_text.loads(load().Hdf5File.open(str(path)).root().text("physics"))
    for table, values in json_text.loads(_physics(run)).items():
        if _without_none(stored.get(table)) != _without_none(values):
            raise BadArgument(
                f"{path} was measured with another [{table}]: expected {values}, found {stored.get(table)}; "
                "a changed run needs another folder"
            )


def _split_done(found: list[tuple[int, str]], folder: Path) -> tuple[list[tuple[int, str]], list[int]]:
    """Configurations without a result file, and the numbers of those with one."""
    done = [number for number, _ in found if result_file(folder, number).exists()]
    return [(number, path) for number, path in found if number not in set(done)], done


def make_solver(table: SolverTable) -> Solver:
    """The solver that a run file describes."""
    method = {"cg": cg, "bicgstab": bicgstab, "gcr": gcr}[table.type]
    solver: Any = method(tolerance=table.tolerance, max_iterations=table.max_iterations)
    if table.inner_precision != "double":
        solver = mixed_precision(solver, inner=table.inner_precision)
    return solver if table.even_odd == "none" else even_odd(solver, form=table.even_odd)


def make_operator(table: FermionTable, U: GaugeField) -> WilsonClover | MoebiusDomainWall:
    """The Dirac operator that a run file describes."""
    if table.type == "moebius":
        assert table.mass is not None
        return MoebiusDomainWall(
            U,
            mass=table.mass,
            b5=table.b5,
            c5=table.c5,
            M5=table.M5,
            Ls=table.Ls,
            boundary=(1, 1, 1, _PHASE_IN_TIME[table.boundary_t]),
        )
    return WilsonClover(
        U,
        kappa=table.kappa,
        mass=table.mass,
        csw=table.csw,
        boundary=(1, 1, 1, _PHASE_IN_TIME[table.boundary_t]),
        nu=table.nu,
        xi0=table.xi0,
        csw_temporal=table.csw_temporal,
        twisted_mass=table.twisted_mass,
        link_reals=table.link_reals,
    )


def strange_table(table: FermionTable) -> FermionTable:
    """The second flavour: the first one with another mass."""
    return table.model_copy(update={"kappa": table.strange_kappa, "mass": table.strange_mass})


def _mass(table: FermionTable) -> float:
    return float(table.mass) if table.mass is not None else 1 / (2 * table.kappa) - 4


def smear_links(U: GaugeField, smearing: SmearingTable) -> GaugeField:
    """APE, then stout; U itself where neither is asked for."""
    if smearing.ape_steps > 0:
        U = U.ape(alpha=smearing.ape_alpha, steps=smearing.ape_steps, spatial=smearing.ape_spatial)
    if smearing.stout_steps == 0:
        return U
    return U.stout(steps=smearing.stout_steps, rho=smearing.stout_rho)


def _describe(smearing: SmearingTable) -> str:
    """For the attributes of datasets: "ape 0.5x10 stout 0.1x3"."""
    parts = []
    if smearing.ape_steps > 0:
        parts.append(
            f"ape{'_spatial' if smearing.ape_spatial else ''} {smearing.ape_alpha:g}x{smearing.ape_steps}"
        )
    if smearing.stout_steps > 0:
        parts.append(f"stout {smearing.stout_rho:g}x{smearing.stout_steps}")
    return " ".join(parts) or "thin"


def source_positions(table: SourceTable, number: int, extents: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Positions on one configuration: those of the run file, all shifted alike where it has a shift_seed."""
    for position in table.positions:
        if not all(0 <= x < extent for x, extent in zip(position, extents, strict=True)):
            raise BadArgument(
                f"source.positions: {list(position)} lies outside the lattice {list(extents)} "
                "(coordinates count from 0)"
            )
    shift = (0, 0, 0, 0)
    if table.shift_seed is not None:
        digest = hashlib.sha256(f"trellis source shift {table.shift_seed} {number}".encode()).digest()
        numbers = [int.from_bytes(digest[8 * mu : 8 * mu + 8], "little") for mu in range(4)]
        shift = tuple(n % extent for n, extent in zip(numbers, extents, strict=True))
    return [
        tuple((x + dx) % extent for x, dx, extent in zip(position, shift, extents, strict=True))
        for position in table.positions
    ]


class _Measurement:
    """What the configurations of a run share."""

    def __init__(self, run: MeasureRun, text: str, output: Output) -> None:
        self.run, self.text, self.output = run, text, output
        self.solver = make_solver(run.solver)
        try:
            self.channels = meson_channels(run.correlators)
        except ValueError as error:
            raise BadArgument(str(error)) from error
        for channel in self.channels:  # unknown names are refused before anything is solved
            load().require_gamma(channel.sink)
            load().require_gamma(channel.source)
        self.momenta = momenta_up_to(run.correlators.max_momentum_squared)
        self.reports: list[SolveReport] = []
        self.memory_is_checked = False

    def measure_configuration(self, number: int, path: str, folder: Path, show: Any, count: int) -> None:
        run = self.run
        start = time.perf_counter()
        U = read_gauge_field(path, grid=run.machine.grid, lattice=run.configurations.lattice)
        self._check_memory(U.geometry)
        assert U.report is not None
        for warning in U.report.warnings:
            self.output.warning(f"{path}: {warning}")
        history = self._flow(U)
        tables, reports, positions = self._correlators(U, number, path, show, count, folder)
        self._write(result_file(folder, number), number, path, U, positions, tables, reports, history)
        self.reports += reports
        said = f"configuration {number}: "
        if reports:
            worst = max(r.largest_residual for r in reports)
            said += (
                f"{len(reports)} propagators, {max(r.iterations for r in reports)} iterations, residual "
                f"{worst:.1e}, "
            )
        if history is not None:
            said += f"t0/a^2 = {history.t0:.4f}, w0/a = {history.w0:.4f}, "
        self.output.line(f"{said}{time.perf_counter() - start:.1f} s")

    def _flow(self, U: GaugeField) -> FlowHistory | None:
        table = self.run.flow
        if table is None:
            return None
        return flow_history(
            U, time=table.time, spacing=table.spacing, action=table.action, tolerance=table.tolerance
        )

    def _correlators(
        self, U: GaugeField, number: int, path: str, show: Any, count: int, folder: Path
    ) -> tuple[list[dict[str, NDArray]], list[SolveReport], list[tuple[int, ...]]]:
        """Tables, reports and positions of the sources; nothing without [fermion]."""
        run = self.run
        if run.fermion is None:
            return [], [], []
        links = smear_links(U, run.smearing)
        smearing_links = links if run.source.links is None else smear_links(U, run.source.links)
        M = make_operator(run.fermion, links)
        solve, solve_strange = self._deflated(M)(M), None
        if run.fermion.has_strange:
            M_strange = make_operator(strange_table(run.fermion), links)
            solve_strange = self._deflated(M_strange)(M_strange)
        positions = source_positions(run.source, number, U.geometry.extents)
        tables, reports = [], []
        for index, at in enumerate(positions):
            source, strange = self._source(smearing_links, at), None
            try:
                S = solve.propagator(source, axial_current=run.correlators.conserved_axial)
                if solve_strange is not None:
                    strange = solve_strange.propagator(source)
            except NotConverged as error:
                raise NotConverged(f"{path}, source {at}: {error}", error.report) from error
            reports += [
                quark.report for quark in (S, strange) if quark is not None and quark.report is not None
            ]
            currents = self._feynman_hellmann(solve, S, path)
            reports += [F.report for F in currents.values() if F.report is not None]
            if run.output.propagators:
                name = f"propagator.{number:06d}.{index}.h5"
                S.write(folder / name, run_file=self.text)
                if strange is not None:
                    name = f"propagator_strange.{number:06d}.{index}.h5"
                    strange.write(folder / name, run_file=self.text)
            table = self._midpoint(S)
            if run.sink.type == "gaussian":
                smear = {"width": run.source.width, "steps": run.source.steps}
                S = S.smear_sink(smearing_links, **smear)
                strange = None if strange is None else strange.smear_sink(smearing_links, **smear)
                currents = {name: F.smear_sink(smearing_links, **smear) for name, F in currents.items()}
            tables.append(table | self._contract(S, strange) | self._contract_currents(S, currents))
            show(count * len(positions) + index + 1)
        return tables, reports, positions

    def _deflated(self, M: WilsonClover | MoebiusDomainWall) -> Solver:
        """The run's solver, with the low modes of this configuration where the run file asks for them."""
        table = self.run.deflation
        if table is None:
            return self.solver
        modes = lanczos(
            M,
            count=table.modes,
            even_odd=self.run.solver.even_odd,
            block=table.block,
            basis=table.basis,
            tolerance=table.tolerance,
            storage=table.storage,
        )
        self.output.line(str(modes))
        return deflated(self.solver, modes)

    def _check_memory(self, geometry: Geometry) -> None:
        if self.memory_is_checked:
            return
        self.memory_is_checked = True
        core = load()
        field = gauge_field_bytes(geometry.local_extents, geometry.grid)
        is_even_odd = self.run.solver.even_odd != "none"
        solve = core.propagator_solve_bytes(geometry._core, is_even_odd) if self.run.fermion else 0
        fermion = self.run.fermion
        if fermion is not None and fermion.type == "moebius":
            solve = core.domain_wall_solve_bytes(geometry._core, fermion.Ls, 1)
        currents = len(self.run.feynman_hellmann.currents)
        # Links, links in the operator's storages, clover term and its inverse; the solve; its propagator.
        flavours = 2 if fermion is not None and fermion.has_strange else 1
        needed = (
            (2 + 3 * flavours) * field
            + solve
            + (2 * flavours + 2 * currents) * core.propagator_bytes(geometry._core)
        )
        if self.run.deflation is not None and fermion is not None:
            needed += flavours * _lanczos_bytes(self.run.deflation, geometry, fermion, is_even_odd)
        require_memory(needed, "this run", self.run.machine, self.output)

    def _source(self, U: GaugeField, at: tuple[int, ...]) -> Source:
        table = self.run.source
        if table.type == "wall":
            return wall_source(U.geometry, at[3])
        if table.type == "gaussian":
            return gaussian_source(U, at, width=table.width, steps=table.steps)
        return point_source(U.geometry, at)

    def _contract(self, S: Propagator, strange: Propagator | None) -> dict[str, NDArray[np.complex128]]:
        """Name -> [momentum, time]."""
        result = {}
        for antiquark, channels in (
            (S, [c for c in self.channels if not c.has_strange]),
            (strange, [c for c in self.channels if c.has_strange]),
        ):
            if channels and antiquark is not None:
                pairs = [(channel.sink, channel.source) for channel in channels]
                values = mesons(S, antiquark, pairs, momenta=self.momenta)
                result |= {channel.name: values[i] for i, channel in enumerate(channels)}
        for name in self.run.correlators.baryons:
            channel = NAMED_BARYONS[name]
            result[name] = baryon(
                channel.operator, up=S, down=S, strange=strange, form=channel.form, momenta=self.momenta
            )
        return result

    def _feynman_hellmann(self, solve: Any, S: Propagator, path: str) -> dict[str, Propagator]:
        """Current -> sum_z S Gamma S."""
        result = {}
        for name in self.run.feynman_hellmann.currents:
            try:
                result[name] = feynman_hellmann_propagator(solve, S, _CURRENTS[name][0])
            except NotConverged as error:
                raise NotConverged(f"{path}, current {name}: {error}", error.report) from error
        return result

    def _contract_currents(
        self, S: Propagator, currents: dict[str, Propagator]
    ) -> dict[str, NDArray[np.complex128]]:
        """fh_NAME_UU and fh_NAME_DD -> [momentum, time]."""
        result = {}
        for name, F in currents.items():
            _, factor, spin = _CURRENTS[name]
            for insertion, label in (("up", "UU"), ("down", "DD")):
                N = nucleon_feynman_hellmann(S, F, insertion=insertion, spin=spin, momenta=self.momenta)
                result[f"fh_{name}_{label}"] = factor * N
        return result

    def _midpoint(self, S: Propagator) -> dict[str, NDArray[np.complex128]]:
        """Domain wall: the numerator of m_res (its denominator is the pion of point sinks), zero momentum."""
        if S.midpoint is None:
            return {}
        norms = {"midpoint": propagator_norm(S.midpoint), "midpoint_pion": propagator_norm(S)}
        if S.axial_current is not None:
            norms["conserved_axial"] = S.axial_current
        zero = np.zeros((len(self.momenta), S.geometry.extents[3]), dtype=np.complex128)
        result = {}
        for name, values in norms.items():
            result[name] = zero.copy()
            result[name][0] = values
        return result

    def _write(
        self,
        target: Path,
        number: int,
        path: str,
        U: GaugeField,
        positions: list[tuple[int, ...]],
        tables: list[dict[str, NDArray]],
        reports: list[SolveReport],
        history: FlowHistory | None,
    ) -> None:
        """The file of one configuration: under another name, then renamed."""
        file = load().Hdf5File.create(str(target))
        root = file.root()
        write_root_attributes(root, "measurement", self.text, U.geometry.extents)
        root.set_text("physics", _physics(self.run))
        root.set_text("input_file", path)
        assert U.report is not None
        sums = [f"{c['kind']}={c['computed']:08x}" for c in U.report.checksums]
        root.set_text("input_checksum", " ".join(sums))
        root.set_real("plaquette", U.plaquette)
        beta = on_root(lambda: _beta_of(path))
        if beta is not None:
            root.set_real("beta", beta)
        root.write_int64("configurations", np.array([number], dtype=np.int64))
        if tables:
            self._write_correlators(root.make_group("correlators"), positions, tables)
            _write_solves(root.make_group("solves"), reports)
        if history is not None:
            _write_flow(root.make_group("flow"), history)
        file.commit()

    def _write_correlators(
        self, group: Any, positions: list[tuple[int, ...]], tables: list[dict[str, NDArray]]
    ) -> None:
        by_name = {channel.name: channel for channel in self.channels}
        for name in tables[0]:
            values = np.stack([table[name] for table in tables])[np.newaxis]
            group.write_complex128(name, np.ascontiguousarray(values))
            for key, value in self._attributes(name, by_name.get(name)).items():
                (group.set_real if isinstance(value, float) else group.set_text)(key, value, name)
            group.set_integers("momenta", [n for momentum in self.momenta for n in momentum], name)
            group.set_integers("sources", [x for position in positions for x in position], name)

    def _attributes(self, name: str, channel: MesonChannel | None) -> dict[str, str | float]:
        fermion, source = self.run.fermion, self.run.source
        assert fermion is not None
        mass = _mass(fermion)
        if name in ("midpoint", "midpoint_pion", "conserved_axial"):
            kind, particle = "midpoint", name
        elif name.startswith("fh_"):
            kind, particle = "feynman_hellmann", "nucleon"
        else:
            kind = "meson" if channel else "baryon"
            particle = channel.particle if channel else NAMED_BARYONS[name].particle
        smearing = f"gaussian width={source.width:g} steps={source.steps}"
        if source.links is not None:
            smearing += f" links={_describe(source.links)}"
        return (
            {
                "type": kind,
                "particle": particle,
                "sink": channel.sink if channel else name,
                "source": channel.source if channel else name,
                "source_smearing": smearing if source.type == "gaussian" else source.type,
                "sink_smearing": smearing if self.run.sink.type == "gaussian" else "point",
                "boundary_t": fermion.boundary_t,
                "fermion": fermion.type,
                "mass": float(mass),
            }
            | (
                {
                    "b5": _number_or_text(fermion.b5),
                    "c5": _number_or_text(fermion.c5),
                    "M5": fermion.M5,
                    "Ls": float(fermion.Ls),
                }
                if fermion.type == "moebius"
                else {"kappa": float(1 / (2 * (4 + mass))), "csw": float(fermion.csw)}
            )
            | (
                {"strange_mass": _mass(strange_table(fermion))}
                if name in STRANGE and fermion.has_strange
                else {}
            )
        )


def _number_or_text(value: float | list[float]) -> float | str:
    return " ".join(map(repr, value)) if isinstance(value, list) else value


def _lanczos_bytes(
    table: DeflationTable, geometry: Geometry, fermion: FermionTable, is_even_odd: bool
) -> int:
    """Bytes per rank of the search for low modes at its peak: basis, rotation and blocks, in double."""
    slices = fermion.Ls if fermion.type == "moebius" else 1
    vector = int(np.prod(geometry.local_extents)) * 24 * 8 * slices // (2 if is_even_odd else 1)
    basis = table.basis or 2 * table.modes + 4 * table.block
    return vector * (basis + 2 * table.modes + 7 * table.block)


def _write_flow(group: Any, history: FlowHistory) -> None:
    """Columns over flow times; time alone has no first axis of configurations."""
    group.write_float64("time", history.time)
    for name in ("energy_clover", "energy_plaquette", "charge_clover", "charge_improved"):
        group.write_float64(name, getattr(history, name)[np.newaxis])


def _write_solves(group: Any, reports: list[SolveReport]) -> None:
    columns = {
        "iterations": [float(r.iterations) for r in reports],
        "relative_residual": [r.largest_residual for r in reports],
        "seconds": [r.seconds for r in reports],
        "gflops": [r.gflops for r in reports],
    }
    for name, values in columns.items():
        group.write_float64(name, np.array([values]))
    group.set_text("solver", reports[0].method)


def _beta_of(path: str) -> float | None:
    """From the record that `trellis generate` writes beside a configuration, if there is one."""
    record = Path(path).with_suffix(".json")
    try:
        return float(json_text.loads(record.read_text(encoding="utf-8"))["physics"]["action"]["beta"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
