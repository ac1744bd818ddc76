"""This module has the folder that `trellis generate` writes: configurations, checkpoints, and the stream of
observables.

A state is a pair of files, NAME.NNNNNN.ildg and NAME.NNNNNN.json; it exists once the second is there, which
is written last. NAME is `configuration` for those that were asked for and `checkpoint` for the others; the
last two states are always kept. Random numbers have no state of their own (they are keyed by seed and sweep),
so that the links and the number of the sweep are all that a run needs to go on with the same bits.
"""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..gauge.field_files import read_with_report
from ..gauge.fields import GaugeField
from ..ground import dataset_checksums
from ..ground.compiled_core import load
from ..ground.crash_safe_files import behind_links, sync_folder, write_json
from ..ground.errors import BadArgument, FileError
from ..ground.parallel import broadcast, rank
from ..ground.provenance import write_root_attributes
from ..run_files.earlier import TRANSLATED, translate_state

STATE_VERSION = 1
_STATE = re.compile(r"^(configuration|checkpoint)\.(\d{6,})\.json$")
_LINKS = re.compile(r"^(configuration|checkpoint)\.(\d{6,})\.ildg$")
_CHECKPOINTS_KEPT = 2
#: Two writes of a stream lie at least so many seconds apart, and so many times as long as a write takes.
_BETWEEN_WRITES, _WRITES_SHARE = 30.0, 20.0


@dataclass(frozen=True)
class State:
    """This is a complete state on disk."""

    kind: str
    sweep: int
    folder: Path

    @property
    def links(self) -> Path:
        """Return the ILDG file."""
        return self.folder / f"{self.kind}.{self.sweep:06d}.ildg"

    @property
    def record(self) -> Path:
        """Return the JSON file."""
        return self.folder / f"{self.kind}.{self.sweep:06d}.json"


def states(folder: Path) -> list[State]:
    """Return the complete states, ascending. This is not collective."""
    if not folder.is_dir():
        return []
    matches = (_STATE.match(path.name) for path in folder.iterdir())
    return sorted((State(m[1], int(m[2]), folder) for m in matches if m), key=lambda s: s.sweep)


def unrecorded_links(folder: Path, above: int, interrupted: int | None) -> list[Path]:
    """Return links without a record that a run would write over, or leave among its own, ascending.

    This is not collective.

    Parameters
    ----------
    above
        The state that the run goes on from; 0: none.
    interrupted
        The last state of which the stream that was found beside that state knows. It is written before
        the links: those of this number are what an interrupted save of this run left, and the run makes
        the same bits again.
    """
    recorded = {state.links.name for state in states(folder)}
    matches = (_LINKS.match(path.name) for path in folder.iterdir() if path.name not in recorded)
    numbers = sorted((int(m[2]), m[0]) for m in matches if m)
    return [folder / name for number, name in numbers if number > above and number != interrupted]


def save_state(state: State, U: GaugeField, content: dict[str, Any]) -> None:
    """Write links, then the record, then remove what is no longer needed. Collective.

    Parameters
    ----------
    content
        JSON values: what has to agree when the run is resumed, and what a person may want to know.
    """
    U.write(state.links, "ildg")
    plaquette = U.plaquette
    if rank() == 0:
        record = {"state_version": STATE_VERSION, "sweep": state.sweep, "plaquette": plaquette, **content}
        write_json(state.record, record)
        _remove_old_checkpoints(state.folder)
    load().barrier()


def _remove_old_checkpoints(folder: Path) -> None:
    """Keep the last two states; of what is removed the record goes first."""
    checkpoints = [s for s in states(folder)[:-_CHECKPOINTS_KEPT] if s.kind == "checkpoint"]
    for old in checkpoints:
        old.record.unlink()
        old.links.unlink(missing_ok=True)
    if checkpoints:
        sync_folder(folder)


