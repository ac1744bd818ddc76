"""The graph of tasks is checked for cycles here; each task gets the length of the work behind it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from ..ground.errors import BadArgument
from ..ground.nearest_word import did_you_mean
from .model import Task


def check_graph(tasks: Mapping[str, Task], where: str) -> None:
    """Check that every dependency exists and that there is no cycle.

    Raises
    ------
    BadArgument
        The message has the nearest name, or the tasks of a cycle.
    """
    for task in tasks.values():
        for name in task.after:
            if name not in tasks:
                hint = did_you_mean(name, tasks) if len(tasks) < 20000 else ""
                raise BadArgument(f"{where}: task {task.name!r}: after: there is no task {name!r}{hint}")
    if len(topological_order(tasks)) < len(tasks):
        raise BadArgument(f"{where}: tasks wait for each other: {' -> '.join(_cycle(tasks))}")


def topological_order(tasks: Mapping[str, Task]) -> list[str]:
    """Return the names, each after those it depends on; tasks on or behind a cycle are left out."""
    missing = {name: len(task.after) for name, task in tasks.items()}
    followers = followers_of(tasks)
    order = [name for name, count in missing.items() if count == 0]
    for name in order:
        for follower in followers.get(name, ()):
            missing[follower] -= 1
            if missing[follower] == 0:
                order.append(follower)
    return order


def followers_of(tasks: Mapping[str, Task]) -> dict[str, list[str]]:
    """Return for each task the tasks that wait for it, if there are any."""
    followers: dict[str, list[str]] = {}
    for name, task in tasks.items():
        for other in task.after:
            followers.setdefault(other, []).append(name)
    return followers


def _cycle(tasks: Mapping[str, Task]) -> list[str]:
    free = set(topological_order(tasks))
    name = next(name for name in tasks if name not in free)
    path: list[str] = []
    while name not in path:
        path.append(name)
        name = next(other for other in tasks[name].after if other not in free)
    return [*path[path.index(name) :], name]


def work_behind(
    tasks: Mapping[str, Task], estimate: Callable[[Task], float], order: Iterable[str] | None = None
) -> dict[str, float]:
    """Return the seconds of the longest chain that begins with each task, itself included."""
    names = list(order) if order is not None else topological_order(tasks)
    behind = dict.fromkeys(names, 0.0)
    for name in reversed(names):
        task = tasks[name]
        total = behind[name] = behind[name] + estimate(task)
        for other in task.after:
            if behind.get(other, 0.0) < total:
                behind[other] = total
    return behind
