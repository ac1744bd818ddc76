"""This module tests whether C(T - t) = +-C(t) holds in the mean; folding needs that symmetry.

D(t) = C(t) -+ C(T - t) of a meson whose time counts from the source has the mean 0 at every t. Hotelling's

    T^2 = n <D>^T S^-1 <D>,     S the sample covariance of D,

follows n_eff with F = T^2 / f (n_eff - d) / [d (n_eff - 1)], an F distribution of d and n_eff - d degrees of
freedom, for n_eff = n / f independent configurations and d times. f is the largest variance factor of the
means of D(t) and of S^-1 <D>, by the Gamma method. With few configurations S is singular: d times are taken,
evenly spread, so that each has at least eight independent configurations.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import f as f_distribution

from ..records.errors import FitFailed
from ..statistics.autocorrelation import error_factor

#: A reader is warned below this probability; one in 10000 symmetric correlators is below it by chance.
WARN = 1e-4
#: Nothing is fitted below this probability if the ratio is larger than the second number, too.
REFUSE, RATIO = 1e-10, 2.0
#: A difference is seen where it is larger than this many errors.
_SEEN = 5.0
_CONFIGURATIONS_PER_TIME = 8
#: Differences below this part of the correlator come from rounding.
_ROUNDING = 1e-12
#: Correlation matrices of a larger condition number are not inverted; fewer times are taken.
_LARGEST_CONDITION = 1e10


@dataclass(frozen=True)
class Asymmetry:
    """This is the result of the test.

    Attributes
    ----------
    p_value
        The probability of at least this T^2 for a correlator that is symmetric.
    time
        C(t) and C(T - t) differ most here in units of the error; times with a ratio above RATIO come first.
    values
        Means of C(t) and C(T - t) there.
    is_large
        True if the two differ by more than RATIO, or in sign, significantly.
    """

    p_value: float
    time: int
    values: tuple[float, float]
    is_large: bool


def asymmetry(samples: NDArray, image: int, numbers: NDArray) -> Asymmetry | None:
    """Test C(T - t) = image C(t); return None where nothing differs, or differences have no error.

    Parameters
    ----------
    samples
        Shape [configuration, time].
    image
        +1 or -1.
    numbers
        Trajectory numbers of the configurations.
    """
    count, extent = samples.shape
    times = np.arange(1, (extent + 1) // 2)
    forward, backward = samples[:, times], image * samples[:, extent - times]
    D = forward - backward
    scale = np.abs(forward).mean(axis=0) + np.abs(backward).mean(axis=0)
    kept = D.std(axis=0) > _ROUNDING * scale
    if not kept.any():
        return None
    D, times = D[:, kept], times[kept]
    mean, deviation = D.mean(axis=0), D.std(axis=0, ddof=1)
    D = D / deviation
    factor = max(error_factor(column, numbers, "gamma")[0] for column in D.T)
    p = _probability(D, numbers, factor)
    z = np.abs(mean) / deviation * np.sqrt(count / factor)
    here = np.array([samples[:, times].mean(axis=0), image * samples[:, extent - times].mean(axis=0)])
    smaller, larger = np.sort(np.abs(here), axis=0)
    is_large = (z > _SEEN) & ((larger > RATIO * smaller) | (here[0] * here[1] < 0))
    k = int(np.argmax(np.where(is_large, z, 0.0) if is_large.any() else z))
    return Asymmetry(p, int(times[k]), (float(here[0, k]), image * float(here[1, k])), bool(is_large.any()))


def _probability(D: NDArray, numbers: NDArray, factor: float) -> float:
    """Return the p-value of Hotelling's statistic; columns of D have unit variance."""
    count = len(D)
    d = int(np.clip(count / factor / _CONFIGURATIONS_PER_TIME, 1, D.shape[1]))
    while True:
        chosen = np.round(np.linspace(0, D.shape[1] - 1, d + 2)[1:-1]).astype(int)
        chosen = np.arange(D.shape[1]) if d == D.shape[1] else np.unique(chosen)
        S = np.atleast_2d(np.cov(D[:, chosen], rowvar=False))
        if d == 1 or np.linalg.cond(S) < _LARGEST_CONDITION:
            break
        d = max(1, d // 2)
    mean = D[:, chosen].mean(axis=0)
    direction = np.linalg.solve(S, mean)
    statistic = count * float(mean @ direction)
    factor = max(factor, error_factor(D[:, chosen] @ direction, numbers, "gamma")[0])
    d, independent = len(chosen), max(count / factor, len(chosen) + 1.0)
    F = statistic / factor * (independent - d) / (d * (independent - 1))
    return float(f_distribution.sf(F, d, independent - d))


def fitting_shift(samples: NDArray, image: int, numbers: NDArray) -> int | None:
    """Return the time at which symmetric correlators have their source, 0 ... T - 1;
    None if there is none.
    """
    extent = samples.shape[1]
    times = np.arange(1, (extent + 1) // 2)
    sizes = []
    for k in range(extent):
        D = samples[:, (k + times) % extent] - image * samples[:, (k - times) % extent]
        variance = D.var(axis=0)
        used = variance > 0
        sizes.append(float((D.mean(axis=0)[used] ** 2 / variance[used]).mean()) if used.any() else np.inf)
    k = int(np.argmin(sizes))
    if extent % 2 == 0:  # symmetric about a time is symmetric about that half the lattice away
        mean = np.abs(samples.mean(axis=0))
        both = [k, (k + extent // 2) % extent]
        k = max(both, key=lambda at: mean[(at + 1) % extent] + mean[at - 1])
    found = asymmetry(np.roll(samples, -k, axis=1), image, numbers)
    return k if found is None or found.p_value > WARN else None


def check_time_symmetry(name: str, samples: NDArray, image: int, numbers: NDArray, notes: list[str]) -> None:
    """Add a note where a correlator that is to be folded is not symmetric.

    Parameters
    ----------
    samples, image, numbers
        See :func:`asymmetry`. Baryons and Dirichlet time have no such symmetry.

    Raises
    ------
    FitFailed
        It is so far from symmetric that its time cannot count from the source.
    """
    _require_fall(name, samples, numbers)
    found = asymmetry(samples, image, numbers)
    if found is None or found.p_value > WARN:
        return
    t, extent = found.time, samples.shape[1]
    first, second = found.values
    said = (
        f"expected C(T - t) = {'' if image > 0 else '-'}C(t), found {first:.4g} at t = {t} and {second:.4g} "
        f"at T - t = {extent - t}"
    )
    if found.p_value > REFUSE or not found.is_large:
        notes.append(f"{name}: C(t) and C(T - t) look different: {said} (p = {found.p_value:.1e})")
        return
    raise FitFailed(f"{name}: {said}; {_remedy(samples, image, numbers)}")


def _require_fall(name: str, samples: NDArray, numbers: NDArray) -> None:
    """Refuse what is larger near T/2 than at t = 1: symmetric, but half the lattice away from its source."""
    extent = samples.shape[1]
    far = extent // 2 - 1
    if extent % 2 or far < 2:
        return
    mean = samples.mean(axis=0)
    rise = np.sign(mean[far]) * samples[:, far] - RATIO * np.sign(mean[1]) * samples[:, 1]
    error = rise.std(ddof=1) * np.sqrt(error_factor(rise, numbers, "gamma")[0] / len(rise))
    if error > 0 and rise.mean() > _SEEN * error:
        raise FitFailed(
            f"{name}: expected a correlator that falls from the source on, found {mean[1]:.4g} at t = 1 and "
            f"{mean[far]:.4g} at t = {far}; if its source is at T/2, write C(t + {extent // 2}) to the file"
        )


def _remedy(samples: NDArray, image: int, numbers: NDArray) -> str:
    shift = fitting_shift(samples, image, numbers)
    if shift:
        return (
            f"a shift by {shift} makes it symmetric: write C(t + {shift}) to the file, so that t = 0 is the "
            "source"
        )
    if fitting_shift(samples, -image, numbers) == 0:
        return f"the sign {-image:+d} fits the data: check the gamma matrices of source and sink"
    return "no shift makes it symmetric: t = 0 has to be the source on every configuration"
