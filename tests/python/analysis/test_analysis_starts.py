"""Fits of several states find the deepest minimum, whatever the signs of the amplitudes."""

from __future__ import annotations

import gvar as gv
import lsqfit
import numpy as np
import pytest
from test_analysis_fits import correlator

from trellis.analysis.masses.models import BackwardState, SpectralModel
from trellis.analysis.masses.spectrum import fit_particle
from trellis.analysis.masses.spectrum_start import spread_start
from trellis.analysis.masses.window_fit import minimum
from trellis.analysis.records.options import AnalysisOptions
from trellis.analysis.statistics.weights import make_weights
from trellis.analysis.synthetic import SyntheticParticle

EXTENT = 24


def light(gaps: tuple[float, float], ratios: tuple[float, float]) -> SyntheticParticle:
    energies = (0.15, 0.15 + gaps[0], 0.15 + gaps[0] + gaps[1])
    return SyntheticParticle(energies, (1.0, *ratios), noise=0.1, growth=0.0, correlation_length=20.0)


@pytest.mark.parametrize(
    ("gaps", "ratios"),
    [
        ((0.59, 1.78), (1.7, -13.3)),
        ((0.54, 1.05), (-3.15, 5.76)),
        ((0.31, 0.14), (-4.9, 4.7)),
        ((0.33, 1.27), (-0.6, 6.5)),
        ((0.57, 0.95), (6.7, -6.5)),
    ],
)
def test_amplitudes_of_both_signs(gaps: tuple[float, float], ratios: tuple[float, float]) -> None:
    """From the centre of the priors alone these fits end with chi^2 of 900 to 58000 for 7 degrees of
    freedom."""
    particle = light(gaps, ratios)
    samples = particle.samples(400, EXTENT, np.random.default_rng(3))
    fit = fit_particle([correlator(particle, samples)], np.arange(400), AnalysisOptions(max_states=3))
    first = next(s.fit for s in fit.scan if s.states == 3 and s.t_min == 1)
    assert first.p_value > 1e-3
    assert abs(first.energies[0] - 0.15) < 4 * first.energy_errors[0]


def test_the_lower_of_two_minima_is_taken() -> None:
    """The spread start alone is at times the worse one: the fit never ends above what the centre of the
    priors gives."""
    particle = SyntheticParticle((0.35, 0.85), (1.0, -0.4), noise=0.1, growth=0.03, correlation_length=8.0)
    model, times = SpectralModel(2, 1, EXTENT, 1), [np.arange(6.0, 13.0)]
    for seed in range(12):
        samples = particle.samples(400, EXTENT, np.random.default_rng([4, seed]))
        fit = fit_particle([correlator(particle, samples)], np.arange(400), AnalysisOptions())
        found = next(s.fit for s in fit.scan if s.states == 2 and s.t_min == 6)
        folded = correlator(particle, samples).fit_samples()[:, 6:13]
        folded = folded / fit.normalisation[0]
        covariance = np.cov(folded.T) / len(folded)
        middle = float(np.exp(found.parameters["log(E0)"]))
        prior = model.prior(middle, [1.0], (0.6, 0.8), (1.0, 4.0))
        alone = lsqfit.nonlinear_fit(data=(times, folded.mean(axis=0), covariance), fcn=model, prior=prior)
        assert found.chi2 + found.chi2_prior < alone.chi2 + 0.1


@pytest.mark.parametrize("behind", [False, True])
def test_the_start_leads_to_exact_data(behind: bool) -> None:
    """Two correlators have common energies; one has a state that runs backwards, which is taken away."""
    model = SpectralModel(2, 1 if behind else 2, EXTENT, 0, behind)
    back = BackwardState(0.9, 0.01, 0.4) if behind else None
    times = [np.arange(1.0, 12.0)] * model.correlators
    p = {"E0": 0.5, "gap1": 0.6, "A0": 1.2, "r0_1": -0.7, "A1": 0.8, "r1_1": 2.0, "Eb": 0.9, "b": 0.4}
    data = model(times, p)
    prior = model.prior(0.5, [1.0] * model.correlators, (0.6, 0.8), (1.0, 4.0), back)
    error = 1e-5 * data
    start = spread_start(model, times, data, np.diag(error**-2.0), prior)
    assert start is not None
    assert list(start) == model.names
    covariance = np.diag(error**2)
    fit = lsqfit.nonlinear_fit(data=(times, data, covariance), fcn=model, prior=prior, p0=start)
    for name in ("E0", "gap1", "A0", "r0_1"):
        assert fit.p[name].mean == pytest.approx(p[name], rel=1e-3)


def test_no_start_without_a_positive_ground_state() -> None:
    model, times = SpectralModel(2, 1, EXTENT, 0), [np.arange(1.0, 8.0)]
    data = -np.exp(-0.5 * times[0])
    prior = model.prior(0.5, [1.0], (0.6, 0.8), (1.0, 1e-3))
    assert spread_start(model, times, data, np.diag((0.01 * data) ** -2.0), prior) is None


@pytest.mark.filterwarnings("error")
def test_a_start_out_of_range_is_no_fit_and_no_warning() -> None:
    """scipy refuses residuals that are not finite; the other start may give none of these."""
    model, times = SpectralModel(2, 1, EXTENT, 1), [np.arange(1.0, 9.0)]
    samples = light((0.6, 0.6), (0.5, 0.5)).samples(60, EXTENT, np.random.default_rng(5))[:, 1:9]
    weights = make_weights(samples, "correlated")
    prior = model.prior(0.2, [1.0], (0.6, 0.8), (1.0, 4.0))
    far = gv.BufferDict({name: prior[name].mean for name in model.names})
    far["log(A0)"] = 900.0
    assert minimum(model, times, weights, prior, far) is None
    assert minimum(model, times, weights, prior, None) is not None
