"""A campaign runs on a simulated machine: it has the same planner, and events instead of processes.

Durations are the estimates times a log-normal factor of mean 1 with the task's `spread`. Lumps join when
their launch is over, a fraction of them late; whatever runs on a bad node fails there after a few seconds,
and the node is quarantined. Launches go through one queue, each `step_seconds` long.
"""

from __future__ import annotations

import heapq
import math
import random
import zlib
from collections.abc import Mapping
from dataclasses import dataclass

from .graph import topological_order
from .model import Machine, Node, Placement, State, Task, require_estimates
from .planner import Planner, Start
from .progress import Progress
from .shapes import check_requests

#: A program on a bad node is seen to have failed after this many seconds.
BAD_NODE_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Run:
    """This is one simulated attempt."""

    task: str
    placement: Placement
    begin: float
    end: float
    outcome: str  # it is done, node or killed


@dataclass(frozen=True, slots=True)
class Outcome:
    """This is the outcome of a simulation.

    Attributes
    ----------
    ready_at
        Each good node joined at this time.
    passes, longest_pass
        Number of planning passes, and CPU seconds of the longest.
    """

    runs: list[Run]
    ready_at: dict[str, float]
    end: float
    passes: int
    longest_pass: float
    left: int
    held: int


def true_seconds(task: Task, alternative: int, seed: int) -> float:
    """Return the duration of a task: one factor for all its alternatives, whatever the order of events."""
    seconds = task.alternatives[alternative].estimate
    if not task.spread:
        return seconds
    scatter = random.Random(zlib.crc32(task.name.encode()) ^ (seed * 0x9E3779B1 & 0xFFFFFFFF))
    return seconds * math.exp(task.spread * scatter.gauss(0, 1) - task.spread**2 / 2)


class Simulator:
    """It simulates a campaign, as the docstring of the module says.

    Parameters
    ----------
    period
        Least simulated seconds between passes of the planner.
    """

    def __init__(
        self, machine: Machine, tasks: Mapping[str, Task], *, seed: int = 1, period: float = 0.0
    ) -> None:
        check_requests(tasks.values(), machine)
        self.machine, self.tasks, self.seed, self.period = machine, tasks, seed, period
        length = machine.allocation_seconds
        self.hard_end = length
        end = None if length is None else length - machine.drain_seconds
        require_estimates(tasks)
        self.planner = Planner(machine, tasks, lambda task, i: task.alternatives[i].estimate, end=end)
        self.progress = Progress(tasks)
        self.events: list[tuple[float, int, str, object]] = []
        self.count = 0
        self.runs: list[Run] = []
        self.begun: dict[str, tuple[Start, float, bool]] = {}
        self.ready_at: dict[str, float] = {}
        self.launcher_free = 0.0
        scatter = random.Random(seed)
        self.bad = {n.name for n in machine.usable if scatter.random() < machine.start_up.bad_fraction}
        self._join_lumps(scatter)

    def run(self) -> Outcome:
        """Simulate to the end of the campaign or of the allocation."""
        import time

        for name in self.progress.free():
            self._ready(name)
        now, passes, longest, next_pass = 0.0, 0, 0.0, 0.0
        while self.events:
            now = self.events[0][0]
            if self.hard_end is not None and now > self.hard_end:
                now = self.hard_end
                break
            while self.events and self.events[0][0] <= max(now, next_pass):
                at, _, kind, what = heapq.heappop(self.events)
                now = max(now, at)
                getattr(self, f"_{kind}")(what, at)
            start = time.process_time()
            for decision in self.planner.plan(now):
                self._launch(decision, now)
            longest = max(longest, time.process_time() - start)
            passes += 1
            next_pass = now + self.period
        self._kill_rest(now)
        end = max((run.end for run in self.runs), default=0.0)
        left = len(self.tasks) - self.progress.counts[State.DONE]
        return Outcome(self.runs, self.ready_at, end, passes, longest, left, len(self.planner.held))

    def _join_lumps(self, scatter: random.Random) -> None:
        start_up = self.machine.start_up
        lumps: dict[int, list[Node]] = {}
        for node in self.machine.usable:
            lumps.setdefault(node.lump, []).append(node)
        for nodes in lumps.values():
            at = max(0.0, scatter.gauss(start_up.lump_seconds, start_up.lump_spread))
            if scatter.random() < start_up.late_fraction:
                at += start_up.late_seconds
            self._at(at, "join", nodes)

    def _at(self, time: float, kind: str, what: object) -> None:
        self.count += 1
        heapq.heappush(self.events, (time, self.count, kind, what))

    def _join(self, nodes: list[Node], now: float) -> None:
        for node in nodes:
            self.planner.add_node(node)
            if node.name not in self.bad:
                self.ready_at[node.name] = now

    def _ready(self, name: str, avoid: frozenset[str] = frozenset()) -> None:
        self.progress.set([name], State.READY)
        self.planner.ready(name, avoid=avoid)

    def _launch(self, start: Start, now: float) -> None:
        self.launcher_free = max(now, self.launcher_free) + self.machine.start_up.step_seconds
        begin = self.launcher_free
        is_bad = not self.bad.isdisjoint(start.placement.nodes)
        seconds = true_seconds(self.tasks[start.task], start.placement.alternative, self.seed)
        if is_bad:
            seconds = min(seconds, BAD_NODE_SECONDS)
        self.progress.set([start.task], State.RUNNING)
        self.begun[start.task] = (start, begin, is_bad)
        self._at(begin + seconds, "end", start.task)

    def _end(self, name: str, now: float) -> None:
        start, begin, is_bad = self.begun.pop(name)
        self.runs.append(Run(name, start.placement, begin, now, "node" if is_bad else "done"))
        if is_bad:
            for node in self.bad.intersection(start.placement.nodes):
                self.planner.remove_node(node)
            self.planner.finished(name, again=True)
            self._ready(name)
            return
        self.planner.finished(name)
        for freed in self.progress.done(name):
            self._ready(freed)

    def _kill_rest(self, now: float) -> None:
        for name, (start, begin, _) in self.begun.items():
            self.runs.append(Run(name, start.placement, min(begin, now), now, "killed"))


