"""Measurements describe a machine: benchmarks print speeds of kernels, of exchanges and of sums.

trellis.commands.model_calibrate starts the benchmarks; here their numbers become speeds and
constants, and :mod:`trellis.model.calibrated_file` writes them as a machine file.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..ground.errors import BadArgument
from .costs import counts
from .fit import Fit, fit
from .mapping import least_surface_grid, spin_grid
from .phases import Extents

#: Kernels of the benchmarks have these names; behind them are the systems of costs.json that they stand for.
KERNELS = {
    "wilson_hop": ("wilson_hop", "wilson_schur", "clover_schur", "twisted_clover_schur"),
    "staggered_hop": ("staggered_hop", "staggered_schur"),
    "improved_staggered_hop": ("hisq_schur",),
    "domain_wall_schur": ("domain_wall_schur",),
    "heatbath": ("heatbath",),
    "overrelaxation": ("overrelaxation",),
    "plaquette_force": ("plaquette_force",),
    "rectangle_force": ("rectangle_force",),
    "stout": ("stout",),
    "stout_chain": ("stout_chain",),
}


@dataclass(frozen=True)
class Rate:
    """This is the measured speed of a kernel on a rank: the flops that the model counts, over seconds.

    `extents` are those of a rank; link_reals and rhs are 0 where they say nothing.
    """

    kernel: str
    precision: str
    extents: tuple[int, ...]
    gflops: float
    link_reals: int = 0
    rhs: int = 0
    grid: tuple[int, ...] = (1, 1, 1, 1)


@dataclass
class Calibration:
    """These are the measurements of a machine.

    Attributes
    ----------
    name
        The machine's name.
    cores, memory_gib
        A node has these.
    nodes
        Nodes of the allocation.
    rates
        Speeds of kernels.
    peaks
        GF/s of a rank, by precision.
    levels
        Bytes of a buffer and GB/s at which a rank reads it, by the number of busy ranks.
    exchange, network
        latency_us and gbs of a message in a node and between nodes, with their fits; None where there is no
        such message.
    overhead_us, network_overhead_us
        Time of each further message at once, in a node and between nodes.
    node_gbs
        GB/s that a node sends while all of its ranks send and receive; None where it was not measured.
    sum_us
        Seconds of a global sum by the number of ranks.
    """

    name: str
    cores: int
    memory_gib: float
    nodes: int = 1
    rates: list[Rate] = field(default_factory=list)
    peaks: dict[str, float] = field(default_factory=dict)
    levels: dict[int, list[tuple[float, float]]] = field(default_factory=dict)
    exchange: Fit | None = None
    network: Fit | None = None
    overhead_us: float = 0.0
    network_overhead_us: float = 0.0
    node_gbs: float | None = None
    sum_us: dict[int, float] = field(default_factory=dict)


def add_kernels(calibration: Calibration, found: Mapping[str, Any]) -> None:
    """Add the speeds and ceilings of a benchmark's JSON object, as those of one rank.

    A system of costs.json moves and computes other amounts than the kernel that was timed. It is taken to
    reach the same share of its own roofline.
    """
    for result in found["results"]:
        place = place_of(result)
        ranks = place.ranks
        peak, speed = result["peak_gflops"] / ranks, result["read_bandwidth_gbytes_per_second"] / ranks
        for kernel in KERNELS.get(result["kernel"], ()):
            gflops = _speed_of(kernel, result, place, peak, speed)
            if gflops is not None:
                calibration.rates.append(rate_of(kernel, result, place, gflops))
        precision = "double" if result["precision"] == "double" else "float"
        calibration.peaks[precision] = max(calibration.peaks.get(precision, 0.0), peak)
        size = result.get("bytes", 0) / ranks  # must-move bytes are about the working set
        if size:
            calibration.levels.setdefault(ranks, []).append((size, speed))


@dataclass(frozen=True)
class Place:
    """This is the process grid of a measurement, and the local extents of a rank."""

    grid: tuple[int, ...]
    local: Extents

    @property
    def ranks(self) -> int:
        """Return the number of ranks."""
        return math.prod(self.grid)


def place_of(result: Mapping[str, Any], *, is_glass: bool = False) -> Place:
    """Return the process grid that trellis took for a benchmark's lattice, and its local extents."""
    extents, ranks = tuple(int(n) for n in result["lattice"]), int(result.get("ranks", 1))
    grid = (spin_grid if is_glass else least_surface_grid)(extents, ranks)
    local: Extents = tuple(n // g for n, g in zip(extents, grid, strict=True))  # type: ignore[assignment]
    return Place(grid, local)


def rate_of(
    kernel: str, result: Mapping[str, Any], place: Place, gflops: float, *, precision: str | None = None
) -> Rate:
    """Return a speed of one rank in the conditions of a benchmark's result."""
    return Rate(
        kernel,
        precision or result["precision"],
        place.local,
        gflops,
        int(result.get("link_reals", 0)),
        int(result.get("rhs", 0)),
        place.grid,
    )


def _speed_of(
    kernel: str, result: Mapping[str, Any], place: Place, peak: float, bandwidth: float
) -> float | None:
    """Return GF/s of a rank in a system; None where costs.json does not have it in this storage."""
    measured = result["gflops"] / place.ranks
    if kernel == result["kernel"] or "bytes" not in result or "flops" not in result:
        return float(measured)
    try:
        of = counts(
            kernel,
            place.local,
            (1, 1, 1, 1),
            precision=result["precision"],
            link_reals=int(result.get("link_reals") or 18),
            rhs=int(result.get("rhs") or 1),
            Ls=int(result.get("Ls") or 1),
        )
    except BadArgument:
        return None
    flops, moved = result["flops"] / place.ranks, result["bytes"] / place.ranks
    share = max(flops / peak, moved / bandwidth) / (flops / measured)
    return float(of.flops * share / max(of.flops / peak, of.bytes / bandwidth))


def add_exchange(calibration: Calibration, found: Mapping[str, Any]) -> None:
    """Add the exchange of a benchmark's JSON object: the fastest way of each size counts.

    Messages in a node and between nodes are told apart. Sums are those of one number.

    Raises
    ------
    BadArgument
        The object has no messages of several sizes.
    """
    for result in found["results"]:
        seconds = seconds_of(result)
        if result["pattern"] == "sum" and seconds is not None and int(result.get("sums", 1)) == 1:
            ranks = int(result.get("ranks", 2))
            calibration.sum_us[ranks] = min(1e6 * seconds, calibration.sum_us.get(ranks, math.inf))
    places = {"in a node": False, "between nodes": True}
    any_found = False
    for where, is_network in places.items():
        rows = [r for r in found["results"] if r.get("where", "in a node") == where]
        pingpong = _fastest(rows, "ping_pong")
        if len(pingpong) < 2:
            continue
        any_found = True
        line = fit_messages([(size, seconds) for size, (seconds, _) in sorted(pingpong.items())])
        many = _fastest(rows, "messages")
        overhead = 0.0
        if many:
            seconds, count = many[min(many)]
            overhead = 1e6 * seconds / count
        if is_network:
            calibration.network, calibration.network_overhead_us = line, overhead
        else:
            calibration.exchange, calibration.overhead_us = line, overhead
    if not any_found:
        raise BadArgument("the exchange was measured for less than two sizes of messages")


def add_node_rate(calibration: Calibration, found: Mapping[str, Any]) -> None:
    """Add what a node sends while all of its ranks send and receive their longest messages."""
    speeds = [
        row["bytes"] * row["pairs"] / seconds * 1e-9
        for row in found["results"]
        if row["pattern"] == "both_ways" and row.get("where") == "between nodes"
        if (seconds := seconds_of(row)) is not None
    ]
    if speeds:
        calibration.node_gbs = max(speeds)


def seconds_of(row: Mapping[str, Any]) -> float | None:
    """Return the seconds of a row of `bench exchange`, if it has any."""
    seconds = row.get("seconds")
    return float(seconds) if seconds is not None and seconds > 0 else None


def _fastest(rows: Sequence[Mapping[str, Any]], pattern: str) -> dict[int, tuple[float, int]]:
    """Return the seconds and the number of messages of the fastest way of each size."""
    found: dict[int, tuple[float, int]] = {}
    for row in rows:
        seconds = seconds_of(row)
        if row["pattern"] == pattern and seconds is not None:
            size = int(row["bytes"])
            found[size] = min((seconds, int(row["messages"])), found.get(size, (math.inf, 1)))
    return found


def fit_messages(points: Sequence[tuple[int, float]]) -> Fit:
    """Fit latency and rate of messages: seconds = latency + bytes / rate."""

    def residuals(constants: Mapping[str, float]) -> np.ndarray:
        return np.array(
            [
                math.log((1e-6 * constants["latency_us"] + size / (1e9 * constants["gbs"])) / seconds)
                for size, seconds in points
            ]
        )

    first, last = points[0], points[-1]
    return fit(residuals, {"latency_us": 1e6 * first[1], "gbs": 1e-9 * last[0] / last[1]})
