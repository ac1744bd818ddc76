"""This module has the results of a generation, which `trellis generate --json` prints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class GenerationResult:
    """This is the part of an outcome that calls of :func:`trellis.generate.run` of both kinds have.

    Attributes
    ----------
    directory
        Folder of the states and the stream.
    stream
        File of the observables.
    lattice
        Extents in x, y, z, t.
    resumed_from
        Number of the sweep or trajectory that this call went on from; None where it began at the start.
    stopped
        True where the run was asked to stop before its end. The next call goes on: that of a heat bath with
        `resume=True`.
    configurations
        Files of all configurations that the run has kept, those of earlier calls included.
    plaquette_last
        Plaquette of the last links.
    seconds
        Wall time of the sweeps of this call, or from its first trajectory on, in s.
    ranks
        Number of processes.
    grid
        Processes in x, y, z, t.
    """

    directory: str
    stream: str
    lattice: tuple[int, ...]
    resumed_from: int | None
    stopped: bool
    configurations: tuple[str, ...]
    plaquette_last: float
    seconds: float
    ranks: int
    grid: tuple[int, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object of `trellis generate --json`."""
        return {"run": "generate", **asdict(self)}


@dataclass(frozen=True, kw_only=True)
class HeatBathResult(GenerationResult):
    """This is the outcome of one call of :func:`trellis.generate.run` with a heat bath; it is the same on all
    ranks.

    Attributes
    ----------
    beta
        6 / g0^2.
    sweeps
        Number of the last sweep.
    plaquette_mean
        Mean plaquette of all sweeps after the thermalisation; None without such sweeps.
    seconds_per_sweep
        Mean time of a sweep of this call, in s; None without sweeps, as for the following two.
    gflops
        Speed of heat bath and over-relaxation, in 10^9 flops per second.
    share_of_peak
        The same over the measured peak.
    """

    beta: float
    sweeps: int
    plaquette_mean: float | None
    seconds_per_sweep: float | None
    gflops: float | None
    share_of_peak: float | None


@dataclass(frozen=True, kw_only=True)
class TrajectoriesResult(GenerationResult):
    """This is the outcome of one call of :func:`trellis.generate.run` with trajectories; it is the same on
    all ranks.

    Attributes
    ----------
    trajectories
        Number of the last trajectory.
    made
        This call has made so many.
    seconds_per_trajectory
        Mean time of a trajectory, in s; None without trajectories.
    acceptance
        Share of accepted trajectories of this call. If none of them had the Metropolis test it is the mean of
        min(1, exp(-dH)); None without trajectories.
    metropolis_tested
        So many trajectories of this call had the Metropolis test.
    plaquette
        Mean plaquette of the trajectories that were tested, or of all; None without trajectories.
    exp_minus_dh
        Mean of exp(-dH) of the same trajectories.
    hisq_guarded_links
        Number of links, summed over all forces of this call, at which HISQ's force guard acted; None without
        HISQ flavours.
    seconds_by_part
        Seconds of a trajectory by kind of work.
    performance_by_part
        Each kind of work has ``gflops`` and ``gbytes_per_second`` in 10^9 per second, and
        ``fraction_of_roof``.
    """

    trajectories: int
    made: int
    seconds_per_trajectory: float | None
    acceptance: float | None
    metropolis_tested: int
    plaquette: float | None
    exp_minus_dh: float | None
    hisq_guarded_links: int | None
    seconds_by_part: Mapping[str, float]
    performance_by_part: Mapping[str, Mapping[str, float]]


@dataclass(frozen=True)
class LevelProposal:
    """This is the proposal for one level of the integrator.

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
    """This is the outcome of :func:`trellis.generate.propose_steps`; it is the same on all ranks.

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
