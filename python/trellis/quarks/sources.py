"""This module has right-hand sides of quark propagators."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from ..gauge.fields import GaugeField, require_device
from ..gauge.geometry import Geometry, in_four_directions
from ..ground.arguments import choice, instance, integer, integers, real
from ..ground.arguments import momentum as momentum_of
from ..ground.arguments import seed as seed_of
from ..ground.compiled_core import load
from ..ground.copies_and_pickles import NoArray, SharedByCopies

if TYPE_CHECKING:
    from .. import _core

#: Walls and noise are not zero on these sites of a time slice.
SourceSites = Literal["all", "corners"]
#: A Gaussian is at most so wide, in lattice units: squares of larger widths leave the range of numbers.
MOST_WIDTH = 1e6


class Source(SharedByCopies, NoArray):
    """It has the columns of a right-hand side of M S = source: twelve, one for each spin and colour.

    Those of staggered quarks are three colour vectors, one for each colour. :func:`point_source`,
    :func:`gaussian_source`, :func:`wall_source` and :func:`noise_source` make sources.

    Attributes
    ----------
    at : tuple of int
        x, y, z, t from which times and momenta of correlators count.
    has_spin : bool
        False: the source is one of staggered quarks.
    device : str
        The columns lie on this device: "cpu" or "cuda". Operators of any device take them; on their own
        device nothing is copied.
    description : str
        It is for people and for the provenance.
    """

    _no_array = "solvers that are bound to an operator take them as they are"

    def __init__(self, core: _core.Source) -> None:
        self._core = core
        self.at = in_four_directions(core.at)
        self.has_spin: bool = core.has_spin
        self.device: str = core.device
        self.description: str = core.description

    def with_momentum(self, n: Sequence[int]) -> Source:
        """Return the source times exp(+i p.(x - at)), p = 2 pi n / L.

        Parameters
        ----------
        n
            Three integers.

        Raises
        ------
        BadArgument
            Another number of them, or no integers.
        """
        return Source(load().with_momentum(self._core, momentum_of(n)))

    def __repr__(self) -> str:
        return f"<Source {self.description}>"


def point_source(
    geometry: Geometry, at: Sequence[int], *, has_spin: bool = True, device: str = "cpu"
) -> Source:
    """Return a source that is one at a single site, for each spin and colour.

    Parameters
    ----------
    geometry
        The lattice.
    at
        x, y, z, t, from 0.
    has_spin
        False: a source of staggered quarks, three columns of colour vectors.
    device
        "cpu" or "cuda", where the source is made.

    Raises
    ------
    BadArgument
        The site lies outside the lattice, or another device.
    NotAvailable
        device="cuda" without a GPU that can be used.
    """
    site = integers("at", at, 4)
    require_device(device)
    has_spin = instance("has_spin", has_spin, bool)
    return Source(load().point_source(_lattice(geometry), site, has_spin, device))


def wall_source(
    geometry: Geometry,
    time: int,
    *,
    momentum: Sequence[int] = (0, 0, 0),
    has_spin: bool = True,
    sites: SourceSites = "all",
    device: str = "cpu",
) -> Source:
    """Return exp(i p.x) on the sites of a time slice, p = 2 pi n / L. It is not gauge covariant.

    Parameters
    ----------
    geometry
        The lattice.
    time
        The slice, from 0.
    momentum
        n.
    has_spin
        False: a source of staggered quarks.
    sites
        "all"; or "corners": those with even x, y and z, on which all local operators of staggered quarks
        have the sign 1 (doc/operators/staggered_mesons.md).
    device
        "cpu" or "cuda", where the source is made.

    Raises
    ------
    BadArgument
        The slice lies outside the lattice, or the sites or the device are others.
    NotAvailable
        device="cuda" without a GPU that can be used.
    """
    choice("sites", sites, "all", "corners")
    require_device(device)
    where = (integer("time", time), momentum_of(momentum))
    has_spin = instance("has_spin", has_spin, bool)
    return Source(load().wall_source(_lattice(geometry), *where, has_spin, sites, device))


def gaussian_source(
    U: GaugeField, at: Sequence[int], *, width: float, steps: int, has_spin: bool = True
) -> Source:
    """Return a point source, smeared gauge-covariantly on its time slice.

    psi <- (1 - 6 a) psi + a (sum of the six spatial hops), `steps` times, a = width^2 / (4 steps). A source
    of staggered quarks has hops over two sites, by the product of both links, and a = width^2 / (16 steps):
    it stays on the sites that differ from `at` by even numbers, and has the same width in the continuum.

    Parameters
    ----------
    U
        Links that the smearing sees; they may be smeared ones. The source lies on their device.
    at
        x, y, z, t of the centre.
    width
        Lattice units.
    steps
        At least 1; stable for steps of at least 3 width^2 / 2 (staggered: 3 width^2 / 8), with a warning
        below.
    has_spin
        False: a source of staggered quarks.

    Raises
    ------
    BadArgument
        The centre lies outside the lattice, a width below 0 or above 1e6, no step.
    """
    width, steps = real("width", width, least=0, most=MOST_WIDTH), integer("steps", steps)
    instance("U", U, GaugeField)
    centre = point_source(U.geometry, at, has_spin=has_spin, device=U.device)
    warn_if_amplifying(width, steps, hop=1 if has_spin else 2)
    return Source(load().smeared_source(centre._core, U._core, width, steps))


def amplifying(hop: int = 1) -> str:
    """Say what is wrong with Gaussian smearing in too few steps, by hops over so many sites."""
    return (
        f"width^2 / ({4 * hop**2} steps) is above 1/6, and each step makes rough modes larger instead of "
        "smoother; take more steps"
    )


def least_steps(width: float, hop: int = 1) -> int:
    """Return the fewest steps of Gaussian smearing, by hops over so many sites, that make no mode larger.

    A step 1 - 6 a + a (six hops), a = (width / hop)^2 / (4 steps), has an eigenvalue below -1 for a above
    1/6.
    """
    return math.ceil(1.5 * (width / hop) ** 2)


def warn_if_amplifying(width: float, steps: int, hop: int = 1) -> None:
    """Warn of too few steps; see :func:`least_steps`."""
    if 0 < 2 * steps < 3 * (width / hop) ** 2:
        said = f"{amplifying(hop)}, here at least {least_steps(width, hop)}"
        warnings.warn(f"width = {width:g} in steps = {steps}: {said}", UserWarning, stacklevel=3)


def noise_source(
    geometry: Geometry,
    *,
    kind: Literal["z2", "z4", "u1"] = "z4",
    seed: int,
    configuration: int,
    index: int = 0,
    time: int | None = None,
    has_spin: bool = True,
    sites: SourceSites = "all",
    device: str = "cpu",
) -> Source:
    """Return a source of one random number a site, the same for all spins and colours, for the one-end trick.

    Parameters
    ----------
    geometry
        The lattice.
    kind
        "z2": 1, -1; "z4": 1, i, -1, -i; "u1": exp(2 pi i u), u uniform.
    seed, configuration, index
        Key of the numbers; they do not depend on the process grid.
    time
        The slice; None: all slices.
    has_spin
        False: a source of staggered quarks.
    sites
        They are those of :func:`wall_source`; the numbers on the corners are those of "all".
    device
        "cpu" or "cuda", where the source is made; the numbers are the same.

    Raises
    ------
    BadArgument
        Another kind, other sites or another device, a key that is no unsigned integer, a slice outside the
        lattice.
    NotAvailable
        device="cuda" without a GPU that can be used.
    """
    require_device(device)
    choice("kind", kind, "z2", "z4", "u1")
    choice("sites", sites, "all", "corners")
    slice_of = None if time is None else integer("time", time)
    keys = (
        seed_of("seed", seed),
        integer("configuration", configuration, least=0),
        integer("index", index, least=0),
    )
    of_quark = (instance("has_spin", has_spin, bool), sites)
    return Source(load().noise_source(_lattice(geometry), kind, *keys, slice_of, *of_quark, device))


def _lattice(geometry: Geometry) -> _core.Lattice:
    return instance("geometry", geometry, Geometry)._core
