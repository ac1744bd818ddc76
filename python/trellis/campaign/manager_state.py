"""This is a campaign as one manager knows it, with the transitions of its tasks; it
launches and judges nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..ground.errors import Error
from .attempt import Attempt
from .claims import Claims, History
from .cost_model import CostModel
from .event_lines import EventLines
from .files import load_made_tasks
from .health import NodeHealth
from .inputs import Inputs
from .launchers.base import Launcher, Orphan
from .model import Campaign, Failure, Machine, State, Task
from .planner import Planner
from .predicates import Predicates
from .progress import Progress
from .records import Records
from .shapes import check_requests
from .state_format import check_format


class Course:
    """This is the state of a manager, which its parts share.

    Attributes
    ----------
    end
        This manager has to be over then, by the monotonic clock; None: never.
    running
        Attempts that were claimed by this manager and not judged yet.
    facts
        Outputs of done tasks: {path: {bytes, sha256}}.
    foreign
        Tasks that another manager has claimed.
    for_files
        Tasks that wait for files of their own `needs`.
    awaited
        Attempts that outlived their manager, if these are waited for.
    failed
        Reasons, of tasks that failed for good.
    is_begun
        True if the past has been looked at: from then on, what becomes free may start.
    """

    def __init__(
        self,
        campaign: Campaign,
        machine: Machine,
        launcher: Launcher,
        say: Callable[[str], None],
        seconds: float | None,
    ) -> None:
        self.campaign, self.machine, self.launcher, self.say = campaign, machine, launcher, say
        self.root, self.state = Path(campaign.root), Path(campaign.state)
        self.tasks = campaign.tasks
        check_requests(self.tasks.values(), machine)
        check_format(self.state)
        self.claims = Claims(self.state, lease_seconds=campaign.lease_seconds)
        self.lines = EventLines(
            self.state / "events" / f"{self.claims.id}.jsonl",
            lambda reason: say(f"monitors outside will miss events: {reason}"),
        )
        self.records = Records(
            self.state / "records" / f"{self.claims.id}.sqlite",
            lambda reason: say(f"the report will have gaps: {reason}"),
            lines=self.lines,
        )
        self.health = NodeHealth(
            self.state / "quarantine", node_failures=machine.node_failures, manager=self.claims.id
        )
        self.inputs = Inputs(self.root, hash_bytes=campaign.hash_inputs_bytes)
        self.cost = CostModel()
        limit = seconds if seconds is not None else machine.allocation_seconds
        self.end = None if limit is None else time.monotonic() + limit
        self.running: dict[str, Attempt] = {}
        self.histories: dict[str, History] = {}
        self.facts: dict[str, dict[str, Any]] = {}
        self.foreign: set[str] = set()
        self.for_files: set[str] = set()
        self.awaited: dict[str, Orphan] = {}
        self.failed: dict[str, str] = {}
        self.started = 0
        self.is_begun = False
        self.predicates = Predicates(self.root)
        self.progress = Progress(self.tasks)
        end = None if self.end is None else self.end - machine.drain_seconds
        self.planner = Planner(machine, self.tasks, self.cost.seconds, end=end)

    # Tasks

    def free(self, name: str) -> None:
        """Free a task that waits for no other task: it goes to files, then its
        predicate, then the planner.
        """
        if name in self.foreign or name in self.awaited or self.progress.state[name] is not State.WAITING:
            return
        task = self.tasks[name]
        if self.missing_files(task):
            self.for_files.add(name)
        elif task.predicate:
            self.predicates.ask(name, task.predicate)
        else:
            self.ready(name)

    def missing_files(self, task: Task) -> list[str]:
        """Return those files of a task's `needs` that do not exist."""
        return [path for path in task.needs if not (self.root / path).exists()]

    def look_for_files(self) -> None:
        """Free the tasks whose files have come."""
        for name in [n for n in self.for_files if not self.missing_files(self.tasks[n])]:
            self.for_files.discard(name)
            self.free(name)

    def hear_predicates(self) -> None:
        """Run, skip or fail the tasks whose predicates have answered."""
        for answer in self.predicates.hear():
            if answer.failure:
                self.records.event("predicate-failed", task=answer.task, detail=answer.failure)
                self.give_up(answer.task, Failure.INPUT, answer.failure)
            elif answer.is_wanted:
                self.ready(answer.task)
            else:
                self.records.event("skipped", task=answer.task, detail="predicate")
                self.gone(self.progress.failed(answer.task, State.SKIPPED))

    def ready(self, name: str) -> None:
        """Let the planner start a task; on other nodes than those where it failed, if there are others."""
        history = self.histories.get(name)
        avoid = frozenset(node for f in history.failures for node in f["nodes"]) if history else frozenset()
        self.progress.set([name], State.READY)
        self.planner.ready(name, avoid=avoid)

    def not_started(self, name: str) -> None:
        """Take the planner's decision back."""
        self.planner.finished(name, again=True)
        self.progress.set([name], State.WAITING)

    def is_done(self, name: str, stored: dict[str, Any]) -> list[str]:
        """Record that a task's outputs are there and valid; return the names of tasks that it made."""
        self.facts[name] = stored
        self.planner.forget([name])
        for freed in self.progress.done(name):
            if self.is_begun:
                self.free(freed)
        return self._add_made_tasks(self.tasks[name])

    def _add_made_tasks(self, task: Task) -> list[str]:
        if task.makes is None:
            return []
        try:
            made = load_made_tasks(self.root / task.makes, self.campaign)
            check_requests(made.values(), self.machine)
        except Error as error:
            self.say(f"the tasks that {task.name} made are refused: {error}")
            self.records.event("launch-refused", task=task.name, detail=str(error))
            self.failed[f"{task.name} (tasks made)"] = str(error)
            return []
        self.tasks.update(made)
        self.progress.add(made)
        self.planner.graph_changed()
        self.records.event("tasks-made", task=task.name, detail=str(len(made)))
        return list(made)

    def retries_left(self, task: Task, history: History) -> int | None:
        """Return the number of retries left in the class that has the fewest; None: one
        of them has none left.
        """
        left = 1 << 30
        for failure in Failure:
            count = sum(
                f["failure"] == failure.value
                and not (failure is Failure.TASK and set(f["nodes"]) & self.health.quarantined.keys())
                for f in history.failures
            )
            if count > task.retries.allowed(failure):
                return None
            left = min(left, task.retries.allowed(failure) - count)
        return left

    def give_up(self, name: str, failure: Failure, reason: str, *, is_new: bool = True) -> None:
        """Give up a task that failed for good; what waits for it is skipped."""
        self.failed[name] = f"{failure.value}: {reason}"
        if is_new:
            self.say(f"{name} failed for good ({failure.value}): {reason}")
        self.gone(self.progress.failed(name))

    def gone(self, names: list[str]) -> None:
        """Forget tasks that will not run."""
        self.planner.forget(names)
        self.for_files.difference_update(names)

    # Nodes

    def join(self, name: str) -> None:
        """Let a node be used."""
        node = next(node for node in self.machine.usable if node.name == name)
        self.planner.add_node(node)
        self.records.insert(
            "node",
            name=name,
            lump=node.lump,
            block=node.block,
            cpus=node.cpus,
            gpus=len(node.gpus),
            joined=time.time(),
        )

    def leave(self, node: str, reason: str, kind: str) -> None:
        """Stop using a node; `kind` is that of the event."""
        self.planner.remove_node(node)
        self.records.event(kind, node=node, detail=reason)
        self.records.update("node", {"name": node, "left": None}, left=time.time(), reason=reason)
        self.say(f"{node} is left out: {reason}")

    def quarantine(self, node: str, reason: str) -> None:
        """Quarantine a node that is at fault; other managers and later allocations leave it out too."""
        if len(self.planner.pool.nodes) <= 1 and not self.machine.health and node in self.planner.pool.nodes:
            self.say(f"{node} is suspicious ({reason}), but it is the only one")
            return
        try:
            self.health.quarantine(node, reason)
        except OSError as error:
            self.say(f"the quarantine of {node} holds for this manager alone: {error}")
        self.leave(node, reason, "quarantine")
