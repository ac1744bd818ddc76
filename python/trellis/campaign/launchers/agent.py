"""The resident agent of a node: starts programs that its manager sends over one TCP connection.

Started once per node by one srun (:mod:`.agents`). Lines of JSON go both ways. When the connection ends, the
agent kills all that it started and ends too, so that nothing outlives its manager; when the agent is killed,
its children get SIGKILL from the kernel. Standard library only: it starts thousands of times at once.

    manager -> agent   {"launch": id, "command": [], "environment": {}, "directory": "",
                        "log": "", "cpus": []}
                       {"kill": id, "hard": true}
    agent -> manager   {"agent": node, "secret": "..."}, then
                       {"ended": id, "status": 0} or {"ended": id, "error": "..."}
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import signal
import socket
import subprocess
import sys

_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None, use_errno=True)


def _die_with_parent() -> None:
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


class Agent:
    """One node's programs."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._children: dict[int, tuple[int, subprocess.Popen]] = {}  # by pidfd: identifier, process
        self._allowed = os.sched_getaffinity(0)

    def serve(self) -> None:
        """Until the connection ends."""
        poll = select.poll()
        poll.register(self._connection, select.POLLIN)
        waiting = b""
        try:
            while True:
                for descriptor, _ in poll.poll():
                    if descriptor != self._connection.fileno():
                        poll.unregister(descriptor)
                        self._reap(descriptor)
                        continue
                    received = self._connection.recv(1 << 16)
                    if not received:
                        return
                    *lines, waiting = (waiting + received).split(b"\n")
                    for line in lines:
                        started = self._obey(json.loads(line))
                        if started is not None:
                            poll.register(started, select.POLLIN)
        except (ConnectionError, BrokenPipeError):
            return
        finally:
            self._end_all()

    def _obey(self, message: dict) -> int | None:
        if "launch" in message:
            return self._launch(message)
        for identifier, process in self._children.values():
            if identifier == message["kill"]:
                _kill(process.pid, signal.SIGKILL if message["hard"] else signal.SIGTERM)
        return None

    def _launch(self, message: dict) -> int | None:
        # Virtual nodes have more cores than the machine: then the kernel may place the program as it likes.
        cpus = self._allowed & set(message["cpus"])
        bind = cpus if len(cpus) == len(message["cpus"]) else None

        def prepare() -> None:
            _die_with_parent()
            if bind:
                os.sched_setaffinity(0, bind)

        try:
            with open(message["log"], "ab") as log:
                process = subprocess.Popen(
                    message["command"],
                    env=message["environment"],
                    cwd=message["directory"],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                    preexec_fn=prepare,
                )
        except (OSError, subprocess.SubprocessError) as error:
            self._send({"ended": message["launch"], "error": f"{message['command'][0]}: {error}"})
            return None
        descriptor = os.pidfd_open(process.pid)
        self._children[descriptor] = (message["launch"], process)
        return descriptor

    def _reap(self, descriptor: int) -> None:
        identifier, process = self._children.pop(descriptor)
        os.close(descriptor)
        status = process.wait()
        _kill(process.pid, signal.SIGKILL)  # what the program left behind would hold its cores and GPUs
        self._send({"ended": identifier, "status": status})

    def _send(self, message: dict) -> None:
        self._connection.sendall(json.dumps(message).encode() + b"\n")

    def _end_all(self) -> None:
        for _, process in self._children.values():
            _kill(process.pid, signal.SIGKILL)
        for _, process in self._children.values():
            process.wait()


def _kill(group: int, number: int) -> None:
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        pass


def main() -> int:
    """Arguments: addresses (with commas) and port of the manager. The secret comes by the environment."""
    addresses, port = sys.argv[1].split(","), int(sys.argv[2])
    secret = os.environ.pop("TRELLIS_AGENT_SECRET")
    for address in addresses:
        try:
            connection = socket.create_connection((address, port), timeout=20)
            break
        except OSError as error:
            print(f"agent: {address}:{port}: {error}", file=sys.stderr)
    else:
        return 1
    connection.settimeout(None)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    node = os.environ.get("SLURMD_NODENAME") or socket.gethostname().split(".")[0]
    connection.sendall(json.dumps({"agent": node, "secret": secret}).encode() + b"\n")
    signal.signal(signal.SIGTERM, lambda *_: connection.shutdown(socket.SHUT_RDWR))
    Agent(connection).serve()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
