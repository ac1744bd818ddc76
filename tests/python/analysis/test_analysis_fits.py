"""These tests cover models, weight matrices, single fits and their average, on data whose truth is known."""

import gvar as gv
import lsqfit
import numpy as np
import pytest

from trellis.analysis import (
    AnalysisOptions,
    FitFailed,
    SpectralModel,
    TooFewConfigurations,
    fit_particle,
    fit_window,
    make_weights,
    model_average,
    model_weights,
)
from trellis.analysis.masses.correlators import ParticleCorrelator
from trellis.analysis.masses.models import BackwardState
from trellis.analysis.masses.window_fit import chi2_scale, small_sample_correction
from trellis.analysis.statistics.weights import covariance_of_mean, samples_needed, shrinkage_intensity
from trellis.analysis.synthetic import SyntheticParticle

T = 16
PION = SyntheticParticle((0.45, 1.25), (1.0, 0.7), noise=0.12, growth=0.06, correlation_length=10.0)
NUCLEON = SyntheticParticle(
    (0.95, 1.85), (1.0, 1.5), image=0, backward_energies=(1.35,), backward_amplitudes=(0.8,),
    noise=0.10, growth=0.22, correlation_length=5.0,
)  # fmt: skip


def correlator(particle, samples, name="x"):
    kind = "baryon" if particle.image == 0 else "meson"
    return ParticleCorrelator(name, name, kind, samples, "antiperiodic", particle.image, [name])


def draw(particle, count, rng, **more):
    return correlator(particle, particle.samples(count, T, rng, **more))


@pytest.mark.parametrize(
    ("states", "correlators", "image", "behind", "alternates"),
    [
        (1, 1, 1, False, False),
        (2, 1, -1, False, False),
        (3, 2, 1, False, False),
        (2, 2, 0, False, False),
        (2, 1, 0, True, False),
        (2, 2, 1, False, True),
        (1, 1, 0, False, True),
    ],
)
def test_jacobian_is_the_derivative(states, correlators, image, behind, alternates):
    model = SpectralModel(states, correlators, T, image, behind, alternates)
    back = BackwardState(0.9, 0.1, 0.4) if behind else None
    prior = model.prior(0.5, [1.1, 0.7][:correlators], (0.6, 0.8), (1.0, 4.0), back)
    assert list(prior) == model.names
    times = [np.arange(1.0, 7.0), np.arange(2.0, 6.0)][:correlators]
    centre = gv.mean(prior)
    for c in range(correlators if alternates else 0):
        centre[f"o{c}"] = -0.6 + c
    exact = model.jacobian(times, centre)
    for column, name in enumerate(model.names):
        step = 1e-5
        up, down = gv.BufferDict(centre), gv.BufferDict(centre)
        up[name] += step
        down[name] -= step
        numerical = (model(times, up) - model(times, down)) / (2 * step)
        np.testing.assert_allclose(exact[:, column], numerical, atol=1e-8)


def test_covariance_is_the_unbiased_one():
    x = np.random.default_rng(1).standard_normal((7, 3))
    np.testing.assert_allclose(covariance_of_mean(x), np.cov(x.T, ddof=1) / 7, rtol=1e-12)


def test_shrinkage_goes_to_one_without_and_to_zero_with_correlation():
    rng = np.random.default_rng(2)
    independent = rng.standard_normal((30, 6))
    assert shrinkage_intensity(independent) > 0.5
    common = rng.standard_normal((3000, 1)) + 0.3 * rng.standard_normal((3000, 6))
    assert shrinkage_intensity(common) < 0.001


def test_weight_matrices():
    x = np.random.default_rng(3).standard_normal((60, 4)) @ np.array(
        [[1, 0.9, 0.8, 0.7], [0, 0.4, 0.3, 0.3], [0, 0, 0.3, 0.2], [0, 0, 0, 0.2]]
    )
    c = covariance_of_mean(x)
    full = make_weights(x, "correlated")
    np.testing.assert_array_equal(full.weight_covariance, full.covariance)
    diagonal = make_weights(x, "uncorrelated")
    np.testing.assert_allclose(diagonal.weight_covariance, np.diag(np.diag(c)))
    shrunk = make_weights(x, "shrinkage")
    np.testing.assert_allclose(np.diag(shrunk.weight_covariance), np.diag(c))
    assert np.linalg.cond(shrunk.weight_covariance) < np.linalg.cond(c)
    svd = make_weights(x, "svd")
    assert np.all(np.linalg.eigvalsh(svd.weight_covariance - c) > -1e-15), "an svd cut only adds variance"
    for weights in (full, diagonal, shrunk, svd):
        np.testing.assert_allclose(weights.covariance, c)
    twice = make_weights(x, "correlated", inflation=2.0)
    np.testing.assert_allclose(twice.covariance, 2 * c)
    assert twice.samples == 30


