"""Measured times beside their forecasts: results of trellis generate and trellis measure."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np

from ..ground.errors import FileError
from ..run_files import MeasureRun
from ..run_files.loading import parse_toml
from .forecast import Forecast, forecast_of
from .machine import HardwareModel
from .mapping import least_surface_grid
from .phases import Extents
from .workloads.iterations import IterationCounts, both, read_iterations
from .workloads.runs import run_of, step_name, workload_of

#: Things to look at first when a run is slower than its machine should be.
ADVICE = (
    "check that ranks and threads are bound to cores of their own (trellis doctor)",
    "check that nothing else runs on the nodes",
    "check that each rank uses the network card near it, and that MPI takes addresses of GPUs",
    "check that the tuner's cache is read (trellis tune)",
)


@dataclass(frozen=True)
class Comparison:
    """This is a measured time of a step and its forecast.

    Attributes
    ----------
    step
        The name of the step.
    measured
        Median seconds of a step.
    steps
        The number of steps that were measured.
    forecast
        The forecast, with the measured iterations.
    """

    step: str
    measured: float
    steps: int
    forecast: Forecast

    @property
    def ratio(self) -> float:
        """Measured over forecast time."""
        return self.measured / self.forecast.seconds

    @property
    def verdict(self) -> str:
        """The comparison in words: within the band, slower or faster."""
        if self.measured > self.forecast.high:
            return "slower"
        return "faster" if self.measured < self.forecast.low else "within"

    def advice(self) -> list[str]:
        """Return what to check, where the run is slower than the machine should be."""
        if self.verdict == "faster":
            return ["calibrate the machine again: it is faster than its file says"]
        return list(ADVICE) if self.verdict == "slower" else []


def compare(path: Path | str, machine: HardwareModel, given: IterationCounts) -> Comparison:
    """Compare a result with its forecast.

    Parameters
    ----------
    path
        stream.h5 of trellis generate, or correlators.NNNNNN.h5 of trellis measure: they have the run file,
        the number of ranks, the seconds, and the iterations.

    Raises
    ------
    FileError
        It is no such file.
    """
    path = Path(path)
    try:
        with h5py.File(path, "r") as file:
            text, ranks = _text(file.attrs["run_file"]), int(file.attrs["ranks"])
            threads = int(file.attrs.get("threads_per_rank", 1))
            extents: Extents = tuple(int(n) for n in file.attrs["lattice"])  # type: ignore[assignment]
            seconds = _seconds(file)
    except (OSError, KeyError) as error:
        raise FileError(
            f"{path}: expected a result of trellis generate or trellis measure, with its run file and its "
            f"seconds: {error}"
        ) from error
    run = run_of(parse_toml(text, str(path)), str(path), text)
    iterations = both(given, read_iterations(path))
    if isinstance(run, MeasureRun):
        each = float(np.mean(list(iterations.of_a_solve.values())))
        iterations = IterationCounts({"": each, **given.of_a_solve}, {}, str(path))
    grid = run.machine.grid or least_surface_grid(extents, ranks)
    nodes = (
        max(1, -(-ranks * threads // machine.ranks_per_node))
        if machine.device.kind == "cpu"
        else max(1, -(-ranks // machine.ranks_per_node))
    )
    workload = workload_of(run, extents, grid, iterations)
    predicted = forecast_of(workload, machine, nodes, extents, grid)
    measured = float(np.median(seconds)) if not isinstance(run, MeasureRun) else float(np.sum(seconds))
    return Comparison(step_name(run), measured, len(seconds), predicted)


def _text(value: object) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _seconds(file: h5py.File) -> list[float]:
    """Return the seconds of the steps: a column of a stream, or those of all solves of a measurement."""
    found: list[float] = []

    def collect(name: str, item: object) -> None:
        if isinstance(item, h5py.Dataset) and name.rsplit("/", 1)[-1] == "seconds":
            found.extend(np.asarray(item[()], dtype=float).ravel().tolist())
        if isinstance(item, h5py.Group) and "seconds" in item.attrs and not found:
            found.extend(np.asarray(item.attrs["seconds"], dtype=float).ravel().tolist())

    file.visititems(collect)
    if not found:
        raise KeyError("expected a column or an attribute seconds, found none")
    return found
