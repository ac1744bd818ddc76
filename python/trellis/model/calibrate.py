"""A machine file from measurements: speeds of kernels, of exchanges and of sums, as benchmarks print them.

The benchmarks are started by trellis.commands.model; here their numbers become the tables of a machine file.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..ground.errors import BadArgument
from .fit import Fit, fit

#: Names of kernels of the benchmarks, and of the systems of costs.json that they stand for.
KERNELS = {
    "wilson_hop": ("wilson_schur", "clover_schur", "twisted_clover_schur"),
    "staggered_hop": ("staggered_schur",),
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
    """This is the measured speed of a kernel on a rank."""

    kernel: str
    precision: str
    extents: tuple[int, ...]
    gflops: float


@dataclass
class Calibration:
    """These are the measurements of a machine.

    Attributes
    ----------
    name
        The machine's name.
    cores, memory_gib
        Those of a node.
    ranks
        The number of ranks of the exchange's measurement.
    rates
        Speeds of kernels.
    peaks
        GF/s of a rank, by precision.
    levels
        Bytes of a buffer and GB/s at which a rank reads it.
    exchange
        latency_us and gbs of a message with their fit; None with one rank.
    overhead_us
        Time of each further message at once.
    sum_us
        Seconds of a global sum by the number of ranks.
    """

    name: str
    cores: int
    memory_gib: float
    ranks: int = 1
    rates: list[Rate] = field(default_factory=list)
    peaks: dict[str, float] = field(default_factory=dict)
    levels: list[tuple[float, float]] = field(default_factory=list)
    exchange: Fit | None = None
    overhead_us: float = 0.0
    sum_us: dict[int, float] = field(default_factory=dict)


def add_kernels(calibration: Calibration, found: Mapping[str, Any]) -> None:
    """Add the speeds and ceilings of a benchmark's JSON object, as those of one rank."""
    for result in found["results"]:
        ranks = result.get("ranks", 1)
        local = tuple(int(n) for n in result["lattice"])
        for kernel in KERNELS.get(result["kernel"], ()):
            calibration.rates.append(Rate(kernel, result["precision"], local, result["gflops"] / ranks))
        precision = "double" if result["precision"] == "double" else "float"
        peak = result["peak_gflops"] / ranks
        calibration.peaks[precision] = max(calibration.peaks.get(precision, 0.0), peak)
        size = result.get("bytes", 0) / ranks  # must-move bytes: about the working set
        if size:
            calibration.levels.append((size, result["read_bandwidth_gbytes_per_second"] / ranks))


def add_exchange(calibration: Calibration, found: Mapping[str, Any]) -> None:
    """Add the exchange of a benchmark's JSON object: the fastest way of each size counts.

    Raises
    ------
    BadArgument
        The object has no messages of several sizes.
    """
    pingpong: dict[int, float] = {}
    many: dict[int, tuple[float, int]] = {}
    for row in found["results"]:
        seconds = row.get("seconds")
        if seconds is None and "us" in row:
            seconds = 1e-6 * row["us"]
        if seconds is None or not seconds > 0:
            continue
        ranks = int(row.get("ranks", 2))
        if row["pattern"] == "ping_pong":
            size = int(row["bytes"])
            pingpong[size] = min(seconds, pingpong.get(size, math.inf))
        elif row["pattern"] == "messages":
            size = int(row["bytes"])
            many[size] = min((seconds, int(row["messages"])), many.get(size, (math.inf, 1)))
        elif row["pattern"] == "sum":
            calibration.sum_us[ranks] = min(1e6 * seconds, calibration.sum_us.get(ranks, math.inf))
        calibration.ranks = max(calibration.ranks, ranks)
    if len(pingpong) < 2:
        raise BadArgument("the exchange was measured for less than two sizes of messages")
    calibration.exchange = fit_messages(sorted(pingpong.items()))
    if many:
        seconds, count = many[min(many)]
        calibration.overhead_us = 1e6 * seconds / count


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


