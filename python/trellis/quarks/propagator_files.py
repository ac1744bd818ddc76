"""This module reads propagators from files: HDF5 with provenance, and the SciDAC (LIME) format of Chroma; it
compares the checksums of both."""

from __future__ import annotations

import os
from collections.abc import Sequence

from ..gauge.geometry import Geometry
from ..ground.arguments import file_path, instance
from ..ground.compiled_core import load
from ..ground.parallel import on_root
from .domain_wall import propagator_norm
from .propagator_input import read_hdf5, require_norm, statements_of, warn_on_root
from .propagator_metadata import SPIN_KIND
from .propagators import Propagator, site_of
from .scidac_propagator_records import record_text


def read_propagator(path: str | os.PathLike, *, grid: Sequence[int] | None = None) -> Propagator:
    """Read the HDF5 file that :meth:`Propagator.write` wrote. Collective.

    Checksums of the numbers and of the attributes that are read, and the norm, are compared with the stored
    ones; a file without them (written by an older version) gives a UserWarning. A propagator of domain walls
    is read with its midpoint, if the file has it.

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
    read, metadata = read_hdf5(path, grid, SPIN_KIND, load().Propagator.read_hdf5)
    quarks = {
        name: Propagator(
            S,
            operator=metadata.operator,
            is_sink_smeared=name == "propagator" and metadata.is_sink_smeared,
        )
        for name, S in read.items()
    }
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
