#!/usr/bin/env python3
"""Check the sizes of files and functions: from 400 lines a file is listed, 800 fail; from 60 lines a
function is listed, 120 fail. The aims are in CONTRIBUTING.md. Function lengths are lizard's."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import lizard

FOLDERS = ("src", "reference", "bindings", "python", "bench", "lab", "tests", "tools")
SUFFIXES = {".hpp", ".cpp", ".cu", ".cuh", ".py"}
FILE_ASK, FILE_FAIL = 400, 800
FUNCTION_ASK, FUNCTION_FAIL = 60, 120


@dataclass(frozen=True)
class Size:
    lines: int
    what: str
    limit: int

    @property
    def fails(self) -> bool:
        return self.lines >= self.limit


def source_files(root: Path) -> list[Path]:
    return sorted(
        path
        for folder in FOLDERS
        for path in (root / folder).rglob("*")
        if path.suffix in SUFFIXES and path.is_file() and "__pycache__" not in path.parts
    )


def file_sizes(root: Path, files: list[Path]) -> Iterator[Size]:
    for path in files:
        lines = len(path.read_text(errors="replace").splitlines())
        if lines >= FILE_ASK:
            yield Size(lines, str(path.relative_to(root)), FILE_FAIL)


def function_sizes(root: Path, files: list[Path]) -> Iterator[Size]:
    for path in files:
        for function in lizard.analyze_file(str(path)).function_list:
            lines = function.end_line - function.start_line + 1
            if lines >= FUNCTION_ASK:
                where = f"{path.relative_to(root)}:{function.start_line} {function.name}"
                yield Size(lines, where, FUNCTION_FAIL)


def report(title: str, sizes: list[Size]) -> None:
    if sizes:
        print(title)
    for size in sorted(sizes, key=lambda s: -s.lines):
        print(f"  {size.lines:5d}  {size.what}{'   FAILS' if size.fails else ''}")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    root = parser.parse_args().root
    files = source_files(root)
    of_files, of_functions = list(file_sizes(root, files)), list(function_sizes(root, files))
    report(f"files from {FILE_ASK} lines (limit {FILE_FAIL})", of_files)
    report(f"functions from {FUNCTION_ASK} lines (limit {FUNCTION_FAIL})", of_functions)
    failures = sum(size.fails for size in [*of_files, *of_functions])
    print(f"sizes: {len(files)} files, {failures} violations")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
