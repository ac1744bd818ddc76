"""This module reads gauge fields from files of all formats that Trellis knows."""

from __future__ import annotations

import os
import warnings

from ..ground.arguments import file_path, integers
from ..ground.compiled_core import load
from ..ground.parallel import rank
from ..ground.tuning import prepare
from .fields import GaugeField, require_device
from .file_report import FileReport
from .geometry import FourIntegers, grid_or_zeros


def read_gauge_field(
    path: str | os.PathLike,
    *,
    grid: FourIntegers | None = None,
    lattice: FourIntegers | None = None,
    report_only: bool = False,
    device: str = "cpu",
) -> GaugeField:
    """Read a gauge configuration; the format is recognised. Collective: each rank reads its part.

    What could not be checked (no checksum in the file) is in ``report.warnings``, and rank 0 gives a
    UserWarning for each.

    Parameters
    ----------
    path
        ILDG, SciDAC, NERSC, MILC v5, openQCD or Bridge++ text.
    grid
        Ranks in x, y, z, t; default: the grid with the least communication.
    lattice
        x, y, z, t, for files that do not say it; where the file says it, it must agree.
    report_only
        Failed checks do not raise; they are in ``report``.
    device
        "cpu", or "cuda" to have the links, and what is made from them, on a GPU (:meth:`GaugeField.to`).

    Returns
    -------
    GaugeField
        ``report`` says what was found. Links are kept as stored.

    Raises
    ------
    FileError
        Not a gauge file, truncated, another lattice than expected, links that are not SU(3).
    ChecksumError
        A checksum, plaquette or link trace is not the stored one.
    NotAvailable
        device="cuda" without a GPU that can be used.
    """
    U = read_with_report(path, grid=grid, lattice=lattice, report_only=report_only, device=device)
    if U.report is not None and rank() == 0:
        for text in U.report.warnings:
            warnings.warn(f"{os.fspath(path)}: {text}", UserWarning, stacklevel=2)
    return U


def read_with_report(
    path: str | os.PathLike,
    *,
    grid: FourIntegers | None = None,
    lattice: FourIntegers | None = None,
    report_only: bool = False,
    device: str = "cpu",
) -> GaugeField:
    """Read as :func:`read_gauge_field` for commands, which print ``report.warnings`` themselves.

    Collective.
    """
    require_device(device)
    prepare()
    core, report = load().read_gauge_field(
        file_path(path),
        grid_or_zeros(grid),
        None if lattice is None else integers("lattice", lattice, 4),
        report_only,
    )
    return GaugeField(core, FileReport._of(report)).to(device)
