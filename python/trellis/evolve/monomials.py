"""This module makes the monomials of a chain from a run file, with the rational functions that they need."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..ground.compiled_core import load
from ..ground.errors import BadArgument, NumericError
from ..run_files import HmcRun, load_run_file
from ..run_files.sea import SeaQuark
from .hmc import HMC, Level, Monomial, gauge_monomial
from .rational import Rational, rational_power
from .sea_operators import SeaOperators, wilson_params

if TYPE_CHECKING:
    from ..gauge.fields import GaugeField

#: The Lanczos estimate of a spectrum has at least so many steps, and its lower end this relative accuracy.
_LANCZOS_STEPS, _LOWER_ACCURACY = 40, 0.1
#: An estimate of the upper end alone has so many steps. It has to stay below the interval's end by the
#: margin, for so few steps may miss something (0.5 % was seen).
_UPPER_STEPS, _UPPER_MARGIN = 20, 1.02
#: An interval goes beyond the estimates by these factors.
_HIGH_MARGIN, _LOW_MARGIN = 1.2, 0.25
#: This is the advice where 4 + mass does not outweigh the clover term.
_LOWER_CSW = "lower csw, raise the mass (lower kappa), or start from smoother links"


@dataclass
class Interval:
    """These are the ends of the spectrum that a flavour's rational functions cover."""

    low: float
    high: float


@dataclass
class Sea:
    """It has all monomials of a run, and the intervals of its rational functions.

    Attributes
    ----------
    monomials
        Lists by the name that [[integrator]] uses.
    intervals
        Each flavour with rational functions has one; they are part of the state of a run.
    """

    run: HmcRun
    monomials: dict[str, list[Monomial]] = field(default_factory=dict)
    intervals: dict[str, Interval] = field(default_factory=dict)
    functions: dict[str, dict[str, Rational]] = field(default_factory=dict)
    _links_of: dict[str, Any] = field(default_factory=dict)
    _operators: dict[str, Any] = field(default_factory=dict)

    def interval_record(self) -> dict[str, dict[str, float]]:
        """Return JSON values of the intervals."""
        return {name: asdict(interval) for name, interval in self.intervals.items()}

    def upper_end(self, name: str, U: GaugeField, steps: int = _LANCZOS_STEPS) -> float:
        """Return a Ritz value at the upper end of a flavour's spectrum. Collective."""
        return self._spectrum(name, U, steps, 0.0)[1]

    def ends(self, name: str, U: GaugeField) -> tuple[float, float]:
        """Return both ends, the lower one to `_LOWER_ACCURACY`: this is as much work as a solve to that.

        Collective.

        Raises
        ------
        NumericError
            The lower end is too small to be found.
        """
        return self._spectrum(name, U, _LANCZOS_STEPS, _LOWER_ACCURACY)

    def _spectrum(self, name: str, U: GaugeField, steps: int, accuracy: float) -> tuple[float, float]:
        return load().spectrum(
            self._links_of[name], self._operators[name], U._core, steps, accuracy, self.run.random.seed
        )

    def outside(self, U: GaugeField) -> dict[str, Interval]:
        """Return the flavours whose spectrum at U leaves their interval, with the wider ones they need.

        Collective.

        Spectra with a lower bound, mass^2 of staggered quarks, begin above it, and flavours that differ by
        their mass alone share one estimate of the upper end.
        """
        found = {}
        uppers: dict[tuple[object, ...], float] = {}
        for fermion in self.run.fermions:
            interval = self.intervals.get(fermion.name)
            if interval is None:
                continue
            bound = fermion.lower_bound
            if bound > 0:
                key = fermion.beside_mass
                if key not in uppers:
                    uppers[key] = self.upper_end(fermion.name, U, _UPPER_STEPS) * _UPPER_MARGIN - bound
                low, high = bound, uppers[key] + bound
                if interval.low > bound:  # the run file chose it
                    low = max(self.ends(fermion.name, U)[0], bound)
            else:
                low, high = self.ends(fermion.name, U)
            wider = Interval(
                interval.low if low >= interval.low else low * _LOW_MARGIN,
                interval.high if high <= interval.high else high * _HIGH_MARGIN,
            )
            if wider != interval:
                found[fermion.name] = wider
        return found


