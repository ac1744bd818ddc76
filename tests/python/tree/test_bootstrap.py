"""On machines without apt and without root, ./bootstrap says everything that is missing in one list."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
#: The script itself needs these programs of a system.
TOOLS = ("awk", "bash", "cat", "dirname", "grep", "head", "id", "mkdir", "sort", "tail", "tr")

#: This compiler finds the headers of its options alone, not those of this machine.
COMPILER = """
[ "$1" != -dumpversion ] || { echo 12; exit; }
read -r line
name=${line#*<}
for word; do [[ $word != -I* || ! -f ${word#-I}/${name%>} ]] || exit 0; done
exit 1
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Make the script alone, and a folder of programs that is its whole path."""
    shutil.copy(ROOT / "bootstrap", tmp_path)
    (tmp_path / "programs").mkdir()
    for name in TOOLS:
        add(tmp_path, name)
    return tmp_path


def add(tree: Path, name: str) -> None:
    """Put a program of this machine on the path of the script."""
    there = shutil.which(name)
    assert there is not None
    (tree / "programs" / name).symlink_to(there)


def bootstrap(tree: Path, *words: str, **environment: str) -> str:
    """Run the script, which fails; return what it says on standard error."""
    found = subprocess.run(
        ["bash", str(tree / "bootstrap"), *words],
        env={"PATH": str(tree / "programs"), **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 1, found.stdout
    return found.stderr


def packages(said: str) -> list[str]:
    """Return the names of the Debian packages in the list."""
    lines = said.splitlines()
    assert lines[0] == "bootstrap: these things are missing:"
    at = lines[1].index("Debian")
    return [line[at:].split()[0] for line in lines[2:] if line.startswith("  ")]


def test_all_that_is_missing_is_one_list(tree: Path) -> None:
    said = bootstrap(tree, "build")
    assert packages(said) == [
        "g++",
        "cmake",
        "ninja-build",
        "pkg-config",
        "python3",
        "zlib1g-dev",
        "libopenmpi-dev",
        "libhdf5-openmpi-dev",
    ]
    assert "spack install gcc@12: cmake@3.25: ninja pkgconf python@3.11: zlib openmpi hdf5+mpi &&" in said
    assert "python3 -m venv DIR && DIR/bin/pip install cmake ninja; then" in said
    assert "apt-get" not in said, "there is none"
    assert "libopenmpi-dev" not in bootstrap(tree, "build", "--no-mpi")


def test_what_is_too_old_is_missing(tree: Path) -> None:
    for name, answer in (("g++", "11"), ("cmake", "cmake version 3.24.9")):
        program = tree / "programs" / name
        program.write_text(f"#!{shutil.which('bash')}\necho '{answer}'\n")
        program.chmod(0o755)
    assert packages(bootstrap(tree, "setup"))[:2] == ["g++", "cmake"]
    (tree / "programs/cmake").write_text(f"#!{shutil.which('bash')}\necho 'cmake version 3.25.0'\n")
    assert packages(bootstrap(tree, "setup"))[:2] == ["g++", "ninja-build"]


def test_headers_from_a_prefix(tree: Path) -> None:
    program = tree / "programs/g++"
    program.write_text(f"#!{shutil.which('bash')}\n{COMPILER}")
    program.chmod(0o755)
    prefix = tree / "own"
    for name in ("Random123/philox.h", "zlib.h"):
        (prefix / "include" / name).parent.mkdir(parents=True, exist_ok=True)
        (prefix / "include" / name).write_text("#pragma once\n")
    (prefix / "bin").mkdir()
    (prefix / "bin/ninja").symlink_to(shutil.which("bash"))
    found = packages(bootstrap(tree, "setup", "--tests", "--prefix", str(prefix)))
    assert not {"librandom123-dev", "zlib1g-dev", "ninja-build", "g++"} & set(found)
    without = packages(bootstrap(tree, "setup", "--tests"))
    assert {"librandom123-dev", "zlib1g-dev", "ninja-build"} <= set(without)
    assert "librandom123-dev" not in packages(bootstrap(tree, "build")), "only a test includes it"
    loaded = bootstrap(tree, "setup", "--tests", CMAKE_PREFIX_PATH=f"{tree / 'nowhere'}:{prefix}")
    assert not {"librandom123-dev", "zlib1g-dev"} & set(packages(loaded)), "as after `spack load`"
    assert "there is no folder" in bootstrap(tree, "build", "--prefix", str(tree / "nowhere"))
    assert "--prefix needs a folder" in bootstrap(tree, "build", "--prefix")


def test_without_root_apts_line_is_told(tree: Path) -> None:
    (tree / "programs/id").unlink()
    for name, text in (("id", "echo 1000"), ("apt-get", "exit 100")):
        (tree / "programs" / name).write_text(f"#!{shutil.which('bash')}\n{text}\n")
        (tree / "programs" / name).chmod(0o755)
    said = bootstrap(tree, "build", "--no-mpi")
    assert "As root:     apt-get update && apt-get install -y g++ cmake ninja-build" in said
