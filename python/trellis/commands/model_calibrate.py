"""trellis model calibrate: runs benchmarks of this build, and writes what they found as a machine file."""

from __future__ import annotations

import datetime
import json as json_text
import os
import platform
import shutil
import subprocess
from pathlib import Path
from typing import Any

from ..ground.crash_safe_files import write_text
from ..ground.errors import NotAvailable
from ..model.calibrate import Calibration, add_exchange, add_kernels, machine_text
from ..model.machine import parse_hardware
from .bench import programs
from .output import Output

#: Short rounds, several of them: medians of these are good to a few percent on a quiet machine.
_TIMES = ("--seconds", "0.03", "--rounds", "5", "--threads", "1", "--json")
_LATTICES = "4.4.4.8,8.8.8.8,8.8.8.16,16.16.16.16"
_KERNELS: dict[str, tuple[str, ...]] = {
    "wilson": (
        "--lattice",
        _LATTICES,
        "--precision",
        "double,float,half",
        "--link-reals",
        "12,18",
        "--rhs",
        "1,12",
    ),
    "staggered": ("--lattice", _LATTICES, "--precision", "double,float", "--link-reals", "18", "--rhs", "1"),
    "domain_wall": (
        "--lattice",
        "4.4.4.8,8.8.8.8",
        "--precision",
        "float,half",
        "--link-reals",
        "12",
        "--ls",
        "12",
    ),
    "gauge": ("--lattice", _LATTICES, "--precision", "double"),
}
_EXCHANGE = ("--seconds", "0.01", "--rounds", "5", "--json")


def calibrate(target: Path, *, ranks: int | None, name: str | None, json: bool) -> int:
    """Measure kernels on one rank and exchanges on some, and write the machine file."""
    output = Output(json)
    available = programs()
    missing = [what for what in (*_KERNELS, "exchange") if what not in available]
    if missing:
        raise NotAvailable(
            f"this build has no benchmark programs {', '.join(missing)}; ./bootstrap bench in a clone of "
            "Trellis makes them"
        )
    cores = len(os.sched_getaffinity(0))
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    calibration = Calibration(name or platform.node() or "this machine", cores, memory)
    for what, options in _KERNELS.items():
        output.line(f"measuring {what}")
        add_kernels(calibration, _run([str(available[what]), *options, *_TIMES]))
    count = ranks or min(2, cores)
    if count > 1:
        if shutil.which("mpirun") is None:
            raise NotAvailable("mpirun was not found; --ranks 1 leaves the exchange out")
        output.line(f"measuring exchanges of {count} ranks")
        words = ["mpirun", "-n", str(count), str(available["exchange"]), *_EXCHANGE]
        add_exchange(calibration, _run(words))
    text = machine_text(calibration, day=datetime.date.today().isoformat())
    parse_hardware(text, str(target))
    write_text(target, text)
    output.result(
        {
            "machine": calibration.name,
            "file": str(target),
            "rates": len(calibration.rates),
            "ranks": count,
            "undetermined": calibration.exchange.undetermined if calibration.exchange else [],
        }
    )
    if calibration.exchange is not None and calibration.exchange.undetermined:
        output.warning(f"the exchange does not determine {', '.join(calibration.exchange.undetermined)}")
    output.line(f"wrote {target}: {len(calibration.rates)} speeds of kernels")
    return 0


def _run(words: list[str]) -> dict[str, Any]:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    ended = subprocess.run(words, check=False, capture_output=True, text=True, env=environment)
    if ended.returncode:
        raise NotAvailable(f"{' '.join(words)} ended with status {ended.returncode}: {ended.stderr.strip()}")
    found: dict[str, Any] = json_text.loads(ended.stdout)
    return found
