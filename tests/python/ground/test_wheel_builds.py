"""A wheel carries the compiled part for several processors: the best one is imported, and no other."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest

import trellis
from trellis.errors import BadArgument, NotAvailable
from trellis.ground import wheel_builds
from trellis.ground.compiled_core import load
from trellis.ground.wheel_builds import chosen_build, processor_flags

V3 = {"avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe", "xsave", "sse4_2"}
V4 = V3 | {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}


@pytest.fixture
def builds(tmp_path: Path, monkeypatch) -> Path:
    monkeypatch.delenv(wheel_builds.VARIABLE, raising=False)
    for level in ("x86-64-v3", "x86-64-v4"):
        (tmp_path / level).mkdir()
        (tmp_path / level / f"_core{EXTENSION_SUFFIXES[0]}").touch()
    return tmp_path


@pytest.mark.parametrize(
    ("flags", "level"), [(V3, "x86-64-v3"), (V4, "x86-64-v4"), (V4 - {"avx512vl"}, "x86-64-v3")]
)
def test_the_best_that_the_processor_can_run(builds: Path, flags: set[str], level: str) -> None:
    chosen = chosen_build(builds, flags)
    assert chosen is not None
    assert chosen.parent.name == level


def test_a_processor_that_can_run_none(builds: Path) -> None:
    with pytest.raises(
        NotAvailable, match="is for processors with x86-64-v3; this one lacks avx2, fma: build"
    ):
        chosen_build(builds, V3 - {"avx2", "fma"})


def test_one_that_is_named(builds: Path, monkeypatch) -> None:
    monkeypatch.setenv(wheel_builds.VARIABLE, "x86-64-v3")
    assert chosen_build(builds, V4) == builds / "x86-64-v3" / f"_core{EXTENSION_SUFFIXES[0]}"
    monkeypatch.setenv(wheel_builds.VARIABLE, "sse2")
    with pytest.raises(BadArgument, match="TRELLIS_BUILD: expected x86-64-v4 or x86-64-v3, found 'sse2'"):
        chosen_build(builds, V4)


def test_a_build_of_ones_own_has_none(tmp_path: Path) -> None:
    assert chosen_build(tmp_path, V4) is None
    assert chosen_build(tmp_path / "nowhere", V4) is None


def test_it_is_imported_as_the_compiled_part(tmp_path: Path) -> None:
    """In a package without a module beside it, as in a wheel, this build's module is that of a level."""
    module = Path(load().__file__)
    package = tmp_path / "trellis"
    package.mkdir()
    for entry in Path(trellis.__file__).parent.iterdir():
        if entry.suffix != ".so" and entry.name != "ground":
            (package / entry.name).symlink_to(entry.resolve())
    (package / "ground").mkdir()
    for entry in Path(wheel_builds.__file__).parent.glob("*.py"):
        (package / "ground" / entry.name).write_text(entry.read_text())
    (package / "builds/x86-64-v3").mkdir(parents=True)
    (package / "builds/x86-64-v3" / module.name).symlink_to(module)
    code = (
        "import trellis as tr, trellis.ground.compiled_core as c; U = tr.cold((2, 2, 2, 2)); "
        "print(U.plaquette, c.load().__name__, c.load().__file__)"
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), wheel_builds.VARIABLE: "x86-64-v3"}
    found = subprocess.run(
        [sys.executable, "-c", code],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert found.returncode == 0, found.stderr
    plaquette, name, file = found.stdout.split()
    assert (float(plaquette), name) == (1.0, "trellis._core")
    assert file == str(package / "builds/x86-64-v3" / module.name)


def test_flags_of_this_processor() -> None:
    if not Path("/proc/cpuinfo").exists():
        pytest.skip("no /proc/cpuinfo")
    assert isinstance(processor_flags(), set)
