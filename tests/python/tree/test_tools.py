"""The checks of tools/ find what they are there to find, and nothing else."""

from __future__ import annotations

import dataclasses
import importlib.util
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[3]

RULE = """
trellis_add_folder(base)
trellis_add_folder(algebra SEES base)
trellis_add_folder(lattice SEES algebra)
trellis_add_folder(view SEES lattice)
trellis_add_folder(device SEES view PUBLIC_USES OpenMP::OpenMP_CXX)
trellis_add_folder(comm SEES device)
trellis_add_folder(kernels SEES device)
trellis_add_folder(field SEES kernels comm)
trellis_add_folder(operator SEES field)
trellis_add_folder(solver SEES field)
trellis_add_folder(gauge SEES field)
trellis_add_folder(multigrid SEES operator solver gauge)
trellis_add_folder(glass SEES field)
trellis_add_folder(io SEES gauge USES ZLIB::ZLIB)
trellis_add_folder(update SEES multigrid)
trellis_add_folder(measure SEES gauge operator solver USES trellis_hdf5)
"""


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


dependencies = load("check_dependencies")
compile_times = load("compile_time_report")
sizes = load("check_file_sizes")
machine_code = load("check_machine_code")
cuda_launches = load("check_cuda_launches")
readme = load("check_readme")
words = load("check_words")
fused_additions = load("check_fused_additions")


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


# ---- check_dependencies: C++ -----------------------------------------------------------------------------


def test_the_rule_is_that_of_the_design() -> None:
    rule = dependencies.read_rule((ROOT / "src" / "CMakeLists.txt").read_text())
    assert rule == dependencies.read_rule(RULE)
    assert rule["solver"] == rule["operator"] == rule["gauge"] == rule["field"] | {"field"}
    assert "comm" not in rule["kernels"]
    assert "solver" not in rule["operator"]
    assert not rule["measure"] & {"io", "update"}


def test_a_folder_cannot_see_one_to_its_right() -> None:
    with pytest.raises(ValueError, match="base SEES algebra"):
        dependencies.read_rule("trellis_add_folder(base SEES algebra)\ntrellis_add_folder(algebra)\n")
    with pytest.raises(ValueError, match="no line"):
        dependencies.read_rule("# nothing\n")


