"""This module starts a real Slurm with virtual nodes on one machine: nothing is simulated but the nodes'
hardware.

It needs root and Debian's packages slurm-wlm and munge (install.sh beside this file). All files and sockets
lie in one new folder, ports are free ones, munge has a key of its own, so that it disturbs no other Slurm.

All virtual nodes share one host name: ask SLURMD_NODENAME, never gethostname(). The GPUs are character
devices that exist on any machine, so that Slurm hands them out and sets CUDA_VISIBLE_DEVICES.

>>> with VirtualCluster(nodes=4, cpus=4, gpus=2) as cluster:                    # doctest: +SKIP
...     cluster.call("srun", "-N4", "hostname")
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

_PROGRAMS = ("slurmctld", "slurmd", "munged", "srun", "sbatch", "scontrol", "sinfo", "squeue", "scancel")
_SYSTEM_PATH = "/usr/sbin:/sbin:/usr/local/sbin"

_CONFIGURATION = """\
ClusterName=trellis
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={root}/run/munge.socket
CredType=cred/munge
SlurmctldPort={port}
StateSaveLocation={root}/state
SlurmdSpoolDir={root}/spool/%n
SlurmctldPidFile={root}/run/slurmctld.pid
SlurmdPidFile={root}/run/slurmd.%n.pid
SlurmctldLogFile={root}/log/slurmctld.log
SlurmdLogFile={root}/log/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=pmi2
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=1,sched_interval=1
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
SlurmctldTimeout=10
SlurmdTimeout={node_timeout}
KillWait=2
UnkillableStepTimeout=10
MessageTimeout={message_timeout}
TCPTimeout=1
InactiveLimit=0
MinJobAge=300
SlurmdParameters=config_overrides
LaunchParameters=use_interactive_step
GresTypes=gpu
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SwitchType=switch/none
TmpFS={root}/tmp/%n
PropagateResourceLimits=NONE
NodeName=n[1-{nodes}] NodeHostname={host} NodeAddr=127.0.0.1 Port=[{first}-{last}] CPUs={cpus} Sockets=1 \
CoresPerSocket={cpus} ThreadsPerCore=1 RealMemory=2000 Gres=gpu:{gpus} State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=NO
"""


class Unavailable(Exception):
    """A real Slurm cannot be started here; the text says why."""


def reason_not_available() -> str | None:
    """Return why no virtual cluster can be started on this machine, or None."""
    if os.geteuid() != 0:
        return "a virtual Slurm cluster needs root"
    path = os.environ.get("PATH", "") + ":" + _SYSTEM_PATH
    missing = [name for name in _PROGRAMS if shutil.which(name, path=path) is None]
    if missing:
        return f"not installed: {', '.join(missing)} (tests/support/slurm/install.sh)"
    host = socket.gethostname().split(".")[0]
    try:
        socket.gethostbyname(host)
    except OSError:
        return f"the host name {host!r} has no address (add it to /etc/hosts)"
    return None


class VirtualCluster:
    """This cluster has Slurm's controller and one slurmd per virtual node n1, n2, ...

    Parameters
    ----------
    nodes, cpus, gpus
        Number of nodes; processors and pretended GPUs of each (at most 8 GPUs).
    node_timeout
        Seconds after which the controller takes a silent node for dead.
    """

    def __init__(self, *, nodes: int = 4, cpus: int = 4, gpus: int = 2, node_timeout: int = 60) -> None:
        self.node_names = [f"n{number}" for number in range(1, nodes + 1)]
        self.cpus, self.gpus, self.node_timeout = cpus, gpus, node_timeout
        self.root = Path("/")
        self.environment: dict[str, str] = {}
        self._daemons: dict[str, subprocess.Popen] = {}

    def __enter__(self) -> VirtualCluster:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start everything and wait until all nodes are idle.

        Raises
        ------
        Unavailable
            It cannot run here; the text has the reason, with the daemons' last lines.
        """
        if reason := reason_not_available():
            raise Unavailable(reason)
        self.root = Path(tempfile.mkdtemp(prefix="tsl", dir="/tmp"))
        folders = [
            "state",
            "log",
            "run",
            "dev",
            *(f"{a}/{n}" for a in ("spool", "tmp") for n in self.node_names),
        ]
        for folder in folders:
            (self.root / folder).mkdir(parents=True)
        self._write_configuration()
        kept = {
            k: v for k, v in os.environ.items() if not k.startswith(("SLURM", "SBATCH", "PMI", "OMPI_COMM"))
        }
        self.environment = kept | {
            "SLURM_CONF": f"{self.root}/slurm.conf",
            "PATH": os.environ.get("PATH", "") + ":" + _SYSTEM_PATH,
        }
        try:
            self._start_munge()
            self._daemons["slurmctld"] = self._spawn("slurmctld", "-D")
            self._wait(lambda: self.call("scontrol", "ping", check=False).returncode == 0, 20, "controller")
            for name in self.node_names:
                self.start_node(name)
            self._wait(lambda: len(self.idle_nodes()) == len(self.node_names), 30, "idle nodes")
        except Exception:
            self.stop()
            raise

    def stop(self) -> None:
        """End all jobs, steps and daemons, and remove the folder."""
        if "slurmctld" in self._daemons and self._daemons["slurmctld"].poll() is None:
            self.call("scancel", "--user=root", "--signal=KILL", check=False)
            deadline = time.monotonic() + 5
            while time.monotonic() < deadline and self.output("squeue", "-h", check=False):
                time.sleep(0.1)
        self._end_step_daemons(self.node_names)
        for process in reversed(self._daemons.values()):
            process.terminate()
        for process in self._daemons.values():
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._daemons.clear()
        if self.root != Path("/"):
            shutil.rmtree(self.root, ignore_errors=True)

    # ------------------------------------------------------------------ nodes

    def start_node(self, name: str) -> None:
        """Start a node's daemon; a node that was dead returns to service by itself."""
        self._daemons[name] = self._spawn("slurmd", "-D", "-N", name)

    def kill_node(self, name: str) -> None:
        """Kill a node's daemon, its step daemons and all that they started, as a power cut does."""
        daemon = self._daemons.pop(name)
        steps = self._step_daemons([name])
        victims = [child for step in steps for child in _descendants(step)]
        for pid in victims:  # a power cut leaves no shell the time to notice that its program is gone
            _kill(pid, signal.SIGSTOP)
        daemon.kill()
        for pid in [*steps, *victims]:
            _kill(pid)
        daemon.wait()

    def daemon(self, name: str) -> int:
        """Return the process number of a node's daemon."""
        return self._daemons[name].pid

    def idle_nodes(self) -> list[str]:
        """Return the names of the nodes that are up and have nothing to do."""
        return self.output("sinfo", "-h", "-N", "-t", "idle", "-o", "%N").split()

    def node_state(self, name: str) -> str:
        """Return Slurm's word for the node's state, e.g. ``idle``, ``mixed``, ``down*``."""
        return self.output("sinfo", "-h", "-N", "-n", name, "-o", "%T")

    def resume_drained_nodes(self) -> None:
        """Take back the nodes that Slurm drained; it refuses to resume any other."""
        for name in self.node_names:
            if "drain" in self.node_state(name):
                self.call("scontrol", "update", f"nodename={name}", "state=resume")

    # ------------------------------------------------------------------ commands

    def call(self, *command: str, check: bool = True, timeout: float = 60, **options: object):
        """Run a command in the cluster's environment; the result has stdout and stderr as text."""
        return subprocess.run(
            command,
            env=self.environment,
            check=check,
            timeout=timeout,
            text=True,
            capture_output=True,
            **options,
        )

    def output(self, *command: str, check: bool = True) -> str:
        """Return the standard output of a command, without the blanks around it."""
        return self.call(*command, check=check).stdout.strip()

    # ------------------------------------------------------------------ inside

    def _write_configuration(self) -> None:
        ports = _free_ports(1 + len(self.node_names))
        (self.root / "slurm.conf").write_text(
            _CONFIGURATION.format(
                host=socket.gethostname().split(".")[0],
                root=self.root,
                port=ports[0],
                first=ports[1],
                last=ports[-1],
                nodes=len(self.node_names),
                cpus=self.cpus,
                gpus=self.gpus,
                node_timeout=self.node_timeout,
                message_timeout=min(10, max(2, self.node_timeout // 3)),
            )
        )
        (self.root / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
        devices = self._pretended_gpus()
        (self.root / "gres.conf").write_text(
            f"NodeName=n[1-{len(self.node_names)}] Name=gpu File={devices}\n"
        )

    def _pretended_gpus(self) -> str:
        """Return character devices: Slurm refuses a mere count, and sets no CUDA_VISIBLE_DEVICES for plain
        files."""
        last = 10 + self.gpus - 1
        if all(Path(f"/dev/tty{number}").is_char_device() for number in range(10, last + 1)):
            return f"/dev/tty[10-{last}]"
        for number in range(self.gpus):
            os.mknod(self.root / "dev" / f"gpu{number}", 0o020600, os.makedev(1, 3))  # it is like /dev/null
        return f"{self.root}/dev/gpu[0-{self.gpus - 1}]"

    def _start_munge(self) -> None:
        key = self.root / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)
        run = self.root / "run"
        self._daemons["munged"] = subprocess.Popen(
            [
                "munged", "--foreground", "--force", f"--key-file={key}", f"--socket={run}/munge.socket",
                f"--pid-file={run}/munged.pid", f"--log-file={self.root}/log/munged.log",
                f"--seed-file={run}/munged.seed",
            ],
            env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True,
        )  # fmt: skip
        self._wait(lambda: (run / "munge.socket").exists(), 10, "munged")

    def _spawn(self, program: str, *arguments: str) -> subprocess.Popen:
        log = open(self.root / "log" / f"{program}.output", "ab")
        with log:
            return subprocess.Popen(
                [program, *arguments, "-f", f"{self.root}/slurm.conf"],
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def _wait(self, condition, seconds: float, what: str) -> None:
        deadline = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > deadline:
                raise Unavailable(f"waited {seconds} s for Slurm's {what}:\n{self._last_lines()}")
            time.sleep(0.05)

    def _last_lines(self) -> str:
        texts = []
        for path in sorted((self.root / "log").iterdir()):
            texts += [f"{path.name}: {line}" for line in path.read_text(errors="replace").splitlines()[-4:]]
        return "\n".join(texts)

    def _step_daemons(self, names: list[str]) -> list[int]:
        """Return slurmstepd processes of these nodes: they have their node's log open."""
        logs = {f"{self.root}/log/slurmd.{name}.log" for name in names}
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                if (folder / "comm").read_text().startswith("slurmstepd") and logs & {
                    os.readlink(descriptor) for descriptor in (folder / "fd").iterdir()
                }:
                    found.append(int(folder.name))
            except OSError:
                continue
        return found

    def _end_step_daemons(self, names: list[str]) -> None:
        for step in self._step_daemons(names):
            for pid in [*_descendants(step), step]:
                _kill(pid)


def _kill(pid: int, number: int = signal.SIGKILL) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def _descendants(pid: int) -> list[int]:
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []
    return [p for child in children for p in (int(child), *_descendants(int(child)))]


def _free_ports(count: int) -> list[int]:
    """Return consecutive ports that are all free."""
    for first in range(17000 + os.getpid() % 2000, 32000, count):
        sockets = []
        try:
            for port in range(first, first + count):
                sockets.append(socket.socket())
                sockets[-1].bind(("127.0.0.1", port))
            return list(range(first, first + count))
        except OSError:
            continue
        finally:
            for each in sockets:
                each.close()
    raise Unavailable("no free ports")
