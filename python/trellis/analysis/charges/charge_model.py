"""This module has the models of the fits of charges; they are linear in everything but the energies.

charges.py and fixed_sink.py use them. Parameters are logE0, logA0, for the k-th excited state the logarithm
of its gap and r_k = A_k/A_0, and for each charge its coefficients in units of A_0. With theta = (log E0, log
gap, log gap 2, ...) a model is the product of design(theta) and A_0 (1, r_1, ..., coefficients of the first
charge, of the second, ...).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

#: The names of the parameters of the first, second, ... excited state end in these.
EXCITED = ("", "2")


@dataclass(frozen=True)
class ChargeModel(ABC):
    """The model has C and the correlators of every current, one after the other.

    Attributes
    ----------
    names
        The names of the charges.
    states
        1 and more.
    t
        Times of C.
    """

    names: Sequence[str]
    states: int
    t: NDArray

    @property
    @abstractmethod
    def coefficients(self) -> list[str]:
        """Return the beginnings of the names of each charge's parameters, g first."""

    @property
    @abstractmethod
    def times(self) -> NDArray:
        """Return t in exp(-E0 t), by which each datum falls at fixed gaps."""

    @abstractmethod
    def __call__(self, p) -> NDArray:
        """Return all data; p holds floats or gvars."""

    @abstractmethod
    def design(self, theta: NDArray) -> NDArray:
        """Return the derivatives of the data by the linear parameters at each theta, [node, data, linear]."""

    @property
    def farthest(self) -> float:
        """Return the distance in time at which the least of the excited states is left."""
        return float(self.t[-1])

    @property
    def gaps(self) -> list[str]:
        """Return the names of the parameters of the gaps without their "loggap"."""
        return list(EXCITED[: self.states - 1])

    def places_of_charges(self) -> list[int]:
        """Return the index of A_0 g of each charge among the linear parameters."""
        return [self.states + len(self.coefficients) * i for i in range(len(self.names))]

    def two_point(self, p) -> NDArray:
        """Return C."""
        C, gap = 1.0, 0.0
        for k in self.gaps:
            gap = gap + np.exp(p["loggap" + k])
            C = C + p["r" + k] * np.exp(-gap * self.t)
        return np.exp(p["logA0"] - np.exp(p["logE0"]) * self.t) * C


@dataclass(frozen=True)
class FeynmanHellmannModel(ChargeModel):
    """The model has N(t) of every current at the times of C; formulas in charges.py."""

    @property
    def coefficients(self) -> list[str]:
        return ["g", "c0"] + [stem + k for k in self.gaps for stem in ("b", "c")]

    @property
    def times(self) -> NDArray:
        return np.tile(self.t, 1 + len(self.names))

    def __call__(self, p) -> NDArray:
        t, gap = self.t, 0.0
        linear = {name: p[f"g_{name}"] * t + p[f"c0_{name}"] for name in self.names}
        for k in self.gaps:
            gap = gap + np.exp(p["loggap" + k])
            x = np.exp(-gap * t)
            for name in self.names:
                linear[name] = linear[name] + x * (p[f"b{k}_{name}"] * t + p[f"c{k}_{name}"])
        ground = np.exp(p["logA0"] - np.exp(p["logE0"]) * t)
        return np.concatenate([self.two_point(p)] + [ground * linear[name] for name in self.names])

    def design(self, theta: NDArray) -> NDArray:
        states, length = self.states, len(self.t)
        x = np.exp(-np.cumsum(np.exp(theta), axis=1)[:, None, :] * self.t[:, None])
        design = np.zeros((len(theta), len(self.times), states + 2 * states * len(self.names)))
        design[:, :length, :states] = x
        for i, first in enumerate(self.places_of_charges(), start=1):
            rows = slice(i * length, (i + 1) * length)
            design[:, rows, first : first + 2 * states : 2] = x * self.t[:, None]
            design[:, rows, first + 1 : first + 2 * states : 2] = x
        return design


@dataclass(frozen=True)
class FixedSinkModel(ChargeModel):
    """The model has C3(t, tau) of every current; formulas in fixed_sink.py.

    Attributes
    ----------
    separations, insertions
        t and tau of the data of each charge.
    is_symmetric
        Source and sink are one operator: g_nm = g_mn.
    """

    separations: Sequence[NDArray]
    insertions: Sequence[NDArray]
    is_symmetric: bool

    @property
    def farthest(self) -> float:
        """Return the distance from source and sink in the middle of the largest separation."""
        return max(int(t.max()) for t in self.separations) / 2

    def _pairs(self) -> list[tuple[int, int]]:
        """Return the states next to the sink and next to the source."""
        every = range(self.states)
        return [(n, m) for n in every for m in every if n <= m or not self.is_symmetric]

    @property
    def coefficients(self) -> list[str]:
        return ["g" if n == m == 0 else f"g{n}{m}" for n, m in self._pairs()]

    @property
    def times(self) -> NDArray:
        return np.concatenate([self.t, *self.separations])

    def __call__(self, p) -> NDArray:
        energy, gap = np.exp(p["logE0"]), 0.0
        gaps = []
        for k in self.gaps:
            gap = gap + np.exp(p["loggap" + k])
            gaps.append(gap)
        parts = [self.two_point(p)]
        for name, t, tau in zip(self.names, self.separations, self.insertions, strict=True):
            source, sink = ([1.0, *(np.exp(-gap * time) for gap in gaps)] for time in (tau, t - tau))
            total = 0.0
            for stem, (n, m) in zip(self.coefficients, self._pairs(), strict=True):
                x = sink[n] * source[m]
                if self.is_symmetric and n != m:
                    x = x + sink[m] * source[n]
                total = total + p[f"{stem}_{name}"] * x
            parts.append(np.exp(p["logA0"] - energy * t) * total)
        return np.concatenate(parts)

    def design(self, theta: NDArray) -> NDArray:
        energies = np.cumsum(np.exp(theta), axis=1)[:, None, :]
        length, count = len(self.t), len(self.coefficients)
        design = np.zeros((len(theta), len(self.times), self.states + count * len(self.names)))
        design[:, :length, : self.states] = np.exp(-energies * self.t[:, None])
        for first, t, tau in zip(self.places_of_charges(), self.separations, self.insertions, strict=True):
            source, sink = (np.exp(-energies * time[:, None]) for time in (tau, t - tau))
            for i, (n, m) in enumerate(self._pairs(), start=first):
                x = sink[:, :, n] * source[:, :, m]
                if self.is_symmetric and n != m:
                    x = x + sink[:, :, m] * source[:, :, n]
                design[:, length : length + len(t), i] = x
            length += len(t)
        return design
