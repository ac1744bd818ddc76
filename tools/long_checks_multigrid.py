"""Multigrid on random lattices: it solves on all that have blocks, with the same bits on 1, 2 and 4 ranks.

Blocks that do not divide a lattice are refused with the legal ones.

A case is drawn from the seed: extents, links, mass, clover coefficient and boundary. The driver starts this
file again under mpirun for each number of ranks; each rank leaves its part of the solution in a file.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
TOLERANCE = 1e-10
RANKS = (1, 2, 4)
EXTENTS = range(8, 25, 2)
#: These are moderate hopping parameters for links of so much spread, and how much smaller they are with a
#: clover term.
HOPPING = {0.2: 0.127, 0.3: 0.129, 0.4: 0.132}
LESS_HOPPING = {0.0: 0.0, 1.0: 0.002, 1.769: 0.004}
_ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
}
Extents = tuple[int, int, int, int]


@dataclass
class Case:
    """It is one lattice with its links, its quark, and its blocks; none: by the rule."""

    lattice: Extents
    seed: int
    spread: float
    kappa: float
    csw: float
    antiperiodic: bool
    block: Extents | None = None
    grid: Extents = (1, 1, 1, 1)


def legal_blocks(extent: int, ranks: int = 1) -> list[int]:
    """Return the extents of blocks in a direction that `ranks` cut: whole ones on a rank, an even number in
    all."""
    local = extent // ranks
    return [b for b in range(2, local + 1) if local % b == 0 and extent // b % 2 == 0]


def block_by_rule(lattice: Extents) -> Extents:
    """Return the legal extents that are nearest to 4 on one rank; the smaller one of two."""
    x, y, z, t = (min(legal_blocks(extent), key=lambda b: (abs(b - 4), b)) for extent in lattice)
    return x, y, z, t


def grids(lattice: Extents, block: Extents, ranks: int) -> list[Extents]:
    """Return the process grids on which the blocks are legal, and gauge fields, too."""
    return [
        g
        for g in itertools.product((1, 2, 4), repeat=4)
        if np.prod(g) == ranks
        and all(
            lattice[mu] // g[mu] % 2 == 0
            and lattice[mu] % g[mu] == 0
            and block[mu] in legal_blocks(lattice[mu], g[mu])
            for mu in range(4)
        )
    ]


def draw(dice: random.Random, largest: int) -> Case:
    """Return a legal lattice of at most `largest` sites, which 2 and 4 ranks can cut."""
    while True:
        x, y, z, t = dice.choices(EXTENTS, k=4)
        lattice = (x, y, z, t)
        is_unequal = len(set(lattice)) >= 3
        if x * y * z * t > largest or not is_unequal or any(not legal_blocks(n) for n in lattice):
            continue
        if any(not grids(lattice, block_by_rule(lattice), ranks) for ranks in RANKS):
            continue
        spread, csw = dice.choice(list(HOPPING)), dice.choice(list(LESS_HOPPING))
        kappa = round(HOPPING[spread] - LESS_HOPPING[csw], 3)
        return Case(lattice, dice.randrange(1 << 30), spread, kappa, csw, dice.random() < 0.5)


def run(case: Case, ranks: int, folder: Path) -> dict[str, object]:
    """Solve it on so many ranks; return what rank 0 says, with the digest of the whole solution."""
    for old in folder.glob("part.*"):
        old.unlink()
    (folder / "case.json").write_text(json.dumps(asdict(case)))
    launcher = ["mpirun", "-n", str(ranks)] if ranks > 1 else []
    environment = {"PYTHONPATH": str(ROOT / "build" / "release" / "python"), **os.environ, **_ENVIRONMENT}
    found = subprocess.run(
        [*launcher, sys.executable, __file__, "--worker", str(folder)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if found.returncode != 0:
        return {"error": found.stderr.strip() or found.stdout.strip()}
    said: dict[str, object] = json.loads(found.stdout.splitlines()[-1])
    whole = np.empty((*reversed(case.lattice), 4, 3), dtype=complex)
    left = source = 0.0
    for path in folder.glob("part.*.npz"):
        part = np.load(path)
        place = tuple(slice(o, o + n) for o, n in zip(part["origin"], part["x"].shape[:4], strict=True))
        whole[place] = part["x"]
        left += float(part["left"])
        source += float(part["source"])
    said["sha256"] = hashlib.sha256(whole.tobytes()).hexdigest()
    said["residual"] = float(np.sqrt(left / source))
    return said


def work(folder: Path) -> None:
    """Solve the case of the folder on this rank and leave its part there."""
    import trellis as tr

    case = Case(**json.loads((folder / "case.json").read_text()))
    geometry = tr.Geometry(case.lattice, case.grid)
    U = tr.weak_field(geometry, seed=case.seed, spread=case.spread)
    boundary = (1, 1, 1, -1 if case.antiperiodic else 1)
    M = tr.WilsonClover(U, kappa=case.kappa, csw=case.csw, boundary=boundary)
    start = time.monotonic()
    mg = tr.multigrid(M, vectors=12, sweeps=1, block=case.block)
    middle = time.monotonic()
    numbers = np.random.default_rng(case.seed).standard_normal((2, *reversed(case.lattice), 4, 3))
    origin, local = geometry.origin[::-1], geometry.local_extents[::-1]
    place = tuple(slice(o, o + n) for o, n in zip(origin, local, strict=True))
    b = numbers[0][place] + 1j * numbers[1][place]
    x, report = tr.gcr(tolerance=TOLERANCE, preconditioner=mg, fallback=False)(M).solve(b)
    left, source = np.linalg.norm(M.apply(x) - b) ** 2, np.linalg.norm(b) ** 2
    name = "part." + "_".join(map(str, origin)) + ".npz"
    np.savez(folder / name, origin=origin, x=x, left=left, source=source)
    if origin == (0, 0, 0, 0):
        seconds = [middle - start, time.monotonic() - middle]
        print(json.dumps({"block": mg.block, "iterations": report.iterations, "seconds": seconds}))


def check_case(case: Case, dice: random.Random, folder: Path) -> tuple[str, list[str]]:
    """Return the case's row of the table, and what is wrong."""
    alone = run(case, 1, folder)
    shown = "x".join(map(str, case.lattice))
    if "error" in alone:
        return f"| {shown} | failed |", [f"{shown}: {alone['error']}"]
    wrong = []
    block = block_by_rule(case.lattice)
    if tuple(alone["block"]) != block:
        wrong.append(f"{shown}: blocks of {alone['block']}, expected {block}")
    cuts = []
    for ranks in RANKS[1:]:
        case.block, case.grid = block, dice.choice(grids(case.lattice, block, ranks))
        cuts.append(".".join(map(str, case.grid)))
        found = run(case, ranks, folder)
        if "error" in found:
            wrong.append(f"{shown} on {cuts[-1]}: {found['error']}")
        elif found["sha256"] != alone["sha256"]:
            wrong.append(f"{shown} on {cuts[-1]}: other bits than on one rank")
    if not alone["residual"] <= TOLERANCE:
        wrong.append(f"{shown}: the true residual is {alone['residual']:.2e}")
    setup, solve = alone["seconds"]
    row = [shown, ".".join(map(str, block)), f"{case.spread}", f"{case.kappa}", f"{case.csw}"]
    row += ["-1" if case.antiperiodic else "1", ", ".join(cuts), f"{alone['iterations']}"]
    row += [f"{alone['residual']:.1e}", f"{setup:.1f}", f"{solve:.1f}", str(alone["sha256"])[:12]]
    return "| " + " | ".join(row) + " |", wrong