# Each entry has: file, one line of it, is it allowed.
INCLUDES = [
    ("solver/cg.cpp", '#include "trellis/field/spinor_field.hpp"', True),
    ("solver/cg.cpp", '#include "trellis/kernels/linalg/axpy.hpp"', True),
    ("solver/cg.cpp", '#include "trellis/operator/wilson.hpp"', False),
    ("solver/cg.cpp", '#include "trellis/gauge/plaquette.hpp"', False),
    ("solver/eigen/lanczos.cpp", '  #  include "trellis/gauge/plaquette.hpp"', False),
    ("operator/wilson.hpp", '#include "trellis/solver/cg.hpp"', False),
    ("base/error.hpp", '#include "trellis/algebra/complex.hpp"', False),
    ("base/error.hpp", '// #include "trellis/algebra/complex.hpp"', True),
    ("lattice/geometry.hpp", "#include <vector>", True),
    ("kernels/dirac/hop.hpp", '#include "trellis/view/layout.hpp"', True),
    ("kernels/dirac/hop.hpp", '#include "trellis/device/stream.hpp"', False),
    ("kernels/dirac/hop.launch.cpp", '#include "trellis/device/launch.hpp"', True),
    ("kernels/dirac/hop.launch.cpp", '#include "trellis/device/cpu/for_each_site.hpp"', False),
    ("kernels/dirac/hop.launch.cpp", '#include "trellis/comm/communicator.hpp"', False),
    ("kernels/dirac/hop.launch.cpp", "launch::for_each_site(sites, kernel);", True),
    ("kernels/dirac/hop.launch.cpp", "cpu::for_each_site(sites, kernel);", False),
    ("kernels/dirac/hop.hpp", "  cuda::Stream stream;  // a queue", False),
    ("kernels/dirac/hop.hpp", "  void read_ahead(int block) const;", False),
    ("kernels/dirac/hop.hpp", "  void set_asks_ahead(bool asks) { asks_ = asks; }", False),
    ("kernels/dirac/hop.hpp", "  ask_for<bytes>(links.origin_address(block + 2, mu));", False),
    ("kernels/dirac/hop.hpp", "template <class ClaimLines>", False),
    ("kernels/dirac/hop.hpp", "  // read_ahead() of walks", True),
    ("kernels/dirac/hop.hpp", '#include "trellis/view/ask_ahead.hpp"', False),
    ("kernels/dirac/hop.hpp", '#include "trellis/kernels/dirac/hop_lines.hpp"', False),
    ("kernels/dirac/hop_lines.hpp", "  static constexpr int blocks_ahead = 2;", True),
    ("kernels/dirac/hop_lines.hpp", '#include "trellis/device/launch.hpp"', False),
    ("kernels/dirac/hop.launch.cpp", '#include "trellis/kernels/dirac/hop_lines.hpp"', True),
    ("kernels/dirac/hop.launch.cpp", "launch::for_each_site_read_ahead<S>(sites, 1, hop, lines);", True),
    ("kernels/dirac/hop.cpu.cpp", "int x;", False),
    ("kernels/dirac/hop.cuda.cu", "int x;", False),
    ("update/hmc.cpp", '#include "trellis/solver/cg.hpp"', True),
    ("update/hmc.cpp", '#include "trellis/io/ildg.hpp"', False),
    ("measure/meson.cpp", '#include "trellis/update/hmc.hpp"', False),
    ("field/spinor_field.cpp", '#include "reference/hop.hpp"', False),
    ("comm/mpi/exchange.cpp", "#include <mpi.h>", True),
    ("io/mpi_file.cpp", "#include <mpi.h>", True),
    ("comm/communicator.hpp", "#include <mpi.h>", False),
    ("field/halo.cpp", "#include <mpi.h>", False),
    ("device/cuda/memory.cu", "#include <cuda_runtime.h>", True),
    ("device/memory.hpp", "#include <cuda_runtime.h>", False),
    ("device/cpu/launch.cpp", "#pragma omp parallel", True),
    ("kernels/linalg/axpy.launch.cpp", "#pragma omp parallel for", False),
    ("unheard_of/x.cpp", "int x;", False),
    ("base/clock.hpp", "auto t = std::chrono::steady_clock::now();", True),
    ("solver/cg.cpp", "auto t = std::chrono::steady_clock::now();", False),
    ("device/cpu/walk.hpp", "auto t = std::chrono::steady_clock::now();", False),
    ("comm/mpi/exchange.cpp", "double t = MPI_Wtime();", False),
    ("solver/cg.cpp", "// no steady_clock here", True),
    ("solver/cg.cpp", "report.seconds = watch.seconds();", True),
    ("solver/cg.cpp", "if (watch.seconds() > 3) return;", False),
    ("update/hmc.cpp", "while (limit >= watch.seconds()) step();", False),
    ("device/cpu/walk.hpp", "if (watch.seconds() < best) best = watch.seconds();", True),
    ("operator/walk.cpp", "const double start = seconds_now();", False),
    ("device/cpu/walk.cpp", "const double start = seconds_now();", True),
    ("gauge/flow.cpp", "history.push_back({flow.time(), energy});", True),
    ("operator/hop.cpp", "if (out.spec().backend == Backend::cuda) return;", False),
    ("kernels/sums.hpp", "template <> void launch<Backend::cpu>();", False),
    ("operator/hop.cpp", "if (detail::is_on_host(out)) return;", False),
    ("operator/hop.cpp", "if (!launches_can_be_cut(out.spec().backend)) return;", True),
    ("operator/hop.hpp", "Backend backend{};  ///< not Backend::cuda", True),
    ("field/linear_algebra.cpp", "if (in.spec().backend == Backend::cuda) return;", False),
    ("field/gauge_field.hpp", "Backend backend = Backend::cpu, Precision precision);", False),
    ("field/storage/on_host.cpp", "return U.backend() != Backend::cuda;", True),
    ("comm/transport/choice.cpp", "if (backend != Backend::cuda) return way;", True),
    ("comm/redistribution.cpp", "make_transport(all, sends, receives, Backend::cuda);", False),
]


@pytest.mark.parametrize("file, line, allowed", INCLUDES, ids=lambda value: str(value)[:45])
def test_includes(tmp_path: Path, file: str, line: str, allowed: bool) -> None:
    root = write(tmp_path, {f"src/trellis/{file}": f"#pragma once\n{line}\n"})
    problems = list(dependencies.check_folders(root, dependencies.read_rule(RULE)))
    assert bool(problems) is not allowed, problems
    if problems:
        assert file in problems[0]


