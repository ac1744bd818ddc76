"""These tests build each format of other programs, read it, and find the numbers that went in."""

import sys
from pathlib import Path

import h5py
import numpy as np
import pyerrors
import pytest

from trellis.analysis import AnalysisError, ForeignOptions, MeasurementFileError, analyze, read_foreign
from trellis.analysis.synthetic import PION

sys.path.insert(0, str(Path(__file__).parent))
import foreign_files as made

T, COUNT = 16, 12
NUMBERS = list(range(100, 100 + 10 * COUNT, 10))


@pytest.fixture
def samples():
    return PION.samples(COUNT, T, np.random.default_rng(3))


def read(path, stream=None, **options):
    return read_foreign(path, ForeignOptions(**options), stream)


def test_a_table(samples, tmp_path):
    """A table has real and complex columns, streams and sources; a source at t = 3 is shifted."""
    there = np.roll(samples, 3, axis=1)
    there = there.tolist()
    lines = ["# configuration time stream source pion nucleon.re nucleon.im", "# a comment"]
    for stream in ("a", "b"):
        for k in range(5):
            for t in range(T):
                sign = -1 if t < 3 else 1  # beyond the boundary an antiperiodic baryon changes its sign
                for source in (0, 1):
                    pion, nucleon = (1 + source) * there[k][t], sign * there[k][t]
                    lines.append(f"{k} {t} {stream} {source} {pion!r} {nucleon!r} {2 * nucleon!r}")
    (tmp_path / "all.txt").write_text("\n".join(lines))
    found = read(tmp_path / "all.txt", format="table", source_time=3, types={"nucleon": "baryon"})
    assert found.configurations["stream"].tolist() == ["a"] * 5 + ["b"] * 5
    assert found.correlators["pion"].source_counts.tolist() == [2] * 10
    np.testing.assert_allclose(found.correlators["pion"].values[:5, 0].real, 1.5 * samples[:5], rtol=1e-14)
    np.testing.assert_allclose(found.correlators["nucleon"].values[5:, 0], (1 + 2j) * samples[:5], rtol=1e-14)


def write_chroma(folder, samples):
    """Write a pion and a vector with two momenta, and a nucleon; each configuration has two sources."""
    for number, row in zip(NUMBERS, samples, strict=True):
        pair = made.chroma_xml(
            {15: {(0, 0, 0): row, (0, 0, 1): 0.5 * row}, 1: {(0, 0, 0): -row, (0, 0, 1): -row}},
            {0: {(0, 0, 0): (1 + 0.1j) * row, (0, 0, 1): row}},
        )
        other = made.chroma_xml(
            {15: {(0, 0, 0): 3 * row, (0, 0, 1): row}, 1: {(0, 0, 0): -row, (0, 0, 1): -row}},
            {0: {(0, 0, 0): row, (0, 0, 1): row}},
        )
        (folder / f"hadspec.{number}.xml").write_text(made.chroma_file(pair, other))


def test_chroma(samples, tmp_path):
    write_chroma(tmp_path, samples)
    found = read(tmp_path, format="chroma")
    assert found.configurations.tolist() == NUMBERS
    pion = found.correlators["pion"]
    assert pion.momenta.tolist() == [[0, 0, 0], [0, 0, 1]]
    assert pion.source_counts.tolist() == [2] * COUNT
    np.testing.assert_allclose(pion.values[:, 0].real, 2 * samples, rtol=1e-14)
    np.testing.assert_allclose(pion.values[:, 1].real, 0.75 * samples, rtol=1e-14)
    np.testing.assert_allclose(found.correlators["nucleon"].values[:, 0], (1 + 0.05j) * samples, rtol=1e-14)
    assert found.correlators["rho_x"].momenta.tolist() == [[0, 0, 0], [0, 0, 1]]
    assert found.correlators["nucleon"].attributes["type"] == "baryon"
    options = {"foreign": {"format": "chroma"}, "particles": ["pion"], "max_states": 1, "t_max": 6}
    results = analyze(tmp_path, options=options)
    assert results.particles["pion"].image == 1
    assert results.particles["pion"].source == "gamma5"


