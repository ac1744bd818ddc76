"""The demo is a campaign: chains of gauge fields and correlators side by side, and their analyses."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from ..campaign.files import load_campaign
from ..campaign.model import Campaign, Machine, Node
from ..ground.crash_safe_files import write_text
from ..run_files import GenerateRun, MeasureRun, load_run_file


@dataclass(frozen=True, slots=True)
class Chain:
    """It has gauge fields and what is measured on them: run files in the demo's folder, a name for the tasks,
    and estimates in seconds on one core. The measurement is cut into parts of some configurations each."""

    name: str
    generate: str
    measure: str
    generate_seconds: float
    measure_seconds: float
    parts: int = 1
    priority: int = 0


@dataclass(frozen=True, slots=True)
class Analysis:
    """This is an analysis of the correlators of some chains.

    Attributes
    ----------
    name
        The first part of the task's name; a hash of the options follows.
    chains
        Names of the chains that it needs.
    words
        The words after `trellis analyze`.
    output
        The folder of its report.html and results.json.
    priority
        Like a task's.
    """

    name: str
    chains: tuple[str, ...]
    words: tuple[str, ...]
    output: Path
    priority: int = 0


def this_machine() -> Machine:
    """Return a machine with the cores that this process may use."""
    return Machine("this machine", (Node("localhost", len(os.sched_getaffinity(0))),))


#: This is the demo's campaign file, in its folder: `trellis campaign status` and `report` take it.
FILE = "campaign.toml"


def demo_campaign(
    folder: Path, chains: Sequence[Chain], analyses: Sequence[Analysis], cores: int
) -> Campaign:
    """Write the demo's campaign file, made from its run files, and read it.

    Parameters
    ----------
    folder
        It is that of the demo, with the run files.
    analyses
        Each begins when the last task of its chains is done.
    cores
        They are those of the machine. Chains run side by side, and so do the parts of a measurement.
    """
    tables, last = [], {}
    threads = max(1, cores // len(chains)), max(1, cores // sum(chain.parts for chain in chains))
    for chain in chains:
        found, measured = _chain_tables(folder, chain, *threads)
        tables += found
        last[chain.name] = measured
    for analysis in analyses:
        after = [task for chain in analysis.chains for task in last[chain]]
        tables.append(_analysis_table(folder, analysis, after, max(1, cores // 2)))
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


def analysis_group(folder: Path, analysis: Analysis) -> str:
    """Return the name of the task of an analysis. Changed options are another task: the analysis is made
    again."""
    options = hashlib.sha256((folder / "analyze.toml").read_bytes()).hexdigest()[:6]
    return f"{analysis.name}-{options}"


def _analysis_table(folder: Path, analysis: Analysis, after: Sequence[str], threads: int) -> str:
    words = [sys.executable, "-m", "trellis", "analyze", *analysis.words, "--output", str(analysis.output)]
    outputs = [
        {"path": str(analysis.output / name), "atomic": False} for name in ("results.json", "report.html")
    ]
    name = analysis_group(folder, analysis)
    return _table(name, words, after, outputs, threads, 30.0, priority=analysis.priority)


def _chain_tables(
    folder: Path, chain: Chain, field_threads: int, part_threads: int
) -> tuple[list[str], list[str]]:
    """Return the tables of a chain's tasks, and the names of the last ones."""
    generation, _ = load_run_file(folder / chain.generate, GenerateRun)
    measurement, _ = load_run_file(folder / chain.measure, MeasureRun)
    sweeps = generation.sweeps
    numbers = list(range(sweeps.thermalisation + sweeps.keep_every, sweeps.total + 1, sweeps.keep_every))
    fields = [f"{generation.output.directory}/configuration.{n:06d}.ildg" for n in numbers]
    trellis = [sys.executable, "-m", "trellis"]
    first = f"{chain.name}-fields"
    words = [*trellis, "generate", str(folder / chain.generate), "--resume"]
    made = [{"path": fields[-1], "atomic": True}]
    seconds = chain.generate_seconds / field_threads
    tables = [_table(first, words, [], made, field_threads, seconds, priority=2)]
    names = []
    for part in _cut(numbers, chain.parts):
        outputs = [
            {"path": f"{measurement.output.directory}/correlators.{n:06d}.h5", "atomic": True} for n in part
        ]
        name = f"{chain.name}-correlators-{part[0]}" + (f"-{part[-1]}" if len(part) > 1 else "")
        words = [*trellis, "measure", str(folder / chain.measure), "--resume"]
        words += ["--first", str(part[0]), "--last", str(part[-1])]
        seconds = chain.measure_seconds * len(part) / len(numbers) / part_threads
        tables.append(_table(name, words, [first], outputs, part_threads, seconds, priority=chain.priority))
        names.append(name)
    return tables, names


def _cut(numbers: Sequence[int], parts: int) -> list[Sequence[int]]:
    """Return at most `parts` runs of neighbours, their lengths equal within one."""
    parts = min(parts, len(numbers))
    ends = [len(numbers) * part // parts for part in range(parts + 1)]
    return [numbers[begin:end] for begin, end in pairwise(ends)]


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