def load_last_state(
    folder: Path,
    grid: tuple[int, ...] | None,
    warn: Callable[[str], None],
    notice: Callable[[str], None] = lambda _: None,
) -> tuple[State, GaugeField, dict[str, Any]] | None:
    """Return the newest state that is sound, or None where there are no states at all. Collective.

    Damaged ones are skipped with a warning. A notice says where the words of the record are of an earlier
    language.

    Raises
    ------
    FileError
        There are states, and all of them are damaged: starting anew would overwrite them.
    """
    known = broadcast(states(folder))
    for state in reversed(known):
        try:
            record = broadcast(_read_record(state))
            if isinstance(record, str):
                raise FileError(record)
            U = read_with_report(state.links, grid=grid)
            assert U.report is not None
            for text in U.report.warnings:
                warn(f"{state.links}: {text}")
            found = U.plaquette
            if found != record["plaquette"]:
                raise FileError(
                    f"{state.links}: plaquette: expected {record['plaquette']!r}, found {found!r}"
                )
        except FileError as error:
            warn(f"{state.record.name} is skipped: {error}")
            continue
        translated = translate_state(record)
        if translated != record:
            notice(f"{state.record}: {TRANSLATED}")
        return state, U, translated
    if known:
        raise FileError(
            f"{folder}: expected a state to go on from, found {len(known)} that are all damaged; put one of "
            "them right, or choose another folder (nothing was changed)"
        )
    return None


