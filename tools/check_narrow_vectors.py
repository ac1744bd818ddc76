#!/usr/bin/env python3
"""The kernels of fields with one lane compile for processors of narrower vectors than this one.

    tools/check_narrow_vectors.py [--architecture x86-64-v3] [build/release]

The build for this machine's own processor cannot show that a kernel takes for granted how wide a register
is. The compiler checks the texts (-fsyntax-only) and makes nothing. The tool exits with 1 if a text fails,
and prints the compiler's words.
"""

import argparse
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path


def commands_of_one_lane(build: Path) -> list[list[str]]:
    entries = json.loads((build / "compile_commands.json").read_text())
    return [entry["command"].split() for entry in entries if entry["file"].endswith(".float.1.cpu.cpp")]


def check(command: list[str], architecture: str) -> str:
    """Return the compiler's words, empty if the text compiles."""
    words = [f"-march={architecture}" if word.startswith("-march=") else word for word in command]
    compiler = next(i for i, word in enumerate(words) if re.search(r"(\+\+|g\+\+-\d+|clang\+\+)$", word))
    words = words[compiler:]
    words = [word for word in words if not word.startswith(("-mprefer-vector-width", "-Winvalid-pch"))]
    words[words.index("-o") : words.index("-o") + 2] = ["-fsyntax-only"]
    result = subprocess.run(words, capture_output=True, text=True, check=False)
    return "" if result.returncode == 0 else result.stderr


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("build", nargs="?", type=Path, default=Path("build/release"))
    parser.add_argument("--architecture", default="x86-64-v3")
    arguments = parser.parse_args()
    commands = commands_of_one_lane(arguments.build)
    if not commands:
        sys.exit(f"{arguments.build}/compile_commands.json names no kernel of one lane; configure a build")
    os.chdir(arguments.build)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        said = [words for words in pool.map(lambda c: check(c, arguments.architecture), commands) if words]
    for words in said:
        print("\n".join(words.splitlines()[:12]))
    print(f"{len(commands) - len(said)} of {len(commands)} kernel texts compile for {arguments.architecture}")
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main())
