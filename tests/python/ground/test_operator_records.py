"""Propagators know their operator; calls that mix operators are refused or warned about."""

from __future__ import annotations

import math
import warnings
from pathlib import Path

import numpy as np
import pytest

import trellis as tr
from trellis.ground import action_parameters
from trellis.ground.compiled_core import load
from trellis.ground.operator_records import OperatorRecord

EXTENTS = (4, 4, 4, 4)
PERIODIC = (1, 1, 1, 1)
#: Six slices stand in no order: S^dagger is not gamma5 S gamma5.
ZMOEBIUS = {"Ls": 4, "b5": [1.5 + 0.2j, 1.4, 1.6, 1.2], "c5": 0.5}


@pytest.fixture(scope="module")
def U() -> tr.GaugeField:
    return tr.quenched(lattice=EXTENTS, beta=6.0, seed=4, sweeps=5)


def solved(M: tr.WilsonClover | tr.MoebiusDomainWall, **options: bool) -> tuple:
    solve = tr.even_odd(tr.cg(tolerance=1e-6))(M)
    return solve, solve.propagator(tr.point_source(M.geometry, (0, 0, 0, 0)), **options)


def test_propagators_of_another_operator_are_refused(U: tr.GaugeField) -> None:
    other_links = tr.quenched(lattice=EXTENTS, beta=6.0, seed=5, sweeps=5)
    for make, given in ((tr.WilsonClover, {}), (tr.MoebiusDomainWall, {"Ls": 4})):
        is_wall = make is tr.MoebiusDomainWall
        solve, S = solved(make(U, mass=0.3, **given), keep_fields=is_wall)
        tr.conserved_current_propagator(solve, S)
        tr.feynman_hellmann_propagator(solve, S.to("cpu"), "gamma_t")
        for M, words in (
            (make(U, mass=0.31, **given), "mass = 0.3, not 0.31"),
            (make(U, mass=0.3, boundary=PERIODIC, **given), "boundary phases"),
            (make(U, mass=0.3, nu=0.95, xi0=0.95, **given), "nu = 1.0, not 0.95"),
            (make(other_links, mass=0.3, **given), "links of plaquette"),
        ):
            other = tr.even_odd(tr.cg())(M)
            for use in (
                lambda solve, S: tr.conserved_current_propagator(solve, S),
                lambda solve, S: tr.feynman_hellmann_propagator(solve, S, "gamma_t"),
                lambda solve, S: tr.three_point(solve, S, ["1"], separations=[2], insertion="up"),
            ):
                with pytest.raises(tr.BadArgument, match=f"solver's own operator .*{words}"):
                    use(other, S)
    with pytest.raises(tr.BadArgument, match="the operator MoebiusDomainWall, not WilsonClover"):
        tr.feynman_hellmann_propagator(solved(tr.WilsonClover(U, mass=0.3))[0], S, "1")


def test_of_arrays_the_boundary_is_known_and_the_mass_is_not(U: tr.GaugeField) -> None:
    M = tr.WilsonClover(U, mass=0.3)
    solve, S = solved(M)
    array = S.to_numpy()
    same, periodic = (
        tr.Propagator.from_numpy(array, U.geometry, source_at=S.source_at, boundary=phases)
        for phases in (M.boundary, PERIODIC)
    )
    assert S.operator is not None
    assert same.operator is None
    tr.feynman_hellmann_propagator(solve, same, "gamma_t")
    with pytest.raises(tr.BadArgument, match="boundary phases"):
        tr.conserved_current_propagator(solve, periodic)


def test_three_points_need_gamma5_hermitian_quarks(U: tr.GaugeField) -> None:
    for M in (tr.WilsonClover(U, mass=0.3, twisted_mass=0.1), tr.MoebiusDomainWall(U, mass=0.3, **ZMOEBIUS)):
        assert not M.is_gamma5_hermitian
        solve, S = solved(M)
        smeared = S.smear_sink(U, width=1.0, steps=4)
        for quark in (S, smeared):
            with pytest.raises(tr.BadArgument, match=r"need S\^dagger = gamma5 S gamma5"):
                tr.nucleon_sequential_source(quark, separation=2, insertion="up")
        with pytest.raises(tr.BadArgument, match=r"need S\^dagger = gamma5 S gamma5"):
            tr.nucleon_three_point(S, S, ["gamma_t"])
        with pytest.raises(tr.BadArgument, match=r"need S\^dagger = gamma5 S gamma5"):
            tr.three_point(solve, S, ["gamma_t"], separations=[2], insertion="up")
    mirrored = tr.MoebiusDomainWall(U, mass=0.3, Ls=4, b5=[1.5 + 0.2j, 1.4, 1.4, 1.5 - 0.2j])
    assert mirrored.is_gamma5_hermitian
    assert tr.WilsonClover(U, mass=0.3, csw=1.0, boundary=(1j, 1, 1, 0)).is_gamma5_hermitian


