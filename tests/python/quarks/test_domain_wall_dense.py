"""These tests cover domain-wall propagators against dense matrices: any coefficients, Ls, boundary phases and
extents."""

from __future__ import annotations

import numpy as np
import pytest
from dense_operators import GAMMA, dense_domain_wall, dense_wilson

import trellis as tr

RNG = np.random.default_rng(11)
CASES = [
    # Each entry is: extents, Ls, b5, c5, M5, mass, boundary, even-odd form, anisotropy.
    (
        (2, 2, 2, 4),
        5,
        RNG.uniform(0.8, 2, 5),
        RNG.uniform(0, 0.9, 5),
        1.37,
        0.07,
        (1, 1, 1, -1),
        "symmetric",
        {},
    ),
    ((4, 2, 2, 2), 4, [1.83], [0.71], 0.62, 0.3, (1j, np.exp(0.3j), 1, -1), "asymmetric", {}),
    ((2, 2, 4, 2), 3, [1.0], [0.0], 1.9, 0.01, (1, -1, 1, np.exp(2.1j)), "none", {}),
    (
        (2, 2, 2, 4),
        4,
        RNG.uniform(0.8, 2, 4) + 1j * RNG.uniform(-1, 1, 4),
        RNG.uniform(0, 0.9, 4) + 0.3j,
        1.7,
        0.05,
        (1, 1, 1, -1),
        "symmetric",
        {},
    ),
    (
        (2, 4, 2, 2),
        3,
        [1.2 + 0.6j],
        RNG.uniform(0, 0.9, 3),
        1.2,
        0.2,
        (1, np.exp(0.4j), 1, 0),
        "asymmetric",
        {},
    ),
    ((2, 2, 4, 2), 2, [1.4, 1.1 - 0.3j], [0.4, 0.1 - 0.3j], 1.5, 0.1, (1, 1, 1, -1), "none", {}),
    ((2, 4, 2, 2), 2, RNG.uniform(0.8, 2, 2), [0.4], 1.1, 1.2, (1, 1, 1, 0), "symmetric", {}),
    ((2, 2, 4, 2), 4, [1.5], [0.5], 0.8, 0.1, (1, np.exp(0.4j), 1, -1), "symmetric", {"nu": 0.9, "xi0": 1.9}),
    ((2, 2, 2, 4), 3, [1.3, 1 + 0.4j, 0.8], [0.4], 1.5, 0.2, (1, 1, 1, -1), "asymmetric", {"nu": 1.6}),
]


def ratio(anisotropy: dict[str, float]) -> float:
    """Return nu / xi0."""
    return anisotropy.get("nu", 1.0) / anisotropy.get("xi0", 1.0)