def make_sea(run: HmcRun, U: GaugeField, intervals: dict[str, dict[str, float]] | None = None) -> Sea:
    """Make the monomials of a run. Collective.

    Parameters
    ----------
    U
        The field on which spectral intervals are measured that neither the run file nor `intervals` has.
    intervals
        They are those of the state that the run goes on from: then nothing is measured.
    """
    sea = Sea(run)
    arithmetic = run.molecular_dynamics.arithmetic
    sea.monomials["gauge"] = [
        gauge_monomial(beta=run.action.beta, c1=run.action.weight, dynamics_precision=arithmetic)
    ]
    if not run.fermions:
        return sea
    operators = SeaOperators(run)
    number = 0
    for fermion in run.fermions:
        sea._links_of[fermion.name] = operators.links_of(fermion)
        sea._operators[fermion.name] = operators.of(fermion)
        if fermion.is_rational:
            sea.intervals[fermion.name] = _interval(sea, fermion, U, intervals)
            _add_rational(sea, fermion, number)
        else:
            _add_two_flavours(sea, fermion, number)
        number += len(fermion.monomial_names)
    return sea


def hamiltonian(run_file: str | os.PathLike, U: GaugeField) -> dict[str, tuple[Monomial, ...]]:
    """Return the terms of the Hamiltonian of a run file, to compute actions and forces with. Collective.

    Parameters
    ----------
    run_file
        It is one of `trellis generate`, with [molecular_dynamics].
    U
        The field on which spectral intervals are measured that the run file does not have.

    Returns
    -------
    dict
        Monomials (:class:`trellis.evolve.hmc.Monomial`: draw, action, force) by their name in [[integrator]]:
        "gauge" and those of [[fermions]], "light.0", "light.1", ... for Hasenbusch masses.

    Raises
    ------
    RunFileError
        The file cannot be read, or is not one of these.
    BadArgument
        U has another lattice.
    """
    run, _ = load_run_file(Path(run_file), HmcRun)
    if tuple(run.lattice.extents) != U.geometry.extents:
        expected, found = list(run.lattice.extents), list(U.geometry.extents)
        raise BadArgument(f"{run_file}: expected links of the lattice {expected}, found {found}")
    sea = make_sea(run, U)
    return {name: tuple(monomials) for name, monomials in sea.monomials.items()}


def make_hmc(sea: Sea) -> HMC:
    """Make the chain of a run file."""
    run = sea.run
    levels = []
    for level in run.integrator:
        monomials = [m for name in run.expanded(level) for m in sea.monomials[name]]
        levels.append(Level(level.scheme, level.steps, monomials, level.lambda_))
    return HMC(levels, length=run.molecular_dynamics.length, seed=run.random.seed, stream=run.random.stream)


@contextmanager
def naming_keys(run: HmcRun) -> Iterator[None]:
    """Add the keys of the run file to errors of monomials, which do not know the keys of their limits."""
    try:
        yield
    except NumericError as error:
        if str(error).startswith("clover term:"):
            raise NumericError(f"{_clover_flavours(run)}: {error}; {_LOWER_CSW}") from error
        if "|r|/|b|" not in str(error):
            raise
        table = run.metropolis
        of_heat_bath = ""
        if table.heat_bath_tolerance is not None:
            of_heat_bath = f"metropolis.heat_bath_tolerance = {table.heat_bath_tolerance:g}, "
        raise NumericError(
            f"{error}; the run file has metropolis.max_iterations = {table.max_iterations}, "
            f"metropolis.tolerance = {table.tolerance:g}, {of_heat_bath}molecular_dynamics.tolerance = "
            f"{run.molecular_dynamics.tolerance:g}"
        ) from error


def _clover_flavours(run: HmcRun) -> str:
    """Name the flavours with a clover term, one of which the message is about.

    The text is like "fermions 'light' (csw = 2, kappa = 0.12)".
    """
    found = [
        f"{fermion.name!r} (csw = {fermion.operator_arguments()['csw']:g}, {fermion.given_mass})"
        for fermion in run.fermions
        if fermion.has_clover_term
    ]
    return f"fermions {' or '.join(found)}"