def test_mesons_warn_of_mirrored_antiquarks(U: tr.GaugeField) -> None:
    _, S = solved(tr.MoebiusDomainWall(U, mass=0.3, **ZMOEBIUS))
    for use in (
        lambda: tr.meson(S, S, "gamma5", "gamma5"),
        lambda: tr.mesons(S, S, [("gamma5", "gamma5")]),
        lambda: tr.all_mesons(S, S),
    ):
        with pytest.warns(UserWarning, match="that of the mirrored coefficients") as found:
            use()
        assert [w.filename for w in found] == [__file__]
    # With a twisted mass the antiquark is that of the other flavour: u and d make the charged pion.
    hermitian = [tr.WilsonClover(U, mass=0.3, twisted_mass=0.1), tr.MoebiusDomainWall(U, mass=0.3, Ls=4)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for M in hermitian:
            _, quark = solved(M)
            tr.meson(quark, quark, "gamma5", "gamma5")
        tr.nucleon(S)


def test_the_flag_is_what_propagators_do(U: tr.GaugeField) -> None:
    """On two sites S(x, 0)^dagger is gamma5 S(0, x) gamma5."""
    x, origin = (1, 0, 2, 3), (0, 0, 0, 0)
    gamma5 = np.diag([1, 1, -1, -1])
    for M in (
        tr.WilsonClover(U, mass=0.3, csw=1.0),
        tr.WilsonClover(U, mass=0.3, twisted_mass=0.3),
        tr.MoebiusDomainWall(U, mass=0.3, Ls=4, b5=[1.5 + 0.2j, 1.4, 1.4, 1.5 - 0.2j]),
        tr.MoebiusDomainWall(U, mass=0.3, Ls=4, b5=[1.5 + 0.4j, 1.4, 1.6, 1.0], c5=0.5),
    ):
        solve = tr.even_odd(tr.cg(tolerance=1e-10))(M)
        there, back = (solve.propagator(tr.point_source(U.geometry, at)).to_numpy() for at in (origin, x))
        found = there[x[::-1]]  # the order is [spin sink, spin source, colour sink, colour source]
        expected = np.einsum("ab,bcij,cd->daji", gamma5, back[origin].conj(), gamma5)
        difference = np.abs(found - expected).max() / np.abs(found).max()
        assert (difference < 1e-7) == M.is_gamma5_hermitian, (M, difference)


def test_records_are_texts_and_back(U: tr.GaugeField) -> None:
    for M in (tr.WilsonClover(U, mass=0.1, csw=1.1), tr.MoebiusDomainWall(U, mass=0.3, **ZMOEBIUS)):
        record = M._record
        assert OperatorRecord.from_text(record.to_text()) == record
        text = record.to_text()
        for damaged in (text[:-1], "[1]", "{}", text.replace("mass", "Mass"), text.replace("0.", "NaN, 0.")):
            with pytest.raises(ValueError, match="expected the name, parameters and plaquette"):
                OperatorRecord.from_text(damaged)


def test_files_keep_the_operator(U: tr.GaugeField, tmp_path: Path) -> None:
    M = tr.MoebiusDomainWall(U, mass=0.3, **ZMOEBIUS)
    solve, S = solved(M)
    S.write(tmp_path / "S.h5")
    again = tr.read_propagator(tmp_path / "S.h5")
    assert again.operator == S.operator
    tr.feynman_hellmann_propagator(solve, again, "gamma_t")
    with pytest.raises(tr.BadArgument, match=r"need S\^dagger = gamma5 S gamma5"):
        tr.nucleon_sequential_source(again, separation=2, insertion="up")


def test_a_smeared_sink_is_known_and_refused_where_the_solved_quark_is_needed(
    U: tr.GaugeField, tmp_path: Path
) -> None:
    solve, S = solved(tr.WilsonClover(U, mass=0.3))
    smeared = S.smear_sink(U, width=1.0, steps=2).to("cpu")
    smeared.write(tmp_path / "smeared.h5")
    S.write(tmp_path / "S.h5")
    assert not tr.read_propagator(tmp_path / "S.h5").is_sink_smeared
    for quark in (smeared, tr.read_propagator(tmp_path / "smeared.h5")):
        for use in (
            lambda S: tr.feynman_hellmann_propagator(solve, S, "gamma_t"),
            lambda S: tr.conserved_current_propagator(solve, S),
            lambda S: tr.sequential_source(S, "gamma_t"),
            lambda S: tr.three_point(solve, S, ["1"], separations=[2], insertion="up"),
        ):
            with pytest.raises(tr.BadArgument, match="as it was solved, found one with a smeared sink"):
                use(quark)
    sink = tr.nucleon_sequential_source(smeared, separation=2, insertion="up", smearing=(U, 1.0, 2))
    Y = solve.propagator(sink)
    with pytest.raises(tr.BadArgument, match="S: expected"):
        tr.nucleon_three_point(Y, smeared, ["1"])
    tr.nucleon_three_point(Y, S, ["1"])


def test_texts_of_isotropic_domain_walls_are_those_of_earlier_versions(U: tr.GaugeField) -> None:
    plain, anisotropic = (tr.MoebiusDomainWall(U, mass=0.3, Ls=4, xi0=xi0)._record for xi0 in (1.0, 1.05))
    assert '"nu"' not in plain.to_text()
    assert '"xi0"' not in plain.to_text()
    assert OperatorRecord.from_text(plain.to_text()) == plain
    assert '"xi0": 1.05' in anisotropic.to_text()
    assert OperatorRecord.from_text(anisotropic.to_text()) == anisotropic
    assert plain.difference(anisotropic) == "xi0 = 1.0, not 1.05"
    for text in (plain.to_text().replace('"M5"', '"M6"'), '{"name": [], "parameters": {}, "plaquette": 1}'):
        with pytest.raises(ValueError, match="in JSON"):
            OperatorRecord.from_text(text)


@pytest.mark.parametrize("kappa", [0.125, 0.1298765, 0.1, 0.3, -0.2, 1e-3])
def test_kappa_is_converted_alike_with_and_without_the_compiled_part(kappa: float) -> None:
    mass = action_parameters.kappa_to_mass(kappa)
    assert mass == load().kappa_to_mass(kappa)
    assert action_parameters.mass_to_kappa(mass) == load().mass_to_kappa(mass)


def test_a_mass_of_minus_four_has_no_finite_kappa() -> None:
    """The mass is legal beside a clover term, whose results state kappa."""
    assert action_parameters.mass_to_kappa(-4.0) == load().mass_to_kappa(-4.0) == math.inf
