"""From a run file to the monomials of a chain."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .hmc import Monomial, gauge_monomial

if TYPE_CHECKING:
    from .gauge import Geometry
    from .run_files import HmcRun


def make_monomials(run: HmcRun, geometry: Geometry) -> dict[str, Monomial]:
    """All monomials of a run, by name. Collective."""
    return {"gauge": gauge_monomial(beta=run.action.beta, c1=run.action.weight)}
