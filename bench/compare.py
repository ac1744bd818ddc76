#!/usr/bin/env python3
"""Compare the benchmark programs of two builds row by row, in alternating runs.

usage: bench/compare.py BEFORE AFTER [WHAT ...] [--pairs 9] [--ranks N] [-- OPTIONS OF THE BENCHMARKS]

BEFORE and AFTER are folders with bench_* programs (build/release/bench). Each pair runs both, the first in
turn, so that a drift of the machine meets both alike. The figure of a row is the ratio of rates, after over
before; its interval holds the median with 95 % by order statistics (the binomial distribution; no shape is
assumed). Status 1: the interval of some row lies wholly below --least. Rows whose interval is wider than 6 %
are undecided.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import defaultdict
from math import comb
from pathlib import Path
from statistics import median

#: These keys name a row; everything else in it is measured.
_NAMES = (
    "kernel",
    "backend",
    "precision",
    "link_reals",
    "lattice",
    "rhs",
    "ls",
    "threads",
    "ranks",
    "method",
    "solver",
)
_WIDTH = 0.06


def rows(program: Path, ranks: int, options: list[str]) -> dict[str, float]:
    """Return the rates (1/seconds) of one run by the names of its rows."""
    launcher = [] if ranks == 1 else ["mpirun", "-n", str(ranks)]
    done = subprocess.run(
        [*launcher, str(program), "--json", *options], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        sys.exit(f"{program} ended with status {done.returncode}: {done.stderr}")
    found = {}
    for row in json.loads(done.stdout)["results"]:
        if row.get("seconds"):
            found[" ".join(f"{row[name]}" for name in _NAMES if name in row)] = 1.0 / row["seconds"]
    return found


def interval(ratios: list[float]) -> tuple[float, float]:
    """Return the narrowest symmetric pair of order statistics that holds the median with 95 %.

    Where no pair does, return the extremes.
    """
    ordered, n = sorted(ratios), len(ratios)
    outside, k = 0.0, 0
    while k < n // 2 and 2 * (outside + comb(n, k) / 2**n) <= 0.05:
        outside += comb(n, k) / 2**n
        k += 1
    k = max(k - 1, 0)
    return ordered[k], ordered[n - 1 - k]


def compare(
    before: Path, after: Path, what: str, pairs: int, ranks: int, options: list[str]
) -> dict[str, list[float]]:
    """Return the ratios, after over before, of each row."""
    ratios: dict[str, list[float]] = defaultdict(list)
    for pair in range(pairs):
        order = (before, after) if pair % 2 == 0 else (after, before)
        rates = {folder: rows(folder / f"bench_{what}", ranks, options) for folder in order}
        for name in rates[before].keys() & rates[after].keys():
            ratios[name].append(rates[after][name] / rates[before][name])
    return ratios


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("what", nargs="*")
    parser.add_argument("--pairs", type=int, default=9)
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--least", type=float, default=0.97)
    own, _, options = " ".join(sys.argv[1:]).partition(" -- ")
    arguments = parser.parse_args(own.split())
    names = arguments.what or sorted(p.name.removeprefix("bench_") for p in arguments.before.glob("bench_*"))
    slower, undecided = 0, 0
    for what in names:
        ratios = compare(
            arguments.before, arguments.after, what, arguments.pairs, arguments.ranks, options.split()
        )
        for name, values in sorted(ratios.items()):
            low, high = interval(values)
            word = "slower" if high < arguments.least else "undecided" if high - low > _WIDTH else ""
            slower, undecided = slower + (word == "slower"), undecided + (word == "undecided")
            print(f"{median(values):6.3f}  [{low:.3f}, {high:.3f}]  {word:9}  {name}", flush=True)
    print(f"{slower} rows are slower than {arguments.least}, {undecided} are undecided")
    return int(slower > 0)


if __name__ == "__main__":
    sys.exit(main())
