"""These tests compare the profile likelihood of fits of charges with sums over a grid."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import least_squares
from test_analysis_charges import ensemble, exact

from trellis.analysis.charges import charge_fit
from trellis.analysis.charges.charge_data import ChargeData
from trellis.analysis.charges.charge_fit import fit_window
from trellis.analysis.charges.charge_profile import ProfileInput, profile
from trellis.analysis.records.charge_results import ChargeOptions


def fitted(
    count: int, seed: int, monkeypatch: pytest.MonkeyPatch, noise: float = 1.0
) -> tuple[charge_fit.ChargeFit, ProfileInput]:
    """Return a two-state fit, and what its profile is made of."""
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
    """Return the median and half width of g_A; at each gap scipy's least squares finds all other
    parameters."""
    L_W = np.linalg.cholesky(p.weights)
    length = len(p.model.t)
    ratio, ratio_width = p.amplitude_ratio_prior
    widths = np.array([p.prior_width[0], 1e9, ratio_width] + 8 * [p.charge_prior_width])
    widths[1:] *= p.amplitude
    centre = np.array([p.prior_mean[0], 0.0, ratio * p.amplitude] + 8 * [0.0])

    def residual(q: np.ndarray, gap: float) -> np.ndarray:
        E0 = np.exp(q[0])
        x = np.exp(-np.outer(p.model.t, [E0, E0 + gap]))
        parts = [x @ q[1:3]]
        for b in (3, 7):
            parts.append(x @ q[b : b + 2] + p.model.t * (x @ q[b + 2 : b + 4]))
        return np.concatenate([L_W.T @ (np.concatenate(parts) - p.data), (q - centre) / widths])

    weights, values, errors = [], [], []
    start = np.array([p.theta[0], p.amplitude] + 9 * [0.1 * p.amplitude])
    assert length * 3 == len(p.data)
    for z in np.linspace(-6, 6, 80):
        log_gap = p.theta[1] + np.sqrt(p.covariance[1, 1]) * z
        found = least_squares(residual, start, args=(np.exp(log_gap),), x_scale="jac", xtol=1e-12)
        V = np.linalg.inv(found.jac.T @ found.jac)
        slope = np.zeros(11)
        slope[1], slope[5] = -found.x[5] / found.x[1] ** 2, 1 / found.x[1]
        weights.append(
            -found.cost - 0.5 * ((log_gap - p.prior_mean[1]) / p.prior_width[1]) ** 2 + 0.5 * np.log(V[0, 0])
        )
        values.append(found.x[5] / found.x[1])
        errors.append(np.sqrt(slope @ V @ slope))
    w = np.exp(np.array(weights) - np.max(weights))
    rng = np.random.default_rng(1)
    chosen = rng.choice(len(w), size=200000, p=w / w.sum())
    draws = np.array(values)[chosen] + np.array(errors)[chosen] * rng.standard_normal(len(chosen))
    low, median, high = np.quantile(draws, [0.158655, 0.5, 0.841345])
    return median, (high - low) / 2


def test_averages_are_those_of_a_grid(monkeypatch: pytest.MonkeyPatch) -> None:
    fit, inputs = fitted(800, 3, monkeypatch)
    median, width = on_a_grid(inputs)
    found = profile(inputs)
    assert found is not None
    assert found.charges[0].median == pytest.approx(median, abs=0.05 * width)
    assert found.charges[0].half_width == pytest.approx(width, rel=0.05)
    assert fit.value["A"] == found.charges[0].median
    response = fit.response["A"]
    assert len(response) == 3 * 16


def test_precise_data_have_the_best_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    fit, inputs = fitted(800, 3, monkeypatch, noise=0.01)
    for name in ("A", "V"):
        assert fit.value[name] == pytest.approx(fit.p[f"g_{name}"], abs=1e-4)
    assert fit.value["A/V"] == pytest.approx(fit.p["g_A"] / fit.p["g_V"], abs=1e-4)
    found = profile(inputs)
    assert found is not None
    assert found.energy.median == pytest.approx(np.exp(fit.p["logE0"]), abs=1e-5)
