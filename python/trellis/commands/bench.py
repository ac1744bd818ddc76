"""trellis bench: runs the compiled program bench_<what> of this build."""

from __future__ import annotations

import itertools
import json as json_text
import subprocess
import sys
from pathlib import Path

from ..ground.errors import NotAvailable
from ..ground.launched_ranks import launched_rank


def programs() -> dict[str, Path]:
    """The benchmark programs, by what follows `bench_`: beside the module, or in the build tree."""
    package = Path(__file__).absolute().parents[1]
    found: dict[str, Path] = {}
    for folder in (package / "libexec", package.parents[1] / "bench"):
        for path in sorted(folder.glob("bench_*")):
            if path.is_file() and path.stat().st_mode & 0o111:
                found.setdefault(path.name.removeprefix("bench_"), path)
    return found


#: Options without a value, which may also stand before WHAT.
_FLAGS = ("--json", "--check", "--markdown")
_OPTIONS = """\
options, of which a benchmark takes those that apply to it (trellis bench WHAT --help):
  --lattice X.Y.Z.T,...  --precision double|float|half|fp16,...  --link-reals 18|12|8,...  --rhs N,...
  --ls N,... (slices of domain walls)  --threads N  --seconds S  --rounds N
  --gauge FILE, --kappa K,... and others of multigrid; --bytes N,..., --messages N, --sums N,... of exchange
  --check (status 1 for what differs from reference/, or is not checked)  --json  --markdown  --help"""


def bench(arguments: list[str]) -> int:
    """Run the program of a benchmark, which gets the other arguments as they are."""
    available = programs()
    asked = arguments[:1] in (["--help"], ["-h"])
    if not available and not asked:
        raise NotAvailable(
            "this build has no benchmark programs; ./bootstrap bench in a clone of Trellis makes them, in "
            "build/release/bench"
        )
    names = ", ".join(available) or "none in this build (./bootstrap bench makes them)"
    usage = f"usage: trellis bench WHAT [OPTIONS]\n  WHAT: {names}"
    if asked:
        if launched_rank() == 0:
            print(f"{usage}\n{_OPTIONS}")
        return 0
    before = list(itertools.takewhile(lambda word: word in _FLAGS, arguments))
    what, others = arguments[len(before) : len(before) + 1], arguments[len(before) + 1 :]
    name = what[0].replace("-", "_") if what else ""
    if name not in available:
        found = f", found {what[0]}" if what else ""
        return _refused(f"expected one of {names} behind trellis bench{found}", usage, "--json" in arguments)
    return subprocess.run([str(available[name]), *before, *others], check=False).returncode


def _refused(problem: str, usage: str, json: bool) -> int:
    """2, as of options that there are not; on rank 0 with a message."""
    if launched_rank() == 0:
        print(f"error: {problem}\n{usage}", file=sys.stderr)
        if json:
            print(json_text.dumps({"error": problem}))
    return 2
