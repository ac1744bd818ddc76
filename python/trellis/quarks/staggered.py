"""This module has staggered operators, naive and improved; solve/staggered.py adds what they solve for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..gauge.fields import GaugeField
from ..ground.arguments import complex_array, instance, integer, integers, real
from ..ground.arguments import phases as phases_of
from ..ground.compiled_core import load
from ..ground.errors import BadArgument
from ..ground.operator_records import OperatorRecord, Parameter
from .operators import ANTIPERIODIC_IN_TIME, QuarkOperator, legal_link_reals, plain_phases, with_changes

#: The planes of the electromagnetic flux stand in the order of trellis._core.
FLUX_PLANES = ("xy", "xz", "xt", "yz", "yt", "zt")


class StaggeredOperator(QuarkOperator):
    """This is the base class of naive and improved staggered operators."""

    _has_spin = False
    _has_noise_traces = True
    _has_mode_files = False

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
        """Return m."""
        return self._matrix.mass

    @property
    def flux(self) -> dict[str, int]:
        """Return the quanta of each plane, the charge included."""
        return dict(zip(FLUX_PLANES, self._phases.flux, strict=True))

    def _changes(self) -> dict[str, tuple[object, object]]:
        """Return the phases that are not the default, for __repr__."""
        flux = {plane: quanta for plane, quanta in self.flux.items() if quanta}
        boundary = plain_phases(self._phases.boundary)
        return {"boundary": (boundary, ANTIPERIODIC_IN_TIME), "flux": (flux, {})}

    @property
    def is_gamma5_hermitian(self) -> bool:
        """Return False: S^dagger = epsilon S epsilon, with the parity epsilon of a site instead of gamma5."""
        return False

    def _parameters(self) -> dict[str, Parameter]:
        flux = tuple(complex(quanta) for quanta in self._phases.flux)
        phases = {"mu_over_ipiT": self._phases.mu_over_ipiT, "flux": flux}
        return {"mass": self.mass, **phases, "boundary": tuple(self._phases.boundary)}

    def _record_of_mass(self, mass: float) -> OperatorRecord:
        """Return the record of this operator with another mass."""
        return replace(self._record, parameters={**self._record.parameters, "mass": mass})

    def _noise_traces(
        self, key: Sequence[Any], susceptibility: bool, planes: Sequence[str], spec: Any
    ) -> Any:
        """Return the compiled part's traces with noise vectors. Collective."""
        for plane in planes:
            if plane not in FLUX_PLANES:
                raise BadArgument(f"plane must be one of {', '.join(FLUX_PLANES)}, found {plane!r}")
        numbers = [FLUX_PLANES.index(plane) for plane in planes]
        return load().staggered_noise_traces(self._matrix, *key, susceptibility, numbers, spec)

    def _field(self, name: str, values: ArrayLike) -> Any:
        return self._matrix.vector(complex_array(name, values))

    def _to_numpy(self, field: Any) -> NDArray[np.complex128]:  # type: ignore[override]
        return self._matrix.to_numpy(field)

    def apply(self, psi: ArrayLike, *, dagger: bool = False) -> NDArray[np.complex128]:
        """Return M psi, or M^dagger psi. Collective.

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
        """Return M psi; see :meth:`apply`."""
        return self.apply(psi)


class NaiveStaggeredOperator(StaggeredOperator):
    """This is M = m + D with a U(1) field; its parameters are those of :class:`trellis.Staggered`."""

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


class HISQOperator(StaggeredOperator):
    """It has fat links and the Naik term; its parameters are those of :class:`trellis.HISQ`."""

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

    def flavour(self, *, mass: float, **parameters: Any) -> Self:
        """Return another flavour on the same smeared links.

        Parameters
        ----------
        mass, parameters
            They are those of the class.

        Raises
        ------
        BadArgument
            A value outside its range.
        """
        return type(self)(self._links, mass=mass, _smeared=self._smeared, **parameters)

    def __repr__(self) -> str:
        said = f"HISQ(mass={self.mass:g}, epsilon={self.epsilon:g}"
        mu: dict[str, tuple[object, object]] = {"mu_over_ipiT": (self._phases.mu_over_ipiT, 0.0)}
        return with_changes(said, mu | self._changes()) + ")"
