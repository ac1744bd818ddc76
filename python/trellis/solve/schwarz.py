"""This is the Schwarz method as a solver value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..gauge.geometry import in_four_directions
from ..ground.arguments import choice, instance, integer, integers
from ..ground.compiled_core import load
from .values import Solver


@dataclass(frozen=True, repr=False)
class Schwarz(Solver):
    """See :func:`schwarz`."""

    cycles: int
    block_iterations: int
    block: tuple[int, int, int, int] | None
    additive: bool
    storage: str

    def _spec(self) -> Any:
        block = [0, 0, 0, 0] if self.block is None else list(self.block)
        return load().schwarz_solver(block, self.cycles, self.block_iterations, self.additive, self.storage)


def schwarz(
    *,
    cycles: int = 3,
    block_iterations: int = 4,
    block: Sequence[int] | None = None,
    additive: bool = False,
    storage: str = "float",
) -> Schwarz:
    """Return the Schwarz alternating procedure (M. Luescher, hep-lat/0310048), a preconditioner.

    Blocks of the lattice are solved for one after the other, those of one colour after those of the other,
    with all legs cut that leave a block. It has no global sums, and sends the surfaces of blocks alone. It
    serves Wilson, clover and twisted-mass quarks on all sites, on CPUs:
    ``tr.gcr(preconditioner=tr.schwarz())``.

    Parameters
    ----------
    cycles
        Each cycle solves once for every block.
    block_iterations
        Steps of even-odd minimal residual in a block.
    block
        Even extents of a block in x, y, z, t; default: legal ones near 4. The lattice has an even number of
        blocks in each direction, and each rank whole blocks.
    additive
        All blocks of a cycle correct the same residual. Else those of the second colour know the first.
    storage
        "double", "float", "half" (16-bit fixed point) or "fp16".

    Raises
    ------
    BadArgument
        A value outside its range; when it is used: another operator, a lattice that blocks do not divide, or
        a solve with it alone, which has no tolerance.
    """
    return Schwarz(
        integer("cycles", cycles, least=1),
        integer("block_iterations", block_iterations, least=1),
        None if block is None else in_four_directions(integers("block", block, 4, least=2)),
        instance("additive", additive, bool),
        choice("storage", storage, "double", "float", "half", "fp16"),
    )
