"""This module estimates from the run file the memory that a measurement takes at its peak, for each rank."""

from __future__ import annotations

import math

import numpy as np

from ..gauge.geometry import Geometry
from ..ground.compiled_core import load
from ..ground.machine import roof_buffer_bytes
from ..run_files import MeasureRun
from ..run_files.solvers import SolverTable
from ..run_files.staggered_measurement import MeasuredStaggeredKind
from ..runs.multigrid_memory import MultigridBytes
from ..runs.setup import gauge_field_bytes
from ..solve.mixed_precision import INNER_SIZE, mixed_precision
from .setup import lanczos_bytes, make_solver
from .staggered_quarks import VECTORS_AT_A_TIME

#: A batch has at most so many columns, but on lattices that fit a cache.
_COLUMNS_OF_A_BATCH = 4
#: A propagator has so many columns.
_COLUMNS = 12
#: So many propagators are kept with 5-D fields: their source, and copies of the quark and its midpoint.
_BESIDE_FIELDS = 3
#: So many sums of three quarks are kept while a baryon is put together: 16 components for each way to pair
#: them, and for each set of flavours.
_KEPT_SPIN_MATRICES = 16 * 12
#: Code and tables of libraries that come in during a run take this.
_LIBRARIES = 40 << 20
#: An application of an operator reads and writes so many vectors, its links among them; it is rather too
#: many.
_APPLICATION, _WALL_APPLICATION = 5, 8
#: A staggered propagator has so many columns, and the links of an application of its operator take so many
#: propagators.
_STAGGERED_COLUMNS, _STAGGERED_APPLICATION = 3, 14
#: Freed fields that are kept for the next of their size take at most this.
_FREED_FIELDS = 128 << 20
#: The writing and reading of propagators takes these buffers.
_FILE_BUFFERS = 32 << 20


def work_fields(solver: SolverTable, columns: int) -> int:
    """Return the number of vectors in double that a solve of so many columns needs besides source and
    solution.

    A method has its own for one batch of columns (solver/batches.hpp).
    """
    return math.ceil(make_solver(solver)._work_vectors() * min(_COLUMNS_OF_A_BATCH, columns) / columns)


def measurement_bytes(run: MeasureRun, geometry: Geometry, *, mesons: int, momenta: int) -> float:
    """Return the bytes of links, propagators, the larger one of a solve and the contractions, low modes and
    tables of results.

    Parameters
    ----------
    mesons, momenta
        Numbers of meson correlators and of momenta.
    """
    fermion = run.spin_quark
    field = gauge_field_bytes(geometry.local_extents, geometry.grid)
    if run.staggered_quark is not None:
        needed = _staggered_bytes(run, run.staggered_quark, geometry, momenta)
        return needed + _table_bytes(run, geometry, mesons, momenta)
    if fermion is None:
        return 5 * field
    flavours = 1 + fermion.has_strange + run.has_doublet
    inserted = max(run.feynman_hellmann.count, 1 if run.three_point.currents else 0)
    propagators = 2 * flavours + 2 * inserted * (2 if run.has_doublet else 1)
    if run.needs_fields:  # they are those of the source's solve, and of the sequential one
        propagators += (fermion.slices + _BESIDE_FIELDS) * (2 if run.three_point.has_conserved else 1)
    if run.stored_propagators is not None and run.stored_propagators.use == "guess":
        propagators += 1
    made = _multigrid_bytes(run, geometry, flavours)
    # These are links, links in the operator's storages, clover term and its inverse.
    needed = (2 + 3 * flavours) * field + made.kept
    # Operators keep the vectors between their hops while the results of solves are contracted.
    kept = flavours * (2 if run.solver.even_odd == "none" else 1.25) * load().propagator_bytes(geometry._core)
    # A solve that is stuck sets multigrid up anew, beside what it has.
    solve = max(_solve_bytes(run, geometry, made), made.kept + made.setup)
    behind = max(
        _contraction_bytes(run, geometry, mesons, momenta),
        _roof_bytes(run, geometry) + min(_FREED_FIELDS, solve),
    )
    source = propagators * load().propagator_bytes(geometry._core) + max(solve, kept + behind)
    needed += max(made.setup, source) + min(_FREED_FIELDS, made.setup)
    if run.output.propagators or run.stored_propagators is not None:
        needed += _FILE_BUFFERS
    needed += _LIBRARIES
    if run.deflation is not None:
        needed += flavours * lanczos_bytes(run.deflation, geometry, fermion, run.solver.even_odd != "none")
    return needed + _table_bytes(run, geometry, mesons, momenta)


