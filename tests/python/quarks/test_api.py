"""These tests cover the Python interface: the example of the manual, arrays in and out, solvers as values,
errors."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import re
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from command_line import environment

import trellis as tr

LATTICE = (4, 4, 4, 8)
EXAMPLE = """
U = tr.read_gauge_field("conf.ildg")
M = tr.WilsonClover(U, kappa=0.13, csw=1.0, boundary=(1, 1, 1, -1))
solve = tr.even_odd(tr.mixed_precision(tr.cg(tolerance=1e-10), inner="half"))
S = solve(M).propagator(tr.point_source(U.geometry, (0, 0, 0, 0)))
pion = tr.meson(S, S, "gamma5", "gamma5")
array = S.to_numpy()
print(S.report)
"""


@pytest.fixture(scope="module")
def U() -> tr.GaugeField:
    return tr.quenched(lattice=LATTICE, beta=6.0, seed=1, sweeps=20)


@pytest.fixture(scope="module")
def M(U: tr.GaugeField) -> tr.WilsonClover:
    return tr.WilsonClover(U, kappa=0.13, csw=1.0)


@pytest.fixture(scope="module")
def S(M: tr.WilsonClover) -> tr.Propagator:
    return tr.even_odd(tr.cg(tolerance=1e-12))(M).propagator(tr.point_source(M.geometry, (0, 0, 0, 0)))


def test_the_example_of_the_manual(
    U: tr.GaugeField, S: tr.Propagator, tmp_path: Path, monkeypatch, capsys
) -> None:
    monkeypatch.chdir(tmp_path)
    U.write("conf.ildg")
    names: dict = {"tr": tr}
    exec(EXAMPLE, names)
    pion, array, report = names["pion"], names["array"], names["S"].report
    assert pion.shape == (1, 8)
    assert pion.dtype == np.complex128
    assert np.all(pion.real > 0)
    assert array.shape == (8, 4, 4, 4, 4, 4, 3, 3)
    # The pion is the sum of |S|^2 over a time slice.
    norms = (np.abs(array) ** 2).sum(axis=(1, 2, 3, 4, 5, 6, 7))
    np.testing.assert_allclose(pion[0].real, norms, rtol=1e-13)
    np.testing.assert_allclose(array, S.to_numpy(), atol=1e-9)
    assert report.converged
    assert len(report.relative_residuals) == 12
    assert (report.messages, report.message_bytes) == (0, 0)  # there is one process
    assert report.launches > report.sums > report.iterations
    assert report.largest_residual < 3e-10  # the tolerance is that of the even-odd system
    printed = capsys.readouterr().out
    for part in ("iterations", "true residuals", " s;", "GF/s", "% of the roof", "half inside"):
        assert part in printed


def test_arrays_come_and_go(U: tr.GaugeField) -> None:
    links = U.to_numpy()
    assert links.shape == (8, 4, 4, 4, 4, 3, 3)
    V = tr.GaugeField.from_numpy(links)
    assert V.geometry.extents == LATTICE
    assert np.array_equal(V.to_numpy(), links)
    links[...] = 0  # this is a copy: the field keeps its links
    assert V.plaquette == U.plaquette
    with pytest.raises(tr.BadArgument, match=r"links must have the shape \[8, 4, 4, 4, 4, 3, 3\]"):
        tr.GaugeField.from_numpy(np.zeros((8, 4, 4, 4, 3, 3, 3)), U.geometry)


def test_plaquette_from_the_links(U: tr.GaugeField) -> None:
    links = U.to_numpy()
    axis = (3, 2, 1, 0)  # these are x, y, z, t in the array
    total = 0.0
    for mu in range(4):
        for nu in range(mu + 1, 4):
            a, b = links[..., mu, :, :], links[..., nu, :, :]
            loop = a @ np.roll(b, -1, axis[mu]) @ (b @ np.roll(a, -1, axis[nu])).conj().swapaxes(-1, -2)
            total += np.trace(loop, axis1=-2, axis2=-1).real.mean() / 3
    assert U.plaquette == pytest.approx(total / 6, rel=1e-13)


def test_polyakov_loops_from_the_links(U: tr.GaugeField) -> None:
    links = U.to_numpy()  # the indices are [t, z, y, x, mu, row, column]
    for mu, direction in enumerate("xyzt"):
        line = np.moveaxis(links[..., mu, :, :], 3 - mu, 0)
        product = np.broadcast_to(np.eye(3), line.shape[1:])
        for link in line:
            product = product @ link
        expected = np.trace(product, axis1=-2, axis2=-1).mean() / 3
        assert U.polyakov_loop_along(direction) == pytest.approx(expected, abs=1e-13)
    assert U.polyakov_loop_along("t") == U.polyakov_loop
    with pytest.raises(tr.BadArgument, match="direction must be"):
        U.polyakov_loop_along("w")


def test_quenched_has_the_same_bits_again(U: tr.GaugeField) -> None:
    again = tr.quenched(lattice=LATTICE, beta=6.0, seed=1, sweeps=20)
    other = tr.quenched(lattice=LATTICE, beta=6.0, seed=2, sweeps=20)
    assert np.array_equal(again.to_numpy(), U.to_numpy())
    assert not np.array_equal(other.to_numpy(), U.to_numpy())


def test_starts() -> None:
    assert tr.cold(LATTICE).plaquette == 1.0
    assert abs(tr.hot(LATTICE, seed=1).plaquette) < 0.05
    assert 0.9 < tr.weak_field(LATTICE, seed=1, spread=0.1).plaquette < 1.0
    loops = tr.cold(LATTICE).loops()
    assert loops["rectangle"] == loops["link_trace"] == loops["polyakov_loop"] == 1.0


@pytest.mark.parametrize("format", ["ildg", "scidac", "nersc", "nersc-2row", "milc", "openqcd"])
def test_files(U: tr.GaugeField, tmp_path: Path, format: str) -> None:
    U.write(tmp_path / "conf", format)
    V = tr.read_gauge_field(tmp_path / "conf")
    assert V.report is not None
    assert V.report.ok
    assert V.report.format == format
    tolerance = 1e-6 if V.report.precision_bits == 32 else 1e-14
    np.testing.assert_allclose(V.to_numpy(), U.to_numpy(), atol=tolerance)


def test_operator_is_gamma5_hermitian(M: tr.WilsonClover) -> None:
    rng = np.random.default_rng(1)
    shape = (8, 4, 4, 4, 4, 3)
    psi, chi = (rng.standard_normal(shape) + 1j * rng.standard_normal(shape) for _ in range(2))
    gamma5 = np.array([1, 1, -1, -1])[:, None]
    left = np.vdot(chi, gamma5 * M(psi))
    assert left == pytest.approx(np.vdot(gamma5 * M(chi), psi), rel=1e-12)
    assert np.vdot(chi, M(psi)) == pytest.approx(np.vdot(M.apply(chi, dagger=True), psi), rel=1e-12)


def test_propagator_solves_the_equation(M: tr.WilsonClover, S: tr.Propagator) -> None:
    array = S.to_numpy()
    for spin, colour in ((0, 0), (3, 2)):
        source = M(array[..., spin, :, colour])
        source[0, 0, 0, 0, spin, colour] -= 1
        assert np.abs(source).max() < 1e-11


SOLVERS = [
    tr.cg(),
    tr.bicgstab(),
    tr.gcr(),
    tr.even_odd(tr.cg()),
    tr.even_odd(tr.bicgstab(), form="asymmetric"),
    tr.mixed_precision(tr.gcr(restart_length=8), inner="float"),
    tr.even_odd(tr.mixed_precision(tr.cg(), inner="half"), form="asymmetric"),
    tr.even_odd(tr.mixed_precision(tr.cg(), inner="fp16")),
]


@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
def test_solvers_agree(M: tr.WilsonClover, S: tr.Propagator, solver) -> None:
    found = solver(M).propagator(tr.point_source(M.geometry, (0, 0, 0, 0)))
    assert found.report is not None
    assert found.report.converged
    assert np.abs(found.to_numpy() - S.to_numpy()).max() < 1e-9


def test_one_right_hand_side(M: tr.WilsonClover) -> None:
    b = np.ones((8, 4, 4, 4, 4, 3))
    x, report = tr.mixed_precision(tr.bicgstab(tolerance=1e-11), inner="float")(M).solve(b)
    assert np.linalg.norm(M(x) - b) / np.linalg.norm(b) == pytest.approx(report.largest_residual, rel=1e-3)
    assert report.largest_residual <= 1e-11
    y, through_schur = tr.even_odd(tr.cg(tolerance=1e-11))(M).solve(b)
    assert np.linalg.norm(x - y) < 1e-9 * np.linalg.norm(x)
    assert through_schur.iterations < tr.cg(tolerance=1e-11)(M).solve(b)[1].iterations


def test_bicgstab_survives_an_overflow_of_its_inner_fp16() -> None:
    """Random trials found this: an intermediate column left the range of fp16, and the solve ended."""
    U = tr.quenched(lattice=(4, 2, 2, 2), beta=8, seed=104, sweeps=3)
    M = tr.WilsonClover(U, mass=0.632, csw=1.01, boundary=(-1, 0, 1, 1), link_reals=18)
    source = tr.point_source(U.geometry, (0, 1, 0, 1))
    S = tr.mixed_precision(tr.bicgstab(tolerance=1e-8), inner="fp16")(M).propagator(source)
    assert S.report is not None
    assert S.report.largest_residual <= 1e-8


def test_solvers_are_values() -> None:
    assert tr.cg(tolerance=1e-8) == tr.cg(tolerance=1e-8)
    assert len({tr.even_odd(tr.cg()), tr.even_odd(tr.cg()), tr.even_odd(tr.gcr())}) == 2
    with pytest.raises(dataclasses.FrozenInstanceError):
        tr.cg().tolerance = 1.0
    for make in (
        lambda: tr.cg(tolerance=0),
        lambda: tr.cg(max_iterations=0),
        lambda: tr.gcr(restart_length=0),
        lambda: tr.mixed_precision(tr.cg(), inner="quarter"),
        lambda: tr.mixed_precision(1e-8),
        lambda: tr.even_odd(tr.even_odd(tr.cg())),
        lambda: tr.even_odd(tr.cg(), form="antisymmetric"),
    ):
        with pytest.raises(tr.BadArgument):
            make()


def test_a_missed_tolerance(M: tr.WilsonClover) -> None:
    solve = tr.even_odd(tr.cg(tolerance=1e-12, max_iterations=5))(M)
    source = tr.point_source(M.geometry, (0, 0, 0, 0))
    with pytest.raises(tr.NotConverged, match="after 5 iterations; the largest true residual is") as caught:
        solve.propagator(source)
    report = caught.value.report
    assert isinstance(report, tr.SolveReport)
    assert not report.converged
    assert 1e-12 < report.largest_residual < 1
    reached = solve.propagator(source, allow_not_converged=True)
    timed = ("seconds", "gflops", "conventional_gflops", "gbytes_per_second", "roof_gflops")
    assert reached.report == dataclasses.replace(report, **{k: getattr(reached.report, k) for k in timed})


def test_a_solve_out_of_range_has_not_converged() -> None:
    """The number 1e300 overflows on the way: the Schur complement's source is 0, and x = 0 solves only
    that."""
    U = tr.weak_field((4, 4, 4, 4), seed=3, spread=0.3)
    source = tr.point_source(U.geometry, (0, 0, 0, 0))
    for M in (tr.WilsonClover(U, kappa=1e-300), tr.WilsonClover(U, kappa=0.12, twisted_mass=1e300)):
        with pytest.raises(tr.NotConverged, match=r"Schur complement, but M x = b .* true residual is"):
            tr.even_odd(tr.cg(tolerance=1e-8))(M).propagator(source)


def test_mesons_and_baryons(S: tr.Propagator) -> None:
    momenta = tr.momenta_up_to(1)
    assert len(momenta) == 7
    table = tr.mesons(S, S, [("gamma5", "gamma5"), ("gamma_x", "gamma_x")], momenta=momenta)
    assert table.shape == (2, 7, 8)
    assert np.array_equal(table[0], tr.meson(S, S, "gamma5", "gamma5", momenta=momenta))
    assert tr.all_mesons(S, S).shape == (16, 16, 1, 8)
    assert np.array_equal(tr.all_mesons(S, S)[15, 15], table[0, :1])
    proton = tr.nucleon(S)
    assert proton.shape == (1, 8)
    assert np.all(proton[0, :4].real > 0)
    assert np.array_equal(proton, tr.baryon("proton", up=S, down=S))
    delta = tr.baryon("delta_plus_plus", up=S, form="projected")
    assert np.all(delta[0, :4].real > 0)
    full = tr.baryon("delta_plus_plus", up=S)
    assert np.all(full[0, :4].real > 0)
    assert np.array_equal(tr.baryon("nucleon", up=S, down=S), proton)  # run files have these names
    assert np.array_equal(tr.baryon("delta", up=S), delta)
    assert np.array_equal(tr.baryon("delta_full", up=S), full)
    with pytest.raises(tr.BadArgument, match=r"no baryon 'protron'; legal: proton, .*, omega_minus, nucleon"):
        tr.baryon("protron", up=S, down=S)
    for name in ("sigma_star_zero", "xi_star_minus", "omega_minus"):  # equal quarks make one multiplet
        same = tr.baryon(name, up=S, down=S, strange=S)
        assert np.allclose(same, full, rtol=1e-12, atol=1e-12 * np.abs(full).max())
    for wrong in (
        lambda: tr.meson(S, S, "gamma6", "gamma5"),
        lambda: tr.baryon("proton", up=S),
        lambda: tr.baryon("protron", up=S, down=S),
        lambda: tr.baryon("proton", up=S, down=S, form="half"),
    ):
        with pytest.raises(tr.BadArgument):
            wrong()


def test_smearing_at_source_and_sink(U: tr.GaugeField, M: tr.WilsonClover) -> None:
    """A meson smeared at the source only equals the one smeared at the sink only, summed over space."""
    solve = tr.even_odd(tr.cg(tolerance=1e-12))(M)
    at = (1, 2, 3, 4)
    smeared_source = solve.propagator(tr.gaussian_source(U, at, width=1.0, steps=4))
    with pytest.warns(UserWarning, match="width = 5 in steps = 4: .* take more steps, here at least 38"):
        tr.gaussian_source(U, at, width=5.0, steps=4)
    assert smeared_source.source_at == at
    point = solve.propagator(tr.point_source(U.geometry, at))
    smeared_sink = point.smear_sink(U, width=1.0, steps=4)
    with pytest.warns(UserWarning, match="width = 1 in steps = 1: .* here at least 2"):
        point.smear_sink(U, width=1.0, steps=1)
    # The traces over spin and colour at the source site are sum_y G(x, y) S(y, x) and sum_y S(x, y) G(y, x).
    site = (4, 3, 2, 1)
    left = np.trace(np.trace(smeared_sink.to_numpy()[site], axis1=0, axis2=1))
    right = np.trace(np.trace(smeared_source.to_numpy()[site], axis1=0, axis2=1))
    # gamma5-hermiticity exchanges source and sink and conjugates.
    assert left == pytest.approx(np.conj(right), rel=1e-9)


def test_noise_averages_to_the_pion(U: tr.GaugeField, M: tr.WilsonClover) -> None:
    """In the one-end trick, C(t) of a Z4 wall is the sum of point sources on the slice plus noise of mean
    zero."""
    solve = tr.even_odd(tr.cg(tolerance=1e-10))(M)
    exact = 0
    for n in range(64):
        at = (n % 4, n // 4 % 4, n // 16, 2)
        exact = exact + tr.meson(*2 * [solve.propagator(tr.point_source(U.geometry, at))], "gamma5", "gamma5")
    samples = []
    for index in range(24):
        source = tr.noise_source(U.geometry, seed=5, configuration=0, index=index, time=2)
        S = solve.propagator(source)
        samples.append(tr.meson(S, S, "gamma5", "gamma5")[0].real)
    mean, error = np.mean(samples, axis=0), np.std(samples, axis=0, ddof=1) / np.sqrt(len(samples))
    assert np.all(np.abs(mean - exact[0].real) < 5 * error + 1e-9 * mean)
    assert np.all(error < 0.2 * mean)


WRONG = [
    (lambda U: tr.Geometry((4, 4, 4, 7)), "^lattice 4x4x4x7: extents must be even, or 1$"),
    (lambda U: tr.cold((4, 4, 4, -2)), "^lattice 4x4x4x-2: extents must be even, or 1$"),
    (lambda U: tr.Geometry((4, 4, 4, 8), grid=(2, 1, 1, 1)), "grid"),
    (
        lambda U: tr.WilsonClover(tr.cold((4, 4, 1, 8)), mass=0),
        "quark operator needs .* extent of 1 in direction z$",
    ),
    (
        lambda U: tr.cold((4, 1, 4, 8)).topological_charge,
        "topological charge. needs .* extent of 1 in direction y$",
    ),
    (
        lambda U: tr.cold((1, 4, 4, 8)).stout(rho=0.1, steps=1),
        "made of staples .* extent of 1 in direction x$",
    ),
    (lambda U: tr.WilsonClover(U), "kappa or mass, and not both"),
    (lambda U: tr.WilsonClover(U, kappa=0.1, mass=0.1), "kappa or mass, and not both"),
    (lambda U: tr.WilsonClover(U, kappa=0), "kappa must not be 0"),
    (lambda U: tr.WilsonClover(U, mass=0, boundary=(1, 1, 1)), "boundary must be 4 phases"),
    (lambda U: tr.point_source(U.geometry, (0, 0, 0, 8)), "8"),
    (lambda U: U.write("x", "ildgg"), "ildg, scidac"),
    (lambda U: tr.quenched(LATTICE, beta=-1, seed=1, sweeps=1), "beta"),
    (lambda U: tr.quenched(LATTICE, beta=6, seed=1, start="lukewarm"), "lukewarm"),
    (lambda U: tr.momenta_up_to(-1), "n_squared must be an integer from 0 to .*, found -1"),
    (lambda U: tr.deflated(tr.cg(), U), "eigenvectors must be an Eigenvectors, found GaugeField"),
]


def test_operators_print_what_is_not_the_default(U: tr.GaugeField) -> None:
    assert repr(tr.WilsonClover(U, kappa=0.12, csw=1.5)) == (
        "WilsonClover(kappa=0.12, csw=1.5, boundary=(1, 1, 1, -1))"
    )
    M = tr.WilsonClover(U, mass=0.1, nu=1.2, xi0=3, csw=1, csw_temporal=0.5, twisted_mass=0.01, link_reals=8)
    assert ", nu=1.2, xi0=3, csw_temporal=0.5, twisted_mass=0.01, link_reals=8)" in repr(M)
    assert repr(tr.MoebiusDomainWall(U, mass=0.1)).endswith("Ls=12, M5=1.8)")
    D = tr.MoebiusDomainWall(U, mass=0.1, boundary=(1, 1, 1, 1), link_reals=18, columns_per_solve=2)
    periodic = "boundary=(1, 1, 1, 1)"
    assert repr(D).endswith(f"M5=1.8, {periodic}, link_reals=18, columns_per_solve=2)")
    assert "boundary=(1, 1, 1, 1j))" in repr(tr.WilsonClover(U, mass=0.1, boundary=(1, 1, 1, 1j)))
    assert repr(tr.Staggered(U, mass=0.1)) == "Staggered(mass=0.1, mu_over_ipiT=0)"
    phases = {"boundary": (1, 1, 1, 1), "charge_thirds": 2, "b": (0, 0, 1)}
    assert repr(tr.Staggered(U, mass=0.1, **phases, link_reals=18)) == (
        f"Staggered(mass=0.1, mu_over_ipiT=0, {periodic}, flux={{'xy': 2}}, link_reals=18)"
    )
    assert repr(tr.HISQ(U, mass=0.1)) == "HISQ(mass=0.1, epsilon=0)"
    assert repr(tr.HISQ(U, mass=0.1, mu_over_ipiT=0.3, **phases)) == (
        f"HISQ(mass=0.1, epsilon=0, mu_over_ipiT=0.3, {periodic}, flux={{'xy': 2}})"
    )


def test_solvers_with_operators_and_modes_print_what_they_are(U: tr.GaugeField) -> None:
    M = tr.WilsonClover(U, kappa=0.12)
    assert repr(tr.cg()(M)) == f"Cg(tolerance=1e-10, max_iterations=10000, fallback=True)({M!r})"
    modes = tr.lanczos(M, count=2, even_odd="none", tolerance=1e-3)
    assert re.fullmatch(r"<Eigenvectors 2 of .* on 4x4x4x8, in float>", repr(modes))
    assert repr(modes) in repr(tr.deflated(tr.cg(), modes))


def test_solvers_without_an_operator_say_how_to_bind_them() -> None:
    with pytest.raises(AttributeError, match=r"bound to an operator .*: solver\(M\)\.propagator"):
        tr.even_odd(tr.cg()).propagator  # noqa: B018
    with pytest.raises(AttributeError, match="'Cg' object has no attribute 'tolerence'"):
        tr.cg().tolerence  # noqa: B018
    assert copy.deepcopy(tr.cg()) == pickle.loads(pickle.dumps(tr.cg())) == tr.cg()


def test_files_without_checksums_are_warned_about(U: tr.GaugeField, tmp_path: Path) -> None:
    """There is a warning for each entry of the report; nothing is said about a file that was checked."""
    U.write(tmp_path / "conf.openqcd", "openqcd")
    U.write(tmp_path / "conf.ildg")
    with pytest.warns(UserWarning, match="conf.openqcd: ") as said:
        found = tr.read_gauge_field(tmp_path / "conf.openqcd").report
    assert found is not None
    assert [str(w.message).partition(": ")[2] for w in said] == found.warnings
    assert said[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tr.read_gauge_field(tmp_path / "conf.ildg")


@pytest.mark.parametrize("call, text", WRONG, ids=[text for _, text in WRONG])
def test_bad_arguments(U: tr.GaugeField, call, text: str) -> None:
    with pytest.raises(ValueError, match=text) as caught:  # people expect this, too, who do not know trellis
        call(U)
    assert isinstance(caught.value, tr.BadArgument)


def test_file_errors(U: tr.GaugeField, tmp_path: Path) -> None:
    with pytest.raises(OSError, match="missing"):
        tr.read_gauge_field(tmp_path / "missing")
    U.write(tmp_path / "conf.ildg")
    data = bytearray((tmp_path / "conf.ildg").read_bytes())
    data[len(data) // 2] ^= 1
    (tmp_path / "flipped.ildg").write_bytes(data)
    with pytest.raises(tr.ChecksumError):
        tr.read_gauge_field(tmp_path / "flipped.ildg")
    found = tr.read_gauge_field(tmp_path / "flipped.ildg", report_only=True)
    assert found.report is not None
    assert not found.report.ok
    (tmp_path / "short.ildg").write_bytes(data[: len(data) // 2])
    with pytest.raises(tr.FileError):
        tr.read_gauge_field(tmp_path / "short.ildg")
    with pytest.raises(tr.FileError):
        U.write(tmp_path / "no" / "such" / "folder.ildg")


def test_links_of_32_bits(U: tr.GaugeField, tmp_path: Path) -> None:
    """Such links are in SU(3) to 1e-7; every operator takes them, and chains start from them."""
    U.write(tmp_path / "single.ildg", precision=32)
    V = tr.read_gauge_field(tmp_path / "single.ildg")
    assert 1e-9 < V.loops()["unitarity_violation"] < 1e-5
    W = V.reunitarised()
    assert W.loops()["unitarity_violation"] < 1e-14
    assert np.abs(W.to_numpy() - U.to_numpy()).max() < 1e-6
    tr.Staggered(V, mass=0.1)
    tr.MoebiusDomainWall(V.stout(rho=0.1, steps=1), mass=0.1, Ls=4)
    solve = tr.even_odd(tr.cg(tolerance=1e-10))
    source = tr.point_source(U.geometry, (0, 0, 0, 0))
    S, T = (solve(tr.WilsonClover(links, kappa=0.12)).propagator(source) for links in (V, W))
    assert np.abs(S.to_numpy() - T.to_numpy()).max() < 1e-6
    with pytest.raises(tr.BadArgument, match="cannot be stored as 12 reals; link_reals = 18 takes them"):
        tr.WilsonClover(V, kappa=0.12, link_reals=12)
    far = U.to_numpy() + 1e-4
    with pytest.raises(tr.BadArgument, match="links violate SU"):  # this is no rounding: somebody wants it
        tr.WilsonClover(tr.GaugeField.from_numpy(far, check=False), kappa=0.12)


def test_grids_that_cannot_be(U: tr.GaugeField) -> None:
    with pytest.raises(tr.BadArgument, match="legal grids of 2 ranks: 1x1x2x1 1x2x1x1 2x1x1x1"):
        tr.Geometry((4, 4, 4, 6), grid=(1, 1, 1, 2))
    with pytest.raises(tr.BadArgument, match="no grid of 5 ranks can cut 4x4x4x6"):
        tr.Geometry((4, 4, 4, 6), grid=(1, 1, 1, 5))


PROPAGATOR_FILE = """
import numpy as np, trellis as tr
U = tr.quenched((4, 4, 4, 4), beta=6.0, seed=1, sweeps=2)
S = tr.even_odd(tr.cg())(tr.WilsonClover(U, kappa=0.12)).propagator(tr.point_source(U.geometry, (1, 2, 3, 0)))
S.write("S.h5", run_file="# by hand")
T = tr.read_propagator("S.h5")
assert np.array_equal(T.to_numpy(), S.to_numpy())
assert T.source_at == (1, 2, 3, 0) and T.boundary == S.boundary
V = tr.Propagator.from_numpy(S.to_numpy(), U.geometry, source_at=S.source_at, boundary=S.boundary)
assert np.array_equal(tr.nucleon(V), tr.nucleon(S))
S.write("S.lime", "scidac")
V = tr.read_scidac_propagator("S.lime", U.geometry, source_at=(1, 2, 3, 0))
assert np.array_equal(V.to_numpy(), S.to_numpy())
assert V.boundary == S.boundary
try:
    tr.read_propagator("nothing.h5")
