"""trellis demo: the whole chain on a lattice that a laptop does in minutes."""

from __future__ import annotations

import importlib.resources
import json as json_text
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from ..errors import Error
from ..parallel import on_root
from ..run_files import GenerateRun, MeasureRun, load_run_file
from .console import Output
from .generate import generate_run
from .measure import measure_run

TITLE = "Trellis demo: quenched hadrons in a small box"
_RUN_FILES = ("generate.toml", "measure.toml", "charge_fields.toml", "charges.toml", "analyze.toml")


def demo(folder: Path, *, json: bool) -> int:
    """Generate, measure, analyze, twice; a second call goes on where the first stopped."""
    output = Output(json)
    start = time.perf_counter()
    on_root(lambda: _write_run_files(folder))
    output.line("1 of 4: gauge fields by heat bath", style="bold")
    generated = _generate(folder / "generate.toml", output)
    output.line("2 of 4: quark propagators and hadron correlators", style="bold")
    measured = _measure(folder / "measure.toml", output)
    output.line("3 of 4: the nucleon's axial charge, Moebius quarks on a smaller lattice", style="bold")
    charge_fields = _generate(folder / "charge_fields.toml", output)
    charges = _measure(folder / "charges.toml", output)
    output.line("4 of 4: analysis", style="bold")
    on_root(lambda: _analyze(folder, output))
    seconds = time.perf_counter() - start
    output.result(
        {
            "run": "demo",
            "report": str(folder / "report.html"),
            "results": str(folder / "results.json"),
            "seconds": seconds,
            "generate": generated,
            "measure": measured,
            "charge_fields": charge_fields,
            "charges": charges,
        }
    )
    _say_what_next(folder, seconds, output)
    return 0


def _generate(run_file: Path, output: Output) -> dict[str, Any]:
    run, text = on_root(lambda: load_run_file(run_file, GenerateRun))
    return generate_run(run, text, output, resume=True)


def _measure(run_file: Path, output: Output) -> dict[str, Any]:
    run, text = on_root(lambda: load_run_file(run_file, MeasureRun))
    return measure_run(run, text, output, resume=True)


def _write_run_files(folder: Path) -> None:
    """The run files of the package, with the folder filled in; those that are there already stay."""
    folder.mkdir(parents=True, exist_ok=True)
    source = importlib.resources.files("trellis.commands") / "demo_files"
    for name in _RUN_FILES:
        if (folder / name).exists():
            continue
        text = (source / name).read_text(encoding="utf-8")
        # A TOML basic string has the escapes of JSON.
        quoted = json_text.dumps(folder.as_posix())[1:-1]
        (folder / name).write_text(text.replace("@folder@", quoted), encoding="utf-8")


def _analyze(folder: Path, output: Output) -> None:
    """In a process of its own: the analysis reads with h5py, which has an HDF5 of its own."""
    command = [sys.executable, "-m", "trellis", "analyze", str(folder / "correlators")]
    command += [str(folder / "ensemble" / "stream.h5"), "--output", str(folder), "--title", TITLE]
    command += ["--options", str(folder / "analyze.toml"), "--companion", str(folder / "charges")]
    # Under --json the table of `analyze` would spoil the one JSON object on standard output.
    stdout: Any = subprocess.DEVNULL if output.json else None
    if subprocess.run(command, check=False, stdout=stdout).returncode != 0:
        raise Error("the analysis failed; its message is above")


def _say_what_next(folder: Path, seconds: float, output: Output) -> None:
    report = (folder / "report.html").resolve()
    output.line(f"\nDone in {seconds:.0f} s. Open {report}", style="bold green")
    output.line(
        f"""
What to do next
  look at the numbers          {folder}/results.json
  change a parameter           {folder}/measure.toml (another folder in [output]), then
                               trellis measure {folder}/measure.toml
  make a larger lattice        {folder}/generate.toml, then
                               mpirun -n 2 trellis generate {folder}/generate.toml
  see all keys of a run file   trellis generate --schema; trellis measure --schema
  use your own configurations  trellis info FILE, then name them in [configurations] of measure.toml
  from Python                  import trellis as tr; help(tr)
  check this machine           trellis doctor"""
    )
