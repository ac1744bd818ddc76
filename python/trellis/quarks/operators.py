"""This module has Dirac operators."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..gauge.fields import GaugeField
from ..ground.action_parameters import kappa_to_mass, mass_to_kappa
from ..ground.arguments import complex_array, instance, integer, phases, real
from ..ground.compiled_core import load
from ..ground.copies_and_pickles import NoArray, SharedByCopies
from ..ground.errors import BadArgument
from ..ground.operator_records import OperatorRecord, Parameter, is_gamma5_hermitian

if TYPE_CHECKING:
    from .. import _core
    from ..gauge.geometry import Geometry
    from .propagators import Propagator

ANTIPERIODIC_IN_TIME = (1, 1, 1, -1)


def legal_link_reals(U: GaugeField, value: int | None) -> int:
    """Return 18, 12 or 8, or raise BadArgument. None stands for what these links need. Collective."""
    if value is None:
        return int(load().link_reals_of(U._core))
    found = integer("link_reals", value)
    if found not in (18, 12, 8):
        raise BadArgument(f"link_reals must be 18, 12 or 8, found {found}")
    return found


def plain_phases(phases: Sequence[complex]) -> tuple[complex, ...]:
    """Return phases as one writes them, for __repr__: (1, 1, 1, -1)."""
    reals = (z if z.imag else z.real for z in map(complex, phases))
    return tuple(int(z) if isinstance(z, float) and z.is_integer() else z for z in reals)


def with_changes(said: str, changes: dict[str, tuple[object, object]]) -> str:
    """Return `said` and the arguments whose value is not the default, for __repr__; each name has its value
    and its default."""
    shown = {name: value for name, (value, default) in changes.items() if value != default}
    texts = (f"{n}={v:g}" if isinstance(v, float) else f"{n}={v}" for n, v in shown.items())
    return ", ".join([said, *texts])


class OperatorOnLinks(SharedByCopies, NoArray):
    """This is the base class of all Dirac operators on a gauge field."""

    _no_array = "M.apply(psi) applies it to an array"
    _links: GaugeField

    @property
    def geometry(self) -> Geometry:
        """Return the lattice."""
        return self._links.geometry

    @property
    def device(self) -> str:
        """Return the device of its links, on which the operator works: "cpu" or "cuda"."""
        return self._links.device


@dataclass(frozen=True)
class Solution:
    """This is the result of a solve for a propagator, in the compiled part's types.

    Attributes
    ----------
    quark
        The propagator, with its report.
    midpoint, fields, axial_current
        The attributes of :class:`Propagator`; None for quarks that live in four dimensions.
    """

    quark: _core.Propagator
    midpoint: _core.Propagator | None = None
    fields: _core.DomainWallFields | None = None
    axial_current: NDArray[np.float64] | None = None


class QuarkOperator(OperatorOnLinks, ABC):
    """This is the base class of the operators that have quark propagators."""

    _core: Any

    #: The fields that it acts on have so many slices; 1: they have no fifth dimension.
    _slices: int = 1
    #: Its propagators have spin and twelve columns.
    _has_spin: bool = True
    #: Condensates and the like are known for it (`_noise_traces`).
    _has_noise_traces: bool = False
    #: Adaptive multigrid serves it.
    _has_multigrid: bool = False
    #: Its low modes can be kept in files.
    _has_mode_files: bool = True
    #: It has conserved currents of these kinds: "vector", "axial".
    _conserved_currents: tuple[str, ...] = ("vector",)

    @property
    def _has_fifth_dimension(self) -> bool:
        """Return True where solutions are 5-D fields, which conserved currents of its propagators need."""
        return self._slices > 1

    @abstractmethod
    def _parameters(self) -> dict[str, Parameter]:
        """Return the parameters that change solutions, by the names of arguments."""

    def _solve_propagator(
        self,
        spec: Any,
        source: _core.Source,
        guess: Propagator | None,
        *,
        keep_fields: bool,
        axial_current: bool,
    ) -> Solution:
        """Solve for M^-1 source with the compiled part's solver; see :meth:`BoundSolver.propagator`."""
        if axial_current:
            raise BadArgument("the conserved axial current is one of domain-wall fermions")
        if keep_fields:
            raise BadArgument("keep_fields is for domain-wall fermions: this operator's fields are 4-D")
        start = None if guess is None else guess._core
        return Solution(load().solve_propagator(self._core, spec, source, start))

    def _noise_traces(
        self, key: Sequence[Any], susceptibility: bool, planes: Sequence[str], spec: Any
    ) -> Any:
        """Return the compiled part's traces with noise vectors. Collective.

        Parameters
        ----------
        key
            The noise, as :func:`trellis.solve.noise_traces.noise_key` gives it.
        susceptibility
            True for the second derivatives by the chemical potential, too.
        planes
            The planes of the magnetisation, which staggered operators have.
        spec
            The solver.
        """
        raise BadArgument(f"traces with noise are not known for {self!r}")

    def _columns_at_once(self, columns: int) -> int:
        """Return how many of these right-hand sides one batch solves."""
        return columns

    def _require_insertable(self, kinds: Sequence[str]) -> None:
        """Raise BadArgument if conserved currents of these kinds cannot be inserted with a fixed sink."""

    def _field(self, name: str, values: ArrayLike) -> Any:
        """Return the compiled part's field of these numbers; raise BadArgument for another shape."""
        return load().SpinorField.from_numpy(self.geometry._core, complex_array(name, values), self._slices)

    @staticmethod
    def _to_numpy(field: Any) -> NDArray[np.complex128]:
        """Return the array from which `_field` makes this field."""
        return field.to_numpy()

    def _applied(self, psi: ArrayLike, dagger: bool) -> NDArray[np.complex128]:
        field = self._field("psi", psi)
        return self._to_numpy(self._core.apply_dagger(field) if dagger else self._core.apply(field))

    @property
    def is_gamma5_hermitian(self) -> bool:
        """Return True if S^dagger = gamma5 S gamma5 holds for one and the same flavour.

        Sequential propagators need it. It does not hold with a twisted mass. With complex b5 and c5, or those
        of single slices, it holds if they mirror each other.
        """
        return is_gamma5_hermitian(type(self).__name__, self._parameters())

    @cached_property
    def _record(self) -> OperatorRecord:
        """Return the record of the operator that its propagators and low modes keep. Collective."""
        return OperatorRecord(type(self).__name__, self._parameters(), self._links.plaquette)


