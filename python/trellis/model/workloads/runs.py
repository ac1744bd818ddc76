"""Run files have steps: a trajectory or sweep of trellis generate, a configuration of trellis measure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ...ground.errors import BadArgument, RunFileError
from ...run_files import GenerateRun, GlassRun, HmcRun, MeasureRun
from ...run_files.dynamics import DRIFTS, IntegratorLevel
from ...run_files.loading import load_toml, validate_run
from ...run_files.quark import Quark
from ...run_files.sea import SeaQuark
from ..mapping import least_surface_grid, spin_grid
from ..phases import Extents, Phase, Workload, volume
from . import gauge, glass, multigrid, multigrid_levels, solves
from .iterations import IterationCounts
from .solves import System

AnyRun = GenerateRun | HmcRun | MeasureRun | GlassRun
#: A step of each scheme has this many forces; the last of one step and the first of the next count as one.
_FORCES = {"leapfrog": 1, "omelyan2": 2, "omelyan4": 5, "force_gradient": 3}
#: Spectra have these ends where the run file has none.
_HIGH, _LOW = 6.0, 1e-4
#: This is the memory, in gauge fields in double, of a trajectory without and with
#: quarks, and of a measurement.
_QUENCHED_FIELDS, _QUARK_FIELDS, _MEASURE_FIELDS = 15.0, 24.0, 5.0
_PROCESS_BYTES = 100 * 2.0**20
#: A propagator has this many columns; the second number is that of a staggered one.
_COLUMNS, _STAGGERED_COLUMNS = 12, 3


def load_any_run(path: Path | str) -> AnyRun:
    """Read a run file of trellis generate, trellis measure or trellis glass.

    Raises
    ------
    RunFileError
        It is none, or not valid.
    """
    content = load_toml(path)
    return run_of(content, str(path), Path(path).read_text(encoding="utf-8-sig"))


def run_of(content: Mapping[str, Any], name: str, text: str = "") -> AnyRun:
    """Return the run of a run file's content; see :func:`load_any_run`."""
    if "couplings" in content and "spins" in content:
        return validate_run(content, GlassRun, name, text)
    if "configurations" in content or "fermion" in content:
        return validate_run(content, MeasureRun, name, text)
    if "molecular_dynamics" in content or "integrator" in content:
        return validate_run(content, HmcRun, name, text)
    if "lattice" in content:
        return validate_run(content, GenerateRun, name, text)
    raise RunFileError(f"{name}: expected a run file of trellis generate, measure or glass")


def extents_of(run: AnyRun, lattice: Extents | None = None) -> Extents:
    """Return the extents of a run's lattice; a run of trellis measure may leave them to its configurations.

    Raises
    ------
    BadArgument
        They are not known.
    """
    if lattice is not None:
        return lattice
    if isinstance(run, GlassRun):
        return run.extents
    if not isinstance(run, MeasureRun):
        return run.lattice.extents
    if run.configurations.lattice is None:
        raise BadArgument(
            "the run file does not say the lattice, which its configurations do: give --lattice X.Y.Z.T"
        )
    return run.configurations.lattice


def process_grid(run: AnyRun, extents: Extents, ranks: int) -> Extents:
    """Return the process grid that trellis takes: the run file's, where it has so many ranks, or its rule's.

    Raises
    ------
    BadArgument
        No grid of so many ranks divides the lattice.
    """
    own = run.machine.grid
    if own is not None and math.prod(own) == ranks:
        require_grid(run, own, extents, ranks)
        return tuple(own)  # type: ignore[return-value]
    found = (spin_grid if isinstance(run, GlassRun) else least_surface_grid)(extents, ranks)
    return tuple(found)  # type: ignore[return-value]


