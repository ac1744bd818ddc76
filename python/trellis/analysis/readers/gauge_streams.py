"""Several files stream.h5 are pieces of one chain, or streams of one ensemble: their run files tell which.

A chain is what [random] and [start] of its run file make: the random numbers of a run depend on nothing else.
Files with equal tables are of one chain. Files with others are streams (replicas), whose trajectories may
have the same numbers; the action, the quarks, their smearing and the background have to be the same. Streams
are called after what differs between the paths of their files, or as the option stream finds it in them.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable
from pathlib import Path

import h5py

from ...run_files.earlier import translate_record
from ..records.errors import AnalysisError, MeasurementFileError
from ..records.numbering import NAME_LENGTH
from .hdf5_files import open_hdf5
from .numbers_of_files import stream_in_path
from .root_attributes import text_of

GAUGE_STREAM = "gauge_stream"
_OF_CHAIN = ("random", "start")
_OF_PHYSICS = ("action", "smearing", "background")
#: These keys of [[fermions]] are physics; others say how the determinant is made and solved.
_OF_QUARKS = (
    "type", "n_f", "kappa", "mass", "csw", "csw_temporal", "twisted_mass", "nu", "xi0", "b5", "c5", "M5",
    "Ls", "epsilon", "charge_thirds", "boundary", "smearing",
)  # fmt: skip


def names_of_streams(paths: Iterable[Path], pattern: str | None) -> dict[Path, str]:
    """Return the name of the stream of each file of gauge generation; nothing where they are one chain.

    Parameters
    ----------
    paths
        Files of any kind; only those of gauge generation count.
    pattern
        AnalysisOptions.stream.

    Raises
    ------
    MeasurementFileError
        The pattern does not match a path, or a file is of another ensemble than the first one.
    AnalysisError
        Names of streams cannot be made of the paths.
    """
    tables = {path: found for path in paths if (found := _tables(path)) is not None}
    if pattern is not None:
        return {path: stream_in_path(path, pattern) for path in tables}
    chains: dict[str, list[Path]] = {}
    for path, found in tables.items():
        chains.setdefault(_text(found, _OF_CHAIN), []).append(path)
    if len(chains) < 2 or not all(tables.values()):
        return {}
    _require_one_ensemble(tables)
    firsts = [files[0] for files in chains.values()]
    named = dict(zip(chains, _names(firsts), strict=True))
    return {path: named[chain] for chain, files in chains.items() for path in files}


def _tables(path: Path) -> dict | None:
    """Return the tables of the run file of a stream; {} if it has none, None for a file of another kind."""
    try:
        with open_hdf5(path) as file:
            if text_of(file.attrs.get("kind")) != GAUGE_STREAM:
                return None
            return _parsed(file)
    except OSError:  # the reader says what is wrong with it
        return None


def _parsed(file: h5py.File) -> dict:
    try:
        content = tomllib.loads(text_of(file.attrs.get("run_file")) or "")
        return translate_record(content, int(file.attrs.get("run_file_language", 1)))
    except (tomllib.TOMLDecodeError, ValueError, TypeError, AttributeError):  # written by hand, say
        return {}


def _text(tables: dict, names: Iterable[str]) -> str:
    return json.dumps({name: tables.get(name) for name in names}, sort_keys=True, default=str)


def _require_one_ensemble(tables: dict[Path, dict]) -> None:
    first = next(iter(tables))
    reference = _physics(tables[first])
    for path, found in tables.items():
        own = _physics(found)
        for name in reference:
            if own[name] != reference[name]:
                raise MeasurementFileError(
                    path,
                    f"[{name}] of the run file",
                    expected=f"{reference[name]} as in {first}, or one ensemble at a time",
                    found=own[name],
                )


def _physics(tables: dict) -> dict[str, object]:
    quarks = [
        {key: table[key] for key in _OF_QUARKS if key in table}
        for table in tables.get("fermions", [])
        if isinstance(table, dict)
    ]
    found: dict[str, object] = {name: tables.get(name) for name in _OF_PHYSICS}
    return found | {"fermions": sorted(quarks, key=lambda table: json.dumps(table, default=str))}


def _names(paths: list[Path]) -> list[str]:
    """Return the parts of the paths that differ, joined by slashes."""
    parts = [path.absolute().parts for path in paths]
    start, end = 0, 0
    shortest = min(map(len, parts))
    while start < shortest and len({p[start] for p in parts}) == 1:
        start += 1
    while end < shortest - start and len({p[-1 - end] for p in parts}) == 1:
        end += 1
    found = ["/".join(p[start : len(p) - end]) for p in parts]
    if len(set(found)) < len(found) or not all(0 < len(n) <= NAME_LENGTH and "|" not in n for n in found):
        raise AnalysisError(
            "stream: expected a regular expression that finds the names of the streams in "
            f"{', '.join(map(str, paths))}, for their folders give none"
        )
    return found
