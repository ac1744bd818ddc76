"""This module has mesons of staggered quarks: the eight local operators
(doc/operators/staggered_mesons.md)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..ground.arguments import instance
from ..ground.arguments import momenta as momentum_list
from ..ground.compiled_core import load
from ..ground.errors import BadArgument
from ..quarks.staggered_propagators import StaggeredPropagator
from .correlators import ZERO_MOMENTUM


@dataclass(frozen=True)
class StaggeredChannel:
    """This is a local meson of staggered quarks.

    Attributes
    ----------
    name
        Datasets have this name.
    particle
        The lightest state, for analyses.
    sign
        The axes of the sign (-1)^(sum of x over these axes) that the contraction has.
    spin
        The matrix of spin, and of taste, of the operator; its states have no sign in time.
    partner
        These are spin and taste of the parity partner, whose states have the sign (-1)^t.
    """

    name: str
    particle: str
    sign: str
    spin: str
    partner: str

    @property
    def row(self) -> int:
        """Return the number of the sign in the compiled part's table: x counts 1, y 2 and z 4."""
        return sum(1 << "xyz".index(axis) for axis in self.sign)


_OTHERS = {"x": "yz", "y": "xz", "z": "xy"}


def _vector(axis: str) -> StaggeredChannel:
    partner = " ".join(f"gamma_{other}" for other in _OTHERS[axis])
    return StaggeredChannel(f"rho_{axis}", "rho", axis, f"gamma_{axis}", partner)


def _tensor(axis: str) -> StaggeredChannel:
    spin, partner = f"gamma_{axis} gamma_t", f"gamma_{axis} gamma5"
    return StaggeredChannel(f"rho_t_{axis}", "rho_t", _OTHERS[axis], spin, partner)


#: These are the eight channels, by name.
LOCAL_CHANNELS: dict[str, StaggeredChannel] = {
    channel.name: channel
    for channel in (
        StaggeredChannel("pion_5", "pion", "", "gamma5", "gamma_t"),
        StaggeredChannel("pion_t5", "pion_t5", "xyz", "gamma_t gamma5", "1"),
        *map(_vector, "xyz"),
        *map(_tensor, "xyz"),
    )
}


def staggered_mesons(
    quark: StaggeredPropagator,
    antiquark: StaggeredPropagator,
    *,
    channels: Sequence[str] = tuple(LOCAL_CHANNELS),
    momenta: Sequence[Sequence[int]] = ZERO_MOMENTUM,
) -> dict[str, NDArray[np.complex128]]:
    """Return local mesons of staggered quarks, all at the cost of one. Collective.

    C(p, t) = sum_x exp(-i p.(x - x_src)) s(x - x_src) tr[S(x, t + t_src) S'(x, t + t_src)^dagger], with the
    sign s of each channel: "pion_5" 1; "pion_t5" (-1)^(x+y+z); "rho_x" (-1)^x; "rho_t_x" (-1)^(y+z); y and z
    likewise (doc/operators/staggered_mesons.md). Channels have states of the opposite parity, too, with the
    sign (-1)^t; those of "pion_5" are exotic, and absent for equal masses.

    Parameters
    ----------
    quark, antiquark
        Propagators from the same source, of the same or of two masses, charges and chemical potentials: the
        antiquark's S'(x_src, x) is epsilon S'(x, x_src)^dagger epsilon, with the parity epsilon of a site.
    channels
        Names.
    momenta
        Integer vectors n, p = 2 pi n / L.

    Returns
    -------
    dict
        Name -> complex128, shape [momentum, time]; time counts from the source.

    Raises
    ------
    BadArgument
        Another name, or propagators from different sources.
    """
    chosen = []
    for name in channels:
        if name not in LOCAL_CHANNELS:
            raise BadArgument(f"no local staggered meson {name!r}; legal: {', '.join(LOCAL_CHANNELS)}")
        chosen.append(LOCAL_CHANNELS[name])
    quarks = [
        instance(which, S, StaggeredPropagator)._core
        for which, S in (("quark", quark), ("antiquark", antiquark))
    ]
    table = load().local_staggered_mesons(*quarks, momentum_list(momenta))
    return {channel.name: table[channel.row] for channel in chosen}
