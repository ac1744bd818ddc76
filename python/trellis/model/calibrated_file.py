"""The machine file of a calibration has devices with speeds, links, and constants of the software."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..ground.errors import BadArgument
from .calibrate import Calibration, Rate
from .fit import Fit

#: This is the relative error of the model's form where nothing was compared on the machine yet.
ASSUMED_ERROR = 0.1


def machine_text(calibration: Calibration, *, day: str, load: float = 0.0) -> str:
    """Return the text of the machine file.

    Parameters
    ----------
    load
        Programs that ran beside it, on average over the minute before.

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
        f"# Measured by trellis model calibrate on {day}, with one rank of a node busy and with all of them.",
        f"# Load of other programs: {load:.1f}.",
        "[machine]",
        f'name = "{calibration.name}"',
        "",
        "[[nodes]]",
        f"count = {calibration.nodes}",
        f"cpus = {calibration.cores}",
        f"memory_gib = {calibration.memory_gib:.1f}",
        "",
        "[[device]]",
        'name = "core"',
        'kind = "cpu"',
        f"count = {calibration.cores}",
        "peak_gflops = { " + ", ".join(f"{p} = {g:.4g}" for p, g in sorted(calibration.peaks.items())) + " }",
        "memory = [",
        *_memory_lines(calibration.levels[max(calibration.levels)] if calibration.levels else []),
        "]",
        "rates = [",
        *(
            f'  {{ kernel = "{r.kernel}", precision = "{r.precision}", extents = {list(r.extents)}, '
            f"link_reals = {r.link_reals}, rhs = {r.rhs}, grid = {list(r.grid)}, gflops = {r.gflops:.4g} }},"
            for r in _best(calibration.rates)
        ),
        "]",
        "",
    ]
    return "\n".join(lines + _link_lines(calibration) + _cost_lines(calibration)) + "\n"


def _best(rates: Sequence[Rate]) -> list[Rate]:
    """Return the fastest rate of each kernel, storage, volume, batch and grid."""
    found: dict[tuple[object, ...], Rate] = {}
    for rate in rates:
        key = (rate.kernel, rate.precision, rate.link_reals, rate.rhs, rate.grid, rate.extents)
        if key not in found or rate.gflops > found[key].gflops:
            found[key] = rate
    return [found[key] for key in sorted(found, key=repr)]


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
    lines = []
    if calibration.exchange is not None:
        lines += _link(calibration.exchange, "device-device", "shared", calibration.overhead_us)
    if calibration.network is not None:
        lines += _link(calibration.network, "node-nic", "peer", calibration.network_overhead_us)
        lines.insert(-1, f"shared_by = {calibration.cores}")
    return lines


def _link(line: Fit, between: str, path: str, overhead: float) -> list[str]:
    values, errors = line.values, line.relative_errors
    return [
        "[[link]]",
        f'between = "{between}"',
        f'path = "{path}"',
        f"gbs = {values['gbs']:.4g} # +- {100 * errors['gbs']:.0f} %",
        f"latency_us = {values['latency_us']:.4g} # +- {100 * errors['latency_us']:.0f} %",
        f"overhead_us = {overhead:.4g}",
        "",
    ]


def _cost_lines(calibration: Calibration) -> list[str]:
    lines = ["[costs]", "measured = true"]
    if calibration.exchange is not None:
        each = 2 * (calibration.exchange.values["latency_us"] + calibration.overhead_us)
        lines.append(f'exchange_us = {{ value = {each:.4g}, origin = "two messages a direction" }}')
    if calibration.node_gbs is not None:
        lines.append(
            f"network_gbs = {{ value = {calibration.node_gbs:.4g}, "
            'origin = "trellis bench exchange, all ranks of two nodes, both ways" }'
        )
    if calibration.sum_us:
        one, doubling = _sums(calibration.sum_us)
        lines.append(f'sum_us = {{ value = {one:.4g}, origin = "trellis bench exchange" }}')
        lines.append(f'sum_log2_us = {{ value = {doubling:.4g}, origin = "trellis bench exchange" }}')
    lines.append(f'model_error = {{ value = {ASSUMED_ERROR}, origin = "assumed, as of published figures" }}')
    return lines


def _sums(seconds: dict[int, float]) -> tuple[float, float]:
    """Return the time of a sum of one rank and what a doubling of ranks adds; one number is a doubling's."""
    few, many = min(seconds), max(seconds)
    if few == many:
        return 0.0, seconds[many] / max(math.log2(many), 1.0)
    doubling = max((seconds[many] - seconds[few]) / math.log2(many / few), 0.0)
    return max(seconds[few] - doubling * math.log2(few), 0.0), doubling
