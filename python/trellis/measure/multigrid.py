"""This module has the multigrid of a measurement: a configuration has one set-up, which all its quarks and
sources share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ..ground.errors import BadArgument
from ..ground.parallel import on_root
from ..quarks.operators import WilsonClover
from ..run_files import MeasureRun
from ..run_files.measured_quarks import MeasuredQuark
from ..run_files.multigrid import MeasuredMultigridTable, MultigridTable
from ..runs.setup import make_output_folder
from ..solve.choice import forecast_multigrid, multigrid_pays, reason, try_krylov
from ..solve.multigrid import Multigrid, multigrid
from ..solve.multigrid_files import read_multigrid

#: A propagator has so many columns.
_COLUMNS = 12


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


def set_up(table: MultigridTable, M: WilsonClover, *, sources: int) -> Multigrid:
    """Return the multigrid that a run file describes. Collective.

    Blocks and smoother follow from the lattice alone, so that no bit depends on ranks. Sweeps that the table
    leaves open are those that pay for so many right-hand sides.

    Raises
    ------
    BadArgument
        The table does not suit the lattice; the message says what does.
    """
    try:
        return multigrid(M, **_arguments(table, M, sources))
    except BadArgument as error:
        raise BadArgument(f"solver.multigrid: {error}") from error


@dataclass(frozen=True)
class ConfigurationMultigrid:
    """This is the multigrid of a configuration.

    Attributes
    ----------
    of_each
        It has that of each flavour: of the lightest one, and its exact shifts to the others.
    lightest
        It is that of the lightest flavour.
    seconds
        Its set-up took so many now; it is 0 where it was read.
    words
        A line on it.
    """

    of_each: dict[str, Multigrid]
    lightest: Multigrid
    seconds: float
    words: str


@dataclass(frozen=True)
class ChosenFlavours:
    """These are the flavours that multigrid solves, and the reason why.

    Attributes
    ----------
    flavours
        Their names; none where multigrid does not pay.
    words
        A line with the numbers that decided.
    """

    flavours: tuple[str, ...]
    words: str


def flavours_for_multigrid(
    run: MeasureRun, operators: Mapping[str, WilsonClover], *, sources: Mapping[str, int]
) -> ChosenFlavours:
    """Return which flavours of a run of type auto multigrid solves, by counted work. Collective.

    Parameters
    ----------
    sources
        Right-hand sides of each flavour on a configuration.

    Raises
    ------
    BadArgument
        The table does not suit the lattice.
    """
    table, tolerance = run.solver.multigrid, run.solver.tolerance
    assert table is not None  # the caller has such a run
    any_operator = next(iter(operators.values()))
    keys = _arguments(table, any_operator, 1)
    try:
        forecast = forecast_multigrid(any_operator, tolerance=tolerance, **keys)
    except BadArgument as error:
        raise BadArgument(f"solver.multigrid: {error}") from error
    most = forecast.solve + forecast.setup / min(sources.values())
    trials = {flavour: try_krylov(M, tolerance=tolerance, longest=most) for flavour, M in operators.items()}
    solves = [(sources[flavour], trial) for flavour, trial in trials.items()]
    if not multigrid_pays(solves, forecast):
        return ChosenFlavours((), reason(False, solves, forecast))
    chosen = tuple(flavour for flavour, trial in trials.items() if trial.price > forecast.solve)
    words = reason(True, [(sources[flavour], trials[flavour]) for flavour in chosen], forecast)
    others = [flavour for flavour in trials if flavour not in chosen]
    more = f"; bicgstab solves {', '.join(others)}" if others else ""
    return ChosenFlavours(chosen, words + more)


def right_hand_sides(run: MeasureRun, flavours: int) -> int:
    """Return how many right-hand sides of a configuration share a set-up.

    Sequential propagators of three-point functions count as one more flavour.
    """
    solves = flavours + run.feynman_hellmann.count + bool(run.three_point.currents)
    return _COLUMNS * run.source.count * solves


def multigrid_of(
    table: MeasuredMultigridTable,
    quarks: Mapping[str, MeasuredQuark],
    operators: Mapping[str, Any],
    *,
    sources: int,
    name: str,
    run_file: str,
) -> ConfigurationMultigrid:
    """Return the multigrid of a configuration, set up or from `solver.multigrid.directory`. Collective.

    All flavours have the same links, clover term and boundary.

    Parameters
    ----------
    quarks, operators
        The flavours by name.
    sources
        Right-hand sides that share the set-up.
    name
        The file in the directory has this name.
    run_file
        The text of the run file, for provenance.

    Raises
    ------
    BadArgument
        The table does not suit the lattice, or the file has another set-up than that of the run file.
    """
    first = lightest(quarks)
    M = operators[first]
    folder = None if table.directory is None else Path(table.directory)
    path = None if folder is None else folder / name
    if path is not None and on_root(path.exists):
        own = read_multigrid(path, M, coarse_ranks=table.coarse_ranks)
        _require_asked_for(path, own, table, M, sources)
        seconds, how = 0.0, f"read from {path}"
    else:
        if folder is not None:  # an error comes before the set-up
            on_root(lambda: make_output_folder(folder, "solver.multigrid.directory"))
        own = set_up(table, M, sources=sources)
        seconds, how = own.seconds, f"set up in {own.seconds:.2f} s"
        if path is not None:
            own.write(path, run_file=run_file)
            how += f"; kept in {path}"
    of_each = {flavour: own if flavour == first else own.at(M) for flavour, M in operators.items()}
    return ConfigurationMultigrid(of_each, own, seconds, f"{_levels_in_words(own)}, {how}")


def lightest(quarks: Mapping[str, MeasuredQuark]) -> str:
    """Return the flavour with the largest |kappa|, or of several such the first."""
    return min(quarks, key=lambda flavour: _diagonal(quarks[flavour]))


def _levels_in_words(made: Multigrid) -> str:
    block, coarse = ("x".join(map(str, extents)) for extents in (made.block, made.coarse_lattice))
    return (
        f"multigrid of {made.levels} levels with {made.vectors} vectors on blocks of {block}, coarse lattice "
        f"{coarse}, smoother {made.smoother}, {made.bytes / 2**20:.0f} MiB a rank"
    )


def _arguments(table: MultigridTable, M: WilsonClover, sources: int) -> dict[str, Any]:
    """Return the arguments of tr.multigrid, with what the table leaves to the lattice and the run."""
    extents = M.geometry.extents
    return {name: getattr(table, name) for name in MultigridTable.model_fields} | {
        "levels": table.levels_on(extents),
        "block": table.blocks_on(extents),
        "vectors": table.vectors_on(extents),
        "smoother": table.smoother_on(extents),
        "smoothing": table.smoothing_on(extents),
        "sources": sources,
    }


def _require_asked_for(
    path: Path, found: Multigrid, table: MultigridTable, M: WilsonClover, sources: int
) -> None:
    """Refuse a set-up that another run file asked for: the results would have other bits.

    Sweeps that were chosen are those of the number of right-hand sides.
    """
    core = found._core
    asked = _arguments(table, M, sources)
    if table.sweeps is None:
        del asked["sweeps"]
        if sources != core.params.sources:
            raise BadArgument(
                f"{path}: its {found.sweeps} sweeps were not chosen for {sources} right-hand sides, which "
                f"this run has: expected solver.multigrid.sweeps = {found.sweeps} to take it as it is, or "
                "another solver.multigrid.directory"
            )
    del asked["sources"]
    facts = [
        (f"solver.multigrid.{name}", expected, _value(core.params, name))
        for name, expected in asked.items()
        if name != "coarse_ranks"  # it is no property of a set-up
    ]
    facts += [
        (f"the lightest quark's {name}", getattr(M._params, name), value)
        for name, value in zip(("mass", "twisted_mass"), core.built_at, strict=True)
    ]
    for name, expected, value in facts:
        if expected != value:
            raise BadArgument(
                f"{path}: {name}: expected a set-up with {_in_words(expected)}, found {_in_words(value)}: "
                "change the run file, or name another solver.multigrid.directory"
            )


def _in_words(value: Any) -> str:
    """Return a value as run files write it, where a list of one level is that of the level."""
    return repr(value[0] if isinstance(value, list) and len(value) == 1 else value)


def _value(params: Any, name: str) -> Any:
    """Return what a set-up has of an argument of tr.multigrid."""
    if name == "vectors":
        return [params.vectors, *params.coarse_vectors]
    if name == "block":
        return [tuple(block) for block in (params.block, *params.coarse_blocks)]
    if name == "prolongator_storage":
        return "single" if params.prolongator_storage == "float" else params.prolongator_storage
    return getattr(params, name)


def _diagonal(quark: MeasuredQuark) -> float:
    return abs(quark.diagonal(quark.bare_mass)[0])
