"""This module has the observables of every sample and temperature, from exact sums over sites; means are in
logarithmic bins of time.

Bin b has the measurements after steps 2^b to 2^(b+1) - 1: the last full one is the second half of the run,
and a run is long enough where the last bins agree.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: These are the names, in their order; each is a number of every sample and temperature.
NAMES = (
    "energy",  # a site, mean of the replicas
    "energy_squared",  # mean of the replicas
    "magnetisation_squared",  # |M|^2 / N^2, mean of the replicas
    "magnetisation_fourth",
    "magnetisation_k_squared",  # |M(k)|^2 / N^2 at k = 2 pi / L, mean of the directions that have one
    "bond_square",  # (S.S')^2 a bond, mean of the replicas
    "bond_product",  # (S.S')_1 (S.S')_2 a bond, mean of the pairs of replicas
    "overlap_squared",  # q^2 = sum_ab q_ab^2, mean of the pairs
    "overlap_fourth",
    "overlap_k_squared",  # sum_ab |q_ab(k)|^2
    "chirality_squared",  # square of the overlap of chiralities, mean of the directions
    "chirality_fourth",
    "chirality_k_squared",  # at k along the direction of the chirality
)


def bonds_of(extents: tuple[int, ...]) -> int:
    """Return bonds of a sample: three a site, but none in directions with an extent of 1."""
    sites = int(np.prod(extents[:3]))
    return sites * sum(extent > 1 for extent in extents[:3])


def measure(core: Any, extents: tuple[int, ...], temperatures: int, replicas: int) -> NDArray[np.float64]:
    """Return the observables [name][sample][temperature] of the spins as they are. Collective.

    What needs two replicas is 0 where there is one.

    Parameters
    ----------
    core
        The compiled part's spin glass; slot = replica * temperatures + temperature.
    """
    sites, bonds = int(np.prod(extents[:3])), bonds_of(extents)
    with_bonds = [mu for mu in range(3) if extents[mu] > 1]
    slots = [(slot, slot) for slot in range(replicas * temperatures)]
    found = dict.fromkeys(NAMES, np.zeros((extents[3], temperatures)))

    def mean(values: NDArray[np.float64], groups: int) -> NDArray[np.float64]:
        """Return the mean over the replicas, or their pairs: [sample][group x temperature] ->
        [sample][temperature]."""
        return values.reshape(extents[3], groups, temperatures).mean(axis=1)

    energy = core.sums("energy", slots)[:, :, 0] / sites
    found["energy"], found["energy_squared"] = mean(energy, replicas), mean(energy**2, replicas)
    M = core.sums("magnetisation", slots).reshape(extents[3], len(slots), 7, 3) / sites
    square = (M[:, :, 0] ** 2).sum(axis=-1)
    found["magnetisation_squared"] = mean(square, replicas)
    found["magnetisation_fourth"] = mean(square**2, replicas)
    found["magnetisation_k_squared"] = mean(_at_k(M, with_bonds).mean(axis=-1), replicas)
    pairs = [
        (a * temperatures + t, b * temperatures + t)
        for a, b in itertools.combinations(range(replicas), 2)
        for t in range(temperatures)
    ]
    if not pairs:
        found["bond_square"] = mean(core.sums("bonds", slots)[:, :, 0] / bonds, replicas)
        return np.array([found[name] for name in NAMES])
    groups = len(pairs) // temperatures
    of_bonds = core.sums("bonds", pairs) / bonds
    found["bond_square"] = mean(of_bonds[:, :, :2].mean(axis=-1), groups)
    found["bond_product"] = mean(of_bonds[:, :, 2], groups)
    q = core.sums("overlap", pairs).reshape(extents[3], len(pairs), 7, 9) / sites
    square = (q[:, :, 0] ** 2).sum(axis=-1)
    found["overlap_squared"], found["overlap_fourth"] = mean(square, groups), mean(square**2, groups)
    found["overlap_k_squared"] = mean(_at_k(q, with_bonds).mean(axis=-1), groups)
    chirality = core.sums("chirality", pairs).reshape(extents[3], len(pairs), 7, 3) / sites
    square = chirality[:, :, 0, with_bonds] ** 2
    found["chirality_squared"] = mean(square.mean(axis=-1), groups)
    found["chirality_fourth"] = mean((square**2).mean(axis=-1), groups)
    along = [chirality[:, :, 1 + 2 * mu, mu] ** 2 + chirality[:, :, 2 + 2 * mu, mu] ** 2 for mu in with_bonds]
    found["chirality_k_squared"] = mean(np.mean(along, axis=0), groups)
    return np.array([found[name] for name in NAMES])


def _at_k(sums: NDArray[np.float64], directions: list[int]) -> NDArray[np.float64]:
    """Return the sum over components of |sum exp(i k x)|^2 for each direction: [sample][pair][direction]."""
    parts = [(sums[:, :, 1 + 2 * mu] ** 2 + sums[:, :, 2 + 2 * mu] ** 2).sum(axis=-1) for mu in directions]
    return np.stack(parts, axis=-1)


class LogarithmicBins:
    """These are sums of observables in bins of time that double in length.

    Attributes
    ----------
    sums
        [bin][name][sample][temperature]
    counts
        Measurements of each bin.
    """

    def __init__(self, samples: int, temperatures: int) -> None:
        self._shape = (len(NAMES), samples, temperatures)
        self.sums: list[NDArray[np.float64]] = []
        self.counts: list[int] = []

    def add(self, step: int, values: NDArray[np.float64]) -> None:
        """Add the observables after a step, which counts from 1."""
        bin = step.bit_length() - 1
        while len(self.counts) <= bin:
            self.sums.append(np.zeros(self._shape))
            self.counts.append(0)
        self.sums[bin] = self.sums[bin] + values
        self.counts[bin] += 1

    def last_mean(self, name: str) -> NDArray[np.float64] | None:
        """Return the mean of the last bin with a measurement, [sample][temperature]; None without one."""
        filled = [bin for bin, count in enumerate(self.counts) if count]
        if not filled:
            return None
        return self.sums[filled[-1]][NAMES.index(name)] / self.counts[filled[-1]]
