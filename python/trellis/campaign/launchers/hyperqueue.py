"""One srun (or other words) starts a worker of HyperQueue on each node; an attempt is a job of one task.

Every worker has a resource of its node's name, so that a job runs where the planner wants. Tasks of several
ranks start on their first node through `mpi`. HyperQueue's own multi-node tasks choose their nodes
themselves, and its restarts know no outputs: neither is used (crash limit "never-restart").

A server that was started here ends with its manager, and with it its workers and all that they run.

Options, JSON and messages were compared with the sources of version 0.26.2; a real `hq` has not been run yet.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ...ground.errors import BadArgument, NotAvailable
from ..model import Machine, Placement
from . import slurm_system
from .agent import die_with_parent
from .base import Ended, Handle, Launch
from .clients import ClientLauncher, ask_json, end_process
from .node_programs import NodePrograms
from .patience import NoAnswer, expected_answer, patiently
from .template import fill

_JOB = re.compile(r"job ID: (\d+)")
_SIGNAL = re.compile(r"^Program terminated with exit code -?\d+\. Received signal (\d+)")
_EXIT = re.compile(r"^Program terminated with exit code (-?\d+)")
_LOST = re.compile(r"^Task was running on a (?:lost worker|worker that was lost)")
_MPI = ["mpirun", "-n", "{ranks}", "--host", "{slots}", "--bind-to", "none"]


class HyperQueueLauncher(ClientLauncher):
    """Attempts are jobs of `hq`. The options (``[launcher_options]``) are these.

    hq
        The program; default "hq". Server, workers and clients must be of one version.
    server_dir
        The folder of a running server; default: a server of this manager's own, in a new folder here.
    worker_command
        Words before `sh -c ...` that start one worker per node; default: srun with one task per node.
        [] : workers are there already, with a resource `node/<name>` each.
    mpi
        Words before the command of a task of several ranks; placeholders as of the launcher `template`.
    check_seconds
        The server is asked for its workers after so many seconds; default 5.
    """

    #: A cancelled task counts as ended at once; its processes get SIGINT, and SIGKILL a second later.
    after_end = 1.5

    def __init__(self, machine: Machine) -> None:
        super().__init__(slurm_system.machine_in_allocation(machine))
        options = machine.launcher_options
        self.program = str(options.get("hq", "hq"))
        self.words: list[str] | None = None
        if "worker_command" in options:
            self.words = [str(word) for word in options["worker_command"]]
        self.rank_words = [str(word) for word in options.get("mpi", _MPI)]
        self.folder = str(options.get("server_dir", ""))
        self.own_folder: Path | None = None
        self.server: subprocess.Popen | None = None
        self.workers: NodePrograms | None = None
        names = [node.name for node in self.machine.nodes]
        if len({_plain(name) for name in names}) < len(names):
            raise BadArgument(
                f"machine {machine.name}: HyperQueue's resource names have letters and digits only, and two "
                "nodes' names differ by other characters alone"
            )

    # Start and end

    def start(self) -> None:
        if shutil.which(self.program) is None:
            raise NotAvailable(
                f"launcher 'hyperqueue' needs {self.program}, which is not here: install HyperQueue's binary "
                "(its Python wheel has none), or choose another launcher"
            )
        super().start()
        if not self.folder:
            self._start_server()
        version = patiently(self._version, self.is_stopped)
        names = [node.name for node in self.machine.usable]
        if self.words is None or self.words:
            self._start_workers(names)
        up: set[str] = set()
        deadline = time.monotonic() + self.machine.join_timeout
        while len(up) < len(names) and time.monotonic() < deadline and not self.is_stopped():
            if not up and self.workers is not None:
                self.workers.may_report()
            with contextlib.suppress(NoAnswer):
                up = self.nodes_up() & set(names)
            time.sleep(0.05)
        if not up:
            self.close()
            raise NotAvailable(
                f"no HyperQueue worker reported to the server (version {version}) within "
                f"{self.machine.join_timeout:g} s"
            )
        self.follow_nodes(up)

    def _start_server(self) -> None:
        self.own_folder = Path(tempfile.mkdtemp(prefix="hq-server.", dir=Path.cwd()))
        self.folder = str(self.own_folder)
        with open(self.own_folder / "server.log", "wb") as log:
            self.server = subprocess.Popen(
                [self.program, "--server-dir", self.folder, "server", "start"],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=functools.partial(die_with_parent, os.getpid()),
            )
        deadline = time.monotonic() + self.machine.join_timeout
        while True:
            try:
                self._ask("server", "info")
                return
            except NotAvailable as error:
                if self.server.poll() is not None or time.monotonic() > deadline:
                    self.close()
                    raise NotAvailable(f"no HyperQueue server: {error}") from None
                time.sleep(0.1)

    def _start_workers(self, names: Sequence[str]) -> None:
        cpus = max(node.cpus for node in self.machine.nodes)
        script = (
            'node=${SLURMD_NODENAME:-$(hostname -s)}; plain=$(printf %s "$node" | tr -cd A-Za-z0-9); '
            f"exec {shlex.quote(self.program)} --server-dir {shlex.quote(self.folder)} worker start "
            f'--detect-resources=none --cpus={cpus} --resource "node/$plain=sum(1000000)" '
            '--hostname="$node" --on-server-lost=stop'
        )
        environment = slurm_system.step_environment(os.environ)
        self.workers = NodePrograms(
            self.words or [],
            "trellis-workers",
            names,
            ["sh", "-c", script],
            environment=environment,
            output=sys.stderr,
        )

    def close(self) -> None:
        super().close()
        if self.workers is not None or self.server is not None:
            subprocess.run(
                [self.program, "--server-dir", self.folder, "server", "stop"],
                check=False,
                capture_output=True,
                timeout=60,
            )
        end_process(self.workers.process if self.workers is not None else None)
        end_process(self.server)
        self.workers = self.server = None
        if self.own_folder is not None:
            shutil.rmtree(self.own_folder, ignore_errors=True)

    def _version(self) -> str:
        with expected_answer("hq server info"):
            return str(self._ask("server", "info").get("version", "unknown"))

    # Nodes

    def nodes_up(self) -> set[str]:
        """Return the nodes with a worker that has not ended."""
        if self._is_server_dead():
            return set()
        workers = self._ask("worker", "list")
        with expected_answer("hq worker list"):
            return {w["configuration"]["hostname"] for w in workers if w.get("ended") is None}

    def _is_server_dead(self) -> bool:
        """Return True if the server started here is dead; its workers and what they ran have ended too."""
        return self.server is not None and self.server.poll() is not None

    # Jobs

    def _ask(self, *words: str) -> Any:
        return ask_json(self.program, "--server-dir", self.folder, "--output-mode=json", *words)

    def client(
        self, launch: Launch, placement: Placement, environment: Mapping[str, str], name: str
    ) -> list[str]:
        place = placement.places[0]
        command = list(launch.command)
        if placement.ranks > 1:
            command = fill(self.rank_words, launch, placement) + command
        changed = [f"--env={k}={v}" for k, v in sorted(environment.items()) if self._must_send(k, v)]
        return [
            self.program, "--server-dir", self.folder, "--output-mode=cli", "--colors=never",
            "submit", "--wait", "--directives=off",
            f"--name={name}", f"--cwd={launch.directory}", "--stdout=none", "--stderr=none",
            "--crash-limit=never-restart", f"--cpus={len(place.cpus)}",
            f"--resource=node/{_plain(place.node)}=1", *changed, "--",
            "/bin/sh", "-c", 'log=$1; shift; exec "$@" >> "$log" 2>&1', "sh", str(launch.log), *command,
        ]  # fmt: skip

    def _must_send(self, name: str, value: str) -> bool:
        """Return True if a variable must be sent.

        Programs have their worker's environment, which is this process's if it was started here.
        """
        # HyperQueue would set the one to the number of cores of all ranks; the other would make the program
        # one of the workers that srun started together.
        if name in ("OMP_NUM_THREADS", "SLURM_STEP_NUM_TASKS"):
            return True
        if self.words == []:
            return not name.startswith(("SLURM", "HQ_")) and name != "HOSTNAME"
        return os.environ.get(name) != value

    def jobs(self, *, waiting: bool = False) -> list[tuple[str, str]]:
        if self._is_server_dead():
            return []
        found = self._ask("job", "list", f"--filter={'waiting' if waiting else 'waiting,running'}")
        with expected_answer("hq job list"):
            return [(str(job["id"]), str(job["name"])) for job in found]

    def end_jobs(self, jobs: Sequence[str], *, hard: bool) -> None:
        """Cancel jobs. HyperQueue has one way: SIGINT to the process group, and SIGKILL a second later."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            subprocess.run(
                [self.program, "--server-dir", self.folder, "job", "cancel", ",".join(jobs)],
                check=False,
                capture_output=True,
                timeout=60,
            )

    def judge(self, handle: Handle, status: int, messages: str) -> Ended:
        """Judge by the task's state: `hq submit --wait` ends with 0 also if it failed,
        or the server is gone.
        """
        found = _JOB.search(messages)
        if found is None:
            return Ended(None, launcher_error=f"hq submit: {messages.strip() or f'status {status}'}")
        try:
            with expected_answer("hq job info"):
                task = dict(self._ask("job", "info", found[1])[0]["tasks"][0])
                task["state"] = str(task["state"])
        except NotAvailable as error:
            # Nobody will say it later if the server was started here and is dead.
            kind = NotAvailable if self._is_server_dead() else type(error)
            raise kind(f"HyperQueue does not say how job {found[1]} ended: {error}") from None
        if task["state"] == "finished":
            return Ended(0)
        if task["state"] != "failed":
            return Ended(
                None, launcher_error=f"HyperQueue: job {found[1]} was not run to its end: {task['state']}"
            )
        reason = str(task.get("error", "no reason given"))
        if _LOST.search(reason):
            return Ended(None, lost_nodes=(handle.placement.places[0].node,))
        if signalled := _SIGNAL.search(reason):
            return Ended(-int(signalled[1]))
        code = _EXIT.search(reason)
        return Ended(int(code[1])) if code else Ended(None, launcher_error=reason)


def _plain(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9]", "", name)
