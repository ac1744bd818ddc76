"""For hopping parameters below 0 the definition of doc/conventions.md holds for either sign of 1 / (2
kappa)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from dense_operators import dense_wilson
from run_file_texts import measurement

import trellis as tr
from trellis.run_files import HmcRun, MeasureRun, parse_run_file

KAPPA = -0.13
ORIGIN = (0, 0, 0, 0)


@pytest.fixture(scope="module")
def U() -> tr.GaugeField:
    return tr.quenched(lattice=(2, 4, 2, 4), beta=5.7, seed=3, sweeps=3)


def vector() -> np.ndarray:
    random = np.random.default_rng(2)
    return random.normal(size=(4, 2, 4, 2, 4, 3)) + 1j * random.normal(size=(4, 2, 4, 2, 4, 3))


def test_the_operator_is_the_definition(U: tr.GaugeField) -> None:
    M = tr.WilsonClover(U, kappa=KAPPA)
    assert M.mass == pytest.approx(1 / (2 * KAPPA) - 4, rel=1e-15)
    assert M.kappa == pytest.approx(KAPPA, rel=1e-14)
    psi = vector()
    D = dense_wilson(U.to_numpy(), 1 / (2 * KAPPA) - 4)
    # A diagonal 4 + m of size 4 and eight hops have a few roundings of numbers below 20.
    np.testing.assert_allclose(M(psi).ravel(), D @ psi.ravel(), atol=1e-13)
    t, z, y, x = np.meshgrid(*map(np.arange, (4, 2, 4, 2)), indexing="ij")
    sign = (1 - 2 * ((x + y + z + t) % 2))[..., None, None]
    opposite = -sign * tr.WilsonClover(U, kappa=-KAPPA)(sign * psi)
    np.testing.assert_allclose(M(psi), opposite, atol=1e-13)


@pytest.mark.parametrize("options", [{}, {"csw": 1.3}, {"csw": 1.3, "twisted_mass": 0.2}])
@pytest.mark.parametrize("form", ["symmetric", "asymmetric", None])
def test_propagators_solve_the_definition(U: tr.GaugeField, options: dict, form: str | None) -> None:
    M = tr.WilsonClover(U, kappa=KAPPA, **options)
    positive = tr.WilsonClover(U, kappa=-KAPPA, **options)
    solver = tr.mixed_precision(tr.bicgstab(tolerance=1e-11))
    solve = (solver if form is None else tr.even_odd(solver, form=form))(M)
    S = solve.propagator(
        tr.point_source(U.geometry, ORIGIN)
    ).to_numpy()  # the indices are [..., sink, source], spin and colour
    for spin, colour in ((0, 0), (3, 2)):
        column = np.ascontiguousarray(S[..., spin, :, colour])
        found = positive(column) + column / KAPPA  # 1 / (2 kappa) is on the diagonal, nothing else changes
        source = np.zeros_like(found)
        source[0, 0, 0, 0, spin, colour] = 1
        np.testing.assert_allclose(found, source, atol=1e-9)


HMC = """\
[lattice]
extents = [2, 4, 2, 4]
[action]
beta = 5.7
[[fermions]]
name = "light"
type = "wilson"
n_f = {n_f}
kappa = {kappa}
[[integrator]]
steps = 2
monomials = ["light", "gauge"]
[molecular_dynamics]
tolerance = 1e-12
[metropolis]
tolerance = 1e-12
[trajectories]
total = 1
[random]
seed = 7
[output]
directory = "out"
"""


@pytest.mark.parametrize("n_f", [1, 2])
def test_sea_quarks_of_both_signs_weigh_alike(U: tr.GaugeField, tmp_path: Path, n_f: int) -> None:
    """Without a clover term A_ee changes its sign with kappa, and A^dagger A does not change."""
    V = tr.weak_field(U.geometry.extents, seed=5, spread=0.4)
    actions, forces = [], []
    for kappa in (KAPPA, -KAPPA):
        path = tmp_path / "run.toml"
        path.write_text(HMC.format(n_f=n_f, kappa=kappa))
        (monomial,) = tr.hamiltonian(path, U)["light"]
        monomial.draw(U, seed=5)
        actions.append(monomial.action(V))
        forces.append(monomial.force(V))
    assert actions[0] == pytest.approx(actions[1], rel=1e-9)
    np.testing.assert_allclose(forces[0], forces[1], atol=1e-9)


MEASURE = measurement(fermion={"kappa": -0.13})


def test_run_files_take_either_sign_and_refuse_0() -> None:
    assert parse_run_file(MEASURE, MeasureRun).fermion.kappa == KAPPA
    strange = parse_run_file(MEASURE.replace("[output]", "strange_kappa = -0.12\n[output]"), MeasureRun)
    assert strange.fermion.strange_kappa == -0.12
    for kappa in ("0", "-0.0", "1e-7", "-1e-300"):
        with pytest.raises(
            tr.RunFileError, match=r":6: fermion.kappa: expected a number other than 0, from 1e-06"
        ):
            parse_run_file(MEASURE.replace("-0.13", kappa), MeasureRun, name="run.toml")
    for kappa in ("nan", "inf", "-inf", "-2e6", "true"):
        with pytest.raises(tr.RunFileError, match=r":6: fermion.kappa: Input should be "):
            parse_run_file(MEASURE.replace("-0.13", kappa), MeasureRun, name="run.toml")


def test_a_sea_with_a_clover_term_outweighs_it() -> None:
    """The determinant of the clover term has a logarithm where the pivots are positive; a twisted mass makes
    them so."""
    clover = HMC.format(n_f=2, kappa=-0.13).replace("kappa", "csw = 1.0\nkappa")
    clover = clover.replace('"wilson"', '"clover"')
    with pytest.raises(
        tr.RunFileError, match=r":10: fermions.0.kappa: expected a mass above -4.*found -0.13"
    ):
        parse_run_file(clover, HmcRun, name="run.toml")
    with pytest.raises(tr.RunFileError, match=r":10: fermions.0.mass: expected a mass above -4.*found -4.0"):
        parse_run_file(clover.replace("kappa = -0.13", "mass = -4.0"), HmcRun, name="run.toml")
    twisted = clover.replace("kappa", "twisted_mass = 0.1\nkappa").replace('"clover"', '"twisted_mass"')
    parse_run_file(twisted, HmcRun)
