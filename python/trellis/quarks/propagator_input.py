"""This module has the parts of the reading of propagators that quarks with spin and staggered quarks
share."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..gauge.geometry import Geometry
from ..ground.arguments import phases
from ..ground.compiled_core import load
from ..ground.errors import ChecksumError, FileError
from ..ground.parallel import on_root, rank
from .operators import ANTIPERIODIC_IN_TIME
from .propagator_metadata import SPIN_KIND, Metadata
from .propagator_output import MEASUREMENT, SCIDAC_SUFFIXES
from .scidac_propagator_records import Statements, element, record_text

#: The sum of squares is compared to this relative tolerance, for numbers of 32 bits are rounded.
_NORM_ROUNDING = 1e-6
_PHASE_ROUNDING = 1e-6


def measurement_text(path: str) -> str:
    """Read the text that `trellis measure` writes into a propagator's file, in either format. Collective.

    It is "" if the file has no such text.

    Raises
    ------
    FileError
        The file is a damaged HDF5 file, or no HDF5 file.
    """
    if path.lower().endswith(SCIDAC_SUFFIXES):
        return on_root(lambda: element(record_text(path), MEASUREMENT) or "")
    root = load().Hdf5File.open(path).root()
    if not root.has("propagator") or not root.has_attribute(MEASUREMENT, "propagator"):
        return ""
    return root.text(MEASUREMENT, "propagator")


def read_hdf5(
    path: str, grid: Sequence[int] | None, kind: str, read: Callable[..., tuple[Any, list[str]]]
) -> tuple[dict[str, Any], Metadata]:
    """Read the arrays of an HDF5 file, and warn of what could not be compared. Collective.

    Parameters
    ----------
    path, grid
        The file, and the ranks in x, y, z, t.
    kind
        The kind of propagator that the file has to have.
    read
        The function of the compiled part that reads one array.

    Returns
    -------
    arrays, metadata
        The propagators in the compiled part's type by the names of their arrays, and the file's attributes.

    Raises
    ------
    FileError
        Not such a file, or damaged.
    ChecksumError
        The numbers or attributes are not those that were written.
    """
    root, metadata = open_hdf5(path, kind)
    older = metadata.compare()
    geometry = Geometry(metadata.lattice, grid)
    found: dict[str, Any] = {}
    notes: list[str] = []
    for name in metadata.arrays:
        found[name], messages = read(root, name, geometry._core, metadata.source_at, metadata.boundary)
        notes += messages
    for note in notes + older:
        warnings.warn(f"{path}: {note}", UserWarning, stacklevel=3)
    return found, metadata


def open_hdf5(path: str, kind: str = SPIN_KIND) -> tuple[Any, Metadata]:
    """Open the HDF5 file of a propagator of a kind, and read its attributes. Collective.

    Raises
    ------
    FileError
        Not such a file, or damaged.
    """
    if on_root(lambda: is_lime(path)):
        raise FileError(
            f"{path}: expected an HDF5 file of a {kind.replace('_', ' ')}, found a LIME file: "
            f"trellis.read_scidac_{kind}(path, geometry) reads it"
        )
    root = load().Hdf5File.open(path).root()
    return root, Metadata(root, path, kind, on_root(lambda: os.path.getsize(path)))


def statements_of(
    text: str, path: str, boundary: Sequence[complex] | None
) -> tuple[Statements, Sequence[complex]]:
    """Return what the text of a SciDAC file states, and its boundary phases.

    Parameters
    ----------
    boundary
        The phases that the caller gives; None: those of the file, else antiperiodic ones in time.

    Raises
    ------
    FileError
        The file states other phases.
    """
    stated = Statements.of_text(text, path)
    given = None if boundary is None else phases(boundary)
    used = stated.boundary or given or phases(ANTIPERIODIC_IN_TIME)
    require_agreement(path, stated, used if given is None else given)
    return stated, used


def warn_on_root(path: str, notes: Sequence[str]) -> None:
    """Give a UserWarning for each note about a file, for the caller of the function that reads it."""
    if rank() == 0:
        for note in notes:
            warnings.warn(f"{path}: {note}", UserWarning, stacklevel=3)


def require_norm(path: str, stated: Statements, norm2: float) -> None:
    """Raise ChecksumError if the sum of squares differs from the one that the file states."""
    if stated.norm2 is not None and not abs(norm2 - stated.norm2) <= _NORM_ROUNDING * stated.norm2:
        raise ChecksumError(f"{path}: norm2: expected {stated.norm2!r}, found {norm2!r}")


def require_agreement(path: str, stated: Statements, boundary: Sequence[complex]) -> None:
    """Raise FileError if the boundary phases differ from those that the file or its operator states."""
    operator = stated.operator
    other = None if operator is None else operator.parameters["boundary"]
    for found in (stated.boundary, other):
        if isinstance(found, tuple) and not np.allclose(found, boundary, rtol=0, atol=_PHASE_ROUNDING):
            raise FileError(f"{path}: expected the boundary phases {tuple(boundary)}, found {found}")


def is_lime(path: str) -> bool:
    """Return True if the file begins with the magic number of LIME records; False if it cannot be read."""
    try:
        with open(path, "rb") as file:
            return file.read(4) == b"\x45\x67\x89\xab"
    except OSError:
        return False
