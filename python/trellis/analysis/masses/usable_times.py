"""Fits can use the time slices at which a correlator varies and its signal has not ended."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..records.errors import FitFailed
from ..records.options import AnalysisOptions
from .correlators import ParticleCorrelator

#: A window ends before the image from behind exceeds this fraction of the error.
IMAGE_LIMIT = 0.25
#: Smaller relative differences come from rounding.
_SAME = 1e-12


def require_variation(
    data: NDArray, correlator: ParticleCorrelator, last: int, options: AnalysisOptions
) -> None:
    """Refuse configurations that are copies of a few, or do not differ: errors come
    from their differences.
    """
    if last < 2:  # it is too short for a fit, whatever it does
        return
    first = min(1, options.t_min_first)
    used = data[:, first : last + 1]
    different = len(np.unique(used, axis=0))
    if different < options.minimum_configurations:
        raise FitFailed(
            f"{correlator.name}: expected at least {options.minimum_configurations} configurations with "
            f"different correlators, found {different} among {len(data)}"
        )
    (same,) = np.nonzero(used.std(axis=0) <= _SAME * np.abs(used.mean(axis=0)))
    if len(same):
        raise FitFailed(
            f"{correlator.name}: expected numbers that differ between configurations, found the same on all "
            f"{len(data)} at t = {same[0] + first}"
        )
    moves = (used - used.mean(axis=0)) / used.std(axis=0)
    rank, expected = int(np.linalg.matrix_rank(moves, rtol=_SAME)), min(len(used) - 1, used.shape[1])
    if rank < expected:
        raise FitFailed(
            f"{correlator.name}: expected {last - first + 1} time slices to vary in {expected} ways, found "
            f"{rank}: the configurations are sums of a few, and errors would be those of these few"
        )


def time_limit(correlator: ParticleCorrelator) -> int:
    """Return the last time slice that fits can use, however good the data are."""
    extent = correlator.time_extent
    if correlator.image:
        return extent // 2 if correlator.image > 0 else extent // 2 - 1
    return extent - 1 if correlator.boundary_t == "dirichlet" else extent // 2


def last_time(
    data: NDArray,
    correlator: ParticleCorrelator,
    options: AnalysisOptions,
    avoid_image: bool,
    notes: list[str],
) -> int:
    """Return the last time slice of the fits: it is given, or noise or (if avoided) the
    image takes over behind it.
    """
    limit = time_limit(correlator)
    if options.t_max is not None:
        return min(options.t_max, limit)
    mean = data.mean(axis=0)
    error = data.std(axis=0, ddof=1) / np.sqrt(len(data))
    if correlator.alternates:
        mean = _strength(mean)
    last = 0
    while last < limit and mean[last + 1] > 0 and error[last + 1] < options.noise_limit * mean[last + 1]:
        last += 1
    if last > 1 and avoid_image and correlator.kind == "baryon" and correlator.boundary_t != "dirichlet":
        behind = _image_from_behind(mean, error)
        clean = last
        while clean > 1 and behind[clean] > IMAGE_LIMIT * error[clean]:
            clean -= 1
        if clean < last:
            notes.append(
                f"{correlator.name}: windows end at t = {clean} and not {last}, where the state that runs "
                f"backwards reaches {IMAGE_LIMIT} of the error"
            )
        last = clean
    return last


def _strength(mean: NDArray) -> NDArray:
    """Return |C(t)|, or sqrt |C(t - 1) C(t + 1)| where that is larger.

    States of both signs may cancel at a time.
    """
    found = np.abs(mean)
    found[1:-1] = np.maximum(found[1:-1], np.sqrt(found[:-2] * found[2:]))
    return found


#: C(T - t') is seen while it is larger than this many errors.
_SEEN = 2.0


def _image_from_behind(mean: NDArray, error: NDArray) -> NDArray:
    """Estimate the backward state.

    The estimate is C(T - t') at the last t' up to T/4 where it is seen, continued with its effective mass. It
    is 0 where C(T - t') is not seen or does not fall with t', as that of a state which runs backwards does
    (files can hold the forward state alone).
    """
    extent = len(mean)
    backward, noise = np.abs(np.roll(mean[::-1], 1)), np.roll(error[::-1], 1)
    start = 0
    while start < max(2, extent // 4) and backward[start + 1] > _SEEN * noise[start + 1]:
        start += 1
    if start < 2 or backward[start - 1] <= backward[start]:
        return np.zeros(extent)
    mass = np.log(backward[start - 1] / backward[start])
    return backward[start] * np.exp(-mass * (extent - np.arange(extent) - start))
