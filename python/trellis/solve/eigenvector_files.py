"""This module reads low modes from HDF5 files, which every later solve on a configuration reads."""

from __future__ import annotations

import json
import math
import os
import warnings
from typing import Any

from ..ground.arguments import file_path, integer
from ..ground.compiled_core import load
from ..ground.errors import BadArgument, ChecksumError, FileError
from ..ground.operator_records import OperatorRecord
from ..ground.parallel import rank
from ..quarks.operators import QuarkOperator
from .deflation import Eigenvectors
from .eigenvector_output import ARRAYS, GROUP, NUMBERS, vectors
from .prepared_files import CHECKSUM, STATEMENT, checksum, named, require_kind

_FORMS = ("symmetric", "asymmetric", "none")
_STORAGES = ("double", "float", "half")


def read_eigenvectors(path: str | os.PathLike, M: QuarkOperator, *, least: int = 1) -> Eigenvectors:
    """Read the low modes of an operator that :meth:`Eigenvectors.write` wrote. Collective.

    The name, parameters and plaquette of the operator are compared with those that the file states, checksums
    and norms with the stored ones.

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
    if not (isinstance(M, QuarkOperator) and M._has_mode_files):
        raise BadArgument(
            f"M must be an operator of quarks with spin, whose low modes have files, found {M!r}"
        )
    path, least = file_path(path), integer("least", least)
    root = load().Hdf5File.open(path).root()
    require_kind(root, path, "eigenvectors", GROUP, M.geometry.extents)
    group = root.group(GROUP)
    statement = root.text(STATEMENT, GROUP)
    stated, operator = _parse(path, statement)
    count = sum(name.startswith("vector_") for name in group.names())
    (stored,) = root.integers(CHECKSUM, GROUP)
    found = checksum(root, GROUP, statement, vectors(count), ARRAYS)
    if stored != found:
        raise ChecksumError(
            f"{path}: /{GROUP}: {CHECKSUM}: expected {stored:08x}, found {found:08x}: the statement, the "
            "eigenvalues, residuals, or a vector's checksum has changed, or a vector is gone"
        )
    difference = operator.difference(M._record)
    if difference:
        raise BadArgument(f"{path}: the eigenvectors do not belong to {M!r}: they are those of {difference}")
    if count < least:
        raise BadArgument(f"{path}: expected at least {least} modes, found {count}")
    with named(path):
        core, notes = load().read_eigenvectors(group, M._core, stated["even_odd"], stated["storage"])
    if len(core.values) != count:
        raise FileError(f"{path}: /{GROUP}: expected {len(core.values)} vectors, found {count}")
    for name in NUMBERS:
        setattr(core, name, stated[name])
    if rank() == 0:
        for note in notes:
            warnings.warn(f"{path}: {note}", UserWarning, stacklevel=2)
    return Eigenvectors(core, stated["even_odd"], stated["storage"], M._record, M.geometry.extents)


def _parse(path: str, statement: str) -> tuple[dict[str, Any], OperatorRecord]:
    try:
        stated = json.loads(statement)
        operator = OperatorRecord.from_text(stated["operator"])
        numbers_are_right = all(
            isinstance(stated[name], kind) or (kind is float and isinstance(stated[name], int))
            for name, kind in NUMBERS.items()
        )
        if stated["even_odd"] not in _FORMS or stated["storage"] not in _STORAGES or not numbers_are_right:
            raise ValueError("values out of their range")
        if not math.isfinite(stated["upper"]):
            raise ValueError("the bound of the spectrum is not finite")
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise FileError(
            f"{path}: /{GROUP}: {STATEMENT}: expected what trellis writes about its modes, found "
            f"{statement[:200]!r} ({error})"
        ) from None
    return stated, operator
