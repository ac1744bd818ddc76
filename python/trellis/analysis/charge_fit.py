"""One fit of C(t) and the g_eff of all currents together, in one window; formulas in charges.py."""

from __future__ import annotations

from dataclasses import dataclass

import gvar as gv
import lsqfit
import numpy as np
from numpy.typing import NDArray

from .charge_profile import Profile, ProfileInput, profile
from .charge_results import ChargeOptions
from .errors import FitFailed
from .window_fit import chi2_scale, chi2_spectrum, p_value, small_sample_correction

#: Probability of chi^2 below which a fit does not describe the data.
POOR_FIT = 0.05


def effective_charge(two_point: NDArray, numerator: NDArray) -> tuple[NDArray, NDArray]:
    """g_eff(t) = N(t+1)/C(t+1) - N(t)/C(t) and its error.

    Parameters
    ----------
    two_point, numerator
        Real, shape [configuration, time].

    Returns
    -------
    value, error
        Shape [time - 1].
    """
    value, influence = _effective(two_point, numerator)
    return value, np.sqrt((influence**2).sum(axis=0) / (len(influence) * (len(influence) - 1)))


def _effective(two_point: NDArray, numerator: NDArray) -> tuple[NDArray, NDArray]:
    """g_eff of the means, and the influence of each configuration on it, shape [configuration, time - 1]."""
    C, N = two_point.mean(axis=0), numerator.mean(axis=0)
    influence = (numerator - two_point * (N / C)) / C
    return np.diff(N / C), np.diff(influence, axis=1)


class ChargeData:
    """Means, influences of the configurations and their covariance: C first, then g_eff of each charge."""

    def __init__(self, two_point: NDArray, numerators: dict[str, NDArray], options: ChargeOptions) -> None:
        self.options, self.names = options, list(numerators)
        self.count, self.extent = two_point.shape
        self.inflation = 1.0
        C = two_point.mean(axis=0)
        error = two_point.std(axis=0, ddof=1) / np.sqrt(self.count)
        noisy = np.flatnonzero((error > options.noise_limit * np.abs(C)) | (C <= 0))
        noisy = noisy[noisy > options.t_min_first]
        last = int(noisy[0]) - 1 if len(noisy) else self.extent // 2 - 1
        self.t_max = min(last, self.extent - 1) if options.t_max is None else options.t_max
        if options.t_max is None and self.t_max < options.t_min_first + 2:
            raise FitFailed(
                f"charges: expected a signal to t = {options.t_min_first + 2} at least, found its end at "
                f"t = {self.t_max} of {self.extent} times (charges.noise_limit, or charges.t_max)"
            )
        if not options.t_min_first + 2 <= self.t_max < self.extent:
            raise FitFailed(
                f"charges: expected t_max in {options.t_min_first + 2}..{self.extent - 1}, found {self.t_max}"
            )
        self.t_min_last = self.t_max - 2 if options.t_min_last is None else options.t_min_last
        self.scale = float(C[options.t_min_first])
        means, influences = [C / self.scale], [(two_point - C) / self.scale]
        for N in numerators.values():
            value, influence = _effective(two_point, N)
            means.append(value)
            influences.append(influence)
        self.mean, self.influence = np.concatenate(means), np.concatenate(influences, axis=1)
        self.covariance = self.influence.T @ self.influence / (self.count * (self.count - 1))

    @property
    def effective_count(self) -> float:
        """Independent configurations."""
        return self.count / self.inflation

    def inflate(self, factor: float) -> None:
        """Covariance times 2 tau_int; windows stay as they are."""
        self.covariance = self.covariance * factor
        self.inflation *= factor

    def is_determined(self, t_min: int, states: int) -> bool:
        """More points than parameters: E0, A0 and every g; for the second state gap, r, every b and c.

        Windows with fewer would add nothing but their priors to the average.
        """
        parameters = (2 + len(self.names)) if states == 1 else (4 + 3 * len(self.names))
        return len(self.rows(t_min)[2]) > parameters

    def rows(self, t_min: int) -> tuple[NDArray, NDArray, NDArray]:
        """Times of C, times of g_eff, and the places of all in `mean`."""
        t_c, t_g = np.arange(t_min, self.t_max + 1), np.arange(t_min, self.t_max)
        places = [t_c] + [self.extent + i * (self.extent - 1) + t_g for i in range(len(self.names))]
        return t_c, t_g, np.concatenate(places)


