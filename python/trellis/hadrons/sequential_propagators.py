"""This module has nucleon three-point functions with a fixed sink (doc/operators/feynman_hellmann.md)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..gauge.fields import GaugeField
from ..ground.arguments import choice, instance, integer, listed, real
from ..ground.arguments import momenta as momentum_list
from ..ground.arguments import momentum as momentum_of
from ..ground.compiled_core import load
from ..ground.errors import BadArgument
from ..quarks.propagators import Propagator, require_conjugate
from ..quarks.sources import Source
from ..solve.bound import BoundSolver, bound_solver
from .conserved_three_point import ConservedCurrent, nucleon_conserved_three_point, require_insertable
from .correlators import ZERO_MOMENTUM

#: These are the weights of up and down lines.
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
    down: Propagator | None = None,
) -> Source:
    """Return the sink at one time contracted with two quarks of the proton: the source of the third one.

    Collective.

    Solved for, it gives Y(z) = sum_{x at the sink} S(z, x) gamma5 K^dagger(x) of :func:`nucleon_three_point`,
    with K = d C2(x) / d S(x, source). The S of Y is gamma5-hermitian conjugate to that of the quark with the
    current: the same, or with a twisted mass that of the opposite mu (solve a current on up with down's
    operator).

    Parameters
    ----------
    S
        The up quark; without `down` of both flavours and gamma5-hermitian (``M.is_gamma5_hermitian``).
    separation
        Time of the sink from the source, 0 to Lt - 1.
    insertion
        This carries the current: "up" (two terms), "down", or "isovector", up - down, for one solve.
    spin, parity
        Projector, as in :func:`nucleon_feynman_hellmann`.
    momentum
        n of the sink, p = 2 pi n / L.
    smearing
        (links, width, steps) where `S` is smeared at the sink (:meth:`Propagator.smear_sink`).
    down
        The down quark where it is another propagator, from the same source: with a twisted mass that of the
        opposite mu.

    Raises
    ------
    BadArgument
        A separation outside the lattice, an unknown name, quarks that are known not to be gamma5-hermitian
        and no twisted doublet, or "isovector" of such a doublet: its lines are two solves.
    """
    choice("insertion", insertion, *_LINES)
    choice("spin", spin, "unpolarised", "polarised")
    is_twisted = require_conjugate(instance("S", S, Propagator), down)
    if is_twisted and insertion == "isovector":
        raise BadArgument(
            'insertion: with a twisted mass expected "up" or "down", found "isovector": the two lines are '
            "solves of two operators"
        )
    links, width, steps = smearing if smearing is not None else (None, 0.0, 1)
    return Source(
        load().nucleon_sequential_source(
            S._core,
            (S if down is None else instance("down", down, Propagator))._core,
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
    """Return C3(t, tau) of a sequential propagator for all times of the current, form "full". Collective.

    C3(t, tau) = sum_{z at tau} exp(i q.(z - x_src)) tr[ Y^dagger(z) gamma5 Gamma S(z, source) ]

    Summed over tau it is N(t) of :func:`nucleon_feynman_hellmann`.

    Parameters
    ----------
    sequential
        Solved from :func:`nucleon_sequential_source` with the solver that `S` came from; with a twisted mass
        that of the opposite mu.
    S
        The quark that carries the current, not smeared at the sink.
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
        sequential one that is known to be of another operator than that of gamma5 S^dagger gamma5.
    """
    quarks = (instance("sequential", sequential, Propagator)._core, instance("S", S, Propagator)._core)
    if sequential.operator is not None and not sequential.operator.is_gamma5_hermitian:
        require_conjugate(S, sequential)
    sequential._require_point_sink("sequential")
    S._require_point_sink("S")
    listed_currents = listed("currents", currents, "a list of gamma matrices by name")
    names = [instance("currents", name, str) for name in listed_currents]
    return load().nucleon_three_point(*quarks, names, momentum_list(momentum_transfers))


def three_point(
    solve: BoundSolver,
    S: Propagator,
    currents: Sequence[str | ConservedCurrent],
    *,
    separations: Sequence[int],
    insertion: Literal["up", "down", "isovector"],
    spin: Literal["unpolarised", "polarised"] = "unpolarised",
    parity: Literal[1, -1] = 1,
    momentum: Sequence[int] = (0, 0, 0),
    momentum_transfers: Sequence[Sequence[int]] = ZERO_MOMENTUM,
    sink_smearing: tuple[GaugeField, float, int] | None = None,
    down: Propagator | None = None,
    solve_down: BoundSolver | None = None,
) -> NDArray[np.complex128]:
    """Return three-point functions of the proton at several separations, with a solve for each. Collective.

    With a twisted mass give up's solver and propagator (mu), and down's (-mu): "isovector" is two solves.

    Parameters
    ----------
    solve
        The solver that `S` came from, bound to its operator.
    S
        The quark, not smeared at the sink; with conserved currents of domain-wall fermions solved with
        ``keep_fields=True``.
    currents
        Gamma matrices by name (:func:`nucleon_three_point`) and :class:`ConservedCurrent`
        (:func:`nucleon_conserved_three_point`), in any order. Conserved ones of domain-wall fermions keep the
        5-D solution of a sequential solve, too: Ls propagators beside the Ls of `S`.
    separations
        Times of the sink from the source.
    sink_smearing
        (links, width, steps) of a Gaussian sink; None is a point sink.
    down, solve_down
        The down quark and its solver, where they are others than `S` and `solve`; both or neither.
    insertion, spin, parity, momentum, momentum_transfers
        They are those of :func:`nucleon_sequential_source` and :func:`nucleon_three_point`.

    Returns
    -------
    ndarray
        complex128, shape [separation, current, momentum transfer, time].

    Raises
    ------
    NotConverged
        The tolerance was missed.
    BadArgument
        No separation, quarks that are neither gamma5-hermitian nor a twisted doublet, a propagator that is
        known to have a smeared sink or to be of another operator, or a conserved current that cannot be
        inserted.
    """
    choice("insertion", insertion, *_LINES)
    currents = listed("currents", currents, "a list of gamma matrices by name and conserved currents")
    separations = listed("separations", separations, "a list of times")
    up = QuarkLine(bound_solver("solve", solve), instance("S", S, Propagator), _smeared(S, sink_smearing))
    other: QuarkLine | None = None
    if (down is None) != (solve_down is None):
        raise BadArgument("three_point: expected down and solve_down, or neither")
    if down is not None and solve_down is not None:
        instance("down", down, Propagator)
        other = QuarkLine(bound_solver("solve_down", solve_down), down, _smeared(down, sink_smearing))
    for quark in (up, other):
        if quark is not None:
            quark.solve._require_own(quark.S)
            require_insertable(quark.solve, quark.S, [c for c in currents if isinstance(c, ConservedCurrent)])
    if len(separations) == 0:
        raise BadArgument("three_point: expected at least one separation")
    tables = []
    for separation in separations:
        total: NDArray[np.complex128] | None = None
        for line, weight in lines_of(insertion, is_doublet=other is not None).items():
            source = nucleon_sequential_source(
                up.sink,
                down=None if other is None else other.sink,
                separation=separation,
                insertion=line,
                spin=spin,
                parity=parity,
                momentum=momentum,
                smearing=sink_smearing,
            )
            own, conjugate = conjugate_lines(line, up, other)
            Y = conjugate.solve.propagator(source, keep_fields=needs_fields(conjugate.solve, currents))
            C3 = weight * inserted_currents(own, Y, currents, momentum_transfers)
            total = C3 if total is None else total + C3
            del Y  # it goes before the next one is solved for: 5-D fields may come with it
        tables.append(total)
    return np.array(tables)


@dataclass(frozen=True)
class QuarkLine:
    """This is a flavour of a three-point function.

    Attributes
    ----------
    solve
        Its solver, bound to its operator.
    S
        Its propagator.
    sink
        The sink sees this propagator: it is smeared, or S itself.
    """

    solve: BoundSolver
    S: Propagator
    sink: Propagator


def lines_of(
    insertion: Literal["up", "down", "isovector"], *, is_doublet: bool
) -> dict[Literal["up", "down", "isovector"], int]:
    """Return the sequential solves that an insertion takes, with their weights.

    Parameters
    ----------
    insertion
        It is that of :func:`nucleon_sequential_source`.
    is_doublet
        It is true if up and down are solved for apart: "isovector" is then their difference.
    """
    return {"up": 1, "down": -1} if insertion == "isovector" and is_doublet else {insertion: 1}


def conjugate_lines(
    insertion: Literal["up", "down", "isovector"], up: QuarkLine, down: QuarkLine | None
) -> tuple[QuarkLine, QuarkLine]:
    """Return the flavour with the current, and the one whose operator its sequential source is solved with.

    Parameters
    ----------
    insertion
        It is that of :func:`nucleon_sequential_source`.
    up, down
        Both flavours; None: down is up.
    """
    if down is None:
        return up, up
    own, other = (down, up) if insertion == "down" else (up, down)
    return own, own if own.solve.operator.is_gamma5_hermitian else other


def needs_fields(solve: BoundSolver, currents: Sequence[str | ConservedCurrent]) -> bool:
    """Return True if these currents need the 5-D solutions of propagators."""
    return solve.operator._has_fifth_dimension and any(
        isinstance(current, ConservedCurrent) for current in currents
    )


def inserted_currents(
    own: QuarkLine,
    sequential: Propagator,
    currents: Sequence[str | ConservedCurrent],
    momentum_transfers: Sequence[Sequence[int]],
) -> NDArray[np.complex128]:
    """Return C3 of local and conserved currents, in their order: [current, momentum transfer, time].

    Collective.

    Parameters
    ----------
    own
        The flavour with the current.
    sequential
        A sequential propagator, which keeps 5-D fields if :func:`needs_fields` says so.
    currents, momentum_transfers
        They have the meaning that they have in :func:`three_point`.
    """
    conserved = [current for current in currents if isinstance(current, ConservedCurrent)]
    local = [current for current in currents if not isinstance(current, ConservedCurrent)]
    tables = []
    if local or not conserved:
        tables.append(nucleon_three_point(sequential, own.S, local, momentum_transfers=momentum_transfers))
    if conserved:
        tables.append(
            nucleon_conserved_three_point(
                own.solve, sequential, own.S, conserved, momentum_transfers=momentum_transfers
            )
        )
    found = np.concatenate(tables)
    result = np.empty_like(found)
    result[np.argsort([isinstance(c, ConservedCurrent) for c in currents], kind="stable")] = found
    return result


def _smeared(S: Propagator, smearing: tuple[GaugeField, float, int] | None) -> Propagator:
    if smearing is None:
        return S
    links, width, steps = smearing
    return S.smear_sink(links, width=width, steps=steps)
