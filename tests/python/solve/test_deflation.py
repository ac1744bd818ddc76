"""These tests cover low modes and deflated solves from Python and from run files."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest
from command_line import run

import trellis as tr

EXTENTS = (4, 4, 4, 4)


@pytest.fixture(scope="module")
def U() -> tr.GaugeField:
    return tr.quenched(lattice=EXTENTS, beta=6.0, seed=4, sweeps=10)


@pytest.mark.parametrize("kind", ["clover", "twisted", "moebius"])
def test_deflated_solves_agree_and_take_fewer_iterations(U: tr.GaugeField, kind: str) -> None:
    if kind == "moebius":
        M: tr.WilsonClover | tr.MoebiusDomainWall = tr.MoebiusDomainWall(U, mass=0.01, Ls=4)
    else:
        extra = {"csw": 1.0} if kind == "clover" else {"twisted_mass": 0.1}
        M = tr.WilsonClover(U, mass=-0.5, **extra)
    modes = tr.lanczos(M, count=12, storage="half" if kind == "moebius" else "float")
    assert len(modes) == 12
    assert modes.converged
    assert np.all(np.diff(modes.values) >= 0)
    assert modes.residuals.max() < 1e-8
    assert f"{len(modes)} modes" in str(modes)
    source = tr.point_source(U.geometry, (0, 0, 0, 0))
    solver = tr.even_odd(tr.mixed_precision(tr.cg(tolerance=1e-10), inner="half"))
    plain = solver(M).propagator(source)
    deflated = tr.deflated(solver, modes)(M).propagator(source)
    assert plain.report is not None
    assert deflated.report is not None
    assert deflated.report.converged
    assert deflated.report.iterations < plain.report.iterations
    assert "deflated with 12 modes" in deflated.report.method
    expected = plain.to_numpy()
    np.testing.assert_allclose(deflated.to_numpy(), expected, rtol=0, atol=1e-8 * np.abs(expected).max())


def test_a_search_that_ends_early_says_what_it_has(U: tr.GaugeField) -> None:
    """A search that ends early has the residuals of the last restart, not those of nothing."""
    M = tr.MoebiusDomainWall(U, mass=0.01, Ls=4)
    for restarts in (1, 2):
        modes = tr.lanczos(M, count=8, max_restarts=restarts, tolerance=1e-14, allow_not_converged=True)
        assert not modes.converged
        assert modes.values.min() > 0
        assert 1e-14 < modes.residuals.max() < 1


def test_bounds_that_do_not_bound_are_refused(U: tr.GaugeField) -> None:
    M = tr.WilsonClover(U, mass=0.1)
    with pytest.raises(tr.BadArgument, match=r"upper = 0.5 does not bound the spectrum .* at least \d"):
        tr.lanczos(M, count=4, upper=0.5)
    for upper in (None, 1000.0):
        with pytest.raises(tr.BadArgument, match="the cutoff, 2000, is not below the upper end"):
            tr.lanczos(M, count=4, cutoff=2000.0, upper=upper)
    with pytest.raises(tr.BadArgument, match="at least 1 restart, not 0"):
        tr.lanczos(M, count=4, max_restarts=0)
    found = tr.lanczos(M, count=4, upper=80.0)
    np.testing.assert_allclose(found.values, tr.lanczos(M, count=4).values, rtol=1e-9)


def test_the_default_basis_fits_tiny_lattices() -> None:
    U = tr.quenched(lattice=(2, 2, 2, 2), beta=6.0, seed=4, sweeps=2)
    modes = tr.lanczos(tr.WilsonClover(U, mass=0.5), count=22, tolerance=1e-7)
    assert len(modes) == 22


def test_mistakes_are_refused(U: tr.GaugeField) -> None:
    M = tr.WilsonClover(U, mass=0.1)
    modes = tr.lanczos(M, count=4, even_odd="none", tolerance=1e-6)
    with pytest.raises(tr.BadArgument, match="even-odd form"):
        tr.deflated(tr.even_odd(tr.cg()), modes)
    for reduction in (-0.1, 1.0, float("nan"), "half"):
        with pytest.raises(tr.BadArgument, match="reduction must be"):
            tr.deflated(tr.cg(), modes, reduction=reduction)
    solver = tr.deflated(tr.cg(), modes)
    with pytest.raises(tr.BadArgument, match="not deflated yet"):
        tr.deflated(solver, modes)
    with pytest.raises(tr.BadArgument, match=r"do not belong .* those of mass = 0.1, not 0.9"):
        solver(tr.WilsonClover(U, mass=0.9)).propagator(tr.point_source(U.geometry, (0, 0, 0, 0)))
    with pytest.raises(tr.BadArgument, match="basis"):
        tr.lanczos(M, count=4, basis=5)
    with pytest.raises(tr.NotConverged, match="restarts"):
        tr.lanczos(M, count=8, max_restarts=1, tolerance=1e-12)


def test_modes_of_a_nearby_operator_are_refused(U: tr.GaugeField) -> None:
    """The operator is near enough for |A v|^2 to be lambda within the 5 % that the compiled part allows."""
    wilson = {"mass": 0.1, "twisted_mass": 0.2}
    walls = {"mass": 0.2, "Ls": 4, "b5": 1.5}
    changes = (
        (tr.WilsonClover, wilson, {"mass": 0.1001}, "mass = 0.1, not 0.1001"),
        (tr.WilsonClover, wilson, {"csw": 1e-6}, "csw = 0.0, not 1e-06"),
        (tr.WilsonClover, wilson, {"twisted_mass": -0.2}, "twisted_mass = 0.2, not -0.2"),
        (tr.WilsonClover, wilson, {"boundary": (1, 1, 1, 1)}, r"boundary = \(1.0, .* -1.0\), not"),
        (tr.MoebiusDomainWall, walls, {"mass": 0.201}, "mass = 0.2, not 0.201"),
        (tr.MoebiusDomainWall, walls, {"b5": (1.5, 1.5, 1.5, 1.51)}, "b5 = 1.5, not"),
    )
    modes = {
        make: tr.lanczos(make(U, **given), count=2, tolerance=1e-4)
        for make, given in ((tr.WilsonClover, wilson), (tr.MoebiusDomainWall, walls))
    }
    solver = tr.even_odd(tr.cg())
    for make, given, change, words in changes:
        with pytest.raises(tr.BadArgument, match=words):
            tr.deflated(solver, modes[make])(make(U, **given | change))
    near = U.to_numpy()
    near[0, 0, 0, 0, 0] = near[0, 0, 0, 0, 0] @ np.diag([np.exp(0.1j), np.exp(-0.1j), 1])
    with pytest.raises(tr.BadArgument, match="those of links of plaquette"):
        tr.deflated(solver, modes[tr.WilsonClover])(tr.WilsonClover(tr.GaugeField.from_numpy(near), **wilson))
    with pytest.raises(tr.BadArgument, match="those of the operator MoebiusDomainWall"):
        tr.deflated(solver, modes[tr.MoebiusDomainWall])(tr.WilsonClover(U, **wilson))
    # These are the same operator by another name, other links of the same numbers, and other storage.
    same = tr.GaugeField.from_numpy(U.to_numpy())
    kappa = 1 / (2 * (4 + wilson["mass"]))
    M = tr.WilsonClover(same, kappa=kappa, twisted_mass=0.2, link_reals=18)
    tr.deflated(solver, modes[tr.WilsonClover])(M)
    D = tr.MoebiusDomainWall(same, mass=0.2, Ls=4, b5=[1.5] * 4, columns_per_solve=4)
    tr.deflated(solver, modes[tr.MoebiusDomainWall])(D)


RUN = """\
[configurations]
files = "configuration.1.ildg"
[fermion]
type = "clover"
mass = -0.5
csw = 1.0
[solver]
tolerance = 1e-10
[correlators]
mesons = ["pion"]
[output]
directory = "NAME"
"""


def test_run_file(U: tr.GaugeField, tmp_path: Path) -> None:
    U.write(tmp_path / "configuration.1.ildg")
    pions, iterations = [], []
    for name, table in (("plain", ""), ("deflated", "[deflation]\nmodes = 10\n")):
        (tmp_path / "measure.toml").write_text(RUN.replace("NAME", name) + table)
        run("measure", "measure.toml", cwd=tmp_path)
        with h5py.File(tmp_path / name / "correlators.000001.h5") as file:
            pions.append(file["correlators/pion"][...])
            iterations.append(file["solves/iterations"][0, 0])
    np.testing.assert_allclose(pions[1], pions[0], rtol=1e-8)
    assert iterations[1] < iterations[0]


def test_modes_of_a_run_file_are_kept(U: tr.GaugeField, tmp_path: Path) -> None:
    """One run finds the modes; the next one takes them, and measures other sources of the same
    configuration."""
    U.write(tmp_path / "configuration.1.ildg")
    table = "[deflation]\nmodes = 6\ntolerance = 1e-6\n"

    def measured(name: str, text: str, said: str, status: int = 0) -> str:
        (tmp_path / "measure.toml").write_text(RUN.replace("NAME", name) + text)
        found = run("measure", "measure.toml", cwd=tmp_path, status=status)
        assert said in (found.stderr if status else found.stdout + found.stderr)
        return found.stderr

    kept = table + 'directory = "modes"\n'
    elsewhere = kept + "[source]\npositions = [[1, 0, 0, 2]]\n"
    measured("plain", table, "6 modes of")
    measured("first", kept, "kept in modes/modes.000001.h5")
    measured("second", kept, "modes/modes.000001.h5: 6 modes of")
    measured("third", elsewhere, "modes/modes.000001.h5: 6 modes of")
    pions = []
    for name in ("plain", "first", "second"):
        with h5py.File(tmp_path / name / "correlators.000001.h5") as file:
            pions.append(file["correlators/pion"][...])
    np.testing.assert_array_equal(pions[1], pions[0])
    np.testing.assert_array_equal(pions[2], pions[0])
    measured("other", kept.replace("6\n", "7\n", 1), "deflation.modes: expected modes with 7, found 6", 1)
    measured(
        "other",
        kept.replace("1e-6", "1e-9"),
        "deflation.tolerance: expected modes to 1e-09, found modes to 1e-06",
        1,
    )
    heavier = (tmp_path / "measure.toml").read_text().replace("mass = -0.5", "mass = -0.4")
    (tmp_path / "heavier.toml").write_text(heavier.replace("1e-9", "1e-6"))
    found = run("measure", "heavier.toml", cwd=tmp_path, status=1)
    assert "those of mass = -0.5, not -0.4" in found.stderr
    # The folder may be named when a run is resumed, and named otherwise.
    (tmp_path / "measure.toml").write_text(RUN.replace("NAME", "plain") + kept)
    run("measure", "measure.toml", "--resume", cwd=tmp_path)
