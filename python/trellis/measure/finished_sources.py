"""This module keeps the finished sources of a configuration whose measurement goes on, in a file beside the
results.

``correlators.NNNNNN.unfinished`` is an archive of NumPy. It has the correlators of each source, and a text
that names the run's tables and the configuration. A stop or a crash loses the source in hand and no other.
The file is removed once the result is written.
"""

from __future__ import annotations

import contextlib
import dataclasses
import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..gauge.fields import GaugeField
from ..ground.crash_safe_files import write_bytes
from ..ground.errors import BadArgument
from ..ground.parallel import on_root
from ..ground.solve_report import SolveReport
from ..run_files import MeasureRun
from .inputs import Content
from .result_files import Measured, physics, require_same_physics, result_file

_TEXT = "about"
#: NumPy raises these on archives that are cut or damaged, and a text with other keys raises some of them.
_DAMAGE = (OSError, EOFError, KeyError, TypeError, ValueError, IndexError, zipfile.BadZipFile)


def unfinished_file(folder: Path, number: int) -> Path:
    """Return the path of the file of all sources that are measured before the last one."""
    return result_file(folder, number).with_suffix(".unfinished")


def save_sources(folder: Path, number: int, run: MeasureRun, U: GaugeField, measured: Measured) -> None:
    """Replace the file by one with all sources so far. Collective."""
    about = {
        "physics": physics(run),
        "input": dataclasses.asdict(Content.of(U)),
        "positions": measured.positions,
        "reports": [dataclasses.asdict(report) for report in measured.reports],
        "are_read": measured.are_read,
    }
    archive = io.BytesIO()
    arrays: dict[str, Any] = {_TEXT: np.array(json.dumps(about))}
    for index, table in enumerate(measured.tables):
        arrays |= {f"{index}/{name}": values for name, values in table.items()}
    np.savez(archive, **arrays)
    on_root(lambda: write_bytes(unfinished_file(folder, number), archive.getvalue()))


def load_sources(
    folder: Path,
    number: int,
    run: MeasureRun,
    U: GaugeField,
    measured: Measured,
    path: str,
    notice: Callable[[str], None] = lambda _: None,
) -> str:
    """Put the sources of an earlier run into `measured`, which has the positions of all. Collective.

    Parameters
    ----------
    path
        It is that of the configuration, for messages.
    notice
        Gets a line where the words of the file are of an earlier language.

    Returns
    -------
    str
        Why a file that is there is of no use; else nothing.

    Raises
    ------
    BadArgument
        The run file or the configuration is another one than that of these sources.
    """
    file = unfinished_file(folder, number)
    try:
        found = on_root(lambda: _read(file, measured.positions))
    except BadArgument as error:
        return str(error)
    if found is None:
        return ""
    about, tables = found
    require_same_physics(file, about["physics"], run, notice)
    difference = Content(**about["input"]).difference(U)
    if difference:
        raise BadArgument(
            f"{path} was replaced since {file} was measured on it: {difference}; put the old configuration "
            "back, or remove that file to measure all sources of the new one, or choose another folder"
        )
    measured.tables = tables
    measured.reports, measured.are_read = about["reports"], about["are_read"]
    return ""


def remove_sources(folder: Path, number: int) -> None:
    """Remove the file once the result is there. Collective."""

    def remove() -> None:
        with contextlib.suppress(FileNotFoundError):
            unfinished_file(folder, number).unlink()

    on_root(remove)


def _read(
    file: Path, positions: list[tuple[int, ...]]
) -> tuple[dict[str, Any], list[dict[str, NDArray]]] | None:
    """Return the text with its reports, and a table for each source; None: there is no such file."""
    if not file.exists():
        return None
    try:
        with np.load(file, allow_pickle=False) as archive:
            about = json.loads(str(archive[_TEXT]))
            tables: list[dict[str, NDArray]] = []
            for key in archive.files:
                index, _, name = key.partition("/")
                if key != _TEXT:
                    tables += [{} for _ in range(int(index) + 1 - len(tables))]
                    tables[int(index)][name] = archive[key]
        reports = [SolveReport(**report) for report in about["reports"]]
        about["reports"] = [
            dataclasses.replace(r, relative_residuals=tuple(r.relative_residuals)) for r in reports
        ]
        about.setdefault("are_read", [False] * len(reports))  # older versions lack it
        if len(about["are_read"]) != len(reports):
            raise ValueError(f"{len(about['are_read'])} of {len(reports)} reports")
        Content(**about["input"])
        if about["positions"] != [list(at) for at in positions] or not 0 < len(tables) < len(positions):
            raise ValueError(f"{len(tables)} sources of those at {about['positions']}")
    except _DAMAGE as error:
        raise BadArgument(
            f"{file}: expected an archive of measured sources, found something else ({error}); all sources "
            "are measured"
        ) from error
    return about, tables
