"""These tests compare operators as matrices, their log det, traces and spectra, with free fields, solves and
derivatives."""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest
from command_line import command, environment
from dense_operators import GAMMA, dense_domain_wall, dense_wilson
from numpy.typing import NDArray
from scipy.linalg import eigh

import trellis as tr

EXTENTS = (2, 2, 2, 4)
BOUNDARY = (1, np.exp(0.3j), 1, -1)
KINDS: dict[str, Callable] = {
    "clover": lambda U, mass: tr.WilsonClover(U, mass=mass, csw=1.1, nu=0.9, xi0=1.4, boundary=BOUNDARY),
    "twisted": lambda U, mass: tr.WilsonClover(U, mass=mass, csw=0.7, twisted_mass=0.3),
    "staggered": lambda U, mass: tr.Staggered(U, mass=mass, mu_over_ipiT=0.3, boundary=BOUNDARY),
    "hisq": lambda U, mass: tr.HISQ(U, mass=mass, epsilon=-0.1),
}


@pytest.fixture(scope="module")
def U() -> tr.GaugeField:
    return tr.quenched(lattice=EXTENTS, beta=5.5, seed=3, sweeps=5)


@pytest.fixture(scope="module")
def small() -> tr.GaugeField:
    return tr.quenched(lattice=(2, 2, 2, 2), beta=5.5, seed=4, sweeps=5)


def momenta(boundary: tuple[complex, ...]) -> NDArray[np.float64]:
    """Return the momenta [4, momentum], with the boundary phases."""
    one = [(2 * np.pi * np.arange(L) + np.angle(z)) / L for L, z in zip(EXTENTS, boundary, strict=True)]
    return np.array(list(itertools.product(*one))).T


def test_matrices_are_those_of_the_conventions(U: tr.GaugeField) -> None:
    links = U.to_numpy()
    expected = dense_wilson(links, 0.2, BOUNDARY)
    D = tr.dense(tr.WilsonClover(U, mass=0.2, boundary=BOUNDARY))
    assert D.rows == 12 * 32
    assert not D.matrix.flags.writeable
    np.testing.assert_allclose(D.matrix, expected, rtol=0, atol=1e-14)
    b5, c5 = [1.2, 0.9, 1.4], [0.3, 0.5, 0.1]
    found = tr.dense(tr.MoebiusDomainWall(U, mass=0.1, b5=b5, c5=c5, Ls=3, M5=1.4))
    expected, _ = dense_domain_wall(dense_wilson(links, -1.4), 0.1, b5, c5)
    np.testing.assert_allclose(found.matrix, expected, rtol=0, atol=1e-14)


def test_free_wilson_quarks() -> None:
    """With D = r + i gamma.s, r = m + 1 + 3 nu/xi0 - sum a cos p and s = a sin p, each r +- i |s| comes six
    times."""
    m, nu, xi0 = 0.1, 1.3, 2.5
    D = tr.dense(tr.WilsonClover(tr.cold(EXTENTS), mass=m, nu=nu, xi0=xi0, boundary=BOUNDARY))
    a = np.array([nu / xi0] * 3 + [1])[:, None]
    p = momenta(BOUNDARY)
    r = m + np.sum(a * (1 - np.cos(p)), axis=0)
    s = np.sqrt(np.sum((a * np.sin(p)) ** 2, axis=0))
    expected = np.repeat(np.concatenate([r + 1j * s, r - 1j * s]), 6)
    found = D.eigenvalues()
    distances = np.abs(found[:, None] - expected)
    assert distances.min(axis=0).max() < 1e-12
    assert distances.min(axis=1).max() < 1e-12
    assert np.sum(found**3) == pytest.approx(np.sum(expected**3), rel=1e-12)
    assert D.log_det() == pytest.approx(np.sum(np.log(expected)).real, rel=1e-13, abs=1e-11)
    assert D.trace_inverse() == pytest.approx(np.sum(1 / expected), rel=1e-13)
    sizes = np.sort(np.abs(expected))
    np.testing.assert_allclose(D.eigenvalues("M^dagger M"), sizes**2, rtol=1e-12)
    expected = np.sort(np.concatenate([sizes[::2], -sizes[::2]]))
    np.testing.assert_allclose(D.eigenvalues("gamma5 M"), expected, rtol=1e-12)


