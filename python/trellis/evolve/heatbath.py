"""Pure-gauge generation has the Cabibbo-Marinari heat bath and over-relaxation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from ..gauge.fields import GaugeField, require_device
from ..gauge.geometry import FourIntegers, Geometry
from ..gauge.start_fields import cold, hot
from ..ground.arguments import choice, instance, integer, real
from ..ground.arguments import seed as seed_of
from ..ground.compiled_core import load
from ..ground.copies_and_pickles import NotCopied
from ..ground.progress_display import displaying

#: A sweep of the run files is one update with a single heat-bath sweep.
_HEATBATH_SWEEPS = 1


class HeatBath(NotCopied):
    """This class has sweeps of the Wilson plaquette action.

    Random numbers are keyed by seed, sweep and site: the links after a sweep depend on the links before, the
    parameters and the sweep's number, and on nothing else.

    Parameters
    ----------
    beta
        6 / g0^2, at least 0.
    seed
        All random numbers of the chain depend on it.
    over_relaxation
        Over-relaxation sweeps after each heat-bath sweep.
    """

    def __init__(self, *, beta: float, seed: int, over_relaxation: int = 4) -> None:
        self.beta, self.seed = real("beta", beta, least=0), seed_of("seed", seed)
        self.over_relaxation = integer("over_relaxation", over_relaxation, least=0)
        self._core = load().Heatbath(self.beta, _HEATBATH_SWEEPS, self.over_relaxation)

    def sweep(self, U: GaugeField, number: int) -> None:
        """Do one heat-bath sweep and the over-relaxation sweeps, and go back to SU(3); this changes U.

        Collective.

        Where Ctrl-C ends it, U is as it was.

        Parameters
        ----------
        number
            It is the number of the sweep, from 1, and part of the key of the random numbers.

        Raises
        ------
        BadArgument
            No gauge field, or a number below 0 or beyond 32 bits.
        """
        links = instance("U", U, GaugeField)._core
        self._core.update(links, self.seed, 0, integer("number", number, least=0, most=2**32 - 1))

    @property
    def flops_per_site(self) -> float:
        """Return the flops that one sweep does for each site."""
        return self._core.flops_per_site


def quenched(
    lattice: FourIntegers,
    *,
    beta: float,
    seed: int,
    sweeps: int = 200,
    over_relaxation: int = 4,
    start: Literal["hot", "cold"] = "hot",
    grid: FourIntegers | None = None,
    progress: Callable[[int], None] | bool | None = None,
    device: str = "cpu",
) -> GaugeField:
    """Make a quenched configuration of the Wilson plaquette action. Collective.

    For many of them, with checkpoints, use `trellis generate`.

    Parameters
    ----------
    lattice
        Lx, Ly, Lz, Lt.
    beta
        6 / g0^2.
    seed
        The random numbers depend on it; with the same seed and parameters the links have the same bits.
    sweeps
        Heat-bath sweeps.
    over_relaxation
        Over-relaxation sweeps after each of them.
    start
        "hot" or "cold".
    progress
        True shows the sweeps on standard error; a function is called with the number of each finished one.
    grid
        Ranks in x, y, z, t; default: the grid with the least communication.
    device
        "cpu", or "cuda" for sweeps on a GPU.

    Raises
    ------
    BadArgument
        A value outside its range, another start or device.
    NotAvailable
        device="cuda" without a GPU that can be used.
    """
    choice("start", start, "hot", "cold")
    require_device(device)
    sweeps = integer("sweeps", sweeps, least=0)
    geometry = Geometry(lattice, grid)
    U = (hot(geometry, seed=seed) if start == "hot" else cold(geometry)).to(device)
    heatbath = HeatBath(beta=beta, seed=seed, over_relaxation=over_relaxation)
    with displaying("sweeps", sweeps, wanted=progress is True) as show:
        for number in range(1, sweeps + 1):
            heatbath.sweep(U, number)
            show(number, f"{number} of {sweeps}")
            if callable(progress):
                progress(number)
    return U
