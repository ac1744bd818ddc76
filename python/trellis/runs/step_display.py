"""This module shows the steps of a run as a bar, for `progress=True`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from ..ground.progress_display import displaying
from .reporting import Step

#: These numbers of a step are shown: the first that it has.
_SHOWN = {"plaquette": "plaquette {:.6f}", "dH": "dH {:+.3f}", "relative_residual": "residual {:.1e}"}
#: These words stand in front of the bar, for steps that are counted.
_COUNTED = {"propagators": "propagators", "sweep": "sweeps", "trajectory": "trajectories"}


@contextmanager
def displaying_steps(
    wanted: bool, on_progress: Callable[[Step], None] | None
) -> Iterator[Callable[[Step], None] | None]:
    """Yield a function that shows steps on a bar and hands them on to `on_progress`.

    It is `on_progress` itself where no bar is wanted.
    """
    if not wanted:
        yield on_progress
        return
    with ExitStack() as stack:
        bars: list[Callable[[float, str], None]] = []

        def show(step: Step) -> None:
            if step.what in _COUNTED and step.completed is not None and step.total is not None:
                if not bars:
                    bars.append(stack.enter_context(displaying(_COUNTED[step.what], step.total)))
                said = [
                    form.format(step.numbers[name]) for name, form in _SHOWN.items() if name in step.numbers
                ]
                bars[0](step.completed, ", ".join([f"{step.completed} of {step.total}", *said]))
            if on_progress is not None:
                on_progress(step)

        yield show
