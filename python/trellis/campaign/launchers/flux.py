"""Flux: each attempt is a job of the Flux instance that this manager runs in, by one `flux run`.

Flux starts the ranks, confines them to cores and GPUs of its own choice on the nodes of the plan, and ends
them together. Written after the manual pages of flux-core; not yet run against a real Flux.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence

from ...errors import NotAvailable
from ..model import Machine, Placement
from .base import Ended, Handle, Launch
from .clients import ClientLauncher, NodeWatch
from .slurm_system import ask, expand_hosts, machine_on_hosts


class FluxLauncher(ClientLauncher):
    """Options (``[launcher_options]``): ``flux``, the program; ``options``, further words for `flux run`;
    ``check_seconds``, how often Flux is asked which nodes are up (5)."""

    def __init__(self, machine: Machine) -> None:
        options = machine.launcher_options
        self.program = str(options.get("flux", "flux"))
        self.options = [str(word) for word in options.get("options", ())]  # type: ignore[attr-defined]
        if shutil.which(self.program) is None:
            raise NotAvailable(
                f"launcher 'flux' needs {self.program}, which is not here: install flux-core, or take "
                "another launcher"
            )
        if "FLUX_URI" not in os.environ:
            raise NotAvailable(
                "not inside a Flux instance (FLUX_URI is not set): run under `flux start`, in an allocation "
                "e.g. `srun -N4 -n4 flux start trellis campaign run ...`"
            )
        hosts = expand_hosts(ask(self.program, "getattr", "hostlist"))
        super().__init__(machine_on_hosts(machine, hosts))
        names = [node.name for node in self.machine.nodes]
        self.watch = NodeWatch(names, self._nodes_up, float(options.get("check_seconds", 5)))  # type: ignore[arg-type]

    def start(self) -> None:
        super().start()
        up = self._nodes_up()
        self.missing = [node.name for node in self.machine.usable if node.name not in up]
        self.watch.set_up(up)
        self.watch.start()

    def close(self) -> None:
        super().close()
        self.watch.stop()

    def missing_nodes(self) -> Sequence[str]:
        return self.missing

    def node_changes(self) -> tuple[Sequence[str], Sequence[str]]:
        return self.watch.changes()

    def _nodes_up(self) -> set[str]:
        return set(expand_hosts(ask(self.program, "resource", "list", "-n", "-s", "up", "-o", "{nodelist}")))

    def seconds_left(self) -> float | None:
        """Of the batch job that the instance runs in; None: it has no end, or is no job."""
        with contextlib.suppress(NotAvailable, ValueError):
            left = float(ask(self.program, "job", "timeleft"))
            return left if 0 < left < 1e9 else None
        return None

    def refuse(self, placement: Placement) -> str | None:
        if any(place.share < 1 for place in placement.places):
            return "Flux does not share a GPU between jobs: give whole `gpus_per_rank`"
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

    def jobs(self) -> list[tuple[str, str]]:
        text = ask(self.program, "jobs", "-n", "--filter=pending,running", "-o", "{id.dec} {name}")
        return [(job, name) for job, _, name in (line.partition(" ") for line in text.splitlines())]

    def end_jobs(self, jobs: Sequence[str], *, hard: bool) -> None:
        words = ["cancel"] if hard else ["job", "kill", "--signal=SIGTERM"]
        subprocess.run([self.program, *words, *jobs], check=False, capture_output=True, timeout=60)

    def judge(self, handle: Handle, status: int, messages: str) -> Ended:
        """`flux run` ends with the job's status, 128 + signal if a rank was killed; without a job, with 1."""
        lost = tuple(sorted(set(handle.placement.nodes) - self._up_now()))
        if lost:
            return Ended(None, lost_nodes=lost)
        if status and "flux-run: ERROR" in messages:
            return Ended(None, launcher_error=messages.strip().splitlines()[-1])
        return Ended(status if status <= 128 else 128 - status)

    def _up_now(self) -> set[str]:
        try:
            return self._nodes_up()
        except NotAvailable:
            return {node.name for node in self.machine.nodes}
