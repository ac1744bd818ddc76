"""Hadron two-point functions, doc/conventions.md "Correlators"."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .core import load
from .propagators import Propagator

ZERO_MOMENTUM = ((0, 0, 0),)


def momenta_up_to(n_squared: int) -> list[tuple[int, int, int]]:
    """All n with n^2 up to this, p = 2 pi n / L, ordered by n^2."""
    return [tuple(n) for n in load().momenta_up_to(n_squared)]


def meson(
    quark: Propagator,
    antiquark: Propagator,
    sink: str,
    source: str,
    *,
    momenta: Sequence[Sequence[int]] = ZERO_MOMENTUM,
) -> NDArray[np.complex128]:
    """Meson correlator C(p, t). Collective.

    C(t) = sum_x exp(-i p.(x - x_src)) < O_sink(x, t + t_src) O_source^dagger(x_src, t_src) >,
    O = psibar Gamma psi: diagonal channels are positive.

    Parameters
    ----------
    quark, antiquark
        Propagators from the same source.
    sink, source
        Gamma matrices by name: "gamma5", "gamma_x", "gamma_t gamma5", "1", "sigma_xy", ...
    momenta
        Integer vectors n, p = 2 pi n / L.

    Returns
    -------
    ndarray
        complex128, shape [momentum, time]; time counts from the source.

    Raises
    ------
    BadArgument
        Unknown gamma matrix, or propagators from different sources.
    """
    return mesons(quark, antiquark, [(sink, source)], momenta=momenta)[0]


def mesons(
    quark: Propagator,
    antiquark: Propagator,
    pairs: Sequence[tuple[str, str]],
    *,
    momenta: Sequence[Sequence[int]] = ZERO_MOMENTUM,
) -> NDArray[np.complex128]:
    """Several (sink, source) pairs at the cost of one; shape [pair, momentum, time]. See :func:`meson`."""
    names = [(str(sink), str(source)) for sink, source in pairs]
    return load().mesons(quark._core, antiquark._core, names, _integers(momenta))


def all_mesons(
    quark: Propagator, antiquark: Propagator, *, momenta: Sequence[Sequence[int]] = ZERO_MOMENTUM
) -> NDArray[np.complex128]:
    """All 16 x 16 pairs of gamma matrices; shape [sink, source, momentum, time].

    Matrix n is gamma_x^n0 gamma_y^n1 gamma_z^n2 gamma_t^n3 with n = n0 + 2 n1 + 4 n2 + 8 n3.
    """
    table = load().all_mesons(quark._core, antiquark._core, _integers(momenta))
    return table.reshape(16, 16, *table.shape[1:])


def _integers(momenta: Sequence[Sequence[int]]) -> list[list[int]]:
    return [[int(n) for n in momentum] for momentum in momenta]
