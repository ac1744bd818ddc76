"""This module has the memory of multigrid on a rank: kept for a configuration, at the peak of the set-up, in
a cycle."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..gauge.geometry import Geometry
from ..ground.compiled_core import load
from ..ground.errors import BadArgument
from ..run_files.multigrid import MultigridTable
from ..runs.setup import gauge_field_bytes

#: A spinor in float has so many bytes, and so many has one of a column of P in 16-bit numbers with a scale.
_SPINOR, _COLUMN = 24 * 4, 24 * 2 + 4
#: A matrix of 2 n rows has so many reals, in units of n^2.
_MATRIX_REALS = 8
#: The operators in which cycles work, in float and 16 bits with their links, take so many gauge fields in
#: double.
_OPERATORS = 3
#: The coarse matrices are these: the forward links, the diagonal and its inverse.
_LINKS, _DIAGONALS = 4, 2
#: The inverses of boxes of 2^4 coarse sites have so many matrices a coarse site.
_BOXES = 4
#: Test vectors in float lie so often in memory while the prolongator is made: they, and its columns before
#: they are rounded.
_COPIES_IN_SETUP = 2
#: Products of test vectors in an aggregate lie in double: twice, and the sum for the diagonal.
_PRODUCTS = 3
#: A pass of the set-up takes so many columns at once.
_SETUP_COLUMNS = 4
#: A trial of the present cycle has so many vectors: 24 steps of gcr, source and solution.
_TRIAL_FIELDS = 2 * 24 + 4
#: A cycle has so many vectors, residual and correction in two orders of sites; its smoother has so many more.
_CYCLE_FIELDS, _SMOOTHER_FIELDS = 4, 5
#: A level between the finest and the coarsest has so many copies of its columns while it is set up
#: (chiralities, their images, those of cycles for all of them), and so many fields in a cycle of GCR.
_FIELDS_IN_COARSE_SETUP, _FIELDS_OF_K_CYCLE = 24, 20
#: A cycle has at most so many coarse vectors: those of gcr(100) lie on half of the sites.
_COARSE_FIELDS = 100 + 6


@dataclass(frozen=True)
class MultigridBytes:
    """These are the bytes on a rank.

    Attributes
    ----------
    kept
        Test vectors, coarse matrices, and the operators in which cycles work, of all masses.
    setup
        The set-up takes this beside them at its peak.
    cycle
        A cycle takes this for each right-hand side.
    """

    kept: float
    setup: float
    cycle: float

    @classmethod
    def of(cls, table: MultigridTable, geometry: Geometry, operators: int) -> MultigridBytes:
        """Return the bytes on a lattice for so many operators, which differ in their masses.

        Raises
        ------
        BadArgument
            Ranks do not have whole blocks; the message names the legal ones.
        """
        local, grid = geometry.local_extents, geometry.grid
        block = _block(table, geometry)
        coarse = tuple(extent // b for extent, b in zip(local, block, strict=True))
        sites, coarse_sites = int(np.prod(local)), int(np.prod(coarse))
        matrix = _MATRIX_REALS * table.first_vectors**2 * 4
        below = _coarse_levels(table, geometry, coarse)
        levels = [cls._of_level(*level, grid) for level in below[:-1]]
        levels += [cls._of_level(*level, grid, _of_coarsest(table, grid)) for level in below[-1:]]
        matrices = _matrices(table.first_vectors, coarse, grid)
        if not levels:
            matrices *= _of_coarsest(table, grid)
        vectors = table.first_vectors * sites * _SPINOR
        cycle = (_CYCLE_FIELDS + _SMOOTHER_FIELDS) * sites * _SPINOR
        cycle += _COARSE_FIELDS * coarse_sites * 4 * table.first_vectors * 4
        products = (2 * _PRODUCTS * coarse_sites * matrix) + (_LINKS + 1) * matrix * coarse_sites
        border = 3 * _ghosts(local, grid) * table.first_vectors * _SPINOR
        build = vectors + border + products + matrices  # vectors have images; old matrices stay
        improve = (cycle + 2 * sites * _SPINOR) * min(_SETUP_COLUMNS, table.first_vectors)
        trial = cycle + _TRIAL_FIELDS * sites * _SPINOR
        columns = table.first_vectors * sites * (_COLUMN if table.prolongator_storage == "half" else _SPINOR)
        own = columns + operators * (matrices + _OPERATORS * gauge_field_bytes(local, grid))
        return cls(
            kept=own + sum(level.kept for level in levels) * operators,
            setup=_COPIES_IN_SETUP * vectors
            + max(build, improve, trial)
            + sum(level.setup for level in levels),
            cycle=cycle + sum(level.cycle for level in levels),
        )

    @classmethod
    def _of_level(
        cls,
        above: int,
        vectors: int,
        local: tuple[int, ...],
        below: tuple[int, ...],
        grid: tuple[int, ...],
        factor: float = 1.0,
    ) -> MultigridBytes:
        """Return the bytes of a level between the finest and the coarsest.

        Parameters
        ----------
        above, vectors
            Test vectors of the level above and of this one.
        local, below
            Extents of this level and of the next one on a rank.
        factor
            The matrices of the next level take more by this factor.
        """
        field = int(np.prod(local)) * 4 * above * 4
        columns, matrices = vectors * field, factor * _matrices(vectors, below, grid)
        products = (_LINKS + 1) * _MATRIX_REALS * vectors**2 * 8 * int(np.prod(below))
        return cls(
            kept=columns + matrices,
            setup=_FIELDS_IN_COARSE_SETUP * columns + matrices + products,
            cycle=_FIELDS_OF_K_CYCLE * field,
        )


def _of_coarsest(table: MultigridTable, grid: tuple[int, ...]) -> float:
    """Return by which the matrices of the coarsest level take more, on a rank that has a part of them."""
    factor = 1.0
    if table.coarse_ranks:
        factor *= max(1.0, int(np.prod(grid)) / table.coarse_ranks)
    if table.coarse_solver == "schwarz":
        factor *= 1 + _BOXES / (_LINKS + _DIAGONALS)
    return factor


def _matrices(vectors: int, local: tuple[int, ...], grid: tuple[int, ...]) -> float:
    """Return the bytes of the coarse matrices of a level, with the links of its neighbours."""
    matrix, sites = _MATRIX_REALS * vectors**2 * 4, int(np.prod(local))
    return _LINKS * matrix * (sites + 3 * _ghosts(local, grid)) + _DIAGONALS * matrix * sites


def _coarse_levels(
    table: MultigridTable, geometry: Geometry, local: tuple[int, ...]
) -> list[tuple[int, int, tuple[int, ...], tuple[int, ...]]]:
    """Return vectors above and here, and extents here and below on a rank, of the levels between."""
    vectors, levels = table.vectors_on(geometry.extents), []
    for level, block in enumerate(table.blocks_on(geometry.extents)[1:], 1):
        below = tuple(max(1, extent // b) for extent, b in zip(local, block, strict=True))
        levels.append((vectors[level - 1], vectors[level], local, below))
        local = below
    return levels


def _block(table: MultigridTable, geometry: Geometry) -> list[int]:
    try:
        return list(load().multigrid_block(geometry._core, table.block_on(geometry.extents)))
    except BadArgument as error:
        raise BadArgument(f"solver.multigrid.block: {error}") from error


def _ghosts(extents: tuple[int, ...], grid: tuple[int, ...]) -> int:
    """Return the sites beyond the faces of a box between ranks."""
    sites = int(np.prod(extents))
    return sum(2 * sites // n for n, ranks in zip(extents, grid, strict=True) if ranks > 1)
