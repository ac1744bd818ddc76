"""The Heisenberg spin glass has over-relaxation sweeps of three reals a spin, cut in
one to three directions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...run_files import GlassRun
from ..phases import Extents, Message, Phase, Workload, halo, volume

#: An over-relaxation step of a spin has 18 fused multiply-adds of the field, 11 more
#: operations and a division.
FLOPS = 55.0
#: This many sweeps go through the lattice together where ranks cut neither x, y nor z (doc/glass.md).
SWEEPS_OF_A_PASS = 4
_REALS = 3
_PROCESS_BYTES = 100 * 2.0**20


def sliced_messages(extent: int, bytes_of_real: int = 4) -> tuple[Message, ...]:
    """Return the messages of a sweep of a lattice extent^3 that is cut in one direction.

    Each half sweep sends the three components of the spins of one parity to two neighbours, a message each.
    """
    size = extent**2 / 2 * bytes_of_real
    return tuple(Message(2, step, size, count=2 * _REALS) for step in (1, -1))


def step(run: GlassRun, local: Extents, grid: Sequence[int]) -> Workload:
    """Return a step of trellis glass: a sweep of the heat bath, and its over-relaxation sweeps.

    All sets of spins of a sample share its couplings. Ferromagnets and couplings of one modulus are packed.
    """
    couplings = "float" if run.couplings.type == "gaussian" else "packed"
    slots = run.spins.replicas * len(run.spins.temperatures)
    reals = 4 if run.spins.storage == "single" else 8
    is_cut = any(n > 1 for n in grid[:3])
    heat_bath, relaxation, together = (
        sweep(
            local[:3],
            grid[:3],
            couplings=couplings,
            replicas=slots,
            samples=local[3],
            bytes_of_real=reals,
            kernel=kernel,
        )
        for kernel in ("heat_bath", "over_relaxation", "over_relaxation_pass")
    )
    sweeps = run.over_relaxation
    passes = 0 if is_cut else sweeps // SWEEPS_OF_A_PASS
    phases = [
        heat_bath.phases[0],
        together.phases[0].times(SWEEPS_OF_A_PASS * passes),
        relaxation.phases[0].times(sweeps - SWEEPS_OF_A_PASS * passes),
    ]
    return Workload("step", tuple(p for p in phases if p.repeats), memory=_PROCESS_BYTES + relaxation.memory)


def _messages(extents: Extents, grid: Sequence[int], bytes_of_site: float) -> tuple[Message, ...]:
    """Return the messages of a half sweep: those of one parity, one message to each neighbouring rank."""
    found = halo(extents, grid, bytes_of_site, sites=0.5)
    return tuple(
        replace(message, size=message.size * (2 if grid[message.mu] == 2 else 1))
        for message in found
        if grid[message.mu] > 2 or message.step == 1
    )


def sweep(
    local: Sequence[int],
    grid: Sequence[int],
    *,
    couplings: str = "float",
    replicas: int = 1,
    samples: int = 1,
    bytes_of_real: int = 4,
    kernel: str = "over_relaxation",
) -> Workload:
    """Return a full sweep: two half sweeps, each with the halo of one parity.

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
    bytes_of_real
        Bytes of a component of a spin, and of a coupling that is not packed.
    kernel
        "over_relaxation", "heat_bath", or "over_relaxation_pass" for a sweep of a pass of several.
    """
    sites = volume(local) * samples
    is_pass = kernel.endswith("_pass")
    # A pass reads and writes once for all of its sweeps, and both parities share the couplings.
    of_couplings = (3.0 if is_pass else 6.0) * bytes_of_real if couplings == "float" else 1.0
    of_spins = (6.0 if is_pass else 9.0) * bytes_of_real
    once = (of_spins + of_couplings / replicas) / (SWEEPS_OF_A_PASS if is_pass else 1)
    held = (3.0 * bytes_of_real) * replicas + (3.0 * bytes_of_real if couplings == "float" else 1.0)
    extents = (local[0], local[1], local[2], samples)
    phase = Phase(
        {"heat_bath": "heat bath", "over_relaxation": "over-relaxation"}.get(
            kernel, "over-relaxation, several sweeps a pass"
        ),
        flops=FLOPS * sites * replicas / 2,
        bytes=once * sites * replicas / 2,
        messages=_messages(extents, (*grid, 1), float(bytes_of_real) * _REALS * replicas),
        launches=1 + 2 * sum(n > 1 for n in grid),
        repeats=2,
        kernel=f"glass_{kernel}_{couplings}",
        precision="float" if bytes_of_real == 4 else "double",
        extents=extents,
        rhs=replicas,
        working_set=held * sites,
    )
    return Workload("sweep", (phase,), memory=sites * held)
