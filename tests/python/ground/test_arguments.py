"""Unusual arguments of the Python API give typed errors that name the argument, or what NumPy users
expect."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trellis as tr

NAN, INFINITY = math.nan, math.inf
ORIGIN = (0, 0, 0, 0)
ANTIPERIODIC = (1, 1, 1, -1)


class Fields:
    """This class holds the fields, operators and sources on which the calls below work."""

    def __init__(self) -> None:
        self.U = tr.quenched((2, 4, 2, 4), beta=6.0, seed=1, sweeps=2)
        self.other = tr.weak_field((4, 4, 4, 4), seed=1)
        self.geometry = self.U.geometry
        self.M = self.wilson()
        self.source = tr.point_source(self.geometry, ORIGIN)
        self.solve = tr.even_odd(tr.mixed_precision(tr.cg(tolerance=1e-8), inner="half"))
        self.S = self.solve(self.M).propagator(self.source)
        self.of_other = self.solve(tr.WilsonClover(self.other, kappa=0.12)).propagator(
            tr.point_source(self.other.geometry, ORIGIN)
        )
        self.psi = np.random.default_rng(1).normal(size=(4, 2, 4, 2, 4, 3)) + 0.5j

    def wilson(self, **options: Any) -> tr.WilsonClover:
        return tr.WilsonClover(self.U, **{"kappa": 0.12, "csw": 1.0, **options})

    def from_numpy(self, values: Any, at: Any = ORIGIN, boundary: Any = ANTIPERIODIC) -> tr.Propagator:
        return tr.Propagator.from_numpy(values, self.geometry, source_at=at, boundary=boundary)


@pytest.fixture(scope="module")
def fields() -> Fields:
    return Fields()


Call = Callable[[Fields], Any]
#: Each argument that is refused has calls that differ in its value.
REFUSED: dict[str, list[Call]] = {
    "kappa": [lambda f, k=k: f.wilson(kappa=k) for k in (NAN, INFINITY, 0, -0.0, 5e-324, "0.1", 1j, [0.1])],
    "mass": [lambda f, m=m: tr.WilsonClover(f.U, mass=m) for m in (NAN, INFINITY, "0.1", -4.0)],
    "planes": [lambda f, p=p: f.U.wilson_loops(spatial=1, temporal=1, planes=p) for p in (None, 1, "x", [])],
    "kind": [
        lambda f, k=k: tr.noise_source(f.geometry, kind=k, seed=1, configuration=1) for k in (None, 2, "z3")
    ],
    "device": [lambda f, d=d: f.U.to(d) for d in (None, np.zeros(3), "gpu")],
    "U must be a GaugeField": [
        lambda f, make=make, U=U: make(U)
        for U in (None, "U", 1.0)
        for make in (
            lambda U: tr.flow_history(U, time=0.1),
            lambda U: tr.Staggered(U, mass=0.1),
            lambda U: tr.HISQ(U, mass=0.1),
        )
    ],
    "time must be": [lambda f, t=t: tr.flow_history(f.U, time=t) for t in (None, "1", NAN, 1j)],
    "spacing": [lambda f, t=t: tr.flow_history(f.U, time=0.1, spacing=t) for t in (None, "1", NAN, 0)],
    "action": [lambda f, a=a: tr.flow_history(f.U, time=0.1, action=a) for a in (None, [], "iwasaki")],
    "step must be": [lambda f, t=t: tr.flow_history(f.U, time=0.1, step=t) for t in ("1", NAN, 0, -1)],
    "M must be": [lambda f, M=M: tr.lanczos(M, count=1) for M in (None, 1, "M")],
    "count": [lambda f, n=n: tr.lanczos(f.M, count=n) for n in (None, "2", 1.5)],
    "even_odd": [lambda f, e=e: tr.lanczos(f.M, count=1, even_odd=e) for e in (None, True, "odd")],
    "charge_thirds": [lambda f, c=c: tr.Staggered(f.U, mass=0.1, charge_thirds=c) for c in (None, "1", 0.5)],
    "b must be": [lambda f, b=b: tr.Staggered(f.U, mass=0.1, b=b) for b in (None, 1, (1, 2))],
    "S must be a Propagator": [
        lambda f, call=call: call(None)
        for call in (
            lambda S: tr.sequential_source(S, "gamma5"),
            lambda S: tr.nucleon_sequential_source(S, separation=1, insertion="up"),
            tr.propagator_norm,
            tr.residual_mass,
        )
    ],
    "current": [lambda f, c=c: tr.sequential_source(f.S, c) for c in (None, 5)],
    "separation": [
        lambda f, t=t: tr.nucleon_sequential_source(f.S, separation=t, insertion="up") for t in (None, "1")
    ],
    "csw": [lambda f, c=c: f.wilson(csw=c) for c in (NAN, INFINITY, "1", None, 1j)],
    "xi0": [lambda f, x=x: f.wilson(xi0=x) for x in (0, -1, NAN)],
    "nu": [lambda f, x=x: f.wilson(nu=x) for x in (INFINITY, NAN, None)],
    "twisted_mass": [lambda f, x=x: f.wilson(twisted_mass=x) for x in (INFINITY, NAN, 1j)],
    "link_reals": [lambda f, n=n: f.wilson(link_reals=n) for n in (14, 7, "12", 12.0)],
    "boundary": [
        lambda f, b=b: f.wilson(boundary=b)
        for b in (
            (1, 1, 1),
            (1,) * 5,
            (1, 1, 1, NAN),
            (1, 1, 1, INFINITY),
            (1, 1, 1, "x"),
            (1, 1, None, 1),
            (2, 1, 1, 1),
            5,
            None,
            "1111",
        )
    ]
    + [
        lambda f: f.from_numpy(f.S.to_numpy(), boundary=(1, 1, -1)),
        lambda f: tr.Staggered(f.U, mass=0.1, boundary=(1, 1, 1)),
        lambda f: tr.MoebiusDomainWall(f.U, mass=0.1, boundary=(1, 1, 1, NAN)),
    ],
    "U must be": [lambda f, U=U: tr.WilsonClover(U, kappa=0.1) for U in (None, 3, np.ones(3))],
    "tolerance": [lambda f, t=t: tr.cg(tolerance=t) for t in (0, 1, -1, NAN, INFINITY, "x", None)],
    "max_iterations": [lambda f, n=n: tr.bicgstab(max_iterations=n) for n in (0, -1, 1.5, "x", 10**12)],
    "restart_length": [lambda f, n=n: tr.gcr(restart_length=n) for n in (0, 1.5)],
    "relaxation": [lambda f, x=x: tr.mr(relaxation=x) for x in (0, 2, NAN, "x")],
    "update_threshold": [
        lambda f, x=x: tr.mixed_precision(tr.cg(), update_threshold=x) for x in (-1, 1, NAN)
    ],
    "bound to an operator": [
        lambda f, M=M: tr.cg()(M)
        for M in (3, None, tr.cg(), tr.quenched)  # these are no operators
    ]
    + [lambda f: tr.cg()(f.U)],
    "solver takes a solver like tr.cg\\(\\)": [
        lambda f, call=call, s=s: call(tr.Staggered(f.U, mass=0.1), s)
        for call in (
            lambda M, s: M.pion(solver=s),
            lambda M, s: M.solve(np.ones((4, 2, 4, 2, 3)), solver=s),
            lambda M, s: M.observables(n_f=2, vectors=1, seed=1, solver=s),
        )
        for s in (3, "cg", tr.cg, False, [tr.cg()])
    ]
    + [lambda f: tr.HISQ(f.other, mass=0.1).pion(solver=tr.cg()(f.M))],
    "(solve|solve_down) must be a solver bound to its operator": [
        lambda f, call=call, s=s: call(f, s)
        for call in (
            lambda f, s: tr.feynman_hellmann_propagator(s, f.S, "gamma_t"),
            lambda f, s: tr.conserved_current_propagator(s, f.S),
            lambda f, s: tr.three_point(s, f.S, ["gamma_t"], separations=[1], insertion="up"),
            lambda f, s: tr.three_point(
                *(f.solve(f.M), f.S, ["gamma_t"]),
                **{"separations": [1], "insertion": "up", "down": f.S, "solve_down": s},
            ),
        )
        for s in (3, "cg", tr.cg(), tr.cg)
    ],
    "deflated takes": [lambda f, s=s: tr.deflated(s, None) for s in (3, None, tr.cg)],
    "eigenvectors must be": [lambda f, v=v: tr.deflated(tr.cg(), v) for v in (3, None, np.ones(3))],
    "source": [
        lambda f: f.solve(f.M).propagator(ORIGIN),
        lambda f: f.solve(f.M).propagator(tr.point_source(f.other.geometry, ORIGIN)),
        lambda f: f.from_numpy(f.S.to_numpy(), at=(0, 0, 0, 4)),
        *(
            lambda f, at=at: tr.point_source(f.geometry, at)
            for at in ((2, 0, 0, 0), (0, 0, 0, -1), (0, 0, 0, 4))
        ),
    ],
    r"at (must be|\[)|at\[": [
        lambda f, at=at: tr.point_source(f.geometry, at)
        for at in ((0, 0, 0), (0,) * 5, (0.5, 0, 0, 0), "0000", None, (2**40, 0, 0, 0))
    ],
    "geometry": [lambda f: tr.point_source((2, 4, 2, 4), ORIGIN)],
    "time": [lambda f, t=t: tr.wall_source(f.geometry, t) for t in (4, -1, 1.5, None)],
    "momentum": [
        lambda f: tr.wall_source(f.geometry, 0, momentum=(1, 2)),
        lambda f: tr.wall_source(f.geometry, 0, momentum=(0.5, 0, 0)),
        lambda f: f.source.with_momentum((1, 2, 3, 4)),
    ],
    "momenta": [
        lambda f, n=n: tr.meson(f.S, f.S, "gamma5", "gamma5", momenta=n)
        for n in ([], (1, 0, 0), [(1, 0)], [(0.5, 0, 0)], [(NAN, 0, 0)])
    ],
    "width": [
        lambda f, w=w: tr.gaussian_source(f.U, ORIGIN, width=w, steps=5) for w in (NAN, INFINITY, -1, "x")
    ],
    "step": [lambda f, n=n: tr.gaussian_source(f.U, ORIGIN, width=1, steps=n) for n in (0, -1, 1.5)]
    + [lambda f, n=n: f.U.stout(rho=0.1, steps=n) for n in (-1, 1.5)],
    "seed": [
        lambda f, s=s: tr.noise_source(f.geometry, seed=s, configuration=0) for s in (-1, 1.5, 2**64, None)
    ]
    + [lambda f, s=s: tr.hot((2, 2, 2, 2), seed=s) for s in (-1, "a")],
    "quark": [
        lambda f: tr.meson(None, f.S, "gamma5", "gamma5"),
        lambda f: tr.meson(f.S, 3, "gamma5", "gamma5"),
    ],
    "lattice|source": [lambda f: tr.meson(f.S, f.of_other, "gamma5", "gamma5")],
    "pairs": [lambda f, p=p: tr.mesons(f.S, f.S, p) for p in ([], ["gamma5"], None, [("gamma5",) * 3])],
    "name must be": [lambda f, n=n: tr.baryon(n, up=f.S, down=f.S) for n in (None, 3)],
    "no baryon": [lambda f: tr.baryon("protn", up=f.S, down=f.S)],
    "propagator of a baryon is missing": [lambda f: tr.baryon("lambda", up=f.S, down=f.S)],
    "gamma": [
        lambda f, g=g: tr.meson(f.S, f.S, g, "gamma5")
        for g in ("", "gamma6", "gamma5 gamma_w", "\u03b35", None, 5, ["gamma5"])
    ],
    "path": [
        lambda f, call=call, path=path: call(f, path)
        for call in (
            lambda f, path: f.U.write(path),
            lambda f, path: f.S.write(path),
            lambda f, path: f.S.write(path, "scidac"),
            lambda f, path: tr.read_gauge_field(path),
            lambda f, path: tr.read_propagator(path),
            lambda f, path: tr.read_scidac_propagator(path, f.geometry, source_at=ORIGIN),
        )
        for path in (None, 5, "", "a\0b", ["a"])
    ],
    "precision|16 bits": [lambda f, p=p: f.U.write("x.ildg", precision=p) for p in (16, "64", 0, 64.0)],
    "unknown gauge format": [lambda f, w=w: f.U.write("x.ildg", format=w) for w in ("x", None)],
    "guess": [
        lambda f: f.solve(f.M).propagator(f.source, guess=3),
        lambda f: tr.cg()(f.M).solve(f.psi, guess="x"),
    ],
    "psi": [lambda f, a=a: f.M.apply(a) for a in ("abc", [None], np.zeros(3, "i4,f8"))],
    "array|shape": [
        lambda f: f.M.apply(f.psi[:2]),
        lambda f: f.from_numpy(f.S.to_numpy()[0]),
        lambda f: f.from_numpy("x"),
        lambda f: tr.GaugeField.from_numpy(3),
        lambda f: tr.GaugeField.from_numpy(f.U.to_numpy()[..., :2, :]),
        lambda f: tr.GaugeField.from_numpy(f.U.to_numpy(), f.other.geometry),
    ],
    "extent": [
        lambda f, e=e: tr.Geometry(e) for e in ((4, 4, 4), (4, 4, 4, 4.5), "4444", None, (3, 4, 4, 4))
    ],
    "grid": [lambda f, g=g: tr.Geometry((4, 4, 4, 4), g) for g in ((1, 1, 1), "x", (-1, -1, 1, 1))],
    "beta": [lambda f, b=b: tr.quenched((2, 2, 2, 2), beta=b, seed=1, sweeps=1) for b in (NAN, -1, "x")],
    "sweeps": [lambda f, n=n: tr.quenched((2, 2, 2, 2), beta=6, seed=1, sweeps=n) for n in (-1, 1.5)],
}


@pytest.mark.parametrize("text", REFUSED)
def test_refused(fields: Fields, text: str) -> None:
    for call in REFUSED[text]:
        with pytest.raises(tr.BadArgument, match=text):
            call(fields)


def test_names_of_files_that_are_not_utf_8(fields: Fields, tmp_path: Path) -> None:
    """File systems may have such names; an error names the file before the compiled core sees it."""
    name = os.fsencode(tmp_path) + b"/J\xfcrgen"
    calls = (tr.read_gauge_field, fields.U.write, fields.S.write, tr.read_propagator)
    for call in calls:
        with pytest.raises(tr.BadArgument, match=r"file in UTF-8, found '.*J\\udcfcrgen'"):
            call(os.fsdecode(name))


def test_sources_that_are_not_finite(fields: Fields) -> None:
    for bad in (NAN, INFINITY):
        b = fields.psi.copy()
        b[3, 1, 2, 1, 3, 2] = bad
        for solver in (tr.cg(), tr.mixed_precision(tr.cg(), inner="half"), tr.bicgstab(), tr.gcr(), tr.mr()):
            with pytest.raises(tr.NumericError, match="NaN or Inf"):
                solver(fields.M).solve(b)
            with pytest.raises(tr.Error):
                solver(fields.M).solve(fields.psi, guess=b)


def test_links_that_are_not_finite(fields: Fields, tmp_path: Path) -> None:
    """Links that are not finite are refused at the door; had they come in another way, loops would show them,
    and no more."""
    links = fields.U.to_numpy()
    links[1, 0, 1, 0, 2, 0, 0] = NAN
    with pytest.raises(tr.BadArgument, match=r"first at \[t, z, y, x, mu\] = \[1, 0, 1, 0, 2\]"):
        tr.GaugeField.from_numpy(links, fields.geometry)
    U = fields.U.copy()
    U._core.from_numpy(links)
    assert math.isnan(U.plaquette)
    assert math.isnan(U.stout(rho=0.1, steps=1).plaquette)
    for call in (
        lambda: tr.even_odd(tr.cg())(tr.WilsonClover(U, kappa=0.12)).propagator(fields.source),
        lambda: tr.WilsonClover(U, kappa=0.12, csw=1.0),
        lambda: tr.Staggered(U, mass=0.1),
        lambda: tr.MoebiusDomainWall(U, mass=0.1, Ls=4),
        lambda: tr.GradientFlow(U).advance(0.1),
        lambda: U.write(tmp_path / "x.ildg"),
        lambda: fields.solve(fields.M).propagator(tr.gaussian_source(U, (0, 1, 0, 1), width=1, steps=3)),
    ):
        with pytest.raises(tr.Error, match=r"(?i)nan|finite"):
            call()
    assert not list(tmp_path.iterdir())


def test_propagators_that_are_not_finite(fields: Fields, tmp_path: Path) -> None:
    values = fields.S.to_numpy()
    for bad, bits in ((NAN, 64), (INFINITY, 64), (NAN, 32), (1e39, 32)):
        values[0, 1, 0, 1, 2, 3, 1, 0] = bad
        S = fields.from_numpy(values)
        for format in ("hdf5", "scidac"):
            with pytest.raises(tr.BadArgument, match="NaN or Inf"):
                S.write(tmp_path / "x", format, precision=bits)
    assert not list(tmp_path.iterdir())


def test_fields_of_zeros(fields: Fields, tmp_path: Path) -> None:
    U = tr.GaugeField.from_numpy(np.zeros_like(fields.U.to_numpy()), fields.geometry, check=False)
    with pytest.raises(
        tr.NumericError, match=r"not writing .*x.ildg: expected .* 256 of 256 links are not SU"
    ):
        U.write(tmp_path / "x.ildg")
    assert not list(tmp_path.iterdir())
    S = fields.from_numpy(np.zeros_like(fields.S.to_numpy()))
    for format in ("hdf5", "scidac"):
        with pytest.warns(UserWarning, match="x: the propagator that is written has norm 0") as caught:
            S.write(tmp_path / "x", format)
        assert [warning.filename for warning in caught] == [__file__]


def test_arrays_of_other_kinds_mean_the_same(fields: Fields) -> None:
    expected = fields.M.apply(fields.psi)
    same = (
        np.asfortranarray(fields.psi),
        fields.psi[::-1][::-1],
        fields.psi.tolist(),
        fields.psi.astype(">c16"),
    )
    for psi in same:
        assert np.array_equal(fields.M.apply(psi), expected)
    assert np.array_equal(fields.M.apply(fields.psi.real), fields.M.apply(fields.psi.real + 0j))
    links = fields.U.to_numpy()
    assert np.array_equal(tr.GaugeField.from_numpy(np.asfortranarray(links)).to_numpy(), links)
    values = fields.S.to_numpy()
    assert np.array_equal(fields.from_numpy(np.asfortranarray(values)).to_numpy(), values)
    assert np.array_equal(fields.from_numpy(values.astype("c8")).to_numpy(), values.astype("c8"))
    assert tr.point_source(fields.geometry, np.array([1, 2, 1, 3])).at == (1, 2, 1, 3)


def test_complex_and_dirichlet_boundaries(fields: Fields) -> None:
    phases = (np.exp(0.3j), 1, 1j, np.float32(-1))
    M = fields.wilson(boundary=phases)
    assert M.boundary == tuple(complex(p) for p in phases)
    M_psi, dagger = M.apply(fields.psi), M.apply(fields.psi, dagger=True)
    assert np.vdot(fields.psi, M_psi) == pytest.approx(np.vdot(dagger, fields.psi), rel=1e-13)
    assert fields.wilson(boundary=(1, 1, 1, 0)).boundary[3] == 0
    with pytest.raises(tr.errors.BadArgument, match=r"boundary must have factors .* found phases over pi"):
        fields.wilson(boundary=(0, 0, 0, 1))  # run files have this


def test_scales_far_from_one(fields: Fields, tmp_path: Path) -> None:
    """16-bit storage and norms keep up with any source whose square is a number."""
    for factor in (1e-60, 1.0, 1e60):
        for solver in (tr.cg(), tr.mixed_precision(tr.cg(), inner="half")):
            _, report = solver(fields.M).solve(factor * fields.psi)
            assert report.largest_residual < 1e-10
