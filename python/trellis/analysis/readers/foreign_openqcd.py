"""This module reads openQCD's flow measurements, the files NAME.ms.dat of its programs ms3, ym1 and qcd1.

The layout is that of openQCD's documents (main/ms3.c; little-endian): three int dn, nn, tmax; double eps;
then each measurement has an int, the trajectory, and the blocks W, Y and Q of (nn + 1) times tmax doubles.
These are the sums over time slices of Wilson's action density, of the clover one, and of the topological
charge, at flow times n dn eps.

E(t) is Y over the spatial volume, averaged over time slices. openQCD's charge has the opposite sign of ours
(doc/conventions.md).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..records.errors import AnalysisError, MeasurementFileError
from ..records.foreign_options import ForeignOptions
from ..records.measurements import ArraySeries, Measurements, ObservableSeries
from ..records.numbering import numbers_in_streams

_START = struct.Struct("<iiid")


@dataclass(frozen=True)
class FlowFile:
    """times holds the flow times [n]; Y and Q are sums over time slices, shape
    [measurement, flow time, time].
    """

    times: NDArray
    trajectories: NDArray
    Y: NDArray
    Q: NDArray


def read_flow_file(path: Path) -> FlowFile:
    """Read one file.

    Raises
    ------
    MeasurementFileError
        The header cannot be one, or the file ends within a measurement.
    """
    raw = path.read_bytes()
    if len(raw) < _START.size:
        raise MeasurementFileError(path, "header", expected=f"{_START.size} bytes", found=len(raw))
    dn, nn, tmax, eps = _START.unpack_from(raw)
    if not (0 < dn < 10**6 and 0 < nn < 10**6 and 0 < tmax < 10**5 and 0 < eps < 100):
        expected = "dn, nn, tmax and eps of a flow"
        raise MeasurementFileError(path, "header", expected=expected, found=[dn, nn, tmax, eps])
    record = np.dtype([("trajectory", "<i4"), ("blocks", "<f8", (3, nn + 1, tmax))])
    body = raw[_START.size :]
    if not body or len(body) % record.itemsize:
        expected = f"measurements of {record.itemsize} bytes"
        raise MeasurementFileError(path, "content", expected=expected, found=f"{len(body)} bytes")
    found = np.frombuffer(body, dtype=record)
    return FlowFile(
        np.arange(nn + 1) * dn * eps,
        found["trajectory"].astype(np.int64),
        found["blocks"][:, 1],
        found["blocks"][:, 2],
    )


def read_openqcd(
    paths: list[Path], streams: list[str], options: ForeignOptions, result: Measurements
) -> None:
    """Fill in flow and topological charge of `result`; each file is one stream.

    Raises
    ------
    MeasurementFileError
        A file has other flow times or another lattice than the first one.
    AnalysisError
        The spatial extent is not said, or several files have no names of streams.
    """
    if options.spatial_extent is None:
        raise AnalysisError("foreign.spatial_extent: expected L, which the files do not have, found none")
    if len(paths) > 1 and (not all(streams) or len(set(streams)) < len(streams)):
        raise AnalysisError(
            "stream: expected a regular expression that gives each of several files its name of a stream, as "
            f"'(r[0-9]+).ms.dat', found the names {streams}"
        )
    files = [read_flow_file(path) for path in paths]
    for path, file in zip(paths, files, strict=True):
        if not np.array_equal(file.times, files[0].times) or file.Y.shape[2] != files[0].Y.shape[2]:
            expected = f"flow times and time slices of {paths[0]}"
            raise MeasurementFileError(path, "header", expected=expected, found="others")
    L, numbers = options.spatial_extent, np.concatenate([f.trajectories for f in files])
    if any(streams):
        names = [s for s, f in zip(streams, files, strict=True) for _ in f.trajectories]
        numbers = numbers_in_streams(names, numbers)
    energy = np.concatenate([f.Y.mean(axis=2) for f in files]) / L**3
    charge = -np.concatenate([f.Q[:, -1].sum(axis=1) for f in files])
    result.lattice = (L, L, L, files[0].Y.shape[2])
    result.arrays["flow_energy_clover"] = ArraySeries("flow_energy_clover", numbers, energy, files[0].times)
    result.observables["topological_charge"] = ObservableSeries("topological_charge", numbers, charge)
