"""This module reads the costs of the core's operators and kernels, as polynomials, from costs.json.

tools/write_model_costs.py writes the file from what the core declares (`trellis bench costs`). A polynomial
is a table from products of symbols to coefficients. The symbols are V for the sites of a rank, F for the
sites of a face of it, rhs for the right-hand sides, and Ls for the slices of the fifth dimension. Sums of
staggered energies are those of one or two right-hand sides, where the hop forms them; for others the core
reads two fields more, which is not counted.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ..ground.errors import BadArgument, NotAvailable
from ..ground.nearest_word import did_you_mean
from .phases import Extents, Message, volume

COSTS_FILE = Path(__file__).parent / "costs.json"
Polynomial = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Counts:
    """This is the cost of an application on one rank; see :class:`trellis.model.phases.Phase`."""

    flops: float
    bytes: float
    messages: tuple[Message, ...]
    sums: float
    launches: float

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            self.flops + other.flops,
            self.bytes + other.bytes,
            self.messages + other.messages,
            self.sums + other.sums,
            self.launches + other.launches,
        )

    def times(self, factor: float) -> Counts:
        """Return the cost of so many applications; messages keep their sizes."""
        return Counts(
            factor * self.flops,
            factor * self.bytes,
            tuple(Message(m.mu, m.step, m.size, m.count * factor) for m in self.messages),
            factor * self.sums,
            factor * self.launches,
        )


def evaluate(polynomial: Polynomial, symbols: Mapping[str, float]) -> float:
    """Return the value of a polynomial."""
    total = 0.0
    for term, coefficient in polynomial.items():
        value = coefficient
        for symbol in term.split():
            if symbol != "1":
                value *= symbols[symbol]
        total += value
    return total


@cache
def read_costs() -> dict[str, Any]:
    """Return the content of costs.json.

    Raises
    ------
    NotAvailable
        It is not there.
    """
    if not COSTS_FILE.is_file():
        raise NotAvailable(f"{COSTS_FILE} is missing: tools/write_model_costs.py writes it")
    found: dict[str, Any] = json.loads(COSTS_FILE.read_text(encoding="utf-8"))
    return found


def kernel_names() -> list[str]:
    """Return the names of all kernels."""
    return sorted(read_costs()["kernels"])


def counts(
    kernel: str,
    local: Extents,
    grid: Sequence[int],
    *,
    precision: str = "double",
    link_reals: int = 18,
    rhs: int = 1,
    Ls: int = 1,
) -> Counts:
    """Return the cost of an application of a kernel on one rank.

    Raises
    ------
    BadArgument
        There is no such kernel, or it is not there in this storage.
    """
    kernels = read_costs()["kernels"]
    if kernel not in kernels:
        raise BadArgument(f"expected a kernel of costs.json, found {kernel!r}{did_you_mean(kernel, kernels)}")
    storage = f"{precision} {link_reals}"
    if storage not in kernels[kernel]:
        raise BadArgument(
            f"{kernel}: expected a storage among {', '.join(kernels[kernel])} (precision, reals of a link), "
            f"found {storage}"
        )
    of = kernels[kernel][storage]
    symbols: dict[str, float] = {"V": volume(local), "rhs": rhs, "Ls": Ls}
    messages = tuple(
        Message(mu, step, size)
        for mu in range(4)
        if grid[mu] > 1
        for step, size in _messages(of["messages"], {**symbols, "F": volume(local) / local[mu]}, grid[mu])
    )
    cut = sum(n > 1 for n in grid)
    return Counts(
        evaluate(of["flops"], symbols),
        evaluate(of["bytes"], symbols),
        messages,
        of["sums"],
        of["launches"] + (of["launches_where_cut"] if cut else 0) + cut * of["launches_of_a_cut"],
    )


def _messages(
    sides: Sequence[Mapping[str, Any]], symbols: Mapping[str, float], ranks: int
) -> list[tuple[int, float]]:
    """Return steps and bytes of the messages in a direction; those to both sides of two ranks are one."""
    parts = {side["step"]: [evaluate(part, symbols) for part in side["parts"]] for side in sides}
    if ranks > 2 or len(parts) < 2:
        return [(step, size) for step, sizes in parts.items() for size in sizes]
    return [(-1, sum(both)) for both in zip(*parts.values(), strict=True)]
