"""This module runs trellis demo: the whole chain on a lattice that a laptop does in minutes, run as a
campaign."""

from __future__ import annotations

import importlib.resources
import json as json_text
import os
import shutil
import sys
import time
from pathlib import Path

from ..campaign.attempt import log_tail, safe_name
from ..campaign.manager import Manager, Result
from ..ground.compiled_core import load
from ..ground.crash_safe_files import make_folder, write_json
from ..ground.errors import BadArgument, Error
from ..ground.launched_ranks import launched_ranks
from ..runs.setup import make_output_folder
from .campaign_view import CampaignView
from .demo_campaign import FILE, Analysis, Chain, analysis_group, demo_campaign, this_machine
from .output import Output

TITLE = "Trellis demo: quenched hadrons in a small box"
#: Each is a gauge field and what is measured on it; the run files are in demo_files. Parts of a measurement
#: run side by side, the hadrons' first: as many as keep two cores busy to the end.
CHAINS = (
    Chain("hadrons", "generate.toml", "measure.toml", 45.0, 240.0, parts=4, priority=1),
    Chain("charges", "charge_fields.toml", "charges.toml", 10.0, 400.0, parts=8),
)
_RUN_FILES = (*(name for chain in CHAINS for name in (chain.generate, chain.measure)), "analyze.toml")


def demo(folder: Path, *, small: bool = False, json: bool) -> int:
    """Generate, measure, analyze; a second call goes on where the first stopped.

    Parameters
    ----------
    small
        The lattices have 4 sites in each direction of space: the steps in less than a minute, and no physics.

    Raises
    ------
    BadArgument
        It was started by mpirun.
    Error
        A task failed, or it was stopped.
    """
    output = Output(json)
    if launched_ranks() > 1:
        raise BadArgument("trellis demo starts its programs itself: run it without mpirun")
    start = time.perf_counter()
    _write_run_files(folder, small=small)
    _check_unchanged(folder)
    machine = this_machine()
    analyses = _analyses(folder)
    campaign = demo_campaign(folder, CHAINS, analyses, machine.nodes[0].cpus)
    manager = Manager(campaign, machine, say=output.line)
    first = (analyses[0].output / "report.html").resolve()
    told = {analysis_group(folder, analyses[0]): f"masses of pion, rho and nucleon are there: open {first}"}
    with CampaignView(manager, output, told):
        found = manager.run()
    _require_done(manager, found)
    seconds = time.perf_counter() - start
    output.result(
        {
            "run": "demo",
            "report": str(folder / "report.html"),
            "results": str(folder / "results.json"),
            "first_report": str(first),
            "seconds": seconds,
            "campaign": campaign.state,
            "campaign_file": str(folder / FILE),
            "tasks": found.counts,
            "attempts": found.started,
        }
    )
    logs = sorted(
        (manager.course.state / "logs").glob("analysis-*.log"), key=lambda path: path.stat().st_mtime
    )
    output.line(log_tail(logs[-1], 100_000).decode(errors="replace"))
    _say_what_next(folder, seconds, output)
    return 0


def _write_run_files(folder: Path, *, small: bool) -> None:
    """Write the run files of the package, with the folder filled in; those that are there already stay."""
    make_output_folder(folder, "--output")
    source = importlib.resources.files("trellis.commands") / "demo_files"
    source = source / "small" if small else source
    for name in _RUN_FILES:
        if (folder / name).exists():
            continue
        text = (source / name).read_text(encoding="utf-8")
        # A TOML basic string has the escapes of JSON.
        quoted = json_text.dumps(folder.as_posix())[1:-1]
        (folder / name).write_text(text.replace("@folder@", quoted), encoding="utf-8")


def _check_unchanged(folder: Path) -> None:
    """Require that results that are there already belong to the run files that they were made with."""
    path = folder / "demo.state" / "run_files.json"
    texts = {name: (folder / name).read_text(encoding="utf-8") for name in _RUN_FILES[:-1]}
    if path.exists():
        before = json_text.loads(path.read_text())
        changed = sorted(name for name, text in texts.items() if before.get(name, text) != text)
        if changed:
            raise BadArgument(
                f"{', '.join(changed)} in {folder} changed since the demo ran there: give it another folder "
                "in [output] and run it with trellis generate or trellis measure, or take another --output"
            )
    make_folder(path.parent)
    write_json(path, texts)


def _analyses(folder: Path) -> tuple[Analysis, Analysis]:
    """Return two analyses: of the hadrons' masses as soon as their correlators are there, then of all with
    the axial charge."""
    hadrons = (str(folder / "correlators"), str(folder / "ensemble" / "stream.h5"))
    options = ("--title", TITLE, "--options", str(folder / "analyze.toml"))
    both = (*hadrons, "--companion", str(folder / "charges"), *options)
    return (
        Analysis("hadrons-analysis", ("hadrons",), (*hadrons, *options), folder / "hadrons", priority=3),
        Analysis("analysis", ("hadrons", "charges"), both, folder),
    )


def _require_done(manager: Manager, found: Result) -> None:
    """Raise an Error if a task of the demo failed, with the end of its log, or if the demo was stopped."""
    for task, reason in found.failed.items():
        logs = sorted((manager.course.state / "logs").glob(f"{safe_name(task)}.*.log"))
        end = log_tail(logs[-1], 3000).decode(errors="replace").strip() if logs else ""
        raise Error(f"{task} failed: {reason}\n{end}\nits log: {logs[-1] if logs else 'none'}")
    if set(found.counts) != {"done"}:
        raise Error("the demo was stopped; the same command goes on where it was")


def _say_what_next(folder: Path, seconds: float, output: Output) -> None:
    report = (folder / "report.html").resolve()
    output.line(f"\nDone in {seconds:.0f} s. Open {report}", style="bold green")
    output.line(
        f"""
What to do next
{_activation()}  look at the numbers          {folder}/results.json
  see where the time went      trellis campaign report {folder}/{FILE}
  change a parameter           {folder}/measure.toml (another folder in [output]), then
                               trellis measure {folder}/measure.toml
  make a larger lattice        {folder}/generate.toml (another folder in [output]), then
                               {_ranks()}trellis generate {folder}/generate.toml
  see all keys of a run file   trellis schema generate; trellis schema measure
  use your own configurations  trellis info FILE, then name them in [configurations] of measure.toml
  from Python                  import trellis as tr; help(tr)
  check this machine           trellis doctor"""
    )


def _ranks() -> str:
    """Return the words that start two ranks, where this build can be several: one without MPI refuses."""
    return "" if load().communication_library() == "none" else "mpirun -n 2 "


def _activation() -> str:
    """Return a line of its own where the prompt does not know `trellis`, as after ./bootstrap demo."""
    script = Path(sys.executable).with_name("activate")
    if shutil.which("trellis") or not script.is_file():
        return ""
    return f"  have trellis at the prompt   source {os.path.relpath(script)}\n"
