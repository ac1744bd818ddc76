"""This module chooses how to run, for a deadline or an efficiency.

It chooses nodes, process grid, rank order and way of the network.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from ..ground.errors import BadArgument
from .forecast import Forecast, forecast_of
from .machine import HardwareModel
from .mapping import least_surface_grid
from .phases import Extents
from .workloads.iterations import IterationCounts
from .workloads.runs import AnyRun, workload_of

#: Ranks are laid on nodes in these ways: in boxes of least surface, or in orders of their coordinates.
ORDERS: tuple[str | None, ...] = (None, "xyzt", "tzyx")


@dataclass(frozen=True)
class Choice:
    """This is a way to run: the forecast, the order of ranks on nodes (None: boxes),
    the link to other nodes.
    """

    forecast: Forecast
    order: str | None
    link: str

    @property
    def order_in_words(self) -> str:
        """Return the order in words for people."""
        return "boxes of least surface" if self.order is None else f"{self.order} ({self.order[0]} fastest)"


def candidates(
    run: AnyRun, machine: HardwareModel, iterations: IterationCounts, extents: Extents, most_nodes: int
) -> list[Choice]:
    """Return the fastest way to run on each number of nodes that has a process grid, memory included."""
    found: list[Choice] = []
    for nodes in _node_counts(most_nodes if machine.link("node-nic") is not None else 1):
        try:
            grid = least_surface_grid(extents, nodes * machine.ranks_per_node)
        except BadArgument:
            continue
        workload = workload_of(run, extents, grid, iterations)
        ways = [
            Choice(forecast_of(workload, variant, nodes, extents, grid, order=order), order, link)
            for link, variant in _variants(machine, nodes)
            for order in ORDERS
        ]
        best = min(ways, key=lambda choice: choice.forecast.seconds)
        if best.forecast.fits:
            found.append(best)
    if not found:
        raise BadArgument(
            f"no number of nodes up to {most_nodes} has a process grid of {extents} whose ranks fit in memory"
        )
    first = found[0].forecast
    for k, choice in enumerate(found):
        speed_up = first.seconds / choice.forecast.seconds
        efficiency = speed_up * first.nodes / choice.forecast.nodes
        found[k] = replace(
            choice, forecast=replace(choice.forecast, speed_up=speed_up, efficiency=efficiency)
        )
    return found


def choose(
    found: list[Choice],
    *,
    within: float | None = None,
    steps: int | None = None,
    efficiency: float | None = None,
) -> Choice:
    """Return the cheapest way within a deadline, or the fastest way of at least an efficiency.

    Parameters
    ----------
    within
        Seconds for all steps.
    steps
        The number of steps of the run.
    efficiency
        Least efficiency against the smallest number of nodes.

    Raises
    ------
    BadArgument
        Neither or both are given, or no number of nodes does it.
    """
    if (within is None) == (efficiency is None):
        given = "none" if within is None else "both"
        raise BadArgument(f"expected a deadline (--within) or an efficiency (--efficiency), found {given}")
    if within is not None:
        if steps is None:
            raise BadArgument("a deadline needs the number of steps of the run: give --steps N")
        in_time = [c for c in found if steps * c.forecast.seconds <= within]
        if not in_time:
            fastest = min(found, key=lambda c: c.forecast.seconds)
            raise BadArgument(
                f"expected {steps} steps within {within:g} s; the fastest way takes "
                f"{steps * fastest.forecast.seconds:.4g} s, on {fastest.forecast.nodes} nodes"
            )
        return min(in_time, key=lambda c: (c.forecast.node_hours, c.forecast.nodes))
    assert efficiency is not None
    efficient = [c for c in found if c.forecast.efficiency >= efficiency]
    if not efficient:
        raise BadArgument(f"no number of nodes has an efficiency of {efficiency:g}")
    return min(efficient, key=lambda c: c.forecast.seconds)


def _node_counts(most: int) -> Iterator[int]:
    """Yield numbers of nodes with prime factors 2, 3 and 5: others leave few process grids."""
    for nodes in range(1, most + 1):
        rest = nodes
        for prime in (2, 3, 5):
            while rest % prime == 0:
                rest //= prime
        if rest == 1:
            yield nodes


def _variants(machine: HardwareModel, nodes: int) -> list[tuple[str, HardwareModel]]:
    """Return the machine by each of its links to other nodes."""
    names = [link.name for link in machine.links if link.between == "node-nic" and link.name]
    if nodes == 1 or len(names) < 2:
        link = machine.link("node-nic")
        return [("" if link is None else link.name or link.path, machine)]
    return [(name, machine.link_named(name)) for name in names]
