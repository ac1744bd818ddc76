"""The allocations of a campaign are batch jobs that are renewed until the campaign is done.

Each batch job first submits its successor, which waits for its end; when the campaign is over it cancels the
successor. So nothing has to live outside the allocations, and a job that is killed, by its end or with its
node, is followed by the next all the same. The number of jobs is limited. Each has a name of its own, by
which the batch system is asked whether it has it before it is submitted again (:mod:`.submission`).
"""

from __future__ import annotations

import os
import secrets
import shlex
import shutil
import sys
from pathlib import Path

from ..ground.crash_safe_files import make_folder
from ..ground.errors import BadArgument, NotAvailable
from .batch import Batch
from .batch_systems import SYSTEMS, Job
from .launchers.batch_hosts import END
from .model import Campaign, Machine
from .submission import submit_once

_SCRIPT = """\
#!/bin/bash
{head}
left=${{TRELLIS_ALLOCATIONS_LEFT:-1}}
job={job}
{set_up}successor={state}/allocation.$job.next
renew() {{
  TRELLIS_ALLOCATIONS_LEFT=$((left - 1)) {python} -m trellis.campaign.submission {system}\\
    {name}-after-"$job" {script} "$job" "$@" > "$successor"
}}
renewing=
if [ "$left" -gt 1 ]; then renew & renewing=$!; fi
cd {folder} || exit 1
manager= told=
trap 'told=1; [ -z "$manager" ] || kill -TERM $manager 2>/dev/null' TERM  # before there is what it protects
{python} -m trellis campaign run {file} --machine {machine} --json > {state}/allocation.$job.json &
manager=$!
[ -z "$told" ] || kill -TERM $manager
until wait $manager; status=$?; [ -z "$told" ]; do told=; done  # the signal ends a wait, too
over='import json, sys; sys.exit(bool(set(json.load(sys.stdin)["tasks"]) - {{"done", "failed", "skipped"}}))'
{python} -c "$over" < {state}/allocation.$job.json
unfinished=$?
if [ -n "$renewing" ]; then
  wait $renewing
  if [ $unfinished = 0 ]; then
    if [ -s "$successor" ]; then {cancel} "$(cat "$successor")"; fi
  elif [ ! -s "$successor" ]; then
    renew again
  fi
  rm -f "$successor"
fi
exit $status
"""

#: These files define `module` where a batch shell has none (Lmod, Environment Modules).
_MODULES = """\
if ! type module > /dev/null 2>&1; then
  for init in "$LMOD_PKG/init/bash" "$MODULESHOME/init/bash" /etc/profile.d/{{lmod,modules}}.sh; do
    if [ -r "$init" ]; then . "$init"; break; fi
  done
fi
module load {modules} || {{ echo "no campaign: these modules could not be loaded: "{modules} >&2; exit 1; }}
"""

#: PBS and LSF end a job without notice: the manager is told to be ready this much earlier.
_MARGIN_SECONDS = 30


def batch_script(
    campaign: Campaign,
    file: Path,
    machine: Machine,
    machine_file: str,
    *,
    options: list[str] | None = None,
    nodes: int | None = None,
) -> str:
    """Return the text of the batch script.

    Parameters
    ----------
    options
        Further words of the batch system, e.g. ``--partition=gpu``.
    nodes
        Number of nodes; default: all of the machine file.

    Raises
    ------
    BadArgument
        The machine has no allocation length or not so many nodes, or an option is not one.
    """
    if machine.allocation_seconds is None:
        raise BadArgument(f"machine {machine.name}: `length` is needed in [allocation] to submit one")
    if nodes is not None and not 1 <= nodes <= len(machine.nodes):
        raise BadArgument(f"machine {machine.name} has 1 to {len(machine.nodes)} nodes; found {nodes}")
    system = SYSTEMS[machine.batch.system]
    state = Path(campaign.state)
    drain = max(1, round(machine.drain_seconds or min(60, machine.allocation_seconds / 10)))
    job = Job(
        name=_job_name(campaign),
        machine=machine,
        nodes=nodes or len(machine.nodes),
        seconds=machine.allocation_seconds,
        drain_seconds=drain,
        log=state / "allocation.{job}.log",
        options=(*machine.batch.options, *(options or ())),
    )
    is_path = os.sep in machine_file or machine_file.endswith(".toml")
    return _SCRIPT.format(
        head="\n".join(system.head(job)),
        job=system.job,
        set_up=_set_up(job, shlex.quote(str(state))),
        system="" if machine.batch.system == "slurm" else f"--system={machine.batch.system} ",
        name=shlex.quote(job.name),
        cancel=system.cancel_word,
        script=shlex.quote(str(state / "allocation.sh")),
        folder=shlex.quote(str(file.resolve().parent)),
        python=shlex.quote(sys.executable),
        file=shlex.quote(str(file.resolve())),
        machine=shlex.quote(str(Path(machine_file).resolve()) if is_path else machine_file),
        state=shlex.quote(str(state)),
    )


def _set_up(job: Job, state: str) -> str:
    """Return the lines before anything runs: a job whose modules are missing has no successor."""
    batch: Batch = job.batch
    text = ""
    if SYSTEMS[batch.system].sets_end:
        seconds = max(1, round(job.seconds - min(_MARGIN_SECONDS, job.seconds / 20)))
        text += f"export {END}=$(($(date +%s) + {seconds}))\n"
    if batch.system == "pbs":  # its words for a log have no place for the job's identifier
        text += f"exec > {state}/allocation.$job.log 2>&1\n"
    if batch.modules:
        text += _MODULES.format(modules=" ".join(shlex.quote(name) for name in batch.modules))
    return text + "".join(f"{line}\n" for line in batch.prologue)


def submit(
    campaign: Campaign,
    file: Path,
    machine: Machine,
    machine_file: str,
    *,
    allocations: int = 1,
    options: list[str] | None = None,
    nodes: int | None = None,
) -> str:
    """Submit the first of at most so many allocations, one after the other, and return its job identifier.

    Raises
    ------
    NotAvailable
        The batch system is not here, or it refused.
    """
    system = SYSTEMS[machine.batch.system]
    missing = [program for program in system.programs if shutil.which(program) is None]
    if missing:
        raise NotAvailable(
            f"no {', '.join(missing)} here: the batch system of machine {machine.name} is "
            f"{machine.batch.system!r}; --dry-run shows the script"
        )
    if allocations < 1:
        raise BadArgument(f"at least one allocation is needed, not {allocations}")
    text = batch_script(campaign, file, machine, machine_file, options=options, nodes=nodes)
    state = Path(campaign.state)
    make_folder(state)
    script = state / "allocation.sh"
    script.write_text(text)
    name = f"{_job_name(campaign)}-{secrets.token_hex(4)}"
    words = ["env", f"TRELLIS_ALLOCATIONS_LEFT={allocations}", *system.submission(name, str(script))]
    return submit_once(words, name, system=system)


def _job_name(campaign: Campaign) -> str:
    """Return the beginning of the names of the campaign's batch jobs."""
    return f"trellis-{campaign.name}"