def multigrid_operator(M: object) -> WilsonClover:
    """Return the operator itself if adaptive multigrid serves it.

    Raises
    ------
    BadArgument
        It does not, or M is no operator.
    """
    if not (isinstance(M, QuarkOperator) and M._has_multigrid):
        raise BadArgument(
            f"M must be one that multigrid serves, Wilson, clover and twisted-mass operators, found {M!r}"
        )
    return cast("WilsonClover", M)


def _hopping_parameter(kappa: Any) -> float:
    """Return a kappa of either sign; 0 is refused, for it would be an infinite mass."""
    number = real("kappa", kappa)
    if abs(number) < sys.float_info.min:
        raise BadArgument(f"kappa must not be 0 (the mass is 1 / (2 kappa) - 4), found {kappa!r}")
    return number


class WilsonClover(QuarkOperator):
    """This is the Wilson-clover operator, optionally anisotropic or with a twisted mass.

    It is M = 1 + 3 nu / xi0 + m + clover term + i mu gamma5 - 1/2 H (doc/conventions.md).

    Parameters
    ----------
    U
        The links; they are copied, in the precisions that solvers ask for.
    kappa, mass
        One of them: kappa = 1 / (2 (4 + mass)), below 0 for masses below -4.
    csw
        Clover coefficient; 0 is the Wilson operator. With an anisotropy: c_R.
    boundary
        Factors for crossing the boundary in x, y, z, t, of modulus 1 (run files have phases over pi); 0 is
        Dirichlet.
    nu, xi0, csw_temporal
        Anisotropy: factor of the spatial hops, bare anisotropy, c_T (default: csw).
    twisted_mass
        mu.
    link_reals
        Reals that store a link: 18, 12 or 8. The fewer, the less is read from memory. None: 12, or 18 for
        links that are in SU(3) to 1e-5 and not to 1e-10, as those of files in 32 bits
        (:meth:`GaugeField.reunitarised` brings them back).

    Raises
    ------
    BadArgument
        kappa and mass, or none of them; a value outside its range.
    """

    _has_noise_traces = True
    _has_multigrid = True

    def __init__(
        self,
        U: GaugeField,
        *,
        kappa: float | None = None,
        mass: float | None = None,
        csw: float = 0.0,
        boundary: Sequence[complex] = ANTIPERIODIC_IN_TIME,
        nu: float = 1.0,
        xi0: float = 1.0,
        csw_temporal: float | None = None,
        twisted_mass: float = 0.0,
        link_reals: int | None = None,
    ) -> None:
        core = load()
        instance("U", U, GaugeField)
        if (kappa is None) == (mass is None):
            raise BadArgument(f"give kappa or mass, and not both; found kappa={kappa}, mass={mass}")
        params = core.WilsonParams()
        if mass is None:
            params.mass = kappa_to_mass(_hopping_parameter(kappa))
        else:
            params.mass = real("mass", mass)
        params.csw_spatial = real("csw", csw)
        params.csw_temporal = real("csw_temporal", csw if csw_temporal is None else csw_temporal)
        params.boundary = phases(boundary)
        params.nu, params.xi0 = real("nu", nu, above=0), real("xi0", xi0, above=0)
        params.twisted_mass = real("twisted_mass", twisted_mass)
        self._params = params
        self._link_reals = legal_link_reals(U, link_reals)
        self._core = core.WilsonOperator(U._core, params, "double", self._link_reals)
        self._links = U

    @property
    def mass(self) -> float:
        """Return m = 1 / (2 kappa) - 4."""
        return self._params.mass

    @property
    def kappa(self) -> float:
        """Return kappa = 1 / (2 (4 + m))."""
        return mass_to_kappa(self._params.mass)

    @property
    def _is_twisted(self) -> bool:
        return self._params.twisted_mass != 0

    def _noise_traces(
        self, key: Sequence[Any], susceptibility: bool, planes: Sequence[str], spec: Any
    ) -> Any:
        """Return the compiled part's traces with noise vectors. Collective."""
        if planes:
            raise BadArgument(f"planes: the magnetisation is that of staggered operators, found {self!r}")
        links = self._links.to("cpu")._core
        return load().wilson_noise_traces(self._core, links, *key, susceptibility, spec)

    @property
    def is_isotropic(self) -> bool:
        """Return True if nu / xi0 is 1, so that hops in all directions have the same weight."""
        return self._params.nu == self._params.xi0

    @property
    def csw(self) -> float:
        """Return the clover coefficient (of the spatial planes)."""
        return self._params.csw_spatial

    @property
    def boundary(self) -> tuple[complex, complex, complex, complex]:
        """Return the phases in x, y, z, t."""
        return tuple(self._params.boundary)

    def _parameters(self) -> dict[str, Parameter]:
        names = ("mass", "nu", "xi0", "twisted_mass")
        clover = {"csw": self._params.csw_spatial, "csw_temporal": self._params.csw_temporal}
        return {name: getattr(self._params, name) for name in names} | clover | {"boundary": self.boundary}

    def apply(self, psi: ArrayLike, *, dagger: bool = False) -> NDArray[np.complex128]:
        """Return M psi, or M^dagger psi. Collective.

        Parameters
        ----------
        psi
            complex, shape [t, z, y, x, spin, colour], this rank's part.
        dagger
            M^dagger instead of M.

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
        """Return M psi; see :meth:`apply`."""
        return self.apply(psi)

    def __repr__(self) -> str:
        said = (
            f"WilsonClover(kappa={self.kappa:.6g}, csw={self.csw:g}, boundary={plain_phases(self.boundary)}"
        )
        p = self._params
        changes: dict[str, tuple[object, object]] = {
            "nu": (p.nu, 1.0),
            "xi0": (p.xi0, 1.0),
            "csw_temporal": (p.csw_temporal, p.csw_spatial),
            "twisted_mass": (p.twisted_mass, 0.0),
            "link_reals": (self._link_reals, 12),
        }
        return with_changes(said, changes) + ")"
