"""Correlators of other programs, entry by entry, become one array for each name."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..records.errors import MeasurementFileError
from ..records.limits import NAME_IN_WORDS, RANGE_IN_WORDS, in_range, is_file_name
from ..records.measurements import CorrelatorData, Measurements
from ..records.numbering import numbers_in_streams

Momentum = tuple[int, int, int]
Extents = tuple[int, int, int, int]


@dataclass(frozen=True)
class Entry:
    """This is one correlator of one source: complex or real values [time], with t = 0 at the source.

    Attributes
    ----------
    number, stream
        The configuration has them; the name is empty where there is one stream.
    attributes
        The attributes of a dataset of a measurement file; `type` and `boundary_t` are among them.
    extents
        The lattice, where the file says it.
    quarks
        Words for how the quarks were made, where the file says it; they are the same for a name.
    source
        The number of the source, where files say it: a configuration has each once.
    """

    path: Path
    number: int
    name: str
    values: NDArray
    attributes: dict
    momentum: Momentum = (0, 0, 0)
    stream: str = ""
    extents: Extents | None = None
    quarks: str = ""
    source: int | None = None

    @property
    def configuration(self) -> str:
        """Return the words for its configuration in messages."""
        return f"configuration {self.number}" + (f" of stream {self.stream}" if self.stream else "")


@dataclass
class _Sources:
    """These are the sources of one correlator on one configuration."""

    path: Path
    values: list[NDArray] = field(default_factory=list)
    numbered: dict[int, Path] = field(default_factory=dict)

    def add(self, entry: Entry) -> None:
        """Add a source; one that is there already is refused, and so is one that may be something else."""
        if entry.source is None and entry.path.parent != self.path.parent:
            raise MeasurementFileError(
                entry.path,
                entry.name,
                expected="all sources of a configuration in one folder (streams of an ensemble need their "
                "names by the option stream, and other quarks need other names or an analysis of their own)",
                found=f"{entry.configuration} in {self.path}, too",
            )
        if entry.source is not None:
            before = self.numbered.get(entry.source)
            if before is not None:
                raise MeasurementFileError(
                    entry.path,
                    entry.name,
                    expected="each source of a configuration once (streams of an ensemble need their names)",
                    found=f"source {entry.source} of {entry.configuration} again (also in {before})",
                )
            self.numbered[entry.source] = entry.path
        self.values.append(entry.values)


def put_together(entries: Iterable[Entry], result: Measurements) -> None:
    """Fill in correlators and configurations of `result`; several entries of a configuration are its sources.

    Raises
    ------
    MeasurementFileError
        A configuration lacks a correlator that others have, times or quarks are unequal, or numbers are not
        finite.
    """
    found: dict[tuple[str, Momentum], dict[tuple[str, int], _Sources]] = {}
    attributes: dict[str, dict] = {}
    quarks: dict[str, tuple[str, Path]] = {}
    lattice: Extents | None = None
    extent: int | None = None
    for entry in entries:
        _require_numbers(entry)
        extent = len(entry.values) if extent is None else extent
        if len(entry.values) != extent:
            expected = f"{extent} times, as in the correlators before"
            found_here = f"{len(entry.values)} on {entry.configuration}"
            raise MeasurementFileError(entry.path, entry.name, expected=expected, found=found_here)
        lattice = _same_lattice(entry, lattice, extent)
        _require_same_quarks(entry, quarks)
        attributes.setdefault(entry.name, entry.attributes)
        rows = found.setdefault((entry.name, entry.momentum), {})
        rows.setdefault((entry.stream, entry.number), _Sources(entry.path)).add(entry)
    if extent is None:
        return
    every = sorted({key for rows in found.values() for key in rows})
    _require_all(found, every)
    streams, numbers = [stream for stream, _ in every], np.array([n for _, n in every], dtype=np.int64)
    result.configurations = numbers_in_streams(streams, numbers) if any(streams) else numbers
    result.lattice = result.lattice or lattice or (0, 0, 0, extent)
    for name, own in attributes.items():
        momenta = sorted((m for n, m in found if n == name), key=lambda m: (sum(k * k for k in m), m))
        values = np.array(
            [[np.mean(found[name, m][key].values, axis=0) for m in momenta] for key in every], dtype=complex
        )
        counts = np.array([len(found[name, momenta[0]][key].values) for key in every])
        result.correlators[name] = CorrelatorData(name, values, np.array(momenta), counts, own)


def _same_lattice(entry: Entry, before: Extents | None, extent: int) -> Extents | None:
    """Return the lattice of all entries up to this one, where a file said it."""
    found = entry.extents
    if found is None:
        return before
    if found[3] != extent or (before is not None and found != before):
        expected = f"{extent} times" if before is None else f"the lattice {list(before)} of the files before"
        raise MeasurementFileError(entry.path, "lattice", expected=expected, found=list(found))
    return found


def _require_same_quarks(entry: Entry, known: dict[str, tuple[str, Path]]) -> None:
    words, first = known.setdefault(entry.name, (entry.quarks, entry.path))
    if words != entry.quarks:
        pairs = zip(words.split(), entry.quarks.split(), strict=False)
        expected, found = next(((a, b) for a, b in pairs if a != b), (words, entry.quarks))
        raise MeasurementFileError(
            entry.path, f"quarks of {entry.name}", expected=f"{expected}, as in {first}", found=found
        )


def _require_numbers(entry: Entry) -> None:
    if not is_file_name(entry.name):
        raise MeasurementFileError(
            entry.path, "names of correlators", expected=NAME_IN_WORDS, found=repr(entry.name)
        )
    if abs(entry.number) >= 1 << 63:
        expected = "the number of a configuration of 64 bits"
        raise MeasurementFileError(entry.path, entry.name, expected=expected, found=entry.number)
    wrong = np.flatnonzero(~np.isfinite(entry.values))
    if len(entry.values) < 2 or len(wrong) or not in_range(entry.values):
        found = f"{len(entry.values)} of them"
        if len(wrong):
            found += f", {len(wrong)} not finite, the first at t = {wrong[0]}"
        elif len(entry.values) > 1:
            found += f", the largest {np.abs(entry.values).max():.1e}"
        raise MeasurementFileError(
            entry.path,
            entry.name,
            expected=f"finite numbers at two times or more, {RANGE_IN_WORDS}",
            found=f"{found}, on {entry.configuration}",
        )


def _require_all(
    found: dict[tuple[str, Momentum], dict[tuple[str, int], _Sources]], every: list[tuple[str, int]]
) -> None:
    for (name, momentum), rows in found.items():
        lacking = [key for key in every if key not in rows]
        if lacking:
            stream, number = lacking[0]
            of = f" of stream {stream}" if stream else ""
            raise MeasurementFileError(
                _file_of(lacking[0], found),
                f"{name} at momentum {list(momentum)}",
                expected=f"it on all {len(every)} configurations",
                found=f"none on {len(lacking)} of them, the first {number}{of}",
            )


def _file_of(
    key: tuple[str, int], found: dict[tuple[str, Momentum], dict[tuple[str, int], _Sources]]
) -> Path:
    """Return a file that has other correlators of this configuration."""
    return next(rows[key].path for rows in found.values() if key in rows)
