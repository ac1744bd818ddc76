"""This module has the result of a run, which `trellis glass --json` prints."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class GlassResult:
    """This is the outcome of one call of :func:`trellis.glass.run`; it is the same on all ranks.

    Attributes
    ----------
    directory
        Folder of the results and checkpoints.
    results
        File of the observables.
    lattice
        Extents in x, y, z, and the samples.
    couplings
        "gaussian", "plus_minus" or "ferromagnet".
    temperatures
        They are in units of J, ascending.
    replicas
        Sets of spins at every temperature.
    steps
        Number of the last step.
    resumed_from
        Number of the step that this call went on from; None where it began at the start.
    stopped
        True where the run was asked to stop before its end; `resume=True` goes on.
    energies
        Mean energy a site over samples and replicas in the last bin of time, of each temperature; None
        before the first measurement.
    exchange_acceptance
        Share of accepted exchanges of each temperature with the next one; None where none was proposed.
    round_trips
        Sets of spins went so often from the lowest temperature to the highest and back, all samples together.
    seconds
        Wall time of the steps of this call, in s.
    nanoseconds_per_spin
        Mean time of an update of a spin (heat bath or over-relaxation, all ranks together); None without
        steps.
    ranks
        Number of processes.
    grid
        Processes in x, y, z and samples.
    """

    directory: str
    results: str
    lattice: tuple[int, ...]
    couplings: str
    temperatures: tuple[float, ...]
    replicas: int
    steps: int
    resumed_from: int | None
    stopped: bool
    energies: tuple[float, ...] | None
    exchange_acceptance: tuple[float | None, ...]
    round_trips: int
    seconds: float
    nanoseconds_per_spin: float | None
    ranks: int
    grid: tuple[int, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object of `trellis glass --json`."""
        return {"run": "glass", **asdict(self)}
