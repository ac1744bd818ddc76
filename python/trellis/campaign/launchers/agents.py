"""This is the manager's side of the resident agents: one per node, all started by one srun.

A srun for each small task costs much; an agent starts a program in a millisecond or two. An agent whose
connection ends takes its node with it: all that ran there is reported at once as lost with the node.
"""

from __future__ import annotations

import json
import os
import secrets
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...ground.errors import NotAvailable
from ..model import Machine, Placement
from . import slurm_system
from .agent import PROTOCOL
from .base import LAUNCH_ONCE, Ended, Handle, Launch, Launcher
from .node_programs import NodePrograms
from .patience import patiently


@dataclass(slots=True)
class AgentHandle(Handle):
    """This is an attempt that an agent runs."""

    number: int = -1
    node: str = ""


class AgentLauncher(Launcher):
    """This launcher runs attempts of one rank on one node each, which agents start.

    It has these options (``[launcher_options]``): ``agent_command``, the words before the agent's own, by
    default ``srun --overlap ...`` with one task per node; ``python``, the interpreter on the nodes.
    """

    def __init__(self, machine: Machine) -> None:
        super().__init__(slurm_system.machine_in_allocation(machine))
        self._python = str(machine.launcher_options.get("python", sys.executable))
        self._words = [str(word) for word in machine.launcher_options.get("agent_command", ())]
        self._listener: socket.socket | None = None
        self._starter: NodePrograms | None = None
        self._secret = secrets.token_hex(16)
        self._poll = select.poll()
        self._strangers: dict[int, tuple[socket.socket, bytes]] = {}
        self._agents: dict[str, socket.socket] = {}
        self._nodes: dict[int, str] = {}
        self._received: dict[str, bytes] = {}
        self._running: dict[int, AgentHandle] = {}
        self._ended: list[tuple[Handle, Ended]] = []
        self._joined: list[str] = []
        self._lost: list[str] = []
        self._next = 0
        self._problem = ""

    # ------------------------------------------------------------------ start and end

    def start(self) -> None:
        """Start all agents and wait for them for the machine's `join_timeout`.

        Nodes whose agents have not reported then are missing, and join when they do.

        Raises
        ------
        NotAvailable
            No agent has reported.
        """
        names = [node.name for node in self.machine.usable]
        if not self._words:
            dead = patiently(
                lambda: slurm_system.lost_nodes(names), self.is_stopped
            )  # with one of them srun would start nothing
            names = [name for name in names if name not in dead]
        self._listener = socket.create_server(("", 0), backlog=4096)
        self._poll.register(self._listener, select.POLLIN)
        agent = Path(__file__).with_name("agent.py")
        port = self._listener.getsockname()[1]
        environment = slurm_system.step_environment(os.environ) | {"TRELLIS_AGENT_SECRET": self._secret}
        program = [self._python, "-SE", str(agent), _own_addresses(), str(port)]
        self._starter = NodePrograms(self._words, "trellis-agents", names, program, environment=environment)
        deadline = time.monotonic() + self.machine.join_timeout
        while len(self._agents) < len(names) and self._may_report() and time.monotonic() < deadline:
            self._listen(0.1)
        if not self._agents:
            self.close()
            raise NotAvailable(
                self._problem
                or f"no agent reported within {self.machine.join_timeout:g} s: "
                f"{' '.join(self._starter.words)}"
            )
        self._joined.clear()

    def _may_report(self) -> bool:
        """Return True if agents may still report; srun is not repeated once one agent has reported."""
        if self._starter is None or self.is_stopped():
            return False
        return self._starter.process.poll() is None or (not self._agents and self._starter.may_report())

    def missing_nodes(self) -> Sequence[str]:
        return [node.name for node in self.machine.usable if node.name not in self._agents]

    def close(self) -> None:
        for agent in self._agents.values():
            agent.close()  # it then ends what it runs, and itself
        for stranger, _ in self._strangers.values():
            stranger.close()
        if self._listener is not None:
            self._listener.close()
        if self._starter is not None:
            try:
                self._starter.process.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(self._starter.process.pid, signal.SIGTERM)
                self._starter.process.wait()

    # ------------------------------------------------------------------ attempts

    def launch(self, launch: Launch, placement: Placement, environment: Mapping[str, str]) -> Handle:
        place = placement.places[0]
        handle = AgentHandle(launch, placement, number=self._next, node=place.node)
        self._next += 1
        is_single = placement.ranks == 1 or environment.get(LAUNCH_ONCE) == "1"
        if not is_single:
            self._ended.append((handle, Ended(None, launcher_error="agents start single ranks only")))
            return handle
        agent = self._agents.get(place.node)
        if agent is None:
            self._ended.append((handle, Ended(None, lost_nodes=(place.node,))))
            return handle
        launch.log.parent.mkdir(parents=True, exist_ok=True)
        handle.identity = {"agent": place.node, "number": handle.number}
        self._running[handle.number] = handle
        visible = ",".join(map(str, place.gpus))
        self._send(
            place.node,
            {
                "launch": handle.number,
                "command": list(launch.command),
                "environment": {
                    **environment,
                    "CUDA_VISIBLE_DEVICES": visible,
                    "SLURMD_NODENAME": place.node,
                },
                "directory": str(launch.directory),
                "log": str(launch.log),
                "cpus": list(place.cpus),
            },
        )
        return handle

    def kill(self, handle: Handle, *, hard: bool = False) -> None:
        assert isinstance(handle, AgentHandle)
        if handle.number in self._running:
            self._send(handle.node, {"kill": handle.number, "hard": hard})

    def poll(self, timeout: float) -> list[tuple[Handle, Ended]]:
        self._listen(0 if self._ended else timeout)
        ended, self._ended = self._ended, []
        return ended

    def node_changes(self) -> tuple[Sequence[str], Sequence[str]]:
        changes = self._joined, self._lost
        self._joined, self._lost = [], []
        return changes

    def descriptors(self) -> list[int]:
        """Return the file descriptors that become readable when :meth:`poll` has something to do."""
        return [self._listener.fileno(), *self._nodes, *self._strangers] if self._listener else []

    def has_agent(self, node: str) -> bool:
        """Return True if a node's agent has reported and is connected."""
        return node in self._agents

    # ------------------------------------------------------------------ messages

    def _listen(self, timeout: float) -> None:
        for descriptor, _ in self._poll.poll(1000 * timeout):
            if self._listener is not None and descriptor == self._listener.fileno():
                stranger, _ = self._listener.accept()
                stranger.settimeout(20)
                self._strangers[stranger.fileno()] = (stranger, b"")
                self._poll.register(stranger, select.POLLIN)
            elif descriptor in self._strangers:
                self._introduce(descriptor)
            elif descriptor in self._nodes:
                self._receive(self._nodes[descriptor])

    def _introduce(self, descriptor: int) -> None:
        """Accept a connection once it has said the secret, which only the agents' environment has."""
        stranger, text = self._strangers.pop(descriptor)
        try:
            received = stranger.recv(4096)
        except OSError:
            received = b""
        text += received
        if received and b"\n" not in text and len(text) < 4096:
            self._strangers[descriptor] = (stranger, text)
            return
        line, _, rest = text.partition(b"\n")
        try:
            message = json.loads(line)
            known = secrets.compare_digest(str(message["secret"]), self._secret)
            node, protocol = str(message["agent"]), message.get("protocol", 0)
        except (ValueError, KeyError, TypeError):
            known, node, protocol = False, "", 0
        if known and protocol != PROTOCOL:
            self._problem = (
                f"the agent on {node} speaks protocol {protocol}, this manager {PROTOCOL}: `python` or "
                "`agent_command` in [launcher_options] start another version of Trellis there"
            )
            known = False
        if not known or node in self._agents:
            self._poll.unregister(descriptor)
            stranger.close()
            return
        stranger.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        _end_when_silent(stranger)
        self._agents[node], self._nodes[descriptor], self._received[node] = stranger, node, rest
        self._joined.append(node)

    def _receive(self, node: str) -> None:
        try:
            received = self._agents[node].recv(1 << 16)
        except OSError:
            received = b""
        if not received:
            self.lose(node)
            return
        *lines, self._received[node] = (self._received[node] + received).split(b"\n")
        for line in lines:
            message = json.loads(line)
            handle = self._running.pop(message["ended"], None)
            if handle is not None:
                self._ended.append(
                    (handle, Ended(message.get("status"), launcher_error=message.get("error")))
                )

    def _send(self, node: str, message: dict) -> None:
        try:
            self._agents[node].sendall(json.dumps(message).encode() + b"\n")
        except OSError:
            self.lose(node)

    def lose(self, node: str) -> None:
        """Report a node as gone: what its agent ran is lost with it."""
        agent = self._agents.pop(node, None)
        if agent is None:
            return
        self._nodes.pop(agent.fileno())
        self._poll.unregister(agent)
        agent.close()
        self._received.pop(node)
        self._lost.append(node)
        for number in [number for number, handle in self._running.items() if handle.node == node]:
            self._ended.append((self._running.pop(number), Ended(None, lost_nodes=(node,))))


def _end_when_silent(connection: socket.socket) -> None:
    """End a connection after about a minute of silence: a node that loses its power says nothing more."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 30)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 10)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 3)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 60_000)  # this limits its silence


def _own_addresses() -> str:
    """Return the addresses by which nodes may reach this one: those of the host, then loopback."""
    name = socket.gethostname()
    try:
        known = socket.getaddrinfo(name, None, socket.AF_INET, socket.SOCK_STREAM)
        found = [str(info[4][0]) for info in known]
    except OSError:
        found = []
    return ",".join(dict.fromkeys([*found, "127.0.0.1"]))