def require_grid(run: AnyRun, grid: Sequence[int], extents: Sequence[int], ranks: int) -> None:
    """Require a process grid of so many ranks that divides the lattice as the run's fields need it.

    Raises
    ------
    BadArgument
        It does not.
    """
    count = math.prod(grid)
    if count != ranks:
        raise BadArgument(f"the process grid {tuple(grid)} has {count} ranks, and there are {ranks}")
    even = 1 if isinstance(run, GlassRun) else 2
    if any(n % (even * g) for n, g in zip(extents, grid, strict=True)):
        kind = "whole" if even == 1 else "even"
        raise BadArgument(
            f"the process grid {tuple(grid)} leaves no {kind} local extents of {tuple(extents)}"
        )


def workload_of(run: AnyRun, extents: Extents, grid: Sequence[int], iterations: IterationCounts) -> Workload:
    """Return the step of a run on one rank of a process grid."""
    local: Extents = tuple(n // g for n, g in zip(extents, grid, strict=True))  # type: ignore[assignment]
    if isinstance(run, GlassRun):
        return glass.step(run, local, grid)
    if isinstance(run, MeasureRun):
        return measurement(run, local, grid, iterations)
    if isinstance(run, HmcRun):
        return trajectory(run, local, grid, iterations)
    return heat_bath_sweep(run, local, grid)


def step_name(run: AnyRun) -> str:
    """Return the name of a run's step."""
    if isinstance(run, GlassRun):
        return "step"
    if isinstance(run, MeasureRun):
        return "configuration"
    return "trajectory" if isinstance(run, HmcRun) else "sweep"


def steps_of(run: AnyRun) -> int | None:
    """Return the number of steps of a run; None for measurements: their configurations are files."""
    if isinstance(run, HmcRun):
        return run.trajectories.total
    if isinstance(run, GlassRun):
        return run.steps.total
    return None if isinstance(run, MeasureRun) else run.sweeps.total


def system_of(quark: Quark, *, precision: str, link_reals: int, rhs: int) -> System:
    """Return the even-odd system of a quark of a run file."""
    if not quark.has_spin:
        kernel, reals = ("hisq_schur", 18) if quark.has_naik_term else ("staggered_schur", link_reals)
        return System(kernel, True, quark.reals_of_site, precision, reals, rhs)
    if quark.slices > 1:
        return System("domain_wall_schur", False, 24, precision, link_reals, rhs, quark.slices)
    kernel = "wilson_schur"
    if quark.has_clover_term:
        kernel = "twisted_clover_schur" if quark.is_twisted else "clover_schur"
    return System(kernel, False, 24, precision, link_reals, rhs)


def heat_bath_sweep(run: GenerateRun, local: Extents, grid: Sequence[int]) -> Workload:
    """Return a sweep of the heat bath with its over-relaxation: each updates four directions."""
    phases = [
        gauge.link_phase("heat bath", "heatbath", local, grid, 4),
        gauge.link_phase("over-relaxation", "overrelaxation", local, grid, 4 * run.heatbath.over_relaxation),
    ]
    return Workload(
        "sweep", tuple(p for p in phases if p.repeats), memory=_PROCESS_BYTES + 5 * _field_bytes(local, grid)
    )


def force_counts(levels: Sequence[IntegratorLevel]) -> list[int]:
    """Return how often each level's force is computed in a trajectory."""
    found, drifts = [], 1
    for level in levels:
        steps = drifts * level.steps
        found.append(_FORCES[level.scheme] * steps + 1)
        drifts = steps * DRIFTS[level.scheme]
    return found


def drift_count(levels: Sequence[IntegratorLevel]) -> int:
    """Return how often the links are moved in a trajectory."""
    return math.prod(level.steps * DRIFTS[level.scheme] for level in levels)


def trajectory(run: HmcRun, local: Extents, grid: Sequence[int], iterations: IterationCounts) -> Workload:
    """Return a trajectory: heat bath of pseudofermions, forces of all levels, drifts, and the accept step."""
    forces: dict[str, int] = {}
    for level, count in zip(run.integrator, force_counts(run.integrator), strict=True):
        for name in level.monomials:
            forces[name] = count
    phases = [gauge.link_phase("drift", "drift", local, grid, drift_count(run.integrator), has_halo=False)]
    gauge_forces = forces.get("gauge", 0)
    force = "rectangle_force" if run.action.weight != 0 else "plaquette_force"
    phases.append(gauge.link_phase("gauge force", force, local, grid, gauge_forces))
    smears = _smearing_steps(run)
    of_quarks = max((count for name, count in forces.items() if name != "gauge"), default=0)
    if smears and of_quarks:
        phases.append(gauge.link_phase("smearing", "stout", local, grid, smears * of_quarks))
        phases.append(
            gauge.link_phase("smearing, chain rule", "stout_chain", local, grid, smears * of_quarks)
        )
    for flavour in run.fermions:
        phases += flavour_phases(run, flavour, forces, local, grid, iterations)
    fields = _QUARK_FIELDS + 6 * smears if run.fermions else _QUENCHED_FIELDS
    vectors = sum(_pole_vectors(f) for f in run.fermions) * volume(local) / 2 * 8
    memory = _PROCESS_BYTES + fields * _field_bytes(local, grid) + 3 * vectors
    return Workload("trajectory", tuple(p for p in phases if p.repeats), memory=memory)


def flavour_phases(
    run: HmcRun,
    flavour: SeaQuark,
    forces: dict[str, int],
    local: Extents,
    grid: Sequence[int],
    iterations: IterationCounts,
) -> list[Phase]:
    """Return the solves of a flavour's monomials, and of its heat bath and accept step."""
    precision = "double" if run.molecular_dynamics.precision == "double" else "float"
    found: list[Phase] = []
    for name in flavour.monomial_names:
        of_forces = forces.get(name, forces.get(flavour.name, 0))
        all_solves = of_forces + 2
        each = iterations.each(name, all_solves)
        system = system_of(
            flavour,
            precision="float" if precision == "double" else precision,
            link_reals=18,
            rhs=flavour.pseudofermions or 1,
        )
        total = each * all_solves
        if flavour.is_rational:
            found += solves.multi_shift(name, system, local, grid, total, poles(flavour))
        elif flavour.multigrid_table is not None:
            found += _sea_multigrid(name, flavour, local, grid, total, iterations)
        else:
            found += solves.conjugate_gradients(name, system, local, grid, total)
        found.append(_derivative(f"{name}: force", system, flavour, local, grid, of_forces))
    return found


def _derivative(
    name: str, system: System, flavour: SeaQuark, local: Extents, grid: Sequence[int], repeats: int
) -> Phase:
    """Return the derivative of a quark's action by the links, projected to momenta.

    Each pole gives an outer product of two vectors for each link, of about a hop's operations.
    """
    count = poles(flavour) * (flavour.pseudofermions or 1) if flavour.is_rational else 1
    of = gauge.kernel("projection", local, grid)
    sites = volume(local)
    hop = 1320.0 if system.reals == 24 else 570.0
    flops = of.flops + sites * count * hop
    moved = of.bytes + sites * (2 * gauge.LINK_BYTES + 2 * count * system.reals * 8.0)
    counted = solves.Counts(flops, moved, of.messages, 0, 2 + of.launches)
    return solves.phase_of(
        name, counted, local, kernel=None, precision="double", repeats=repeats, overlaps=False
    )


def _sea_multigrid(
    name: str,
    flavour: SeaQuark,
    local: Extents,
    grid: Sequence[int],
    iterations: float,
    counts: IterationCounts,
) -> list[Phase]:
    table = flavour.multigrid_table
    assert table is not None
    whole = [n * g for n, g in zip(local, grid, strict=True)]
    levels = multigrid_levels.coarse_levels(table, whole, counts)
    operator = "clover" if flavour.has_clover_term else "wilson"
    smoother = multigrid_levels.smoother_of(table, whole)
    return multigrid.cycle(
        name, local, grid, levels, operator=operator, smoother=smoother, iterations=2 * iterations
    )


def poles(flavour: SeaQuark) -> int:
    """Return the poles of a rational function in the dynamics, from its order or by Zolotarev's bound."""
    if not flavour.is_rational:
        return 1
    table = flavour.rational
    if table.dynamics_order is not None:
        return table.dynamics_order
    low = table.low or flavour.lower_bound or _LOW
    high = max(table.high or _HIGH, 2 * low)
    return max(
        2, math.ceil(math.log(4 / table.dynamics_tolerance) * math.log(16 * high / low) / (2 * math.pi**2))
    )


def measurement(
    run: MeasureRun, local: Extents, grid: Sequence[int], iterations: IterationCounts
) -> Workload:
    """Return the solves of all sources of a configuration."""
    quark = run.fermion
    if quark is None:
        raise BadArgument("the run file has no [fermion]: the model knows the solves of a measurement")
    sources = run.source.count
    precision = run.solver.inner_precision
    if run.staggered_quark is not None:
        masses = len(run.staggered_quark.masses)
        system = system_of(quark, precision="float", link_reals=18, rhs=_STAGGERED_COLUMNS)
        each = iterations.each("solve")
        phases = solves.multi_shift("propagators", system, local, grid, sources * each, masses)
        memory = (
            _PROCESS_BYTES
            + _MEASURE_FIELDS * _field_bytes(local, grid)
            + 8 * 18 * volume(local) * (2 + masses)
        )
        return Workload("configuration", tuple(phases), memory=memory)
    assert run.spin_quark is not None
    flavours = ["light", "strange"] if run.spin_quark.has_strange else ["light"]
    inserted = run.feynman_hellmann.count
    batches, rhs = 1, _COLUMNS
    if quark.slices > 1:
        rhs = run.solver.columns
        batches = _COLUMNS // rhs
    reals = run.spin_quark.link_reals or (18 if precision == "double" else 12)
    found: list[Phase] = []
    for name in flavours:
        each = iterations.each(name) if name != "light" else iterations.each("light")
        count = sources * batches * (1 + (inserted if name == "light" else 0)) * (2 if run.has_doublet else 1)
        # The iterations that a past run had tell what `auto` takes.
        is_multigrid = run.solver.type != "auto" or "coarse" in iterations.of_a_solve
        if run.solver.multigrid is not None and is_multigrid:
            found += _measured_multigrid(run, name, local, grid, count * each, iterations)
            continue
        system = system_of(quark, precision=precision, link_reals=12 if reals == 8 else reals, rhs=rhs)
        found += solves.conjugate_gradients(f"{name} propagators", system, local, grid, count * each)
    vectors = 24 * 8 * volume(local) * (2 * _COLUMNS * len(flavours) + 5 * rhs * quark.slices)
    memory = _PROCESS_BYTES + _MEASURE_FIELDS * len(flavours) * _field_bytes(local, grid) + vectors
    return Workload("configuration", tuple(found), memory=memory)


def _measured_multigrid(
    run: MeasureRun,
    name: str,
    local: Extents,
    grid: Sequence[int],
    iterations: float,
    counts: IterationCounts,
) -> list[Phase]:
    table = run.solver.multigrid
    assert table is not None
    whole = [n * g for n, g in zip(local, grid, strict=True)]
    levels = multigrid_levels.coarse_levels(table, whole, counts)
    operator = "clover" if run.spin_quark is not None and run.spin_quark.has_clover_term else "wilson"
    return multigrid.cycle(
        f"{name} propagators",
        local,
        grid,
        levels,
        operator=operator,
        smoother=multigrid_levels.smoother_of(table, whole),
        rhs=_COLUMNS,
        iterations=iterations,
    )


def _smearing_steps(run: HmcRun) -> int:
    if not run.fermions or all(f.has_own_smearing for f in run.fermions):
        return 4 if run.fermions else 0  # both levels of HISQ count as stout steps
    return 0 if run.smearing.stout is None else run.smearing.stout.steps


def _pole_vectors(flavour: SeaQuark) -> float:
    return flavour.reals_of_site * poles(flavour) * (flavour.pseudofermions or 1)


def _field_bytes(local: Extents, grid: Sequence[int]) -> float:
    """Return the bytes of a gauge field in double with its halo."""
    layers = 2 * gauge.HALO_LAYERS
    return gauge.LINK_BYTES * volume([n + layers if g > 1 else n for n, g in zip(local, grid, strict=True)])
