"""This module runs trellis bench: it starts the compiled program bench_<what> of this build."""

from __future__ import annotations

import itertools
import json as json_text
import subprocess
import sys
from pathlib import Path

from ..ground.errors import BadArgument, NotAvailable
from ..ground.launched_ranks import launched_rank


def programs() -> dict[str, Path]:
    """Return the benchmark programs, by what follows `bench_`: beside the module, or in the build tree."""
    package = Path(__file__).absolute().parents[1]
    found: dict[str, Path] = {}
    for folder in (package / "libexec", package.parents[1] / "bench"):
        for path in sorted(folder.glob("bench_*")):
            if path.is_file() and path.stat().st_mode & 0o111:
                found.setdefault(path.name.removeprefix("bench_"), path)
    return found


#: These options have no value, and may also stand before WHAT.
_FLAGS = ("--json", "--check", "--markdown")
_OPTIONS = """\
options, of which a benchmark takes those that apply to it (trellis bench WHAT --help):
  --lattice X.Y.Z.T,...  --precision double|float|half|fp16,...  --link-reals 18|12|8,...  --rhs N,...
  --ls N,... (slices of domain walls)  --threads N  --seconds S  --rounds N
  --gauge FILE, --kappa K,... and others of multigrid; --bytes N,..., --messages N, --sums N,... of exchange
  --partition X.Y.Z.T, --self (one process sends faces to itself), --device cpu|cuda of halo
  --plot FILE (the roofline, or the timeline of halo, as png, pdf or svg)
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
    words = [*before, *others]
    if "--plot" in words:
        return _with_plot(available[name], words)
    return subprocess.run([str(available[name]), *words], check=False).returncode


def _with_plot(program: Path, words: list[str]) -> int:
    """Run a benchmark for its JSON object, print that where it is wanted, and draw what it found."""
    from ..report.halo_timeline import halo_timeline
    from ..report.roofline import ceilings_of_bench, points_of_bench, roofline
    from .plots import require_picture_name, save_plot

    at = words.index("--plot")
    if at + 1 >= len(words):
        raise BadArgument("--plot: expected the name of a picture behind it, found nothing")
    path, others = Path(words[at + 1]), words[:at] + words[at + 2 :]
    if "--markdown" in others:
        raise BadArgument("--plot goes with --json or alone: expected no --markdown")
    require_picture_name(path)
    plain = [word for word in others if word != "--json"]
    found = subprocess.run([str(program), *plain, "--json"], check=False, stdout=subprocess.PIPE, text=True)
    if launched_rank() != 0:
        return found.returncode
    if "--json" in others or not found.stdout:
        print(found.stdout, end="")
    try:
        results = json_text.loads(found.stdout)["results"]
    except (ValueError, KeyError):  # the program has said why
        return found.returncode or 1
    if any(row.get("pattern") == "halo" and "seconds" in row for row in results):
        save_plot(path, lambda: halo_timeline(results))
        if "--json" not in others:
            print(f"{path}: steps of hops by each way of the halo")
        return found.returncode
    points, (peaks, bandwidths) = points_of_bench(results), ceilings_of_bench(results)
    if not points or not peaks:
        raise NotAvailable(
            f"{program.name} has no speeds beside a peak and a bandwidth: there is no roofline"
        )
    save_plot(path, lambda: roofline(peaks, bandwidths, points, program.name.replace("_", " ")))
    if "--json" not in others:
        print(f"{path}: points: {len(points)}, under the roofs of {', '.join(bandwidths)}")
    return found.returncode


def _refused(problem: str, usage: str, json: bool) -> int:
    """Return 2, as for options that do not exist; rank 0 prints a message."""
    if launched_rank() == 0:
        print(f"error: {problem}\n{usage}", file=sys.stderr)
        if json:
            print(json_text.dumps({"error": problem}))
    return 2
