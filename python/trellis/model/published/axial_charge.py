"""This module has the figures of Titan, Ray, Sierra and Summit (Berkowitz et al. 2018).

They are those of domain walls by conjugate gradients in 16 bit.
"""

from __future__ import annotations

from dataclasses import replace

from ...campaign.hardware_tables import ConstantTable
from ..closed_form import step_time
from ..machine import HardwareModel, load_hardware
from ..mapping import best_box, by_box, least_surface_grid
from ..phases import Phase, Workload, halo, volume
from .rows import Row

GROUP = "axial charge"
SOURCE = "Berkowitz et al. 2018"
#: The first is flops a byte, 1.8 to 1.9 in the paper; the second is the factor for
#: instructions that are not fused.
INTENSITY, NOT_FUSED = 1.85, 1.675
#: An iteration takes these flops for a site of five dimensions of one parity, 10 to 12 thousand in the paper.
FLOPS_PER_SITE = 11000.0
#: A half spinor in 16 bit has these bytes with its scale.
FACE_BYTES = 12 * 2 + 4.0
#: A GPU reaches these GB/s in the paper.
GBS = {"titan": 139.0, "ray": 516.0, "sierra": 975.0}
_PERCENT = {"sierra": 20.0}


def percent_of_peak(machine: HardwareModel, gbs: float) -> float:
    """Return the percent of single-precision peak of a GPU that moves so many GB/s."""
    return 100 * gbs * INTENSITY * NOT_FUSED / machine.device.peak_gflops["float"]


def iteration(extents: tuple[int, ...], slices: int, grid: tuple[int, ...]) -> Workload:
    """Return an iteration on the normal equations: four hops of one parity, two sums."""
    local = [n // g for n, g in zip(extents, grid, strict=True)]
    sites = volume(local) * slices / 2
    once = halo(local, grid, FACE_BYTES * slices, sites=0.5)
    phase = Phase(
        "hop",
        flops=FLOPS_PER_SITE * sites / 4,
        bytes=FLOPS_PER_SITE * sites / 4 / INTENSITY,
        messages=once,
        repeats=4,
        sums=0.5,
        kernel="domain_wall_cg",
        precision="half",
        extents=(local[0], local[1], local[2], local[3]),
    )
    return Workload("iteration", (phase,))


def petaflops(machine: HardwareModel, extents: tuple[int, ...], slices: int, nodes: int) -> float:
    """Return the speed of one solve on so many nodes."""
    ranks = nodes * machine.ranks_per_node
    grid = least_surface_grid(extents, ranks)
    local = [n // g for n, g in zip(extents, grid, strict=True)]
    work = iteration(extents, slices, grid)
    places = by_box(grid, best_box(grid, machine.ranks_per_node, local))
    return work.flops * ranks / step_time(work, machine, places).total * 1e-15


def with_network_share(machine: HardwareModel, share: float) -> HardwareModel:
    """Return the machine with this share of its nominal network."""
    rate = share * machine.network_link.gbs
    given = ConstantTable(value=rate, origin=f"{share:g} of the nominal rate")
    return replace(machine, costs=machine.costs.model_copy(update={"network_gbs": given}))


def rows() -> list[Row]:
    """Return percent of peak, the farm of small jobs, and the bracket of one large solve."""
    found = []
    for name, gbs in GBS.items():
        machine = load_hardware(name)
        title = name.capitalize()
        found.append(Row(GROUP, f"{title}, GB/s a GPU", gbs, gbs, "input", SOURCE))
        published = _PERCENT.get(name)
        kind = "checked" if published else "predicted"
        found.append(
            Row(GROUP, f"{title}, percent of peak", published, percent_of_peak(machine, gbs), kind, SOURCE)  # type: ignore[arg-type]
        )
    sierra = load_hardware("sierra")
    nodes, farm = 3388, 20e6
    peak = nodes * sierra.device.count * sierra.device.peak_gflops["float"]
    found += [
        Row(
            GROUP,
            "Sierra, 3388 nodes, percent of peak at 20 PF",
            15.0,
            100 * farm * NOT_FUSED / peak,
            "checked",
            SOURCE,
        ),
        Row(
            GROUP,
            "Sierra, jobs of 4 nodes on 3388, PF",
            20.0,
            nodes / 4 * petaflops(sierra, (48, 48, 48, 64), 20, 4),
            "checked",
            f"{SOURCE} (nearly 20); 48^3 x 64 x 20 a job, nominal links",
        ),
    ]
    return found + summit_rows()


def summit_rows() -> list[Row]:
    """Return the bracket of Summit by its nominal network and half of it."""
    summit = load_hardware("summit")
    extents, slices, nodes = (96, 96, 96, 144), 20, 384
    high = petaflops(summit, extents, slices, nodes)
    low = petaflops(with_network_share(summit, 0.5), extents, slices, nodes)
    ideal = 1e-6 * nodes * summit.device.count * summit.device.rates[0].gflops
    return [
        Row(
            GROUP,
            "Summit, 2304 GPUs, 96^3 x 144 x 20, PF",
            "about 1.5",
            f"{low:.1f} to {high:.1f}",
            "checked",
            f"{SOURCE}; half and all of the nominal network: a bracket, no prediction",
            agrees=low <= 1.5 <= high,
        ),
        Row(
            GROUP,
            "Summit, efficiency at 2304 GPUs",
            "large drop past about 2000",
            f"{100 * low / ideal:.0f} to {100 * high / ideal:.0f} %",
            "checked",
            SOURCE,
            agrees=high / ideal < 0.6,
        ),
    ]
