#!/usr/bin/env python3
"""Check the dependency rule: a folder includes only folders to its left.

The rule itself stands in src/CMakeLists.txt, in the lines `trellis_add_folder(name SEES a b ...)`: a folder
may include itself, the folders it sees, and all that those see. Besides:

- reference/ includes algebra/, lattice/ and base/ only;
- kernels' x.hpp see views: nothing of device/; their launches x.launch.cpp see device/launch.hpp and what
  stands beside it (fused_launch.hpp, launch_links.hpp, team_launch.hpp) alone, name neither cpu:: nor
  cuda::, and there are no launches for one backend;
- kernels' x.hpp do not bring memory nearer (no read_ahead, no ask_for, no claims of lines): views and walks
  do that, and only launches include x_lines.hpp, which says what a block reads and writes;
- mpi.h is included only in comm/mpi/ and io/, and cuda_runtime.h only in device/cuda/; OpenMP is used only
  in device/cpu/;
- clocks are read in base/clock.hpp only; what a run does depends on times in device/ only (and at the end
  of a rank, and where Ctrl-C is looked for); elsewhere a Stopwatch measures for reports;
- where a field lies (Backend::cuda and the like) is asked in base/, device/, field/storage and
  comm/transport; elsewhere backends are handed on (device/launches.hpp, field/storage/on_host.hpp and
  field/storage/memory_layout.hpp act on them), and bindings/ name them only to make fields;
- in Python, a room sees what PYTHON_ROOMS says, and all that those see; imports for types and inside
  functions count. No module imports the package itself or a module beside the rooms, and no imports go in a
  circle;
- in Python, a quark is asked for what it does: no module outside quarks/ asks for the class of an operator
  (isinstance, instance), none outside run_files/ for the class of a quark of a run file, and none compares
  or looks up the word of a quark's type;
- run_files, analysis, campaign, report, peer_inputs, model and watch import neither trellis._core nor a
  module that does, nor the module that loads it on request.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

INCLUDE = re.compile(r'^\s*#\s*include\s*["<]([^">]+)[">]')
FOLDER = re.compile(r"^trellis_add_folder\((\w+)([^)]*)\)", re.MULTILINE)
SOURCES = {".hpp", ".cpp", ".cu", ".cuh"}
BACKEND_NAME = re.compile(r"\b(cpu|cuda)::")
BACKEND_QUESTION = re.compile(
    r"[!=]=\s*Backend::\w|\bBackend::\w+\s*[!=]=|\bcase Backend::|\bdetail::is_on_host\b"
)
CLOCK = re.compile(
    r"\b(steady_clock|system_clock|high_resolution_clock|clock_gettime|gettimeofday|MPI_Wtime|"
    r"omp_get_wtime|__rdtsc)\b|\bstd::(time|clock)\("
)
BRINGING = re.compile(r"\b((?:read|asks?|blocks)_ahead|set_asks_ahead|ask_for\w*|[Cc]laim\w*)\b")
LAUNCHES = (
    "trellis/device/fused_launch.hpp",
    "trellis/device/launch.hpp",
    "trellis/device/launch_links.hpp",
    "trellis/device/team_launch.hpp",
)
LINES = "_lines.hpp"
LOADER = "ground.compiled_core"
# These are the base classes of operators and of quarks in run files, with the rooms that may ask for classes
# of theirs.
ASKED_CLASSES = {"QuarkOperator": "quarks", "Quark": "run_files"}
# Calls of these names ask for a class.
CLASS_QUESTIONS = ("isinstance", "issubclass", "instance")
# These are words of the type of a quark in run files, and the rooms where they may stand beside a comparison:
# files and inputs of other programs have such words, too.
QUARK_TYPES = {"wilson", "clover", "twisted_mass", "domain_wall", "staggered", "hisq"}
TYPE_ROOMS = ("run_files", "peer_inputs")
TYPE_WORDS = re.compile(r"(^|_)(type|kind|fermion)$")
WITHOUT_CORE = ("run_files", "analysis", "campaign", "report", "peer_inputs", "model", "watch")

# These are the rooms of python/trellis, each with those that it sees. What lies beside them (trellis itself,
# __main__, the errors by the name that programs import) sees all of them.
PYTHON_ROOMS: dict[str, tuple[str, ...]] = {
    "ground": (),
    "run_files": ("ground",),
    "gauge": ("ground",),
    "quarks": ("gauge",),
    "solve": ("quarks",),
    "hadrons": ("solve",),
    "evolve": ("hadrons", "run_files"),
    "runs": ("evolve",),
    "measure": ("runs",),
    "generate": ("runs",),
    "glass": ("runs",),
    "analysis.records": ("run_files",),
    "analysis.statistics": ("analysis.records",),
    "analysis.readers": ("analysis.records",),
    "analysis.glass": ("analysis.readers",),
    "analysis.masses": ("analysis.statistics",),
    "analysis.charges": ("analysis.masses", "analysis.readers"),
    "analysis.stream": ("analysis.masses", "analysis.readers"),
    "report": ("analysis.masses", "analysis.glass"),
    "analysis": ("analysis.charges", "analysis.stream", "report"),
    "peer_inputs": ("run_files",),
    "campaign": ("run_files",),
    "watch": ("analysis.glass", "analysis.readers", "campaign"),
    "model": ("campaign", "report"),
    "commands": ("measure", "generate", "glass", "analysis", "peer_inputs", "campaign", "model", "watch"),
}

# These may act by time: the end of a rank waits for other ranks only so long; tests delay messages; a memory
# begins with a number that no other memory begins with.
TIMED = (
    "device",
    "comm/mpi/end_of_job.cpp",
    "comm/delayed_exchange.cpp",
    "comm/transport/node_memory.cpp",
)

# Each entry has what a line must not contain but in a comment, and the folders and files below src/trellis
# where it may.
PRIVILEGES = [
    (re.compile(r"^\s*#\s*include\s*[\"<]mpi\.h[\">]"), ("comm/mpi", "io"), "mpi.h"),
    (re.compile(r"^\s*#\s*include\s*[\"<]cuda_runtime[\w.]*[\">]"), ("device/cuda",), "cuda_runtime.h"),
    (re.compile(r"^\s*#\s*pragma\s+omp|^\s*#\s*include\s*[\"<]omp\.h[\">]"), ("device/cpu",), "OpenMP"),
    (CLOCK, ("base/clock.hpp",), "a clock"),
    (
        re.compile(r"\bBackend::\w|\bdetail::is_on_host\b"),
        ("base", "device", "comm/transport", "field/storage"),
        "a question for the backend",
    ),
    (re.compile(r"\bseconds_now\b"), ("base/clock.hpp", *TIMED), "seconds_now()"),
    (re.compile(r"\.seconds\(\)\s*[<>]|[<>]=?\s*\w+\.seconds\(\)"), TIMED, "a decision by time"),
]


def read_rule(cmake: str) -> dict[str, set[str]]:
    """Return for each folder, in the order of the table, the folders that it may include."""
    visible: dict[str, set[str]] = {}
    for name, arguments in FOLDER.findall(cmake):
        seen: set[str] = set()
        words = arguments.split()
        if "SEES" in words:
            for word in words[words.index("SEES") + 1 :]:
                if word in ("USES", "PUBLIC_USES"):
                    break
                if word not in visible:
                    raise ValueError(f"{name} SEES {word}, which is not to its left")
                seen |= {word} | visible[word]
        visible[name] = seen
    if not visible:
        raise ValueError("no line trellis_add_folder(...) found")
    return visible


def included(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the line number and name of each included file."""
    for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
        if match := INCLUDE.match(line):
            yield number, match[1]


