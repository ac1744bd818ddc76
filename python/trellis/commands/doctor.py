"""This module runs trellis doctor, which shows what this build and this machine can do."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from dataclasses import asdict
from pathlib import Path
from typing import Any, get_args

from rich.table import Table

from ..ground.arguments import choice
from ..ground.byte_counts import show_bytes
from ..ground.compiled_core import load
from ..ground.errors import BadArgument
from ..ground.host_work import HOST_WORK
from ..ground.machine import fma_peak, read_bandwidth
from ..ground.parallel import broadcast
from ..ground.rank_map import (
    RankOrder,
    nodes_are_boxes,
    nodes_in_turn,
    rank_places,
    surface_between_nodes,
)
from ..ground.tuning import Cache, cache_folder, halo_ways, processor, read_cache
from ..ground.version import __version__
from .arguments import parse_lattice
from .output import Output


def doctor(*, lattice: str, quick: bool, device: str, json: bool, plot: Path | None = None) -> int:
    """Collect, print, and point to what slows things down.

    Parameters
    ----------
    plot
        A picture of the machine's roofs (PNG, PDF or SVG).
    """
    output = Output(json)
    choice("device", device, "cpu", "cuda")
    extents = parse_lattice(lattice)
    assert extents is not None
    found: dict[str, Any] = {
        "version": __version__,
        "build": _build(),
        "machine": _machine(),
        "parallel": _parallel(),
        "lanes": _lanes(extents),
        "between_nodes": _placement(extents),
        "tuner": _tuner(),
        "speed": None if quick else _speed(),
        "host_work": [asdict(work) for work in HOST_WORK] if device == "cuda" else None,
    }
    found["advice"] = _advice(found)
    if plot is not None:
        if found["speed"] is None:
            raise BadArgument("--plot draws what --quick leaves out")
        if output.is_root:
            _plot_roofs(found, plot)
    output.result(found)
    _print(output, found)
    return 0


def _build() -> dict[str, Any]:
    core = load()
    return {**core.build(), "hdf5": core.hdf5_version(), "mpi": core.communication_library()}


def _machine() -> dict[str, Any]:
    core = load()
    return {
        "cpu": processor(),
        "cores": core.usable_cores(),
        "memory_available_bytes": core.memory_available(),
        "memory_bytes": os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"),
        "transparent_huge_pages": _huge_pages(),
        "gpus": _gpus(),
        "cuda_devices": core.gpus(),
        "cuda_failure": core.why_no_gpu(),
        "python": platform.python_version(),
    }


def _tuner() -> dict[str, Any]:
    """Return the tuner's mode and what its cache has for this machine and build; rank 0 reads."""
    cache = broadcast(read_cache() if load().rank() == 0 else Cache())
    return {
        "mode": load().tuner_mode(),
        "cache": str(cache_folder()),
        "choices": len(cache.choices),
        "halos": halo_ways(cache),
        "files": len(cache.files),
        "foreign_files": cache.foreign,
        "damaged_files": cache.damaged,
    }


def _huge_pages() -> str:
    """Return "always", "madvise", "never", or "unknown"."""
    try:
        text = Path("/sys/kernel/mm/transparent_hugepage/enabled").read_text()
    except OSError:
        return "unknown"
    return text.partition("[")[2].partition("]")[0] or "unknown"


def _gpus() -> list[str]:
    program = shutil.which("nvidia-smi")
    if program is None:
        return []
    command = [program, "--query-gpu=name,memory.total", "--format=csv,noheader"]
    try:
        found = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return []
    return found.stdout.strip().splitlines() if found.returncode == 0 else []


def _describe_tuner(tuner: dict[str, Any]) -> str:
    text = f"{tuner['mode']} (TRELLIS_TUNE=off, read or on); {tuner['choices']} choices in {tuner['cache']}"
    if tuner["halos"]:
        text += "; halos: " + ", ".join(f"{count} {way}" for way, count in tuner["halos"].items())
    if tuner["foreign_files"]:
        text += f"; {tuner['foreign_files']} files of other machines, builds or versions"
    return text + "".join(f"; {problem}" for problem in tuner["damaged_files"])


def _cuda(build: dict[str, Any], machine: dict[str, Any]) -> str:
    """Say which GPUs device="cuda" can use, or why there are none."""
    if not build["cuda"]:
        return "not in this build"
    if machine["cuda_failure"]:
        return f"in this build, but {machine['cuda_failure']}"
    devices = machine["cuda_devices"]
    return "; ".join(
        f"GPU {number}: {gpu['name']}, compute capability {gpu['capability']}, {show_bytes(gpu['bytes'])}"
        for number, gpu in enumerate(devices)
    )


def _nodes(count: int) -> str:
    return "1 node" if count == 1 else f"{count} nodes"


