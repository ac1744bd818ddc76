"""These tests cover the planner: gangs, blocks, fractions, overlay, alternatives, starvation, the end,
size."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from campaign_tools import HEAD, machine

from trellis.campaign.files import parse_campaign
from trellis.campaign.model import Machine
from trellis.campaign.planner import Planner, Start


def planner(tasks: str, where: Machine, **options) -> Planner:
    """Return a planner with all nodes there and all tasks without dependencies ready."""
    campaign = parse_campaign(HEAD + tasks, Path("/tmp"))
    made = Planner(where, campaign.tasks, lambda task, i: task.alternatives[i].estimate, **options)
    for node in where.usable:
        made.add_node(node)
    for task in campaign.tasks.values():
        if not task.after:
            made.ready(task.name)
    return made


def task(name: str, keys: str, count: int = 1) -> str:
    return f"[[task]]\nname = '{name}-{{i}}'\nover = {{ i = '1..{count}' }}\ncommand = 'true'\n{keys}\n"


def nodes(starts: list[Start]) -> dict[str, tuple[str, ...]]:
    return {start.task: start.placement.nodes for start in starts}


def test_no_core_or_gpu_is_given_twice() -> None:
    tasks = task("g", "gpus_per_rank = 1\nthreads = 2", 5) + task("c", "threads = 1", 20)
    tasks += task("two", "ranks = 2\ngpus_per_rank = 1", 3) + task("wide", "ranks = 8\nnodes = 4", 1)
    where = machine(nodes=4, cpus=6, gpus=2)
    made = planner(tasks, where)
    taken: set[tuple[str, str, int]] = set()
    running = []
    for now in range(40):
        for start in made.plan(float(now)):
            running.append(start)
            for place in start.placement.places:
                for kind, numbers in (("cpu", place.cpus), ("gpu", place.gpus)):
                    for number in numbers:
                        assert (place.node, kind, number) not in taken
                        taken.add((place.node, kind, number))
        if running:
            ended = running.pop(0)
            made.finished(ended.task)
            for place in ended.placement.places:
                taken -= {(place.node, "cpu", n) for n in place.cpus} | {
                    (place.node, "gpu", n) for n in place.gpus
                }
    assert not taken
    assert made.waiting == 0


def test_tasks_on_several_nodes_lie_within_a_block_even_in_one_pass() -> None:
    where = machine(nodes=8, cpus=2, allocation="block = 4")
    made = planner(task("a", "ranks = 4\nnodes = 2", 3) + task("b", "ranks = 2", 1), where)
    block = {node.name: node.block for node in where.nodes}
    starts = made.plan(0.0)
    assert len(starts) == 4
    for start in starts:
        assert len({block[name] for name in start.placement.nodes}) == 1


def test_cpu_tasks_overlay_gpu_tasks_and_leave_them_their_cores() -> None:
    made = planner(task("c", "priority = 5", 20) + task("g", "gpus_per_rank = 1", 4), machine(2, 6, 2))
    starts = nodes(made.plan(0.0))
    assert sum(name.startswith("g-") for name in starts) == 4
    assert sum(name.startswith("c-") for name in starts) == 8
    for name in [name for name in starts if name.startswith("g-")]:
        made.finished(name)
    made.plan(1.0)  # no GPU task is left: their cores are for all
    assert len(made.running) == 12


def test_a_cpu_task_wider_than_the_common_cores_runs_too() -> None:
    made = planner(task("c", "threads = 6") + task("g", "gpus_per_rank = 1"), machine(1, 6, 2))
    first = made.plan(0.0)
    assert len(first) == 1
    made.finished(first[0].task)
    assert len(made.plan(1.0)) == 1


def test_fractions_share_a_gpu() -> None:
    made = planner(task("f", "gpus_per_rank = 0.3", 8), machine(1, 16, 2))
    starts = made.plan(0.0)
    assert sorted(start.placement.places[0].gpus for start in starts) == [(0,)] * 3 + [(1,)] * 3
    made.finished(starts[0].task)
    assert made.plan(1.0)[0].placement.places[0].gpus == starts[0].placement.places[0].gpus


def test_whole_nodes_and_memory() -> None:
    tasks = task("w", "whole_nodes = true\npriority = 1") + task("c", "", 3)
    starts = nodes(planner(tasks, machine(nodes=2, cpus=2)).plan(0.0))
    assert len(starts) == 3
    assert all(starts[name] != starts["w-1"] for name in starts if name != "w-1")


def test_alternatives_are_taken_by_what_is_free_and_by_time() -> None:
    keys = """
