"""These tests cover solves that start from a guess."""

from __future__ import annotations

import numpy as np
import pytest

import trellis as tr

EXTENTS = (4, 4, 2, 6)
AT = (1, 3, 0, 5)


@pytest.fixture(scope="module")
def U() -> tr.GaugeField:
    return tr.quenched(lattice=EXTENTS, beta=6.0, seed=5, sweeps=10)


def operator(kind: str, U: tr.GaugeField, mass: float) -> tr.MoebiusDomainWall | tr.WilsonClover:
    if kind == "moebius":
        return tr.MoebiusDomainWall(U, mass=mass, Ls=5, columns_per_solve=3)
    extra = {"csw": 1.0} if kind == "clover" else {"twisted_mass": 0.2}
    return tr.WilsonClover(U, mass=mass, **extra)


@pytest.mark.parametrize("kind", ["moebius", "clover", "twisted"])
@pytest.mark.parametrize("form", ["symmetric", "asymmetric", "none"])
def test_a_guess_saves_iterations_and_changes_nothing_else(U: tr.GaugeField, kind: str, form: str) -> None:
    solver = tr.mixed_precision(tr.cg(tolerance=1e-10), inner="half")
    solver = solver if form == "none" else tr.even_odd(solver, form=form)
    source = tr.point_source(U.geometry, AT)
    keep = {"keep_fields": kind == "moebius"}
    near = solver(operator(kind, U, 0.11)).propagator(source, **keep)
    solve = solver(operator(kind, U, 0.1))
    S = solve.propagator(source, **keep)
    from_near = solve.propagator(source, guess=near)
    again = solve.propagator(source, guess=S)
    assert S.report is not None
    assert from_near.report is not None
    assert again.report is not None
    assert from_near.report.largest_residual < 2e-9
    # The other mass is right to some per cent: some of ten digits are there already.
    assert from_near.report.iterations < 0.95 * S.report.iterations
    assert again.report.iterations <= 2
    expected = S.to_numpy()
    for other in (from_near, again):
        np.testing.assert_allclose(other.to_numpy(), expected, rtol=0, atol=1e-8 * np.abs(expected).max())


def test_one_field(U: tr.GaugeField) -> None:
    M = operator("clover", U, 0.1)
    solve = tr.cg(tolerance=1e-11)(M)
    rng = np.random.default_rng(1)
    shape = (*EXTENTS[::-1], 4, 3)
    b = rng.standard_normal(shape) + 1j * rng.standard_normal(shape)
    x, report = solve.solve(b)
    y, second = solve.solve(b, guess=x)
    assert second.iterations <= 1 < report.iterations
    np.testing.assert_allclose(y, x, atol=1e-9)


def test_mistakes_are_refused(U: tr.GaugeField) -> None:
    source = tr.point_source(U.geometry, AT)
    solve = tr.even_odd(tr.cg(tolerance=1e-4))(operator("moebius", U, 0.1))
    S = solve.propagator(source)
    with pytest.raises(tr.BadArgument, match="keep_fields"):
        solve.propagator(source, guess=S)
    S = solve.propagator(source, keep_fields=True)
    other = tr.even_odd(tr.cg())(tr.MoebiusDomainWall(U, mass=0.1, Ls=4, columns_per_solve=3))
    with pytest.raises(tr.BadArgument, match="Ls = 4"):
        other.propagator(source, guess=S)
    other = tr.even_odd(tr.cg())(tr.MoebiusDomainWall(U, mass=0.1, Ls=5))
    with pytest.raises(tr.BadArgument, match="columns"):
        other.propagator(source, guess=S)
    V = tr.quenched(lattice=(4, 4, 2, 4), beta=6.0, seed=5, sweeps=1)
    clover = tr.even_odd(tr.cg())(operator("clover", V, 0.1))
    with pytest.raises(tr.BadArgument, match="lattice"):
        clover.propagator(tr.point_source(V.geometry, (0, 0, 0, 0)), guess=S)