@pytest.mark.parametrize(
    "line, allowed",
    [
        ("host.backend = Backend::cpu;  // == Backend::cuda", True),
        ("write(spec.backend == Backend::cpu ? vector : vector.host_copy());", False),
        ("if (Backend::cuda != U.backend()) return;", False),
        ("case Backend::cuda:", False),
        ("on_host(vector, [&](SpinorField& host) { read(host); });", True),
        ("using Clock = std::chrono::steady_clock;", False),
        ("const double start = seconds_now();", False),
    ],
)
def test_bindings_ask_no_clock_and_not_where_a_field_lies(tmp_path: Path, line: str, allowed: bool) -> None:
    root = write(tmp_path, {"bindings/solver.cpp": f"{line}\n"})
    assert bool(list(dependencies.check_bindings(root))) is not allowed


@pytest.mark.parametrize("folder, allowed", [("algebra", True), ("lattice", True), ("view", False)])
def test_reference_shares_little(tmp_path: Path, folder: str, allowed: bool) -> None:
    root = write(tmp_path, {"reference/hop.hpp": f'#include "trellis/{folder}/x.hpp"\n'})
    assert bool(list(dependencies.check_reference(root))) is not allowed


# ---- check_dependencies: Python --------------------------------------------------------------------------

# Each entry has: text of trellis/analysis/fit.py, is it allowed.
PYTHON_IMPORTS = [
    ("import numpy\nfrom trellis.plain import table\n", True),
    ("from ..plain import table\n", True),
    ("import trellis._core\n", False),
    ("from trellis import _core\n", False),
    ("from .. import _core\n", False),
    ("from trellis.compiled import solve\n", False),
    ("from ..compiled import solve\n", False),
    ("from ..indirect import solve\n", False),
    ("def fit():\n    from trellis.compiled import solve\n", False),
    ("try:\n    import trellis._core\nexcept ImportError:\n    pass\n", False),
    ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from trellis._core import Field\n", True),
    (
        "from ..lazy import solve\n",
        True,
    ),  # the core is imported inside a function
]


@pytest.mark.parametrize("text, allowed", PYTHON_IMPORTS, ids=lambda value: str(value).splitlines()[0])
@pytest.mark.parametrize("folder", ["analysis", "campaign", "report"])
def test_analysis_never_reaches_the_core(tmp_path: Path, folder: str, text: str, allowed: bool) -> None:
    package = "python/trellis"
    root = write(
        tmp_path,
        {
            f"{package}/__init__.py": "",
            f"{package}/plain.py": "import math\n",
            f"{package}/compiled.py": "from trellis import _core\n",
            f"{package}/indirect.py": "from . import compiled\n",
            f"{package}/lazy.py": "def solve():\n    from . import _core\n",
            f"{package}/{folder}/__init__.py": "",
            f"{package}/{folder}/fit.py": text,
        },
    )
    problems = list(dependencies.check_python(root))
    assert bool(problems) is not allowed, problems
    if problems:
        assert "trellis._core" in problems[0]


def test_the_packages_own_init_counts(tmp_path: Path) -> None:
    root = write(
        tmp_path,
        {
            "python/trellis/__init__.py": "from . import _core\n",
            "python/trellis/plain.py": "",
            "python/trellis/analysis/fit.py": "from ..plain import table\n",
        },
    )
    assert list(dependencies.check_python(root))


ROOM_IMPORTS = [
    # Each entry has: module, its text, a part of what is said, or "".
    ("quarks/a", "from ..gauge.fields import U\nfrom .. import _core\nimport trellis.ground.core", ""),
    ("gauge/a", "from ..quarks import operators", "gauge may not import trellis.quarks"),
    ("quarks/a", "def f():\n    from ..solve.cg import cg", "quarks may not import trellis.solve.cg"),
    ("run_files/a", "if TYPE_CHECKING:\n    from ..gauge.fields import U", "run_files may not import"),
    ("campaign/launchers/a", "import trellis.gauge.fields", "campaign may not import trellis.gauge.fields"),
    ("report/a", "from ..analysis.masses.fit import fit", ""),
    (
        "report/a",
        "def f():\n    from ..ground.compiled_core import load",
        "report runs without the compiled core",
    ),
    ("solve/a", "from ..ground.compiled_core import load", ""),
    ("report/a", "from ..analysis import analyze", "report may not import trellis.analysis"),
    ("analysis/masses/a", "from ..charges.fit import fit", "analysis.masses may not import"),
    ("commands/a", "from ..errors import Error", "commands imports trellis.errors, which is for programs"),
    ("measure/a", "from .. import tr", "measure imports trellis, which is for programs"),
    ("attic/a", "", "trellis.attic.a lies in no room"),
]


