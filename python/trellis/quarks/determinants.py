"""This module has log det of quark operators, that of domain walls through matrices of four dimensions.

R. C. Brower, H. Neff and K. Orginos, arXiv:1206.5214, and R. G. Edwards and U. M. Heller, hep-lat/0005002,
have the reduction for one b5 and c5; here each slice has its own.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from ..ground.errors import NumericError
from .dense_matrices import (
    LAPACK_BLOCK,
    Complex,
    dense,
    log_det_of,
    on_root_of_lapack,
    require_rows,
    with_phase,
)
from .domain_wall import MoebiusDomainWall
from .operators import QuarkOperator, WilsonClover


def log_det(M: QuarkOperator) -> complex:
    """Return log det M = log |det M| + i phase, -pi < phase <= pi, of a small lattice. Collective.

    Wilson and staggered quarks have at most 3072 rows, as of :func:`dense`. Domain walls are reduced to
    matrices of four dimensions, so that 12 V is at most 3072 whatever Ls is.

    Parameters
    ----------
    M
        The operator.

    Raises
    ------
    BadArgument
        No quark operator, or more rows.
    NumericError
        The matrix is singular to rounding.

    Notes
    -----
    With psi_s = P_- chi_s + P_+ chi_{s+1}, of determinant 1, D5 couples chi_s to chi_{s+1} only:

        Q_s = D_+ P_- - D_- P_+,  R_s = D_+ P_+ - D_- P_-,  D_+ = 1 + b5_s D_W,  D_- = 1 - c5_s D_W,

    with P_- - m P_+ behind the Q of the first slice and P_+ - m P_- behind the R of the last one. Hence
    det D5 = prod_s det Q_s det[ (P_- - m P_+) - T_0 T_1 ... (P_+ - m P_-) ] with the transfer matrices
    T_s = -Q_s^-1 R_s. Their product has eigenvalues that grow and fall exponentially with Ls; unitary
    transformations of pairs of rows, which find the same determinant, lose nothing by that.
    """
    if not isinstance(M, MoebiusDomainWall):
        return dense(M).log_det()
    require_rows(12 * M.geometry.volume, M)
    D_W = _kernel(M)
    p = M._params
    b5, c5 = (list(x) * (M.Ls if len(x) == 1 else 1) for x in (p.b5, p.c5))
    return on_root_of_lapack(_reduced, D_W, p.mass, b5, c5)


def _kernel(M: MoebiusDomainWall) -> Complex:
    """Return D_W(-M5). Collective."""
    p = M._params
    massless = WilsonClover(
        M._links, mass=0.0, nu=p.nu, xi0=p.xi0, boundary=M.boundary, link_reals=M._link_reals
    )
    matrix = dense(massless).matrix.copy()
    np.fill_diagonal(matrix, matrix.diagonal() - p.M5)
    return matrix


def _reduced(D_W: Complex, mass: float, b5: list[complex], c5: list[complex]) -> complex:
    """Return log det D5; the columns of chi_1, chi_2, ... are eliminated one after the other."""
    Ls, rows = len(b5), len(D_W)
    plus = np.tile(np.repeat([1.0, 0.0], 6), rows // 12)
    minus = 1 - plus

    def couplings(s: int) -> tuple[Complex, Complex]:
        """Return Q_s and R_s."""
        D_plus = np.eye(rows) + b5[s] * D_W
        D_minus = np.eye(rows) - c5[s] * D_W
        return D_plus * minus - D_minus * plus, D_plus * plus - D_minus * minus

    first, ahead = couplings(0)  # this row couples chi_0 to chi_{s+1}
    first = first * (minus - mass * plus)
    total = 0j
    for s in range(1, Ls):
        here, last = couplings(s)
        if s == Ls - 1:
            last = last * (plus - mass * minus)
        one, first, ahead = _eliminated(ahead, here, first, last)
        total += one
    total += log_det_of(first + ahead)
    return with_phase(total)


def _eliminated(
    upper: Complex, lower: Complex, first: Complex, last: Complex
) -> tuple[complex, Complex, Complex]:
    """Return rows (first, upper, 0) and (0, lower, last) made triangular in the middle by a unitary matrix.

    Returns
    -------
    log det, first, last
        log det is that of what stands on the diagonal, with that of the unitary matrix; first and last are
        left of the second row.
    """
    rows = len(upper)
    factors, tau, _, failure = lapack.zgeqrf(np.vstack([upper, lower]), lwork=LAPACK_BLOCK * rows)
    # The last columns of the unitary matrix have an adjoint that makes zeros of (upper, lower).
    below = np.vstack([np.zeros_like(first), np.eye(rows)])
    U, _, also = lapack.zunmqr("L", "N", factors, tau, below, LAPACK_BLOCK * rows)
    diagonal = factors.diagonal()
    if failure or also or not np.all(diagonal):
        raise NumericError("the matrix is singular: its determinant has no logarithm")
    # a Householder matrix 1 - tau v v^dagger is unitary, hence |v|^2 = 2 Re tau / |tau|^2
    reflections = tau[tau != 0]
    phases = np.log(-reflections / reflections.conj())
    total = complex(np.sum(np.log(diagonal)) + np.sum(phases))
    return total, U[:rows].conj().T @ first, U[rows:].conj().T @ last
