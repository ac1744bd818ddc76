"""These tests cover the gradient flow: the API, t0 and w0 of known curves, run files, errors of an
ensemble."""

from __future__ import annotations

import json
from pathlib import Path

import h5py
import numpy as np
import pytest
from command_line import run
from run_file_texts import measurement

import trellis as tr


def test_scales_of_a_known_curve() -> None:
    """For t^2 E = 0.3 (t/2)^(3/2), t0 is 2, and t d/dt (t^2 E) is 0.3 at t = 2 (2/3)^(2/3)."""
    t = np.linspace(0.0, 4.0, 81)
    energy = np.zeros_like(t)
    energy[1:] = 0.3 * (t[1:] / 2) ** 1.5 / t[1:] ** 2
    assert tr.reference_time(t, energy) == pytest.approx(2.0, rel=1e-7)
    assert tr.w0_scale(t, energy) == pytest.approx(np.sqrt(2 * (2 / 3) ** (2 / 3)), rel=1e-6)
    assert np.isnan(tr.reference_time(t[:20], energy[:20]))
    with pytest.raises(ValueError, match="five flow times, found 4"):
        tr.w0_scale(t[:4], energy[:4])
    assert tr.reference_time(t, energy, target=0.1) == pytest.approx(2 * 3 ** (-2 / 3), rel=1e-5)


def test_flow_smooths_and_stops_where_asked() -> None:
    U = tr.weak_field((4, 4, 4, 4), seed=3, spread=0.6)
    before = U.plaquette
    flow = tr.GradientFlow(U, action="symanzik")
    flow.advance(0.35)
    assert flow.time == 0.35
    assert U.plaquette == before < flow.field.plaquette
    found = flow.observables()
    assert found["energy_plaquette"] == pytest.approx(36 * (1 - flow.field.plaquette), rel=1e-12)
    with pytest.raises(tr.BadArgument, match="cannot go back"):
        flow.advance(0.3)
    with pytest.raises(tr.BadArgument, match="iwasaki"):
        tr.GradientFlow(U, action="iwasaki")
    history = tr.flow_history(U, time=0.25, spacing=0.1)
    assert history.time.tolist() == [0.0, 0.1, 0.2, 0.25]
    assert np.all(np.diff(history.energy_clover) < 0)
    finer = tr.flow_history(U, time=0.25, spacing=0.05, tolerance=1e-8)
    assert history.energy_clover[-1] == pytest.approx(finer.energy_clover[-1], rel=1e-5)


RUN = measurement(
    configurations={"files": "configuration.*.ildg"},
    fermion=None,
    flow={"action": "wilson", "time": 0.5, "spacing": 0.1},
)


def test_run_file_with_flow_only(tmp_path: Path) -> None:
    U = tr.weak_field((4, 4, 4, 4), seed=7, spread=0.6)
    U.write(tmp_path / "configuration.000003.ildg")
    (tmp_path / "run.toml").write_text(RUN)
    found = json.loads(run("measure", "run.toml", "--json", cwd=tmp_path).stdout)
    assert found["solves"] == 0
    expected = tr.flow_history(U, time=0.5, spacing=0.1)
    run("measure", "run.toml", cwd=tmp_path, status=None)  # results are there already
    (tmp_path / "two.toml").write_text(RUN.replace('"out"', '"two"'))
    run("measure", "two.toml", cwd=tmp_path, ranks=2, TRELLIS_EXCHANGE="shared")
    for folder in ("out", "two"):
        with h5py.File(tmp_path / folder / "correlators.000003.h5") as file:
            assert "correlators" not in file
            assert np.array_equal(file["flow/time"][()], expected.time)
            for name in ("energy_clover", "energy_plaquette", "charge_clover", "charge_improved"):
                assert np.array_equal(file["flow"][name][0], getattr(expected, name)), (folder, name)


def test_run_file_without_anything_to_measure(tmp_path: Path) -> None:
    text = RUN.replace('[flow]\naction = "wilson"\ntime = 0.5\nspacing = 0.1\n', "")
    (tmp_path / "run.toml").write_text(text)
    assert "[flow]" in run("measure", "run.toml", cwd=tmp_path, status=None).stderr