except tr.FileError as error:
    print("refused:", error)
"""


def test_propagator_files(tmp_path: Path) -> None:
    # This runs in a process of its own: this one may have h5py and its HDF5.
    found = subprocess.run(
        [sys.executable, "-c", PROPAGATOR_FILE],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stderr
    assert "refused: " in found.stdout
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "S.h5") as file:
        assert file.attrs["kind"] == b"propagator"
        assert file.attrs["trellis_version"] == tr.__version__
        assert file["propagator"].shape == (4, 4, 4, 4, 4, 4, 3, 3)
        assert file["propagator"].attrs["gamma_basis"] == b"DeGrand-Rossi"


def test_names_are_documented() -> None:
    for name in tr.__all__:
        value = getattr(tr, name)
        assert value.__doc__, name
        assert name in dir(tr)
    with pytest.raises(AttributeError, match="no attribute 'read_gauge'") as error:
        tr.read_gauge  # noqa: B018
    assert (error.value.name, error.value.obj) == ("read_gauge", tr)  # "Did you mean: ..." needs it


def test_completion_offers_public_names_alone() -> None:
    offered = {name for name in dir(tr) if not name.startswith("__")}
    assert offered == {*tr.__all__, *tr._SUBMODULES, "conventions_version"}


def test_version_is_that_of_the_core() -> None:
    from trellis.ground.compiled_core import load

    assert load().build()["version"] == tr.__version__


def test_even_odd_solves_claim_only_what_they_reach(M: tr.WilsonClover) -> None:
    """Double precision cannot reach these: the solves stagnate, however near, and before the iterations run
    out."""
    source = tr.point_source(M.geometry, (0, 0, 0, 0))
    for tolerance in (1e-17, 1e-200):
        with pytest.raises(tr.NotConverged) as caught:
            tr.even_odd(tr.cg(tolerance=tolerance))(M).propagator(source)
        report = caught.value.report
        assert not report.converged
        assert 1e-17 < max(report.relative_residuals) < 1e-14
        assert report.iterations < 1000


def test_sources_of_any_size(M: tr.WilsonClover) -> None:
    b = np.zeros((*LATTICE[::-1], 4, 3), complex)
    b[0, 0, 0, 0, 0, 0] = 1
    x, _ = tr.cg(tolerance=1e-10)(M).solve(b)
    for size in (1e-300, 1e-160, 1e160):
        y, report = tr.cg(tolerance=1e-10)(M).solve(size * b)
        assert report.converged
        np.testing.assert_allclose(y / size, x, atol=1e-9)


def test_links_and_clover_terms_that_no_operator_can_have(U: tr.GaugeField) -> None:
    links = U.to_numpy()
    links[3, 2, 1, 0, 2, 1, 1] = np.nan
    with pytest.raises(tr.BadArgument, match=r"first at \[t, z, y, x, mu\] = \[3, 2, 1, 0, 2\]"):
        tr.GaugeField.from_numpy(links)
    with pytest.raises(tr.NumericError, match=r"clover term is singular.*mass = -4"):
        tr.WilsonClover(tr.cold(LATTICE), mass=-4, csw=1.0)
