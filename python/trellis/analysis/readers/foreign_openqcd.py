"""This module reads openQCD's flow measurements: data files and logs.

Data files are NAME.ms.dat of qcd1 and ym1, and NAME.ms3.dat of ms3. The layout is that of main/README.ms3
and main/ms3.c (little-endian): three int dn, nn, tmax; double eps; then each measurement has an int, the
trajectory or configuration, and the blocks W, Y and Q of (nn + 1) times tmax doubles. These are the sums over
time slices of Wilson's action density, of the clover one, and of the topological charge, at flow times n dn
eps.

Logs are those of the same programs (main/ms3.c, print_info and print_log): they state the lattice and eps,
and each measurement has lines

    n = 100, t = 2.00e+00, Wact = 1.234567e+03, Yact = 1.234567e+03, Q = -1.23e+00

with the sums over the whole lattice at about eleven flow times, to 7 digits (the charge to 3).

E(t) is Y over the volume. openQCD's charge has the opposite sign of ours (doc/conventions.md). With open
boundaries E is that of the slices in the middle: the option time_margin leaves others out.
"""

from __future__ import annotations

import re
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
_LATTICE = re.compile(r"^(\d{1,5})x(\d{1,5})x(\d{1,5})x(\d{1,5}) lattice", re.MULTILINE)
_EPS = re.compile(r"^eps = (\S+)$", re.MULTILINE)
_NUMBER = re.compile(r"^(?:Trajectory|Configuration) no (\d{1,18})$")
_LINE = re.compile(r"^n = +(\d{1,9}), t = \S+, Wact = \S+, Yact = (\S+), Q = +(\S+)$")


@dataclass(frozen=True)
class FlowFile:
    """These are the measurements of one file.

    Attributes
    ----------
    lattice
        (Lx, Ly, Lz, Lt).
    times
        The flow times [n].
    trajectories
        The numbers of the measurements.
    energy, charge
        E(t), and the sum of openQCD's charge density over the lattice, shape [measurement, flow time].
    """

    lattice: tuple[int, int, int, int]
    times: NDArray
    trajectories: NDArray
    energy: NDArray
    charge: NDArray


def read_flow_file(path: Path, options: ForeignOptions) -> FlowFile:
    """Read one file, a log or data.

    Raises
    ------
    MeasurementFileError
        The header cannot be one, the file ends within a measurement, or numbers do not ascend or are not
        finite.
    AnalysisError
        The spatial extent is not said, or time_margin leaves nothing.
    """
    raw = path.read_bytes()
    is_log = b"\0" not in raw and b"lattice, " in raw
    if is_log:
        found = _of_log(path, raw.decode(errors="replace").replace("\r\n", "\n"), options)
    else:
        found = _of_data(path, raw, options)
    falls = np.flatnonzero(np.diff(found.trajectories) <= 0)
    if len(falls):
        after, number = (int(found.trajectories[falls[0] + k]) for k in (0, 1))
        expected = "numbers of trajectories that ascend"
        raise MeasurementFileError(path, "content", expected=expected, found=f"{number} after {after}")
    bad = ~(np.isfinite(found.energy).all(axis=1) & np.isfinite(found.charge).all(axis=1))
    if bad.any():
        said = f"others in trajectory {found.trajectories[bad][0]}"
        raise MeasurementFileError(path, "content", expected="finite numbers", found=said)
    return found


