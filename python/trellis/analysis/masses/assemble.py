"""This module makes the records of results.json from fits and series."""

from __future__ import annotations

import gvar as gv
import numpy as np
from numpy.typing import NDArray

from ..records.errors import TooFewConfigurations
from ..records.measurements import Measurements
from ..records.numbering import has_streams, plain_numbers, same_numbers
from ..records.options import AnalysisOptions
from ..records.record import Series
from ..records.results import AutocorrelationResult, FitResult, ParticleResult, SolverResult
from ..statistics.autocorrelation import (
    MINIMUM_SAMPLES,
    Autocorrelation,
    autocorrelation,
    bin_series,
    numbering_note,
)
from ..statistics.weights import covariance_of_mean
from .correlators import ParticleCorrelator
from .effective_mass import log_effective_mass, periodic_effective_mass
from .models import ALTERNATING_PRIOR_WIDTHS, GROUND_STATE_PRIOR_WIDTH
from .window_scan import ParticleFit, ScannedFit, alternate

#: Time series in results.json are at most this long; longer ones are thinned for the plot.
SERIES_LENGTH = 4000
#: Effective masses with larger errors say nothing and are left out.
EFFECTIVE_MASS_ERROR = 0.5
#: A note shows this many names; it gives the number of the others.
_NAMES_SHOWN = 3
#: The means of these series come from few large values: a part without any lies many of its errors away.
_HEAVY_TAILS = ("exp_minus_dH",)


def series(x: NDArray, value: NDArray, error: NDArray) -> Series:
    """Return lists of floats, with None for what is not finite."""
    clean = [[float(v) if np.isfinite(v) else None for v in array] for array in (value, error)]
    return Series(x=[float(v) for v in x], value=clean[0], error=clean[1])


def mean_series(correlator: ParticleCorrelator, inflation: float = 1.0) -> Series:
    """Return the mean correlator, unfolded, at t = 0 ... T - 1."""
    samples = correlator.samples
    error = np.sqrt(inflation / len(samples)) * samples.std(axis=0, ddof=1)
    return series(np.arange(correlator.time_extent), samples.mean(axis=0), error)


def effective_mass_series(correlator: ParticleCorrelator, inflation: float = 1.0) -> Series:
    """Return the effective mass at t + 1/2 with the error from the covariance of the two time slices."""
    samples = correlator.fit_samples()
    if len(samples) < 2:
        raise TooFewConfigurations(f"the effective mass of {correlator.name}", needed=2, found=len(samples))
    scale = np.abs(samples.mean(axis=0)).max()
    samples = samples / scale
    values = gv.gvar(samples.mean(axis=0), covariance_of_mean(samples) * inflation)
    if correlator.image:
        masses = periodic_effective_mass(values, correlator.time_extent, correlator.image)
    else:
        masses = log_effective_mass(values)
    mean, error = np.array([gv.mean(m) for m in masses]), np.array([gv.sdev(m) for m in masses])
    keep = np.isfinite(mean) & (error < EFFECTIVE_MASS_ERROR)
    if (
        not correlator.image and correlator.boundary_t != "dirichlet"
    ):  # beyond T/2 the other parity takes over
        keep &= np.arange(len(mean)) + 1 <= correlator.time_extent // 2
    return series((np.arange(len(mean)) + 0.5)[keep], mean[keep], error[keep])


def particle_result(fit: ParticleFit, options: AnalysisOptions) -> ParticleResult:
    """Return everything about one particle."""
    scan = [_fit_result(s, w) for s, w in zip(fit.scan, fit.average.weights, strict=True)]
    best = scan[int(np.argmax(fit.average.weights))]
    first = fit.correlators[0]
    tau = fit.autocorrelation
    return ParticleResult(
        mass=fit.average.mean,
        mass_error=fit.average.error,
        statistical_error=fit.average.statistical_error,
        model_error=fit.average.model_error,
        mixture_error=fit.average.mixture_error,
        type=first.kind,
        particle=first.particle,
        members=[m for c in fit.correlators for m in c.members],
        momentum_squared=first.momentum_squared,
        image=first.image,
        boundary_t=first.boundary_t,
        source=_text(first.attributes.get("source")),
        sink=_text(first.attributes.get("sink")),
        configurations=len(first.samples),
        bin_size=fit.bin_size,
        bins=len(fit.configurations),
        effective_samples=len(fit.configurations) / fit.inflation,
        weights=fit.weights_kind,
        weights_parameter=fit.best.weights_parameter,
        autocorrelation_factor=fit.inflation,
        tau_int=tau.tau_int if tau else None,
        tau_int_error=tau.tau_int_error if tau else None,
        jackknife_error=fit.jackknife_error,
        normalisation=fit.normalisation,
        priors=_priors(fit, options),
        fit=best,
        scan=scan,
        correlator=mean_series(first, fit.inflation),
        effective_mass=effective_mass_series(first, fit.inflation),
        correlation=_correlations(first, best),
        notes=fit.notes,
    )


