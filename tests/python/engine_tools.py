"""This module has engines with two nodes of this host: programs that stand in for HyperQueue's `hq` and for
`flux`, and a real Flux instance where it is installed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from campaign_tools import wait_for

from trellis.campaign.files import parse_machine
from trellis.campaign.launchers import make_launcher
from trellis.campaign.launchers.base import MANAGER, MARKER, Ended, Launch
from trellis.campaign.model import Place, Placement

ENGINES = Path(__file__).resolve().parents[1] / "support/engines"
MACHINE = """
[machine]
name = "m"
launcher = "LAUNCHER"
settle = 0
[[nodes]]
names = ["n1", "n-2"]
cpus = 4
gpus = 2
[allocation]
join_timeout = 120
[launcher_options]
check_seconds = 0.2
OPTIONS
"""
#: A test that needs the real one says this.
NO_FLUX = "no real Flux here: put `flux` (flux-core) on the path, or its path into TRELLIS_FLUX"
_CONFIG = """
[resource]
verify = false
[[resource.config]]
hosts = "HOSTS"
cores = "0-3"
gpus = "0-1"
"""


def real_flux() -> str | None:
    """Return the path of the real `flux`: $TRELLIS_FLUX, or what is on the path; None says that there is
    none."""
    folders = [folder for folder in os.environ.get("PATH", "").split(":") if Path(folder) != ENGINES]
    return shutil.which(os.environ.get("TRELLIS_FLUX", "flux"), path=":".join(folders))


@dataclass
class Instance:
    """The nodes have 4 cores and 2 GPUs each, none of which need to be there; `environment` is what `flux`
    needs to find them."""

    program: str
    hosts: list[str]
    folder: Path
    is_real: bool
    environment: dict[str, str] = field(default_factory=dict)

    def flux(self, *words: str) -> str:
        """Return the standard output of `flux ...`."""
        environment = {**os.environ, **self.environment}
        return subprocess.run(
            [self.program, *words], env=environment, capture_output=True, text=True, check=True
        ).stdout.strip()

    def kill_node(self, host: str) -> None:
        """Kill the broker of a node, as if the node died."""
        if self.is_real:
            rank = str(self.hosts.index(host))
            os.kill(int(self.flux("exec", "-r", rank, self.program, "getattr", "broker.pid")), signal.SIGKILL)
        else:
            (self.folder / f"down.{host}").touch()


@contextmanager
def flux_instance(
    folder: Path, hosts: list[str], *, is_real: bool, are_named: bool = True
) -> Iterator[Instance]:
    """Start an instance, and end it with all that runs in it. Without names, all brokers have this host's."""
    folder.mkdir()
    if not is_real:
        names = ",".join(hosts if are_named else ["vm"] * len(hosts))
        values = {"FLUX_URI": "local:///nowhere/local-0", "FLUX_FAKE_FOLDER": str(folder)}
        yield Instance(str(ENGINES / "flux"), hosts, folder, False, {**values, "FLUX_FAKE_HOSTS": names})
        return
    program = real_flux()
    assert program is not None
    (folder / "flux.toml").write_text(_CONFIG.replace("HOSTS", ",".join(hosts)))
    named = [f"--test-hosts={','.join(hosts)}", f"--config-path={folder / 'flux.toml'}"] if are_named else []
    uri = folder / "uri"
    with open(folder / "flux.log", "wb") as log:
        process = subprocess.Popen(
            [program, "start", f"--test-size={len(hosts)}", "--test-exit-mode=leader", *named,
             "sh", "-c", f'echo "$FLUX_URI" > {uri}.partial; mv {uri}.partial {uri}; exec cat'],
            stdin=subprocess.PIPE,  # the instance ends when that is closed
            stdout=log,
            stderr=log,
        )  # fmt: skip
    try:
        deadline = time.monotonic() + 180
        while not uri.exists():
            assert process.poll() is None, (folder / "flux.log").read_text()
            assert time.monotonic() < deadline, "the instance did not start"
            time.sleep(0.02)
        yield Instance(program, hosts, folder, True, {"FLUX_URI": uri.read_text().strip()})
    finally:
        assert process.stdin is not None
        process.stdin.close()
        process.wait(180)


@dataclass
class Engine:
    """This class holds the machine file of two nodes of this host, and says how one of them dies."""

    machine: str
    kill_node: Callable[[str], None]


