"""Low modes in HDF5 files: written once for a configuration, read by every later solve."""

from __future__ import annotations

import json
import math
import os
import warnings
import zlib
from typing import Any

import numpy as np

from ..ground.arguments import file_path, instance, integer
from ..ground.compiled_core import load
from ..ground.crash_safe_files import behind_links
from ..ground.errors import BadArgument, ChecksumError, FileError
from ..ground.operator_records import OperatorRecord
from ..ground.parallel import rank
from ..ground.provenance import write_root_attributes
from ..ground.version import conventions_version
from ..quarks.domain_wall import MoebiusDomainWall
from ..quarks.operators import WilsonClover
from ..quarks.propagator_metadata import GAMMA_BASIS
from .deflation import Eigenvectors

_GROUP = "eigenvectors"
_STATEMENT, _CHECKSUM = "statement", "statement_checksum"
_FORMS = ("symmetric", "asymmetric", "none")
_STORAGES = ("double", "float", "half")
#: The search for modes was asked, found and cost these numbers; each has its type.
_NUMBERS: dict[str, type] = {
    "tolerance": float,
    "upper": float,
    "converged": bool,
    "restarts": int,
    "degree": int,
    "cutoff": float,
    "seconds": float,
    "flops": float,
}


def write_eigenvectors(modes: Eigenvectors, path: str | os.PathLike, *, run_file: str = "") -> None:
    """See :meth:`trellis.Eigenvectors.write`."""
    instance("modes", modes, Eigenvectors)
    path, run_file = behind_links(file_path(path)), instance("run_file", run_file, str)
    file = load().Hdf5File.create(path)
    root = file.root()
    write_root_attributes(root, "eigenvectors", run_file, modes.extents, fixed_texts=True)
    root.set_fixed_text("gamma_basis", GAMMA_BASIS)
    group = root.make_group(_GROUP)
    modes._core.write_hdf5(group, 64 if modes.storage == "double" else 32)
    statement = json.dumps(
        {
            "operator": modes.operator.to_text(),
            "even_odd": modes.even_odd,
            "storage": "float" if modes.storage == "single" else modes.storage,
            **{name: getattr(modes._core, name) for name in _NUMBERS},
        }
    )
    root.set_fixed_text(_STATEMENT, statement, _GROUP)
    root.set_integer(_CHECKSUM, _checksum(root, group, statement, len(modes)), _GROUP)
    file.commit()


def read_eigenvectors(
    path: str | os.PathLike, M: WilsonClover | MoebiusDomainWall, *, least: int = 1
) -> Eigenvectors:
    """Read the low modes of an operator that :func:`write_eigenvectors` wrote. Collective.

    Name, parameters and plaquette of the operator are compared with those that the file states, checksums and
    norms with the stored ones.

    Parameters
    ----------
    path
        The file.
    M
        The operator, on any process grid and number of lanes.
    least
        Number of modes that are needed.

    Raises
    ------
    FileError
        Not such a file, damaged, or of another lattice.
    ChecksumError
        Numbers or statements are not those that were written.
    BadArgument
        They are the modes of another operator or of other links, or fewer than `least`.
    """
    instance("M", M, WilsonClover, MoebiusDomainWall)
    path, least = file_path(path), integer("least", least)
    root = load().Hdf5File.open(path).root()
    _require_kind(root, path, M)
    group = root.group(_GROUP)
    statement = root.text(_STATEMENT, _GROUP)
    stated, operator = _parse(path, statement)
    count = sum(name.startswith("vector_") for name in group.names())
    (stored,) = root.integers(_CHECKSUM, _GROUP)
    found = _checksum(root, group, statement, count)
    if stored != found:
        raise ChecksumError(
            f"{path}: /{_GROUP}: {_CHECKSUM}: expected {stored:08x}, found {found:08x}: the statement, the "
            "eigenvalues, residuals, or a vector's checksum has changed, or a vector is gone"
        )
    difference = operator.difference(M._record)
    if difference:
        raise BadArgument(f"{path}: the eigenvectors do not belong to {M!r}: they are those of {difference}")
    if count < least:
        raise BadArgument(f"{path}: expected at least {least} modes, found {count}")
    core, notes = load().read_eigenvectors(group, M._core, stated["even_odd"], stated["storage"])
    if len(core.values) != count:
        raise FileError(f"{path}: /{_GROUP}: expected {len(core.values)} vectors, found {count}")
    for name in _NUMBERS:
        setattr(core, name, stated[name])
    if rank() == 0:
        for note in notes:
            warnings.warn(f"{path}: {note}", UserWarning, stacklevel=2)
    return Eigenvectors(core, stated["even_odd"], stated["storage"], M._record, M.geometry.extents)


def _checksum(root: Any, group: Any, statement: str, count: int) -> int:
    """CRC-32 of the statement, eigenvalues, residuals and the checksums of all vectors."""
    sums = [root.integers("scidac_checksum", f"{_GROUP}/vector_{i:04d}") for i in range(count)]
    numbers = [group.read_float64(name) for name in ("values", "relative_residual")]
    crc = zlib.crc32(json.dumps([statement, [list(s) for s in sums]]).encode())
    for array in numbers:
        crc = zlib.crc32(np.ascontiguousarray(array, dtype="<f8").tobytes(), crc)
    return crc


def _require_kind(root: Any, path: str, M: WilsonClover | MoebiusDomainWall) -> None:
    for name, expected in (
        ("kind", "eigenvectors"),
        ("conventions_version", conventions_version),
        ("gamma_basis", GAMMA_BASIS),
    ):
        found = root.text(name) if root.has_attribute(name) else None
        if found != expected:
            raise FileError(f"{path}: {name}: expected {expected!r}, found {found!r}")
    lattice = list(root.integers("lattice")) if root.has_attribute("lattice") else None
    if lattice != list(M.geometry.extents):
        raise FileError(f"{path}: lattice: expected {list(M.geometry.extents)}, found {lattice}")
    for name in (_STATEMENT, _CHECKSUM):
        if not root.has(_GROUP) or not root.has_attribute(name, _GROUP):
            raise FileError(f"{path}: expected a group /{_GROUP} with the attribute {name}")


def _parse(path: str, statement: str) -> tuple[dict[str, Any], OperatorRecord]:
    try:
        stated = json.loads(statement)
        operator = OperatorRecord.from_text(stated["operator"])
        numbers_are_right = all(
            isinstance(stated[name], kind) or (kind is float and isinstance(stated[name], int))
            for name, kind in _NUMBERS.items()
        )
        if stated["even_odd"] not in _FORMS or stated["storage"] not in _STORAGES or not numbers_are_right:
            raise ValueError("values out of their range")
        if not math.isfinite(stated["upper"]):
            raise ValueError("the bound of the spectrum is not finite")
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise FileError(
            f"{path}: /{_GROUP}: {_STATEMENT}: expected what trellis writes about its modes, found "
            f"{statement[:200]!r} ({error})"
        ) from None
    return stated, operator
