"""This module tells weights of stout smearing that smooth links from those that do not."""

from __future__ import annotations

from collections.abc import Sequence

#: Above this weight, a level makes the shortest waves of the links larger by more than a half: |1 - 16 rho|.
LARGE_RHO = 0.16
#: Beyond this size, nothing is smoothed: a level multiplies the shortest waves by more than 3.
MOST_RHO = 0.25


def why_roughening(name: str, weights: Sequence[Sequence[float]]) -> str:
    """Return a sentence about weights rho[mu][nu] with which waves of the links grow, or nothing.

    The smallest weight and the largest mean of a row's three planes count.
    """
    least, most = min(map(min, weights)), max(sum(row) / 3 for row in weights)
    if least < 0:
        return (
            f"{name} = {least:g} is negative: all waves of the links grow with every level; give a positive "
            "one unless it is what you want to reproduce"
        )
    if most > LARGE_RHO * (1 + 1e-12):
        return (
            f"{name} = {most:g} is above {LARGE_RHO:g}: short waves of the links grow with every level; "
            "lower it unless it is what you want to reproduce"
        )
    return ""
