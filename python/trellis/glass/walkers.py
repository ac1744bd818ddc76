"""This module has the book-keeping of parallel tempering: exchanges that were proposed and accepted, and
round trips."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


class Walkers:
    """These are the temperatures that each set of spins has been at.

    Attributes
    ----------
    proposed, accepted
        [pair of temperatures], all samples and replicas together; pair t is that of t and t + 1.
    walker
        [sample][slot]: the set of spins that is there, named by the slot where it began.
    heading
        [sample][walker]: 1 where a set was at the lowest temperature last, 2 where it has been at the highest
        since, 0 where it was at neither.
    round_trips
        [sample][walker]: ways from the lowest temperature to the highest and back.
    """

    def __init__(self, samples: int, temperatures: int, replicas: int) -> None:
        self.temperatures = temperatures
        slots = temperatures * replicas
        self.proposed = np.zeros(max(temperatures - 1, 0), dtype=np.int64)
        self.accepted = np.zeros_like(self.proposed)
        self.walker = np.tile(np.arange(slots, dtype=np.int64), (samples, 1))
        self.heading = np.zeros((samples, slots), dtype=np.int64)
        self.round_trips = np.zeros((samples, slots), dtype=np.int64)
        self._note_ends()

    def exchange(self, pairs: list[tuple[int, int]], is_exchanged: NDArray[np.uint8]) -> None:
        """Take the pairs of slots that were proposed, and [sample][pair], which of them were accepted."""
        for k, (a, b) in enumerate(pairs):
            t = a % self.temperatures
            who = is_exchanged[:, k] != 0
            self.proposed[t] += who.size
            self.accepted[t] += int(who.sum())
            self.walker[who, a], self.walker[who, b] = self.walker[who, b], self.walker[who, a].copy()
        self._note_ends()

    def acceptance(self) -> list[float | None]:
        """Return the share of accepted exchanges of each pair of temperatures; None where none was
        proposed."""
        return [int(a) / int(p) if p else None for a, p in zip(self.accepted, self.proposed, strict=True)]

    def _note_ends(self) -> None:
        if self.temperatures < 2:
            return
        samples = np.arange(len(self.walker))
        for slot in range(0, self.walker.shape[1], self.temperatures):
            lowest, highest = self.walker[:, slot], self.walker[:, slot + self.temperatures - 1]
            returns = self.heading[samples, lowest] == 2
            self.round_trips[samples, lowest] += returns
            self.heading[samples, lowest] = 1
            up = self.heading[samples, highest] == 1
            self.heading[samples[up], highest[up]] = 2