def _of_data(path: Path, raw: bytes, options: ForeignOptions) -> FlowFile:
    L = options.spatial_extent
    if L is None:
        raise AnalysisError("foreign.spatial_extent: expected L, which the files do not have, found none")
    if len(raw) < _START.size:
        raise MeasurementFileError(path, "header", expected=f"{_START.size} bytes", found=len(raw))
    dn, nn, tmax, eps = _START.unpack_from(raw)
    if not (0 < dn < 10**6 and 0 < nn < 10**6 and 0 < tmax < 10**5 and 0 < eps < 100):
        expected = "dn, nn, tmax and eps of a flow"
        raise MeasurementFileError(path, "header", expected=expected, found=[dn, nn, tmax, eps])
    margin = options.time_margin
    if 2 * margin >= tmax:
        raise AnalysisError(
            f"foreign.time_margin: expected less than half of the {tmax} time slices, found {margin}"
        )
    record = np.dtype([("trajectory", "<i4"), ("blocks", "<f8", (3, nn + 1, tmax))])
    body = raw[_START.size :]
    if not body or len(body) % record.itemsize:
        expected = f"measurements of {record.itemsize} bytes"
        raise MeasurementFileError(path, "content", expected=expected, found=f"{len(body)} bytes")
    found = np.frombuffer(body, dtype=record)
    return FlowFile(
        (L, L, L, tmax),
        np.arange(nn + 1) * dn * eps,
        found["trajectory"].astype(np.int64),
        found["blocks"][:, 1, :, margin : tmax - margin].mean(axis=2) / L**3,
        found["blocks"][:, 2].sum(axis=2),
    )


def _of_log(path: Path, text: str, options: ForeignOptions) -> FlowFile:
    if options.time_margin:
        raise AnalysisError(
            "foreign.time_margin: expected data files (NAME.ms.dat, NAME.ms3.dat), for logs have sums over "
            f"all time slices, found the log {path}"
        )
    stated, steps = _LATTICE.search(text), _EPS.search(text)
    if stated is None or steps is None:
        expected = "lines with the lattice and with eps of the Wilson flow"
        raise MeasurementFileError(path, "log", expected=expected, found="none")
    t, x, y, z = (int(n) for n in stated.groups())
    eps = _number_of_log(path, "eps", steps[1])
    measured: list[tuple[int, list[tuple[int, float, float]]]] = []
    for line in text.splitlines():
        if match := _NUMBER.match(line):
            measured.append((int(match[1]), []))
        elif (match := _LINE.match(line)) and measured:
            Y, Q = (_number_of_log(path, f"flow of number {measured[-1][0]}", match[k]) for k in (2, 3))
            measured[-1][1].append((int(match[1]), Y, Q))
    measured = [(number, lines) for number, lines in measured if lines]
    if not measured:
        expected = "lines 'n = ..., t = ..., Wact = ..., Yact = ..., Q = ...' behind a number"
        raise MeasurementFileError(path, "log", expected=expected, found="none")
    first = [n for n, _, _ in measured[0][1]]
    for number, lines in measured:
        if [n for n, _, _ in lines] != first:
            expected = f"the flow steps {first} of every measurement"
            found = [n for n, _, _ in lines]
            raise MeasurementFileError(path, f"number {number}", expected=expected, found=found)
    table = np.array([[(Y, Q) for _, Y, Q in lines] for _, lines in measured])
    times, numbers = np.array(first) * eps, np.array([n for n, _ in measured], dtype=np.int64)
    return FlowFile((x, y, z, t), times, numbers, table[:, :, 0] / (x * y * z * t), table[:, :, 1])


def _number_of_log(path: Path, what: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise MeasurementFileError(path, what, expected="a number", found=repr(text)) from None


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
    if len(paths) > 1 and (not all(streams) or len(set(streams)) < len(streams)):
        raise AnalysisError(
            "stream: expected a regular expression that gives each of several files its name of a stream, as "
            f"'(r[0-9]+).ms.dat', found the names {streams}"
        )
    files = [read_flow_file(path, options) for path in paths]
    for path, file in zip(paths, files, strict=True):
        if file.lattice != files[0].lattice or not np.array_equal(file.times, files[0].times):
            expected = f"flow times and time slices of {paths[0]}"
            raise MeasurementFileError(path, "header", expected=expected, found="others")
    numbers = np.concatenate([f.trajectories for f in files])
    if any(streams):
        names = [s for s, f in zip(streams, files, strict=True) for _ in f.trajectories]
        numbers = numbers_in_streams(names, numbers)
    energy = np.concatenate([f.energy for f in files])
    charge = -np.concatenate([f.charge[:, -1] for f in files])
    result.lattice = files[0].lattice
    result.arrays["flow_energy_clover"] = ArraySeries("flow_energy_clover", numbers, energy, files[0].times)
    result.observables["topological_charge"] = ObservableSeries("topological_charge", numbers, charge)
