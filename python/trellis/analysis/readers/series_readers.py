"""This module has series over trajectories.

They are observables of measurement files, and the streams of gauge generation.
"""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
from numpy.typing import NDArray

from ..records.errors import AnalysisError, MeasurementFileError
from ..records.measurements import ArraySeries, Measurements, ObservableSeries
from ..records.numbering import has_streams, number_text, numbers_in_streams, plain_numbers
from .root_attributes import check_root, numbers_of, text_of


def refuse_not_finite(path: Path, where: str, values: NDArray, numbers: NDArray) -> None:
    bad = np.argwhere(~np.isfinite(values))
    if len(bad):
        first = tuple(int(i) for i in bad[0])
        where_found = f"{values[first]} in configuration {number_text(numbers[first[0]])} at {first}"
        found = f"{len(bad)} that are not, first {where_found}"
        raise MeasurementFileError(path, where, expected="finite numbers", found=found)


def read_observables(
    path: Path, group: h5py.Group, numbers: NDArray, result: Measurements, after: int | None = None
) -> None:
    """Read the series of all datasets; with `after`, leave out the thermalisation of a stream."""
    keep = np.ones(len(numbers), dtype=bool) if after is None else plain_numbers(numbers) > after
    all_numbers = numbers
    for name, dataset in group.items():
        if name == "trajectory":
            continue
        if not isinstance(dataset, h5py.Dataset) or dataset.dtype.kind not in "iufcb":
            found = f"type {dataset.dtype}" if isinstance(dataset, h5py.Dataset) else "a group"
            raise MeasurementFileError(path, f"{group.name}/{name}", expected="numbers", found=found)
        values = numbers_of(path, dataset)
        if values.shape != all_numbers.shape:
            raise MeasurementFileError(
                path, dataset.name, expected=f"{len(all_numbers)} numbers", found=list(values.shape)
            )
        values, numbers = values[keep], all_numbers[keep]
        refuse_not_finite(path, dataset.name, values, numbers)
        _add_series(result.observables, name, numbers, values)


def read_stream(path: Path, file: h5py.File, result: Measurements, stream: str = "") -> int:
    """Read a file of gauge generation, and return the number of its trajectories.

    Parameters
    ----------
    stream
        The name of its stream, where there are several.
    """
    check_root(path, file, result)
    group = file.get("observables")
    if not isinstance(group, h5py.Group):
        raise MeasurementFileError(path, "/observables", expected="a group with datasets", found="nothing")
    trajectory = file.get("trajectory", group.get("trajectory"))
    if trajectory is None:
        raise MeasurementFileError(path, "/trajectory", expected="int64[n]", found="nothing")
    numbers = named(np.atleast_1d(numbers_of(path, trajectory).astype(np.int64)), stream)
    _require_same_chain(path, group, numbers, result)
    after = int(file.attrs.get("thermalisation", 0))
    result.notes += [
        f"{path.name}: {line}" for line in (text_of(file.attrs.get("changes")) or "").splitlines()
    ]
    if len(numbers) and plain_numbers(numbers).max() <= after:
        result.notes.append(
            f"{path.name}: its {len(numbers)} trajectories are all thermalisation, which ends at {after}"
        )
        result.thermalisation = result.thermalisation or Measurements()
        _read_series(path, file, group, numbers, 0, result.thermalisation, stream)
    else:
        _read_series(path, file, group, numbers, after, result, stream)
    return len(numbers)


def named(numbers: NDArray, stream: str) -> NDArray:
    """Return the numbers with the name of their stream, if it has one."""
    return numbers_in_streams([stream] * len(numbers), numbers) if stream else numbers


def _read_series(
    path: Path,
    file: h5py.File,
    group: h5py.Group,
    numbers: NDArray,
    after: int,
    result: Measurements,
    stream: str,
) -> None:
    """Read observables, work and what is not measured every time, of the trajectories
    after the number `after`.
    """
    read_observables(path, group, numbers, result, after=after)
    if isinstance(file.get("work"), h5py.Group):
        for name, dataset in file["work"].items():
            values = numbers_of(path, dataset).astype(float)
            if values.shape != numbers.shape:
                raise MeasurementFileError(
                    path, dataset.name, expected=f"{len(numbers)} numbers", found=list(values.shape)
                )
            kept = plain_numbers(numbers) > after
            _add_series(result.work, name, numbers[kept], values[kept])
    if isinstance(file.get("occasional"), h5py.Group):
        for name, series in file["occasional"].items():
            _read_occasional(path, name, series, result, after, stream)


def _require_same_chain(path: Path, group: h5py.Group, numbers: NDArray, result: Measurements) -> None:
    """Refuse independent chains that share numbers of trajectories: one of them would stand for both."""
    streams = [file.path for file in result.files if file.kind == "gauge_stream"]
    if not streams:
        return
    known = result.observables | (result.thermalisation.observables if result.thermalisation else {})
    for name in sorted(set(group) & set(known)):
        old, values = known[name], group[name]
        if name.startswith("seconds") or values.shape != numbers.shape:
            continue
        _, here, there = np.intersect1d(numbers, old.trajectories, return_indices=True)
        if not np.array_equal(numbers_of(path, values)[here], old.values[there], equal_nan=True):
            raise MeasurementFileError(
                path,
                values.name,
                expected=f"the values of {', '.join(streams)} at the {len(here)} trajectories that both have "
                "(the option stream gives independent chains their names)",
                found="others",
            )


def _read_occasional(
    path: Path, name: str, group: h5py.Group, result: Measurements, after: int, stream: str
) -> None:
    """Read a series with trajectory numbers of its own; arrays of noise vectors give their mean, too."""
    numbers = named(numbers_of(path, group["trajectory"]).astype(np.int64), stream)
    values = numbers_of(path, group["value"])
    if len(values) != len(numbers):
        raise MeasurementFileError(
            path, group["value"].name, expected=f"{len(numbers)} entries", found=list(values.shape)
        )
    keep = plain_numbers(numbers) > after
    numbers, values = numbers[keep], values[keep]
    if values.ndim == 1:  # NaN stands for t0 or w0 that the flow does not reach
        _add_series(result.observables, name, numbers, values)
        return
    refuse_not_finite(path, group["value"].name, values, numbers)
    axis = numbers_of(path, group["axis"]) if "axis" in group else None
    old = result.arrays.get(name)
    if old is not None and old.values.shape[1:] != values.shape[1:]:
        raise MeasurementFileError(
            path, group["value"].name, expected=list(old.values.shape[1:]), found=list(values.shape[1:])
        )
    if values.ndim == 2 and axis is None:
        _add_series(result.observables, name, numbers, values.mean(axis=1))
    if old is not None:
        numbers = np.concatenate([old.trajectories, numbers])
        values = np.concatenate([old.values, values])
    numbers, first = np.unique(numbers, return_index=True)
    result.arrays[name] = ArraySeries(name, numbers, values[first], axis)


def _add_series(known: dict[str, ObservableSeries], name: str, numbers: NDArray, values: NDArray) -> None:
    if name in known:
        if has_streams(known[name].trajectories) != has_streams(numbers):
            raise AnalysisError(
                f"{name}: expected series that all say their stream, or none, found both; analyse the "
                f"streams "
                "one by one"
            )
        numbers = np.concatenate([known[name].trajectories, numbers])
        values = np.concatenate([known[name].values, values])
    numbers, first = np.unique(numbers, return_index=True)
    known[name] = ObservableSeries(name, numbers, values[first])
