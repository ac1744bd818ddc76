#!/usr/bin/env python3
"""Measure how much time a campaign adds to each task, with the launcher `process`.

Half of the tasks are `true` alone, half a shell that makes an output, sixteen at a time; nothing is computed:

    python bench/campaign_cost.py --tasks 2000 --json
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
from pathlib import Path

from trellis.campaign.files import parse_campaign, parse_machine
from trellis.campaign.manager import Manager

TASKS = """
[campaign]
name = "cost"
[[task]]
name = "bare-{{i}}"
over = {{ i = "1..{half}" }}
command = ["true"]
[[task]]
name = "output-{{i}}"
over = {{ i = "1..{half}" }}
command = "echo {{i}} > {{output}}"
outputs = ["output.{{i}}"]
"""
MACHINE = '[machine]\nname = "sixteen"\n[[nodes]]\ncount = 4\ncpus = 4\n'


def measure(tasks: int, folder: Path) -> dict[str, float]:
    """Run so many tasks in a folder.

    Returns
    -------
    dict
        Seconds from start to end; milliseconds per task; of these, the processor time of the manager and of
        the tasks; memory of the manager in MiB.
    """
    campaign = parse_campaign(TASKS.format(half=tasks // 2), folder)
    before = _processor_seconds(resource.RUSAGE_SELF)
    found = Manager(campaign, parse_machine(MACHINE)).run()
    if found.counts != {"done": len(campaign.tasks)}:
        raise SystemExit(f"not all tasks were done: {found.counts}, {found.failed}")
    count = len(campaign.tasks)
    return {
        "tasks": count,
        "seconds": found.seconds,
        "milliseconds_per_task": 1e3 * found.seconds / count,
        "manager_milliseconds_per_task": 1e3 * (_processor_seconds(resource.RUSAGE_SELF) - before) / count,
        "programs_milliseconds_per_task": 1e3 * _processor_seconds(resource.RUSAGE_CHILDREN) / count,
        "manager_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def _processor_seconds(who: int) -> float:
    usage = resource.getrusage(who)
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tasks", type=int, default=2000)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    chosen = parser.parse_args()
    if chosen.tasks < 2:
        parser.error(f"--tasks is {chosen.tasks}; at least 2 are needed")
    with tempfile.TemporaryDirectory(prefix="campaign-cost-") as folder:
        found = measure(chosen.tasks, Path(folder))
    if chosen.json:
        print(json.dumps(found, indent=2))
        return
    for name, value in found.items():
        print(f"{name:32} {value:10.3f}")


if __name__ == "__main__":
    main()
