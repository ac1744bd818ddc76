"""openQCD's program ms4 writes quark fields; the norms of their time slices are a pion correlator.

ms4 solves D psi = eta for random fields eta on one time slice, <|eta|^2> = 1 for each component, and exports
each psi as NAMEnNUMBER.sSOURCE (main/README.ms4). The layout is that of modules/archive/sarchive.c
(little-endian): four int N0, N1, N2, N3 with N0 the time extent; a double, the square of the norm; then 12
complex numbers of double precision at each site x3 + N3 (x2 + N2 (x1 + N1 x0)).

On average over eta the sum of |psi|^2 over a time slice, divided by the spatial volume of the source, is the
sum of |S|^2 over spins and colours: the correlator of the pion from a point, without 2 kappa (M. Foster and
C. Michael, Phys. Rev. D 59 (1999) 074503). Numbers of psi in another basis of the gamma matrices have the
same norm. Files do not say the time slice of the source: the option source_time does.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..records.errors import MeasurementFileError
from ..records.foreign_options import ForeignOptions
from .foreign_entries import Entry, Extents
from .sources import from_the_source

_START = struct.Struct("<iiiid")
_COMPLEX_NUMBERS = 12
_NAME = re.compile(r"(?P<run>.+)n(?P<number>\d+)\.s(?P<source>\d+)")
#: Sums of the same numbers in another order differ by less.
_ROUNDING = 1e-10


def is_quark_field(path: Path) -> bool:
    """Return True for a name as ms4 gives it, NAMEnNUMBER.sSOURCE."""
    return _NAME.fullmatch(path.name) is not None


def read_quark_fields(paths: list[Path], options: ForeignOptions, stream: str) -> Iterator[Entry]:
    """Read the pion correlator of each file; the files of one configuration are its sources.

    Raises
    ------
    MeasurementFileError
        A name has no number, a header cannot be one, sizes do not fit, or the norm is another one.
    """
    for path in paths:
        match = _NAME.fullmatch(path.name)
        if match is None:
            raise MeasurementFileError(path, "name", expected="NAMEnNUMBER.sSOURCE", found=path.name)
        norms, extents = _norms(path)
        rows = norms[np.newaxis, np.newaxis]
        shifted = from_the_source("pion", rows, options.source_time, "meson", options.boundary_t)[0, 0]
        attributes = {
            "type": "meson",
            "particle": "pion",
            "boundary_t": options.boundary_t,
            "source": "gamma5",
            "sink": "gamma5",
            "layout": "openqcd",
        }
        number = int(match["number"])
        yield Entry(path, number, "pion", shifted, attributes, stream=stream, extents=extents)


def _norms(path: Path) -> tuple[NDArray, Extents]:
    """Return the sum of |psi|^2 of each time slice over the spatial volume, shape [time], and the lattice."""
    size = path.stat().st_size
    with open(path, "rb") as raw:
        start = raw.read(_START.size)
        if len(start) < _START.size:
            raise MeasurementFileError(path, "header", expected=f"{_START.size} bytes", found=len(start))
        *extents, norm = _START.unpack(start)
        if not all(0 < n < 10**5 for n in extents) or not norm > 0:
            expected = "four extents, and the square of a norm"
            raise MeasurementFileError(path, "header", expected=expected, found=[*extents, norm])
        time, *space = extents
        of_slice = int(np.prod(space)) * _COMPLEX_NUMBERS
        expected_size = _START.size + time * of_slice * 16
        if size != expected_size:
            lattice = " x ".join(map(str, extents))
            expected = f"{expected_size} bytes for a quark field on {lattice} (t, x, y, z)"
            raise MeasurementFileError(path, "size", expected=expected, found=size)
        slices = np.zeros(time)
        for t in range(time):
            values = np.fromfile(raw, dtype="<f8", count=2 * of_slice)
            slices[t] = values @ values
    if not abs(slices.sum() - norm) <= _ROUNDING * norm:
        raise MeasurementFileError(path, "square of the norm", expected=norm, found=float(slices.sum()))
    x, y, z = space
    return slices / (x * y * z), (x, y, z, time)