@pytest.mark.parametrize("module, text, said", ROOM_IMPORTS)
def test_rooms_see_those_below(tmp_path: Path, module: str, text: str, said: str) -> None:
    files = (
        "errors",
        "gauge/fields",
        "quarks/operators",
        "solve/cg",
        "analysis/masses/fit",
        "analysis/charges/fit",
    )
    root = write(
        tmp_path,
        {
            "python/trellis/__init__.py": "from .quarks.operators import M\n",
            **{f"python/trellis/{name}.py": "" for name in files},
            **{f"python/trellis/{room}/__init__.py": "" for room in ("gauge", "quarks", "solve", "analysis")},
            f"python/trellis/{module}.py": text + "\n",
        },
    )
    problems = list(dependencies.check_python_rooms(root))
    assert len(problems) == bool(said)
    assert said in "".join(problems)


@pytest.mark.parametrize(
    "text",
    [
        "from .b import g",
        "from . import b",
        "import trellis.gauge.b",
        "def f():\n    from .b import g",
        "if TYPE_CHECKING:\n    from .b import g",
    ],
)
def test_imports_go_in_no_circle(tmp_path: Path, text: str) -> None:
    files = {"a": text, "b": "from .c import h", "c": "from .a import f"}
    root = write(tmp_path, {f"python/trellis/gauge/{name}.py": part + "\n" for name, part in files.items()})
    (problem,) = dependencies.check_python_rooms(root)
    assert "circle" in problem
    assert all(f"trellis.gauge.{name}" in problem for name in files)
    (root / "python/trellis/gauge/c.py").write_text("")
    assert list(dependencies.check_python_rooms(root)) == []


def test_this_tree_keeps_the_rule() -> None:
    rule = dependencies.read_rule((ROOT / "src" / "CMakeLists.txt").read_text())
    assert list(dependencies.check_folders(ROOT, rule)) == []
    assert list(dependencies.check_reference(ROOT)) == []
    assert list(dependencies.check_python_rooms(ROOT)) == []
    assert list(dependencies.check_python(ROOT)) == []


OPERATORS = """
class QuarkOperator: ...
class Wilson(QuarkOperator): ...
class Clover(Wilson): ...
"""
RUN_FILE_QUARKS = """
class Quark: ...
class Hisq(Quark): ...
class SeaHisq(Hisq): ...
SeaQuark = Hisq | SeaHisq
"""
# Each entry has: text of trellis/solve/fit.py, what is said of it.
QUESTIONS = [
    ("isinstance(M, QuarkOperator)\n", ""),
    ("isinstance(M, Clover)\n", "Clover is asked"),
    ("isinstance(M, (int, operators.Wilson))\n", "Wilson is asked"),
    ('instance("M", M, Wilson)\n', "Wilson is asked"),
    ("isinstance(f, int | SeaHisq)\n", "SeaHisq is asked"),
    ("issubclass(kind, SeaQuark)\n", "SeaQuark is asked"),
    ("isinstance(value, str)\n", ""),
    ('f.type == "hisq"\n', "hisq"),
    ('fermion.type in ("wilson", "clover")\n', "clover, wilson"),
    ('f.type == "gaussian"\n', ""),
    ('{"wilson": 1}["wilson"]\n', ""),
    ("f.has_spin\n", ""),
]


@pytest.mark.parametrize(("text", "said"), QUESTIONS, ids=lambda value: str(value).strip() or "legal")
def test_quarks_are_asked_for_what_they_do(tmp_path: Path, text: str, said: str) -> None:
    package = "python/trellis"
    files = {f"{package}/quarks/operators.py": OPERATORS + "isinstance(M, Wilson)\n"}
    files |= {f"{package}/run_files/quarks.py": RUN_FILE_QUARKS + 'f.type == "hisq"\nisinstance(f, Hisq)\n'}
    root = write(tmp_path, {**files, f"{package}/solve/fit.py": text})
    found = list(dependencies.check_questions(root))
    assert [line.partition(":")[0] for line in found] == ([f"{package}/solve/fit.py"] if said else [])
    assert said in "".join(found)


# ---- check_fused_additions --------------------------------------------------------------------------------

CODE = """
plain: vmulpd %zmm0, %zmm1, %zmm2
       vfmadd213pd %zmm0, %zmm1, %zmm2
       ret
joined: {instruction}
       ret
.type plain, @function
.type joined, @function
"""


