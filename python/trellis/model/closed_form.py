"""A phase has a time in closed form.

    T = (T_local^p + T_network^p)^(1/p) + g sum_in m / B_in + a d

T_local is the time of the rank's work, from a measured speed or the roofline. T_network is that of the card
with the most traffic: the messages of its ranks to other nodes, and their overheads. g weighs what travels
within a node, and a the d directions in which ranks are cut; both count beyond the exchange that a measured
speed contains. LogGP has the names L for latency, o for overhead, and G = 1 / B.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from .machine import HardwareModel
from .mapping import RankMap
from .phases import Phase, Workload

#: Tables name one of these parts of a time as its limit.
LIMITS = (
    "memory",
    "arithmetic",
    "kernel",
    "network",
    "latency",
    "in-node links",
    "exchange overhead",
    "sums",
)


@dataclass(frozen=True, slots=True)
class PhaseTime:
    """These are the seconds of a phase, all repetitions together.

    Attributes
    ----------
    name
        The phase.
    total
        All of it.
    local
        Computing alone.
    network
        The busiest card alone.
    in_node, overhead, sums
        These are added for messages within nodes, for directions that are cut, and for global sums.
    limit
        The largest part, in the words of LIMITS.
    flops, bytes
        Operations and must-move bytes of a rank.
    """

    name: str
    total: float
    local: float
    network: float
    in_node: float
    overhead: float
    sums: float
    limit: str
    flops: float = 0.0
    bytes: float = 0.0


@dataclass(frozen=True, slots=True)
class StepTime:
    """These are the seconds of a step and of its phases."""

    total: float
    phases: tuple[PhaseTime, ...]

    @property
    def limit(self) -> str:
        """Return the part that takes most of the time, over all phases."""
        shares: dict[str, float] = {}
        for phase in self.phases:
            shares[phase.limit] = shares.get(phase.limit, 0.0) + phase.total
        return max(shares, key=lambda name: shares[name])

    def shares(self) -> Mapping[str, float]:
        """Return the seconds of each part: computing, what the network adds to it, and the rest."""
        sums = sum(p.sums for p in self.phases)
        in_node = sum(p.in_node for p in self.phases)
        overhead = sum(p.overhead for p in self.phases)
        local = sum(p.local for p in self.phases)
        network = max(self.total - local - in_node - overhead - sums, 0.0)
        return {
            "computing": local,
            "network": network,
            "in-node links": in_node,
            "exchange overhead": overhead,
            "sums": sums,
        }


def step_time(workload: Workload, machine: HardwareModel, ranks: RankMap) -> StepTime:
    """Return the time of a step: phases follow each other."""
    phases = tuple(phase_time(phase, machine, ranks) for phase in workload.phases)
    return StepTime(sum(p.total for p in phases), phases)


def phase_time(phase: Phase, machine: HardwareModel, ranks: RankMap) -> PhaseTime:
    """Return the time of a phase on a machine, with ranks on nodes as the map says."""
    rank_count = int(ranks.nodes.size)
    busy = ranks.most_on_a_node * machine.cores_of_rank
    local, local_limit = local_seconds(phase, machine, busy)
    network, network_limit = network_seconds(phase, machine, ranks)
    measured = machine.rate(phase, busy)
    measured_grid = measured.grid if measured is not None else (1,) * len(ranks.grid)
    in_node = machine.in_node * in_node_seconds(phase, machine, ranks, measured_grid)
    cut = {m.mu for m in phase.messages if ranks.grid[m.mu] > 1}
    new = sum(measured_grid[mu] == 1 for mu in cut)
    overhead = machine.exchange_seconds * new
    sums = phase.sums * machine.sum_seconds(rank_count)
    if not phase.overlaps:
        together = local + network
    elif phase.border:
        together = border_first(local, phase.border, network)
    else:
        together = overlapped(local, network, machine.overlap)
    once = together + in_node + overhead + sums
    parts = {
        local_limit: local,
        network_limit: network,
        "in-node links": in_node,
        "exchange overhead": overhead,
        "sums": sums,
    }
    n = phase.repeats
    return PhaseTime(
        phase.name,
        n * once,
        n * local,
        n * network,
        n * in_node,
        n * overhead,
        n * sums,
        max(parts, key=lambda name: parts[name]),
        n * phase.flops,
        n * phase.bytes,
    )


def overlapped(local: float, network: float, p: float) -> float:
    """Return (local^p + network^p)^(1/p), the time of work and messages that hide each other imperfectly."""
    larger, smaller = max(local, network), min(local, network)
    if larger == 0:
        return 0.0
    return float(larger * (1 + (smaller / larger) ** p) ** (1 / p))


def border_first(local: float, border: float, network: float) -> float:
    """Return the time where borders come first and messages then travel beside the bulk.

    Parameters
    ----------
    border
        Share of the work that is on borders.
    """
    return local * border + max(local * (1 - border), network)


def share_of(phase: Phase, cores: int) -> Phase:
    """Return a core's share of a phase of a rank; speeds are looked up at its share of the volume."""
    if cores == 1:
        return phase
    extents = None if phase.extents is None else (*phase.extents[:3], max(phase.extents[3] // cores, 1))
    return replace(
        phase,
        flops=phase.flops / cores,
        bytes=phase.bytes / cores,
        working_set=phase.working_set / cores,
        extents=extents,
    )


def local_seconds(phase: Phase, machine: HardwareModel, busy: int = 1) -> tuple[float, str]:
    """Return the time of the rank's own work beside so many busy ranks of a node, and what limits it."""
    phase = share_of(phase, machine.cores_of_rank)
    speed = machine.measured_gflops(phase, busy)
    if speed is not None:
        return phase.flops / (1e9 * speed), "kernel"
    launches = 1e-6 * machine.device.launch_us * phase.launches
    roof = machine.roof_seconds(phase)
    if launches > roof:
        return roof + launches, "latency"
    peak = machine.device.peak_gflops.get(phase.precision) or machine.device.peak_gflops.get("float")
    is_arithmetic = (
        bool(peak) and phase.flops / (1e9 * (peak or 1)) >= machine.device.efficiency * roof * 0.999
    )
    return roof + launches, "arithmetic" if is_arithmetic else "memory"


def network_seconds(phase: Phase, machine: HardwareModel, ranks: RankMap) -> tuple[float, str]:
    """Return the time of the busiest card, and whether bytes or messages make it."""
    if ranks.node_count == 1 or not phase.messages:
        return 0.0, "network"
    link = machine.network_link
    sizes, counts = traffic_to_other_nodes(phase, ranks)
    if not counts.any():
        return 0.0, "network"
    cards = ranks.nodes * ranks.nodes.size + ranks.places // link.shared_by
    _, card = np.unique(cards.ravel(), return_inverse=True)
    on_card_bytes = np.bincount(card, weights=sizes.ravel())
    on_card_messages = np.bincount(card, weights=counts.ravel())
    bandwidth = on_card_bytes / machine.network_bytes_per_second()
    overhead = 1e-6 * link.overhead_us * on_card_messages
    busiest = int(np.argmax(bandwidth + overhead))
    hops = 1e-6 * machine.fabric.hop_us
    fixed = 1e-6 * link.latency_us + hops
    seconds = float(bandwidth[busiest] + overhead[busiest]) + fixed
    if link.path == "staged":
        seconds += staging_seconds(machine, float(sizes.max()), float(counts.max()))
    limit = "network" if bandwidth[busiest] > overhead[busiest] + fixed else "latency"
    return seconds, limit


def staging_seconds(machine: HardwareModel, size: float, count: float) -> float:
    """Return the time of copies to the host before, and to the device behind the network."""
    bus = machine.link("device-host")
    if bus is None or not size:
        return 0.0
    return 2 * size / (1e9 * bus.gbs) + 1e-6 * count * (bus.latency_us + bus.overhead_us)


def traffic_to_other_nodes(phase: Phase, ranks: RankMap) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the bytes and the messages that each rank sends to other nodes."""
    sizes, counts = np.zeros(ranks.grid), np.zeros(ranks.grid)
    for message in phase.messages:
        leaves = ranks.leaves_node(message.mu, message.step)
        sizes += leaves * (message.size * message.count)
        counts += leaves * message.count
    return sizes, counts


def in_node_seconds(
    phase: Phase, machine: HardwareModel, ranks: RankMap, measured_grid: tuple[int, ...]
) -> float:
    """Return the time of messages within a node, beyond those that the measured speed contains.

    The measured speed is that of a grid on one node, where each cut direction has two faces in the node.
    """
    link = machine.link("device-device")
    if link is None or not phase.messages:
        return 0.0
    inside = np.zeros(ranks.grid)
    contained = 0.0
    for message in phase.messages:
        size = message.size * message.count
        inside += ~ranks.leaves_node(message.mu, message.step) * (size * (ranks.grid[message.mu] > 1))
        contained += size * (measured_grid[message.mu] > 1)
    return max(float(inside.max()) - contained, 0.0) / (1e9 * link.gbs)
