"""This module runs trellis model calibrate: it runs benchmarks of this build, and writes what they found as a
machine file."""

from __future__ import annotations

import datetime
import json as json_text
import math
import os
import platform
import shutil
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..ground.crash_safe_files import write_text
from ..ground.errors import BadArgument, NotAvailable
from ..model.calibrate import Calibration, add_exchange, add_kernels, add_node_rate
from ..model.calibrate_solves import add_glass, add_multigrid, add_solver
from ..model.calibrated_file import machine_text
from ..model.machine import parse_hardware
from .bench import programs
from .output import Output

#: Many timings are taken, each shorter than the slices in which an operating system gives a core to programs:
#: most are then undisturbed where other programs run, too, and so is their median.
_TIMES = ("--seconds", "0.002", "--rounds", "31", "--threads", "1", "--json")
_EXCHANGE = ("--seconds", "0.001", "--rounds", "15", "--json")
#: Benchmarks that have not begun by then are left out, with a warning, so that a calibration takes less than
#: three minutes.
DEADLINE_SECONDS = 150.0
#: A calibration warns where more programs than this run beside it, on average over the last minute.
_MOST_LOAD = 0.5
#: This multigrid is measured: two levels on the smallest lattice with several aggregates.
_BLOCK, _VECTORS, _CYCLES = (4, 4, 4, 4), 20, 3

#: A rank has these local extents.
_SMALL, _MIDDLE, _LONG, _LARGE = (4, 4, 4, 8), (8, 8, 8, 8), (8, 8, 8, 16), (16, 16, 16, 16)
_SPINS = ((16, 16, 16, 1), (32, 32, 32, 1), (64, 64, 64, 1))


@dataclass(frozen=True)
class Task:
    """This is a benchmark with its options; local extents become lattices of so many ranks."""

    program: str
    extents: tuple[tuple[int, ...], ...]
    options: tuple[str, ...]
    add: Callable[[Calibration, dict[str, Any]], None]
    is_spin: bool = False

    def words(self, ranks: int) -> list[str]:
        """Return the options for so many ranks."""
        grow = _more_samples if self.is_spin else _longer
        lattices = ",".join(".".join(map(str, grow(extents, ranks))) for extents in self.extents)
        return ["--lattice", lattices, *self.options]


def _add_multigrid(calibration: Calibration, found: dict[str, Any]) -> None:
    add_multigrid(calibration, found, block=_BLOCK, vectors=_VECTORS, cycles=_CYCLES)


#: They stand in the order of their weight: what comes last is left out where time runs short.
TASKS = (
    Task(
        "wilson",
        (_SMALL, _MIDDLE, _LONG, _LARGE),
        ("--precision", "double,float,half", "--link-reals", "12,18", "--rhs", "1", *_TIMES),
        add_kernels,
    ),
    Task(
        "solver",
        (_MIDDLE, _LONG),
        ("--precision", "double", "--link-reals", "18", "--rounds", "3", "--threads", "1", "--json"),
        add_solver,
    ),
    Task(
        "staggered",
        (_SMALL, _MIDDLE, _LARGE),
        ("--precision", "double,float", "--link-reals", "18", "--rhs", "1", *_TIMES),
        add_kernels,
    ),
    Task("glass", _SPINS, ("--precision", "float", "--rhs", "1", *_TIMES), add_glass, is_spin=True),
    Task("gauge", (_SMALL, _MIDDLE), ("--precision", "double", *_TIMES), add_kernels),
    Task(
        "wilson",
        (_MIDDLE,),
        ("--precision", "float,half", "--link-reals", "12,18", "--rhs", "12", *_TIMES),
        add_kernels,
    ),
    Task(
        "multigrid",
        (_MIDDLE,),
        (
            "--field-sweeps",
            "10",
            "--kappa",
            "0.125",
            "--rhs",
            "1",
            "--rounds",
            "1",
            "--levels",
            "2",
            "--json",
        ),
        _add_multigrid,
    ),
    Task(
        "domain_wall",
        (_SMALL, _MIDDLE),
        ("--precision", "float", "--link-reals", "12", "--ls", "12", *_TIMES),
        add_kernels,
    ),
)