def _interval(
    sea: Sea, fermion: SeaQuark, U: GaugeField, known: dict[str, dict[str, float]] | None
) -> Interval:
    if known is not None and fermion.name in known:
        return Interval(**known[fermion.name])
    table = fermion.rational
    bound = fermion.lower_bound
    if bound > 0 and (table.low is None or table.low <= bound):
        low, high = bound, sea.upper_end(fermion.name, U)
    else:
        low, high = sea.ends(fermion.name, U)
    chosen = Interval(
        table.low if table.low is not None else bound or low * _LOW_MARGIN,
        table.high if table.high is not None else high * _HIGH_MARGIN,
    )
    found = Interval(max(low, bound), high)
    problems = []
    if found.low < chosen.low:
        problems.append(f"{found.low:.6g} is below rational.low = {chosen.low:g}: lower that")
    if found.high > chosen.high:
        problems.append(f"{found.high:.6g} is above rational.high = {chosen.high:g}: raise that")
    if problems:
        raise NumericError(
            f"fermions {fermion.name!r}: an eigenvalue of about {'; and one of about '.join(problems)}, or "
            "leave it out"
        )
    return chosen


def _add_rational(sea: Sea, fermion: SeaQuark, number: int) -> None:
    """Add det[A]^power with power = n_f / 4 (staggered) or n_f / 2 (wilson, A = S^dagger S)."""
    run, table, interval = sea.run, fermion.rational, sea.intervals[fermion.name]
    fields = fermion.pseudofermions or 1
    power = fermion.n_f / fermion.operator_flavours / fields

    own = "heat_bath_" if table.has_own_heat_bath else ""

    def function(exponent: float, order: int | None, tolerance: float, keys: str) -> Rational:
        wanted = None if order is not None else tolerance
        try:
            return rational_power(
                exponent, low=interval.low, high=interval.high, order=order, tolerance=wanted
            )
        except NumericError as error:
            raise NumericError(
                f"fermions {fermion.name!r}: {error}: raise rational.{keys}tolerance, "
                + ("raise the mass, " if fermion.lower_bound > 0 and table.low is None else "")
                + f"or give rational.{keys}order and accept its error"
            ) from error

    functions = {
        "heat_bath": function(power / 2, *table.heat_bath, own),
        "dynamics": function(-power, table.dynamics_order, table.dynamics_tolerance, "dynamics_"),
        "metropolis": function(-power, table.order, table.tolerance, ""),
    }
    sea.functions[fermion.name] = functions
    tolerances = {
        "heat_bath": run.metropolis.of_rational_heat_baths,
        "dynamics": run.molecular_dynamics.tolerance,
        "metropolis": run.metropolis.tolerance,
    }
    tuples = {
        use: (r.constant, list(r.residues), list(r.shifts), tolerances[use], run.metropolis.max_iterations)
        for use, r in functions.items()
    }
    monomials = [
        Monomial(
            load().rational_monomial(
                fermion.name,
                sea._links_of[fermion.name],
                sea._operators[fermion.name],
                **tuples,
                pseudofermions=fields,
                id=number,
                dynamics_precision=run.molecular_dynamics.solves,
            )
        )
    ]
    if fermion.has_clover_term:
        monomials.append(_determinant(sea, fermion))
    sea.monomials[fermion.name] = monomials


def _add_two_flavours(sea: Sea, fermion: SeaQuark, number: int) -> None:
    """Add the determinants: NAME.0 is the ratio with the smallest shifts, the last one the heaviest
    determinant."""
    run, core = sea.run, load()
    shifts = [0.0, *[rho**2 for rho in reversed(fermion.hasenbusch_masses)]]
    for k, name in enumerate(fermion.monomial_names):
        numerator = shifts[k + 1] if k + 1 < len(shifts) else None
        sea.monomials[name] = [
            Monomial(
                core.two_flavour_monomial(
                    name,
                    sea._links_of[fermion.name],
                    sea._operators[fermion.name],
                    shifts[k],
                    numerator,
                    run.molecular_dynamics.tolerance,
                    run.metropolis.tolerance,
                    run.metropolis.max_iterations,
                    number + k,
                    run.molecular_dynamics.solves,
                )
            )
        ]
    if fermion.has_clover_term:
        sea.monomials[fermion.monomial_names[-1]].append(_determinant(sea, fermion))


def _determinant(sea: Sea, fermion: SeaQuark) -> Monomial:
    return Monomial(
        load().clover_determinant_monomial(
            f"{fermion.name}_determinant", sea._links_of[fermion.name], wilson_params(fermion), fermion.n_f
        )
    )
