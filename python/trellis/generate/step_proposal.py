"""This module does `trellis generate --tune`: it proposes steps of the integrator for a wished acceptance,
from a short scan.

Trajectories from one field, with the same momenta and pseudofermions, are integrated with the steps of the
run file and again with those of one level doubled, which makes all levels inside it finer too. The difference
to the next level inside is that level's part of dH: an integrator of order p leaves it falling as steps^-p.
With dH normal, of variance s^2 and mean s^2 / 2, so that <exp(-dH)> = 1, the acceptance is erfc(s / sqrt 8).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..evolve.hmc import HMC
from ..evolve.monomials import make_hmc, make_sea
from ..gauge.fields import GaugeField
from ..run_files import HmcRun
from ..runs.reporting import StepReporter
from .result import LevelProposal, StepProposal

#: A part of dH above this is not small, and the leading order of the step does not describe it.
_LARGEST_PART = 3.0
#: An error of dH falls as this power of the integrator's step.
_ORDERS = {"leapfrog": 2, "omelyan2": 2, "omelyan4": 4, "force_gradient": 4}


def acceptance_of(deviation: float) -> float:
    """Return the acceptance of a normal dH with this standard deviation."""
    return math.erfc(deviation / math.sqrt(8.0))


def deviation_for(acceptance: float) -> float:
    """Return the standard deviation of dH at which this share is accepted."""
    low, high = 0.0, 40.0
    for _ in range(100):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if acceptance_of(middle) > acceptance else (low, middle)
    return 0.5 * (low + high)


def whole_steps(steps: Sequence[int], factors: Sequence[float]) -> list[int]:
    """Return the steps of each level, outermost first, with which a trajectory has at least `factors` times
    as many.

    The steps of an inner level count for each drift of the level before, which became shorter or longer.
    """
    proposed = []
    outer = 1.0
    for count, factor in zip(steps, factors, strict=True):
        proposed.append(max(1, math.ceil(count * factor / outer)))
        outer *= proposed[-1] / count
    return proposed


def scan_steps(
    run: HmcRun, U: GaugeField, intervals: Any, output: StepReporter, *, acceptance: float, samples: int
) -> StepProposal:
    """Propose the steps of every level. Collective.

    Parameters
    ----------
    U
        A field of the run, past its thermalisation; it stays as it is.
    acceptance
        The wished one.
    samples
        Trajectories of each kind.
    """
    sea = make_sea(run, U, intervals)

    def violations(chain: HMC, what: str) -> NDArray[np.float64]:
        values = [chain.energy_violation(U, number) for number in range(1, samples + 1)]
        output.line(f"{what}: dH " + " ".join(f"{v:+.4f}" for v in values))
        output.raise_failure()
        return np.array(values)

    plain = violations(make_hmc(sea), "steps of the run file")
    allowed = deviation_for(acceptance) / math.sqrt(len(run.integrator))
    parts: list[float] = []
    factors: list[float] = []
    # The loop goes from the innermost level outwards: doubling a level's steps halves the step sizes of the
    # levels inside it too, so its own part is what changes when it joins them. Steps stay whole numbers.
    before = plain
    for k in reversed(range(len(run.integrator))):
        level = run.integrator[k]
        finer_level = level.model_copy(update={"steps": 2 * level.steps})
        table = [*run.integrator[:k], finer_level, *run.integrator[k + 1 :]]
        finer = make_sea(run.model_copy(update={"integrator": table}), U, sea.interval_record())
        after = violations(make_hmc(finer), f"level {k + 1} with {finer_level.steps} steps")
        order = _ORDERS[level.scheme]
        part = float(np.sqrt(np.mean((before - after) ** 2))) / (1 - 2.0**-order)
        before = after
        parts.insert(0, part)
        factors.insert(0, _step_factor(part, allowed, order, k + 1, output))
    proposed = whole_steps([level.steps for level in run.integrator], factors)
    levels = tuple(
        LevelProposal(level.scheme, level.steps, part, steps)
        for level, part, steps in zip(run.integrator, parts, proposed, strict=True)
    )
    _warn_of_far_fewer(levels, output)
    deviation = float(np.sqrt(np.mean(plain**2)))
    output.line(f"now: acceptance about {acceptance_of(deviation):.2f} (rms dH {deviation:.3g})")
    for number, found in enumerate(levels, start=1):
        output.line(
            f"level {number} ({found.scheme}): its part of dH {found.part:.3g}; steps {found.steps}, "
            f"proposed for an acceptance of {acceptance:g}: {found.proposed}"
        )
    return StepProposal(deviation, acceptance_of(deviation), acceptance, levels)


def _step_factor(part: float, allowed: float, order: int, number: int, output: StepReporter) -> float:
    """Return by which factor the steps of a level have to rise so that its part of dH is the allowed one."""
    factor: float = (part / allowed) ** (1 / order)
    if part > _LARGEST_PART and factor > 2:
        output.warning(
            f"level {number}: its part of dH, {part:.3g}, is so large that it need not fall as the power "
            f"{order} of the step: no more than twice the steps are proposed, tune again with them"
        )
        return 2.0
    return factor


def _warn_of_far_fewer(levels: Sequence[LevelProposal], output: StepReporter) -> None:
    """Warn of less than half of a level's steps: dH may grow faster than the leading power of the step."""
    share = 1.0
    fewer = []
    for number, level in enumerate(levels, start=1):
        share *= level.proposed / level.steps
        if share < 0.5:
            fewer.append(str(number))
    if fewer:
        output.warning(
            f"level{'s' if len(fewer) > 1 else ''} {', '.join(fewer)}: less than half of the steps of a "
            "trajectory are proposed, with which dH may grow faster than the leading power of the step: tune "
            "again with these"
        )