def _correlations(correlator: ParticleCorrelator, fit: FitResult) -> list[list[float]]:
    """Return the correlations between the times of a fit, which come from the samples."""
    window = correlator.fit_samples()[:, fit.t_min : fit.t_max + 1]
    if len(window) < 2 or np.any(window.std(axis=0) == 0):
        return []
    return np.atleast_2d(np.corrcoef(window, rowvar=False)).tolist()


def _priors(fit: ParticleFit, options: AnalysisOptions) -> dict[str, tuple[float, float]]:
    """Return centre and width of the priors, by the words for what they are priors of."""
    priors = {
        "log(gap)": (float(np.log(options.gap_prior[0])), options.gap_prior[1]),
        "A_n/A_0": options.amplitude_ratio_prior,
        "log(E_0), log(A_0): width, centred on the data": (0.0, GROUND_STATE_PRIOR_WIDTH),
    }
    if alternate(fit.correlators):
        width, ratio_width = ALTERNATING_PRIOR_WIDTHS
        priors["log(E_o): width, centred on E_0 + gap"] = (0.0, width)
        priors["o"] = (0.0, ratio_width)
    return priors


def _fit_result(scanned: ScannedFit, weight: float) -> FitResult:
    fit = scanned.fit
    return FitResult(
        t_min=scanned.t_min,
        t_max=scanned.t_max,
        n_states=scanned.states,
        mass=fit.energies[0],
        mass_error=fit.energy_errors[0],
        energies=fit.energies.tolist(),
        energy_errors=fit.energy_errors.tolist(),
        chi2=fit.chi2,
        chi2_prior=fit.chi2_prior,
        n_data=fit.data_count,
        n_parameters=fit.parameter_count,
        dof=fit.dof,
        expected_chi2=fit.expected_chi2,
        p_value=fit.p_value,
        Q=fit.q,
        weight=float(weight),
        parameters=fit.parameters,
    )


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def is_timing(name: str) -> bool:
    """Return True if the name is that of a series of durations."""
    return name.startswith("seconds")


def real_parts(name: str, values: NDArray) -> dict[str, NDArray]:
    """Return a complex series as two real ones; a Polyakov loop has its modulus too."""
    if not np.iscomplexobj(values):
        return {name: values}
    parts = {f"{name}_real": values.real, f"{name}_imag": values.imag}
    if name == "polyakov_loop":  # the modulus of noisy traces is mostly noise
        parts[f"{name}_abs"] = np.abs(values)
    return parts


def plain_series(measurements: Measurements) -> dict[str, Series]:
    """Return every observable as it was recorded, without a mean; NaN becomes None."""
    return {
        part: _thinned(observable.trajectories, values)
        for name, observable in measurements.observables.items()
        for part, values in real_parts(name, observable.values).items()
        if len(values)
    }


