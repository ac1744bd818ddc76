"""This module makes trajectories between links whose spectra lie within the intervals of the rational
functions."""

from __future__ import annotations

import time
from typing import Any

from ..evolve.monomials import Interval, make_hmc, make_sea
from ..evolve.rational import Rational, announcing
from ..gauge.fields import GaugeField
from ..ground.errors import NumericError
from ..run_files import HmcRun
from ..runs.reporting import Reporter

#: Relative errors of heat bath or accept step above this are warned about.
_LARGE_RATIONAL_ERROR = 1e-4
#: A trajectory that ends where its rational functions do not hold is repeated this often at most.
_MOST_REPEATS = 5


class CoveredTrajectories:
    """It has the monomials and the integrator of a run, which are made anew where a spectrum leaves its
    interval.

    Beyond an interval, H is not what the accept step takes it for: where the proposed links leave one, it is
    widened and the trajectory repeated. Without accept step the wider one holds for the next trajectory.

    Attributes
    ----------
    intervals
        Each flavour with a rational function has one, as states have them; None before they are known.
    """

    def __init__(self, run: HmcRun, output: Reporter) -> None:
        self.run, self.output = run, output
        self.intervals: dict[str, dict[str, float]] | None = None
        self._is_covered = False
        self._spectrum_seconds = 0.0

    def prepare(self, U: GaugeField) -> None:
        """Make monomials and integrator, with the intervals of the state or those measured on U."""
        with announcing(self.output.notice):
            self._sea = make_sea(self.run, U, self.intervals)
        self.hmc = make_hmc(self._sea)
        self.intervals = self._sea.interval_record()
        for name, functions in self._sea.functions.items():
            interval = self._sea.intervals[name]
            text = ", ".join(f"{use} {r.order} ({r.error:.1e})" for use, r in functions.items())
            self.output.line(
                f"{name}: rational functions on [{interval.low:.4g}, {interval.high:.4g}], "
                f"order (error): {text}"
            )
            self._warn_of_coarse(name, functions)

    def _warn_of_coarse(self, name: str, functions: dict[str, Rational]) -> None:
        """Warn of a large error in the functions of a flavour that decide the weight of configurations."""
        (table,) = (fermion.rational for fermion in self.run.fermions if fermion.name == name)
        worst = max(("heat_bath", "metropolis"), key=lambda use: functions[use].error)
        error = functions[worst].error
        own = "heat_bath_" if worst == "heat_bath" and table.has_own_heat_bath else ""
        if error > _LARGE_RATIONAL_ERROR:
            self.output.warning(
                f"fermions {name!r}: a rational function is wrong by {error:.1e}, and the weight of the "
                f"configurations with it: raise rational.{own}order (or lower rational.{own}tolerance), or "
                "leave it out"
            )

    def _widen(self, U: GaugeField, wider: dict[str, Interval], first: str) -> None:
        """Make new rational functions for flavours with eigenvalues at U outside of their interval."""
        if not wider:
            return
        assert self.intervals is not None
        for name, interval in wider.items():
            known = self.intervals[name]
            left = [f"below {known['low']:.6g}"] if interval.low < known["low"] else []
            left += [f"above {known['high']:.6g}"] if interval.high > known["high"] else []
            self.output.warning(
                f"fermions {name!r}: the spectrum leaves its interval ({', '.join(left)}), which {first} "
                f"is [{interval.low:.6g}, {interval.high:.6g}]"
            )
            self.intervals[name] = {"low": interval.low, "high": interval.high}
        self.prepare(U)

    def failed(self, U: GaugeField) -> tuple[GaugeField, str]:
        """Return, after an error, the links at which it came up and what was done there."""
        return self.hmc.failed or (U, "spectrum")

    def trajectory(self, U: GaugeField, number: int) -> tuple[dict[str, Any], dict[str, Any], float]:
        """Compute a trajectory; return its record, the violations of reversibility, and its start time."""
        table = self.run.trajectories
        extra: dict[str, Any] = {}
        if not self._is_covered:  # what goes on in this process was looked at when it was proposed
            begin = time.perf_counter()
            self._widen(U, self._sea.outside(U), f"from trajectory {number} on")
            self._is_covered = True
            self._spectrum_seconds = time.perf_counter() - begin
        if table.reversibility_every and number % table.reversibility_every == 0:
            found = self.hmc.reversibility(U, number)
            extra = {f"reversibility_{name}": value for name, value in found.items()}
        begin = time.perf_counter()
        return self._repeated(U, number), extra, begin

    def _repeated(self, U: GaugeField, number: int) -> dict[str, Any]:
        """Compute a trajectory as often as its proposed links leave an interval; return the last record."""
        tests = number > self.run.trajectories.thermalisation
        wider: dict[str, Interval] = {}

        def is_covered(V: GaugeField) -> bool:
            nonlocal wider
            begin = time.perf_counter()
            wider = self._sea.outside(V)
            self._spectrum_seconds += time.perf_counter() - begin
            return not (tests and wider)

        other_seconds = self._spectrum_seconds  # the look at the first links took these seconds
        for _ in range(_MOST_REPEATS):
            record = self.hmc.trajectory(U, number, test=tests, is_covered=is_covered)
            if record["is_valid"]:
                break
            other_seconds += record["seconds"]
            self._widen(U, wider, f"for trajectory {number}, which is repeated, and from there on")
        else:
            raise NumericError(
                f"trajectory {number}: the spectrum of {', '.join(wider)} has left its interval "
                f"{_MOST_REPEATS} times, although it was widened: raise the steps of [[integrator]]"
            )
        self._widen(U, wider, f"from trajectory {number + 1} on")
        record["seconds"] += other_seconds
        record["parts"]["spectrum"] = {"seconds": self._spectrum_seconds, "flops": 0.0, "bytes": 0.0}
        self._spectrum_seconds = 0.0
        return record
