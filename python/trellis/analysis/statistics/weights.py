"""The data of one fit have a mean, a covariance and a weight matrix.

The covariance C of the means is always the unbiased sample covariance. Only the matrix whose inverse W
weights the residuals may differ from C, because an inverse of a badly determined C is worse than none:

- `correlated`: W = C^-1;
- `shrinkage`: the correlation matrix is replaced by (1 - lambda) R + lambda 1, lambda from the data
  (Schaefer and Strimmer 2005, doi:10.2202/1544-6115.1175; Ledoit and Wolf 2004);
- `svd`: eigenvalues of R below svdcut times the largest are raised to it, svdcut from the bootstrap
  diagnosis of gvar (gvar.dataset.svd_diagnosis);
- `uncorrelated`: only the diagonal of C.

Errors and p-values (module `window_fit`) use C itself and stay right for any W.
"""

from __future__ import annotations

from dataclasses import dataclass

import gvar as gv
import numpy as np
from numpy.typing import NDArray

from ..records.errors import TooFewConfigurations


@dataclass(frozen=True)
class Weights:
    """These are the means of d data and the two matrices of a fit.

    Attributes
    ----------
    mean
        Sample means, shape [d].
    covariance
        Covariance C of the means, shape [d, d], times the autocorrelation factor.
    weight_covariance
        The matrix whose inverse weights the residuals, shape [d, d].
    kind
        "correlated", "shrinkage", "svd" or "uncorrelated".
    parameter
        lambda, svdcut, or None.
    samples
        Effective number of independent samples.
    estimated_rank
        So many directions of the weight matrix come from the sample covariance: d for `correlated`, the
        eigenvalues that were kept for `svd`, sum_i [(1 - lambda) r_i / ((1 - lambda) r_i + lambda)]^2 over
        the eigenvalues r_i of R for `shrinkage`, 0 for `uncorrelated`.
    """

    mean: NDArray
    covariance: NDArray
    weight_covariance: NDArray
    kind: str
    parameter: float | None
    samples: float
    estimated_rank: float


def samples_needed(data: int) -> int:
    """Return the number of independent samples that a correlated fit to `data` numbers needs here.

    The inverse of a sample covariance carries a relative error of about data / samples; at four times as many
    samples as data the correction factors of `window_fit` are below 1.4 and have been checked with
    pseudo-experiments. Fewer samples get another weight matrix.
    """
    return max(4 * data, 12)


def covariance_of_mean(samples: NDArray) -> NDArray:
    """Return the unbiased covariance of the mean of `samples`, shape [sample, data].

    gvar divides by n, not n - 1.
    """
    n = len(samples)
    return gv.evalcov(gv.dataset.avg_data(samples)) * (n / (n - 1))


def shrinkage_intensity(samples: NDArray) -> float:
    """Return sum_{i != j} Var(r_ij) / sum_{i != j} r_ij^2, from 0 to 1 (Schaefer and Strimmer, table 2)."""
    n = len(samples)
    standard = (samples - samples.mean(axis=0)) / samples.std(axis=0, ddof=1)
    products = standard[:, :, None] * standard[:, None, :]
    correlation = products.mean(axis=0)
    variance = n / (n - 1) ** 3 * ((products - correlation) ** 2).sum(axis=0)
    off = ~np.eye(standard.shape[1], dtype=bool)
    total = (correlation[off] ** 2).sum()
    return float(np.clip(variance[off].sum() / total, 0.0, 1.0)) if total > 0 else 1.0


def make_weights(samples: NDArray, kind: str, *, inflation: float = 1.0, seed: int = 1) -> Weights:
    """Return the weights of the data `samples`, shape [sample, data].

    Parameters
    ----------
    kind
        See the module text.
    inflation
        2 tau_int of the data: multiplies the covariance and divides the number of samples.
    seed
        The bootstrap of the svd diagnosis takes it.

    Raises
    ------
    TooFewConfigurations
        `correlated` has fewer samples than `samples_needed`.
    """
    n, d = samples.shape
    effective = n / inflation
    covariance = covariance_of_mean(samples) * inflation
    sigma = np.sqrt(np.diag(covariance))
    spectrum = np.linalg.eigvalsh(covariance / np.outer(sigma, sigma))
    parameter, rank = None, float(d)
    if kind == "correlated":
        if effective < samples_needed(d):
            raise TooFewConfigurations(
                f"a correlated fit to {d} numbers", needed=samples_needed(d), found=effective
            )
        weight = covariance
    elif kind == "shrinkage":
        parameter = shrinkage_intensity(samples)
        weight = (1 - parameter) * covariance + parameter * np.diag(sigma**2)
        kept = (1 - parameter) * np.clip(spectrum, 0.0, None)
        rank = float(((kept / (kept + parameter)) ** 2).sum()) if parameter > 0 else rank
    elif kind == "svd":
        gv.ranseed(seed)
        parameter = float(max(gv.dataset.svd_diagnosis(samples, nbstrap=50).svdcut, 1e-12))
        weight = gv.evalcov(gv.svd(gv.gvar(samples.mean(axis=0), covariance), svdcut=parameter))
        rank = float((spectrum >= parameter * spectrum[-1]).sum())
    elif kind == "uncorrelated":
        weight = np.diag(sigma**2)
        rank = 0.0
    else:
        raise ValueError(f"weights: expected correlated, shrinkage, svd or uncorrelated, found {kind!r}")
    return Weights(samples.mean(axis=0), covariance, weight, kind, parameter, effective, rank)