def check_refusal(case: Case, dice: random.Random) -> tuple[str, list[str]]:
    """Check that blocks with one extent that is not legal are refused, and that the message lists those that
    are."""
    import trellis as tr

    mu = dice.randrange(4)
    legal = legal_blocks(case.lattice[mu])
    block = list(block_by_rule(case.lattice))
    block[mu] = dice.choice([b for b in range(2, case.lattice[mu] + 1) if b not in legal])
    shown = f"blocks of {'.'.join(map(str, block))} on {'x'.join(map(str, case.lattice))}"
    M = tr.WilsonClover(tr.cold(case.lattice), kappa=case.kappa)
    try:
        tr.multigrid(M, block=block, vectors=4)
    except tr.BadArgument as error:
        found = re.search(r"in the direction (.) .* legal extents there: ([0-9, ]+)", str(error))
        expected = ("xyzt"[mu], ", ".join(map(str, legal)))
        return f"{shown}: legal in {expected[0]}: {expected[1]}", (
            [] if found and found.groups() == expected else [f"{shown}: refused with other words: {error}"]
        )
    return shown, [f"{shown}: not refused"]


def main(words: list[str]) -> int:
    """Run all cases and print what doc/measurements takes."""
    parser = argparse.ArgumentParser(prog="tools/long_checks multigrid", description=__doc__)
    parser.add_argument("--count", type=int, default=20, help="of lattices, and of refused blocks")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--largest", type=int, default=24000, metavar="SITES", help="of a lattice")
    options = parser.parse_args(words)
    sys.path.insert(0, str(ROOT / "build" / "release" / "python"))
    dice, start, wrong = random.Random(options.seed), time.monotonic(), []
    columns = (
        "lattice | block | spread | kappa | csw | t | grids | iterations | residual | set-up s | solve s"
    )
    print(f"| {columns} | sha256 |")
    print("|---|---|---|---|---|---|---|---|---|---|---|---|", flush=True)
    cases = [draw(dice, options.largest) for _ in range(options.count)]
    with tempfile.TemporaryDirectory() as folder:
        for case in cases:
            row, faults = check_case(case, dice, Path(folder))
            wrong += faults
            print(row, flush=True)
    print()
    for case in cases:
        row, faults = check_refusal(case, dice)
        wrong += faults
        print(f"- {row}")
    seconds, count = time.monotonic() - start, len(cases)
    print(f"\n{count} lattices and {count} refusals in {seconds:.0f} s, {len(wrong)} faults")
    for fault in wrong:
        print(f"fault: {fault}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    work(Path(sys.argv[2]))
