"""These functions make the solver, and its memory for low modes, from a measurement's run file."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..gauge.geometry import Geometry
from ..run_files.measured_quarks import MeasuredQuark
from ..run_files.solvers import DeflationTable, PreconditionerTable, SolverTable
from ..solve.bicgstab import bicgstab
from ..solve.cg import cg
from ..solve.choice import krylov_solver
from ..solve.even_odd import even_odd
from ..solve.gcr import gcr
from ..solve.mixed_precision import mixed_precision
from ..solve.mr import mr
from ..solve.multigrid import Multigrid
from ..solve.values import Solver


def make_solver(table: SolverTable | PreconditionerTable, multigrid: Multigrid | None = None) -> Solver:
    """Make the solver that a run file describes, with those inside it.

    Parameters
    ----------
    multigrid
        The preconditioner of a table of type multigrid or auto; without it gcr is plain, for runs that solve
        nothing, and auto is BiCGStab.
    """
    if table.type == "auto" and multigrid is None:
        return krylov_solver(
            tolerance=table.tolerance, max_iterations=table.max_iterations, fallback=table.fallback
        )
    if isinstance(table, SolverTable) and table.multigrid is not None:
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


def lanczos_bytes(
    table: DeflationTable, geometry: Geometry, fermion: MeasuredQuark, is_even_odd: bool
) -> int:
    """Return bytes per rank of the search for low modes at its peak: basis, rotation and blocks, in
    double."""
    vector = int(np.prod(geometry.local_extents)) * 24 * 8 * fermion.slices // (2 if is_even_odd else 1)
    basis = table.basis or 2 * table.modes + 4 * table.block
    return vector * (basis + 2 * table.modes + 7 * table.block)
