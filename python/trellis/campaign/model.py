"""A campaign has these words: machine, node, task, request, placement. They are plain
values; nothing is run here.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..ground.errors import BadArgument
from .batch import Batch

_NOTHING: Mapping[str, str] = {}


class Failure(enum.StrEnum):
    """An attempt did not end with valid outputs for one of these reasons. Each class has its
    own number of retries.
    """

    TASK = "task"  # the program ended without valid outputs
    NODE = "node"  # the node was lost, or fails whatever runs there
    LAUNCHER = "launcher"  # the program could not be started
    INPUT = "input"  # a file that it needs is not there
    TIMEOUT = "timeout"  # it ran longer than it may, or its output did not grow
    OUT_OF_MEMORY = "out_of_memory"


class State(enum.StrEnum):
    """A task has one of these states, as `trellis campaign status` shows it."""

    WAITING = "waiting"  # it waits for tasks, files or its predicate
    READY = "ready"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"  # it has no retries left
    SKIPPED = "skipped"  # its predicate was false, or a task that it needs failed
    HELD = "held"  # it is too long for what is left of the allocation


@dataclass(frozen=True, slots=True)
class Gpu:
    """This is a GPU with the cores next to it, which only tasks on this GPU get while any task needs GPUs."""

    kind: str = "gpu"
    cpus: tuple[int, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Node:
    """This is a node.

    Attributes
    ----------
    cpus
        Number of cores; they are numbered from 0.
    memory_mib
        0: not counted.
    lump
        Nodes that are launched together; one that does not report in time is left out.
    block
        A task lives within one block.
    """

    name: str
    cpus: int
    gpus: tuple[Gpu, ...] = ()
    memory_mib: int = 0
    lump: int = 0
    block: int = 0
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StartUp:
    """These are the simulator's costs of starting.

    Lumps launch in `lump_seconds` +- `lump_spread` (normal), a fraction comes `late_seconds` later, and each
    task costs `step_seconds` before its program runs.
    """

    lump_seconds: float = 0.0
    lump_spread: float = 0.0
    late_fraction: float = 0.0
    late_seconds: float = 0.0
    step_seconds: float = 0.0
    bad_fraction: float = 0.0


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine has the nodes on which a campaign runs and the launcher that starts programs there.

    Attributes
    ----------
    launcher
        Name of an adapter in :mod:`.launchers`.
    launcher_options
        The adapter needs these (in its own words); `launchers.check_options` checks their types.
    allocation_seconds
        Length of an allocation; None: no end.
    join_timeout
        Seconds after which a lump that has not reported is left out.
    health
        A command run on a node after a failure there; if it fails, the node is at fault.
    node_failures
        So many node failures quarantine a node.
    settle_seconds
        Outputs of a task that ended with status 0 may be seen so much later (parallel file systems).
    batch
        Words of its batch jobs.
    """

    name: str
    nodes: tuple[Node, ...]
    launcher: str = "process"
    launcher_options: Mapping[str, Any] = field(default_factory=dict)
    bad_hosts: frozenset[str] = frozenset()
    allocation_seconds: float | None = None
    drain_seconds: float = 0.0
    join_timeout: float = 30.0
    health: tuple[str, ...] = ()
    node_failures: int = 1
    settle_seconds: float = 0.0
    start_up: StartUp = StartUp()
    batch: Batch = field(default_factory=Batch)

    @property
    def usable(self) -> tuple[Node, ...]:
        """Return the nodes that are not on the bad-host list."""
        return tuple(node for node in self.nodes if node.name not in self.bad_hosts)


@dataclass(frozen=True, slots=True)
class Request:
    """One attempt needs these resources.

    Attributes
    ----------
    nodes
        Exactly so many; None: as few as hold the ranks.
    threads
        Cores per rank.
    gpus_per_rank
        A whole number, or a fraction below 1 of a GPU that others may share.
    gpu_kind
        "" takes any kind.
    memory_mib
        Per rank; 0: not counted.
    min_ranks_per_node
        The ranks may be spread thinner with nodes = None, down to this.
    whole_nodes
        Nothing else runs on these nodes meanwhile.
    """

    nodes: int | None = None
    ranks: int = 1
    threads: int = 1
    gpus_per_rank: float = 0.0
    gpu_kind: str = ""
    memory_mib: int = 0
    min_ranks_per_node: int | None = None
    whole_nodes: bool = False

    @property
    def gpus(self) -> float:
        return self.ranks * self.gpus_per_rank

    @property
    def cpus(self) -> int:
        return self.ranks * self.threads


@dataclass(frozen=True, slots=True)
class ModelEstimate:
    """The scaling model shall give this estimate: iterations of solves, and extents, are texts."""

    iterations: str = ""
    lattice: str | None = None


@dataclass(frozen=True, slots=True)
class Alternative:
    """This is one way to run a task, with its own time estimate (seconds), environment and command.

    A command of None is the task's own. `is_estimated` is false if the file gives no estimate, or leaves it
    to the scaling model (`by_model`), which has not been asked yet.
    """

    request: Request = Request()
    estimate: float = 60.0
    environment: Mapping[str, str] = field(default_factory=dict)
    command: tuple[str, ...] | None = None
    is_estimated: bool = True
    by_model: ModelEstimate | None = None


