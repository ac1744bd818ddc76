"""The profile likelihood of two-state fits against sums over a grid."""

from __future__ import annotations

import numpy as np
import pytest
from test_analysis_charges import ensemble, exact

from trellis.analysis import charge_fit, charge_profile
from trellis.analysis.charge_fit import ChargeData, fit_window
from trellis.analysis.charge_profile import ProfileInput, profile
from trellis.analysis.charge_results import ChargeOptions


def fitted(
    count: int, seed: int, monkeypatch: pytest.MonkeyPatch, noise: float = 1.0
) -> tuple[charge_fit.ChargeFit, ProfileInput]:
    """A two-state fit, and what its profile is made of."""
    seen: list[ProfileInput] = []
    monkeypatch.setattr(charge_fit, "profile", lambda x: (seen.append(x), profile(x))[1])
    C, N = ensemble(count, seed)
    exact_C, R_A, R_V = exact()
    C = exact_C + noise * (C - exact_C)
    N = {name: exact_C * R + noise * (N[name] - exact_C * R) for name, R in {"A": R_A, "V": R_V}.items()}
    fit = fit_window(ChargeData(C, N, ChargeOptions(t_max=7)), 1, 2)
    assert fit is not None
    assert fit.is_profiled
    return fit, seen[0]


def on_a_grid(p: ProfileInput) -> tuple[float, float]:
    """Median and half width of g_A: sums over theta, linear parameters by least squares with their priors."""
    step = np.linspace(-4.5, 7, 20)
    root = np.linalg.cholesky(p.covariance)
    L_W = np.linalg.cholesky(p.weights)
    weights, values, variances = [], [], []
    for z0 in step:
        for z1 in step:
            for z2 in step:
                theta = p.theta + root @ np.array([z0, z1, z2])
                E0, gap, r = np.exp(theta[0]), np.exp(theta[1]), theta[2]
                if np.min(1 + r * np.exp(-gap * p.t_c)) <= 0:
                    continue
                X = np.zeros((len(p.data), 7))
                X[: len(p.t_c), 0] = np.exp(-E0 * p.t_c) * (1 + r * np.exp(-gap * p.t_c))

                def ratio(t: np.ndarray, gap: float = gap, r: float = r) -> np.ndarray:
                    x = np.exp(-gap * t)
                    return np.array([t, x * t, x]).T / (1 + r * x)[:, None]

                for i in range(2):
                    first = len(p.t_c) + i * len(p.t_g)
                    X[first : first + len(p.t_g), 1 + 3 * i : 4 + 3 * i] = ratio(p.t_g + 1.0) - ratio(
                        p.t_g + 0.0
                    )
                prior = np.diag([0.0] + [1 / p.charge_prior_width] * 6)[1:]
                A = np.vstack([L_W.T @ X, prior])
                b = np.concatenate([L_W.T @ p.data, np.zeros(6)])
                best = np.linalg.lstsq(A, b, rcond=None)[0]
                distance = np.sum((A @ best - b) ** 2)
                distance += np.sum(((theta - p.prior_mean) / p.prior_width) ** 2)
                weights.append(-distance / 2)
                values.append(best[1])
                variances.append(np.linalg.inv(A.T @ A)[1, 1])
    w = np.exp(np.array(weights) - np.max(weights))
    w /= w.sum()
    rng = np.random.default_rng(1)
    chosen = rng.choice(len(w), size=200000, p=w)
    draws = np.array(values)[chosen] + np.sqrt(np.array(variances)[chosen]) * rng.standard_normal(len(chosen))
    low, median, high = np.quantile(draws, [0.158655, 0.5, 0.841345])
    return median, (high - low) / 2


def test_averages_are_those_of_a_grid(monkeypatch: pytest.MonkeyPatch) -> None:
    fit, inputs = fitted(800, 3, monkeypatch)
    median, width = on_a_grid(inputs)
    found = profile(inputs)
    assert found is not None
    assert found.effective_draws > 100
    assert found.charges[0].median == pytest.approx(median, abs=0.1 * width)
    assert found.charges[0].half_width == pytest.approx(width, rel=0.1)
    assert fit.value["A"] == found.charges[0].median
    response = fit.response["A"]
    assert len(response) == 16 + 15 + 15


def test_precise_data_have_the_best_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    fit, inputs = fitted(800, 3, monkeypatch, noise=0.01)
    for name in ("A", "V"):
        assert fit.value[name] == pytest.approx(fit.p[f"g_{name}"], abs=1e-4)
    assert fit.value["A/V"] == pytest.approx(fit.p["g_A"] / fit.p["g_V"], abs=1e-4)
    found = profile(inputs)
    assert found is not None
    assert found.energy.median == pytest.approx(np.exp(fit.p["logE0"]), abs=1e-5)


def test_too_few_effective_draws_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    _, inputs = fitted(800, 3, monkeypatch)
    monkeypatch.setattr(charge_profile, "LEAST_EFFECTIVE_DRAWS", 1e9)
    assert profile(inputs) is None