@pytest.mark.parametrize("case", CASES)
def test_propagator_is_that_of_the_dense_matrix(case: tuple) -> None:
    extents, Ls, b5, c5, M5, mass, boundary, form, anisotropy = case
    U = tr.quenched(lattice=extents, beta=5.5, seed=3, sweeps=5)
    one = [x if len(x) > 1 else x[0] for x in (list(b5), list(c5))]
    M = tr.MoebiusDomainWall(
        U,
        mass=mass,
        b5=one[0],
        c5=one[1],
        Ls=Ls,
        M5=M5,
        boundary=boundary,
        columns_per_solve=6,
        **anisotropy,
    )
    cg = tr.cg(tolerance=1e-13)
    solve = (cg if form == "none" else tr.even_odd(cg, form=form))(M)
    at = tuple(L - 1 for L in extents)
    S = solve.propagator(tr.point_source(U.geometry, at))

    D = dense_wilson(U.to_numpy(), -M5, boundary, ratio(anisotropy))
    n = len(D)
    b5, c5 = (np.broadcast_to(x, Ls) for x in (b5, c5))
    D5, D_minus = dense_domain_wall(D, mass, b5, c5)
    P_plus = np.tile(np.repeat([1.0, 1.0, 0.0, 0.0], 3), n // 12)[:, None]
    site = ((at[3] * extents[2] + at[2]) * extents[1] + at[1]) * extents[0] + at[0]

    def quark(source: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        walls = np.zeros((Ls, n, 12), dtype=complex)
        walls[0] += P_plus * source
        walls[Ls - 1] += (1 - P_plus) * source
        psi = np.linalg.solve(D5, D_minus @ walls.reshape(Ls * n, 12)).reshape(Ls, n, 12)
        middle = (1 - P_plus) * psi[Ls // 2] + P_plus * psi[Ls // 2 - 1]
        return (1 - P_plus) * psi[0] + P_plus * psi[Ls - 1], middle

    def columns(S: tr.Propagator) -> np.ndarray:
        """Return columns [site spin colour, source spin colour]."""
        return S.to_numpy().transpose(0, 1, 2, 3, 4, 6, 5, 7).reshape(n, 12)

    point = np.zeros((n, 12))
    point[12 * site : 12 * site + 12] = np.eye(12)
    q, middle = quark(point)
    scale = np.abs(q).max()
    np.testing.assert_allclose(columns(S), q, rtol=0, atol=1e-11 * scale)
    if Ls % 2 == 0:
        assert S.midpoint is not None
        np.testing.assert_allclose(columns(S.midpoint), middle, rtol=0, atol=1e-11 * scale)
    else:
        assert S.midpoint is None
    # This is a Feynman-Hellmann propagator: a tensor current with a momentum.
    gamma = GAMMA[1] @ GAMMA[3]
    k = (1, 0, 1)
    _, z, y, x = np.meshgrid(*(np.arange(L) for L in extents[::-1]), indexing="ij")
    phase = np.exp(2j * np.pi * sum(k[i] * (r - at[i]) / extents[i] for i, r in enumerate((x, y, z)))).ravel()
    inserted = np.einsum("x,st,xtcj->xscj", phase, gamma, q.reshape(-1, 4, 3, 12)).reshape(n, 12)
    F = tr.feynman_hellmann_propagator(solve, S, "gamma_y gamma_t", momentum=k)
    expected, _ = quark(inserted)
    np.testing.assert_allclose(columns(F), expected, rtol=0, atol=1e-10 * np.abs(expected).max())


@pytest.mark.parametrize("case", CASES)
def test_fields_with_slices(case: tuple) -> None:
    """D5 and D5^dagger are the dense matrix and its adjoint, and solve() inverts D5."""
    extents, Ls, b5, c5, M5, mass, boundary, _, anisotropy = case
    U = tr.quenched(lattice=extents, beta=5.5, seed=3, sweeps=5)
    one = [x if len(x) > 1 else x[0] for x in (list(b5), list(c5))]
    M = tr.MoebiusDomainWall(
        U, mass=mass, b5=one[0], c5=one[1], Ls=Ls, M5=M5, boundary=boundary, **anisotropy
    )
    b5, c5 = (np.broadcast_to(x, Ls) for x in (b5, c5))
    D5, _ = dense_domain_wall(dense_wilson(U.to_numpy(), -M5, boundary, ratio(anisotropy)), mass, b5, c5)
    rng = np.random.default_rng(7)
    shape = (Ls, *extents[::-1], 4, 3)
    a, b = (rng.normal(size=shape) + 1j * rng.normal(size=shape) for _ in range(2))
    for found, matrix in ((M(b), D5), (M.apply(b), D5), (M.apply(b, dagger=True), D5.conj().T)):
        assert found.shape == shape
        expected = (matrix @ b.ravel()).reshape(shape)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13 * np.abs(expected).max())
    assert np.vdot(a, M(b)) == pytest.approx(np.vdot(M.apply(a, dagger=True), b), rel=1e-12, abs=1e-10)
    x, report = tr.cg(tolerance=1e-11)(M).solve(b)
    assert report.largest_residual < 1e-11
    np.testing.assert_allclose(M(x), b, rtol=0, atol=1e-11 * np.linalg.norm(b))
    again, report = tr.mixed_precision(tr.cg(tolerance=1e-11), inner="float")(M).solve(b, guess=x)
    assert report.iterations <= 1
    np.testing.assert_allclose(again, x, rtol=0, atol=1e-9 * np.linalg.norm(x))


def test_fields_of_another_shape_are_refused() -> None:
    U = tr.quenched(lattice=(2, 2, 2, 4), beta=5.5, seed=3, sweeps=1)
    M = tr.MoebiusDomainWall(U, mass=0.1, Ls=4)
    psi = np.zeros((4, 4, 2, 2, 2, 4, 3))
    for wrong in (psi[0], psi[:3], psi[:, :2], np.zeros((4, 4, 2, 2, 2, 3, 4))):
        for call in (M.apply, tr.cg()(M).solve):
            with pytest.raises(tr.BadArgument, match=r"must have the shape \[4, 4, 2, 2, 2, 4, 3\]"):
                call(wrong)
    psi[0, 1] = 1.0
    x, report = tr.even_odd(tr.cg(tolerance=1e-9))(M).solve(psi)
    assert report.largest_residual <= 1e-9
    assert np.linalg.norm(M(x) - psi) <= 1.001e-9 * np.linalg.norm(psi)


def test_free_anisotropic_quarks_are_their_momentum_sum() -> None:
    """The sum is q(x) = 1/V sum_p exp(i p.x) q(p), with D_W(p) = -M5 + sum_mu a_mu (1 - cos p_mu + i gamma_mu
    sin p_mu)."""
    extents, Ls, b5, c5, M5, mass, nu, xi0 = (4, 2, 4, 8), 6, 1.4, 0.6, 0.7, 0.05, 1.2, 2.6
    theta = (0.5, 0.0, -0.8, np.pi)
    boundary = np.exp(1j * np.array(theta))
    M = tr.MoebiusDomainWall(
        tr.cold(extents), mass=mass, b5=b5, c5=c5, Ls=Ls, M5=M5, nu=nu, xi0=xi0, boundary=boundary
    )
    S = tr.even_odd(tr.cg(tolerance=1e-13))(M).propagator(tr.point_source(M.geometry, (0, 0, 0, 0)))
    found = S.to_numpy()[..., 0, 0]  # the indices are [t, z, y, x, spin, spin]
    one = [(2 * np.pi * np.arange(L) + angle) / L for L, angle in zip(extents, theta, strict=True)]
    p = np.array(np.meshgrid(*one[::-1], indexing="ij"))[::-1].reshape(4, -1)
    a = np.array([nu / xi0] * 3 + [1])[:, None]
    scalar = -M5 + np.sum(a * (1 - np.cos(p)), axis=0)
    D = scalar[:, None, None] * np.eye(4) + 1j * np.einsum("mp,mij->pij", a * np.sin(p), GAMMA)
    plus = np.diag([1, 1, 0, 0])
    minus = np.eye(4) - plus
    shift = np.kron(np.eye(Ls, k=1), minus) + np.kron(np.eye(Ls, k=-1), plus)
    shift[-4:, :4] -= mass * minus
    shift[:4, -4:] -= mass * plus
    five = np.kron(np.eye(Ls), D)
    walls = np.vstack([plus, np.zeros((4 * Ls - 8, 4)), minus])
    D_minus = np.eye(4 * Ls) - c5 * five
    psi = np.linalg.solve(np.eye(4 * Ls) + b5 * five - D_minus @ shift, D_minus @ walls)
    q = (minus @ psi[:, :4] + plus @ psi[:, -4:]).reshape(*extents[::-1], 4, 4)
    # This is the Fourier sum over 2 pi n / L, and the phases of the boundary.
    expected = np.fft.ifftn(q, axes=(0, 1, 2, 3))
    x = np.meshgrid(*(np.arange(L) for L in extents[::-1]), indexing="ij")[::-1]
    turned = sum(angle * r / L for angle, r, L in zip(theta, x, extents, strict=True))
    expected = np.exp(1j * turned)[..., None, None] * expected
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * np.abs(expected).max())


def test_anisotropy_is_a_ratio_and_its_doublers_are_warned_about() -> None:
    U = tr.quenched(lattice=(2, 2, 2, 4), beta=5.5, seed=3, sweeps=1)
    psi = np.random.default_rng(5).normal(size=(4, 4, 2, 2, 2, 4, 3))
    plain, doubled = (tr.MoebiusDomainWall(U, mass=0.1, Ls=4, nu=n, xi0=n) for n in (1.0, 2.0))
    assert np.array_equal(plain(psi), doubled(psi))
    assert "nu=2, xi0=2" in repr(doubled)
    assert "nu" not in repr(plain)
    for given in ({"nu": 0}, {"xi0": -1.0}, {"nu": float("inf")}):
        with pytest.raises(tr.BadArgument, match="must be"):
            tr.MoebiusDomainWall(U, mass=0.1, Ls=4, **given)
    with pytest.warns(UserWarning, match=r"M5 = 1\.8 is not below 2 nu / xi0 = 0\.5: .*doublers") as found:
        tr.MoebiusDomainWall(U, mass=0.1, Ls=4, nu=0.5, xi0=2.0)
    assert [w.filename for w in found] == [__file__]
