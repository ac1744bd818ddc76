"""The results of a generation: what `trellis generate --json` prints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class HeatBathResult:
    """Outcome of one call of :func:`trellis.generate.run` with a heat bath; the same on all ranks.

    Attributes
    ----------
    directory
        Folder of the states and the stream.
    stream
        File of the observables.
    lattice
        Extents in x, y, z, t.
    beta
        6 / g0^2.
    sweeps
        Number of the last sweep.
    resumed_from
        Number of the sweep that this call went on from; None where it began at the start.
    stopped
        True where the run was asked to stop before its end; `resume=True` goes on.
    configurations
        Files of all configurations that the run has kept, those of earlier calls included.
    plaquette_mean
        Mean plaquette of all sweeps after the thermalisation; None without such sweeps.
    plaquette_last
        Plaquette of the last links.
    seconds
        Wall time of the sweeps of this call, in s.
    seconds_per_sweep
        Mean of them, in s; None without sweeps, as for the following two.
    gflops
        Speed of heat bath and over-relaxation, in 10^9 flops per second.
    share_of_peak
        The same over the measured peak.
    ranks
        Number of processes.
    grid
        Processes in x, y, z, t.
    """

    directory: str
    stream: str
    lattice: tuple[int, ...]
    beta: float
    sweeps: int
    resumed_from: int | None
    stopped: bool
    configurations: tuple[str, ...]
    plaquette_mean: float | None
    plaquette_last: float
    seconds: float
    seconds_per_sweep: float | None
    gflops: float | None
    share_of_peak: float | None
    ranks: int
    grid: tuple[int, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object of `trellis generate --json`."""
        return {"run": "generate", **asdict(self)}


@dataclass(frozen=True)
class TrajectoriesResult:
    """Outcome of one call of :func:`trellis.generate.run` with trajectories; the same on all ranks.

    Attributes
    ----------
    directory
        Folder of the states and the stream.
    stream
        File of the observables.
    lattice
        Extents in x, y, z, t.
    trajectories
        Number of the last trajectory.
    made
        How many this call has made.
    resumed_from
        Number of the trajectory that this call went on from; None where it began at the start.
    stopped
        True where the run was asked to stop before its end; the next call goes on.
    configurations
        Files of all configurations that the run has kept, those of earlier calls included.
    seconds
        Wall time of this call from its first trajectory on, in s.
    seconds_per_trajectory
        Mean time of a trajectory, in s; None without trajectories.
    acceptance
        Share of accepted trajectories of this call. If none of them had the Metropolis test it is the mean of
        min(1, exp(-dH)); None without trajectories.
    metropolis_tested
        How many trajectories of this call had the Metropolis test.
    plaquette
        Mean plaquette of the trajectories that were tested, or of all; None without trajectories.
    plaquette_last
        Plaquette of the last links.
    exp_minus_dh
        Mean of exp(-dH) of the same trajectories.
    hisq_guarded_links
        Number of links, summed over all forces of this call, at which HISQ's force guard acted; None without
        HISQ flavours.
    seconds_by_part
        Seconds of a trajectory by kind of work.
    performance_by_part
        By kind of work: ``gflops`` and ``gbytes_per_second`` in 10^9 per second, and ``fraction_of_roof``.
    ranks
        Number of processes.
    grid
        Processes in x, y, z, t.
    """

    directory: str
    stream: str
    lattice: tuple[int, ...]
    trajectories: int
    made: int
    resumed_from: int | None
    stopped: bool
    configurations: tuple[str, ...]
    seconds: float
    seconds_per_trajectory: float | None
    acceptance: float | None
    metropolis_tested: int
    plaquette: float | None
    plaquette_last: float
    exp_minus_dh: float | None
    hisq_guarded_links: int | None
    seconds_by_part: Mapping[str, float]
    performance_by_part: Mapping[str, Mapping[str, float]]
    ranks: int
    grid: tuple[int, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object of `trellis generate --json`."""
        return {"run": "generate", **asdict(self)}


@dataclass(frozen=True)
class LevelProposal:
    """Proposal for one level of the integrator.

    Attributes
    ----------
    scheme
        Name of the integrator.
    steps
        Steps of the run file.
    part
        Root mean square of the level's part of dH.
    proposed
        Steps for the wished acceptance.
    """

    scheme: str
    steps: int
    part: float
    proposed: int


@dataclass(frozen=True)
class StepProposal:
    """Outcome of :func:`trellis.generate.propose_steps`; the same on all ranks.

    Attributes
    ----------
    deviation
        Root mean square of dH with the steps of the run file.
    acceptance
        The acceptance that belongs to it.
    wished
        The acceptance that was asked for.
    levels
        Proposals for the levels of [[integrator]], outermost first.
    """

    deviation: float
    acceptance: float
    wished: float
    levels: tuple[LevelProposal, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object of `trellis generate --tune --json`."""
        return {"run": "tune", **asdict(self)}
