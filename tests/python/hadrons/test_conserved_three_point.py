"""These tests cover conserved currents with a fixed sink: sums over their times, charge, run files, ranks,
what is refused."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest
from command_line import run

import trellis as tr
from trellis.run_files import MeasureRun, parse_run_file

EXTENTS = (4, 2, 2, 6)
AT = (3, 0, 1, 2)
V4, A3 = tr.ConservedCurrent("vector", "t"), tr.ConservedCurrent("axial", "z")
SHAMIR, MOEBIUS = {"b5": 1, "c5": 0}, {"b5": 1.5, "c5": 0.5}
DIRICHLET = (1, 1, 1, 0)


@pytest.fixture(scope="module")
def U() -> tr.GaugeField:
    return tr.quenched(lattice=EXTENTS, beta=5.8, seed=4, sweeps=10)


def solved(U: tr.GaugeField, tolerance: float = 1e-13, **options: object) -> tuple:
    M = tr.MoebiusDomainWall(U, **({"mass": 0.15, "Ls": 4, "columns_per_solve": 12} | options))
    solve = tr.even_odd(tr.cg(tolerance=tolerance))(M)
    return solve, solve.propagator(tr.point_source(U.geometry, AT), keep_fields=True)


@pytest.mark.parametrize("coefficients", [SHAMIR, MOEBIUS], ids=["shamir", "moebius"])
@pytest.mark.parametrize(("current", "spin"), [(V4, "unpolarised"), (A3, "polarised")], ids=["V4", "A3"])
def test_feynman_hellmann_is_the_sum_over_times(
    U: tr.GaugeField, coefficients: dict, current: tr.ConservedCurrent, spin: str
) -> None:
    """The sum agrees at every sink time, those that wrap around too, for UU, DD and up - down in one
    solve."""
    solve, S = solved(U, **coefficients)
    F = tr.conserved_current_propagator(solve, S, current=current.kind, direction=current.direction)
    N = {q: tr.nucleon_feynman_hellmann(S, F, insertion=q, spin=spin)[0] for q in ("up", "down")}
    N["isovector"] = N["up"] - N["down"]
    for insertion, separations in (("up", range(6)), ("down", range(6)), ("isovector", (3, 4))):
        C3 = tr.three_point(solve, S, [current], separations=separations, insertion=insertion, spin=spin)
        assert C3.shape == (len(separations), 1, 1, 6)
        scale = np.abs(C3[:, 0, 0]).sum(axis=1)
        deviation = np.abs(C3[:, 0, 0].sum(axis=1) - N[insertion][list(separations)]) / scale
        print(current, insertion, deviation.max())
        assert deviation.max() < 1e-10


@pytest.mark.parametrize("boundary", [DIRICHLET, (1, 1, 1, -1)], ids=["dirichlet", "antiperiodic"])
@pytest.mark.parametrize("coefficients", [SHAMIR, MOEBIUS], ids=["shamir", "moebius"])
def test_charge_between_source_and_sink(U: tr.GaugeField, coefficients: dict, boundary: tuple) -> None:
    """The charge is 2 C(t) on up and C(t) on down at each time, beside what goes around an antiperiodic
    lattice."""
    solve, S = solved(U, boundary=boundary, **coefficients)
    C = tr.nucleon(S)[0]
    for insertion, charge in (("up", 2), ("down", 1)):
        for t in (2, 3):
            C3 = tr.three_point(solve, S, [V4], separations=[t], insertion=insertion)[0, 0, 0]
            around = 0 if boundary == DIRICHLET else C3[t]
            expected = around + charge * C[t] * (np.arange(6) < t)
            np.testing.assert_allclose(C3, expected, rtol=0, atol=1e-10 * np.abs(C[t]))


def test_with_momenta_smeared_sinks_and_local_currents(U: tr.GaugeField) -> None:
    """The order of currents and transfers is that of the call."""
    solve, S = solved(U, **MOEBIUS)
    smearing = {"width": 1.2, "steps": 3}
    smeared = S.smear_sink(U, **smearing)
    q = (1, 0, 0)
    V1 = tr.ConservedCurrent("vector", "x")
    C3 = tr.three_point(
        solve,
        S,
        [V1, "gamma_t", V4],
        separations=[3],
        insertion="up",
        momentum=q,
        momentum_transfers=[(0, 1, 0), q],
        sink_smearing=(U, *smearing.values()),
    )[0, :, 1].sum(axis=1)
    inserted = [
        tr.conserved_current_propagator(solve, S, direction="x", momentum=q),
        tr.feynman_hellmann_propagator(solve, S, "gamma_t", momentum=q),
        tr.conserved_current_propagator(solve, S, direction="t", momentum=q),
    ]
    for found, F in zip(C3, inserted, strict=True):
        N = tr.nucleon_feynman_hellmann(smeared, F.smear_sink(U, **smearing), insertion="up", momenta=[q])
        assert abs(found - N[0, 3]) < 1e-10 * np.abs(N).max()


def test_wilson_twisted_doublet(U: tr.GaugeField) -> None:
    """The conserved vector current of Wilson-type quarks is there, with Y of the other flavour's operator."""
    solves = [
        tr.even_odd(tr.cg(tolerance=1e-13))(
            tr.WilsonClover(U, mass=0.3, csw=1.0, twisted_mass=mu, boundary=DIRICHLET)
        )
        for mu in (0.2, -0.2)
    ]
    up, down = (solve.propagator(tr.point_source(U.geometry, AT)) for solve in solves)
    C = tr.nucleon(up, down=down)[0]
    for insertion, charge in (("up", 2), ("down", 1), ("isovector", 1)):
        C3 = tr.three_point(
            *(solves[0], up, [V4]),
            **{"separations": [3], "insertion": insertion, "down": down, "solve_down": solves[1]},
        )[0, 0, 0]
        np.testing.assert_allclose(C3, charge * C[3] * (np.arange(6) < 3), rtol=0, atol=1e-10 * abs(C[3]))


