"""These tests use solver values on every quark: bound, deflated, with a history; solves that are stuck go
on."""

from __future__ import annotations

import sys
from pathlib import Path

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


def test_the_history_of_a_correction_goes_on_where_the_solve_ended():
    """On this field the even-odd solve ends above its tolerance in the full system, and is corrected."""
    U = tr.quenched((8, 8, 8, 8), beta=6.0, seed=5, sweeps=40)
    M = tr.WilsonClover(U, kappa=0.134, csw=1.77)
    b = np.zeros((8, 8, 8, 8, 4, 3), dtype=complex)
    b[0, 0, 0, 0, 0, 0] = 1
    _, report = tr.even_odd(tr.cg(tolerance=1e-6))(M).solve(b, history=True)
    history = np.array(report.history)
    assert np.argmax(history < 1e-6) < len(history) - 1, "the field needs no correction: take another one"
    lowest = np.minimum.accumulate(history)
    assert np.all(history[len(history) // 2 :] < 10 * lowest[len(history) // 2 :])
    assert history[-1] < 1e-6


def test_a_new_method_is_one_file(tmp_path, monkeypatch):
    """A method of Python is one file; the compiled part knows methods by their own names, here that of mr."""
    import trellis.solve

    text = (Path(trellis.solve.__file__).parent / "mr.py").read_text()
    (tmp_path / "newest.py").write_text(text.replace("def mr(", "def newest("))
    with pytest.raises(AttributeError, match="no attribute 'newest'"):
        tr.newest  # noqa: B018
    monkeypatch.setattr(trellis.solve, "__path__", [*trellis.solve.__path__, str(tmp_path)])
    try:
        assert repr(tr.newest(iterations=4)) == repr(tr.mr(iterations=4))
        tr.gcr(preconditioner=tr.even_odd(tr.newest(iterations=4)))
    finally:
        vars(tr).pop("newest", None)
        sys.modules.pop("trellis.solve.newest", None)
    for shared in ("values", "bound"):
        assert not hasattr(tr, shared)


def test_a_history_is_drawn(U, tmp_path):
    M = quark(U, "clover")
    _, report = tr.cg(tolerance=1e-6)(M).solve(source(M), history=True)
    report.plot(tmp_path / "history.png")
    assert (tmp_path / "history.png").read_bytes().startswith(b"\x89PNG")
    _, without = tr.cg(tolerance=1e-6)(M).solve(source(M))
    with pytest.raises(tr.BadArgument, match="history=True"):
        without.plot()


def test_a_solve_that_is_stuck_goes_on_with_cg(U):
    """The method MR goes nowhere on the staggered operator, whose hermitian part is nothing but a small
    mass."""
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
        '[configurations]\nfiles = "conf.1.ildg"\n[fermion]\ntype = "wilson"\nkappa = 0.17\n'
        '[solver]\ntype = "mr"\n{}'
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
    assert stages[0].startswith("source 0: even-odd (symmetric) mr, half inside: stagnated after ")
    assert stages[-1].startswith("source 0: even-odd (symmetric) cg")


@pytest.mark.parametrize("name", ["clover", "domain wall", "staggered", "HISQ"])
def test_solvers_stand_inside_solvers_of_every_quark(U, name):
    M = quark(U, name)
    b = source(M)
    inside = tr.mixed_precision(tr.cg(iterations=8), inner="half")
    for solver in (
        tr.gcr(tolerance=1e-9, preconditioner=inside),
        tr.even_odd(tr.mixed_precision(tr.gcr(tolerance=1e-9, preconditioner=tr.cg(iterations=6)))),
        tr.gcr(tolerance=1e-9, preconditioner=tr.even_odd(tr.gcr(tolerance=0.1, preconditioner=inside))),
        tr.gcr(tolerance=1e-9, preconditioner=tr.even_odd(inside)(M)),
    ):
        x, report = solver(M).solve(b)
        assert not report.stages
        assert "preconditioned by" in report.method
        assert np.linalg.norm(M(x) - b) <= 1.001e-9 * np.linalg.norm(b)


def test_a_smoother_saves_steps_of_gcr(U):
    M = quark(U, "clover")
    _, plain = tr.gcr()(M).solve(source(M))
    _, smoothed = tr.gcr(preconditioner=tr.mr(iterations=8))(M).solve(source(M))
    assert 3 * smoothed.iterations < plain.iterations
    assert smoothed.method == "gcr(16), preconditioned by (mr, 8 iterations)"


def test_a_fixed_number_of_iterations_does_not_say_that_it_converged(U):
    M = quark(U, "clover")
    solver = tr.mr(iterations=8)(M)
    with pytest.raises(tr.NotConverged, match="fixed number of iterations after 8 iterations"):
        solver.solve(source(M))
    _, report = solver.solve(source(M), allow_not_converged=True)
    assert (report.converged, report.iterations) == (False, 8)


def test_python_functions_are_preconditioners(U):
    M = quark(U, "clover")
    b = source(M)
    calls = []

    def jacobi(psi: np.ndarray) -> np.ndarray:
        calls.append(psi.shape)
        return 0.2 * psi

    K = tr.custom_operator(M, jacobi, hermitian=True, positive=True, name="Jacobi")
    for solver in (
        tr.gcr(preconditioner=K),
        tr.cg(preconditioner=K),
        tr.mixed_precision(tr.gcr(preconditioner=K)),
    ):
        x, report = solver(M).solve(b)
        assert "preconditioned by (Jacobi)" in report.method
        assert np.linalg.norm(M(x) - b) <= 1.001e-10 * np.linalg.norm(b)
    assert set(calls) == {b.shape}
    with pytest.raises(tr.BadArgument, match="linear, hermitian and positive, and Jacobi is not declared"):
        tr.cg(preconditioner=tr.custom_operator(M, jacobi, name="Jacobi"))(M).solve(b)
    with pytest.raises(ZeroDivisionError):
        tr.gcr(preconditioner=tr.custom_operator(M, lambda psi: psi * (1 / 0)))(M).solve(b)
    nan = tr.custom_operator(M, lambda psi: psi * np.nan)
    with pytest.raises(tr.NotConverged, match="the preconditioner returned NaN"):
        tr.gcr(preconditioner=nan, fallback=False)(M).solve(b)
    x, report = tr.gcr(preconditioner=nan)(M).solve(b)
    assert "the preconditioner returned NaN or Inf after 0 iterations" in report.stages[0]


def test_cg_with_a_preconditioner_that_is_not_what_it_is_declared_to_be(U):
    """The solve ran to its last iteration, with a residual of 1."""
    M = quark(U, "clover")
    turned = tr.custom_operator(M, lambda psi: (0.2 + 1j) * psi, hermitian=True, positive=True)
    _, report = tr.cg(tolerance=1e-8, preconditioner=turned)(M).solve(source(M))
    assert report.converged
    assert "stagnated after 2048 iterations" in report.stages[0]
    assert report.stages[1].startswith("cg on the normal equations: converged")


def test_what_does_not_fit_inside_is_refused(U):
    M = quark(U, "clover")
    b = source(M)
    mr = tr.mr(iterations=4)
    other = tr.WilsonClover(tr.weak_field(LATTICE, seed=5), kappa=0.12)
    for preconditioner in (mr(other), other):
        with pytest.raises(tr.BadArgument, match="made for other links"):
            tr.gcr(preconditioner=preconditioner)(M)
    for preconditioner in (quark(U, "staggered"), mr(quark(U, "domain wall"))):
        with pytest.raises(tr.BadArgument, match="cannot precondition Wilson-clover"):
            tr.gcr(preconditioner=preconditioner)(M).solve(b)
    with pytest.raises(
        tr.BadArgument, match=r"on all sites .* cannot precondition even-odd .* on even sites"
    ):
        tr.even_odd(tr.gcr(preconditioner=M))(M).solve(b)
    with pytest.raises(tr.BadArgument, match="even_odd stands inside another even_odd"):
        tr.even_odd(tr.gcr(preconditioner=tr.even_odd(mr)))(M)
    with pytest.raises(tr.BadArgument, match="linear, hermitian and positive, and mr, 4 iterations is not"):
        tr.cg(preconditioner=mr)(M).solve(b)
    with pytest.raises(tr.BadArgument, match="a preconditioner is a solver"):
        tr.gcr(preconditioner=3)
    with pytest.raises(tr.BadArgument, match="iterations must be"):
        tr.mr(iterations=0)
    with pytest.raises(tr.BadArgument, match="declare that, too"):
        tr.custom_operator(M, abs, positive=True)
    modes = tr.lanczos(M, count=4)
    with pytest.raises(tr.BadArgument, match="form is 'none', that of the eigenvectors is 'symmetric'"):
        tr.gcr(preconditioner=tr.deflated(mr, modes))(M)
    cycle = tr.gcr(preconditioner=mr)
    object.__setattr__(cycle, "preconditioner", tr.even_odd(cycle))
    with pytest.raises(tr.BadArgument, match="stands inside itself"):
        cycle(M)


def test_low_modes_are_updated_for_changed_links(U):
    M = quark(U, "clover")
    modes = tr.lanczos(M, count=6)
    changed = tr.WilsonClover(U, kappa=0.121, csw=1.0)
    updated = modes.update(changed)
    np.testing.assert_allclose(updated.values, tr.lanczos(changed, count=6).values, rtol=1e-7)
    assert updated.operator.parameters["mass"] == changed.mass
    solver = tr.deflated(tr.even_odd(tr.cg()), updated)
    solver(changed).solve(source(M))
    with pytest.raises(tr.BadArgument, match="do not belong"):
        solver(M)
    with pytest.raises(tr.BadArgument, match="another lattice"):
        modes.update(quark(U, "staggered"))
