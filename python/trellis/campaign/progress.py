"""A task may run when the tasks that it waits for have ended; their ends change its state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from .graph import followers_of
from .model import State, Task


class Progress:
    """These are the states of all tasks, from dependencies among tasks alone.

    Attributes
    ----------
    state
        The state of each task.
    """

    def __init__(self, tasks: Mapping[str, Task]) -> None:
        self.tasks = tasks
        self.state: dict[str, State] = {}
        self.missing: dict[str, int] = {}
        self.followers: dict[str, list[str]] = {}
        self.counts: dict[State, int] = dict.fromkeys(State, 0)
        self.add(tasks)

    def add(self, tasks: Mapping[str, Task]) -> None:
        """Add new tasks; those they wait for may be done already."""
        for other, names in followers_of(tasks).items():
            self.followers.setdefault(other, []).extend(names)
        for name in tasks:
            self._set(name, State.WAITING)
        for name, task in tasks.items():
            self.missing[name] = sum(self.state[other] is not State.DONE for other in task.after)

    def free(self) -> list[str]:
        """Return the tasks that wait for no other task."""
        return [n for n, count in self.missing.items() if count == 0 and self.state[n] is State.WAITING]

    def done(self, name: str) -> list[str]:
        """Mark a task as done; return the tasks that wait for no other any more."""
        self._set(name, State.DONE)
        freed = []
        for follower in self.followers.get(name, ()):
            self.missing[follower] -= 1
            if self.missing[follower] == 0 and self.state[follower] is State.WAITING:
                freed.append(follower)
        return freed

    def failed(self, name: str, state: State = State.FAILED) -> list[str]:
        """Mark a task that will not be done; return it and all that are skipped because of it."""
        self._set(name, state)
        gone = [name]
        for one in gone:
            for follower in self.followers.get(one, ()):
                if self.state[follower] is State.WAITING:
                    self._set(follower, State.SKIPPED)
                    gone.append(follower)
        return gone

    def set(self, names: Iterable[str], state: State) -> None:
        """Set tasks as ready, running, waiting or held."""
        for name in names:
            self._set(name, state)

    @property
    def is_over(self) -> bool:
        """Return True if nothing is left to run."""
        ended = self.counts[State.DONE] + self.counts[State.FAILED] + self.counts[State.SKIPPED]
        return ended == len(self.state)

    def _set(self, name: str, state: State) -> None:
        old = self.state.get(name)
        if old is not None:
            self.counts[old] -= 1
        self.state[name] = state
        self.counts[state] += 1