def _parallel() -> dict[str, Any]:
    core = load()
    return {
        "ranks": core.size(),
        "nodes": core.nodes(),
        "communicator": core.communicator_name(),
        "threads_per_rank": core.thread_count(),
        "exchange": core.exchange_policy(),
        "rank_order": core.rank_map()[0],
        **_switches(),
        "omp_num_threads": os.environ.get("OMP_NUM_THREADS"),
        "omp_proc_bind": os.environ.get("OMP_PROC_BIND"),
    }


#: These are switches for tests, which make a machine other than it is.
_SWITCHES = {
    "pretended_nodes": ("TRELLIS_NODES", "do as if they were on so many nodes"),
    "message_delay_us": ("TRELLIS_MESSAGE_DELAY", "send MPI's messages so many microseconds late"),
}


def _switches() -> dict[str, str | None]:
    found = {key: os.environ.get(variable) or None for key, (variable, _) in _SWITCHES.items()}
    nodes = found["pretended_nodes"]
    if nodes is not None and not nodes.isdigit():  # campaigns put names of nodes there
        found["pretended_nodes"] = None
    return found


def _placement(extents: tuple[int, int, int, int]) -> dict[str, Any]:
    """Return what ranks send between nodes on a lattice, by the order of ranks; the node that sends most
    counts.

    Ranks are taken to fill one node after the other for the comparison. "now" is what this process does.
    """
    core = load()
    ranks, nodes = core.size(), core.nodes()
    grid = tuple(core.choose_process_grid(list(extents), ranks))
    result: dict[str, Any] = {"lattice": list(extents), "grid": list(grid), "nodes": nodes}
    result["now"] = core.surface_between_nodes(list(extents), list(grid))
    if nodes == 1 or ranks % nodes != 0:
        return result
    node_of = nodes_in_turn(ranks, ranks // nodes)
    for order in get_args(RankOrder):
        places = rank_places(order, extents, grid, node_of)
        result[order] = {
            "sites": surface_between_nodes(extents, grid, places, node_of),
            "is_box": nodes_are_boxes(grid, places, node_of),
        }
    return result


def _describe_placement(placement: dict[str, Any]) -> str:
    text = f"{placement['now']} sites"
    orders = [order for order in get_args(RankOrder) if order in placement]
    if orders:
        text += "; " + ", ".join(
            f"{order} {placement[order]['sites']}{'' if placement[order]['is_box'] else ' (no boxes)'}"
            for order in orders
        )
    return text


def _lanes(extents: tuple[int, int, int, int]) -> dict[str, Any]:
    """Return how the part of each rank is split over the lanes of a vector."""
    core = load()
    grid = core.choose_process_grid(list(extents), core.size())
    result: dict[str, Any] = {"lattice": list(extents), "grid": list(grid)}
    for name in ("double", "float"):
        lanes = core.build()[f"lanes_{name}"]
        result[name] = {
            "lanes": lanes,
            "split": list(core.lane_split(list(extents), list(grid), lanes)),
            "crossing_fraction": core.crossing_fraction(list(extents), list(grid), lanes),
            "inner_fraction": core.inner_fraction(list(extents), list(grid), lanes),
        }
    return result


def _speed() -> dict[str, float]:
    """Measure the speeds of this rank in 10^9 bytes or flops per second."""
    core = load()
    sizes = {"read_1_mib": 1, "read_16_mib": 16, "read_256_mib": 256}
    speed = {f"{name}_gbytes_per_second": read_bandwidth(size) * 1e-9 for name, size in sizes.items()}
    speed["triad_256_mib_gbytes_per_second"] = (
        core.triad_bandwidth(256 << 20, core.thread_count(), 0.2) * 1e-9
    )
    for precision in ("float", "double"):
        speed[f"peak_{precision}_gflops"] = fma_peak(precision) * 1e-9
    return speed


def _plot_roofs(found: dict[str, Any], path: Path) -> None:
    """Draw the peaks and bandwidths of this rank."""
    from ..report.roofline import roofline
    from .plots import save_plot

    speed = found["speed"]
    peaks = {name: speed[f"peak_{name}_gflops"] for name in ("float", "double")}
    ending = "_gbytes_per_second"
    bandwidths = {
        name.removesuffix(ending).replace("_", " ").replace("mib", "MiB"): value
        for name, value in speed.items()
        if name.endswith(ending)
    }
    threads = found["parallel"]["threads_per_rank"]
    title = f"{found['machine']['cpu']}, {threads} thread{'' if threads == 1 else 's'}"
    save_plot(path, lambda: roofline(peaks, bandwidths, [], title))


def _advice(found: dict[str, Any]) -> list[str]:
    advice = []
    machine, parallel = found["machine"], found["parallel"]
    threads, cores = parallel["threads_per_rank"], machine["cores"]
    if threads > cores:  # the cores are those of one rank: a launcher may give each its own
        of_each = " of each rank" if parallel["ranks"] > 1 else ""
        text = f"{threads} threads{of_each} on {_cores(cores)}: set OMP_NUM_THREADS = {cores}"
        if parallel["ranks"] > 1 and cores < (os.cpu_count() or 1):
            text += f", or leave each rank {threads} (mpirun --map-by slot:PE={threads})"
        advice.append(text)
    if machine["transparent_huge_pages"] == "never":
        advice.append("transparent huge pages are off: kernels may lose up to 14 %")
    if machine["gpus"] and not found["build"]["cuda"]:
        advice.append("this machine has GPUs, but the build has no CUDA: ./bootstrap build --cuda")
    if found["build"]["cuda"] and machine["cuda_failure"]:
        advice.append(f'device "cuda" cannot be used: {machine["cuda_failure"]}')
    if found["build"]["build_type"] != "Release":
        advice.append(f"the build type is {found['build']['build_type']}, which is slow")
    for precision in ("double", "float"):
        lanes = found["lanes"][precision]
        split = lanes["split"][0] * lanes["split"][1] * lanes["split"][2] * lanes["split"][3]
        if split < lanes["lanes"]:
            advice.append(
                f"the lattice fills {split} of {lanes['lanes']} lanes in {precision}: its local extents "
                "are too small or not divisible by 4"
            )
    return advice


def _cores(count: int) -> str:
    return "1 core" if count == 1 else f"{count} cores"


def _print(output: Output, found: dict[str, Any]) -> None:
    build, machine, parallel = found["build"], found["machine"], found["parallel"]
    output.line(f"trellis {found['version']}", style="bold")
    free = show_bytes(machine["memory_available_bytes"])
    _table(
        output,
        {
            "compiler": f"{build['compiler']}, {build['build_type']}",
            "instructions": f"{', '.join(build['instruction_sets'])} (-march={build['architecture']})",
            "lanes": f"{build['lanes_double']} double, {build['lanes_float']} float",
            "MPI": build["mpi"],
            "HDF5": build["hdf5"],
            "CUDA": _cuda(build, machine),
            "processor": f"{machine['cpu']}, {_cores(machine['cores'])}",
            "memory": f"{free} free of {show_bytes(machine['memory_bytes'])}",
            "huge pages": machine["transparent_huge_pages"],
            "GPUs": ", ".join(machine["gpus"]) or "none",
            "ranks": f"{parallel['ranks']} ({parallel['communicator']}), on {_nodes(parallel['nodes'])}",
            "threads per rank": str(parallel["threads_per_rank"]),
            "halo exchange": f"{parallel['exchange']} "
            "(TRELLIS_EXCHANGE=automatic, persistent, shared or copied; staged, mapped, direct, peer, "
            "peer_copied or fused for GPUs)",
            "order of ranks": f"{parallel['rank_order']} (TRELLIS_RANK_ORDER=box, x_fastest or time_fastest)",
            "tuner": _describe_tuner(found["tuner"]),
        },
    )
    for key, (variable, does) in _SWITCHES.items():
        if parallel[key] is not None:
            output.line(
                f"  {variable}={parallel[key]} is set, a switch for tests: ranks {does}", style="yellow"
            )
    lattice = found["lanes"]
    if parallel["nodes"] > 1:
        output.line(
            f"  {'x'.join(map(str, lattice['lattice']))} on {lattice['grid']} ranks, faces between nodes, "
            f"of the node with the most: {_describe_placement(found['between_nodes'])}"
        )
    for precision in ("double", "float"):
        lanes = lattice[precision]
        output.line(
            f"  {'x'.join(map(str, lattice['lattice']))} on {lattice['grid']} ranks, {precision}: "
            f"{lanes['lanes']} lanes split {lanes['split']}; {100 * lanes['inner_fraction']:.0f} % of the "
            f"blocks need no other rank, {100 * (1 - lanes['crossing_fraction']):.0f} % no lane permutation"
        )
    if found["speed"]:
        speed = found["speed"]
        output.line(
            f"  reading 1, 16, 256 MiB: {speed['read_1_mib_gbytes_per_second']:.0f}, "
            f"{speed['read_16_mib_gbytes_per_second']:.0f}, "
            f"{speed['read_256_mib_gbytes_per_second']:.1f} GB/s; "
            f"triad {speed['triad_256_mib_gbytes_per_second']:.1f} GB/s"
        )
        output.line(
            f"  peak: {speed['peak_float_gflops']:.0f} GF/s float, "
            f"{speed['peak_double_gflops']:.0f} GF/s double"
        )
    if found["host_work"]:
        output.line('with device="cuda" the host still does, and copies between itself and the GPU:')
        for work in found["host_work"]:
            output.line(f"  {work['what']}; {work['when']}: {work['copies']}")
    for advice in found["advice"]:
        output.line(f"  advice: {advice}", style="yellow")


def _table(output: Output, rows: dict[str, str]) -> None:
    table = Table(box=None, show_header=False, padding=(0, 2))
    for name, value in rows.items():
        table.add_row(name, value)
    output.console.print(table, markup=False)
