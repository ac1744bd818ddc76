"""The multigrid of a measurement: one set-up for a configuration, shared by all its quarks and sources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from ..ground.errors import BadArgument
from ..quarks.operators import WilsonClover
from ..run_files.measured_quarks import MeasuredDomainWall, MeasuredQuark
from ..run_files.multigrid import MultigridTable
from ..solve.multigrid import Multigrid, multigrid


def require_blocks(table: MultigridTable | None, extents: Sequence[int]) -> None:
    """Require blocks that divide the lattice, where the run solves with multigrid.

    Raises
    ------
    BadArgument
        They do not; the message names those that do.
    """
    if table is None:
        return
    try:
        table.require_fit("solver.multigrid", extents)
    except ValidationError as error:
        (problem,) = error.errors()
        raise BadArgument(f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}") from error


def set_up(table: MultigridTable, M: WilsonClover) -> Multigrid:
    """Return the multigrid that a run file describes. Collective.

    Blocks and smoother follow from the lattice alone, so that no bit depends on ranks.

    Raises
    ------
    BadArgument
        The table does not suit the lattice; the message says what does.
    """
    extents = M.geometry.extents
    given = {key: value for key, value in table if value is not None}
    given |= {"block": table.block_on(extents), "smoother": table.smoother_on(extents)}
    try:
        return multigrid(M, **given)
    except BadArgument as error:
        raise BadArgument(f"solver.multigrid: {error}") from error


def multigrid_of_each(
    table: MultigridTable, quarks: Mapping[str, MeasuredQuark], operators: Mapping[str, Any]
) -> dict[str, Multigrid]:
    """Return the multigrid of each flavour: set up for the lightest one, exactly shifted to the others.

    All flavours have the same links, clover term and boundary. Collective.

    Parameters
    ----------
    quarks, operators
        The flavours by name.
    """
    first = lightest(quarks)
    own = set_up(table, operators[first])
    return {flavour: own if flavour == first else own.at(M) for flavour, M in operators.items()}


def lightest(quarks: Mapping[str, MeasuredQuark]) -> str:
    """Return the flavour with the largest |kappa|, or of several such the first."""
    return min(quarks, key=lambda flavour: _diagonal(quarks[flavour]))


def set_up_in_words(made: Multigrid) -> str:
    """Return a line on a set-up: its levels, vectors, memory and seconds."""
    shapes = ["x".join(map(str, extents)) for extents in (made.block, made.coarse_lattice)]
    return (
        f"multigrid of {made.levels} levels with {made.vectors} vectors on blocks of {shapes[0]}, coarse "
        f"lattice {shapes[1]}, smoother {made.smoother}, {made.bytes / 2**20:.0f} MiB a rank, set up in "
        f"{made.seconds:.2f} s"
    )


def report_in_words(made: Multigrid) -> str:
    """Return the levels and the set-up as `print` shows them, and what the cycles of all solves took here."""
    seconds = dict(made._core.profile)
    cycles, columns = int(seconds.pop("cycles")), seconds.pop("columns")
    if not cycles:
        return str(made)
    parts = ", ".join(f"{name} {s:.3g} s" for name, s in sorted(seconds.items()))
    return f"{made}\n{cycles} cycles of {columns / cycles:.2g} right-hand sides: {parts}"


def _diagonal(quark: MeasuredQuark) -> float:
    assert not isinstance(quark, MeasuredDomainWall)  # run files refuse others
    return abs(quark.diagonal(quark.bare_mass)[0])
