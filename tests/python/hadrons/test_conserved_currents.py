"""These tests cover conserved currents: derivatives in a U(1) background, the axial one at the source, run
files."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest
from command_line import run

import trellis as tr
from trellis.run_files import MeasureRun, parse_run_file

EXTENTS = (4, 2, 2, 6)
AT = (3, 0, 1, 4)
PHASES = (np.exp(0.7j), 1, np.exp(-0.4j), -1)
PER_SLICE = {
    "b5": [1.6, 1.2 + 0.3j, 1.4, 1.1 - 0.4j, 1.7],
    "c5": [0.6, 0.3 + 0.3j, 0.5, 0.2, 0.4 - 0.2j],
    "Ls": 5,
    "M5": 1.2,
    "nu": 0.9,
    "xi0": 1.4,
}


@pytest.fixture(scope="module")
def U() -> tr.GaugeField:
    return tr.quenched(lattice=EXTENTS, beta=5.8, seed=4, sweeps=10)


def operator(kind: str, U: tr.GaugeField) -> tr.MoebiusDomainWall | tr.WilsonClover:
    if kind != "moebius":
        anisotropy = {"nu": 0.9, "xi0": 1.4} if kind == "anisotropic" else {}
        return tr.WilsonClover(U, mass=0.3, boundary=PHASES, link_reals=18, **anisotropy)
    return tr.MoebiusDomainWall(
        U, mass=0.15, boundary=PHASES, link_reals=18, columns_per_solve=4, **PER_SLICE
    )


def solved(kind: str, U: tr.GaugeField) -> tuple:
    solve = tr.even_odd(tr.cg(tolerance=1e-13))(operator(kind, U))
    return solve, solve.propagator(tr.point_source(U.geometry, AT), keep_fields=kind == "moebius")


def in_background(kind: str, U: tr.GaugeField, theta: np.ndarray, mu: int) -> np.ndarray:
    """Return C(p, t) with U_mu(x) exp(i theta(x))."""
    links = U.to_numpy().copy()
    links[..., mu, :, :] *= np.exp(1j * theta)[..., None, None]
    _, S = solved(kind, tr.GaugeField.from_numpy(links, check=False))
    return tr.nucleon(S, momenta=[(0, 0, 0), (1, 0, 0)])


@pytest.mark.parametrize("kind", ["moebius", "wilson", "anisotropic"])
@pytest.mark.parametrize(("direction", "n", "time"), [("t", (0, 0, 0), None), ("x", (1, 0, 1), 5)])
def test_vector_current_is_the_derivative_in_a_background_phase(
    U: tr.GaugeField, kind: str, direction: str, n: tuple[int, ...], time: int | None
) -> None:
    """The change U -> exp(i theta) U is lambda = -i theta in D -> D - lambda Gamma: dC/dtheta = -i N."""
    solve, S = solved(kind, U)
    F = tr.conserved_current_propagator(solve, S, direction=direction, momentum=n, time=time)
    momenta = [(0, 0, 0), (1, 0, 0)]
    N = sum(tr.nucleon_feynman_hellmann(S, F, insertion=q, momenta=momenta) for q in ("up", "down"))
    mu = "xyzt".index(direction)
    t, z, y, x = np.meshgrid(*(np.arange(L) for L in EXTENTS[::-1]), indexing="ij")
    place = [x - AT[0] + 0.5 * (mu == 0), y - AT[1], z - AT[2]]
    angle = sum(2 * np.pi * k * r / L for k, r, L in zip(n, place, EXTENTS, strict=False))
    here = 1.0 if time is None else (t == time)
    h, derivative = 2e-4, 0
    for weight, factor in ((np.cos(angle), 1), (np.sin(angle), 1j)):
        if np.abs(weight).max() > 0:
            up, down = (in_background(kind, U, sign * h * weight * here, mu) for sign in (1, -1))
            derivative = derivative + factor * (up - down) / (2 * h)
    assert np.abs(N).max() > 1e-4
    np.testing.assert_allclose(-1j * N, derivative, rtol=0, atol=1e-6 * np.abs(N).max())


def test_axial_current_at_the_source(U: tr.GaugeField) -> None:
    """The current that is inserted and brought back to the source is the A_4(t) that the solve contracts
    without inserting."""
    M = tr.MoebiusDomainWall(U, mass=0.15, boundary=PHASES, Ls=4, b5=1.4, c5=0.3, columns_per_solve=6)
    solve = tr.even_odd(tr.cg(tolerance=1e-13), form="asymmetric")(M)
    S = solve.propagator(tr.point_source(U.geometry, AT), keep_fields=True, axial_current=True)
    assert S.axial_current is not None
    gamma5 = np.array([1, 1, -1, -1])
    for t in (0, 3):
        F = tr.conserved_current_propagator(solve, S, current="axial", time=(AT[3] + t) % EXTENTS[3])
        at_source = F.to_numpy()[AT[3], AT[2], AT[1], AT[0]]
        found = np.einsum("s,sscc->", gamma5, at_source)
        assert abs(found - S.axial_current[t]) < 1e-10 * np.abs(S.axial_current).max()


@pytest.fixture(scope="module")
def folder(U: tr.GaugeField, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a run of RUN on one rank, in out/."""
    path = tmp_path_factory.mktemp("measured")
    U.write(path / "configuration.1.ildg")
    (path / "measure.toml").write_text(RUN)
    run("measure", "measure.toml", cwd=path)
    return path


