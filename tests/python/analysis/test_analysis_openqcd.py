"""These tests build files of openQCD byte for byte as its documents say (main/README.ms3, README.ms4, ms3.c,
modules/archive/sarchive.c), and as pyerrors' reader of ms5_xsf takes them."""

from __future__ import annotations

import struct
from pathlib import Path

import foreign_files as made
import numpy as np
import pytest

import trellis as tr
from trellis.analysis import AnalysisError, ForeignOptions, MeasurementFileError, analyze, read_foreign
from trellis.analysis.records.measurements import Measurements
from trellis.analysis.synthetic import PION

T, L = 8, 4


def read(path: Path | list[Path], stream: str | None = None, **options: object) -> Measurements:
    return read_foreign(path, ForeignOptions(**options), stream)


def flow(count: int, seed: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """Return Y and Q [measurement, flow time, time slice] at flow times 0, 0.2 ... 6, with t^2 E = 0.1 t."""
    rng = np.random.default_rng(seed)
    times = np.arange(31) * 0.2
    energy = 0.1 / np.maximum(times, 0.1) * (1 + 0.02 * rng.standard_normal((count, 1)))
    return L**3 * energy[:, :, None] * np.ones(T), rng.standard_normal((count, 31, T))


def log_of(Y: np.ndarray, Q: np.ndarray, numbers: list[int], word: str = "Configuration") -> str:
    """Return the log of ms3: dn = 2, eps = 0.1, and lines at every third flow time."""
    text = "\nComputation of Wilson flow observables\n\nProgram version openQCD-1.6\n"
    text += f"{T}x{L}x{L}x{L} lattice, {T}x{L}x{L}x{L} local lattice\n1x1x1x1 process grid\n\n"
    text += "Wilson flow:\n3rd order RK integrator\neps = 0.1\nnstep = 60\ndnms = 2\n\n"
    for k, number in enumerate(numbers):
        text += f"{word} no {number}\n"
        for n in range(0, 31, 3):
            y, q = Y[k, n].sum(), Q[k, n].sum()
            text += f"n = {2 * n:3d}, t = {0.2 * n:.2e}, Wact = {y:.6e}, Yact = {y:.6e}, Q = {q: .2e}\n"
        text += f"{word} no {number} fully processed in 1.00e+00 sec (average = 1.00e+00 sec)\n\n"
    return text


def test_data_of_ms3_have_another_name(tmp_path: Path) -> None:
    Y, Q = flow(6)
    (tmp_path / "run.ms3.dat").write_bytes(made.openqcd_flow(2, 0.1, range(6), Y, Y, Q))
    found = read(tmp_path, format="openqcd", spatial_extent=L)
    assert found.lattice == (L, L, L, T)
    np.testing.assert_allclose(found.arrays["flow_energy_clover"].values, Y[:, :, 0] / L**3, rtol=1e-14)


@pytest.mark.parametrize("word", ["Configuration", "Trajectory"])
def test_a_log_has_the_numbers_of_the_data(tmp_path: Path, word: str) -> None:
    """The log needs no spatial extent; its eleven flow times give t0 as the data do."""
    numbers = list(range(4, 84, 4))
    Y, Q = flow(len(numbers))
    (tmp_path / "run.ms.dat").write_bytes(made.openqcd_flow(2, 0.1, numbers, Y, Y, Q))
    (tmp_path / "run.log").write_text(log_of(Y, Q, numbers, word))
    of_log = analyze(tmp_path / "run.log", options={"foreign": {"format": "openqcd"}})
    data = {"foreign": {"format": "openqcd", "spatial_extent": L}}
    of_data = analyze(tmp_path / "run.ms.dat", options=data)
    assert of_log.lattice == of_data.lattice == (L, L, L, T)
    for found in (of_log, of_data):
        assert found.stream is not None
        assert found.stream.flow is not None
        assert found.stream.flow.t0.value == pytest.approx(3.0, rel=0.02)
    assert of_log.stream.flow.t0.value == pytest.approx(of_data.stream.flow.t0.value, rel=2e-3)
    assert of_log.stream.flow.t0.error == pytest.approx(of_data.stream.flow.t0.error, rel=2e-2)
    charges = read(tmp_path / "run.log", format="openqcd").observables["topological_charge"]
    assert charges.trajectories.tolist() == numbers
    np.testing.assert_allclose(charges.values, -Q[:, -1].sum(axis=1), atol=0.05)


def test_slices_at_open_boundaries_are_left_out(tmp_path: Path) -> None:
    Y, Q = flow(6)
    Y[:, :, [0, 1, -1, -2]] *= 5
    (tmp_path / "run.ms.dat").write_bytes(made.openqcd_flow(2, 0.1, range(6), Y, Y, Q))
    found = read(tmp_path, format="openqcd", spatial_extent=L, time_margin=2)
    np.testing.assert_allclose(found.arrays["flow_energy_clover"].values, Y[:, :, 3] / L**3, rtol=1e-14)
    with pytest.raises(AnalysisError, match="less than half of the 8 time slices, found 4"):
        read(tmp_path, format="openqcd", spatial_extent=L, time_margin=4)
    (tmp_path / "run.log").write_text(log_of(Y, Q, list(range(6))))
    with pytest.raises(AnalysisError, match=r"logs have sums over all time slices, found the log .*run.log"):
        read(tmp_path / "run.log", format="openqcd", time_margin=1)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda text: text.replace("eps = 0.1\n", ""), "expected lines with the lattice and with eps"),
        (lambda text: text.replace("Yact", "Zact"), "expected lines 'n = "),
        (lambda text: text.replace("n =   6", "n =   7", 1), "number 2: expected the flow steps"),
        (lambda text: text.replace("no 2", "no 1"), "numbers of trajectories that ascend, found 1 after 1"),
        (lambda text: text.replace("no 1", "no 9"), "numbers of trajectories that ascend, found 2 after 9"),
    ],
)
def test_logs_that_do_not_fit_are_refused(tmp_path: Path, change: object, said: str) -> None:
    Y, Q = flow(2)
    (tmp_path / "run.log").write_text(change(log_of(Y, Q, [1, 2])))
    with pytest.raises(MeasurementFileError, match=said):
        read(tmp_path / "run.log", format="openqcd")


