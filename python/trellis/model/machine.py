"""This is the machine as the model sees it: the tables of its file, with speeds of
kernels and links by name.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ..campaign.files import machine_path, published_machine_names
from ..campaign.hardware_tables import (
    ConstantTable,
    CostsTable,
    DeviceTable,
    FabricTable,
    LinkTable,
    RateTable,
)
from ..campaign.machine_tables import MachineFile, NodesTable
from ..ground.errors import BadArgument
from ..run_files.loading import load_run_file, parse_run_file
from .phases import Phase, volume

#: This holds where no constant is given: messages hide well but not wholly, and sums take a few microseconds.
NOMINAL_OVERLAP = 4.0
NOMINAL_SUM_US, NOMINAL_SUM_LOG2_US = 5.0, 3.0
#: Rates are not taken over from extents that differ by more than this factor in volume from those measured.
_FARTHEST = 16.0


@dataclass(frozen=True)
class HardwareModel:
    """This is a machine: a device for each rank, its links, the fabric and the constants of the software.

    Attributes
    ----------
    name
        The machine's name.
    nodes
        The table of its nodes.
    device
        A rank computes on it.
    links
        Links by kind; of several of a kind the first one counts.
    fabric, costs
        The tables of these names.
    cores_of_rank
        Cores that share the work of a rank.
    """

    name: str
    nodes: NodesTable
    device: DeviceTable
    links: tuple[LinkTable, ...]
    fabric: FabricTable
    costs: CostsTable
    cores_of_rank: int = 1

    def with_ranks(self, per_node: int, threads: int = 1) -> HardwareModel:
        """Return the machine with so many ranks on a node, each on so many cores (a GPU is one device).

        Raises
        ------
        BadArgument
            A node has fewer devices.
        """
        cores = threads if self.device.kind == "cpu" else 1
        if per_node < 1 or per_node * cores > self.device.count:
            raise BadArgument(
                f"machine {self.name}: expected ranks for {self.device.count} devices of a node, found "
                f"{per_node} ranks of {cores}"
            )
        device = self.device.model_copy(update={"count": per_node})
        return replace(self, device=device, cores_of_rank=cores)

    @property
    def is_calibrated(self) -> bool:
        """Return True if constants come from measurements on the machine."""
        return self.costs.measured

    @property
    def ranks_per_node(self) -> int:
        """Return the number of devices of a node."""
        return self.device.count

    def link(self, between: str) -> LinkTable | None:
        """Return the first link of a kind, if there is one."""
        return next((link for link in self.links if link.between == between), None)

    def link_named(self, name: str) -> HardwareModel:
        """Return the machine with this link in the first place: one of several cards or ways.

        Raises
        ------
        BadArgument
            The machine has no such link.
        """
        chosen = [link for link in self.links if link.name == name]
        if not chosen:
            names = ", ".join(link.name for link in self.links if link.name)
            raise BadArgument(f"machine {self.name}: expected a link among {names or 'none'}, found {name!r}")
        return replace(self, links=(*chosen, *(link for link in self.links if link.name != name)))

    @property
    def overlap(self) -> float:
        """Return the exponent p of imperfect overlap."""
        return _value(self.costs.overlap, NOMINAL_OVERLAP)

    @property
    def exchange_seconds(self) -> float:
        """Return the time of an exchange for each direction that is cut."""
        return 1e-6 * _value(self.costs.exchange_us, 2 * self.device.launch_us)

    @property
    def in_node(self) -> float:
        """Return the factor of messages within a node."""
        return _value(self.costs.in_node, 1.0)

    def sum_seconds(self, ranks: int) -> float:
        """Return the time of one global sum."""
        first = _value(self.costs.sum_us, NOMINAL_SUM_US)
        doubling = _value(self.costs.sum_log2_us, NOMINAL_SUM_LOG2_US)
        return 1e-6 * (first + doubling * math.ceil(math.log2(ranks))) if ranks > 1 else 1e-6 * first

    def network_bytes_per_second(self) -> float:
        """Return the rate of a card, one way.

        Raises
        ------
        BadArgument
            The machine has no link to other nodes.
        """
        if self.costs.network_gbs is not None:
            return 1e9 * self.costs.network_gbs.value
        return 1e9 * self.network_link.gbs

    @property
    def network_link(self) -> LinkTable:
        """Return the link from a node to the network.

        Raises
        ------
        BadArgument
            There is none.
        """
        link = self.link("node-nic")
        if link is None:
            raise BadArgument(f'machine {self.name} has no [[link]] with between = "node-nic": one node only')
        return link

    def rates_like(self, phase: Phase, busy: int = 1) -> list[RateTable]:
        """Return the measured speeds of a phase's kernel in the most similar conditions.

        Reals of links come first, then right-hand sides, then the number of busy devices of a node; measured
        volumes that are too far from the phase's say nothing.

        Parameters
        ----------
        busy
            Ranks of a node.
        """
        if phase.kernel is None or phase.extents is None:
            return []
        sites = volume(phase.extents)
        groups: dict[tuple[float, ...], list[RateTable]] = {}
        for rate in self.device.rates:
            if rate.kernel != phase.kernel or rate.precision != phase.precision:
                continue
            unlike = (
                _unlike(rate.link_reals, phase.link_reals),
                _unlike(rate.rhs, phase.rhs),
                _unlike(math.prod(rate.grid), busy),
            )
            groups.setdefault((*unlike, *rate.grid), []).append(rate)
        for key in sorted(groups):
            far = min(abs(math.log(volume(rate.extents) / sites)) for rate in groups[key])
            if far <= math.log(_FARTHEST):
                return groups[key]
        return []

    def rate(self, phase: Phase, busy: int = 1) -> RateTable | None:
        """Return the measured speed of a phase's kernel at the nearest local volume, if there is one."""
        found = self.rates_like(phase, busy)
        if not found or phase.extents is None:
            return None
        sites = volume(phase.extents)
        return min(found, key=lambda rate: abs(math.log(volume(rate.extents) / sites)))

    def measured_gflops(self, phase: Phase, busy: int = 1) -> float | None:
        """Return the speed of a phase's kernel, between measured volumes by straight lines in log(volume)."""
        found = self.rates_like(phase, busy)
        if not found or phase.extents is None:
            return None
        points = sorted({volume(rate.extents): rate.gflops for rate in found}.items())
        return _between(
            [math.log(v) for v, _ in points], [g for _, g in points], math.log(volume(phase.extents))
        )

    def roof_seconds(self, phase: Phase) -> float:
        """Return the time of a phase by the roofline, at the device's efficiency."""
        level = next(
            (m for m in self.device.memory if m.mib is None or phase.working_set <= m.mib * 2**20),
            self.device.memory[-1],
        )
        peak = self.device.peak_gflops.get(phase.precision) or self.device.peak_gflops.get("float")
        arithmetic = phase.flops / (1e9 * peak) if peak else 0.0
        return max(phase.bytes / (1e9 * level.gbs), arithmetic) / self.device.efficiency


