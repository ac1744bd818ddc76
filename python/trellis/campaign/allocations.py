"""Allocations of a campaign: submitted with sbatch, renewed until the campaign is done.

Each batch job first submits its successor, which waits for its end; when the campaign is over it cancels the
successor. So nothing has to live outside the allocations, and a job that is killed, by its end or with its
node, is followed by the next all the same. The number of jobs is limited. Each has a name of its own, by
which Slurm is asked whether it has it before it is submitted again (:mod:`.submission`).
"""

from __future__ import annotations

import os
import re
import secrets
import shlex
import sys
from pathlib import Path

from ..ground.crash_safe_files import make_folder
from ..ground.errors import BadArgument
from .launchers.slurm_system import require_slurm
from .model import Campaign, Machine
from .submission import submit_once

_SCRIPT = """\
#!/bin/bash
#SBATCH --job-name={job}
#SBATCH --nodes={nodes}
#SBATCH --no-kill
#SBATCH --no-requeue
#SBATCH --output={log}
#SBATCH --signal=B:TERM@{drain}
{options}
left=${{TRELLIS_ALLOCATIONS_LEFT:-1}}
successor={state}/allocation.$SLURM_JOB_ID.next
renew() {{
  TRELLIS_ALLOCATIONS_LEFT=$((left - 1)) {python} -m trellis.campaign.submission \\
    {job}-after-"$SLURM_JOB_ID" {script} "$SLURM_JOB_ID" "$@" > "$successor"
}}
renewing=
if [ "$left" -gt 1 ]; then renew & renewing=$!; fi
cd {folder} || exit 1
manager= told=
trap 'told=1; [ -z "$manager" ] || kill -TERM $manager 2>/dev/null' TERM  # before there is what it protects
{python} -m trellis campaign run {file} --machine {machine} --json > {state}/allocation.$SLURM_JOB_ID.json &
manager=$!
[ -z "$told" ] || kill -TERM $manager
until wait $manager; status=$?; [ -z "$told" ]; do told=; done  # the signal ends a wait, too
over='import json, sys; sys.exit(bool(set(json.load(sys.stdin)["tasks"]) - {{"done", "failed", "skipped"}}))'
{python} -c "$over" < {state}/allocation.$SLURM_JOB_ID.json
unfinished=$?
if [ -n "$renewing" ]; then
  wait $renewing
  if [ $unfinished = 0 ]; then
    if [ -s "$successor" ]; then scancel "$(cat "$successor")"; fi
  elif [ ! -s "$successor" ]; then
    renew again
  fi
  rm -f "$successor"
fi
exit $status
"""


def batch_script(
    campaign: Campaign, file: Path, machine: Machine, machine_file: str, *, options: list[str] | None = None
) -> str:
    """Return the text of the batch script. `options`: further words of sbatch, e.g. ``--partition=gpu``.

    Raises
    ------
    BadArgument
        The machine has no allocation length, or an option is not one.
    """
    if machine.allocation_seconds is None:
        raise BadArgument(f"machine {machine.name}: `length` is needed in [allocation] to submit one")
    given = [f"--time={max(1, round(machine.allocation_seconds / 60))}"]
    gpus = max(len(node.gpus) for node in machine.nodes)
    if gpus:
        given.append(f"--gres=gpu:{gpus}")
    for option in options or []:
        if not re.fullmatch(r"--[a-z][a-z-]*(=\S+)?", option):
            raise BadArgument(f"not an option of sbatch: {option!r}; write --name=value")
        given.append(option)
    state = Path(campaign.state)
    is_path = os.sep in machine_file or machine_file.endswith(".toml")
    return _SCRIPT.format(
        job=shlex.quote(_job_name(campaign)),
        nodes=len(machine.nodes),
        log=shlex.quote(str(state / "allocation.%j.log")),
        drain=max(1, round(machine.drain_seconds or min(60, machine.allocation_seconds / 10))),
        options="\n".join(f"#SBATCH {option}" for option in given),
        script=shlex.quote(str(state / "allocation.sh")),
        folder=shlex.quote(str(file.resolve().parent)),
        python=shlex.quote(sys.executable),
        file=shlex.quote(str(file.resolve())),
        machine=shlex.quote(str(Path(machine_file).resolve()) if is_path else machine_file),
        state=shlex.quote(str(state)),
    )


def submit(
    campaign: Campaign,
    file: Path,
    machine: Machine,
    machine_file: str,
    *,
    allocations: int = 1,
    options: list[str] | None = None,
) -> str:
    """Submit the first of at most so many allocations, one after the other; its job identifier.

    Raises
    ------
    NotAvailable
        There is no Slurm, or it refused.
    """
    require_slurm("sbatch", "squeue", "scancel")
    if allocations < 1:
        raise BadArgument(f"at least one allocation is needed, not {allocations}")
    state = Path(campaign.state)
    make_folder(state)
    script = state / "allocation.sh"
    script.write_text(batch_script(campaign, file, machine, machine_file, options=options))
    name = f"{_job_name(campaign)}-{secrets.token_hex(4)}"
    words = ["env", f"TRELLIS_ALLOCATIONS_LEFT={allocations}", "sbatch", "--parsable", "--export=ALL"]
    return submit_once([*words, f"--job-name={name}", str(script)], name)


def _job_name(campaign: Campaign) -> str:
    """Return the beginning of the names of the campaign's batch jobs."""
    return f"trellis-{campaign.name}"
