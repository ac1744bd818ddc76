"""This module has estimates of costs, which learn from finished tasks.

The duration of a task is its estimate in the file times exp(a) of its group; a is the mean of log(measured
/ estimate) over the group's finished tasks, drawn towards 0 by the weight of one task. A group with a
formula or a table keeps its dependence on the parameters; only the scale is fitted.
"""

from __future__ import annotations

import math

from .model import Task


class CostModel:
    """A cost model has durations by group and alternative."""

    def __init__(self) -> None:
        self.sums: dict[tuple[str, int], tuple[float, int]] = {}
        self.used: dict[tuple[str, int], float] = {}

    def seconds(self, task: Task, alternative: int) -> float:
        """Return the estimate of a duration with what has been learned up to the last :meth:`refit`."""
        return task.alternatives[alternative].estimate * self.used.get((task.group, alternative), 1.0)

    def learn(self, task: Task, alternative: int, seconds: float) -> None:
        """Learn from a task that has ended well after so many seconds."""
        estimate = task.alternatives[alternative].estimate
        if estimate > 0 and seconds > 0:
            total, count = self.sums.get((task.group, alternative), (0.0, 0))
            self.sums[task.group, alternative] = total + math.log(seconds / estimate), count + 1

    def refit(self, *, tolerance: float = 0.1) -> bool:
        """Take over what was learned; return True if any group's scale changed by more than the tolerance."""
        changed = False
        for key, (total, count) in self.sums.items():
            scale = math.exp(total / (count + 1))
            if abs(math.log(scale / self.used.get(key, 1.0))) > tolerance:
                self.used[key] = scale
                changed = True
        return changed
