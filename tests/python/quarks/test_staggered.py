"""These tests cover staggered operators, solves and observables from Python."""

from __future__ import annotations

import numpy as np
import pytest

import trellis as tr

LATTICE = (4, 4, 4, 4)


@pytest.fixture(scope="module")
def U() -> tr.GaugeField:
    return tr.quenched(lattice=LATTICE, beta=6.0, seed=3, sweeps=10)


def vector(seed: int) -> np.ndarray:
    random = np.random.default_rng(seed)
    return random.normal(size=(4, 4, 4, 4, 3)) + 1j * random.normal(size=(4, 4, 4, 4, 3))


def naive(U: tr.GaugeField, psi: np.ndarray, mass: float, mu: float, k: int) -> np.ndarray:
    """Return M psi by NumPy: arrays [t, z, y, x], directions x, y, z, t = axes 3, 2, 1, 0; flux k in (x,
    y)."""
    t, z, y, x = np.meshgrid(*[np.arange(4)] * 4, indexing="ij")
    links = U.to_numpy()
    theta = [0 * x * 1.0, np.pi * x, np.pi * (x + y), np.pi * (x + y + z) + np.pi * mu / 4]
    theta[3] = theta[3] + np.pi * (t == 3)
    theta[1] = theta[1] + 2 * np.pi * k * x / 16
    theta[0] = theta[0] - 2 * np.pi * k * y / 4 * (x == 3)
    out = mass * psi
    for mu_, axis in enumerate((3, 2, 1, 0)):
        V = np.exp(1j * theta[mu_])[..., None, None] * links[..., mu_, :, :]
        out = out + 0.5 * np.einsum("tzyxij,tzyxj->tzyxi", V, np.roll(psi, -1, axis))
        back = np.einsum("tzyxji,tzyxj->tzyxi", V.conj(), psi)
        out = out - 0.5 * np.roll(back, 1, axis)
    return out


def test_naive_operator_equals_numpy(U):
    psi = vector(1)
    M = tr.Staggered(U, mass=0.1, mu_over_ipiT=0.3, charge_thirds=2, b=(0, 0, 1))
    assert M.flux == {"xy": 2, "xz": 0, "xt": 0, "yz": 0, "yt": 0, "zt": 0}
    np.testing.assert_allclose(M(psi), naive(U, psi, 0.1, 0.3, 2), atol=1e-13)
    D = M(psi) - 0.1 * psi
    np.testing.assert_allclose(M.apply(psi, dagger=True), 0.1 * psi - D, atol=1e-13)


@pytest.mark.parametrize("kind", ["naive", "hisq"])
def test_solve(U, kind):
    M = tr.Staggered(U, mass=0.1) if kind == "naive" else tr.HISQ(U, mass=0.1, epsilon=-0.1)
    b = vector(2)
    for solver in (None, tr.mixed_precision(tr.cg(tolerance=1e-10))):
        x, report = M.solve(b, solver=solver)
        assert report.converged
        assert np.linalg.norm(M(x) - b) < 1e-8 * np.linalg.norm(b)
    with pytest.raises(tr.NotConverged):
        M.solve(b, solver=tr.cg(tolerance=1e-10, max_iterations=2))
    x, report = M.solve(b)
    y, bound = tr.even_odd(tr.cg(tolerance=1e-10))(M).solve(b)
    assert np.array_equal(x, y)
    assert (bound.method, bound.iterations) == (report.method, report.iterations)
    z, whole = tr.cg(tolerance=1e-10)(M).solve(b)
    assert np.linalg.norm(x - z) < 1e-8 * np.linalg.norm(x)
    assert "even-odd" not in whole.method
    with pytest.raises(tr.BadArgument, match="quarks with spin"):
        tr.cg()(M).propagator(tr.point_source(U.geometry, (0, 0, 0, 0)))


def test_hisq_flavours_share_links(U):
    light = tr.HISQ(U, mass=0.1)
    charm = light.flavour(mass=0.5, epsilon=-0.2)
    alone = tr.HISQ(U, mass=0.5, epsilon=-0.2)
    psi = vector(3)
    np.testing.assert_array_equal(charm(psi), alone(psi))
    assert np.abs(charm(psi) - light(psi)).max() > 0.01


def test_observables(U):
    M = tr.Staggered(U, mass=0.5, mu_over_ipiT=0.3)
    columns = 32
    found = M.observables(n_f=2, vectors=columns, seed=5, susceptibility=True, planes=["xy"])
    assert found.condensate.shape == (columns,)
    assert found.number_density.shape == found.susceptibility_connected.shape == (columns,)
    assert set(found.magnetisation) == {"xy"}
    # The pion sum rule is sum_t C(t) = Re M^-1(0, 0) / m, whose average over sources is the condensate.
    sums = [M.pion(source=(x, y, z, t)).sum() for x, y, z, t in [(0, 0, 0, 0), (1, 2, 3, 1)]]
    estimate = 2 / 4 * 0.5 * np.mean(sums)
    assert abs(found.condensate.mean() - estimate) < 0.1 * estimate
    # At an imaginary potential the density is imaginary up to noise.
    spread = found.number_density.real.std() / np.sqrt(columns - 1)
    assert abs(found.number_density.real.mean()) < 5 * spread
    assert found.susceptibility_disconnected is not None
    again = M.observables(n_f=2, vectors=1, seed=5, first=3)
    np.testing.assert_allclose(again.condensate[0], found.condensate[3], rtol=1e-8)


def test_refusals(U):
    with pytest.raises(tr.BadArgument, match="must be an integer"):
        tr.Staggered(U, mass=0.1, b=(0, 0, 0.5))
    with pytest.raises(tr.BadArgument, match="modulus 1"):
        tr.Staggered(U, mass=0.1, boundary=(1, 1, 1, 0))
    M = tr.Staggered(U, mass=0.1)
    with pytest.raises(tr.BadArgument, match="plane"):
        M.observables(n_f=2, vectors=1, seed=1, planes=["yx"])
    with pytest.raises(tr.BadArgument, match="noise"):
        M.observables(n_f=2, vectors=1, seed=1, noise="gaussian")
