"""This module has the configurations of a run, all of one lattice, and says whether results were measured on
the files of now."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..gauge.field_files import read_with_report
from ..gauge.fields import GaugeField
from ..ground.compiled_core import load
from ..ground.errors import BadArgument, FileError
from ..ground.parallel import on_root
from ..run_files import MeasureRun
from ..run_files.measure import ConfigurationsTable

_ROUNDING = 1e-12  # it is relative, for the mean plaquette: another compiler sums the same links


@dataclass(frozen=True)
class FileStamp:
    """It has size in bytes and time of the last change: they show without reading that a file did not
    change."""

    bytes: int
    modified_ns: int

    @classmethod
    def of(cls, path: str) -> FileStamp:
        """Return the stamp of a file as it is now. Collective."""
        status = on_root(Path(path).stat)
        return cls(status.st_size, status.st_mtime_ns)


@dataclass(frozen=True)
class Content:
    """It has checksums of a configuration's file and the plaquette; they tell its links from others."""

    checksums: dict[str, str]
    plaquette: float

    @classmethod
    def of(cls, U: GaugeField) -> Content:
        """Return the content of links that were read from a file. Collective."""
        assert U.report is not None
        return cls({c["kind"]: f"{c['computed']:08x}" for c in U.report.checksums}, U.plaquette)

    def difference(self, U: GaugeField) -> str:
        """Return "expected ..., found ..." if the links differ from these, else "". Collective."""
        now = Content.of(U)
        common = sorted(self.checksums.keys() & now.checksums.keys())
        if any(self.checksums[kind] != now.checksums[kind] for kind in common):
            return (
                f"expected {' '.join(f'{kind}={self.checksums[kind]}' for kind in common)}, "
                f"found {' '.join(f'{kind}={now.checksums[kind]}' for kind in common)}"
            )
        if not common and not abs(now.plaquette - self.plaquette) <= _ROUNDING * abs(self.plaquette):
            return f"expected the plaquette {self.plaquette!r}, found {now.plaquette!r}"
        return ""


def require_one_lattice(found: Iterable[tuple[int, str]], table: ConfigurationsTable) -> tuple[int, ...]:
    """Return the lattice of all configurations, as their headers and sizes state it; no links are read.

    Collective.

    Raises
    ------
    BadArgument
        Files are no configurations, are cut off, or have another lattice than most; all are named.
    """
    lattices: dict[str, tuple[int, ...]] = {}
    problems: list[str] = []
    for _, path in found:
        try:
            lattices[path] = tuple(load().probe_gauge_file(path, table.lattice).lattice)
        except FileError as error:
            said = str(error)
            problems.append(said if path in said else f"{path}: {said}")
    usual = Counter(lattices.values()).most_common(1)[0][0] if lattices else ()
    problems += [
        f"{path} has the lattice {list(lattice)}: expected that of the others, {list(usual)}"
        for path, lattice in lattices.items()
        if lattice != usual
    ]
    if len(problems) == 1:
        raise BadArgument(f"configurations.files: {problems[0]}")
    if problems:
        listed = "".join(f"\n  {problem}" for problem in problems)
        raise BadArgument(f"configurations.files: {len(problems)} files cannot be measured:{listed}")
    return usual


def write_input(root: Any, path: str, stamp: FileStamp, U: GaugeField) -> None:
    """Write the attributes of a result about the configuration's file and its content. Collective.

    Parameters
    ----------
    root
        Group of the compiled part's HDF5.
    stamp
        It is from before the file was read: one that is replaced meanwhile is not taken for this one.
    """
    root.set_text("input_file", path)
    root.set_integer("input_bytes", stamp.bytes)
    root.set_integer("input_modified_ns", stamp.modified_ns)
    content = Content.of(U)
    root.set_text("input_checksum", " ".join(f"{kind}={sum}" for kind, sum in content.checksums.items()))
    root.set_real("plaquette", content.plaquette)


def require_same_inputs(
    results: Iterable[tuple[Path, str]], run: MeasureRun, say: Callable[[str], None]
) -> None:
    """Refuse to go on beside results of configurations that were replaced since. Collective.

    A file of the recorded name, size and time of change is taken for what it was; any other is read, and its
    checksums (where the format has none, or another kind, its plaquette) have to be those of the result.

    Parameters
    ----------
    results
        Each result file with the configuration that has its number now.
    say
        Gets a line about each file that had to be read.

    Raises
    ------
    BadArgument
        Some of them were replaced: the message names the first, with what was expected and found.
    FileError, ChecksumError
        A result without these attributes; a configuration that is damaged.
    """
    changed: list[tuple[Path, str, str]] = []
    for result, path in results:
        root = load().Hdf5File.open(str(result)).root()
        if _has_stamp(root, path, FileStamp.of(path)):
            continue
        U = read_with_report(path, grid=run.machine.grid, lattice=run.configurations.lattice)
        difference = _content(root).difference(U)
        if difference:
            changed.append((result, path, difference))
        else:
            say(f"{path} has another name or date than when {result.name} was measured, and the same content")
    if not changed:
        return
    result, path, difference = changed[0]
    others = ", ".join(path for _, path, _ in changed[1:])
    also = f" (the same holds for {others})" if others else ""
    raise BadArgument(
        f"{path} was replaced since {result} was measured on it: {difference}{also}; put the old "
        "configuration back, or remove the result to measure the new one, or choose another folder"
    )


def _has_stamp(root: Any, path: str, now: FileStamp) -> bool:
    """Return True if the result names this file as it is now; older results have no sizes and dates."""
    names = ("input_bytes", "input_modified_ns")
    if root.text("input_file") != path or not all(map(root.has_attribute, names)):
        return False
    return [*root.integers(names[0]), *root.integers(names[1])] == [now.bytes, now.modified_ns]


def _content(root: Any) -> Content:
    """Read the checksums and the plaquette of a result's configuration."""
    parts = (part.partition("=") for part in root.text("input_checksum").split())
    return Content({kind: sum for kind, _, sum in parts}, *root.reals("plaquette"))
