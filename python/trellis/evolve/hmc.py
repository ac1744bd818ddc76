"""This module has hybrid Monte Carlo: monomials, nested integrators, trajectories."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..gauge.fields import GaugeField
from ..ground.arguments import choice, instance, integer, real
from ..ground.arguments import seed as seed_of
from ..ground.compiled_core import load
from ..ground.copies_and_pickles import NotCopied
from ..ground.errors import NumericError

if TYPE_CHECKING:
    from .. import _core


class Monomial(NotCopied):
    """This is one term of the Hamiltonian; :func:`gauge_monomial` and :func:`hamiltonian` make it."""

    def __init__(self, core: Any) -> None:
        self._core = core

    @property
    def name(self) -> str:
        """Return the name under which the monomial is recorded."""
        return self._core.name

    @property
    def guarded_links(self) -> int:
        """Return the number of links at which HISQ's guard of small eigenvalues acted in the last
        :meth:`force`, of all ranks.

        There the force is not the derivative of the action (doc/operators/hisq.md).
        """
        return self._core.guarded_links

    def draw(self, U: GaugeField, *, seed: int, stream: int = 0, number: int = 1) -> None:
        """Draw new pseudofermions, distributed as exp(-S) at U; a gauge action has none. Collective.

        Parameters
        ----------
        U
            The links where a trajectory would begin.
        seed, stream, number
            Key of the random numbers, as of a trajectory.

        Raises
        ------
        BadArgument
            No gauge field, or negative numbers.
        NotConverged
            A solve missed its residual.
        """
        links = instance("U", U, GaugeField)
        key = [
            integer(name, n, least=0) for name, n in (("seed", seed), ("stream", stream), ("number", number))
        ]
        self._core.draw(links._core, *key)

    def action(self, U: GaugeField) -> float:
        """Return S at U, with the pseudofermions that :meth:`draw` made. Collective.

        Parameters
        ----------
        U
            Any links on the lattice of those of :meth:`draw`.

        Raises
        ------
        BadArgument
            No gauge field, or nothing was drawn.
        NotConverged
            A solve missed its residual.
        """
        return self._core.action(instance("U", U, GaugeField)._core)

    def force(self, U: GaugeField) -> NDArray[np.float64]:
        """Return the force F = sum_a T_a dS(e^{t T_a} U)/dt at t = 0, T_a = (i/2) lambda_a. Collective.

        Parameters
        ----------
        U
            It is like that of :meth:`action`.

        Returns
        -------
        ndarray
            Its components, shape [t, z, y, x, mu, a], a = 1 ... 8 of Gell-Mann's matrices; this rank's part.

        Raises
        ------
        BadArgument
            No gauge field, or nothing was drawn.
        NotConverged
            A solve missed its residual.
        """
        return np.asarray(self._core.force(instance("U", U, GaugeField)._core))


def gauge_monomial(
    *, beta: float, c1: float = 0.0, name: str = "gauge", dynamics_precision: str = "double"
) -> Monomial:
    """Return the gauge action with 1x1 and 2x1 loops (doc/conventions.md).

    Parameters
    ----------
    beta
        6 / g0^2.
    c1
        Weight of the 2x1 loops: 0 Wilson, -1/12 tree-level Symanzik, -0.331 Iwasaki, -1.4088 DBW2.
    dynamics_precision
        "double" or "single": of the arithmetic of the force. Links, momenta and the action are in double.

    Raises
    ------
    BadArgument
        A coupling that is no finite number, or another precision.
    """
    precision = choice("dynamics_precision", dynamics_precision, "double", "single")
    return Monomial(
        load().gauge_monomial(instance("name", name, str), real("beta", beta), real("c1", c1), precision)
    )


@dataclass(frozen=True)
class Level:
    """This is one time scale of an integrator.

    Attributes
    ----------
    scheme
        "leapfrog", "omelyan2", "omelyan4" or "force_gradient".
    steps
        Each drift of the level before has so many; for the first level the trajectory has them.
    monomials
        Their forces act on this time scale.
    lambda_
        Parameter of omelyan2.
    """

    scheme: str
    steps: int
    monomials: Sequence[Monomial]
    lambda_: float = 0.1931833275037836


class HMC(NotCopied):
    """This is a Markov chain of trajectories.

    The links after a trajectory depend on the links before, the parameters, and (seed, stream, number), and
    on nothing else: not on ranks, threads or interruptions.

    Parameters
    ----------
    levels
        Nested time scales, outermost first.
    length
        A trajectory is so long.
    seed, stream
        All random numbers of the chain depend on them.

    Raises
    ------
    BadArgument
        A level without steps, monomials or a known scheme, lambda_ outside of (0, 1/2), a length that is not
        positive, seeds that are no unsigned integers of 64 bits.
    """

    def __init__(self, levels: Sequence[Level], *, length: float = 1.0, seed: int, stream: int = 0) -> None:
        self.levels = tuple(levels)
        tuples = [
            (
                instance("scheme", level.scheme, str),
                integer("steps", level.steps, least=1),
                real("lambda_", level.lambda_, above=0, below=0.5),
                [instance("monomials", m, Monomial)._core for m in level.monomials],
            )
            for level in self.levels
        ]
        length = real("length", length, above=0)
        key = seed_of("seed", seed), seed_of("stream", stream)
        self._core = load().Hmc(*key, length, tuples)
        self._failed: tuple[GaugeField, str] | None = None

    def trajectory(
        self,
        U: GaugeField,
        number: int,
        *,
        test: bool = True,
        is_covered: Callable[[GaugeField], bool] | None = None,
    ) -> dict[str, Any]:
        """Make one trajectory; this changes U if it is accepted. Collective.

        Parameters
        ----------
        number
            It is the number of the trajectory, from 1, and part of the key of the random numbers.
        test
            False: accepted whatever dH is (thermalisation).
        is_covered
            Asked about the proposed links before the accept step: whether the rational functions hold there,
            too. False: nothing is decided, U is as it was, and the record has is_valid = False. Collective.

        Returns
        -------
        dict
            dH, is_accepted, is_valid, kinetic_before, kinetic_after, seconds; guarded_links (at which HISQ's
            guard of small eigenvalues acted, summed over all forces); monomials (dicts with name,
            action_before, action_after, force_mean, force_largest, force_evaluations, solves, iterations,
            largest_residual, and of multigrid multigrid_setups, multigrid_sweeps, and multigrid_fallbacks:
            the solves in which it got stuck and conjugate gradients took over); parts (seconds, flops and
            bytes by kind of work).

        Raises
        ------
        NumericError
            The Hamiltonian is not finite, or a solve missed its residual; U is as it was.
        BadArgument
            No gauge field, or a number below 0 or beyond 32 bits.
        """
        self._failed = None

        def ask(core: _core.GaugeField) -> bool:
            assert is_covered is not None
            V = GaugeField(core)
            try:
                return is_covered(V)
            except NumericError:
                self._failed = V, "spectrum"
                raise

        links = instance("U", U, GaugeField)._core
        return self._core.trajectory(links, _trajectory_number(number), test, is_covered and ask)

    def reversibility(self, U: GaugeField, number: int) -> dict[str, float]:
        """Integrate forth and back with the momenta and pseudofermions of a trajectory; U stays. Collective.

        Returns
        -------
        dict
            links, momenta: the largest difference of a matrix element and of a component; dH.
        """
        self._failed = None
        return self._core.reversibility(instance("U", U, GaugeField)._core, _trajectory_number(number))

    @property
    def failed(self) -> tuple[GaugeField, str] | None:
        """Return the place where the last call failed, if it raised a NumericError and memory was left.

        It consists of the links at that moment and the part of the work: "heat bath", "action", "force" or
        "spectrum".
        """
        links = self._core.failed_links
        return self._failed if links is None else (GaugeField(links), self._core.failed_stage)

    def energy_violation(self, U: GaugeField, number: int) -> float:
        """Return the change of H along a trajectory; U stays. Collective."""
        self._failed = None
        return self._core.energy_violation(instance("U", U, GaugeField)._core, _trajectory_number(number))


def _trajectory_number(number: int) -> int:
    return integer("number", number, least=0, most=2**32 - 1)
