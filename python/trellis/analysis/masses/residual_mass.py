"""This module has m_res of domain-wall quarks: the plateau of R(t) = midpoint(t) / pion(t).

A constant is fitted to R(t) in every window t_min <= t <= T - t_min, with the weights 1 / error^2 (errors of
few configurations are drawn to their mean by as much as they scatter, James and Stein), and the windows are
averaged as those of masses are (averaging.py): the weights are exp(-AIC / 2), with twice the expected chi^2
where the fit's weights know no correlations, and the spread of the windows beyond their noise is added.
Errors, expected chi^2 and p-values keep the correlations of all times.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..records.charge_records import ResidualMassRecord
from ..records.errors import FitFailed
from ..records.measurements import Measurements
from ..records.momenta import at_rest
from ..records.options import AnalysisOptions
from ..statistics.autocorrelation import bin_series, error_factor
from ..statistics.averaging import model_average
from ..statistics.zero_times import missing_times, of_zeros
from .time_symmetry import check_time_symmetry
from .window_fit import chi2_spectrum, p_value

#: This is the first window; the current and the source touch at smaller times.
FIRST = 2
#: Averages with a smaller p-value are no plateau.
POOR_PLATEAU = 0.05


def residual_mass(
    measurements: Measurements,
    options: AnalysisOptions | None = None,
    warnings: list[str] | None = None,
) -> ResidualMassRecord | None:
    """Return m_res and its error; None without its correlators.

    Parameters
    ----------
    warnings
        Gets a line where the pion is not symmetric in time.

    Raises
    ------
    FitFailed
        There is a single configuration, there are zeros, the time of the pion does not count from the source,
        or configurations do not differ.
    """
    options = options or AnalysisOptions()
    numerator, denominator = (measurements.correlators.get(name) for name in ("midpoint", "midpoint_pion"))
    if numerator is None or denominator is None:
        return None
    numbers = measurements.configurations
    midpoint, trajectories = bin_series(at_rest(numerator), numbers, options.bin_size)
    pion = bin_series(at_rest(denominator), numbers, options.bin_size)[0]
    count, extent = midpoint.shape
    first = min(FIRST, extent // 2)
    used = np.arange(first, extent - first + 1)
    P = pion.mean(axis=0)[used]
    if count < 2:
        raise FitFailed(f"m_res: expected at least 2 configurations for an error, found {count}")
    if not P.all():
        raise FitFailed(
            f"m_res: expected a pion without zeros, found 0 at t = {used[np.flatnonzero(P == 0)[0]]}"
        )
    missing = [t for t in missing_times(midpoint, to_the_end=True) if t in used]
    if missing:
        raise FitFailed(f"m_res: midpoint: {of_zeros(missing, count)}")
    if denominator.attributes.get("boundary_t") != "dirichlet":
        said: list[str] = []
        check_time_symmetry("m_res: midpoint_pion", at_rest(denominator), 1, numbers, said)
        if warnings is not None:
            warnings += said
    R = midpoint.mean(axis=0)[used] / P
    influence = (midpoint[:, used] - pion[:, used] * R) / P
    covariance = influence.T @ influence / (count * (count - 1))
    if not np.diag(covariance).max() > 0:
        raise FitFailed(f"m_res: expected configurations that differ, found {R.mean():.6g} on each")
    return _average(used, R, influence, covariance, trajectories, options)


def _average(
    used: NDArray,
    R: NDArray,
    influence: NDArray,
    covariance: NDArray,
    trajectories: NDArray,
    options: AnalysisOptions,
) -> ResidualMassRecord:
    """Average over the windows that begin at every time of the first half but the last."""
    extent, variances = int(used[0] + used[-1]), np.diag(covariance)
    floor = 1e-6 * variances.max()  # a time without noise does not take all the weight
    precision = 1 / _steadied(np.maximum(variances, floor), len(influence))
    factor, tau_int = 1.0, None
    for _ in range(2):  # the second time has the autocorrelation of the first average
        windows, responses, criteria, p_values = [], [], [], []
        for t_min in range(int(used[0]), max(extent // 2, int(used[0]) + 1)):
            w = np.where((used >= t_min) & (used <= extent - t_min), precision, 0.0) / factor
            response = w / w.sum()
            kernel = np.diag(w) - np.outer(w, w) / w.sum()
            spectrum = chi2_spectrum(kernel, factor * covariance + np.diag(np.full(len(used), floor * 1e-6)))
            chi2 = float((R - response @ R) ** 2 @ w)
            windows.append(t_min)
            responses.append(response)
            criteria.append(chi2 - 2 * spectrum.sum())
            p_values.append(p_value(chi2, spectrum, len(influence) / factor, 0.0, seed=options.seed))
        G = np.array(responses)
        average = model_average(
            G @ R, factor * G @ covariance @ G.T, np.zeros(len(windows)), np.array(criteria)
        )
        found, tau_int = error_factor(
            influence @ (average.weights @ G), trajectories, options.autocorrelation
        )
        if found == factor:
            break
        factor = found
    best = windows[int(np.argmax(average.weights))]
    statistical, model = average.statistical_error, average.excess_error
    return ResidualMassRecord(
        value=average.mean,
        error=float(np.hypot(statistical, model)),
        statistical_error=statistical,
        model_error=model,
        tau_int=tau_int,
        t_min=best,
        t_max=extent - best,
        p_value=float(average.weights @ p_values),
    )


def _steadied(variances: NDArray, count: int) -> NDArray:
    """Draw the logarithms of the variances to their mean by the share of their scatter that
    is noise, 2 / (n - 1).
    """
    logarithms = np.log(variances)
    scatter = float(logarithms.var())
    kept = max(0.0, 1 - 2 / (count - 1) / scatter) if scatter > 0 else 0.0
    return np.exp(logarithms.mean() + kept * (logarithms - logarithms.mean()))


def plateau_warning(record: ResidualMassRecord) -> list[str]:
    """Return a warning in words where there is no plateau."""
    if record.p_value >= POOR_PLATEAU:
        return []
    return [
        "m_res: midpoint(t) / pion(t) has no plateau that its errors allow (weighted p-value of the windows "
        f"{record.p_value:.2g}, most weight from t = {record.t_min}): the number is their mean"
    ]
