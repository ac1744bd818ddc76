"""Fits are averaged with weights (Jay and Neil 2020, arXiv:2008.01069).

Model i with t data left out of its window gets the weight exp(-AIC_i / 2), AIC_i = chi^2 + 2 (parameters) + 2
(data left out), which up to a constant is chi^2 + 2 (parameters) - 2 (data used). For weight matrices that
are not the inverse covariance the penalty is minus twice the expected chi^2 (Frison 2023, arXiv:2302.06550),
which is the same where both apply. Then

    mean = sum w_i m_i,   model^2 = sum w_i m_i^2 - mean^2.

Jay and Neil add sum w_i sigma_i^2, the mean variance of the fits. The fits share their data but not all of
their noise, so that this is more than the variance of the mean: in pseudo-experiments with known masses their
total error is 1.2 to 1.4 times the scatter. The statistical error here is that of sum w_i m_i at fixed
weights, with the correlations of the fits, which the same pseudo-experiments confirm within 15 %; theirs is
returned too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True)
class ModelAverage:
    """This is an average over models; weights add up to 1.

    Attributes
    ----------
    statistical_error
        The error of the weighted mean.
    model_error
        Spread of the models under their weights.
    mixture_error
        Total error of Jay and Neil: sqrt(sum w_i sigma_i^2 + model^2).
    excess_error
        The spread has this beyond the noise of the fits: they differ by sum w_i sigma_i^2 - sum w_i w_j C_ij
        in the mean even where all models are true. It is the sqrt of model^2 minus that, at least 0.
    """

    mean: float
    statistical_error: float
    model_error: float
    mixture_error: float
    excess_error: float
    weights: NDArray

    @property
    def error(self) -> float:
        """Return statistical and model error in quadrature."""
        return float(np.hypot(self.statistical_error, self.model_error))


def model_weights(information_criteria: ArrayLike) -> NDArray:
    """Return exp(-AIC / 2), normalised."""
    criteria = np.asarray(information_criteria, dtype=float)
    weights = np.exp(-0.5 * (criteria - criteria.min()))
    return weights / weights.sum()


def model_average(
    values: ArrayLike, covariance: NDArray, coherent_errors: ArrayLike, information_criteria: ArrayLike
) -> ModelAverage:
    """Return the average of `values`.

    Parameters
    ----------
    values
        One per model.
    covariance
        The covariance of the values over the models, shape [model, model], from the data.
    coherent_errors
        They are not in the covariance and move all models together (the part of the priors).
    information_criteria
        AIC of each model.
    """
    weights = model_weights(information_criteria)
    of_models, coherent = np.asarray(values, dtype=float), np.asarray(coherent_errors, dtype=float)
    mean = float(weights @ of_models)
    statistical = float(np.sqrt(weights @ covariance @ weights + (weights @ coherent) ** 2))
    spread = float(np.sqrt(max(float(weights @ (of_models - mean) ** 2), 0.0)))
    noise = float(weights @ np.diag(covariance) - weights @ covariance @ weights)
    mixture = float(np.sqrt(weights @ (np.diag(covariance) + coherent**2) + spread**2))
    excess = float(np.sqrt(max(spread**2 - noise, 0.0)))
    return ModelAverage(mean, statistical, spread, mixture, excess, weights)
