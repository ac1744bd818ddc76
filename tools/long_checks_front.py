"""The site of doc/ is built without a warning, and every notebook of doc/tutorials runs to its end."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import site_notebooks

ROOT = Path(__file__).resolve().parent.parent
#: A notebook has this many seconds of processor time on one core.
LIMIT = 40.0


def run_notebook(path: Path) -> tuple[float, float, str]:
    """Run a notebook in a folder of its own, on one thread.

    Returns
    -------
    tuple
        Seconds of processor time, seconds that passed, and what is wrong; nothing where all is well.
    """
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / f"{path.stem}.py"
        program.write_text(site_notebooks.program(path))
        before, start = os.times(), time.monotonic()
        done = subprocess.run(
            [sys.executable, program.name],
            cwd=folder,
            env={**os.environ, "MPLBACKEND": "Agg", "OMP_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
        after = os.times()
    processor = sum(after[2:4]) - sum(before[2:4])
    if done.returncode:
        return processor, time.monotonic() - start, done.stderr[-2000:]
    slow = f"expected at most {LIMIT:.0f} s of processor time, found {processor:.0f} s"
    return processor, time.monotonic() - start, slow if processor > LIMIT else ""


def main(words: list[str]) -> int:
    """Build the site, run all notebooks and print a table."""
    parser = argparse.ArgumentParser(prog="tools/long_checks front", description=__doc__)
    parser.add_argument("--without-site", action="store_true", help="run the notebooks alone")
    options = parser.parse_args(words)
    wrong = {}
    if not options.without_site and subprocess.run([ROOT / "tools" / "build_site"]).returncode:
        wrong["site"] = "it was not built, or with warnings"
    print("| notebook | processor s | s |")
    print("|---|---|---|")
    for path in sorted((ROOT / "doc" / "tutorials").glob("*.ipynb")):
        processor, seconds, found = run_notebook(path)
        print(f"| {path.stem} | {processor:.1f} | {seconds:.1f} |", flush=True)
        if found:
            wrong[path.stem] = found
    for name, found in wrong.items():
        print(f"error: {name}: {found}", file=sys.stderr)
    return 1 if wrong else 0
