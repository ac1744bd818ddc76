"""This module reads propagators that Chroma and lalibe wrote to HDF5 files, by the HDF5 writer of QDP++.

An array [t][z][y][x] has sites of an array type, [spin sink][spin source] of [colour sink][colour source] of
complex numbers, in the DeGrand-Rossi basis. lalibe (lib/io/hdf5_write_obj_funcmap.cc) gives it the attribute
record_xml, Chroma's XML of the propagator: t_srce, the boundary phases, and SinkSmear as the root where the
sink is smeared.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from ..gauge.geometry import Geometry
from ..ground.arguments import file_path, instance, integers, phases
from ..ground.compiled_core import load
from ..ground.errors import BadArgument, FileError
from .operators import ANTIPERIODIC_IN_TIME
from .propagator_input import warn_on_root
from .propagators import Propagator, site_of

_RECORD = "record_xml"


def read_qdp_propagator(
    path: str | os.PathLike,
    name: str,
    geometry: Geometry,
    *,
    source_at: Sequence[int] | None = None,
    boundary: Sequence[complex] | None = None,
) -> Propagator:
    """Read a propagator of Chroma or lalibe from an HDF5 file. Collective.

    Such files have no checksums: a UserWarning on rank 0 says so.

    Parameters
    ----------
    path
        The file.
    name
        The array in it, as "/sh_sig2p0_n5/PS_up".
    geometry
        The lattice.
    source_at
        x, y, z, t from which times and momenta count; default: as the file says.
    boundary
        Fermion boundary phases in x, y, z, t; default: as the file says, else antiperiodic in time.

    Raises
    ------
    FileError
        Not such a file, no such array, another lattice, or the file says another source or other phases.
    BadArgument
        Neither the file nor ``source_at`` says where the source is.
    """
    lattice, path = instance("geometry", geometry, Geometry), file_path(path)
    root, inside = load().Hdf5File.open(path).root(), name.strip("/")
    if not inside or not root.has(inside):
        there = ", ".join(root.names()) or "nothing"
        raise FileError(f"{path}: expected an array {name}, found none (the root has {there})")
    record = root.text(_RECORD, inside) if root.has_attribute(_RECORD, inside) else ""
    stated_at, stated_phases = _source(path, record), _phases(path, record)
    at = _agreed(
        path, "source_at", None if source_at is None else integers("source_at", source_at, 4), stated_at
    )
    if at is None:
        raise BadArgument(f"source_at: expected x, y, z, t, which {path} does not say, found none")
    given = None if boundary is None else phases(boundary)
    used = _agreed(path, "boundary", given, stated_phases) or phases(ANTIPERIODIC_IN_TIME)
    S, notes = load().Propagator.read_hdf5(root, inside, lattice._core, site_of(lattice, at), list(used))
    warn_on_root(path, notes)
    return Propagator(S, is_sink_smeared="<SinkSmear>" in record)


def _source(path: str, record: str) -> list[int] | None:
    found = re.search(r"<t_srce>([^<]*)</t_srce>", record)
    if found is None:
        return None
    try:
        return integers("t_srce", [int(word) for word in found[1].split()], 4)
    except (ValueError, BadArgument):
        raise FileError(f"{path}: {_RECORD}: t_srce: expected four numbers, found {found[1]!r}") from None


def _phases(path: str, record: str) -> list[complex] | None:
    found = re.search(r"<boundary>([^<]*)</boundary>", record)
    if found is None:
        return None
    try:
        return phases([float(word) for word in found[1].split()])
    except (ValueError, BadArgument):
        raise FileError(f"{path}: {_RECORD}: boundary: expected four phases, found {found[1]!r}") from None


def _agreed(path: str, name: str, given: list | None, stated: list | None) -> list | None:
    """Return what the caller gives or the file states; both have to agree."""
    if given is not None and stated is not None and list(given) != list(stated):
        raise FileError(f"{path}: {name}: expected {given}, found {stated} in {_RECORD}")
    return stated if given is None else given
