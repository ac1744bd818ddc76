"""Nucleon charges from two-point and Feynman-Hellmann correlators, fitted together.

With D -> D - lambda Gamma the numerator N(t) = dC/dlambda has, for every state, a term linear in t with the
charge of that state, and constants that hold all transitions (a transition n -> m gives exp(-E_n t) and
exp(-E_m t) only). For two states, divided by the two-point function, with r = A_1/A_0 exp(-gap t):

    C(t) = A_0 exp(-E_0 t) (1 + r),   N(t)/C(t) = const + [g t + exp(-gap t) (b t + c)] / (1 + r)
    g_eff(t) = N(t+1)/C(t+1) - N(t)/C(t)   ->   g

C. Bouchard et al., Phys. Rev. D 96 (2017) 014504. g_eff takes away the constant. C and the g_eff of all
charges are fitted together over a set of windows, with one and two states; the results are averaged with the
weights of `averaging`. Errors are linear responses to the configurations, so correlations between windows and
charges, and autocorrelations, are those of the data.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import gvar as gv
import lsqfit
import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from .autocorrelation import autocorrelation
from .averaging import model_average, model_weights
from .errors import AnalysisError, FitFailed
from .window_fit import chi2_scale, small_sample_correction

#: tau_n (1 + 3 (g_A/g_V)^2), seconds (A. Czarnecki, W. Marciano, A. Sirlin, arXiv:1802.01804).
LIFETIME_CONSTANT = 5172.0


class ChargeOptions(BaseModel):
    """Choices of :func:`fit_charges`; the priors are stated here and nowhere tuned."""

    model_config = ConfigDict(extra="forbid")

    max_states: int = Field(default=2, ge=1, le=2)
    t_min_first: int = Field(default=1, ge=0, description="First t_min that is tried.")
    t_min_last: int | None = Field(default=None, description="Last t_min; default: three points remain.")
    t_max: int | None = Field(default=None, description="Last time slice of C; default: from the noise.")
    noise_limit: float = Field(
        default=0.3, gt=0, description="Default t_max: relative error of C below this."
    )
    configurations_per_point: float = Field(
        default=4.0, gt=1, description="With fewer per fitted point the weights are uncorrelated."
    )
    gap_prior: tuple[float, float] = Field(default=(0.6, 0.8), description="Log-normal: centre, width.")
    amplitude_ratio_prior: tuple[float, float] = Field(default=(1.0, 4.0), description="A_1/A_0: normal.")
    charge_prior_width: float = Field(default=10.0, gt=0, description="Of g, b and c around 0: normal.")


@dataclass(frozen=True)
class ChargeWindow:
    """One fit: its window, states, charges and weight in the average."""

    t_min: int
    t_max: int
    states: int
    values: dict[str, float]
    errors: dict[str, float]
    chi2: float
    points: int
    weight: float


@dataclass(frozen=True)
class ChargeEstimate:
    """A number with its statistical error (data and priors) and the spread of the models."""

    value: float
    statistical_error: float
    model_error: float
    tau_int: float | None = None

    @property
    def error(self) -> float:
        """Both in quadrature."""
        return float(np.hypot(self.statistical_error, self.model_error))


@dataclass(frozen=True)
class ChargeResult:
    """What :func:`fit_charges` found.

    Attributes
    ----------
    charges
        By name, bare.
    ratio
        charges["A"] / charges["V"], where both are there; z_v = 1 / charges["V"]; tau_n in seconds.
    energy
        E_0.
    effective
        name -> (t, g_eff, error); subtracted: the same with the excited states of the best two-state fit
        taken away.
    """

    charges: dict[str, ChargeEstimate]
    ratio: ChargeEstimate | None
    z_v: ChargeEstimate | None
    tau_n: ChargeEstimate | None
    energy: ChargeEstimate
    windows: list[ChargeWindow]
    effective: dict[str, tuple[NDArray, NDArray, NDArray]]
    subtracted: dict[str, tuple[NDArray, NDArray, NDArray]]


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


def fit_charges(
    two_point: NDArray,
    numerators: Mapping[str, NDArray],
    *,
    trajectories: NDArray | None = None,
    options: ChargeOptions | dict | None = None,
) -> ChargeResult:
    """Charges from C(t) and the N(t) of each current (isovector: UU - DD).

    Parameters
    ----------
    two_point
        Real, shape [configuration, time], time from the source.
    numerators
        "A", "V", or any names -> the shape of `two_point`.
    trajectories
        Numbers of the configurations, for autocorrelations; default 0, 1, 2, ...

    Raises
    ------
    AnalysisError
        Shapes that do not fit, or too few configurations.
    FitFailed
        No window can be fitted.
    """
    options = ChargeOptions.model_validate(options or {})
    two_point = np.asarray(two_point, dtype=float)
    count = len(two_point)
    if count < 5 or not numerators:
        raise AnalysisError(
            f"charges: expected 5 configurations and a current, found {count}, {len(numerators)}"
        )
    for name, N in numerators.items():
        if np.shape(N) != two_point.shape:
            raise AnalysisError(f"charge {name}: expected shape {two_point.shape}, found {np.shape(N)}")
    if trajectories is None:
        trajectories = np.arange(count)
    data = _Data(two_point, {k: np.asarray(N, dtype=float) for k, N in numerators.items()}, options)
    fits = []
    for states in range(1, options.max_states + 1):
        for t_min in range(options.t_min_first, data.t_min_last + 1):
            fit = _fit_window(data, t_min, states)
            if fit is not None:
                fits.append(fit)
    if not fits:
        raise FitFailed(f"charges: no window between {options.t_min_first} and {data.t_max} can be fitted")
    return _average(data, fits, trajectories)


class _Data:
    """Means, influences of the configurations and their covariance: C first, then g_eff of each charge."""

    def __init__(self, two_point: NDArray, numerators: dict[str, NDArray], options: ChargeOptions) -> None:
        self.options, self.names = options, list(numerators)
        self.count, self.extent = two_point.shape
        C = two_point.mean(axis=0)
        error = two_point.std(axis=0, ddof=1) / np.sqrt(self.count)
        noisy = np.flatnonzero((error > options.noise_limit * np.abs(C)) | (C <= 0))
        noisy = noisy[noisy > options.t_min_first]
        last = int(noisy[0]) - 1 if len(noisy) else self.extent // 2 - 1
        self.t_max = min(last, self.extent - 1) if options.t_max is None else options.t_max
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

    def rows(self, t_min: int) -> tuple[NDArray, NDArray, NDArray]:
        """Times of C, times of g_eff, and the places of all in `mean`."""
        t_c, t_g = np.arange(t_min, self.t_max + 1), np.arange(t_min, self.t_max)
        places = [t_c] + [self.extent + i * (self.extent - 1) + t_g for i in range(len(self.names))]
        return t_c, t_g, np.concatenate(places)


@dataclass
class _Fit:
    t_min: int
    states: int
    p: dict[str, float]
    response: dict[str, NDArray]  # of E0 and the charges to all data, zero outside the window
    prior_error: dict[str, float]
    chi2: float
    criterion: float
    points: int
    correction: float


def _model(p, names: list[str], states: int, t_c: NDArray, t_g: NDArray) -> NDArray:
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


def _prior(data: _Data, t_min: int, states: int) -> gv.BufferDict:
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


def _fit_window(data: _Data, t_min: int, states: int) -> _Fit | None:
    """Least squares in one window; None where it does not converge or is not invertible."""
    t_c, t_g, places = data.rows(t_min)
    prior = _prior(data, t_min, states)
    keys = list(prior)
    covariance = data.covariance[np.ix_(places, places)]
    is_correlated = data.count >= data.options.configurations_per_point * len(places)
    sigma = np.sqrt(np.diag(covariance))
    used = covariance if is_correlated else np.diag(sigma**2)
    try:
        fit = lsqfit.nonlinear_fit(
            data=gv.gvar(data.mean[places], used),
            prior=prior,
            fcn=lambda p: _model(p, data.names, states, t_c, t_g),
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
    correction = float(np.sqrt(small_sample_correction(data.count, free))) if is_correlated else 1.0
    residual = data.mean[places] - _model(p, data.names, states, t_c, t_g)
    chi2 = float(residual @ W @ residual)
    full = np.zeros((len(keys), len(data.mean)))
    full[:, places] = response
    prior_covariance = inverse @ precision @ inverse
    row = {"E0": (keys.index("logE0"), np.exp(p["logE0"]))}
    row |= {name: (keys.index(f"g_{name}"), 1.0) for name in data.names}
    # the expected chi^2 of the fit takes the place of its degrees of freedom (averaging.py)
    projector = W - W @ jacobian @ inverse @ jacobian.T @ W
    expected = float(np.trace(projector @ covariance))
    scale = chi2_scale(data.count, free) if is_correlated else 1.0
    return _Fit(
        t_min=t_min,
        states=states,
        p=p,
        response={k: s * full[i] for k, (i, s) in row.items()},
        prior_error={k: s * np.sqrt(prior_covariance[i, i]) for k, (i, s) in row.items()},
        chi2=chi2,
        criterion=chi2 / scale - 2 * expected,
        points=len(places),
        correction=correction,
    )


def _jacobian(data: _Data, p: dict[str, float], keys: list[str], states: int, t_c, t_g) -> NDArray:
    """Central differences, exact to 1e-9."""
    columns = []
    for key in keys:
        h = 1e-5 * max(1.0, abs(p[key]))
        up, down = dict(p), dict(p)
        up[key] += h
        down[key] -= h
        difference = _model(up, data.names, states, t_c, t_g) - _model(down, data.names, states, t_c, t_g)
        columns.append(difference / (2 * h))
    return np.array(columns).T


def _average(data: _Data, fits: list[_Fit], trajectories: NDArray) -> ChargeResult:
    criteria = np.array([f.criterion for f in fits])
    weights = model_weights(criteria)

    def estimate(values, responses, prior_errors) -> ChargeEstimate:
        """Average over the fits, with the autocorrelation of its linear response."""
        scaled = np.array([f.correction * r for f, r in zip(fits, responses, strict=True)])
        average = model_average(
            np.array(values), scaled @ data.covariance @ scaled.T, np.array(prior_errors), criteria
        )
        series = data.influence @ (weights @ scaled)
        tau = autocorrelation("charge", series, trajectories)
        stretch, tau_int = 1.0, None
        if tau is not None and tau.significant:
            stretch, tau_int = max(1.0, tau.error / tau.naive_error), tau.tau_int
        return ChargeEstimate(average.mean, average.statistical_error * stretch, average.model_error, tau_int)

    def of_fits(name: str) -> ChargeEstimate:
        values = [np.exp(f.p["logE0"]) if name == "E0" else f.p[f"g_{name}"] for f in fits]
        return estimate(values, [f.response[name] for f in fits], [f.prior_error[name] for f in fits])

    charges = {name: of_fits(name) for name in data.names}
    ratio = z_v = tau_n = None
    if "V" in charges:
        v = charges["V"]
        z_v = ChargeEstimate(
            1 / v.value, v.statistical_error / v.value**2, v.model_error / v.value**2, v.tau_int
        )
    if "A" in charges and "V" in charges:
        ratios = [f.p["g_A"] / f.p["g_V"] for f in fits]
        slopes = [
            (f.response["A"] - g * f.response["V"]) / f.p["g_V"] for f, g in zip(fits, ratios, strict=True)
        ]
        priors = [
            np.hypot(f.prior_error["A"], g * f.prior_error["V"]) / abs(f.p["g_V"])
            for f, g in zip(fits, ratios, strict=True)
        ]
        ratio = estimate(ratios, slopes, priors)
        tau_n = neutron_lifetime(ratio)
    windows = [_window(data, f, w) for f, w in zip(fits, weights, strict=True)]
    effective = {name: _effective_points(data, i, None) for i, name in enumerate(data.names)}
    two_state = [f for f in fits if f.states == 2]
    best = min(two_state, key=lambda f: f.criterion) if two_state else None
    subtracted = {name: _effective_points(data, i, best) for i, name in enumerate(data.names)} if best else {}
    return ChargeResult(
        charges=charges,
        ratio=ratio,
        z_v=z_v,
        tau_n=tau_n,
        energy=of_fits("E0"),
        windows=windows,
        effective=effective,
        subtracted=subtracted,
    )


def neutron_lifetime(g: ChargeEstimate) -> ChargeEstimate:
    """tau_n = 5172.0 s / (1 + 3 g^2) with g = g_A/g_V; d tau / d g = -6 g tau^2 / 5172.0 s."""
    tau = LIFETIME_CONSTANT / (1 + 3 * g.value**2)
    slope = abs(6 * g.value * tau**2 / LIFETIME_CONSTANT)
    return ChargeEstimate(tau, slope * g.statistical_error, slope * g.model_error, g.tau_int)


def _window(data: _Data, fit: _Fit, weight: float) -> ChargeWindow:
    errors = {
        name: float(
            np.hypot(
                fit.correction * np.sqrt(fit.response[name] @ data.covariance @ fit.response[name]),
                fit.prior_error[name],
            )
        )
        for name in data.names
    }
    values = {name: fit.p[f"g_{name}"] for name in data.names}
    return ChargeWindow(
        fit.t_min, data.t_max, fit.states, values, errors, fit.chi2, fit.points, float(weight)
    )


def _effective_points(data: _Data, index: int, fit: _Fit | None) -> tuple[NDArray, NDArray, NDArray]:
    t = np.arange(data.t_max)
    places = data.extent + index * (data.extent - 1) + t
    value, error = data.mean[places].copy(), np.sqrt(np.diag(data.covariance)[places])
    if fit is not None:
        name = data.names[index]
        value -= _model(fit.p, [name], 2, t[:1], t)[1:] - fit.p[f"g_{name}"]
    return t, value, error
