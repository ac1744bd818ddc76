"""trellis bench: runs the compiled program bench_<what> of this build."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from ..errors import NotAvailable


def programs() -> dict[str, Path]:
    """The benchmark programs, by what follows `bench_`: beside the module, or in the build tree."""
    package = Path(__file__).absolute().parents[1]
    found: dict[str, Path] = {}
    for folder in (package / "libexec", package.parents[1] / "bench"):
        for path in sorted(folder.glob("bench_*")):
            if path.is_file() and path.stat().st_mode & 0o111:
                found.setdefault(path.name.removeprefix("bench_"), path)
    return found


def bench(arguments: list[str]) -> int:
    """Replace nothing, add nothing: the arguments go to the program as they are."""
    available = programs()
    asked = arguments[:1] in (["--help"], ["-h"])
    if not available and not asked:
        raise NotAvailable(
            "this build has no benchmark programs; ./bootstrap build makes them in build/release/bench"
        )
    if arguments and not arguments[0].startswith("-"):
        arguments = [arguments[0].replace("-", "_"), *arguments[1:]]
    if not arguments or arguments[0] not in available:
        names = ", ".join(available) or "none in this build (./bootstrap build makes them)"
        print(
            f"usage: trellis bench WHAT [OPTIONS]\n  WHAT: {names}", file=sys.stdout if asked else sys.stderr
        )
        return 0 if asked else 2
    return subprocess.run([str(available[arguments[0]]), *arguments[1:]], check=False).returncode
