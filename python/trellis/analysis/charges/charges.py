"""This module has nucleon charges from two-point and Feynman-Hellmann correlators, fitted together.

With D -> D - lambda Gamma the numerator N(t) = dC/dlambda has, for every state, a term linear in t with the
charge of that state, and constants that hold all transitions (a transition n -> m gives exp(-E_n t) and
exp(-E_m t) only). With x_k = exp(-(E_k - E_0) t) and r_k = A_k/A_0:

    C(t) = A_0 exp(-E_0 t) (1 + sum_k r_k x_k)
    N(t) = A_0 exp(-E_0 t) [g t + c_0 + sum_k x_k (b_k t + c_k)]
    g_eff(t) = N(t+1)/C(t+1) - N(t)/C(t)   ->   g

C. Bouchard et al., Phys. Rev. D 96 (2017) 014504. C and the N of all charges are fitted together over a set
of windows, with one and two states (max_states: three), and averaged with the weights exp(-BPIC / 2), BPIC
= chi^2 + 3 (parameters) + 3 (data left out of the window): the Bayesian predictive criterion (T. Ando,
Biometrika 94 (2007) 443). A datum that is left out counts as a parameter that fits it, as in `averaging`,
whose 2 in place of 3 belongs to best fits. N and not g_eff is fitted: where C has an error of 20 %, N/C is
far from linear in the data, its covariance follows the fluctuation of C, and pulls of energies and charges
had widths of 1.5. The model error is the spread of the fits beyond their noise. Fits of several states give
the median and the width of the charges under the profile likelihood (charge_profile.py), not its maximum
and the curvature there. Errors are linear responses to the configurations, scaled to that width, so
correlations between windows and charges, and autocorrelations, are those of the data. Where tau_int of a
charge is above 1/2 by more than its error, the covariance is multiplied by the largest 2 tau_int and all is
fitted again: weights, chi^2 and profiles are then those of that many fewer configurations; each error, of
averages, windows and g_eff(t) alike, has the 2 tau_int of its own quantity. Where fits do not describe the
data (p < 0.05) their sqrt(chi^2 / expected), averaged with the same weights, stretches the statistical
errors, and the result says so; a window has its own.

With fewer than four configurations for a point of the largest window all weights have shrunk correlations
(charge_data.shrunk_weights), and errors the variance of Student's t for n - 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ...run_files.loading import validate_run
from ..records.charge_results import (
    LIFETIME_CONSTANT,
    ChargeEstimate,
    ChargeOptions,
    ChargeResult,
    ChargeWindow,
    neutron_lifetime,
)
from ..records.errors import AnalysisError, FitFailed
from ..statistics.autocorrelation import error_factor
from ..statistics.averaging import model_average, model_weights
from ..statistics.zero_times import missing_times, of_zeros
from .charge_data import ChargeData, FitData, effective_charge
from .charge_fit import ChargeFit, best_fit, excited_part, profiled, ratios
from .charge_model import EXCITED
from .charge_quality import charge_quality, one_state_warning, warnings_of

__all__ = [
    "LIFETIME_CONSTANT",
    "ChargeEstimate",
    "ChargeOptions",
    "ChargeResult",
    "ChargeWindow",
    "effective_charge",
    "fit_charges",
    "neutron_lifetime",
]


_Choice = Literal["auto", "gamma", "none"]


def fit_charges(
    two_point: NDArray,
    numerators: Mapping[str, NDArray],
    *,
    trajectories: NDArray | None = None,
    options: ChargeOptions | dict | None = None,
    autocorrelations: Literal["auto", "gamma", "none"] = "auto",
    boundary_t: Literal["periodic", "antiperiodic", "dirichlet"] = "antiperiodic",
) -> ChargeResult:
    """Return charges from C(t) and the N(t) of each current (isovector: UU - DD).

    Parameters
    ----------
    two_point
        Real, shape [configuration, time], time from the source.
    numerators
        "A", "V", or any names -> the shape of `two_point`.
    trajectories
        Numbers of the configurations, for autocorrelations; default 0, 1, 2, ...
    autocorrelations
        The choice of AnalysisOptions.autocorrelation.
    boundary_t
        The quarks have it: with "dirichlet" windows may reach to T - 1, else to T/2 - 1.

    Raises
    ------
    AnalysisError
        The shapes do not fit, or there are too few configurations.
    FitFailed
        No window can be fitted, or a correlator is zero, out of range or the same on all configurations.
    """
    if not isinstance(options, ChargeOptions):
        options = validate_run(options or {}, ChargeOptions, "options")
    two_point = np.asarray(two_point, dtype=float)
    count = len(two_point)
    if count < 5 or not numerators:
        raise AnalysisError(
            f"charges: expected at least 5 configurations and a current, found {count} configurations and "
            f"{len(numerators)} currents"
        )
    for name, N in numerators.items():
        if np.shape(N) != two_point.shape:
            raise AnalysisError(f"charge {name}: expected shape {two_point.shape}, found {np.shape(N)}")
    samples = {k: np.asarray(N, dtype=float) for k, N in numerators.items()}
    for what, values in {"C": two_point, **{f"N of {name}": N for name, N in samples.items()}}.items():
        require_usable(what, values)
        require_all_times(what, values)
    if np.any(two_point.mean(axis=0) == 0):
        raise FitFailed(
            "charges: expected a two-point function without zeros, found 0 at "
            f"t = {int(np.flatnonzero(two_point.mean(axis=0) == 0)[0])}"
        )
    if trajectories is None:
        trajectories = np.arange(count)
    data = ChargeData(two_point, samples, options, is_open=boundary_t == "dirichlet")
    return fit_data(data, trajectories, autocorrelations)


def fit_data(data: FitData, trajectories: NDArray, autocorrelations: _Choice) -> ChargeResult:
    """Return all windows and their average."""
    fits = _scan(data)
    factors = _factors(data, fits, trajectories, autocorrelations)
    if factors and max(factors.values()) > 1.0:
        data.inflate(max(factors.values()))  # weights, chi^2 and profiles then fit correlated data
        fits = _scan(data)
    return _average(data, fits, trajectories, autocorrelations)


def require_usable(what: str, samples: NDArray) -> None:
    """Refuse numbers whose squares are no numbers, and equal ones: they have no covariance to fit with."""
    largest = float(np.abs(samples).max())
    if not largest < 1e140 or 0 < largest < 1e-140:
        raise FitFailed(f"charges: {what}: expected numbers between 1e-140 and 1e140, found {largest:.3g}")
    if np.all(samples == samples[0]):
        raise FitFailed(
            f"charges: {what}: expected configurations that differ, found {len(samples)} equal ones"
        )


def require_all_times(what: str, samples: NDArray, *, to_the_end: bool = False) -> None:
    """Refuse times that are 0 on all configurations (:func:`missing_times`)."""
    times = missing_times(samples, to_the_end=to_the_end)
    if times:
        raise FitFailed(f"charges: {what}: {of_zeros(times, len(samples))}")


#: Windows that cannot reach a weight of exp(-_NO_WEIGHT / 2) of the best one are left out.
_NO_WEIGHT = 20.0
#: Fits with a weight below exp(-_LITTLE_WEIGHT / 2) of the best one keep their best
#: values, without a profile.
_LITTLE_WEIGHT = 14.0


def _scan(data: FitData) -> list[ChargeFit]:
    """Fit the windows with `least_states` and more states, as far as they can have weight.

    chi^2 is positive: a window of d points and k parameters has a criterion above -3 (d - k).
    """
    fits, options = [], data.options
    best = np.inf
    for t_min in range(options.t_min_first, data.t_min_last + 1):
        for states in range(data.least_states, options.max_states + 1):
            free = data.free(t_min, states)
            if free <= 0 or -3 * free > best + _NO_WEIGHT:
                continue
            fit = best_fit(data, t_min, states)
            if fit is not None:
                fits.append(fit)
                best = min(best, fit.criterion)
    if not fits:
        raise FitFailed(f"charges: no window between {options.t_min_first} and {data.t_max} can be fitted")
    fits = [profiled(data, fit) if fit.criterion < best + _LITTLE_WEIGHT else fit for fit in fits]
    return sorted(fits, key=lambda fit: (fit.states, fit.t_min))


def _factors(
    data: FitData, fits: list[ChargeFit], trajectories: NDArray, choice: _Choice
) -> dict[str, float]:
    """Return 2 tau_int of each charge, from the responses of the fits to the configurations."""
    weights = model_weights(np.array([f.criterion for f in fits]))
    series = {name: weights @ [f.correction * f.response[name] for f in fits] for name in data.names}
    return {name: error_factor(data.influence @ s, trajectories, choice)[0] for name, s in series.items()}


def _average(data: FitData, fits: list[ChargeFit], trajectories: NDArray, choice: _Choice) -> ChargeResult:
    criteria = np.array([f.criterion for f in fits])
    weights = model_weights(criteria)
    misfit = float(weights @ [f.misfit for f in fits])

    influence: dict[str, NDArray] = {}

    def estimate(name: str, values, responses, prior_errors) -> ChargeEstimate:
        """Average over the fits, with the autocorrelation of its linear response."""
        scaled = np.array([f.correction * r for f, r in zip(fits, responses, strict=True)])
        average = model_average(
            np.array(values), scaled @ data.covariance @ scaled.T, np.array(prior_errors), criteria
        )
        series = data.influence @ (weights @ scaled)
        own, tau_int = error_factor(series, trajectories, choice)
        stretch = np.sqrt(own / data.inflation)  # the covariance has the longest autocorrelation in it
        influence[name] = series * np.sqrt(own) * misfit
        return ChargeEstimate(
            average.mean, average.statistical_error * stretch * misfit, average.excess_error, tau_int
        )

    def of_fits(name: str) -> ChargeEstimate:
        return estimate(
            name,
            [f.value[name] for f in fits],
            [f.response[name] for f in fits],
            [f.prior_error[name] for f in fits],
        )

    charges = {name: of_fits(name) for name in data.names}
    ratio = z_v = tau_n = None
    pair = next(iter(ratios(data.names)), None)
    if "V" in charges:
        v = charges["V"]
        z_v = ChargeEstimate(
            1 / v.value, v.statistical_error / v.value**2, v.model_error / v.value**2, v.tau_int
        )
    if pair is not None:
        ratio = of_fits("/".join(pair))
        tau_n = neutron_lifetime(ratio)
    own = _factors(data, fits, trajectories, choice)
    windows = [_window(data, f, w, own) for f, w in zip(fits, weights, strict=True)]
    effective = {name: _effective_points(data, name, None, own) for name in data.effective}
    two_state = [f for f in fits if f.states > 1]
    best = min(two_state, key=lambda f: f.criterion) if two_state else None
    subtracted = {name: _effective_points(data, name, best, own) for name in data.effective} if best else {}
    quality = charge_quality(data, fits, weights, {name: e.error for name, e in charges.items()})
    more = _one_more_state(data, fits, weights, own)
    one_state = one_state_warning([w.states for w in windows], more)
    heaviest = fits[int(np.argmax(weights))]
    return ChargeResult(
        charges=charges,
        ratio=ratio,
        z_v=z_v,
        tau_n=tau_n,
        energy=of_fits("E0"),
        windows=windows,
        effective=effective,
        subtracted=subtracted,
        quality=quality,
        misfit=misfit,
        autocorrelation_factor=data.inflation,
        dependent=tuple(data.dependent()),
        warnings=(
            *warnings_of(quality, misfit, is_fixed_sink=data.is_fixed_sink, has_excited_states=not one_state),
            *one_state,
        ),
        gap_prior=data.gap_prior,
        one_more_state=more,
        influence=influence,
        curves=data.curves(heaviest.p, heaviest.t_min, heaviest.states),
    )


def _one_more_state(
    data: FitData, fits: list[ChargeFit], weights: NDArray, own: Mapping[str, float]
) -> dict[str, ChargeEstimate]:
    """Return ChargeResult.one_more_state."""
    states = fits[int(np.argmax(weights))].states + 1
    if states > 1 + len(EXCITED):
        return {}
    t_min = data.options.t_min_first
    known = [fit for fit in fits if fit.states == states and fit.t_min == t_min]
    more = known[0] if known else best_fit(data, t_min, states) if data.free(t_min, states) > 0 else None
    if more is None:
        return {}
    found = _window(data, more if more.is_profiled else profiled(data, more), 0.0, own)
    return {name: ChargeEstimate(found.values[name], found.errors[name], 0.0) for name in data.names}


def _window(data: FitData, fit: ChargeFit, weight: float, own: Mapping[str, float]) -> ChargeWindow:
    """Return the record of a fit; its errors are those of an average of this fit alone."""

    def error(name: str) -> float:
        variance = fit.response[name] @ data.covariance @ fit.response[name]
        stretch = np.sqrt(own[name] / data.inflation)  # the covariance has the longest autocorrelation in it
        return float(
            np.hypot(fit.correction * np.sqrt(variance), fit.prior_error[name]) * stretch * fit.misfit
        )

    errors = {name: error(name) for name in data.names}
    values = {name: fit.value[name] for name in data.names}
    return ChargeWindow(
        t_min=fit.t_min,
        t_max=data.t_max,
        states=fit.states,
        values=values,
        errors=errors,
        chi2=fit.chi2,
        expected_chi2=fit.expected_chi2,
        p_value=fit.p_value,
        points=fit.points,
        weight=float(weight),
        profiled=fit.is_profiled,
    )


def _effective_points(
    data: FitData, name: str, fit: ChargeFit | None, own: Mapping[str, float]
) -> tuple[NDArray, NDArray, NDArray]:
    t = np.arange(data.t_max)
    value, influence = data.effective[name]
    value = value[t].copy()
    error = np.sqrt((influence[:, t] ** 2).sum(axis=0) * own[name] / (data.count * (data.count - 1)))
    if fit is not None:
        value -= excited_part(fit.p, name, fit.states, t)
    return t, value, error
