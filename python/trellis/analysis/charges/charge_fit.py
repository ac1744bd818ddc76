"""This module makes one fit of C and the correlators of all currents together, in one window.

charge_model.py has the formulas.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import gvar as gv
import lsqfit
import numpy as np
from numpy.typing import NDArray

from ...ground.swallowed_interrupts import interrupts_kept
from ..masses.window_fit import chi2_scale, chi2_spectrum, p_value, small_sample_correction
from .charge_data import FitData
from .charge_model import ChargeModel, FeynmanHellmannModel
from .charge_profile import Profile, ProfileInput, conditional, profile

#: A fit with a smaller probability of chi^2 does not describe the data.
POOR_FIT = 0.05


#: Each quantity has its value, its response to all data and its error from the priors.
_Linear = dict[str, tuple[float, NDArray, float]]


@dataclass
class ChargeFit:
    t_min: int
    states: int
    p: dict[str, float]
    value: dict[str, float]  # it has E0, the charges and A/V
    response: dict[str, NDArray]  # it is theirs to all data, and zero outside the window
    prior_error: dict[str, float]
    prior_shift: dict[str, float]  # the charges move so when the priors of gaps move by their widths
    farthest: float  # it is ChargeModel.farthest
    remainder_limit: float | None  # it is charge_profile.Profile's, where there is one
    is_profiled: bool  # values and widths are those of charge_profile.py
    chi2: float
    expected_chi2: float
    p_value: float
    criterion: float
    points: int
    correction: float
    profile_input: ProfileInput | None  # fits that can be profiled have it
    linear: _Linear  # it has value, response and prior_error at the best fit

    @property
    def misfit(self) -> float:
        """Return sqrt(chi^2 / expected) where the model does not describe the data (p < 0.05), else 1.

        This is the scale factor of the Particle Data Group; here only fits that are bad
        beyond chance have it.
        """
        is_bad = self.p_value < POOR_FIT and self.chi2 > self.expected_chi2
        return float(np.sqrt(self.chi2 / self.expected_chi2)) if is_bad else 1.0


def excited_part(p: dict[str, float], name: str, states: int, t: NDArray) -> NDArray:
    """Return g_eff(t) - g of the model."""
    values = FeynmanHellmannModel([name], states, np.append(t, t[-1] + 1))(p).reshape(2, -1)
    return np.diff(values[1] / values[0]) - p[f"g_{name}"]


def _prior(data: FitData, model: ChargeModel) -> gv.BufferDict:
    """Return priors that are wide for what the data fix; those of the excited states are the stated ones."""
    options, t_min = data.options, int(model.t[0])
    C = data.mean[: data.extent]
    energy = max(
        np.log(C[t_min] / C[t_min + 1]) if C[t_min + 1] > 0 and C[t_min] > C[t_min + 1] else 0.5, 0.05
    )
    prior = gv.BufferDict()
    prior["logE0"] = gv.gvar(np.log(energy), 5.0)
    prior["logA0"] = gv.gvar(np.log(C[t_min]) + energy * t_min, 5.0)
    gap = data.gap_prior
    for k in model.gaps:
        prior["loggap" + k] = gv.gvar(np.log(gap[0]), gap[1])
        prior["r" + k] = gv.gvar(*options.amplitude_ratio_prior)
    for name in model.names:
        for stem in model.coefficients:
            prior[f"{stem}_{name}"] = gv.gvar(0.0, options.charge_prior_width)
    return prior


def fit_window(data: FitData, t_min: int, states: int) -> ChargeFit | None:
    """Make the profiled fit of one window; return None where it does not converge or is not invertible."""
    fit = best_fit(data, t_min, states)
    return fit if fit is None else profiled(data, fit)


def profiled(data: FitData, fit: ChargeFit) -> ChargeFit:
    """Return the fit with values and errors of its profile likelihood, where it has one."""
    averages = None if fit.profile_input is None else profile(fit.profile_input)
    value, response, prior_error = _profiled(data, fit.linear, averages)
    shift = fit.prior_shift
    if averages is not None:
        shift = dict(zip(data.names, averages.prior_shifts, strict=True))
    return replace(
        fit,
        value=value,
        response=response,
        prior_error=prior_error,
        prior_shift=shift,
        remainder_limit=None if averages is None else averages.remainder_limit,
        is_profiled=averages is not None,
    )


def best_fit(data: FitData, t_min: int, states: int) -> ChargeFit | None:
    """Make the least-squares fit of one window; return None where it does not
    converge or is not invertible.
    """
    model, places = data.window(t_min, states)
    prior = _prior(data, model)
    keys = list(prior)
    covariance = data.covariance[np.ix_(places, places)]
    is_correlated = not data.is_few
    try:
        W = _inverse(covariance) if is_correlated else data.shrunk_weights(places)
        used = covariance if is_correlated else _inverse(W)
        with interrupts_kept():
            fit = lsqfit.nonlinear_fit(
                data=gv.gvar(data.mean[places], used),
                prior=prior,
                p0=starting_point(data, prior, model, places, W),
                fcn=model,
                svdcut=0.0,
                tol=(1e-7, 1e-8, 1e-9),
                maxit=500,
                method="lm",
            )
    except (ValueError, ZeroDivisionError, np.linalg.LinAlgError, ArithmeticError):
        return None
    p = {k: float(fit.pmean[k]) for k in keys}
    jacobian = _jacobian(model, p, keys)
    precision = np.diag([1 / prior[k].sdev ** 2 for k in keys])
    hessian = jacobian.T @ W @ jacobian + precision
    if fit.error is not None or not np.all(np.isfinite(hessian)):
        return None
    size = np.sqrt(np.diag(hessian))
    if np.linalg.cond(hessian / np.outer(size, size)) > 1e13:
        return None
    inverse = _inverse(hessian)
    response = inverse @ jacobian.T @ W
    determined = float(np.trace(response @ jacobian))  # the data fix so many parameters
    free = max(len(places) - determined, 0.0) if is_correlated else 0.0
    factor = small_sample_correction(data.effective_count, free) if is_correlated else data.student_factor
    residual = data.mean[places] - model(p)
    chi2 = float(residual @ W @ residual)
    linear = _linear(data, p, keys, response, places, inverse @ precision @ inverse)
    inputs = None
    if states > 1:
        theta = [keys.index(k) for k in _energies(model)]
        inputs = _profile_input(
            data, prior, model, places, W, np.exp(p["logA0"]), fit.pmean, inverse[np.ix_(theta, theta)]
        )
    # The expected chi^2 takes the place of the degrees of freedom (averaging.py), with Ando's penalty of 3
    # for each parameter (charges.py).
    projector = W - W @ jacobian @ inverse @ jacobian.T @ W
    spectrum = chi2_spectrum(projector, covariance)
    expected = float(spectrum.sum())
    scale = chi2_scale(data.effective_count, free) if is_correlated else 1.0
    return ChargeFit(
        t_min=t_min,
        states=states,
        p=p,
        value={name: value for name, (value, _, _) in linear.items()},
        response={name: slope for name, (_, slope, _) in linear.items()},
        prior_error={name: error for name, (_, _, error) in linear.items()},
        prior_shift=_prior_shift(data.names, keys, inverse, prior),
        farthest=model.farthest,
        remainder_limit=None,
        is_profiled=False,
        chi2=chi2,
        expected_chi2=scale * expected,
        p_value=p_value(chi2, spectrum, data.effective_count, free, seed=0),
        criterion=chi2 / scale - 3 * expected,
        points=len(places),
        correction=float(np.sqrt(factor)),
        profile_input=inputs,
        linear=linear,
    )


def _inverse(matrix: NDArray) -> NDArray:
    """Return the inverse of a positive matrix whose rows have units; it is positive and exactly symmetric."""
    size = np.sqrt(np.diag(matrix))
    values, vectors = np.linalg.eigh(matrix / np.outer(size, size))
    if not values[0] > 0:
        raise np.linalg.LinAlgError("expected a positive matrix")
    root = vectors / np.sqrt(values) / size[:, None]
    return root @ root.T


def _prior_shift(
    names: list[str], keys: list[str], inverse: NDArray, prior: gv.BufferDict
) -> dict[str, float]:
    """Return, to first order, the inverse Hessian between a charge and log gap, over
    the width of the prior.
    """
    gaps = [k for k in keys if k.startswith("loggap")]
    moves = [inverse[:, keys.index(k)] / prior[k].sdev for k in gaps]
    total = np.sqrt(np.sum(np.square(moves), axis=0)) if moves else np.zeros(len(keys))
    return {name: float(total[keys.index(f"g_{name}")]) for name in names}


def _energies(model: ChargeModel) -> list[str]:
    """Return the names of the parameters theta of charge_profile.py."""
    return ["logE0"] + ["loggap" + k for k in model.gaps]


def _profile_input(
    data: FitData,
    prior: gv.BufferDict,
    model: ChargeModel,
    places: NDArray,
    W: NDArray,
    amplitude: float,
    p: Mapping[str, float],
    covariance: NDArray,
) -> ProfileInput:
    names = _energies(model)
    return ProfileInput(
        data=data.mean[places],
        weights=W,
        model=model,
        ratios=[(data.names.index(a), data.names.index(b)) for a, b in ratios(data.names)],
        theta=np.array([p[k] for k in names]),
        covariance=covariance,
        prior_mean=np.array([prior[k].mean for k in names]),
        prior_width=np.array([prior[k].sdev for k in names]),
        amplitude=float(amplitude),
        amplitude_ratio_prior=data.options.amplitude_ratio_prior,
        charge_prior_width=data.options.charge_prior_width,
    )


def starting_point(
    data: FitData, prior: gv.BufferDict, model: ChargeModel, places: NDArray, W: NDArray
) -> dict[str, float]:
    """Return the best of several starts, whose energies spread over their priors and whose
    linear parameters fit best.

    Sums of exponentials have several minima; the one that is nearest to the centre of the priors need not be
    the deepest.
    """
    centre = {k: float(prior[k].mean) for k in prior}
    start = _profile_input(
        data, prior, model, places, W, np.exp(centre["logA0"]), centre, np.eye(model.states)
    )
    theta = _energies_to_try(data, prior, model)
    log_likelihood, linear, _ = conditional(start, theta)
    is_good = np.isfinite(log_likelihood) & (linear[:, 0] > 0)
    if not is_good.any():
        return centre
    best = int(np.argmax(np.where(is_good, log_likelihood, -np.inf)))
    x = linear[best]
    amplitude = x[0]
    p = {"logE0": theta[best, 0], "logA0": np.log(amplitude)}
    for n, k in enumerate(model.gaps, start=1):
        p["loggap" + k], p["r" + k] = theta[best, n], x[n] / amplitude
    for name, first in zip(model.names, model.places_of_charges(), strict=True):
        for n, stem in enumerate(model.coefficients, start=first):
            p[f"{stem}_{name}"] = x[n] / amplitude
    return {k: float(v) for k, v in p.items()}


def _energies_to_try(data: FitData, prior: gv.BufferDict, model: ChargeModel) -> NDArray:
    """Return energies to try: log E0 around the effective masses, log gaps over 1.5
    widths of their priors.
    """
    C, states = data.mean[model.t], model.states
    masses = np.log(C[:-1] / C[1:], where=(C[:-1] > C[1:]) & (C[1:] > 0), out=np.zeros(len(C) - 1))
    masses = masses[masses > 0]
    centre = prior["logE0"].mean
    low, high = (np.log(masses.min()), np.log(masses.max())) if len(masses) else (centre, centre)
    axes = [np.linspace(low - 0.3, high + 0.1, 12 if states < 3 else 8)]
    for k in model.gaps:
        gap = prior["loggap" + k]
        axes.append(gap.mean + gap.sdev * np.linspace(-1.5, 1.5, 9 if states < 3 else 6))
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, states)


def ratios(names: list[str]) -> list[tuple[str, str]]:
    """Return the pairs of currents whose ratio is reported: both currents of a pair
    are renormalised alike.
    """
    return [pair for pair in (("A", "V"), ("A_conserved", "V_conserved")) if set(pair) <= set(names)]


def _linear(
    data: FitData,
    p: dict[str, float],
    keys: list[str],
    response: NDArray,
    places: NDArray,
    prior_covariance: NDArray,
) -> _Linear:
    """Return E0, the charges and their ratios at the best fit, to first order in the data."""
    full = np.zeros((len(keys), len(data.mean)))
    full[:, places] = response

    def quantity(value: float, slope: dict[str, float]) -> tuple[float, NDArray, float]:
        d = np.zeros(len(keys))
        for key, factor in slope.items():
            d[keys.index(key)] = factor
        return value, d @ full, float(np.sqrt(d @ prior_covariance @ d))

    energy = float(np.exp(p["logE0"]))
    result = {"E0": quantity(energy, {"logE0": energy})}
    for name in data.names:
        result[name] = quantity(p[f"g_{name}"], {f"g_{name}": 1.0})
    for a, b in ratios(data.names):
        g_a, g_b = p[f"g_{a}"], p[f"g_{b}"]
        result[f"{a}/{b}"] = quantity(g_a / g_b, {f"g_{a}": 1 / g_b, f"g_{b}": -g_a / g_b**2})
    return result


def _profiled(
    data: FitData, linear: _Linear, averages: Profile | None
) -> tuple[dict[str, float], dict[str, NDArray], dict[str, float]]:
    """Return values, responses and prior errors; a profile, if there is one, gives its
    medians and its widths.
    """
    intervals = {}
    if averages is not None:
        intervals = {"E0": averages.energy} | dict(zip(data.names, averages.charges, strict=True))
        for (i, j), ratio in averages.ratios.items():
            intervals[f"{data.names[i]}/{data.names[j]}"] = ratio
    value, response, prior_error = {}, {}, {}
    for name, (best, slope, prior_part) in linear.items():
        value[name], scale = best, 1.0
        if name in intervals:
            curvature = np.hypot(np.sqrt(slope @ data.covariance @ slope), prior_part)
            value[name], scale = intervals[name].median, intervals[name].half_width / float(curvature)
        response[name], prior_error[name] = scale * slope, scale * prior_part
    return value, response, prior_error


def _jacobian(model: ChargeModel, p: dict[str, float], keys: list[str]) -> NDArray:
    """Return the derivatives by central differences, which are exact to 1e-9."""
    columns = []
    for key in keys:
        h = 1e-5 * max(1.0, abs(p[key]))
        up, down = dict(p), dict(p)
        up[key] += h
        down[key] -= h
        columns.append((model(up) - model(down)) / (2 * h))
    return np.array(columns).T
