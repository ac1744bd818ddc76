"""This module reads set-ups of multigrid from HDF5 files."""

from __future__ import annotations

import json
import os
import warnings
from typing import Any

from ..ground.arguments import file_path, integer
from ..ground.compiled_core import load
from ..ground.errors import BadArgument, ChecksumError, FileError
from ..ground.operator_records import OperatorRecord
from ..ground.parallel import rank
from ..quarks.operators import WilsonClover, multigrid_operator
from .multigrid import Multigrid, difference_beside_masses
from .multigrid_output import GROUP, KIND, columns, of_level, values
from .prepared_files import CHECKSUM, STATEMENT, checksum, named, require_kind


def read_multigrid(path: str | os.PathLike, M: WilsonClover, *, coarse_ranks: int = 0) -> Multigrid:
    """Read a set-up that :meth:`Multigrid.write` wrote. Collective.

    The coarse operator is built from the stored columns. So what is read has the bits of what was written,
    on any process grid and number of lanes. For another mass or twisted mass it is ``mg.at(M)``.

    Parameters
    ----------
    path
        The file.
    M
        The operator, on the links of the set-up.
    coarse_ranks
        It is that of :func:`multigrid`, and no property of a set-up.

    Raises
    ------
    FileError
        Not such a file, damaged, or of another lattice.
    ChecksumError
        Numbers or statements are not those that were written.
    BadArgument
        It is the set-up of other links, of another clover coefficient, anisotropy or boundary; or the ranks
        of this grid do not hold whole blocks.
    """
    multigrid_operator(M)
    path = file_path(path)
    root = load().Hdf5File.open(path).root()
    require_kind(root, path, KIND, GROUP, M.geometry.extents)
    group = root.group(GROUP)
    statement = root.text(STATEMENT, GROUP)
    names = columns(_count(group, "column_"), _counts_of_levels(group))
    (stored,) = root.integers(CHECKSUM, GROUP)
    found = checksum(root, GROUP, statement, names)
    if stored != found:
        raise ChecksumError(
            f"{path}: /{GROUP}: {CHECKSUM}: expected {stored:08x}, found {found:08x}: the statement or a "
            "column's checksum has changed, or a column is gone"
        )
    operator, built_at, params, report = _parse(path, statement)
    params.coarse_ranks = integer("coarse_ranks", coarse_ranks, least=0)
    difference = difference_beside_masses(operator, M)
    if difference:
        raise BadArgument(f"{path}: the multigrid does not belong to {M!r}: it is that of {difference}")
    with named(path):
        core, notes = load().read_multigrid(group, M._core, params, built_at, report)
    if rank() == 0:
        for note in notes:
            warnings.warn(f"{path}: {note}", UserWarning, stacklevel=2)
    return Multigrid(core, M._record)


#: Files of earlier versions lack these parameters, and have been made with these values.
_BEFORE_IT_WAS_STATED = {"prolongator_storage": "half"}


def _parse(path: str, statement: str) -> tuple[OperatorRecord, list[float], Any, Any]:
    core = load()
    params, report = core.MultigridParams(), core.MultigridSetupReport()
    try:
        stated = json.loads(statement)
        operator = OperatorRecord.from_text(stated["operator"])
        built_at = [float(mass) for mass in stated["built_at"]]
        if len(built_at) != 2:
            raise ValueError("expected a mass and a twisted mass")
        _fill(params, _BEFORE_IT_WAS_STATED | stated["params"])
        levels = [_fill(core.MultigridLevelReport(), level) for level in stated["report"]["coarse_levels"]]
        _fill(report, stated["report"] | {"coarse_levels": levels})
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise FileError(
            f"{path}: /{GROUP}: {STATEMENT}: expected what trellis writes about its multigrid, found "
            f"{statement[:200]!r} ({error})"
        ) from None
    return operator, built_at, params, report


def _fill(record: Any, found: dict[str, Any]) -> Any:
    """Give a record the values of a statement, which has all of them and no others."""
    if found.keys() != values(record).keys():
        raise ValueError(f"the values are {', '.join(found)}, not {', '.join(values(record))}")
    for name, value in found.items():
        setattr(record, name, value)
    return record


def _count(group: Any, begin: str) -> int:
    return sum(name.startswith(begin) for name in group.names())


def _counts_of_levels(group: Any) -> list[int]:
    """Return how many columns each level between the finest and the coarsest has."""
    counts: list[int] = []
    while count := _count(group, of_level(len(counts) + 1)):
        counts.append(count)
    return counts
