"""These tests cover Moebius and zMoebius quarks on 4x2x2x4 against the overlap operator at finite Ls, with
all 768 eigenvalues of H."""

from __future__ import annotations

import numpy as np
from dense_operators import dense_wilson
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import eigh, lu_factor, lu_solve

import trellis as tr

MASS, B5, C5, M5 = 0.1, 1.5, 0.5, 1.8


def tanh_of_artanh(h: NDArray[np.float64], Ls: int) -> NDArray[np.float64]:
    """Return tanh(Ls artanh h) = (1 - r) / (1 + r), r = ((1 - h) / (1 + h))^Ls, for |h| above 1 too."""
    small = np.where(np.abs(1 - h) < np.abs(1 + h), (1 - h) / (1 + h), (1 + h) / (1 - h)) ** Ls
    return np.where(np.abs(1 - h) < np.abs(1 + h), 1, -1) * (1 - small) / (1 + small)


def rational_sign(h: NDArray[np.float64], omega: NDArray[np.complex128]) -> NDArray[np.complex128]:
    """Return (1 - r) / (1 + r), r = prod (1 - omega_s h) / (1 + omega_s h): b_s - c_s = 1, b_s + c_s = 2
    omega_s."""
    plus, minus = (np.prod(1 + sign * h[:, None] * omega, axis=1) for sign in (1, -1))
    return (plus - minus) / (plus + minus)


def test_moebius_is_the_overlap_at_finite_Ls() -> None:
    U = tr.quenched(lattice=(4, 2, 2, 4), beta=6.0, seed=6, sweeps=20)
    D = dense_wilson(U.to_numpy(), -M5)
    n = len(D)
    gamma5 = np.tile(np.repeat([1, 1, -1, -1], 3), n // 12)
    kernel = lu_solve(
        lu_factor(2 * np.eye(n) + (B5 - C5) * D, check_finite=False), (B5 + C5) * D, check_finite=False
    )
    H = gamma5[:, None] * kernel
    assert np.abs(H - H.conj().T).max() < 1e-12
    values, vectors = eigh(H, check_finite=False)
    source = np.zeros((n, 12), dtype=np.complex128)
    source[:12] = np.eye(12)  # this is the point source at the origin, columns (spin, colour)
    at_source = vectors.conj().T @ source

    def require_overlap(sign: NDArray[np.complex128], b5: ArrayLike, c5: ArrayLike, Ls: int) -> None:
        M = tr.MoebiusDomainWall(U, mass=MASS, b5=b5, c5=c5, Ls=Ls, M5=M5, link_reals=18, columns_per_solve=4)
        S = tr.even_odd(tr.cg(tolerance=1e-14))(M).propagator(
            tr.point_source(U.geometry, (0, 0, 0, 0)), allow_not_converged=True
        )
        assert S.report is not None
        assert S.report.largest_residual < 3e-14
        # The index is [t z y x, spin, colour of the sink], [spin, colour of the source].
        q = S.to_numpy().transpose(0, 1, 2, 3, 4, 6, 5, 7).reshape(n, 12)
        # Since q = (D_ov^-1 - 1) / (1 - m), D_ov [(1 - m) q + b] = b holds.
        inverse = (1 - MASS) * q + source
        image = vectors @ (sign[:, None] * (vectors.conj().T @ inverse))
        back = (1 + MASS) / 2 * inverse + (1 - MASS) / 2 * gamma5[:, None] * image
        assert np.linalg.norm(back - source) < 1e-12 * np.linalg.norm(source), f"Ls = {Ls}, b5 = {b5}"

    distances = []
    for Ls in (4, 8, 16):
        sign = tanh_of_artanh(values, Ls)
        distances.append(np.abs(1 - np.abs(sign)).max())
        require_overlap(sign, B5, C5, Ls)
    omega = np.array([1.3 + 0.4j, 0.9 - 0.3j, 1.3 - 0.4j, 0.9 + 0.3j, 0.7, 1.1 + 0.2j])
    require_overlap(rational_sign(values, omega), omega + 0.5, omega - 0.5, len(omega))
    assert np.allclose(vectors @ at_source, source, atol=1e-12)
    # The sign function is approached as Ls grows.
    assert distances[0] > 2 * distances[1] > 4 * distances[2]
