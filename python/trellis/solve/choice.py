"""This module chooses between BiCGStab and multigrid by counted work: flops and bytes, and no clock.

A short trial says in how many iterations BiCGStab solves, and a forecast says what a set-up of multigrid and
its solves take. Both are counted, and priced with fixed speeds, so that a choice is the same on any machine
and any ranks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..ground.arguments import integer, real
from ..ground.compiled_core import load
from ..ground.errors import BadArgument
from ..quarks.operators import WilsonClover, multigrid_operator
from .bicgstab import bicgstab
from .even_odd import even_odd
from .gcr import gcr
from .mixed_precision import mixed_precision
from .multigrid import Multigrid, multigrid
from .values import Solver

#: Convergence is taken to be even behind the first of these digits of the residual; a trial ends at the last.
_FIRST_DIGIT, _LAST_DIGIT = 2, 3
#: A trial has at least and at most so many iterations.
_LEAST_TRIAL, _LONGEST_TRIAL = 64, 4000
#: So much longer is a trial than what just decides.
_MARGIN = 1.1
#: A forecast has so many sweeps in a set-up, and so many iterations in which multigrid takes a digit off.
_SWEEPS, _ITERATIONS_PER_DIGIT = 1, 1.6
#: Its work runs at a lower rate than hops do: 1.1 times as slow on 16^4, 1.7 times in caches (8^4).
_SLOWNESS = 1.2
_SEED = 1
#: The cost of multigrid depends on these parameters.
_PRICED = ("vectors", "block", "smoother", "smoothing")


@dataclass(frozen=True)
class KrylovTrial:
    """This is the work of BiCGStab for one right-hand side, as the first digits of a solve foretell it.

    Attributes
    ----------
    iterations
        A whole solve takes so many.
    price
        This is the price of a whole solve, as seconds of a core with fixed speeds.
    is_bound
        True if the trial ended before its last digit, since multigrid was seen to pay: lower bounds.
    """

    iterations: int
    price: float
    is_bound: bool


@dataclass(frozen=True)
class MultigridForecast:
    """These are the expected prices of a set-up of multigrid and of the solve of one right-hand side."""

    setup: float
    solve: float


@dataclass(frozen=True)
class SolverChoice:
    """This is the solver that :func:`choose_solver` has chosen, with the numbers that decided.

    Attributes
    ----------
    solver : Solver
        It is for any operator that the multigrid serves, or for any operator where there is none.
    multigrid : Multigrid or None
        None where BiCGStab was chosen.
    sources : int
        Right-hand sides for which it was chosen.
    krylov : KrylovTrial
        This is what BiCGStab takes.
    forecast : MultigridForecast
        This is what multigrid takes.
    """

    solver: Solver
    multigrid: Multigrid | None
    sources: int
    krylov: KrylovTrial
    forecast: MultigridForecast

    def __str__(self) -> str:
        return reason(self.multigrid is not None, [(self.sources, self.krylov)], self.forecast)


def choose_solver(
    M: WilsonClover,
    *,
    sources: int = 12,
    tolerance: float = 1e-10,
    max_iterations: int = 10000,
    **keys: Any,
) -> SolverChoice:
    """Choose between BiCGStab and multigrid for so many right-hand sides, and set multigrid up. Collective.

    >>> import trellis as tr
    >>> choice = tr.choose_solver(M, sources=24)                                    # doctest: +SKIP
    >>> S = choice.solver(M).propagator(tr.point_source(U.geometry, (0, 0, 0, 0)))  # doctest: +SKIP

    Parameters
    ----------
    M
        Wilson, clover or twisted-mass operator.
    sources
        Right-hand sides that will be solved for: 12 for each propagator.
    tolerance, max_iterations
        They are those of the solver, as for :func:`cg`.
    keys
        Further arguments of :func:`multigrid`.

    Raises
    ------
    BadArgument
        A value outside its range, or another kind of operator.
    NumericError
        As for :func:`multigrid`.
    """
    multigrid_operator(M)
    sources = integer("sources", sources, least=1)
    tolerance = real("tolerance", tolerance, above=0, below=1)
    forecast = forecast_multigrid(M, tolerance=tolerance, **keys)
    trial = try_krylov(M, tolerance=tolerance, longest=_enough(sources, forecast))
    krylov = krylov_solver(tolerance=tolerance, max_iterations=max_iterations)
    if not multigrid_pays([(sources, trial)], forecast):
        return SolverChoice(krylov, None, sources, trial, forecast)
    made = multigrid(M, sources=sources, **keys)
    solver = gcr(tolerance=tolerance, max_iterations=max_iterations, preconditioner=made)
    return SolverChoice(solver, made, sources, trial, forecast)


def krylov_solver(*, tolerance: float, max_iterations: int, fallback: bool = True) -> Solver:
    """Return the solver beside multigrid: even-odd BiCGStab with 16 bits inside."""
    return even_odd(
        mixed_precision(
            bicgstab(tolerance=tolerance, max_iterations=max_iterations, fallback=fallback), inner="half"
        )
    )


def forecast_multigrid(M: WilsonClover, *, tolerance: float, **keys: Any) -> MultigridForecast:
    """Return the prices of a set-up and of a solve. Nothing but one application of the smoother is computed.

    Raises
    ------
    BadArgument
        The parameters do not suit the lattice.
    """
    params = load().MultigridParams()
    for key in _PRICED:
        value = _of_finest(key, keys.get(key))
        if value is not None:
            try:
                setattr(params, key, value)
            except TypeError:
                raise BadArgument(f"{key} of multigrid: found {keys[key]!r}") from None
    setup, iteration = load().multigrid_forecast(M._core, params, _SWEEPS)
    solve = -math.log10(tolerance) * _ITERATIONS_PER_DIGIT * iteration
    return MultigridForecast(_SLOWNESS * setup, _SLOWNESS * solve)


def _of_finest(key: str, value: Any) -> Any:
    """Return what a list of levels has for the finest one: the others take little of the work."""
    is_list = isinstance(value, Sequence) and not isinstance(value, str) and len(value) > 0
    if is_list and (key == "vectors" or (key == "block" and isinstance(value[0], Sequence))):
        return value[0]
    return value


def try_krylov(M: WilsonClover, *, tolerance: float, longest: float = math.inf) -> KrylovTrial:
    """Return what BiCGStab takes for one right-hand side, by its convergence from 1e-2 to 1e-3. Collective.

    Parameters
    ----------
    longest
        A price: the trial ends where a whole solve is seen to take more.
    """
    digits = -math.log10(tolerance)
    target = max(10.0**-_LAST_DIGIT, tolerance)
    spec = krylov_solver(tolerance=target, max_iterations=_LONGEST_TRIAL, fallback=False)._spec()
    first = load().try_solver(spec, M._core, _LEAST_TRIAL, _SEED)
    price = load().price_of(first.cost) / max(first.iterations, 1)
    report = first
    if not first.converged:
        wanted = _MARGIN * longest / price * _LAST_DIGIT / digits
        most = math.ceil(min(wanted, _LONGEST_TRIAL))
        if most > _LEAST_TRIAL:
            report = load().try_solver(spec, M._core, most, _SEED)
            price = load().price_of(report.cost) / max(report.iterations, 1)
    if report.converged:
        iterations = iterations_of(report.history, digits)
    else:  # later digits take no fewer iterations than the first ones
        iterations = math.ceil(report.iterations * digits / min(_LAST_DIGIT, digits))
    return KrylovTrial(iterations, iterations * price, not report.converged)


def iterations_of(history: list[float], digits: float) -> int:
    """Return in how many iterations a solve takes off so many digits, by the residuals of its first ones.

    Between the second digit and the last one of the history convergence is taken to be even.
    """
    first = next((i for i, r in enumerate(history, 1) if r <= 10.0**-_FIRST_DIGIT), len(history))
    reached = -math.log10(max(min(history, default=1.0), 1e-300))
    begun = min(reached, _FIRST_DIGIT)
    if digits <= reached or len(history) <= first or reached <= begun:
        return math.ceil(len(history) * max(digits / max(reached, 0.1), 1.0))
    return math.ceil(first + (len(history) - first) * (digits - begun) / (reached - begun))


def multigrid_pays(solves: list[tuple[int, KrylovTrial]], forecast: MultigridForecast) -> bool:
    """Return True if multigrid saves more in these solves, of so many sources each, than its set-up takes."""
    saved = sum(sources * max(trial.price - forecast.solve, 0.0) for sources, trial in solves)
    return saved > forecast.setup


def reason(is_multigrid: bool, solves: list[tuple[int, KrylovTrial]], forecast: MultigridForecast) -> str:
    """Say in a line what was chosen and why, with the numbers."""
    sources = sum(n for n, _ in solves)
    krylov = sum(n * trial.price for n, trial in solves)
    iterations = ", ".join(f"{trial.iterations}" for _, trial in solves)
    least = "at least " if any(trial.is_bound for _, trial in solves) else ""
    chosen = "multigrid pays" if is_multigrid else "multigrid does not pay: bicgstab"
    return (
        f"{chosen}; counted work for {sources} right-hand sides, in units of a solve by multigrid: bicgstab "
        f"{least}{krylov / forecast.solve:.3g} ({iterations} iterations each), multigrid "
        f"{sources:d} and {forecast.setup / forecast.solve:.3g} for its set-up"
    )


def _enough(sources: int, forecast: MultigridForecast) -> float:
    """Return the price of a solve by BiCGStab from which on multigrid pays."""
    return forecast.solve + forecast.setup / sources