def check_folders(root: Path, rule: dict[str, set[str]]) -> Iterator[str]:
    source = root / "src" / "trellis"
    for path in sorted(p for p in source.rglob("*") if p.suffix in SOURCES):
        where = path.relative_to(root)
        inside = path.relative_to(source)
        folder = inside.parts[0]
        if folder not in rule:
            yield f"{where}: folder {folder} is not in src/CMakeLists.txt"
            continue
        kernel_text = folder == "kernels" and path.suffix == ".hpp"
        if folder == "kernels":
            yield from check_kernel(path, where)
        for number, name in included(path):
            parts = name.split("/")
            if parts[0] in ("reference", "tests", "bench", "lab", "bindings"):
                yield f"{where}:{number}: {folder} includes {name}"
            if parts[0] != "trellis" or len(parts) < 3:
                continue
            if parts[1] != folder and parts[1] not in rule[folder]:
                yield f"{where}:{number}: {folder} may not include {name}"
            elif kernel_text and parts[1] == "kernels" and name.endswith(LINES):
                yield f"{where}:{number}: what blocks read and write is for launches, not {name}"
            elif kernel_text and parts[1] == "device":
                yield f"{where}:{number}: a kernel's text sees views only, not {name}"
            elif folder == "kernels" and parts[1] == "device" and name not in LAUNCHES:
                yield f"{where}:{number}: a launch sees {', '.join(LAUNCHES)} only, not {name}"
        yield from check_privileges(path, where, inside)


