#!/usr/bin/env python3
"""Print the times of two results.json of tools/gpu_check side by side, as a Markdown table.

tools/gpu_check compare OLD NEW runs this. Results belong together where all their texts and counts agree, but
for the comparison with the CPU and counts that are measured.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

#: These are compared, in this order: the first one that both results have. Less is better.
TIMES = ("us", "seconds")
#: These are numbers that are measured, and texts that say how a result compares.
MEASURED = {
    "to CPU",
    "iterations",
    "same bits",
    "different bits",
    "cases measured",
    "failed",
    "skipped for want of time",
}

Result = dict[str, Any]


def read(path: str) -> Result:
    """Return the results of a check.

    Raises
    ------
    ValueError
        The file is no results.json.
    """
    try:
        found = json.loads(Path(path).read_text())
    except (OSError, ValueError) as error:
        raise ValueError(f"{path} cannot be read as the results.json of a check: {error}") from None
    if not isinstance(found, dict) or "results" not in found:
        raise ValueError(f"{path} has no results: a results.json of tools/gpu_check is expected")
    return found


def key_of(row: Result) -> tuple[str, ...]:
    """Return what a result is of: its texts and its integers that no clock has made."""
    return tuple(f"{k}={v}" for k, v in row.items() if k not in MEASURED and isinstance(v, (str, int)))


def time_of(row: Result) -> tuple[str, float] | None:
    """Return the name and the number of a result's time; None where it has none."""
    for name in TIMES:
        value = row.get(name)
        if isinstance(value, (int, float)) and value > 0:
            return name, float(value)
    return None


def timed(results: Result) -> dict[tuple[str, ...], tuple[str, float]]:
    """Return the times by what they are of; a result that comes twice counts once, the later one."""
    found = {}
    for row in results["results"]:
        without_time = {k: v for k, v in row.items() if k not in TIMES}
        time = time_of(row)
        if time is not None:
            found[key_of(without_time)] = time
    return found


def table(old: Result, new: Result) -> list[str]:
    """Return the lines of the comparison; ratios above 1 are gains."""
    before, after = timed(old), timed(new)
    lines = [
        f"| result | {old.get('revision', '-')} | {new.get('revision', '-')} | old / new |",
        "|---|---|---|---|",
    ]
    for key, (name, value) in after.items():
        if key not in before:
            continue
        first = before[key][1]
        what = ", ".join(part.partition("=")[2] for part in key)
        lines.append(f"| {what}, {name} | {first:.4g} | {value:.4g} | {first / value:.3g} |")
    for title, missing in (
        ("Only in the old results", before.keys() - after.keys()),
        ("Only in the new results", after.keys() - before.keys()),
    ):
        if missing:
            names = sorted(", ".join(part.partition("=")[2] for part in key) for key in missing)
            lines += ["", f"{title}: {'; '.join(names)}."]
    return lines


def main(arguments: list[str]) -> int:
    """Print the table of two files, or what is wrong with them."""
    if len(arguments) != 2:
        print("usage: tools/gpu_check compare OLD/results.json NEW/results.json", file=sys.stderr)
        return 2
    try:
        old, new = (read(path) for path in arguments)
    except ValueError as error:
        print(f"gpu_check: {error}", file=sys.stderr)
        return 2
    print("\n".join(table(old, new)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
