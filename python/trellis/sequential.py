"""Nucleon three-point functions with a fixed sink (doc/operators/feynman_hellmann.md)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from .arguments import choice, instance, integer, real
from .arguments import momenta as momentum_list
from .arguments import momentum as momentum_of
from .bound_solvers import BoundSolver
from .core import load
from .correlators import ZERO_MOMENTUM
from .errors import BadArgument
from .gauge import GaugeField
from .operator_records import NEEDS_GAMMA5_HERMITICITY
from .propagators import Propagator
from .sources import Source

#: Weights of up and down lines.
_LINES = {"up": (1.0, 0.0), "down": (0.0, 1.0), "isovector": (1.0, -1.0)}


def nucleon_sequential_source(
    S: Propagator,
    *,
    separation: int,
    insertion: Literal["up", "down", "isovector"],
    spin: Literal["unpolarised", "polarised"] = "unpolarised",
    parity: Literal[1, -1] = 1,
    momentum: Sequence[int] = (0, 0, 0),
    smearing: tuple[GaugeField, float, int] | None = None,
) -> Source:
    """The sink at one time contracted with two quarks of the proton: the source of the third one. Collective.

    Solved for, it gives Y(z) = sum_{x at the sink} S(z, x) gamma5 K^dagger(x) of :func:`nucleon_three_point`,
    with K = d C2(x) / d S(x, source).

    Parameters
    ----------
    S
        The quark of both flavours; gamma5-hermitian (``M.is_gamma5_hermitian``), so no twisted mass.
    separation
        Time of the sink from the source, 0 to Lt - 1.
    insertion
        What carries the current: "up" (two terms), "down", or "isovector", up - down, for one solve.
    spin, parity
        Projector, as in :func:`nucleon_feynman_hellmann`.
    momentum
        n of the sink, p = 2 pi n / L.
    smearing
        (links, width, steps) where `S` is smeared at the sink (:meth:`Propagator.smear_sink`).

    Raises
    ------
    BadArgument
        A separation outside the lattice, an unknown name, or quarks that are known not to be
        gamma5-hermitian.
    """
    choice("insertion", insertion, *_LINES)
    choice("spin", spin, "unpolarised", "polarised")
    _require_gamma5_hermitian(instance("S", S, Propagator))
    links, width, steps = smearing if smearing is not None else (None, 0.0, 1)
    return Source(
        load().nucleon_sequential_source(
            S._core,
            integer("separation", separation),
            list(_LINES[insertion]),
            spin == "polarised",
            integer("parity", parity),
            momentum_of(momentum),
            None if links is None else instance("smearing[0]", links, GaugeField)._core,
            real("smearing[1]", width, least=0),
            integer("smearing[2]", steps),
        )
    )


def nucleon_three_point(
    sequential: Propagator,
    S: Propagator,
    currents: Sequence[str],
    *,
    momentum_transfers: Sequence[Sequence[int]] = ZERO_MOMENTUM,
) -> NDArray[np.complex128]:
    """C3(t, tau) of a sequential propagator for all times of the current, form "full". Collective.

    C3(t, tau) = sum_{z at tau} exp(i q.(z - x_src)) tr[ Y^dagger(z) gamma5 Gamma S(z, source) ]

    Summed over tau it is N(t) of :func:`nucleon_feynman_hellmann`.

    Parameters
    ----------
    sequential
        Solved from :func:`nucleon_sequential_source` with the solver that `S` came from.
    S
        The quark, not smeared at the sink.
    currents
        Gamma matrices by name; for g_A "gamma_z gamma5" and the result times -i.
    momentum_transfers
        Integer vectors n, q = 2 pi n / L.

    Returns
    -------
    ndarray
        complex128, shape [current, momentum transfer, time], time from the source.

    Raises
    ------
    BadArgument
        A current that is no gamma matrix, propagators of different lattices, one with a smeared sink, or a
        sequential one that is known not to be gamma5-hermitian.
    """
    quarks = (instance("sequential", sequential, Propagator)._core, instance("S", S, Propagator)._core)
    _require_gamma5_hermitian(sequential)
    sequential._require_point_sink("sequential")
    S._require_point_sink("S")
    names = [instance("currents", name, str) for name in currents]
    return load().nucleon_three_point(*quarks, names, momentum_list(momentum_transfers))


def three_point(
    solve: BoundSolver,
    S: Propagator,
    currents: Sequence[str],
    *,
    separations: Sequence[int],
    insertion: Literal["up", "down", "isovector"],
    spin: Literal["unpolarised", "polarised"] = "unpolarised",
    parity: Literal[1, -1] = 1,
    momentum: Sequence[int] = (0, 0, 0),
    momentum_transfers: Sequence[Sequence[int]] = ZERO_MOMENTUM,
    sink_smearing: tuple[GaugeField, float, int] | None = None,
) -> NDArray[np.complex128]:
    """Three-point functions of the proton at several separations, a solve for each. Collective.

    Parameters
    ----------
    solve
        The solver that `S` came from, bound to its operator.
    S
        The quark, not smeared at the sink.
    separations
        Times of the sink from the source.
    sink_smearing
        (links, width, steps) of a Gaussian sink; None is a point sink.
    currents, insertion, spin, parity, momentum, momentum_transfers
        As in :func:`nucleon_sequential_source` and :func:`nucleon_three_point`.

    Returns
    -------
    ndarray
        complex128, shape [separation, current, momentum transfer, time].

    Raises
    ------
    NotConverged
        The tolerance was missed.
    BadArgument
        No separation, quarks that are not gamma5-hermitian, or a propagator that is known to have a smeared
        sink or to be of another operator.
    """
    solve._require_own(instance("S", S, Propagator))
    if len(separations) == 0:
        raise BadArgument("three_point: expected at least one separation")
    sink = S
    if sink_smearing is not None:
        links, width, steps = sink_smearing
        sink = S.smear_sink(links, width=width, steps=steps)
    tables = []
    for separation in separations:
        source = nucleon_sequential_source(
            sink,
            separation=separation,
            insertion=insertion,
            spin=spin,
            parity=parity,
            momentum=momentum,
            smearing=sink_smearing,
        )
        Y = solve.propagator(source)
        tables.append(nucleon_three_point(Y, S, currents, momentum_transfers=momentum_transfers))
    return np.array(tables)


def _require_gamma5_hermitian(S: Propagator) -> None:
    """What is read from arrays and other programs' files is taken on trust."""
    if S.operator is not None and not S.operator.is_gamma5_hermitian:
        raise BadArgument(f"{NEEDS_GAMMA5_HERMITICITY}; found a propagator of {S.operator}")
