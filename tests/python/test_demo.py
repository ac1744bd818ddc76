"""trellis demo on a smaller lattice, and every number of its results.json from its HDF5 files.

With TRELLIS_DEMO naming the folder of a finished demo, the numbers of that one are recomputed too.
"""

from __future__ import annotations

import importlib.resources
import json
import os
from pathlib import Path

import h5py
import numpy as np
import pytest
from command_line import run

from trellis.analysis import AnalysisOptions, analyze
from trellis.run_files import GenerateRun, MeasureRun, parse_run_file

SMALLER = {
    "generate.toml": [
        ("extents = [8, 8, 8, 16]", "extents = [4, 4, 4, 16]"),
        ("total = 1160", "total = 140"),
        ("thermalisation = 200", "thermalisation = 20"),
        ("keep_every = 20", "keep_every = 10"),
    ],
    "measure.toml": [
        ("kappa = 0.1365", "kappa = 0.1250"),
        ("width = 4.0", "width = 1.0"),
    ],
    "analyze.toml": [("first_trajectory = 201", "first_trajectory = 21")],
}


def demo_file(name: str) -> str:
    text = (importlib.resources.files("trellis.commands") / "demo_files" / name).read_text()
    return text.replace("@folder@", "demo")


def test_the_demo_s_run_files_are_valid() -> None:
    generation = parse_run_file(demo_file("generate.toml"), GenerateRun)
    measurement = parse_run_file(demo_file("measure.toml"), MeasureRun)
    assert generation.lattice.extents == (8, 8, 8, 16)
    assert measurement.configurations.files == "demo/ensemble/configuration.*.ildg"