@contextmanager
def engine_of(kind: str, folder: Path, monkeypatch) -> Iterator[Engine]:
    """Yield the engine "hyperqueue", "flux-stand-in" or "flux" (the test is skipped where there is none)."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PATH", f"{ENGINES}:{os.environ['PATH']}")
    if kind == "hyperqueue":
        yield _hyperqueue(folder)
        return
    with flux_of(kind, folder, monkeypatch) as instance:
        yield Engine(flux_machine(instance), instance.kill_node)


def flux_machine(instance: Instance) -> str:
    options = f'flux = "{instance.program}"'
    return MACHINE.replace("LAUNCHER", "flux").replace("OPTIONS", options)


@contextmanager
def flux_of(kind: str, folder: Path, monkeypatch, **options):
    """Yield the instance "flux", or "flux-stand-in"; the environment leads to it."""
    is_real = kind == "flux"
    if is_real and real_flux() is None:
        pytest.skip(NO_FLUX)
    with flux_instance(folder / "flux", ["n1", "n-2"], is_real=is_real, **options) as instance:
        for key, value in instance.environment.items():
            monkeypatch.setenv(key, value)
        yield instance


def _hyperqueue(folder: Path) -> Engine:
    script = folder / "nodes.sh"
    script.write_text('#!/bin/bash\nfor n in n1 n-2; do SLURMD_NODENAME=$n "$@" & done\nwait\n')
    script.chmod(0o755)
    options = f'worker_command = ["{script}"]\nmpi = ["{sys.executable}", "{_ranks(folder)}", "{{slots}}"]'

    def kill_node(name: str) -> None:
        words = ["pgrep", "-f", f"worker start .*--hostname={name}"]
        pids = subprocess.run(words, capture_output=True, text=True).stdout.split()
        own = [pid for pid in pids if os.readlink(f"/proc/{pid}/cwd") == str(folder)]
        os.kill(int(own[0]), signal.SIGKILL)

    return Engine(MACHINE.replace("LAUNCHER", "hyperqueue").replace("OPTIONS", options), kill_node)


def _ranks(folder: Path) -> Path:
    """Write a program that starts as many copies as the slots say."""
    path = folder / "ranks.py"
    path.write_text(
        "import subprocess, sys\n"
        "count = sum(int(part.split(':')[1]) for part in sys.argv[1].split(','))\n"
        "ranks = [subprocess.Popen(sys.argv[2:]) for _ in range(count)]\n"
        "sys.exit(max(rank.wait() for rank in ranks))\n"
    )
    return path


class Attempts:
    """This class holds the attempts of a launcher, one after the other or beside each other."""

    def __init__(self, engine: Engine, folder: Path) -> None:
        self.folder, self.count = folder, 0
        self.launcher = make_launcher(parse_machine(engine.machine))
        self.launcher.start()
        (folder / "logs").mkdir(exist_ok=True)

    def begin(self, *command: str, places: tuple[Place, ...] = (Place("n1", 1, (0,)),)):
        name = f"t{self.count}"
        self.count += 1
        environment = {**os.environ, MARKER: f"{self.folder}:{name}:0", MANAGER: "m"}
        launch = Launch(name, 0, command, self.folder, self.folder / f"logs/{name}.0.log")
        return self.launcher.launch(launch, Placement(places), environment)

    def end(self, handle) -> Ended:
        ended: list = []
        deadline = time.monotonic() + 180
        while not ended:
            assert time.monotonic() < deadline
            ended = self.launcher.poll(0.1)
        assert [one for one, _ in ended] == [handle]
        return ended[0][1]

    def text(self, handle) -> list[str]:
        """Return the lines of the log, but those of Flux on cores that are not there."""
        return [x for x in handle.launch.log.read_text().splitlines() if "cpu-affinity" not in x]


def require_ends_of_a_lost_node(engine: Engine, one: Attempts) -> None:
    """One job runs on a node, and one waits for it and would wait until it comes back: both are reported as
    its loss."""
    whole = (Place("n-2", 1, (0, 1, 2, 3)),)
    first = one.begin("sh", "-c", "touch begun; exec sleep 300", places=whole)
    wait_for((one.folder / "begun").exists)
    second = one.begin("true", places=whole)
    wait_for(lambda: len(one.launcher.jobs(waiting=True)) == 1)
    engine.kill_node("n-2")
    ended = {}
    while len(ended) < 2:
        ended |= {handle.launch.task: end for handle, end in one.launcher.poll(0.1)}
    lost = Ended(None, lost_nodes=("n-2",))
    assert ended == {first.launch.task: lost, second.launch.task: lost}
