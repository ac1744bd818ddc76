"""Slurm's commands tell the nodes and the end of the allocation and which nodes are up."""

from __future__ import annotations

import dataclasses
import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence

from ...ground.errors import BadArgument, NotAvailable
from ..model import Machine
from ..times import parse_seconds
from .patience import NoAnswer

#: A node runs nothing any more in these states of sinfo; they may have a suffix like * (does not answer).
_LOST = ("down", "fail", "unknown", "error", "powered_down", "powering_down")

#: These answers say that the question is wrong, and it is not asked again.
_WRONG_QUESTION = re.compile(
    r"Invalid (?:job|user|node|partition)|(?:unrecognized|invalid|unknown) option|[Uu]sage:"
)

#: srun takes these from the environment as options of its own; the batch job's must not leak into steps.
_KEPT = (
    "SLURM_CONF",
    "SLURM_CLUSTER_NAME",
    "SLURM_JOB_ID",
    "SLURM_JOBID",
    "SLURM_JOB_NODELIST",
    "SLURM_NODELIST",
)


def require_slurm(*programs: str) -> None:
    """Raise NotAvailable unless these programs are on the path."""
    missing = [name for name in programs if shutil.which(name) is None]
    if missing:
        raise NotAvailable(f"no {', '.join(missing)} here: Slurm's commands are needed for this launcher")


def ask(*command: str, timeout: float = 60) -> str:
    """Return the standard output of one of Slurm's commands.

    Raises
    ------
    NoAnswer
        It failed or gave no answer in time.
    NotAvailable
        It is not there, or said that the question is wrong.
    """
    try:
        ended = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=timeout)
    except (FileNotFoundError, PermissionError) as error:
        raise NotAvailable(f"{command[0]}: {error}") from None
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NoAnswer(f"{command[0]}: {error}") from None
    if ended.returncode != 0:
        said = ended.stderr.strip() or ended.stdout.strip() or f"status {ended.returncode}"
        kind = NotAvailable if _WRONG_QUESTION.search(said) else NoAnswer
        raise kind(f"{' '.join(command)}: {said}")
    return ended.stdout.strip()


def expand_hosts(text: str) -> list[str]:
    """Return the names of a host list such as ``n[1-3,07],login``, without asking Slurm.

    Raises
    ------
    BadArgument
        Brackets do not match, or have something other than numbers in them.
    """
    names: list[str] = []
    if re.search(r"[\[\]]", re.sub(r"\[\d+(-\d+)?(,\d+(-\d+)?)*\]", "", text)):
        raise BadArgument(f"not a host list: {text!r}")
    for part in re.findall(r"(?:[^,\[]|\[[^\]]*\])+", text):
        names += _expand_one(part)
    return names


def _expand_one(part: str) -> list[str]:
    match = re.search(r"\[([^\[\]]*)\]", part)
    if match is None:
        return [part]
    names = []
    for span in match[1].split(","):
        first, _, last = span.partition("-")
        for number in range(int(first), int(last or first) + 1):
            names += _expand_one(f"{part[: match.start()]}{number:0{len(first)}d}{part[match.end() :]}")
    return names


def job_id() -> str | None:
    """Return the job number of the allocation that this process is in; None outside allocations."""
    return os.environ.get("SLURM_JOB_ID")


def machine_in_allocation(machine: Machine) -> Machine:
    """Return the machine with the allocation's nodes; the machine file says what they are like.

    Nodes that the file names keep their entries; unknown names get those of the file's other nodes in order.
    Outside an allocation the machine is returned as it is.

    Raises
    ------
    BadArgument
        The allocation has more nodes than the machine file.
    """
    listed = os.environ.get("SLURM_JOB_NODELIST")
    return machine_on_hosts(machine, expand_hosts(listed)) if listed else machine


def machine_on_hosts(machine: Machine, hosts: list[str]) -> Machine:
    """Return the machine with these nodes; see :func:`machine_in_allocation`."""
    known = {node.name: node for node in machine.nodes}
    if all(host in known for host in hosts):
        return dataclasses.replace(machine, nodes=tuple(known[host] for host in hosts))
    if len(hosts) > len(machine.nodes):
        raise BadArgument(
            f"machine {machine.name}: {len(machine.nodes)} nodes, but the allocation has {len(hosts)}: "
            "raise `count`"
        )
    free = iter([node for node in machine.nodes if node.name not in hosts])
    nodes = (known.get(host) or dataclasses.replace(next(free), name=host) for host in hosts)
    return dataclasses.replace(machine, nodes=tuple(nodes))


def one_per_node(name: str, nodes: Sequence[str]) -> list[str]:
    """Return the srun that starts one program on each of these nodes, beside the steps there.

    Raises
    ------
    NotAvailable
        There is no srun, or this is no allocation.
    """
    require_slurm("srun")
    if job_id() is None:
        raise NotAvailable("not inside a Slurm allocation (SLURM_JOB_ID is not set)")
    return [
        "srun", f"--jobid={job_id()}", f"--job-name={name}", "--overlap", "--quiet",
        f"--nodes={len(nodes)}", f"--ntasks={len(nodes)}", "--ntasks-per-node=1",
        f"--nodelist={','.join(nodes)}",
        "--kill-on-bad-exit=0", "--no-kill", "--mpi=none", "--input=none",
    ]  # fmt: skip


def allocation_now() -> tuple[float | None, set[str]]:
    """Return the seconds until the allocation ends (None: it has no end), and the nodes that it has now.

    A node that died leaves an allocation made with --no-kill, and does not come back to it.

    Raises
    ------
    NoAnswer
        No answer says where this job runs: this is no reason to take its nodes for lost.
    """
    job = job_id() or ""
    # The last job of a job array has the array's identifier: squeue lists all its jobs.
    rows = [line.split("|", 2) for line in ask("squeue", "-h", "-j", job, "-o", "%A|%L|%N").splitlines()]
    _, left, nodes = next((row for row in rows if len(row) == 3 and row[0] == job), ("", "", ""))
    if not nodes or "(" in nodes:
        raise NoAnswer(f"squeue lists no nodes of job {job!r}, but {rows}")
    endless = left in ("UNLIMITED", "NOT_SET", "INVALID", "N/A", "")
    try:
        return None if endless else parse_seconds(left), set(expand_hosts(nodes))
    except BadArgument as error:
        raise NoAnswer(f"squeue says {left!r} and {nodes!r} of job {job}: {error}") from None


def lost_nodes(names: Iterable[str], allocated: set[str] | None = None) -> set[str]:
    """Return those nodes that are down for Slurm or not in the allocation (`allocated`; None: ask Slurm)."""
    names = set(names)
    allocated = allocation_now()[1] if allocated is None else allocated
    lines = ask("sinfo", "-h", "-N", "-n", ",".join(sorted(names)), "-o", "%N %T").splitlines()
    words = (line.split() for line in lines)
    down = {row[0] for row in words if len(row) == 2 and row[1].startswith(_LOST)}
    return (down & names) | (names - allocated)


def step_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment for srun: the task's, and of Slurm's only what srun needs to find its job."""
    own = {
        key: value for key, value in environment.items() if not key.startswith(("SLURM_", "SBATCH_", "SRUN_"))
    }
    own.setdefault("PATH", os.environ.get("PATH", os.defpath))
    return own | {key: os.environ[key] for key in _KEPT if key in os.environ}
