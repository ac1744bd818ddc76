"""This module has the files that `trellis generate` keeps of a failed solve: the links, and all that
repeating it needs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..gauge.fields import GaugeField
from ..ground.crash_safe_files import write_json
from ..ground.errors import Error, NumericError
from ..ground.parallel import on_root
from ..ground.solve_report import NotConverged
from ..ground.version import __version__

_NAME = re.compile(r"^failed_solve\.(\d{6,})\.(start\.ildg|ildg|json)$")


@contextmanager
def keeping_failed_solves(
    folder: Path,
    number: int,
    U: GaugeField,
    failed: Callable[[], tuple[GaugeField, str]],
    content: Callable[[], dict[str, Any]],
) -> Iterator[None]:
    """Write the links beside the states where something fails, and name the files in the error. Collective.

    Parameters
    ----------
    folder
        It is that of the run.
    number
        The trajectory.
    U
        The links where it begins, or those after it where nothing but a measurement is inside.
    failed
        Asked after an error: the links at which it came up, and what was done there.
    content
        The JSON file gets it.

    Raises
    ------
    NumericError, NotConverged
        It was raised inside, and has a longer text.
    """
    try:
        yield
    except (NumericError, NotConverged) as error:
        V, stage = failed()
        record = {"trellis_version": __version__, "trajectory": number, "stage": stage, "error": str(error)}
        record |= content()
        text = f"{error}; trajectory {number}{_kept(folder, number, U, V, record)}"
        if isinstance(error, NotConverged):
            raise NotConverged(text, error.report) from error
        raise type(error)(text) from error


def _kept(folder: Path, number: int, U: GaugeField, V: GaugeField, record: dict[str, Any]) -> str:
    """Write the files, then remove those of other trajectories; return a sentence about it, whatever
    happens."""
    name = f"failed_solve.{number:06d}"
    works: dict[str, Callable[[], object]] = {f"{name}.ildg": lambda: V.write(folder / f"{name}.ildg")}
    if V is not U:
        works[f"{name}.start.ildg"] = lambda: U.write(folder / f"{name}.start.ildg")
    works[f"{name}.json"] = lambda: on_root(lambda: write_json(folder / f"{name}.json", record))
    kept, lost = [], []
    for file, work in works.items():
        try:
            work()
            kept.append(file)
        except (Error, OSError) as error:
            lost.append(f"{file} could not be written: {error}")
    if not lost:
        try:
            on_root(lambda: _remove_others(folder, number))
        except OSError as error:
            lost.append(f"older ones could not be removed: {error}")
    said = f"; the links and how to repeat it are kept in {folder}: {', '.join(kept)}" if kept else ""
    return "".join([said, *(f"; {problem}" for problem in lost)])


def _remove_others(folder: Path, number: int) -> None:
    for path in folder.iterdir():
        match = _NAME.match(path.name)
        if match and int(match[1]) != number:
            path.unlink(missing_ok=True)
