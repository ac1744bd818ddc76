"""Propagators in files: HDF5 with provenance, and the SciDAC (LIME) format of Chroma; checksums of both."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Sequence
from typing import Literal

import numpy as np

from ..gauge.fields import Geometry
from ..ground.arguments import choice, file_path, instance, integer, phases
from ..ground.compiled_core import load
from ..ground.crash_safe_files import behind_links
from ..ground.errors import BadArgument, ChecksumError, FileError
from ..ground.parallel import on_root, rank
from ..ground.provenance import write_root_attributes
from .domain_wall import propagator_norm
from .operators import ANTIPERIODIC_IN_TIME
from .propagator_metadata import GAMMA_BASIS, Metadata
from .propagators import Propagator, site_of
from .scidac_propagator_records import Statements, element, record_text

#: Names of files that are written in the format of Chroma, unless a format is given.
_SCIDAC_SUFFIXES = (".lime", ".scidac")
#: Of the sum of squares: numbers of 32 bits are rounded.
_NORM_ROUNDING = 1e-6
_PHASE_ROUNDING = 1e-6
#: Attribute and element with the text of `trellis measure`, which has a checksum of its own.
_MEASUREMENT = "measurement"


def write_propagator(
    S: Propagator,
    path: str | os.PathLike,
    format: Literal["hdf5", "scidac"] | None,
    *,
    precision: Literal[32, 64],
    run_file: str,
    measurement: str = "",
) -> None:
    """See :meth:`Propagator.write`.

    Parameters
    ----------
    measurement
        What :func:`measurement_text` gives back; without "<" and "&".
    """
    if integer("precision", precision) not in (32, 64):
        raise BadArgument(f"precision must be 32 or 64 bits, found {precision!r}")
    path, run_file = file_path(path), instance("run_file", run_file, str)
    if format is None:
        format = "scidac" if path.lower().endswith(_SCIDAC_SUFFIXES) else "hdf5"
    choice("format", format, "hdf5", "scidac")
    norm2 = float(propagator_norm(S).sum())
    if norm2 == 0:
        warnings.warn(f"{path}: the propagator that is written has norm 0", UserWarning, stacklevel=3)
    if format == "scidac":
        _require_finite(norm2, precision)
        at = " ".join(map(str, S.source_at))
        stated = Statements(S.boundary, norm2, S.operator, S.is_sink_smeared).to_text()
        if measurement:
            stated += f"<{_MEASUREMENT}>{measurement}</{_MEASUREMENT}>"
        note = f"<propagator><source>{S._core.description}</source><at>{at}</at>{stated}</propagator>"
        S._core.write_scidac(behind_links(path), precision, note)
    else:
        _write_hdf5(S, behind_links(path), precision, run_file, measurement)


def measurement_text(path: str) -> str:
    """What `trellis measure` says in a file of a propagator, in either format; "" without. Collective.

    Raises
    ------
    FileError
        An HDF5 file that is damaged, or none.
    """
    if path.lower().endswith(_SCIDAC_SUFFIXES):
        return on_root(lambda: element(record_text(path), _MEASUREMENT) or "")
    root = load().Hdf5File.open(path).root()
    if not root.has("propagator") or not root.has_attribute(_MEASUREMENT, "propagator"):
        return ""
    return root.text(_MEASUREMENT, "propagator")


def _require_finite(norm2: float, precision: int) -> None:
    """SciDAC's checksum would agree with any numbers."""
    largest = float(np.finfo(np.float32 if precision == 32 else np.float64).max)
    norm = math.sqrt(norm2)
    if not norm <= largest:
        raise BadArgument(
            f"the propagator has a NaN or Inf, or numbers beyond {precision} bits: its norm is {norm:g}"
        )


def _write_hdf5(S: Propagator, path: str, precision: int, run_file: str, measurement: str) -> None:
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
    if measurement:
        root.set_fixed_text(_MEASUREMENT, measurement, "propagator")
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
    if on_root(lambda: _is_lime(path)):
        raise FileError(
            f"{path}: expected an HDF5 file of a propagator, found a LIME file: "
            "trellis.read_scidac_propagator(path, geometry) reads it"
        )
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
    given = None if boundary is None else phases(boundary)
    stated = Statements.of_text(on_root(lambda: record_text(path)), path)
    used = stated.boundary or given or phases(ANTIPERIODIC_IN_TIME)
    _require_agreement(path, stated, used if given is None else given)
    S, notes = load().Propagator.read_scidac(path, lattice._core, at, list(used))
    if rank() == 0:
        for note in notes:
            warnings.warn(f"{path}: {note}", UserWarning, stacklevel=2)
    found = Propagator(S, operator=stated.operator, is_sink_smeared=stated.is_sink_smeared)
    if stated.norm2 is not None:
        norm2 = float(propagator_norm(found).sum())
        if not abs(norm2 - stated.norm2) <= _NORM_ROUNDING * stated.norm2:
            raise ChecksumError(f"{path}: norm2: expected {stated.norm2!r}, found {norm2!r}")
    return found


def _require_agreement(path: str, stated: Statements, boundary: Sequence[complex]) -> None:
    """FileError where boundary phases are others than the file says, itself or with its operator."""
    operator = stated.operator
    other = None if operator is None else operator.parameters["boundary"]
    for found in (stated.boundary, other):
        if isinstance(found, tuple) and not np.allclose(found, boundary, rtol=0, atol=_PHASE_ROUNDING):
            raise FileError(f"{path}: expected the boundary phases {tuple(boundary)}, found {found}")


def _is_lime(path: str) -> bool:
    """Whether it begins with the magic number of LIME records; False where it cannot be read."""
    try:
        with open(path, "rb") as file:
            return file.read(4) == b"\x45\x67\x89\xab"
    except OSError:
        return False
