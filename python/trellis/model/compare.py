"""Measured times stand beside their forecasts: results of trellis generate and
trellis measure are compared.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np

from ..ground.errors import BadArgument, FileError
from ..run_files import HmcRun, MeasureRun
from ..run_files.loading import parse_toml
from .forecast import Forecast, forecast_of
from .machine import HardwareModel
from .phases import Extents
from .workloads.iterations import IterationCounts, both, read_iterations
from .workloads.runs import process_grid, run_of, step_name, workload_of

#: These are things to look at when a run is slower than its machine should be, by what limits the forecast.
BINDING = "check that ranks and threads are bound to cores of their own (trellis doctor)"
OTHERS = "check that nothing else runs on the nodes, and that the clock of the cores is the calibration's"
TUNER = "check that the tuner's cache is read (trellis tune): the first steps of a run may contain its trials"
NETWORK = "check that each rank uses the network card near it, and that MPI takes addresses of GPUs"
PLACES = "check that ranks fill the nodes in boxes, as trellis places them (trellis doctor under mpirun)"
SUMS = "check how long a global sum takes here (trellis bench exchange): each iteration has one or more"
_OF_LIMITS = {
    "network": (NETWORK, PLACES),
    "latency": (NETWORK, SUMS),
    "in-node links": (PLACES,),
    "exchange overhead": (PLACES, NETWORK),
    "sums": (SUMS,),
}


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
    cores
        Cores that ranks and threads asked for, and that the machine has on so many nodes; (0, 0) of GPUs.
    """

    step: str
    measured: float
    steps: int
    forecast: Forecast
    cores: tuple[int, int] = (0, 0)

    @property
    def ratio(self) -> float:
        """Return measured over forecast time."""
        return self.measured / self.forecast.seconds

    @property
    def verdict(self) -> str:
        """Return the comparison in words: within the band, slower or faster."""
        if self.measured > self.forecast.high:
            return "slower"
        return "faster" if self.measured < self.forecast.low else "within"

    def advice(self) -> list[str]:
        """Return what to check, where the run is slower than the machine should be."""
        if self.verdict == "faster":
            return ["calibrate the machine again: it is faster than its file says"]
        if self.verdict != "slower":
            return []
        asked, there = self.cores
        first = [f"{asked} threads ran on {there} cores: give fewer"] if asked > there else []
        return [*first, *_OF_LIMITS.get(self.forecast.limit, ()), BINDING, OTHERS, TUNER]


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
        raise FileError(f"{path}: {_reason(path, error)}") from error
    run = run_of(parse_toml(text, str(path)), str(path), text)
    has_solves = isinstance(run, MeasureRun) or (isinstance(run, HmcRun) and bool(run.fermions))
    iterations = both(given, read_iterations(path)) if has_solves else given
    if isinstance(run, MeasureRun):
        each = float(np.mean(list(iterations.of_a_solve.values())))
        iterations = IterationCounts({"": each, **given.of_a_solve}, {}, str(path))
    grid = process_grid(run, extents, ranks)
    devices = machine.ranks_per_node
    cores = (0, 0)
    if machine.device.kind == "cpu":
        nodes = min(machine.nodes.count, -(-ranks * threads // devices))
        cores = (ranks * threads, nodes * devices)
        if ranks > nodes * devices:
            raise BadArgument(
                f"{path}: it ran on {ranks} ranks; expected at most {nodes * devices}, the cores of machine "
                f"{machine.name}"
            )
        threads = min(threads, nodes * devices // ranks)
        machine = machine.with_ranks(min(devices // threads, -(-ranks // nodes)), threads)
    else:
        nodes = max(1, -(-ranks // devices))
    workload = workload_of(run, extents, grid, iterations)
    predicted = forecast_of(workload, machine, nodes, extents, grid)
    measured = float(np.median(seconds)) if not isinstance(run, MeasureRun) else float(np.sum(seconds))
    return Comparison(step_name(run), measured, len(seconds), predicted, cores)


def _reason(path: Path, error: Exception) -> str:
    wanted = "expected stream.h5 of hybrid Monte Carlo, or correlators.NNNNNN.h5 of trellis measure"
    if not path.exists():
        return f"there is no such file; {wanted}"
    if path.is_dir():
        return f"it is a folder; {wanted}"
    if isinstance(error, KeyError):
        return f"it has no {error.args[0]}; {wanted}"
    return f"it is no HDF5 file; {wanted}"


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
        raise KeyError("seconds of its steps")
    return found
