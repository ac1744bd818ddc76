"""This module says which names and numbers of correlators the analysis takes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

#: Products of four values are numbers of double.
_LARGEST = 1e75
RANGE_IN_WORDS = f"the largest between {1 / _LARGEST:.0e} and {_LARGEST:.0e}"


def in_range(values: NDArray) -> bool:
    """Return True if squares of variances of such values stay in the range of double; zeros do."""
    largest = float(np.abs(values).max(initial=0.0))
    return largest == 0 or 1 / _LARGEST <= largest <= _LARGEST


def is_file_name(name: str) -> bool:
    """Return True if the name can be a part of the names of pictures."""
    return bool(name) and not name.startswith(".") and not set(name) & set("/\\\0")
