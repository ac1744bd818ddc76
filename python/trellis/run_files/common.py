"""This module has the tables that several run files share."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    WrapValidator,
)
from pydantic_core import InitErrorDetails, PydanticCustomError

from ..ground.rank_map import RankOrder
from ..ground.stout_limits import MOST_RHO


class Table(BaseModel):
    """This is a TOML table: unknown keys and other types are refused, values are not changed after
    validation.

    It is strict: `true` and "6.0" are no numbers, 4.0 is no integer; an integer is a number.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, strict=True)


class RunFile(Table):
    """This is a whole run file."""


#: A message about a whole table has this input, which is not shown.
_NOT_SHOWN: dict[str, Any] = {}


def at_key(key: str, message: str, found: Any = _NOT_SHOWN) -> ValidationError:
    """Return the error that a validator of a whole table raises about one key.

    The message has the name and the line of that key.

    Parameters
    ----------
    key
        The key's name below the table: "positions", "correlators.conserved_axial", "integrator.0.monomials".
    found
        The value; "; found ..." with it follows the message.
    """
    problem = PydanticCustomError("value_error", "{message}", {"message": message})
    parts = tuple(int(part) if part.isdigit() else part for part in key.split("."))
    details = InitErrorDetails(type=problem, loc=parts, input=found)
    return ValidationError.from_exception_data(key, [details])


def expecting(expected: str) -> WrapValidator:
    """Return a validator with one message for a union, which else has a message for each of its types."""

    def validate(value: Any, check: Callable[[Any], Any]) -> Any:
        try:
            return check(value)
        except ValidationError:
            raise ValueError(f"expected {expected}") from None

    return WrapValidator(validate)


def _even_extents(extents: tuple[int, ...]) -> tuple[int, ...]:
    for name, extent in zip("xyzt", extents, strict=True):
        if extent < 2 or extent % 2:
            raise ValueError(f"the extent in {name} is {extent}, but extents are even and at least 2")
    return extents


def _positive_grid(grid: tuple[int, ...]) -> tuple[int, ...]:
    if any(n < 1 for n in grid):
        raise ValueError(f"a process grid has at least one process in each direction, found {list(grid)}")
    return grid


#: TOML has lists, and no tuples: only the entries of these are strict.
_Int32 = Annotated[int, Field(ge=-(2**31), le=2**31 - 1)]
FourIntegers = Annotated[tuple[_Int32, _Int32, _Int32, _Int32], Field(strict=False)]
ThreeIntegers = Annotated[tuple[int, int, int], Field(strict=False)]
Extents = Annotated[FourIntegers, AfterValidator(_even_extents)]
Grid = Annotated[FourIntegers, AfterValidator(_positive_grid)]


#: Couplings, masses and phases are at most this: squares of larger numbers leave the range of the storages.
LARGEST = 1e6
Coupling = Annotated[float, Field(ge=-LARGEST, le=LARGEST)]
#: A bound that is added to Coupling's would be lost beside it.
NotNegative = Annotated[float, Field(ge=0, le=LARGEST)]
Positive = Annotated[float, Field(ge=1 / LARGEST, le=LARGEST)]


def _not_zero(kappa: float) -> float:
    if abs(kappa) < 1 / LARGEST:
        raise ValueError(
            f"expected a number other than 0, from {1 / LARGEST:g} to {LARGEST:g} in size, found {kappa:g}"
        )
    return kappa


#: It is kappa = 1 / (2 (4 + mass)), below 0 for masses below -4.
HoppingParameter = Annotated[Coupling, AfterValidator(_not_zero)]
#: These are flux quanta; with the charges they stay within the core's 32-bit integers.
Quanta = Annotated[int, Field(ge=-(10**6), le=10**6)]
ChargeThirds = Annotated[int, Field(ge=-1000, le=1000)]


def _whole_quanta(field: str, quanta: Any) -> Any:
    """Refuse numbers of flux quanta that are not whole: flux through a periodic lattice is quantised."""
    if not isinstance(quanta, list | tuple):
        return quanta
    for axis, count in zip("xyz", quanta, strict=False):
        if isinstance(count, float) and not count.is_integer():
            raise ValueError(
                f"{field}_{axis} = {count!r}: quanta of flux are integers, in the order {field}_x, "
                f"{field}_y, {field}_z"
            )
    return [int(count) if isinstance(count, float) else count for count in quanta]