@dataclass
class ChargeFit:
    t_min: int
    states: int
    p: dict[str, float]
    value: dict[str, float]  # E0, the charges and A/V
    response: dict[str, NDArray]  # of them to all data, zero outside the window
    prior_error: dict[str, float]
    is_profiled: bool  # values and widths are those of charge_profile.py
    chi2: float
    expected_chi2: float
    p_value: float
    criterion: float
    points: int
    correction: float

    @property
    def misfit(self) -> float:
        """sqrt(chi^2 / expected) where the model does not describe the data (p < 0.05), else 1.

        The scale factor of the Particle Data Group, kept to fits that are bad beyond chance.
        """
        is_bad = self.p_value < POOR_FIT and self.chi2 > self.expected_chi2
        return float(np.sqrt(self.chi2 / self.expected_chi2)) if is_bad else 1.0


def charge_model(p, names: list[str], states: int, t_c: NDArray, t_g: NDArray) -> NDArray:
    """C and the g_eff of all charges, one after the other; p of floats or gvars."""
    energy, amplitude = np.exp(p["logE0"]), np.exp(p["logA0"])
    excited = p["r"] * np.exp(-np.exp(p["loggap"]) * t_c) if states == 2 else 0.0
    parts = [amplitude * np.exp(-energy * t_c) * (1.0 + excited)]
    for name in names:

        def ratio(t, name=name):
            if states == 1:
                return p[f"g_{name}"] * t
            x = np.exp(-np.exp(p["loggap"]) * t)
            return (p[f"g_{name}"] * t + x * (p[f"b_{name}"] * t + p[f"c_{name}"])) / (1.0 + p["r"] * x)

        parts.append(ratio(t_g + 1.0) - ratio(t_g + 0.0))
    return np.concatenate(parts)


def _prior(data: ChargeData, t_min: int, states: int) -> gv.BufferDict:
    """Wide for what the data fix; the stated ones for the excited state."""
    options = data.options
    C = data.mean[: data.extent]
    energy = max(
        np.log(C[t_min] / C[t_min + 1]) if C[t_min + 1] > 0 and C[t_min] > C[t_min + 1] else 0.5, 0.05
    )
    prior = gv.BufferDict()
    prior["logE0"] = gv.gvar(np.log(energy), 5.0)
    prior["logA0"] = gv.gvar(np.log(C[t_min]) + energy * t_min, 5.0)
    if states == 2:
        prior["loggap"] = gv.gvar(np.log(options.gap_prior[0]), options.gap_prior[1])
        prior["r"] = gv.gvar(*options.amplitude_ratio_prior)
    for name in data.names:
        prior[f"g_{name}"] = gv.gvar(0.0, options.charge_prior_width)
        if states == 2:
            prior[f"b_{name}"] = gv.gvar(0.0, options.charge_prior_width)
            prior[f"c_{name}"] = gv.gvar(0.0, options.charge_prior_width)
    return prior