@pytest.mark.parametrize("anisotropy", [{}, {"nu": 0.9, "xi0": 1.4, "csw_temporal": 0.7}], ids=["1", "xi0"])
def test_ward_identity_of_wilson_quarks(U: tr.GaugeField, anisotropy: dict) -> None:
    """The identity is sum_k -2i sin(q_k / 2) V_k(q, tau) + V_4(q, tau) - V_4(q, tau - 1) = 0 off source and
    sink."""
    M = tr.WilsonClover(U, mass=0.3, csw=1.0, **anisotropy)
    solve = tr.even_odd(tr.cg(tolerance=1e-13))(M)
    S = solve.propagator(tr.point_source(U.geometry, AT))
    currents = [tr.ConservedCurrent("vector", k) for k in ("x", "y", "z", "t")]
    transfers = [(1, 0, 0), (1, 1, 0), (0, 1, 1)]
    C3 = tr.three_point(solve, S, currents, separations=[3], insertion="up", momentum_transfers=transfers)[0]
    sines = -2j * np.sin(np.pi * np.array(transfers) / EXTENTS[:3])
    in_space = np.einsum("qk,kqt->qt", sines, C3[:3])
    in_time = C3[3] - np.roll(C3[3], 1, axis=-1)
    off = [1, 2, 4, 5]
    assert np.abs(in_space[:, off]).max() > 1e-3 * np.abs(C3).max()
    assert np.abs((in_space + in_time)[:, off]).max() < 1e-11 * np.abs(C3).max()