def test_chroma_in_lime_and_real_numbers(samples, tmp_path):
    for number, row in zip(NUMBERS, samples, strict=True):
        xml = made.chroma_file(made.chroma_xml({15: {(0, 0, 0): row}}, is_real=True, group="Point_Point"))
        other = b"<?xml version='1.0'?><nothing/>"
        records = [("scidac-file-xml", other), ("hadspec-xml", xml.encode())]
        (tmp_path / f"hadspec.{number}.lime").write_bytes(made.lime_file(records))
    found = read(tmp_path, format="chroma")
    np.testing.assert_array_equal(found.correlators["pion"].values[:, 0].real, samples)
    broken = tmp_path / "hadspec.100.lime"
    broken.write_bytes(broken.read_bytes()[:-20])
    with pytest.raises(MeasurementFileError, match="LIME record at byte"):
        read(tmp_path, format="chroma")


def test_chroma_with_several_sinks_and_masses(samples, tmp_path):
    row = samples[0]
    pairs = [
        made.chroma_xml({15: {(0, 0, 0): row}}, masses=("-0.05", "-0.05"), group="Shell_Shell"),
        made.chroma_xml({15: {(0, 0, 0): row}}, masses=("-0.05", "0.1"), group="Shell_Point"),
    ]
    (tmp_path / "h.7.xml").write_text(made.chroma_file(*pairs))
    names = sorted(read(tmp_path, format="chroma").correlators)
    assert names == ["pion_shell_point_-0.05_0.1", "pion_shell_shell_-0.05_-0.05"]


def test_milc_output_and_files(samples, tmp_path):
    """Both forms are read; all channels but the pion of G5-G5 have a partner of the opposite parity."""
    for number, row in zip(NUMBERS, samples, strict=True):
        text = made.milc_output([("pion5", "p000", "0.05 0.05", row), ("rho", "p100", "0.05 0.05", 2 * row)])
        (tmp_path / f"out.{number}.txt").write_text(text)
        text = made.milc_correlators([("PION_5", "p000", "pion5", row), ("SCALAR", "p000", "G0-G0", -row)])
        (tmp_path / f"corr.{number}.corr").write_text(text)
    output = read(sorted(tmp_path.glob("out.*")), format="milc").correlators
    np.testing.assert_allclose(output["pion5_m0.05_m0.05"].values[:, 0].real, samples, rtol=1e-6)
    assert output["rho_m0.05_m0.05"].momenta.tolist() == [[1, 0, 0]]
    files = read(sorted(tmp_path.glob("corr.*")), format="milc").correlators
    assert set(files) == {"PION_5_m0.05_m0.05", "SCALAR_m0.05_m0.05"}
    np.testing.assert_allclose(files["SCALAR_m0.05_m0.05"].values[:, 0].real, -samples, rtol=1e-6)
    for pion, other in ((output["pion5_m0.05_m0.05"], output["rho_m0.05_m0.05"]),
                        (files["PION_5_m0.05_m0.05"], files["SCALAR_m0.05_m0.05"])):  # fmt: skip
        assert "partner" not in pion.attributes
        assert other.attributes["partner"] == "opposite parity"


def test_hadrons(samples, tmp_path):
    """pyerrors reads; times of the lattice become times from the source; numbers may be irregular."""
    numbers = [*NUMBERS[:-1], 999]
    for number, row in zip(numbers, np.roll(samples, 2, axis=1), strict=True):
        mesons = [("Gamma5", "Gamma5", row), ("GammaX", "GammaX", -row), ("Gamma5", "GammaTGamma5", 2 * row)]
        made.write_hadrons(tmp_path / f"mesons.{number}.h5", mesons)
    found = read(tmp_path, format="hadrons", source_time=2)
    assert found.configurations.tolist() == numbers
    assert set(found.correlators) == {"pion", "rho_x", "gamma5_gamma_tgamma5"}
    np.testing.assert_allclose(found.correlators["pion"].values[:, 0].real, samples, rtol=1e-12)
    mixed = found.correlators["gamma5_gamma_tgamma5"].attributes
    assert (mixed["source"], mixed["sink"]) == ("gamma5", "gamma_t gamma5")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda f: f.move("meson/meson_1", "meson/meson_7"), "expected meson_0 to meson_1, found"),
        (
            lambda f: f["meson/meson_1"].attrs.__setitem__("gamma_snk", [b"GammaZ"]),
            "rho_x at momentum .* expected it on all 3 configurations, found none on 1 of them, the first 2",
        ),
        (lambda f: f.move("meson", "other"), "/meson/meson_0: expected a group"),
        (lambda f: f["meson/meson_0"].__delitem__("corr"), "expected numbers .time., found no dataset"),
        (None, "expected an HDF5 file, found .*truncated file"),
    ],
)
def test_hadrons_files_that_do_not_fit_are_refused(samples, tmp_path, change, said):
    """A file that is damaged, or has other mesons than the rest, is named."""
    for number, row in zip((1, 2, 3), samples, strict=False):
        made.write_hadrons(
            tmp_path / f"m.{number}.h5", [("Gamma5", "Gamma5", row), ("GammaX", "GammaX", row)]
        )
    path = tmp_path / "m.2.h5"
    if change is None:
        path.write_bytes(path.read_bytes()[:1000])
    else:
        with h5py.File(path, "a") as file:
            change(file)
    with pytest.raises(MeasurementFileError, match=said):
        read(tmp_path, format="hadrons")


