"""This module has low modes of Dirac operators, with which solvers are deflated.

>>> import trellis as tr
>>> modes = tr.lanczos(M, count=24)                                             # doctest: +SKIP
>>> solve = tr.deflated(tr.even_odd(tr.cg(tolerance=1e-10)), modes)             # doctest: +SKIP
>>> S = solve(M).propagator(tr.point_source(U.geometry, (0, 0, 0, 0)))          # doctest: +SKIP
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from ..ground.arguments import choice, file_path, instance, integer, real
from ..ground.arguments import seed as seed_of
from ..ground.compiled_core import load
from ..ground.copies_and_pickles import NoArray, SharedByCopies
from ..ground.operator_records import OperatorRecord
from ..ground.solve_report import NotConverged
from ..quarks.operators import QuarkOperator
from .eigenvector_output import write_eigenvectors
from .prepared import Prepared

if TYPE_CHECKING:
    from .. import _core

Storage = Literal["double", "float", "single", "half"]


class Eigenvectors(Prepared, SharedByCopies, NoArray):
    """These are the lowest eigenvectors of A^dagger A; A is the operator or its even-odd Schur complement.

    They are made by :func:`lanczos` or read by :func:`read_eigenvectors`; they belong to the links, the
    parameters and the even-odd form of that operator, and a solver with them is not bound to another one.

    Attributes
    ----------
    values : ndarray
        Eigenvalues of A^dagger A, ascending.
    residuals : ndarray
        |A^dagger A v - lambda v| / upper of each, before compression.
    upper : float
        Estimated bound of the spectrum.
    even_odd : str
        "symmetric", "asymmetric" or "none".
    operator : object
        Name, parameters and plaquette of the operator.
    extents : tuple of int
        Lx, Ly, Lz, Lt.
    storage : str
        The vectors are kept in it: "double", "float" or "half".
    tolerance : float
        The search asked for it.
    converged : bool
        It is true if every residual met it, before a last rotation that may change them a little.
    seconds : float
        They cost so much wall time.
    bytes : int
        Memory of the stored vectors on this rank.
    """

    _what = "eigenvectors"
    _instead = "write them to files (modes.write), which tr.read_eigenvectors reads"
    _no_array = "eigenvalues are in .values, and .write() makes an HDF5 file with the vectors"

    def __init__(
        self,
        core: _core.Eigenvectors,
        even_odd: str,
        storage: str,
        operator: OperatorRecord,
        extents: tuple[int, ...],
    ) -> None:
        self._core = core
        self.operator, self.extents = operator, extents
        self.even_odd, self.storage = even_odd, storage
        self.tolerance: float = core.tolerance
        self.values: NDArray[np.float64] = np.asarray(core.values)
        self.residuals: NDArray[np.float64] = np.asarray(core.relative_residual)
        self.upper: float = core.upper
        self.converged: bool = core.converged
        self.seconds: float = core.seconds
        self.bytes: int = core.bytes

    def __len__(self) -> int:
        return len(self.values)

    def write(self, path: str | os.PathLike, *, run_file: str = "") -> None:
        """Write an HDF5 file that :func:`read_eigenvectors` reads (doc/formats.md). Collective.

        Vectors have 64 bits where `storage` is "double" and 32 otherwise.

        Parameters
        ----------
        path
            The file; an older one of that name stays until the new one is whole.
        run_file
            Text of the run file, for provenance.

        Raises
        ------
        FileError
            The file cannot be written.
        """
        write_eigenvectors(self, path, run_file=run_file)

    def update(self, M: QuarkOperator, *, allow_not_converged: bool = False) -> Eigenvectors:
        """Find as many modes of another operator, which differs little; the search begins from these modes.

        Collective.

        Parameters
        ----------
        M
            An operator on the same lattice, of the same kind of fields.
        allow_not_converged
            Return the modes found even if a residual missed the tolerance.

        Raises
        ------
        NotConverged
            A residual missed the tolerance, unless `allow_not_converged`.
        BadArgument
            The operator acts on other fields.
        """
        found = self._core.updated(instance("M", M, QuarkOperator)._core, self.even_odd)
        core = cast("_core.Eigenvectors", found)
        modes = Eigenvectors(core, self.even_odd, self.storage, M._record, M.geometry.extents)
        return _converged(modes, allow_not_converged)

    def plot(self, path: str | os.PathLike | None = None) -> Any:
        """Draw the eigenvalues (above) and their residuals (below).

        Parameters
        ----------
        path
            The picture is saved there (PNG, PDF or SVG, by the ending); without it nothing is saved.

        Returns
        -------
        matplotlib.figure.Figure

        Raises
        ------
        OSError
            The picture cannot be written.
        """
        from matplotlib.figure import Figure

        figure = Figure(figsize=(6, 5), layout="constrained")
        above, below = figure.subplots(2, 1, sharex=True, height_ratios=[1.6, 1])
        numbers = range(1, len(self) + 1)
        above.semilogy(numbers, self.values, "o", mfc="white")
        above.set(
            ylabel=r"eigenvalue of $A^\dagger A$", title=f"{len(self)} modes, even-odd: {self.even_odd}"
        )
        below.semilogy(numbers, self.residuals, "s", mfc="white", label="found")
        below.axhline(self.tolerance, ls="--", color="0.4", label="asked for")
        below.set(xlabel="mode", ylabel="residual")
        below.legend()
        for axes in (above, below):
            axes.grid(alpha=0.3)
        if path is not None:
            figure.savefig(file_path(path))
        return figure

    def __repr__(self) -> str:
        lattice = "x".join(map(str, self.extents))
        return f"<Eigenvectors {len(self)} of {self._core.operator_name} on {lattice}, in {self.storage}>"

    def __str__(self) -> str:
        c = self._core
        return (
            f"{len(self)} modes of {c.operator_name}: eigenvalues {self.values[0]:.3e} to "
            f"{self.values[-1]:.3e}, residuals up to {self.residuals.max():.1e}; filter of degree {c.degree} "
            f"above {c.cutoff:.2e}, {c.restarts} restarts, {self.seconds:.3g} s, {self.bytes / 1e6:.1f} MB "
            f"in {self.storage}"
        )


def lanczos(
    M: QuarkOperator,
    *,
    count: int = 16,
    even_odd: Literal["symmetric", "asymmetric", "none"] = "symmetric",
    block: int = 4,
    basis: int | None = None,
    tolerance: float = 1e-8,
    max_restarts: int = 100,
    degree: int | None = None,
    cutoff: float | None = None,
    upper: float | None = None,
    storage: Storage = "float",
    seed: int = 1,
    allow_not_converged: bool = False,
) -> Eigenvectors:
    """Return the lowest eigenvectors of A^dagger A by a block Lanczos with thick restarts. Collective.

    Parameters
    ----------
    M
        Any operator: Wilson, clover, twisted mass, domain wall, staggered or HISQ.
    count
        Eigenvectors wanted.
    even_odd
        It says of which system: of the Schur complement that ``tr.even_odd`` of this form solves, or M
        itself.
    block
        Right-hand sides that share an application of the operator.
    basis
        Largest number of basis vectors, in double; default 2 count + 4 block, or half the dimension.
    tolerance
        |A^dagger A v - lambda v| / upper is at most this.
    max_restarts
        The search ends there, converged or not; at least 1.
    allow_not_converged
        Return what there is where a residual missed the tolerance.
    degree, cutoff
        They belong to the Chebyshev filter, which damps eigenvalues between cutoff and upper; default: found.
    upper
        A bound of the spectrum, refused where a few unfiltered steps find larger eigenvalues; default:
        estimated from these.
    storage
        The vectors are kept in it: "double", "float" or "half" (16 bit).
    seed
        The random first block depends on it.

    Raises
    ------
    NotConverged
        A residual missed the tolerance, unless `allow_not_converged`.
    BadArgument
        A value outside its range.
    """
    core = load()
    spec = core.LanczosSpec()
    spec.count, spec.block = integer("count", count), integer("block", block)
    spec.tolerance = real("tolerance", tolerance)
    spec.max_restarts, spec.seed = integer("max_restarts", max_restarts), seed_of("seed", seed)
    for name, value in {"basis": basis, "degree": degree}.items():
        if value is not None:
            setattr(spec, name, integer(name, value, least=1))
    for name, limit in {"cutoff": cutoff, "upper": upper}.items():
        if limit is not None:
            setattr(spec, name, real(name, limit, above=0))
    spec.set_storage(instance("storage", storage, str))
    instance("M", M, QuarkOperator)
    choice("even_odd", even_odd, "symmetric", "asymmetric", "none")
    found = core.lanczos(M._core, even_odd, spec)
    return _converged(
        Eigenvectors(found, even_odd, storage, M._record, M.geometry.extents), allow_not_converged
    )


def _converged(modes: Eigenvectors, allow_not_converged: bool) -> Eigenvectors:
    """Return the modes, or raise NotConverged."""
    if not modes.converged and not allow_not_converged:
        raise NotConverged(
            f"lanczos: {len(modes)} modes after {modes._core.restarts} restarts with residuals up to "
            f"{modes.residuals.max():.1e}, wanted {modes.tolerance:.1e}"
        )
    return modes
