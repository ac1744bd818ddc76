"""This module has quark operators of small lattices as matrices: determinants, traces and spectra without
noise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeVar, overload

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from ..ground.arguments import choice, instance
from ..ground.compiled_core import load
from ..ground.copies_and_pickles import NoArray
from ..ground.errors import BadArgument, NumericError
from ..ground.killable import on_root_killable
from ..ground.parallel import broadcast, on_root, ranks
from .operators import QuarkOperator

Complex = NDArray[np.complex128]
Real = NDArray[np.float64]
T = TypeVar("T")

#: Wilson quarks on 4^4 have so many rows. The eigenvalues of such a matrix take minutes on one core.
LARGEST_ROWS = 3072
#: LAPACK takes so many columns together; with the workspace that SciPy gives it they are three.
LAPACK_BLOCK = 64
#: Work on so many rows takes less than a second, and needs no process of its own.
ROWS_AT_ONCE = 256


def dense(M: QuarkOperator) -> DenseOperator:
    """Return the matrix of a quark operator, for its log det, traces and eigenvalues. Collective.

    The matrix is assembled column by column from applications of the operator in double, so that it has
    the same bits on every process grid. Each rank holds all of it; LAPACK works on rank 0, where more than
    256 rows have a process of their own, which Ctrl-C ends.

    Parameters
    ----------
    M
        A :class:`WilsonClover`, :class:`MoebiusDomainWall`, :class:`Staggered` or :class:`HISQ` of at most
        3072 rows: 12 V, 12 V Ls of domain walls (see :func:`log_det` for larger ones), 3 V of staggered
        quarks.

    Raises
    ------
    BadArgument
        No quark operator, or one with more rows.
    """
    if not isinstance(M, QuarkOperator):
        raise BadArgument(f"M must be a quark operator (WilsonClover and the like), found {M!r}")
    shape = _global_shape(M)
    require_rows(int(np.prod(shape)), M, reduces=M._slices > 1)
    return DenseOperator(M, _assembled(M, shape))


def require_rows(rows: int, M: QuarkOperator, *, reduces: bool = False) -> None:
    """Refuse more rows than LAPACK is meant for.

    Raises
    ------
    BadArgument
        With the rows and the memory that the matrix would take.
    """
    if rows <= LARGEST_ROWS:
        return
    remedy = "; its determinant alone needs matrices of 12 V rows: tr.log_det(M)" if reduces else ""
    raise BadArgument(
        f"dense matrices have at most {LARGEST_ROWS} rows (151 MB): expected a smaller lattice, found {M!r} "
        f"on {M.geometry.extents} with {rows} rows, which take {16 * rows**2 / 1e9:.3g} GB{remedy}"
    )


def _global_shape(M: QuarkOperator) -> tuple[int, ...]:
    """Return the shape of a field on the whole lattice, as `M.apply` has it for this rank's part."""
    slices = (M._slices,) if M._slices > 1 else ()
    return (*slices, *M.geometry.extents[::-1], *((4, 3) if M._has_spin else (3,)))


def _assembled(M: QuarkOperator, shape: tuple[int, ...]) -> Complex:
    """Collect all columns on every rank."""
    geometry, rows = M.geometry, int(np.prod(shape))
    part = [slice(o, o + n) for o, n in zip(geometry.origin, geometry.local_extents, strict=True)]
    before = (slice(None),) * (M._slices > 1)
    mine = np.arange(rows).reshape(shape)[(*before, *part[::-1])]
    place_of = {row: place for place, row in enumerate(mine.ravel().tolist())}
    psi = np.zeros(mine.shape, dtype=np.complex128)
    unit = psi.reshape(-1)
    columns = np.empty((rows, mine.size), dtype=np.complex128)
    for row in range(rows):
        if row in place_of:
            unit[place_of[row]] = 1
        columns[row] = M._applied(psi, dagger=False).ravel()
        unit[:] = 0
    matrix = np.empty((rows, rows), dtype=np.complex128)
    for root in range(ranks()):
        places, found = broadcast((mine.ravel(), columns), root)
        matrix[places] = found.T
    return matrix


def on_root_of_lapack(function: Callable[..., T], matrix: Complex, *options: Any) -> T:
    """Return what a function of a matrix gives on every rank; Ctrl-C ends it. Collective."""
    if len(matrix) <= ROWS_AT_ONCE:
        return on_root(lambda: function(matrix, *options))
    return on_root_killable(function, matrix, *options)


