"""Runs on this machine beside their forecasts: calibration and runs in turns, on one rank and on all cores.

Lattices of the runs are none of the calibration's, and no constant is fitted to the runs.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build/release"
sys.path.insert(0, str(ROOT / "python"))

from trellis.model.forecast import forecast_of  # noqa: E402
from trellis.model.machine import HardwareModel, load_hardware  # noqa: E402
from trellis.model.mapping import least_surface_grid, spin_grid  # noqa: E402
from trellis.model.phases import Extents, Phase, Workload, volume  # noqa: E402
from trellis.model.workloads import glass, multigrid, solves  # noqa: E402

TIMES = ["--seconds", "0.002", "--rounds", "31", "--threads", "1", "--json"]
#: Two hops do so many flops a site, one from each parity.
HOP_FLOPS = {"wilson_hop": 1320.0, "staggered_hop": 570.0}
LOCAL: Extents = (12, 12, 12, 12)
COARSE: Extents = (8, 8, 16, 16)
SPINS = (48, 48, 48)


@dataclass(frozen=True)
class Row:
    """It has a measured time in seconds, and its forecast with the ends of its band."""

    name: str
    measured: float
    forecast: float
    low: float
    high: float


def forecast_row(
    name: str, measured: float, machine: HardwareModel, workload: Workload, extents: Extents, grid: Extents
) -> Row:
    """Return a row with the forecast of a workload on one node."""
    ranks = volume(grid)
    found = forecast_of(workload, machine.with_ranks(ranks), 1, extents, grid)
    return Row(
        f"{name}, {ranks} {'rank' if ranks == 1 else 'ranks'}", measured, found.seconds, found.low, found.high
    )


def run(program: str, options: list[str], ranks: int) -> dict:
    """Run a benchmark of this build on so many ranks, and return its JSON object."""
    words = ["mpirun", "-n", str(ranks)] if ranks > 1 else []
    words += [str(BUILD / "bench" / f"bench_{program}"), *options]
    ended = subprocess.run(
        words, check=True, capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"}
    )
    return json.loads(ended.stdout)


def longer(local: Extents, ranks: int) -> Extents:
    """Return the lattice that is so many times as long in t."""
    return (*local[:3], local[3] * ranks)


def text(extents: tuple[int, ...]) -> str:
    """Return extents as options have them."""
    return ".".join(map(str, extents))


def hops(program: str, precision: str, ranks: int, machine: HardwareModel) -> list[Row]:
    """Measure and forecast two hops."""
    extents = longer(LOCAL, ranks)
    options = [
        "--lattice",
        text(extents),
        "--precision",
        precision,
        "--link-reals",
        "18",
        "--rhs",
        "1",
        *TIMES,
    ]
    rows = []
    for result in run(program, options, ranks)["results"]:
        if result["kernel"] not in HOP_FLOPS:
            continue
        grid = least_surface_grid(extents, ranks)
        flops = HOP_FLOPS[result["kernel"]] * volume(LOCAL)
        phase = Phase(
            "hops", flops, kernel=result["kernel"], precision=precision, extents=LOCAL, link_reals=18, rhs=1
        )
        name = f"{result['kernel']} 12^4, {precision}"
        rows.append(forecast_row(name, result["seconds"], machine, Workload("hops", (phase,)), extents, grid))
    return rows


def conjugate_gradients(ranks: int, machine: HardwareModel) -> list[Row]:
    """Measure and forecast an iteration of conjugate gradients in double."""
    extents = longer(LOCAL, ranks)
    options = ["--lattice", text(extents), "--precision", "double", "--link-reals", "18", "--rounds", "3"]
    summary = run("solver", [*options, "--threads", "1", "--json"], ranks)["summaries"][0]
    grid = least_surface_grid(extents, ranks)
    system = solves.System("wilson_schur", False, 24, "double", 18, 1)
    phases = solves.conjugate_gradients("cg", system, LOCAL, grid, 1)
    work = Workload("iteration", tuple(phases))
    return [
        forecast_row("CG iteration 12^4", 1e-3 * summary["cg_iteration_ms"], machine, work, extents, grid)
    ]


def multigrid_solve(ranks: int, machine: HardwareModel) -> list[Row]:
    """Measure and forecast a multigrid solve of two levels, with the iterations that it took."""
    extents = longer(COARSE, ranks)
    options = ["--lattice", text(extents), "--field-sweeps", "10", "--kappa", "0.125", "--rhs", "1"]
    options += ["--rounds", "3", "--levels", "2", "--block", "4.4.4.4", "--json"]
    results = run("multigrid", options, ranks)["results"]
    whole = next(r for r in results if r["kernel"] == "multigrid_solve")
    coarse = next(r for r in results if r["kernel"] == "multigrid_solve_coarse")
    grid = least_surface_grid(extents, ranks)
    local: Extents = tuple(n // g for n, g in zip(extents, grid, strict=True))
    level = multigrid.Level((4, 4, 4, 4), 20, coarse["sums_per_cycle"])
    phases = multigrid.cycle("mg", local, grid, [level], iterations=whole["cycles"])
    work = Workload("solve", tuple(phases))
    return [forecast_row("multigrid solve 8x8x16x16", whole["seconds"], machine, work, extents, grid)]


def spin_glass(ranks: int, machine: HardwareModel) -> list[Row]:
    """Measure and forecast sweeps of a spin glass: a sample for each rank, and one cut in space."""
    rows = []
    for samples in sorted({1, ranks}):
        extents: Extents = (*SPINS, samples)
        grid = spin_grid(extents, ranks)
        local = [n // g for n, g in zip(extents, grid, strict=True)]
        options = ["--lattice", text(extents), "--precision", "float", "--rhs", "1", *TIMES]
        for result in run("glass", options, ranks)["results"]:
            sweeps = result["sweeps_per_pass"]
            kernel = result["kernel"] + ("_pass" if sweeps > 1 else "")
            couplings = "float" if result["couplings"] == "gaussian" else "packed"
            once = glass.sweep(local[:3], grid[:3], couplings=couplings, samples=local[3], kernel=kernel)
            phase = once.phases[0].times(sweeps)
            name = f"glass {kernel} {couplings} 48^3 x {samples}"
            work = Workload("sweep", (phase,))
            rows.append(forecast_row(name, result["seconds"], machine, work, extents, grid))
    return rows


RUNS: dict[str, Callable[[int, HardwareModel], list[Row]]] = {
    "wilson": lambda ranks, machine: [
        row for p in ("double", "float") for row in hops("wilson", p, ranks, machine)
    ],
    "staggered": lambda ranks, machine: hops("staggered", "double", ranks, machine),
    "cg": conjugate_gradients,
    "multigrid": multigrid_solve,
    "glass": spin_glass,
}


def main(words: list[str]) -> int:
    """Calibrate and run in turns, and print measured over forecast times.

    Returns
    -------
    int
        1 if a median ratio is off by more than 10 %, or a band is wider than 20 %.
    """
    parser = argparse.ArgumentParser(prog="tools/long_checks model", description=__doc__)
    parser.add_argument("--rounds", type=int, default=2, help="calibrations, each with its runs (default 2)")
    parser.add_argument("--ranks", type=int, default=min(2, os.cpu_count() or 1), help="ranks beside one")
    parser.add_argument("--machine", type=Path, help="take this machine file and calibrate not at all")
    parser.add_argument("--runs", default=",".join(RUNS), help="which runs")
    arguments = parser.parse_args(words)
    found: dict[str, list[Row]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(arguments.rounds):
            path = arguments.machine or Path(folder) / "machine.toml"
            if arguments.machine is None:
                words = [sys.executable, "-m", "trellis", "model", "calibrate", "-o", str(path)]
                words += ["--ranks", str(arguments.ranks)]
                environment = {**os.environ, "PYTHONPATH": str(BUILD / "python")}
                subprocess.run(words, check=True, env=environment, stdout=sys.stderr)
            machine = load_hardware(path)
            for name in arguments.runs.split(","):
                for ranks in sorted({1, arguments.ranks}):
                    for row in RUNS[name](ranks, machine):
                        found.setdefault(row.name, []).append(row)
    return report(found)


def report(found: dict[str, list[Row]]) -> int:
    """Print the table, and return the exit status."""
    print("| run | measured, ms | measured over forecast | band |\n|---|---|---|---|")
    bad = 0
    for name, rows in found.items():
        ratios = [row.measured / row.forecast for row in rows]
        band = max(max(row.high / row.forecast - 1, 1 - row.low / row.forecast) for row in rows)
        middle = median(ratios)
        bad += abs(middle - 1) > 0.1 or band > 0.2
        shown = ", ".join(f"{ratio:.2f}" for ratio in ratios)
        milliseconds = 1e3 * median(row.measured for row in rows)
        print(f"| {name} | {milliseconds:.4g} | {shown} | {100 * band:.0f} % |")
    print(f"\n{len(found) - bad} of {len(found)} within 10 %, with bands of at most 20 %")
    return 1 if bad else 0
