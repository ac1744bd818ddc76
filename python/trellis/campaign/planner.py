"""The planner orders tasks by the longest chain of work behind each (list scheduling).

The planner knows time only as the number it is given: the simulator and the manager run the same code. Ready
tasks with the same requests form a queue; a pass takes the best head of all queues, and a queue whose
head does not fit is left alone until something becomes free. A large head that is overtaken gets a
reservation: nodes on which only such tasks may start that end before it can.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from .graph import topological_order, work_behind
from .model import Machine, Node, Placement, Task
from .pool import NodeState, Pool
from .shapes import NodeType, Shape

Entry = tuple[int, float, int, str]  # these are -priority, -seconds behind, order, name

#: A head with a reservation waits for it this long, in units of its duration, even where others are free.
_SOON = 0.5


@dataclass(slots=True)
class Queue:
    """The ready tasks of a queue ask for the same."""

    shapes: list[tuple[int, Shape, int]]  # these are alternative, shape, ranks
    entries: list[Entry] = field(default_factory=list)
    blocked_at: int = -1  # the head did not fit at this version of the pool
    blocked_task: str = ""
    blocked_since: float = 0.0

    @property
    def is_large(self) -> bool:
        """Return True if smaller tasks can starve the queue's tasks."""
        return any(
            shape.nodes > 1
            or any(need and (need.whole or need.gpus > 1 or need.common > 1) for need in shape.needs)
            for _, shape, _ in self.shapes
        )


@dataclass(slots=True)
class Reservation:
    queue: Queue
    entry: Entry
    alternative: int
    shape: Shape
    ranks: int
    nodes: list[str]
    time: float  # they will be free then, as it looks now
    promised: float  # it looked so when they were reserved


@dataclass(frozen=True, slots=True)
class Start:
    """This is a decision of the planner."""

    task: str
    placement: Placement
    estimate: float


