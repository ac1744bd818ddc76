"""Staggered fermions: operators, solves, traces with noise, the Goldstone pion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..gauge.fields import GaugeField
from ..ground.arguments import complex_array, instance, integer, integers, real
from ..ground.arguments import phases as phases_of
from ..ground.compiled_core import load
from ..ground.errors import BadArgument
from ..ground.operator_records import Parameter
from ..ground.solve_report import SolveReport
from ..quarks.operators import (
    ANTIPERIODIC_IN_TIME,
    QuarkOperator,
    legal_link_reals,
    plain_phases,
    with_changes,
)
from .bound import BoundSolver, require_converged
from .cg import cg
from .even_odd import even_odd
from .noise_traces import disconnected_susceptibility, noise_key, thermal_factor
from .values import Solver, solver_value

#: Planes of the electromagnetic flux in the order of trellis._core.
FLUX_PLANES = ("xy", "xz", "xt", "yz", "yt", "zt")


def _bound(M: _StaggeredBase, solver: Solver | None) -> BoundSolver:
    """The even-odd solver of an operator that a method's argument means."""
    if solver is None:
        solver = cg(tolerance=1e-10)
    solver_value("solver", solver)
    return BoundSolver(solver if solver._schur_form() != "none" else even_odd(solver), M)


@dataclass(frozen=True)
class StaggeredObservables:
    """Traces of one flavour entry on one configuration, bare, summed over its n_f (doc/conventions.md).

    Arrays have one entry for each noise vector; their mean is the estimate.

    Attributes
    ----------
    condensate
        (n_f / 4) Tr M^-1 / V.
    number_density
        complex: (1 / (V_3 T^3)) d log Z / d(mu/T) for a real chemical potential.
    susceptibility_connected
        complex: the connected part of (1 / (V_3 T^3)) d^2 log Z / d(mu/T)^2, or None.
    susceptibility_disconnected
        complex: (V_3 T^3) n^2 from pairs of different noise vectors, without bias; None for one vector.
    magnetisation
        Plane -> (1 / V) d log Z / dk.
    report
        Of the solves.
    """

    condensate: NDArray[np.float64]
    number_density: NDArray[np.complex128]
    susceptibility_connected: NDArray[np.complex128] | None
    susceptibility_disconnected: complex | None
    magnetisation: dict[str, NDArray[np.float64]]
    report: SolveReport


