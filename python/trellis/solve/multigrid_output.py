"""This module writes set-ups of multigrid into HDF5 files: they are made once for a configuration, and read
by every later run."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any, Protocol

from ..ground.arguments import file_path, instance
from ..ground.compiled_core import load
from ..ground.crash_safe_files import behind_links
from ..ground.operator_records import OperatorRecord
from ..ground.provenance import write_root_attributes
from ..quarks.propagator_metadata import GAMMA_BASIS
from .prepared_files import CHECKSUM, STATEMENT, checksum

KIND = GROUP = "multigrid"


class WrittenMultigrid(Protocol):
    """This is a set-up as its file describes it; :class:`trellis.Multigrid` is such."""

    _core: Any
    operator: OperatorRecord
    block: tuple[int, int, int, int]
    coarse_lattice: tuple[int, int, int, int]
    vectors: int
    coarse_vectors: tuple[int, ...]


def write_multigrid(multigrid: WrittenMultigrid, path: str | os.PathLike, *, run_file: str = "") -> None:
    """See :meth:`trellis.Multigrid.write`."""
    path, run_file = behind_links(file_path(path)), instance("run_file", run_file, str)
    extents = tuple(b * c for b, c in zip(multigrid.block, multigrid.coarse_lattice, strict=True))
    file = load().Hdf5File.create(path)
    root = file.root()
    write_root_attributes(root, KIND, run_file, extents, fixed_texts=True)
    root.set_fixed_text("gamma_basis", GAMMA_BASIS)
    core = multigrid._core
    core.write_hdf5(root.make_group(GROUP))
    statement = json.dumps(
        {
            "operator": multigrid.operator.to_text(),
            "built_at": list(core.built_at),
            "params": values(core.params),
            "report": values(core.report),
        }
    )
    root.set_fixed_text(STATEMENT, statement, GROUP)
    root.set_integer(
        CHECKSUM,
        checksum(root, GROUP, statement, columns(multigrid.vectors, multigrid.coarse_vectors)),
        GROUP,
    )
    file.commit()


def columns(count: int, coarse: Sequence[int] = ()) -> list[str]:
    """Return the names of the arrays of so many columns, of the coefficients of as many test vectors, and of
    each level.

    Parameters
    ----------
    count
        Columns between the finest lattice and the second.
    coarse
        Columns of each level between the finest and the coarsest.
    """
    names = [f"{name}_{i:04d}" for name in ("column", "coefficients") for i in range(count)]
    return names + [f"{of_level(level)}{i:04d}" for level, n in enumerate(coarse, 1) for i in range(n)]


def of_level(level: int) -> str:
    """Begin the names of the columns between a level, 1 for the second lattice, and the one below."""
    return f"level_{level}_column_"


def values(record: Any) -> dict[str, Any]:
    """Return all values of a record of the compiled core, by name; records in lists are treated likewise."""
    return {name: _plain(getattr(record, name)) for name in dir(record) if not name.startswith("_")}


def _plain(value: Any) -> Any:
    level_report = load().MultigridLevelReport
    if isinstance(value, list):
        return [values(item) if isinstance(item, level_report) else item for item in value]
    return value