@pytest.mark.skipif(
    platform.machine() != "x86_64" or shutil.which("as") is None, reason="x86-64 and binutils"
)
@pytest.mark.parametrize(
    ("instruction", "expected"),
    [
        ("vfmaddsub213pd %ymm0, %ymm1, %ymm2", ["joined"]),
        ("vfmsubadd231ps %zmm0, %zmm1, %zmm2", ["joined"]),
        ("vaddsubpd %ymm0, %ymm1, %ymm2", []),
    ],
)
def test_fused_additions_are_found(tmp_path, instruction, expected):
    path = tmp_path / "code.o"
    subprocess.run(["as", "-o", path, "-"], input=CODE.format(instruction=instruction), text=True, check=True)
    assert fused_additions.functions_with_fused_additions(path) == expected


# ---- check_file_sizes ------------------------------------------------------------------------------------


def cpp_function(lines: int) -> str:
    return "int f() {\n" + "  g();\n" * (lines - 2) + "}\n"


@pytest.mark.parametrize(
    "name, text, fails",
    [
        ("src/trellis/base/a.cpp", "// line\n" * 799, False),
        ("src/trellis/base/a.cpp", "// line\n" * 800, True),
        ("src/trellis/base/a.cpp", cpp_function(119), False),
        ("src/trellis/base/a.cpp", cpp_function(120), True),
        ("python/trellis/a.py", "def f():\n" + "    g()\n" * 118, False),
        ("python/trellis/a.py", "def f():\n" + "    g()\n" * 119, True),
    ],
)
def test_sizes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str, fails: bool) -> None:
    write(tmp_path, {name: text})
    monkeypatch.setattr(sys, "argv", ["check_file_sizes.py", "--root", str(tmp_path)])
    assert sizes.main() == int(fails)


# ---- check_words -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text, count",
    [
        ('def f():\n    """What it returns."""\n', 1),
        ('"""`whether` it is there."""\n', 1),
        ('class A:\n    """Of a thing."""\n\n    async def f(self):\n        """\n        Those."""\n', 2),
        ('"""The function says what it returns."""\n', 0),
        ('"""Offers that stand."""\n\nx = 1\n"""What is no docstring."""\n# Of a comment.\n', 0),
        ('def f():\n    """"""\n', 0),
    ],
)
def test_first_words_of_docstrings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], text: str, count: int
) -> None:
    write(tmp_path, {"python/trellis/a/b.py": text})
    monkeypatch.setattr(sys, "argv", ["check_words.py", "--root", str(tmp_path)])
    monkeypatch.setattr(words, "LIMITS", {"python": count})
    assert words.main() == 0
    assert f"python/: {count} docstrings" in capsys.readouterr().out
    monkeypatch.setattr(words, "LIMITS", {"python": count - 1})
    assert words.main() == 1
    assert ("python/trellis/a/b.py:" in capsys.readouterr().out) == (count > 0)
    monkeypatch.setattr(words, "LIMITS", {"python": count + 1})
    assert words.main() == 0
    assert f"to {count}\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("#: Of a run.\nA = 1\n", 1),
        ("#: A run has\n#: of these two.\nA = 1\n", 0),
        ("A = 1  #: of a run\n", 0),
        ("# Of a run.\n", 0),
        ("class A:\n    #: And of b.\n    a = 1\n", 1),
    ],
)
def test_comments_on_constants_are_sentences(tmp_path: Path, text: str, count: int) -> None:
    write(tmp_path, {"python/a.py": text, "tests/a.py": text})
    assert len(words.half_sentences(tmp_path / "python")) == count
    assert words.half_sentences(tmp_path / "tests") == []


# ---- compile_time_report ---------------------------------------------------------------------------------

NINJA_LOG = (
    "# ninja log v5\n"
    "0\t9000\t1\tsrc/CMakeFiles/trellis_io.dir/trellis/io/lime.cpp.o\taaaa\n"
    "0\t2000\t2\tsrc/CMakeFiles/trellis_io.dir/trellis/io/lime.cpp.o\taaaa\n"
    "1000\t30000\t3\tsrc/CMakeFiles/trellis_kernels.dir/__/kernels/trellis/kernels/dirac/hop.double.8.cpu.cpp.o\tbbbb\n"
    "0\t90000\t4\ttests/CMakeFiles/test_hop.dir/unit/test_hop.cpp.o\tcccc\n"
)


def test_compile_times(capsys: pytest.CaptureFixture[str]) -> None:
    steps = compile_times.read_log(NINJA_LOG)
    assert compile_times.report(steps, None, limit=31) == 0
    printed = capsys.readouterr().out
    assert "library and Python module: 2 files, 31 s" in printed  # the later entry of lime.cpp counts
    assert "tests and benchmarks: 1 files, 90 s" in printed
    assert "29.0 s  trellis/kernels/dirac/hop.double.8.cpu.cpp" in printed
    assert "library and Python module: 30 s on" in printed
    assert compile_times.report(steps, None, limit=29) == 0  # it is within the tolerance, and said so
    assert "ABOVE THE LIMIT by 3%" in capsys.readouterr().out
    assert compile_times.report(steps, None, limit=23) == 1  # tests do not count, the library does
    assert compile_times.report(steps, 36.0, limit=23) == 0  # each of two cores has 18 s of work
    assert compile_times.report(steps, 60.0, limit=23) == 1


