"""The Heisenberg ferromagnet at its critical coupling: cumulant and correlation length of several extents.

Numbers are means over independent copies, from the second half of each run, with jackknife errors.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from trellis.analysis.glass.quantities import Estimate
from trellis.analysis.glass.results import GlassResults, analyze_glass
from trellis.analysis.records.results import format_error

#: Published values lie from 0.6929 to 0.6930.
CRITICAL_COUPLING = 0.6930
#: An independent program has these for L = 8: energy a site, <m^2> and their errors.
KNOWN = {"energy": (-1.0482, 0.0026), "magnetisation_squared": (0.1413, 0.0013)}
RUN = """
[lattice]
extents = [{L}, {L}, {L}]
[couplings]
type = "ferromagnet"
samples = {copies}
[spins]
temperatures = [{temperature!r}]
replicas = 1
[steps]
total = {steps}
measure_every = 2
checkpoint_every = {steps}
print_every = {steps}
[random]
seed = {L}
[output]
directory = "glass"
"""


def simulated(L: int, copies: int, steps: int) -> GlassResults:
    """Run one extent in a folder of its own."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        text = RUN.format(L=L, copies=copies, steps=steps, temperature=1 / CRITICAL_COUPLING)
        (folder / "run.toml").write_text(text)
        subprocess.run(
            [sys.executable, "-m", "trellis", "glass", "run.toml"],
            cwd=folder,
            check=True,
            stdout=subprocess.DEVNULL,
        )
        return analyze_glass(folder / "glass" / "glass.h5")


def differs(found: Estimate | None, known: tuple[float, float]) -> bool:
    """Return True if a number is more than four errors from a known one."""
    if found is None or found.error is None:
        return True
    return abs(found.value - known[0]) > 4 * (found.error**2 + known[1] ** 2) ** 0.5


def shown(estimate: Estimate | None) -> str:
    """Return a number with its error in brackets."""
    if estimate is None:
        return "-"
    return format_error(estimate.value, estimate.error) if estimate.error else f"{estimate.value:.6g}"


def main(words: list[str]) -> int:
    """Run all extents and print a table."""
    parser = argparse.ArgumentParser(prog="tools/long_checks network", description=__doc__)
    parser.add_argument("--extents", default="8,12,16,24,32", help="separated by commas")
    parser.add_argument("--copies", type=int, default=32)
    parser.add_argument("--steps", type=int, default=4095, help="2^n - 1 fills the last bin of time")
    options = parser.parse_args(words)
    wrong = []
    print("| L | copies | steps | energy a site | <m^2> | <m^4>/<m^2>^2 | xi / L |")
    print("|---|---|---|---|---|---|---|")
    for L in map(int, options.extents.split(",")):
        found = simulated(L, options.copies, options.steps).quantities
        names = ("energy", "magnetisation_squared", "cumulant", "magnetisation_length")
        row = " | ".join(shown(found[name][0]) for name in names)
        print(f"| {L} | {options.copies} | {options.steps} | {row} |", flush=True)
        if L == 8:
            wrong = [name for name, known in KNOWN.items() if differs(found[name][0], known)]
    for name in wrong:
        print(f"error: L = 8: {name} is not {KNOWN[name][0]} +- {KNOWN[name][1]}", file=sys.stderr)
    return 1 if wrong else 0
