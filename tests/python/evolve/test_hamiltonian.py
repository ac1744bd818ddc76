"""These tests cover actions and forces of a run file's monomials in Python: forces agree with numerical
derivatives."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import trellis as tr
from trellis.evolve.hmc import Monomial

RUN = """\
[lattice]
extents = [4, 4, 2, 4]
[action]
type = "symanzik"
beta = 4.0
[smearing]
stout = { rho = 0.12, steps = 2 }
[[fermions]]
name = "strange"
type = "staggered"
n_f = 1
mass = 0.3
mu_over_ipiT = 0.1
rational = { order = 12, dynamics_order = 12 }
[[fermions]]
name = "light"
type = "clover"
n_f = 2
kappa = 0.12
csw = 1.0
hasenbusch = [0.5]
[[integrator]]
scheme = "omelyan2"
steps = 2
monomials = ["strange", "light", "gauge"]
[molecular_dynamics]
length = 0.3
tolerance = 1e-13
[metropolis]
tolerance = 1e-13
[trajectories]
total = 1
[random]
seed = 7
[output]
directory = "out"
"""

HEAT_BATH = """\
[lattice]
extents = [4, 4, 2, 4]
[action]
beta = 4.0
[[fermions]]
name = "strange"
type = "staggered"
n_f = 1
mass = 0.3
rational = {{ order = 8, {own} high = 9.0 }}
[[integrator]]
steps = 2
monomials = ["strange", "gauge"]
[molecular_dynamics]
[metropolis]
{residuals}
[trajectories]
total = 1
[random]
seed = 7
[output]
directory = "out"
"""


def test_the_heat_bath_has_its_own_order_and_residual(tmp_path: Path) -> None:
    """Without keys of its own it has those of the accept step, bit for bit."""
    U, V = (tr.weak_field((4, 4, 2, 4), seed=seed, spread=0.3) for seed in (3, 4))

    def action(name: str, own: str = "", residuals: str = "tolerance = 1e-10") -> float:
        path = tmp_path / f"{name}.toml"
        path.write_text(HEAT_BATH.format(own=own, residuals=residuals))
        (monomial,) = tr.hamiltonian(path, U)["strange"]
        monomial.draw(U, seed=5)
        return monomial.action(V)  # at U it is the norm of the noise

    plain = action("plain")
    assert action("same", "heat_bath_order = 8,", "heat_bath_tolerance = 1e-10") == plain
    # The drawn field, and with it the action, is wrong by the error of the function.
    differences = [abs(action(f"order_{n}", f"heat_bath_order = {n},") / plain - 1) for n in (1, 2, 10)]
    assert differences[0] > 10 * differences[1] > 100 * differences[2]
    assert 0 < differences[2]
    tolerance = action("tolerance", "heat_bath_tolerance = 1e-2,")
    assert 1e-5 < abs(tolerance / plain - 1) < 1e-2
    loose = action("loose", residuals="tolerance = 1e-10\nheat_bath_tolerance = 1e-2")
    assert 1e-9 < abs(loose / plain - 1) < 1e-2
    # This changes the accept step's residual alone.
    assert action("step", residuals="tolerance = 1e-2\nheat_bath_tolerance = 1e-10") not in (plain, loose)


GELL_MANN = np.zeros((8, 3, 3), complex)
for _a, (_i, _j) in zip((0, 3, 5), ((0, 1), (0, 2), (1, 2)), strict=True):
    GELL_MANN[_a, _i, _j] = GELL_MANN[_a, _j, _i] = 1
    GELL_MANN[_a + 1, _i, _j], GELL_MANN[_a + 1, _j, _i] = -1j, 1j
GELL_MANN[2] = np.diag([1, -1, 0])
GELL_MANN[7] = np.diag([1, 1, -2]) / np.sqrt(3)


@pytest.fixture(scope="module")
def U() -> tr.GaugeField:
    return tr.quenched(lattice=(4, 4, 2, 4), beta=5.5, seed=3, sweeps=5)


@pytest.fixture(scope="module")
def terms(U: tr.GaugeField, tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Monomial, ...]]:
    path = tmp_path_factory.mktemp("run") / "run.toml"
    path.write_text(RUN)
    return tr.hamiltonian(path, U)


def moved(U: tr.GaugeField, where: tuple[int, ...], a: int, t: float) -> tr.GaugeField:
    """Return the field with e^{t T_a} U in the place of one link."""
    values, vectors = np.linalg.eigh(GELL_MANN[a])
    links = U.to_numpy()
    links[where] = (vectors * np.exp(0.5j * t * values)) @ vectors.conj().T @ links[where]
    return tr.GaugeField.from_numpy(links)


@pytest.mark.parametrize("name", ["gauge", "strange", "light.0", "light.1"])
def test_forces_are_derivatives_of_actions(
    name: str, U: tr.GaugeField, terms: dict[str, tuple[Monomial, ...]]
) -> None:
    h = 0.02
    for number, monomial in enumerate(terms[name]):
        monomial.draw(U, seed=11, number=number + 1)
        force = monomial.force(U)
        assert force.shape == (4, 2, 4, 4, 4, 8)
        for where, a in (((1, 0, 3, 2, 3), 0), ((3, 1, 0, 1, 1), 4), ((0, 1, 2, 3, 2), 7)):
            S = {n: monomial.action(moved(U, where, a, n * h)) for n in (-3, -2, -1, 1, 2, 3)}
            derivative = (45 * (S[1] - S[-1]) - 9 * (S[2] - S[-2]) + (S[3] - S[-3])) / (60 * h)
            assert derivative == pytest.approx(force[(*where, a)], abs=1e-7 * np.abs(force).max())


def test_pseudofermions_have_their_key(U: tr.GaugeField, terms: dict[str, tuple[Monomial, ...]]) -> None:
    (strange,) = terms["strange"]
    actions = []
    for number in (1, 2, 1):
        strange.draw(U, seed=5, number=number)
        actions.append(strange.action(U))
    assert actions[0] == actions[2] != actions[1]
    # For complex normal numbers on half of the sites |eta|^2 is 3 V / 2, with a variance of the same size.
    assert abs(actions[0] - 1.5 * 128) < 6 * np.sqrt(1.5 * 128)


def test_links_of_another_lattice_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    path.write_text(RUN)
    with pytest.raises(
        tr.BadArgument, match=r"expected links of the lattice \[4, 4, 2, 4\], found \[4, 4, 4, 4\]"
    ):
        tr.hamiltonian(path, tr.cold((4, 4, 4, 4)))