@pytest.mark.parametrize("improved", [False, True])
def test_free_staggered_quarks(improved: bool) -> None:
    """With M = m + i s, s of either sign and s^2 = sum s_mu^2, M^dagger M has m^2 + s^2 once for each
    colour."""
    m, epsilon = 0.07, -0.2
    cold = tr.cold(EXTENTS)
    if improved:
        D = tr.dense(tr.HISQ(cold, mass=m, epsilon=epsilon, boundary=BOUNDARY))
    else:
        D = tr.dense(tr.Staggered(cold, mass=m, boundary=BOUNDARY))
    p = momenta(BOUNDARY)
    lines = np.sin(p)
    if improved:
        lines = (9 + epsilon) / 8 * np.sin(p) - (1 + epsilon) / 24 * np.sin(3 * p)
    s = np.sort(np.repeat(np.sqrt(np.sum(lines**2, axis=0)), 3))
    assert D.rows == len(s) == 96
    np.testing.assert_allclose(D.eigenvalues("M^dagger M"), m**2 + s**2, rtol=1e-12)
    found = D.eigenvalues()
    np.testing.assert_allclose(found.real, m, rtol=0, atol=1e-13)
    np.testing.assert_allclose(np.sort(found.imag), np.sort([*s[::2], *-s[::2]]), rtol=0, atol=1e-12)
    assert D.log_det() == pytest.approx(np.sum(np.log(m**2 + s**2)) / 2, rel=1e-13, abs=1e-11)
    assert D.trace_inverse() == pytest.approx(np.sum(m / (m**2 + s**2)), rel=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_log_det_is_that_of_the_eigenvalues_and_its_derivative_the_trace(U: tr.GaugeField, kind: str) -> None:
    make, m, h = KINDS[kind], 0.21, 1e-2
    D = tr.dense(make(U, m))
    values = D.eigenvalues()
    assert np.exp(D.log_det() - np.sum(np.log(values))) == pytest.approx(1, rel=1e-10)
    assert D.log_det() == tr.log_det(make(U, m))
    steps = [tr.log_det(make(U, m + k * h)) for k in (-3, -2, -1, 1, 2, 3)]
    weights = np.array([-1, 9, -45, 45, -9, 1]) / (60 * h)
    slope = weights @ np.array(steps)
    assert D.trace_inverse().real == pytest.approx(slope.real, rel=1e-7)
    assert D.trace_inverse() == pytest.approx(np.sum(1 / values), rel=1e-10)


def test_determinants_of_wilson_quarks_are_real_and_twisted_ones_shift_the_spectrum(U: tr.GaugeField) -> None:
    """Here gamma5 (M + i mu gamma5) = gamma5 M + i mu holds, and det gamma5 = 1."""
    mu = 0.3
    D = tr.dense(tr.WilsonClover(U, mass=-0.9, csw=0.7))
    values = D.eigenvalues("gamma5 M")
    assert np.exp(D.log_det() - np.sum(np.log(values + 0j))) == pytest.approx(1, rel=1e-11)
    assert np.sin(D.log_det().imag) == pytest.approx(0, abs=1e-11)
    twisted = tr.dense(tr.WilsonClover(U, mass=-0.9, csw=0.7, twisted_mass=mu))
    assert np.exp(twisted.log_det() - np.sum(np.log(values + 1j * mu))) == pytest.approx(1, rel=1e-11)
    # The trace with gamma5 is the derivative by i mu.
    expected = np.sum(1 / (values + 1j * mu))
    assert twisted.trace_inverse("gamma5") == pytest.approx(expected, rel=1e-11)
    singular_values = np.sort(values**2 + mu**2)
    np.testing.assert_allclose(twisted.eigenvalues("M^dagger M"), singular_values, rtol=1e-10)


@pytest.mark.parametrize("kind", ["clover", "staggered", "moebius"])
def test_traces_are_those_of_solves_from_all_sites(small: tr.GaugeField, kind: str) -> None:
    if kind == "moebius":
        M = tr.MoebiusDomainWall(small, mass=0.3, b5=[1.2, 0.9 + 0.2j], c5=0.4, Ls=2)
    else:
        M = KINDS[kind](small, 0.21)
    D, solve = tr.dense(M), tr.even_odd(tr.cg(tolerance=1e-12))(M)
    shape = {"clover": (4, 3), "staggered": (3,), "moebius": (4, 3)}[kind]
    shape = (*((2,) if kind == "moebius" else ()), 2, 2, 2, 2, *shape)
    rows = int(np.prod(shape))
    inverse = np.empty((rows, rows), dtype=np.complex128)
    for row, unit in enumerate(np.eye(rows)):
        inverse[:, row] = solve.solve(unit.reshape(shape))[0].ravel()
    assert D.trace_inverse() == pytest.approx(np.trace(inverse), rel=1e-11)
    if kind == "staggered":
        return
    for name, Gamma in (("gamma_z", GAMMA[2]), ("gamma_x gamma_t", GAMMA[0] @ GAMMA[3])):
        whole = np.kron(np.eye(rows // 12), np.kron(Gamma, np.eye(3)))
        assert D.trace_inverse(name) == pytest.approx(np.trace(whole @ inverse), rel=1e-9, abs=1e-9)


WALLS = [
    {"Ls": 4, "b5": 1.5, "c5": 0.5, "M5": 1.8},
    {"Ls": 5, "b5": 1.0, "c5": 0.0, "M5": 1.1, "boundary": BOUNDARY},
    {
        "Ls": 6,
        "b5": [1.3 + 0.4j, 0.9 - 0.3j, 1.1, 0.7, 1.2j, 1.0],
        "c5": 0.3 - 0.1j,
        "boundary": (1, 1, 1, 0),
    },
    {"Ls": 7, "b5": 1.2, "c5": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6 + 0.2j, 0.7]},
    {"Ls": 8, "b5": 1.9, "c5": 0.9, "M5": 1.3, "nu": 0.8, "xi0": 1.2},
]


@pytest.mark.parametrize("walls", WALLS, ids=lambda walls: f"Ls={walls['Ls']}")
def test_log_det_of_domain_walls_by_matrices_of_four_dimensions(small: tr.GaugeField, walls: dict) -> None:
    M = tr.MoebiusDomainWall(small, mass=0.07, **walls)
    five = tr.dense(M)
    assert five.rows == 192 * M.Ls
    assert np.exp(tr.log_det(M) - five.log_det()) == pytest.approx(1, rel=1e-10)


def test_log_det_of_many_slices_is_that_of_the_overlap_operator(small: tr.GaugeField) -> None:
    """The identity is det D5(m) / det D5(1) = det[(1 + m)/2 + (1 - m)/2 gamma5 tanh(Ls artanh H)], with large
    T^Ls."""
    m, b, c, M5, Ls = 0.02, 1.5, 0.5, 1.8, 32
    D = dense_wilson(small.to_numpy(), -M5)
    gamma5 = np.tile(np.repeat([1.0, -1.0], 6), len(D) // 12)
    kernel = np.linalg.solve(2 * np.eye(len(D)) + (b - c) * D, (b + c) * D)
    values, vectors = eigh(gamma5[:, None] * kernel)
    r = np.abs((1 - values) / (1 + values)) ** Ls  # Ls is even
    assert max(r.max(), (1 / r).max()) > 1e16
    sign = (vectors * ((1 - r) / (1 + r))) @ vectors.conj().T
    expected = np.linalg.slogdet((1 + m) / 2 * np.eye(len(D)) + (1 - m) / 2 * gamma5[:, None] * sign)
    walls, pauli_villars = (
        tr.MoebiusDomainWall(small, mass=mass, b5=b, c5=c, M5=M5, Ls=Ls) for mass in (m, 1.0)
    )
    ratio = tr.log_det(walls) - tr.log_det(pauli_villars)
    assert ratio.real == pytest.approx(expected[1], rel=1e-9)
    assert np.exp(1j * ratio.imag) == pytest.approx(expected[0], abs=1e-9)
    with pytest.raises(tr.BadArgument, match=r"with 6144 rows, which take 0\.604 GB; .*tr\.log_det\(M\)"):
        tr.dense(walls)


def test_what_is_refused(small: tr.GaugeField) -> None:
    large = tr.cold((4, 4, 4, 8))
    for call in (tr.dense, tr.log_det):
        with pytest.raises(tr.BadArgument, match=r"at most 3072 rows \(151 MB\).*with 6144 rows"):
            call(tr.WilsonClover(large, mass=0.1))
        with pytest.raises(tr.BadArgument, match="M must be a quark operator"):
            call(small)
    with pytest.raises(tr.BadArgument, match=r"with 6144 rows, which take 0\.604 GB$"):
        tr.log_det(tr.MoebiusDomainWall(large, mass=0.1))
    staggered = tr.dense(tr.Staggered(small, mass=0.1))
    with pytest.raises(tr.BadArgument, match="no spin"):
        staggered.trace_inverse("gamma5")
    with pytest.raises(tr.BadArgument, match="gamma_q"):
        staggered.trace_inverse("gamma_q")
    walls = tr.dense(tr.MoebiusDomainWall(small, mass=0.1, Ls=2))
    for D in (staggered, walls, tr.dense(KINDS["twisted"](small, 0.1))):
        with pytest.raises(tr.BadArgument, match="gamma5 M is hermitian for Wilson quarks"):
            D.eigenvalues("gamma5 M")
    with pytest.raises(tr.BadArgument, match="of must be"):
        walls.eigenvalues("M M")
    # Without a mass and with periodic boundaries, constants are zero modes.
    for extents in ((2, 2, 2, 2), (2, 4, 2, 4)):
        free = tr.dense(tr.Staggered(tr.cold(extents), mass=0.0, boundary=(1, 1, 1, 1)))
        for ask in (free.log_det, free.trace_inverse):
            with pytest.raises(tr.NumericError, match="the matrix is singular to rounding"):
                ask()


PROGRAM = """
import hashlib, sys
import trellis as tr
U = tr.quenched(lattice=(2, 4, 2, 4), beta=5.5, seed=3, sweeps=2)
found = []
walls = tr.MoebiusDomainWall(U, mass=0.1, Ls=2)
for M in (tr.WilsonClover(U, mass=0.2, csw=1.0), tr.Staggered(U, mass=0.2), walls):
    D = tr.dense(M)
    found += [hashlib.sha256(D.matrix.tobytes()).hexdigest(), tr.log_det(M)]
    if D.rows < 200:
        found += [D.trace_inverse(), D.eigenvalues("M^dagger M")[0]]
sys.stdout.write(f"{tr.rank()}: {found}\\n")
"""


@pytest.mark.slow
def test_all_process_grids_find_the_same() -> None:
    said = {}
    for ranks in (1, 4):
        launcher = command(ranks=ranks)[: -len(command())]
        done = subprocess.run(
            [*launcher, sys.executable, "-c", PROGRAM],
            env=environment(OPENBLAS_NUM_THREADS="1"),
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        lines = sorted(done.stdout.splitlines())
        assert [int(line.split(":")[0]) for line in lines] == list(range(ranks))
        (said[ranks],) = {line.split(":", 1)[1] for line in lines}
    assert said[1] == said[4]