def test_correlated_weights_from_too_few_samples_are_refused():
    x = np.random.default_rng(3).standard_normal((15, 6))
    with pytest.raises(TooFewConfigurations, match=f"at least {samples_needed(6)} .*found 15"):
        make_weights(x, "correlated")


@pytest.mark.parametrize("t_min", [1, 4])
def test_errors_equal_those_of_lsqfit(t_min):
    """With W = C^-1 and many samples the response formula is lsqfit's error; from t = 4 on priors matter."""
    rng = np.random.default_rng(4)
    samples = draw(PION, 4000, rng).folded()[:, t_min:9]
    weights = make_weights(samples, "correlated")
    model, times = SpectralModel(2, 1, T, 1), [np.arange(float(t_min), 9.0)]
    prior = model.prior(0.5, [1.0], (0.6, 0.8), (1.0, 4.0))
    ours = fit_window(model, times, weights, prior)
    theirs = lsqfit.nonlinear_fit(
        data=(times, weights.mean, weights.covariance), fcn=model, prior=prior, tol=1e-10
    )
    assert ours.energies[0] == pytest.approx(theirs.p["E0"].mean, rel=1e-10)
    assert ours.chi2 + ours.chi2_prior == pytest.approx(theirs.chi2, rel=1e-8)
    second = theirs.p["E0"] + theirs.p["gap1"]
    # the small-sample factor is 1 + O(d / samples)
    np.testing.assert_allclose(ours.energy_errors, [theirs.p["E0"].sdev, second.sdev], rtol=5e-3)
    prior_share = ours.energy_prior_errors[0] / ours.energy_errors[0]
    assert prior_share > 0.3 if t_min == 4 else prior_share < 0.3
    assert ours.information_criterion == pytest.approx(theirs.chi2 + 2 * 4 - 2 * len(weights.mean), abs=0.02)


def test_small_sample_factor_is_the_scatter_of_generalised_least_squares():
    """A constant is fitted to 6 correlated numbers with the inverse sample covariance of 20 samples.

    The variance over what the fit claims is the factor, chi^2 over its degrees of freedom is the scale.
    """
    rng = np.random.default_rng(9)
    root = np.linalg.cholesky(0.7 ** np.abs(np.subtract.outer(np.arange(6), np.arange(6))))
    values, claimed, chi2 = [], [], []
    one = np.ones(6)
    for _ in range(4000):
        samples = rng.standard_normal((20, 6)) @ root.T
        w = np.linalg.inv(np.cov(samples.T) / 20)
        variance = 1 / (one @ w @ one)
        values.append(variance * (one @ w @ samples.mean(axis=0)))
        claimed.append(variance)
        rest = samples.mean(axis=0) - values[-1]
        chi2.append(rest @ w @ rest)
    assert small_sample_correction(20, 5) == pytest.approx(np.var(values) / np.mean(claimed), rel=0.07)
    assert chi2_scale(20, 5) == pytest.approx(np.mean(chi2) / 5, rel=0.04)
    assert small_sample_correction(20, 0) == chi2_scale(20, 0) == 1.0


@pytest.mark.parametrize(("kind", "count"), [("correlated", 40), ("shrinkage", 20), ("uncorrelated", 12)])
def test_single_fits_have_honest_errors_and_p_values(kind, count):
    """Pulls have mean 0 and width 1, and p-values have the mean 1/2 of a uniform distribution."""
    rng = np.random.default_rng(6)
    model, times = SpectralModel(1, 1, T, 1), [np.arange(2.0, 9.0)]
    single = SyntheticParticle((0.5,), (1.0,), noise=0.1, growth=0.08, correlation_length=6.0)
    prior = model.prior(0.5, [1.0], (0.6, 0.8), (1.0, 4.0))
    pulls, p_values = [], []
    for _ in range(200):
        samples = draw(single, count, rng).folded()[:, 2:9]
        fit = fit_window(model, times, make_weights(samples, kind), prior)
        pulls.append((fit.energies[0] - 0.5) / fit.energy_errors[0])
        p_values.append(fit.p_value)
    assert abs(np.mean(pulls)) < 0.2
    assert 0.8 < np.std(pulls) < 1.2
    assert 0.35 < np.mean(p_values) < 0.65
    assert np.std(p_values) > 0.2, "uniform: 0.29"


