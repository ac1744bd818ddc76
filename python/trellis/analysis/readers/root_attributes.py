"""This module reads checksums of measurement and stream files, and those root
attributes that have to agree.
"""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
from numpy.typing import NDArray

from ...ground import dataset_checksums
from ..records.errors import MeasurementFileError
from ..records.measurements import Measurements

_WAY_ON = (
    "the file is damaged: put a copy in its place, or move it away; trellis measure --resume measures "
    "correlators again that are not there"
)


def check_root(path: Path, file: h5py.File, result: Measurements) -> tuple[int, int, int, int]:
    """Compare lattice, beta and conventions with the files before; remember the run file.

    [0, 0, 0, T] is a lattice whose spatial extents nobody said.
    """
    stored = file.attrs.get("lattice", [])
    lattice = whole_numbers(path, "root attribute lattice", stored, "[Lx, Ly, Lz, Lt]").ravel()
    is_unknown_in_space = lattice.shape == (4,) and not lattice[:3].any() and lattice[3] > 0
    if lattice.shape != (4,) or (np.any(lattice < 1) and not is_unknown_in_space):
        raise MeasurementFileError(
            path, "root attribute lattice", expected="[Lx, Ly, Lz, Lt]", found=lattice.tolist()
        )
    x, y, z, t = (int(n) for n in lattice)
    new: dict[str, object] = {"lattice": (x, y, z, t)}
    if "beta" in file.attrs:
        beta = np.asarray(file.attrs["beta"])
        if beta.size != 1 or beta.dtype.kind not in "iuf" or not np.isfinite(beta).all():
            found = plain(file.attrs["beta"])
            raise MeasurementFileError(path, "root attribute beta", expected="a finite number", found=found)
        new["beta"] = float(beta.item())
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
    return x, y, z, t


def numbers_of(path: Path, dataset: h5py.Dataset) -> NDArray:
    """Return all of a dataset; refuse numbers that differ from those of its checksum, if there is one."""
    values = np.asarray(dataset[()])
    if dataset_checksums.NAME in dataset.attrs:
        wrong = dataset_checksums.difference(dataset.attrs[dataset_checksums.NAME], values)
        if wrong is not None:
            raise MeasurementFileError(path, dataset.name, expected=wrong[0], found=f"{wrong[1]}; {_WAY_ON}")
    return values


def whole_numbers(path: Path, what: str, values: object, expected: str) -> NDArray:
    """Return the values as int64; texts, fractions and NaN raise MeasurementFileError."""
    array = np.asarray(values)
    if array.size == 0:
        return np.zeros(array.shape, dtype=np.int64)
    is_whole = array.dtype.kind in "iu" or (
        array.dtype.kind == "f" and np.all(np.isfinite(array)) and np.all(array == np.round(array))
    )
    if not is_whole:
        raise MeasurementFileError(
            path, what, expected=f"{expected}, whole numbers", found=f"{plain(array)} ({array.dtype})"
        )
    return array.astype(np.int64)


def text_of(value: object) -> str | None:
    if value is None:
        return None
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def plain(value: object) -> object:
    """Turn an HDF5 attribute into a text, number or list."""
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, np.ndarray):
        return [plain(v) for v in value.tolist()] if value.ndim else plain(value.item())
    return value.item() if isinstance(value, np.generic) else value
