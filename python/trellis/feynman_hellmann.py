"""Feynman-Hellmann propagators and nucleon correlators, doc/conventions.md "Correlators"."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from .core import load
from .correlators import ZERO_MOMENTUM
from .errors import BadArgument
from .propagators import BoundSolver, Propagator, Source


def sequential_source(S: Propagator, current: str, *, momentum: Sequence[int] = (0, 0, 0)) -> Source:
    """exp(+i q.(z - x_src)) Gamma S(z): solved for, it gives sum_z S(x, z) Gamma S(z, source).

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
        Unknown gamma matrix.
    """
    return Source(load().propagator_as_source(S._core, current, list(momentum)))


def feynman_hellmann_propagator(
    solve: BoundSolver,
    S: Propagator,
    current: str,
    *,
    momentum: Sequence[int] = (0, 0, 0),
    allow_not_converged: bool = False,
) -> Propagator:
    """S_FH = sum_z S(x, z) exp(+i q.(z - x_src)) Gamma S(z, source): one more batched solve. Collective.

    Parameters
    ----------
    solve
        The solver that `S` came from, bound to its operator; for domain-wall fermions the current is that of
        the 4-D quark fields (local).
    S
        The propagator from the source, not smeared at the sink.
    current, momentum
        See :func:`sequential_source`.

    Raises
    ------
    NotConverged, BadArgument
    """
    source = sequential_source(S, current, momentum=momentum)
    return solve.propagator(source, allow_not_converged=allow_not_converged)


def nucleon_feynman_hellmann(
    S: Propagator,
    S_FH: Propagator,
    *,
    insertion: Literal["up", "down"],
    spin: Literal["unpolarised", "polarised"] = "unpolarised",
    parity: Literal[1, -1] = 1,
    momenta: Sequence[Sequence[int]] = ZERO_MOMENTUM,
) -> NDArray[np.complex128]:
    """N(t) of the proton, form "full", equal flavours: each S of one replaced in turn. Collective.

    UU is insertion="up" (two terms), DD insertion="down". The effective charge is
    g(t) = N(t+1)/C(t+1) - N(t)/C(t) with C the plain two-point function.

    Parameters
    ----------
    S, S_FH
        Quark and Feynman-Hellmann propagator from the same source.
    insertion
        The flavour that carries the current.
    spin
        "unpolarised": projector (1 + parity gamma_t)/2, for g_V; "polarised": times -i gamma_x gamma_y, for
        g_A (with the current "gamma_z gamma5": multiply N by -i).
    momenta
        Integer vectors n at the sink, p = 2 pi n / L.

    Returns
    -------
    ndarray
        complex128, shape [momentum, time].
    """
    _check_choice("insertion", insertion, ("up", "down"))
    _check_choice("spin", spin, ("unpolarised", "polarised"))
    core = load()
    quarks = core.BaryonQuarks(S._core, S._core, None)
    n = [[int(k) for k in momentum] for momentum in momenta]
    polarised = spin == "polarised"
    return core.full_baryon(quarks, "proton", parity, n, polarised, S_FH._core, insertion)[0]


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
    """N(p, t) of the form "projected" (as lalibe), shape [spin state, momentum, time]; largest spin first.

    Parameters
    ----------
    up, down, S_FH
        Quark propagators, and the Feynman-Hellmann propagator of the inserted flavour; one source.
    """
    _check_choice("insertion", insertion, ("up", "down"))
    core = load()
    quarks = core.BaryonQuarks(up._core, down._core, None)
    n = [[int(k) for k in momentum] for momentum in momenta]
    return core.projected_baryon(quarks, name, parity, n, S_FH._core, insertion)


def _check_choice(name: str, value: str, legal: tuple[str, ...]) -> None:
    if value not in legal:
        raise BadArgument(f"{name} must be one of {', '.join(map(repr, legal))}, found {value!r}")
