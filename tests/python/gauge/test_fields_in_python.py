"""These tests use fields beside Python's protocols and NumPy's: arrays, copies, pickles, and values that make
no sense."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trellis as tr
from trellis.evolve.heatbath import HeatBath
from trellis.evolve.hmc import HMC, Level, gauge_monomial
from trellis.gauge.flow import GradientFlow
from trellis.run_files import parse_run_file
from trellis.run_files.hmc import HmcRun


@pytest.fixture(scope="module")
def U() -> tr.GaugeField:
    return tr.weak_field((2, 4, 2, 4), seed=7)


@pytest.fixture(scope="module")
def solve(U: tr.GaugeField) -> Any:
    return tr.even_odd(tr.cg(tolerance=1e-10))(tr.WilsonClover(U, kappa=0.12))


@pytest.fixture(scope="module")
def S(U: tr.GaugeField, solve: Any) -> tr.Propagator:
    return solve.propagator(tr.point_source(U.geometry, (0, 0, 0, 0)))


def test_links_outside_of_the_group_are_refused(U: tr.GaugeField) -> None:
    links = U.to_numpy()
    for factor, found in ((2.0, "found 7"), (np.exp(0.1j), "found 0.29"), (1 + 1e-6, "found 3e-06")):
        with pytest.raises(tr.BadArgument, match=f"at most 1e-06, {found}.*check=False"):
            tr.GaugeField.from_numpy(factor * links)
        taken = tr.GaugeField.from_numpy(factor * links, check=False)
        assert np.array_equal(taken.to_numpy(), factor * links)
    assert tr.GaugeField.from_numpy(links.astype("c8")).plaquette == pytest.approx(U.plaquette, abs=1e-6)


def test_stout_weights_that_smooth_nothing(U: tr.GaugeField) -> None:
    for rho in (50, 0.2501, -0.3, [[0, 0.3, 0, 0], *[[0.0] * 4] * 3]):
        with pytest.raises(tr.BadArgument, match=r"rho.* must be between -0.25 and 0.25, found"):
            U.stout(rho=rho, steps=1)
    for rho, said in ((0.2, "rho = 0.2 is above 0.16: short waves"), (-0.1, "rho = -0.1 is negative: all")):
        with pytest.warns(UserWarning, match=said) as caught:
            U.stout(rho=rho, steps=1)
        assert [warning.filename for warning in caught] == [__file__]
    for alpha in (-0.1, 1.01):
        with pytest.raises(tr.BadArgument, match="alpha must be at"):
            U.ape(alpha=alpha, steps=1)


def test_values_that_make_no_sense(U: tr.GaugeField, S: tr.Propagator) -> None:
    """Each value is refused; once it was taken without a word, raised what is no error of Trellis, or took
    for ever."""
    gauge, t = gauge_monomial(beta=5.0), np.linspace(0, 2, 11)
    zeros = tr.GaugeField.from_numpy(0 * U.to_numpy(), check=False)
    refused: dict[str, list[Callable[[], object]]] = {
        "width must be at most": [
            lambda: tr.gaussian_source(U, (0, 0, 0, 0), width=1e200, steps=3),
            lambda: S.smear_sink(U, width=1e200, steps=3),
        ],
        "step must be at most 0.15": [lambda: tr.GradientFlow(U, step=50)],
        "expected at most 1000000": [
            lambda: tr.GradientFlow(U, step=1e-12).advance(1.0),
            lambda: tr.flow_history(U, time=1.0, spacing=1e-300),
        ],
        "tolerance must be smaller than 1": [lambda: tr.GradientFlow(U, tolerance=10.0)],
        "from 0 to 10000": [lambda: tr.momenta_up_to(10**9)],
        "nu must be positive": [lambda: tr.WilsonClover(U, mass=0.1, nu=-1.0)],
        "spatial must be at most 2": [lambda: U.wilson_loops(spatial=3, temporal=1)],
        "temporal must be at most 4": [lambda: U.wilson_loops(spatial=1, temporal=5)],
        "temporal must be at most 2": [lambda: U.wilson_loops(spatial=1, temporal=3, planes="all")],
        "rows that are not independent": [zeros.reunitarised],
        "beta must be a": [lambda b=b: gauge_monomial(beta=b) for b in (np.nan, "5")],
        "length must be": [
            lambda n=n: HMC([Level("leapfrog", 1, [gauge])], seed=1, length=n) for n in (-1, np.nan)
        ],
        "lambda_ must be": [lambda: HMC([Level("omelyan2", 1, [gauge], 7.0)], seed=1)],
        "seed must be": [lambda: HMC([Level("leapfrog", 1, [gauge])], seed=-1)],
        "number must be": [
            lambda: HMC([Level("leapfrog", 1, [gauge])], seed=1).trajectory(U.copy(), -1),
            lambda: HeatBath(beta=5.0, seed=1).sweep(U.copy(), -1),
        ],
        "U must be a GaugeField": [lambda: HeatBath(beta=5.0, seed=1).sweep(None, 1)],  # type: ignore[arg-type]
    }
    for said, calls in refused.items():
        for call in calls:
            with pytest.raises(tr.Error, match=said):
                call()
    for said, history in (
        ("times must ascend", (t[::-1], t)),
        ("the shapes", (t, t[:5])),
        ("target must be", (t, t, np.nan)),
        ("target must be", (t, t, -1.0)),
    ):
        for scale in (tr.reference_time, tr.w0_scale):
            with pytest.raises(ValueError, match=said):
                scale(*history)  # type: ignore[arg-type]


RUN = """
[lattice]
extents = [4, 4, 4, 4]
[action]
beta = 5.6
[molecular_dynamics]
[[integrator]]
steps = 4
monomials = ["gauge"]
[trajectories]
total = 1
[random]
seed = 1
[output]
directory = "out"
"""


@pytest.mark.parametrize(
    ("tables", "key"),
    [
        ("[smearing]\nstout = { rho = 50, steps = 1 }\n", "smearing.stout.rho"),
        ("[smearing]\nstout = { rho = -0.3, steps = 1 }\n", "smearing.stout.rho"),
        (
            "[smearing.stout]\nrho = [[0, 0.3, 0, 0]" + ", [0, 0, 0, 0]" * 3 + "]\nsteps = 1\n",
            "smearing.stout.rho",
        ),
        (
            "[measure.loops.smearing.stout]\nrho = 0.3\nsteps = 1\nspatial = true\n",
            "loops.smearing.stout.rho",
        ),
        (
            '[[measure.valence]]\nname = "v"\ntype = "staggered"\nmass = 0.5\n'
            "smearing.stout = { rho = 0.3, steps = 1 }\n",
            "valence.0.smearing.stout.rho",
        ),
    ],
)
def test_stout_weights_in_run_files(tables: str, key: str) -> None:
    with pytest.raises(tr.RunFileError, match=key) as error:
        parse_run_file(RUN + tables, HmcRun, name="run.toml")
    assert "0.25" in str(error.value)


def test_arrays_of_fields(U: tr.GaugeField, S: tr.Propagator) -> None:
    for field in (U, S):
        array = np.asarray(field)
        assert np.array_equal(array, field.to_numpy())
        assert array.dtype == np.complex128
        assert np.asarray(field, dtype=np.complex64).dtype == np.complex64
        array[...] = 0  # this is a copy
        assert np.asarray(field).any()
        with pytest.raises(ValueError, match="always copied"):
            np.array(field, copy=False)
    assert np.array_equal(tr.GaugeField.from_numpy(U).to_numpy(), U.to_numpy())  # type: ignore[arg-type]
    masked = np.ma.masked_greater(U.to_numpy().real, 0.99)
    with pytest.raises(tr.BadArgument, match=r"links must be .*, found one with masked numbers"):
        tr.GaugeField.from_numpy(masked, check=False)


def test_what_is_no_array_says_so(U: tr.GaugeField, solve: Any) -> None:
    for thing, said in (
        (solve.operator, r"WilsonClover objects are no arrays: M\.apply\(psi\)"),
        (tr.Staggered(U, mass=0.1), "Staggered objects are no arrays"),
        (tr.point_source(U.geometry, (0, 0, 0, 0)), "Source objects are no arrays"),
        (solve, r"BoundSolver objects are no arrays: solver\(M\)\.solve\(b\) applies it"),
        (tr.custom_operator(solve.operator, abs), "CustomOperator objects are no arrays"),
        (GradientFlow(U), r"GradientFlow objects are no arrays: flow\.field has the links"),
        (tr.dense(tr.Staggered(U, mass=0.1)), r"DenseOperator objects .*: its numbers are in \.matrix"),
    ):
        with pytest.raises(TypeError, match=said):
            np.asarray(thing)


def test_copies(U: tr.GaugeField, S: tr.Propagator, solve: Any) -> None:
    source = tr.point_source(U.geometry, (1, 0, 1, 2))
    for copied in (copy.copy, copy.deepcopy):
        V = copied(U)
        HeatBath(beta=5.0, seed=1).sweep(V, 1)
        assert V.plaquette != U.plaquette
        T = copied(S)
        assert T is not S
        assert np.array_equal(T.to_numpy(), S.to_numpy())
        assert (T.source_at, T.operator) == (S.source_at, S.operator)
        assert copied(source).at == source.at
        assert copied(U.geometry) == U.geometry
        psi = np.ones((4, 2, 4, 2, 4, 3), complex)
        assert np.array_equal(copied(solve.operator).apply(psi), solve.operator.apply(psi))
        half = copied(tr.custom_operator(solve.operator, lambda psi: psi / 2, name="half"))
        assert copied(tr.gcr(tolerance=0.1, preconditioner=half))(solve.operator).solve(psi)[1].converged
        again = copied(solve).propagator(tr.point_source(U.geometry, (0, 0, 0, 0)))
        assert np.array_equal(again.to_numpy(), S.to_numpy())
    deep = copy.deepcopy({"S": S, "same": S})
    assert deep["S"] is deep["same"]
    assert deep["S"].report is not S.report


def test_low_modes(U: tr.GaugeField, solve: Any) -> None:
    modes = tr.lanczos(solve.operator, count=2, tolerance=1e-3)
    same = copy.deepcopy(modes)
    assert np.array_equal(same.values, modes.values)
    tr.deflated(tr.even_odd(tr.cg()), same)(solve.operator)
    with pytest.raises(TypeError, match=r"Eigenvectors objects are no arrays: eigenvalues are in \.values"):
        np.asarray(modes)
    with pytest.raises(TypeError, match="which tr"):
        pickle.dumps(modes)


def test_what_has_no_pickle_or_copy_says_so(U: tr.GaugeField, S: tr.Propagator, solve: Any) -> None:
    assert pickle.loads(pickle.dumps(U.geometry)) == U.geometry
    for thing, said in (
        (U, "GaugeField objects cannot be pickled: write them .* tr.read_gauge_field"),
        (S, "Propagator objects cannot be pickled: write them .* tr.read_propagator"),
        (solve.operator, "WilsonClover objects cannot be pickled: make them again"),
    ):
        with pytest.raises(TypeError, match=said):
            pickle.dumps(thing)
    monomial = gauge_monomial(beta=5.5)
    for thing in (
        GradientFlow(U),
        HeatBath(beta=5.0, seed=1),
        monomial,
        HMC([Level("leapfrog", 2, [monomial])], seed=1),
    ):
        for action in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(
                TypeError, match=f"{type(thing).__name__} objects cannot be copied or pickled: "
            ):
                action(thing)


def test_sinks_of_feynman_hellmann_correlators(U: tr.GaugeField, S: tr.Propagator, solve: Any) -> None:
    S_FH = tr.feynman_hellmann_propagator(solve, S, "gamma_t")
    smeared = {Q: Q.smear_sink(U, width=1.0, steps=3) for Q in (S, S_FH)}
    for up, down, inserted, said in (
        (smeared[S], smeared[S], S_FH, "up has a smeared sink and S_FH has none"),
        (S, S, smeared[S_FH], "S_FH has a smeared sink and up has none"),
        (S, smeared[S], S_FH, "down has a smeared sink and S_FH has none"),
    ):
        with pytest.raises(tr.BadArgument, match=said):
            tr.projected_feynman_hellmann(up, down, inserted, insertion="up")
    with pytest.raises(tr.BadArgument, match="S has a smeared sink and S_FH has none"):
        tr.nucleon_feynman_hellmann(smeared[S], S_FH, insertion="up")
    for quark, inserted in ((S, S_FH), (smeared[S], smeared[S_FH])):
        tr.projected_feynman_hellmann(quark, quark, inserted, insertion="up")
        tr.nucleon_feynman_hellmann(quark, inserted, insertion="up")
    array = tr.Propagator.from_numpy(
        smeared[S].to_numpy(), U.geometry, source_at=S.source_at, boundary=S.boundary
    )
    tr.projected_feynman_hellmann(array, array, smeared[S_FH], insertion="up")


def test_openqcd_files_have_even_extents(tmp_path: Path) -> None:
    """A file with an extent of 1 was written, and no program could read it."""
    with pytest.raises(tr.BadArgument, match="openqcd holds lattices with even extents, found 4x1x2x4"):
        tr.cold((4, 1, 2, 4)).write(tmp_path / "links", "openqcd")
    assert not list(tmp_path.iterdir())
