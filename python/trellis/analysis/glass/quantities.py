"""Functions of the means over samples get their errors by jackknife here.

The jackknife leaves one sample out at a time (M. H. Quenouille 1956; B. Efron 1982): samples of disorder are
independent, whatever happens in time.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Means = dict[str, NDArray[np.float64]]


@dataclass(frozen=True)
class Estimate:
    """This is a number with its error, which is None where there is one sample alone."""

    value: float
    error: float | None


def jackknife(of_samples: Means, function: Callable[[dict[str, float]], float]) -> Estimate | None:
    """Return a function of means over samples with its error; None where the value is not finite.

    Parameters
    ----------
    of_samples
        Each name has one number of each sample.
    function
        Takes the means by name.
    """
    count = len(next(iter(of_samples.values())))
    sums = {name: values.sum() for name, values in of_samples.items()}
    with np.errstate(all="ignore"):
        value = float(function({name: total / count for name, total in sums.items()}))
        if not math.isfinite(value):
            return None
        if count < 2:
            return Estimate(value, None)
        left_out = [
            float(function({name: (sums[name] - of_samples[name][k]) / (count - 1) for name in sums}))
            for k in range(count)
        ]
    deviations = np.array(left_out) - np.mean(left_out)
    error = float(math.sqrt((count - 1) / count * np.sum(deviations**2)))
    return Estimate(value, error if math.isfinite(error) else None)


def correlation_length(k: float, square: float, square_at_k: float) -> float:
    """Return xi = sqrt(chi(0) / chi(k) - 1) / (2 sin(k / 2)) (F. Cooper, B. Freedman, D. Preston 1982)."""
    if square_at_k <= 0 or square <= square_at_k:
        return math.nan
    return math.sqrt(square / square_at_k - 1) / (2 * math.sin(k / 2))


def quantities(
    extents: tuple[int, ...], temperature: float, replicas: int
) -> dict[str, Callable[[dict[str, float]], float]]:
    """Return the functions of means by name, for one temperature.

    Correlation lengths are divided by the extent L, and need the same one in all directions with bonds.

    Notes
    -----
    cumulant is <m^4> / <m^2>^2. binder is (11 - 9 [<q^4>] / [<q^2>]^2) / 2 of the nine components of the
    overlap tensor (0 for independent normal ones). chiral_binder is (3 - [<k^4>] / [<k^2>]^2) / 2.
    """
    with_bonds = {extent for extent in extents[:3] if extent > 1}
    found: dict[str, Callable[[dict[str, float]], float]] = {
        "energy": lambda m: m["energy"],
        "magnetisation_squared": lambda m: m["magnetisation_squared"],
        "cumulant": lambda m: m["magnetisation_fourth"] / m["magnetisation_squared"] ** 2,
    }
    if replicas > 1:
        found |= {
            "overlap_squared": lambda m: m["overlap_squared"],
            "binder": lambda m: (11 - 9 * m["overlap_fourth"] / m["overlap_squared"] ** 2) / 2,
            "chirality_squared": lambda m: m["chirality_squared"],
            "chiral_binder": lambda m: (3 - m["chirality_fourth"] / m["chirality_squared"] ** 2) / 2,
        }
    if len(with_bonds) != 1 or 2 in with_bonds:  # with two sites k is pi: there is no length
        return found
    L = with_bonds.pop()
    k = 2 * math.pi / L
    kinds = {"magnetisation": "magnetisation_length"}
    if replicas > 1:
        kinds |= {"overlap": "overlap_length", "chirality": "chiral_length"}
    for kind, name in kinds.items():
        found[name] = _length_over_extent(kind, k, L)
    return found


def _length_over_extent(kind: str, k: float, L: int) -> Callable[[dict[str, float]], float]:
    return lambda m: correlation_length(k, m[f"{kind}_squared"], m[f"{kind}_k_squared"]) / L


def equilibration(extents: tuple[int, ...], temperature: float) -> Callable[[dict[str, float]], float]:
    """Return the difference of both sides of an identity of Gaussian couplings, per bond; 0 in equilibrium.

    [J <S.S'>] = ([<(S.S')^2>] - [<S.S'>^2]) / T follows by parts from the weight exp(-J^2 / 2) of a coupling,
    and <S.S'>^2 is the product of two replicas (H. G. Katzgraber, M. Palassini, A. P. Young 2001, for Ising
    spins; H. G. Katzgraber and A. P. Young 2002 for vectors). From a random start the left side approaches
    from below and the right side from above.
    """
    bonds_a_site = sum(extent > 1 for extent in extents[:3])
    return lambda m: -m["energy"] / bonds_a_site - (m["bond_square"] - m["bond_product"]) / temperature