def check_kernel(path: Path, where: Path) -> Iterator[str]:
    """Check that kernels are written once for all backends."""
    if path.suffix in (".cu", ".cuh") or (path.suffix == ".cpp" and not path.name.endswith(".launch.cpp")):
        yield f"{where}: a kernel is launched by x.launch.cpp, on all backends"
    for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
        code = line.partition("//")[0]
        if match := BACKEND_NAME.search(code):
            yield f"{where}:{number}: kernels are launched by {LAUNCHES[0]} and do not name {match[0]}"
        is_text = path.suffix == ".hpp" and not path.name.endswith(LINES)
        if is_text and (match := BRINGING.search(code)):
            yield f"{where}:{number}: walks and views bring memory nearer, not a kernel's text: {match[0]}"


def check_privileges(path: Path, where: Path, inside: Path) -> Iterator[str]:
    lines = path.read_text(errors="replace").splitlines()
    for pattern, places, what in PRIVILEGES:
        if any((inside.as_posix() + "/").startswith(place + "/") for place in places):
            continue
        for number, line in enumerate(lines, 1):
            if pattern.search(line.partition("//")[0]):
                yield f"{where}:{number}: {what} is for {', '.join(places)} only"


def check_bindings(root: Path) -> Iterator[str]:
    for path in sorted(p for p in (root / "bindings").rglob("*") if p.suffix in SOURCES):
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            code = line.partition("//")[0]
            if BACKEND_QUESTION.search(code):
                yield f"{path.relative_to(root)}:{number}: where a field lies is asked by on_host()"
            if CLOCK.search(code) or (path.name != "interruption.cpp" and "seconds_now" in code):
                yield f"{path.relative_to(root)}:{number}: a clock is for base/clock.hpp only"


def check_reference(root: Path) -> Iterator[str]:
    allowed = {"base", "algebra", "lattice"}
    for path in sorted(p for p in (root / "reference").rglob("*") if p.suffix in SOURCES):
        for number, name in included(path):
            parts = name.split("/")
            if parts[0] == "trellis" and (len(parts) < 3 or parts[1] not in allowed):
                yield f"{path.relative_to(root)}:{number}: reference may not include {name}"


# ---- Python ----------------------------------------------------------------------------------------------


def python_modules(package: Path) -> dict[str, Path]:
    modules = {}
    for path in package.rglob("*.py"):
        parts = [package.name, *path.relative_to(package).with_suffix("").parts]
        if parts[-1] == "__init__":
            parts.pop()
        modules[".".join(parts)] = path
    return modules


