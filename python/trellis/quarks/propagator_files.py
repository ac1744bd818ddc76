"""Propagators are read from files: HDF5 with provenance, and the SciDAC (LIME) format of Chroma; checksums of
both."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..gauge.geometry import Geometry
from ..ground.arguments import file_path, instance, phases
from ..ground.compiled_core import load
from ..ground.errors import ChecksumError, FileError
from ..ground.parallel import on_root, rank
from .domain_wall import propagator_norm
from .operators import ANTIPERIODIC_IN_TIME
from .propagator_metadata import SPIN_KIND, Metadata
from .propagator_output import MEASUREMENT, SCIDAC_SUFFIXES
from .propagators import Propagator, site_of
from .scidac_propagator_records import Statements, element, record_text

#: Relative tolerance of the sum of squares: numbers of 32 bits are rounded.
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


def read_propagator(path: str | os.PathLike, *, grid: Sequence[int] | None = None) -> Propagator:
    """Read the HDF5 file that :meth:`Propagator.write` wrote. Collective.

    Checksums of the numbers and of the attributes that are read, and the norm, are compared with the stored
    ones; a file without them (written by an older version) gives a UserWarning. Domain walls: with the
    midpoint, if the file has it.

    Parameters
    ----------
    path
        The file.
    grid
        Ranks in x, y, z, t; default: the grid with the least communication.

    Raises
    ------
    FileError
        Not such a file, or damaged.
    ChecksumError
        The numbers or attributes are not those that were written.
    """
    path = file_path(path)
    root, metadata = open_hdf5(path)
    older = metadata.compare()
    notes: list[str] = []
    geometry = Geometry(metadata.lattice, grid)
    quarks: dict[str, Propagator] = {}
    for name in metadata.arrays:
        S, messages = load().Propagator.read_hdf5(
            root, name, geometry._core, metadata.source_at, metadata.boundary
        )
        is_smeared = name == "propagator" and metadata.is_sink_smeared
        quarks[name] = Propagator(S, operator=metadata.operator, is_sink_smeared=is_smeared)
        notes += messages
    for note in notes + older:
        warnings.warn(f"{path}: {note}", UserWarning, stacklevel=2)
    quarks["propagator"].midpoint = quarks.get("midpoint")
    return quarks["propagator"]


def read_scidac_propagator(
    path: str | os.PathLike,
    geometry: Geometry,
    *,
    source_at: Sequence[int] | None = None,
    boundary: Sequence[complex] | None = None,
) -> Propagator:
    """Read a SciDAC (LIME) propagator of Chroma or of :meth:`Propagator.write`. Collective.

    Files of :meth:`Propagator.write` say where the source is, what the boundary phases, the norm and the
    operator were, and whether the sink is smeared; others do not. What could not be checked (no checksum in
    the file) gives a UserWarning on rank 0.

    Parameters
    ----------
    path
        The file.
    geometry
        The lattice.
    source_at
        x, y, z, t from which times and momenta count; default: as the file says.
    boundary
        Fermion boundary phases in x, y, z, t; default: as the file says, else antiperiodic in time.

    Raises
    ------
    FileError
        Not such a file, or of another lattice, or it says that the source is elsewhere or that the boundary
        phases are others.
    ChecksumError
        The stored checksum or norm is another one.
    BadArgument
        Neither the file nor ``source_at`` says where the source is.
    """
    lattice, path = instance("geometry", geometry, Geometry), file_path(path)
    at = None if source_at is None else site_of(lattice, source_at)
    text = on_root(lambda: record_text(path))
    stated, used = statements_of(text, path, boundary)
    S, notes = load().Propagator.read_scidac(path, lattice._core, at, list(used))
    warn_on_root(path, notes)
    found = Propagator(S, operator=stated.operator, is_sink_smeared=stated.is_sink_smeared)
    if stated.norm2 is not None:
        require_norm(path, stated, float(propagator_norm(found).sum()))
    return found


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
