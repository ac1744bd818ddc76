"""This module looks at a measurement: finished configurations, sources of the one in hand, and the lock."""

from __future__ import annotations

import json
import math
import re
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..analysis.readers.hdf5_files import open_hdf5
from ..analysis.readers.root_attributes import numbers_of, text_of
from ..analysis.records.errors import MeasurementFileError
from ..ground.errors import RunFileError
from ..run_files import MeasureRun
from ..run_files.loading import parse_run_file
from . import alarms
from .locks import look_at_lock
from .settled import age_of, settled, stamp_of
from .stream import state_of, time_left
from .view_model import Curve, Listing, Picture, Watched

_RESULT = re.compile(r"^correlators\.(\d+)\.h5$")
_UNFINISHED = re.compile(r"^correlators\.(\d+)\.unfinished$")
#: This many of the newest results are read; the table lists so many.
_MOST_READ, _MOST_LISTED = 200, 12


@dataclass(frozen=True)
class Solves:
    """These are the solves of one configuration."""

    number: int
    iterations: list[float]
    residuals: list[float]
    seconds: list[float]
    gflops: list[float]
    solver: str = ""
    run_file: str = ""


class MeasurementFolder:
    """This is a folder of results; a file is read once, since it gets its name when it is whole."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._known: dict[Path, tuple[Any, Solves | str]] = {}

    def look(self, run_file: str = "") -> Watched:
        """Return what there is to see.

        Parameters
        ----------
        run_file
            The text of the run file, where the watcher has it; else that of the results.
        """
        results = _numbered(self.folder, _RESULT)
        begun = _numbered(self.folder, _UNFINISHED)
        read = [self._read(number, path) for number, path in results[-_MOST_READ:]]
        solves = [r for r in read if isinstance(r, Solves)]
        damage = [r for r in read if isinstance(r, str)]
        lock = look_at_lock(self.folder, "measure")
        found = Watched("measure", f"measure in {self.folder}", unit="configurations")
        found.completed = len(results)
        done = {number for number, _ in results}
        asked = done | set(lock.numbers)
        found.total = len(asked) if lock.numbers else None
        found.age = age_of(*(path for _, path in [*results[-1:], *begun]))
        run = _run(run_file or (solves[-1].run_file if solves else ""))
        found.state = state_of(lock, len(results), found.total, is_begun=bool(results or begun))
        if not lock.is_held and not lock.is_left and results and not begun:
            found.state = "finished"
        pace = _pace(results)
        found.seconds_left = time_left(found, pace, found.age)
        in_hand = _sources_in_hand(begun, run)
        _add_facts(found, solves, pace, in_hand, lock.holders)
        found.pictures, found.listings = _pictures(solves, run), _listings(solves)
        found.alarms += [f"damaged: {text}" for text in damage]
        if found.state == "killed":
            found.alarms.append(
                f"killed: the run ended after {len(results)} configurations without a word; --resume goes on"
            )
        values = [r for s in solves for r in s.residuals]
        found.alarms += alarms.residuals(values, None if run is None else run.solver.tolerance)
        if found.state != "finished":
            each = max((path.stat().st_size for _, path in results[-1:] if path.exists()), default=0)
            left = None if found.total is None else found.total - len(results)
            found.alarms += alarms.disk(self.folder, each, left)
        if found.state == "running":
            found.alarms += alarms.silence(found.age, pace)
        return found

    def _read(self, number: int, path: Path) -> Solves | str:
        """Return the solves of a result, or what is wrong with its file."""
        stamp = stamp_of(path)
        known = self._known.get(path)
        if known is None or known[0] != stamp:
            try:
                known = (stamp, _read_solves(number, path))
            except (OSError, KeyError, ValueError, MeasurementFileError) as error:
                known = (stamp, str(error) if str(path) in str(error) else f"{path}: {error}")
            self._known[path] = known
        return known[1]


def _read_solves(number: int, path: Path) -> Solves:
    with open_hdf5(path) as file:
        run_file = text_of(file.attrs.get("run_file")) or ""
        if "solves" not in file:
            return Solves(number, [], [], [], [], run_file=run_file)
        group = file["solves"]

        def row(name: str) -> list[float]:
            return [float(x) for x in np.ravel(numbers_of(path, group[name]))]

        def attribute(name: str) -> list[float]:
            return [float(x) for x in np.ravel(group.attrs.get(name, []))]

        solver = text_of(group.attrs.get("solver")) or ""
        return Solves(
            number, row("iterations"), row("relative_residual"), attribute("seconds"), attribute("gflops"),
            solver, run_file,
        )  # fmt: skip


def _numbered(folder: Path, pattern: re.Pattern[str]) -> list[tuple[int, Path]]:
    matches = ((pattern.match(path.name), path) for path in folder.iterdir()) if folder.is_dir() else ()
    return sorted((int(m[1]), path) for m, path in matches if m)


def _run(text: str) -> MeasureRun | None:
    try:
        return parse_run_file(text, MeasureRun) if text else None
    except RunFileError:  # it is of another version
        return None


def _pace(results: Sequence[tuple[int, Path]]) -> float | None:
    """Return the seconds between two results, by the newest ones; a break between two runs is left out."""
    times = sorted(path.stat().st_mtime for _, path in results[-_MOST_LISTED:] if path.exists())
    steps = np.diff(times)
    return float(np.median(steps)) or None if len(steps) else None


def _sources_in_hand(begun: Sequence[tuple[int, Path]], run: MeasureRun | None) -> list[str]:
    """Return a text for each configuration of which some sources are done."""
    said = []
    for number, path in begun:
        count = settled(lambda path=path: _count_sources(path), None)  # type: ignore[misc]
        if count is not None:
            of = "" if run is None else f" of {run.source.count}"
            said.append(f"{count}{of} sources of configuration {number}")
    return said


def _count_sources(path: Path) -> int | None:
    try:
        with np.load(path, allow_pickle=False) as archive:
            return len(json.loads(str(archive["about"]))["reports"])
    except FileNotFoundError:  # the run has just finished the configuration
        return None
    except (OSError, KeyError, zipfile.BadZipFile) as error:
        raise ValueError(str(error)) from error


def _add_facts(
    found: Watched,
    solves: Sequence[Solves],
    pace: float | None,
    in_hand: Sequence[str],
    holders: Sequence[str],
) -> None:
    found.facts += [("in hand", text) for text in in_hand]
    newest = next((s for s in reversed(solves) if s.iterations), None)
    if newest is not None:
        found.facts.append(("solver", newest.solver))
        found.facts.append(("iterations", f"{max(newest.iterations):.0f} at most in {newest.number}"))
        found.facts.append(("residual", f"{max(newest.residuals):.2e} at most in {newest.number}"))
        if newest.gflops:
            found.facts.append(("speed", f"{float(np.mean(newest.gflops)):.3g} GF/s"))
    if pace is not None:
        found.facts.append(("seconds each (configurations)", f"{pace:.3g}"))
    found.facts += [("writer", holder) for holder in holders]


def _pictures(solves: Sequence[Solves], run: MeasureRun | None) -> list[Picture]:
    with_solves = [s for s in solves if s.iterations]
    if not with_solves:
        return []
    numbers = [float(s.number) for s in with_solves]
    tolerance = None if run is None else run.solver.tolerance
    look: dict[str, Any] = {"horizontal": "configuration", "marks": True}
    found = [
        Picture(
            "Iterations, the most of a configuration",
            [Curve.of("iterations", numbers, [max(s.iterations) for s in with_solves])],
            **look,
        ),
        Picture(
            "True residual, the largest of a configuration",
            [Curve.of("residual", numbers, [max(s.residuals) for s in with_solves])],
            is_logarithmic=True,
            level=tolerance,
            **look,
        ),
    ]
    timed = [(n, sum(s.seconds)) for n, s in zip(numbers, with_solves, strict=True) if s.seconds]
    if timed:
        curve = Curve.of("seconds", [n for n, _ in timed], [t for _, t in timed])
        found.append(Picture("Seconds of the solves of a configuration", [curve], **look))
    return found


def _listings(solves: Sequence[Solves]) -> list[Listing]:
    rows = []
    for s in list(solves)[-_MOST_LISTED:][::-1]:
        largest = max((r for r in s.residuals if math.isfinite(r)), default=math.nan)
        rows.append(
            [
                str(s.number),
                str(len(s.iterations)),
                f"{max(s.iterations, default=0):.0f}",
                f"{largest:.2e}",
                f"{sum(s.seconds):.3g}" if s.seconds else "–",
            ]
        )
    columns = ["configuration", "solves", "iterations", "residual", "seconds"]
    return [Listing("Newest configurations", columns, rows)] if rows else []