def _staggered_bytes(
    run: MeasureRun, quark: MeasuredStaggeredKind, geometry: Geometry, momenta: int
) -> float:
    """Return the bytes of links, propagators of all masses, and the larger one of a solve and a
    contraction."""
    core, lattice, masses = load(), geometry._core, len(quark.masses)
    field = gauge_field_bytes(geometry.local_extents, geometry.grid)
    vector = core.staggered_propagator_bytes(lattice)
    # These are the links, and those of the operator in two storages; HISQ has both levels of smearing, fat
    # and long links.
    needed = (11 if quark.has_own_smearing else 5) * field
    copies = 2 if run.sink.is_gaussian else 1
    needed += vector * (1 + masses * copies)  # the source is one
    solve = _staggered_solve_bytes(run, masses, geometry, _STAGGERED_COLUMNS)
    vectors = 0 if run.condensate is None else min(run.condensate.vectors, VECTORS_AT_A_TIME)
    if run.condensate is not None:  # its fields have other sizes than those that the solves before have freed
        last = _staggered_solve_bytes(run, masses, geometry, vectors)
        solve = max(solve, last + min(_FREED_FIELDS, solve))
    scale = {"double": 1.0, **INNER_SIZE}[run.solver.inner_precision]
    columns = max(_STAGGERED_COLUMNS, vectors)
    applied = (
        _STAGGERED_APPLICATION + 2 * columns / _STAGGERED_COLUMNS
    ) * vector  # these are links, and vectors in and out
    roof = roof_buffer_bytes(scale * applied)
    contraction = core.local_staggered_meson_bytes(lattice, momenta)
    needed += max(solve, contraction, roof + min(_FREED_FIELDS, solve))
    if run.output.propagators or run.stored_propagators is not None:
        needed += _FILE_BUFFERS
    return needed + _LIBRARIES


def _staggered_solve_bytes(run: MeasureRun, masses: int, geometry: Geometry, columns: int) -> float:
    """Return source, solutions and the solver's vectors for so many right-hand sides."""
    core, lattice = load(), geometry._core
    if masses == 1:
        vector = core.staggered_propagator_bytes(lattice) / _STAGGERED_COLUMNS
        return float(vector * columns * (4 + work_fields(run.solver, columns)))
    precision = "double" if run.solver.inner_precision == "double" else "float"
    return float(core.staggered_masses_bytes(lattice, masses, columns, precision))


def _solve_bytes(run: MeasureRun, geometry: Geometry, made: MultigridBytes) -> float:
    slices = 1 if run.spin_quark is None else run.spin_quark.slices
    if run.solver.multigrid is not None:  # a batch has source, solution and the operator's vectors
        vector = load().propagator_bytes(geometry._core) / _COLUMNS
        table = run.solver.model_copy(update={"type": "multigrid"})  # auto takes the larger one
        vectors = mixed_precision(make_solver(table), inner="float")._work_vectors()
        return _COLUMNS_OF_A_BATCH * ((4 + vectors) * vector + made.cycle)
    if slices > 1:
        columns = run.solver.columns
        vectors = work_fields(run.solver, columns)
        return load().domain_wall_solve_bytes(geometry._core, slices, columns, vectors)
    vectors = work_fields(run.solver, _COLUMNS)
    return load().propagator_solve_bytes(geometry._core, run.solver.even_odd != "none", vectors)


def _multigrid_bytes(run: MeasureRun, geometry: Geometry, flavours: int) -> MultigridBytes:
    table = run.solver.multigrid
    if table is None or not run.has_solves:
        return MultigridBytes(0, 0, 0)
    return MultigridBytes.of(table, geometry, flavours)


def _roof_bytes(run: MeasureRun, geometry: Geometry) -> float:
    """Return the bytes of the buffer with which the bandwidth for a solve's report is measured."""
    fermion = run.spin_quark
    if fermion is None:
        return 0.0
    vectors = _APPLICATION * _COLUMNS
    if fermion.slices > 1:
        vectors = _WALL_APPLICATION * run.solver.columns * fermion.slices
    scale = {"double": 1.0, **INNER_SIZE}[run.solver.inner_precision]
    return roof_buffer_bytes(scale * vectors * int(np.prod(geometry.local_extents)) * 24 * 8)


def _contraction_bytes(run: MeasureRun, geometry: Geometry, mesons: int, momenta: int) -> float:
    """Return the bytes of exact sums for each component, momentum and time; mesons and baryons come one after
    the other."""
    core = load()
    needed = core.meson_bytes(geometry._core, momenta) if mesons else 0
    if run.correlators.baryons or run.feynman_hellmann.count or run.three_point.currents:
        kept = _KEPT_SPIN_MATRICES * momenta * geometry.extents[3] * 16
        needed = max(needed, core.baryon_bytes(geometry._core, momenta) + kept)
    return needed


def _table_bytes(run: MeasureRun, geometry: Geometry, mesons: int, momenta: int) -> float:
    """Return the bytes of the correlators of all sources: two more while they are made, and archives where
    sources are saved."""
    sources = run.source.count
    inserted = 2 * run.feynman_hellmann.count + 16 * len(run.three_point.currents)
    table = (mesons + len(run.correlators.baryons) + inserted) * momenta * geometry.extents[3] * 16
    return table * ((3 * sources if sources > 1 else 1) + 2)
