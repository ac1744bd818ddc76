"""A correlator is exactly 0 at times whose numbers were not written; a fit takes these for data."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def missing_times(samples: NDArray, *, to_the_end: bool = False) -> list[int]:
    """Return the times t >= 1 that are 0 on all configurations, though a later time is not.

    Parameters
    ----------
    samples
        Shape [configuration, time].
    to_the_end
        Times after which nothing comes count, too: this is for correlators that run round the lattice. Files
        of forward states may have zeros there.

    Returns
    -------
    list of int
        Empty where all is 0, which has no correlator in it at all.
    """
    zero = np.all(samples == 0, axis=0)
    (numbers,) = np.nonzero(~zero)
    if len(numbers) == 0 or numbers[-1] == 0:
        return []
    last = len(zero) - 1 if to_the_end else int(numbers[-1])
    return [t for t in range(1, last + 1) if zero[t]]


def of_zeros(times: list[int], count: int) -> str:
    """Return the message about times at which a correlator is 0 on all configurations."""
    shown = ", ".join(map(str, times[:5])) + (f" and {len(times) - 5} more" if len(times) > 5 else "")
    return f"expected numbers at every time, found 0 on all {count} configurations at t = {shown}"


def partly_zero(samples: NDArray) -> str | None:
    """Return in words the times t >= 1 that are exactly 0 on some configurations; None without any."""
    zero = (samples == 0)[:, 1:]
    some = zero.any(axis=0) & ~zero.all(axis=0)
    if not some.any():
        return None
    t = int(np.flatnonzero(some)[0]) + 1
    return f"exactly 0 at t = {t} on {int(zero[:, t - 1].sum())} of {len(samples)} configurations"
