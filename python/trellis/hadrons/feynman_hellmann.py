"""This module has Feynman-Hellmann propagators and nucleon correlators, doc/conventions.md "Correlators"."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..ground.arguments import choice, instance, integer
from ..ground.arguments import momenta as momentum_list
from ..ground.arguments import momentum as momentum_of
from ..ground.compiled_core import load
from ..ground.errors import BadArgument
from ..quarks.operators import QuarkOperator
from ..quarks.propagators import Propagator
from ..quarks.sources import Source
from ..solve.bound import BoundSolver, bound_solver
from .correlators import ZERO_MOMENTUM, warn_if_one_twisted_flavour


def sequential_source(S: Propagator, current: str, *, momentum: Sequence[int] = (0, 0, 0)) -> Source:
    """Return exp(+i q.(z - x_src)) Gamma S(z), whose solve gives sum_z S(x, z) Gamma S(z, source).

    Parameters
    ----------
    S
        A propagator.
    current
        Gamma by name: "gamma_t" (V), "gamma_z gamma5" (A), "1" (S), "sigma_xy" (T), "gamma5" (P), ...
    momentum
        n of q = 2 pi n / L.

    Raises
    ------
    BadArgument
        Unknown gamma matrix, or a propagator with a smeared sink.
    """
    quark, current = instance("S", S, Propagator)._core, instance("current", current, str)
    S._require_point_sink("S")
    return Source(load().propagator_as_source(quark, current, momentum_of(momentum)))


def feynman_hellmann_propagator(
    solve: BoundSolver,
    S: Propagator,
    current: str,
    *,
    momentum: Sequence[int] = (0, 0, 0),
    allow_not_converged: bool = False,
) -> Propagator:
    """Return S_FH = sum_z S(x, z) exp(+i q.(z - x_src)) Gamma S(z, source), by one more batched solve.

    Collective.

    Parameters
    ----------
    solve
        The solver that `S` came from, bound to its operator; for domain-wall fermions the current is that of
        the 4-D quark fields (local).
    S
        The propagator from the source, not smeared at the sink.
    current, momentum
        See :func:`sequential_source`.
    allow_not_converged
        Return what there is where the tolerance was missed; the report says how far it is.

    Raises
    ------
    NotConverged
        The tolerance was missed.
    BadArgument
        A current that is no gamma matrix, a momentum that is none, or a propagator that is known to have a
        smeared sink or to be of another operator (for currents between flavours solve for
        :func:`sequential_source`).
    """
    bound_solver("solve", solve)._require_own(instance("S", S, Propagator))
    source = sequential_source(S, current, momentum=momentum)
    return solve.propagator(source, allow_not_converged=allow_not_converged)


#: These are the directions of currents.
DIRECTIONS = {"x": 0, "y": 1, "z": 2, "t": 3}


def require_conserved(M: QuarkOperator, kind: str) -> None:
    """Refuse the conserved current ("vector" or "axial") that an operator does not have.

    Raises
    ------
    BadArgument
        An axial current of Wilson-type fermions.
    """
    if kind not in M._conserved_currents:
        raise BadArgument(
            "the conserved axial current is one of domain-wall fermions: expected a MoebiusDomainWall, found "
            f"{M!r}"
        )


def require_fields(S: Propagator) -> None:
    """Refuse a domain-wall propagator without its 5-D solution.

    Raises
    ------
    BadArgument
        It was solved without keep_fields, or read from a file.
    """
    if S.fields is None:
        raise BadArgument("the conserved current needs the propagator's 5-D fields: keep_fields=True")


def conserved_current_propagator(
    solve: BoundSolver,
    S: Propagator,
    *,
    current: Literal["vector", "axial"] = "vector",
    direction: Literal["x", "y", "z", "t"] = "t",
    momentum: Sequence[int] = (0, 0, 0),
    time: int | None = None,
    allow_not_converged: bool = False,
) -> Propagator:
    """Return S_FH with the conserved (axial: partially conserved) current, summed over its place. Collective.

    The vector current is the derivative of D with respect to a U(1) phase on the links,

        Gamma psi(x) = 1/2 [ (1 + gamma_mu) U_mu(x - mu)^dagger psi(x - mu)
                           - (1 - gamma_mu) U_mu(x) psi(x + mu) ]

    The exponential exp(+i q.(x + mu/2 - x_src)) stands on the link from x, and spatial links have the factor
    nu/xi0; the axial current of domain-wall fermions has -1 on the slices below Ls/2 and +1 above. It is the
    same operator as gamma_mu, or gamma_mu gamma5, up to renormalisation, which for the vector current is 1
    (doc/operators/domain_wall.md).

    Parameters
    ----------
    solve
        The solver that `S` came from, bound to its operator.
    S
        The propagator from the source, not smeared at the sink; of domain-wall fermions with
        ``keep_fields=True``.
    current
        "axial" for domain-wall fermions with an even Ls.
    direction
        mu.
    momentum
        n of q = 2 pi n / L.
    time
        Global time slice on which the links begin; default: all.
    allow_not_converged
        Return what there is where the tolerance was missed; the report says how far it is.

    Raises
    ------
    NotConverged
        The tolerance was missed.
    BadArgument
        A propagator without its 5-D fields or one that is known to have a smeared sink or to be of another
        operator, or a current that the operator does not have.
    """
    choice("current", current, "vector", "axial")
    choice("direction", direction, *DIRECTIONS)
    instance("S", S, Propagator)
    core, M = load(), bound_solver("solve", solve).operator
    mu, n = DIRECTIONS[direction], momentum_of(momentum)
    time = None if time is None else integer("time", time)
    require_conserved(M, current)
    if not M._has_fifth_dimension:
        solve._require_own(S)
        source = Source(core.conserved_current_source(S._core, M._links._core, M._params, mu, n, time))
        return solve.propagator(source, allow_not_converged=allow_not_converged)
    require_fields(S)
    solve._require_own(S)
    spec = solve.solver._spec()
    solved = core.conserved_current_domain_wall(M._core, spec, S.fields, current, mu, n, time)
    return solve._checked(solved.quark, allow_not_converged, solved.midpoint)


def nucleon_feynman_hellmann(
    S: Propagator,
    S_FH: Propagator,
    *,
    insertion: Literal["up", "down"],
    spin: Literal["unpolarised", "polarised"] = "unpolarised",
    parity: Literal[1, -1] = 1,
    momenta: Sequence[Sequence[int]] = ZERO_MOMENTUM,
    down: Propagator | None = None,
) -> NDArray[np.complex128]:
    """Return N(t) of the proton, form "full": each S of one flavour is replaced in turn. Collective.

    UU is insertion="up" (two terms), DD insertion="down". The effective charge is
    g(t) = N(t+1)/C(t+1) - N(t)/C(t) with C the plain two-point function.

    Parameters
    ----------
    S, S_FH
        Quark (up; without `down` both flavours) and Feynman-Hellmann propagator from the same source.
    insertion
        The flavour that carries the current: S_FH is its.
    spin
        "unpolarised": projector (1 + parity gamma_t)/2, for g_V; "polarised": times -i gamma_x gamma_y, for
        g_A (with the current "gamma_z gamma5": multiply N by -i).
    parity
        1, or -1 for the parity partner.
    momenta
        Integer vectors n at the sink, p = 2 pi n / L.
    down
        The down quark where it is another propagator: with a twisted mass that of the opposite mu, without
        which there is a UserWarning.

    Returns
    -------
    ndarray
        complex128, shape [momentum, time].

    Raises
    ------
    BadArgument
        Another insertion, spin or parity, propagators from different sources, or sinks of which some are
        smeared and others are not.
    """
    choice("insertion", insertion, "up", "down")
    choice("spin", spin, "unpolarised", "polarised")
    core = load()
    other = instance("S", S, Propagator) if down is None else instance("down", down, Propagator)
    _require_like_sinks({"S": S, "down": other}, S_FH)
    warn_if_one_twisted_flavour(S, other)
    quarks = core.BaryonQuarks(S._core, other._core, None)
    n = momentum_list(momenta)
    polarised = spin == "polarised"
    return core.full_baryon(quarks, "proton", parity, n, polarised, S_FH._core, insertion)[0]


def _require_like_sinks(quarks: dict[str, Propagator], S_FH: Propagator) -> None:
    """Refuse quarks with smeared sinks beside a propagator without, and the other way round.

    The smearing of a sink acts on every quark line that ends there, the one with the current too. Arrays and
    other programs' files do not say how theirs is, and are taken on trust.
    """
    instance("S_FH", S_FH, Propagator)
    for name, quark in quarks.items():
        smeared, other = (name, "S_FH") if quark.is_sink_smeared else ("S_FH", name)
        plain = S_FH if quark.is_sink_smeared else quark
        if quark.is_sink_smeared != S_FH.is_sink_smeared and plain.operator is not None:
            raise BadArgument(
                f"{smeared} has a smeared sink and {other} has none: all quarks of a correlator end at the "
                "same sink; call smear_sink() of each with the same links, width and steps, or of none"
            )


def projected_feynman_hellmann(
    up: Propagator,
    down: Propagator,
    S_FH: Propagator,
    *,
    insertion: Literal["up", "down"],
    name: str = "proton",
    parity: Literal[1, -1] = 1,
    momenta: Sequence[Sequence[int]] = ZERO_MOMENTUM,
) -> NDArray[np.complex128]:
    """Return N(p, t) of the form "projected" (as lalibe): [spin state, momentum, time], largest spin first.

    Parameters
    ----------
    up, down, S_FH
        Quark propagators, and the Feynman-Hellmann propagator of the inserted flavour; one source.
    insertion
        The flavour that carries the current.
    name, parity, momenta
        They are those of :func:`baryon`.

    Raises
    ------
    BadArgument
        Another insertion, name or parity, propagators from different sources, or sinks of which some are
        smeared and others are not.
    """
    choice("insertion", insertion, "up", "down")
    _require_like_sinks(
        {"up": instance("up", up, Propagator), "down": instance("down", down, Propagator)}, S_FH
    )
    core = load()
    quarks = core.BaryonQuarks(up._core, down._core, None)
    n = momentum_list(momenta)
    return core.projected_baryon(quarks, name, parity, n, S_FH._core, insertion)
