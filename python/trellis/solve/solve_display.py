"""This module shows iterations and residual of a solve under way, for `progress=True`: a second thread looks
at the core."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from ..ground.compiled_core import load
from ..ground.progress_display import displaying

#: So many seconds lie between two looks.
_BETWEEN_LOOKS = 0.1


@contextmanager
def displaying_solve(wanted: bool, tolerance: float) -> Iterator[None]:
    """Show the solve inside, which has to record its history, if it is wanted.

    Parameters
    ----------
    tolerance
        The solve has this tolerance: the bar is full where the residual has come down to it.
    """
    if not wanted:
        yield
        return
    core = load()
    core.forget_solve()
    digits = -math.log10(tolerance) if 0 < tolerance < 1 else 1.0
    ends = threading.Event()
    with displaying("solve", digits) as show:

        def look() -> None:
            iterations, residual = core.look_at_solve()
            if iterations:
                done = -math.log10(residual) if residual > 0 else digits
                show(min(max(done, 0.0), digits), f"{iterations} iterations, residual {residual:.1e}")

        def look_on() -> None:
            while not ends.wait(_BETWEEN_LOOKS):
                look()

        looker = threading.Thread(target=look_on, name="trellis-progress", daemon=True)
        looker.start()
        try:
            yield
        finally:
            ends.set()
            looker.join()
            look()
