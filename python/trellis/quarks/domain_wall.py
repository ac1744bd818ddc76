"""This module has domain-wall fermions: Shamir and Moebius, doc/conventions.md."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..gauge.fields import GaugeField
from ..ground.arguments import instance, integer, phases, real
from ..ground.compiled_core import load
from ..ground.errors import BadArgument
from ..ground.operator_records import Parameter
from .operators import (
    ANTIPERIODIC_IN_TIME,
    QuarkOperator,
    Solution,
    legal_link_reals,
    plain_phases,
    with_changes,
)
from .propagators import Propagator

if TYPE_CHECKING:
    from .. import _core

#: A warning about an M5 that binds spatial doublers ends in these words.
SPATIAL_DOUBLERS = "on smooth links the walls bind light spatial doublers, too"


def _coefficients(name: str, values: complex | Sequence[complex]) -> list[complex]:
    try:
        array = np.atleast_1d(np.asarray(values))
    except ValueError:  # NumPy makes no array of lists of unequal lengths
        array = np.array([])
    if array.ndim != 1 or array.size == 0 or array.dtype.kind not in "iufc":
        raise BadArgument(f"{name} must be a number, or a number for each slice, found {values!r}")
    return [complex(x) for x in array]


def _without_zero_imaginary_parts(values: Sequence[complex]) -> complex | list[complex]:
    plain = [z.real if z.imag == 0 else z for z in values]
    return plain[0] if len(plain) == 1 else plain


def spatial_doublers(M5: float, nu: float, xi0: float) -> str:
    """Return a warning where the walls bind spatial doublers of free quarks (at 2 nu / xi0); else nothing."""
    if not (nu < xi0 and M5 >= 2 * nu / xi0):
        return ""
    return f"M5 = {M5:g} is not below 2 nu / xi0 = {2 * nu / xi0:g}: {SPATIAL_DOUBLERS}"


class MoebiusDomainWall(QuarkOperator):
    """This is the Moebius domain-wall operator; Shamir's is b5 = 1, c5 = 0.

    It is D5 psi_s = D_+ psi_s - D_- [P_- psi_{s+1} + P_+ psi_{s-1}], wrapped terms times -mass, with D_+ = b5
    D_W(-M5) + 1 and D_- = 1 - c5 D_W(-M5). A solver bound to it gives propagators of the 4-D quark q = P_-
    psi_0 + P_+ psi_{Ls-1}, which is (D_ov^-1 - 1) / (1 - mass) already.

    Parameters
    ----------
    U
        The links; they are copied, in the precisions that solvers ask for.
    mass
        m_f.
    b5, c5
        One number, or one for each slice; complex ones are the zMoebius form, whose fifth dimension takes
        about twice the arithmetic.
    Ls
        Slices, 2 to 32; even for m_res.
    M5
        Domain-wall height, between 0 and 2.
    nu, xi0
        Anisotropy of D_W, as of :class:`WilsonClover`: factor of the spatial hops and bare anisotropy. On
        smooth links a quark has no light doublers for M5 below 2 nu / xi0 only: above, there is a
        UserWarning.
    boundary
        Factors for crossing the boundary in x, y, z, t, of modulus 1 (run files have phases over pi); 0 is
        Dirichlet.
    link_reals
        It is that of :class:`WilsonClover`.
    columns_per_solve
        So many of a propagator's twelve columns are solved together; it divides 12. The slices share links
        already, so more columns cost memory and gain little.

    Raises
    ------
    BadArgument
        A value outside its range, or a list of another length than Ls.
    """

    _conserved_currents = ("vector", "axial")

    def __init__(
        self,
        U: GaugeField,
        *,
        mass: float,
        b5: complex | Sequence[complex] = 1.5,
        c5: complex | Sequence[complex] = 0.5,
        Ls: int = 12,
        M5: float = 1.8,
        nu: float = 1.0,
        xi0: float = 1.0,
        boundary: Sequence[complex] = ANTIPERIODIC_IN_TIME,
        link_reals: int | None = None,
        columns_per_solve: int = 1,
    ) -> None:
        core = load()
        instance("U", U, GaugeField)
        columns_per_solve = integer("columns_per_solve", columns_per_solve)
        if columns_per_solve < 1 or 12 % columns_per_solve:
            raise BadArgument(f"columns_per_solve divides 12, found {columns_per_solve}")
        params = core.DomainWallParams()
        params.mass, params.M5, params.Ls = real("mass", mass), real("M5", M5), integer("Ls", Ls)
        params.b5, params.c5 = _coefficients("b5", b5), _coefficients("c5", c5)
        params.nu, params.xi0 = real("nu", nu, above=0), real("xi0", xi0, above=0)
        params.boundary = phases(boundary)
        self._params = params
        if said := spatial_doublers(params.M5, params.nu, params.xi0):
            warnings.warn(said, UserWarning, stacklevel=2)
        self._link_reals = legal_link_reals(U, link_reals)
        self._core = core.DomainWallOperator(U._core, params, self._link_reals)
        self._links = U
        self._columns_per_solve = columns_per_solve
        self._slices = params.Ls

    @property
    def mass(self) -> float:
        """Return m_f."""
        return self._params.mass

    @property
    def Ls(self) -> int:
        """Return the number of slices."""
        return self._params.Ls

    @property
    def is_uniform(self) -> bool:
        """Return True if all slices have one real b5 and one real c5."""
        return all(len(x) == 1 and x[0].imag == 0 for x in (self._params.b5, self._params.c5))

    def _require_kernel(self, what: str) -> None:
        """Refuse b5 + c5 = 0, by which currents of quark fields at the sink are divided (BadArgument)."""
        if self.is_uniform and self._params.b5[0] + self._params.c5[0] == 0:
            raise BadArgument(f"{what}: expected b5 + c5 other than 0, found {self!r}")

    def _require_insertable(self, kinds: Sequence[str]) -> None:
        if not kinds:
            return
        if not self.is_uniform:
            raise BadArgument(
                "conserved currents with a fixed sink: expected one real b5 and one real c5 for all slices, "
                f"found {self!r}"
            )
        self._require_kernel("conserved currents with a fixed sink")
        if self.Ls % 2 and "axial" in kinds:
            raise BadArgument(f"the axial current needs an even Ls, not {self.Ls}")

    def _solve_propagator(
        self,
        spec: Any,
        source: _core.Source,
        guess: Propagator | None,
        *,
        keep_fields: bool,
        axial_current: bool,
    ) -> Solution:
        if guess is not None and guess.fields is None:
            raise BadArgument("the guess of a domain-wall solve needs its 5-D fields: keep_fields=True")
        if axial_current:
            self._require_kernel("the axial current at the sink")
        solved = load().solve_domain_wall(
            self._core,
            spec,
            source,
            self._columns_per_solve,
            axial_current,
            keep_fields,
            None if guess is None else guess.fields,
        )
        current = np.asarray(solved.axial_current) if axial_current else None
        return Solution(solved.quark, solved.midpoint, solved.fields, current)

    def _columns_at_once(self, columns: int) -> int:
        return min(columns, self._columns_per_solve)

    @property
    def boundary(self) -> tuple[complex, complex, complex, complex]:
        """Return the phases in x, y, z, t."""
        return tuple(self._params.boundary)

    def _parameters(self) -> dict[str, Parameter]:
        p = self._params
        slices = {"b5": tuple(p.b5), "c5": tuple(p.c5)}
        anisotropy = {"nu": p.nu, "xi0": p.xi0}
        return {"mass": p.mass, "M5": p.M5, "Ls": p.Ls} | slices | anisotropy | {"boundary": self.boundary}

    def apply(self, psi: ArrayLike, *, dagger: bool = False) -> NDArray[np.complex128]:
        """Return D5 psi, or D5^dagger psi, of a field with Ls slices. Collective.

        Parameters
        ----------
        psi
            complex, shape [s, t, z, y, x, spin, colour], this rank's part.
        dagger
            D5^dagger instead of D5.

        Returns
        -------
        ndarray
            The same shape; a new array.

        Raises
        ------
        BadArgument
            Another shape, or no numbers.
        """
        return self._applied(psi, dagger)

    def __call__(self, psi: ArrayLike) -> NDArray[np.complex128]:
        """Return D5 psi; see :meth:`apply`."""
        return self.apply(psi)

    def __repr__(self) -> str:
        p = self._params
        b5, c5 = (_without_zero_imaginary_parts(x) for x in (p.b5, p.c5))
        said = f"MoebiusDomainWall(mass={p.mass:g}, b5={b5}, c5={c5}, Ls={p.Ls}, M5={p.M5:g}"
        changes: dict[str, tuple[object, object]] = {
            "nu": (p.nu, 1.0),
            "xi0": (p.xi0, 1.0),
            "boundary": (plain_phases(self.boundary), ANTIPERIODIC_IN_TIME),
            "link_reals": (self._link_reals, 12),
            "columns_per_solve": (self._columns_per_solve, 1),
        }
        return with_changes(said, changes) + ")"


def propagator_norm(S: Propagator) -> NDArray[np.float64]:
    """Return the sum over space, spins and colours of |S|^2. Collective.

    Parameters
    ----------
    S
        The propagator.

    Returns
    -------
    ndarray
        float64, shape [time], time from the source.

    Raises
    ------
    BadArgument
        Not a propagator.
    """
    instance("S", S, Propagator)
    return np.asarray(load().propagator_norm(S._core))


def residual_mass(S: Propagator) -> NDArray[np.float64]:
    """Return m_res(t) = sum |q_mid|^2 / sum |q|^2 of a domain-wall propagator. Collective.

    Parameters
    ----------
    S
        The propagator, with its midpoint.

    Returns
    -------
    ndarray
        float64, shape [time], time from the source.

    Raises
    ------
    BadArgument
        The propagator has no midpoint: it is not one of domain-wall fermions with an even Ls, its sink was
        smeared, or it was read from a file without one.
    """
    midpoint = instance("S", S, Propagator).midpoint
    if midpoint is None:
        raise BadArgument(
            "this propagator has no midpoint; m_res needs domain-wall fermions with an even Ls, as solved or "
            "as read from HDF5 (SciDAC files hold one propagator: set S.midpoint to one read from another)"
        )
    return propagator_norm(midpoint) / propagator_norm(S)
