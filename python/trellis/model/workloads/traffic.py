"""Some traffic is irregular: levels of a breadth-first search, and steps of a particle-in-cell code."""

from __future__ import annotations

from collections.abc import Sequence

from ..phases import Extents, Message, Phase, Workload, halo, volume

#: Fields and currents of particle in cell have these reals a cell; a particle has the last number of reals.
FIELD_REALS, CURRENT_REALS, PARTICLE_REALS = 6, 3, 8
#: A particle takes these operations in a step: interpolation, push, deposition of the
#: current (linear shapes).
PARTICLE_FLOPS = 250.0


def search_phases(
    edges: Sequence[float], remote: Sequence[float], ranks: int, *, bytes_of_edge: float = 8.0
) -> list[Phase]:
    """Return a phase for each level of a breadth-first search on a 1-D partition.

    Parameters
    ----------
    edges
        Edges that a level inspects, over all ranks.
    remote
        Edges of a level whose other end lies on another rank, as :mod:`trellis.model.graphs` counts them.
    """
    phases = []
    for level, (inspected, sent) in enumerate(zip(edges, remote, strict=True)):
        of_a_rank = sent / ranks * bytes_of_edge
        each = of_a_rank / max(ranks - 1, 1)
        messages = tuple(Message(0, 1, each, count=ranks - 1) for _ in range(1)) if ranks > 1 else ()
        phases.append(
            Phase(
                f"level {level}",
                flops=inspected / ranks,
                bytes=inspected / ranks * 12,  # an index is read, and a mark is read and written
                messages=messages,
                sums=1,
                launches=2,
                kernel="bfs_edges",
                precision="float",
                overlaps=False,
            )
        )
    return phases


def particle_step(
    local: Extents,
    grid: Sequence[int],
    *,
    particles_per_cell: float,
    mean_speed: float,
    guard_layers: int = 2,
    bytes_of_real: float = 4.0,
) -> Workload:
    """Return a step of a particle-in-cell code on a 3-D grid (the fourth extent is 1).

    Parameters
    ----------
    mean_speed
        <|v|> dt / dx of a particle along a direction; half of the particles so near to a face cross it.
    guard_layers
        Layers of guard cells of fields and currents.
    """
    cells = volume(local)
    particles = cells * particles_per_cell
    guards = halo(local, grid, guard_layers * bytes_of_real * (FIELD_REALS + CURRENT_REALS))
    crossing = halo(
        local, grid, crossing_per_face_cell(particles_per_cell, mean_speed) * PARTICLE_REALS * bytes_of_real
    )
    moved = (
        particles * 2 * PARTICLE_REALS * bytes_of_real
        + cells * 2 * (FIELD_REALS + CURRENT_REALS) * bytes_of_real
    )
    phase = Phase(
        "particles",
        flops=PARTICLE_FLOPS * particles,
        bytes=moved,
        messages=guards + crossing,
        launches=4 + 4 * sum(n > 1 for n in grid),
        kernel="particles",
        precision="float",
        extents=local,
        overlaps=False,
        working_set=moved,
    )
    memory = (
        particles * PARTICLE_REALS * bytes_of_real + cells * (FIELD_REALS + CURRENT_REALS) * bytes_of_real
    )
    return Workload("step", (phase,), memory=memory)


def crossing_per_face_cell(particles_per_cell: float, mean_speed: float) -> float:
    """Return the particles that cross a cell of a face outwards in a step: n <|v|> dt / (2 dx)."""
    return particles_per_cell * mean_speed / 2
