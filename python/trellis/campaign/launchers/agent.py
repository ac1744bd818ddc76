"""The resident agent of a node starts programs that its manager sends over one TCP connection.

One srun starts it once per node (:mod:`.agents`). Lines of JSON go both ways. When the connection ends, the
agent kills all that it started and ends too, so that nothing outlives its manager; when it is killed, its
children get SIGKILL from the kernel. A process that leaves its program's session (a daemon, an MPI rank)
becomes the agent's child when the program ends, and is ended then. It needs the standard library only:
thousands start at once.

    manager -> agent   {"launch": id, "command": [], "environment": {}, "directory": "",
                        "log": "", "cpus": []}
                       {"kill": id, "hard": true}
    agent -> manager   {"agent": node, "secret": "...", "protocol": 1}, then
                       {"ended": id, "status": 0} or {"ended": id, "error": "..."}
"""

from __future__ import annotations

import collections
import ctypes
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time

#: The messages have this version. A manager turns away agents of another one: nodes may have an old `python`.
PROTOCOL = 1
#: The environment of everything that an attempt of a campaign starts has this variable.
MARKER = "TRELLIS_CAMPAIGN_ATTEMPT"

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_LIBC = ctypes.CDLL(None, use_errno=True)


def die_with_parent(parent: int) -> None:
    """Call this in a new child: the kernel then kills it when the thread that made it ends.

    A parent that died before the call sends nothing any more: the child sees that by its process number,
    `parent`.
    """
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)


class EscapedProcesses:
    """Processes that outlive their attempt, inside or outside its session, still hold cores and GPUs.

    This process adopts the children of its dead descendants. Those with a campaign's marker in
    their environment whose attempt is over are killed.
    """

    def __init__(self) -> None:
        self._own = _marker(os.getpid())  # it is that of the task that this process belongs to, if any
        self._sessions: collections.deque[int] = collections.deque(maxlen=1000)
        self._bare: set[int] = set()  # they have no environment: nothing tells whose they are

    def start(self) -> None:
        """Adopt from now on."""
        _LIBC.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)

    def stop(self) -> None:
        """Leave orphans to the system again."""
        _LIBC.prctl(_PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)

    def end(self, running: list[int], ended: list[int]) -> None:
        """Kill what belongs to no running attempt.

        Parameters
        ----------
        running, ended
            First processes of attempts, each of which has a session of its own.
        """
        self._sessions.extend(ended)
        deadline = time.monotonic() + 1.0  # what does not die at once is looked at again next time
        dying: set[int] = set()  # a dying process shows nothing by which it could be found again
        while time.monotonic() < deadline:
            strangers = [pid for pid in _children() if pid not in running]
            kept = {self._own, *map(_marker, running)} if strangers else set()
            dying.update(pid for pid in strangers if self._is_left_over(pid, kept))
            self._bare.intersection_update(strangers)
            starting = [pid for pid in strangers if pid not in self._bare | dying and _is_bare(pid)]
            if not dying and time.monotonic() > deadline - 0.7:
                self._bare.update(starting)
                return
            if not dying and not starting:
                return
            for pid in dying:
                _kill_one(pid)
            reaped = {pid for pid in dying if _is_reaped(pid)}
            dying -= reaped
            if not reaped:
                time.sleep(0.001)

    def _is_left_over(self, pid: int, kept: set[bytes | None]) -> bool:
        marker = _marker(pid)
        if marker is None:  # it is of no campaign, or dies: then its session tells
            return _session(pid) in self._sessions
        return marker not in kept


def _children() -> list[int]:
    """Return the process numbers of the children of all threads of this process."""
    found: list[int] = []
    for thread in os.listdir("/proc/self/task"):
        try:
            with open(f"/proc/self/task/{thread}/children") as file:
                found += map(int, file.read().split())
        except OSError:
            continue
    return found


def _environment(pid: int) -> bytes | None:
    """Read the environment of a process; None: the process is gone."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return file.read()
    except OSError:
        return None


def _marker(pid: int) -> bytes | None:
    """Return the campaign's marker of a process; None where it has none, or is gone."""
    key = MARKER.encode() + b"="
    words = (_environment(pid) or b"").split(b"\0")
    return next((word for word in words if word.startswith(key)), None)


def _is_bare(pid: int) -> bool:
    """Return True if a living process has no environment, as it has none for a moment within exec."""
    if _environment(pid) != b"":
        return False
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] != b"Z"
    except OSError:
        return False


def _session(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[3])
    except OSError:
        return -1


def _kill_one(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except OSError:
        pass


def _is_reaped(pid: int) -> bool:
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except OSError:
        return True


class Agent:
    """These are one node's programs."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._children: dict[int, tuple[int, subprocess.Popen]] = {}  # a pidfd has identifier and process
        self._allowed = os.sched_getaffinity(0)
        self._escaped = EscapedProcesses()
        self._escaped.start()

    def serve(self) -> None:
        """Serve the manager until the connection ends."""
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

        own = os.getpid()

        def prepare() -> None:
            die_with_parent(own)
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
        self._escaped.end([child.pid for _, child in self._children.values()], [process.pid])
        self._send({"ended": identifier, "status": status})

    def _send(self, message: dict) -> None:
        self._connection.sendall(json.dumps(message).encode() + b"\n")

    def _end_all(self) -> None:
        for _, process in self._children.values():
            _kill(process.pid, signal.SIGKILL)
        for _, process in self._children.values():
            process.wait()
        self._escaped.end([], [process.pid for _, process in self._children.values()])


def _kill(group: int, number: int) -> None:
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        pass


def main() -> int:
    """Run the agent. The arguments are addresses (with commas) and port of the manager.

    The secret comes by the environment.
    """
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
    hello = {"agent": node, "secret": secret, "protocol": PROTOCOL}
    connection.sendall(json.dumps(hello).encode() + b"\n")
    signal.signal(signal.SIGTERM, lambda *_: connection.shutdown(socket.SHUT_RDWR))
    Agent(connection).serve()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
