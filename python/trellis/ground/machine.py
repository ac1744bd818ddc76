"""This module has the speed of this machine, measured in this process: the denominators of every share of the
roof."""

from __future__ import annotations

from functools import lru_cache

from .compiled_core import load

#: A measurement takes so many seconds.
_SECONDS = 0.1
#: A buffer has at most so many bytes: larger ones have no other bandwidth, and take from what a run has.
LARGEST_BUFFER = 256 << 20


@lru_cache(maxsize=16)
def read_bandwidth(megabytes: int) -> float:
    """Return the bytes per second that this rank's threads read from a buffer of that size, again and again.

    A buffer that fits a cache measures the cache. The result is cached: the first call takes a tenth of a
    second.
    """
    core = load()
    return core.read_bandwidth(max(megabytes, 1) << 20, core.thread_count(), _SECONDS)


@lru_cache(maxsize=4)
def fma_peak(precision: str) -> float:
    """Return flops per second of this rank's threads in fused multiply-adds; precision "double" or
    "float"."""
    core = load()
    return core.fma_peak(precision, core.thread_count(), _SECONDS)


def peak_gflops(precision: str) -> float:
    """Return fused multiply-add flops per second of all ranks, in 10^9; the slowest rank counts. Collective.

    Parameters
    ----------
    precision
        It is that of the arithmetic: "double", "float" or "half" (computed in float).
    """
    core = load()
    return core.minimum(fma_peak("double" if precision == "double" else "float")) * core.size() * 1e-9


def roof_buffer_bytes(working_set_bytes: float) -> int:
    """Return the size of the buffer that :func:`roof_gflops` reads for the working set of one rank.

    It is a power of two in bytes, so that few bandwidths have to be measured.
    """
    megabytes = round(working_set_bytes / 2**20)
    return min(LARGEST_BUFFER, 1 << (20 + max(megabytes - 1, 0).bit_length()))


def roof_gflops(flops: float, bytes: float, working_set_bytes: float, precision: str) -> float:
    """Return the speed that all ranks together could reach, in 10^9 flops per second.

    It is min(peak, bandwidth * flops / bytes). Collective. The working set (bytes of all ranks) selects the
    level of the memory whose bandwidth counts.

    Parameters
    ----------
    flops, bytes
        The flops that the work does, and the bytes that it moves.
    precision
        Precision of the arithmetic: "double", "float" or "half" (computed in float).
    """
    core = load()
    bandwidth = read_bandwidth(roof_buffer_bytes(working_set_bytes / core.size()) >> 20)
    peak = fma_peak("double" if precision == "double" else "float")
    slowest = core.minimum(min(peak, bandwidth * flops / bytes) if bytes > 0 else peak)
    return slowest * core.size() * 1e-9