@pytest.mark.long
@pytest.mark.slow
def test_averaged_masses_have_honest_errors():
    """The whole chain of windows, states and average has pulls of mean 0 +- 0.2 and width 1 +- 0.2.

    Fits of one state that noise cannot tell from the truth have a share in the average, so that masses come
    out high: 100 pseudo-experiments of each case and seed gave means of .06 to .30, in all .15 +- .03.
    """
    rng = np.random.default_rng(11)
    pulls = {}
    for name, particle, count in (
        ("p24", PION, 24),
        ("p120", PION, 120),
        ("n24", NUCLEON, 24),
        ("n120", NUCLEON, 120),
    ):
        fits = [
            fit_particle([draw(particle, count, rng)], np.arange(count), AnalysisOptions()) for _ in range(36)
        ]
        pulls[name] = np.array([(f.average.mean - particle.energies[0]) / f.average.error for f in fits])
        # Twice the scatter of a mean (0.17) and of a width (0.12) over 36 experiments is allowed on top.
        assert abs(pulls[name].mean()) < 0.2 + 0.34, name
        assert 0.8 - 0.24 < pulls[name].std() < 1.2 + 0.24, name
    together = np.concatenate(list(pulls.values()))
    assert abs(together.mean()) < 0.2 + 0.17  # this adds twice the scatter over all 144
    assert 0.8 < together.std() < 1.2


def test_excited_state_is_found():
    rng = np.random.default_rng(12)
    many = draw(PION, 3000, rng)
    fit = fit_particle([many], np.arange(3000), AnalysisOptions())
    two = next(s for s in fit.scan if s.states == 2 and s.t_min == 1).fit
    assert abs(two.energies[1] - 1.25) < 4 * two.energy_errors[1]
    assert two.energy_errors[1] < 0.05, "the data, not the prior, fix it"


def test_simultaneous_fit_is_better_than_each_alone():
    rng = np.random.default_rng(13)
    narrow = SyntheticParticle((0.45, 1.25), (1.0, 0.7), noise=0.1, growth=0.05)
    wide = SyntheticParticle((0.45, 1.25), (0.6, 0.02), noise=0.1, growth=0.05)
    a, b = draw(narrow, 400, rng), draw(wide, 400, rng)
    together = fit_particle([a, b], np.arange(400), AnalysisOptions())
    alone = fit_particle([a], np.arange(400), AnalysisOptions())
    assert abs(together.average.mean - 0.45) < 4 * together.average.error
    assert together.average.error < alone.average.error


def test_autocorrelated_data_get_larger_errors_and_say_so():
    rng = np.random.default_rng(14)
    chain = draw(PION, 600, rng, tau_exp=5.0)
    fit = fit_particle([chain], np.arange(600), AnalysisOptions())
    ignored = fit_particle([chain], np.arange(600), AnalysisOptions(autocorrelation="none"))
    rho = np.exp(-1 / 5.0)
    exact = (1 + rho) / (1 - rho)  # this is 2 tau_int = 10.0
    assert 0.5 * exact < fit.inflation < 2 * exact
    assert any("tau_int" in note for note in fit.notes)
    late, late_ignored = (
        next(x.fit for x in f.scan if (x.states, x.t_min) == (1, 5)) for f in (fit, ignored)
    )  # both have the same window: the averages prefer different ones
    assert late.energy_errors[0] == pytest.approx(
        np.sqrt(fit.inflation) * late_ignored.energy_errors[0], rel=0.2
    )
    assert any("ignored" in note for note in ignored.notes)
    binned = fit_particle([chain], np.arange(600), AnalysisOptions(bin_size=30, autocorrelation="none"))
    assert len(binned.configurations) == 20
    late_binned = next(x.fit for x in binned.scan if (x.states, x.t_min) == (1, 5))
    assert late_binned.energy_errors[0] > 1.8 * late_ignored.energy_errors[0]


def test_jackknife_agrees():
    rng = np.random.default_rng(15)
    options = AnalysisOptions(jackknife=True, autocorrelation="none")
    fit = fit_particle([draw(PION, 150, rng)], np.arange(150), options)
    response = (
        np.sqrt(fit.best.fit.covariance[0, 0] / fit.best.fit.small_sample_factor) * fit.best.fit.energies[0]
    )
    assert fit.jackknife_error == pytest.approx(response, rel=0.15)


