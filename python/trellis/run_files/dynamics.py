"""This module has the course of a run with [molecular_dynamics]: [[integrator]], solves, [trajectories],
[random]."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Self

from pydantic import Field, model_validator

from .common import Name, SeedTable, Table, at_key

#: A step has so many drifts, by scheme.
DRIFTS = {"leapfrog": 1, "omelyan2": 2, "omelyan4": 5, "force_gradient": 2}
#: A level has at most so many steps in a trajectory: a million are a step size of 1e-6, beyond any need.
MOST_STEPS = 10**6

#: True residuals in double can be asked for down to this.
SMALLEST_TOLERANCE = 1e-15
#: The recursion of a solve in float may be asked for this, and not for less.
SMALLEST_SINGLE_TOLERANCE = 1e-8


class IntegratorLevel(Table):
    """A table [[integrator]] is one time scale; the first table is the outermost (largest steps)."""

    scheme: Literal["leapfrog", "omelyan2", "omelyan4", "force_gradient"] = Field(
        default="omelyan2",
        description="The level is integrated by this scheme. omelyan2 is the minimum-norm scheme of second "
        "order (2MN); omelyan4 is of fourth order with five forces; force_gradient is of fourth order with "
        "two forces and one shifted one.",
    )
    steps: int = Field(
        ge=1,
        description="The first table says how many steps a trajectory has. The others say how many steps "
        "each drift of the table before has (leapfrog has one drift in a step, omelyan2 and force_gradient "
        "two, omelyan4 five). A level has at most a million steps in a trajectory.",
    )
    # `lambda` is a keyword of Python
    lambda_: float = Field(
        default=0.1931833275037836,
        ge=0.01,
        le=0.49,
        alias="lambda",
        description="This is the parameter of omelyan2, which towards 0 and 1/2 is leapfrog at a higher "
        "price.",
    )
    monomials: list[Name] = Field(
        min_length=1, description='The level has these monomials: "gauge", and names of [[fermions]].'
    )

    @model_validator(mode="after")
    def _lambda_where_used(self) -> Self:
        if self.scheme != "omelyan2" and "lambda_" in self.model_fields_set:
            raise ValueError(f'lambda is a parameter of omelyan2, not of scheme = "{self.scheme}"')
        return self


class MolecularDynamicsTable(Table):
    """The table [molecular_dynamics] has the length of trajectories, and the tolerance and precision of their
    forces."""

    length: float = Field(
        default=1.0,
        ge=1e-6,
        le=100,
        description="A trajectory is so long, in units of molecular-dynamics time.",
    )
    tolerance: float = Field(
        default=1e-7,
        ge=SMALLEST_TOLERANCE,
        lt=0.1,
        description="The solves in forces end when |b - A x| / |b| is at most this, for every shift.",
    )
    precision: Literal["double", "mixed", "single"] = Field(
        default="double",
        description="Forces are computed in this precision. With double, all is in double, and solves "
        "iterate in float where they can. With mixed, gauge force, stout smearing and its chain rule are in "
        "single precision, and solves stay as they are. With single, solves are in float alone, too, and "
        "reach `tolerance` by the recursion. Links and momenta, heat bath and accept step, HISQ's smearing "
        "and the derivatives of quark actions are in double in any case.",
    )

    @property
    def solves(self) -> Literal["double", "single"]:
        """Return the precision of the solves in forces."""
        return "single" if self.precision == "single" else "double"

    @property
    def arithmetic(self) -> Literal["double", "single"]:
        """Return the precision of the rest of the forces."""
        return "double" if self.precision == "double" else "single"

    @model_validator(mode="after")
    def _within_float(self) -> Self:
        if self.precision == "single" and self.tolerance < SMALLEST_SINGLE_TOLERANCE:
            raise ValueError(
                f"tolerance = {self.tolerance:g} is beyond single precision: at least "
                f'{SMALLEST_SINGLE_TOLERANCE:g}, or precision = "double" or "mixed"'
            )
        return self


class MetropolisTable(Table):
    """The table [metropolis] has the heat bath of the pseudofermions and the accept step."""

    tolerance: float = Field(
        default=1e-10,
        ge=SMALLEST_TOLERANCE,
        lt=0.1,
        description="The solves of heat baths and accept steps end when |b - A x| / |b| is at most this.",
    )
    heat_bath_tolerance: float | None = Field(
        default=None,
        ge=SMALLEST_TOLERANCE,
        lt=0.1,
        description="The solves in heat baths by rational functions end when |b - A x| / |b| is at most "
        "this. The default is tolerance, which two Wilson flavours take for both.",
    )
    max_iterations: int = Field(
        default=20000, ge=1, description="Any solve ends with an error after so many iterations."
    )

    @property
    def of_rational_heat_baths(self) -> float:
        """Return the tolerance of the solves in the heat baths of rational actions."""
        return self.tolerance if self.heat_bath_tolerance is None else self.heat_bath_tolerance


class TrajectoriesTable(Table):
    """The table [trajectories] says how many there are; they count from 1."""

    total: int = Field(ge=1, description="The whole run has so many trajectories, thermalisation included.")
    thermalisation: int = Field(
        default=0,
        ge=0,
        description="The first so many trajectories are accepted without the Metropolis test.",
    )
    keep_every: int | None = Field(
        default=None,
        ge=1,
        description="The run keeps the configuration of every n-th trajectory after the thermalisation.",
    )
    checkpoint_every: int = Field(
        default=10,
        ge=1,
        description="The run saves its state after every n-th trajectory, and keeps the last two.",
    )
    reversibility_every: int | None = Field(
        default=None,
        ge=1,
        description="Before every n-th trajectory the run integrates forth and back, and records the "
        "difference.",
    )

    @model_validator(mode="after")
    def _total_includes_thermalisation(self) -> Self:
        """Require trajectories after the thermalisation, unless keep_every is left out: a run that only
        thermalises keeps nothing."""
        left = self.total - self.thermalisation
        if left < 0 or (left == 0 and self.keep_every is not None):
            raise ValueError(
                f"trajectories.total = {self.total} includes trajectories.thermalisation = "
                f"{self.thermalisation}, which leaves no trajectory with a Metropolis test: expected a "
                "larger total (or, to thermalise only, the same number and no keep_every)"
            )
        return self

    def keeps_any(self, last: int) -> bool:
        """Return True if a run to this trajectory keeps a configuration, or is not asked to keep any."""
        return self.keep_every is None or last - self.thermalisation >= self.keep_every

    def kept(self, number: int) -> bool:
        """Return True if the configuration after this trajectory is to be kept."""
        after = number - self.thermalisation
        return self.keep_every is not None and after > 0 and after % self.keep_every == 0


class RandomTable(SeedTable):
    """The table [random] of trajectories has the seed and the stream of the random numbers."""

    stream: int = Field(
        default=0, ge=0, lt=2**63, description="Independent runs of one seed have different streams."
    )


def require_end(levels: Sequence[IntegratorLevel]) -> None:
    """Refuse trajectories of so many steps that they would never end: Ctrl-C does not interrupt one.

    Raises
    ------
    ValidationError
        A level does more than MOST_STEPS steps in a trajectory.
    """
    steps = 1
    for number, level in enumerate(levels, start=1):
        steps *= level.steps
        if steps > MOST_STEPS:
            raise at_key(
                "integrator",
                f"expected at most {MOST_STEPS} steps of a level in a trajectory, found "
                f"{steps} of [[integrator]] number {number} (steps count for each drift of the table "
                "before, not for the trajectory)",
            )
        steps *= DRIFTS[level.scheme]
