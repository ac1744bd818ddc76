"""This module has the sources of a configuration: where they lie, and what they are."""

from __future__ import annotations

import hashlib
import math

from ..gauge.fields import GaugeField
from ..ground.errors import BadArgument
from ..quarks.sources import Source, SourceSites, gaussian_source, noise_source, point_source, wall_source
from ..run_files.measured_quarks import MeasuredQuark
from ..run_files.measured_sources import SourceTable


def source_positions(
    table: SourceTable, number: int, extents: tuple[int, ...], *, fixed_time: bool = False
) -> list[tuple[int, ...]]:
    """Return the positions on one configuration: the run file's, shifted by each vector of the shift_seed.

    No two sources are at one place; of walls and noise only the time counts.

    Parameters
    ----------
    fixed_time
        Shift in space only (:func:`has_fixed_time`).

    Raises
    ------
    BadArgument
        A position outside the lattice, or more shifts than there are places.
    """
    for position in table.positions:
        if not all(0 <= x < extent for x, extent in zip(position, extents, strict=True)):
            raise BadArgument(
                f"source.positions: {list(position)} lies outside the lattice {list(extents)} "
                "(coordinates count from 0)"
            )
    axes = slice(3, 4) if table.is_slice else slice(0, 3) if fixed_time else slice(0, 4)
    _require_places(table, extents, axes)
    found: list[tuple[int, ...]] = []
    taken: set[tuple[int, ...]] = set()
    index = 0
    while len(found) < table.count:
        shift = _shift(table.shift_seed, number, index, extents)
        if fixed_time:
            shift = (*shift[:3], 0)
        index += 1
        shifted = [
            tuple((x + dx) % extent for x, dx, extent in zip(position, shift, extents, strict=True))
            for position in table.positions
        ]
        places = {at[axes] for at in shifted}
        if taken.isdisjoint(places):
            found += shifted
            taken |= places
    return found


def _require_places(table: SourceTable, extents: tuple[int, ...], axes: slice) -> None:
    """Refuse so many shifts that the lattice may have no place for another.

    Each shift rules out the shifts that differ from it by the difference of two positions.
    """
    differences = {
        tuple((x - y) % n for x, y, n in zip(a, b, extents, strict=True))[axes]
        for a in table.positions
        for b in table.positions
    }
    most = (math.prod(extents[axes]) - 1) // len(differences) + 1
    if table.shifts > most:
        raise BadArgument(
            f"source.shifts: at most {most} shifts of {len(table.positions)} positions have places of their "
            f"own on {list(extents)}, found {table.shifts}"
        )


def has_fixed_time(table: MeasuredQuark) -> bool:
    """Return True with Dirichlet boundaries in time: correlators depend on the distance from the boundary.

    The sources of such a run keep their times.
    """
    return table.is_open


def _shift(seed: int | None, number: int, index: int, extents: tuple[int, ...]) -> tuple[int, ...]:
    """Return the index-th random vector of a configuration; it is 0 without a seed."""
    if seed is None:
        return (0, 0, 0, 0)
    text = f"trellis source shift {seed} {number}" + (f" {index}" if index else "")
    digest = hashlib.sha256(text.encode()).digest()
    numbers = [int.from_bytes(digest[8 * mu : 8 * mu + 8], "little") for mu in range(4)]
    return tuple(n % extent for n, extent in zip(numbers, extents, strict=True))


def make_source(
    table: SourceTable, U: GaugeField, at: tuple[int, ...], number: int, *, has_spin: bool = True
) -> Source:
    """Make the source at one position of the configuration of this number.

    Parameters
    ----------
    has_spin
        False: the source is one of staggered quarks.
    """
    if table.is_slice:
        return _slice_source(table, U, at[3], number, has_spin=has_spin)
    if table.is_gaussian:
        return gaussian_source(U, at, width=table.width, steps=table.steps, has_spin=has_spin)
    return point_source(U.geometry, at, has_spin=has_spin, device=U.device)


def _slice_source(table: SourceTable, U: GaugeField, time: int, number: int, *, has_spin: bool) -> Source:
    """Make a wall, or noise, on one time slice."""
    geometry = U.geometry
    sites = "all" if has_spin else staggered_sites(table)
    if not table.is_noise:
        momentum = table.momentum or (0, 0, 0)
        return wall_source(geometry, time, momentum=momentum, has_spin=has_spin, sites=sites, device=U.device)
    assert table.noise_seed is not None  # a SourceTable of noise has one
    return noise_source(
        geometry,
        kind=table.noise or "z4",
        seed=table.noise_seed,
        configuration=number,
        index=table.index or 0,
        time=time,
        has_spin=has_spin,
        sites=sites,
        device=U.device,
    )


def staggered_sites(table: SourceTable) -> SourceSites:
    """Return the sites of walls and noise of staggered quarks; the default suits all local mesons."""
    return table.sites or "corners"
