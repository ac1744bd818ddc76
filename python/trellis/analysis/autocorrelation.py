"""This module offers the autocorrelations by the name from which programs import them."""

from .statistics.autocorrelation import (
    MINIMUM_SAMPLES,
    Autocorrelation,
    autocorrelation,
    bin_series,
    error_factor,
    gamma_method,
    is_constant,
    is_regular,
    numbering_note,
    observable_of,
)

__all__ = [
    "MINIMUM_SAMPLES",
    "Autocorrelation",
    "autocorrelation",
    "bin_series",
    "error_factor",
    "gamma_method",
    "is_constant",
    "is_regular",
    "numbering_note",
    "observable_of",
]