def test_mistakes_are_refused(U: tr.GaugeField) -> None:
    with pytest.raises(tr.BadArgument, match='kind must be "vector" or "axial", found'):
        tr.ConservedCurrent("tensor")  # type: ignore[arg-type]
    with pytest.raises(tr.BadArgument, match="direction must be"):
        tr.ConservedCurrent("vector", "s")  # type: ignore[arg-type]
    fixed = {"separations": [2], "insertion": "up"}
    source = tr.point_source(U.geometry, AT)
    wilson = tr.even_odd(tr.cg())(tr.WilsonClover(U, mass=0.5))
    S = wilson.propagator(source)
    with pytest.raises(tr.BadArgument, match="expected a MoebiusDomainWall, found WilsonClover"):
        tr.three_point(wilson, S, [A3], **fixed)
    solve, S = solved(U, 1e-3)
    Y = solve.propagator(tr.nucleon_sequential_source(S, **{"separation": 2, "insertion": "up"}))
    with pytest.raises(tr.BadArgument, match="keep_fields=True"):
        tr.nucleon_conserved_three_point(solve, Y, S, [V4])
    with pytest.raises(tr.BadArgument, match="keep_fields=True"):
        tr.three_point(solve, solve.propagator(source), [V4], **fixed)
    with pytest.raises(tr.BadArgument, match="currents must be a ConservedCurrent, found str"):
        tr.nucleon_conserved_three_point(solve, S, S, ["gamma_t"])  # type: ignore[list-item]
    with pytest.raises(
        tr.BadArgument, match="sequential: expected a propagator of the solver's own operator"
    ):
        tr.nucleon_conserved_three_point(solve, solved(U, 1e-3, mass=0.2)[1], S, [V4])
    with pytest.raises(tr.BadArgument, match="even Ls, not 3"):
        tr.three_point(*solved(U, 1e-3, Ls=3), [A3], **fixed)
    with pytest.raises(
        tr.BadArgument, match="expected one real b5 and one real c5 for all slices, found Moe"
    ):
        tr.three_point(*solved(U, 1e-3, b5=[1.5, 1.4, 1.4, 1.5]), [V4], **fixed)
    with pytest.raises(tr.BadArgument, match=r"currents must be a list of gamma .* found 'gamma_t'"):
        tr.three_point(solve, S, "gamma_t", **fixed)
    with pytest.raises(tr.BadArgument, match=r"currents must be a list of gamma .* found 'gamma_t'"):
        tr.nucleon_three_point(Y, S, "gamma_t")
    with pytest.raises(
        tr.BadArgument, match="currents must be a list of conserved currents, found Conserved"
    ):
        tr.nucleon_conserved_three_point(solve, S, S, V4)  # type: ignore[arg-type]
    with pytest.raises(tr.BadArgument, match="separations must be a list of times, found 2"):
        tr.three_point(solve, S, ["gamma_t"], separations=2, insertion="up")  # type: ignore[arg-type]


def test_kernels_of_zero_are_refused(U: tr.GaugeField) -> None:
    """With b5 + c5 = 0 currents at the sink are divided by it, and came out as NaN."""
    solve, S = solved(U, 1e-3, b5=0.5, c5=-0.5)
    with pytest.raises(tr.BadArgument, match=r"fixed sink: expected b5 \+ c5 other than 0, found Moebius"):
        tr.three_point(solve, S, [V4], separations=[2], insertion="up")
    with pytest.raises(tr.BadArgument, match=r"axial current at the sink: expected b5 \+ c5 other than 0"):
        solve.propagator(tr.point_source(U.geometry, AT), axial_current=True)


RUN = """\
[configurations]
files = "configuration.1.ildg"
[fermion]
type = "domain_wall"
mass = 0.1
Ls = 4
[solver]
tolerance = 1e-12
inner_precision = "double"
[correlators]
mesons = []
[feynman_hellmann]
currents = ["V4_conserved", "A3_conserved"]
[three_point]
currents = ["V4", "A3_conserved", "V4_conserved", "A3"]
separations = [2, 3]
insertion = "separate"
[output]
directory = "out"
"""