def test_fallbacks_are_said():
    rng = np.random.default_rng(16)
    few = fit_particle([draw(PION, 7, rng)], np.arange(7), AnalysisOptions())
    assert few.weights_kind == "uncorrelated"
    assert any("uncorrelated weights" in note for note in few.notes)
    some = fit_particle([draw(PION, 20, rng)], np.arange(20), AnalysisOptions(weights="correlated"))
    assert some.weights_kind == "shrinkage"
    assert any("a plain correlated fit needs 32" in note for note in some.notes)
    enough = fit_particle([draw(PION, 40, rng)], np.arange(40), AnalysisOptions())
    assert enough.weights_kind == "correlated"
    with pytest.raises(TooFewConfigurations, match=r"at least 5 .*minimum_configurations = 5\), found 4"):
        fit_particle([draw(PION, 4, rng)], np.arange(4), AnalysisOptions())


def test_noise_alone_is_refused():
    noise = np.random.default_rng(17).standard_normal((30, T))
    with pytest.raises(FitFailed, match="signal ends at t"):
        fit_particle([correlator(PION, noise)], np.arange(30), AnalysisOptions())


def test_model_average_by_hand():
    np.testing.assert_allclose(model_weights([3.0, 3.0]), [0.5, 0.5])
    np.testing.assert_allclose(model_weights([0.0, 2.0]), np.array([1, np.exp(-1)]) / (1 + np.exp(-1)))
    average = model_average([1.0, 2.0], np.array([[0.04, 0.04], [0.04, 0.04]]), [0.0, 0.0], [5.0, 5.0])
    assert average.mean == 1.5
    assert average.statistical_error == pytest.approx(0.2), "fully correlated fits do not average their noise"
    assert average.model_error == pytest.approx(0.5)
    assert average.mixture_error == pytest.approx(np.sqrt(0.04 + 0.25))
    single = model_average([1.0], np.array([[0.09]]), [0.4], [5.0])
    assert single.error == pytest.approx(0.5)
    assert single.model_error == 0.0


def test_staggered_partners_are_fitted_with_their_sign():
    """A state (-1)^t has the opposite parity and is as large as the ground state: E_0 has honest errors with
    it."""
    extent, times = 24, np.arange(24)
    wave = lambda energy: np.exp(-energy * times) + np.exp(-energy * (extent - times))  # noqa: E731
    exact = wave(0.6) + 0.5 * wave(1.4) - 0.8 * (-1.0) ** times * wave(0.8)
    pulls = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        noise = 0.02 * rng.standard_normal((120, extent)) @ (0.5 ** np.abs(np.subtract.outer(times, times)))
        samples = exact + (noise + np.roll(noise[:, ::-1], 1, axis=1)) * wave(0.5)
        data = ParticleCorrelator("rho", "rho", "meson", samples, "antiperiodic", 1, ["rho"])
        assert not data.alternates
        data.attributes = {"partner": "gamma_y gamma_z"}
        assert data.alternates
        fit = fit_particle([data], np.arange(120), AnalysisOptions())
        pulls.append((fit.average.mean - 0.6) / fit.average.error)
        if seed == 0:
            (said,) = [note for note in fit.notes if "opposite parity" in note]
            energy, error = map(float, said.split("energy ")[1].split(" +- "))
            assert abs(energy - 0.8) < 4 * error < 0.4
    assert abs(np.mean(pulls)) < 1.0
    assert np.std(pulls) < 2.0


def test_a_channel_without_a_partner_may_be_fitted_with_one_that_has_one():
    extent, times = 24, np.arange(24)
    wave = lambda energy: np.exp(-energy * times) + np.exp(-energy * (extent - times))  # noqa: E731
    rng = np.random.default_rng(3)
    data = []
    for exact, partner in ((wave(0.6), ""), (0.5 * wave(0.6) - 0.6 * (-1.0) ** times * wave(0.9), "1")):
        noise = 0.02 * rng.standard_normal((120, extent))
        samples = exact + (noise + np.roll(noise[:, ::-1], 1, axis=1)) * wave(0.5)
        attributes = {"partner": partner} if partner else {}
        name = f"pion_{len(data)}"
        data.append(
            ParticleCorrelator(
                name, "pion", "meson", samples, "antiperiodic", 1, [name], attributes=attributes
            )
        )
    fit = fit_particle(data, np.arange(120), AnalysisOptions(max_states=1))
    assert abs(fit.average.mean - 0.6) < 4 * fit.average.error < 0.02
    assert abs(fit.best.fit.parameters["o0"]) < 0.2
    assert abs(fit.best.fit.parameters["o1"] + 1.2) < 0.3