def lower_bound(machine: Machine, tasks: Mapping[str, Task], seed: int) -> float:
    """Return max(critical path, work per resource): no order of the tasks on this machine ends sooner."""
    finish: dict[str, float] = {}
    gpu_work = cpu_work = 0.0
    for name in topological_order(tasks):
        task = tasks[name]
        ways = [(true_seconds(task, i, seed), a.request) for i, a in enumerate(task.alternatives)]
        finish[name] = max((finish[o] for o in task.after), default=0.0) + min(w[0] for w in ways)
        gpu_work += min(seconds * request.gpus for seconds, request in ways)
        cpu_work += min(seconds * request.cpus for seconds, request in ways)
    gpus = sum(len(node.gpus) for node in machine.usable)
    cpus = sum(node.cpus for node in machine.usable)
    return max(max(finish.values(), default=0.0), gpu_work / gpus if gpus else 0.0, cpu_work / cpus)


def naive_bundling(machine: Machine, tasks: Mapping[str, Task], seed: int) -> list[Run]:
    """Simulate a job script: a bundle of one group fills the machine, and a barrier ends each bundle.

    Groups come in the order of the file, so that contractions wait for all propagators that can run.
    """
    planner = Planner(machine, tasks, lambda task, i: task.alternatives[i].estimate)
    for node in machine.usable:
        planner.add_node(node)
    progress = Progress(tasks)
    order = list(dict.fromkeys(task.group for task in tasks.values()))
    ready: dict[str, list[str]] = {group: [] for group in order}
    for name in progress.free():
        ready[tasks[name].group].append(name)
    now, runs = 0.0, []
    while group := next((g for g in order if ready[g]), None):
        bundle: list[Start] = []
        while ready[group]:
            planner.ready(ready[group][0])
            started = planner.plan(0.0)
            if not started:
                for queue in planner.queues.values():
                    queue.entries.clear()
                break
            ready[group].pop(0)
            bundle += started
        ends = {s.task: now + true_seconds(tasks[s.task], s.placement.alternative, seed) for s in bundle}
        for start in bundle:
            runs.append(Run(start.task, start.placement, now, ends[start.task], "done"))
            planner.finished(start.task)
            for freed in progress.done(start.task):
                ready[tasks[freed].group].append(freed)
        now = max(ends.values())
    return runs
