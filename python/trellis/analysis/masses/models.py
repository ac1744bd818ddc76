"""This module has spectral models of correlators, with their Jacobians and priors.

One model describes one or several correlators c of the same particle, which share their energies:

    C_c(t) = sum_n A_cn [ exp(-E_n t) + s exp(-E_n (T - t)) ]

with s = +1 (symmetric meson, cosh), -1 (antisymmetric meson, sinh) or 0 (baryons, open boundaries), and

    E_0 = exp(log_e_0),  E_n = E_{n-1} + exp(log_gap_n),  A_c0 = exp(log_a_c),  A_cn = A_c0 r_cn.

So energies are positive and ordered by construction. Correlators are normalised to a positive ground state
before they come here.

Correlators of staggered quarks have states of the opposite parity with a sign in time,

    + (-1)^t A_c0 o_c [ exp(-E_o t) + s exp(-E_o (T - t)) ],   E_o = exp(log_e_o), T even.

A baryon correlator may carry one more term, b exp(-E_b (T - t)): the state of the other parity that runs
backwards. Its two parameters, log_e_b and b, get their priors from a fit of the other direction.
"""

from __future__ import annotations

from dataclasses import dataclass

import gvar as gv
import numpy as np
from numpy.typing import NDArray

#: The logarithmic priors of the ground state have this width, a factor e^5 each way, which is no information.
GROUND_STATE_PRIOR_WIDTH = 5.0
#: The priors of log E_o and of o_c have these widths; the first is centred on E_0 + the gap's
#: prior, the second on 0.
ALTERNATING_PRIOR_WIDTHS = (1.0, 3.0)
#: The prior of the backward amplitude has this relative width: a fit of the other direction is trusted to it.
BACKWARD_AMPLITUDE_WIDTH = 0.5


@dataclass(frozen=True)
class BackwardState:
    """The backward state has an energy, its error and an amplitude b in units of the correlator."""

    energy: float
    energy_error: float
    amplitude: float


