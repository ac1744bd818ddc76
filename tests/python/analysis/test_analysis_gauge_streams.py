"""These tests analyse several files stream.h5 together: streams of one ensemble, and pieces of one chain."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import h5py
import numpy as np
import pytest
from command_line import run

from trellis.analysis import AnalysisError, MeasurementFileError, analyze, read_measurements
from trellis.analysis.records.numbering import numbers_in_streams
from trellis.analysis.statistics.autocorrelation import autocorrelation, gamma_method
from trellis.analysis.stream.flow_scales import scales_of

RUN_FILE = """
[lattice]
extents = [4, 4, 4, 8]
[action]
type = "wilson"
beta = {beta}
[start]
type = "hot"
[random]
seed = {seed}
[[fermions]]
name = "light"
type = "clover"
n_f = 2
kappa = {kappa}
csw = 1.0
rational = {{ tolerance = {tolerance} }}
"""


def chain(count: int, rng: np.random.Generator) -> np.ndarray:
    """Return an autoregressive chain with 2 tau_int = 4."""
    a = 0.6
    values = [rng.standard_normal()]
    for _ in range(count - 1):
        values.append(a * values[-1] + np.sqrt(1 - a * a) * rng.standard_normal())
    return np.array(values)


def write(path: Path, x: np.ndarray, first: int = 1, thermalisation: int = 0, **keys: object) -> Path:
    """Write a stream of plaquettes, flows every second trajectory, charges, loops and traces."""
    count = len(x)
    numbers = np.arange(first, first + count)
    path.parent.mkdir(parents=True, exist_ok=True)
    text = RUN_FILE.format(**({"beta": 5.5, "seed": 1, "kappa": 0.13, "tolerance": 1e-10} | keys))
    with h5py.File(path, "w") as file:
        file.attrs.update(kind="gauge_stream", lattice=[4, 4, 4, 8], thermalisation=thermalisation)
        file.attrs.update(run_file=text, run_file_language=3)
        file["trajectory"] = numbers
        file["observables/plaquette"] = 0.6 + 0.01 * x
        file["observables/seconds"] = 1 + 0.01 * np.abs(x)
        file["observables/seconds.solver"] = 0.5 + 0.01 * np.abs(x)
        for key in ("flops", "bytes", "roof_seconds"):
            file[f"work/solver.{key}"] = np.full(count, 2.0)
        every = slice(1, None, 2)
        times = np.arange(31) * 0.2
        energy = 0.1 / np.maximum(times, 0.1) * (1 + 0.02 * x[every, None])
        area = np.outer([1, 2], [1, 2, 3])
        occasional = {
            "flow_energy_clover": energy,
            "flow_charge_improved": np.repeat(x[every, None], 31, axis=1),
            "wilson_loops": np.exp(-0.3 * area) * (1 + 0.01 * x[every, None, None]),
            "condensate.light": 0.2 + 0.01 * x[every, None] + 0.001 * np.arange(3),
            "number_density.light": 0.01 * x[every] + 0.02j * x[every],
            "susceptibility_connected.light": 0.5 + 0.01 * x[every] + 0j,
            "susceptibility_disconnected.light": 0.1 + 0.01 * x[every] ** 2 + 0j,
        }
        for name, values in occasional.items():
            file[f"occasional/{name}/trajectory"] = numbers[every]
            file[f"occasional/{name}/value"] = values
        file["occasional/flow_energy_clover/axis"] = times
        file["occasional/flow_charge_improved/axis"] = times
    return path


@pytest.fixture
def chains() -> list[np.ndarray]:
    rng = np.random.default_rng(8)
    return [chain(count, rng) for count in (120, 80, 100)]


def test_streams_have_one_mean_and_the_error_of_replicas(chains: list[np.ndarray], tmp_path: Path) -> None:
    """Plaquette, flow, charge, loops and susceptibilities are those of the arrays with names of streams."""
    files = [
        write(tmp_path / f"run_{name}" / "stream.h5", x, seed=k, thermalisation=20)
        for k, (name, x) in enumerate(zip("abc", chains, strict=True))
    ]
    results = analyze(files, output=tmp_path / "out")
    assert "3 streams of gauge generation: run_a, run_b, run_c" in results.notes
    kept = np.concatenate([x[20:] for x in chains])
    names = [f"run_{name}" for name, x in zip("abc", chains, strict=True) for _ in x[20:]]
    numbers = np.concatenate([np.arange(21, len(x) + 1) for x in chains])
    expected = autocorrelation("plaquette", 0.6 + 0.01 * kept, numbers_in_streams(names, numbers))
    found = results.observables["plaquette"]
    assert expected is not None
    assert found.count == 240
    assert found.mean == pytest.approx(np.mean(0.6 + 0.01 * kept), rel=1e-14)  # measurements weigh alike
    assert (found.error, found.tau_int) == pytest.approx((expected.error, expected.tau_int), rel=1e-12)
    assert results.parts["solver"].share == pytest.approx(0.5, abs=0.01)
    of_flow = np.concatenate([x[1::2][10:] for x in chains])
    places = numbers_in_streams(
        [f"run_{name}" for name, x in zip("abc", chains, strict=True) for _ in x[1::2][10:]],
        np.concatenate([np.arange(2, len(x) + 1, 2)[10:] for x in chains]),
    )
    times = np.arange(31) * 0.2
    energy = 0.1 / np.maximum(times, 0.1) * (1 + 0.02 * of_flow[:, None])
    t0 = scales_of(times, places, energy)["t0"]
    assert t0 is not None
    of_t0 = gamma_method("t0", t0)
    assert results.stream is not None
    assert results.stream.flow is not None
    assert results.stream.flow.count == 120
    assert results.stream.flow.t0.value == pytest.approx(of_t0.mean, rel=1e-12)
    assert results.stream.flow.t0.error == pytest.approx(of_t0.error, rel=1e-12)
    assert results.stream.flow.charge_squared.value == pytest.approx(np.mean(of_flow**2), rel=1e-12)
    assert results.stream.loops.loops["1x2"].value == pytest.approx(
        np.exp(-0.6) * np.mean(1 + 0.01 * of_flow), rel=1e-12
    )
    assert results.stream.loops.potential["1x1"].value == pytest.approx(0.3, rel=1e-12)
    assert set(results.stream.derived) == {
        "chiral_susceptibility_disconnected.light",
        "quark_number_susceptibility.light",
    }
    page = (tmp_path / "out" / "report.html").read_text()
    assert (
        "<b>80</b>trajectories or sweeps of stream run_b; the first 20, thermalisation, are left out" in page
    )


def test_the_error_of_streams_is_larger_than_that_of_independent_numbers(tmp_path: Path) -> None:
    """Pulls of the mean of 60 ensembles of three streams are as wide as errors say."""
    rng = np.random.default_rng(1)
    pulls = []
    for k in range(60):
        files = [
            write(tmp_path / f"{k}" / name / "stream.h5", chain(100, rng), seed=seed)
            for seed, name in enumerate("abc")
        ]
        measured = read_measurements(files).observables["plaquette"]
        found = autocorrelation("plaquette", measured.values, measured.trajectories)
        assert found is not None
        pulls.append((found.mean - 0.6) / found.error)
    assert np.std(pulls) == pytest.approx(1.1, abs=0.25)


def test_pieces_and_copies_of_one_chain_are_one_stream(chains: list[np.ndarray], tmp_path: Path) -> None:
    """A copy of a stream that went on adds nothing, beside another stream as well as alone."""
    x, other, _ = chains
    early, late = write(tmp_path / "early.h5", x[:50]), write(tmp_path / "late.h5", x)
    second = write(tmp_path / "second.h5", other, seed=2)
    alone = analyze([early, late])
    assert alone.observables["plaquette"].count == 120
    assert not [note for note in alone.notes if "streams of gauge" in note]
    both = analyze([early, late, second])
    assert both.observables["plaquette"].count == 200
    assert "2 streams of gauge generation: early.h5, second.h5" in both.notes


def test_the_option_names_streams(chains: list[np.ndarray], tmp_path: Path) -> None:
    files = [write(tmp_path / f"r{k}" / "stream.h5", x) for k, x in enumerate(chains)]
    with pytest.raises(MeasurementFileError, match="the option stream gives independent chains their names"):
        analyze(files)  # one seed: they say that they are one chain, and they are none
    results = analyze(files, options={"stream": "/(r[0-9])/"})
    assert results.observables["plaquette"].count == 300
    with pytest.raises(MeasurementFileError, match="expected a stream's name by '/s"):
        analyze(files, options={"stream": "/s([0-9])/"})


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"beta": 5.6}, r"b/stream\.h5: \[action\] of the run file: expected .*5\.5.* found .*5\.6"),
        ({"kappa": 0.131}, r"b/stream\.h5: \[fermions\] of the run file: expected .*0\.13.* found .*0\.131"),
    ],
)
def test_other_ensembles_are_refused(
    chains: list[np.ndarray], tmp_path: Path, change: dict[str, float], said: str
) -> None:
    files = [write(tmp_path / "a" / "stream.h5", chains[0])]
    files.append(write(tmp_path / "b" / "stream.h5", chains[1], seed=2, **change))
    with pytest.raises(MeasurementFileError, match=said):
        analyze(files)
    write(files[1], chains[1], seed=2, tolerance=1e-9)  # how the determinant is made is no physics
    assert analyze(files).observables["plaquette"].count == 200


def test_paths_that_give_no_name_are_said(chains: list[np.ndarray], tmp_path: Path) -> None:
    files = [write(tmp_path / f"{'x' * 70}{k}" / "stream.h5", c, seed=k) for k, c in enumerate(chains)]
    with pytest.raises(AnalysisError, match="stream: expected a regular expression that finds the names"):
        analyze(files)


def test_two_runs_are_analysed_by_the_command(tmp_path: Path) -> None:
    """Two short heat baths with other seeds; the command takes both files stream.h5."""
    for name, seed in (("a", 3), ("b", 4)):
        (tmp_path / f"{name}.toml").write_text(
            "[lattice]\nextents = [2, 2, 2, 4]\n[action]\nbeta = 5.7\n[start]\ntype = 'hot'\n"
            f"[random]\nseed = {seed}\n[heatbath]\nover_relaxation = 1\n"
            "[sweeps]\ntotal = 30\nthermalisation = 10\nkeep_every = 30\ncheckpoint_every = 30\n"
            f"[output]\ndirectory = '{name}'\n"
        )
        run("generate", f"{name}.toml", cwd=tmp_path)
    run("analyze", "a/stream.h5", "b/stream.h5", "--output", "out", cwd=tmp_path)
    page = (tmp_path / "out" / "report.html").read_text()
    assert re.search("2 streams of gauge generation: a, b", page)
    values = []
    for name in "ab":
        with h5py.File(tmp_path / name / "stream.h5") as file:
            values.append(file["observables/plaquette"][10:])
    measured = read_measurements([tmp_path / name / "stream.h5" for name in "ab"]).observables["plaquette"]
    np.testing.assert_array_equal(measured.values, np.concatenate(values))
    shutil.copytree(tmp_path / "a", tmp_path / "copy")
    again = read_measurements([tmp_path / name / "stream.h5" for name in ("a", "b", "copy")])
    assert len(again.observables["plaquette"].values) == 40