@cache
def imported(module: str, path: Path, *, in_functions: bool) -> list[tuple[int, str]]:
    """Return the line and full name of each import in a module; without `in_functions` only those that
    importing the module executes. Imports under TYPE_CHECKING never count."""
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]

    def visit(node: ast.AST) -> Iterator[tuple[int, str]]:
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = absolute_name(package, node)
            yield node.lineno, base
            yield from ((node.lineno, f"{base}.{alias.name}") for alias in node.names)
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            for child in node.orelse:
                yield from visit(child)
        elif in_functions or not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            for child in ast.iter_child_nodes(node):
                yield from visit(child)

    return list(visit(ast.parse(path.read_text())))


def absolute_name(package: str, node: ast.ImportFrom) -> str:
    """Return the full name of an import: `from ..b import c` in package x.y.z is from x.y.b."""
    if not node.level:
        return node.module or ""
    parts = package.split(".")
    return ".".join(parts[: len(parts) - node.level + 1] + ([node.module] if node.module else []))


def every_import(module: str, path: Path, modules: dict[str, Path]) -> Iterator[tuple[int, str]]:
    """Yield the line and name of each module of the package that a module imports in any way: when it is
    loaded, for types, or inside a function."""
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    top = module.partition(".")[0]
    for node in ast.walk(ast.parse(path.read_text())):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = absolute_name(package, node)
            names = [f"{base}.{alias.name}" for alias in node.names]
            names = [name if name in modules or name == f"{top}._core" else base for name in names]
        for name in dict.fromkeys(names):
            if name.partition(".")[0] == top and name != module:
                yield node.lineno, name


def python_room(module: str) -> str | None:
    """Return the innermost room that a module lies in; None: it lies beside them."""
    inside = module.partition(".")[2]
    while inside and inside not in PYTHON_ROOMS:
        inside = inside.rpartition(".")[0]
    return inside or None


def visible_rooms() -> dict[str, set[str]]:
    """Return each room with itself and all that it sees."""
    visible: dict[str, set[str]] = {}
    for room, seen in PYTHON_ROOMS.items():
        visible[room] = {room}.union(*(visible[other] for other in seen))
    return visible


def check_python_rooms(root: Path) -> Iterator[str]:
    """Check that rooms see those that PYTHON_ROOMS says, and that no imports go in a circle."""
    package = root / "python" / "trellis"
    modules = python_modules(package)
    visible = visible_rooms()
    graph: dict[str, set[str]] = {}
    for module, path in sorted(modules.items()):
        where, room = path.relative_to(root), python_room(module)
        graph[module] = set()
        if room is None and path.parent != package:
            yield f"{where}: {module} lies in no room of PYTHON_ROOMS"
        for number, name in every_import(module, path, modules):
            if name in modules:
                graph[module].add(name)
            if room is None or name.startswith(f"{package.name}._"):
                continue
            if name == f"{package.name}.{LOADER}" and room.split(".")[0] in WITHOUT_CORE:
                yield f"{where}:{number}: {room} runs without the compiled core and may not load it"
            other = python_room(name)
            if other is None:
                yield f"{where}:{number}: {room} imports {name}, which is for programs of users"
            elif other not in visible[room]:
                yield f"{where}:{number}: {room} may not import {name}"
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        yield f"imports go in a circle: {' <- '.join(error.args[1])}"


def check_python(root: Path) -> Iterator[str]:
    """The rooms of WITHOUT_CORE run without the compiled core. The package's own __init__ is what any of
    their imports executes first, so it may not import the core either (it does so lazily)."""
    package = root / "python" / "trellis"
    modules = python_modules(package)
    core = f"{package.name}._core"
    for module, path in sorted(modules.items()):
        parts = module.split(".")
        if len(parts) < 2 or parts[1] not in WITHOUT_CORE:
            continue
        for number, name in imported(module, path, in_functions=True):
            if chain := path_to_core(name, core, modules):
                yield f"{path.relative_to(root)}:{number}: reaches {core}: {' -> '.join([module, *chain])}"


