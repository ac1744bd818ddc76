"""This module has the content of stream.h5 that a look at a stream shows."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from ..analysis.readers.hdf5_files import open_hdf5
from ..analysis.readers.root_attributes import numbers_of, text_of
from ..analysis.records.errors import MeasurementFileError


@dataclass
class StreamData:
    """This is the content of stream.h5 that a look shows; numbers are those of trajectories or sweeps."""

    numbers: NDArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    values: dict[str, NDArray] = field(default_factory=dict)
    occasional: dict[str, tuple[NDArray, NDArray]] = field(default_factory=dict)
    thermalisation: int = 0
    beta: float | None = None
    run_file: str = ""


def read_stream(path: Path) -> StreamData:
    """Read the file as it is; it gets its name when it is whole, so that no half of it is ever seen.

    Raises
    ------
    MeasurementFileError, OSError, KeyError
        The file is damaged, or is no stream.
    """
    with open_hdf5(path) as file:
        data = StreamData(numbers=numbers_of(path, file["trajectory"]).astype(np.int64))
        data.thermalisation = _integer(file.attrs.get("thermalisation", 0))
        beta = file.attrs.get("beta")
        data.beta = None if beta is None else float(np.ravel(beta)[0])
        data.run_file = text_of(file.attrs.get("run_file")) or ""
        for name, dataset in file["observables"].items():
            values = numbers_of(path, dataset)
            if values.shape != data.numbers.shape:
                raise MeasurementFileError(
                    path, dataset.name, expected=f"{len(data.numbers)} numbers", found=list(values.shape)
                )
            data.values[name] = np.abs(values) if values.dtype.kind == "c" else values.astype(float)
        for name, group in file.get("occasional", {}).items():
            if isinstance(group, h5py.Group) and {"trajectory", "value"} <= set(group):
                data.occasional[name] = (
                    numbers_of(path, group["trajectory"]).astype(np.int64),
                    numbers_of(path, group["value"]),
                )
    return data


def _integer(value: Any) -> int:
    return int(np.ravel(value)[0])
