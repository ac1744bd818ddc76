"""This module opens HDF5 files by h5py, without the locks that some file systems lack."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import h5py

from ..records.errors import AnalysisError, MeasurementFileError

#: h5py raises these where the content of a file is damaged.
DAMAGE = (OSError, KeyError, TypeError, ValueError, RuntimeError)


def open_hdf5(path: Path | str, mode: str = "r") -> h5py.File:
    """Open a file without a lock: whole files get their names and do not change later.

    Parameters
    ----------
    mode
        "r", or "w".
    """
    return h5py.File(path, mode, locking=False)


@contextmanager
def foreign_hdf5(path: Path) -> Iterator[h5py.File]:
    """Open a file to read it; what h5py says of damage inside becomes an error that names the file.

    Raises
    ------
    MeasurementFileError
        It is no HDF5 file, or it is damaged.
    """
    try:
        handle = open_hdf5(path)
    except OSError as error:
        raise MeasurementFileError(path, "file", expected="an HDF5 file", found=error) from None
    with handle as file:
        try:
            yield file
        except AnalysisError:
            raise
        except DAMAGE as error:
            raise MeasurementFileError(path, "content", expected="a whole HDF5 file", found=error) from None