def _read_record(state: State) -> dict[str, Any] | str:
    """Return the content of the JSON file, or what is wrong with it."""
    try:
        record = json.loads(state.record.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        return f"{state.record}: {error}"
    if not isinstance(record, dict) or record.get("state_version") != STATE_VERSION:
        return f"{state.record}: expected state_version {STATE_VERSION}"
    return record


class Stream:
    """It has the observables after every sweep, kept in memory and written to stream.h5 as a whole.

    Beside the observables (group /observables) there may be /work: PART.flops and PART.bytes (of all ranks),
    and PART.roof_seconds, what the machine that did it would take if nothing but its peak or its memory
    counted; /observables has the seconds that were taken as seconds.PART.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.sweeps: list[int] = []
        self.values: dict[str, list[float | complex]] = {}
        self.work: dict[str, list[float | complex]] = {}
        self.occasional: dict[str, tuple[list[int], list[Any]]] = {}
        self.axes: dict[str, list[float]] = {}
        self.last_state: int | None = None  #: the file which was read was written for this state
        self._due_at = -math.inf  # it is a time by the clock of rank 0

    def append(
        self,
        sweep: int,
        values: Mapping[str, float | complex],
        work: Mapping[str, float | complex] | None = None,
    ) -> None:
        """Add the observables of one sweep, and the work that it was; NaN where a series has no value."""
        for series, new in ((self.values, values), (self.work, work or {})):
            for name in new:  # names come in their order, which is that of all ranks
                series.setdefault(name, [math.nan] * len(self.sweeps))
            for name, known in series.items():
                known.append(new.get(name, math.nan))
        self.sweeps.append(sweep)

    def append_occasional(self, number: int, values: dict[str, Any]) -> None:
        """Add what is not measured every time: each series has numbers of its own.

        Raises
        ------
        BadArgument
            An array that has not the shape of those before: [measure] was changed during the run.
        """
        for name, value in values.items():
            numbers, series = self.occasional.setdefault(name, ([], []))
            if series and np.shape(series[-1]) != np.shape(value):
                raise BadArgument(
                    f"{self.path}: {name} was measured with the shape {list(np.shape(series[-1]))} before, "
                    f"and has {list(np.shape(value))} now: a changed [measure] needs another folder"
                )
            numbers.append(number)
            series.append(value)

    def mean(self, name: str, last: int) -> float:
        """Return the mean of an observable over the last `last` sweeps."""
        return float(np.mean(self.values[name][-last:]))

    def read_until(self, sweep: int) -> None:
        """Read the values that an earlier run wrote, up to a sweep. Collective.

        Raises
        ------
        FileError
            The file is missing, cannot be read, is damaged, or lacks some of these sweeps.
        """
        root_file = load().Hdf5File.open(str(self.path))
        root = root_file.root()
        sweeps = dataset_checksums.read(root, "trajectory", f"{self.path}: ", integers=True)
        keep = sweeps <= sweep
        if not np.array_equal(sweeps[keep], np.arange(1, sweep + 1)):
            raise FileError(
                f"{self.path}: expected every sweep from 1 to {sweep}, found {keep.sum()} of them"
            )
        self.sweeps = sweeps[keep].tolist()
        last = int(sweeps[-1]) if len(sweeps) else None  # earlier versions wrote with states alone
        self.last_state = root.integers("last_state")[0] if root.has_attribute("last_state") else last
        group = root.group("observables")
        for name in group.names():
            values = self._read_kept(group, name, "observables", keep)
            if not np.isnan(values).all():  # what came later is made again
                self.values[name] = values.tolist()
        if root.has("work"):
            for name in root.group("work").names():
                self.work[name] = self._read_kept(root.group("work"), name, "work", keep).tolist()
        if not root.has("occasional"):
            return
        for name in root.group("occasional").names():
            series = root.group("occasional").group(name)
            where = f"occasional/{name}"
            numbers = dataset_checksums.read(series, "trajectory", f"{self.path}: /{where}", integers=True)
            values = self._read_kept(series, "value", where, numbers <= sweep)
            if len(values):
                self.occasional[name] = (numbers[numbers <= sweep].tolist(), list(values))

    def _read_kept(self, group: Any, name: str, where: str, keep: np.ndarray) -> np.ndarray:
        """Return the values of a series at the sweeps that are kept."""
        values = dataset_checksums.read(group, name, f"{self.path}: /{where}")
        if len(values) != len(keep):
            raise FileError(f"{self.path}: {name}: expected {len(keep)} values, found {len(values)}")
        return values[keep]

    def is_of(self, run_file: str) -> bool:
        """Return True if the file is of a run with this run file that had not begun to save a state.

        Collective.
        """
        if not broadcast(self.path.exists()):
            return False
        try:
            root = load().Hdf5File.open(str(self.path)).root()
            known = all(root.has_attribute(name) for name in ("run_file", "last_state"))
            return known and root.text("run_file") == run_file and root.integers("last_state") == [0]
        except FileError:
            return False

    def is_due(self) -> bool:
        """Return True if it is time to write the values that were added since the last time. Collective."""
        return broadcast(time.monotonic() >= self._due_at)

    def write(
        self, run_file: str, lattice: tuple[int, ...], attributes: Mapping[str, float | int | str]
    ) -> None:
        """Write the whole stream to a file of another name, and rename that. Collective."""
        begin = time.monotonic()
        file = load().Hdf5File.create(behind_links(self.path))
        root = file.root()
        write_root_attributes(root, "gauge_stream", run_file, lattice)
        for name, value in attributes.items():
            if isinstance(value, str):
                root.set_text(name, value)
            else:
                (root.set_integer if isinstance(value, int) else root.set_real)(name, value)
        dataset_checksums.write(root, "trajectory", np.asarray(self.sweeps, dtype=np.int64))
        group = root.make_group("observables")
        for name, values in self.values.items():
            _write_series(group, name, values)
        if self.work:
            group = root.make_group("work")
            for name, amounts in self.work.items():
                _write_series(group, name, amounts)
        if self.occasional:
            occasional = root.make_group("occasional")
            for name, (numbers, values) in self.occasional.items():
                series = occasional.make_group(name)
                dataset_checksums.write(series, "trajectory", np.asarray(numbers, dtype=np.int64))
                _write_series(series, "value", values)
                if name in self.axes:
                    _write_series(series, "axis", self.axes[name])
        file.commit()
        now = time.monotonic()
        self._due_at = now + max(_BETWEEN_WRITES, _WRITES_SHARE * (now - begin))


def _write_series(group: Any, name: str, values: list[Any]) -> None:
    """Write a series: complex values as complex128, all others as float64."""
    array = np.asarray(values)
    dataset_checksums.write(group, name, array if array.dtype.kind == "c" else array.astype(np.float64))
