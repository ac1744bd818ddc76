"""The files of lalibe have the same parts at their ends: places of sources, momenta, and arrays of times."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import h5py
import numpy as np
from numpy.typing import NDArray

from ..records.errors import MeasurementFileError
from ..records.momenta import Momentum

_PLACE = re.compile(r"x\d+_y\d+_z\d+_t\d+")
_MOMENTUM = re.compile(r"px(-?\d+)_py(-?\d+)_pz(-?\d+)")
#: Momentum -> the values at all times.
ByMomentum: TypeAlias = dict[Momentum, NDArray]
#: A group of lalibe's file is read with a factor.
Part: TypeAlias = tuple[h5py.Group, complex]


@dataclass
class LalibeCorrelator:
    """values is complex, shape [momentum, time], and is the mean over the sources at `places`."""

    values: NDArray
    momenta: list[Momentum]
    places: frozenset[str]
    attributes: dict[str, str]

    @property
    def sources(self) -> int:
        return len(self.places)


def with_more_sources(
    before: LalibeCorrelator, more: LalibeCorrelator, path: Path, name: str, of: str
) -> LalibeCorrelator:
    """Return the mean over the sources of both, which lie in a file each."""
    again = sorted(before.places & more.places)
    if again:
        expected = f"each source once for {of}"
        raise MeasurementFileError(path, name, expected=expected, found=f"{again[0]} again")
    if before.momenta != more.momenta or before.values.shape != more.values.shape:
        expected = (
            f"momenta {before.momenta} and {before.values.shape[-1]} times, as the other sources of {of}"
        )
        found = f"{more.momenta} and {more.values.shape[-1]}"
        raise MeasurementFileError(path, name, expected=expected, found=found)
    places = before.places | more.places
    total = before.sources * before.values + more.sources * more.values
    return LalibeCorrelator(total / len(places), before.momenta, places, before.attributes)


@dataclass
class SourceMean:
    """total has the mean over the sources at `places`, summed over spins, by momentum."""

    total: ByMomentum
    places: frozenset[str]

    def correlator(self, attributes: dict) -> LalibeCorrelator:
        """Return the correlator, with its momenta in ascending order of their squares."""
        momenta = sorted(self.total, key=lambda n: (sum(k * k for k in n), n))
        values = np.array([self.total[n] for n in momenta])
        return LalibeCorrelator(values, momenta, self.places, attributes)


def mean_over_sources(
    path: Path,
    where: str,
    parts: Iterable[Part],
    correlators_of: Callable[[Path, h5py.Group], ByMomentum],
    *,
    must_be_complex: bool = False,
) -> SourceMean:
    """Return the sum of the parts, which are spins, each a mean over its sources.

    Parameters
    ----------
    where
        The name in messages.
    correlators_of
        Path, group of one source -> its correlators by momentum.
    must_be_complex
        Real numbers are refused: the factor that is still to come is imaginary.

    Raises
    ------
    MeasurementFileError
        Spins have unequal sources, sources have unequal momenta or times, or there is nothing.
    """
    total: ByMomentum = {}
    expected: tuple[set[str], set[str]] | None = None  # it has places and momenta of the first spin
    for part, factor in parts:
        require_group(path, part)
        places = sorted(name for name in part if _PLACE.fullmatch(name))
        for place in places:
            require_group(path, part[place])
            there = correlators_of(path, part[place])
            names = {f"px{x}_py{y}_pz{z}" for x, y, z in there}
            expected = expected or (set(places), names)
            _require_equal(path, part[place], "momenta", expected[1], names)
            for n, values in there.items():
                name = f"{part[place].name}/px{n[0]}_py{n[1]}_pz{n[2]}"
                if total and len(values) != len(next(iter(total.values()))):
                    lengths = len(next(iter(total.values())))
                    raise MeasurementFileError(path, name, expected=f"{lengths} times", found=len(values))
                if must_be_complex and values.dtype.kind != "c":  # gamma_z gamma5 gives an imaginary one
                    raise MeasurementFileError(
                        path, name, expected="complex numbers", found=str(values.dtype)
                    )
                total[n] = total.get(n, 0) + factor * values.astype(np.complex128) / len(places)
        if expected is not None:
            _require_equal(path, part, "sources", expected[0], set(places))
    if not total or expected is None:
        raise MeasurementFileError(
            path, where, expected="groups xX_yY_zZ_tT with momenta", found="none in it"
        )
    return SourceMean(total, frozenset(expected[0]))


def momenta_of(group: h5py.Group) -> dict[Momentum, str]:
    """Return momentum -> name of the entries pxN_pyN_pzN."""
    matches = {name: match for name in group if (match := _MOMENTUM.fullmatch(name))}
    return {(int(m[1]), int(m[2]), int(m[3])): name for name, m in matches.items()}


def require_group(path: Path, item: h5py.Group | h5py.Dataset) -> None:
    """Refuse a dataset in the place of a group."""
    if not isinstance(item, h5py.Group):
        raise MeasurementFileError(path, item.name, expected="a group", found="a dataset")


def numbers_at_times(path: Path, dataset: h5py.Group | h5py.Dataset) -> NDArray:
    """Return one correlator [time], in the type that the file has."""
    _require_numbers(path, dataset)
    if dataset.shape is None or dataset.ndim != 1 or dataset.size < 2:
        found = dataset.shape or "nothing in it"
        raise MeasurementFileError(path, dataset.name, expected="one dimension, two times", found=found)
    values = np.asarray(dataset[()])
    if not np.all(np.isfinite(values)):
        raise MeasurementFileError(path, dataset.name, expected="finite numbers", found="some that are not")
    return values


def _require_numbers(path: Path, item: h5py.Group | h5py.Dataset) -> None:
    if not isinstance(item, h5py.Dataset):
        raise MeasurementFileError(path, item.name, expected="a dataset", found="a group")
    if item.dtype.kind not in "iufc":
        raise MeasurementFileError(path, item.name, expected="numbers", found=f"type {item.dtype}")


def _require_equal(path: Path, item: h5py.Group, what: str, expected: set[str], found: set[str]) -> None:
    """Require the same sources for both spins and the same momenta for all sources: else
    the mean is of neither.
    """
    if found != expected:
        raise MeasurementFileError(
            path, f"{what} of {item.name}", expected=sorted(expected), found=sorted(found)
        )
