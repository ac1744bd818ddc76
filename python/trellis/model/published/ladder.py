"""This module has ways of a halo on a DGX-1 (Clark and Wagner 2019).

The lattice is 16^4 a GPU in 16 bit on a grid 1x2x2x2; only the order of the ways is compared.

The time of a way is that of its calls: launches, copies, synchronisations and messages, with assumed costs.
"""

from __future__ import annotations

from dataclasses import dataclass

from .rows import Row

GROUP = "ladder"
#: A launch, an asynchronous copy, a synchronisation and a message take these assumed microseconds.
LAUNCH, COPY, SYNCHRONISE, MESSAGE = 4.0, 5.0, 8.0, 4.0
_DIRECTIONS, _FACES = 3, 6


@dataclass(frozen=True)
class Way:
    """This is a way of the halo by its calls in one hop."""

    name: str
    launches: int
    copies: int = 0
    synchronisations: int = 0
    messages: int = 0

    @property
    def microseconds(self) -> float:
        """Return the time of its calls."""
        return (
            LAUNCH * self.launches
            + COPY * self.copies
            + SYNCHRONISE * self.synchronisations
            + MESSAGE * self.messages
        )


#: These are the ways in the published order, the slowest first.
WAYS = [
    # The kernels are the interior, a pack and a halo in each direction; a face goes down
    # and up, with a message.
    Way("staged by the host", 1 + 2 * _DIRECTIONS, 2 * _FACES, 2 * _FACES, _FACES),
    # Each face is copied to the peer at once.
    Way("peer-to-peer copies", 1 + 2 * _DIRECTIONS, _FACES, _FACES),
    # One halo kernel serves all directions.
    Way("fused halo kernel", 2 + _DIRECTIONS, _FACES, _FACES),
    # The pack kernel writes to the peer, and each face is signalled.
    Way("remote write", 2 + _DIRECTIONS, 0, _FACES),
    # One kernel packs and computes the interior.
    Way("packing fused with the interior", 2, 0, _FACES),
    # Signals lie in device memory: a kernel waits once.
    Way("SHMEM", 3, 0, 1),
    # One kernel does everything.
    Way("SHMEM, fused", 1, 0, 1),
]


def rows() -> list[Row]:
    """Return the order of the ways."""
    found = [way.name for way in sorted(WAYS, key=lambda way: -way.microseconds)]
    published = [way.name for way in WAYS]
    times = ", ".join(f"{way.microseconds:.0f}" for way in WAYS)
    return [
        Row(
            GROUP,
            "order of the ways of a halo, slowest first",
            ", ".join(published),
            ", ".join(found),
            "checked",
            f"Clark and Wagner 2019; calls with assumed costs, {times} us; no figure of the bars is known",
            agrees=found == published,
        )
    ]
