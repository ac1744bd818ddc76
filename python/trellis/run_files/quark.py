"""This module has the keys that quarks of every type have in run files, and the questions that every quark
answers."""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import Field

from .common import Table
from .phases import FourPhases, phase_factors


class Quark(Table):
    """It has the keys that quarks of every type have, and answers what the program asks of a quark.

    A new type of quark answers these questions here; no other module asks for the class of a quark or its
    `type`.
    """

    #: The operator has this name, which is that of its class in quarks/ and solve/.
    operator_name: ClassVar[str] = ""
    #: It is true if adaptive multigrid serves the operator.
    has_multigrid: ClassVar[bool] = False

    boundary: FourPhases = Field(
        default=(0.0, 0.0, 0.0, 1.0),
        description="Quarks have these boundary conditions in x, y, z, t: words, or phases over pi (0 is "
        "periodic, 1 antiperiodic).",
    )

    @property
    def bare_mass(self) -> float:
        """Return the bare mass."""
        raise NotImplementedError

    @property
    def phase_factors(self) -> tuple[complex, ...]:
        """Return the phase factors for crossing the boundary in x, y, z, t; 0 is a wall."""
        return phase_factors(self.boundary)

    def operator_arguments(self) -> dict[str, Any]:
        """Return the arguments of the operator beside the links, by their names."""
        return {"mass": self.bare_mass, "boundary": self.phase_factors}

    def diagonal(self, mass: float) -> tuple[float, str]:
        """Return the number in the site term of a Wilson operator, and its formula."""
        raise NotImplementedError

    @property
    def beside_mass(self) -> tuple[object, ...]:
        """Return the operator and its arguments without the mass, to be compared with those of another
        quark."""
        arguments = self.operator_arguments()
        return (self.operator_name, *((name, arguments[name]) for name in arguments if name != "mass"))

    @property
    def given_mass(self) -> str:
        """Return the key of the mass with its value, as the run file has it: "mass = 0.1"."""
        return f"mass = {self.bare_mass:g}"

    @property
    def naik_epsilon(self) -> float:
        """Return the correction of the Naik term; 0 for operators without one."""
        return 0.0

    @property
    def has_clover_term(self) -> bool:
        """Return True if the operator has a clover term."""
        return False

    @property
    def is_twisted(self) -> bool:
        """Return True if the operator has a twisted mass that is not zero."""
        return False

    @property
    def has_own_smearing(self) -> bool:
        """Return True if the operator smears its links itself, so that no table of a run file does."""
        return False

    @property
    def has_spin(self) -> bool:
        """Return True if a site has a spinor; False if it has a colour vector."""
        return True

    @property
    def reals_of_site(self) -> int:
        """Return the number of real numbers at a site of a field of quarks: 24 or 6."""
        return 24 if self.has_spin else 6

    @property
    def lower_bound(self) -> float:
        """Return a lower bound of the spectrum of M^dagger M that holds for any links."""
        return 0.0

    @property
    def slices(self) -> int:
        """Return the number of slices of the fifth dimension; 1 without one."""
        return 1

    @property
    def has_midpoint(self) -> bool:
        """Return True if a propagator has a midpoint between walls, from which m_res is measured."""
        return False

    @property
    def has_naik_term(self) -> bool:
        """Return True if the operator has hops over three sites, for which a lattice can be too short."""
        return False