class Planner:
    """A planner plans the tasks of one allocation.

    Parameters
    ----------
    tasks
        All tasks, by name; more may be added to the mapping, followed by :meth:`graph_changed`.
    seconds
        Estimate of a task's alternative.
    end
        The last task has to be over then; None: never.
    patience
        A large head is overtaken for so long before nodes are reserved for it, in units of its duration.
    """

    def __init__(
        self,
        machine: Machine,
        tasks: Mapping[str, Task],
        seconds: Callable[[Task, int], float],
        *,
        end: float | None = None,
        patience: float = 0.0,
        reservations: int = 2,
    ) -> None:
        self.machine, self.tasks, self.seconds = machine, tasks, seconds
        self.end, self.patience, self.most_reservations = end, patience, reservations
        self.pool = Pool(list(dict.fromkeys(map(NodeType.of, machine.usable))))
        self.behind: dict[str, float] = {}
        self.queues: dict[tuple, Queue] = {}
        self.by_alternatives: dict[int, Queue] = {}
        self.running: dict[str, Start] = {}
        self.reservations: list[Reservation] = []
        self.avoid: dict[str, frozenset[str]] = {}
        self.held: set[str] = set()
        self.gone: set[str] = set()
        self.is_draining = False
        self.gpu_tasks = 0
        self._order = itertools.count()
        self._kept_alternatives: list[object] = []
        self.graph_changed()

    # What changes

    def graph_changed(self) -> None:
        """Compute the chains behind all tasks anew; tasks were added or estimates changed."""
        order = topological_order(self.tasks)
        self.behind = work_behind(self.tasks, lambda task: self.seconds(task, 0), order)
        self.gpu_tasks = sum(
            task.request.gpus_per_rank > 0 for name, task in self.tasks.items() if name not in self.gone
        )
        self.pool.set_keep_gpu_cores(self.gpu_tasks > 0)
        for queue in self.queues.values():
            queue.entries = [self._entry(entry[3]) for entry in queue.entries]
            heapq.heapify(queue.entries)
        held, self.held = self.held, set()  # other estimates may let them end in time
        for name in held - self.gone:
            heapq.heappush(self._queue(self.tasks[name]).entries, self._entry(name))

    def forget(self, names: Iterable[str]) -> None:
        """Forget tasks that will not run (done before, failed or skipped)."""
        for name in names:
            self._forget_one(name)

    def add_node(self, node: Node) -> None:
        self.pool.add(node)

    def remove_node(self, name: str) -> list[str]:
        """Remove a node that is lost or quarantined; return the tasks that run on it."""
        for reservation in [r for r in self.reservations if name in r.nodes]:
            self._cancel(reservation)
        return self.pool.remove(name) if name in self.pool.nodes else []

    def ready(self, name: str, *, avoid: frozenset[str] = frozenset()) -> None:
        """Queue a task that may run; it preferably does not run on the nodes of `avoid`."""
        if avoid:
            self.avoid[name] = avoid
        heapq.heappush(self._queue(self.tasks[name]).entries, self._entry(name))

    def finished(self, name: str, *, again: bool = False) -> None:
        """Free what an attempt had that ended. With `again` the task will come back."""
        start = self.running.pop(name)
        self.pool.give_back(name, start.placement.places)
        if not again:
            self._forget_one(name)

    def drain(self) -> None:
        """Start nothing more."""
        self.is_draining = True

    # Planning

    def plan(self, now: float) -> list[Start]:
        """Make one pass: everything that can start now starts, the best first."""
        if self.is_draining:
            return []
        starts = self._start_reserved(now)
        heads = [(q.entries[0], i, q) for i, q in enumerate(self._open_queues(now))]
        heapq.heapify(heads)
        aside: list[tuple[Queue, Entry]] = []  # these wait for nodes on which they did not fail
        while heads:
            _, i, queue = heapq.heappop(heads)
            self._one_head(queue, now, starts, aside)
            if queue.entries and queue.blocked_at != self.pool.version:
                heapq.heappush(heads, (queue.entries[0], i, queue))
        for queue, entry in aside:
            heapq.heappush(queue.entries, entry)
        return starts

    @property
    def waiting(self) -> int:
        """Return the number of ready tasks that have not been placed."""
        return sum(len(queue.entries) for queue in self.queues.values()) + len(self.reservations)

    def _open_queues(self, now: float) -> list[Queue]:
        """Return the queues whose head may fit, and those whose blocked head may want a reservation."""
        found = []
        for queue in self.queues.values():
            if not queue.entries:
                continue
            if queue.blocked_at != self.pool.version or self._wants_reservation(queue, now):
                found.append(queue)
        return found

    def _one_head(
        self, queue: Queue, now: float, starts: list[Start], aside: list[tuple[Queue, Entry]]
    ) -> None:
        """Start the head of a queue, hold it, reserve for it, or mark the queue as blocked."""
        entry = queue.entries[0]
        name = entry[3]
        task = self.tasks[name]
        ways = [way for way in queue.shapes if self._ends_in_time(task, way[0], now)]
        if not ways:
            heapq.heappop(queue.entries)
            self.held.add(name)
            return
        avoid = self.avoid.get(name, frozenset())
        for alternative, shape, ranks in ways:
            states = self.pool.find(shape, avoid) or self._backfill(task, alternative, shape, now)
            if states is None and avoid and not self._is_elsewhere(shape, avoid):
                states = self.pool.find(shape)
            if states is not None:
                heapq.heappop(queue.entries)
                queue.blocked_task = ""
                starts.append(self._start(name, alternative, shape, ranks, states, now))
                return
        if avoid:
            if (
                not queue.is_large
                or not self._has_room_to_reserve()
                or not self._reserve(queue, ways, now, avoid)
            ):
                aside.append((queue, heapq.heappop(queue.entries)))
            return
        if queue.blocked_task != name:
            queue.blocked_task, queue.blocked_since = name, now
        if self._wants_reservation(queue, now):
            self._reserve(queue, ways, now)
        queue.blocked_at = self.pool.version

    def _start(
        self, name: str, alternative: int, shape: Shape, ranks: int, states: list[NodeState], now: float
    ) -> Start:
        seconds = self.seconds(self.tasks[name], alternative)
        places = self.pool.take(name, states, shape, ranks, now + seconds)
        start = Start(name, Placement(tuple(places), alternative), seconds)
        self.running[name] = start
        return start

    def _ends_in_time(self, task: Task, alternative: int, now: float) -> bool:
        """Return True if the task ends in time with one standard deviation to spare."""
        if self.end is None:
            return True
        return now + self.seconds(task, alternative) * math.exp(task.spread) <= self.end

    def _is_elsewhere(self, shape: Shape, avoid: frozenset[str]) -> bool:
        """Return True if enough nodes outside `avoid` could run the shape when they are free."""
        others = (s for s in self.pool.nodes.values() if s.name not in avoid and shape.needs[s.kind])
        return sum(1 for _ in itertools.islice(others, shape.nodes)) == shape.nodes

    # Reservations

    def _wants_reservation(self, queue: Queue, now: float) -> bool:
        if not self._has_room_to_reserve() or not queue.entries or not queue.is_large:
            return False
        name = queue.entries[0][3]
        if queue.blocked_task != name:
            return False
        waited = now - queue.blocked_since
        return waited > self.patience * self.seconds(self.tasks[name], queue.shapes[0][0])

    def _has_room_to_reserve(self) -> bool:
        return len(self.reservations) < self.most_reservations

    def _reserve(
        self,
        queue: Queue,
        ways: list[tuple[int, Shape, int]],
        now: float,
        avoid: frozenset[str] = frozenset(),
    ) -> bool:
        """Reserve nodes for the head of a queue, in the first way that there are nodes and time for."""
        task = self.tasks[queue.entries[0][3]]
        for alternative, shape, ranks in ways:
            found = self.pool.earliest(shape, now, avoid if self._is_elsewhere(shape, avoid) else frozenset())
            if found is None or not self._ends_in_time(task, alternative, found[0]):
                continue
            time, states = found
            entry = heapq.heappop(queue.entries)
            for state in states:
                self.pool.hide(state.name, True)
            nodes = [state.name for state in states]
            self.reservations.append(Reservation(queue, entry, alternative, shape, ranks, nodes, time, time))
            queue.blocked_task = ""
            return True
        return False

    def _cancel(self, reservation: Reservation) -> None:
        self.reservations.remove(reservation)
        for name in reservation.nodes:
            self.pool.hide(name, False)
        heapq.heappush(reservation.queue.entries, reservation.entry)

    def _start_reserved(self, now: float) -> list[Start]:
        starts = []
        for reservation in list(self.reservations):
            name = reservation.entry[3]
            states = [self.pool.nodes[node] for node in reservation.nodes]
            way: tuple[int, Shape, int] | None = None
            if not self._ends_in_time(self.tasks[name], reservation.alternative, now):
                self._cancel(reservation)
                continue
            if all(self.pool.fits(state.key, reservation.shape) for state in states):
                way = (reservation.alternative, reservation.shape, reservation.ranks)
            elif (other := self._elsewhere_now(reservation, now)) is not None:
                way, states = other
            if way is None:
                times = (self.pool.available(state, reservation.shape, now) for state in states)
                reservation.time = max(time for time in times if time is not None)
                continue
            self.reservations.remove(reservation)
            starts.append(self._start(name, *way, states, now))
            for node in reservation.nodes:
                self.pool.hide(node, False)
        return starts

    def _elsewhere_now(
        self, reservation: Reservation, now: float
    ) -> tuple[tuple[int, Shape, int], list[NodeState]] | None:
        """Return a way to start it at once on nodes that are not reserved: some joined, or became free early.

        There is none while its own nodes will be free soon: they were emptied for it, and would
        have idled for nothing.
        """
        task = self.tasks[reservation.entry[3]]
        wait = max(reservation.time, now) - min(reservation.promised, now)  # it adds time left and delay
        if wait <= _SOON * self.seconds(task, reservation.alternative):
            return None
        avoid = self.avoid.get(task.name, frozenset())
        for way in reservation.queue.shapes:
            if self._ends_in_time(task, way[0], now) and (states := self.pool.find(way[1], avoid)):
                return way, states
        return None

    def _backfill(self, task: Task, alternative: int, shape: Shape, now: float) -> list[NodeState] | None:
        """Return a reserved node on which a task of one node would end in time."""
        if shape.nodes > 1 or not self.reservations:
            return None
        end = now + self.seconds(task, alternative)
        avoid = self.avoid.get(task.name, frozenset())
        for reservation in self.reservations:
            if end <= reservation.time:
                for name in reservation.nodes:
                    state = self.pool.nodes[name]
                    if name not in avoid and self.pool.fits(state.key, shape):
                        return [state]
        return None

    # Book-keeping

    def _entry(self, name: str) -> Entry:
        return (-self.tasks[name].priority, -self.behind.get(name, 0.0), next(self._order), name)

    def _queue(self, task: Task) -> Queue:
        known = self.by_alternatives.get(id(task.alternatives))
        if known is not None:
            return known
        key = tuple(alternative.request for alternative in task.alternatives)
        if key not in self.queues:
            ways = [
                (index, shape, request.ranks)
                for index, request in enumerate(key)
                for shape in self.pool.shapes(request)
            ]
            ways.sort(key=lambda way: (self.seconds(task, way[0]) * way[1].nodes, way[0]))
            self.queues[key] = Queue(ways)
        self._kept_alternatives.append(task.alternatives)  # its id stays its own then
        self.by_alternatives[id(task.alternatives)] = self.queues[key]
        return self.queues[key]

    def _forget_one(self, name: str) -> None:
        if name in self.gone:
            return
        self.gone.add(name)
        if self.tasks[name].request.gpus_per_rank > 0:
            self.gpu_tasks -= 1
            self.pool.set_keep_gpu_cores(self.gpu_tasks > 0)
