"""Errors from few independent numbers are themselves uncertain; remarks say so."""

from __future__ import annotations

import math

#: With fewer independent numbers a remark names the error's own error, which is then above 10 %.
FEW_SAMPLES = 50


def error_of_error(independent: float) -> float:
    """Return the relative error of an error from so many independent numbers, 1 / sqrt(2 (n - 1))."""
    return 1 / math.sqrt(2 * max(independent - 1, 0.5))
