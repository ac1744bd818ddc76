"""Attributes of measurement and stream files, and those of the root that have to agree."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np

from .errors import MeasurementFileError
from .measurements import Measurements


def check_root(path: Path, file: h5py.File, result: Measurements) -> tuple[int, int, int, int]:
    """Compare lattice, beta and conventions with the files before; remember the run file."""
    lattice = np.asarray(file.attrs.get("lattice", []), dtype=np.int64).ravel()
    if lattice.shape != (4,) or np.any(lattice < 1):
        raise MeasurementFileError(
            path, "root attribute lattice", expected="[Lx, Ly, Lz, Lt]", found=lattice.tolist()
        )
    new = {"lattice": tuple(int(x) for x in lattice)}
    if "beta" in file.attrs:
        new["beta"] = float(file.attrs["beta"])
    if "conventions_version" in file.attrs:
        new["conventions_version"] = text_of(file.attrs["conventions_version"])
    for key, value in new.items():
        known = getattr(result, key)
        if known is not None and known != value:
            expected = f"{known} as in the files before"
            raise MeasurementFileError(path, f"root attribute {key}", expected=expected, found=value)
        setattr(result, key, value)
    run_file = text_of(file.attrs.get("run_file"))
    if run_file and run_file not in result.run_files:
        result.run_files.append(run_file)
    return new["lattice"]


def text_of(value: object) -> str | None:
    if value is None:
        return None
    return value.decode() if isinstance(value, bytes) else str(value)


def plain(value: object) -> object:
    """HDF5 attribute -> text, number or list."""
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, np.ndarray):
        return [plain(v) for v in value.tolist()] if value.ndim else plain(value.item())
    return value.item() if isinstance(value, np.generic) else value
