"""This module has links to begin with: unit, random, and close to one."""

from __future__ import annotations

from ..ground.arguments import real
from ..ground.arguments import seed as seed_of
from ..ground.compiled_core import load
from .fields import GaugeField
from .geometry import FourIntegers, Geometry


def cold(geometry: Geometry | FourIntegers) -> GaugeField:
    """Return unit links. Collective.

    Parameters
    ----------
    geometry
        The lattice, or its extents (x, y, z, t).

    Raises
    ------
    BadArgument
        An extent is odd and not 1, or the lattice cannot be cut over the ranks.
    """
    return _new_field(geometry)


def hot(geometry: Geometry | FourIntegers, *, seed: int) -> GaugeField:
    """Return links drawn with Haar's measure. Collective.

    Parameters
    ----------
    geometry
        The lattice, or its extents (x, y, z, t).
    seed
        The random numbers depend on it, an unsigned integer of 64 bits; the bits do not depend on the ranks.

    Raises
    ------
    BadArgument
        A seed that is none, an extent that is odd and not 1, a lattice that cannot be cut over the ranks.
    """
    U = _new_field(geometry)
    load().set_hot(U._core, seed_of("seed", seed), 0)
    return U


def weak_field(geometry: Geometry | FourIntegers, *, seed: int, spread: float = 0.2) -> GaugeField:
    """Return links exp(spread sum_a p_a T_a) with normal p_a: close to one for a small spread. Collective.

    Parameters
    ----------
    geometry
        The lattice, or its extents (x, y, z, t).
    seed
        The random numbers depend on it, an unsigned integer of 64 bits; the bits do not depend on the ranks.
    spread
        At least 0.

    Raises
    ------
    BadArgument
        A seed that is none, a spread below 0, an extent that is odd.
    """
    U = _new_field(geometry)
    load().set_weak(U._core, real("spread", spread, least=0), seed_of("seed", seed), 0)
    return U


def _new_field(geometry: Geometry | FourIntegers) -> GaugeField:
    if not isinstance(geometry, Geometry):
        geometry = Geometry(geometry)
    return GaugeField(load().GaugeField(geometry._core))