_ThreeQuanta = Annotated[tuple[Quanta, Quanta, Quanta], Field(strict=False)]
MagneticQuanta = Annotated[_ThreeQuanta, BeforeValidator(partial(_whole_quanta, "b"))]
ElectricQuanta = Annotated[_ThreeQuanta, BeforeValidator(partial(_whole_quanta, "e"))]


_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*(\.[0-9]+)?")


def _check_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise ValueError("a name consists of letters, digits, _ and -")
    return name


#: Flavours and monomials have such names.
Name = Annotated[str, AfterValidator(_check_name)]


def _without_diagonal(rho: tuple[tuple[float, ...], ...]) -> tuple[tuple[float, ...], ...]:
    for mu, row in enumerate(rho):
        if row[mu] != 0:
            raise ValueError(f"row {mu} has {row[mu]:g} for its own direction, where no plane is: expected 0")
    return rho


#: The staples in stout smearing have such weights; negative ones are warned about.
StoutWeight = Annotated[float, Field(ge=-MOST_RHO, le=MOST_RHO)]
_FourWeights = Annotated[tuple[StoutWeight, StoutWeight, StoutWeight, StoutWeight], Field(strict=False)]
#: This is rho[mu][nu] of stout smearing: it weighs the staples of U_mu in the plane of mu and nu.
StoutMatrix = Annotated[
    tuple[_FourWeights, _FourWeights, _FourWeights, _FourWeights],
    Field(strict=False),
    AfterValidator(_without_diagonal),
]


#: The rank of each place of the grid is listed with x fastest.
RankOrderOrList = Annotated[
    RankOrder | list[int], expecting("box, x_fastest, time_fastest, or a list of ranks")
]


class LatticeTable(Table):
    """The table [lattice] has the extents of the lattice."""

    extents: Extents = Field(
        description="The lattice has Lx, Ly, Lz, Lt sites; these are even numbers, at least 2."
    )


class SeedTable(Table):
    """The table [random] has the seed of the random numbers of a run."""

    seed: int = Field(ge=0, lt=2**63, description="All random numbers of the run depend on this seed.")


class MachineTable(Table):
    """The table [machine] says where it runs. Nothing here changes a bit of the results."""

    grid: Grid | None = Field(
        default=None,
        description="The lattice is cut into so many ranks in x, y, z, t. The default is the grid with the "
        "least communication for the number of ranks that mpirun started.",
    )
    threads: int | None = Field(
        default=None,
        ge=1,
        description="Each rank has so many threads. The default is OMP_NUM_THREADS, or all cores.",
    )
    exchange: Literal["automatic", "persistent", "shared", "copied"] | None = Field(
        default=None,
        description="Halos travel in this way: by MPI's persistent requests (persistent), through shared "
        "memory between the ranks of a node (shared), or through that with copies of each rank's own "
        "(copied). With automatic the tuner's cache decides; where it has no choice, ranks with shared "
        "memory use it, with copies where processors are not AMD's, and GPUs and other nodes take requests. "
        "The default is the environment variable TRELLIS_EXCHANGE, or automatic.",
    )
    rank_order: RankOrderOrList | None = Field(
        default=None,
        description="Which rank has which place on the grid: ranks of a node side by side (box), x or time "
        "first in the order of ranks, or a list with the rank of each place, x first; default: the "
        "environment variable TRELLIS_RANK_ORDER, or box. `trellis doctor` says what is sent between nodes.",
    )
    tune: Literal["off", "read", "on"] | None = Field(
        default=None,
        description="A run walks over the lattice and moves halos in the ways that are fastest here. With "
        "off it takes the default ways, with read those of the cache and of trials in this run; with on it "
        "also keeps the results of trials in the cache, and tries halos, too. The default is the "
        "environment variable TRELLIS_TUNE, or read.",
    )
    memory_gib: float | None = Field(
        default=None,
        gt=0,
        description="A run that needs more memory than this on a rank, in GiB, is refused. The default is "
        "what the machine has.",
    )


def require_flow_times(time: float, spacing: float) -> None:
    """Require enough flow times for t0 and w0 (five), and not more than anybody reads.

    Raises
    ------
    ValueError
        There are fewer than five flow times, or more than a million.
    """
    if time < 4 * spacing:
        raise ValueError(
            f"flow.time = {time:g} is less than four times flow.spacing = {spacing:g}: t0 and w0 need five "
            "flow times"
        )
    if time > 1e6 * spacing:
        raise ValueError(
            f"flow.time = {time:g} is more than a million times flow.spacing = {spacing:g}: expected at most "
            "so many flow times"
        )
