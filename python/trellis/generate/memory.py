"""This module estimates the memory that gauge generation takes at its peak, for each rank.

The sizes of a run's parts are fitted to measured peaks, which tests/python/generate/test_hmc_memory.py lists.
An estimate is at least the peak, and at most one and a half times the peak. The margin is needed because a
process keeps some freed memory; on small lattices that is a third of the fields.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ..evolve.rational import order_estimate
from ..gauge.geometry import Geometry
from ..run_files import GenerateRun, HmcRun
from ..run_files.online import MeasureTable
from ..run_files.quark import Quark
from ..run_files.sea import SeaQuark
from ..runs.multigrid_memory import MultigridBytes
from ..runs.setup import gauge_field_bytes

#: Interpreter, libraries and tables take this, without and with quarks (mpmath).
_PROCESS, _PROCESS_WITH_QUARKS = 78 << 20, 88 << 20
#: The numbers below count gauge fields. The heat bath keeps the links from before an update, too.
_HEATBATH = 4.2
#: Links, momenta, forces, staples, and copies while files are written take this.
_QUENCHED = 15.0
#: They take this with the link derivative and the vectors of a solve.
_WITH_QUARKS = 20.5
#: Stout smearing needs this for the chain rule, and for each step.
_STOUT, _STOUT_STEP = 3.0, 3.0
#: Copies in float of the gauge force, and of each stout step, take this.
_FLOAT, _FLOAT_STEP = 1.0, 2.0
#: Fat, reunitarised and long links with their derivatives take this, and each further Naik epsilon so much
#: more.
_HISQ, _HISQ_EPSILON = 26.0, 9.0
#: Links of the hops take this, and with a clover term that, its inverse and their derivative.
_WILSON, _CLOVER = 10.5, 24.0
#: A rational function of the Wilson operator takes this, and a Hasenbusch ratio that.
_ONE_WILSON, _RATIO = 3.5, 0.2
#: Where the coarse space is made anew, the one before is still there; and what its set-up takes at the peak,
#: with freed blocks of other sizes, is so much of the set-up's own.
_MULTIGRIDS, _SETUP_WITH_FREED_BLOCKS = 2.0, 1.6


@dataclass(frozen=True)
class _Vectors:
    """These are the numbers of vectors that quarks with spin, or without it, take.

    Attributes
    ----------
    kept, in_solve
        Each pole and pseudofermion takes so many on half the lattice: kept, and in a solve.
    measured
        On-line measurements take so many for each noise vector: source, solution, those of the batched solve,
        insertions.
    """

    kept: float
    in_solve: float
    measured: float


_SPINORS = _Vectors(kept=1.6, in_solve=1.0, measured=5.0)
_COLOUR_VECTORS = _Vectors(kept=3.1, in_solve=1.6, measured=3.2)
#: Smeared links and operators of one measured flavour take this; trajectories with HISQ have room for them.
_MEASURED_LINKS = 6.2
#: A process holds this beside or instead: it keeps freed blocks of up to 32 MiB, larger ones go back at once.
_MARGIN, _LARGE, _MARGIN_OF_LARGE = 1.13, 32 << 20, 0.9
#: Upper ends of spectra, and lower ones where the mass is no bound, are taken to be these before they are
#: measured.
_HIGH, _LOW = 6.0, 1e-4


def heatbath_bytes(run: GenerateRun, geometry: Geometry) -> float:
    """Return the bytes of links, copies while files are written, and on-line measurements."""
    field = gauge_field_bytes(geometry.local_extents, geometry.grid)
    return _PROCESS + _HEATBATH * field + _measurement_bytes(run.measure, [], geometry)


def hmc_bytes(run: HmcRun, geometry: Geometry) -> float:
    """Return the bytes of the largest trajectory, its on-line measurements included."""
    field = gauge_field_bytes(geometry.local_extents, geometry.grid)
    margin = _MARGIN if field <= _LARGE else _MARGIN_OF_LARGE
    if not run.fermions:
        fields = _QUENCHED + (_FLOAT if run.molecular_dynamics.arithmetic == "single" else 0)
        return _PROCESS + margin * (fields * field + _measurement_bytes(run.measure, run.fermions, geometry))
    poles = [(_vectors_of(fermion), _pole_bytes(fermion, geometry)) for fermion in run.fermions]
    vectors = sum(of.kept * size for of, size in poles)
    vectors += max(of.in_solve * size for of, size in poles)
    vectors += _measurement_bytes(run.measure, run.fermions, geometry)
    fields = margin * (_gauge_fields(run) * field + vectors)
    return _PROCESS_WITH_QUARKS + fields + _multigrid_bytes(run, geometry)


def _gauge_fields(run: HmcRun) -> float:
    """Return the size of links, momenta, forces and smearing, in gauge fields."""
    fields = _WITH_QUARKS
    stout = None if all(f.has_own_smearing for f in run.fermions) else run.smearing.stout
    steps = 0 if stout is None else stout.steps
    if steps:
        fields += _STOUT + _STOUT_STEP * steps
    if run.molecular_dynamics.arithmetic == "single":
        fields += _FLOAT + _FLOAT_STEP * steps
    epsilons = {fermion.naik_epsilon for fermion in run.fermions if fermion.has_naik_term}
    if epsilons:
        fields += _HISQ + _HISQ_EPSILON * (len(epsilons) - 1)
    for fermion in run.fermions:
        if fermion.has_spin:
            fields += _CLOVER if fermion.has_clover_term else _WILSON
            fields += _ONE_WILSON if fermion.is_rational else _RATIO * len(fermion.hasenbusch_masses)
    return fields


def _multigrid_bytes(run: HmcRun, geometry: Geometry) -> float:
    """Return the bytes of the multigrids of all flavours, on all levels; trajectories keep them."""
    found = 0.0
    for fermion in run.fermions:
        if (table := fermion.multigrid_table) is not None:
            made = MultigridBytes.of(table, geometry, 2 if fermion.is_twisted else 1)
            found += _MULTIGRIDS * made.kept + _SETUP_WITH_FREED_BLOCKS * made.setup + made.cycle
    return found


def _vectors_of(quark: Quark) -> _Vectors:
    return _SPINORS if quark.has_spin else _COLOUR_VECTORS


def _pole_bytes(fermion: SeaQuark, geometry: Geometry) -> float:
    """Return the bytes of one vector on half the lattice for each pole and pseudofermion."""
    if not fermion.is_rational:
        return 0.0
    table = fermion.rational
    low = table.low or fermion.lower_bound or _LOW
    ratio = low / max(table.high or _HIGH, 2 * low)
    heat_bath_order, heat_bath_tolerance = table.heat_bath
    orders = (
        heat_bath_order or order_estimate(ratio, heat_bath_tolerance),
        table.order or order_estimate(ratio, table.tolerance),
        table.dynamics_order or order_estimate(ratio, table.dynamics_tolerance),
    )
    half = math.prod(geometry.local_extents) / 2
    return 8 * fermion.reals_of_site * half * max(orders) * (fermion.pseudofermions or 1)


def _measurement_bytes(table: MeasureTable | None, sea: Sequence[SeaQuark], geometry: Geometry) -> float:
    """Return the bytes that on-line measurements need beyond those of a trajectory.

    They hold noise vectors, the links of valence flavours, flows and smeared links.
    """
    if table is None:
        return 0.0
    has_hisq = any(fermion.has_own_smearing for fermion in sea)
    links = 0.0 if has_hisq else _MEASURED_LINKS
    found = links * gauge_field_bytes(geometry.local_extents, geometry.grid)
    flavours: tuple[Quark, ...] = (*sea, *table.valence)
    if table.fermions is not None and flavours:
        vectors = max(_vectors_of(flavour).measured * flavour.reals_of_site for flavour in flavours)
        found += 8 * vectors * math.prod(geometry.local_extents) * table.fermions.vectors
    return found
