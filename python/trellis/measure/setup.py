"""Functions that make configurations, links, operator, solver and sources from a measurement's run file."""

from __future__ import annotations

import glob
import hashlib
import math
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..evolve.online_measurements import boundary_phases
from ..gauge.fields import GaugeField
from ..gauge.geometry import Geometry
from ..ground.errors import BadArgument
from ..ground.operator_records import MIRRORED_MESONS
from ..quarks.domain_wall import MoebiusDomainWall, spatial_doublers
from ..quarks.operators import WilsonClover
from ..quarks.sources import (
    Source,
    SourceSites,
    gaussian_source,
    least_steps,
    noise_source,
    point_source,
    wall_source,
)
from ..run_files.measure import ConfigurationsTable, MeasureRun
from ..run_files.measured_quarks import MeasuredDomainWall, MeasuredQuark
from ..run_files.measured_sources import SourceTable
from ..run_files.quarks import Coefficients, DomainWall
from ..run_files.smearing import SmearingTable
from ..run_files.solvers import DeflationTable, PreconditionerTable, SolverTable
from ..solve.bicgstab import bicgstab
from ..solve.cg import cg
from ..solve.even_odd import even_odd
from ..solve.gcr import gcr
from ..solve.mixed_precision import mixed_precision
from ..solve.mr import mr
from ..solve.multigrid import Multigrid
from ..solve.values import Solver

_NUMBER = re.compile(r"(\d+)\D*$")
#: Of configurations: what results hold, and what numbers noise fields.
LARGEST_NUMBER, LARGEST_OF_NOISE = 2**63 - 1, 2**31 - 1


def find_configurations(
    table: ConfigurationsTable,
    say: Callable[[str], None] = lambda line: None,
    *,
    largest: int = LARGEST_NUMBER,
) -> list[tuple[int, str]]:
    """Number and file of each configuration, ascending.

    The number is the last one in the file's name; a name without one gets its place, from 1, in the sorted
    order of all files.

    Parameters
    ----------
    say
        Gets a line about the files that have no number in their names.
    largest
        The largest number that a configuration may have.

    Raises
    ------
    BadArgument
        Nothing matches, a number comes twice or is too large, or first and last leave nothing.
    """
    paths = _matching(table)
    found: dict[int, str] = {}
    placed: dict[str, int] = {}
    for place, path in enumerate(paths, start=1):
        number = _number_in(path)
        if number is None:
            number = placed[path] = place
        if number > largest:
            raise BadArgument(
                f"configurations.files: {path}: expected a number of at most {largest} in the file's name, "
                f"found {number}; rename the file, or link it under another name"
            )
        if number in found:
            raise BadArgument(
                f"configurations.files: configuration {number} twice: {found[number]} and {path}"
                f"{_why_placed([found[number], path], placed)}"
            )
        found[number] = path
    chosen = _between_limits(found, table)
    _tell_places([(number, path) for number, path in chosen if path in placed], say)
    return chosen


def _matching(table: ConfigurationsTable) -> list[str]:
    """All files of the patterns, each once, sorted."""
    patterns = [table.files] if isinstance(table.files, str) else table.files
    if not patterns:
        raise BadArgument("configurations.files: expected at least one file name or pattern, found []")
    found: set[str] = set()
    for pattern in patterns:
        paths = glob.glob(pattern, recursive=True)
        if not paths:
            raise BadArgument(f"configurations.files: nothing matches {pattern!r}")
        found.update(paths)
    return sorted(found)


def _number_in(path: str) -> int | None:
    """The last number in a file's name, before its ending if there is one."""
    match = _NUMBER.search(Path(path).name.rsplit(".", 1)[0]) or _NUMBER.search(Path(path).name)
    return int(match[1]) if match else None


def _why_placed(paths: list[str], placed: dict[str, int]) -> str:
    """The rest of a message about two files, of which some have no number in their names."""
    without = [path for path in paths if path in placed]
    return f"; {without[0]} has no number in its name, and that place in sorted order" if without else ""


