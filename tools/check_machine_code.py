#!/usr/bin/env python3
"""Fail where the machine code of a CUDA kernel is worse than tools/machine_code.txt says.

usage: tools/check_machine_code.py [BUILD FOLDER] [--renew | --record]
       tools/check_machine_code.py --is-current

It reads registers, instructions, accesses to local memory (spills, and arrays that are no registers) and the
width of all loads and stores out of the objects, so it needs no GPU. The table has one line for a family of
kernels: a functor and its storage. --renew writes it anew. The table names the sources and the compiler of
which it was made, or which were last compared with it and --record noted; --is-current says by its exit
status whether those of this tree are the same, so that a check may go without minutes of nvcc.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple, dataclass, fields
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "tools" / "machine_code.txt"
ARCHITECTURE = "sm_90"

# A number of a family may grow by so much before it counts: another release of the compiler moves a little.
GROWTH = 0.08
MORE_REGISTERS = 16

FUNCTION = re.compile(r"^\s*Function : (\S+)", re.MULTILINE)
INSTRUCTION = re.compile(r"^\s*/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9_.]*)", re.MULTILINE)
RESOURCES = re.compile(r"Function (\S+):\s+REG:(\d+) STACK:(\d+)")


@dataclass(frozen=True)
class Family:
    """These are numbers of the kernels of a family: those of the worst one, and accesses to memory of all."""

    kernels: int
    registers: int
    stack: int
    instructions: int
    local: int
    wide: int  # these are loads and stores of 16 bytes
    half: int  # these are loads and stores of 8
    narrow: int  # these are loads and stores of 4 and less

    @property
    def accesses(self) -> int:
        return self.wide + self.half + self.narrow


@dataclass(frozen=True)
class Kernel:
    name: str
    registers: int
    stack: int
    instructions: int
    local: int
    widths: tuple[int, int, int]


def width_of(opcode: str) -> int:
    """Return the bytes that a load or store of global memory moves."""
    for mark, width in ((".128", 16), (".64", 8), (".U16", 2), (".S16", 2), (".U8", 1), (".S8", 1)):
        if mark in opcode:
            return width
    return 4


def read_kernels(assembly: str, resources: str) -> Iterator[Kernel]:
    """Yield the kernels in what cuobjdump -sass and cuobjdump -res-usage print of an object."""
    found = {name: (int(registers), int(stack)) for name, registers, stack in RESOURCES.findall(resources)}
    starts = list(FUNCTION.finditer(assembly))
    ends = [match.start() for match in starts] + [len(assembly)]
    for match, end in zip(starts, ends[1:], strict=True):
        if match[1] not in found:
            raise ValueError(f"cuobjdump prints no resources of {match[1]}")
        opcodes = Counter(INSTRUCTION.findall(assembly[match.end() : end]))
        widths: Counter[int] = Counter()
        local = 0
        for opcode, count in opcodes.items():
            kind = opcode.split(".")[0]
            if kind in ("LDG", "STG"):
                widths[width_of(opcode)] += count
            elif kind in ("LDL", "STL"):
                local += count
        narrow = sum(count for width, count in widths.items() if width <= 4)
        registers, stack = found[match[1]]
        yield Kernel(
            match[1],
            registers,
            stack,
            opcodes.total() - opcodes["NOP"],
            local,
            (widths[16], widths[8], narrow),
        )


def family_of(demangled: str) -> str:
    """Return functor, storage and columns: WilsonHop<float> for WilsonHop<CudaLayout, float, 12>."""
    name = demangled.replace("(anonymous namespace)::", "").removeprefix("void ")
    name = re.sub(r"\b(trellis|cuda|launch|detail|on_gpu)::", "", name)
    columns = ""
    if match := re.match(r"\w*_kernel<((?:\d+, )*)(.*)", name):
        numbers = match[1].split(", ")[:-1]  # columns, or the parts and slots of a block
        columns = f" of {numbers[0]} columns" if len(numbers) == 1 else ""
        name = first_argument(match[2])
    else:
        name = re.sub(r"\(.*", "", name)
    name = re.sub(r"\bCudaLayout(, )?", "", name)
    name = re.sub(r", (\(\w+\))?\d+|, (true|false)|, >|<>", lambda m: ">" if m[0] == ", >" else "", name)
    return re.sub(r"\s+>", ">", name) + columns


def first_argument(text: str) -> str:
    depth = 0
    for place, character in enumerate(text):
        depth += (character in "<({") - (character in ">)}")
        if depth < 0 or (depth == 0 and character == ","):
            return text[:place].strip()
    return text.strip()


def families_of(kernels: Iterable[Kernel]) -> dict[str, Family]:
    members: dict[str, list[Kernel]] = {}
    kernels = list(kernels)
    for kernel, name in zip(kernels, demangled([kernel.name for kernel in kernels]), strict=True):
        members.setdefault(family_of(name), []).append(kernel)
    return {
        name: Family(
            len(group),
            max(kernel.registers for kernel in group),
            max(kernel.stack for kernel in group),
            max(kernel.instructions for kernel in group),
            max(kernel.local for kernel in group),
            *(sum(kernel.widths[k] for kernel in group) for k in range(3)),
        )
        for name, group in sorted(members.items())
    }


def problems_of(name: str, before: Family, now: Family) -> Iterator[str]:
    """Yield what has become worse in a family, each as a sentence."""
    limits = {
        "registers": before.registers + MORE_REGISTERS,
        "stack": before.stack,
        "instructions": round(before.instructions * (1 + GROWTH)) + 16,
        "local": round(before.local * (1 + GROWTH)),
    }
    for quantity, limit in limits.items():
        value = getattr(now, quantity)
        if value > limit:
            before_it = getattr(before, quantity)
            yield f"{name}: {quantity} {value}; expected at most {limit}, {before_it} in the table"
    if now.kernels == before.kernels:
        limit = round(before.accesses * (1 + GROWTH)) + 2
        if now.accesses > limit:
            yield (
                f"{name}: {now.accesses} loads and stores; expected at most {limit}, "
                f"{before.accesses} in the table"
            )
    share = (1 - GROWTH) * before.wide / max(before.accesses, 1)
    if now.wide < share * now.accesses - 1:
        yield (
            f"{name}: {now.wide} of {now.accesses} loads and stores move 16 bytes, "
            f"in the table {before.wide} of {before.accesses}"
        )


def compare(table: dict[str, Family], found: dict[str, Family]) -> list[str]:
    problems = []
    for name in sorted(table.keys() | found.keys()):
        if name not in table:
            problems.append(f"{name}: the table does not have it")
        elif name not in found:
            problems.append(f"{name}: the table has it, but no object does")
        else:
            problems += problems_of(name, table[name], found[name])
    return problems


HEAD = f"""\
# The machine code of all CUDA kernels for {ARCHITECTURE}, a line for each functor and storage. The columns
# are the number of kernels; registers, bytes of stack, instructions and local loads and stores of the worst
# of them; and loads and stores of 16, 8, and 4 or fewer bytes in all of them.
# tools/check_machine_code.py compares a build with it, and writes it with --renew.
"""


SOURCES = re.compile(r"^# sources (\w+)\n", re.MULTILINE)
#: The compiler of kernels sees these folders, and of other files these.
FOLDERS = ("base", "algebra", "lattice", "view", "device", "kernels")
ENDINGS = (".hpp", ".cuh", ".cu", ".launch.cpp")
OTHERS = ("cmake/TrellisCuda.cmake", "cmake/TrellisKernels.cmake", "cmake/TrellisFolders.cmake")


def compiler() -> str:
    return subprocess.run([tool("nvcc"), "--version"], capture_output=True, text=True, check=True).stdout


def hash_of_sources(root: Path, compiler: str) -> str:
    """Return a hash of all that nvcc compiles kernels of, but for comments and empty lines."""
    hashed = hashlib.sha256(compiler.encode())
    files = [root / name for name in OTHERS]
    for folder in FOLDERS:
        paths = (root / "src" / "trellis" / folder).rglob("*")
        files += sorted(path for path in paths if path.name.endswith(ENDINGS))
    for file in files:
        text = re.sub(r"(^|\s)//.*", "", file.read_text(), flags=re.MULTILINE)
        lines = "\n".join(line.rstrip() for line in text.splitlines() if line.strip())
        hashed.update(f"\n{file.relative_to(root)}\n{lines}".encode())
    return hashed.hexdigest()[:32]


def with_sources(text: str, sources: str) -> str:
    """Return a table that names other sources."""
    line = f"# sources {sources}\n"
    return SOURCES.sub(line, text) if SOURCES.search(text) else HEAD + line + text.removeprefix(HEAD)


def write_table(found: dict[str, Family]) -> str:
    names = [field.name for field in fields(Family)]
    width = max([len(name) for name in found] + [6])
    lines = [f"{'family':{width}}" + "".join(f" {name:>12}" for name in names)]
    lines += [
        f"{name:{width}}" + "".join(f" {n:12d}" for n in astuple(found[name])) for name in sorted(found)
    ]
    return HEAD + "\n".join(line.rstrip() for line in lines) + "\n"


def read_table(text: str) -> dict[str, Family]:
    table = {}
    columns = len(fields(Family))
    for line in text.splitlines():
        if line.startswith(("#", "family ")) or not line.strip():
            continue
        parts = line.rsplit(maxsplit=columns)
        if len(parts) != columns + 1 or not all(part.isdecimal() for part in parts[1:]):
            raise ValueError(f"expected a family and {columns} numbers, found: {line}")
        table[parts[0]] = Family(*(int(part) for part in parts[1:]))
    return table


def demangled(names: list[str]) -> list[str]:
    if not names:
        return []
    result = subprocess.run(["c++filt"], input="\n".join(names), capture_output=True, text=True, check=True)
    return result.stdout.splitlines()


def tool(name: str) -> str:
    """Return the path of a tool of CUDA: of the virtual environment, or of the machine."""
    for path in sorted((ROOT / ".venv" / "lib").glob(f"python3*/site-packages/nvidia/*/bin/{name}")):
        return str(path)
    found = shutil.which(name) or shutil.which(name, path="/usr/local/cuda/bin")
    if found is None:
        raise FileNotFoundError(f"{name} was not found; `pip install -r requirements-cuda.txt` brings it")
    return found


def kernels_of_object(path: Path) -> list[Kernel]:
    environment = os.environ | {"PATH": f"{Path(tool('nvdisasm')).parent}:{os.environ['PATH']}"}

    def printed(option: str) -> str:
        return subprocess.run(
            [tool("cuobjdump"), "-arch", ARCHITECTURE, option, str(path)],
            capture_output=True,
            text=True,
            check=True,
            env=environment,
        ).stdout

    return list(read_kernels(printed("-sass"), printed("-res-usage")))


def objects_of(build: Path) -> list[Path]:
    """Return the objects of the library that hold kernels; those of files that are gone do not count."""
    plan = build / "build.ninja"
    text = plan.read_text() if plan.exists() else ""
    outputs = re.findall(r"^build (src/\S+\.cu\.o):", text, re.MULTILINE)
    return sorted(build / name for name in outputs if "_for_tests" not in name)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "build", nargs="?", type=Path, default=ROOT / "build" / "cuda", help="a build with nvcc"
    )
    way = parser.add_mutually_exclusive_group()
    way.add_argument("--renew", action="store_true", help="write the table instead of comparing with it")
    way.add_argument("--record", action="store_true", help="note the sources where nothing is worse")
    way.add_argument("--is-current", action="store_true", help="compare sources and compiler, and no code")
    parser.add_argument("--table", type=Path, default=TABLE, help="another table")
    arguments = parser.parse_args()
    sources = hash_of_sources(ROOT, compiler())
    if arguments.is_current:
        noted = SOURCES.search(arguments.table.read_text())
        is_current = noted is not None and noted[1] == sources
        word = "" if is_current else "not "
        print(f"the sources and the compiler of CUDA kernels are {word}those of {TABLE.name}")
        return 0 if is_current else 1
    objects = objects_of(arguments.build)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = families_of(kernel for group in pool.map(kernels_of_object, objects) for kernel in group)
    if not found:
        print(
            f"{arguments.build} has no kernels for {ARCHITECTURE}: "
            f"expected objects of nvcc in {arguments.build}/src"
        )
        return 1
    count = sum(family.kernels for family in found.values())
    if arguments.renew:
        arguments.table.write_text(with_sources(write_table(found), sources))
        print(f"machine code: {count} kernels in {len(found)} families, written to {arguments.table}")
        return 0
    if not arguments.table.exists():
        print(f"{arguments.table} is not there: expected the table that --renew writes of a build")
        return 1
    problems = compare(read_table(arguments.table.read_text()), found)
    for problem in problems:
        print(problem)
    print(f"machine code: {count} kernels in {len(found)} families, {len(problems)} violations")
    if arguments.record and not problems:
        arguments.table.write_text(with_sources(arguments.table.read_text(), sources))
    if problems:
        print("Where they are meant, tools/check_machine_code.py --renew writes the table anew.")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
