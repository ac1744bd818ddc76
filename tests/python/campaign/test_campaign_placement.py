"""Whatever is asked of whatever machine, each placement gives what was asked for, and nothing twice."""

from __future__ import annotations

import heapq
from collections import defaultdict
from pathlib import Path

import pytest
from campaign_tools import HEAD, machine, machine_text
from hypothesis import given, settings
from hypothesis import strategies as st

from trellis.campaign.files import parse_campaign, parse_machine
from trellis.campaign.model import Machine, Task
from trellis.campaign.planner import Planner, Start
from trellis.campaign.shapes import why_never

SECONDS = [0, 1, 3, 10, 100]


@st.composite
def machines(draw: st.DrawFn) -> Machine:
    cpus, gpus = draw(st.integers(1, 8)), draw(st.integers(0, 4))
    near = draw(st.integers(0, cpus // gpus)) if gpus else 0
    more = draw(st.integers(0, 2))
    block = draw(st.sampled_from([1, 2, 3]))
    lump = block * draw(st.integers(1, 2))
    bad = [f"n{i}" for i in draw(st.sets(st.integers(1, 3), max_size=2))]
    return parse_machine(
        f'[machine]\nname = "m"\n[[nodes]]\ncount = {draw(st.integers(1, 6))}\ncpus = {cpus}\ngpus = {gpus}\n'
        f"cpus_per_gpu = {near}\nmemory_gib = {draw(st.sampled_from([0, 4]))}\n"
        + (f"[[nodes]]\ncount = {more}\ncpus = 3\n" if more else "")
        + f"[allocation]\nblock = {block}\nlump = {lump}\nbad_hosts = {bad}\n"
    )


@st.composite
def ways(draw: st.DrawFn) -> str:
    keys = {"threads": draw(st.integers(1, 3)), "estimate": draw(st.sampled_from(SECONDS))}
    optional = {
        "gpus_per_rank": st.sampled_from([0.25, 0.3, 0.5, 1, 2]),
        "nodes": st.integers(1, 3),
        "min_ranks_per_node": st.integers(1, 3),
        "memory_gib": st.sampled_from([0.5, 1, 3]),
        "whole_nodes": st.just("true"),
    }
    keys |= draw(st.fixed_dictionaries({}, optional=optional))
    least = keys.get("nodes", 1) * keys.get("min_ranks_per_node", 1)
    keys["ranks"] = draw(st.integers(least, max(least, 6)))
    return ", ".join(f"{key} = {value}" for key, value in keys.items())


@st.composite
def tables(draw: st.DrawFn) -> str:
    text = ""
    for number in range(draw(st.integers(1, 6))):
        alternatives = ", ".join(f"{{ {way} }}" for way in draw(st.lists(ways(), min_size=1, max_size=3)))
        text += (
            f"[[task]]\nname = 't{number}-{{i}}'\nover = {{ i = '1..{draw(st.integers(1, 6))}' }}\n"
            f"command = 'true'\npriority = {draw(st.integers(0, 2))}\nalternatives = [{alternatives}]\n"
        )
    return text


class Given:
    """This class holds the running tasks, and checks that nodes give no core, GPU or memory twice."""

    def __init__(self, where: Machine) -> None:
        self.nodes = {node.name: node for node in where.nodes}
        self.bad = where.bad_hosts
        self.running: dict[str, Start] = {}

    def start(self, task: Task, start: Start) -> None:
        placement = start.placement
        request = task.alternatives[placement.alternative].request
        places = placement.places
        assert placement.ranks == request.ranks
        assert not self.bad.intersection(placement.nodes)
        assert len(set(placement.nodes)) == len(places)
        assert len({self.nodes[name].block for name in placement.nodes}) == 1
        assert request.nodes in (None, len(places))
        assert min(place.ranks for place in places) >= (request.min_ranks_per_node or 1)
        for place in places:
            node = self.nodes[place.node]
            assert len(set(place.cpus)) == len(place.cpus) >= place.ranks * request.threads
            assert set(place.cpus) <= set(range(node.cpus))
            assert set(place.gpus) <= set(range(len(node.gpus)))
            if request.gpus_per_rank:
                assert (
                    len(place.gpus) * place.share >= place.ranks * request.gpus_per_rank - 1e-3 * place.ranks
                )
            else:
                assert not place.gpus
        self.running[start.task] = start
        for name in placement.nodes:
            self._check(name, {n: t for n, t in self.tasks_on(name)})

    def tasks_on(self, node: str) -> list[tuple[str, Start]]:
        return [(name, start) for name, start in self.running.items() if node in start.placement.nodes]

    def _check(self, name: str, here: dict[str, Start]) -> None:
        node, cpus, gpus, memory = self.nodes[name], [], defaultdict(float), 0
        for start in here.values():
            for place in start.placement.places:
                if place.node == name:
                    cpus += place.cpus
                    memory += place.memory_mib
                    for gpu in place.gpus:
                        gpus[gpu] += place.share
        assert len(set(cpus)) == len(cpus), f"a core of {name} was given twice: {here}"
        assert all(share <= 1 + 1e-9 for share in gpus.values()), f"a GPU of {name} was given twice: {here}"
        assert not node.memory_mib or memory <= node.memory_mib
        wholes = [n for n in here if self.is_whole(n)]
        assert not wholes or len(here) == 1, f"{wholes} did not have {name} to themselves: {here}"

    def is_whole(self, task: str) -> bool:
        alternative = self.running[task].placement.alternative
        return self.tasks[task].alternatives[alternative].request.whole_nodes

    tasks: dict[str, Task] = {}


@settings(max_examples=150, deadline=None, derandomize=True)
@given(where=machines(), text=tables(), late=st.integers(0, 3), wrong=st.sampled_from([0.1, 1.0, 3.0]))
def test_every_placement_is_what_was_asked_for(where: Machine, text: str, late: int, wrong: float) -> None:
    """Nodes join late and estimates are wrong: all that can run runs, and has its own."""
    campaign = parse_campaign(HEAD + text, Path("/tmp"))
    tasks = {
        name: task
        for name, task in campaign.tasks.items()
        if where.usable and any(why_never(a.request, where) is None for a in task.alternatives)
    }
    planner = Planner(where, tasks, lambda task, i: task.alternatives[i].estimate)
    given_away = Given(where)
    given_away.tasks = tasks
    for node in where.usable[late:]:
        planner.add_node(node)
    for name in tasks:
        planner.ready(name)
    now, ends, done, joined = 0.0, [], set(), False
    while True:
        for start in planner.plan(now):
            given_away.start(tasks[start.task], start)
            heapq.heappush(ends, (now + wrong * start.estimate, start.task))
        if not joined and (not ends or now > 2):
            joined = True
            for node in where.usable[:late]:
                planner.add_node(node)
            continue
        if not ends:
            break
        now, name = heapq.heappop(ends)
        del given_away.running[name]
        planner.finished(name)
        done.add(name)
    assert done == set(tasks), planner.reservations


def planner_of(text: str, where: Machine, nodes: int | None = None, end: float | None = None) -> Planner:
    campaign = parse_campaign(HEAD + text, Path("/tmp"))
    made = Planner(where, campaign.tasks, lambda task, i: task.alternatives[i].estimate, end=end)
    for node in where.usable[:nodes]:
        made.add_node(node)
    return made


def test_bad_hosts_do_not_decide_how_ranks_are_spread() -> None:
    where = parse_machine(
        '[machine]\nname = "m"\n[[nodes]]\ncpus = 8\n[[nodes]]\ncount = 2\ncpus = 3\n'
        '[allocation]\nbad_hosts = ["n1"]\n'
    )
    made = planner_of("[[task]]\nname = 't'\ncommand = 'true'\nranks = 2\nthreads = 3\n", where)
    made.ready("t")
    assert [start.placement.nodes for start in made.plan(0.0)] == [("n2", "n3")]


SMALL = "[[task]]\nname = 's-{i}'\nover = { i = '1..40' }\ncommand = 'true'\nestimate = 10\n"


@pytest.mark.parametrize("keys", ["ranks = 2", "ranks = 2\ngpus_per_rank = 1", "gpus_per_rank = 0.5"])
def test_a_whole_node_is_not_shared_by_a_reservation(keys: str) -> None:
    made = planner_of(
        "[[task]]\nname = 'whole'\ncommand = 'true'\nwhole_nodes = true\nestimate = 100\npriority = 1\n"
        f"[[task]]\nname = 'large'\ncommand = 'true'\nestimate = 10\n{keys}\n",
        machine(nodes=1, cpus=4, gpus=2),
    )
    made.ready("whole")
    made.ready("large")
    started = [start.task for now in range(5) for start in made.plan(float(now))]
    assert started == ["whole"]
    made.finished("whole")
    assert [start.task for start in made.plan(5.0)] == ["large"]


def test_an_alternative_that_no_block_holds_does_not_starve_the_others() -> None:
    made = planner_of(
        SMALL + "[[task]]\nname = 'large'\ncommand = 'true'\npriority = 1\n"
        "alternatives = [{ nodes = 4, ranks = 4, estimate = 1 }, { nodes = 2, ranks = 2, estimate = 10 }]\n",
        machine(nodes=4, cpus=2, allocation="block = 2"),
    )
    for i in range(40):
        made.ready(f"s-{i + 1}")
    ends = {start.task: 1.0 + i for i, start in enumerate(made.plan(0.0))}
    made.ready("large")
    while "large" not in made.running:
        name = min(ends, key=ends.__getitem__)
        now = ends.pop(name)
        made.finished(name)
        ends |= {start.task: now + 10.0 for start in made.plan(now)}
        assert now < 20.0
    assert made.running["large"].placement.alternative == 1


def late_lump(end: float | None = None) -> Planner:
    """Two of four nodes are there and full; a task on two nodes has waited since."""
    text = SMALL.replace("estimate = 10", "estimate = 1000")
    text += "[[task]]\nname = 'large'\ncommand = 'true'\nnodes = 2\nranks = 4\nestimate = 10\n"
    made = planner_of(text, parse_machine(machine_text(4, 2, allocation="lump = 2")), nodes=2, end=end)
    for i in range(4):
        made.ready(f"s-{i + 1}")
    assert len(made.plan(0.0)) == 4
    made.ready("large")
    assert made.plan(1.0) == made.plan(2.0) == []
    return made


def test_what_has_a_reservation_starts_on_nodes_that_join() -> None:
    made = late_lump()
    assert [r.nodes for r in made.reservations] == [["n1", "n2"]]
    for node in made.machine.usable[2:]:
        made.add_node(node)
    assert [start.placement.nodes for start in made.plan(3.0)] == [("n3", "n4")]
    assert not made.reservations
    assert not any(state.is_hidden for state in made.pool.nodes.values())


def test_nothing_is_reserved_for_what_would_not_end_in_time() -> None:
    assert late_lump(end=1005.0).reservations == []
    assert len(late_lump(end=1015.0).reservations) == 1
