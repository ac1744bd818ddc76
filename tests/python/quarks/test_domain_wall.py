"""These tests cover domain-wall quarks and Feynman-Hellmann propagators from Python and from run files."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest
from command_line import run

import trellis as tr
from trellis.evolve.quark_operators import make_measured_operator
from trellis.run_files.measured_quarks import MeasuredDomainWall
from trellis.run_files.solvers import SolverTable

EXTENTS = (2, 2, 2, 4)


@pytest.fixture(scope="module")
def U() -> tr.GaugeField:
    return tr.quenched(lattice=EXTENTS, beta=6.0, seed=4, sweeps=10)


def propagator(M: object, U: tr.GaugeField) -> tr.Propagator:
    solve = tr.even_odd(tr.mixed_precision(tr.cg(tolerance=1e-11), inner="half"))
    return solve(M).propagator(tr.point_source(U.geometry, (0, 0, 0, 0)))


def test_axial_ward_identity_and_residual_mass(U: tr.GaugeField) -> None:
    M = tr.MoebiusDomainWall(U, mass=0.1, b5=1.5, c5=0.5, Ls=6, M5=1.8, columns_per_solve=3)
    S = propagator(M, U)
    assert S.report is not None
    assert S.report.converged
    assert len(S.report.relative_residuals) == 12
    pion = tr.meson(S, S, "gamma5", "gamma5")[0].real
    np.testing.assert_allclose(pion, tr.propagator_norm(S), rtol=1e-12)
    assert S.midpoint is not None
    total = 0.1 * pion.sum() + tr.propagator_norm(S.midpoint).sum()
    trace = np.einsum("sscc->", S.to_numpy()[0, 0, 0, 0]).real
    assert total == pytest.approx(trace, rel=1e-9)
    shamir = propagator(tr.MoebiusDomainWall(U, mass=0.1, b5=1, c5=0, Ls=6), U)
    assert 0 < tr.residual_mass(S)[2] < tr.residual_mass(shamir)[2]


def test_feynman_hellmann_is_a_derivative_in_the_mass(U: tr.GaugeField) -> None:
    # The change D -> D - lambda is the mass minus lambda; for all quarks N = UU + DD.
    def nucleon(mass: float) -> np.ndarray:
        return tr.nucleon(propagator(tr.WilsonClover(U, mass=mass, csw=1.0), U))[0]

    M = tr.WilsonClover(U, mass=0.3, csw=1.0)
    solve = tr.even_odd(tr.cg(tolerance=1e-12))(M)
    S = solve.propagator(tr.point_source(U.geometry, (0, 0, 0, 0)))
    F = tr.feynman_hellmann_propagator(solve, S, "1")
    N = sum(tr.nucleon_feynman_hellmann(S, F, insertion=q)[0] for q in ("up", "down"))
    h = 1e-3
    derivative = (nucleon(0.3 - h) - nucleon(0.3 + h)) / (2 * h)
    np.testing.assert_allclose(N, derivative, rtol=0, atol=3e-5 * np.abs(N).max())


def test_conserved_axial_current(U: tr.GaugeField) -> None:
    M = tr.MoebiusDomainWall(U, mass=0.1, b5=1.5, c5=0.5, Ls=6)
    solve = tr.even_odd(tr.cg(tolerance=1e-12))(M)
    S = solve.propagator(tr.point_source(U.geometry, (1, 0, 1, 3)), axial_current=True)
    assert S.axial_current is not None
    assert S.midpoint is not None
    expected = 0.2 * tr.propagator_norm(S) + 2 * tr.propagator_norm(S.midpoint)
    expected[0] -= 2 * np.einsum("sscc->", S.to_numpy()[3, 1, 0, 1]).real
    divergence = S.axial_current - np.roll(S.axial_current, 1)
    np.testing.assert_allclose(divergence, expected, rtol=0, atol=1e-10 * tr.propagator_norm(S)[0])
    with pytest.raises(tr.BadArgument, match="domain-wall"):
        tr.cg()(tr.WilsonClover(U, mass=0.3)).propagator(
            tr.point_source(U.geometry, (0, 0, 0, 0)), axial_current=True
        )


def test_solver_prints_the_measures_of_the_paper(U: tr.GaugeField) -> None:
    report = propagator(tr.MoebiusDomainWall(U, mass=0.1, Ls=12), U).report
    assert report is not None
    assert report.conventional_gflops is not None
    # By convention S counts 4908 flop for the 3072 that it does, beside linear algebra.
    assert 1.45 < report.conventional_gflops / report.gflops < 1.6
    assert report.intensity == pytest.approx(report.gflops / report.gbytes_per_second)
    assert "flop/byte" in str(report)
    assert "% of the peak" in str(report)


LINKS_SMEARING = {"width": 1.2, "steps": 3}


@pytest.mark.parametrize("sink", ["point", "gaussian"])
@pytest.mark.slow
def test_feynman_hellmann_is_the_sum_of_three_point_functions(U: tr.GaugeField, sink: str) -> None:
    """At every t, N(t) = sum_tau C3(t, tau) holds, with smeared sinks too; up - down is one solve."""
    M = tr.MoebiusDomainWall(U, mass=0.1, Ls=4, columns_per_solve=12)
    solve = tr.even_odd(tr.cg(tolerance=1e-13))(M)
    S = solve.propagator(tr.gaussian_source(U, (1, 0, 1, 3), width=1.2, steps=3))
    smeared = S if sink == "point" else S.smear_sink(U, **LINKS_SMEARING)
    smearing = None if sink == "point" else (U, *LINKS_SMEARING.values())
    for gamma, spin in (("gamma_z gamma5", "polarised"), ("gamma_t", "unpolarised")):
        F = tr.feynman_hellmann_propagator(solve, S, gamma)
        F = F if sink == "point" else F.smear_sink(U, **LINKS_SMEARING)
        N = {q: tr.nucleon_feynman_hellmann(smeared, F, insertion=q, spin=spin)[0] for q in ("up", "down")}
        N["isovector"] = N["up"] - N["down"]
        for insertion, expected in N.items():
            C3 = tr.three_point(
                solve,
                S,
                [gamma],
                separations=range(4),
                insertion=insertion,
                spin=spin,
                sink_smearing=smearing,
            )
            assert C3.shape == (4, 1, 1, 4)
            scale = np.abs(C3[:, 0, 0]).sum(axis=1).max()
            np.testing.assert_allclose(C3[:, 0, 0].sum(axis=1), expected, rtol=0, atol=1e-10 * scale)


def test_mistakes_are_refused(U: tr.GaugeField) -> None:
    with pytest.raises(tr.BadArgument, match="Ls"):
        tr.MoebiusDomainWall(U, mass=0.1, Ls=1)
    for not_numbers in ("1.5", [[1.5, 0.1], [1.5, 0.2]], [], [1.5, [1.0, 2.0]], None):
        with pytest.raises(tr.BadArgument, match="a number for each slice"):
            tr.MoebiusDomainWall(U, mass=0.1, Ls=2, b5=not_numbers)
    complex_solver = tr.even_odd(tr.cg())(tr.MoebiusDomainWall(U, mass=0.5, Ls=2, b5=1.5 + 0.1j))
    with pytest.raises(tr.BadArgument, match="one real b5"):
        complex_solver.propagator(tr.point_source(U.geometry, (0, 0, 0, 0)), axial_current=True)
    with pytest.raises(tr.BadArgument, match="b5"):
        tr.MoebiusDomainWall(U, mass=0.1, Ls=4, b5=[1.5, 1.5])
    with pytest.raises(tr.BadArgument, match="M5"):
        tr.MoebiusDomainWall(U, mass=0.1, M5=2.5)
    for wrong in ({"mass": np.nan}, {"b5": np.inf}, {"c5": [0.5, np.nan]}, {"boundary": (1, 1, 1, np.nan)}):
        with pytest.raises(tr.BadArgument, match=r"nan|inf"):
            tr.MoebiusDomainWall(U, **({"mass": 0.1, "Ls": 2} | wrong))
    with pytest.raises(tr.BadArgument, match="divides 12"):
        tr.MoebiusDomainWall(U, mass=0.1, columns_per_solve=5)
    S = tr.even_odd(tr.cg())(tr.WilsonClover(U, mass=0.3)).propagator(
        tr.point_source(U.geometry, (0, 0, 0, 0))
    )
    with pytest.raises(tr.BadArgument, match="midpoint"):
        tr.residual_mass(S)
    with pytest.raises(tr.BadArgument, match="insertion"):
        tr.nucleon_feynman_hellmann(S, S, insertion="strange")  # type: ignore[arg-type]
    with pytest.raises(tr.BadArgument, match="insertion"):
        tr.nucleon_sequential_source(S, separation=1, insertion="strange")  # type: ignore[arg-type]
    with pytest.raises(tr.BadArgument, match=r"4 slices from the source is not in 0\.\.3"):
        tr.nucleon_sequential_source(S, separation=4, insertion="up")


RUN = """\
[configurations]
files = "configuration.1.ildg"
[fermion]
type = "domain_wall"
mass = 0.1
Ls = 4
[solver]
tolerance = 1e-9
[correlators]
mesons = ["pion"]
conserved_axial = true
[feynman_hellmann]
currents = ["A3", "V4"]
[output]
directory = "out"
"""


def test_run_file(U: tr.GaugeField, tmp_path: Path) -> None:
    U.write(tmp_path / "configuration.1.ildg")
    (tmp_path / "measure.toml").write_text(RUN)
    run("measure", "measure.toml", cwd=tmp_path)
    with h5py.File(tmp_path / "out" / "correlators.000001.h5") as file:
        correlators = file["correlators"]
        names = {"pion", "nucleon", "midpoint", "midpoint_pion", "conserved_axial"}
        names |= {f"fh_{current}_{quark}" for current in ("A3", "V4") for quark in ("UU", "DD")}
        assert set(correlators) == names
        assert correlators["pion"].attrs["Ls"] == 4
        np.testing.assert_allclose(correlators["pion"][...], correlators["midpoint_pion"][...], rtol=1e-11)
        M = tr.MoebiusDomainWall(U, mass=0.1, Ls=4)
        solve = tr.even_odd(tr.cg(tolerance=1e-11))(M)
        S = solve.propagator(tr.point_source(U.geometry, (0, 0, 0, 0)))
        F = tr.feynman_hellmann_propagator(solve, S, "gamma_z gamma5")
        N = -1j * tr.nucleon_feynman_hellmann(S, F, insertion="up", spin="polarised")[0]
        np.testing.assert_allclose(correlators["fh_A3_UU"][0, 0, 0], N, rtol=0, atol=1e-7 * np.abs(N).max())


def test_run_file_with_complex_coefficients(U: tr.GaugeField, tmp_path: Path) -> None:
    U.write(tmp_path / "configuration.1.ildg")
    text = RUN.replace("Ls = 4", "Ls = 3\nb5 = [[1.3, 0.4], 0.9, [1.3, -0.4]]\nc5 = [[0.3, 0.1]]")
    text = text.replace("conserved_axial = true\n", "").replace('"A3", "V4"', '"V4"')
    (tmp_path / "measure.toml").write_text(text)
    run("measure", "measure.toml", cwd=tmp_path)
    M = tr.MoebiusDomainWall(U, mass=0.1, Ls=3, b5=[1.3 + 0.4j, 0.9, 1.3 - 0.4j], c5=0.3 + 0.1j)
    assert "b5=[(1.3+0.4j), 0.9, (1.3-0.4j)], c5=(0.3+0.1j)" in repr(M)
    solve = tr.even_odd(tr.cg(tolerance=1e-11))(M)
    S = solve.propagator(tr.point_source(U.geometry, (0, 0, 0, 0)))
    with h5py.File(tmp_path / "out" / "correlators.000001.h5") as file:
        pion = file["correlators/pion"]
        np.testing.assert_allclose(pion[0, 0, 0], tr.propagator_norm(S), rtol=1e-7)
        assert pion.attrs["b5"] == "1.3+0.4j 0.9 1.3-0.4j"
        assert pion.attrs["c5"] == "0.3+0.1j"
    for wrong in ("[[1.3, 0.4, 0.2]]", "[1.0, 1.1]", '["1.3+0.4j"]', "[[1.3, nan]]"):
        (tmp_path / "measure.toml").write_text(
            text.replace("[[1.3, 0.4], 0.9, [1.3, -0.4]]", wrong).replace('"out"', '"wrong"')
        )
        assert "b5" in run("measure", "measure.toml", cwd=tmp_path, status=None).stderr


THREE_POINT = """\
[three_point]
currents = ["A3", "V4"]
separations = [1, 2]
[sink]
type = "gaussian"
[smearing]
flow = { time = 0.3 }
[output]
"""


@pytest.mark.slow
def test_run_file_with_both_methods(U: tr.GaugeField, tmp_path: Path) -> None:
    """There are two shifted Gaussian sources on flowed links; the sum over times of the current is N(t)."""
    U.write(tmp_path / "configuration.1.ildg")
    text = RUN.replace("[output]\n", THREE_POINT).replace("1e-9", "1e-11")
    text = text.replace(
        "Ls = 4", 'Ls = 4\n[source]\ntype = "gaussian"\nwidth = 1.2\nsteps = 3\nshift_seed = 2\nshifts = 2'
    )
    (tmp_path / "measure.toml").write_text(text)
    (tmp_path / "both.toml").write_text(
        text.replace("[three_point]", '[three_point]\ninsertion = "separate"')
        .replace("tolerance =", "columns_per_solve = 6\ntolerance =")
        .replace('"out"', '"both"')
    )
    run("measure", "measure.toml", cwd=tmp_path)
    run("measure", "both.toml", cwd=tmp_path)
    with (
        h5py.File(tmp_path / "out" / "correlators.000001.h5") as file,
        h5py.File(tmp_path / "both" / "correlators.000001.h5") as both,
    ):
        sources = np.reshape(file["correlators/pion"].attrs["sources"], (-1, 4))
        assert len(sources) == 2
        smearing = {name: file[f"correlators/{name}"].attrs["sink_smearing"] for name in file["correlators"]}
        assert smearing.pop("midpoint") == smearing.pop("midpoint_pion") == "point"  # sums over walls
        assert smearing.pop("conserved_axial") == "point"
        assert set(smearing.values()) == {"gaussian width=1.2 steps=3"}
        assert sources[0].tolist() != sources[1].tolist()
        for current in ("A3", "V4"):
            N = file[f"correlators/fh_{current}_UU"][...] - file[f"correlators/fh_{current}_DD"][...]
            for t in (1, 2):
                C3 = file[f"correlators/three_point_{current}_t{t:02d}"]
                assert C3.shape == (1, 2, 1, 4)
                assert C3.attrs["type"] == "three_point"
                scale = np.abs(C3[...]).sum(axis=3)
                assert np.all(np.abs(C3[...].sum(axis=3) - N[..., t]) < 1e-8 * scale)
                separate = [
                    both[f"correlators/three_point_{current}_t{t:02d}_{q}"][...] for q in ("UU", "DD")
                ]
                np.testing.assert_allclose(
                    separate[0] - separate[1], C3[...], rtol=0, atol=1e-8 * scale.max()
                )
        flow = tr.GradientFlow(U)
        flow.advance(0.3)
        links = flow.field
        solve = tr.even_odd(tr.cg(tolerance=1e-11))(tr.MoebiusDomainWall(links, mass=0.1, Ls=4))
        S = solve.propagator(tr.gaussian_source(links, sources[1], width=1.2, steps=3))
        C = tr.nucleon(S.smear_sink(links, width=1.2, steps=3))[0]
        np.testing.assert_allclose(
            file["correlators/nucleon"][0, 1, 0], C, rtol=0, atol=1e-8 * np.abs(C).max()
        )


def test_columns_of_a_run_file_reach_the_operator(U: tr.GaugeField) -> None:
    solver = SolverTable(columns_per_solve=6)
    M = make_measured_operator(MeasuredDomainWall(type="domain_wall", mass=0.1, Ls=4), U, solver.columns)
    assert "columns_per_solve=6" in repr(M)
    assert SolverTable().columns == 1


def test_run_file_refuses_separations(U: tr.GaugeField, tmp_path: Path) -> None:
    U.write(tmp_path / "configuration.1.ildg")
    for table, text in (
        ('currents = ["A3"]\nseparations = [4]', "three_point.separations: 4 is not in 1..3"),
        ('currents = ["A3"]', "give currents and separations, or neither"),
        ('currents = ["A3"]\nseparations = [1, 1]', "twice the same"),
    ):
        content = RUN + "[three_point]\n" + table + "\n"
        (tmp_path / "measure.toml").write_text(content)
        message = run("measure", "measure.toml", cwd=tmp_path, status=None).stderr
        assert text in message
        where = "separations = " if "separations = " in table else "[three_point]"
        line = next(n for n, words in enumerate(content.splitlines(), start=1) if words.startswith(where))
        assert f"measure.toml:{line}: three_point" in message
        assert message.count("three_point") == 1


def test_run_file_refuses_what_the_fermion_does_not_take(tmp_path: Path) -> None:
    for old, new, word in (("Ls = 4", "Ls = 4\ncsw = 1.0", "csw"), ('"domain_wall"', '"wilson"', "Ls")):
        (tmp_path / "measure.toml").write_text(RUN.replace(old, new))
        result = run("measure", "measure.toml", cwd=tmp_path, status=None)
        assert word in result.stderr
