"""This module has the files of a run: glass.h5 with the observables, and the last two checkpoints.

Both have the same tables; a checkpoint has the spins besides. Random numbers have no state (they are keyed by
seed, step and site), so that the spins, the tables and the number of the step are all that a run needs to
go on with the same bits.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ..ground.compiled_core import load
from ..ground.crash_safe_files import sync_folder
from ..ground.errors import BadArgument, ChecksumError, FileError
from ..ground.parallel import broadcast, rank
from ..ground.provenance import write_root_attributes
from ..run_files import GlassRun
from .observables import NAMES, LogarithmicBins
from .walkers import Walkers

RESULTS = "glass.h5"
_CHECKPOINT = re.compile(r"^checkpoint\.(\d{10})\.h5$")
_KEPT = 2
_INTEGERS = ("proposed", "accepted", "walker", "heading", "round_trips")


def checkpoints(folder: Path) -> list[tuple[int, Path]]:
    """Return the numbers and paths of the checkpoints, ascending. This is not collective."""
    if not folder.is_dir():
        return []
    matches = ((_CHECKPOINT.match(path.name), path) for path in folder.iterdir())
    return sorted((int(m[1]), path) for m, path in matches if m)


def physics_of(run: GlassRun) -> str:
    """Return what decides the bits of a run, as one text; those of a resumed run must be the same."""
    tables = run.model_dump(mode="json", include={"lattice", "couplings", "spins", "random"})
    steps = {
        "over_relaxation": run.over_relaxation,
        "exchange_every": run.steps.exchange_every,
        "measure_every": run.steps.measure_every,
    }
    return repr({**tables, "steps": steps})


def write_results(
    path: Path, run: GlassRun, text: str, step: int, bins: LogarithmicBins, walkers: Walkers
) -> None:
    """Write the tables as a whole. Collective."""
    file = load().Hdf5File.create(str(path))
    _write_tables(file.root(), run, text, step, bins, walkers)
    file.commit()


def write_checkpoint(
    folder: Path, run: GlassRun, text: str, step: int, bins: LogarithmicBins, walkers: Walkers, core: Any
) -> None:
    """Write spins and tables, and remove all checkpoints but the last two. Collective."""
    file = load().Hdf5File.create(str(folder / f"checkpoint.{step:010d}.h5"))
    root = file.root()
    _write_tables(root, run, text, step, bins, walkers)
    spins = root.make_group("spins")
    for slot in range(core.slots):
        core.write_hdf5(spins, slot)
    file.commit()
    if rank() == 0:
        old = checkpoints(folder)[:-_KEPT]
        for _, path in old:
            path.unlink()
        if old:
            sync_folder(folder)
    load().barrier()


def _write_tables(
    root: Any, run: GlassRun, text: str, step: int, bins: LogarithmicBins, walkers: Walkers
) -> None:
    write_root_attributes(root, "spin_glass", text, run.extents)
    root.set_text("couplings", run.couplings.type)
    root.set_text("physics", physics_of(run))
    root.set_integer("seed", run.random.seed)
    root.set_integer("step", step)
    root.set_integer("replicas", run.spins.replicas)
    root.write_float64("temperatures", np.array(run.spins.temperatures, dtype=np.float64))
    group = root.make_group("bins")
    group.write_int64("counts", np.array(bins.counts or [0], dtype=np.int64))
    for number, name in enumerate(NAMES):
        sums = [of_bin[number] for of_bin in bins.sums] or [np.zeros((*walkers.walker.shape[:1], 1))]
        group.write_float64(name, np.ascontiguousarray(sums, dtype=np.float64))
    exchanges = root.make_group("exchanges")
    for name in _INTEGERS:
        values = getattr(walkers, name)
        if values.size:
            exchanges.write_int64(name, np.ascontiguousarray(values))


def load_last_checkpoint(
    folder: Path,
    run: GlassRun,
    bins: LogarithmicBins,
    walkers: Walkers,
    core: Any,
    warn: Callable[[str], None],
) -> int | None:
    """Fill spins and tables from the newest sound checkpoint, and return its step; None without any.

    Collective.

    Damaged ones are skipped with a warning.

    Raises
    ------
    BadArgument
        The checkpoint is of a run with other physics.
    FileError
        There are checkpoints, and all of them are damaged.
    """
    known = broadcast(checkpoints(folder))
    for step, path in reversed(known):
        try:
            _read(path, step, run, bins, walkers, core)
        except (FileError, ChecksumError) as error:
            warn(f"{path.name} is skipped: {error}")
            continue
        return step
    if known:
        raise FileError(
            f"{folder}: expected a checkpoint to go on from, found {len(known)} that are all damaged; "
            f"put one of "
            "them right, or choose another folder (nothing was changed)"
        )
    return None


def _read(path: Path, step: int, run: GlassRun, bins: LogarithmicBins, walkers: Walkers, core: Any) -> None:
    file = load().Hdf5File.open(str(path))
    root = file.root()
    if root.text("physics") != physics_of(run):
        raise BadArgument(
            f"{path}: is of a run with other couplings, temperatures, steps or seed: expected "
            f"{physics_of(run)}, found {root.text('physics')}; a changed run needs another folder"
        )
    if root.integers("step") != [step]:
        raise FileError(f"{path}: step: expected {step}, found {root.integers('step')}")
    group = root.group("bins")
    counts = [int(count) for count in group.read_int64("counts")]
    sums = np.stack([group.read_float64(name) for name in NAMES], axis=1)
    exchanges = root.group("exchanges")
    found = {name: exchanges.read_int64(name) for name in _INTEGERS if getattr(walkers, name).size}
    spins = root.group("spins")
    for slot in range(core.slots):
        core.read_hdf5(spins, slot)
    if sum(counts):
        bins.counts, bins.sums = counts, list(sums)
    for name, values in found.items():
        setattr(walkers, name, values.reshape(getattr(walkers, name).shape))
