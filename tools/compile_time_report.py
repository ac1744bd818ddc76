#!/usr/bin/env python3
"""Report compile times from a Ninja log: total, wall time of the library, and the slowest files.

usage: tools/compile_time_report.py build/release [--limit SECONDS]

The limit is on the wall time of what `./bootstrap build` makes first, the library and the Python module (the
tests are reported beside it). Times mean something only after a clean build without a compiler cache
(CCACHE_DISABLE=1), as .ci/run makes it. TRELLIS_BUILD_LIMIT_SECONDS overrides the limit.
"""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import dataclass
from pathlib import Path

SLOWEST = 10
LIMIT_SECONDS = 360


@dataclass(frozen=True)
class Step:
    output: str
    start: float
    end: float

    @property
    def seconds(self) -> float:
        return self.end - self.start

    @property
    def belongs_to_library(self) -> bool:
        return not self.output.startswith(("tests/", "bench/")) and "trellis_reference" not in self.output


def read_log(text: str) -> list[Step]:
    """The last entry for each output. Lines are: start ms, end ms, mtime, output, command hash."""
    lines = text.splitlines()
    if not lines or not lines[0].startswith("# ninja log v"):
        raise ValueError("not a Ninja log")
    steps: dict[str, Step] = {}
    for line in lines[1:]:
        start, end, _, output, _ = line.split("\t")
        steps[output] = Step(output, int(start) / 1000, int(end) / 1000)
    return list(steps.values())


def compiled(steps: list[Step]) -> list[Step]:
    return [step for step in steps if step.output.endswith(".o")]


def readable(output: str) -> str:
    """src/CMakeFiles/trellis_io.dir/trellis/io/lime.cpp.o -> trellis/io/lime.cpp"""
    return output.partition(".dir/")[2].removesuffix(".o").removeprefix("__/kernels/") or output


def report(steps: list[Step], limit: float) -> int:
    objects = compiled(steps)
    library = [step for step in steps if step.belongs_to_library]
    wall = max((step.end for step in library), default=0.0) - min(
        (step.start for step in library), default=0.0
    )
    for title, chosen in (
        ("library and Python module", [s for s in objects if s.belongs_to_library]),
        ("tests and benchmarks", [s for s in objects if not s.belongs_to_library]),
    ):
        print(f"{title}: {len(chosen)} files, {sum(s.seconds for s in chosen):.0f} s of compiling")
    print(f"the {SLOWEST} slowest files")
    for step in sorted(objects, key=lambda s: -s.seconds)[:SLOWEST]:
        print(f"  {step.seconds:6.1f} s  {readable(step.output)}")
    cores = os.cpu_count()
    print(f"clean build of library and Python module: {wall:.0f} s on {cores} cores (limit {limit:.0f} s)")
    return 1 if wall > limit else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("build", type=Path)
    limit = float(os.environ.get("TRELLIS_BUILD_LIMIT_SECONDS", LIMIT_SECONDS))
    parser.add_argument("--limit", type=float, default=limit)
    arguments = parser.parse_args()
    return report(read_log((arguments.build / ".ninja_log").read_text()), arguments.limit)


if __name__ == "__main__":
    sys.exit(main())
