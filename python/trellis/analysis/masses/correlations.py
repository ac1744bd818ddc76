"""The masses of an analysis fluctuate together over the configurations; this module has
series and covariance.
"""

from __future__ import annotations

import numpy as np

from ..records.numbering import plain_numbers, stream_names
from ..records.results import SamplesResult
from .window_scan import ParticleFit


def samples_result(fits: dict[str, ParticleFit]) -> SamplesResult | None:
    """Return each mass on each configuration; None without fits."""
    if not fits:
        return None
    numbers = next(iter(fits.values())).configurations
    return SamplesResult(
        numbers=plain_numbers(numbers).tolist(),
        streams=stream_names(numbers),
        masses={name: fit.series.tolist() for name, fit in fits.items()},
    )


def correlation(first: ParticleFit, second: ParticleFit) -> float:
    """Return the correlation of two masses on the configurations."""
    return float(np.corrcoef(first.series, second.series)[0, 1])


def mass_covariance(fits: dict[str, ParticleFit]) -> list[list[float]]:
    """Return the covariance of the masses, in the order of the fits.

    Statistical errors are correlated as the series are; the model errors stand on the diagonal alone.
    """
    if not fits:
        return []
    every = list(fits.values())
    statistical = np.array([fit.average.statistical_error for fit in every])
    model = np.array([fit.average.model_error for fit in every])
    rho = np.atleast_2d(np.corrcoef(np.array([fit.series for fit in every])))
    return (rho * np.outer(statistical, statistical) + np.diag(model**2)).tolist()
