"""Messages between nodes cross a fabric: they take ways over cards and links, and load each of them.

On a torus a message takes the shorter way in x, then y and z, forwards where both are alike. A card that
forwards carries what passes through its node beside what it sends and receives; all share its two ways.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from .machine import HardwareModel
from .mapping import RankMap
from .phases import Phase

#: A link of a way is ("out", node), ("in", node), ("card", node), or (node, axis, step) between two nodes.
LinkKey = tuple[str | int, ...]


@dataclass(frozen=True)
class Traffic:
    """This is the input of SimGrid: nodes and their places, links, and messages.

    Attributes
    ----------
    nodes
        The number of nodes.
    extents
        The extents of the torus; empty for a fabric that never limits.
    card_gbs, link_gbs
        Rates of a card and of a link of the torus, one way.
    latency_us, hop_us
        Latency of a message, and of each link of the torus on its way.
    forwards
        True if a card carries what it forwards, beside its own traffic.
    messages
        Sender, receiver (nodes) and bytes of each.
    """

    nodes: int
    extents: tuple[int, ...]
    card_gbs: float
    link_gbs: float
    latency_us: float
    hop_us: float
    forwards: bool
    messages: tuple[tuple[int, int, float], ...]


def traffic_of(phase: Phase, machine: HardwareModel, ranks: RankMap) -> Traffic:
    """Return the messages between nodes of a phase, and the fabric that they cross."""
    found: dict[tuple[int, int], float] = {}
    for message in phase.messages:
        for where in itertools.product(*map(range, ranks.grid)):
            there = list(where)
            there[message.mu] = (there[message.mu] + message.step) % ranks.grid[message.mu]
            pair = int(ranks.nodes[where]), int(ranks.nodes[tuple(there)])
            if pair[0] != pair[1]:
                found[pair] = found.get(pair, 0.0) + message.size * message.count
    fabric = machine.fabric
    return Traffic(
        nodes=ranks.node_count,
        extents=tuple(fabric.extents) if fabric.topology == "torus" else (),
        card_gbs=machine.network_bytes_per_second() * 1e-9,
        link_gbs=fabric.link_gbs or 1e6,
        latency_us=machine.network_link.latency_us,
        hop_us=fabric.hop_us,
        forwards=fabric.forwards,
        messages=tuple((a, b, size) for (a, b), size in sorted(found.items())),
    )


def way(a: int, b: int, extents: Sequence[int]) -> tuple[list[int], list[tuple[int, int, int]]]:
    """Return the nodes of a way on a torus, both ends included, and its links (node, axis, step)."""
    here, there = _coordinates(a, extents), _coordinates(b, extents)
    nodes, links = [a], []
    for axis, n in enumerate(extents):
        ahead = (there[axis] - here[axis]) % n
        step, count = (1, ahead) if ahead <= n - ahead else (-1, n - ahead)
        for _ in range(count):
            links.append((nodes[-1], axis, step))
            here[axis] = (here[axis] + step) % n
            nodes.append(_number(here, extents))
    return nodes, links


def route(traffic: Traffic, a: int, b: int) -> list[LinkKey]:
    """Return the links that a message from a to b takes."""
    if not traffic.extents:
        return [("out", a), ("in", b)]
    nodes, links = way(a, b, traffic.extents)
    if traffic.forwards:
        return [*(("card", node) for node in nodes), *links]
    return [("out", a), *links, ("in", b)]


def rate_of(traffic: Traffic, key: LinkKey) -> float:
    """Return the bytes a second of a link of a way; a card that forwards has both of its ways together."""
    if key[0] == "card":
        return 2e9 * traffic.card_gbs
    return 1e9 * (traffic.card_gbs if isinstance(key[0], str) else traffic.link_gbs)


def busiest_seconds(traffic: Traffic) -> float:
    """Return the time of the busiest card or link: a bound that is reached where all messages go at once."""
    loads: dict[LinkKey, float] = {}
    for a, b, size in traffic.messages:
        for key in route(traffic, a, b):
            loads[key] = loads.get(key, 0.0) + size
    return max((size / rate_of(traffic, key) for key, size in loads.items()), default=0.0)


def _coordinates(node: int, extents: Sequence[int]) -> list[int]:
    found = []
    for n in extents:
        found.append(node % n)
        node //= n
    return found


def _number(where: Sequence[int], extents: Sequence[int]) -> int:
    node, stride = 0, 1
    for x, n in zip(where, extents, strict=True):
        node += stride * x
        stride *= n
    return node


def ring_on_torus(nodes: int, extents: Sequence[int], machine: HardwareModel, size: float) -> Traffic:
    """Return the traffic of a ring of nodes, numbered x fastest on a torus, each with two neighbours."""
    messages = tuple((k, (k + step) % nodes, size) for k in range(nodes) for step in (1, -1))
    link = machine.network_link
    return Traffic(
        nodes=nodes,
        extents=tuple(extents),
        card_gbs=machine.network_bytes_per_second() * 1e-9,
        link_gbs=machine.fabric.link_gbs or 1e6,
        latency_us=link.latency_us,
        hop_us=machine.fabric.hop_us,
        forwards=machine.fabric.forwards,
        messages=messages,
    )
