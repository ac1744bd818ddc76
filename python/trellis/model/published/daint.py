"""This module has the figures of hops of Grid on Daint, 1 to 64 nodes.

Five constants are fitted to 2 to 8 nodes; the rest is predicted.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...campaign.hardware_tables import ConstantTable
from ..closed_form import phase_time
from ..fit import Constants, Fit, fit, leave_out_rms
from ..machine import HardwareModel, load_hardware
from ..mapping import by_box
from ..phases import Phase, halo
from .rows import Kind, Row

GROUP = "daint"
SOURCE = "grid-benchmark d1406480, 251103/daint"
#: Grid counts these flops of a site; a face site has these bytes in single precision.
KERNELS = {"dwf12": (1344.0 * 12, 48.0 * 12), "wilson": (1344.0, 48.0), "staggered": (1146.0, 96.0)}
#: The fit knows these numbers of nodes, and the speeds on one.
FITTED_NODES = (2, 4, 8)
START = {
    "overlap": 4.0,
    "exchange_us": 30.0,
    "staggered_exchange_us": 80.0,
    "in_node": 1.5,
    "network_gbs": 12.0,
}


@dataclass(frozen=True)
class Point:
    """This is a speed: kernel, local extent, nodes with their grids, and TF/s a node
    where it is known here.
    """

    kernel: str
    extent: int
    nodes: int
    grid: tuple[int, ...]
    box: tuple[int, ...]
    teraflops: float | None


@cache
def points() -> tuple[Point, ...]:
    """Return all points, with those whose speed is not known here."""
    table = tomllib.loads((Path(__file__).parent / "daint.toml").read_text(encoding="utf-8"))
    found = []
    for entry in table["nodes"]:
        for kernel in KERNELS:
            speeds = entry.get(kernel) or [None] * len(table["extents"])
            for extent, speed in zip(table["extents"], speeds, strict=True):
                found.append(
                    Point(kernel, extent, entry["count"], tuple(entry["grid"]), tuple(entry["box"]), speed)
                )
    return tuple(found)


def phase_of(point: Point) -> Phase:
    """Return the even-odd hop of a GPU."""
    flops, face = KERNELS[point.kernel]
    local = (point.extent,) * 4
    return Phase(
        point.kernel,
        flops=flops * point.extent**4 / 2,
        messages=halo(local, point.grid, face, sites=0.5),
        kernel=point.kernel,
        precision="float",
        extents=local,
    )


def machine_with(machine: HardwareModel, constants: Constants, kernel: str) -> HardwareModel:
    """Return the machine with these constants of the software."""
    exchange = "staggered_exchange_us" if kernel == "staggered" else "exchange_us"
    given = {
        "overlap": constants["overlap"],
        "exchange_us": constants[exchange],
        "in_node": constants["in_node"],
        "network_gbs": constants["network_gbs"],
    }
    tables = {name: ConstantTable(value=value, origin=SOURCE) for name, value in given.items()}
    return replace(machine, costs=machine.costs.model_copy(update=tables))


def without_fixed_latency(machine: HardwareModel) -> HardwareModel:
    """Return the machine with the card's latency as a part of the constant of each direction."""
    links = tuple(link.model_copy(update={"latency_us": 0.0}) for link in machine.links)
    return replace(machine, links=links)


def teraflops(point: Point, constants: Constants, machine: HardwareModel) -> float:
    """Return the speed of a node by the model."""
    phase = phase_of(point)
    time = phase_time(phase, machine_with(machine, constants, point.kernel), by_box(point.grid, point.box))
    return machine.ranks_per_node * phase.flops / time.total * 1e-12


def residuals(chosen: Sequence[Point], constants: Constants, machine: HardwareModel) -> NDArray[np.float64]:
    """Return log(model / data) of the times of points."""
    return np.array([np.log((p.teraflops or np.nan) / teraflops(p, constants, machine)) for p in chosen])


@dataclass(frozen=True)
class DaintFit:
    """This is the fit with the relative error of its form: the rms of fits that leave
    out a number of nodes.
    """

    fit: Fit
    model_error: float
    machine: HardwareModel


@cache
def fitted() -> DaintFit:
    """Fit the five constants to the 36 speeds on 2 to 8 nodes."""
    machine = without_fixed_latency(load_hardware("daint_gh200"))
    known = [p for p in points() if p.nodes in FITTED_NODES]

    def of_nodes(nodes: object) -> list[Point]:
        return [p for p in known if p.nodes == nodes]

    def without(nodes: object) -> Constants:
        rest = [p for p in known if p.nodes != nodes]
        return fit(lambda c: residuals(rest, c, machine), START).values

    found = fit(lambda c: residuals(known, c, machine), START)
    error = leave_out_rms(FITTED_NODES, without, lambda c, nodes: residuals(of_nodes(nodes), c, machine))
    return DaintFit(found, error, machine)


def rows() -> list[Row]:
    """Return the speeds on 2 to 64 nodes."""
    of = fitted()
    constants = of.fit.values
    words = ", ".join(f"{name} {value:.3g}" for name, value in constants.items())
    found = []
    for point in points():
        if point.nodes == 1:
            continue
        model = teraflops(point, constants, of.machine)
        kind: Kind = "fitted" if point.nodes in FITTED_NODES else "checked"
        note = f"{SOURCE}; fitted: {words}" if kind == "fitted" else SOURCE
        if point.teraflops is None:
            kind = "predicted"
            low, high = band_of(point, of)
            note = f"{SOURCE}; 90 % band {low:.3g} to {high:.3g}"
        figure = f"{point.kernel}, {point.extent}^4 a GPU, {point.nodes} nodes, TF/s a node"
        found.append(Row(GROUP, figure, point.teraflops, model, kind, note))
    return found


def band_of(point: Point, of: DaintFit) -> tuple[float, float]:
    """Return the ends of the 90 % band of a prediction."""
    return of.fit.band(lambda c: teraflops(point, c, of.machine), of.model_error)
