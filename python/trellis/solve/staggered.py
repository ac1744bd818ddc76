"""This module has staggered operators with their solves: fields, traces with noise, the Goldstone pion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..ground.arguments import integers
from ..ground.compiled_core import load
from ..ground.solve_report import SolveReport
from ..quarks.staggered import HISQOperator, NaiveStaggeredOperator
from .bound import require_converged
from .noise_traces import StaggeredObservables
from .staggered_masses import MassSolves, bound_to
from .values import Solver


class _StaggeredSolves(MassSolves):
    """This class has the solves of staggered operators."""

    def solve(
        self, b: ArrayLike, *, solver: Solver | None = None, progress: bool = False
    ) -> tuple[NDArray[np.complex128], SolveReport]:
        """Return x with M x = b, solved for through the even sites. Collective.

        Parameters
        ----------
        b
            complex, shape [t, z, y, x, colour], this rank's part.
        solver
            Any solver; default cg(tolerance=1e-10). Its tolerance is one of M x = b.
            ``M.solve(b, solver=s)`` is ``tr.even_odd(s)(M).solve(b)``.
        progress
            Show iterations and residual on standard error while the solve lasts.

        Raises
        ------
        NotConverged
            The tolerance was missed.
        """
        return bound_to(self, solver).solve(b, progress=progress)

    def pion(
        self, *, source: Sequence[int] = (0, 0, 0, 0), solver: Solver | None = None
    ) -> NDArray[np.float64]:
        """Return the pion of the Goldstone channel: C(t) = sum |M^-1(x, t; source)|^2, t after the source.

        Parameters
        ----------
        source
            x, y, z, t of the point source.
        solver
            It is that of :meth:`solve`.

        Raises
        ------
        NotConverged
            The tolerance was missed.
        BadArgument
            A source that is not four integers on the lattice.
        """
        bound = bound_to(self, solver)
        found = load().goldstone_pion(self._matrix, integers("source", source, 4), bound.solver._spec())
        require_converged(bound._report(found.report))
        return np.array(found.correlator)

    def observables(
        self,
        *,
        n_f: float,
        vectors: int,
        seed: int,
        noise: Literal["z2", "z4"] = "z4",
        stream: int = 0,
        configuration: int = 0,
        first: int = 0,
        susceptibility: bool = False,
        planes: Sequence[str] = (),
        solver: Solver | None = None,
    ) -> StaggeredObservables:
        """Return condensate, number density, susceptibility and magnetisation by noise vectors. Collective.

        Parameters
        ----------
        n_f
            Flavours of this entry.
        vectors
            Number of noise vectors; they are solved in one batch.
        noise
            Components of the vectors: "z2" (+-1) or "z4" (+-1 and +-i).
        seed, stream, configuration, first
            They are the key of the random numbers: `configuration` is its number, `first` that of the first
            vector.
        susceptibility
            The second derivatives are wanted, too: they take a second solve for each vector.
        planes
            The magnetisation is wanted in these planes, among "xy", "xz", "xt", "yz", "yt", "zt".
        solver
            It is that of :meth:`solve`.

        Raises
        ------
        NotConverged
            The tolerance was missed.
        BadArgument
            Another noise or plane, a number outside its range.
        """
        found = bound_to(self, solver)._observables(
            n_f=n_f,
            vectors=vectors,
            seed=seed,
            noise=noise,
            stream=stream,
            configuration=configuration,
            first=first,
            susceptibility=susceptibility,
            planes=planes,
        )
        return cast("StaggeredObservables", found)


class Staggered(_StaggeredSolves, NaiveStaggeredOperator):
    """This is the naive staggered operator M = m + D with a U(1) field (doc/conventions.md, Staggered
    fermions).

    Parameters
    ----------
    U
        Thin or smeared links; they are copied.
    mass
        m.
    boundary
        Phases of modulus 1 for crossing the boundary in x, y, z, t.
    mu_over_ipiT
        Imaginary chemical potential: mu / (i pi T).
    charge_thirds, b, e
        Charge in thirds of e, and the quanta of the magnetic (b_x, b_y, b_z) and electric fields; integers.
    link_reals
        It is that of :class:`WilsonClover`.

    Raises
    ------
    BadArgument
        A phase that has not modulus 1, a flux that is not an integer, links that are not in SU(3).
    """


class HISQ(_StaggeredSolves, HISQOperator):
    """This is the HISQ operator on a thin gauge field: two levels of fat links, U(3) projection, Naik term.

    Parameters
    ----------
    U
        Thin links.
    epsilon
        Correction of the Naik term (heavy quarks); 0 for light ones.
    mass, boundary, mu_over_ipiT, charge_thirds, b, e
        They are those of :class:`Staggered`.

    Raises
    ------
    BadArgument
        A value outside its range.

    Notes
    -----
    Several flavours on one field share their links when built with :meth:`flavour`.
    """
