#!/usr/bin/env python3
"""Write python/trellis/model/costs.json: the costs of the core's kernels as polynomials.

The program bench_costs of a build says what operators declare on some lattices: on one rank, on four for the
messages of each direction, and on four that cut two directions, for launches. Coefficients come from exact
fits in V (sites of a rank), F (sites of a face), rhs and Ls; a kernel that is no such polynomial is an error.

    tools/write_model_costs.py --build build/release     # --check: compare with the file, write nothing
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
FILE = ROOT / "python" / "trellis" / "model" / "costs.json"
LATTICES = ((8, 8, 8, 8), (16, 8, 8, 8))
RHS, LS = (1, 2), (4, 6)
PRECISIONS, LINK_REALS = ("double", "float", "half"), (18, 12)
#: A cost may have these factors of V, and of F in messages.
_FACTORS = ("1", "rhs", "Ls", "rhs Ls", "rhs Ls Ls")
_BELOW_ONE = 1e-9
_ENVIRONMENT = {"OMP_NUM_THREADS": "1", "TRELLIS_TUNE": "off", "OMPI_MCA_mpi_yield_when_idle": "1"}


def declared(build: Path, lattices: Iterable[Sequence[int]], grid: Sequence[int]) -> list[dict[str, Any]]:
    """Run bench_costs on so many ranks as the grid has; return its rows."""
    ranks = math.prod(grid)
    words = [
        str(build / "bench" / "bench_costs"),
        *("--grid", ".".join(map(str, grid)), "--json", "--threads", "1"),
        *("--lattice", ",".join(".".join(map(str, extents)) for extents in lattices)),
        *("--precision", ",".join(PRECISIONS), "--link-reals", ",".join(map(str, LINK_REALS))),
        *("--rhs", ",".join(map(str, RHS)), "--ls", ",".join(map(str, LS))),
    ]
    if ranks > 1:
        words = ["mpirun", "--oversubscribe", "-n", str(ranks), *words]
    environment = {**os.environ, **_ENVIRONMENT}
    ended = subprocess.run(words, check=False, capture_output=True, text=True, env=environment)
    if ended.returncode:
        raise SystemExit(f"{' '.join(words)}: status {ended.returncode}\n{ended.stderr}")
    rows: list[dict[str, Any]] = json.loads(ended.stdout)["costs"]
    return rows


def terms(symbol: str) -> list[str]:
    """Return the products that a polynomial may have."""
    return [symbol if factor == "1" else f"{symbol} {factor}" for factor in _FACTORS]


def value_of(term: str, symbols: Mapping[str, float]) -> float:
    return math.prod(symbols[name] for name in term.split())


def fitted(points: Sequence[tuple[Mapping[str, float], float]], symbol: str, what: str) -> dict[str, float]:
    """Return the polynomial through all points, with as few terms as possible."""
    values = np.array([value for _, value in points])
    if not values.any():
        return {}
    for count in range(1, len(_FACTORS) + 1):
        for chosen in itertools.combinations(terms(symbol), count):
            matrix = np.array([[value_of(term, symbols) for term in chosen] for symbols, _ in points])
            coefficients, *_ = np.linalg.lstsq(matrix, values, rcond=None)
            if np.all(np.abs(matrix @ coefficients - values) <= _BELOW_ONE * np.abs(values).max()):
                return {term: round(float(c), 9) for term, c in zip(chosen, coefficients, strict=True)}
    raise SystemExit(f"{what}: no polynomial in {symbol}, rhs and Ls goes through all costs")


def symbols_of(row: Mapping[str, Any], ranks: int) -> dict[str, float]:
    return {"V": math.prod(row["lattice"]) / ranks, "rhs": row["rhs"], "Ls": row["Ls"]}


def constant(rows: Sequence[Mapping[str, Any]], key: str, what: str) -> float:
    found = {row[key] for row in rows}
    if len(found) != 1:
        raise SystemExit(f"{what}: expected one number of {key}, found {sorted(found)}")
    return float(found.pop())


def message_polynomials(cut: Sequence[Mapping[str, Any]], what: str) -> list[dict[str, Any]]:
    """Return for each side of a cut direction the polynomials of its messages, in order."""
    sides = []
    for step in (1, -1):
        sizes: list[list[tuple[dict[str, float], float]]] = []
        for row in cut:
            mu = next(mu for mu, n in enumerate(row["grid"]) if n > 1)
            symbols = symbols_of(row, math.prod(row["grid"]))
            local = [n // g for n, g in zip(row["lattice"], row["grid"], strict=True)]
            symbols["F"] = symbols["V"] / local[mu]
            mine = [
                m for m in row["messages"] if m["mu"] == mu and m["step"] == step for _ in range(m["count"])
            ]
            while len(sizes) < len(mine):
                sizes.append([])
            for place, message in enumerate(mine):
                sizes[place].append((symbols, message["bytes"]))
        if any(len(points) != len(cut) for points in sizes):
            raise SystemExit(f"{what}: the number of messages depends on the lattice or the direction")
        sides.append({"step": step, "parts": [fitted(points, "F", f"{what}, messages") for points in sizes]})
    return [side for side in sides if side["parts"]]


def kernel_entry(
    one: Sequence[Mapping[str, Any]],
    cut: Sequence[Mapping[str, Any]],
    cut_twice: Sequence[Mapping[str, Any]],
    what: str,
) -> dict[str, Any]:
    """Return the entry of a kernel in one storage, from its rows with no, one and two directions cut."""
    launches, of_one_cut, of_two = (constant(rows, "launches", what) for rows in (one, cut, cut_twice))
    return {
        "flops": fitted([(symbols_of(row, 1), row["flops"]) for row in one], "V", f"{what}, flops"),
        "bytes": fitted([(symbols_of(row, 1), row["bytes"]) for row in one], "V", f"{what}, bytes"),
        "messages": message_polynomials(cut, what),
        "sums": constant(one, "sums", what),
        "launches": launches,
        "launches_where_cut": 2 * of_one_cut - of_two - launches,
        "launches_of_a_cut": of_two - of_one_cut,
    }


def make(build: Path) -> dict[str, Any]:
    """Return the content of costs.json."""
    one = declared(build, LATTICES, (1, 1, 1, 1))
    # With two ranks in a direction both sides would go to the same rank, as one message.
    cut = []
    for mu in range(4):
        grid = [4 if nu == mu else 1 for nu in range(4)]
        stretched = [[n * (1 + (nu == mu)) for nu, n in enumerate(lattice)] for lattice in LATTICES]
        cut += declared(build, stretched, grid)
    stretched = [[*lattice[:2], 2 * lattice[2], 2 * lattice[3]] for lattice in LATTICES]
    cut_twice = declared(build, stretched, (1, 1, 2, 2))
    kernels: dict[str, dict[str, Any]] = {}
    for name in sorted({row["kernel"] for row in one}):
        for precision, reals in sorted(
            {(r["precision"], r["link_reals"]) for r in one if r["kernel"] == name}
        ):
            mine, mine_cut, mine_cut_twice = (
                [
                    r
                    for r in rows
                    if (r["kernel"], r["precision"], r["link_reals"]) == (name, precision, reals)
                ]
                for rows in (one, cut, cut_twice)
            )
            what = f"{name}, {precision}, {reals} link reals"
            kernels.setdefault(name, {})[f"{precision} {reals}"] = kernel_entry(
                mine, mine_cut, mine_cut_twice, what
            )
    return {"version": 1, "kernels": kernels}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--build", type=Path, default=ROOT / "build" / "release", help="a build with bench_costs"
    )
    parser.add_argument("--check", action="store_true", help="status 1 where the file is another one")
    options = parser.parse_args()
    text = json.dumps(make(options.build), indent=1) + "\n"
    if options.check:
        is_same = FILE.exists() and FILE.read_text() == text
        print(f"{FILE.relative_to(ROOT)}: {'up to date' if is_same else 'not what the core declares'}")
        return 0 if is_same else 1
    FILE.write_text(text)
    print(f"wrote {FILE.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