def test_errors_of_an_ensemble(tmp_path: Path) -> None:
    """For t^2 E = a_n t with normal a_n, t0 is 0.3 / mean a, and its error is that of the mean."""
    from trellis.analysis.stream.flow_scales import ensemble_scales

    t = np.linspace(0, 3, 31)
    slopes = 0.15 * (1 + 0.05 * np.random.default_rng(1).normal(size=200))
    files = []
    for number, slope in enumerate(slopes, start=1):
        path = tmp_path / f"correlators.{number:06d}.h5"
        with h5py.File(path, "w") as file:
            file["configurations"] = np.array([number])
            file["flow/time"] = t
            file["flow/energy_clover"] = np.concatenate([[0.0], slope / t[1:]])[np.newaxis]
        files.append(path)
    scales = ensemble_scales(files[::-1])
    mean, error = slopes.mean(), slopes.std(ddof=1) / np.sqrt(200)
    assert scales.t0.value == pytest.approx(0.3 / mean, rel=1e-10)
    assert scales.t0.dvalue == pytest.approx(0.3 / mean**2 * error, rel=0.3)
    assert scales.w0.value == pytest.approx(np.sqrt(0.3 / mean), rel=1e-8)
    assert scales.sqrt_8t0.value == pytest.approx(np.sqrt(8 * scales.t0.value))
    assert scales.configurations == list(range(1, 201))
    with pytest.raises(ValueError, match="before t0 is reached"):
        ensemble_scales(files, target=5.0)


def test_too_short_a_flow_says_how_far_it_got() -> None:
    """t0 and w0 are interpolated; the bare error of the interpolation named neither."""
    history = tr.flow_history(tr.weak_field((4, 4, 4, 4), seed=1), time=0.1)
    reached = history.time[-1] ** 2 * history.energy_clover[-1]
    for name in ("t0", "w0"):
        with pytest.raises(
            tr.BadArgument, match=rf"{name} is not known: .* t\^2 E = {reached:.4g} at its last"
        ) as caught:
            getattr(history, name)
        assert "t = 0.1, where 0.3 is looked for" in str(caught.value)


def _field_tensor(U: np.ndarray, mu: int, nu: int) -> np.ndarray:
    """Return (Q_munu - Q_numu) / 8 of the four leaves at each site; directions are x, y, z, t."""

    def at(links: np.ndarray, *steps: tuple[int, int]) -> np.ndarray:
        for direction, step in steps:
            links = np.roll(links, -step, 3 - direction)
        return links

    def dagger(links: np.ndarray) -> np.ndarray:
        return np.conj(np.swapaxes(links, -1, -2))

    A, B = U[..., mu, :, :], U[..., nu, :, :]
    right, up = (mu, 1), (nu, 1)
    left, down = (mu, -1), (nu, -1)
    Q = A @ at(B, right) @ dagger(at(A, up)) @ dagger(B)
    Q = Q + B @ dagger(at(A, left, up)) @ dagger(at(B, left)) @ at(A, left)
    Q = Q + dagger(at(A, left)) @ dagger(at(B, left, down)) @ at(A, left, down) @ at(B, down)
    Q = Q + dagger(at(B, down)) @ at(A, down) @ at(B, right, down) @ dagger(A)
    return (Q - dagger(Q)) / 8


def test_the_charge_of_openqcd_has_the_other_sign() -> None:
    """By doc/conventions.md the directions 0, 1, 2, 3 of openQCD are t, x, y, z
    (modules/tcharge/tcharge.c)."""
    U = tr.weak_field((4, 2, 4, 6), seed=5, spread=0.6)
    links, openqcd = U.to_numpy(), (3, 0, 1, 2)

    def pair(a: int, b: int, c: int, d: int) -> float:
        """Return the sum over sites of F_ab^a F_cd^a, F^a = -2 tr F T^a, without the traces."""
        parts = []
        for mu, nu in ((a, b), (c, d)):
            F = _field_tensor(links, openqcd[mu], openqcd[nu])
            parts.append(F - np.trace(F, axis1=-2, axis2=-1)[..., None, None] * np.eye(3) / 3)
        return -2 * np.einsum("...ij,...ji", *parts).sum().real

    charge = (pair(0, 1, 2, 3) + pair(0, 2, 3, 1) + pair(0, 3, 1, 2)) / (8 * np.pi**2)
    assert abs(charge) > 1e-3
    assert U.topological_charge == pytest.approx(-charge, rel=1e-10)
