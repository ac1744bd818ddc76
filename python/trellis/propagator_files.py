"""Propagators in files: HDF5 with provenance, and the SciDAC (LIME) format of Chroma; checksums of both."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Sequence
from typing import Literal

import numpy as np

from .arguments import choice, file_path, instance, integer, phases
from .core import load
from .domain_wall import propagator_norm
from .durable import behind_links
from .errors import BadArgument
from .gauge import Geometry
from .parallel import on_root, rank
from .propagator_metadata import GAMMA_BASIS, Metadata
from .propagators import Propagator, site_of
from .provenance import write_root_attributes


def write_propagator(
    S: Propagator,
    path: str | os.PathLike,
    format: Literal["hdf5", "scidac"],
    *,
    precision: Literal[32, 64],
    run_file: str,
) -> None:
    """See :meth:`Propagator.write`."""
    if integer("precision", precision) not in (32, 64):
        raise BadArgument(f"precision must be 32 or 64 bits, found {precision!r}")
    path, run_file = file_path(path), instance("run_file", run_file, str)
    if choice("format", format, "hdf5", "scidac") == "scidac":
        _require_finite(S, precision)
        at = " ".join(map(str, S.source_at))
        note = f"<propagator><source>{S._core.description}</source><at>{at}</at></propagator>"
        S._core.write_scidac(behind_links(path), precision, note)
    else:
        _write_hdf5(S, behind_links(path), precision, run_file)


def _require_finite(S: Propagator, precision: int) -> None:
    """SciDAC's checksum would agree with any numbers; that of HDF5 comes with the norm."""
    largest = float(np.finfo(np.float32 if precision == 32 else np.float64).max)
    norm = math.sqrt(float(propagator_norm(S).sum()))
    if not norm <= largest:
        raise BadArgument(
            f"the propagator has a NaN or Inf, or numbers beyond {precision} bits: its norm is {norm:g}"
        )


def _write_hdf5(S: Propagator, path: str, precision: int, run_file: str) -> None:
    file = load().Hdf5File.create(path)
    root = file.root()
    write_root_attributes(root, "propagator", run_file, S.geometry.extents, fixed_texts=True)
    for name, quark in (("propagator", S), ("midpoint", S.midpoint)):
        if quark is not None:
            quark._core.write_hdf5(root, name, precision)
    root.set_fixed_text("gamma_basis", GAMMA_BASIS, "propagator")
    root.set_fixed_text("source", S._core.description, "propagator")
    root.set_integers("source_at", list(S.source_at), "propagator")
    root.set_reals("boundary_real", [p.real for p in S.boundary], "propagator")
    root.set_reals("boundary_imag", [p.imag for p in S.boundary], "propagator")
    if S.operator is not None:
        root.set_fixed_text("operator", S.operator.to_text(), "propagator")
    if S.is_sink_smeared:
        root.set_integer("sink_smeared", 1, "propagator")
    if S.report is not None:
        root.set_reals("relative_residuals", list(S.report.relative_residuals), "propagator")
    root.set_integer("metadata_checksum", Metadata(root, path).checksum, "propagator")
    file.commit()


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
    core = load()
    path = file_path(path)
    file = core.Hdf5File.open(path)
    root = file.root()
    metadata = Metadata(root, path, on_root(lambda: os.path.getsize(path)))
    older = metadata.compare()
    notes: list[str] = []
    geometry = Geometry(metadata.lattice, grid)
    quarks: dict[str, Propagator] = {}
    for name in metadata.arrays:
        S, messages = core.Propagator.read_hdf5(
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
    boundary: Sequence[complex] = (1, 1, 1, -1),
) -> Propagator:
    """Read a SciDAC (LIME) propagator of Chroma or of :meth:`Propagator.write`. Collective.

    Such files do not say what the boundary phases were, and only those of :meth:`Propagator.write` where the
    source is. What could not be checked (no checksum in the file) gives a UserWarning on rank 0.

    Parameters
    ----------
    path
        The file.
    geometry
        The lattice.
    source_at
        x, y, z, t from which times and momenta count; default: as the file says.
    boundary
        Fermion boundary phases in x, y, z, t.

    Raises
    ------
    FileError
        Not such a file, or of another lattice, or it says that the source is elsewhere.
    ChecksumError
        The stored checksum is another one.
    BadArgument
        Neither the file nor ``source_at`` says where the source is.
    """
    lattice, path = instance("geometry", geometry, Geometry), file_path(path)
    at = None if source_at is None else site_of(lattice, source_at)
    S, notes = load().Propagator.read_scidac(path, lattice._core, at, phases(boundary))
    if rank() == 0:
        for note in notes:
            warnings.warn(f"{path}: {note}", UserWarning, stacklevel=2)
    return Propagator(S)