@dataclass(frozen=True, slots=True)
class Output:
    """This is a file that a task makes; it has conditions on which it counts as valid.

    Attributes
    ----------
    path
        Relative to the campaign's root. A command that contains {output} (or {output:1}, ...) gets a
        temporary name, which is renamed when the file is valid; one that does not writes here itself.
    min_bytes, bytes, sha256, end_marker
        Conditions: at least so large, exactly so large, this checksum, these last bytes (trailing blanks and
        line ends apart).
    is_atomic
        The program itself writes under another name and renames: what is there is whole.
    """

    path: str
    min_bytes: int = 1
    bytes: int | None = None
    sha256: str | None = None
    end_marker: str | None = None
    is_atomic: bool = False

    @property
    def proves_itself(self) -> bool:
        """Return True if a file found there can be judged without knowing how it was made."""
        return (
            self.is_atomic or self.bytes is not None or self.sha256 is not None or self.end_marker is not None
        )


@dataclass(frozen=True, slots=True)
class Retries:
    """An attempt is repeated this many times, for each class of failure."""

    task: int = 1
    node: int = 5
    launcher: int = 3
    input: int = 0
    timeout: int = 0
    out_of_memory: int = 0

    def allowed(self, failure: Failure) -> int:
        return int(getattr(self, failure.value))


@dataclass(slots=True)
class Task:
    """This is one task of the expanded graph.

    Attributes
    ----------
    name
        Unique in the campaign.
    group
        Name of the table in the campaign file; tasks of a group share a cost model.
    command
        {output}, {output:N}, {ranks}, {threads}, {nodes}, {gpus} are filled in when it is launched.
    directory
        Working directory; relative to the campaign's root.
    parameters
        The parameters of the expansion: the cost model takes them as features, and the report shows them.
    after
        Names of tasks that must be done.
    needs
        Files that must be there.
    predicate
        A command asked when all else is ready: status 0 runs the task, 1 skips it, 75 asks again later.
    makes
        A TOML file that the task writes with further tasks of the campaign.
    timeout
        Seconds; None: no limit.
    silence
        Seconds without growth of log and outputs that count as hanging; None: no limit.
    spread
        Standard deviation of log(duration / estimate): the margin at the end of an allocation, and what the
        simulator draws from.
    run_file
        Text of the stage's run file; written before the launch, {run_file} is its path.
    """

    name: str
    group: str
    command: tuple[str, ...]
    alternatives: tuple[Alternative, ...] = (Alternative(),)
    directory: str = "."
    environment: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    parameters: Mapping[str, object] = field(default_factory=dict)
    priority: int = 0
    after: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    predicate: tuple[str, ...] = ()
    outputs: tuple[Output, ...] = ()
    makes: str | None = None
    retries: Retries = Retries()
    timeout: float | None = None
    silence: float | None = None
    spread: float = 0.0
    project: str = ""
    tags: tuple[str, ...] = ()
    run_file: str = ""

    @property
    def request(self) -> Request:
        """Return the request of the first alternative."""
        return self.alternatives[0].request

    @property
    def estimate(self) -> float:
        """Return the estimate of the first alternative, in seconds."""
        return self.alternatives[0].estimate


@dataclass(frozen=True, slots=True)
class Place:
    """This is the share of a task on one node: so many ranks run on these cores and GPUs.

    With `share` below 1 the GPU is shared with other tasks.
    """

    node: str
    ranks: int
    cpus: tuple[int, ...]
    gpus: tuple[int, ...] = ()
    share: float = 1.0
    memory_mib: int = 0


@dataclass(frozen=True, slots=True)
class Placement:
    """An attempt runs at these places; `alternative` is the index into the task's alternatives."""

    places: tuple[Place, ...]
    alternative: int = 0

    @property
    def nodes(self) -> tuple[str, ...]:
        return tuple(place.node for place in self.places)

    @property
    def ranks(self) -> int:
        return sum(place.ranks for place in self.places)

    @property
    def gpus(self) -> float:
        return sum(len(place.gpus) * place.share for place in self.places)

    @property
    def cpus(self) -> int:
        return sum(len(place.cpus) for place in self.places)


@dataclass(slots=True)
class Campaign:
    """This is an expanded campaign file.

    Attributes
    ----------
    root
        Absolute; all relative paths of tasks start here.
    state
        Absolute folder with claims, records and logs; shared by all managers of the campaign.
    hang_factor, hang_least_seconds
        An attempt without a timeout of its own hangs after max(least, factor * estimate); factor 0: never.
    hash_inputs_bytes
        Files of `needs` up to this size are hashed for the provenance.
    """

    name: str
    root: str
    state: str
    tasks: dict[str, Task]
    lease_seconds: float = 60.0
    orphans: str = "end"
    text: str = ""
    hang_factor: float = 20.0
    hang_least_seconds: float = 3600.0
    hash_inputs_bytes: int = 1 << 26


def tasks_for_model(tasks: Mapping[str, Task]) -> list[str]:
    """Return the names of tasks whose estimates the scaling model shall give, and has not given yet."""
    return [
        task.name
        for task in tasks.values()
        if any(way.by_model is not None and not way.is_estimated for way in task.alternatives)
    ]


def require_estimates(tasks: Mapping[str, Task]) -> None:
    """Require that the scaling model has given all estimates that files leave to it.

    Raises
    ------
    BadArgument
        It has not: tasks that tasks make cannot ask it, and programs in Python ask
        :func:`trellis.model.plan.with_estimates`.
    """
    asking = tasks_for_model(tasks)
    if asking:
        raise BadArgument(
            f'task {asking[0]}: estimate: "model" is known to the commands trellis campaign plan, run and '
            "simulate alone; expected a duration here"
        )