def test_names_of_compiled_files() -> None:
    folder = "src/CMakeFiles/trellis_io.dir"
    assert compile_times.readable(f"{folder}/trellis/io/lime.cpp.o") == "trellis/io/lime.cpp"
    together = compile_times.readable(f"{folder}/Unity/unity_1_cxx.cxx.o")
    assert together == "trellis_io, files that are compiled together (1)"


def test_kernels_for_tests_are_not_what_users_get(capsys: pytest.CaptureFixture[str]) -> None:
    kernels = "0\t10000\t5\tsrc/CMakeFiles/trellis_kernels_for_tests.dir/hop.double.16.cpu.cpp.o\tdddd\n"
    steps = compile_times.read_log(NINJA_LOG + kernels)
    assert compile_times.report(steps, None, limit=25) == 0
    printed = capsys.readouterr().out
    assert "kernels for tests: 1 files, 10 s" in printed
    assert "what users get, 76% of that: 23 s" in printed
    assert compile_times.report(steps, 40.0, limit=12) == 1  # the work of two cores is 15 s
    assert compile_times.report(steps, 40.0, limit=16) == 0


def test_the_yardstick_is_work_of_the_compiler() -> None:
    assert 0 <= compile_times.yardstick_seconds("true") < 1  # this one does nothing
    with pytest.raises(SystemExit, match=r"false does not compile .*compile_yardstick\.cpp"):
        compile_times.yardstick_seconds("false")


def test_more_layouts_have_more_time() -> None:
    assert compile_times.limit_seconds(compile_times.read_log(NINJA_LOG)) == compile_times.LIMIT_SECONDS
    wide = (
        "0\t1\t5\tsrc/CMakeFiles/trellis_kernels.dir/__/kernels/trellis/kernels/x.float.16.cpu.cpp.o\tdddd\n"
    )
    steps = compile_times.read_log(NINJA_LOG + wide)
    assert compile_times.limit_seconds(steps) == compile_times.LIMIT_SECONDS_AVX512
    for_tests = wide.replace("trellis_kernels.dir", "trellis_kernels_for_tests.dir")
    assert (
        compile_times.limit_seconds(compile_times.read_log(NINJA_LOG + for_tests))
        == compile_times.LIMIT_SECONDS
    )


def test_a_slow_core_has_more_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".ninja_log").write_text(NINJA_LOG)  # it took 30 s
    monkeypatch.setattr(sys, "argv", ["compile_time_report", str(tmp_path), "--limit", "15"])
    for slowness, status in ((1.0, 1), (1.9, 0)):
        yardstick = slowness * compile_times.YARDSTICK_SECONDS
        monkeypatch.setattr(compile_times, "yardstick_seconds", lambda compiler, seconds=yardstick: seconds)
        assert compile_times.main() == status


def test_cpu_time_is_that_of_the_first_library_build() -> None:
    lines = "9.0 1.0 1.0 all\n30.1 50.5 2.5 trellis_library trellis_python\n0.1 0.1 0.0 trellis_python\n"
    assert compile_times.library_cpu(lines) == 53.0
    assert compile_times.library_cpu("9.0 1.0 1.0 all\n") is None


def test_a_log_of_something_else_is_refused() -> None:
    with pytest.raises(ValueError, match="not a Ninja log"):
        compile_times.read_log("0\t1\t2\tx.o\ty\n")


# ---- check_machine_code ----------------------------------------------------------------------------------

ASSEMBLY = """\
\t\tFunction : _Z3hop
        /*0000*/                   LDG.E.128.CONSTANT R4, desc[UR4][R2.64] ;  /* 0x1 */
                                                                              /* 0x2 */
        /*0010*/              @!P0 LDG.E.64 R8, desc[UR4][R2.64+0x10] ;       /* 0x1 */
        /*0020*/                   STG.E.U16 desc[UR4][R2.64], R4 ;           /* 0x1 */
        /*0030*/                   STL [R1], R4 ;                             /* 0x1 */
        /*0040*/               @P1 EXIT ;                                     /* 0x1 */
        /*0050*/                   NOP;                                       /* 0x1 */
"""
RESOURCES = " Function _Z3hop:\n  REG:96 STACK:8 SHARED:0 LOCAL:0 CONSTANT[0]:600 TEXTURE:0\n"


