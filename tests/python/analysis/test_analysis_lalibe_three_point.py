"""These tests cover the three-point layout of lalibe (lalibe_bar3ptfn_w.cc, lalibe_formfac_w.cc)."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest
from test_analysis_fixed_sink import EXTENT, SEPARATIONS, at, ensemble

from trellis.analysis import MeasurementFileError, analyze, fit_fixed_sinks, read_measurements

FACTOR = {"A3": 1j, "V4": 1.0}
OF = {"A3": "A", "V4": "V"}


def group_of(
    flavour: str, spin: str, separation: int, start: int | None = 0, sink: str = "px0_py0_pz0"
) -> str:
    at_start = "" if start is None else f"_t0_{start}"
    return f"proton_{flavour}_{spin}_{spin}{at_start}_tsep_{separation}_sink_mom_{sink}"


def write_three_point(path: Path, C: np.ndarray, inserted: dict[str, np.ndarray], **layout: object) -> None:
    """Write C(t) and C3(t, tau) of one configuration; each of two sources has its own part, 3/2 and 1/2."""
    places = {"x0_y0_z0_t0": (0, 1.5), "x1_y2_z3_t5": (5, 0.5)}
    prefix = layout.get("prefix", "")
    with h5py.File(path, "w") as file:
        for place in places:
            for spin in ("spin_up", "spin_dn"):
                file[f"PS/proton/{spin}/{place}/px0_py0_pz0"] = C / 2 + 0j
        for current, name in OF.items():
            for t in SEPARATIONS:
                for flavour, part in (("UU", 1.5), ("DD", 0.5)):
                    for spin, sign in (("up", 1), ("dn", -1 if current == "A3" else 1)):
                        for place, (start, share) in places.items():
                            values = FACTOR[current] * sign * part * share * inserted[name][t] / 2 + 0j
                            group = group_of(flavour, spin, t, start if layout.get("start", True) else None)
                            write_one(file, f"{prefix}{group}/{current}/{place}", values, start, layout)


def write_one(file: h5py.File, where: str, values: np.ndarray, start: int, layout: dict) -> None:
    if not layout.get("on_all_sites"):
        file[f"{where}/px0_py0_pz0/local_current"] = values.astype(layout.get("type", "complex128"))
        return
    sites = np.zeros((EXTENT, 2, 2, 2, 2))
    sites[:, 1, 0, 1, 0] = np.roll(values.real, start)  # a sum over space gives the correlator
    sites[:, 0, 1, 1, 1] = np.roll(values.imag, start)
    file[f"{where}/4D_correlator/local_current"] = sites


@pytest.mark.parametrize(
    "layout", [{}, {"start": False}, {"on_all_sites": True}, {"prefix": "PS/"}, {"type": "complex64"}]
)
def test_sources_spins_and_flavours(tmp_path: Path, layout: dict) -> None:
    """UU - DD, up minus down of A3 with its -i, and the mean over sources give the numbers that went in."""
    C, inserted = ensemble(3, 2)
    for k in range(3):
        write_three_point(tmp_path / f"c{k}.h5", C[k], {name: v[k] for name, v in inserted.items()}, **layout)
    found = read_measurements(tmp_path)
    assert found.notes == []
    for current, name in OF.items():
        for t in SEPARATIONS:
            uu, dd = (found.correlators[f"three_point_{current}_t{t}_{f}"] for f in ("UU", "DD"))
            assert uu.source_counts.tolist() == [2, 2, 2]
            assert uu.attributes["sink_momentum"] == [0, 0, 0]
            expected = inserted[name][:, t]
            rtol = 1e-6 if layout.get("type") else 1e-13
            np.testing.assert_allclose((uu.values - dd.values)[:, 0].real, expected, rtol=rtol, atol=1e-18)
            assert np.all((uu.values - dd.values).imag == 0)


def test_analyze_fits_the_charges(tmp_path: Path) -> None:
    """Charges by fixed sinks are those of the arrays."""
    C, inserted = ensemble(40, 5)
    for k in range(40):
        write_three_point(tmp_path / f"c{k}.h5", C[k], {name: v[k] for name, v in inserted.items()})
    results = analyze(tmp_path, options={"charges": {"t_max": 7}, "particles": ["nucleon"]})
    expected = fit_fixed_sinks(C, at(inserted), options={"t_max": 7}, is_symmetric=False)
    assert results.nucleon_charges is not None
    assert results.nucleon_charges.fixed_sink is not None
    for name in ("A", "V"):
        found = results.nucleon_charges.fixed_sink.charges[name]
        assert found.value == pytest.approx(expected.charges[name].value, rel=1e-6)
        assert found.error == pytest.approx(expected.charges[name].error, rel=1e-6)


#: These are px0_py0_pz0/local_current of lalibe's own known_results/lalibe_3ptfn.h5 (callat-qcd/lalibe).
OF_LALIBE = {
    "A3": "-1.968299e-07+1.267893e-05j -1.622641e-07+1.654589e-05j -2.031361e-07+2.210736e-05j "
    "-3.507745e-07+2.998356e-05j -6.508929e-07+4.114071e-05j -1.216192e-06+5.717629e-05j "
    "5.403811e-08-2.746403e-06j 1.117617e-07-3.688593e-06j",
    "V4": "1.806537e-05-1.055006e-07j 2.484673e-05+1.926726e-08j 3.367631e-05+1.304166e-07j "
    "4.555662e-05+2.856865e-07j 6.182723e-05+5.588114e-07j 8.447972e-05+1.071577e-06j "
    "-5.862813e-06-6.599249e-07j -7.093781e-06-6.204117e-07j",
}


def test_signs_are_those_of_lalibe_s_own_file(tmp_path: Path) -> None:
    """C of the same quarks is positive, and so are both real correlators from the source to the sink."""
    with h5py.File(tmp_path / "lalibe_3ptfn.h5", "w") as file:
        for current, text in OF_LALIBE.items():
            values = np.array([complex(word) for word in text.split()], dtype=np.complex64)
            for spin, factor in (("up", 1), ("dn", -1 if current == "A3" else 1)):
                where = f"{group_of('UU', spin, 5)}/{current}/x0_y0_z0_t0/px0_py0_pz0/local_current"
                file[where] = factor * values
                file[where].attrs["is_shifted"] = np.int32(1)
        for spin in ("up", "dn"):
            file.create_group(f"{group_of('UU', spin, 5)}/CHROMO_MAG")
        file.create_group(group_of("UU", "up", 5).replace("up_up", "up_dn"))
        file.create_group("proton_np_UU_up_up_tsep_-5_sink_mom_px0_py0_pz0")
    found = read_measurements(tmp_path / "lalibe_3ptfn.h5")
    for current in ("A3", "V4"):
        values = found.correlators[f"three_point_{current}_t5_UU"].values[0, 0]
        assert np.all(values.real[:6] > 0)
        assert np.all(np.abs(values.imag[:6]) < 0.05 * values.real[:6])
    assert found.notes == [
        "lalibe's files: not read: proton_UU_up_dn_t0_0_tsep_5_sink_mom_px0_py0_pz0, "
        "proton_np_UU_up_up_tsep_-5_sink_mom_px0_py0_pz0, three-point functions of CHROMO_MAG"
    ]


def test_sinks_that_move(tmp_path: Path) -> None:
    """Sinks at rest go before others; several others are refused; one of them is read with its momentum."""
    values = np.ones(8) + 0j

    def write(name: str, *sinks: str) -> Path:
        path = tmp_path / name
        with h5py.File(path, "w") as file:
            for sink in sinks:
                for spin in ("up", "dn"):
                    file[f"{group_of('UU', spin, 3, sink=sink)}/V4/x0_y0_z0_t0/px0_py0_pz0/local_current"] = (
                        values
                    )
        return path

    both = read_measurements(write("a.h5", "px0_py0_pz0", "px0_py0_pz-1"))
    assert both.correlators["three_point_V4_t3_UU"].attributes["sink_momentum"] == [0, 0, 0]
    assert "sink_mom_px0_py0_pz-1" in both.notes[0]
    moving = read_measurements(write("b.h5", "px0_py0_pz-1"))
    assert moving.correlators["three_point_V4_t3_UU"].attributes["sink_momentum"] == [0, 0, -1]
    with pytest.raises(MeasurementFileError, match="a sink at rest, or one momentum of the sink"):
        read_measurements(write("c.h5", "px0_py0_pz1", "px0_py0_pz-1"))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"spin": None}, "dn_dn_t0_0_tsep_3.* beside .*up_up.*found nothing there"),
        ({"current": "V3"}, r"currents of .*expected \['V4'\], found \['V3'\]"),
        ({"place": "x1_y0_z0_t0"}, r"sources of .*expected \['x0_y0_z0_t0'\], found \['x1_y0_z0_t0'\]"),
        ({"momentum": "px0_py0_pz1"}, r"momenta of .*expected \['px0_py0_pz0'\]"),
        ({"dataset": "other"}, "expected .*/local_current, found nothing there"),
        ({"values": np.ones(6)}, "expected 8 times, found 6"),
        ({"values": np.full(8, np.nan)}, "expected finite numbers"),
        ({"values": np.ones((8, 2))}, "expected one dimension, two times"),
        ({"values": np.array([b"x"] * 8)}, "expected numbers, found type"),
    ],
)
def test_what_does_not_fit_is_refused(tmp_path: Path, change: dict, said: str) -> None:
    down = {"spin": "dn", "current": "V4", "place": "x0_y0_z0_t0", "momentum": "px0_py0_pz0"}
    down |= {"dataset": "local_current", "values": np.ones(8)} | change
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file[f"{group_of('UU', 'up', 3)}/V4/x0_y0_z0_t0/px0_py0_pz0/local_current"] = np.ones(8)
        if down["spin"]:
            where = "{current}/{place}/{momentum}/{dataset}".format(**down)
            file[f"{group_of('UU', 'dn', 3)}/{where}"] = down["values"]
    with pytest.raises(MeasurementFileError, match=said):
        read_measurements(tmp_path / "a.h5")


def test_fields_on_all_sites_that_are_none(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        for spin in ("up", "dn"):
            where = f"{group_of('UU', spin, 3)}/V4/x0_y0_z0_t0/4D_correlator/local_current"
            file[where] = np.ones((8, 2, 2, 2))
    with pytest.raises(MeasurementFileError, match=r"real numbers \[t\]\[z\]\[y\]\[x\]\[re, im\]"):
        read_measurements(tmp_path / "a.h5")
