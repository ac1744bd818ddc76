"""The currents of lalibe have factors that lead to those of doc/conventions.md."""

from __future__ import annotations

from itertools import combinations

#: A current has a factor and a sign of spin down.
CURRENTS: dict[str, tuple[complex, int]] = {"S": (1, 1), "P": (1, -1)}
CURRENTS |= {f"V{n}": (1, 1) for n in range(1, 5)} | {f"A{n}": (-1j, -1) for n in range(1, 5)}
CURRENTS |= {f"T{m}{n}": (-1j, -1) for m, n in combinations(range(1, 5), 2)}