def _thinned(trajectories: NDArray, values: NDArray) -> Series:
    """Return at most SERIES_LENGTH points of a series."""
    stride = -(-len(values) // SERIES_LENGTH)
    numbers = plain_numbers(trajectories)
    return series(numbers[::stride], np.asarray(values)[::stride], np.zeros(len(values))[::stride])


def observable_results(
    measurements: Measurements, warnings: list[str]
) -> tuple[dict[str, AutocorrelationResult], dict[str, Series]]:
    """Apply the Gamma method to every observable (:func:`real_parts`); return also series
    that are too short for it.

    Warnings name what has no error: there are too few measurements, or all have the same number.
    """
    result, shown = {}, {}
    short: dict[int, list[str]] = {}
    constant: list[str] = []
    for name, observable in measurements.observables.items():
        missing = int(np.sum(~np.isfinite(observable.values)))
        if missing:  # the others are those with the smaller values: their mean is not that of the ensemble
            measurements.notes.append(
                f"{name}: not reached on {missing} of {len(observable.values)} configurations, "
                "no mean is formed"
            )
            continue
        for part, values in real_parts(name, observable.values).items():
            found = autocorrelation(part, values, observable.trajectories)
            if found is not None:
                result[part] = autocorrelation_result(found, observable.trajectories, values)
            if is_timing(name):  # they are no physics: they follow what else the machine does
                continue
            if found is not None:
                _warn_of_drift(part, values, observable.trajectories, warnings)
            elif len(values) < MINIMUM_SAMPLES:
                short.setdefault(len(values), []).append(part)
                if len(values):
                    shown[part] = _thinned(observable.trajectories, values)
            else:
                constant.append(f"{part} = {values[0]:.6g}")
    for count, names in sorted(short.items()):
        warnings.append(
            f"{count} measurements, expected at least {MINIMUM_SAMPLES} for an error: without a mean: "
            f"{', '.join(names)}"
        )
    if constant:
        measurements.notes.append(f"the same in all measurements, left out: {', '.join(constant)}")
    return result, shown


def autocorrelation_result(
    found: Autocorrelation, trajectories: NDArray, values: NDArray
) -> AutocorrelationResult:
    """Return the record of one series, thinned to at most SERIES_LENGTH points."""
    lags = np.arange(len(found.rho))
    return AutocorrelationResult(
        mean=found.mean,
        error=found.error,
        naive_error=found.naive_error,
        tau_int=found.tau_int,
        tau_int_error=found.tau_int_error,
        window=found.window,
        count=found.count,
        spacing=found.spacing,
        rho=series(lags, found.rho, found.rho_error),
        series=_thinned(trajectories, values),
    )


def numbering_notes(measurements: Measurements, bin_size: int) -> list[str]:
    """Explain how errors are found where numbers are irregular, once for all series with the same numbers."""
    numbers = measurements.configurations
    sets: list[tuple[list[str], NDArray]] = []
    if measurements.correlators:
        what = "configurations" + (f" in bins of {bin_size}" if bin_size > 1 else "")
        sets.append(([what], bin_series(numbers, numbers, bin_size)[1]))
    numbers_of = {name: found.trajectories for name, found in measurements.observables.items()}
    numbers_of |= {name: found.trajectories for name, found in measurements.arrays.items()}
    for name, used in numbers_of.items():
        if is_timing(name):
            continue
        same = next((names for names, other in sets if same_numbers(other, used)), None)
        if same is None:
            sets.append(([name], used))
        else:
            same.append(name)
    notes = []
    for names, used in sets:
        more = f" and {len(names) - _NAMES_SHOWN} more" if len(names) > _NAMES_SHOWN else ""
        notes.append(numbering_note(", ".join(names[:_NAMES_SHOWN]) + more, used))
    return [note for note in notes if note is not None]


def _warn_of_drift(name: str, values: NDArray, trajectories: NDArray, warnings: list[str]) -> None:
    """Warn if the first fifth is far from the second half: thermalisation was not left out then."""
    n = len(values)
    if n < 50 or name in _HEAVY_TAILS or has_streams(trajectories):
        return
    early, late = values[: n // 5], values[n // 2 :]
    reference = autocorrelation(name, late, trajectories[n // 2 :])
    if reference is None:
        return
    step = int(np.median(np.diff(trajectories)))
    spans = [int(part[-1] - part[0]) + step for part in (trajectories[n // 2 :], trajectories[: n // 5])]
    # Independent measurements count by their number, correlated ones by how long their part of the chain is.
    error = reference.error * np.sqrt(1 + max(len(late) / len(early), spans[0] / spans[1]))
    distance = abs(early.mean() - late.mean())
    if distance > 4 * error:
        warnings.append(
            f"{name}: the first fifth of the series lies {distance / error:.1f} errors from the second half; "
            "leave out the thermalisation (first_trajectory = N in the TOML file given to --options)"
        )


def solver_result(solves: dict) -> SolverResult | None:
    """Return medians and totals of the solver records."""
    columns = {k: np.concatenate([np.ravel(a) for a in v]) for k, v in solves.items() if k != "solver"}
    if not columns:
        return None

    def reduced(name: str, how) -> float | None:
        return float(how(columns[name])) if name in columns else None

    return SolverResult(
        solver=solves.get("solver"),
        solves=max(len(v) for v in columns.values()),
        iterations_median=reduced("iterations", np.median),
        iterations_max=reduced("iterations", np.max),
        relative_residual_max=reduced("relative_residual", np.max),
        seconds_total=reduced("seconds", np.sum),
        seconds_median=reduced("seconds", np.median),
        gflops_median=reduced("gflops", np.median),
    )
