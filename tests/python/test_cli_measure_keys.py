"""trellis measure: keys of solvers, boundaries, sources and channels against the library and exact relations."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest
from command_line import run

import trellis as tr

MEASURE = """\
[configurations]
files = "field.1.ildg"
[fermion]
kappa = 0.125
csw = 1.2
{fermion}
[solver]
{solver}
[source]
positions = [[1, 2, 3, 2]]
{source}
[correlators]
{correlators}
[output]
directory = "{folder}"
{output}
"""
PION = 'mesons = ["pion"]\nbaryons = []'


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("measured")
    tr.quenched(lattice=(4, 4, 4, 4), beta=5.7, seed=4, sweeps=5).write(folder / "field.1.ildg", "ildg")
    return folder


@pytest.fixture(scope="module")
def U(folder: Path) -> tr.GaugeField:
    return tr.read_gauge_field(folder / "field.1.ildg")


def measure(folder: Path, name: str, **tables: str) -> Path:
    """The result of a run file with these lines in its tables."""
    lines = {key: tables.get(key, "") for key in ("fermion", "source", "output")}
    lines |= {"solver": tables.get("solver", "tolerance = 1e-11"), "correlators": tables["correlators"]}
    (folder / f"{name}.toml").write_text(MEASURE.format(folder=name, **lines))
    run("measure", f"{name}.toml", cwd=folder)
    return folder / name / "correlators.000001.h5"


def correlator(path: Path, name: str) -> np.ndarray:
    with h5py.File(path) as file:
        return file[f"correlators/{name}"][0, 0]


@pytest.mark.parametrize(
    "lines, solver, default",
    [
        (
            'type = "gcr"\nrestart_length = 2\ninner_precision = "double"',
            tr.gcr(restart_length=2),
            tr.gcr(),
        ),
        ('type = "mr"\nrelaxation = 0.6\ninner_precision = "double"', tr.mr(relaxation=0.6), tr.mr()),
        (
            'type = "cg"\nupdate_threshold = 0.001\ninner_precision = "half"',
            tr.mixed_precision(tr.cg(), inner="half", update_threshold=0.001),
            tr.mixed_precision(tr.cg(), inner="half"),
        ),
    ],
    ids=["restart_length", "relaxation", "update_threshold"],
)
def test_keys_of_solvers(
    folder: Path, U: tr.GaugeField, lines: str, solver: tr.Solver, default: tr.Solver
) -> None:
    """A run file takes as many iterations as the library does, and not those of the default."""
    path = measure(folder, lines.split("\n")[1].split()[0], solver=lines, correlators=PION)
    M = tr.WilsonClover(U, kappa=0.125, csw=1.2)
    source = tr.point_source(U.geometry, (1, 2, 3, 2))
    reports = [tr.even_odd(method)(M).propagator(source).report for method in (solver, default)]
    with h5py.File(path) as file:
        found = file["solves/iterations"][0, 0]
    expected, other = (report.iterations for report in reports if report is not None)
    assert found == expected
    assert found != other
