"""Each attempt is a job of the Flux instance that this manager runs in, by one `flux run`.

Flux starts the ranks, confines them to cores and GPUs of its own choice on the nodes of the plan, and ends
them together. This was run against flux-core 0.88 (doc/campaign/engines.md).
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence

from ...ground.errors import NotAvailable
from ..model import Machine, Placement
from .base import Ended, Handle, Launch
from .clients import ClientLauncher
from .patience import expected_answer, patiently
from .slurm_system import ask, expand_hosts, machine_on_hosts

#: Flux fills this in wherever it stands in a command, unlike all other words.
_TEMPLATE = re.compile(r"\{\{.*?\}\}", re.DOTALL)
_NODE_FAILURE = re.compile(r"node failure on (\S+) \((?:shell )?rank")
_SHELL_FAILURE = re.compile(r"shell rank \d+ on host \S+ failed")
#: These say that the program did not run, or ran where it should not, or that its job's shell was killed.
_ERRORS = tuple(
    re.compile(pattern)
    for pattern in (
        r"(Could not change dir to .*)",
        r"type=exec severity=0 (?!.*task rank \d+ on host \S+ failed)(.*)",
        r"flux-job: (job shell .*)",
        r"flux-run: ERROR: (.*)",
        r"job\.exception \S+ type=(?!exec)(\S+) severity=0 ?(.*)",
    )
)


class FluxLauncher(ClientLauncher):
    """This launcher starts attempts by `flux run`.

    It has these options (``[launcher_options]``): ``flux``, the program; ``options``, further words for `flux
    run`; ``check_seconds``, how often Flux is asked which nodes are up (5).
    """

    def __init__(self, machine: Machine) -> None:
        options = machine.launcher_options
        named = str(options.get("flux", "flux"))
        self.options = [str(word) for word in options.get("options", ())]
        found = shutil.which(named)
        if found is None:
            raise NotAvailable(
                f"launcher 'flux' needs {named}, which is not here: install flux-core, or take "
                "another launcher"
            )
        self.program = found  # a task may have a PATH of its own
        if "FLUX_URI" not in os.environ:
            raise NotAvailable(
                "not inside a Flux instance (FLUX_URI is not set): run under `flux start`, in an allocation "
                "e.g. `srun -N4 -n4 flux start trellis campaign run ...`"
            )
        hosts = patiently(lambda: self._hosts("getattr", "hostlist"))
        if len(set(hosts)) < len(hosts):
            raise NotAvailable(
                f"the brokers of this Flux instance are on {', '.join(hosts)}: several on one host, which "
                "Flux cannot tell apart by name; start one broker a node"
            )
        super().__init__(machine_on_hosts(machine, hosts))

    def start(self) -> None:
        super().start()
        self.follow_nodes(patiently(self.nodes_up, self.is_stopped))

    def nodes_up(self) -> set[str]:
        """Return the nodes on which jobs may start: none that is offline, drained or excluded."""
        return set(self._hosts("resource", "list", "-n", "-s", "up", "-o", "{nodelist}"))

    def _hosts(self, *words: str) -> list[str]:
        with expected_answer(f"flux {' '.join(words)}"):
            return expand_hosts(ask(self.program, *words))

    def seconds_left(self) -> float | None:
        """Return the seconds left of the batch job around the instance; None: it has no end, or is no job."""
        with contextlib.suppress(NotAvailable, ValueError):
            left = float(ask(self.program, "job", "timeleft"))
            return left if 0 < left < 1e9 else None
        return None

    def refuse(self, launch: Launch, placement: Placement) -> str | None:
        if any(place.share < 1 for place in placement.places):
            return "Flux does not share a GPU between jobs: give whole `gpus_per_rank`"
        for word in (*launch.command, str(launch.log)):
            if found := _TEMPLATE.search(word):
                return f"Flux puts values of its own in place of {found[0]}: no command may contain that"
        return None

    def client(
        self, launch: Launch, placement: Placement, environment: Mapping[str, str], name: str
    ) -> list[str]:
        places = placement.places
        threads = max(max(len(place.cpus) // place.ranks, 1) for place in places)
        words = [
            self.program, "run", f"--job-name={name}", f"--cwd={launch.directory}",
            f"--nodes={len(places)}", f"--ntasks={placement.ranks}", f"--cores-per-task={threads}",
            f"--requires=hosts:{','.join(placement.nodes)}",
            f"--output={launch.log}", f"--error={launch.log}", "--setopt=output.mode=append",
            "--setopt=exit-on-error",
            "--setopt=exit-timeout=none",  # by default all ranks must end within 30 s of the first
        ]  # fmt: skip
        gpus = sum(len(place.gpus) for place in places) // placement.ranks
        if gpus:
            words += [f"--gpus-per-task={gpus}", "--setopt=gpu-affinity=per-task"]
        if len({place.ranks for place in places}) > 1:
            path = launch.log.with_name(launch.log.name + ".hosts")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("".join(f"{place.node}\n" * place.ranks for place in places))
            words += [f"--taskmap=hostfile:{path}"]
        return [*words, *self.options, *launch.command]

    def jobs(self, *, waiting: bool = False) -> list[tuple[str, str]]:
        states = "pending" if waiting else "pending,running"
        text = ask(self.program, "jobs", "-n", "--count=0", f"--filter={states}", "-o", "{id.dec} {name}")
        return [(job, name) for job, _, name in (line.partition(" ") for line in text.splitlines())]

    def end_jobs(self, jobs: Sequence[str], *, hard: bool) -> None:
        """End jobs: `flux cancel` alone would send SIGTERM and wait for 5 s; `flux job kill`
        ends no job that waits.
        """
        asked = self._tell("job", "kill", f"--signal={'SIGKILL' if hard else 'SIGTERM'}", *jobs)
        if hard or "job is not running" in asked.stderr:
            self._tell("cancel", *jobs)

    def _tell(self, *words: str) -> subprocess.CompletedProcess:
        command = [self.program, *words]
        try:
            return subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
        except subprocess.TimeoutExpired as error:
            return subprocess.CompletedProcess(command, 1, "", str(error))

    def judge(self, handle: Handle, status: int, messages: str) -> Ended:
        """Return how the attempt ended.

        `flux run` ends with the job's status, 128 + signal if a rank was killed, and says so; it ends with 1
        also where there was no rank, or one was lost.
        """
        error = _error(messages)
        if lost := self._lost(handle.placement.nodes, messages):
            return Ended(None, lost_nodes=lost)
        if error is not None and (status or "Could not change dir" in error):
            return Ended(None, launcher_error=error)
        return Ended(status if status < 128 or status > 192 else 128 - status)

    def _lost(self, nodes: Sequence[str], messages: str) -> tuple[str, ...]:
        lost = {name for found in _NODE_FAILURE.findall(messages) for name in expand_hosts(found)}
        if _SHELL_FAILURE.search(messages):  # the node is lost, or the shell was killed
            words = ("resource", "status", "-n", "-s", "offline", "-o", "{nodelist}")
            lost |= set(self._hosts(*words))
        return tuple(sorted(lost & set(nodes)))


def _error(messages: str) -> str | None:
    """Return why Flux did not run the program, or not to its end; None: the program
    itself did what happened.
    """
    lines = messages.strip().splitlines()
    for pattern in _ERRORS:
        found = next((match for line in lines if (match := pattern.search(line))), None)
        if found is not None:
            return ": ".join(part for part in found.groups() if part)
    is_told = any("flux-job: task(s) " in line for line in lines)
    said = [line for line in lines if "redirected to" not in line]
    return None if is_told or not said else said[-1]