def machine_text(calibration: Calibration, *, day: str) -> str:
    """Return the text of the machine file.

    Raises
    ------
    BadArgument
        No kernel was measured.
    """
    if not calibration.rates:
        raise BadArgument(
            "no kernel was measured: a calibration needs the benchmark programs (./bootstrap bench)"
        )
    lines = [
        f"# Measured by trellis model calibrate on {day}.",
        "[machine]",
        f'name = "{calibration.name}"',
        "",
        "[[nodes]]",
        "count = 1",
        f"cpus = {calibration.cores}",
        f"memory_gib = {calibration.memory_gib:.1f}",
        "",
        "[[device]]",
        'name = "core"',
        'kind = "cpu"',
        f"count = {calibration.cores}",
        "peak_gflops = { " + ", ".join(f"{p} = {g:.4g}" for p, g in sorted(calibration.peaks.items())) + " }",
        "memory = [",
        *_memory_lines(calibration.levels),
        "]",
        "rates = [",
        *(
            f'  {{ kernel = "{r.kernel}", precision = "{r.precision}", extents = {list(r.extents)}, '
            f"gflops = {r.gflops:.4g} }},"
            for r in _best(calibration.rates)
        ),
        "]",
        "",
    ]
    return "\n".join(lines + _link_lines(calibration) + _cost_lines(calibration)) + "\n"


def _best(rates: Sequence[Rate]) -> list[Rate]:
    """Return one rate for each kernel, storage and volume: the fastest of link storages and batches."""
    found: dict[tuple[str, str, tuple[int, ...]], Rate] = {}
    for rate in rates:
        key = (rate.kernel, rate.precision, rate.extents)
        if key not in found or rate.gflops > found[key].gflops:
            found[key] = rate
    return [found[key] for key in sorted(found)]


def _memory_lines(levels: Sequence[tuple[float, float]]) -> list[str]:
    """Return the levels by doubling sizes: the median speed of each, the last one without a size."""
    if not levels:
        raise BadArgument("no bandwidth was measured: the benchmarks print none beside their kernels")
    by_size: dict[int, list[float]] = {}
    for size, speed in levels:
        by_size.setdefault(math.ceil(math.log2(max(size / 2**20, 1 / 64))), []).append(speed)
    ordered = sorted(by_size.items())
    lines = [
        f"  {{ mib = {2.0**power:g}, gbs = {np.median(speeds):.4g} }}," for power, speeds in ordered[:-1]
    ]
    return [*lines, f"  {{ gbs = {np.median(ordered[-1][1]):.4g} }},"]


def _link_lines(calibration: Calibration) -> list[str]:
    if calibration.exchange is None:
        return []
    values, errors = calibration.exchange.values, calibration.exchange.relative_errors
    return [
        "[[link]]",
        'between = "device-device"',
        'path = "shared"',
        f"gbs = {values['gbs']:.4g} # +- {100 * errors['gbs']:.0f} %",
        f"latency_us = {values['latency_us']:.4g} # +- {100 * errors['latency_us']:.0f} %",
        f"overhead_us = {calibration.overhead_us:.4g}",
        "",
    ]


def _cost_lines(calibration: Calibration) -> list[str]:
    lines = ["[costs]", "measured = true"]
    if calibration.exchange is not None:
        each = 2 * (calibration.exchange.values["latency_us"] + calibration.overhead_us)
        lines.append(f'exchange_us = {{ value = {each:.4g}, origin = "two messages a direction" }}')
    if calibration.sum_us:
        first = calibration.sum_us[min(calibration.sum_us)]
        lines.append(f'sum_us = {{ value = {first:.4g}, origin = "trellis bench exchange" }}')
        most = max(calibration.sum_us)
        doublings = math.log2(most / min(calibration.sum_us))
        if doublings:
            slope = (calibration.sum_us[most] - first) / doublings
            lines.append(
                f'sum_log2_us = {{ value = {max(slope, 0):.4g}, origin = "trellis bench exchange" }}'
            )
        else:
            lines.append(
                f'sum_log2_us = {{ value = {first:.4g}, origin = "as long as the first sum, assumed" }}'
            )
    lines.append('model_error = { value = 0.1, origin = "assumed, as of the published figures" }')
    return lines