def fit_window(data: ChargeData, t_min: int, states: int) -> ChargeFit | None:
    """Least squares in one window; None where it does not converge or is not invertible."""
    t_c, t_g, places = data.rows(t_min)
    prior = _prior(data, t_min, states)
    keys = list(prior)
    covariance = data.covariance[np.ix_(places, places)]
    is_correlated = data.effective_count >= data.options.configurations_per_point * len(places)
    sigma = np.sqrt(np.diag(covariance))
    used = covariance if is_correlated else np.diag(sigma**2)
    try:
        fit = lsqfit.nonlinear_fit(
            data=gv.gvar(data.mean[places], used),
            prior=prior,
            fcn=lambda p: charge_model(p, data.names, states, t_c, t_g),
            svdcut=0.0,
            tol=1e-9,
            maxit=500,
        )
        W = np.linalg.inv(used / np.outer(sigma, sigma)) / np.outer(sigma, sigma)
    except (ValueError, ZeroDivisionError, np.linalg.LinAlgError, ArithmeticError):
        return None
    p = {k: float(fit.pmean[k]) for k in keys}
    jacobian = _jacobian(data, p, keys, states, t_c, t_g)
    precision = np.diag([1 / prior[k].sdev ** 2 for k in keys])
    hessian = jacobian.T @ W @ jacobian + precision
    if fit.error is not None or not np.all(np.isfinite(hessian)) or np.linalg.cond(hessian) > 1e14:
        return None
    inverse = np.linalg.inv(hessian)
    response = inverse @ jacobian.T @ W
    determined = float(np.trace(response @ jacobian))  # parameters that the data fix
    free = max(len(places) - determined, 0.0) if is_correlated else 0.0
    correction = float(np.sqrt(small_sample_correction(data.effective_count, free))) if is_correlated else 1.0
    residual = data.mean[places] - charge_model(p, data.names, states, t_c, t_g)
    chi2 = float(residual @ W @ residual)
    linear = _linear(data, p, keys, response, places, inverse @ precision @ inverse)
    averages = None
    if is_correlated and states == 2:
        theta = [keys.index(k) for k in ("logE0", "loggap", "r")]
        averages = profile(
            ProfileInput(
                data=data.mean[places],
                weights=W,
                t_c=t_c,
                t_g=t_g,
                charges=len(data.names),
                ratios=[tuple(map(data.names.index, pair)) for pair in _ratios(data)],
                theta=np.array([p[keys[i]] for i in theta]),
                covariance=inverse[np.ix_(theta, theta)],
                prior_mean=np.array([prior[keys[i]].mean for i in theta]),
                prior_width=np.array([prior[keys[i]].sdev for i in theta]),
                charge_prior_width=data.options.charge_prior_width,
            )
        )
    value, response_of, prior_error = _profiled(data, linear, averages)
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
        value=value,
        response=response_of,
        prior_error=prior_error,
        is_profiled=averages is not None,
        chi2=chi2,
        expected_chi2=scale * expected,
        p_value=p_value(chi2, spectrum, data.effective_count, free, seed=0),
        criterion=chi2 / scale - 3 * expected,
        points=len(places),
        correction=correction,
    )


def _ratios(data: ChargeData) -> list[tuple[str, str]]:
    """Those that are wanted."""
    return [("A", "V")] if {"A", "V"} <= set(data.names) else []


#: Quantity -> value, response to all data, error from the priors.
_Linear = dict[str, tuple[float, NDArray, float]]


def _linear(
    data: ChargeData,
    p: dict[str, float],
    keys: list[str],
    response: NDArray,
    places: NDArray,
    prior_covariance: NDArray,
) -> _Linear:
    """E0, the charges and their ratios at the best fit, to first order in the data."""
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
    for a, b in _ratios(data):
        g_a, g_b = p[f"g_{a}"], p[f"g_{b}"]
        result[f"{a}/{b}"] = quantity(g_a / g_b, {f"g_{a}": 1 / g_b, f"g_{b}": -g_a / g_b**2})
    return result


def _profiled(
    data: ChargeData, linear: _Linear, averages: Profile | None
) -> tuple[dict[str, float], dict[str, NDArray], dict[str, float]]:
    """Values, responses and prior errors; where there is a profile its medians, and its widths as scale."""
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


def _jacobian(data: ChargeData, p: dict[str, float], keys: list[str], states: int, t_c, t_g) -> NDArray:
    """Central differences, exact to 1e-9."""
    columns = []
    for key in keys:
        h = 1e-5 * max(1.0, abs(p[key]))
        up, down = dict(p), dict(p)
        up[key] += h
        down[key] -= h
        difference = charge_model(up, data.names, states, t_c, t_g) - charge_model(
            down, data.names, states, t_c, t_g
        )
        columns.append(difference / (2 * h))
    return np.array(columns).T
