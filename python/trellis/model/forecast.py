"""A forecast tells the time of a run's step on some nodes of a machine, what limits
it, and how sure that is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..ground.errors import BadArgument
from .closed_form import StepTime, step_time
from .fit import band
from .machine import HardwareModel
from .mapping import RankMap, best_box, by_box, by_order
from .phases import Extents, Workload
from .workloads.iterations import IterationCounts
from .workloads.runs import AnyRun, extents_of, process_grid, require_grid, step_name, workload_of

#: A forecast without measurements on the machine is good to this factor.
NOMINAL_FACTOR = 2.0
#: This is the relative error of the model's form where the machine file has none.
MODEL_ERROR = 0.1


@dataclass(frozen=True)
class Forecast:
    """This is a forecast for one number of nodes.

    Attributes
    ----------
    nodes, ranks
        Their numbers.
    grid, box, local
        Ranks in x, y, z, t; those of a node, empty where they are no box; sites of a rank.
    seconds
        Time of a step.
    low, high
        Ends of its band: 90 %, or a factor 2 of a nominal machine.
    speed_up, efficiency
        Against the smallest number of nodes; the efficiency is 1 there.
    gflops
        Speed of all ranks.
    memory
        Bytes of a rank.
    fits
        False if a rank needs more memory than it has.
    time
        The parts of the time.
    """

    nodes: int
    ranks: int
    grid: Extents
    box: tuple[int, ...]
    local: Extents
    seconds: float
    low: float
    high: float
    speed_up: float
    efficiency: float
    gflops: float
    memory: float
    fits: bool
    time: StepTime

    @property
    def limit(self) -> str:
        """Return the part that takes most of the time."""
        return self.time.limit

    @property
    def node_hours(self) -> float:
        """Return the node hours of a step."""
        return self.nodes * self.seconds / 3600


@dataclass(frozen=True)
class ForecastTable:
    """These are the forecasts of a run on a machine.

    Attributes
    ----------
    machine, step, extents
        The machine's name, the name of the step, and the lattice.
    is_nominal
        True if the machine was not calibrated: the forecasts are good to a factor 2.
    iterations
        The origin of the iteration counts.
    rows
        A forecast for each number of nodes.
    left_out
        Numbers of nodes without one, each with the reason.
    """

    machine: str
    step: str
    extents: Extents
    is_nominal: bool
    iterations: str
    rows: list[Forecast]
    left_out: dict[int, str]


def rank_map(
    machine: HardwareModel, grid: Sequence[int], local: Sequence[int], order: str | None = None
) -> RankMap:
    """Return the ranks on nodes: boxes of least surface as trellis makes them, or an order."""
    per_node = machine.ranks_per_node
    if order is not None:
        return by_order(grid, per_node, order)
    try:
        return by_box(grid, best_box(grid, per_node, local))
    except BadArgument:  # there is no box of so many ranks: trellis runs x fastest then
        return by_order(grid, per_node, "xyzt")


def forecast(
    run: AnyRun,
    machine: HardwareModel,
    nodes: Sequence[int],
    iterations: IterationCounts,
    *,
    lattice: Extents | None = None,
    grid: Sequence[int] | None = None,
    order: str | None = None,
    weak: bool = False,
) -> ForecastTable:
    """Forecast the time of a run's step.

    Parameters
    ----------
    nodes
        Numbers of nodes.
    grid
        The process grid; default: the one of least surface for each number of nodes.
    order
        Order of ranks on nodes, "xyzt" (x fastest); default: boxes of least surface.
    weak
        Each rank has the local lattice of the smallest number of nodes.

    Raises
    ------
    BadArgument
        No number of nodes has a process grid, or iteration counts are not known.
    """
    extents = extents_of(run, lattice)
    found: list[Forecast] = []
    left_out: dict[int, str] = {}
    for count in sorted(set(nodes)):
        ranks = count * machine.ranks_per_node
        whole = extents
        if weak and found:
            whole = _grown(found[0].local, ranks)
        if count > 1 and machine.link("node-nic") is None:
            left_out[count] = f'machine {machine.name} has no [[link]] with between = "node-nic"'
            continue
        try:
            chosen = tuple(grid) if grid is not None else process_grid(run, whole, ranks)
            require_grid(run, chosen, whole, ranks)
        except BadArgument as error:
            left_out[count] = str(error)
            continue
        found.append(one_forecast(run, machine, count, whole, chosen, iterations, order=order))
    if not found:
        reasons = "; ".join(f"{count} nodes: {reason}" for count, reason in left_out.items())
        raise BadArgument(f"no forecast is possible: {reasons}")
    _set_speed_up(found, weak=weak)
    return ForecastTable(
        machine.name, step_name(run), extents, not machine.is_calibrated, iterations.origin, found, left_out
    )


def one_forecast(
    run: AnyRun,
    machine: HardwareModel,
    nodes: int,
    extents: Extents,
    grid: Sequence[int],
    iterations: IterationCounts,
    *,
    order: str | None = None,
) -> Forecast:
    """Forecast one number of nodes with a process grid; speed-up and efficiency are 1."""
    workload = workload_of(run, extents, grid, iterations)
    return forecast_of(workload, machine, nodes, extents, grid, order=order)


def forecast_of(
    workload: Workload,
    machine: HardwareModel,
    nodes: int,
    extents: Extents,
    grid: Sequence[int],
    *,
    order: str | None = None,
) -> Forecast:
    """Forecast a workload of one rank, on so many nodes with a process grid."""
    local: Extents = tuple(n // g for n, g in zip(extents, grid, strict=True))  # type: ignore[assignment]
    ranks = rank_map(machine, grid, local, order)
    time = step_time(workload, machine, ranks)
    low, high = band_of(machine, time)
    box = _box_of(machine, grid, local) if order is None else ()
    count = int(ranks.nodes.size)
    return Forecast(
        nodes=nodes,
        ranks=count,
        grid=tuple(grid),  # type: ignore[arg-type]
        box=box,
        local=local,
        seconds=time.total,
        low=low,
        high=high,
        speed_up=1.0,
        efficiency=1.0,
        gflops=workload.flops * count / time.total * 1e-9,
        memory=workload.memory,
        fits=_fits(machine, workload.memory),
        time=time,
    )


def band_of(machine: HardwareModel, time: StepTime) -> tuple[float, float]:
    """Return the band of a time: a factor 2 of a nominal machine, else 90 % by the model's error."""
    if not machine.is_calibrated:
        return time.total / NOMINAL_FACTOR, time.total * NOMINAL_FACTOR
    error = machine.costs.model_error
    return band(time.total, MODEL_ERROR if error is None else error.value)