def test_sources_of_machine_code_are_told_apart_but_for_comments(tmp_path: Path) -> None:
    for name in machine_code.OTHERS:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("set(x 1)\n")
    kernel = tmp_path / "src" / "trellis" / "kernels" / "hop.launch.cpp"
    kernel.parent.mkdir(parents=True)
    kernel.write_text("int x = 1;  // one\n")
    of_host = kernel.with_name("hop.cpp")

    def found(compiler: str = "nvcc 12.8") -> str:
        return machine_code.hash_of_sources(tmp_path, compiler)

    first = found()
    kernel.write_text("// two\nint x = 1;\n\n")
    of_host.write_text("int y;\n")
    assert found() == first
    assert found("nvcc 12.9") != first
    kernel.write_text("int x = 2;  // one\n")
    assert found() != first
    kernel.write_text("int x = 1;\n")
    (tmp_path / machine_code.OTHERS[0]).write_text("set(x 2)\n")
    assert found() != first
    table = machine_code.write_table({"Hop<float>": machine_code.Family(1, 96, 0, 1000, 0, 100, 0, 10)})
    named = machine_code.with_sources(machine_code.with_sources(table, "0" * 32), first)
    assert machine_code.SOURCES.findall(named) == [first]
    assert machine_code.read_table(named) == machine_code.read_table(table)


def test_the_machine_code_of_a_kernel() -> None:
    [kernel] = machine_code.read_kernels(ASSEMBLY, RESOURCES)
    assert kernel == machine_code.Kernel("_Z3hop", 96, 8, instructions=5, local=1, widths=(1, 1, 1))
    with pytest.raises(ValueError, match="no resources of _Z3hop"):
        list(machine_code.read_kernels(ASSEMBLY, ""))


@pytest.mark.parametrize(
    "name, family",
    [
        (
            "void trellis::cuda::site_kernel<trellis::WilsonHop<trellis::CudaLayout, float, 12> >"
            "(trellis::WilsonHop<trellis::CudaLayout, float, 12>, int const*, int, int)",
            "WilsonHop<float>",
        ),
        (
            "void trellis::cuda::columns_kernel<4, trellis::StaggeredHop<trellis::CudaLayout, trellis::Half, "
            "18, 14> >(int)",
            "StaggeredHop<Half> of 4 columns",
        ),
        (
            "void trellis::cuda::term_kernel<trellis::WithNorm<trellis::CombineAtSite<trellis::CudaLayout, "
            "double, 6, true> >, 1>(int)",
            "WithNorm<CombineAtSite<double>>",
        ),
        (
            "void trellis::cuda::parts_kernel<8, 6, trellis::CoarseHopOfRows<trellis::CudaLayout, float, "
            "trellis::Half, 2, 4> >(int)",
            "CoarseHopOfRows<float, Half>",
        ),
        ("trellis::cuda::(anonymous namespace)::add_parts(double const*, int)", "add_parts"),
    ],
)
def test_kernels_of_a_functor_and_storage_are_a_family(name: str, family: str) -> None:
    assert machine_code.family_of(name) == family


@pytest.mark.parametrize(
    "changes, words",
    [
        ({}, None),
        ({"registers": 104, "instructions": 1040, "local": 0}, None),
        ({"registers": 128}, "registers 128"),
        ({"stack": 8}, "stack 8"),
        ({"instructions": 1200}, "instructions 1200"),
        ({"local": 2}, "local 2"),
        ({"narrow": 400, "wide": 0}, "400 loads and stores"),
        ({"narrow": 100, "wide": 10}, "10 of 110 loads and stores move 16 bytes"),
    ],
)
def test_what_has_become_worse(changes: dict[str, int], words: str | None) -> None:
    before = machine_code.Family(2, 96, 0, 1000, 0, wide=100, half=0, narrow=10)
    table = machine_code.read_table(machine_code.write_table({"Hop<float>": before}))
    problems = machine_code.compare(table, {"Hop<float>": dataclasses.replace(before, **changes)})
    assert bool(problems) == (words is not None)
    assert words is None or any(words in problem for problem in problems), problems


def test_table_and_build_have_the_same_families() -> None:
    family = machine_code.Family(1, 96, 0, 1000, 0, 100, 0, 10)
    assert machine_code.compare({"A": family}, {"B": family}) == [
        "A: the table has it, but no object does",
        "B: the table does not have it",
    ]
    with pytest.raises(ValueError, match="expected a family and 8 numbers"):
        machine_code.read_table("A 1 2 3\n")


