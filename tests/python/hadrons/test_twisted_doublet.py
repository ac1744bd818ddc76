"""These tests cover nucleons of a twisted doublet: up with +mu, down with -mu; currents by both methods, and
as derivatives."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest
from command_line import run

import trellis as tr

MU = 0.15
AT = (1, 0, 1, 3)


@pytest.fixture(scope="module")
def U() -> tr.GaugeField:
    return tr.quenched(lattice=(4, 4, 4, 4), beta=5.7, seed=6, sweeps=5)


class Doublet:
    """This class holds the solvers and propagators of up and down."""

    def __init__(self, U: tr.GaugeField, csw: float, **changes: float) -> None:
        method = tr.even_odd(tr.mixed_precision(tr.cg(tolerance=1e-12)))
        self.up, self.down = (
            method(tr.WilsonClover(U, mass=0.1 + changes.get("mass", 0.0), csw=csw, twisted_mass=mu))
            for mu in (MU + changes.get("mu", 0.0), -MU)
        )
        source = tr.point_source(U.geometry, AT)
        self.S_up, self.S_down = self.up.propagator(source), self.down.propagator(source)


@pytest.fixture(scope="module", params=[0.0, 1.3], ids=["wilson", "clover"])
def doublet(request: pytest.FixtureRequest, U: tr.GaugeField) -> Doublet:
    return Doublet(U, request.param)


@pytest.mark.parametrize(
    ("current", "spin"),
    [("gamma_z gamma5", "polarised"), ("gamma_t", "unpolarised"), ("gamma5", "polarised")],
)
def test_the_sum_over_times_is_that_of_feynman_hellmann(doublet: Doublet, current: str, spin: str) -> None:
    d, n = doublet, {}
    for insertion, solve, S in (("up", d.up, d.S_up), ("down", d.down, d.S_down)):
        F = tr.feynman_hellmann_propagator(solve, S, current)
        N = tr.nucleon_feynman_hellmann(d.S_up, F, insertion=insertion, spin=spin, down=d.S_down)[0]
        C3 = tr.three_point(
            d.up,
            d.S_up,
            [current],
            separations=[1, 2],
            insertion=insertion,
            spin=spin,
            down=d.S_down,
            solve_down=d.down,
        )
        n[insertion] = C3
        for k, t in enumerate((1, 2)):
            assert abs(C3[k, 0, 0].sum() - N[t]) < 1e-9 * np.abs(C3[k]).sum()
    isovector = tr.three_point(
        d.up,
        d.S_up,
        [current],
        separations=[1, 2],
        insertion="isovector",
        spin=spin,
        down=d.S_down,
        solve_down=d.down,
    )
    np.testing.assert_allclose(isovector, n["up"] - n["down"], rtol=0, atol=1e-9 * np.abs(n["up"]).max())


def test_currents_are_derivatives_with_respect_to_the_masses(U: tr.GaugeField, doublet: Doublet) -> None:
    """The currents are D - lambda and D - i lambda gamma5 on up alone, by differences of lambda = +-1e-3
    (error 1e-6)."""
    d, step = doublet, 1e-3
    csw = d.up.operator.csw
    for key, current, factor in (("mass", "1", 1), ("mu", "gamma5", 1j)):
        plus, minus = (
            tr.nucleon(Doublet(U, csw, **{key: sign * step}).S_up, down=d.S_down)[0] for sign in (-1, 1)
        )
        F = tr.feynman_hellmann_propagator(d.up, d.S_up, current)
        N = factor * tr.nucleon_feynman_hellmann(d.S_up, F, insertion="up", down=d.S_down)[0]
        np.testing.assert_allclose(
            (plus - minus) / (2 * step), N, rtol=0, atol=1e-4 * np.abs(N).max(), err_msg=key
        )


def test_one_propagator_for_both_is_named(doublet: Doublet) -> None:
    d = doublet
    both = dict(insertion="up", separation=1)
    for call in (
        lambda: tr.nucleon(d.S_up),
        lambda: tr.nucleon(d.S_up, down=d.S_up),
        lambda: tr.baryon("proton", up=d.S_up, down=d.S_up),
        lambda: tr.nucleon_feynman_hellmann(d.S_up, d.S_up, insertion="up"),
    ):
        with pytest.warns(UserWarning, match=r"twisted_mass = 0\.15: up and down both have this"):
            call()
    for wrong in (None, d.S_up):
        with pytest.raises(tr.BadArgument, match="opposite mu as down"):
            tr.nucleon_sequential_source(d.S_up, down=wrong, **both)
    with pytest.raises(tr.BadArgument, match='expected "up" or "down", found "isovector"'):
        tr.nucleon_sequential_source(d.S_up, down=d.S_down, separation=1, insertion="isovector")
    source = tr.nucleon_sequential_source(d.S_up, down=d.S_down, **both)
    with pytest.raises(tr.BadArgument, match="opposite mu"):  # it is solved with up's own operator
        tr.nucleon_three_point(d.up.propagator(source), d.S_up, ["1"])
    with pytest.raises(tr.BadArgument, match="expected down and solve_down, or neither"):
        tr.three_point(d.up, d.S_up, ["1"], separations=[1], insertion="up", down=d.S_down)


RUN = """\
[configurations]
files = "configuration.1.ildg"
[fermion]
type = "twisted_mass"
mass = 0.1
csw = 1.3
twisted_mass = 0.15
[solver]
tolerance = 1e-11
[source]
positions = [[1, 0, 1, 3]]
[sink]
type = "gaussian"
[source.links]
stout = { rho = 0.1, steps = 1 }
[correlators]
mesons = ["pion"]
baryons = ["nucleon", "delta"]
[feynman_hellmann]
currents = ["A3"]
[three_point]
currents = ["A3"]
separations = [2]
momenta = [[0, 0, 0], [1, 0, 0]]
[output]
directory = "out"
"""


def test_run_files(U: tr.GaugeField, tmp_path: Path) -> None:
    U.write(tmp_path / "configuration.1.ildg")
    (tmp_path / "measure.toml").write_text(RUN)
    (tmp_path / "moving.toml").write_text(
        RUN.replace('"out"', '"moving"').replace("separations", "sink_momentum = [1, 0, 0]\nseparations")
    )
    run("measure", "measure.toml", cwd=tmp_path)
    run("measure", "moving.toml", cwd=tmp_path)
    d, links = Doublet(U, 1.3), U.stout(steps=1, rho=0.1)
    up, down = (S.smear_sink(links, width=2.0, steps=10) for S in (d.S_up, d.S_down))
    F = tr.feynman_hellmann_propagator(d.down, d.S_down, "gamma_z gamma5")
    N = tr.nucleon_feynman_hellmann(
        up,
        F.smear_sink(links, width=2.0, steps=10),
        insertion="down",
        spin="polarised",
        down=down,
    )
    transfers = [(0, 0, 0), (1, 0, 0)]
    C3 = tr.three_point(
        d.up,
        d.S_up,
        ["gamma_z gamma5"],
        separations=[2],
        insertion="isovector",
        spin="polarised",
        momentum=(1, 0, 0),
        momentum_transfers=transfers,
        sink_smearing=(links, 2.0, 10),
        down=d.S_down,
        solve_down=d.down,
    )
    expected = {
        "pion": tr.meson(up, up, "gamma5", "gamma5")[0],
        "nucleon": tr.nucleon(up, down=down)[0],
        "fh_A3_DD": -1j * N[0],
    }
    with h5py.File(tmp_path / "out" / "correlators.000001.h5") as file:
        for name, values in expected.items():
            found = file[f"correlators/{name}"][0, 0, 0]
            np.testing.assert_allclose(found, values, rtol=0, atol=1e-8 * np.abs(values).max(), err_msg=name)
        three = file["correlators/three_point_A3_t02"]
        assert three.shape == (1, 1, 2, 4)
        assert three.attrs["momenta"].tolist() == [0, 0, 0, 1, 0, 0]
        assert three.attrs["sink_momentum"].tolist() == [0, 0, 0]
        assert file["correlators/pion"].attrs["momenta"].tolist() == [0, 0, 0]
        N_UU, N_DD = (file[f"correlators/fh_A3_{q}"][0, 0, 0] for q in ("UU", "DD"))
        assert three[0, 0, 0].sum() == pytest.approx(
            N_UU[2] - N_DD[2], abs=1e-8 * np.abs(three[0, 0, 0]).sum()
        )
        attributes = file["correlators/nucleon"].attrs
        for key, value in {"twisted_mass": 0.15, "nu": 1.0, "xi0": 1.0, "csw_temporal": 1.3}.items():
            assert attributes[key] == value
    with h5py.File(tmp_path / "moving" / "correlators.000001.h5") as file:
        three = file["correlators/three_point_A3_t02"]
        assert three.attrs["sink_momentum"].tolist() == [1, 0, 0]
        np.testing.assert_allclose(three[0, 0], -1j * C3[0, 0], rtol=0, atol=1e-8 * np.abs(C3).max())
