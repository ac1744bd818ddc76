"""The files of packaging/ say what pyproject.toml says: they have one version and one list of
requirements."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import jinja2
import pytest

from trellis import __version__

ROOT = Path(__file__).resolve().parents[3]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
#: Each file says here where its version stands.
VERSIONS = {
    "pyproject.toml": r'^version = "(.*)"$',
    "CMakeLists.txt": r"^project\(trellis VERSION (\S+) ",
    "CITATION.cff": r"^version: (.*)$",
    "packaging/conda/meta.yaml": r'set version = "(.*)"',
    "packaging/spack/package.py": r'version\("(\d.*)", tag="v\1"\)',
}
#: conda-forge has another name for a package than PyPI.
CONDA_NAMES = {"matplotlib": "matplotlib-base"}


@pytest.mark.parametrize(("file", "pattern"), VERSIONS.items())
def test_one_version(file: str, pattern: str) -> None:
    assert re.findall(pattern, (ROOT / file).read_text(), re.MULTILINE) == [__version__]


def requirements(lines: list[str]) -> set[tuple[str, str]]:
    """Return name and versions of each requirement, without blanks."""
    found = (re.fullmatch(r"([\w.-]+)\s*(.*)", line) for line in lines)
    return {(match[1], match[2].replace(" ", "")) for match in found if match}


@pytest.mark.parametrize("mpi", ["", "openmpi"])
def test_the_recipe_of_conda_forge(mpi: str) -> None:
    """The Jinja lines of the recipe are filled in; the section `run` has what pyproject.toml asks for."""
    template = jinja2.Template((ROOT / "packaging/conda/meta.yaml").read_text())
    text = template.render(
        mpi=mpi, compiler=str, stdlib=str, CONDA_PY="311", PKG_HASH="0", PYTHON="python", PIN="x"
    )
    run = text.split("\n  run:\n")[1].split("\n\n")[0]
    listed = requirements([line.strip().removeprefix("- ").split("  #")[0] for line in run.splitlines()])
    asked = requirements(PROJECT["dependencies"])
    assert {(CONDA_NAMES.get(name, name), versions) for name, versions in asked} <= listed
    assert ("hdf5 * mpi_openmpi_*" if mpi else "hdf5 * nompi_*") in text


def test_the_package_of_spack() -> None:
    tree = ast.parse((ROOT / "packaging/spack/package.py").read_text())
    (package,) = (node for node in tree.body if isinstance(node, ast.ClassDef))
    calls = [node for node in ast.walk(package) if isinstance(node, ast.Call)]
    words = {
        call.args[0].value
        for call in calls
        if isinstance(call.func, ast.Name) and call.func.id == "depends_on" and call.args
    }
    for name, versions in requirements(PROJECT["dependencies"]):
        if name in ("gvar", "lsqfit", "pyerrors"):  # Spack has none of them
            continue
        least = re.search(r">=([\d.]+)", versions)
        assert least
        assert any(str(word).startswith(f"py-{name}@{least[1]}:") for word in words), name


def test_the_container_installs_what_bootstrap_asks_for() -> None:
    """The names are Debian's: the packages are those of a build with MPI."""
    bootstrap = (ROOT / "bootstrap").read_text()
    needed = bootstrap.split("needed_packages() {")[1].split("\n}")[0]
    with_mpi = needed.split("  else\n")[0]
    names = {name for line in re.findall(r"echo ([a-z0-9+ -]+)", with_mpi) for name in line.split()}
    assert {"g++", "libopenmpi-dev", "zlib1g-dev"} <= names
    stage = (ROOT / "packaging/Containerfile").read_text().split("COPY")[0]
    assert names <= set(stage.split())
