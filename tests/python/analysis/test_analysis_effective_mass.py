"""These tests cover effective masses of exact correlators, and folding."""

import gvar as gv
import numpy as np
import pytest

from trellis.analysis import arccosh_effective_mass, log_effective_mass, periodic_effective_mass
from trellis.analysis.masses.correlators import ParticleCorrelator, time_reflection

T = 24
times = np.arange(T // 2 + 1)


@pytest.mark.parametrize("mass", [0.02, 0.31, 1.7])
def test_cosh_and_sinh_are_solved_exactly(mass):
    cosh = np.cosh(mass * (T / 2 - times))
    # The rounding of the ratio (2e-16) is divided by its slope in the mass, which is at least mass near the
    # middle.
    np.testing.assert_allclose(periodic_effective_mass(cosh, T), mass, atol=1e-13 / mass)
    sinh = np.sinh(mass * (T / 2 - times))
    found = periodic_effective_mass(sinh, T, -1)
    np.testing.assert_allclose(found[:-1], mass, atol=1e-13 / mass**2)
    assert np.isnan(found[-1]), "C(T/2) = 0 has no effective mass"


@pytest.mark.parametrize("mass", [0.31, 1.7])
def test_arccosh_is_exact_for_cosh(mass):
    cosh = np.cosh(mass * (T / 2 - times))
    np.testing.assert_allclose(arccosh_effective_mass(cosh), mass, atol=1e-13 / mass)


def test_log_is_exact_for_one_exponential_and_overestimates_for_two():
    one = 3.0 * np.exp(-0.4 * times)
    np.testing.assert_allclose(log_effective_mass(one), 0.4, atol=1e-14)
    two = one + 2.0 * np.exp(-1.1 * times)
    masses = log_effective_mass(two)
    assert np.all(masses > 0.4)
    assert np.all(np.diff(masses) < 0), "falls towards the ground state"


def test_no_solution_gives_nan_and_nothing_else():
    values = np.array([1.0, 1.2, -0.3, 0.1, 0.1])
    assert np.isnan(log_effective_mass(values)[1])
    assert np.isnan(periodic_effective_mass(values, 8)[[0, 1]]).all(), "growing or negative: no cosh"


def test_errors_follow_the_data():
    """d m from the implicit derivative equals a finite difference of the solution."""
    cosh = np.cosh(0.4 * (T / 2 - times))
    data = gv.gvar(cosh, 0.01 * cosh)
    masses = periodic_effective_mass(data, T)
    step = 1e-6
    for t in (0, 5, 9):
        moved = cosh.copy()
        moved[t] *= 1 + step
        up = (periodic_effective_mass(moved, T)[t] - 0.4) / step
        moved = cosh.copy()
        moved[t + 1] *= 1 + step
        down = (periodic_effective_mass(moved, T)[t] - 0.4) / step
        assert masses[t].sdev == pytest.approx(0.01 * np.hypot(up, down), rel=1e-4)


def correlator(samples, image):
    return ParticleCorrelator("x", "x", "meson", samples, "antiperiodic", image, ["x"])


@pytest.mark.parametrize("image", [1, -1])
def test_folding_keeps_a_symmetric_correlator_and_averages_noise(image):
    rng = np.random.default_rng(3)
    noise = rng.standard_normal((5, 8))
    folded = correlator(noise, image).folded()
    assert folded.shape == (5, 5)
    np.testing.assert_array_equal(folded[:, 0], noise[:, 0])
    for t in range(1, 5):
        np.testing.assert_allclose(folded[:, t], 0.5 * (noise[:, t] + image * noise[:, (8 - t) % 8]))


def test_time_reversal_of_a_baryon_is_an_involution():
    samples = 1.0 + np.random.default_rng(1).random((3, 8))
    baryon = ParticleCorrelator("n", "n", "baryon", samples, "antiperiodic", 0, ["n"])
    partner = baryon.reversed_in_time("p")
    np.testing.assert_array_equal(partner.samples[:, 1], samples[:, 7])
    np.testing.assert_array_equal(partner.reversed_in_time("n").samples, samples)


@pytest.mark.parametrize(
    ("source", "sink", "sign"),
    [
        ("gamma5", "gamma5", 1),
        ("gamma5", "gamma_t gamma_5", -1),
        ("gamma_t gamma_5", "gamma_t gamma_5", 1),
        ("gamma_x", "gamma_x", 1),
        ("gamma_x", "gamma_t gamma_x", -1),
        ("identity", "identity", 1),
        ("gamma_x gamma_5", "gamma_x gamma_5", 1),
    ],
)
def test_time_symmetry_from_the_gamma_matrices(source, sink, sign):
    assert time_reflection(source) * time_reflection(sink) == sign


def test_unknown_gamma_names_are_not_guessed():
    assert time_reflection("pion") is None
