"""Checks that take minutes, and that CI does not run: each prints a table for doc/measurements.

usage: tools/long_checks WHAT [OPTIONS]      tools/long_checks WHAT --help

  front       the site of doc/ is built, and every notebook of doc/tutorials runs
  gpu         both architectures compiled; the tests of a simulated GPU under many orders of its streams
  model       runs on this machine beside their forecasts, calibration and runs in turns
  multigrid   twenty random legal lattices on 1, 2 and 4 ranks, and twenty blocks that are refused
  network     the Heisenberg ferromagnet at its critical coupling: cumulant and correlation length

The status is 1 where something is wrong. All but gpu take the built package of this tree (./bootstrap build).
"""

from __future__ import annotations

import sys

import long_checks_front
import long_checks_gpu
import long_checks_model
import long_checks_multigrid
import long_checks_network

CHECKS = {
    "front": long_checks_front.main,
    "gpu": long_checks_gpu.main,
    "model": long_checks_model.main,
    "multigrid": long_checks_multigrid.main,
    "network": long_checks_network.main,
}


def main(words: list[str]) -> int:
    """Run the check that the first word names."""
    if words[:1] in (["-h"], ["--help"]):
        print(__doc__)
        return 0
    if not words or words[0] not in CHECKS:
        found = f", found {words[0]}" if words else ""
        print(f"error: expected one of {', '.join(CHECKS)} behind tools/long_checks{found}", file=sys.stderr)
        return 2
    return CHECKS[words[0]](words[1:])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