alternatives = [{ ranks = 8, nodes = 4, estimate = 30 }, { ranks = 4, nodes = 2, estimate = 50 }]
"""
    made = planner(task("a", keys), machine(nodes=4, cpus=2))
    assert len(made.plan(0.0)[0].placement.places) == 2  # this costs 100 node seconds, not 120
    late = planner(task("a", keys), machine(nodes=4, cpus=2), end=40.0)
    assert len(late.plan(0.0)[0].placement.places) == 4  # the other one would not end in time


def test_nothing_starts_that_would_not_end_in_time_or_while_draining() -> None:
    tasks = task("a", "estimate = 30\nspread = 0.3") + task("b", "estimate = 10")
    made = planner(tasks, machine(), end=35.0)
    assert list(nodes(made.plan(0.0))) == ["b-1"]
    assert made.held == {"a-1"}
    made = planner(tasks, machine())
    made.drain()
    assert made.plan(0.0) == []


def test_a_task_of_block_size_is_not_starved_by_small_ones() -> None:
    """Small tasks keep coming and would always fill what becomes free."""
    tasks = task("s", "priority = 0\nestimate = 10", 400) + task(
        "large", "ranks = 8\nnodes = 4\npriority = 1"
    )
    made = planner(tasks, machine(nodes=4, cpus=2))
    # The large one comes when the machine is full of small ones that end one after another.
    for queue in made.queues.values():
        queue.entries = [entry for entry in queue.entries if not entry[3].startswith("large")]
    ends = {start.task: 1.0 + i for i, start in enumerate(made.plan(0.0))}
    made.ready("large-1")
    now = 0.0
    while "large-1" not in made.running:
        name = min(ends, key=ends.__getitem__)
        now = ends.pop(name)
        made.finished(name)
        for start in made.plan(now):
            ends[start.task] = now + 10.0
        assert now < 30.0


def test_a_large_task_that_failed_once_is_not_starved_either() -> None:
    """The task waits for other nodes, or, where there are none, for those on which it failed."""
    tasks = task("s", "estimate = 10", 400) + task("large", "ranks = 8\nnodes = 4\npriority = 1")
    for count in (4, 8):
        made = planner(tasks, machine(nodes=count, cpus=2, allocation="block = 4"))
        first = next(start for start in made.plan(0.0) if start.task == "large-1")
        ends = {name: 1.0 + i for i, name in enumerate(sorted(made.running))}
        del ends["large-1"]
        made.finished("large-1", again=True)
        made.ready("large-1", avoid=frozenset(first.placement.nodes))
        now = 0.5
        while "large-1" not in made.running:
            for start in made.plan(now):
                ends[start.task] = now + 10.0
            if "large-1" in made.running:
                break
            name = min(ends, key=ends.__getitem__)
            now = ends.pop(name)
            made.finished(name)
            assert now < 40.0
        again = made.running["large-1"].placement.nodes
        assert count == 4 or not set(again) & set(first.placement.nodes)


def test_what_was_held_is_looked_at_again_when_estimates_change() -> None:
    seconds = {"a": 50.0}
    campaign = parse_campaign(HEAD + task("a", ""), Path("/tmp"))
    made = Planner(machine(), campaign.tasks, lambda task, i: seconds["a"], end=30.0)
    made.add_node(machine().nodes[0])
    made.ready("a-1")
    assert made.plan(0.0) == []
    seconds["a"] = 5.0
    made.graph_changed()
    assert list(nodes(made.plan(1.0))) == ["a-1"]
    assert not made.held


def test_a_retry_avoids_the_node_it_failed_on() -> None:
    made = planner(task("a", "") + task("b", "", 1), machine(nodes=2, cpus=1))
    start = next(s for s in made.plan(0.0) if s.task == "a-1")
    made.finished("a-1", again=True)
    made.ready("a-1", avoid=frozenset(start.placement.nodes))
    assert made.plan(1.0) == []  # only the node that it failed on is free
    made.finished("b-1")
    assert made.plan(2.0)[0].placement.nodes != start.placement.nodes


def test_the_longest_chain_goes_first() -> None:
    tasks = task("short", "estimate = 5") + task("head", "estimate = 1")
    tasks += "[[task]]\nname = 'tail'\nafter = ['head-1']\ncommand = 'true'\nestimate = 100\n"
    made = planner(tasks, machine(nodes=1, cpus=1))
    assert made.plan(0.0)[0].task == "head-1"


SIZE = """
import resource, time
from pathlib import Path
from trellis.campaign.files import load_machine, parse_campaign
from trellis.campaign.planner import Planner
text = '''
[campaign]
name = "large"
[[task]]
name = "p-{c}-{s}"
over = { c = "1..20000", s = "1..4" }
command = "propagator {c} {s} {output}"
outputs = ["p.{c}.{s}"]
nodes = 4
ranks = 16
gpus_per_rank = 1
[[task]]
name = "c-{c}"
over = { c = "1..20000" }
after = ["p-{c}-1", "p-{c}-2", "p-{c}-3", "p-{c}-4"]
command = "contract {c} {output}"
outputs = ["c.{c}"]
'''
campaign = parse_campaign(text, Path("/tmp"))
assert len(campaign.tasks) == 100000
machine = load_machine("node_4gpu")
planner = Planner(machine, campaign.tasks, lambda task, i: task.alternatives[i].estimate)
for node in machine.usable:
    planner.add_node(node)
for task in campaign.tasks.values():
    if not task.after:
        planner.ready(task.name)
longest, now = 0.0, 0.0
for _ in range(20):
    begin = time.process_time()
    started = planner.plan(now)
    longest = max(longest, time.process_time() - begin)
    for start in list(planner.running)[:50]:
        planner.finished(start)
    now += 10.0
print(longest, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, len(planner.running))
"""


def test_a_hundred_thousand_tasks_fit_and_a_pass_takes_less_than_a_second() -> None:
    found = subprocess.run([sys.executable, "-c", SIZE], capture_output=True, text=True, check=True)
    longest, mebibytes, running = found.stdout.split()
    print(f"longest pass {longest} s, {mebibytes} MiB")
    assert int(running) >= 900  # 50 of the 1000 were just ended
    assert float(longest) < 1.0
    assert float(mebibytes) < 1024
