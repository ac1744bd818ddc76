"""Averages over fits (Jay and Neil 2020, arXiv:2008.01069).

Model i with t data left out of its window gets the weight exp(-AIC_i / 2), AIC_i = chi^2 + 2 (parameters) +
2 (data left out), which up to a constant is chi^2 + 2 (parameters) - 2 (data used). For weight matrices that
are not the inverse covariance the penalty is minus twice the expected chi^2 (Frison 2023, arXiv:2302.06550), the
same thing where both apply. Then

    mean = sum w_i m_i,   stat^2 = sum w_i sigma_i^2,   model^2 = sum w_i m_i^2 - mean^2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class ModelAverage:
    """Mean, statistical error and model error; weights add up to 1."""

    mean: float
    statistical_error: float
    model_error: float
    weights: NDArray

    @property
    def error(self) -> float:
        return float(np.hypot(self.statistical_error, self.model_error))


def model_weights(information_criteria: NDArray) -> NDArray:
    """exp(-AIC / 2), normalised."""
    criteria = np.asarray(information_criteria, dtype=float)
    weights = np.exp(-0.5 * (criteria - criteria.min()))
    return weights / weights.sum()


def model_average(values: NDArray, errors: NDArray, information_criteria: NDArray) -> ModelAverage:
    """Average of `values` with `errors`, one entry per model."""
    weights = model_weights(information_criteria)
    values = np.asarray(values, dtype=float)
    mean = float(weights @ values)
    statistical = float(np.sqrt(weights @ np.asarray(errors, dtype=float) ** 2))
    spread = float(np.sqrt(max(weights @ (values - mean) ** 2, 0.0)))
    return ModelAverage(mean, statistical, spread, weights)