def _tell_places(numbered: list[tuple[int, str]], say: Callable[[str], None]) -> None:
    if len(numbered) == 1:
        number, path = numbered[0]
        say(f"{path} has no number in its name: it is configuration {number}, by its place in sorted order")
    elif numbered:
        (first, first_path), (last, last_path) = numbered[0], numbered[-1]
        say(
            f"{len(numbered)} files have no number in their names: they are configurations by their places "
            f"in sorted order, from {first} ({first_path}) to {last} ({last_path})"
        )


def _between_limits(found: dict[int, str], table: ConfigurationsTable) -> list[tuple[int, str]]:
    """Return the configurations with numbers from the table's first to its last, in ascending order."""
    first = table.first if table.first is not None else -1
    chosen = [
        (n, p) for n, p in sorted(found.items()) if n >= first and (table.last is None or n <= table.last)
    ]
    if not chosen:
        limits = [f"at least first = {table.first}"] if table.first is not None else []
        limits += [f"at most last = {table.last}"] if table.last is not None else []
        raise BadArgument(
            f"configurations: none of {len(found)} ({min(found)} to {max(found)}) is {' and '.join(limits)}"
        )
    return chosen


def between(table: ConfigurationsTable, first: int | None, last: int | None) -> ConfigurationsTable:
    """Return the table with only its configurations from number first to last; None: no limit."""
    lower = [n for n in (table.first, first) if n is not None]
    upper = [n for n in (table.last, last) if n is not None]
    return table.model_copy(update={"first": max(lower, default=None), "last": min(upper, default=None)})


def make_solver(table: SolverTable | PreconditionerTable, multigrid: Multigrid | None = None) -> Solver:
    """Make the solver that a run file describes, with those inside it.

    Parameters
    ----------
    multigrid
        The preconditioner of a table of type multigrid; without it gcr is plain, for runs that solve nothing.
    """
    if isinstance(table, SolverTable) and table.is_multigrid:
        return gcr(
            tolerance=table.tolerance,
            max_iterations=table.max_iterations,
            fallback=table.fallback,
            preconditioner=multigrid,
            **({} if table.restart_length is None else {"restart_length": table.restart_length}),
        )
    method: Any = {"cg": cg, "bicgstab": bicgstab, "gcr": gcr, "mr": mr}[table.type]
    own = {
        "tolerance": table.tolerance,
        "iterations": table.iterations,
        "restart_length": table.restart_length,
        "relaxation": table.relaxation,
    }
    given: dict[str, Any] = {key: value for key, value in own.items() if value is not None}
    if table.preconditioner is not None:
        given["preconditioner"] = make_solver(table.preconditioner)
    solver = method(max_iterations=table.max_iterations, fallback=table.fallback, **given)
    if table.inner_precision != "double":
        solver = mixed_precision(
            solver, inner=table.inner_precision, update_threshold=table.update_threshold or 0.0
        )
    return solver if table.even_odd == "none" else even_odd(solver, form=table.even_odd)


def coefficients(values: Coefficients) -> complex | list[complex]:
    """Return b5 or c5 of a run file as numbers; [re, im] is a complex one."""
    if not isinstance(values, list):
        return values
    return [complex(*z) if isinstance(z, tuple) else z for z in values]


def _boundary(table: MeasuredQuark) -> tuple[complex, ...]:
    """The phases of a run file in x, y, z, t; 0 is a wall."""
    *space, time = table.boundary
    return (*boundary_phases(space), 0.0 if isinstance(time, str) else boundary_phases([time])[0])


def make_operator(
    table: MeasuredQuark, U: GaugeField, columns_per_solve: int = 1
) -> WilsonClover | MoebiusDomainWall:
    """The Dirac operator that a run file describes; `columns_per_solve`: of domain walls."""
    boundary = _boundary(table)
    if isinstance(table, MeasuredDomainWall):
        return MoebiusDomainWall(
            U,
            mass=table.mass,
            b5=coefficients(table.b5),
            c5=coefficients(table.c5),
            M5=table.M5,
            nu=table.nu,
            xi0=table.xi0,
            Ls=table.Ls,
            link_reals=table.link_reals,
            columns_per_solve=columns_per_solve,
            boundary=boundary,
        )
    return WilsonClover(
        U,
        kappa=table.kappa,
        mass=table.mass,
        csw=table.csw,
        boundary=boundary,
        nu=table.nu,
        xi0=table.xi0,
        csw_temporal=table.csw_temporal,
        twisted_mass=table.twisted_mass,
        link_reals=table.link_reals,
    )