def classes_below(base: str, trees: Iterator[ast.AST]) -> set[str]:
    """Return the names of all classes of the package that derive from a class, and of unions of them."""
    bases: dict[str, set[str]] = {}
    unions: dict[str, set[str]] = {}
    for tree in trees:
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                bases.setdefault(node.name, set()).update(
                    ast.unparse(b).rpartition(".")[2] for b in node.bases
                )
            elif isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp):
                members = {n.id for n in ast.walk(node.value) if isinstance(n, ast.Name)}
                unions |= {t.id: members for t in node.targets if isinstance(t, ast.Name)}
    found: set[str] = set()
    size = -1
    while size != len(found):
        size = len(found)
        found |= {name for name, own in bases.items() if own & (found | {base})}
    return found | {name for name, members in unions.items() if members & found}


def class_questions(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the line and name of each class that a call asks for."""
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in CLASS_QUESTIONS):
            continue
        for argument in node.args[1:]:
            for name in ast.walk(argument):
                if isinstance(name, ast.Name | ast.Attribute):
                    yield node.lineno, name.id if isinstance(name, ast.Name) else name.attr


def type_questions(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the line and word of each comparison of a type with the word of a quark, and of each table by its
    type."""
    for node in ast.walk(tree):
        asked: list[ast.expr] = []
        if isinstance(node, ast.Compare):
            asked = [node.left, *node.comparators]
        elif isinstance(node, ast.Subscript):
            asked = [node.value, node.slice]
        words = {n.value for a in asked for n in ast.walk(a) if isinstance(n, ast.Constant)} & QUARK_TYPES
        names = [ast.unparse(a).rpartition(".")[2] for a in asked if isinstance(a, ast.Name | ast.Attribute)]
        if words and any(TYPE_WORDS.search(name) for name in names):
            yield node.lineno, ", ".join(sorted(words))


def check_questions(root: Path) -> Iterator[str]:
    """Operators and quarks of run files answer questions; nobody outside their rooms asks for their class."""
    package = root / "python" / "trellis"
    paths = python_modules(package)
    modules = {name: ast.parse(path.read_text()) for name, path in sorted(paths.items())}
    asked = {base: classes_below(base, iter(modules.values())) for base in ASKED_CLASSES}
    for module, tree in modules.items():
        where = paths[module].relative_to(root)
        room = (python_room(module) or "").partition(".")[0]
        for base, home in ASKED_CLASSES.items():
            if room == home:
                continue
            for number, name in class_questions(tree):
                if name in asked[base]:
                    yield f"{where}:{number}: {name} is asked for what it does; its class is for {home}/ only"
        if room not in TYPE_ROOMS:
            for number, words in type_questions(tree):
                yield f"{where}:{number}: a quark is asked for what it does, not for its type: {words}"


def path_to_core(name: str, core: str, modules: dict[str, Path]) -> list[str] | None:
    """Return the chain of imports by which importing `name` (and its parent packages) loads the core, if it
    does."""
    stack: list[tuple[str, list[str]]] = [(name, [])]
    seen: set[str] = set()
    while stack:
        current, chain = stack.pop()
        if current == core or current.startswith(core + "."):
            return [*chain, core]
        if current in seen or not current.startswith(core.split(".")[0]):
            continue
        seen.add(current)
        parent = current.rpartition(".")[0]
        if parent:
            stack.append((parent, chain))
        if current in modules:
            for _, following in imported(current, modules[current], in_functions=False):
                stack.append((following, [*chain, current]))
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    root = parser.parse_args().root
    rule = read_rule((root / "src" / "CMakeLists.txt").read_text())
    problems = [
        *check_folders(root, rule),
        *check_bindings(root),
        *check_reference(root),
        *check_python_rooms(root),
        *check_python(root),
        *check_questions(root),
    ]
    print(*problems, sep="\n", end="\n" if problems else "")
    print(f"dependencies: {len(problems)} violations")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