@pytest.fixture(scope="module")
def demo(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("small") / "demo"
    folder.mkdir()
    for name, changes in SMALLER.items():
        text = demo_file(name)
        for old, new in changes:
            assert old in text, (name, old)
            text = text.replace(old, new)
        (folder / name).write_text(text)
    found = run("demo", cwd=folder.parent)
    assert "What to do next" in found.stdout
    assert "pion" in found.stdout
    return folder


def test_outputs(demo: Path) -> None:
    report = (demo / "report.html").read_text()
    assert report.lstrip().lower().startswith("<!doctype html")
    assert "http://" not in report.split("<style", 1)[0]
    results = json.loads((demo / "results.json").read_text())
    assert {"pion", "rho", "nucleon"} <= set(results["particles"]) | set(results["not_fitted"])
    assert "pion" in results["particles"]
    assert results["configurations"]["count"] == 12
    assert len(results["provenance"]["run_files"]) == 2


def test_again_takes_no_new_work(demo: Path) -> None:
    before = (demo / "correlators" / "correlators.000030.h5").stat().st_mtime_ns
    found = json.loads(run("demo", "--json", cwd=demo.parent).stdout)
    assert found["generate"]["resumed_from"] == 140
    assert found["measure"]["skipped"] == 12
    assert (demo / "correlators" / "correlators.000030.h5").stat().st_mtime_ns == before


@pytest.fixture(params=["small", *(["TRELLIS_DEMO"] if "TRELLIS_DEMO" in os.environ else [])])
def finished(request) -> Path:
    if request.param == "small":
        return request.getfixturevalue("demo")
    return Path(os.environ["TRELLIS_DEMO"])


def load_results(folder: Path) -> dict:
    return json.loads((folder / "results.json").read_text())


def correlators(folder: Path) -> tuple[list[int], dict[str, np.ndarray]]:
    """Numbers of the configurations, and name -> [configuration, time] at zero momentum."""
    numbers, values = [], {}
    for path in sorted((folder / "correlators").glob("*.h5")):
        with h5py.File(path) as file:
            numbers += file["configurations"][()].tolist()
            for name, dataset in file["correlators"].items():
                values.setdefault(name, []).append(dataset[0, :, 0].mean(axis=0).real)
    return numbers, {name: np.array(rows) for name, rows in values.items()}


def test_configurations(finished: Path) -> None:
    results = load_results(finished)
    numbers, _ = correlators(finished)
    assert results["configurations"]["numbers"] == numbers
    assert results["configurations"]["count"] == len(numbers)


def test_mean_correlators_and_effective_masses(finished: Path) -> None:
    results = load_results(finished)
    _, values = correlators(finished)
    for name, particle in results["particles"].items():
        if name.endswith("_parity_partner"):
            continue
        rows = np.mean([values[member] for member in particle["members"]], axis=0)
        series = particle["correlator"]
        np.testing.assert_allclose(series["value"], rows.mean(axis=0), rtol=1e-12)
        factor = particle["autocorrelation_factor"]
        error = rows.std(axis=0, ddof=1) * np.sqrt(factor / len(rows))
        np.testing.assert_allclose(series["error"], error, rtol=1e-10)
        mean = rows.mean(axis=0)
        for x, mass in zip(particle["effective_mass"]["x"], particle["effective_mass"]["value"], strict=True):
            t = int(x - 0.5)
            if particle["image"] == 0:
                assert mass == pytest.approx(np.log(mean[t] / mean[t + 1]), rel=1e-9)
            else:  # cosh of the folded correlator: C(t) / C(t+1) = cosh(m (T/2 - t)) / cosh(m (T/2 - t - 1))
                folded = (mean + np.roll(mean[::-1], 1)) / 2
                half = len(mean) / 2
                ratio = np.cosh(mass * (half - t)) / np.cosh(mass * (half - t - 1))
                assert ratio == pytest.approx(folded[t] / folded[t + 1], rel=1e-7)


def test_observables(finished: Path) -> None:
    results = load_results(finished)
    first = results["options"]["first_trajectory"]
    with h5py.File(finished / "ensemble" / "stream.h5") as file:
        keep = file["trajectory"][()] >= first
        plaquette = file["observables/plaquette"][()][keep]
        polyakov = file["observables/polyakov_loop"][()][keep]
    found = results["observables"]
    assert found["plaquette"]["count"] == len(plaquette)
    series = {
        "plaquette": plaquette,
        "polyakov_loop_real": polyakov.real,
        "polyakov_loop_imag": polyakov.imag,
        "polyakov_loop_abs": np.abs(polyakov),
    }
    assert set(found) == set(series)
    for name, values in series.items():
        assert found[name]["mean"] == pytest.approx(values.mean(), rel=1e-10), name
        naive = values.std(ddof=1) / np.sqrt(len(values))
        assert found[name]["naive_error"] == pytest.approx(naive, rel=0.02), name
        inflated = naive * np.sqrt(2 * found[name]["tau_int"])
        assert found[name]["error"] == pytest.approx(inflated, rel=0.05), name


def test_solves(finished: Path) -> None:
    columns: dict[str, list[float]] = {}
    for path in sorted((finished / "correlators").glob("*.h5")):
        with h5py.File(path) as file:
            for name in ("iterations", "relative_residual", "seconds", "gflops"):
                columns.setdefault(name, []).extend(file[f"solves/{name}"][()].ravel())
            solver = file["solves"].attrs["solver"]
    found = load_results(finished)["solves"]
    assert found["solver"] == solver
    assert found["solves"] == len(columns["iterations"])
    assert found["iterations_median"] == np.median(columns["iterations"])
    assert found["iterations_max"] == max(columns["iterations"])
    assert found["relative_residual_max"] == max(columns["relative_residual"])
    assert found["seconds_total"] == pytest.approx(sum(columns["seconds"]), rel=1e-12)
    assert found["gflops_median"] == pytest.approx(np.median(columns["gflops"]), rel=1e-12)


def test_masses_again(finished: Path, tmp_path: Path) -> None:
    """The same fits from the same files give the same numbers."""
    results = load_results(finished)
    again = analyze(
        [finished / "correlators", finished / "ensemble" / "stream.h5"],
        output=tmp_path,
        options=AnalysisOptions.model_validate(results["options"]),
    )
    assert set(again.particles) == set(results["particles"])
    for name, particle in again.particles.items():
        stored = results["particles"][name]
        for key in ("mass", "mass_error", "statistical_error", "model_error"):
            assert getattr(particle, key) == pytest.approx(stored[key], rel=1e-6), (name, key)
    for name, ratio in again.ratios.items():
        a, b = name.split("/")
        assert ratio.value == pytest.approx(again.particles[a].mass / again.particles[b].mass, rel=1e-12)
        assert results["ratios"][name]["value"] == pytest.approx(ratio.value, rel=1e-6)


def test_model_average(finished: Path) -> None:
    """Masses are the weighted means of the scanned fits."""
    for name, particle in load_results(finished)["particles"].items():
        weights = np.array([fit["weight"] for fit in particle["scan"]])
        masses = np.array([fit["mass"] for fit in particle["scan"]])
        assert weights.sum() == pytest.approx(1, rel=1e-9)
        assert particle["mass"] == pytest.approx(weights @ masses, rel=1e-9), name
        total = np.hypot(particle["statistical_error"], particle["model_error"])
        assert particle["mass_error"] == pytest.approx(total, rel=1e-9)
