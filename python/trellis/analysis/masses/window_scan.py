"""One particle is fitted in all windows and with all numbers of states; the fits are then averaged."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..records.errors import FitFailed
from ..records.options import AnalysisOptions
from ..statistics.autocorrelation import Autocorrelation, autocorrelation
from ..statistics.averaging import ModelAverage, model_average
from ..statistics.weights import Weights, make_weights, samples_needed
from .correlators import ParticleCorrelator
from .models import BackwardState, SpectralModel
from .spectrum_start import window_masses
from .usable_times import time_limit
from .window_fit import WindowFit, fit_window


@dataclass
class ScannedFit:
    """This is one entry of the stability scan."""

    t_min: int
    t_max: int
    states: int
    fit: WindowFit
    weights_parameter: float | None


@dataclass
class ParticleFit:
    """This is everything that is known about one particle after its fits.

    Attributes
    ----------
    series
        The mass on each (binned) configuration to first order: mass + d mass / d data . (data - mean).
    normalisation
        The fits saw each correlator divided by this.
    """

    correlators: list[ParticleCorrelator]
    configurations: NDArray
    bin_size: int
    scan: list[ScannedFit]
    average: ModelAverage
    series: NDArray
    autocorrelation: Autocorrelation | None
    inflation: float
    normalisation: list[float]
    weights_kind: str
    jackknife_error: float | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def best(self) -> ScannedFit:
        return self.scan[int(np.argmax(self.average.weights))]


def alternate(correlators: list[ParticleCorrelator]) -> bool:
    """Return True if one of the correlators has states of the opposite parity with the sign (-1)^t."""
    return any(correlator.alternates for correlator in correlators)


def candidates_of(
    t_last: list[int], correlators: int, alternates: bool, options: AnalysisOptions
) -> list[tuple[int, int]]:
    """Return (states, t_min) of all fits that have more data than parameters."""
    latest = min(t_last) if options.t_min_last is None else options.t_min_last
    result = []
    for states in range(1, options.max_states + 1):
        for t_min in range(options.t_min_first, latest + 1):
            count = sum(last - t_min + 1 for last in t_last)
            parameters = (states + alternates) * (1 + correlators)
            if min(last - t_min for last in t_last) >= 1 and count > parameters:
                result.append((states, t_min))
    return result


def _weights_kind(asked: str, data_count: int, samples: float, name: str, notes: list[str]) -> str:
    """Choose the weight matrix for the whole scan; `notes` gets each departure from correlated fits."""
    if asked in ("svd", "uncorrelated"):
        return asked
    if asked != "shrinkage" and samples >= samples_needed(data_count):
        return "correlated"
    needed = samples_needed(data_count)
    why = f"{name}: {samples:.1f} effective samples, {data_count} data: a plain correlated fit needs {needed}"
    if samples >= max(8, data_count + 3):
        if asked != "shrinkage":
            notes.append(f"{why}: correlation matrix shrunk towards the diagonal")
        return "shrinkage"
    notes.append(f"{why}: uncorrelated weights; errors and p-values keep the correlations")
    return "uncorrelated"


def scan_and_average(
    data: list[NDArray],
    correlators: list[ParticleCorrelator],
    numbers: NDArray,
    t_last: list[int],
    options: AnalysisOptions,
    inflation: float,
    notes: list[str],
    behind: BackwardState | None,
) -> ParticleFit:
    """Make all fits of the scan with one kind of weights, and average them."""
    name = correlators[0].name
    candidates = candidates_of(t_last, len(data), alternate(correlators), options)
    if not candidates:
        end = min(t_last)
        limits = [time_limit(c) for c in correlators]
        why = f", the last that fits use of {correlators[0].time_extent} times" if end == min(limits) else ""
        raise FitFailed(
            f"{name}: the signal ends at t = {end}{why}; expected at least 3 usable time slices from "
            f"t = {options.t_min_first}"
        )
    largest = sum(last - candidates[0][1] + 1 for last in t_last)
    kind = _weights_kind(options.weights, largest, len(numbers) / inflation, name, notes)
    scan, responses, failed = [], [], []
    for states, t_min in candidates:
        windows = [np.arange(t_min, last + 1) for last in t_last]
        window = np.concatenate([d[:, t] for d, t in zip(data, windows, strict=True)], axis=1)
        weights = make_weights(window, kind, inflation=inflation, seed=options.seed)
        fit = fit_one_window(states, windows, weights, correlators, options, behind)
        if fit is None:
            failed.append(f"{states} states from t = {t_min}")
            continue
        scan.append(ScannedFit(t_min, max(t_last), states, fit, weights.parameter))
        responses.append((window - weights.mean) @ fit.energy_response[0])
    effective = len(numbers) / inflation
    if not scan:
        raise FitFailed(
            f"{name}: none of {len(candidates)} fits converged with weights that {effective:.0f} independent "
            "samples determine"
        )
    if failed:
        notes.append(
            f"{name}: left out, not converged, or with more weights than {effective:.0f} independent samples "
            f"determine: {'; '.join(failed)}"
        )
    factors = np.sqrt([s.fit.small_sample_factor for s in scan])
    scatter = np.array(responses) * factors[:, np.newaxis]
    average = _average(scan, scatter, inflation)
    series = average.mean + average.weights @ scatter
    if average.weights @ np.array([s.fit.p_value for s in scan]) < 0.01:
        notes.append(f"{name.replace('_', ' ')}: poor fits, the weighted p-value is below 0.01")
    return ParticleFit(
        correlators,
        numbers,
        options.bin_size,
        scan,
        average,
        series,
        autocorrelation(f"mass of {name}", series, numbers),
        inflation,
        [],
        kind,
        None,
        notes,
    )


def _average(scan: list[ScannedFit], scatter: NDArray, inflation: float) -> ModelAverage:
    """Average E_0 over the scan; `scatter` [fit, sample] has its linear responses to the samples, as large as
    few samples make them.
    """
    n = scatter.shape[1]
    covariance = scatter @ scatter.T / (n * (n - 1)) * inflation
    return model_average(
        [s.fit.energies[0] for s in scan],
        covariance,
        [s.fit.energy_prior_errors[0] for s in scan],
        [s.fit.information_criterion for s in scan],
    )


def fit_one_window(
    states: int,
    windows: list[NDArray],
    weights: Weights,
    correlators: list[ParticleCorrelator],
    options: AnalysisOptions,
    behind: BackwardState | None,
) -> WindowFit | None:
    first = correlators[0]
    model = SpectralModel(
        states, len(windows), first.time_extent, first.image, behind is not None, alternate(correlators)
    )
    times = [t.astype(float) for t in windows]
    energy, amplitudes = starting_point(model, windows, weights.mean)
    prior = model.prior(energy, amplitudes, options.gap_prior, options.amplitude_ratio_prior, behind)
    try:
        return fit_window(model, times, weights, prior, seed=options.seed)
    except (np.linalg.LinAlgError, FloatingPointError, ZeroDivisionError):
        return None


def starting_point(model: SpectralModel, windows: list[NDArray], means: NDArray) -> tuple[float, list[float]]:
    """Return E_0 from the effective mass in the middle of the first window, and the
    amplitudes that go with it.
    """
    first = means[: len(windows[0])]
    usable = window_masses(model, windows[0], first)
    energy = float(usable[len(usable) // 2]) if len(usable) else 0.5
    amplitudes, start = [], 0
    for window in windows:
        middle = len(window) // 2
        basis = model.basis(energy, window[middle].astype(float))
        amplitudes.append(max(abs(float(means[start + middle] / basis)), 1e-12))
        start += len(window)
    return energy, amplitudes
