#!/usr/bin/env python3
"""Fail if a kernel that the CPU launches has no launch on the GPU.

It compares the functions trellis::launch_*<Layout, Storage> in the object files of two builds: each one that
is instantiated for one lane (CpuLayout<1>) must be instantiated for CudaLayout with the same storage.

usage: tools/check_cuda_launches.py --cpu build/release --cuda build/cuda
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

LAUNCH = re.compile(r"trellis::(launch_\w+)<trellis::(CpuLayout<1>|CudaLayout)(?:, ?(?:trellis::)?(\w+))? ?>")


#: The Schwarz method has these launches, which multigrid refuses on GPUs: a block and its solve fit the cache
#: of a core.
ON_CPUS_ALONE = {
    "launch_block_solve",
    "launch_block_face",
    "launch_copy_to_blocks",
    "launch_copy_from_blocks",
    "launch_slice_force",  # GPUs have launch_rectangle_links
}


def launches(symbols: Iterable[str]) -> Iterator[tuple[str, str, str]]:
    """Yield layout, name and storage (empty where it has none) of the launches among demangled symbols."""
    for symbol in symbols:
        if match := LAUNCH.search(symbol):
            yield match[2], match[1], match[3] or ""


def defined_symbols(objects: list[Path]) -> list[str]:
    """Return the demangled names of what object files or archives define."""
    lines: list[str] = []
    for first in range(0, len(objects), 100):
        command = ["nm", "--defined-only", "--demangle", *map(str, objects[first : first + 100])]
        result = subprocess.run(command, capture_output=True, text=True, check=True)
        lines += result.stdout.splitlines()
    return lines


def missing(cpu: Iterable[str], cuda: Iterable[str]) -> tuple[set[tuple[str, str]], int]:
    """Return the launches (name, storage) of the CPU that the GPU lacks, and how many the CPU has."""
    wanted = {
        (name, storage)
        for layout, name, storage in launches(cpu)
        if layout != "CudaLayout" and name not in ON_CPUS_ALONE
    }
    present = {(name, storage) for layout, name, storage in launches(cuda) if layout == "CudaLayout"}
    return wanted - present, len(wanted)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cpu", type=Path, required=True, help="build tree with the CPU's kernels")
    parser.add_argument("--cuda", type=Path, required=True, help="build tree with the CUDA kernels")
    arguments = parser.parse_args()
    cpu = sorted(arguments.cpu.glob("src/**/*.cpu.cpp.o"))
    cuda = sorted(arguments.cuda.glob("src/**/*.cuda.cu.o"))
    if not cpu or not cuda:
        print(f"launches: {len(cpu)} CPU and {len(cuda)} CUDA object files: build both trees first")
        return 1
    lacking, count = missing(defined_symbols(cpu), defined_symbols(cuda))
    for name, storage in sorted(lacking):
        print(f"no CUDA launch of {name}" + (f" for {storage}" if storage else ""))
    print(f"launches: {count} on the CPU, {len(lacking)} of them not on GPUs")
    return 1 if lacking or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