def _grown(local: Extents, ranks: int) -> Extents:
    """Return the lattice of so many ranks with a local lattice, cut in t first, then in z, y and x."""
    grid = [1, 1, 1, 1]
    axis, left = 3, ranks
    factor = 2
    while left > 1:
        while left % factor:
            factor += 1
        grid[axis] *= factor
        left //= factor
        axis = (axis - 1) % 4
    return tuple(n * g for n, g in zip(local, grid, strict=True))  # type: ignore[return-value]


def _set_speed_up(rows: list[Forecast], *, weak: bool) -> None:
    from dataclasses import replace

    first = rows[0]
    for k, row in enumerate(rows):
        work = row.ranks / first.ranks if weak else 1.0
        speed_up = first.seconds / row.seconds * work
        rows[k] = replace(row, speed_up=speed_up, efficiency=speed_up * first.nodes / row.nodes)


def _box_of(machine: HardwareModel, grid: Sequence[int], local: Sequence[int]) -> tuple[int, ...]:
    try:
        return best_box(grid, machine.ranks_per_node, local)
    except BadArgument:
        return ()


def _fits(machine: HardwareModel, memory: float) -> bool:
    of_device = machine.device.memory_gib
    of_node = machine.nodes.memory_gib / machine.ranks_per_node
    available = of_device if machine.device.kind == "gpu" else of_node
    return not available or memory <= available * 2**30


def as_json(table: ForecastTable) -> dict[str, Any]:
    """Return the forecasts for a JSON object."""
    return {
        "machine": table.machine,
        "step": table.step,
        "lattice": list(table.extents),
        "nominal": table.is_nominal,
        "iterations": table.iterations,
        "forecasts": [
            {
                "nodes": row.nodes,
                "ranks": row.ranks,
                "grid": list(row.grid),
                "ranks_of_a_node": list(row.box),
                "local_extents": list(row.local),
                "seconds": row.seconds,
                "low": row.low,
                "high": row.high,
                "speed_up": row.speed_up,
                "efficiency": row.efficiency,
                "gflops": row.gflops,
                "memory_bytes": row.memory,
                "fits": row.fits,
                "node_hours": row.node_hours,
                "limit": row.limit,
                "parts": dict(row.time.shares()),
                "phases": {p.name: p.total for p in row.time.phases},
            }
            for row in table.rows
        ],
        "left_out": {str(count): reason for count, reason in table.left_out.items()},
    }
