"""R-MAT graphs and level-synchronous breadth-first searches are counted for partitions over ranks.

D. Chakrabarti, Y. Zhan and C. Faloutsos describe them (R-MAT: a recursive model for graph mining, 2004). The
numbers are those of the Graph 500 benchmark: A .57, B .19, C .19, D .05, sixteen edges a vertex.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..ground.errors import BadArgument

#: The quadrants A, B and C have these probabilities.
A, B, C = 0.57, 0.19, 0.19
LARGEST_SCALE = 26
Edges = NDArray[np.int64]


def rmat_edges(scale: int, edge_factor: int = 16, *, seed: int = 1) -> Edges:
    """Return the edges of an R-MAT graph of 2^scale vertices, shape (2, edge_factor 2^scale).

    Names of vertices are permuted, so that they say nothing of degrees.

    Raises
    ------
    BadArgument
        The scale is out of range.
    """
    if not 1 <= scale <= LARGEST_SCALE:
        raise BadArgument(f"expected a scale from 1 to {LARGEST_SCALE}, found {scale}")
    random = np.random.default_rng(seed)
    count = edge_factor << scale
    ends = np.zeros((2, count), dtype=np.int64)
    for _ in range(scale):
        draw = random.random(count)
        row = draw >= A + B
        column = ((draw >= A) & (draw < A + B)) | (draw >= A + B + C)
        ends = 2 * ends + np.stack([row, column])
    return random.permutation(1 << scale)[ends]


def adjacency(edges: Edges, vertices: int) -> Any:
    """Return the undirected graph as a SciPy CSR matrix; loops are left out, and edges count once."""
    from scipy.sparse import coo_matrix

    keep = edges[0] != edges[1]
    rows = np.concatenate([edges[0][keep], edges[1][keep]])
    columns = np.concatenate([edges[1][keep], edges[0][keep]])
    graph = coo_matrix(
        (np.ones(len(rows), dtype=np.int8), (rows, columns)), shape=(vertices, vertices)
    ).tocsr()
    graph.sum_duplicates()
    graph.data[:] = 1
    return graph


@dataclass(frozen=True)
class SearchCount:
    """These are the counts of a search, one entry for each level, over all ranks.

    Attributes
    ----------
    levels
        Level of each vertex; -1 where it was not reached.
    edges
        Directed edges that leave the vertices of a level.
    remote
        Edges whose other end belongs to another rank.
    remote_unique
        The different ends of these for each sending rank: they are sent once duplicates are removed.
    messages
        Pairs of ranks with something to send.
    """

    levels: NDArray[np.int64]
    edges: list[int]
    remote: list[int]
    remote_unique: list[int]
    messages: list[int]


def owners(vertices: int, ranks: int) -> NDArray[np.int64]:
    """Return the rank of each vertex by a 1-D partition in blocks."""
    return np.arange(vertices, dtype=np.int64) * ranks // vertices


def count_search(graph: Any, source: int, ranks: int) -> SearchCount:
    """Search level by level from a vertex, and count what a 1-D partition sends.

    Raises
    ------
    BadArgument
        The source is no vertex.
    """
    vertices = graph.shape[0]
    if not 0 <= source < vertices:
        raise BadArgument(f"expected a source from 0 to {vertices - 1}, found {source}")
    owner = owners(vertices, ranks)
    levels = np.full(vertices, -1, dtype=np.int64)
    levels[source] = 0
    front = np.array([source])
    found = SearchCount(levels, [], [], [], [])
    while len(front):
        begin, end = graph.indptr[front], graph.indptr[front + 1]
        degree = end - begin
        tails = np.repeat(front, degree)
        heads = graph.indices[_ranges(begin, degree)]
        sender, receiver = owner[tails], owner[heads]
        crosses = sender != receiver
        pairs = sender[crosses] * vertices + heads[crosses]
        found.edges.append(len(heads))
        found.remote.append(int(crosses.sum()))
        found.remote_unique.append(len(np.unique(pairs)))
        found.messages.append(len(np.unique(sender[crosses] * ranks + receiver[crosses])))
        front = np.unique(heads[levels[heads] < 0])
        levels[front] = len(found.edges)
    return found


def grid_messages(graph: Any, source: int, rows: int, columns: int) -> list[int]:
    """Return the vertices that a 2-D partition of rows x columns moves in each level.

    A front is gathered along the columns of the grid, and what is found is sent along its rows.
    """
    found = count_search(graph, source, rows * columns)
    levels = found.levels
    vertices = graph.shape[0]
    moved = []
    for level in range(len(found.edges)):
        front = np.flatnonzero(levels == level)
        gathered = len(front) * (rows - 1)
        heads = graph.indices[_ranges(graph.indptr[front], graph.indptr[front + 1] - graph.indptr[front])]
        tails = np.repeat(front, graph.indptr[front + 1] - graph.indptr[front])
        part = owners(vertices, columns)[tails]
        home = owners(vertices, columns)[heads]
        crosses = part != home
        moved.append(gathered + len(np.unique(part[crosses] * vertices + heads[crosses])))
    return moved


def _ranges(begin: NDArray[Any], length: NDArray[Any]) -> NDArray[np.int64]:
    """Return begin[0], begin[0] + 1, ... of so many numbers, then those of the next range."""
    total = int(length.sum())
    if not total:
        return np.zeros(0, dtype=np.int64)
    starts = np.cumsum(length) - length
    return np.arange(total, dtype=np.int64) + np.repeat(begin - starts, length)
