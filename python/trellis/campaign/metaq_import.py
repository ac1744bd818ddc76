"""This module makes a campaign file from a METAQ directory.

It has one task per script, in METAQ's order of preference.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

from .metaq import MetaqDirectory, MetaqTask

#: Scripts without MIN_WC_TIME count as this long.
DEFAULT_SECONDS = 60.0


def campaign_text(
    found: MetaqDirectory,
    name: str,
    *,
    machine: str = "machine",
    strict: bool = False,
    cores_per_node: int = 1,
) -> str:
    """Return the text of a campaign file whose tasks claim and run the scripts where they are.

    NODES are nodes with `cores_per_node` cores each (the others stay free for tasks that need GPUs), GPUS are
    GPUs anywhere. A script is started once, on its first node; what it starts itself is its own affair. Its
    MIN_WC_TIME is the time estimate.

    Parameters
    ----------
    strict
        Scripts that end with non-zero status count as failed and go to failed/.
    """
    lines = [
        f"# Made from the METAQ directory {found.root}.",
        "[campaign]",
        f"name = {_quoted(name)}",
        f"root = {_quoted(str(found.root))}",
        f"state = {_quoted(f'{name}.state')}",
    ]
    last: dict[str, str] = {}  # a name has its last task: such scripts share working/
    for task in found.tasks:
        script = str(task.path.relative_to(found.root))
        lines += ["", *_task(found.root, task, name, machine, strict, cores_per_node)]
        if task.name in last:
            lines.append(f"after = [{_quoted(_escaped(last[task.name]))}]")
        last[task.name] = script
    return "\n".join(lines) + "\n"


def _task(root: Path, task: MetaqTask, name: str, machine: str, strict: bool, cores: int) -> list[str]:
    script = str(task.path.relative_to(root))
    need = task.requirement
    # The braces of {output} are the campaign's; those of file names are not.
    words = [_escaped(word) for word in (sys.executable, "-m", "trellis.campaign.metaq_queue")]
    words += ["--job", name, "--machine", _escaped(machine), *(["--strict"] if strict else [])]
    words += ["--", _escaped(str(root)), _escaped(script), "{output}"]
    lines = [f"# {warning}" for warning in task.warnings]
    lines += [
        "[[task]]",
        f"name = {_quoted(_escaped(script))}",
        'group = "metaq"',
        f"command = [{', '.join(map(_quoted, words))}]",
    ]
    lines.append(f"estimate = {need.seconds or DEFAULT_SECONDS:g}")
    if task.folder == "priority":
        lines.append("priority = 1")
    if task.project:
        lines.append(f"project = {_quoted(_escaped(task.project))}")
    if need.nodes:
        lines += [f"nodes = {need.nodes}", f"ranks = {need.nodes}", f"threads = {cores}"]
        if need.gpus:
            lines.append(f"gpus_per_rank = {-(-need.gpus // need.nodes)}")
    elif need.gpus:
        lines += [f"ranks = {need.gpus}", "gpus_per_rank = 1", "min_ranks_per_node = 1"]
    output = _quoted(_escaped(f"{name}.state/metaq/{_short(script)}.json"))
    lines.append(f'outputs = [{{ path = {output}, end_marker = "}}" }}]')
    lines.append('environment = { TRELLIS_LAUNCH_ONCE = "1" }')
    lines.append("retries = { task = 0 }" if strict else "retries = { task = 1 }")
    return lines


def _short(script: str) -> str:
    """Return the script's path, or a shorter one that tells it apart if its name
    leaves no room for endings.
    """
    folder, _, last = script.rpartition("/")
    if len(last.encode()) > 150:
        last = f"{last[:40]}-{hashlib.sha256(script.encode()).hexdigest()[:16]}"
    return f"{folder}/{last}"


def _escaped(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def _quoted(text: str) -> str:
    """Return a TOML string: it has the escapes of JSON, but also for the delete character."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
