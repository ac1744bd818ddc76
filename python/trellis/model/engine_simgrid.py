"""SimGrid gives times of single messages, with contention and topologies that the closed form does not know.

SimGrid (https://simgrid.org, Debian's python3-simgrid) is optional; only this file knows it. Ranks are
actors, cards are links of their own, and messages of a phase travel at once. Two generations of its interface
are taken, 3.32 and 4.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from ..ground.errors import NotAvailable
from .machine import HardwareModel
from .mapping import RankMap
from .phases import Phase
from .torus import LinkKey, Traffic, rate_of, route, traffic_of

_MISSING = "the message engine needs SimGrid, which was not found: apt-get install python3-simgrid"
_DEBIAN = Path("/usr/lib/python3/dist-packages")


def simulate(traffic: Traffic) -> float:
    """Return the seconds until the last message has arrived, by SimGrid in a process of its own.

    Raises
    ------
    NotAvailable
        SimGrid is not there.
    """
    python = _python_with_simgrid()
    content = json.dumps(_described(traffic))
    ended = subprocess.run(
        [python, "-c", f"{_PROGRAM}\nmain()"],
        input=content,
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(_DEBIAN)},
    )
    if ended.returncode:
        raise NotAvailable(f"SimGrid ended with status {ended.returncode}: {ended.stderr.strip()[-400:]}")
    return float(ended.stdout.strip().splitlines()[-1])


def _described(traffic: Traffic) -> dict[str, Any]:
    """Return the traffic as the program below takes it: links by number, and a way for each pair of nodes."""
    numbers: dict[LinkKey, int] = {}
    routes = []
    for a, b in sorted({(a, b) for a, b, _ in traffic.messages}):
        routes.append((a, b, [numbers.setdefault(key, len(numbers)) for key in route(traffic, a, b)]))
    latency, hop = 1e-6 * traffic.latency_us, 1e-6 * traffic.hop_us
    first = {"out": latency, "card": latency / 2, "in": 0.0}
    links = [(rate_of(traffic, key), first[key[0]] if isinstance(key[0], str) else hop) for key in numbers]
    return {"nodes": traffic.nodes, "links": links, "routes": routes, "messages": traffic.messages}


def is_available() -> bool:
    """Return True if SimGrid is there."""
    try:
        _python_with_simgrid()
    except NotAvailable:
        return False
    return True


def _python_with_simgrid() -> str:
    """Return an interpreter that imports simgrid: this one, or the system's, for which Debian builds it."""
    for python in (sys.executable, shutil.which("python3", path="/usr/bin:/bin")):
        if python is None:
            continue
        environment = {**os.environ, "PYTHONPATH": str(_DEBIAN)}
        words = [python, "-c", "import simgrid"]
        if subprocess.run(words, check=False, capture_output=True, env=environment).returncode == 0:
            return python
    raise NotAvailable(_MISSING)


#: This program runs where SimGrid is. A message takes all links of its way at once;
#: factors of TCP are set to 1.
_PROGRAM = r"""
import json, sys
import simgrid

kept = []

def exchange(sends, receives):
    waiting = [simgrid.Mailbox.by_name(box).put_async("x", size) for box, size in sends]
    for box in receives:
        comm = simgrid.Mailbox.by_name(box).get_async()
        kept.append(comm)  # with the place of what arrives
        waiting.append(comm[0] if isinstance(comm, tuple) else comm)
    for comm in waiting:
        comm.wait()

def main():
    given = json.load(sys.stdin)
    engine = simgrid.Engine(["engine", "--cfg=network/model:CM02", "--cfg=network/TCP-gamma:0",
                             "--cfg=network/crosstraffic:0", "--cfg=network/latency-factor:1",
                             "--cfg=network/bandwidth-factor:1", "--cfg=network/weight-S:0",
                             "--log=root.thresh:error"])
    if hasattr(simgrid.NetZone, "create_full_zone"):
        zone = simgrid.NetZone.create_full_zone("fabric")
    else:
        zone = engine.netzone_root.add_netzone_full("fabric")
    make_host = zone.create_host if hasattr(zone, "create_host") else zone.add_host
    make_link = zone.create_link if hasattr(zone, "create_link") else zone.add_link
    hosts = [make_host("n%d" % k, 1e9) for k in range(given["nodes"])]
    links = []
    for k, (rate, latency) in enumerate(given["links"]):
        made = make_link("l%d" % k, rate)
        made.set_latency(latency)
        made.seal()
        links.append(made)
    for a, b, way in given["routes"]:
        taken = [simgrid.LinkInRoute(links[k]) for k in way]
        try:
            zone.add_route(hosts[a].netpoint, hosts[b].netpoint, None, None, taken, False)
        except (TypeError, AttributeError):
            zone.add_route(hosts[a], hosts[b], taken, False)
    zone.seal()
    sends, receives = {}, {}
    for k, (a, b, size) in enumerate(given["messages"]):
        sends.setdefault(a, []).append((str(k), int(size)))
        receives.setdefault(b, []).append(str(k))
    for node in sorted({*sends, *receives}):
        arguments = (sends.get(node, []), receives.get(node, []))
        if hasattr(simgrid.Actor, "create"):
            simgrid.Actor.create("a%d" % node, hosts[node], exchange, *arguments)
        else:
            hosts[node].add_actor("a%d" % node, exchange, *arguments)
    engine.run()
    print(simgrid.Engine.clock() if callable(simgrid.Engine.clock) else simgrid.Engine.clock)
"""


def network_seconds(phase: Phase, machine: HardwareModel, ranks: RankMap) -> float:
    """Return the time of a phase's messages between nodes by SimGrid; see closed_form.network_seconds."""
    traffic = traffic_of(phase, machine, ranks)
    return simulate(traffic) if traffic.messages else 0.0
