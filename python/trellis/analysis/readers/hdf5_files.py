"""This module opens HDF5 files by h5py, without the locks that some file systems lack."""

from __future__ import annotations

from pathlib import Path

import h5py


def open_hdf5(path: Path | str, mode: str = "r") -> h5py.File:
    """Open a file without a lock: whole files get their names and do not change later.

    Parameters
    ----------
    mode
        "r", or "w".
    """
    return h5py.File(path, mode, locking=False)