def _longer(extents: tuple[int, ...], ranks: int) -> tuple[int, ...]:
    """Return the lattice on which so many ranks have these local extents: t and z become longer."""
    of_t = next(n for n in range(math.isqrt(ranks), 0, -1) if ranks % n == 0)
    return (*extents[:2], extents[2] * of_t, extents[3] * (ranks // of_t))


def _more_samples(extents: tuple[int, ...], ranks: int) -> tuple[int, ...]:
    """Return the lattice with a sample for each rank: spin glasses are cut there first."""
    return (*extents[:3], extents[3] * (1 if ranks == 1 else ranks + ranks % 2))


@dataclass(frozen=True)
class Launcher:
    """It starts programs on ranks: by srun in an allocation of Slurm, by mpirun elsewhere.

    Attributes
    ----------
    nodes
        Nodes of the allocation.
    hosts
        Their names for mpirun; empty on one node, and for srun.
    """

    nodes: int
    hosts: tuple[str, ...] = ()

    def words(self, nodes: int, per_node: int) -> list[str]:
        """Return the words before a program that runs on so many nodes, with so many ranks each.

        Raises
        ------
        NotAvailable
            Neither srun nor mpirun is there.
        """
        if nodes * per_node == 1:
            return []
        ranks = str(nodes * per_node)
        if self.nodes > 1 and not self.hosts:
            return ["srun", "-N", str(nodes), "-n", ranks, "--ntasks-per-node", str(per_node)]
        if shutil.which("mpirun") is None:
            raise NotAvailable("mpirun was not found; --ranks 1 measures a single rank alone")
        hosts = ",".join(f"{host}:{per_node}" for host in self.hosts[:nodes])
        return ["mpirun", "-n", ranks, *(["--host", hosts] if hosts else [])]


def launcher(hosts: str | None) -> Launcher:
    """Return the launcher of this allocation, or of hosts that are given.

    Raises
    ------
    BadArgument
        A host has no name.
    """
    if hosts is not None:
        names = tuple(name.strip() for name in hosts.split(","))
        if not all(names):
            raise BadArgument(f"--hosts: expected names such as node1,node2, found {hosts!r}")
        return Launcher(len(names), names)
    in_slurm = os.environ.get("SLURM_JOB_NUM_NODES", "1")
    if in_slurm.isdigit() and int(in_slurm) > 1 and shutil.which("srun"):
        return Launcher(int(in_slurm))
    node_file = os.environ.get("PBS_NODEFILE")
    if node_file and Path(node_file).is_file():
        names = tuple(dict.fromkeys(Path(node_file).read_text(encoding="utf-8").split()))
        return Launcher(len(names), names) if len(names) > 1 else Launcher(1)
    return Launcher(1)


def calibrate(target: Path, *, ranks: int | None, name: str | None, hosts: str | None, json: bool) -> int:
    """Measure kernels on one rank and on all of a node, and exchanges; write the machine file."""
    output = Output(json)
    if not target.absolute().parent.is_dir():
        raise BadArgument(f"--output {target}: there is no folder {target.absolute().parent}")
    if target.is_dir() or not os.access(target if target.exists() else target.absolute().parent, os.W_OK):
        raise BadArgument(f"--output {target}: expected a file that can be written, found one that cannot")
    available = programs()
    missing = sorted({what for what in (*(task.program for task in TASKS), "exchange")} - set(available))
    if missing:
        raise NotAvailable(
            f"this build has no benchmark programs {', '.join(missing)}; ./bootstrap bench in a clone of "
            "Trellis makes them"
        )
    begin, load = time.monotonic(), os.getloadavg()[0]
    cores = len(os.sched_getaffinity(0))
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    starter, count = launcher(hosts), ranks or cores
    calibration = Calibration(name or platform.node() or "this machine", count, memory, starter.nodes)
    left_out = []
    if count > 1 or starter.nodes > 1:
        _measure_exchanges(calibration, starter, count, available["exchange"], output)
    for task in TASKS:
        for busy in sorted({1, count}):
            if time.monotonic() - begin > DEADLINE_SECONDS:
                left_out.append(f"{task.program} on {busy}")
                continue
            output.line(f"measuring {task.program} on {busy} {'rank' if busy == 1 else 'ranks'}")
            words = [*starter.words(1, busy), str(available[task.program]), *task.words(busy)]
            task.add(calibration, _run(words))
    text = machine_text(calibration, day=datetime.date.today().isoformat(), load=load)
    parse_hardware(text, str(target))
    write_text(target, text)
    links = {"in a node": calibration.exchange, "between nodes": calibration.network}
    undetermined = [
        f"{constant} {where}"
        for where, line in links.items()
        if line is not None
        for constant in line.undetermined
    ]
    seconds = time.monotonic() - begin
    output.result(
        {
            "machine": calibration.name,
            "file": str(target),
            "rates": len(calibration.rates),
            "nodes": starter.nodes,
            "ranks": count,
            "undetermined": undetermined,
            "left_out": left_out,
            "seconds": seconds,
            "load": load,
        }
    )
    if load > _MOST_LOAD:
        output.warning(
            f"other programs ran here ({load:.1f} on average in the last minute): speeds are theirs, too; "
            "calibrate again on an empty node"
        )
    if undetermined:
        output.warning(f"the exchange does not determine {', '.join(undetermined)}")
    if left_out:
        output.warning(f"time ran short; not measured: {', '.join(left_out)}")
    output.line(f"wrote {target}: {len(calibration.rates)} speeds of kernels in {seconds:.0f} s")
    return 0


def _measure_exchanges(
    calibration: Calibration, starter: Launcher, per_node: int, program: Path, output: Output
) -> None:
    if per_node > 1:
        output.line(f"measuring exchanges of {per_node} ranks of a node")
        add_exchange(calibration, _run([*starter.words(1, per_node), str(program), *_EXCHANGE]))
    if starter.nodes > 1:
        output.line("measuring exchanges between two nodes")
        add_exchange(calibration, _run([*starter.words(2, 1), str(program), *_EXCHANGE]))
        largest = ("--bytes", "2097152", "--sums", "1")
        words = [*starter.words(2, per_node), str(program), *_EXCHANGE, *largest]
        add_node_rate(calibration, _run(words))


def _run(words: list[str]) -> dict[str, Any]:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    try:
        ended = subprocess.run(words, check=False, capture_output=True, text=True, env=environment)
    except OSError as error:
        raise NotAvailable(f"{words[0]}: cannot be started: {error.strerror}") from error
    if ended.returncode:
        raise NotAvailable(f"{' '.join(words)} ended with status {ended.returncode}: {ended.stderr.strip()}")
    try:
        found: dict[str, Any] = json_text.loads(ended.stdout)
    except ValueError as error:
        raise NotAvailable(
            f"{' '.join(words)}: expected a JSON object, found {ended.stdout[:80]!r}"
        ) from error
    return found
