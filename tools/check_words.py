#!/usr/bin/env python3
"""Check that docstrings of Python, and comments on constants, begin as sentences do.

A docstring says what a thing is or does, with a subject and a verb; one that begins with `Of`, `What` or
another word of WORDS is half a sentence, and so is a comment behind `#:` in python/ that begins with one of
COMMENT_WORDS. LIMITS has how many of those each folder may have:
none, as long as nobody raises a number.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

WORDS = frozenset("as how of so that those what when where whether which whose".split())
#: Comments behind `#:` begin with another word.
COMMENT_WORDS = frozenset("and by of".split())
COMMENT = re.compile(r"^\s*#: ?(.*)")
#: Each folder may have so many docstrings that begin with one of WORDS.
LIMITS = {"python": 0, "tests": 0, "tools": 0, "bench": 0, "lab": 0}


@dataclass(frozen=True)
class Docstring:
    path: Path
    line: int
    text: str

    @property
    def first_word(self) -> str:
        found = re.match(r"[\W_]*(\w+)", self.text)
        return found.group(1).lower() if found else ""


def docstrings(path: Path) -> Iterator[Docstring]:
    """Return the docstrings of a file: of the module, its classes and its functions, private ones too."""
    for node in ast.walk(ast.parse(path.read_text(), str(path))):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node)
            if text:
                yield Docstring(path, node.body[0].lineno, text)


def comments(path: Path) -> Iterator[Docstring]:
    """Return the comments behind `#:` of a file, each with its first line."""
    before: re.Match[str] | None = None
    for number, line in enumerate(path.read_text().splitlines(), 1):
        match = COMMENT.match(line)
        if match and not before:
            yield Docstring(path, number, match[1])
        before = match


def half_sentences(folder: Path) -> list[Docstring]:
    """Return the docstrings below a folder, and comments below python/, that begin like half a sentence."""
    found: list[Docstring] = []
    for path in sorted(folder.rglob("*.py")):
        found += [one for one in docstrings(path) if one.first_word in WORDS]
        if folder.name == "python":
            found += [one for one in comments(path) if one.first_word in COMMENT_WORDS]
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    parser.add_argument("--list", action="store_true", help="print every docstring that counts")
    options = parser.parse_args()
    failures = 0
    for folder, limit in LIMITS.items():
        found = half_sentences(options.root / folder)
        fails = len(found) > limit
        failures += fails
        if fails or options.list:
            for one in found:
                print(f"  {one.path.relative_to(options.root)}:{one.line}  {one.text.splitlines()[0]}")
        if fails:
            print(
                f"{folder}/: a docstring begins with its subject or verb, not with {', '.join(sorted(WORDS))}"
            )
        elif len(found) < limit:
            print(f"{folder}/: lower the limit of LIMITS in tools/check_words.py to {len(found)}")
        verdict = "   FAILS" if fails else ""
        print(f"{folder}/: {len(found)} docstrings begin with such a word, {limit} may{verdict}")
    print(f"words: {failures} violations")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
