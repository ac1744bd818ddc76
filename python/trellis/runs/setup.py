"""This module has the first steps of commands with a run file: they validate it on rank 0, set threads and
check memory."""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel

from ..evolve.ensemble import State, Stream, states, unrecorded_links
from ..gauge.field_files import read_with_report
from ..gauge.fields import GaugeField
from ..gauge.geometry import Geometry
from ..gauge.start_fields import cold, hot, weak_field
from ..ground.arguments import stout_weights
from ..ground.byte_counts import show_bytes
from ..ground.compiled_core import load
from ..ground.crash_safe_files import make_folder
from ..ground.errors import BadArgument, FileError, OutOfMemory
from ..ground.parallel import on_root
from ..ground.stout_limits import why_roughening
from ..ground.tuning import prepare
from ..run_files import load_run_file
from ..run_files.common import MachineTable
from ..run_files.generate import StartTable
from ..run_files.online import MeasureTable
from ..run_files.smearing import SmearingTable
from .reporting import Reporter

Run = TypeVar("Run", bound=BaseModel)


def load_run(path: Path, model: type[Run]) -> tuple[Run, str]:
    """Return the run and the text of its file. Rank 0 reads and validates; all ranks raise what it found."""
    return on_root(lambda: load_run_file(path, model))


def set_threads(machine: MachineTable, output: Reporter) -> None:
    """Set threads, halo exchange, places of ranks and the tuner of the run file, if it names them.

    Collective.

    Threads that outnumber the cores which a rank may use are warned about: they take turns, at several times
    the cost.

    Raises
    ------
    BadArgument
        So many threads that the machine would do little but change between them.
    """
    if machine.threads is not None:
        most = load().most_threads()
        if machine.threads > most:
            raise BadArgument(
                f"machine.threads: expected at most {most} (this machine has {os.cpu_count()} cores), "
                f"found {machine.threads}"
            )
        load().set_thread_count(machine.threads)
    threads, cores = load().thread_count(), load().usable_cores()
    if threads > cores:
        says = "OMP_NUM_THREADS" if machine.threads is None else "machine.threads"
        advice = f"{says} = {cores}"
        if cores < (os.cpu_count() or 1):
            advice += f", or a launcher that leaves each rank {threads} (mpirun --map-by slot:PE={threads})"
        output.warning(
            f"{says}: {threads} threads of each rank share "
            f"{'one core' if cores == 1 else f'{cores} cores'}; better: {advice}"
        )
    if machine.exchange is not None:
        load().set_exchange_policy(machine.exchange)
    set_rank_order(machine)
    prepare(machine.tune, output.warning)


def set_rank_order(machine: MachineTable) -> None:
    """Set the places of ranks on the grids of lattices made from now on, if the run file names them.

    Collective.

    Raises
    ------
    BadArgument
        A list that does not name each rank once.
    """
    order = machine.rank_order
    if order is None:
        return
    if isinstance(order, str):
        load().set_rank_map(order, [])
        return
    ranks = load().size()
    if sorted(order) != list(range(ranks)):
        raise BadArgument(f"machine.rank_order: expected each rank from 0 to {ranks - 1} once, found {order}")
    load().set_rank_map("box", order)


def warn_of_large_rho(key: str, smearing: SmearingTable, output: Reporter) -> None:
    """Warn of stout weights with which smearing roughens the links.

    The smallest weight of a matrix and the mean of a row count.

    Parameters
    ----------
    key
        The table's name in the run file: "smearing".
    """
    if smearing.stout is not None:
        name = f"{key}.stout.rho"
        if said := why_roughening(name, stout_weights(name, smearing.stout.rho)):
            output.warning(said)


def warn_of_valence(measure: MeasureTable | None, output: Reporter) -> None:
    """Warn of legal and odd parameters in the flavours of [[measure.valence]]."""
    for number, flavour in enumerate(measure.valence if measure else []):
        warn_of_large_rho(f"measure.valence.{number}.smearing", flavour.smearing, output)


def make_output_folder(folder: Path, key: str = "output.directory") -> None:
    """Make the output folder, on rank 0 only (:func:`on_root`). `key` names it in messages.

    Raises
    ------
    BadArgument
        The text is no name of a folder.
    FileError
        The folder does not exist and cannot be made, or nothing can be written to it.
    """
    try:
        make_folder(folder)
    except FileError as error:
        raise FileError(f"{key}: {error}") from None
    except ValueError as error:
        raise BadArgument(f"{key}: expected a folder's name, found {str(folder)!r}: {error}") from None
    if not os.access(folder, os.W_OK | os.X_OK):  # the error comes now, and not after the first solves
        raise FileError(f"{key}: {folder}: expected a folder that can be written to")


