"""This module has the warnings of a chain of trajectories: parameters that are seldom meant, large dH, and
guarded forces."""

from __future__ import annotations

from typing import Any

from ..run_files import HmcRun
from ..runs.reporting import Reporter
from ..runs.setup import warn_of_large_rho, warn_of_valence
from .trajectory_report import largest_change

#: Beyond this a trajectory is practically never accepted.
_LARGE_VIOLATION = 10.0
#: This many in a row are no first steps from a start far from equilibrium, of which each run has some.
_MANY_VIOLATIONS = 3
#: With larger residuals of heat bath and accept step averages have a visible bias, which acceptance hides.
_LARGE_RESIDUAL = 1e-6


def warn_of_parameters(run: HmcRun, output: Reporter) -> None:
    """Warn of parameters that are legal and seldom meant."""
    warn_of_large_rho("smearing", run.smearing, output)
    warn_of_valence(run.measure, output)
    dynamics = run.molecular_dynamics.tolerance
    largest = min(_LARGE_RESIDUAL, dynamics)
    named = "molecular_dynamics.tolerance = " if largest == dynamics else ""
    for key in ("tolerance", "heat_bath_tolerance"):
        found = getattr(run.metropolis, key)
        if not run.fermions or found is None or found <= largest:
            continue
        output.warning(
            f"metropolis.{key} = {found:g} is looser than {named}{largest:g}: heat bath and accept "
            "step are not exact, and averages are biased while the acceptance looks well; set "
            f"metropolis.{key} to {largest:g} or less, or leave it out"
        )


class TrajectoryWarnings:
    """These are the warnings about the trajectories of one call, each of which is given once or counted.

    Attributes
    ----------
    guarded_links, guarded_trajectories
        Links at which HISQ's guard acted, summed over all forces, and trajectories with such links.
    fallbacks
        Solves in which multigrid got stuck, by monomial.
    """

    def __init__(self, run: HmcRun, output: Reporter) -> None:
        self.run, self.output = run, output
        self.guarded_links = self.guarded_trajectories = 0
        self.fallbacks: dict[str, int] = {}
        #: These are dH of the thermalising trajectories, and how many large ones are the last.
        self._thermalising: list[float] = []
        self._violations_in_a_row = 0
        self._has_warned_early = False

    def look_at(self, record: dict[str, Any], number: int) -> None:
        """Warn of the first guarded force, and of a large dH."""
        guarded = record["guarded_links"]
        self.guarded_links += guarded
        self.guarded_trajectories += guarded > 0
        if guarded and self.guarded_trajectories == 1:
            self.output.warning(
                f"trajectory {number}: eigenvalues of fat7 links below hisq.force_cut = "
                f"{self.run.hisq.force_cut:g} at {_links(guarded)}, summed over its forces, which are not "
                "the derivative of the action there: averages stay exact, dH grows; hisq_guarded_links in "
                "the stream has this number of every trajectory"
            )
        self._look_for_stuck_solves(record, number)
        self._warn_of_violation(record, number)

    def _look_for_stuck_solves(self, record: dict[str, Any], number: int) -> None:
        for monomial in record["monomials"]:
            found, name = monomial["multigrid_fallbacks"], monomial["name"]
            if found and name not in self.fallbacks:
                self.output.warning(
                    f"trajectory {number}: multigrid got stuck in {name}, also when it was made anew, and "
                    f"conjugate gradients solved to the same residual ({found} of {monomial['solves']} "
                    "solves); the next trajectory tries multigrid again; fermions.multigrid has smaller "
                    "blocks, more vectors and more sweeps to offer"
                )
            if found:
                self.fallbacks[name] = self.fallbacks.get(name, 0) + found

    def _warn_of_violation(self, record: dict[str, Any], number: int) -> None:
        """Warn, late in the thermalisation and after it, of each, and before that of those that do not end by
        themselves."""
        thermalisation = self.run.trajectories.thermalisation
        is_large = record["dH"] > _LARGE_VIOLATION
        self._violations_in_a_row = self._violations_in_a_row + 1 if is_large else 0
        if number <= thermalisation:
            self._thermalising.append(record["dH"])
        if not is_large:
            return
        many, advice = "", ", shorten molecular_dynamics.length, or lengthen trajectories.thermalisation"
        if number <= thermalisation // 2:
            if self._has_warned_early or self._violations_in_a_row < _MANY_VIOLATIONS:
                return
            self._has_warned_early = True
            many, advice = f", the {_MANY_VIOLATIONS}rd in a row,", " or shorten molecular_dynamics.length"
        self.output.warning(
            f"trajectory {number}: dH = {record['dH']:.3g}{many} is above {_LARGE_VIOLATION:g}: raise the "
            f"steps of [[integrator]] ({largest_change(record)}){advice}"
        )

    def warn_of_thermalisation(self) -> None:
        """Warn of trajectories of the thermalisation that the Metropolis test would have refused.

        The warning comes at the end of a call.
        """
        large = [dH for dH in self._thermalising if dH > _LARGE_VIOLATION]
        if large:
            self.output.warning(
                f"dH above {_LARGE_VIOLATION:g} in {len(large)} of {len(self._thermalising)} trajectories of "
                f"the thermalisation, the largest {max(large):.3g}: where that is not the start alone, raise "
                "the steps of [[integrator]] or shorten molecular_dynamics.length"
            )

    def say_guarded(self, made: int) -> None:
        """Say at the end of a call in how many of the trajectories the guard acted."""
        if self.guarded_links:
            self.output.line(
                f"HISQ's force guard acted in {self.guarded_trajectories} of {made} trajectories, at "
                f"{_links(self.guarded_links)} (summed over all forces)"
            )

    def say_stuck(self) -> None:
        """Say at the end of a call how many solves multigrid left to conjugate gradients."""
        for name, count in self.fallbacks.items():
            self.output.line(f"{name}: conjugate gradients took over {count} solves of multigrid")


def _links(count: int) -> str:
    return f"{count} link{'' if count == 1 else 's'}"
