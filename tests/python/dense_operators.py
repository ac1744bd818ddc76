"""This module has Wilson and domain-wall operators as dense matrices, written down from doc/conventions.md
alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

J = 1j
GAMMA = np.array(
    [
        [[0, 0, 0, J], [0, 0, J, 0], [0, -J, 0, 0], [-J, 0, 0, 0]],
        [[0, 0, 0, -1], [0, 0, 1, 0], [0, 1, 0, 0], [-1, 0, 0, 0]],
        [[0, 0, J, 0], [0, 0, 0, -J], [-J, 0, 0, 0], [0, J, 0, 0]],
        [[0, 0, 1, 0], [0, 0, 0, 1], [1, 0, 0, 0], [0, 1, 0, 0]],
    ]
)


def dense_wilson(
    U: NDArray[np.complex128],
    mass: float,
    boundary: Sequence[complex] = (1, 1, 1, -1),
    spatial: float = 1.0,
) -> NDArray[np.complex128]:
    """Return D_W as a matrix, index (t, z, y, x, spin, colour); `spatial` is nu / xi0."""
    extents = U.shape[:4]
    volume = int(np.prod(extents))
    D = np.zeros((volume, 12, volume, 12), dtype=np.complex128)
    sites = np.arange(volume).reshape(extents)
    D[np.arange(volume), :, np.arange(volume), :] = (1 + 3 * spatial + mass) * np.eye(12)
    for mu in range(4):
        axis = 3 - mu
        ahead = np.roll(sites, -1, axis)
        links = U[..., mu, :, :].copy()
        last = [slice(None)] * 4
        last[axis] = -1
        links[tuple(last)] *= boundary[mu]
        links = links.reshape(volume, 3, 3) * (spatial if mu < 3 else 1)
        here, there = sites.ravel(), ahead.ravel()
        forward = np.einsum("st,xab->xsatb", np.eye(4) - GAMMA[mu], links).reshape(volume, 12, 12)
        backward = np.einsum("st,xba->xsatb", np.eye(4) + GAMMA[mu], links.conj()).reshape(volume, 12, 12)
        D[here, :, there, :] -= forward / 2
        D[there, :, here, :] -= backward / 2
    return D.reshape(12 * volume, 12 * volume)


def dense_domain_wall(
    D: NDArray[np.complex128], mass: float, b5: Sequence[float], c5: Sequence[float]
) -> tuple[NDArray[np.complex128], NDArray[np.complex128]]:
    """Return D5 and D_- of the kernel D = D_W(-M5), index (slice, site, spin, colour), shape [Ls n, Ls n]."""
    Ls, n = len(b5), len(D)
    P_plus = np.tile(np.repeat([1.0, 1.0, 0.0, 0.0], 3), n // 12)
    L = np.zeros((Ls, n, Ls, n), dtype=np.complex128)
    D_plus, D_minus = np.zeros_like(L), np.zeros_like(L)
    for s in range(Ls):
        D_plus[s, :, s, :] = b5[s] * D + np.eye(n)
        D_minus[s, :, s, :] = np.eye(n) - c5[s] * D
        L[s, :, (s + 1) % Ls, :] += np.diag((1 - P_plus) * (-mass if s == Ls - 1 else 1))
        L[s, :, (s - 1) % Ls, :] += np.diag(P_plus * (-mass if s == 0 else 1))
    D_plus, D_minus, L = (X.reshape(Ls * n, Ls * n) for X in (D_plus, D_minus, L))
    return D_plus - D_minus @ L, D_minus


def dense_staggered(
    U: NDArray[np.complex128], mass: float, boundary: Sequence[complex] = (1, 1, 1, -1)
) -> NDArray[np.complex128]:
    """Return M = m + D of staggered quarks as a matrix, index (t, z, y, x, colour)."""
    extents = U.shape[:4]
    volume = int(np.prod(extents))
    M = np.zeros((volume, 3, volume, 3), dtype=np.complex128)
    sites = np.arange(volume).reshape(extents)
    _, z, y, x = np.meshgrid(*map(np.arange, extents), indexing="ij")
    M[np.arange(volume), :, np.arange(volume), :] = mass * np.eye(3)
    for mu, phase in enumerate((0 * x, x, x + y, x + y + z)):
        axis = 3 - mu
        links = U[..., mu, :, :] * np.where(phase % 2, -1, 1)[..., None, None]
        last: list[Any] = [slice(None)] * 4
        last[axis] = -1
        links[tuple(last)] *= boundary[mu]
        links = links.reshape(volume, 3, 3) / 2
        here, there = sites.ravel(), np.roll(sites, -1, axis).ravel()
        M[here, :, there, :] += links
        M[there, :, here, :] -= links.conj().transpose(0, 2, 1)
    return M.reshape(3 * volume, 3 * volume)
