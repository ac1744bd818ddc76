"""This module starts the server of prepared_processes.py, one for a process of pytest, and ends it."""

from __future__ import annotations

import atexit
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

import prepared_processes

_servers: dict[str, tuple[Path, dict[str, str]]] = {}


def _is_read_late(name: str) -> bool:
    """Return True for variables of the program, but those of its first moments, and for what pytest sets."""
    return (name.startswith("TRELLIS_") and name != "TRELLIS_BUILD") or name == "PYTEST_CURRENT_TEST"


def server_for(command: str, environment: Mapping[str, str]) -> str | None:
    """Return the socket of a server that has loaded its libraries in this environment, or None.

    The first environment that is asked for is that of the server, and nearly all tests have it.
    """
    if sys.platform != "linux":
        return None
    known = {name: value for name, value in environment.items() if not _is_read_late(name)}
    kind = "analysis" if command == "analyze" else "small"
    if kind not in _servers:
        _servers[kind] = _started(kind, environment), known
    path, its = _servers[kind]
    return str(path) if its == known else None


def _started(kind: str, environment: Mapping[str, str]) -> Path:
    folder = Path(tempfile.mkdtemp(prefix="forks", dir="/tmp"))  # a socket's path is short
    path = folder / "socket"
    process = subprocess.Popen(
        [sys.executable, prepared_processes.__file__, "serve", kind, str(path)],
        env=dict(environment),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        process_group=0,
    )

    def end() -> None:
        assert process.stdin is not None
        process.stdin.close()
        process.wait()
        shutil.rmtree(folder, ignore_errors=True)

    atexit.register(end)
    deadline = time.monotonic() + 60
    while not path.exists():
        assert process.poll() is None, "the server of forks ended"
        assert time.monotonic() < deadline, "the server of forks did not start"
        time.sleep(0.01)
    return path
