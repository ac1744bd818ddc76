"""These tests cover choices by counted work: the sweeps of a set-up, and multigrid or BiCGStab."""

from __future__ import annotations

import numpy as np
import pytest

import trellis as tr
from trellis.ground.compiled_core import load
from trellis.solve import choice
from trellis.solve.choice import KrylovTrial, MultigridForecast, iterations_of, multigrid_pays

EXTENTS = (8, 8, 8, 8)


@pytest.fixture(scope="module")
def links():
    return tr.quenched(EXTENTS, beta=6.0, seed=5, sweeps=30)


@pytest.fixture(scope="module")
def M(links):
    return tr.WilsonClover(links, kappa=0.1345, csw=1.769)


def column(seed=1):
    numbers = np.random.default_rng(seed).standard_normal((2, *reversed(EXTENTS), 4, 3))
    return numbers[0] + 1j * numbers[1]


def test_even_convergence_behind_the_second_digit_is_continued_exactly():
    """Two digits take 10 iterations, and one takes 20 from there on."""
    history = [10 ** -(i / 5) for i in range(1, 11)] + [10 ** -(2 + i / 20) for i in range(1, 21)]
    assert iterations_of(history, 10) == 10 + 8 * 20
    assert iterations_of(history, 3) == 30
    assert iterations_of(history[:5], 10) == 50  # it is one digit in 5


@pytest.mark.parametrize("kappa", [0.1300, 0.1345])
def test_a_trial_knows_how_long_bicgstab_takes(links, kappa):
    M = tr.WilsonClover(links, kappa=kappa, csw=1.769)
    solver = choice.krylov_solver(tolerance=1e-10, max_iterations=1000)
    _, report = solver(M).solve(column())
    trial = choice.try_krylov(M, tolerance=1e-10)
    assert not trial.is_bound
    assert trial.iterations == pytest.approx(report.iterations, rel=0.3)


def test_a_trial_ends_where_multigrid_is_seen_to_pay(M):
    whole = choice.try_krylov(M, tolerance=1e-10)
    short = choice.try_krylov(M, tolerance=1e-10, longest=whole.price / 1e6)
    assert short.is_bound or short == whole
    assert short.price <= 1.1 * whole.price


@pytest.mark.parametrize("smoother", ["sap", "mr"])
@pytest.mark.parametrize("sweeps", [0, 2])
def test_a_forecast_is_near_what_is_counted(M, smoother, sweeps):
    """The forecast is near, but for what projections take longer than their flops say (sweep_rule.cpp)."""
    core = load()
    mg = tr.multigrid(M, vectors=12, sweeps=sweeps, smoother=smoother)
    params = core.MultigridParams()
    params.vectors, params.smoother = 12, smoother
    setup, iteration = core.multigrid_forecast(M._core, params, sweeps)
    assert 0.8 < setup / core.price_of(mg._core.cost) < 1.8
    field = M._field("b", column())
    solution = M._field("x", np.zeros_like(column()))
    solve = tr.gcr(preconditioner=mg)
    report = core.solve(solve._spec(), M._core, solution, field)
    assert iteration == pytest.approx(core.price_of(report.cost) / report.iterations, rel=0.5)


def test_trials_of_a_set_up_know_how_long_solves_take(M):
    mg = tr.multigrid(M, vectors=12, sources=48)
    assert [trial.sweeps for trial in mg.trials] == list(range(mg.sweeps + 1))
    _, report = tr.gcr(tolerance=1e-10, preconditioner=mg)(M).solve(column())
    assert 10 * mg.trials[-1].iterations_per_digit == pytest.approx(report.iterations, rel=0.25)


def test_sweeps_by_rule_have_the_bits_of_as_many_that_were_asked_for(M):
    chosen = tr.multigrid(M, vectors=12, sources=24)
    asked = tr.multigrid(M, vectors=12, sweeps=chosen.sweeps)
    assert chosen.sweeps > 0
    assert asked.trials == []
    solutions = [tr.gcr(tolerance=1e-6, preconditioner=mg)(M).solve(column())[0] for mg in (chosen, asked)]
    assert np.array_equal(*solutions)


def test_more_sources_never_have_fewer_sweeps(M):
    sweeps = [tr.multigrid(M, vectors=12, sources=k).sweeps for k in (1, 12, 100, 10**9)]
    assert sweeps == sorted(sweeps)
    assert sweeps[0] < sweeps[-1] <= 10


def test_what_is_saved_is_held_against_the_set_up():
    forecast = MultigridForecast(setup=10.0, solve=1.0)
    light, heavy = KrylovTrial(500, 3.0, False), KrylovTrial(50, 0.5, False)
    assert not multigrid_pays([(5, light)], forecast)  # it saves 10
    assert multigrid_pays([(6, light)], forecast)
    assert not multigrid_pays([(10**9, heavy)], forecast)
    assert multigrid_pays([(6, light), (10**9, heavy)], forecast)  # the heavy one is left to bicgstab


def test_a_heavy_quark_and_one_source_are_left_to_bicgstab(links, M):
    heavy = tr.WilsonClover(links, kappa=0.1200, csw=1.769)
    for operator, sources in ((heavy, 1000), (M, 1)):
        found = tr.choose_solver(operator, sources=sources)
        assert found.multigrid is None
        assert "multigrid does not pay" in str(found)
        x, report = found.solver(operator).solve(column())
        assert "bicgstab" in report.method
        assert np.linalg.norm(operator.apply(x) - column()) <= 1e-10 * np.linalg.norm(column())


def test_multigrid_is_taken_where_it_saves_work(M, monkeypatch):
    """The quark is the same, but BiCGStab takes ten times as long for it."""
    real = choice.try_krylov

    def slow(M, **keys):
        trial = real(M, **keys)
        return KrylovTrial(10 * trial.iterations, 10 * trial.price, trial.is_bound)

    monkeypatch.setattr(choice, "try_krylov", slow)
    found = tr.choose_solver(M, sources=48, vectors=12)
    assert found.multigrid is not None
    assert found.multigrid.vectors == 12
    assert "multigrid pays" in str(found)
    x, report = found.solver(M).solve(column())
    assert "multigrid" in report.method
    assert report.iterations < 30
    assert np.linalg.norm(M.apply(x) - column()) <= 1e-10 * np.linalg.norm(column())


def test_bad_arguments_are_refused(links, M):
    for keys, text in (
        ({"sources": 0}, "sources"),
        ({"tolerance": 1.0}, "tolerance"),
        ({"block": (4, 4, 4, 3)}, "legal extents there: 2, 4"),
        ({"smoother": "jacobi"}, "auto, sap and mr"),
        ({"vectors": "many"}, "vectors of multigrid"),
    ):
        with pytest.raises(tr.BadArgument, match=text):
            tr.choose_solver(M, **keys)
    with pytest.raises(tr.BadArgument, match="M must be"):
        tr.choose_solver(tr.Staggered(links, mass=0.1))
    with pytest.raises(tr.BadArgument, match="sources"):
        tr.multigrid(M, sources=0)
