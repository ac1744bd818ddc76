"""This module has the staggered quarks of `trellis measure`: their [fermion] and [condensate], and what suits
them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from .common import LARGEST, Table, at_key
from .quarks import SMALLEST_MASS, BackgroundTable, Hisq, Staggered, StaggeredKind

_Mass = Annotated[float, Field(ge=SMALLEST_MASS, le=LARGEST)]

#: These are the eight local mesons (doc/operators/staggered_mesons.md).
LocalMeson = Literal["pion_5", "pion_t5", "rho_x", "rho_y", "rho_z", "rho_t_x", "rho_t_y", "rho_t_z"]


class MeasuredStaggeredKind(StaggeredKind):
    """These are the keys of [fermion] for staggered quarks."""

    further_masses: list[_Mass] = Field(
        default=[],
        description="Heavier or lighter quarks have the same links: all masses of a source share one "
        "multi-shift solve. Mesons are those of all pairs of masses, and the names of their datasets have "
        "them.",
    )
    background: BackgroundTable = Field(
        default=BackgroundTable(),
        description="The quanta b and e give a constant U(1) field that the quarks see.",
    )

    @property
    def masses(self) -> tuple[float, ...]:
        """Return all masses, in the order of the run file."""
        return (self.mass, *self.further_masses)

    def operator_arguments(self) -> dict[str, Any]:
        """Return the arguments of the operator with the first mass, by their names."""
        return super().operator_arguments() | {"b": self.background.b, "e": self.background.e}

    @property
    def dataset_attributes(self) -> dict[str, str | float]:
        """Return the attributes of a correlator's dataset that say which operator the quarks have."""
        given = {"mu_over_ipiT": self.mu_over_ipiT, "charge_thirds": self.charge_thirds}
        return {key: float(value) for key, value in given.items() if value}

    @property
    def has_twist(self) -> bool:
        """Return True if quarks are not periodic in space."""
        return any(abs(phase - 2 * round(phase / 2)) > 1e-9 for phase in self.boundary[:3])


class MeasuredStaggered(MeasuredStaggeredKind, Staggered):
    """This is [fermion] of type staggered: doc/conventions.md "Staggered fermions"."""


class MeasuredHisq(MeasuredStaggeredKind, Hisq):
    """This is [fermion] of type hisq."""

    @property
    def dataset_attributes(self) -> dict[str, str | float]:
        """Return the attributes of a correlator's dataset that say which operator the quarks have."""
        return {"epsilon": float(self.epsilon), **super().dataset_attributes}


class CondensateTable(Table):
    """The table [condensate] asks for (1/4) Tr M^-1 / V of each mass of staggered quarks, by noise; masses
    share a solve."""

    vectors: int = Field(
        ge=1,
        le=4096,
        description="A configuration has so many noise vectors; twelve at a time are solved for.",
    )
    noise: Literal["z2", "z4"] = Field(
        default="z4", description="The components of the vectors are +-1 (z2), or +-1 and +-i (z4)."
    )
    noise_seed: int = Field(
        ge=0, description="The numbers depend on this seed, the configuration's number and the vector's."
    )


def require_staggered(run: Any, quark: MeasuredStaggered | MeasuredHisq) -> None:
    """Refuse what staggered quarks do not have.

    Parameters
    ----------
    run
        A MeasureRun, whose module imports this one.
    quark
        Its [fermion].

    Raises
    ------
    ValidationError
        A key does not suit them; the message names it.
    """
    _require_masses(run, quark)
    _require_contractions(run)
    for key, is_there in (
        ("deflation", run.deflation is not None),
        ("solver.columns_per_solve", run.solver.columns_per_solve is not None),
        ("feynman_hellmann.currents", bool(run.feynman_hellmann.currents)),
        ("three_point.currents", bool(run.three_point.currents)),
    ):
        if is_there:
            found = f'found fermion.type = "{quark.type}"'
            raise at_key(key, f"belongs to quarks with spin, {found}; leave it out")
    if quark.has_own_smearing and run.smearing.model_fields_set:
        raise at_key("smearing", f"{quark.type} has its own two levels of smearing: leave [smearing] out")
    if quark.has_twist and run.has_gaussian_smearing:
        raise at_key(
            "fermion.boundary",
            "gaussian smearing is periodic in space: expected other sources and sinks beside "
            f"{list(quark.boundary[:3])}",
        )


def _require_masses(run: Any, quark: MeasuredStaggeredKind) -> None:
    masses = quark.masses
    if len(set(masses)) != len(masses):
        raise at_key("fermion.further_masses", "twice the same mass", list(masses))
    if len(masses) == 1:
        return
    why = "several masses share one multi-shift solve by conjugate gradients on the even and odd sites"
    if not run.solver.has_shifts:
        raise at_key("solver.type", f'{why}: expected "cg"', run.solver.type)
    if run.solver.even_odd == "none":
        raise at_key("solver.even_odd", f'{why}: expected another form than "none"', "none")
    if run.stored_propagators is not None and run.stored_propagators.use == "guess":
        raise at_key(
            "stored_propagators.use",
            'several masses share one multi-shift solve, which starts from zero: expected "solution"',
            "guess",
        )


def _require_contractions(run: Any) -> None:
    correlators = run.correlators
    for key in ("mesons", "meson", "baryons", "conserved_axial"):
        if key in correlators.model_fields_set and getattr(correlators, key):
            raise at_key(
                f"correlators.{key}",
                "belongs to quarks with spin; mesons of staggered quarks are correlators.local_mesons",
            )
    if run.source.is_noise and correlators.max_momentum_squared:
        raise at_key(
            "correlators.max_momentum_squared",
            "with a source of type noise expected 0: only mesons at rest have a mean over the noise",
            correlators.max_momentum_squared,
        )
    if not run.local_mesons and not run.output.propagators and run.condensate is None:
        raise ValueError(
            "nothing is made of the solves: give correlators.local_mesons, [condensate] or "
            "output.propagators = true"
        )


def require_no_staggered_keys(run: Any) -> None:
    """Refuse keys that only staggered quarks have; `run` as of :func:`require_staggered`.

    Raises
    ------
    ValidationError
        One of them is there; the message names it.
    """
    why = 'belongs to a fermion of type "staggered" or "hisq"; leave it out'
    for key, value in (
        ("condensate", run.condensate),
        ("correlators.local_mesons", run.correlators.local_mesons),
        ("source.sites", run.source.sites),
    ):
        if value is not None:
            raise at_key(key, why)