def test_the_same_bits_on_two_ranks(folder: Path) -> None:
    (folder / "two.toml").write_text(RUN.replace('"out"', '"two"'))
    run("measure", "two.toml", cwd=folder, ranks=2)
    with (
        h5py.File(folder / "out" / "correlators.000001.h5") as one,
        h5py.File(folder / "two" / "correlators.000001.h5") as two,
    ):
        for name in one["correlators"]:
            np.testing.assert_array_equal(one["correlators"][name][...], two["correlators"][name][...], name)


def test_mistakes_are_refused(U: tr.GaugeField) -> None:
    solve, S = solved("wilson", U)
    with pytest.raises(tr.BadArgument, match="domain-wall"):
        tr.conserved_current_propagator(solve, S, current="axial")
    with pytest.raises(tr.BadArgument, match=r"momentum\[0\] must be an integer, found 0.9"):
        tr.conserved_current_propagator(solve, S, momentum=(0.9, 0, 0))  # type: ignore[arg-type]
    with pytest.raises(tr.BadArgument, match="direction"):
        tr.conserved_current_propagator(solve, S, direction="s")  # type: ignore[arg-type]
    with pytest.raises(tr.BadArgument, match=r"0\.\.5"):
        tr.conserved_current_propagator(solve, S, time=6)
    with pytest.raises(tr.BadArgument, match=r"time must be an integer, found 1\.5"):
        tr.conserved_current_propagator(solve, S, time=1.5)  # type: ignore[arg-type]
    with pytest.raises(tr.BadArgument, match="keep_fields"):
        solve.propagator(tr.point_source(U.geometry, AT), keep_fields=True)
    solve = tr.even_odd(tr.cg())(operator("moebius", U))
    S = solve.propagator(tr.point_source(U.geometry, AT))
    with pytest.raises(tr.BadArgument, match="keep_fields"):
        tr.conserved_current_propagator(solve, S)
    S = solve.propagator(tr.point_source(U.geometry, AT), keep_fields=True)
    with pytest.raises(tr.BadArgument, match="even Ls"):
        tr.conserved_current_propagator(solve, S, current="axial")


RUN = """\
[configurations]
files = "configuration.1.ildg"
[fermion]
type = "domain_wall"
mass = 0.1
Ls = 4
[solver]
tolerance = 1e-11
[correlators]
mesons = ["pion"]
max_momentum_squared = 1
[feynman_hellmann]
currents = ["V4", "V4_conserved", "A3_conserved"]
momenta = [[0, 0, 0], [1, 0, 0]]
[output]
directory = "out"
"""


def test_run_file(U: tr.GaugeField, folder: Path) -> None:
    solve = tr.even_odd(tr.cg(tolerance=1e-12))(tr.MoebiusDomainWall(U, mass=0.1, Ls=4))
    S = solve.propagator(tr.point_source(U.geometry, (0, 0, 0, 0)), keep_fields=True)
    momenta = tr.momenta_up_to(1)
    with h5py.File(folder / "out" / "correlators.000001.h5") as file:
        names = {n for n in file["correlators"] if n.startswith("fh_")}
        labels = ("V4", "V4_conserved", "A3_conserved")
        assert names == {f"fh_{c}{q}_{f}" for c in labels for q in ("", "_q1_0_0") for f in ("UU", "DD")}
        for name, kind, direction, spin, factor in (
            ("V4_conserved", "vector", "t", "unpolarised", 1),
            ("A3_conserved", "axial", "z", "polarised", -1j),
        ):
            for label, n in (("", (0, 0, 0)), ("_q1_0_0", (1, 0, 0))):
                F = tr.conserved_current_propagator(solve, S, current=kind, direction=direction, momentum=n)
                N = tr.nucleon_feynman_hellmann(S, F, insertion="down", spin=spin, momenta=momenta)
                found = file[f"correlators/fh_{name}{label}_DD"]
                assert found.attrs["type"] == "feynman_hellmann"
                np.testing.assert_allclose(found[0, 0], factor * N, rtol=0, atol=1e-7 * np.abs(N).max())


@pytest.mark.parametrize(
    ("old", "new", "word"),
    [
        ('"A3_conserved"', '"A3_conservd"', "A3_conservd"),
        ("Ls = 4", "Ls = 5", "even Ls"),
        ('type = "domain_wall"\nmass = 0.1\nLs = 4', 'type = "wilson"\nmass = 0.1', "domain_wall"),
        ("[1, 0, 0]]", "[0, 0, 0]]", "twice the same"),
        ("[1, 0, 0]]", "[1, 0]]", "momenta"),
    ],
)
def test_run_files_that_are_refused(old: str, new: str, word: str) -> None:
    with pytest.raises(tr.RunFileError, match=word):
        parse_run_file(RUN.replace(old, new), MeasureRun)
