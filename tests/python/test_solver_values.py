"""Solver values on every quark: bound, deflated, with a history; solves that are stuck go on."""

from __future__ import annotations

import h5py
import numpy as np
import pytest
from command_line import run, write_run_file

import trellis as tr

LATTICE = (4, 4, 4, 8)


@pytest.fixture(scope="module")
def U() -> tr.GaugeField:
    return tr.quenched(lattice=LATTICE, beta=6.0, seed=3, sweeps=20)


def quark(U: tr.GaugeField, name: str):
    return {
        "clover": lambda: tr.WilsonClover(U, kappa=0.12, csw=1.0),
        "domain wall": lambda: tr.MoebiusDomainWall(U, mass=0.1, Ls=4),
        "staggered": lambda: tr.Staggered(U, mass=0.05),
        "HISQ": lambda: tr.HISQ(U, mass=0.05),
    }[name]()


def source(M) -> np.ndarray:
    shape = (8, 4, 4, 4, 3) if isinstance(M, tr.Staggered | tr.HISQ) else (8, 4, 4, 4, 4, 3)
    shape = (4, *shape) if isinstance(M, tr.MoebiusDomainWall) else shape
    random = np.random.default_rng(1)
    return random.normal(size=shape) + 1j * random.normal(size=shape)


@pytest.mark.parametrize("name", ["clover", "domain wall", "staggered", "HISQ"])
def test_solvers_and_low_modes_of_every_quark(U, name):
    M = quark(U, name)
    b = source(M)
    plain = tr.even_odd(tr.cg(tolerance=1e-9))
    x, report = plain(M).solve(b, history=True)
    assert report.largest_residual <= 1e-9
    assert np.linalg.norm(M(x) - b) <= 1.001e-9 * np.linalg.norm(b)
    assert len(report.history) == report.iterations
    assert report.history[-1] < 1e-8
    modes = tr.lanczos(M, count=8)
    y, deflated = tr.deflated(plain, modes)(M).solve(b)
    assert deflated.largest_residual <= 1e-9
    assert deflated.iterations < report.iterations
    assert np.linalg.norm(x - y) < 1e-6 * np.linalg.norm(x)
    other = quark(U, "clover" if name != "clover" else "staggered")
    with pytest.raises(tr.BadArgument, match="do not belong"):
        tr.deflated(plain, modes)(other)


def test_a_history_is_drawn(U, tmp_path):
    M = quark(U, "clover")
    _, report = tr.cg(tolerance=1e-6)(M).solve(source(M), history=True)
    report.plot(tmp_path / "history.png")
    assert (tmp_path / "history.png").read_bytes().startswith(b"\x89PNG")
    _, without = tr.cg(tolerance=1e-6)(M).solve(source(M))
    with pytest.raises(tr.BadArgument, match="history=True"):
        without.plot()


def test_a_solve_that_is_stuck_goes_on_with_cg(U):
    """MR goes nowhere on the staggered operator, whose hermitian part is nothing but a small mass."""
    M = tr.Staggered(U, mass=0.001)
    b = source(M)
    x, report = tr.mr(tolerance=1e-8, max_iterations=20000)(M).solve(b)
    assert report.converged
    assert np.linalg.norm(M(x) - b) <= 1.001e-8 * np.linalg.norm(b)
    assert len(report.stages) == 2
    assert report.stages[0].startswith("mr: stagnated after ")
    assert report.stages[1].startswith("cg on the normal equations: converged after ")
    assert report.stages[0] in str(report)
    with pytest.raises(tr.NotConverged, match="mr: stagnated") as caught:
        tr.mr(tolerance=1e-8, max_iterations=20000, fallback=False)(M).solve(b)
    assert caught.value.report.iterations < 20000
    assert caught.value.report.stages == ()


def test_results_list_the_stages_of_a_solve_that_was_stuck(U, tmp_path):
    U.write(tmp_path / "conf.1.ildg", "ildg")
    text = (
        '[configurations]\nfiles = "conf.1.ildg"\n[fermion]\nkappa = 0.17\n[solver]\ntype = "mr"\n{}'
        'tolerance = 1e-8\n[source]\ntype = "point"\npositions = [[0, 0, 0, 0]]\n'
        '[correlators]\nmesons = ["pion"]\nbaryons = []\n[output]\ndirectory = "out"\n'
    )
    folder = write_run_file(tmp_path, text.format("fallback = false\n"))
    assert "mr, half inside: stagnated" in run("measure", "run.toml", cwd=folder, status=1).stderr
    write_run_file(tmp_path, text.format(""))
    run("measure", "run.toml", cwd=folder)
    with h5py.File(folder / "out" / "correlators.000001.h5") as file:
        stages = file["solves"].attrs["stages"].splitlines()
        assert file["solves/relative_residual"][()].max() <= 1e-8
    assert stages[0].startswith("source 0: mr, half inside: stagnated after ")
    assert stages[-1].startswith("source 0: cg")