class _StaggeredBase(QuarkOperator):
    """What naive and improved staggered operators share."""

    _has_spin = False

    def __init__(
        self,
        U: GaugeField,
        links: Any,
        *,
        mass: float,
        boundary: Sequence[complex],
        mu_over_ipiT: float,
        charge_thirds: int,
        b: Sequence[int],
        e: Sequence[int],
    ) -> None:
        core = load()
        phases = core.StaggeredPhases()
        phases.boundary = phases_of(boundary)
        phases.mu_over_ipiT = real("mu_over_ipiT", mu_over_ipiT)
        phases.flux = core.flux_of(
            integer("charge_thirds", charge_thirds), integers("b", b, 3), integers("e", e, 3)
        )
        self._links = U
        self._phases = phases
        self._matrix = core.StaggeredMatrix(links, phases, real("mass", mass))
        self._core = core.StaggeredOperator(self._matrix)

    @property
    def mass(self) -> float:
        """m."""
        return self._matrix.mass

    @property
    def flux(self) -> dict[str, int]:
        """Quanta of each plane, the charge included."""
        return dict(zip(FLUX_PLANES, self._phases.flux, strict=True))

    def _changes(self) -> dict[str, tuple[object, object]]:
        """Phases that are not the default, for __repr__."""
        flux = {plane: quanta for plane, quanta in self.flux.items() if quanta}
        boundary = plain_phases(self._phases.boundary)
        return {"boundary": (boundary, ANTIPERIODIC_IN_TIME), "flux": (flux, {})}

    @property
    def is_gamma5_hermitian(self) -> bool:
        """False: S^dagger = epsilon S epsilon, with the parity epsilon of a site instead of gamma5."""
        return False

    def _parameters(self) -> dict[str, Parameter]:
        flux = tuple(complex(quanta) for quanta in self._phases.flux)
        phases = {"mu_over_ipiT": self._phases.mu_over_ipiT, "flux": flux}
        return {"mass": self.mass, **phases, "boundary": tuple(self._phases.boundary)}

    def _field(self, name: str, values: ArrayLike) -> Any:
        return self._matrix.vector(complex_array(name, values))

    def _to_numpy(self, field: Any) -> NDArray[np.complex128]:  # type: ignore[override]
        return self._matrix.to_numpy(field)

    def apply(self, psi: ArrayLike, *, dagger: bool = False) -> NDArray[np.complex128]:
        """M psi, or M^dagger psi. Collective.

        Parameters
        ----------
        psi
            complex, shape [t, z, y, x, colour], this rank's part.
        dagger
            M^dagger instead of M.

        Raises
        ------
        BadArgument
            Another shape, or no numbers.
        """
        return self._applied(psi, dagger)

    def __call__(self, psi: ArrayLike) -> NDArray[np.complex128]:
        """M psi; see :meth:`apply`."""
        return self.apply(psi)

    def solve(
        self, b: ArrayLike, *, solver: Solver | None = None
    ) -> tuple[NDArray[np.complex128], SolveReport]:
        """x with M x = b, through the even sites. Collective.

        Parameters
        ----------
        b
            complex, shape [t, z, y, x, colour], this rank's part.
        solver
            Any solver; default cg(tolerance=1e-10). Its tolerance is one of M x = b.
            ``M.solve(b, solver=s)`` is ``tr.even_odd(s)(M).solve(b)``.

        Raises
        ------
        NotConverged
            The tolerance was missed.
        """
        return _bound(self, solver).solve(b)

    def pion(
        self, *, source: Sequence[int] = (0, 0, 0, 0), solver: Solver | None = None
    ) -> NDArray[np.float64]:
        """The pion of the Goldstone channel: C(t) = sum |M^-1(x, t; source)|^2, t after the source.

        Parameters
        ----------
        source
            x, y, z, t of the point source.
        solver
            As of :meth:`solve`.

        Raises
        ------
        NotConverged
            The tolerance was missed.
        BadArgument
            A source that is not four integers on the lattice.
        """
        bound = _bound(self, solver)
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
        """Condensate, number density, susceptibility and magnetisation by noise vectors. Collective.

        Parameters
        ----------
        n_f
            Flavours of this entry.
        vectors
            Number of noise vectors; they are solved in one batch.
        noise
            Components of the vectors: "z2" (+-1) or "z4" (+-1 and +-i).
        seed, stream, configuration, first
            Of the random numbers: `configuration` is its number, `first` that of the first vector.
        susceptibility
            Also the second derivatives: a second solve for each vector.
        planes
            Of the magnetisation, among "xy", "xz", "xt", "yz", "yt", "zt".
        solver
            As of :meth:`solve`.

        Raises
        ------
        NotConverged
            The tolerance was missed.
        BadArgument
            Another noise or plane, a number outside its range.
        """
        key = noise_key(
            noise, seed=seed, stream=stream, configuration=configuration, first=first, vectors=vectors
        )
        for plane in planes:
            if plane not in FLUX_PLANES:
                raise BadArgument(f"plane must be one of {', '.join(FLUX_PLANES)}, found {plane!r}")
        bound = _bound(self, solver)
        traces = load().staggered_noise_traces(
            self._matrix,
            *key,
            susceptibility,
            [FLUX_PLANES.index(plane) for plane in planes],
            bound.solver._spec(),
        )
        report = require_converged(bound._report(traces.report))
        lx, ly, lz, lt = self.geometry.extents
        weight = real("n_f", n_f, above=0) / 4
        volume, thermal = lx * ly * lz * lt, thermal_factor(self.geometry.extents)
        density = weight * np.array(traces.density, dtype=np.complex128)
        curvature = None
        if susceptibility:
            curvature = thermal * weight * np.array(traces.curvature, dtype=np.complex128)
        return StaggeredObservables(
            condensate=weight * np.array(traces.inverse).real / volume,
            number_density=thermal * density,
            susceptibility_connected=curvature,
            susceptibility_disconnected=disconnected_susceptibility(density, thermal),
            magnetisation={
                plane: weight * np.array(values).real / volume
                for plane, values in zip(planes, traces.magnetisation, strict=True)
            },
            report=report,
        )


