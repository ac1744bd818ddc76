"""This module has the result of a measurement, which `trellis measure --json` prints."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class MeasureResult:
    """This is the outcome of one call of :func:`trellis.measure.run`; it is the same on all ranks.

    Attributes
    ----------
    directory
        Folder of the results.
    files
        Result files of all finished configurations of the run, those of earlier calls included.
    configurations
        Numbers of these configurations.
    skipped
        So many of them were finished before this call.
    stopped
        True where the run was asked to stop before its end; `resume=True` goes on.
    seconds
        Wall time of the measurement, in s.
    solves
        Number of propagators that were solved for; of staggered quarks that of solves, each for all masses.
    stored_propagators
        Number of propagators that came from files.
    iterations_max
        Largest number of iterations of a solve; None without solves, as for the following ones.
    relative_residual_max
        Largest |b - M x| / |b|.
    solver_seconds
        Wall time of all solves, in s; 0 without solves.
    setup_seconds
        Wall time of the set-ups of multigrid, in s; 0 without them.
    gflops
        Mean speed of the solves, in 10^9 flops per second.
    share_of_roof
        Mean share of the measured roof, between 0 and 1.
    ranks
        Number of processes.
    conventional_gflops
        10^9 flops per second as papers count them.
    intensity
        Flops per byte that has to be moved.
    gbytes_per_second
        10^9 bytes per second that have to be moved.
    share_of_peak
        Conventional flops per second over the measured peak.
    """

    directory: str
    files: tuple[str, ...]
    configurations: tuple[int, ...]
    skipped: int
    stopped: bool
    seconds: float
    solves: int
    stored_propagators: int
    iterations_max: int | None
    relative_residual_max: float | None
    solver_seconds: float
    setup_seconds: float
    gflops: float | None
    share_of_roof: float | None
    ranks: int
    conventional_gflops: float | None
    intensity: float | None
    gbytes_per_second: float | None
    share_of_peak: float | None

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object of `trellis measure --json`."""
        return {"run": "measure", **asdict(self)}
