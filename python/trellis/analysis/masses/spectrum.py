"""This module finds the mass of one particle by windows, fits, a model average and autocorrelation."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..records.errors import FitFailed, TooFewConfigurations
from ..records.options import AnalysisOptions
from ..statistics.autocorrelation import Autocorrelation, bin_series
from ..statistics.weights import Weights, make_weights
from .correlators import ParticleCorrelator
from .models import BackwardState
from .time_symmetry import check_time_symmetry
from .usable_times import last_time, require_variation
from .window_fit import WindowFit
from .window_scan import ParticleFit, alternate, fit_one_window, scan_and_average


def fit_particle(
    correlators: list[ParticleCorrelator],
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
        The state that runs backwards in one baryon correlator, in units of the correlator; it becomes part
        of the model, and windows reach to T/2.

    Raises
    ------
    TooFewConfigurations
        There are fewer (binned) configurations than `options.minimum_configurations`.
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
    t_last = [last_time(d, c, options, behind is None, notes) for d, c in zip(data, correlators, strict=True)]
    for values, correlator, last in zip(data, correlators, t_last, strict=True):
        require_variation(values, correlator, last, options)
        if correlator.image:
            check_time_symmetry(correlator.name, correlator.samples, correlator.image, configurations, notes)
    if options.autocorrelation == "none":
        notes.append(f"{name}: autocorrelation ignored, as asked for")
    result = scan_and_average(data, correlators, numbers, t_last, options, 1.0, list(notes), behind)
    tau = result.autocorrelation
    inflation = _inflation(tau, options)
    if tau is not None and inflation > 1.0:
        notes.append(
            f"{name}: tau_int of the mass {tau.tau_int:.2f} +- {tau.tau_int_error:.2f}: covariance "
            f"multiplied by {_in_words(tau, inflation)} (Gamma method), that is "
            f"{len(numbers) / inflation:.1f} effective samples"
        )
        result = scan_and_average(data, correlators, numbers, t_last, options, inflation, list(notes), behind)
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


def _partner_in_words(fit: WindowFit) -> str:
    """Say the energy of the state of the opposite parity, of the fit with the largest weight."""
    place = fit.model.names.index("log(Eo)")
    energy = float(np.exp(fit.parameters["log(Eo)"]))
    variance = fit.covariance[place, place] + fit.prior_covariance[place, place]
    return f"state of the opposite parity, sign (-1)^t: energy {energy:.4f} +- {energy * variance**0.5:.4f}"


def _normalisation(data: NDArray, correlator: ParticleCorrelator) -> float:
    """Return |C(1)|, so that fits see numbers of order one."""
    value = abs(float(data[:, 1].mean()))
    if value == 0.0:
        raise FitFailed(f"{correlator.name}: expected a correlator that is not zero at t = 1, found 0")
    return value


def _inflation(tau: Autocorrelation | None, options: AnalysisOptions) -> float:
    """Return the variance factor of the mean (2 tau_int of regular numbers) where it counts, else 1."""
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
    """Return the jackknife error of the best fit.

    The fit is repeated on all samples but one with the weights of all samples.
    """
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
        fit = fit_one_window(best.states, windows, moved, result.correlators, options, behind)
        if fit is None:
            return None
        masses.append(fit.energies[0])
    deviations = np.array(masses) - np.mean(masses)
    return float(np.sqrt((n - 1) / n * (deviations**2).sum() * result.inflation))


def backward_state_of(fit: ParticleFit, partner: ParticleCorrelator) -> BackwardState:
    """Return the ground state of `fit` as it appears at the far end of `partner`.

    `partner` is its correlator reversed in time. The forward fit gives A e^{-m t}; in the reversed correlator
    it is +-A e^{-m (T - t)}.
    """
    amplitude = np.exp(fit.best.fit.parameters["log(A0)"]) * fit.normalisation[0]
    forward = fit.correlators[0].samples[:, -2].mean()
    sign = 1.0 if forward * partner.samples[:, 2].mean() > 0 else -1.0
    return BackwardState(fit.average.mean, fit.average.error, float(sign * amplitude))
