"""These tests find charges from overlaps and matrix elements of every state: other energies, signs, noise and
streams.

The generator of test_analysis_charges has the form of the fits; this one sums over the times of the current.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from trellis.analysis.charges.charges import fit_charges

#: These are <n|J|m> of both currents; the first entry is the charge.
CURRENTS = {"A": ((1.27, -0.3), (-0.3, 0.8)), "V": ((1.05, 0.05), (0.05, 1.05))}
#: The current also acts at times outside (source, sink): this is a constant in N for every state.
OUTSIDE = {"A": 0.4, "V": 0.15}


@dataclass(frozen=True)
class Lattice:
    """This class holds a lattice whose noise of one configuration at the source grows like exp(growth t),
    with growth = m_N - 3 m_pi / 2."""

    energies: tuple[float, float]
    ratio: float  # this is one of sink times source overlaps, excited state over nucleon
    extent: int
    growth: float
    noise: float
    tau_exp: float = 0.0

    def exact(self) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """Return C and N of both currents."""
        t = np.arange(self.extent)
        source = np.array([1.0, np.sqrt(abs(self.ratio))])
        sink = source * [1.0, np.sign(self.ratio)]
        decays = np.exp(-np.multiply.outer(self.energies, t))
        C = (sink * source) @ decays
        N = {}
        for name, J in CURRENTS.items():
            N[name] = OUTSIDE[name] * C
            for T in t:
                inner = np.arange(1, T)  # times of the current lie off source and sink
                N[name][T] += sum(
                    sink[n] * J[n][m] * source[m] * decays[n][T - inner] @ decays[m][inner]
                    for n in range(2)
                    for m in range(2)
                )
        return C, N

    def ensemble(self, count: int, seed: int) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        rng, t = np.random.default_rng([count, seed]), np.arange(self.extent)
        C, N = self.exact()
        root = np.linalg.cholesky(0.15 + 0.85 * np.exp(-np.abs(t[:, None] - t) / 4))

        def noise(size: float) -> np.ndarray:
            z = rng.standard_normal((count, self.extent)) @ root.T
            rho = np.exp(-1 / self.tau_exp) if self.tau_exp > 0 else 0.0
            for k in range(1, count if rho > 0 else 1):
                z[k] = rho * z[k - 1] + np.sqrt(1 - rho**2) * z[k]
            return size * z * np.exp(self.growth * t)

        common = noise(self.noise)
        own = {"A": noise(0.8 * self.noise), "V": noise(0.3 * self.noise)}
        numerators = {
            name: N[name] * (1 + share * common) + np.abs(C) * own[name] * (1 + 0.25 * t)
            for name, share in (("A", 0.85), ("V", 0.9))
        }
        return C * (1 + common), numerators


COARSE = Lattice((0.72, 1.27), 0.4, 32, 0.33, 0.02)
NEGATIVE = Lattice((0.58, 1.08), -0.35, 48, 0.26, 0.03)
HEAVY = Lattice((0.9, 1.5), 1.2, 24, 0.40, 0.02)
STREAM = Lattice((0.72, 1.27), 0.4, 32, 0.33, 0.02, tau_exp=2.0)


@pytest.mark.parametrize("lattice", [COARSE, NEGATIVE, HEAVY])
def test_precise_data_have_the_exact_charges(lattice: Lattice) -> None:
    """The noise is a hundredth: transitions, currents outside and overlaps of either sign are described."""
    C, N = lattice.exact()
    noisy, numerators = lattice.ensemble(900, 1)
    precise = {name: N[name] + 0.01 * (values - N[name]) for name, values in numerators.items()}
    found = fit_charges(C + 0.01 * (noisy - C), precise, options={"t_max": 10})
    for name, J in CURRENTS.items():
        charge = found.charges[name]
        assert charge.value == pytest.approx(J[0][0], abs=2e-3)
        assert abs(charge.value - J[0][0]) < 4 * charge.error


def test_no_charge_depends_on_one_more_state(request: pytest.FixtureRequest) -> None:
    data = HEAVY.ensemble(680, 5)
    whole = fit_charges(*data)
    request.getfixturevalue("without_one_more_state")
    found = fit_charges(*data)
    assert whole.one_more_state != {} == found.one_more_state
    assert (found.charges, found.ratio, found.windows) == (whole.charges, whole.ratio, whole.windows)


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.usefixtures("without_one_more_state")
def test_pulls_on_other_lattices() -> None:
    """This test has 72 pseudo-experiments of three lattices and a stream, with 20 independent configurations
    a point and more.

    The mean of 72 pulls scatters by .12, their width by .08. howto/axial_charge.md has 100 of each.
    """
    pulls: dict[str, list[float]] = {"A": [], "V": [], "A/V": []}
    truth = {"A": 1.27, "V": 1.05, "A/V": 1.27 / 1.05}
    # The stream has 2 tau_int = 4.1.
    for lattice, count in ((COARSE, 920), (NEGATIVE, 1300), (HEAVY, 680), (STREAM, 3800)):
        for seed in range(18):
            found = fit_charges(*lattice.ensemble(count, 100 + seed))
            assert found.ratio is not None
            for name, estimate in (found.charges | {"A/V": found.ratio}).items():
                pulls[name].append((estimate.value - truth[name]) / estimate.error)
    for name, values in pulls.items():
        assert abs(np.mean(values)) < 0.15 + 0.24, name
        assert abs(np.std(values, ddof=1) - 1) < 0.15 + 0.16, name
