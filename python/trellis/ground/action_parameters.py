"""This module has parameters of actions by their names: weights of gauge actions, kappa against the mass of
Wilson quarks.

Nothing here loads the compiled part, whose operators convert kappa by the same formulas.
"""

from __future__ import annotations

import math
from typing import Literal

#: The gauge actions have this c1, the weight of the 2x1 loops, doc/conventions.md "Gauge action".
GAUGE_ACTIONS = {"wilson": 0.0, "symanzik": -1.0 / 12.0, "iwasaki": -0.331, "dbw2": -1.4088}
#: These gauge actions have a name.
GaugeActionName = Literal["wilson", "symanzik", "iwasaki", "dbw2"]
#: The gradient of one of these actions drives a flow.
FlowAction = Literal["wilson", "symanzik"]


def kappa_to_mass(kappa: float) -> float:
    """Return the bare mass m = 1 / (2 kappa) - 4 of a hopping parameter that is not 0."""
    return 1 / (2 * kappa) - 4


def mass_to_kappa(mass: float) -> float:
    """Return the hopping parameter 1 / (2 (4 + m)) of a bare mass; it is infinity for -4."""
    return 1 / (2 * (4 + mass)) if mass != -4 else math.inf