class Staggered(_StaggeredBase):
    """The naive staggered operator M = m + D with a U(1) field (doc/conventions.md, Staggered fermions).

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
        As of :class:`WilsonClover`.

    Raises
    ------
    BadArgument
        A phase that has not modulus 1, a flux that is not an integer, links that are not in SU(3).
    """

    def __init__(
        self,
        U: GaugeField,
        *,
        mass: float,
        boundary: Sequence[complex] = ANTIPERIODIC_IN_TIME,
        mu_over_ipiT: float = 0.0,
        charge_thirds: int = 0,
        b: Sequence[int] = (0, 0, 0),
        e: Sequence[int] = (0, 0, 0),
        link_reals: int | None = None,
    ) -> None:
        self._link_reals = legal_link_reals(instance("U", U, GaugeField), link_reals)
        super().__init__(
            U,
            load().StaggeredLinks(U._core, self._link_reals),
            mass=mass,
            boundary=boundary,
            mu_over_ipiT=mu_over_ipiT,
            charge_thirds=charge_thirds,
            b=b,
            e=e,
        )

    def __repr__(self) -> str:
        said = f"Staggered(mass={self.mass:g}, mu_over_ipiT={self._phases.mu_over_ipiT:g}"
        return with_changes(said, self._changes() | {"link_reals": (self._link_reals, 12)}) + ")"


class HISQ(_StaggeredBase):
    """The HISQ operator on a thin gauge field: two levels of fat links, U(3) projection, Naik term.

    Parameters
    ----------
    U
        Thin links.
    epsilon
        Correction of the Naik term (heavy quarks); 0 for light ones.
    mass, boundary, mu_over_ipiT, charge_thirds, b, e
        As of :class:`Staggered`.

    Raises
    ------
    BadArgument
        A value outside its range.

    Notes
    -----
    Several flavours on one field share their links when built with :meth:`flavour`.
    """

    def __init__(
        self,
        U: GaugeField,
        *,
        mass: float,
        epsilon: float = 0.0,
        boundary: Sequence[complex] = ANTIPERIODIC_IN_TIME,
        mu_over_ipiT: float = 0.0,
        charge_thirds: int = 0,
        b: Sequence[int] = (0, 0, 0),
        e: Sequence[int] = (0, 0, 0),
        _smeared: Any = None,
    ) -> None:
        core = load()
        links = instance("U", U, GaugeField)._core
        self._smeared = core.HisqLinks(links) if _smeared is None else _smeared
        self.epsilon = epsilon
        links = core.StaggeredLinks(
            self._smeared.fat(epsilon),
            self._smeared.long_field(),
            core.hisq_long_coefficient(epsilon),
            True,
        )
        super().__init__(
            U,
            links,
            mass=mass,
            boundary=boundary,
            mu_over_ipiT=mu_over_ipiT,
            charge_thirds=charge_thirds,
            b=b,
            e=e,
        )

    def _parameters(self) -> dict[str, Parameter]:
        return super()._parameters() | {"epsilon": self.epsilon}

    def flavour(self, *, mass: float, **parameters: Any) -> HISQ:
        """Another flavour on the same smeared links.

        Parameters
        ----------
        mass, parameters
            As for the class.

        Raises
        ------
        BadArgument
            A value outside its range.
        """
        return HISQ(self._links, mass=mass, _smeared=self._smeared, **parameters)

    def __repr__(self) -> str:
        said = f"HISQ(mass={self.mass:g}, epsilon={self.epsilon:g}"
        mu: dict[str, tuple[object, object]] = {"mu_over_ipiT": (self._phases.mu_over_ipiT, 0.0)}
        return with_changes(said, mu | self._changes()) + ")"