def _between(xs: Sequence[float], ys: Sequence[float], x: float) -> float:
    """Return the value of a polygon at x; outside it is that of the nearest end."""
    if x <= xs[0]:
        return ys[0]
    for (x0, y0), (x1, y1) in zip(zip(xs, ys, strict=True), zip(xs[1:], ys[1:], strict=True), strict=False):
        if x <= x1:
            return y0 + (y1 - y0) * (x - x0) / (x1 - x0)
    return ys[-1]


def _unlike(measured: int, asked: int) -> float:
    """Return the distance of two numbers by their ratio; 0 on either side is any number."""
    return abs(math.log(measured / asked)) if measured and asked else 0.0


def _value(constant: ConstantTable | None, otherwise: float) -> float:
    return otherwise if constant is None else constant.value


def load_hardware(name: Path | str) -> HardwareModel:
    """Read a machine file for the model, by path or by the name of one that comes with trellis.

    Raises
    ------
    BadArgument
        There is no such machine, or it has no [[device]].
    RunFileError
        The file does not fit the schema.
    """
    path = machine_path(name)
    file, _ = load_run_file(path, MachineFile)
    return hardware_of(file, str(path))


def parse_hardware(text: str, name: str = "machine file") -> HardwareModel:
    """Return the machine of a file's text; see :func:`load_hardware`."""
    return hardware_of(parse_run_file(text, MachineFile, name), name)


def hardware_of(file: MachineFile, where: str) -> HardwareModel:
    """Return the machine of a machine file's tables; see :func:`load_hardware`."""
    if not file.device:
        raise BadArgument(
            f"{where}: the model needs a table [[device]], which this file has not: "
            "`trellis model calibrate -o M.toml` measures this machine; the machines of papers have one: "
            f"{', '.join(published_machine_names())}"
        )
    return HardwareModel(
        name=file.machine.name,
        nodes=file.nodes[0],
        device=file.device[0],
        links=tuple(file.link),
        fabric=file.fabric,
        costs=file.costs,
    )
