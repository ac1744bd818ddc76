"""Pure-gauge generation: Cabibbo-Marinari heat bath and over-relaxation."""

from __future__ import annotations

from .core import load
from .gauge import GaugeField

#: A sweep of the run files is one update with a single heat-bath sweep.
_HEATBATH_SWEEPS = 1


class HeatBath:
    """Sweeps of the Wilson plaquette action.

    Random numbers are keyed by seed, sweep and site: the links after a sweep depend on the links before, the
    parameters and the sweep's number, and on nothing else.

    Parameters
    ----------
    beta
        6 / g0^2, at least 0.
    seed
        Of all random numbers of the chain.
    over_relaxation
        Over-relaxation sweeps after each heat-bath sweep.
    """

    def __init__(self, *, beta: float, seed: int, over_relaxation: int = 4) -> None:
        self.beta, self.seed, self.over_relaxation = beta, seed, over_relaxation
        self._core = load().Heatbath(beta, _HEATBATH_SWEEPS, over_relaxation)

    def sweep(self, U: GaugeField, number: int) -> None:
        """One heat-bath sweep, the over-relaxation sweeps, back to SU(3); changes U. Collective.

        Parameters
        ----------
        number
            Of the sweep, from 1: part of the key of the random numbers.
        """
        self._core.update(U._core, self.seed, 0, number)

    @property
    def flops_per_site(self) -> float:
        """Of one sweep."""
        return self._core.flops_per_site
