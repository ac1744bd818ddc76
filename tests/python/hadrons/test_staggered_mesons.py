"""These tests cover the eight local mesons of staggered quarks: NumPy, free quarks, spin and taste, external
numbers."""

from __future__ import annotations

import itertools
import json
import os
from pathlib import Path

import numpy as np
import pytest
from dense_operators import GAMMA, dense_staggered
from numpy.typing import NDArray

import trellis as tr
from trellis.hadrons.staggered_mesons import LOCAL_CHANNELS

DATA = Path(os.environ.get("TRELLIS_TEST_DATA", ""))
GAMMAS = dict(zip(("gamma_x", "gamma_y", "gamma_z", "gamma_t"), GAMMA, strict=True))
GAMMAS["gamma5"] = GAMMA[0] @ GAMMA[1] @ GAMMA[2] @ GAMMA[3]


def sign(channel: str, x: NDArray, y: NDArray, z: NDArray) -> NDArray:
    """Return the table of doc/operators/staggered_mesons.md."""
    exponents = {
        "pion_5": 0 * x,
        "pion_t5": x + y + z,
        "rho_x": x,
        "rho_y": y,
        "rho_z": z,
        "rho_t_x": y + z,
        "rho_t_y": x + z,
        "rho_t_z": x + y,
    }
    return np.where(exponents[channel] % 2, -1.0, 1.0)


def contracted(
    S: NDArray, T: NDArray, at: tuple[int, ...], channel: str, n: tuple[int, ...]
) -> NDArray[np.complex128]:
    """Return C(p, t) by NumPy from arrays [t, z, y, x, sink, source]."""
    extents = S.shape[3::-1]
    x, y, z = (c - c0 for c, c0 in zip(np.meshgrid(*map(np.arange, extents[:3])), at, strict=False))
    x, y, z = (np.transpose(c, (2, 0, 1)) for c in (x, y, z))  # meshgrid has [y, x, z]
    wave = np.exp(-2j * np.pi * (n[0] * x / extents[0] + n[1] * y / extents[1] + n[2] * z / extents[2]))
    product = (S * T.conj()).sum(axis=(4, 5))
    return np.roll((wave * sign(channel, x, y, z) * product).sum(axis=(1, 2, 3)), -at[3])


def test_every_channel_equals_numpy():
    U = tr.quenched(lattice=(4, 6, 4, 4), beta=6.0, seed=3, sweeps=5)
    at, momenta = (1, 3, 2, 3), [(0, 0, 0), (1, 0, -1)]
    source = tr.point_source(U.geometry, at, has_spin=False)
    light, heavy = tr.Staggered(U, mass=0.1).propagators(source, masses=[0.1, 0.7])
    found = tr.staggered_mesons(light, heavy, momenta=momenta)
    assert list(found) == list(LOCAL_CHANNELS)
    volume = int(np.prod(U.geometry.extents))
    site = at[0] + 4 * (at[1] + 6 * (at[2] + 4 * at[3]))
    S, T = (
        np.linalg.inv(dense_staggered(U.to_numpy(), m))
        .reshape(volume, 3, volume, 3)[:, :, site]
        .reshape(4, 4, 6, 4, 3, 3)
        for m in (0.1, 0.7)
    )
    for name, values in found.items():
        for value, n in zip(values, momenta, strict=True):
            np.testing.assert_allclose(value, contracted(S, T, at, name, n), atol=1e-9)
    assert np.array_equal(
        tr.staggered_mesons(light, heavy, channels=["rho_t_y"])["rho_t_y"][0], found["rho_t_y"][0]
    )
    # The antiquark runs backwards: epsilon S(x, src)^dagger epsilon is S(src, x).
    backwards = np.linalg.inv(dense_staggered(U.to_numpy(), 0.7)).reshape(volume, 3, volume, 3)[site]
    t, z, y, x = np.meshgrid(*map(np.arange, (4, 4, 6, 4)), indexing="ij")
    epsilon = np.where((x + y + z + t + sum(at)) % 2, -1, 1).ravel()
    expected = T.reshape(volume, 3, 3).conj() * epsilon[:, None, None]
    np.testing.assert_allclose(backwards.transpose(1, 2, 0), expected, atol=1e-12)


def free_propagator(extents: tuple[int, ...], mass: float) -> NDArray[np.float64]:
    """Return M^-1(x, 0) of one colour on unit links: (m - D) G, where a sum over momenta gives G = (m^2 + sum
    sin^2 p)^-1."""
    Lx, Ly, Lz, Lt = extents
    p = [2 * np.pi * np.arange(L) / L for L in (Lx, Ly, Lz)] + [np.pi * (2 * np.arange(Lt) + 1) / Lt]
    pt, pz, py, px = np.meshgrid(*p[::-1], indexing="ij")
    squared = mass**2 + sum(np.sin(q) ** 2 for q in (px, py, pz, pt))
    t = np.arange(Lt)[:, None, None, None]
    G = (np.fft.ifftn(1 / squared) * np.exp(1j * np.pi * t / Lt)).real
    t, z, y, x = np.meshgrid(*map(np.arange, (Lt, Lz, Ly, Lx)), indexing="ij")
    S = mass * G
    for axis, phase in ((3, 0 * x), (2, x), (1, x + y), (0, x + y + z)):
        ahead, behind = np.roll(G, -1, axis), np.roll(G, 1, axis)
        if axis == 0:
            ahead[-1] *= -1
            behind[0] *= -1
        S = S - np.where(phase % 2, -1, 1) * (ahead - behind) / 2
    return S


