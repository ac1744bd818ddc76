"""This module has the figures of breadth-first search on APEnet+ and InfiniBand (INFN 2013).

Each network has three effective constants.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .rows import Row

GROUP = "bfs"
#: The graph of the strong table has this many vertices, and this many edges a vertex.
VERTICES, EDGE_FACTOR = 2**20, 16
#: A remote edge has these bytes: a vertex and its parent.
BYTES_PER_EDGE = 8.0
#: The table has traversed edges a second by number of nodes.
STRONG = {
    "InfiniBand": {1: 6.25389e7, 2: 7.8924e7, 4: 8.20081e7},
    "APEnet+": {1: 6.24038e7, 2: 1.01101e8, 4: 1.26543e8},
}


@dataclass(frozen=True)
class SearchConstants:
    """These are the constants of a network.

    Attributes
    ----------
    edge_seconds
        Work of an edge on one node.
    peer_seconds
        Work for each other node, in a search of the strong table's size.
    bytes_per_second
        Effective rate at which remote edges travel.
    """

    edge_seconds: float
    peer_seconds: float
    bytes_per_second: float

    def seconds(self, edges: float, nodes: int) -> float:
        """Return the time of a search: by edges, by peers, and by the remote (N - 1) / N of the edges."""
        remote = 2 * edges * (nodes - 1) / nodes**2
        of_peers = self.peer_seconds * (nodes - 1)
        return self.edge_seconds * edges / nodes + of_peers + BYTES_PER_EDGE * remote / self.bytes_per_second


def constants(network: str) -> SearchConstants:
    """Return the three constants of a network from its three figures."""
    edges = VERTICES * EDGE_FACTOR
    seconds = {nodes: edges / rate for nodes, rate in STRONG[network].items()}
    beside = np.array([seconds[n] - seconds[1] / n for n in (2, 4)])
    matrix = np.array([[n - 1, BYTES_PER_EDGE * 2 * edges * (n - 1) / n**2] for n in (2, 4)])
    peer, byte = np.linalg.solve(matrix, beside)
    return SearchConstants(seconds[1] / edges, float(peer), 1 / float(byte))


def rows() -> list[Row]:
    """Return the strong table, and the weak figure on four nodes that the constants predict."""
    found = []
    edges = VERTICES * EDGE_FACTOR
    for network, table in STRONG.items():
        of = constants(network)
        note = f"INFN 2013; {1e3 * of.peer_seconds:.1f} ms a peer, {1e-9 * of.bytes_per_second:.2f} GB/s"
        found += [
            Row(
                GROUP,
                f"{network}, strong, {n} nodes, 10^6 edges/s",
                rate * 1e-6,
                edges / of.seconds(edges, n) * 1e-6,
                "fitted",
                note,
            )
            for n, rate in table.items()
        ]
        weak = 4 * edges / of.seconds(4 * edges, 4)
        found.append(
            Row(
                GROUP,
                f"{network}, weak, 4 nodes, 2^20 vertices a node, 10^6 edges/s",
                None,
                weak * 1e-6,
                "predicted",
                "the three constants of the strong table",
            )
        )
    return found
