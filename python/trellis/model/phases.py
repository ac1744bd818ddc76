"""The model sees work as phases, each with what one rank computes, moves, sends and launches.

The numbers are those of the core's `Cost` (src/trellis/field/cost.hpp) or of other programs' kernels.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

#: These are the extents of four directions.
Extents = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class Message:
    """Each rank sends messages of this kind to its neighbour in the direction mu, forwards
    (+1) or backwards (-1).

    Attributes
    ----------
    size
        Bytes of one of them.
    count
        The number of messages of this size.
    """

    mu: int
    step: int
    size: float
    count: float = 1.0


@dataclass(frozen=True, slots=True)
class Phase:
    """A phase of a step has work, and the messages that travel beside it.

    Attributes
    ----------
    name
        The name that tables and pictures show.
    flops, bytes
        Operations, and bytes that must move to and from memory, of one rank.
    messages
        The messages that one rank sends.
    sums
        Global sums.
    launches
        Launches of kernels.
    repeats
        The phase is done so often in a step.
    kernel, precision
        The measured speed that the phase has; without a kernel the roofline gives its time.
    extents
        Local extents of the rank, by which speeds are looked up.
    link_reals, rhs
        Reals of a link, and right-hand sides of a batch, by which speeds are looked up; 0: any.
    overlaps
        True if messages travel while the rank computes.
    border
        The share of the work that must end before messages can leave (1-D cuts compute borders first).
    working_set
        Bytes that the phase walks over again and again; it decides which level of the memory serves it.
    """

    name: str
    flops: float = 0.0
    bytes: float = 0.0
    messages: tuple[Message, ...] = ()
    sums: float = 0.0
    launches: float = 0.0
    repeats: float = 1.0
    kernel: str | None = None
    precision: str = "double"
    extents: Extents | None = None
    link_reals: int = 0
    rhs: int = 0
    overlaps: bool = True
    border: float = 0.0
    working_set: float = 0.0

    def times(self, repeats: float) -> Phase:
        """Return the phase done so many times as often."""
        return replace(self, repeats=self.repeats * repeats)

    @property
    def sent_bytes(self) -> float:
        """Return the bytes that one rank sends in one repetition."""
        return sum(m.size * m.count for m in self.messages)

    @property
    def message_count(self) -> float:
        """Return the number of messages that one rank sends in one repetition."""
        return sum(m.count for m in self.messages)


@dataclass(frozen=True, slots=True)
class Workload:
    """This is a step of a run: a trajectory, the sources of a configuration, or an application of a kernel.

    Attributes
    ----------
    name
        The name of the step.
    phases
        Its phases, in order.
    memory
        Bytes that a rank needs.
    """

    name: str
    phases: tuple[Phase, ...]
    memory: float = 0.0

    @property
    def flops(self) -> float:
        """Return the operations of one rank in a step."""
        return sum(p.flops * p.repeats for p in self.phases)


def volume(extents: Sequence[int]) -> int:
    """Return the number of sites."""
    return math.prod(extents)


def halo(
    local: Sequence[int],
    grid: Sequence[int],
    bytes_of_face_site: float,
    *,
    sites: float = 1.0,
    count: float = 1.0,
) -> tuple[Message, ...]:
    """Return the messages of a halo exchange: one to each side of every direction that the grid cuts.

    Parameters
    ----------
    bytes_of_face_site
        Bytes of each site of the face.
    sites
        Share of the face's sites that travel: 0.5 for one parity.
    count
        The number of messages that a side is sent in; each has `bytes_of_face_site`.
    """
    size = volume(local)
    return tuple(
        Message(mu, step, sites * bytes_of_face_site * size / local[mu], count)
        for mu in range(len(local))
        if grid[mu] > 1
        for step in (1, -1)
    )


def merged(phases: Iterable[Phase]) -> list[Phase]:
    """Return the phases with those of one name as one, done as often as all of them."""
    found: dict[str, Phase] = {}
    for phase in phases:
        if phase.name not in found:
            found[phase.name] = phase
            continue
        first = found[phase.name]
        if replace(first, repeats=0) != replace(phase, repeats=0):
            raise ValueError(f"two different phases are called {phase.name!r}")
        found[phase.name] = replace(first, repeats=first.repeats + phase.repeats)
    return list(found.values())