def lanczos_bytes(
    table: DeflationTable, geometry: Geometry, fermion: MeasuredQuark, is_even_odd: bool
) -> int:
    """Bytes per rank of the search for low modes at its peak: basis, rotation and blocks, in double."""
    vector = int(np.prod(geometry.local_extents)) * 24 * 8 * fermion.slices // (2 if is_even_odd else 1)
    basis = table.basis or 2 * table.modes + 4 * table.block
    return vector * (basis + 2 * table.modes + 7 * table.block)


def describe_smearing(smearing: SmearingTable) -> str:
    """For the attributes of datasets: "ape 0.5x10 stout 0.1x3 flow 1"."""
    parts = []
    if (ape := smearing.ape) is not None:
        parts.append(f"ape{'_spatial' if ape.spatial else ''} {ape.alpha:g}x{ape.steps}")
    if (stout := smearing.stout) is not None:
        rho = (
            f"{stout.rho:g}"
            if isinstance(stout.rho, float)
            else "/".join(f"{w:g}" for r in stout.rho for w in r)
        )
        parts.append(f"stout{'_spatial' if stout.spatial else ''} {rho}x{stout.steps}")
    if smearing.flow is not None:
        parts.append(f"flow {smearing.flow.time:g}")
    return " ".join(parts) or "thin"


#: The warning if :func:`has_mirrored_mesons` is true.
MIRRORED = f"fermion.b5, fermion.c5: {MIRRORED_MESONS}; nucleons and [feynman_hellmann] do not need it"


def has_mirrored_mesons(run: MeasureRun) -> bool:
    """Return True if the run asks for mesons of domain walls whose antiquarks have other coefficients."""
    fermion, wanted = run.spin_quark, run.correlators.mesons or run.correlators.meson
    return bool(wanted and isinstance(fermion, DomainWall) and not fermion.is_gamma5_hermitian)


def kappas_of_doublers(run: MeasureRun) -> list[tuple[str, float]]:
    """Return the keys of isotropic Wilson quarks with masses between -6 and -2, and their kappas.

    Most are misprints (1.3 for 0.13).
    """
    fermion = run.spin_quark
    if fermion is None or isinstance(fermion, DomainWall) or (fermion.nu, fermion.xi0) != (1, 1):
        return []
    kappas = {"fermion.kappa": fermion.kappa, "fermion.strange_kappa": fermion.strange_kappa}
    return [(key, kappa) for key, kappa in kappas.items() if kappa is not None and abs(kappa) > 0.25]


def doublers_on_walls(run: MeasureRun) -> str:
    """Return a warning about domain walls that bind spatial doublers; else ""."""
    fermion = run.fermion
    if not isinstance(fermion, MeasuredDomainWall):
        return ""
    return spatial_doublers(fermion.M5, fermion.nu, fermion.xi0)


def is_amplifying(run: MeasureRun) -> bool:
    """Return True if a step of Gaussian smearing has an eigenvalue below -1 (:func:`least_steps`)."""
    hop = sites_of_a_hop(run)
    too_few = 2 * run.source.steps < 3 * (run.source.width / hop) ** 2
    return run.fermion is not None and run.has_gaussian_smearing and too_few


def sites_of_a_hop(run: MeasureRun) -> int:
    """Return over how many sites hops of Gaussian smearing lead: two for staggered quarks."""
    return 1 if run.staggered_quark is None else 2


def fewest_steps(run: MeasureRun) -> int:
    """Return the fewest steps of Gaussian smearing that make no mode larger."""
    return least_steps(run.source.width, sites_of_a_hop(run))


