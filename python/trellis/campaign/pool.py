"""Nodes have free resources; the pool searches for nodes that can give what a task needs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .model import Node, Place, Request
from .shapes import WHOLE_GPU, Need, NodeType, Shape, shapes_of

#: A key has the type of the node, free common cores, free GPUs, free memory, the largest free share of a GPU
#: in use, whether it is idle, and all free cores.
Key = tuple[int, int, int, int, int, bool, int]


class NodeState:
    """These are the free resources of one node; sets of cores and GPUs are bit masks."""

    __slots__ = (
        "bound", "cpus", "ends", "gpus", "index", "is_hidden", "is_whole", "key", "kind", "memory", "name",
        "node", "shares",
    )  # fmt: skip

    def __init__(self, node: Node, index: int, kind: int) -> None:
        self.node, self.index, self.kind, self.name = node, index, kind, node.name
        self.cpus = (1 << node.cpus) - 1
        self.gpus = (1 << len(node.gpus)) - 1
        self.memory = node.memory_mib
        self.shares: dict[int, int] = {}  # a GPU in shared use has free thousandths
        self.bound = [sum(1 << c for c in gpu.cpus) for gpu in node.gpus]
        self.ends: dict[str, tuple[float, Need]] = {}  # a task has its expected end
        self.is_hidden = False  # True means that it is reserved
        self.is_whole = False  # one task has it to itself
        self.key: Key = (0, 0, 0, 0, 0, False, 0)

    @property
    def is_searched(self) -> bool:
        return not (self.is_hidden or self.is_whole)


class Pool:
    """These are all nodes that can be used now.

    Attributes
    ----------
    version
        Grows whenever something becomes free: what did not fit at a version does not fit at it later.
    keep_gpu_cores
        Cores next to GPUs are for tasks on GPUs only.
    """

    def __init__(self, kinds: Sequence[NodeType]) -> None:
        self.kinds = list(kinds)
        self.nodes: dict[str, NodeState] = {}
        self.buckets: dict[Key, dict[str, NodeState]] = {}
        self.blocks: dict[int, dict[Key, dict[str, NodeState]]] = {}
        self.members: dict[int, dict[str, NodeState]] = {}
        self.block_version: dict[int, int] = {}
        self.counts: dict[Shape, dict[int, tuple[int, int]]] = {}  # by block: its version, nodes that fit
        self.keep_gpu_cores = True
        self.version = 0

    def shapes(self, request: Request) -> list[Shape]:
        return shapes_of(request, self.kinds)

    # Nodes

    def add(self, node: Node) -> None:
        state = NodeState(node, len(self.nodes), self.kinds.index(NodeType.of(node)))
        self.nodes[node.name] = state
        self.blocks.setdefault(node.block, {})
        self.block_version.setdefault(node.block, 0)
        self.members.setdefault(node.block, {})[node.name] = state
        self._insert(state)
        self.version += 1

    def remove(self, name: str) -> list[str]:
        """Take a node away; return the tasks that it was running."""
        state = self.nodes.pop(name)
        del self.members[state.node.block][name]
        self._take_out(state)
        return list(state.ends)

    def hide(self, name: str, hidden: bool) -> None:
        """Keep a node out of the search (it is reserved), or give it back."""
        state = self.nodes.get(name)
        if state is None or state.is_hidden == hidden:
            return
        self._take_out(state)
        state.is_hidden = hidden
        self._insert(state)
        if not hidden:
            self.version += 1

    def set_keep_gpu_cores(self, keep: bool) -> None:
        """Set whether cores next to GPUs are kept for tasks on these GPUs."""
        if keep == self.keep_gpu_cores:
            return
        for state in self.nodes.values():
            self._take_out(state)
        self.keep_gpu_cores = keep
        for state in self.nodes.values():
            self._insert(state)
        self.version += 1

    # Search

    def find(self, shape: Shape, avoid: frozenset[str] = frozenset()) -> list[NodeState] | None:
        """Return nodes of one block that can give it now, the tightest fit; None if there are none."""
        if shape.nodes == 1:
            return self._find_one(shape, avoid)
        best: tuple[int, dict[Key, dict[str, NodeState]]] | None = None
        counts = self.counts.setdefault(shape, {})
        for block, buckets in self.blocks.items():
            version, count = counts.get(block, (-1, 0))
            if avoid or version != self.block_version[block]:
                count = sum(
                    sum(name not in avoid for name in nodes) if avoid else len(nodes)
                    for key, nodes in buckets.items()
                    if self.fits(key, shape)
                )
                if not avoid:
                    counts[block] = self.block_version[block], count
            if count >= shape.nodes and (best is None or count < best[0]):
                best = count, buckets
                if count == shape.nodes:
                    break
        if best is None:
            return None
        found: list[NodeState] = []
        for key in sorted(
            (k for k in best[1] if self.fits(k, shape)), key=lambda k: self._leftover(k, shape)
        ):
            for name, state in best[1][key].items():
                if name not in avoid:
                    found.append(state)
                    if len(found) == shape.nodes:
                        return found
        return None

    def _find_one(self, shape: Shape, avoid: frozenset[str]) -> list[NodeState] | None:
        best: tuple[tuple[int, int, int], NodeState] | None = None
        for key, nodes in self.buckets.items():
            if nodes and self.fits(key, shape):
                leftover = self._leftover(key, shape)
                if best is None or leftover < best[0]:
                    state = next((s for name, s in nodes.items() if name not in avoid), None)
                    if state is not None:
                        best = leftover, state
        return None if best is None else [best[1]]

    def fits(self, key: Key, shape: Shape) -> bool:
        need = shape.needs[key[0]]
        if need is None:
            return False
        if need.whole and not key[5]:
            return False
        if key[6] < need.cpus or (key[1] < need.common and self.keep_gpu_cores and not need.is_wide):
            return False
        if need.share and key[4] < need.share and key[2] == 0:
            return False
        return key[2] >= need.gpus and key[3] >= need.memory

    def _leftover(self, key: Key, shape: Shape) -> tuple[int, int, int]:
        """Return what is left, GPUs first: a node with few free ones is filled before a
        whole one is broken into.
        """
        need = shape.needs[key[0]]
        assert need is not None
        if need.share:
            return (0 if key[4] >= need.share else 1, key[2], key[1])
        gpus = key[2] - need.gpus if need.gpus else 0
        return (gpus, key[1] - need.common, -key[2])

    # Taking and giving back

    def take(
        self, task: str, states: Iterable[NodeState], shape: Shape, ranks: int, end: float
    ) -> list[Place]:
        """Give cores, GPUs and memory of these nodes to a task that is expected to end then."""
        places = []
        states = list(states)
        for left, state in zip(range(len(states), 0, -1), states, strict=True):
            need = shape.needs[state.kind]
            assert need is not None
            here = -(-ranks // left)  # ranks are spread evenly: the first nodes have one more
            ranks -= here
            places.append(self._take_one(task, state, need, here, end))
        return places

    def _take_one(self, task: str, state: NodeState, need: Need, ranks: int, end: float) -> Place:
        self._take_out(state)
        gpus: tuple[int, ...] = ()
        share = WHOLE_GPU
        if need.share:
            gpu = next((g for g, free in state.shares.items() if free >= need.share), None)
            if gpu is None:
                gpu = _lowest(state.gpus, 1)[0]
                state.gpus &= ~(1 << gpu)
                state.shares[gpu] = WHOLE_GPU
            state.shares[gpu] -= need.share
            gpus, share = (gpu,), need.share
        elif need.gpus:
            gpus = tuple(_lowest(state.gpus, need.gpus))
            for gpu in gpus:
                state.gpus &= ~(1 << gpu)
        cpus = self._cores(state, need, gpus)
        for cpu in cpus:
            state.cpus &= ~(1 << cpu)
        state.memory -= need.memory
        state.ends[task] = (end, need)
        state.is_whole = need.whole
        self._insert(state)
        return Place(state.name, ranks, tuple(cpus), gpus, share / WHOLE_GPU, need.memory)

    def _cores(self, state: NodeState, need: Need, gpus: tuple[int, ...]) -> list[int]:
        """Take the lowest free cores: those next to its GPUs first, then common ones, then any."""
        near = 0
        if not need.share:
            for gpu in gpus:
                near |= state.bound[gpu]
        cpus = _lowest(state.cpus & near, need.cpus)
        if len(cpus) < need.cpus:
            cpus += _lowest(self._common(state) & ~_mask(cpus), need.cpus - len(cpus))
        if len(cpus) < need.cpus:
            cpus += _lowest(state.cpus & ~_mask(cpus), need.cpus - len(cpus))
        assert len(cpus) == need.cpus
        return cpus

    def give_back(self, task: str, places: Iterable[Place]) -> None:
        """Take back what an ended task had; nodes that are gone are passed over."""
        for place in places:
            state = self.nodes.get(place.node)
            if state is None or task not in state.ends:
                continue
            self._take_out(state)
            for cpu in place.cpus:
                state.cpus |= 1 << cpu
            for gpu in place.gpus:
                if gpu in state.shares:
                    state.shares[gpu] += round(place.share * WHOLE_GPU)
                    if state.shares[gpu] < WHOLE_GPU:
                        continue
                    del state.shares[gpu]
                state.gpus |= 1 << gpu
            state.memory += place.memory_mib
            del state.ends[task]
            state.is_whole = False
            self._insert(state)
        self.version += 1

    # Reservations

    def earliest(
        self, shape: Shape, now: float, avoid: frozenset[str] = frozenset()
    ) -> tuple[float, list[NodeState]] | None:
        """Return the earliest start and the nodes of one block, by the expected ends of running tasks."""
        best: tuple[float, list[NodeState]] | None = None
        for members in self.members.values():
            times: list[tuple[float, int, NodeState]] = []
            for state in members.values():
                is_out = state.is_hidden or state.name in avoid
                time = None if is_out else self.available(state, shape, now)
                if time is not None:
                    times.append((time, state.index, state))
            if len(times) < shape.nodes:
                continue
            times.sort(key=lambda entry: entry[:2])
            time = times[shape.nodes - 1][0]
            if best is None or time < best[0]:
                best = time, [entry[2] for entry in times[: shape.nodes]]
        return best

    def available(self, state: NodeState, shape: Shape, now: float) -> float | None:
        """Return the time from which this node can run its part of the shape; None: never."""
        need = shape.needs[state.kind]
        if need is None:
            return None
        if self.fits(state.key, shape):
            return now
        _, common, gpus, memory, _, _, cpus = state.key
        left = len(state.ends)
        for end, other in sorted(state.ends.values(), key=lambda entry: entry[0]):
            common += other.common if other.gpus else other.cpus
            cpus += other.cpus
            gpus += other.gpus
            memory += other.memory
            left -= 1
            is_enough = cpus >= need.cpus and gpus >= need.gpus and memory >= need.memory
            if self.keep_gpu_cores and not need.is_wide:
                is_enough = is_enough and common >= need.common
            if left == 0 or (is_enough and not need.whole and not need.share):
                return max(end, now)
        return now

    # Book-keeping

    def _common(self, state: NodeState) -> int:
        free = state.cpus
        if self.keep_gpu_cores:
            for mask in state.bound:
                free &= ~mask
        return free

    def _insert(self, state: NodeState) -> None:
        nothing: Key = (state.kind, 0, 0, 0, 0, False, 0)  # one task has such a node to itself
        state.key = (
            nothing
            if state.is_whole
            else (
                state.kind,
                self._common(state).bit_count(),
                state.gpus.bit_count(),
                state.memory,
                max(state.shares.values(), default=0),
                not state.ends,
                state.cpus.bit_count(),
            )
        )
        if state.is_searched:
            self.block_version[state.node.block] += 1
            self.buckets.setdefault(state.key, {})[state.name] = state
            self.blocks[state.node.block].setdefault(state.key, {})[state.name] = state

    def _take_out(self, state: NodeState) -> None:
        if not state.is_searched:
            return
        self.block_version[state.node.block] += 1
        for buckets in (self.buckets, self.blocks[state.node.block]):
            nodes = buckets[state.key]
            del nodes[state.name]
            if not nodes:
                del buckets[state.key]


def _mask(numbers: Iterable[int]) -> int:
    return sum(1 << number for number in numbers)


def _lowest(mask: int, count: int) -> list[int]:
    """Return the numbers of the lowest bits that are set."""
    found: list[int] = []
    while mask and len(found) < count:
        low = mask & -mask
        found.append(low.bit_length() - 1)
        mask ^= low
    return found