# ---- check_readme ----------------------------------------------------------------------------------------


def fake_help(command: list[str]) -> tuple[int, str]:
    if command[0].endswith("bootstrap"):
        return 0, "usage: ./bootstrap demo\n ./bootstrap test"
    helps = {
        ("info", "--help"): (0, "--json  --seed"),
        ("bench", "--help"): (0, "usage: trellis bench WHAT\n  WHAT: solver, wilson"),
        ("bench", "wilson", "--help"): (2, "usage: [--rhs N]"),
    }
    return helps.get(tuple(command[1:]), (2, "no such command"))


@pytest.mark.parametrize(
    "line, allowed",
    [
        ("./bootstrap test", True),
        ("./bootstrap fly", False),
        ("trellis info conf.ildg --json", True),
        ("$ trellis info conf.ildg --jsn", False),
        ("mpirun -n 8 trellis info conf.ildg --seed 1  # a comment", True),
        ("trellis teleport", False),
        ("trellis bench wilson --rhs 4", True),
        ("trellis bench wilson --seed 4", False),
        ("trellis bench galaxy", False),
    ],
)
def test_readme_commands(line: str, allowed: bool) -> None:
    problems = list(readme.check_commands(f"```sh\n{line}\n```\n", ROOT, fake_help))
    assert bool(problems) is not allowed, problems


def test_readme_links_and_python(tmp_path: Path) -> None:
    write(tmp_path, {"doc/a.md": ""})
    assert not list(readme.check_links("[a](doc/a.md#x) [web](https://example.org)", tmp_path))
    assert list(readme.check_links("[b](doc/b.md)", tmp_path))
    assert not list(readme.check_python("```python\nx = 1\n```\n"))
    assert list(readme.check_python("```python\nx = = 1\n```\n"))


def test_readme_first_screen() -> None:
    assert not list(readme.check_first_screen("./bootstrap demo\n./bootstrap test\n"))
    assert list(readme.check_first_screen("\n" * 50 + "./bootstrap demo\n./bootstrap test\n"))


CPU_SYMBOLS = """\
00 W void trellis::launch_wilson_hop<trellis::CpuLayout<1>, trellis::Half>(trellis::WilsonHopCall const&)
00 W void trellis::launch_plaquette_sum<trellis::CpuLayout<1>, double>(trellis::GaugeCall const&)
00 W void trellis::launch_plaquette_sum<trellis::CpuLayout<16>, double>(trellis::GaugeCall const&)
00 W void trellis::launch_slice_sums_of<trellis::CpuLayout<1> >(trellis::SliceSumsCall const&)
"""
CUDA_SYMBOLS = """\
00 W void trellis::launch_wilson_hop<trellis::CudaLayout, trellis::Half>(trellis::WilsonHopCall const&)
00 W void trellis::launch_plaquette_sum<trellis::CudaLayout, double>(trellis::GaugeCall const&)
00 W void trellis::launch_slice_sums_of<trellis::CudaLayout>(trellis::SliceSumsCall const&)
"""


@pytest.mark.parametrize(
    "without, lacking",
    [
        ("none of them", set()),
        ("Half", {("launch_wilson_hop", "Half")}),
        ("plaquette", {("launch_plaquette_sum", "double")}),
        ("slice", {("launch_slice_sums_of", "")}),
    ],
)
def test_a_launch_that_only_the_cpu_has_is_found(without: str, lacking: set[tuple[str, str]]) -> None:
    cuda = [line for line in CUDA_SYMBOLS.splitlines() if without not in line]
    assert cuda_launches.missing(CPU_SYMBOLS.splitlines(), cuda) == (lacking, 3)


def test_each_launch_on_the_cpu_has_one_on_gpus_in_the_same_storage() -> None:
    """The first lines of the files show what check_cuda_launches finds after two builds."""
    launches = sorted((ROOT / "src" / "trellis" / "kernels").rglob("*.launch.cpp"))
    assert launches
    for launch in launches:
        storages = {
            backend: storage
            for backends, storage in re.findall(
                r"^// instantiate: BACKEND=(\S+)(?: STORAGE=(\S+))?", launch.read_text(), re.MULTILINE
            )
            for backend in backends.split(",")
        }
        if "cuda" not in storages:
            assert set(re.findall(r"void (launch_\w+)<", launch.read_text())) <= cuda_launches.ON_CPUS_ALONE
        elif "cpu" in storages:  # fields on the host are converted without launches
            assert storages["cpu"] == storages["cuda"], launch
