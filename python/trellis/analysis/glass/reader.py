"""This module reads glass.h5, which `trellis glass` writes (doc/glass.md)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from ..readers.hdf5_files import open_hdf5
from ..records.errors import MeasurementFileError

KIND = "spin_glass"


@dataclass(frozen=True)
class GlassData:
    """This is the content of glass.h5.

    Attributes
    ----------
    bins
        Each observable has its means by its name, [bin][sample][temperature]; bins without a
        measurement are left out.
    first_steps
        The first step of each of these bins.
    counts
        Measurements of each.
    accepted, proposed
        [pair of temperatures]
    round_trips
        All sets of spins in all samples.
    """

    path: Path
    lattice: tuple[int, ...]
    couplings: str
    temperatures: NDArray[np.float64]
    replicas: int
    step: int
    seed: int
    bins: dict[str, NDArray[np.float64]]
    first_steps: list[int]
    counts: list[int]
    accepted: NDArray[np.int64]
    proposed: NDArray[np.int64]
    round_trips: int


def glass_file(path: Path | str) -> Path | None:
    """Return the file where the path is a spin glass's results, or a folder with them; else None."""
    path = Path(path)
    file = path / "glass.h5" if path.is_dir() else path
    if not file.is_file() or not h5py.is_hdf5(file):
        return None
    with open_hdf5(file) as content:
        return file if _text(content.attrs.get("kind", "")) == KIND else None


def read_glass(path: Path | str) -> GlassData:
    """Read the results of a spin glass.

    Raises
    ------
    MeasurementFileError
        The file is not what `trellis glass` writes, or has no measurement yet.
    """
    path = Path(path)
    try:
        with open_hdf5(path) as file:
            return _read(path, file)
    except (OSError, KeyError, IndexError, TypeError, ValueError) as error:
        if isinstance(error, MeasurementFileError):
            raise
        raise MeasurementFileError(
            path, "the file", expected="results of trellis glass", found=error
        ) from error


def _read(path: Path, file: h5py.File) -> GlassData:
    kind = _text(file.attrs["kind"])
    if kind != KIND:
        raise MeasurementFileError(path, "attribute kind", expected=KIND, found=kind)
    counts = [int(n) for n in file["bins/counts"][:]]
    filled = [bin for bin, count in enumerate(counts) if count]
    if not filled:
        raise MeasurementFileError(path, "bins", expected="at least one measurement", found="none")
    names = [name for name in file["bins"] if name != "counts"]
    shape = (len(counts), int(file.attrs["lattice"][3]), len(file["temperatures"]))
    bins = {}
    for name in names:
        sums = file["bins"][name][:]
        if sums.shape != shape:
            raise MeasurementFileError(path, f"bins/{name}", expected=f"extents {shape}", found=sums.shape)
        if not np.isfinite(sums).all():
            raise MeasurementFileError(
                path, f"bins/{name}", expected="finite numbers", found="NaN or infinity"
            )
        bins[name] = np.array([sums[bin] / counts[bin] for bin in filled])
    exchanges: dict[str, Any] = {name: of[:] for name, of in file["exchanges"].items()}
    none = np.zeros(0, dtype=np.int64)
    return GlassData(
        path=path,
        lattice=tuple(int(n) for n in file.attrs["lattice"]),
        couplings=_text(file.attrs["couplings"]),
        temperatures=file["temperatures"][:],
        replicas=_integer(file.attrs["replicas"]),
        step=_integer(file.attrs["step"]),
        seed=_integer(file.attrs["seed"]),
        bins=bins,
        first_steps=[2**bin for bin in filled],
        counts=[counts[bin] for bin in filled],
        accepted=exchanges.get("accepted", none),
        proposed=exchanges.get("proposed", none),
        round_trips=int(np.sum(exchanges.get("round_trips", none))),
    )


def _integer(value: Any) -> int:
    return int(np.ravel(value)[0])


def _text(value: object) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
