"""The Heisenberg spin glass: over-relaxation sweeps of three reals a spin, cut in one to three directions."""

from __future__ import annotations

from collections.abc import Sequence

from ..phases import Message, Phase, Workload, halo, volume

#: Operations of an over-relaxation step of a spin: 18 fused multiply-adds of the field, 11 more, a division.
FLOPS = 55.0
#: Bytes of a step in single precision: own spin twice, neighbours once, couplings in float or packed.
BYTES = {"float": 60.0, "packed": 37.0}
_REALS = 3


def sliced_messages(extent: int, bytes_of_real: int = 4) -> tuple[Message, ...]:
    """Return the messages of a sweep of a lattice extent^3 that is cut in one direction.

    Each half sweep sends the three components of the spins of one parity to two neighbours, a message each.
    """
    size = extent**2 / 2 * bytes_of_real
    return tuple(Message(2, step, size, count=2 * _REALS) for step in (1, -1))


def sweep(
    local: Sequence[int],
    grid: Sequence[int],
    *,
    couplings: str = "float",
    replicas: int = 1,
    samples: int = 1,
) -> Workload:
    """Return a full over-relaxation sweep: two half sweeps, each with the halo of one parity.

    Parameters
    ----------
    local, grid
        Local extents and ranks in x, y, z.
    couplings
        "float", or "packed" for couplings of one bit.
    replicas
        They share the couplings.
    samples
        Realisations of the disorder, each with couplings of its own.
    """
    sites = volume(local) * samples
    couplings_bytes = 24.0 if couplings == "float" else 1.0
    once = 36.0 + couplings_bytes / replicas
    extents = (local[0], local[1], local[2], samples)
    phase = Phase(
        "over-relaxation",
        flops=FLOPS * sites * replicas / 2,
        bytes=once * sites * replicas / 2,
        messages=halo(extents, (*grid, 1), 4.0 * _REALS * replicas, sites=0.5),
        launches=1 + 2 * sum(n > 1 for n in grid),
        repeats=2,
        kernel=f"glass_{couplings}",
        precision="float",
        extents=extents,
        working_set=once * sites * replicas,
    )
    return Workload("sweep", (phase,), memory=sites * (2 * 12.0 * replicas + couplings_bytes))
