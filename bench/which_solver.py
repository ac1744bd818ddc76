#!/usr/bin/env python3
"""Measure which solver is fastest for how many sources, on quenched fields of several sizes and quark masses.

CG and BiCGStab with 16 bits inside, CG with low modes taken out, and multigrid solve for one column to 1e-10.
Times are processor seconds of one thread, so that other programs disturb them less:

    OMP_NUM_THREADS=1 python bench/which_solver.py --extents 8 12 16 --kappas .1300 .1340 .1350
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import trellis as tr

CSW, TOLERANCE = 1.769, 1e-10
#: The rule is asked for these numbers of right-hand sides.
SOURCES = (1, 12, 48)


def timed(function: Callable[[], Any], rounds: int = 1) -> tuple[Any, float]:
    """Return what the last call returned, and the median of the processor seconds."""
    seconds = []
    for _ in range(rounds):
        start = time.process_time()
        found = function()
        seconds.append(time.process_time() - start)
    return found, float(np.median(seconds))


def measure(U: tr.GaugeField, kappa: float, modes: int, rounds: int) -> dict[str, Any]:
    """Return seconds and iterations of all solvers for one quark.

    Parameters
    ----------
    modes
        Low modes of the deflated solver; 0: none is measured.
    """
    M = tr.WilsonClover(U, kappa=kappa, csw=CSW)
    b = np.zeros((*reversed(U.geometry.extents), 4, 3), dtype=complex)
    b[0, 0, 0, 0, 0, 0] = 1
    row: dict[str, Any] = {"extent": U.geometry.extents[0], "kappa": kappa}

    def solve(name: str, solver: Any) -> None:
        bound = solver(M)
        (_, report), row[name] = timed(lambda: bound.solve(b), rounds)
        row[f"{name}_iterations"] = report.iterations

    cg = tr.even_odd(tr.mixed_precision(tr.cg(tolerance=TOLERANCE), inner="half"))
    solve("cg", cg)
    solve("bicgstab", tr.even_odd(tr.mixed_precision(tr.bicgstab(tolerance=TOLERANCE), inner="half")))
    if modes:
        low, row["low_modes"] = timed(lambda: tr.lanczos(M, count=modes, tolerance=1e-6))
        solve("deflated", tr.deflated(cg, low))
    mg, row["setup"] = timed(lambda: tr.multigrid(M, sources=12))
    row["sweeps"] = mg.sweeps
    solve("multigrid", tr.gcr(tolerance=TOLERANCE, preconditioner=mg))
    row["rule"] = {k: tr.choose_solver(M, sources=k).multigrid is not None for k in SOURCES}
    return row


def crossing(row: dict[str, Any], setup: str, solve: str) -> str:
    """Return from how many right-hand sides on a set-up pays beside BiCGStab."""
    saved = row["bicgstab"] - row[solve]
    return "never" if saved <= 0 else str(int(np.ceil(row[setup] / saved)))


def table(rows: list[dict[str, Any]]) -> str:
    """Return the rows as a table."""
    lines = [
        "| lattice | kappa | CG | BiCGStab | deflated CG: modes + solve | multigrid: set-up + solve "
        "| pays from | the rule |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        low = f"{row['low_modes']:.2f} + {row['deflated']:.3f}" if "deflated" in row else "-"
        rule = ", ".join(f"{k}: {'multigrid' if chosen else 'BiCGStab'}" for k, chosen in row["rule"].items())
        lines.append(
            f"| {row['extent']}^4 | {row['kappa']:.4f} | {row['cg']:.3f} ({row['cg_iterations']}) "
            f"| {row['bicgstab']:.3f} ({row['bicgstab_iterations']}) | {low} "
            f"| {row['setup']:.2f} + {row['multigrid']:.3f} ({row['multigrid_iterations']}) "
            f"| {crossing(row, 'setup', 'multigrid')} | {rule} |"
        )
    return "\n".join(lines)


def main() -> None:
    """Measure, and print a table or JSON."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--extents", type=int, nargs="+", default=[8, 12, 16], help="of lattices L^4")
    parser.add_argument("--kappas", type=float, nargs="+", default=[0.1300, 0.1340, 0.1350])
    parser.add_argument("--modes", type=int, default=0, help="low modes of a deflated solver; default: none")
    parser.add_argument("--rounds", type=int, default=3, help="of each solve; the median counts")
    parser.add_argument("--gauge", nargs="+", help="fields from files, in place of fields made here")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.gauge:
        fields = [tr.read_gauge_field(path) for path in options.gauge]
    else:
        fields = [tr.quenched((L,) * 4, beta=6.0, seed=60161, sweeps=140) for L in options.extents]
    rows = []
    for U in fields:
        for kappa in options.kappas:
            rows.append(measure(U, kappa, options.modes, options.rounds))
            if not options.json:
                print(table(rows[-1:]).splitlines()[-1], file=sys.stderr, flush=True)
    print(json.dumps(rows, indent=1) if options.json else table(rows))


if __name__ == "__main__":
    main()
