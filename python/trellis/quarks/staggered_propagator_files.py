"""This module reads staggered propagators from files: HDF5 with provenance, and SciDAC files of colour
vectors, MILC's too."""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..gauge.geometry import Geometry
from ..ground.arguments import file_path, instance
from ..ground.compiled_core import load
from ..ground.errors import BadArgument, FileError
from ..ground.parallel import on_root
from .propagator_input import read_hdf5, require_norm, statements_of, warn_on_root
from .propagator_metadata import STAGGERED_KIND
from .propagators import site_of
from .scidac_propagator_records import element, record_text
from .staggered_propagators import StaggeredPropagator

_COLOURS = 3


def read_staggered_propagator(
    path: str | os.PathLike, *, grid: Sequence[int] | None = None
) -> StaggeredPropagator:
    """Read the HDF5 file that :meth:`StaggeredPropagator.write` wrote. Collective.

    Checksums of the numbers and of the attributes that are read, and the norm, are compared with the stored
    ones; what a file lacks of them gives a UserWarning.

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
    read, metadata = read_hdf5(path, grid, STAGGERED_KIND, load().StaggeredPropagator.read_hdf5)
    S = read["propagator"]
    return StaggeredPropagator(S, operator=metadata.operator, is_sink_smeared=metadata.is_sink_smeared)


def read_scidac_staggered_propagator(
    path: str | os.PathLike,
    geometry: Geometry,
    *,
    source_at: Sequence[int] | None = None,
    boundary: Sequence[complex] | None = None,
) -> StaggeredPropagator:
    """Read three colour vectors from a SciDAC (LIME) file, MILC's or one of
    :meth:`StaggeredPropagator.write`.

    Colour vectors of sources are passed over. The numbers are taken as they stand: MILC solves with
    2 m + 2 D, and its staggered phases differ by a sign for each site (doc/formats.md). Collective.

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
        A stored checksum, or the norm, is another one.
    BadArgument
        Neither the file nor ``source_at`` says where the source is.
    """
    lattice, path = instance("geometry", geometry, Geometry), file_path(path)
    text = on_root(lambda: record_text(path))
    stated, used = statements_of(text, path, boundary)
    vectors, notes = load().read_colour_vectors(path, lattice._core)
    at = _source_of(text, path, lattice, source_at)
    warn_on_root(path, notes)
    S = StaggeredPropagator.from_numpy(_columns(vectors, path), lattice, source_at=at, boundary=used)
    S.operator, S.is_sink_smeared = stated.operator, stated.is_sink_smeared
    require_norm(path, stated, S._norm2())
    return S


def _source_of(text: str, path: str, geometry: Geometry, given: Sequence[int] | None) -> Sequence[int]:
    """Return the source's place as the file or the caller says; they have to agree."""
    wanted = None if given is None else site_of(geometry, given)
    said = element(text, "at")
    if said is None:
        if wanted is None:
            raise BadArgument(f"{path} does not say where the source is: give source_at")
        return wanted
    try:
        stated = site_of(geometry, [int(word) for word in said.split()])
    except (ValueError, BadArgument) as error:
        raise FileError(
            f"{path}: <at>: expected a site of the lattice {list(geometry.extents)}, found {said!r}"
        ) from error
    if wanted is not None and list(wanted) != list(stated):
        raise FileError(f"{path}: expected the source at {tuple(wanted)}, found {tuple(stated)}")
    return stated


def _columns(vectors: Sequence[tuple[NDArray[np.complex128], str]], path: str) -> NDArray[np.complex128]:
    """Return the solution [t, z, y, x, colour sink, colour source] from all colour vectors of a file."""
    sinks = [(values, text) for values, text in vectors if "usqcdSourceInfo" not in text]
    if len(sinks) != _COLOURS:
        raise FileError(
            f"{path}: expected three colour vectors, one for each colour of the source, found {len(sinks)}"
        )
    colours = [element(text, "color") for _, text in sinks]
    if None not in colours:
        if sorted(str(colour) for colour in colours) != ["0", "1", "2"]:
            raise FileError(f"{path}: <color>: expected 0, 1 and 2, found {colours}")
        sinks = [sinks[colours.index(str(colour))] for colour in range(_COLOURS)]
    return np.stack([values for values, _ in sinks], axis=-1)
