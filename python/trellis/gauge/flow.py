"""This is the gradient flow of a gauge field."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from ..ground.action_parameters import GAUGE_ACTIONS, FlowAction
from ..ground.arguments import choice, instance, real
from ..ground.compiled_core import load
from ..ground.copies_and_pickles import NoArray, NotCopied
from ..ground.errors import BadArgument
from ..ground.progress_display import displaying
from ..ground.scale_setting import reference_time, w0_scale
from .fields import GaugeField

#: Third-order Runge-Kutta multiplies waves of the links by 1 + z + z^2/2 + z^3/6, z = -16 step for the
#: shortest: beyond 0.157 they grow.
_MOST_STEP = 0.15
#: A time that is asked for has at most so many steps, and a history so many times: more take longer than
#: anybody waits.
_MOST_STEPS = 10**6


class GradientFlow(NotCopied, NoArray):
    """It solves dV/dt = -(dS/dV) V from the links of a field (doc/conventions.md "Smearing and flow").

    The steps are third-order Runge-Kutta; their length follows an error estimate, or is fixed.

    Parameters
    ----------
    U
        It starts there; the links are left alone.
    action
        "wilson" or "symanzik" (tree level).
    tolerance
        The estimated error of a step, a Frobenius norm of links, is at most this; it is below 1.
    first_step, largest_step
        They are steps of t / a^2.
    step
        A fixed step length instead, at most 0.15: with longer ones the shortest waves of the links grow. The
        last step before a time asked for may be shorter.

    Raises
    ------
    BadArgument
        Unknown action, or a value outside its range.
    """

    _instead = "begin another one at flow.field"
    _no_array = "flow.field has the links"

    def __init__(
        self,
        U: GaugeField,
        *,
        action: FlowAction = "wilson",
        tolerance: float = 1e-6,
        first_step: float = 0.01,
        largest_step: float = 0.2,
        step: float | None = None,
    ) -> None:
        links = instance("U", U, GaugeField)._core
        c1 = GAUGE_ACTIONS[choice("action", action, *get_args(FlowAction))]
        self._step = None if step is None else real("step", step, above=0, most=_MOST_STEP)
        self._steps = 0
        if step is None:
            limits = (
                real("tolerance", tolerance, above=0, below=1),
                real("first_step", first_step, above=0),
                real("largest_step", largest_step, above=0),
            )
            self._core = load().GradientFlow(links, c1, *limits)
        else:
            self._core = load().FixedStepFlow(links, c1)

    def advance(self, time: float) -> None:
        """Flow on to t / a^2 = time. Collective.

        Parameters
        ----------
        time
            t / a^2, not before the time so far.

        Raises
        ------
        BadArgument
            The flow is beyond that time, or a million steps away from it.
        NumericError
            No step length meets the tolerance.
        """
        time = real("time", time)
        if self._step is None:
            self._core.advance(time)
            return
        rest = time - self._core.time
        if rest < -1e-12:
            raise BadArgument(f"the flow is at t = {self._core.time}, it cannot go back to {time}")
        count = math.ceil(rest / self._step - 1e-9)
        if count > _MOST_STEPS:
            raise BadArgument(
                f"steps of {self._step:g} up to t = {time:g}: expected at most {_MOST_STEPS} of them, found "
                f"{count}"
            )
        for k in range(count):
            self._core.step(self._step if k + 1 < count else rest - (count - 1) * self._step)
            self._steps += 1

    @property
    def time(self) -> float:
        """Return t / a^2."""
        return self._core.time

    @property
    def steps(self) -> int:
        """Return the number of steps taken."""
        return self._core.steps if self._step is None else self._steps

    @property
    def field(self) -> GaugeField:
        """Return a copy of the flowed links."""
        return GaugeField(self._core.field())

    def observables(self) -> dict[str, float]:
        """Return energy_clover, energy_plaquette, charge_clover, charge_improved of the flowed links.

        Collective.
        """
        return self._core.observables()


@dataclass(frozen=True)
class FlowHistory:
    """These are the observables that were measured along a flow; they are arrays over flow times.

    Attributes
    ----------
    time
        t / a^2.
    energy_clover, energy_plaquette
        a^4 E from the clover and from the plaquette.
    charge_clover, charge_improved
        Topological charge; improved: 5/3 clover - 1/6 rectangle.
    """

    time: NDArray[np.float64]
    energy_clover: NDArray[np.float64]
    energy_plaquette: NDArray[np.float64]
    charge_clover: NDArray[np.float64]
    charge_improved: NDArray[np.float64]

    @property
    def t0(self) -> float:
        """Return t0 / a^2: t^2 E_clover = 0.3; it is NaN if this is not reached.

        Raises
        ------
        BadArgument
            Fewer than four flow times.
        """
        self._require_times("t0", 4)
        return reference_time(self.time, self.energy_clover)

    @property
    def w0(self) -> float:
        """Return w0 / a: t d/dt (t^2 E_clover) = 0.3 at t = w0^2; it is NaN if this is not reached.

        Raises
        ------
        BadArgument
            Fewer than five flow times.
        """
        self._require_times("w0", 5)
        return w0_scale(self.time, self.energy_clover)

    def _require_times(self, name: str, least: int) -> None:
        """Raise BadArgument unless there are enough flow times for an interpolation."""
        found = len(self.time)
        if found < least:
            last, reached = float(self.time[-1]), float(self.time[-1] ** 2 * self.energy_clover[-1])
            raise BadArgument(
                f"{name} is not known: it is interpolated between {least} flow times or more, and this "
                f"history has {found}; t^2 E = {reached:.4g} at its last one, t = {last:g}, where 0.3 is "
                "looked for: expected a longer time or a smaller spacing"
            )


def flow_history(
    U: GaugeField,
    *,
    time: float,
    spacing: float = 0.1,
    action: FlowAction = "wilson",
    tolerance: float = 1e-6,
    step: float | None = None,
    progress: Callable[[float], None] | bool | None = None,
) -> FlowHistory:
    """Flow to `time` and measure at 0, spacing, 2 spacing, ... and at the end. Collective.

    Parameters
    ----------
    U
        The links at time 0; they stay as they are.
    time, spacing
        t / a^2; both positive.
    action, tolerance, step
        They are those of :class:`GradientFlow`.
    progress
        True shows the flow time on standard error; a function is called with each time that was measured.

    Returns
    -------
    FlowHistory
        One entry for each flow time.

    Raises
    ------
    BadArgument
        A time or spacing that is not positive, more than a million flow times, another action.
    NumericError
        No step length meets the tolerance.
    """
    time, spacing = real("time", time, above=0), real("spacing", spacing, above=0)
    flow = GradientFlow(U, action=action, tolerance=tolerance, step=step)
    count = math.ceil(min(time / spacing, 1e300) * (1 - 1e-12))
    if count > _MOST_STEPS:
        raise BadArgument(
            f"time = {time:g} with spacing = {spacing:g}: expected at most {_MOST_STEPS} flow times, found "
            f"{count:.7g}"
        )
    times = np.minimum(spacing * np.arange(count + 1), time)
    rows = []
    with displaying("flow", time, wanted=progress is True) as show:
        for t in times:
            flow.advance(float(t))
            rows.append(flow.observables())
            show(float(t), f"t/a^2 = {t:.3g} of {time:g}")
            if callable(progress):
                progress(float(t))
    columns = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    return FlowHistory(time=times, **columns)
