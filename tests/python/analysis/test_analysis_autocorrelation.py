"""These tests apply the Gamma method to chains whose autocorrelation is known."""

import numpy as np
import pytest

from trellis.analysis import autocorrelation, bin_series
from trellis.analysis.masses.spectrum import _in_words


def autoregressive(rng, count, rho):
    """Return an AR(1) chain: tau_int = (1 + rho) / (2 (1 - rho)), unit variance."""
    chain = rng.standard_normal(count)
    for k in range(1, count):
        chain[k] = rho * chain[k - 1] + np.sqrt(1 - rho**2) * chain[k]
    return chain


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.8])
@pytest.mark.parametrize("spacing", [1, 10])
def test_tau_int_of_autoregressive_chains(rho, spacing):
    chain = autoregressive(np.random.default_rng(17), 20000, rho)
    exact = 0.5 * (1 + rho) / (1 - rho)
    found = autocorrelation("x", chain, 100 + spacing * np.arange(20000))
    assert found.spacing == spacing
    assert abs(found.tau_int - exact) < 3 * found.tau_int_error + 0.03 * exact  # the finite window has a bias
    assert found.error == pytest.approx(found.naive_error * np.sqrt(2 * found.tau_int), rel=0.01)
    assert found.significant == (rho > 0)
    assert found.rho[0] == pytest.approx(1.0)
    assert found.rho[1] == pytest.approx(rho, abs=0.03)


def test_errors_cover_the_mean():
    """Pulls of the mean of correlated chains have width one."""
    rng = np.random.default_rng(5)
    pulls = []
    for _ in range(60):
        found = autocorrelation("x", autoregressive(rng, 1000, 0.7), np.arange(1000))
        pulls.append(found.mean / found.error)
    assert abs(np.mean(pulls)) < 4 / np.sqrt(60)
    assert 0.75 < np.std(pulls) < 1.25  # sigma of the width is 1 / sqrt(120) = 0.09


def test_gaps_are_taken_into_account():
    """Without every third measurement there are fewer data, but the same autocorrelation."""
    chain = autoregressive(np.random.default_rng(8), 6000, 0.8)
    number = np.arange(6000)
    keep = number % 3 != 2
    found = autocorrelation("x", chain[keep], number[keep])
    assert found.spacing == 1
    assert abs(found.tau_int - 4.5) < 3 * found.tau_int_error + 0.3


@pytest.mark.parametrize("kept", [1.0, 0.5, 0.2])
def test_errors_with_measurements_missing_at_random(kept):
    """With rho = 0.8, 2 tau_int is 9 where all are there, and 1 + 8 kept where not; pulls were 0.7 and 0.5
    wide."""
    rng = np.random.default_rng(6)
    pulls, factors = [], []
    for _ in range(120):
        chain = autoregressive(rng, 1500, 0.8)
        number = np.sort(rng.choice(1500, int(1500 * kept), replace=False))
        found = autocorrelation("x", chain[number], number)
        pulls.append(found.mean / found.error)
        factors.append(found.variance_factor)
    assert np.mean(factors) == pytest.approx(1 + 8 * kept, rel=0.15)
    assert 0.8 < np.std(pulls) < 1.25  # sigma of the width is 1 / sqrt(240) = 0.065


def test_two_stretches_of_one_chain_have_the_error_of_both():
    """A gap as long as the chain takes away one pair at its edge, and no more."""
    rng = np.random.default_rng(7)
    chain = autoregressive(rng, 4000, 0.7)
    numbers = np.concatenate([np.arange(2000), 4000 + np.arange(2000)])
    whole = autocorrelation("x", chain, np.arange(4000))
    found = autocorrelation("x", chain, numbers)
    assert found.error == pytest.approx(whole.error, rel=0.1)


@pytest.mark.parametrize("count", [8, 60])
def test_configurations_are_called_missing_only_where_some_are(count):
    """Eight in a row get no note of missing ones; once they had one, for a factor of (1 - 1/64) in errors of
    short series."""
    chain, number = autoregressive(np.random.default_rng(1), count, 0.5), 220 + 20 * np.arange(count)
    found = autocorrelation("x", chain, number)
    assert _in_words(found, found.variance_factor) == f"2 tau_int = {found.variance_factor:.2f}"
    keep = np.arange(count) % 3 != 2
    found = autocorrelation("x", autoregressive(np.random.default_rng(2), count, 0.9)[keep], number[keep])
    assert "missing" in _in_words(found, found.variance_factor)


def test_short_and_constant_series_have_no_autocorrelation():
    assert autocorrelation("x", np.array([1.0, 2.0, 3.0, 4.0]), np.arange(4)) is None
    assert autocorrelation("x", np.ones(50), np.arange(50)) is None


def test_bins_drop_the_beginning():
    values, numbers = bin_series(np.arange(7.0), 10 * np.arange(7), 3)
    np.testing.assert_array_equal(values, [2.0, 5.0])
    np.testing.assert_array_equal(numbers, [30, 60])