def require_memory(bytes: float, what: str, machine: MachineTable, output: Reporter) -> None:
    """State what a run needs on each rank and refuse it if that is too much. Collective."""
    core = load()
    needed = core.maximum(float(bytes))
    available = core.minimum(float(core.memory_available()))
    output.line(f"memory: about {show_bytes(needed)} per rank, {show_bytes(available)} available")
    if machine.memory_gib is not None and needed > machine.memory_gib * 2**30:
        raise OutOfMemory(
            f"{what} needs about {show_bytes(needed)} per rank; machine.memory_gib allows "
            f"{machine.memory_gib:g} GiB"
        )
    if needed > available:
        raise OutOfMemory(
            f"{what} needs about {show_bytes(needed)} per rank; {show_bytes(available)} are available"
        )


def require_naik_fits(geometry: Geometry) -> None:
    """Require that the hops of HISQ over three sites reach one neighbour, and no further.

    Raises
    ------
    BadArgument
        Too short where ranks split the lattice; the message has the grids that do.
    """
    if not _is_too_short(geometry.extents, geometry.grid):
        return
    ranks = math.prod(geometry.grid)
    legal = [str(list(grid)) for grid in _grids(geometry.extents, ranks)]
    if legal:
        advice = f"set machine.grid to one of {', '.join(legal[:8])}"
    else:
        counts = ", ".join(str(n) for n in range(1, ranks) if _grids(geometry.extents, n))
        advice = f"no grid of {ranks} ranks does on this lattice; numbers of ranks that do: {counts}"
    raise BadArgument(
        "HISQ: expected local extents of at least 4 where ranks split the lattice (hops over three sites), "
        f"found {'x'.join(map(str, geometry.local_extents))} on the grid {list(geometry.grid)}; {advice}"
    )


def require_blocks_fit(flavour: str, block: Sequence[int], geometry: Geometry) -> None:
    """Require that each rank has whole blocks of multigrid.

    Raises
    ------
    BadArgument
        Some rank cuts a block; the message has the grids that do not.
    """

    def fits(grid: Sequence[int]) -> bool:
        return all(e % (n * b) == 0 for e, n, b in zip(geometry.extents, grid, block, strict=True))

    if fits(geometry.grid):
        return
    ranks = math.prod(geometry.grid)
    legal = [str(list(grid)) for grid in load().legal_process_grids(geometry.extents, ranks) if fits(grid)]
    advice = (
        f"set machine.grid to one of {', '.join(legal[:8])}, or fermions.multigrid.block to smaller ones"
        if legal
        else f"no grid of {ranks} ranks does that; take smaller blocks, other numbers of ranks, or "
        'solver = "cg"'
    )
    raise BadArgument(
        f"fermions {flavour!r}: multigrid needs whole blocks of {'x'.join(map(str, block))} sites on each "
        f"rank, found {'x'.join(map(str, geometry.local_extents))} sites on the grid {list(geometry.grid)}; "
        f"{advice}"
    )