def test_sfcf(samples, tmp_path):
    """Two replicas with the same numbers are streams; nothing is folded."""
    for stream, rows in (("r0", samples[:6]), ("r1", samples[6:])):
        for number, row in enumerate(rows, start=1):
            made.write_sfcf(tmp_path, stream, number, {"f_A": row, "f_P": 2 * row})
    sfcf = {"prefix": "test", "names": ["f_A", "f_P"], "version": "2.0c"}
    found = read(tmp_path, format="sfcf", sfcf=sfcf)
    assert found.configurations["stream"].tolist() == ["r0"] * 6 + ["r1"] * 6
    assert found.configurations["number"].tolist() == [1, 2, 3, 4, 5, 6] * 2
    np.testing.assert_allclose(found.correlators["f_P"].values[:, 0].real, 2 * samples, rtol=1e-12)
    assert found.correlators["f_A"].attributes["boundary_t"] == "dirichlet"


def flow(rng, count):
    """Return Y of t^2 E = 0.1 t with noise, on flow times 0, 0.2 ... 6 and 4 time slices of 4^3 sites."""
    times = np.arange(31) * 0.2
    energy = 0.1 / np.maximum(times, 0.1) * (1 + 0.02 * rng.standard_normal((count, 1)))
    Y = 64 * energy[:, :, None] * np.ones(4)
    return times, Y, rng.standard_normal((count, 31, 4))


def test_openqcd_flow(tmp_path):
    """t0 is that of pyerrors' own reader, and the charge is minus the sum over time slices."""
    rng = np.random.default_rng(9)
    _, Y, Q = flow(rng, 20)
    trajectories = range(4, 84, 4)
    path = tmp_path / "flowr0.ms.dat"
    path.write_bytes(made.openqcd_flow(2, 0.1, trajectories, Y, Y, Q))
    options = {"foreign": {"format": "openqcd", "spatial_extent": 4}}
    results = analyze(path, options=options)
    reference = pyerrors.input.openQCD.extract_t0(str(tmp_path), "flow", 4, 0, 4)
    reference.gamma_method()
    t0 = results.stream.flow.t0
    assert t0.value == pytest.approx(3.0, rel=0.03)
    assert t0.value == pytest.approx(reference.value, rel=1e-3)  # they interpolate differently
    assert t0.error == pytest.approx(reference.dvalue, rel=0.05)
    charges = read(path, **options["foreign"]).observables["topological_charge"]
    np.testing.assert_allclose(charges.values, -Q[:, -1].sum(axis=1), rtol=1e-14)
    assert charges.trajectories.tolist() == list(trajectories)


def test_openqcd_streams(tmp_path):
    rng = np.random.default_rng(9)
    for name in ("r0", "r1"):
        _, Y, Q = flow(rng, 10)
        (tmp_path / f"flow{name}.ms.dat").write_bytes(made.openqcd_flow(2, 0.1, range(10), Y, Y, Q))
    options = {"format": "openqcd", "spatial_extent": 4}
    found = read(tmp_path, stream="(r[0-9]+).ms", **options)
    assert (
        found.observables["topological_charge"].trajectories["stream"].tolist() == ["r0"] * 10 + ["r1"] * 10
    )
    with pytest.raises(AnalysisError, match="gives each of several files its name"):
        read(tmp_path, **options)


def test_the_symmetry_can_be_said(samples, tmp_path):
    lines = ["configuration time pion"]
    lines += [f"{k} {t} {float(samples[k, t])!r}" for k in range(COUNT) for t in range(T)]
    (tmp_path / "t.csv").write_text("\n".join(lines).replace(" ", ","))
    foreign = {"format": "table", "symmetry": {"pion": 0}}
    results = analyze(tmp_path, options={"foreign": foreign, "max_states": 1, "t_max": 6})
    assert results.particles["pion"].image == 0
    with pytest.raises(
        AnalysisError, match=r"symmetry and types: expected names among \['pion'\], found \['rho'\]"
    ):
        read(tmp_path, format="table", symmetry={"rho": 1})


