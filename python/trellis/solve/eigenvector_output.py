"""This module writes low modes into HDF5 files: they are written once for a configuration, and read by every
later solve."""

from __future__ import annotations

import json
import os
from typing import Any, Protocol

from ..ground.arguments import file_path, instance
from ..ground.compiled_core import load
from ..ground.crash_safe_files import behind_links
from ..ground.operator_records import OperatorRecord
from ..ground.provenance import write_root_attributes
from ..quarks.propagator_metadata import GAMMA_BASIS
from .prepared_files import CHECKSUM, STATEMENT, checksum

GROUP = "eigenvectors"
ARRAYS = ("values", "relative_residual")
#: The search for modes was asked, found and cost these numbers; each has its type.
NUMBERS: dict[str, type] = {
    "tolerance": float,
    "upper": float,
    "converged": bool,
    "restarts": int,
    "degree": int,
    "cutoff": float,
    "seconds": float,
    "flops": float,
}


class WrittenEigenvectors(Protocol):
    """These are low modes as their file describes them; :class:`trellis.Eigenvectors` are such."""

    _core: Any
    operator: OperatorRecord
    extents: tuple[int, ...]
    even_odd: str
    storage: str

    def __len__(self) -> int: ...


def write_eigenvectors(modes: WrittenEigenvectors, path: str | os.PathLike, *, run_file: str = "") -> None:
    """See :meth:`trellis.Eigenvectors.write`."""
    path, run_file = behind_links(file_path(path)), instance("run_file", run_file, str)
    file = load().Hdf5File.create(path)
    root = file.root()
    write_root_attributes(root, "eigenvectors", run_file, modes.extents, fixed_texts=True)
    root.set_fixed_text("gamma_basis", GAMMA_BASIS)
    group = root.make_group(GROUP)
    modes._core.write_hdf5(group, 64 if modes.storage == "double" else 32)
    statement = json.dumps(
        {
            "operator": modes.operator.to_text(),
            "even_odd": modes.even_odd,
            "storage": "float" if modes.storage == "single" else modes.storage,
            **{name: getattr(modes._core, name) for name in NUMBERS},
        }
    )
    root.set_fixed_text(STATEMENT, statement, GROUP)
    root.set_integer(CHECKSUM, checksum(root, GROUP, statement, vectors(len(modes)), ARRAYS), GROUP)
    file.commit()


def vectors(count: int) -> list[str]:
    """Return the names of the arrays of so many vectors."""
    return [f"vector_{i:04d}" for i in range(count)]
