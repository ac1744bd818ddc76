#!/usr/bin/env python3
"""Report compile times from a Ninja log: total, wall time of the library, and the slowest files.

usage: tools/compile_time_report.py build/release [--limit SECONDS]

The limit is on what users get, the library and the Python module, which `./bootstrap test` builds first: on
its wall time, or, where other programs kept the machine busy, on the time in which two cores do that work
(half its CPU time, which ./bootstrap leaves in build_seconds.txt). A tree with tests compiles kernels that
only these take at the same time: their share of the compiling does not count. Tests are reported beside it.
Times mean something only after a clean build without a compiler cache (CCACHE_DISABLE=1), as .ci/run makes
it. TRELLIS_BUILD_LIMIT_SECONDS overrides the limit.

Machines compile at different speeds, and a shared one's clock rate varies by a fifth within a day. So the
limit is that of a core which compiles tools/compile_yardstick.cpp in YARDSTICK_SECONDS; the same file is
compiled here, by both cores at once, and a core that takes longer has as much more time. A build for AVX-512
has more layouts of each kernel, and more time. A build above the limit is reported as such, and fails the
check where it is above by more than TOLERANCE.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

SLOWEST = 10
LIMIT_SECONDS = 300
LIMIT_SECONDS_AVX512 = 390  # such a build has 15 layouts of each kernel for 11
TOLERANCE = 0.25
CORES = 2
YARDSTICK = Path(__file__).with_name("compile_yardstick.cpp")
YARDSTICK_SECONDS = 4.0
ROUNDS = 3


@dataclass(frozen=True)
class Step:
    output: str
    start: float
    end: float

    @property
    def seconds(self) -> float:
        return self.end - self.start

    @property
    def is_kernel_for_tests(self) -> bool:
        return "_for_tests.dir/" in self.output

    @property
    def belongs_to_library(self) -> bool:
        return not self.output.startswith(("tests/", "bench/")) and "trellis_reference" not in self.output

    @property
    def is_for_users(self) -> bool:
        return self.belongs_to_library and not self.is_kernel_for_tests


def read_log(text: str) -> list[Step]:
    """Return the last entry for each output. Lines are: start ms, end ms, mtime, output, command hash."""
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
    """Turn src/CMakeFiles/trellis_io.dir/trellis/io/lime.cpp.o into trellis/io/lime.cpp.

    Files that are compiled together have the name of their target.
    """
    if together := re.search(r"(\w+)\.dir/Unity/unity_(\d+)", output):
        return f"{together[1]}, files that are compiled together ({together[2]})"
    return output.partition(".dir/")[2].removesuffix(".o").removeprefix("__/kernels/") or output


def library_wall(steps: list[Step]) -> float:
    library = [step for step in steps if step.belongs_to_library]
    return max((s.end for s in library), default=0.0) - min((s.start for s in library), default=0.0)


def library_cpu(build_seconds: str) -> float | None:
    """Return CPU seconds of the first build of the library, from lines "wall user system TARGET..."."""
    for line in build_seconds.splitlines():
        _, user, system, *targets = line.split()
        if "trellis_python" in targets:
            return float(user) + float(system)
    return None


def share_for_users(steps: list[Step]) -> float:
    """Return the part of the library's compiling that makes what users get."""
    library = [step for step in compiled(steps) if step.belongs_to_library]
    for_users = sum(step.seconds for step in library if step.is_for_users)
    return for_users / max(sum(step.seconds for step in library), 1e-9)


def limit_seconds(steps: list[Step]) -> float:
    """Return the limit on a core that takes YARDSTICK_SECONDS, in seconds."""
    is_avx512 = any(".float.16.cpu" in step.output and step.is_for_users for step in steps)
    return LIMIT_SECONDS_AVX512 if is_avx512 else LIMIT_SECONDS


def yardstick_seconds(compiler: str) -> float:
    """Return the CPU seconds that a core takes for the yardstick while all CORES do so: the median of ROUNDS.

    @throws SystemExit where the compiler fails
    """
    options = ["-std=c++20", "-O3", "-ffp-contract=off", "-c", str(YARDSTICK), "-o", os.devnull]
    if os.uname().machine == "x86_64":
        options.append("-march=x86-64-v3")  # the same work everywhere
    seconds = []
    for _ in range(ROUNDS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        running = [subprocess.Popen([compiler, *options]) for _ in range(CORES)]
        if any([process.wait() for process in running]):
            raise SystemExit(f"{compiler} does not compile {YARDSTICK}")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds.append((after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) / CORES)
    return sorted(seconds)[ROUNDS // 2]


def report(steps: list[Step], cpu: float | None, limit: float) -> int:
    objects = compiled(steps)
    for title, chosen in (
        ("library and Python module", [s for s in objects if s.is_for_users]),
        ("kernels for tests", [s for s in objects if s.is_kernel_for_tests]),
        ("tests and benchmarks", [s for s in objects if not s.belongs_to_library]),
    ):
        print(f"{title}: {len(chosen)} files, {sum(s.seconds for s in chosen):.0f} s of compiling")
    print(f"the {SLOWEST} slowest files")
    for step in sorted(objects, key=lambda s: -s.seconds)[:SLOWEST]:
        print(f"  {step.seconds:6.1f} s  {readable(step.output)}")
    seconds, share = library_wall(steps), share_for_users(steps)
    print(f"clean build of library and Python module: {seconds:.0f} s on {os.cpu_count()} cores")
    if cpu is not None:
        print(f"its work: {cpu:.0f} s of CPU time, {cpu / CORES:.0f} s on {CORES} cores that do nothing else")
        seconds = min(seconds, cpu / CORES)
    seconds *= share
    print(f"build time of what users get, {share:.0%} of that: {seconds:.0f} s, limit {limit:.0f} s")
    if seconds > limit:
        print(f"ABOVE THE LIMIT by {seconds / limit - 1:.0%}; the check fails beyond {TOLERANCE:.0%}")
    return 1 if seconds > limit * (1 + TOLERANCE) else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("build", type=Path)
    limit = os.environ.get("TRELLIS_BUILD_LIMIT_SECONDS")
    parser.add_argument(
        "--limit", type=float, default=None if limit is None else float(limit), metavar="SECONDS"
    )
    parser.add_argument("--compiler", default=os.environ.get("CXX", "g++"))
    arguments = parser.parse_args()
    steps = read_log((arguments.build / ".ninja_log").read_text())
    limit_there = arguments.limit or limit_seconds(steps)
    seconds = yardstick_seconds(arguments.compiler)
    limit_here = limit_there * seconds / YARDSTICK_SECONDS
    print(
        f"a core compiles the yardstick in {seconds:.2f} s, in {YARDSTICK_SECONDS:.2f} s where the limit "
        f"holds; {limit_there:.0f} s there are {limit_here:.0f} s here"
    )
    times = arguments.build / "build_seconds.txt"
    cpu = library_cpu(times.read_text()) if times.exists() else None
    return report(steps, cpu, limit_here)


if __name__ == "__main__":
    sys.exit(main())
