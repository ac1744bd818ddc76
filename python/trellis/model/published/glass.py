"""This module has the Heisenberg spin glass on APEnet+ (INFN 2013).

It has L = 256 and over-relaxation, and is cut in one direction.
"""

from __future__ import annotations

import math

from ..closed_form import border_first
from ..machine import load_hardware
from ..torus import busiest_seconds, ring_on_torus
from ..workloads.glass import sliced_messages
from .rows import Row

GROUP = "glass"
EXTENT = 256
SPINS = EXTENT**3
#: These are ps a spin of the whole lattice by number of GPUs: first all, then the network alone.
TOTAL = {1: 921.0, 2: 416.0, 4: 202.0, 8: 148.0}
NETWORK = {2: 97.0, 4: 113.0, 8: 141.0}
#: A message between GPUs by peer-to-peer has this latency in s.
LATENCY = 8.5e-6


def card_rate() -> float:
    """Return the bytes a second that a card sends, from the network's time on two GPUs."""
    messages = sliced_messages(EXTENT)
    seconds = NETWORK[2] * 1e-12 * SPINS
    count = sum(m.count for m in messages)
    size = sum(m.count * m.size for m in messages)
    return size / (seconds - count * LATENCY)


def skew_seconds() -> float:
    """Return what each doubling of the GPUs adds to a message, from the network's time on eight."""
    count = sum(m.count for m in sliced_messages(EXTENT))
    return (NETWORK[8] - NETWORK[2]) * 1e-12 * SPINS / (count * math.log2(8 / 2))


def network_ps(gpus: int, *, skew: float | None = None) -> float:
    """Return the network's time, ps a spin of the whole lattice."""
    messages = sliced_messages(EXTENT)
    added = (skew_seconds() if skew is None else skew) * math.log2(gpus / 2)
    seconds = sum(m.count * (m.size / card_rate() + LATENCY + added) for m in messages)
    return seconds / SPINS * 1e12


def total_ps(gpus: int) -> float:
    """Return the time of a sweep, ps a spin of the whole lattice: borders, then bulk beside the exchange.

    One GPU with half of the lattice has the speed of two on it: 2 x 416 ps a spin, more than the 921 of one.
    """
    of_one = 2 * TOTAL[2]
    planes = EXTENT / gpus
    return border_first(of_one / gpus, 2 / planes, network_ps(gpus))


def with_forwarding(gpus: int, extents: tuple[int, ...]) -> float:
    """Return the network's time on so many GPUs against that on four, ps a spin, with a torus that forwards.

    Ranks lie x fastest on the torus; the rate is that of four GPUs (a ring of neighbours).
    """
    machine = load_hardware("apenet_cluster_1")
    four = busiest_seconds(ring_on_torus(4, (4, 1), machine, 1.0))
    return NETWORK[4] * busiest_seconds(ring_on_torus(gpus, extents, machine, 1.0)) / four


def rows() -> list[Row]:
    """Return total and network times."""
    source = "INFN 2013, Table II"
    fitted_rate = f"{source}; {card_rate() * 1e-9:.2f} GB/s fitted"
    fitted_skew = f"{source}; {1e6 * skew_seconds():.0f} us a message and doubling fitted"
    return [
        Row(GROUP, "all, 1 GPU, ps a spin", TOTAL[1], TOTAL[1], "input", source),
        Row(GROUP, "all, 2 GPUs, ps a spin", TOTAL[2], total_ps(2), "fitted", source),
        Row(GROUP, "all, 4 GPUs, ps a spin", TOTAL[4], total_ps(4), "checked", source),
        Row(GROUP, "all, 8 GPUs, ps a spin", TOTAL[8], total_ps(8), "checked", source),
        Row(GROUP, "network, 2 GPUs, ps a spin", NETWORK[2], network_ps(2), "fitted", fitted_rate),
        Row(GROUP, "network, 4 GPUs, ps a spin", NETWORK[4], network_ps(4), "checked", source),
        Row(GROUP, "network, 8 GPUs, ps a spin", NETWORK[8], network_ps(8), "fitted", fitted_skew),
        Row(
            GROUP,
            "network, 8 GPUs, without that constant, ps a spin",
            NETWORK[8],
            network_ps(8, skew=0.0),
            "checked",
            "the closed form knows no forwarding: the message engine has it",
        ),
        Row(
            GROUP,
            "network, 8 GPUs, by messages on a torus of 4 x 2 that forwards, ps a spin",
            NETWORK[8],
            with_forwarding(8, (4, 2)),
            "checked",
            "the rate of four GPUs; the torus of 4 x 2 nodes is an assumption, and SimGrid finds the same",
        ),
    ]
