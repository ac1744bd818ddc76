"""This module finds the run that a path names, and looks at it again and again."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..analysis.records.errors import MeasurementFileError
from ..ground.errors import BadArgument, FileError
from ..run_files.loading import load_toml
from .campaign import look_at_campaign
from .glass import RESULTS, GlassLook, look_at_glass, read_results
from .measurement import MeasurementFolder
from .settled import stamp_of
from .stream import STREAM, look_at_stream
from .stream_data import StreamData, read_stream
from .view_model import Watched

#: Only the run files of one kind have these tables.
_TABLES = {
    "campaign": "campaign",
    "trajectories": "generate",
    "sweeps": "generate",
    "molecular_dynamics": "generate",
    "couplings": "glass",
    "spins": "glass",
    "configurations": "measure",
}
#: Only the folders of one kind have these files.
_FILES = {
    "generate": re.compile(r"stream\.h5|generate\.lock|(configuration|checkpoint)\.\d{6,}\.json"),
    "measure": re.compile(r"correlators\.\d+\.(h5|unfinished)|measure\.lock"),
    "glass": re.compile(r"glass\.h5|glass\.lock|checkpoint\.\d{10}\.h5"),
}


@dataclass(frozen=True)
class Target:
    """This is a run that is watched: `file` is its run file, or None where the path
    is a folder of results.
    """

    kind: str
    folder: Path
    file: Path | None = None


def find_target(path: Path) -> Target:
    """Return the run that a path names: a run file, a campaign file, a folder of results, or stream.h5.

    A folder of a run file that is not there yet is that of a run which has not begun.

    Raises
    ------
    BadArgument
        The path is none of these.
    FileError, RunFileError
        There is no such file, or it is not TOML.
    """
    if path.is_dir():
        names = [entry.name for entry in path.iterdir()]
        for kind, pattern in _FILES.items():
            if any(pattern.fullmatch(name) for name in names):
                return Target(kind, path)
        raise BadArgument(
            f"{path}: expected a folder with stream.h5, correlators.*.h5 or glass.h5, found "
            f"{_listed(names)}; of a run that has not begun, give the run file; of a campaign, its file"
        )
    if path.name == STREAM:
        return Target("generate", path.parent)
    if not path.exists():
        raise FileError(f"{path}: there is no such file or folder")
    if path.suffix == ".h5":
        return find_target(path.parent)
    content = load_toml(path)
    kinds = {kind for table, kind in _TABLES.items() if table in content}
    if len(kinds) != 1:
        found = ", ".join(f"[{name}]" for name in content) or "nothing"
        raise BadArgument(
            f"{path}: expected a run file of generate, measure, glass or campaign, found {found}"
        )
    kind = kinds.pop()
    output = content.get("output", {})
    folder = output.get("directory") if isinstance(output, dict) else None
    if kind == "campaign":
        return Target(kind, path.parent, path)
    if not isinstance(folder, str):
        raise BadArgument(f"{path}: expected output.directory, found none")
    return Target(kind, Path(folder), path)


def _listed(names: list[str]) -> str:
    return ", ".join(sorted(names)[:5]) + (", ..." if len(names) > 5 else "") if names else "an empty folder"


class Watcher:
    """A watcher looks at one run; files that have not changed are not read again.

    Parameters
    ----------
    path
        :func:`find_target` takes such a path.
    """

    def __init__(self, path: Path) -> None:
        self.target = find_target(path)
        self._stamp: Any = None
        self._stream, self._glass = StreamData(), GlassLook()
        self._damage = ""
        self._measurement = MeasurementFolder(self.target.folder)
        #: These are the steps of a spin glass and when they were seen, first and last.
        self._seen: list[tuple[float, int]] = []

    def look(self) -> Watched:
        """Return what there is to see now.

        Raises
        ------
        RunFileError, BadArgument
            The file of a campaign is not valid.
        """
        target = self.target
        if target.kind == "campaign":
            assert target.file is not None
            return look_at_campaign(target.file)
        if target.kind == "measure":
            return self._measurement.look(self._text())
        if target.kind == "glass":
            self._glass = self._read(target.folder / RESULTS, read_results, self._glass)
            return look_at_glass(
                target.folder, self._glass, run_file=self._text(), pace=self._step_pace(), damage=self._damage
            )
        self._stream = self._read(target.folder / STREAM, read_stream, self._stream)
        return look_at_stream(target.folder, self._stream, run_file=self._text(), damage=self._damage)

    def _text(self) -> str:
        """Return the text of the run file, which may have gone or be in an editor's hands."""
        try:
            return "" if self.target.file is None else self.target.file.read_text(encoding="utf-8-sig")
        except (OSError, ValueError):
            return ""

    def _read(self, path: Path, read: Callable[[Path], Any], known: Any) -> Any:
        """Return the content of a file that has changed, or what was read before it was damaged."""
        stamp = stamp_of(path)
        if stamp == self._stamp:
            return known
        self._stamp, self._damage = stamp, ""
        if stamp is None:
            return known
        try:
            return read(path)
        except FileNotFoundError:
            self._stamp = None
        except (OSError, KeyError, ValueError, MeasurementFileError) as error:
            self._damage = str(error) if str(path) in str(error) else f"{path}: {error}"
        return known

    def _step_pace(self) -> float | None:
        """Return the seconds of a spin glass's step between its results that this watcher saw."""
        step, now = self._glass.step, time.monotonic()
        if step and (not self._seen or self._seen[-1][1] != step):
            self._seen = [*self._seen[:1], (now, step)]
        if not self._seen:
            return None
        (begin, first), (end, last) = self._seen[0], self._seen[-1]
        return (end - begin) / (last - first) if last > first else None