def test_free_quarks():
    extents, mass = (4, 4, 4, 8), 0.1
    U = tr.cold(extents)
    source = tr.point_source(U.geometry, (0, 0, 0, 0), has_spin=False)
    (S,) = tr.Staggered(U, mass=1.0).propagators(source, masses=[mass], solver=tr.cg(tolerance=1e-13))
    exact = free_propagator(extents, mass)[..., None, None] * np.eye(3)
    np.testing.assert_allclose(S.to_numpy(), exact, atol=1e-11)
    for name, values in tr.staggered_mesons(S, S).items():
        np.testing.assert_allclose(
            values[0], contracted(exact, exact, (0, 0, 0, 0), name, (0, 0, 0)), atol=1e-11
        )
    if (DATA / "gold.json").is_file():
        entries = {e["id"]: e["values"] for e in json.loads((DATA / "gold.json").read_text())["entries"]}
        gold = entries["free.stag.m0.1.mu0"]["pion"]
        np.testing.assert_allclose(tr.staggered_mesons(S, S)["pion_5"][0].real, gold, atol=1e-11)


def phase_of(spin: str, corner: tuple[int, ...]) -> float:
    """Return the sign of chibar chi at a corner of the cube of 2^4 sites in psibar (Gamma x Gamma) psi.

    psi = sum_A Gamma_A chi_A / 8 with Gamma_A = gamma_x^A_x gamma_y^A_y gamma_z^A_z gamma_t^A_t, so that the
    bilinear has tr(Gamma_A^dagger Gamma Gamma_B Gamma^dagger) between corners A and B.
    """
    Gamma = np.eye(4, dtype=complex)
    for word in spin.split():
        Gamma = Gamma @ (np.eye(4) if word == "1" else GAMMAS[word])
    at = np.eye(4, dtype=complex)
    for n, gamma in zip(corner, GAMMA, strict=True):
        at = at @ (gamma if n else np.eye(4))
    product = at.conj().T @ Gamma @ at @ Gamma.conj().T
    np.testing.assert_allclose(product, product[0, 0] * np.eye(4), atol=1e-14)
    return product[0, 0].real


@pytest.mark.parametrize("name", LOCAL_CHANNELS)
def test_signs_belong_to_spin_and_taste(name):
    """The bilinear chibar phase chi has the correlator phase epsilon |S|^2; the partner's sign is that times
    (-1)^t."""
    channel = LOCAL_CHANNELS[name]
    for corner in itertools.product((0, 1), repeat=4):
        x, y, z, t = map(np.array, corner)
        epsilon = (-1) ** sum(corner)
        assert phase_of(channel.spin, corner) * epsilon == sign(name, x, y, z)
        assert phase_of(channel.partner, corner) * epsilon == sign(name, x, y, z) * (-1) ** t


def test_corner_walls_sum_points_of_one_sign():
    """On corners every sign is 1: the mean over noise is the sum over points of every channel."""
    U = tr.quenched(lattice=(4, 4, 4, 4), beta=6.0, seed=3, sweeps=5)
    M = tr.Staggered(U, mass=1.5)
    points = [(x, y, z, 0) for x, y, z in itertools.product((0, 2), repeat=3)]
    exact: dict[str, NDArray] = dict.fromkeys(LOCAL_CHANNELS, 0)
    for at in points:
        S = M.propagator(tr.point_source(U.geometry, at, has_spin=False))
        for name, values in tr.staggered_mesons(S, S).items():
            exact[name] = exact[name] + values[0].real
    samples: dict[str, list[NDArray]] = {name: [] for name in LOCAL_CHANNELS}
    for index in range(24):
        noise = tr.noise_source(
            U.geometry, seed=4, configuration=1, index=index, time=0, has_spin=False, sites="corners"
        )
        S = M.propagator(noise)
        for name, values in tr.staggered_mesons(S, S).items():
            samples[name].append(values[0].real)
    for name, found in samples.items():
        mean, error = np.mean(found, axis=0), np.std(found, axis=0, ddof=1) / np.sqrt(24)
        assert (np.abs(mean - exact[name]) < 5 * error + 1e-12).all(), name


def test_refusals():
    U = tr.cold((4, 4, 4, 4))
    M = tr.Staggered(U, mass=1.0)
    S = M.propagator(tr.point_source(U.geometry, (0, 0, 0, 0), has_spin=False))
    T = M.propagator(tr.point_source(U.geometry, (1, 0, 0, 0), has_spin=False))
    with pytest.raises(tr.BadArgument, match="no local staggered meson 'pion'"):
        tr.staggered_mesons(S, S, channels=["pion"])
    with pytest.raises(tr.BadArgument, match="different sources"):
        tr.staggered_mesons(S, T)
    with pytest.raises(tr.BadArgument):
        tr.meson(S, S, "gamma5", "gamma5")
