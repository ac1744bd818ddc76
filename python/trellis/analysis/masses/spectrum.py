"""The mass of one particle: windows, fits, model average, autocorrelation."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..records.errors import FitFailed, TooFewConfigurations
from ..records.options import AnalysisOptions
from ..statistics.autocorrelation import Autocorrelation, autocorrelation, bin_series
from ..statistics.averaging import ModelAverage, model_average
from ..statistics.weights import Weights, make_weights, samples_needed
from .correlators import Correlator
from .models import BackwardState, SpectralModel
from .spectrum_start import window_masses
from .time_symmetry import check_time_symmetry
from .window_fit import WindowFit, fit_window

#: A window ends before the image from behind exceeds this fraction of the error.
IMAGE_LIMIT = 0.25


@dataclass
class ScannedFit:
    """One entry of the stability scan."""

    t_min: int
    t_max: int
    states: int
    fit: WindowFit
    weights_parameter: float | None


@dataclass
class ParticleFit:
    """Everything that is known about one particle after its fits.

    Attributes
    ----------
    series
        The mass on each (binned) configuration to first order: mass + d mass / d data . (data - mean).
    normalisation
        The fits saw each correlator divided by this.
    """

    correlators: list[Correlator]
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


def fit_particle(
    correlators: list[Correlator],
    configurations: NDArray,
    options: AnalysisOptions,
    behind: BackwardState | None = None,
) -> ParticleFit:
    """Fit correlators of one particle with common energies and average over windows and numbers of states.

    Parameters
    ----------
    correlators
        One, or several with the same image and time extent (different operators of one particle).
    configurations
        Their trajectory numbers.
    behind
        For one baryon correlator: the state that runs backwards, in units of the correlator; it becomes part
        of the model, and windows reach to T/2.

    Raises
    ------
    TooFewConfigurations
        Fewer (binned) configurations than `options.minimum_configurations`.
    FitFailed
        The signal is too short, no fit converged, or the correlator lacks times or its symmetry in time.
    """
    samples = [c.fit_samples() for c in correlators]
    binned = [bin_series(s, configurations, options.bin_size) for s in samples]
    numbers = binned[0][1]
    name = correlators[0].name
    if len(numbers) < options.minimum_configurations:
        purpose = f"{name}: the analysis" + (
            f" in bins of {options.bin_size}" if options.bin_size > 1 else ""
        )
        raise TooFewConfigurations(
            purpose,
            needed=options.minimum_configurations,
            found=len(numbers),
            option=f"options.minimum_configurations = {options.minimum_configurations}",
        )
    flaw = next((c.flaw for c in correlators if c.flaw), None)
    if flaw is not None:
        raise FitFailed(flaw)
    data = [b[0] for b in binned]
    normalisation = [_normalisation(d, c) for d, c in zip(data, correlators, strict=True)]
    data = [d / n for d, n in zip(data, normalisation, strict=True)]
    notes: list[str] = [note for c in correlators for note in c.notes]
    if behind is not None:
        behind = BackwardState(behind.energy, behind.energy_error, behind.amplitude / normalisation[0])
    t_last = [
        _last_time(d, c, options, behind is None, notes) for d, c in zip(data, correlators, strict=True)
    ]
    for values, correlator, last in zip(data, correlators, t_last, strict=True):
        _require_variation(values, correlator, last, options)
        if correlator.image:
            check_time_symmetry(correlator.name, correlator.samples, correlator.image, configurations, notes)
    if options.autocorrelation == "none":
        notes.append(f"{name}: autocorrelation ignored, as asked for")
    result = _scan_and_average(data, correlators, numbers, t_last, options, 1.0, list(notes), behind)
    tau = result.autocorrelation
    inflation = _inflation(tau, options)
    if tau is not None and inflation > 1.0:
        notes.append(
            f"{name}: tau_int of the mass {tau.tau_int:.2f} +- {tau.tau_int_error:.2f}: covariance "
            f"multiplied by {_in_words(tau, inflation)} (Gamma method), that is "
            f"{len(numbers) / inflation:.1f} effective samples"
        )
        result = _scan_and_average(
            data, correlators, numbers, t_last, options, inflation, list(notes), behind
        )
        result.autocorrelation = tau
    mass, error = result.average.mean, result.average.error
    if not (np.isfinite(mass) and np.isfinite(error) and error > 0):
        raise FitFailed(
            f"{name}: expected a mass with an error, found {mass:.6g} +- {error:.3g} from the fits"
        )
    result.normalisation = normalisation
    if alternate(correlators):
        result.notes.append(f"{name}: {_partner_in_words(result.best.fit)}")
    if options.jackknife:
        result.jackknife_error = _jackknife(result, data, options, behind)
    return result


def alternate(correlators: list[Correlator]) -> bool:
    """Return True if one of the correlators has states of the opposite parity with the sign (-1)^t."""
    return any(correlator.alternates for correlator in correlators)


def _partner_in_words(fit: WindowFit) -> str:
    """Say the energy of the state of the opposite parity, of the fit with the largest weight."""
    place = fit.model.names.index("log(Eo)")
    energy = float(np.exp(fit.parameters["log(Eo)"]))
    variance = fit.covariance[place, place] + fit.prior_covariance[place, place]
    return f"state of the opposite parity, sign (-1)^t: energy {energy:.4f} +- {energy * variance**0.5:.4f}"


def _normalisation(data: NDArray, correlator: Correlator) -> float:
    """|C(1)|, so that fits see numbers of order one."""
    value = abs(float(data[:, 1].mean()))
    if value == 0.0:
        raise FitFailed(f"{correlator.name}: expected a correlator that is not zero at t = 1, found 0")
    return value


#: Relative differences below this are rounding.
_SAME = 1e-12


def _require_variation(data: NDArray, correlator: Correlator, last: int, options: AnalysisOptions) -> None:
    """Errors come from differences between configurations: copies of a few have none of their own."""
    if last < 2:  # too short for a fit, whatever it does
        return
    first = min(1, options.t_min_first)
    used = data[:, first : last + 1]
    different = len(np.unique(used, axis=0))
    if different < options.minimum_configurations:
        raise FitFailed(
            f"{correlator.name}: expected at least {options.minimum_configurations} configurations with "
            f"different correlators, found {different} among {len(data)}"
        )
    (same,) = np.nonzero(used.std(axis=0) <= _SAME * np.abs(used.mean(axis=0)))
    if len(same):
        raise FitFailed(
            f"{correlator.name}: expected numbers that differ between configurations, found the same on all "
            f"{len(data)} at t = {same[0] + first}"
        )
    moves = (used - used.mean(axis=0)) / used.std(axis=0)
    rank, expected = int(np.linalg.matrix_rank(moves, rtol=_SAME)), min(len(used) - 1, used.shape[1])
    if rank < expected:
        raise FitFailed(
            f"{correlator.name}: expected {last - first + 1} time slices to vary in {expected} ways, found "
            f"{rank}: the configurations are sums of a few, and errors would be those of these few"
        )


def _time_limit(correlator: Correlator) -> int:
    """The last time slice that fits can use, however good the data are."""
    extent = correlator.time_extent
    if correlator.image:
        return extent // 2 if correlator.image > 0 else extent // 2 - 1
    return extent - 1 if correlator.boundary_t == "dirichlet" else extent // 2


def _last_time(
    data: NDArray, correlator: Correlator, options: AnalysisOptions, avoid_image: bool, notes: list[str]
) -> int:
    """Last time slice of the fits: given, or where noise or (if to be avoided) the image takes over."""
    limit = _time_limit(correlator)
    if options.t_max is not None:
        return min(options.t_max, limit)
    mean = data.mean(axis=0)
    error = data.std(axis=0, ddof=1) / np.sqrt(len(data))
    if correlator.alternates:
        mean = _strength(mean)
    last = 0
    while last < limit and mean[last + 1] > 0 and error[last + 1] < options.noise_limit * mean[last + 1]:
        last += 1
    if last > 1 and avoid_image and correlator.kind == "baryon" and correlator.boundary_t != "dirichlet":
        behind = _image_from_behind(mean, error)
        clean = last
        while clean > 1 and behind[clean] > IMAGE_LIMIT * error[clean]:
            clean -= 1
        if clean < last:
            notes.append(
                f"{correlator.name}: windows end at t = {clean} and not {last}, where the state that runs "
                f"backwards reaches {IMAGE_LIMIT} of the error"
            )
        last = clean
    return last


def _strength(mean: NDArray) -> NDArray:
    """|C(t)|, or sqrt |C(t - 1) C(t + 1)| where that is larger: states of both signs may cancel at a time."""
    found = np.abs(mean)
    found[1:-1] = np.maximum(found[1:-1], np.sqrt(found[:-2] * found[2:]))
    return found


#: C(T - t') is seen while it is larger than this many errors.
_SEEN = 2.0


def _image_from_behind(mean: NDArray, error: NDArray) -> NDArray:
    """Estimate of the backward state: C(T - t') at the last t' up to T/4 where it is seen, continued with its
    effective mass; 0 where C(T - t') is not seen or does not fall with t', as that of a state which runs
    backwards does (files can hold the forward state alone).
    """
    extent = len(mean)
    backward, noise = np.abs(np.roll(mean[::-1], 1)), np.roll(error[::-1], 1)
    start = 0
    while start < max(2, extent // 4) and backward[start + 1] > _SEEN * noise[start + 1]:
        start += 1
    if start < 2 or backward[start - 1] <= backward[start]:
        return np.zeros(extent)
    mass = np.log(backward[start - 1] / backward[start])
    return backward[start] * np.exp(-mass * (extent - np.arange(extent) - start))


def _candidates(
    t_last: list[int], correlators: int, alternates: bool, options: AnalysisOptions
) -> list[tuple[int, int]]:
    """(states, t_min) of all fits with more data than parameters."""
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


def _scan_and_average(
    data: list[NDArray],
    correlators: list[Correlator],
    numbers: NDArray,
    t_last: list[int],
    options: AnalysisOptions,
    inflation: float,
    notes: list[str],
    behind: BackwardState | None,
) -> ParticleFit:
    """All fits of the scan with one kind of weights, and their average."""
    name = correlators[0].name
    candidates = _candidates(t_last, len(data), alternate(correlators), options)
    if not candidates:
        end = min(t_last)
        limits = [_time_limit(c) for c in correlators]
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
        fit = _one_fit(states, windows, weights, correlators, options, behind)
        if fit is None:
            failed.append(f"{states} states from t = {t_min}")
            continue
        scan.append(ScannedFit(t_min, max(t_last), states, fit, weights.parameter))
        responses.append((window - weights.mean) @ fit.energy_response[0])
    if not scan:
        raise FitFailed(f"{name}: none of {len(candidates)} fits converged")
    if failed:
        notes.append(f"{name}: left out, not converged: {'; '.join(failed)}")
    average = _average(scan, np.array(responses), inflation)
    series = average.mean + average.weights @ np.array(responses)
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


def _average(scan: list[ScannedFit], responses: NDArray, inflation: float) -> ModelAverage:
    """Average of E_0 over the scan; `responses` [fit, sample]: linear responses of E_0 to the samples."""
    n = responses.shape[1]
    factors = np.sqrt([s.fit.small_sample_factor for s in scan])
    covariance = responses @ responses.T / (n * (n - 1)) * inflation * np.outer(factors, factors)
    return model_average(
        [s.fit.energies[0] for s in scan],
        covariance,
        [s.fit.energy_prior_errors[0] for s in scan],
        [s.fit.information_criterion for s in scan],
    )


def _one_fit(
    states: int,
    windows: list[NDArray],
    weights: Weights,
    correlators: list[Correlator],
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
    """E_0 from the effective mass in the middle of the first window, and the amplitudes that go with it."""
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


def _inflation(tau: Autocorrelation | None, options: AnalysisOptions) -> float:
    """Variance factor of the mean (2 tau_int of regular numbers) where it counts, else 1."""
    if tau is None or options.autocorrelation == "none":
        return 1.0
    if tau.significant or options.autocorrelation == "gamma":
        return max(1.0, tau.variance_factor)
    return 1.0


def _in_words(tau: Autocorrelation, inflation: float) -> str:
    regular = 2 * tau.tau_int * (1 - 1 / tau.count**2)  # the errors are those of pyerrors
    if inflation < 0.99 * regular:
        return f"{inflation:.2f}, less than 2 tau_int for the configurations that are missing"
    if inflation > 1.01 * max(1.0, regular):
        return f"{inflation:.2f}, more than 2 tau_int for configurations that are nearer than {tau.spacing}"
    return f"2 tau_int = {inflation:.2f}"


def _jackknife(
    result: ParticleFit, data: list[NDArray], options: AnalysisOptions, behind: BackwardState | None
) -> float | None:
    """Jackknife error of the best fit: repeated on all samples but one with the weights of all samples."""
    best = result.best
    windows = [t.astype(int) for t in best.fit.times]
    window = np.concatenate([d[:, t] for d, t in zip(data, windows, strict=True)], axis=1)
    n = len(window)
    weights = make_weights(window, result.weights_kind, inflation=result.inflation, seed=options.seed)
    masses = []
    for k in range(n):
        mean = (n * weights.mean - window[k]) / (n - 1)
        moved = Weights(
            mean,
            weights.covariance,
            weights.weight_covariance,
            weights.kind,
            weights.parameter,
            weights.samples,
            weights.estimated_rank,
        )
        fit = _one_fit(best.states, windows, moved, result.correlators, options, behind)
        if fit is None:
            return None
        masses.append(fit.energies[0])
    deviations = np.array(masses) - np.mean(masses)
    return float(np.sqrt((n - 1) / n * (deviations**2).sum() * result.inflation))


def backward_state_of(fit: ParticleFit, partner: Correlator) -> BackwardState:
    """The ground state of `fit`, as it appears at the far end of `partner`, its correlator reversed in time.

    The forward fit gives A e^{-m t}; in the reversed correlator it is +-A e^{-m (T - t)}.
    """
    amplitude = np.exp(fit.best.fit.parameters["log(A0)"]) * fit.normalisation[0]
    forward = fit.correlators[0].samples[:, -2].mean()
    sign = 1.0 if forward * partner.samples[:, 2].mean() > 0 else -1.0
    return BackwardState(fit.average.mean, fit.average.error, float(sign * amplitude))
