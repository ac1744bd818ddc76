"""This module writes results as an HDF5 file whose dimensions have names and coordinates.

xarray.open_dataset(path, engine="h5netcdf") gives masses over `particle`, series over `configuration`,
correlators over `time` and effective masses over `half_time`.
"""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..ground.crash_safe_files import make_folder
from .readers.hdf5_files import open_hdf5
from .records.record import Series
from .records.results import Results

_LATTICE = "lattice units"


def write_hdf5(results: Results, path: Path | str) -> Path:
    """Write masses, covariance, series, correlators and effective masses with dimension scales.

    Numbers that are not there are NaN. `covariance` has the dimensions particle and particle_2, which hold
    the same names.
    """
    target = Path(path)
    make_folder(target.parent)
    particles, names = list(results.particles.values()), list(results.particles)
    extent = results.lattice[3]
    with open_hdf5(target, "w") as file:
        file.attrs.update(title=results.title, kind="trellis results", units=_LATTICE)
        for scale in ("particle", "particle_2"):
            _scale(file, scale, np.array(names, dtype=object), h5py.string_dtype())
        _scale(file, "time", np.arange(extent), None)
        _scale(file, "half_time", np.arange(extent) + 0.5, None)
        for name in ("mass", "mass_error", "statistical_error", "model_error"):
            _dataset(file, name, [getattr(p, name) for p in particles], ("particle",), _LATTICE)
        if results.scale is not None:
            in_mev = [p.physical for p in particles if p.physical is not None]
            _dataset(file, "mass_mev", [p.mev for p in in_mev], ("particle",), "MeV")
            _dataset(file, "mass_mev_error", [p.error for p in in_mev], ("particle",), "MeV")
        shape = (len(names), len(names))
        covariance = np.array(results.covariance, dtype=float).reshape(shape)
        _dataset(file, "covariance", covariance, ("particle", "particle_2"), "lattice units squared")
        for name in ("correlator", "effective_mass"):
            axis, start = ("time", 0.0) if name == "correlator" else ("half_time", 0.5)
            for part, of in (("", "value"), ("_error", "error")):
                rows = [_row(getattr(p, name), of, start, extent) for p in particles]
                _dataset(file, name + part, np.reshape(rows, (-1, extent)), ("particle", axis), _LATTICE)
        _write_series(file, results, names)
    return target


def _write_series(file: h5py.File, results: Results, names: list[str]) -> None:
    """Write the series of each mass over the configurations; `stream` names the stream of each."""
    samples = results.samples
    if samples is None:
        return
    _scale(file, "configuration", np.array(samples.numbers, dtype=np.int64), None)
    rows = np.reshape([samples.masses[name] for name in names], (len(names), -1))
    _dataset(file, "mass_on_configuration", rows, ("particle", "configuration"), _LATTICE)
    if samples.streams:
        stored = file.create_dataset("stream", data=samples.streams, dtype=h5py.string_dtype())
        stored.dims[0].attach_scale(file["configuration"])


def _scale(file: h5py.File, name: str, values: NDArray, dtype: object) -> None:
    file.create_dataset(name, data=values, dtype=dtype).make_scale(name)


def _dataset(file: h5py.File, name: str, values: ArrayLike, axes: tuple[str, ...], units: str) -> None:
    stored = file.create_dataset(name, data=np.asarray(values, dtype=np.float64))
    stored.attrs["units"] = units
    for place, axis in enumerate(axes):
        stored.dims[place].attach_scale(file[axis])


def _row(series: Series, of: str, start: float, extent: int) -> NDArray:
    """Put the values of a series at their times; NaN where there are none."""
    row = np.full(extent, np.nan)
    for x, value in zip(series.x, getattr(series, of), strict=True):
        row[round(x - start)] = np.nan if value is None else value
    return row