def _is_too_short(extents: tuple[int, ...], grid: tuple[int, ...]) -> bool:
    return any(n > 1 and extent // n < 4 for extent, n in zip(extents, grid, strict=True))


def _grids(extents: tuple[int, ...], ranks: int) -> list[tuple[int, ...]]:
    """Return the legal process grids of so many ranks whose split directions are long enough."""
    grids = map(tuple, load().legal_process_grids(extents, ranks))
    return [grid for grid in grids if not _is_too_short(extents, grid)]


#: Rounding errors in double stay far below, those of files in 32 bits far above.
SMALLEST_VIOLATION = 1e-10


def start_field(
    start: StartTable, geometry: Geometry, seed: int, machine: MachineTable, output: Reporter
) -> GaugeField:
    """Return the links before the first sweep or trajectory, as [start] says. Collective.

    Links that a file of 32 bits has rounded are brought back to SU(3), in which a chain lives.
    What a file has no checksum for is warned about.

    Raises
    ------
    FileError
        The file is no sound configuration, or one of another lattice.
    """
    if start.file is not None:
        return _start_of_file(start.file, geometry, machine, output)
    made: dict[str, Callable[[], GaugeField]] = {
        "cold": lambda: cold(geometry),
        "hot": lambda: hot(geometry, seed=seed),
        "weak": lambda: weak_field(geometry, seed=seed, spread=start.spread),
    }
    return made[start.type]()


def _start_of_file(file: str, geometry: Geometry, machine: MachineTable, output: Reporter) -> GaugeField:
    """Return the links of a file, as :func:`start_field` takes them. Collective."""
    try:
        U = read_with_report(file, grid=machine.grid, lattice=geometry.extents)
    except FileError as error:
        said = f"start.file (lattice.extents = {list(geometry.extents)})"
        raise type(error)(f"{said}: {error}") from error
    assert U.report is not None
    for text in U.report.warnings:
        output.warning(f"{file}: {text}")
    violation = abs(U.loops()["unitarity_violation"])
    if violation < SMALLEST_VIOLATION:
        return U
    output.line(f"{file}: links are in SU(3) to {violation:.1g}; they are reunitarised")
    return U.reunitarised()


def require_lattice(what: str, U: GaugeField, geometry: Geometry) -> None:
    """Require that links which were read have the run file's lattice.

    Raises
    ------
    BadArgument
        They have another one.
    """
    if U.geometry.extents != geometry.extents:
        raise BadArgument(
            f"{what}: expected lattice.extents = {list(geometry.extents)}, found {list(U.geometry.extents)}"
        )


def read_stream(stream: Stream, state: State, seed: str) -> None:
    """Read the observables up to the state that a run goes on from. Collective.

    Parameters
    ----------
    seed
        The name of the run file's key of the seed, for messages.

    Raises
    ------
    FileError
        They cannot be read; the message says what is left, and the ways on.
    """
    try:
        stream.read_until(state.sweep)
    except FileError as error:
        name = stream.path.name
        raise FileError(
            f"{error}\nLost with it are the observables of 1 to {state.sweep}: no other file has them, and "
            f"the run does not go on without them. The links are sound ({state.links}), and nothing was "
            f"changed. If there is a copy of {name}, put it in its place; one that ends before {state.sweep} "
            "needs a state at or before its end: move the later ones away (*.NNNNNN.json and *.NNNNNN.ildg). "
            "Without a copy, begin a new run at these links, with another output.directory, "
            f'start.type = "file", start.file = "{state.links}" and another {seed}'
        ) from error


def set_aside_stream(stream: Stream, run_file: str, output: Reporter) -> None:
    """Keep the observables of a run whose states are gone and that starts anew, under another name.

    Those of a run of the same text that ended before its first state are made again, with the same bits.
    Collective.
    """
    if stream.is_of(run_file):
        output.line(f"{stream.path} is of this run, which had no state yet: it is made again from 1 on")
        return
    kept = on_root(lambda: _renamed(stream.path) if stream.path.exists() else None)
    if kept is not None:
        output.warning(
            f"{stream.path} has observables, but there is no state to go on from: the run starts anew, and "
            f"they are kept as {kept.name}"
        )


def set_aside_damaged(state: State, output: Reporter) -> None:
    """Keep the states that were skipped for this one under other names: they count no longer.

    Collective.
    """

    def rename() -> list[Path]:
        newer = [other for other in states(state.folder) if other.sweep > state.sweep]
        files = [path for other in newer for path in (other.record, other.links) if path.exists()]
        return [_renamed(path) for path in files]

    kept = on_root(rename)
    if kept:
        output.warning(f"{state.folder}: damaged files are kept as {', '.join(path.name for path in kept)}")


def set_aside_links(stream: Stream, above: int, output: Reporter) -> None:
    """Keep links that have no record, where this run would write, under another name. Collective.

    Parameters
    ----------
    above
        The state that the run goes on from; 0: none.
    """
    folder = stream.path.parent
    kept = on_root(
        lambda: [
            _renamed(path) for path in unrecorded_links(folder, above, stream.last_state if above else None)
        ]
    )
    if kept:
        more = f" (and {len(kept) - 1} more)" if len(kept) > 1 else ""
        name = kept[0].with_suffix("")
        output.warning(
            f"{name}{more} has no {name.stem}.json and is no state to go on from; the run makes this number "
            f"anew, and what was there is kept as {kept[0].name}. To go on from it, stop the run, bring the "
            "record back, and rename the file"
        )


def _renamed(path: Path) -> Path:
    """Rename to the first free NAME.before_1, NAME.before_2, ..., and return that."""
    numbers = (path.with_name(f"{path.name}.before_{k}") for k in itertools.count(1))
    free = next(path for path in numbers if not path.exists())
    path.rename(free)
    return free


def gauge_field_bytes(local: tuple[int, ...], grid: tuple[int, ...]) -> int:
    """Return the bytes of a gauge field on a rank: 4 x 18 doubles a site, and a halo of two in split
    directions."""
    sites = 1
    for extent, ranks in zip(local, grid, strict=True):
        sites *= extent + (4 if ranks > 1 else 0)
    return 4 * 18 * 8 * sites
