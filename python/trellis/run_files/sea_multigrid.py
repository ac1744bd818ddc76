"""This module has multigrid in the solves of a sea quark: [fermions.multigrid]."""

from __future__ import annotations

from pydantic import Field

from .multigrid import MultigridTable


class SeaMultigridTable(MultigridTable):
    """The table [fermions.multigrid] has test vectors, set-up and cycle of solver = "multigrid"."""

    sweeps: int = Field(
        default=3,
        ge=0,
        le=100,
        description="How often the set-up at the start of a trajectory replaces the test vectors by a cycle "
        "of them.",
    )
    refresh: float = Field(
        default=0.2,
        ge=1e-6,
        le=100,
        description="Molecular-dynamics time after which the test vectors are improved by one cycle and the "
        "coarse operator is made anew.",
    )
