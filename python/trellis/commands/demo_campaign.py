"""The demo as a campaign: chains of gauge fields and correlators side by side, then one analysis."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..campaign.files import load_campaign
from ..campaign.model import Campaign, Machine, Node
from ..durable import write_text
from ..run_files import GenerateRun, MeasureRun, load_run_file


@dataclass(frozen=True, slots=True)
class Chain:
    """Gauge fields and what is measured on them: run files in the demo's folder, a name for the tasks, and
    estimates in seconds on one core."""

    name: str
    generate: str
    measure: str
    generate_seconds: float
    measure_seconds: float


def this_machine() -> Machine:
    """The cores that this process may use."""
    return Machine("this machine", (Node("localhost", len(os.sched_getaffinity(0))),))


#: The demo's campaign file, in its folder: `trellis campaign status` and `report` take it.
FILE = "campaign.toml"


def demo_campaign(folder: Path, chains: Sequence[Chain], analysis: Sequence[str], cores: int) -> Campaign:
    """Write the demo's campaign file, made from its run files, and read it.

    Parameters
    ----------
    folder
        Of the demo, with the run files.
    analysis
        Words after `trellis analyze`.
    cores
        Of each task.
    """
    tables, last = [], []
    for chain in chains:
        found, measured = _chain_tables(folder, chain, cores)
        tables += found
        last += measured
    words = [sys.executable, "-m", "trellis", "analyze", *analysis]
    outputs = [{"path": str(folder / name), "atomic": False} for name in ("results.json", "report.html")]
    # Changed options are another task: the analysis is made again.
    options = hashlib.sha256((folder / "analyze.toml").read_bytes()).hexdigest()[:6]
    tables.append(_table(f"analysis-{options}", words, last, outputs, cores, 30.0))
    # Files of the demo are named from where it was started, as in its run files.
    root = os.path.relpath(Path.cwd(), folder.resolve())
    state = os.path.relpath(folder / "demo.state", Path.cwd())
    head = (
        "# Written by trellis demo. How it is going, and where the time went:\n"
        f"#   trellis campaign status {folder / FILE}\n"
        f"#   trellis campaign report {folder / FILE}\n"
        f'[campaign]\nname = "demo"\nroot = {json.dumps(root)}\nstate = {json.dumps(state)}\n\n'
    )
    write_text(folder / FILE, head + "\n".join(tables))
    return load_campaign(folder / FILE)


def _chain_tables(folder: Path, chain: Chain, cores: int) -> tuple[list[str], list[str]]:
    generation, _ = load_run_file(folder / chain.generate, GenerateRun)
    measurement, _ = load_run_file(folder / chain.measure, MeasureRun)
    sweeps = generation.sweeps
    numbers = list(range(sweeps.thermalisation + sweeps.keep_every, sweeps.total + 1, sweeps.keep_every))
    fields = [f"{generation.output.directory}/configuration.{n:06d}.ildg" for n in numbers]
    trellis = [sys.executable, "-m", "trellis"]
    first = f"{chain.name}-fields"
    words = [*trellis, "generate", str(folder / chain.generate), "--resume"]
    made = [{"path": fields[-1], "atomic": True}]
    tables = [_table(first, words, [], made, cores, chain.generate_seconds / cores, priority=1)]
    outputs = [
        {"path": f"{measurement.output.directory}/correlators.{n:06d}.h5", "atomic": True} for n in numbers
    ]
    second = f"{chain.name}-correlators"
    words = [*trellis, "measure", str(folder / chain.measure), "--resume"]
    tables.append(_table(second, words, [first], outputs, cores, chain.measure_seconds / cores))
    return tables, [second]


def _table(
    name: str,
    words: Sequence[str],
    after: Sequence[str],
    outputs: Sequence[dict],
    threads: int,
    seconds: float,
    *,
    priority: int = 0,
) -> str:
    # Braces are placeholders in campaign files; TOML strings have the escapes of JSON.
    def quoted(word: str) -> str:
        return json.dumps(word.replace("{", "{{").replace("}", "}}"))

    files = ", ".join(
        f"{{ path = {quoted(o['path'])}, atomic = {str(o['atomic']).lower()} }}" for o in outputs
    )
    return (
        f"[[task]]\nname = {json.dumps(name)}\n"
        f"command = [{', '.join(map(quoted, words))}]\nafter = {json.dumps(list(after))}\n"
        f"outputs = [{files}]\nthreads = {threads}\nestimate = {max(seconds, 1.0):g}\npriority = {priority}\n"
    )