@pytest.mark.parametrize(
    ("format", "name", "content", "said"),
    [
        ("table", "a.txt", "", "columns: expected a first line with configuration, time"),
        ("table", "a.txt", "configuration time\n1 0", "columns: expected a first line with configuration"),
        ("table", "a.txt", "configuration time x\n1 0", "line 2: expected 3 words"),
        ("table", "a.txt", "configuration time x\n1 0 1.0\n1 0 2.0", "line 3: expected each time once"),
        (
            "table",
            "a.txt",
            "configuration time x\n1 0 1.0\n1 2 2.0",
            "configuration 1, source 0: expected the times 0 to 2, found none at t = 1",
        ),
        ("table", "a.txt", "configuration time x\n1 0 one", "line 2: expected a number, found 'one'"),
        (
            "table",
            "a.txt",
            "configuration time x\n1 0 1\n1 1 nan",
            "expected finite numbers .*1 not finite, the first at t = 1, on configuration 1",
        ),
        ("table", "a.txt", "configuration time x\n1 0 1e80\n1 1 1", r"found 2 of them, the largest 1.0e\+80"),
        (
            "table",
            "a.txt",
            "configuration time x/y\n1 0 1\n1 1 1",
            "names of correlators: expected .* found 'x/y'",
        ),
        ("table", "a.txt", f"configuration time x\n{1 << 63} 0 1", "expected a whole number of 64 bits"),
        (
            "table",
            "a.txt",
            "configuration time x\n1 0 1\n1 1 2\n1 2 2\n2 0 1\n2 1 1",
            "x: expected 3 times, .* found 2 on configuration 2",
        ),
        ("chroma", "a.1.xml", "<hadspec>", "expected XML"),
        ("chroma", "a.1.xml", "<hadspec/>", "expected an element Wilson_hadron_measurements"),
        ("milc", "a.1.txt", "nothing", "expected blocks STARTPROP"),
        ("milc", "a.1.txt", "STARTPROP\nSINKS: x\n0 1 1\n", "expected ENDPROP behind it"),
        ("milc", "a.1.txt", "STARTPROP\nSINKS: x\n0 1 1\n2 1 1\nENDPROP", "from t = 0 on"),
        ("milc", "a.1.txt", "STARTPROP\nMOMENTUM: q\nSINKS: x\n0 1 1\nENDPROP", "expected pXYZ, found 'q'"),
        ("hadrons", "a.h5", "x", "name: expected NAME.NUMBER.h5"),
        ("openqcd", "a.ms.dat", "x", "header: expected 20 bytes, found 1"),
        ("openqcd", "a.ms.dat", "x" * 40, "header: expected dn, nn, tmax and eps"),
    ],
)
def test_what_is_no_such_file_is_refused(format, name, content, said, tmp_path):
    (tmp_path / name).write_text(content)
    with pytest.raises(MeasurementFileError, match=said):
        read(tmp_path, format=format, spatial_extent=4)


def test_a_source_that_is_in_two_tables_is_refused(samples, tmp_path):
    """Tables of two streams without names would be taken for two sources of the same configurations."""
    for name in ("a", "b"):
        lines = ["configuration time pion"]
        lines += [f"{k} {t} {float(samples[k, t])!r}" for k in range(5) for t in range(T)]
        (tmp_path / f"{name}.txt").write_text("\n".join(lines))
    with pytest.raises(MeasurementFileError, match=r"found source 0 of configuration 0 again .*a\.txt"):
        read(tmp_path, format="table")
    found = read(tmp_path, format="table", stream=r"([ab])\.txt")
    assert len(found.configurations) == 10


def test_configurations_that_lack_a_correlator_are_named(samples, tmp_path):
    write_chroma(tmp_path, samples)
    short = made.chroma_file(made.chroma_xml({15: {(0, 0, 0): samples[0]}}))
    (tmp_path / "hadspec.120.xml").write_text(short)
    with pytest.raises(MeasurementFileError, match="expected it on all 12 configurations, found none on 1"):
        read(tmp_path, format="chroma")


def test_what_a_format_needs_is_asked_for(tmp_path):
    with pytest.raises(AnalysisError, match=r"foreign\.sfcf: expected prefix and names"):
        read(tmp_path, format="sfcf")
    with pytest.raises(AnalysisError, match=r"expected files that end in \.xml or \.lime"):
        read(tmp_path, format="chroma")
    (tmp_path / "a.ms.dat").write_bytes(b"")
    with pytest.raises(AnalysisError, match=r"foreign\.spatial_extent: expected L"):
        read(tmp_path, format="openqcd")