class DenseOperator(NoArray):
    """This is a quark operator as a matrix, which :func:`dense` returns.

    Attributes
    ----------
    operator : QuarkOperator
        The operator that it is the matrix of.
    matrix : ndarray
        complex128, [rows, rows], read-only, on every rank. Rows and columns are the numbers of a field on
        the whole lattice in the order of ``M.apply``: [t, z, y, x, spin, colour], with the slices of domain
        walls before, and without the spin of staggered quarks.
    """

    _no_array = "its numbers are in .matrix"

    def __init__(self, operator: QuarkOperator, matrix: Complex) -> None:
        self.operator, self.matrix = operator, matrix
        self.matrix.flags.writeable = False
        self._diagonal: Complex | None = None

    def __repr__(self) -> str:
        return f"dense({self.operator!r}, rows={self.rows})"

    @property
    def rows(self) -> int:
        """Return the number of rows."""
        return len(self.matrix)

    def log_det(self) -> complex:
        """Return log det M = log |det M| + i phase, -pi < phase <= pi. Collective.

        Raises
        ------
        NumericError
            The matrix is singular to rounding.
        """
        return on_root_of_lapack(log_det_of, self.matrix)

    def trace_inverse(self, gamma: str = "1") -> complex:
        """Return Tr Gamma M^-1 over sites, spins and colours, of domain walls also over slices. Collective.

        The matrix is inverted at the first call only.

        Parameters
        ----------
        gamma
            Gamma by name: "1", "gamma5", "gamma_t", "sigma_xy", "gamma_t gamma5", ...

        Raises
        ------
        BadArgument
            Another name, or a gamma matrix for quarks without spin.
        NumericError
            The matrix is singular to rounding.
        """
        Gamma = load().gamma_matrix(instance("gamma", gamma, str))
        if not self.operator._has_spin and gamma != "1":
            raise BadArgument(f"staggered quarks have no spin: expected gamma = '1', found {gamma!r}")
        if self._diagonal is None:
            spins = 4 if self.operator._has_spin else 1
            self._diagonal = on_root_of_lapack(_spin_diagonal, self.matrix, spins)
        size = len(self._diagonal)
        return complex(np.trace(Gamma[:size, :size] @ self._diagonal))

    @overload
    def eigenvalues(self, of: Literal["M"] = "M") -> Complex: ...
    @overload
    def eigenvalues(self, of: Literal["gamma5 M", "M^dagger M"]) -> Real: ...

    def eigenvalues(self, of: str = "M") -> Complex | Real:
        """Return all eigenvalues of M, gamma5 M or M^dagger M. Collective.

        Parameters
        ----------
        of
            "M", in the order of their real parts; "gamma5 M" of Wilson quarks without a twisted mass, which
            is hermitian, and "M^dagger M", ascending.

        Returns
        -------
        ndarray
            [rows], complex128 of M, else float64.

        Raises
        ------
        BadArgument
            Another word, or "gamma5 M" of an operator for which it is not hermitian.
        NumericError
            The iteration of LAPACK does not converge.
        """
        choice("of", of, "M", "gamma5 M", "M^dagger M")
        M = self.operator
        if of == "gamma5 M" and not (M.is_gamma5_hermitian and M._slices == 1):
            raise BadArgument(
                f"gamma5 M is hermitian for Wilson quarks without a twisted mass only, found {M!r}: "
                "expected 'M' or 'M^dagger M'"
            )
        return on_root_of_lapack(_eigenvalues, self.matrix, of)


def _factorised(matrix: Complex) -> tuple[Complex, NDArray[np.int32]]:
    """Return LU factors and pivots; raise NumericError where rounding cannot tell the matrix from a singular
    one."""
    factors, pivots, failure = lapack.zgetrf(matrix)
    share = 0.0
    if not failure:
        share, _ = lapack.zgecon(factors, np.linalg.norm(matrix, 1))
    if not share > np.finfo(float).eps:
        raise NumericError(
            f"the matrix is singular to rounding: it has no inverse and its determinant no logarithm "
            f"(reciprocal condition number {share:.2g}); another mass helps"
        )
    return factors, pivots


def log_det_of(matrix: Complex) -> complex:
    """Return log |det| + i phase of a matrix.

    Raises
    ------
    NumericError
        The matrix is singular to rounding.
    """
    factors, pivots = _factorised(matrix)
    diagonal = factors.diagonal()
    exchanges = np.count_nonzero(pivots != np.arange(len(pivots)))
    return with_phase(np.sum(np.log(diagonal)) + 1j * np.pi * exchanges)


def with_phase(log_det: complex) -> complex:
    """Return the same log det with an imaginary part between -pi and pi."""
    return complex(log_det.real, np.angle(np.exp(1j * log_det.imag)))


def _spin_diagonal(matrix: Complex, spins: int) -> Complex:
    """Return the sum over sites and colours of M^-1, [spin, spin]."""
    inverse, failure = lapack.zgetri(*_factorised(matrix), lwork=LAPACK_BLOCK * len(matrix))
    if failure:
        raise NumericError(f"LAPACK's zgetri fails with {failure}: the matrix has no inverse")
    sites = len(matrix) // (3 * spins)
    blocks = inverse.reshape(sites, spins, 3, sites, spins, 3)
    return np.asarray(np.einsum("xscxtc->st", blocks))


def _eigenvalues(matrix: Complex, of: str) -> Complex | Real:
    try:
        if of == "M":
            return np.asarray(np.sort_complex(np.linalg.eigvals(matrix)), dtype=np.complex128)
        if of == "M^dagger M":
            sizes = np.linalg.svd(matrix, compute_uv=False)[::-1]
            return np.asarray(sizes**2, dtype=np.float64)
        gamma5 = np.tile(np.repeat([1.0, -1.0], 6), len(matrix) // 12)
        return np.asarray(np.linalg.eigvalsh(gamma5[:, None] * matrix), dtype=np.float64)
    except np.linalg.LinAlgError as error:
        raise NumericError(f"LAPACK does not find the eigenvalues: {error}") from None
