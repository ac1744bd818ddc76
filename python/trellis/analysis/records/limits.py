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


#: Names of pictures have words before and behind it.
_LONGEST_NAME = 120
#: Figures take $ for the begin of a formula.
_FORBIDDEN = "/\\$"
NAME_IN_WORDS = (
    f"a name that can be that of a file, of at most {_LONGEST_NAME} bytes, without {' '.join(_FORBIDDEN)} "
    "and without a dot before it"
)


def is_file_name(name: object) -> bool:
    """Return True if the name can be a part of the names of pictures."""
    if not isinstance(name, str) or not name.isprintable() or name != name.strip():
        return False
    is_short = 0 < len(name.encode(errors="replace")) <= _LONGEST_NAME
    return is_short and not name.startswith(".") and not set(name) & set(_FORBIDDEN)
