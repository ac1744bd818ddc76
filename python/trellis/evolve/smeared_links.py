"""This module has the links that a table `smearing` of a run file asks for."""

from __future__ import annotations

from ..gauge.fields import GaugeField
from ..gauge.flow import GradientFlow
from ..run_files.smearing import SmearingTable


def smeared_links(table: SmearingTable, U: GaugeField) -> GaugeField:
    """Smear by APE, then stout, then flow; return U itself where none is asked for. Collective."""
    if table.ape is not None:
        U = U.ape(alpha=table.ape.alpha, steps=table.ape.steps, spatial=table.ape.spatial)
    if table.stout is not None:
        U = U._stout(table.stout.rho, table.stout.steps, spatial=table.stout.spatial)
    if table.flow is not None:
        flow = GradientFlow(U)
        flow.advance(table.flow.time)
        U = flow.field
    return U
