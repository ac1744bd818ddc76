"""These tests cover sources of staggered quarks: points, walls, noise and Gaussian smearing by two hops."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

import trellis as tr
from trellis.ground.compiled_core import load

LATTICE = (4, 6, 4, 4)


@pytest.fixture(scope="module")
def U() -> tr.GaugeField:
    return tr.quenched(lattice=LATTICE, beta=6.0, seed=3, sweeps=3)


def numbers(source: tr.Source) -> NDArray[np.complex128]:
    """Return numbers [t, z, y, x, colour, column]."""
    return load().source_to_numpy(source._core)


def coordinates(extents: tuple[int, ...]) -> list[NDArray]:
    """Return x, y, z, t of every site, arrays [t, z, y, x]."""
    return np.meshgrid(*[np.arange(n) for n in extents[::-1]], indexing="ij")[::-1]


def diagonal(values: NDArray) -> NDArray:
    return values[..., None, None] * np.eye(3)


def test_points_and_walls_are_what_they_say(U):
    x, y, z, t = coordinates(LATTICE)
    at = (1, 5, 2, 3)
    here = (x == 1) & (y == 5) & (z == 2) & (t == 3)
    point = tr.point_source(U.geometry, at, has_spin=False)
    assert (point.at, point.has_spin) == (at, False)
    assert np.array_equal(numbers(point), diagonal(here))
    wave = np.exp(2j * np.pi * (x / 4 - 2 * y / 6)) * (t == 2)
    wall = tr.wall_source(U.geometry, 2, momentum=(1, -2, 0), has_spin=False)
    np.testing.assert_allclose(numbers(wall), diagonal(wave), atol=1e-15)
    corner = (x % 2 == 0) & (y % 2 == 0) & (z % 2 == 0)
    corners = tr.wall_source(U.geometry, 2, momentum=(1, -2, 0), has_spin=False, sites="corners")
    np.testing.assert_allclose(numbers(corners), diagonal(wave * corner), atol=1e-15)
    moved = point.with_momentum((0, 1, 0))
    assert np.array_equal(numbers(moved), numbers(point))  # the phase counts from the source


def test_noise_has_one_number_a_site(U):
    x, y, z, t = coordinates(LATTICE)
    key = {"seed": 7, "configuration": 12, "has_spin": False}
    noise = numbers(tr.noise_source(U.geometry, time=1, **key))
    eta = noise[..., 0, 0]
    assert np.array_equal(noise, diagonal(eta))
    assert set(np.round(eta[t == 1], 12)) == {1, 1j, -1, -1j}
    assert not eta[t != 1].any()
    corner = (x % 2 == 0) & (y % 2 == 0) & (z % 2 == 0)
    on_corners = numbers(tr.noise_source(U.geometry, time=1, sites="corners", **key))
    assert np.array_equal(on_corners, diagonal(eta * corner))
    everywhere = numbers(tr.noise_source(U.geometry, **key))
    assert np.array_equal(everywhere[1], noise[1])
    z2 = numbers(tr.noise_source(U.geometry, kind="z2", **key))[..., 0, 0]
    assert set(z2.ravel()) == {1, -1}
    u1 = numbers(tr.noise_source(U.geometry, kind="u1", **key))[..., 0, 0]
    np.testing.assert_allclose(np.abs(u1), 1, rtol=1e-14)
    assert len(set(np.angle(u1).ravel().round(12))) == u1.size
    # These are the numbers of quarks with spin: a heavy quark's propagator is the source over 4 + m.
    heavy = tr.cg()(tr.WilsonClover(U, mass=1e8))
    spin = heavy.propagator(tr.noise_source(U.geometry, time=1, seed=7, configuration=12)).to_numpy()
    np.testing.assert_allclose(spin[..., 0, 0, :, :] * (4 + 1e8), noise, atol=1e-6)


def two_hops(U: NDArray, psi: NDArray, a: float) -> NDArray:
    """Return (1 - 6 a) psi + a (sum of the six hops over two sites), by NumPy."""
    out = (1 - 6 * a) * psi
    for mu, axis in enumerate((3, 2, 1)):
        V = U[..., mu, :, :] @ np.roll(U[..., mu, :, :], -1, axis)
        out = out + a * V @ np.roll(psi, -2, axis)
        out = out + a * np.roll(V.conj().swapaxes(-1, -2) @ psi, 2, axis)
    return out


def test_gaussian_smearing_has_hops_over_two_sites(U):
    width, steps, at = 1.5, 4, (1, 2, 3, 2)
    expected = numbers(tr.point_source(U.geometry, at, has_spin=False))
    for _ in range(steps):
        expected = two_hops(U.to_numpy(), expected, width**2 / (16 * steps))
    smeared = numbers(tr.gaussian_source(U, at, width=width, steps=steps, has_spin=False))
    np.testing.assert_allclose(smeared, expected, atol=1e-14)
    x, y, z, t = coordinates(LATTICE)
    elsewhere = (x % 2 != 1) | (y % 2 != 0) | (z % 2 != 1) | (t != 2)
    assert not smeared[elsewhere].any()
    assert np.abs(smeared[~elsewhere]).min() > 0


def test_the_width_is_that_of_the_smearing_of_spinors():
    """Each step moves two sites with probability 2 a in each direction: <x^2> = 8 a steps = width^2 / 2."""
    U, width, steps = tr.cold((24, 4, 4, 2)), 2.0, 5
    source = numbers(tr.gaussian_source(U, (12, 0, 0, 0), width=width, steps=steps, has_spin=False))
    profile = source[0, :, :, :, 0, 0].real.sum(axis=(0, 1))
    assert abs(profile.sum() - 1) < 1e-13
    assert abs((profile * (np.arange(24) - 12) ** 2).sum() - width**2 / 2) < 1e-12
    spin = tr.gaussian_source(U, (12, 0, 0, 0), width=width, steps=steps * 4)
    heavy = tr.cg()(tr.WilsonClover(U, mass=1e8)).propagator(spin).to_numpy()[0, ..., 0, 0, 0, 0]
    of_spinors = (heavy * (4 + 1e8)).real.sum(axis=(0, 1))
    assert abs((of_spinors * (np.arange(24) - 12) ** 2).sum() - width**2 / 2) < 1e-6


def test_sinks_are_smeared_on_all_time_slices(U):
    M = tr.Staggered(U, mass=0.5)
    S = M.propagator(tr.point_source(U.geometry, (0, 0, 0, 0), has_spin=False))
    smeared = S.smear_sink(U, width=1.0, steps=2)
    expected = S.to_numpy()
    for _ in range(2):
        expected = two_hops(U.to_numpy(), expected, 1 / 32)
    np.testing.assert_allclose(smeared.to_numpy(), expected, atol=1e-14)
    assert (S.is_sink_smeared, smeared.is_sink_smeared) == (False, True)


def test_sources_of_the_other_kind_are_refused(U):
    spin = tr.point_source(U.geometry, (0, 0, 0, 0))
    colour = tr.point_source(U.geometry, (0, 0, 0, 0), has_spin=False)
    with pytest.raises(tr.BadArgument, match="expected one of staggered quarks"):
        tr.Staggered(U, mass=0.1).propagator(spin)
    with pytest.raises(tr.BadArgument, match="expected one of quarks with spin"):
        tr.cg()(tr.WilsonClover(U, kappa=0.12)).propagator(colour)
    with pytest.raises(tr.BadArgument, match="sites"):
        tr.wall_source(U.geometry, 0, sites="even")
    with pytest.warns(UserWarning, match=r"16 steps.*at least 6"):
        tr.gaussian_source(U, (0, 0, 0, 0), width=4.0, steps=5, has_spin=False)
