"""This module has correlators at one momentum."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from .errors import AnalysisError
from .measurements import CorrelatorData

#: A momentum is given in units of 2 pi / L.
Momentum: TypeAlias = tuple[int, int, int]
AT_REST: Momentum = (0, 0, 0)


def at_rest(data: CorrelatorData) -> NDArray:
    """Return :func:`at_momentum` 0."""
    return at_momentum(data, AT_REST)


def at_momentum(data: CorrelatorData, momentum: Momentum) -> NDArray:
    """Return the real part at one momentum, shape [configuration, time].

    Raises
    ------
    AnalysisError
        The momentum is not there, or the imaginary part of the mean is the larger one: the current or the
        operators have another phase than that of doc/conventions.md.
    """
    chosen = (data.momenta == np.array(momentum)).all(axis=1)
    if not chosen.any():
        raise AnalysisError(
            f"{data.name}: expected the momentum {list(momentum)}, found {data.momenta.tolist()} only"
        )
    values = data.values[:, chosen].mean(axis=1)
    first = slice(0, max(2, values.shape[1] // 4))  # the noise is smallest there
    sizes = [float(np.abs(part.mean(axis=0)[first]).sum()) for part in (values.real, values.imag)]
    noise = np.inf
    if len(values) >= 5:
        noise = float(values.imag.std(axis=0, ddof=1)[first].sum() / np.sqrt(len(values)))
    if sizes[1] > max(sizes[0], 5 * noise):
        raise AnalysisError(
            f"{data.name}: expected a real correlator, found an imaginary part of {sizes[1]:.3g} beside a "
            f"real one of {sizes[0]:.3g} (sums of |mean| over t < {first.stop})"
        )
    return values.real
