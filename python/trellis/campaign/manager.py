"""Runs a campaign: claims, launches, judges and repeats, until nothing is left or the allocation ends."""

from __future__ import annotations

import heapq
import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .. import __version__
from ..errors import BadArgument, Error
from .attempt import (
    Attempt,
    check_outputs,
    classify,
    environment_of,
    grown_size,
    input_facts,
    outputs_of,
    prepare,
    publish,
    safe_name,
)
from .claims import Claims, History
from .cost_model import CostModel
from .files import load_made_tasks
from .health import NodeHealth
from .launchers import make_launcher
from .launchers.base import Ended, Launcher, Orphan
from .model import Campaign, Failure, Machine, State, Task
from .outputs import problem_of, set_aside, still_valid
from .planner import Planner, Start
from .progress import Progress
from .records import Records
from .shapes import check_requests

#: Between SIGTERM and SIGKILL to a task.
GRACE_SECONDS = 5.0
LOOK_SECONDS = 1.0


@dataclass(slots=True)
class Result:
    """How a manager ended."""

    counts: dict[str, int]
    failed: dict[str, str]
    started: int
    seconds: float
    reason: str
    problems: list[str] = field(default_factory=list)


class Manager:
    """One manager of a campaign on one machine.

    Parameters
    ----------
    say
        Gets a line for people at each event worth it.
    seconds
        Until this manager stops; default: the allocation's length, or no end.
    """

    def __init__(
        self,
        campaign: Campaign,
        machine: Machine,
        *,
        launcher: Launcher | None = None,
        say: Callable[[str], None] = lambda line: None,
        seconds: float | None = None,
    ) -> None:
        self.launcher = launcher or make_launcher(machine)
        machine = self.launcher.machine  # with the nodes of this allocation
        self.campaign, self.machine, self.say = campaign, machine, say
        self.root, self.state = Path(campaign.root), Path(campaign.state)
        self.tasks = campaign.tasks
        check_requests(self.tasks.values(), machine)
        self.state.mkdir(parents=True, exist_ok=True)
        self.claims = Claims(self.state, lease_seconds=campaign.lease_seconds)
        self.records = Records(self.state / "records" / f"{self.claims.id}.sqlite")
        self.health = NodeHealth(self.state / "quarantine", node_failures=machine.node_failures)
        self.cost = CostModel()
        self.limit = seconds if seconds is not None else machine.allocation_seconds
        self.began = time.monotonic()
        self.end = None if self.limit is None else self.began + self.limit
        self.running: dict[str, Attempt] = {}
        self.histories: dict[str, History] = {}
        self.facts: dict[str, dict[str, Any]] = {}  # outputs of done tasks
        self.foreign: set[str] = set()  # claimed by another manager
        self.for_files: set[str] = set()  # wait for files of their own `needs`
        self.asking: dict[str, subprocess.Popen] = {}  # predicates under way
        self.ask_later: list[tuple[float, str]] = []
        self.failed: dict[str, str] = {}
        self.killed: list[tuple[float, str]] = []
        self.awaited: dict[str, Orphan] = {}
        self.started = 0
        self.on_progress: Callable[[int, int], None] = lambda done, total: None
        self.signals = 0
        self.next_look = self.next_beat = 0.0
        self.progress = Progress(self.tasks)
        self.planner = self._make_planner()

    # The run

    def run(self) -> Result:
        """Until all tasks have ended, the allocation ends, or SIGTERM."""
        reason = "error"
        handlers = {s: signal.signal(s, self._on_signal) for s in (signal.SIGTERM, signal.SIGINT)}
        try:
            self._begin()
            reason = self._loop()
        finally:
            self._close(reason)
            for number, handler in handlers.items():
                signal.signal(number, handler)
        counts = {state.value: count for state, count in self.progress.counts.items() if count}
        return Result(counts, self.failed, self.started, time.monotonic() - self.began, reason)

    def _make_planner(self) -> Planner:
        end = None if self.end is None else self.end - self.machine.drain_seconds
        return Planner(self.machine, self.tasks, self.cost.seconds, end=end)

    def _begin(self) -> None:
        self.claims.beat()
        self.records.insert(
            "manager",
            id=self.claims.id,
            host=socket.gethostname(),
            pid=os.getpid(),
            started=time.time(),
            code_version=__version__,
            machine={
                "name": self.machine.name,
                "nodes": len(self.machine.nodes),
                "launcher": self.machine.launcher,
            },
            campaign={"name": self.campaign.name, "tasks": len(self.tasks), "text": self.campaign.text},
        )
        self.launcher.start()
        left = self.launcher.seconds_left()
        if left is not None and (self.end is None or time.monotonic() + left < self.end):
            self.end = time.monotonic() + left
            self.planner.end = self.end - self.machine.drain_seconds
        for node in self.machine.usable:
            if node.name not in self.health.quarantined:
                self._join(node.name)
        self._meet_orphans()
        self._look_at_history()
        self.records.commit(now=True)

    def _join(self, name: str) -> None:
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

    def _loop(self) -> str:
        while True:
            self._look_around()
            for handle, ended in self.launcher.poll(self._pause()):
                self._ended(handle.launch.task, ended)
            now = time.monotonic()
            for start in self.planner.plan(now):
                self._start(start)
            self.records.commit()
            self.on_progress(self.progress.counts[State.DONE], len(self.tasks))
            if self.progress.is_over:
                return "finished"
            if self.end is not None and now >= self.end:
                return "allocation ended"
            if self.signals > 1:
                return "interrupted"
            if not self.running and not self.awaited and self._nothing_will_start():
                return "drained" if self.planner.is_draining else self._why_stuck()

    def _pause(self) -> float:
        """How long the launcher may wait: short while planning could help, longer when all is busy."""
        if not self.running:
            return 0.05
        return 0.02 if self.killed or self.asking else 0.2

    def _nothing_will_start(self) -> bool:
        if self.planner.is_draining:
            return True
        if self.foreign or self.asking or self.ask_later:
            return False
        if self.for_files:
            # Nothing runs that could make these files: they are missing inputs.
            for name in sorted(self.for_files):
                missing = self._missing_files(self.tasks[name])
                if missing:
                    self._give_up(name, Failure.INPUT, f"not there: {', '.join(missing)}")
            self.for_files.clear()
            return False
        return self.planner.waiting == 0 or not self.planner.pool.nodes or not self._something_fits()

    def _something_fits(self) -> bool:
        """Whether a ready task would fit the nodes that are left when all are idle (they are)."""
        return any(
            self.planner.pool.find(shape)
            for q in self.planner.queues.values()
            if q.entries
            for _, shape, _ in q.shapes
        ) or bool(self.planner.reservations)

    def _why_stuck(self) -> str:
        if self.planner.held and not self.planner.waiting:
            return "the rest is too long for what is left of the allocation"
        return f"no usable node is left for {self.planner.waiting} tasks"

    # Before the first launch

    def _meet_orphans(self) -> None:
        """What a dead manager left running is ended, or awaited."""
        orphans = self.launcher.orphans(self.state, self.claims.known_managers())
        if self.campaign.orphans == "await":
            for orphan in orphans:
                self.awaited[orphan.task] = orphan
                self.say(f"waiting for {orphan.task}, which outlived its manager")
            return
        for hard in (False, True):
            deadline = time.monotonic() + GRACE_SECONDS
            left = [o for o in orphans if self.launcher.end_orphan(o, hard=hard)]
            while left and time.monotonic() < deadline:
                time.sleep(0.02)
                left = [o for o in left if self.launcher.end_orphan(o, hard=hard)]
            if not left:
                break
        for orphan in orphans:
            self.records.event("orphan-ended", task=orphan.task, detail=f"attempt {orphan.attempt}")
            self.say(f"ended attempt {orphan.attempt} of {orphan.task}, which outlived its manager")

    def _look_at_history(self) -> None:
        """What is done, what failed, what others run."""
        self.histories = self.claims.histories()
        todo = list(self.tasks)
        while todo:
            made: list[str] = []
            for name in todo:
                if name in self.histories:
                    made += self._judge_history(name, self.histories[name])
                else:
                    self._adopt(self.tasks[name])
            todo = made
        for name in self.progress.free():
            self._free(name)

    def _judge_history(self, name: str, history: History) -> list[str]:
        """Returns the names of tasks that a done task has made."""
        task = self.tasks[name]
        if history.end == "done":
            problem = still_valid(self.root, history.content["outputs"], task) if task.outputs else None
            if problem is None:
                return self._is_done(name, history.content["outputs"])
            self.say(f"{name} was done, but {problem}: it runs again")
            self.records.event("invalid", task=name, detail=problem)
        elif history.end == "" and self.claims.is_alive(history.manager):
            self.foreign.add(name)
        elif history.end == "" and (stored := self._take_over(task, history)) is not None:
            return self._is_done(name, stored)
        elif self._retries_left(task, history) is None:
            last = history.failures[-1]
            self._give_up(name, Failure(last["failure"]), last["reason"], is_new=False)
        return []

    def _adopt(self, task: Task) -> None:
        """A task that was never claimed is done if its outputs are there and prove themselves."""
        if not task.outputs or not all(output.proves_itself for output in task.outputs):
            return
        stored = {}
        for output in task.outputs:
            problem, facts = problem_of(self.root / output.path, output)
            if problem is not None:
                return
            stored[output.path] = facts
        if self.claims.claim(task.name, 0, {"task": task.name, "adopted": True}):
            self.claims.end(task.name, 0, "done", {"outputs": stored, "adopted": True})
            self._is_done(task.name, stored)

    def _retries_left(self, task: Task, history: History) -> int | None:
        """Number of retries left in the class that has the fewest; None: none in one of them."""
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

    # What is free to run

    def _free(self, name: str) -> None:
        """A task waits for no other task: files, then its predicate, then the planner."""
        if name in self.foreign or name in self.awaited or self.progress.state[name] is not State.WAITING:
            return
        task = self.tasks[name]
        if self._missing_files(task):
            self.for_files.add(name)
        elif task.predicate:
            self._ask(name)
        else:
            self._ready(name)

    def _missing_files(self, task: Task) -> list[str]:
        return [path for path in task.needs if not (self.root / path).exists()]

    def _ready(self, name: str) -> None:
        history = self.histories.get(name)
        avoid = frozenset(node for f in history.failures for node in f["nodes"]) if history else frozenset()
        self.progress.set([name], State.READY)
        self.planner.ready(name, avoid=avoid)

    def _ask(self, name: str) -> None:
        task = self.tasks[name]
        try:
            self.asking[name] = subprocess.Popen(
                task.predicate, cwd=self.root, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
            )
        except OSError as error:
            self._give_up(name, Failure.INPUT, f"predicate: {error}")

    def _look_at_predicates(self) -> None:
        for name, process in list(self.asking.items()):
            status = process.poll()
            if status is None:
                continue
            del self.asking[name]
            if status == 0:
                self._ready(name)
            elif status == 1:
                self.records.event("skipped", task=name, detail="predicate")
                self._gone(self.progress.failed(name, State.SKIPPED))
            elif status == 75:
                heapq.heappush(self.ask_later, (time.monotonic() + LOOK_SECONDS, name))
            else:
                self._give_up(name, Failure.INPUT, f"predicate ended with status {status}")
        while self.ask_later and self.ask_later[0][0] <= time.monotonic():
            self._ask(heapq.heappop(self.ask_later)[1])

    # Launching

    def _start(self, start: Start) -> None:
        name, task = start.task, self.tasks[start.task]
        if self._missing_files(task):
            self._not_started(name)
            self.for_files.add(name)
            return
        history = self.histories.get(name, History())
        number = history.attempt + 1
        places = [[p.node, p.ranks, list(p.cpus), list(p.gpus), p.share] for p in start.placement.places]
        if not self.claims.claim(
            name, number, {"task": name, "places": places, "alternative": start.placement.alternative}
        ):
            self._not_started(name)
            self.foreign.add(name)
            return
        now = time.monotonic()
        attempt = Attempt(
            task=task,
            number=number,
            placement=start.placement,
            estimate=start.estimate,
            outputs=outputs_of(task, number, start.placement.alternative, self.state),
            log=self.state / "logs" / f"{safe_name(name)}.{number}.log",
            started=now,
            started_at=time.time(),
            deadline=None if task.timeout is None else now + task.timeout,
            grown_at=now,
        )
        attempt.inputs = input_facts(task, self.facts)
        self.histories[name] = history
        history.attempt = number
        self.running[name] = attempt
        self.started += 1
        self.progress.set([name], State.RUNNING)
        try:
            launch, aside = prepare(attempt, self.campaign, self.machine)
        except OSError as error:
            self._record_start(attempt, ())
            self._ended(name, Ended(None, launcher_error=str(error)))
            return
        for path in aside:
            self.records.event("set-aside", task=name, detail=path)
        self._record_start(attempt, launch.command)
        environment = environment_of(attempt, self.campaign, self.machine, self.claims.id)
        attempt.handle = self.launcher.launch(launch, start.placement, environment)

    def _not_started(self, name: str) -> None:
        """The planner's decision is taken back."""
        self.planner.finished(name, again=True)
        self.progress.set([name], State.WAITING)

    def _record_start(self, attempt: Attempt, command: tuple[str, ...]) -> None:
        task, placement = attempt.task, attempt.placement
        self.records.insert(
            "attempt",
            task=task.name,
            number=attempt.number,
            task_group=task.group,
            parameters=dict(task.parameters),
            alternative=placement.alternative,
            places=[[p.node, p.ranks, p.cpus, p.gpus, p.share] for p in placement.places],
            command=command,
            estimate=attempt.estimate,
            started=attempt.started_at,
            outcome="running",
            inputs=attempt.inputs,
            log=str(attempt.log),
            ranks=placement.ranks,
            cpus=placement.cpus,
            gpus=placement.gpus,
        )

    # Ends

    def _ended(self, name: str, ended: Ended) -> None:
        """The outputs decide, whatever the exit status."""
        attempt = self.running.pop(name)
        seconds = time.monotonic() - attempt.started
        problem, stored = check_outputs(attempt, self.root)
        if problem is None and attempt.killed_for not in ("timeout", "silence", "shutdown"):
            try:
                self._succeeded(attempt, ended, stored, seconds)
                return
            except OSError as error:
                problem = f"outputs could not be published: {error}"
        self._failed_attempt(attempt, ended, problem or f"ended for {attempt.killed_for}")

    def _succeeded(self, attempt: Attempt, ended: Ended, stored: dict[str, Any], seconds: float) -> None:
        name = attempt.task.name
        self.claims.end(name, attempt.number, "done", {"outputs": stored, "seconds": seconds})
        publish(attempt, self.root)
        self._record_end(attempt, ended, "done", "", stored)
        self.planner.finished(name)
        self.cost.learn(attempt.task, attempt.placement.alternative, seconds)
        for node in self.health.task_done(name, attempt.placement.nodes):
            self._quarantine(node, "two tasks that failed on it worked elsewhere")
        made = self._is_done(name, stored)
        for follower in made:
            if self.progress.missing[follower] == 0:
                self._free(follower)

    def _is_done(self, name: str, stored: dict[str, Any]) -> list[str]:
        """Returns the names of tasks that it made."""
        self.facts[name] = stored
        self.planner.forget([name])
        for freed in self.progress.done(name):
            if self.next_look:  # not while the history is read
                self._free(freed)
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

    def _failed_attempt(self, attempt: Attempt, ended: Ended, problem: str) -> None:
        task, name = attempt.task, attempt.task.name
        nodes = attempt.placement.nodes
        if attempt.killed_for == "shutdown":
            self._end_claim(attempt, "released", {"nodes": list(nodes)})
            self._record_end(attempt, ended, "released", "the manager stopped", {})
            self._not_started(name)
            return
        failure, reason = classify(attempt, ended, problem)
        bad = ended.lost_nodes
        if failure is Failure.TASK:
            bad = tuple(node for node in nodes if not self._is_sound(node))
            if bad:
                failure, reason = Failure.NODE, f"the health command fails on {', '.join(bad)}; {reason}"
        content = {"failure": failure.value, "reason": reason, "nodes": list(nodes), "status": ended.status}
        self._end_claim(attempt, "failed", content)
        self._record_end(attempt, ended, failure.value, reason, {})
        self.histories[name].failures.append(content)
        for _, written, is_renamed in attempt.outputs:
            if is_renamed and task.outputs and (aside := set_aside(self.root / written)):
                self.records.event("set-aside", task=name, detail=str(aside))
        self.planner.finished(name, again=True)
        for node in bad if failure is Failure.NODE else ():
            if self.health.node_failed(node):
                self._quarantine(node, reason)
        if failure is Failure.TASK:
            self.health.task_failed(name, nodes)
        if self._retries_left(task, self.histories[name]) is None:
            self._give_up(name, failure, reason)
            return
        self.say(f"{name}: attempt {attempt.number} failed ({failure.value}): {reason}")
        self.progress.set([name], State.WAITING)
        self._free(name)

    def _end_claim(self, attempt: Attempt, kind: str, content: dict[str, Any]) -> None:
        try:
            self.claims.end(attempt.task.name, attempt.number, kind, content)
        except OSError as error:
            self.say(f"{attempt.task.name}: its end could not be written: {error}")

    def _record_end(self, attempt: Attempt, ended: Ended, outcome: str, reason: str, outputs: dict) -> None:
        self.records.end_attempt(
            attempt.task.name,
            attempt.number,
            ended=time.time(),
            status=ended.status,
            outcome=outcome,
            reason=reason,
            outputs=outputs,
        )

    def _is_sound(self, node: str) -> bool:
        """What the machine's health command says, run with TRELLIS_NODE set."""
        if not self.machine.health:
            return True
        command = [word.replace("{node}", node) for word in self.machine.health]
        try:
            return subprocess.run(command, stdin=subprocess.DEVNULL, timeout=30, check=False).returncode == 0
        except (OSError, subprocess.TimeoutExpired):
            return False

    def _quarantine(self, node: str, reason: str) -> None:
        if len(self.planner.pool.nodes) <= 1 and not self.machine.health and node in self.planner.pool.nodes:
            self.say(f"{node} is suspicious ({reason}), but it is the only one")
            return
        self.health.quarantine(node, reason)
        self._leave(node, reason, "quarantine")

    def _leave(self, node: str, reason: str, kind: str) -> None:
        self.planner.remove_node(node)
        self.records.event(kind, node=node, detail=reason)
        self.records.update("node", {"name": node}, left=time.time(), reason=reason)
        self.say(f"{node} is left out: {reason}")

    def _give_up(self, name: str, failure: Failure, reason: str, *, is_new: bool = True) -> None:
        self.failed[name] = f"{failure.value}: {reason}"
        if is_new:
            self.say(f"{name} failed for good ({failure.value}): {reason}")
        self._gone(self.progress.failed(name))

    def _gone(self, names: list[str]) -> None:
        self.planner.forget(names)
        self.for_files.difference_update(names)

    # Now and then

    def _look_around(self) -> None:
        now = time.monotonic()
        if now >= self.next_beat:
            self.next_beat = now + self.campaign.lease_seconds / 4
            self.claims.beat()
        self._look_at_predicates()
        self._kill_hard(now)
        if now < self.next_look:
            return
        self.next_look = now + LOOK_SECONDS
        self._look_at_times(now)
        self._look_at_nodes()
        self._look_at_foreign()
        self._look_at_awaited()
        for name in [n for n in self.for_files if not self._missing_files(self.tasks[n])]:
            self.for_files.discard(name)
            self._free(name)
        if self.cost.refit():
            self.planner.graph_changed()
            self.records.event(
                "model-fitted", detail=json.dumps({f"{g}/{a}": s for (g, a), s in self.cost.used.items()})
            )

    def _look_at_times(self, now: float) -> None:
        for attempt in self.running.values():
            if attempt.handle is None or attempt.killed_for:
                continue
            if attempt.deadline is not None and now > attempt.deadline:
                self._kill(attempt, "timeout")
            elif attempt.task.silence is not None:
                size = grown_size(attempt, self.root)
                if size != attempt.size:
                    attempt.size, attempt.grown_at = size, now
                elif now - attempt.grown_at > attempt.task.silence:
                    self._kill(attempt, "silence")

    def _kill(self, attempt: Attempt, why: str) -> None:
        attempt.killed_for = why
        assert attempt.handle is not None
        self.launcher.kill(attempt.handle)
        heapq.heappush(self.killed, (time.monotonic() + GRACE_SECONDS, attempt.task.name))

    def _kill_hard(self, now: float) -> None:
        while self.killed and self.killed[0][0] <= now:
            attempt = self.running.get(heapq.heappop(self.killed)[1])
            if attempt is not None and attempt.killed_for and attempt.handle is not None:
                self.launcher.kill(attempt.handle, hard=True)

    def _look_at_nodes(self) -> None:
        joined, lost = self.launcher.node_changes()
        for name in lost:
            if name in self.planner.pool.nodes:
                self._leave(name, "lost", "node-lost")
        for name in joined:
            if name not in self.planner.pool.nodes and name not in self.health.quarantined:
                self._join(name)
                self.records.event("node-joined", node=name)

    def _look_at_foreign(self) -> None:
        """Tasks that other managers had claimed."""
        for name in list(self.foreign):
            history = self.claims.history(name)
            if history.end == "" and self.claims.is_alive(history.manager):
                continue
            self.foreign.discard(name)
            if history.end == "":
                self.records.event("claim-taken-over", task=name, detail=history.manager)
                self._meet_orphans()
            self.histories[name] = history
            made = self._judge_history(name, history)
            for other in [name, *made]:
                if self.progress.state[other] is State.WAITING and self.progress.missing[other] == 0:
                    self._free(other)

    def _look_at_awaited(self) -> None:
        """Attempts that outlived their manager: at their end the outputs decide as always."""
        if not self.awaited:
            return
        alive = {o.task for o in self.launcher.orphans(self.state, self.claims.known_managers())}
        for name in [name for name in self.awaited if name not in alive]:
            del self.awaited[name]
            history = self.histories[name] = self.claims.history(name)
            made = self._judge_history(name, history)
            for other in [name, *made]:
                if self.progress.missing[other] == 0:
                    self._free(other)

    def _take_over(self, task: Task, history: History) -> dict[str, Any] | None:
        """What a dead manager's attempt left, if all of it proves itself: then it need not run again."""
        if task.name in self.awaited or not all(output.proves_itself for output in task.outputs):
            return None
        stored: dict[str, Any] = {}
        alternative = history.claim.get("alternative", 0)
        for output, written, is_renamed in outputs_of(task, history.attempt, alternative, self.state):
            problem, facts = problem_of(self.root / written, output)
            if problem is not None:
                return None
            stored[output.path] = {**facts, **({"temporary": written} if is_renamed else {})}
        number = history.attempt + 1
        if not stored or not task.outputs or not self.claims.claim(task.name, number, {"task": task.name}):
            return None
        history.attempt = number
        self.claims.end(task.name, number, "done", {"outputs": stored, "taken_over": True})
        return stored if still_valid(self.root, stored, task) is None else None

    # The end

    def _on_signal(self, number: int, frame: object) -> None:
        self.signals += 1
        if not self.planner.is_draining:
            self.planner.drain()

    def _close(self, reason: str) -> None:
        """Tasks that still run are ended, and their claims released."""
        for attempt in self.running.values():
            if attempt.handle is not None:
                attempt.killed_for = attempt.killed_for or "shutdown"
                self.launcher.kill(attempt.handle)
        deadline = time.monotonic() + GRACE_SECONDS
        hard = False
        while self.running and time.monotonic() < deadline:
            for handle, ended in self.launcher.poll(0.1):
                self._ended(handle.launch.task, ended)
            if not hard and time.monotonic() > deadline - GRACE_SECONDS / 2:
                hard = True
                for attempt in self.running.values():
                    if attempt.handle is not None:
                        self.launcher.kill(attempt.handle, hard=True)
        for process in self.asking.values():
            process.kill()
            process.wait()
        self.launcher.close()
        self.progress.set([n for n in self.planner.held if self.progress.state[n] is State.READY], State.HELD)
        self.records.event("ended", detail=reason)
        self.records.update("manager", {"id": self.claims.id}, ended=time.time())
        self.records.close()
        self.claims.beat(ended=True)


def run_campaign(campaign: Campaign, machine: Machine, **options: Any) -> Result:
    """Run a campaign with a manager of this process; see :class:`Manager`."""
    if not campaign.tasks:
        raise BadArgument("the campaign has no tasks")
    return Manager(campaign, machine, **options).run()