def source_positions(
    table: SourceTable, number: int, extents: tuple[int, ...], *, fixed_time: bool = False
) -> list[tuple[int, ...]]:
    """Return the positions on one configuration: the run file's, shifted by each vector of the shift_seed.

    No two sources are at one place; of walls and noise only the time counts.

    Parameters
    ----------
    fixed_time
        Shift in space only (:func:`has_fixed_time`).

    Raises
    ------
    BadArgument
        A position outside the lattice, or more shifts than there are places.
    """
    for position in table.positions:
        if not all(0 <= x < extent for x, extent in zip(position, extents, strict=True)):
            raise BadArgument(
                f"source.positions: {list(position)} lies outside the lattice {list(extents)} "
                "(coordinates count from 0)"
            )
    axes = slice(3, 4) if table.is_slice else slice(0, 3) if fixed_time else slice(0, 4)
    _require_places(table, extents, axes)
    found: list[tuple[int, ...]] = []
    taken: set[tuple[int, ...]] = set()
    index = 0
    while len(found) < table.count:
        shift = _shift(table.shift_seed, number, index, extents)
        if fixed_time:
            shift = (*shift[:3], 0)
        index += 1
        shifted = [
            tuple((x + dx) % extent for x, dx, extent in zip(position, shift, extents, strict=True))
            for position in table.positions
        ]
        places = {at[axes] for at in shifted}
        if taken.isdisjoint(places):
            found += shifted
            taken |= places
    return found


def _require_places(table: SourceTable, extents: tuple[int, ...], axes: slice) -> None:
    """Refuse so many shifts that the lattice may have no place for another.

    Each shift rules out the shifts that differ from it by the difference of two positions.
    """
    differences = {
        tuple((x - y) % n for x, y, n in zip(a, b, extents, strict=True))[axes]
        for a in table.positions
        for b in table.positions
    }
    most = (math.prod(extents[axes]) - 1) // len(differences) + 1
    if table.shifts > most:
        raise BadArgument(
            f"source.shifts: at most {most} shifts of {len(table.positions)} positions have places of their "
            f"own on {list(extents)}, found {table.shifts}"
        )


def has_fixed_time(table: MeasuredQuark) -> bool:
    """Return True with Dirichlet boundaries in time: correlators depend on the distance from the boundary.

    The sources of such a run keep their times.
    """
    return table.is_open


def are_beyond(momenta: Sequence[Sequence[int]], extents: tuple[int, ...], parts: int) -> bool:
    """Return True if a component of n is beyond L / parts.

    Beyond L/2 n is another momentum modulo L. With staggered quarks n + L/2 is the momentum n of another
    local meson, so that beyond L/4 the other one is smaller.
    """
    return any(parts * abs(k) > extent for n in momenta for k, extent in zip(n, extents[:3], strict=True))


def _shift(seed: int | None, number: int, index: int, extents: tuple[int, ...]) -> tuple[int, ...]:
    """Return the index-th random vector of a configuration; it is 0 without a seed."""
    if seed is None:
        return (0, 0, 0, 0)
    text = f"trellis source shift {seed} {number}" + (f" {index}" if index else "")
    digest = hashlib.sha256(text.encode()).digest()
    numbers = [int.from_bytes(digest[8 * mu : 8 * mu + 8], "little") for mu in range(4)]
    return tuple(n % extent for n, extent in zip(numbers, extents, strict=True))


def make_source(
    table: SourceTable, U: GaugeField, at: tuple[int, ...], number: int, *, has_spin: bool = True
) -> Source:
    """Make the source at one position of the configuration of this number.

    Parameters
    ----------
    has_spin
        False: the source is one of staggered quarks.
    """
    if table.is_slice:
        return _slice_source(table, U.geometry, at[3], number, has_spin=has_spin)
    if table.is_gaussian:
        return gaussian_source(U, at, width=table.width, steps=table.steps, has_spin=has_spin)
    return point_source(U.geometry, at, has_spin=has_spin)


def _slice_source(
    table: SourceTable, geometry: Geometry, time: int, number: int, *, has_spin: bool
) -> Source:
    """Make a wall, or noise, on one time slice."""
    sites = "all" if has_spin else staggered_sites(table)
    if not table.is_noise:
        momentum = table.momentum or (0, 0, 0)
        return wall_source(geometry, time, momentum=momentum, has_spin=has_spin, sites=sites)
    assert table.noise_seed is not None  # a SourceTable of noise has one
    return noise_source(
        geometry,
        kind=table.noise or "z4",
        seed=table.noise_seed,
        configuration=number,
        index=table.index or 0,
        time=time,
        has_spin=has_spin,
        sites=sites,
    )


def staggered_sites(table: SourceTable) -> SourceSites:
    """Return the sites of walls and noise of staggered quarks; the default suits all local mesons."""
    return table.sites or "corners"