@dataclass(frozen=True)
class SpectralModel:
    """The model is a sum of exponentials with their periodic images.

    Attributes
    ----------
    states
        Number of states, at least 1.
    correlators
        Number of correlators that share the energies.
    time_extent
        T in the formula above.
    image
        s in the formula above: +1, -1 or 0.
    behind
        The model has the backward term of the other parity; this is for one correlator with image 0.
    alternates
        The model has the term (-1)^t of staggered quarks.
    """

    states: int
    correlators: int
    time_extent: int
    image: int
    behind: bool = False
    alternates: bool = False

    def __post_init__(self) -> None:
        if self.states < 1 or self.correlators < 1 or self.image not in (-1, 0, 1):
            raise ValueError(
                f"SpectralModel: states {self.states}, correlators {self.correlators}, image {self.image}"
            )
        if self.behind and (self.image != 0 or self.correlators != 1):
            raise ValueError(f"SpectralModel: behind needs one correlator with image 0, found {self}")

    @property
    def parameter_count(self) -> int:
        """Return the number of parameters without those of the backward term, whose priors count as data."""
        return (self.states + self.alternates) * (1 + self.correlators)

    @property
    def names(self) -> list[str]:
        """Return parameter names in the order of the Jacobian's columns; `log(x)` is
        gvar's word for log-normal.
        """
        names = ["log(E0)"] + [f"log(gap{n})" for n in range(1, self.states)]
        for c in range(self.correlators):
            names += [f"log(A{c})"] + [f"r{c}_{n}" for n in range(1, self.states)]
        if self.alternates:
            names += ["log(Eo)"] + [f"o{c}" for c in range(self.correlators)]
        return names + (["log(Eb)", "b"] if self.behind else [])

    def energies(self, p) -> list:
        """Return E_0 < E_1 < ... from the parameters (floats or gvars)."""
        energies = [p["E0"]]
        for n in range(1, self.states):
            energies.append(energies[-1] + p[f"gap{n}"])
        return energies

    def basis(self, energy, t: NDArray) -> NDArray:
        """Return exp(-E t) + s exp(-E (T - t))."""
        forward = np.exp(-energy * t)
        if self.image == 0:
            return forward
        return forward + self.image * np.exp(-energy * (self.time_extent - t))

    def alternating_basis(self, energy, t: NDArray) -> NDArray:
        """Return (-1)^t [exp(-E t) + s exp(-E (T - t))]."""
        return np.cos(np.pi * t) * self.basis(energy, t)

    def __call__(self, times: list[NDArray], p) -> NDArray:
        """Return all correlators at their times, one after the other in one array."""
        energies = self.energies(p)
        values = []
        for c, t in enumerate(times):
            total = self.basis(energies[0], t)
            for n in range(1, self.states):
                total = total + p[f"r{c}_{n}"] * self.basis(energies[n], t)
            if self.alternates:
                total = total + p[f"o{c}"] * self.alternating_basis(p["Eo"], t)
            values.append(p[f"A{c}"] * total)
        if self.behind:
            values[0] = values[0] + p["b"] * np.exp(-p["Eb"] * (self.time_extent - times[0]))
        return np.concatenate(values)

    def jacobian(self, times: list[NDArray], p) -> NDArray:
        """Return d C / d parameter, shape [data, parameter]; columns are ordered as in
        `names`, and p holds floats.
        """
        energies = np.array(self.energies(p), dtype=float)
        gaps = [p["E0"]] + [p[f"gap{n}"] for n in range(1, self.states)]
        rows = []
        for c, t in enumerate(times):
            block = np.zeros((len(t), len(self.names)))
            amplitudes = float(p[f"A{c}"]) * np.array([1.0] + [p[f"r{c}_{n}"] for n in range(1, self.states)])
            slopes = np.array(
                [a * self._energy_slope(e, t) for a, e in zip(amplitudes, energies, strict=True)]
            )
            for n in range(self.states):  # log_gap_n moves every energy from n on
                block[:, n] = float(gaps[n]) * slopes[n:].sum(axis=0)
            first = self.states + c * self.states
            bases = np.array([self.basis(e, t) for e in energies])
            block[:, first] = amplitudes @ bases
            for n in range(1, self.states):
                block[:, first + n] = float(p[f"A{c}"]) * bases[n]
            if self.alternates:
                self._alternating_columns(block, c, t, p)
            if self.behind:
                image = np.exp(-float(p["Eb"]) * (self.time_extent - t))
                block[:, -2] = -float(p["b"]) * float(p["Eb"]) * (self.time_extent - t) * image
                block[:, -1] = image
            rows.append(block)
        return np.concatenate(rows)

    def _alternating_columns(self, block: NDArray, c: int, t: NDArray, p) -> None:
        """Fill in the derivatives of the term (-1)^t of correlator c; log(A) multiplies it, too."""
        amplitude, ratio, energy = float(p[f"A{c}"]), float(p[f"o{c}"]), float(p["Eo"])
        basis, first = self.alternating_basis(energy, t), self.states * (1 + self.correlators)
        sign = np.cos(np.pi * t)
        block[:, self.states + c * self.states] += amplitude * ratio * basis
        block[:, first] = amplitude * ratio * energy * sign * self._energy_slope(energy, t)
        block[:, first + 1 + c] = amplitude * basis

    def _energy_slope(self, energy: float, t: NDArray) -> NDArray:
        slope = -t * np.exp(-energy * t)
        if self.image:
            slope = slope - self.image * (self.time_extent - t) * np.exp(-energy * (self.time_extent - t))
        return slope

    def prior(
        self,
        energy: float,
        amplitudes: list[float],
        gap: tuple[float, float],
        ratio: tuple[float, float],
        behind: BackwardState | None = None,
    ) -> gv.BufferDict:
        """Return priors of all parameters.

        Parameters
        ----------
        energy, amplitudes
            Estimates of E_0 and A_c0: centres of priors that are too wide to matter.
        gap
            Centre and width of the logarithm of every energy gap.
        ratio
            Centre and width of A_n / A_0, any sign.
        behind
            The backward state, for models that have one.
        """
        prior = gv.BufferDict()
        prior["log(E0)"] = gv.gvar(np.log(energy), GROUND_STATE_PRIOR_WIDTH)
        for n in range(1, self.states):
            prior[f"log(gap{n})"] = gv.gvar(np.log(gap[0]), gap[1])
        for c, amplitude in enumerate(amplitudes):
            prior[f"log(A{c})"] = gv.gvar(np.log(amplitude), GROUND_STATE_PRIOR_WIDTH)
            for n in range(1, self.states):
                prior[f"r{c}_{n}"] = gv.gvar(*ratio)
        if self.alternates:
            width, ratio_width = ALTERNATING_PRIOR_WIDTHS
            prior["log(Eo)"] = gv.gvar(np.log(energy + gap[0]), width)
            for c in range(self.correlators):
                prior[f"o{c}"] = gv.gvar(0.0, ratio_width)
        if self.behind:
            if behind is None:
                raise ValueError("SpectralModel.prior: expected the backward state in `behind`, found None")
            prior["log(Eb)"] = gv.gvar(np.log(behind.energy), behind.energy_error / behind.energy)
            prior["b"] = gv.gvar(behind.amplitude, BACKWARD_AMPLITUDE_WIDTH * abs(behind.amplitude))
        return prior
