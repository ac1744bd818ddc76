#!/usr/bin/env python3
"""The compiler has fused no complex products of its own in the library and the Python module (x86-64).

    tools/check_fused_additions.py [build/release]

The bits of a run are those of the source: -ffp-contract=off forbids a compiler to join a product and a sum.
g++ 12 does it all the same where it makes a vector of the two parts of a complex number (vfmaddsub), unless
-fno-tree-slp-vectorize keeps it from such vectors. Sources that want a fused product say so (fused_product in
kernels/). The tool reads the machine code of every object of the build plan, and exits with 1 where it finds
such an instruction, with the functions that have it.
"""

import argparse
import json
import os
import platform
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

_FUNCTION = re.compile(r"^[0-9a-f]+ <(.+)>:$")
_FUSED = re.compile(r"\tv?fm(addsub|subadd)\w*\s")


def objects_of(build: Path) -> list[Path]:
    """Return the objects of the library and of the Python module that the build plan names."""
    root = Path(__file__).resolve().parents[1]
    entries = json.loads((build / "compile_commands.json").read_text())
    kept = [root / "src", root / "bindings", build.resolve() / "kernels"]
    found = []
    for entry in entries:
        if any(Path(entry["file"]).is_relative_to(folder) for folder in kept):
            words = entry["command"].split()
            found.append(Path(entry["directory"]) / words[words.index("-o") + 1])
    return found


def functions_with_fused_additions(path: Path) -> list[str]:
    code = subprocess.run(
        ["objdump", "--disassemble", "--demangle", "--no-show-raw-insn", str(path)],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    found, function = [], ""
    for line in code.splitlines():
        if name := _FUNCTION.match(line):
            function = name[1]
        elif _FUSED.search(line) and function not in found:
            found.append(function)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("build", nargs="?", type=Path, default=Path("build/release"))
    build = parser.parse_args().build
    if platform.machine() != "x86_64":
        sys.exit(f"this tool knows the instructions of x86-64 only, and this machine is {platform.machine()}")
    objects = objects_of(build)
    missing = [path for path in objects if not path.exists()]
    if missing or not objects:
        sys.exit(f"{build} lacks {len(missing)} of {len(objects)} objects: build it first (./bootstrap)")
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = dict(zip(objects, pool.map(functions_with_fused_additions, objects), strict=True))
    for path, functions in found.items():
        for function in functions:
            print(f"{path}: {function}")
    wrong = sum(1 for functions in found.values() if functions)
    print(f"{wrong} of {len(objects)} objects have fused complex products that no source asks for")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