@pytest.mark.parametrize(
    ("numbers", "value", "said"),
    [([1, 1], 1.0, "that ascend, found 1 after 1"), ([1, 2], np.nan, "finite numbers, found others in traj")],
)
def test_data_that_do_not_fit_are_refused(
    tmp_path: Path, numbers: list[int], value: float, said: str
) -> None:
    Y, Q = flow(2)
    Y[1, 5, 2] *= value
    (tmp_path / "run.ms.dat").write_bytes(made.openqcd_flow(2, 0.1, numbers, Y, Y, Q))
    with pytest.raises(MeasurementFileError, match=said):
        read(tmp_path, format="openqcd", spatial_extent=L)


def quark_field(psi: np.ndarray) -> bytes:
    """Return an exported field: psi [t][x][y][z][12], for x3 runs fastest."""
    norm = float(np.sum(np.abs(psi) ** 2))
    return struct.pack("<iiiid", *psi.shape[:4], norm) + np.ascontiguousarray(psi, dtype="<c16").tobytes()


def test_ms4_norms_are_the_pion_of_the_same_quark(tmp_path: Path) -> None:
    """All 12 columns of a point source, as fields of ms4: their sum over columns is our pion.

    ms4's noise has one value of 12 for each site; a mean over the 12 columns therefore counts 12 times, and
    the spatial volume of the source is taken away, which a single site does not fill.
    """
    U = tr.quenched((4, 4, 4, 8), beta=5.7, seed=3, sweeps=2)
    S = tr.even_odd(tr.cg(tolerance=1e-11))(tr.WilsonClover(U, kappa=0.12, csw=1.0)).propagator(
        tr.point_source(U.geometry, (0, 0, 0, 2))
    )
    numbers = S.to_numpy()  # [t, z, y, x, spin sink, spin source, colour sink, colour source]
    for spin in range(4):
        for colour in range(3):
            psi = numbers[:, :, :, :, :, spin, :, colour].transpose(0, 3, 2, 1, 4, 5).reshape(8, 4, 4, 4, 12)
            (tmp_path / f"runn7.s{3 * spin + colour}").write_bytes(quark_field(psi))
    found = read(tmp_path, format="openqcd_ms4", source_time=2)
    assert found.configurations.tolist() == [7]
    assert found.correlators["pion"].source_counts.tolist() == [12]
    pion = tr.meson(S, S, "gamma5", "gamma5")[0].real
    np.testing.assert_allclose(12 * 4**3 * found.correlators["pion"].values[0, 0].real, pion, rtol=1e-10)


