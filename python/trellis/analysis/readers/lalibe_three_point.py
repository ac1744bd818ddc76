"""lalibe's three-point functions of the proton (LALIBE_BAR3PTFN) become correlators here.

The path

    /proton_FLAVOUR_SPIN_SPIN_t0_T0_tsep_T_sink_mom_pxN_pyN_pzN/CURRENT/xX_yY_zZ_tT/pxN_pyN_pzN/local_current

leads to complex [time] (lalibe_bar3ptfn_w.cc, lalibe_formfac_w.cc). The first spin is that of the sink, and
_t0_T0 may be missing. Times count from the source; lalibe puts the antiperiodic sign into its sequential
sources. Momenta at the end are those of the current. A file without them has 4D_correlator/local_current,
real [t][z][y][x][re, im] with times of the lattice: its sum over space is momentum 0.

The names become three_point_CURRENT_tT_UU and _DD. Currents, spins and factors are those of
Feynman-Hellmann correlators (lalibe_currents.py): the sum of C3(t, tau) over all tau is N(t). Sources with
other T0 are averaged. Sinks with a flip of the spin, protons of negative parity and other currents are left
out, and so are sinks that move where others are at rest.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np
from numpy.typing import NDArray

from ..records.errors import MeasurementFileError
from ..records.momenta import AT_REST, Momentum
from .lalibe_currents import CURRENTS
from .lalibe_parts import (
    ByMomentum,
    LalibeCorrelator,
    mean_over_sources,
    momenta_of,
    numbers_at_times,
    require_group,
    with_more_sources,
)

_GROUP = re.compile(
    r"proton_(?P<flavour>UU|DD)_(?P<sink>up|dn)_(?P<source>up|dn)(?:_t0_(?P<start>\d+))?"
    r"_tsep_(?P<separation>\d+)_sink_mom_px(?P<x>-?\d+)_py(?P<y>-?\d+)_pz(?P<z>-?\d+)"
)
_ANY = re.compile(r"\w+_(?:up|dn)_(?:up|dn)(?:_t0_\d+)?_tsep_-?\d+_sink_mom_px-?\d+_py-?\d+_pz-?\d+")
_DATASET = "local_current"
_ON_ALL_SITES = "4D_correlator"


@dataclass(frozen=True)
class _Key:
    """Groups of both spins have the same key."""

    flavour: str
    separation: int
    sink_momentum: Momentum
    start: int | None


def is_three_point(name: str) -> bool:
    """Return True for the name of a group of three-point functions, of any hadron."""
    return _ANY.fullmatch(name) is not None


def has_three_point(group: h5py.Group) -> bool:
    return any(is_three_point(name) for name in group)


def read_three_point(path: Path, group: h5py.Group) -> tuple[dict[str, LalibeCorrelator], list[str]]:
    """Return the three-point functions in a group of a file by name, and what was left out.

    Raises
    ------
    MeasurementFileError
        One spin lacks, several sinks move and none is at rest, a source comes twice, or shapes are unequal.
    """
    by_key: dict[_Key, dict[str, h5py.Group]] = {}
    left_out = []
    for name in filter(is_three_point, group):
        match = _GROUP.fullmatch(name)
        if match is None or match["sink"] != match["source"]:
            left_out.append(name)
            continue
        require_group(path, group[name])
        momentum = (int(match["x"]), int(match["y"]), int(match["z"]))
        start = None if match["start"] is None else int(match["start"])
        key = _Key(match["flavour"], int(match["separation"]), momentum, start)
        by_key.setdefault(key, {})[match["sink"]] = group[name]
    sink = _sink_momentum(path, group, {key.sink_momentum for key in by_key})
    found: dict[str, LalibeCorrelator] = {}
    for key, spins in by_key.items():
        if key.sink_momentum != sink:
            left_out += [part.name.rsplit("/", 1)[-1] for part in spins.values()]
            continue
        for current, correlator in _of_both_spins(path, key, spins, left_out).items():
            name = f"three_point_{current}_t{key.separation}_{key.flavour}"
            if name in found:
                of = f"a file, of {next(iter(spins.values())).name} and of other sources"
                correlator = with_more_sources(found[name], correlator, path, name, of)
            found[name] = correlator
    return found, sorted(set(left_out))


def _sink_momentum(path: Path, group: h5py.Group, momenta: set[Momentum]) -> Momentum:
    """Return the momentum of the sinks that are read: 0 if it is there, else the only one."""
    if AT_REST in momenta or not momenta:
        return AT_REST
    if len(momenta) > 1:
        raise MeasurementFileError(
            path,
            f"three-point functions in {group.name}",
            expected="a sink at rest, or one momentum of the sink",
            found=sorted(momenta),
        )
    return next(iter(momenta))


def _of_both_spins(
    path: Path, key: _Key, spins: dict[str, h5py.Group], left_out: list[str]
) -> dict[str, LalibeCorrelator]:
    """Return current -> the sum over both spins, with the factors of the current."""
    there = next(iter(spins.values()))
    for spin, other in (("up", "dn"), ("dn", "up")):
        if spin not in spins:
            lacking = there.name.replace(f"_{other}_{other}_", f"_{spin}_{spin}_")
            raise MeasurementFileError(
                path, "group", expected=f"{lacking} beside {there.name}", found="nothing there"
            )
    up, down = spins["up"], spins["dn"]
    if set(up) != set(down):
        raise MeasurementFileError(path, f"currents of {down.name}", expected=sorted(up), found=sorted(down))
    found = {}
    for current in up:
        if current not in CURRENTS:
            left_out.append(f"three-point functions of {current}")
            continue
        factor, sign = CURRENTS[current]
        mean = mean_over_sources(
            path,
            f"{up.name}/{current}",
            [(up[current], factor), (down[current], sign * factor)],
            _correlators,
            must_be_complex=complex(factor).imag != 0,
        )
        attributes = {
            "type": "three_point",
            "particle": "nucleon",
            "boundary_t": "antiperiodic",
            "source": "nucleon",
            "sink": "nucleon",
            "sink_momentum": list(key.sink_momentum),
            "layout": "lalibe",
        }
        found[current] = mean.correlator(attributes)
    return found


def _correlators(path: Path, place: h5py.Group) -> ByMomentum:
    by_momentum = momenta_of(place)
    if not by_momentum and _ON_ALL_SITES in place:
        return {AT_REST: _summed_over_space(path, place)}
    found = {}
    for momentum, name in by_momentum.items():
        require_group(path, place[name])
        if _DATASET not in place[name]:
            where = f"{place[name].name}/{_DATASET}"
            raise MeasurementFileError(path, "dataset", expected=where, found="nothing there")
        found[momentum] = numbers_at_times(path, place[name][_DATASET])
    return found


def _summed_over_space(path: Path, place: h5py.Group) -> NDArray:
    """Return the sum of 4D_correlator over space, with times from the source."""
    where = f"{place.name}/{_ON_ALL_SITES}/{_DATASET}"
    dataset = place.get(f"{_ON_ALL_SITES}/{_DATASET}")
    is_array = isinstance(dataset, h5py.Dataset) and dataset.dtype.kind == "f" and dataset.ndim == 5
    if not is_array or dataset.shape[4] != 2 or dataset.shape[0] < 2:
        found = f"{dataset.shape} of {dataset.dtype}" if isinstance(dataset, h5py.Dataset) else "no dataset"
        expected = "real numbers [t][z][y][x][re, im]"
        raise MeasurementFileError(path, where, expected=expected, found=found)
    slices = np.array([dataset[t].sum(axis=(0, 1, 2), dtype=np.float64) for t in range(dataset.shape[0])])
    if not np.all(np.isfinite(slices)):
        raise MeasurementFileError(path, where, expected="finite numbers", found="some that are not")
    start = int(place.name.rsplit("_t", 1)[-1])
    return np.roll(slices[:, 0] + 1j * slices[:, 1], -start)
