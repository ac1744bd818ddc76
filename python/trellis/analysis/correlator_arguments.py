"""The arguments of a correlator are checked here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..ground.errors import BadArgument
from .records.errors import AnalysisError, in_one_line
from .records.limits import RANGE_IN_WORDS, in_range
from .records.numbering import numbers_in_streams


def rows_of(name: str, values: ArrayLike) -> NDArray:
    """Return the values as [row, source, time]."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise AnalysisError(
            f"{name}: values: expected numbers on all configurations, found {np.ma.count_masked(values)} "
            "masked ones; leave these configurations out"
        )
    found = _array(name, "values", values)
    if found.dtype.kind not in "iufc":
        raise AnalysisError(f"{name}: values: expected numbers, found type {found.dtype}")
    if found.ndim == 2:
        found = found[:, np.newaxis, :]
    if found.ndim != 3 or 0 in found.shape or found.shape[2] < 2:
        expected = "[configuration, time] or [configuration, source, time] with at least 2 times"
        raise AnalysisError(f"{name}: values: expected {expected}, found the shape {np.shape(values)}")
    if not np.all(np.isfinite(found)):
        first = tuple(int(i) for i in np.argwhere(~np.isfinite(found))[0])
        raise AnalysisError(
            f"{name}: values: expected finite numbers, found {found[first]} in row {first[0]}, source "
            f"{first[1]}, t = {first[2]}"
        )
    if not in_range(found):
        largest = np.abs(found).max()
        raise AnalysisError(f"{name}: values: expected {RANGE_IN_WORDS}, found {largest:.1e}; rescale them")
    return found.astype(np.complex128 if found.dtype.kind == "c" else np.float64)


def numbers_of(
    name: str, configurations: ArrayLike | None, streams: Sequence[str] | None, count: int
) -> NDArray:
    """Return the numbers of the configurations, with their streams."""
    numbers = np.arange(count) if configurations is None else _array(name, "configurations", configurations)
    if (
        numbers.dtype.kind not in "iu"
        or numbers.shape != (count,)
        or np.any(numbers > np.iinfo(np.int64).max)
    ):
        raise AnalysisError(
            f"{name}: configurations: expected {count} whole numbers of 64 bits, one for each row, found "
            f"{numbers.dtype} of the shape {numbers.shape}"
        )
    numbers = numbers.astype(np.int64)
    if streams is None:
        return numbers
    if isinstance(streams, str) or not isinstance(streams, Iterable):
        raise AnalysisError(f"{name}: streams: expected {count} names, one for each row, found {streams!r}")
    try:
        return numbers_in_streams(list(streams), numbers)
    except BadArgument as error:
        raise AnalysisError(f"{name}: {error}") from None


def _array(name: str, what: str, values: object) -> NDArray:
    try:
        return np.asarray(values)
    except ValueError as error:  # rows are not of one length
        raise AnalysisError(f"{name}: {what}: expected an array, found {in_one_line(error)}") from None


def sign_of(name: str, what: str, value: object) -> int | None:
    """Return a whole number or None; a 1.0 is none."""
    if value is None or (isinstance(value, (int, np.integer)) and not isinstance(value, bool)):
        return None if value is None else int(value)
    raise AnalysisError(f"{name}: {what}: expected a whole number or None, found {value!r}")


def momentum_of(name: str, momentum: Sequence[int]) -> tuple[int, int, int]:
    """Return three whole numbers."""
    found = _array(name, "momentum", momentum)
    if found.shape != (3,) or found.dtype.kind not in "iu":
        raise AnalysisError(f"{name}: momentum: expected three whole numbers, found {momentum!r}")
    x, y, z = (int(n) for n in found)
    return x, y, z


def lattice_of(name: str, lattice: Sequence[int] | None, extent: int) -> tuple[int, int, int, int]:
    """Return the extents; 0 stands for a spatial one that is not said."""
    if lattice is None:
        return 0, 0, 0, extent
    found = _array(name, "lattice", lattice)
    if found.shape != (4,) or found.dtype.kind not in "iu" or np.any(found < 0) or found[3] != extent:
        raise AnalysisError(f"{name}: lattice: expected [Lx, Ly, Lz, {extent}], found {lattice!r}")
    x, y, z, t = (int(n) for n in found)
    return x, y, z, t