def test_noise_of_ms4_is_the_point_source_on_average(tmp_path: Path) -> None:
    """With D = 1 the mean of C(source) over fields is 12: a pion from a point has the trace of 1."""
    rng = np.random.default_rng(5)
    for k in range(40):
        psi = np.zeros((4, 4, 4, 4, 12), dtype=complex)
        psi[1] = (rng.standard_normal((4, 4, 4, 12)) + 1j * rng.standard_normal((4, 4, 4, 12))) / np.sqrt(2)
        (tmp_path / f"runn1.s{k}").write_bytes(quark_field(psi))
    C = read(tmp_path, format="openqcd_ms4", source_time=1).correlators["pion"].values[0, 0]
    assert C[0].real == pytest.approx(12, rel=5 / np.sqrt(40 * 64 * 12))
    assert np.all(C[1:] == 0)


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("runn1.s0", lambda raw: raw[:-16], "size: expected 12312 bytes for a quark field on 4 x 4 x 2 x 2"),
        ("runn1.s0", lambda raw: raw[:10], "header: expected 24 bytes, found 10"),
        ("runn1.s0", lambda raw: raw[:24] + raw[24:40] + raw[24:-16], "square of the norm: expected"),
        ("runn1.s0", lambda raw: struct.pack(">iiiid", 4, 4, 2, 2, 1.0) + raw[24:], "expected four extents"),
        ("run.s0x", lambda raw: raw, "name: expected NAMEnNUMBER.sSOURCE"),
    ],
)
def test_fields_that_do_not_fit_are_refused(tmp_path: Path, name: str, change: object, said: str) -> None:
    psi = np.random.default_rng(1).standard_normal((4, 4, 2, 2, 12)) + 0j
    (tmp_path / name).write_bytes(change(quark_field(psi)))
    with pytest.raises(MeasurementFileError, match=said):
        read(tmp_path / name, format="openqcd_ms4")


KINDS = ("gS", "gP", "gA", "gV", "gVt", "lA", "lV", "lVt", "lT", "lTt")


def xsf(numbers: range, rows: np.ndarray) -> bytes:
    """Return NAME.ms5_xsf_QUARKS.dat: correlator k is (k + 1) (1 + 2i) times the row of its configuration."""
    raw = struct.pack("<ddddii", 0.12, 1.0, 1.0, 1.0, rows.shape[1], 2)
    for number, row in zip(numbers, rows, strict=True):
        values = np.concatenate([(k + 1) * (1 + 2j) * row for k in range(len(KINDS))] + [[1 + 1j, 2 + 2j]])
        raw += struct.pack("<i", number) + values.astype("<c16").tobytes()
    return raw


def test_ms5_xsf(tmp_path: Path) -> None:
    """Two streams of two pairs of quarks have ten correlators each; nothing is folded."""
    rows = PION.samples(12, T, np.random.default_rng(3))
    for stream, part in (("r0", rows[:6]), ("r1", rows[6:])):
        for quarks in ("dd", "ud"):
            path = tmp_path / f"run_{stream}.ms5_xsf_{quarks}.dat"
            path.write_bytes(xsf(range(1, 7), part))
    found = read(tmp_path, stream=r"_(r\d)\.ms5", format="openqcd_ms5_xsf")
    assert set(found.correlators) == {f"{kind}_{quarks}" for kind in KINDS for quarks in ("dd", "ud")}
    assert found.configurations["stream"].tolist() == ["r0"] * 6 + ["r1"] * 6
    np.testing.assert_allclose(found.correlators["gA_ud"].values[:, 0], 3 * (1 + 2j) * rows, rtol=1e-12)
    assert found.correlators["gA_ud"].attributes["boundary_t"] == "dirichlet"
    with pytest.raises(AnalysisError, match=r"stream: expected a regular expression that tells .*r0.*r1"):
        read(tmp_path, format="openqcd_ms5_xsf")
    path = tmp_path / "run_r0.ms5_xsf_dd.dat"
    path.write_bytes(path.read_bytes()[:-8])
    with pytest.raises(MeasurementFileError, match="a file that pyerrors' reader of ms5_xsf takes"):
        read(path, format="openqcd_ms5_xsf")
    with pytest.raises(MeasurementFileError, match=r"name: expected NAME\.ms5_xsf_QUARKS\.dat"):
        read(path.rename(tmp_path / "other.dat"), format="openqcd_ms5_xsf")