def tables(path: Path) -> dict[str, np.ndarray]:
    with h5py.File(path / "correlators.000001.h5") as file:
        return {name: values[0, 0] for name, values in file["correlators"].items()}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a run of RUN on one rank, in out/."""
    path = tmp_path_factory.mktemp("measured")
    tr.quenched(lattice=(4, 2, 2, 4), beta=5.8, seed=5, sweeps=10).write(path / "configuration.1.ildg")
    (path / "measure.toml").write_text(RUN)
    run("measure", "measure.toml", cwd=path)
    return path


def test_run_file(folder: Path) -> None:
    """Conserved currents stand beside local ones; the sums over times are fh_."""
    found = tables(folder / "out")
    names = ("V4", "V4_conserved", "A3", "A3_conserved")
    labels = {f"three_point_{c}_t{t:02}_{q}" for c in names for t in (2, 3) for q in ("UU", "DD")}
    assert labels == {name for name in found if name.startswith("three_point")}
    for name in ("V4_conserved", "A3_conserved"):
        for quark in ("UU", "DD"):
            N = found[f"fh_{name}_{quark}"]
            for t in (2, 3):
                C3 = found[f"three_point_{name}_t{t:02}_{quark}"][0]
                assert abs(C3.sum() - N[0, t]) < 1e-9 * np.abs(C3).sum()


@pytest.mark.parametrize("grid", ["[2, 1, 1, 1]", "[1, 1, 1, 2]"])
def test_the_same_bits_on_two_ranks(folder: Path, tmp_path: Path, grid: str) -> None:
    text = RUN.replace('"out"', '"two"').replace('"configuration', f'"{folder}/configuration')
    (tmp_path / "two.toml").write_text(text + f"[machine]\ngrid = {grid}\n")
    run("measure", "two.toml", cwd=tmp_path, ranks=2)
    one, two = tables(folder / "out"), tables(tmp_path / "two")
    assert one.keys() == two.keys()
    for name, values in one.items():
        np.testing.assert_array_equal(values, two[name], name)


def test_run_file_without_feynman_hellmann(folder: Path, tmp_path: Path) -> None:
    """The run keeps the 5-D fields just as well, and up - down is one solve."""
    text = RUN.replace('[feynman_hellmann]\ncurrents = ["V4_conserved", "A3_conserved"]\n', "")
    text = text.replace('"V4", "A3_conserved", "V4_conserved", "A3"', '"A3_conserved"')
    text = text.replace('"separate"', '"isovector"').replace('"configuration', f'"{folder}/configuration')
    (tmp_path / "measure.toml").write_text(text)
    run("measure", "measure.toml", cwd=tmp_path)
    isovector = tables(tmp_path / "out")["three_point_A3_conserved_t03"]
    up, down = (tables(folder / "out")[f"three_point_A3_conserved_t03_{q}"] for q in ("UU", "DD"))
    np.testing.assert_allclose(isovector, up - down, rtol=0, atol=1e-9 * np.abs(up).max())


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            "Ls = 4",
            "Ls = 5",
            "A3_conserved belong to a fermion of type domain_wall with an even Ls, found",
        ),
        ('type = "domain_wall"\nmass = 0.1\nLs = 4', 'type = "wilson"\nmass = 0.1', "found type = wilson"),
        ("Ls = 4", "Ls = 4\nb5 = [1.5, 1.4, 1.4, 1.5]", "fixed sink: expected one real b5 and c5, found"),
        ("[output]", '[stored_propagators]\ndirectory = "a"\n[output]', "need the 5-D solution, and files"),
        ('"A3_conserved"', '"A3_conservd"', "A3_conservd"),
    ],
)
def test_run_files_that_are_refused(old: str, new: str, words: str) -> None:
    text = RUN.replace('[feynman_hellmann]\ncurrents = ["V4_conserved", "A3_conserved"]\n', "")
    assert parse_run_file(text, MeasureRun).needs_fields
    with pytest.raises(tr.RunFileError, match=r"three_point\.currents") as raised:
        parse_run_file(text.replace(old, new, 1), MeasureRun)
    assert words in str(raised.value)


def test_wilson_quarks_have_the_vector_current(U: tr.GaugeField, tmp_path: Path) -> None:
    U.write(tmp_path / "configuration.1.ildg")
    quark = 'type = "clover"\nmass = 0.3\ncsw = 1.0\nnu = 0.9\nxi0 = 1.4'
    text = RUN.replace('type = "domain_wall"\nmass = 0.1\nLs = 4', quark)
    text = text.replace(', "A3_conserved"]', "]").replace('"A3_conserved", ', "")
    (tmp_path / "measure.toml").write_text(text)
    run("measure", "measure.toml", cwd=tmp_path)
    found = tables(tmp_path / "out")
    for quark, t in (("UU", 2), ("DD", 3)):
        C3 = found[f"three_point_V4_conserved_t{t:02}_{quark}"][0]
        N = found[f"fh_V4_conserved_{quark}"][0, t]
        assert abs(C3.sum() - N) < 1e-9 * np.abs(C3).sum()
