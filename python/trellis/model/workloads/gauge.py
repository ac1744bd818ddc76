"""This module has phases of molecular dynamics on links.

They are forces, smearing and its chain rule, drifts, and heat bath.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..costs import Counts, counts
from ..phases import Extents, Message, Phase, volume
from .solves import phase_of

#: A halo of links has this many layers; the links of a site have LINK_BYTES bytes in double.
HALO_LAYERS = 2
LINK_BYTES = 4 * 18 * 8.0


def link_halo(local: Extents, grid: Sequence[int], layers: int = HALO_LAYERS) -> tuple[Message, ...]:
    """Return the messages of an exchange of links: so many layers, with the corners of cut directions."""
    reached = [n + 2 * layers if cut > 1 else n for n, cut in zip(local, grid, strict=True)]
    ghosts = volume(reached) - volume(local)
    cut = [mu for mu in range(4) if grid[mu] > 1]
    if not cut:
        return ()
    faces = {mu: 2 * layers * volume(local) / local[mu] for mu in cut}
    corners = (ghosts - sum(faces.values())) / len(
        cut
    )  # these travel to diagonal neighbours; they are divided among directions
    return tuple(Message(mu, step, LINK_BYTES * (faces[mu] + corners) / 2) for mu in cut for step in (1, -1))


def kernel(name: str, local: Extents, grid: Sequence[int], *, has_halo: bool = True) -> Counts:
    """Return the cost of a kernel on links, with the exchange of links before it, which is not hidden."""
    of = counts(name, local, grid)
    return Counts(of.flops, of.bytes, link_halo(local, grid) if has_halo else (), of.sums, of.launches)


def link_phase(
    name: str, kernel_name: str, local: Extents, grid: Sequence[int], repeats: float, *, has_halo: bool = True
) -> Phase:
    """Return the phase of a kernel on links."""
    return phase_of(
        name,
        kernel(kernel_name, local, grid, has_halo=has_halo),
        local,
        kernel=kernel_name,
        precision="double",
        repeats=repeats,
        overlaps=False,
    )
