"""These tests cover stout smearing with a weight for each plane, in Python and in run files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from command_line import run, stream_content
from test_hamiltonian import RUN, moved

import trellis as tr
from trellis.run_files import HmcRun, load_run_file

WEIGHTS = [[0.0, 0.11, 0.02, 0.05], [0.07, 0.0, 0.1, -0.01], [0.03, 0.09, 0.0, 0.0], [0.04, 0.06, 0.12, 0.0]]
TOML = "[" + ", ".join(str(row) for row in WEIGHTS) + "]"


@pytest.fixture(scope="module")
def U() -> tr.GaugeField:
    return tr.quenched(lattice=(4, 4, 2, 4), beta=5.5, seed=3, sweeps=5)


def smeared(links: np.ndarray, rho: list[list[float]]) -> np.ndarray:
    """Return exp(TA(C U^dagger)) U (Morningstar and Peardon), matrix by matrix; links [t, z, y, x, mu]."""

    def shifted(field: np.ndarray, mu: int, by: int) -> np.ndarray:
        return np.roll(field, -by, axis=3 - mu)

    def dagger(field: np.ndarray) -> np.ndarray:
        return field.conj().swapaxes(-1, -2)

    out = np.empty_like(links)
    for mu in range(4):
        C = np.zeros_like(links[..., mu, :, :])
        for nu in set(range(4)) - {mu}:
            V, N = links[..., mu, :, :], links[..., nu, :, :]
            ahead = N @ shifted(V, nu, 1) @ dagger(shifted(N, mu, 1))
            behind = shifted(dagger(N) @ V @ shifted(N, mu, 1), nu, -1)
            C = C + rho[mu][nu] * (ahead + behind)
        X = C @ dagger(links[..., mu, :, :])
        A = (X - dagger(X)) / 2
        A = A - np.trace(A, axis1=-2, axis2=-1)[..., None, None] / 3 * np.eye(3)
        values, vectors = np.linalg.eigh(-1j * A)
        out[..., mu, :, :] = (vectors * np.exp(1j * values)[..., None, :]) @ dagger(vectors) @ V
    return out


def test_weights_of_planes(U: tr.GaugeField) -> None:
    expected = smeared(smeared(U.to_numpy(), WEIGHTS), WEIGHTS)
    for weights in (WEIGHTS, np.array(WEIGHTS), tuple(map(tuple, WEIGHTS))):
        found = U.stout(rho=weights, steps=2).to_numpy()
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13)


def test_one_weight_is_the_matrix_of_it(U: tr.GaugeField) -> None:
    one = U.stout(rho=0.1, steps=2).to_numpy()
    rows = 0.1 * (1 - np.eye(4))
    np.testing.assert_array_equal(U.stout(rho=rows, steps=2).to_numpy(), one)
    rows[3] = rows[:, 3] = 0
    spatial = U.stout(rho=0.1, steps=2, spatial=True).to_numpy()
    np.testing.assert_array_equal(U.stout(rho=rows, steps=2).to_numpy(), spatial)


def test_other_shapes_are_refused(U: tr.GaugeField) -> None:
    with pytest.raises(tr.BadArgument, match=r"rho\[1\]\[1\]: there is no such plane: expected 0, found 0.1"):
        U.stout(rho=np.full((4, 4), 0.1) - np.diag([0.1, 0, 0, 0]), steps=1)
    for rho in ([0.1] * 4, np.zeros((3, 4)), [[0.0] * 4] * 5):
        with pytest.raises(tr.BadArgument, match="a number or 4 rows of 4 numbers"):
            U.stout(rho=rho, steps=1)
    with pytest.raises(tr.BadArgument, match=r"rho\[0\]\[1\]"):
        U.stout(rho=[[0.0, np.nan, 0.0, 0.0], *WEIGHTS[1:]], steps=1)
    with pytest.raises(tr.BadArgument, match="spatial goes with one rho"):
        U.stout(rho=WEIGHTS, steps=1, spatial=True)


@pytest.mark.parametrize("name", ["strange", "light.0"])
def test_forces_through_weighted_planes(name: str, U: tr.GaugeField, tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    path.write_text(RUN.replace("rho = 0.12", f"rho = {TOML}"))
    (monomial, *_) = tr.hamiltonian(path, U)[name]
    monomial.draw(U, seed=11, number=1)
    force, h = monomial.force(U), 0.02
    path.write_text(RUN)
    (other, *_) = tr.hamiltonian(path, U)[name]
    other.draw(U, seed=11, number=1)
    assert np.abs(other.force(U) - force).max() > 1e-3 * np.abs(force).max()
    for where, a in (((1, 0, 3, 2, 3), 0), ((3, 1, 0, 1, 1), 4)):
        S = {n: monomial.action(moved(U, where, a, n * h)) for n in (-3, -2, -1, 1, 2, 3)}
        derivative = (45 * (S[1] - S[-1]) - 9 * (S[2] - S[-2]) + (S[3] - S[-3])) / (60 * h)
        assert derivative == pytest.approx(force[(*where, a)], abs=1e-7 * np.abs(force).max())


def test_bad_weights_in_run_files(tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    for key, said in (
        ("spatial = false", "smearing.stout.rho: missing"),
        (f"rho = {TOML.replace('[0.0, 0.11', '[0.2, 0.11')}", "row 0 has 0.2 for its own direction"),
        ("rho = [[0, 0, 0, 0]]", "smearing.stout.rho: expected exactly 4 values"),
        ('rho = "0.1"', "smearing.stout.rho: Input should be a valid number"),
    ):
        path.write_text(RUN.replace("rho = 0.12", key))
        with pytest.raises(tr.BadArgument, match="smearing") as error:
            load_run_file(path, HmcRun)
        assert said in str(error.value)


def test_a_run_with_weighted_planes(tmp_path: Path) -> None:
    """The traces of a sea flavour are those of a valence flavour on the same links; the run goes on, and
    warns."""
    negative = TOML.replace("-0.01", "-0.02")
    valence = f"""
[measure.fermions]
every = 1
vectors = 1
[[measure.valence]]
name = "same"
type = "staggered"
mass = 0.3
mu_over_ipiT = 0.1
smearing.stout = {{ rho = {negative}, steps = 2 }}
"""
    text = RUN.replace("rho = 0.12", f"rho = {negative}").replace("length = 0.3", "length = 0.1")
    (tmp_path / "run.toml").write_text(text + valence)
    said = run("generate", "run.toml", cwd=tmp_path).stderr
    assert "smearing.stout.rho = -0.02 is negative" in " ".join(said.split())
    found = stream_content(tmp_path)
    sea = {n: v for n, v in found.items() if "strange" in n and "condensate" in n}
    assert sea
    for name, values in sea.items():
        assert found[name.replace("strange", "same")] == values
    run("generate", "run.toml", "--trajectories", "1", "--resume", cwd=tmp_path)
    (tmp_path / "run.toml").write_text(text.replace("-0.02", "-0.03") + valence)
    refused = run("generate", "run.toml", "--trajectories", "1", "--resume", cwd=tmp_path, status=None).stderr
    assert "smearing.stout.rho" in refused
