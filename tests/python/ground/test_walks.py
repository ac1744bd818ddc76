"""Walks over the lattice that read ahead and those that do not give the same bits.

Which of them a kernel takes is found by a trial of its first launches, four with the one and four with
the other in turn (src/trellis/device/launch_trials.hpp), where its fields exceed 512 KB. So a result
that is computed again and again meets both.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import trellis as tr
from trellis.evolve.heatbath import HeatBath
from trellis.evolve.hmc import HMC, Level, gauge_monomial

#: There are more launches than one turn of each walk, and the whole trial for what launches three times or
#: more.
TIMES = 9


@pytest.fixture(scope="module")
def U() -> tr.GaugeField:
    return tr.weak_field((8, 8, 8, 8), seed=5, spread=0.3)


def spinors(U: tr.GaugeField, *shape: int) -> np.ndarray:
    x, y, z, t = U.geometry.extents
    numbers = np.random.default_rng(3)
    size = (t, z, y, x, *shape)
    return numbers.normal(size=size) + 1j * numbers.normal(size=size)


def check_the_same(result: Callable[[], Any]) -> None:
    first = result()
    assert np.all(np.isfinite(np.asarray(first, dtype=complex)))
    for time in range(1, TIMES):
        np.testing.assert_array_equal(result(), first, err_msg=f"time {time}")


@pytest.mark.parametrize("link_reals", [18, 12, 8])
def test_wilson_clover(U: tr.GaugeField, link_reals: int) -> None:
    M, psi = tr.WilsonClover(U, kappa=0.12, csw=1.0, link_reals=link_reals), spinors(U, 4, 3)
    check_the_same(lambda: M.apply(psi))
    check_the_same(lambda: M.apply(psi, dagger=True))


@pytest.mark.parametrize("operator", [tr.Staggered, tr.HISQ])
def test_staggered(U: tr.GaugeField, operator: type) -> None:
    M, chi = operator(U, mass=0.1), spinors(U, 3)
    check_the_same(lambda: M.apply(chi))


@pytest.mark.parametrize("inner", ["single", "half"])
def test_mixed_solves(U: tr.GaugeField, inner: str) -> None:
    """All iterations of the first solve are on trial; the later solves take what it chose."""
    solve = tr.even_odd(tr.mixed_precision(tr.cg(tolerance=1e-8), inner=inner))
    source = tr.point_source(U.geometry, (0, 0, 0, 0))
    walls = tr.MoebiusDomainWall(U, mass=0.2, Ls=4)
    for M in (tr.WilsonClover(U, kappa=0.11), walls):
        first, second = (solve(M).propagator(source).to_numpy() for _ in range(2))
        np.testing.assert_array_equal(second, first)


def test_loops_and_charge(U: tr.GaugeField) -> None:
    check_the_same(lambda: list(U.loops().values()))
    check_the_same(lambda: U.topological_charge)


def test_smearing(U: tr.GaugeField) -> None:
    check_the_same(lambda: U.stout(rho=0.1, steps=1).to_numpy())
    check_the_same(lambda: U.ape(alpha=0.5, steps=1).to_numpy())


@pytest.mark.parametrize("action", ["wilson", "symanzik"])
def test_flow(U: tr.GaugeField, action: str) -> None:
    def flowed() -> np.ndarray:
        flow = tr.GradientFlow(U, action=action, step=0.02)
        flow.advance(0.04)
        return flow.field.to_numpy()

    check_the_same(flowed)


def test_heat_bath(U: tr.GaugeField) -> None:
    def updated() -> np.ndarray:
        links = U.copy()
        HeatBath(beta=6.0, seed=2, over_relaxation=1).sweep(links, 1)
        return links.to_numpy()

    check_the_same(updated)


@pytest.mark.parametrize("c1", [0.0, -1 / 12])
def test_molecular_dynamics(U: tr.GaugeField, c1: float) -> None:
    hmc = HMC([Level("omelyan2", 2, [gauge_monomial(beta=6.0, c1=c1)])], length=0.1, seed=4)

    def moved() -> np.ndarray:
        links = U.copy()
        hmc.trajectory(links, 1, test=False)
        return links.to_numpy()

    check_the_same(moved)
