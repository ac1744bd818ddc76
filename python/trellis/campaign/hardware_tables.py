"""The scaling model reads these tables of machine files: devices, links, fabric and costs.

Launchers and planners do not look at them. Symbols of LogGP, which readers of network models know, stand
behind the names: L is latency_us, o is overhead_us, G is 1 / gbs, and g is what limits the message rate.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from ..run_files.common import FourIntegers, Grid, Table

_Microseconds = Annotated[float, Field(ge=0, le=1e9)]
_GigabytesPerSecond = Annotated[float, Field(gt=0, le=1e7)]

#: Benchmarks give these names to storages of numbers.
PRECISIONS = ("double", "float", "half", "fp16")


def _known_precisions(peaks: dict[str, float]) -> dict[str, float]:
    for name, value in peaks.items():
        if name not in PRECISIONS:
            raise ValueError(f"expected precisions among {', '.join(PRECISIONS)}, found {name!r}")
        if value <= 0:
            raise ValueError(f"expected a peak above 0 in {name}, found {value:g}")
    return peaks


class ConstantTable(Table):
    """This is a constant of the model, with its error and its data."""

    value: float = Field(description="The value, in the unit that the key's name ends in.")
    error: float | None = Field(default=None, ge=0, description="Its standard error; default: not known.")
    origin: str = Field(description="The data that it was fitted to, or its source.")


class MemoryLevelTable(Table):
    """A table [[device.memory]] is a level of the memory of a device; the nearest one comes first."""

    mib: float | None = Field(default=None, gt=0, description="Its size; default: larger than any field.")
    gbs: _GigabytesPerSecond = Field(description="Bytes that a kernel reads from it, GB/s.")


class RateTable(Table):
    """A table [[device.rates]] is the measured speed of a kernel on one device."""

    kernel: str = Field(description="Name of the kernel, as in costs.json or a benchmark.")
    precision: Literal["double", "float", "half", "fp16"] = Field(description="Storage of its fields.")
    extents: FourIntegers = Field(description="Local extents of a rank.")
    gflops: float = Field(gt=0, description="Speed of one device, by the flops of the kernel.")
    error: float | None = Field(default=None, ge=0, description="Its standard error in GF/s.")
    link_reals: int = Field(default=0, ge=0, description="Reals of a link; 0: not said.")
    rhs: int = Field(default=0, ge=0, description="Right-hand sides of a batch; 0: not said.")
    grid: Grid = Field(
        default=(1, 1, 1, 1),
        description="The process grid of the measurement: its exchange is part of the speed, and so many "
        "devices of a node were busy.",
    )


class DeviceTable(Table):
    """A table [[device]] describes what a rank computes on."""

    name: str = Field(description="Its name.")
    kind: Literal["gpu", "cpu"] = Field(description="gpu: a rank for each; cpu: a rank for each, too.")
    count: int = Field(default=1, ge=1, description="Devices of a node; a rank runs on each.")
    peak_gflops: Annotated[dict[str, float], AfterValidator(_known_precisions)] = Field(
        default={}, description="Peak of one device in GF/s, by precision."
    )
    memory: list[MemoryLevelTable] = Field(min_length=1, description="Levels, the nearest first.")
    memory_gib: float = Field(default=0, ge=0, description="Memory of one device; 0: not counted.")
    launch_us: _Microseconds = Field(default=0.0, description="Time that a launch of a kernel takes.")
    efficiency: float = Field(
        default=0.7, gt=0, le=2, description="Share of the roofline where no rate was measured."
    )
    rates: list[RateTable] = Field(default=[], description="Measured speeds of kernels.")


class LinkTable(Table):
    """A table [[link]] is a way between devices, or from a node to the network."""

    name: str = Field(default="", description="Its name, where a machine has several of a kind.")
    between: Literal["device-device", "device-host", "node-nic"] = Field(
        description="device-device: within a node; device-host: the bus; node-nic: to other nodes."
    )
    gbs: _GigabytesPerSecond = Field(description="Rate of one way, GB/s; the other way has it, too.")
    latency_us: _Microseconds = Field(default=0.0, description="This is the time of the first byte (L).")
    overhead_us: _Microseconds = Field(default=0.0, description="Each message takes this at its ends (o).")
    shared_by: int = Field(default=1, ge=1, description="Ranks of a node that share it.")
    path: Literal["peer", "staged", "shared"] = Field(
        default="peer",
        description="peer: the card reads the device's memory; staged: by way of the host's memory; shared: "
        "ranks write to common memory.",
    )


class FabricTable(Table):
    """The table [fabric] describes the network between nodes."""

    topology: Literal["flat", "torus", "fat_tree", "dragonfly"] = Field(
        default="flat", description="flat: the cards limit, never the network between them."
    )
    extents: list[Annotated[int, Field(ge=1)]] = Field(
        default=[],
        description="torus: its extents; fat_tree: arities from below; dragonfly: groups, routers, nodes.",
    )
    link_gbs: _GigabytesPerSecond | None = Field(
        default=None, description="This is the rate of a link, one way."
    )
    hop_us: _Microseconds = Field(default=0.0, description="Time that each link on the way adds.")
    routing: Literal["minimal", "adaptive"] = Field(default="minimal", description="Choice of ways.")
    taper: float = Field(
        default=1.0, gt=0, le=1, description="Share of full bandwidth above the first level."
    )
    forwards: bool = Field(
        default=False,
        description="torus: a node's card carries the traffic that it forwards, beside its own.",
    )

    @model_validator(mode="after")
    def _has_extents(self) -> Self:
        if self.topology != "flat" and not self.extents:
            raise ValueError(f'topology = "{self.topology}" needs extents')
        if self.topology != "flat" and self.link_gbs is None:
            raise ValueError(f'topology = "{self.topology}" needs link_gbs')
        return self


class CostsTable(Table):
    """The table [costs] has constants of the software on this machine."""

    measured: bool = Field(
        default=False, description="They come from a calibration; otherwise forecasts are nominal."
    )
    overlap: ConstantTable | None = Field(
        default=None,
        description="Exponent p of (T_local^p + T_network^p)^(1/p): 1 hides nothing, a large one all.",
    )
    exchange_us: ConstantTable | None = Field(
        default=None, description="Time that an exchange takes for each direction that is cut."
    )
    in_node: ConstantTable | None = Field(
        default=None, description="Factor of the time of messages within a node."
    )
    network_gbs: ConstantTable | None = Field(
        default=None,
        description="Rate of a card in exchanges of an application, where it differs from the link's.",
    )
    sum_us: ConstantTable | None = Field(default=None, description="A global sum of one rank.")
    sum_log2_us: ConstantTable | None = Field(
        default=None, description="Each doubling of the ranks adds this to a global sum."
    )
    model_error: ConstantTable | None = Field(
        default=None, description="Relative standard deviation of the model, by leaving data out."
    )
