#!/usr/bin/env python3
"""Search R-MAT graphs breadth first on several ranks, and compare every level and parent with SciPy's.

    lab/bfs/run.py [--build build/release] [--scale 20] [--keys 16] [--ranks 1,2] [--json FILE]

The program is the target lab_bfs_search (ninja -C build/release lab). The graph is that of
trellis.model.graphs. The figure of a number of ranks is the harmonic mean of traversed edges a second over
the keys, as in the Graph 500 benchmark. Status 1: some level differs, or a parent is no parent.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from scipy.sparse.csgraph import breadth_first_order

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

from trellis.model.graphs import adjacency, count_search, rmat_edges  # noqa: E402


def levels_of_scipy(graph, key: int):
    """Return the level of each vertex, and -1 where it is not reached."""
    order, predecessors = breadth_first_order(graph, key, directed=False)
    levels = np.full(graph.shape[0], -1, dtype=np.int16)
    levels[key] = 0
    rest = order[1:]
    while len(rest):
        known = levels[predecessors[rest]] >= 0
        levels[rest[known]] = levels[predecessors[rest[known]]] + 1
        rest = rest[~known]
    return levels


def wrong_parents(graph, key: int, levels, parents) -> int:
    """Return the number of vertices whose parent is not a neighbour that lies a level nearer to the key."""
    reached = np.flatnonzero(levels >= 0)
    children = reached[reached != key]
    above = parents[children]
    wrong = int(parents[key] != key) + int((parents[levels < 0] != -1).sum())
    if (above < 0).any():
        return wrong + len(children)
    edges = np.asarray(graph[children, above]).ravel()
    return wrong + int(((edges == 0) | (levels[above] != levels[children] - 1)).sum())


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--build", type=Path, default=ROOT / "build/release")
    parser.add_argument("--scale", type=int, default=20)
    parser.add_argument("--keys", type=int, default=16)
    parser.add_argument("--ranks", type=lambda text: [int(word) for word in text.split(",")], default=[1, 2])
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    program = given.build / "lab/lab_bfs_search"
    if not program.exists():
        sys.exit(f"{program} is missing: ninja -C {given.build} lab")
    vertices = 1 << given.scale
    edges = rmat_edges(given.scale)
    graph = adjacency(edges, vertices)
    degrees = np.diff(graph.indptr)
    keys = np.random.default_rng(2).choice(np.flatnonzero(degrees), given.keys, replace=False)
    expected = [levels_of_scipy(graph, int(key)) for key in keys]
    wrong, rows = 0, []
    with tempfile.TemporaryDirectory() as folder:
        file, results = Path(folder) / "edges", Path(folder) / "results"
        edges.T.astype("<i4").tofile(file)
        for ranks in given.ranks:
            launcher = [] if ranks == 1 else ["mpirun", "--oversubscribe", "-n", str(ranks)]
            said = subprocess.run(
                [
                    *launcher,
                    program,
                    *("--edges", file, "--results", results),
                    *("--scale", str(given.scale), "--keys", ",".join(map(str, keys))),
                ],
                stdout=subprocess.PIPE,
                text=True,
                check=True,
                env={"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"} | os.environ,
            ).stdout
            lines = [json.loads(line) for line in said.splitlines()]
            record = np.dtype([("levels", "<i2", vertices), ("parents", "<i4", vertices)])
            found = np.fromfile(results, dtype=record)
            for key, levels, one in zip(keys, expected, found, strict=True):
                wrong += int((one["levels"] != levels).sum())
                wrong += wrong_parents(graph, int(key), levels, one["parents"])
            count = count_search(graph, int(keys[0]), ranks)
            most, sent = sum(count.remote_unique), lines[0]["bytes"] / 8
            wrong += int(sent > most)  # a vertex is sent once, whatever the number of levels
            rate = len(lines) / sum(line["seconds"] / line["edges"] for line in lines)
            rows.append({"ranks": ranks, "edges_per_second": rate, "sent": sent, "searches": lines})
            print(
                f"{ranks} ranks: {rate:.3g} edges a second; {sent:.3g} vertices are sent, {wrong} are wrong"
            )
    if given.json:
        given.json.write_text(json.dumps({"scale": given.scale, "rows": rows}, indent=1))
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
