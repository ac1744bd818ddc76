"""A Flux instance for tests: a real one of brokers on this host, or the program that stands in for `flux`."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

ENGINES = Path(__file__).resolve().parents[1] / "support/engines"
#: What a test says that needs the real one.
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
    """The real `flux`: $TRELLIS_FLUX, or what is on the path; None: there is none."""
    folders = [folder for folder in os.environ.get("PATH", "").split(":") if Path(folder) != ENGINES]
    return shutil.which(os.environ.get("TRELLIS_FLUX", "flux"), path=":".join(folders))


@dataclass
class Instance:
    """Nodes with 4 cores and 2 GPUs each, none of which need to be there; what `flux` needs to find it."""

    program: str
    hosts: list[str]
    folder: Path
    is_real: bool
    environment: dict[str, str] = field(default_factory=dict)

    def flux(self, *words: str) -> str:
        """Standard output of `flux ...`."""
        environment = {**os.environ, **self.environment}
        return subprocess.run(
            [self.program, *words], env=environment, capture_output=True, text=True, check=True
        ).stdout.strip()

    def kill_node(self, host: str) -> None:
        """As a node dies: its broker is killed."""
        if self.is_real:
            rank = str(self.hosts.index(host))
            os.kill(int(self.flux("exec", "-r", rank, self.program, "getattr", "broker.pid")), signal.SIGKILL)
        else:
            (self.folder / f"down.{host}").touch()


@contextmanager
def flux_instance(
    folder: Path, hosts: list[str], *, is_real: bool, are_named: bool = True
) -> Iterator[Instance]:
    """Start one, end it with all that runs in it. Without names, all brokers have this host's."""
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
