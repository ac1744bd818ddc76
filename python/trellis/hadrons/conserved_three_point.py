"""This module has three-point functions of conserved currents with a fixed sink
(doc/operators/feynman_hellmann.md)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..ground.arguments import choice, instance, listed
from ..ground.arguments import momenta as momentum_list
from ..ground.compiled_core import load
from ..quarks.propagators import Propagator, require_conjugate
from ..solve.bound import BoundSolver, bound_solver
from .correlators import ZERO_MOMENTUM
from .feynman_hellmann import DIRECTIONS, require_conserved, require_fields


@dataclass(frozen=True)
class ConservedCurrent:
    """This is a conserved current among those of :func:`three_point`, as in
    :func:`conserved_current_propagator`.

    Parameters
    ----------
    kind
        "vector", or of domain-wall fermions with an even Ls "axial", which is partially conserved.
    direction
        mu.

    Raises
    ------
    BadArgument
        Another kind or direction.
    """

    kind: Literal["vector", "axial"] = "vector"
    direction: Literal["x", "y", "z", "t"] = "t"

    def __post_init__(self) -> None:
        choice("kind", self.kind, "vector", "axial")
        choice("direction", self.direction, *DIRECTIONS)


def nucleon_conserved_three_point(
    solve: BoundSolver,
    sequential: Propagator,
    S: Propagator,
    currents: Sequence[ConservedCurrent],
    *,
    momentum_transfers: Sequence[Sequence[int]] = ZERO_MOMENTUM,
) -> NDArray[np.complex128]:
    """Return C3(t, tau) of conserved currents for all their times, as :func:`nucleon_three_point`.

    Collective.

    A current in direction mu lies on links; that from z counts with exp(i q.(z + mu/2 - x_src)) at the time
    tau of z. Summed over tau it is N(t) of :func:`nucleon_feynman_hellmann` with the propagator of
    :func:`conserved_current_propagator`. With the projector "unpolarised" the temporal vector current is the
    same for all 0 <= tau < t, with Dirichlet time 2 C(t) on up and C(t) on down.

    Parameters
    ----------
    solve
        The solver that `S` came from, bound to its operator.
    sequential
        Solved from :func:`nucleon_sequential_source` with this solver; with a twisted mass that of the
        opposite mu. Of domain-wall fermions with ``keep_fields=True``.
    S
        The quark that carries the current, not smeared at the sink; of domain-wall fermions with
        ``keep_fields=True``.
    currents
        For g_A ConservedCurrent("axial", "z") and the result times -i.
    momentum_transfers
        Integer vectors n, q = 2 pi n / L.

    Returns
    -------
    ndarray
        complex128, shape [current, momentum transfer, time], time from the source.

    Raises
    ------
    BadArgument
        A current that the operator does not have; domain walls without 5-D fields, with an odd Ls and an
        axial current, or with other coefficients than one real b5 and one real c5; propagators that are known
        to be of other operators, or to have a smeared sink.
    """
    M = bound_solver("solve", solve).operator
    instance("sequential", sequential, Propagator)
    currents = listed("currents", currents, "a list of conserved currents")
    currents = [instance("currents", current, ConservedCurrent) for current in currents]
    require_insertable(solve, instance("S", S, Propagator), currents)
    solve._require_own(S)
    sequential._require_point_sink("sequential")
    transfers = momentum_list(momentum_transfers)
    if M._has_fifth_dimension:
        require_fields(sequential)
        solve._require_own(sequential, "sequential")
        kinds = [(current.kind, DIRECTIONS[current.direction]) for current in currents]
        return load().conserved_three_point_domain_wall(
            M._core, sequential.fields, S.fields, kinds, transfers
        )
    if M.is_gamma5_hermitian:
        solve._require_own(sequential, "sequential")
    else:
        require_conjugate(S, sequential)
    directions = [DIRECTIONS[current.direction] for current in currents]
    return load().conserved_three_point(
        M._links._core, M._params, sequential._core, S._core, directions, transfers
    )


def require_insertable(solve: BoundSolver, S: Propagator, currents: Sequence[ConservedCurrent]) -> None:
    """Refuse currents that cannot be inserted into S, before anything is solved.

    Raises
    ------
    BadArgument
        As of :func:`nucleon_conserved_three_point`.
    """
    M = solve.operator
    for current in currents:
        require_conserved(M, current.kind)
    M._require_insertable([current.kind for current in currents])
    if currents and M._has_fifth_dimension:
        require_fields(S)
