"""A request becomes a shape for each type of node; requests that no machine can meet are refused."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..ground.errors import BadArgument
from .model import Machine, Node, Request, Task

#: A GPU has this many thousandths, so that fractions add up exactly.
WHOLE_GPU = 1000


@dataclass(frozen=True, slots=True)
class NodeType:
    """All nodes of one type have these resources."""

    cpus: int
    gpus: int
    gpu_kind: str
    bound: tuple[tuple[int, ...], ...]  # each GPU has these cores next to it
    memory: int  # it is in MiB; 0 is not counted

    @staticmethod
    def of(node: Node) -> NodeType:
        kind = node.gpus[0].kind if node.gpus else ""
        return NodeType(node.cpus, len(node.gpus), kind, tuple(g.cpus for g in node.gpus), node.memory_mib)


@dataclass(frozen=True, slots=True)
class Need:
    """One node has to give these resources.

    They are cores (`common` counts those that do not come with the GPUs), whole GPUs or a share of one in
    thousandths, and memory.
    """

    ranks: int
    cpus: int
    common: int
    gpus: int
    share: int
    memory: int
    whole: bool
    is_wide: bool  # it takes cores next to free GPUs too: there are not enough others


@dataclass(frozen=True, slots=True)
class Shape:
    """This is a request on so many nodes, with the need on each type of node (None: it cannot hold it)."""

    nodes: int
    ranks_per_node: int
    needs: tuple[Need | None, ...]


def need_on(request: Request, ranks: int, kind: NodeType) -> Need | None:
    """Return the need of so many ranks on one node; None where it does not fit even when the node is idle."""
    gpus = share = 0
    if request.gpus_per_rank:
        if request.gpu_kind and request.gpu_kind != kind.gpu_kind:
            return None
        if request.gpus_per_rank >= 1:
            gpus = ranks * int(request.gpus_per_rank)
        else:
            one = round(request.gpus_per_rank * WHOLE_GPU)
            per_gpu = WHOLE_GPU // max(one, 1)
            if ranks <= per_gpu:
                share = ranks * one
            else:
                gpus = math.ceil(ranks / per_gpu)
    cpus = ranks * request.threads
    bound = len(kind.bound[0]) if kind.bound else 0
    common = max(0, cpus - bound * gpus)
    memory = ranks * request.memory_mib
    if cpus > kind.cpus or gpus > kind.gpus or (share and not kind.gpus):
        return None
    if kind.memory and memory > kind.memory:
        return None
    is_wide = request.whole_nodes or common > kind.cpus - bound * kind.gpus
    return Need(ranks, cpus, common, gpus, share, memory if kind.memory else 0, request.whole_nodes, is_wide)


def shapes_of(request: Request, kinds: Sequence[NodeType]) -> list[Shape]:
    """Return the ways to spread the ranks over nodes, fewest nodes first; empty: no node type holds it."""
    if request.nodes is not None:
        counts: Iterable[int] = (request.nodes,)
    else:
        most_ranks = max((kind.cpus // request.threads for kind in kinds), default=0)
        if not most_ranks:
            return []
        least = math.ceil(request.ranks / most_ranks)
        # There are few numbers of ranks per node, and many numbers of nodes.
        tried = dict.fromkeys(math.ceil(request.ranks / r) for r in range(most_ranks, 0, -1))
        fewest = next((n for n in tried if n >= least and _shape(request, n, kinds)), None)
        if fewest is None:
            return []
        most = fewest
        if request.min_ranks_per_node is not None:
            most = max(fewest, request.ranks // request.min_ranks_per_node)
        counts = [n for n in range(fewest, most + 1) if n == fewest or request.ranks % n == 0][:4]
    return [shape for n in counts if (shape := _shape(request, n, kinds))]


def _shape(request: Request, nodes: int, kinds: Sequence[NodeType]) -> Shape | None:
    ranks = math.ceil(request.ranks / nodes)  # some nodes have one less
    if request.ranks // nodes < (request.min_ranks_per_node or 1):
        return None
    needs = tuple(need_on(request, ranks, kind) for kind in kinds)
    return Shape(nodes, ranks, needs) if any(needs) else None


class Unsatisfiable(BadArgument):
    """A task asks for what the machine does not have: it would wait for ever."""


def check_requests(tasks: Iterable[Task], machine: Machine) -> None:
    """Refuse tasks of which no alternative can ever run.

    Raises
    ------
    Unsatisfiable
        The message has the task and the reason.
    """
    reasons: dict[Request, str | None] = {}
    for task in tasks:
        found = []
        for alternative in task.alternatives:
            request = alternative.request
            if request not in reasons:
                reasons[request] = why_never(request, machine)
            reason = reasons[request]
            if reason is None and machine.allocation_seconds is not None:
                have = machine.allocation_seconds - machine.drain_seconds
                if alternative.estimate > have:
                    reason = f"takes {alternative.estimate:g} s, and an allocation has {have:g} s"
            found.append(reason)
        if all(found):
            raise Unsatisfiable(
                f"task {task.name!r} can never run on {machine.name!r}: {'; '.join(map(str, found))}"
            )


def why_never(request: Request, machine: Machine) -> str | None:
    """Return why a request can never be met; None if it can."""
    kinds = list(dict.fromkeys(map(NodeType.of, machine.usable)))
    if not kinds:
        return "there is no usable node"
    if request.gpus_per_rank:
        have = sorted({kind.gpu_kind for kind in kinds if kind.gpus})
        if not have:
            return "it needs GPUs, and no node has any"
        if request.gpu_kind and request.gpu_kind not in have:
            return f"it needs GPUs of kind {request.gpu_kind!r}; there are {', '.join(have)}"
    shapes = shapes_of(request, kinds)
    least = request.min_ranks_per_node
    if not shapes and least and shapes_of(dataclasses.replace(request, min_ranks_per_node=None), kinds):
        return f"{least} ranks per node (min_ranks_per_node) do not fit on any node"
    if not shapes:
        most = max(kinds, key=lambda kind: (kind.gpus, kind.cpus))
        per_node = math.ceil(request.ranks / (request.nodes or 1))
        return (
            f"{per_node} ranks per node with {request.threads} cores, {request.gpus_per_rank:g} GPUs and "
            f"{request.memory_mib} MiB each do not fit on a node with {most.cpus} cores, {most.gpus} GPUs "
            f"and {most.memory} MiB"
        )
    for shape in shapes:
        counts: dict[int, int] = {}
        for node in machine.usable:
            if shape.needs[kinds.index(NodeType.of(node))] is not None:
                counts[node.block] = counts.get(node.block, 0) + 1
        if max(counts.values(), default=0) >= shape.nodes:
            return None
    largest = max(counts.values(), default=0)
    return f"it needs {shapes[0].nodes} nodes of one block, and the largest has {largest}"
