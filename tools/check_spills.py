#!/usr/bin/env python3
"""Fail if a hop kernel spills registers. Reads what nvcc --resource-usage (-Xptxas -v) printed.

usage: ... ninja -v trellis_cuda | tools/check_spills.py [--kernels REGEX]
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass

ENTRY = re.compile(r"Compiling entry function '([^']+)' for '(sm_\d+\w?)'")
SPILLS = re.compile(r"(\d+) bytes spill stores, (\d+) bytes spill loads")
REGISTERS = re.compile(r"Used (\d+) registers")


@dataclass(frozen=True)
class Kernel:
    name: str
    architecture: str
    registers: int
    spill_stores: int
    spill_loads: int

    @property
    def spills(self) -> bool:
        return self.spill_stores > 0 or self.spill_loads > 0


def read_kernels(text: str) -> Iterator[Kernel]:
    name = architecture = ""
    stores = loads = 0
    for line in text.splitlines():
        if match := ENTRY.search(line):
            name, architecture = match[1], match[2]
            stores = loads = 0
        elif match := SPILLS.search(line):
            stores, loads = int(match[1]), int(match[2])
        elif name and (match := REGISTERS.search(line)):
            yield Kernel(name, architecture, int(match[1]), stores, loads)
            name = ""


def demangled(names: list[str]) -> list[str]:
    result = subprocess.run(["c++filt"], input="\n".join(names), capture_output=True, text=True, check=True)
    return result.stdout.splitlines()


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kernels", default="hop", help="regular expression on names that may not spill")
    pattern = re.compile(parser.parse_args().kernels, re.IGNORECASE)
    kernels = list(read_kernels(sys.stdin.read()))
    names = demangled([kernel.name for kernel in kernels]) if kernels else []
    failures = checked = 0
    for kernel, name in zip(kernels, names, strict=True):
        matches = pattern.search(name) is not None
        fails = kernel.spills and matches
        checked += matches
        failures += fails
        if kernel.spills:
            print(
                f"{kernel.architecture} {kernel.registers} registers, spills {kernel.spill_stores} B stored, "
                f"{kernel.spill_loads} B loaded{' FAILS' if fails else ''}: {name[:160]}"
            )
    print(f"spills: {len(kernels)} CUDA kernels, {checked} of them may not spill, {failures} violations")
    return 1 if failures or not checked else 0  # none to check: a name has changed, or nothing was compiled


if __name__ == "__main__":
    sys.exit(main())
