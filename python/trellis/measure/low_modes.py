"""This module has the low modes of a measurement: they are found once for a configuration, and kept in a file
where that is asked for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..ground.errors import BadArgument
from ..ground.parallel import on_root
from ..quarks.domain_wall import MoebiusDomainWall
from ..quarks.operators import WilsonClover
from ..run_files.solvers import DeflationTable
from ..runs.setup import make_output_folder
from ..solve.deflated import deflated
from ..solve.deflation import Eigenvectors, lanczos
from ..solve.eigenvector_files import read_eigenvectors
from ..solve.values import Solver


def deflated_solver(
    solver: Solver,
    table: DeflationTable | None,
    even_odd: Any,
    M: WilsonClover | MoebiusDomainWall,
    say: Callable[[str], None],
    *,
    name: str,
    run_file: str,
) -> Solver:
    """Return the run's solver, with the low modes of this configuration where the run file asks for them.

    Parameters
    ----------
    name
        The modes' file in `deflation.directory` has this name.
    run_file
        The text of the run file, for provenance.

    Raises
    ------
    BadArgument
        The file has other modes than those that the run file asks for.
    """
    if table is None:
        return solver
    if table.directory is None:
        modes = _found(table, even_odd, M)
        say(str(modes))
        return deflated(solver, modes, reduction=table.reduction or 0.0)
    folder = Path(table.directory)
    path = folder / name
    if on_root(path.exists):
        modes = read_eigenvectors(path, M)
        _require_asked_for(path, modes, table, even_odd)
        say(f"{path}: {modes}")
    else:
        on_root(lambda: make_output_folder(folder, "deflation.directory"))  # an error comes before the search
        modes = _found(table, even_odd, M)
        modes.write(path, run_file=run_file)
        say(f"{modes}; kept in {path}")
    return deflated(solver, modes, reduction=table.reduction or 0.0)


def _found(table: DeflationTable, even_odd: Any, M: WilsonClover | MoebiusDomainWall) -> Eigenvectors:
    optional = ("max_restarts", "degree", "cutoff", "upper")
    given: dict[str, Any] = {key: getattr(table, key) for key in optional if getattr(table, key) is not None}
    return lanczos(
        M,
        count=table.modes,
        even_odd=even_odd,
        block=table.block,
        basis=table.basis,
        tolerance=table.tolerance,
        storage=table.storage,
        **given,
    )


def _require_asked_for(path: Path, modes: Eigenvectors, table: DeflationTable, even_odd: str) -> None:
    for key, expected, found in (
        ("deflation.modes", table.modes, len(modes)),
        ("deflation.storage", table.storage, modes.storage),
        ("solver.even_odd", even_odd, modes.even_odd),
    ):
        if expected != found:
            raise BadArgument(
                f"{path}: {key}: expected modes with {expected!r}, found {found!r}: change the run file, or "
                "name another deflation.directory"
            )
    if not modes.converged or modes.tolerance > table.tolerance:
        found_ones = f"modes to {modes.tolerance:g}" if modes.converged else "modes that did not converge"
        raise BadArgument(
            f"{path}: deflation.tolerance: expected modes to {table.tolerance:g}, found {found_ones}: change "
            "the run file, or name another deflation.directory"
        )
