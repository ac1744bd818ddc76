"""These tests run trellis demo --small, and compute every number of its results.json from its HDF5 files.

With TRELLIS_DEMO naming the folder of a finished demo, the numbers of that one are recomputed too.
"""

from __future__ import annotations

import importlib.resources
import json
import os
import shutil
import tomllib
from pathlib import Path
from types import SimpleNamespace

import h5py
import numpy as np
import pytest
from command_line import run
from scipy.optimize import least_squares

from trellis.analysis import AnalysisOptions, analyze
from trellis.commands.demo import _activation, _ranks
from trellis.run_files import GenerateRun, MeasureRun, parse_run_file

#: There are two tasks of gauge fields, 4 parts of 3 configurations, 6 of one, and two analyses.
TASKS = 2 + 4 + 6 + 2

#: These are the numbers at the top of results.json.
HEADLINE = {
    f"{name}{error}"
    for name in ("g_a_over_g_v", "z_v", "tau_n", "m_pi", "m_nucleon", "m_res")
    for error in ("", "_error")
}


def demo_file(name: str) -> str:
    text = (importlib.resources.files("trellis.commands") / "demo_files" / name).read_text()
    return text.replace("@folder@", "demo")


def test_the_demo_s_run_files_are_valid() -> None:
    generation = parse_run_file(demo_file("generate.toml"), GenerateRun)
    measurement = parse_run_file(demo_file("measure.toml"), MeasureRun)
    assert generation.lattice.extents == (8, 8, 8, 16)
    assert measurement.configurations.files == "demo/ensemble/configuration.*.ildg"
    charges = parse_run_file(demo_file("charges.toml"), MeasureRun)
    parse_run_file(demo_file("charge_fields.toml"), GenerateRun)
    assert charges.feynman_hellmann.currents == charges.three_point.currents == ["A3", "V4"]


@pytest.fixture(scope="module")
def demo(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("small") / "demo"
    found = run("demo", "--small", cwd=folder.parent)
    assert "What to do next" in found.stdout
    first = (folder / "hadrons/report.html").resolve()
    assert f"masses of pion, rho and nucleon are there: open {first}" in found.stdout
    assert "pion" in found.stdout
    return folder


def test_what_next_begins_with_what_the_prompt_lacks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The program ./bootstrap demo runs .venv/bin/python in a shell that has no trellis."""
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr("sys.executable", str(tmp_path / ".venv/bin/python"))
    monkeypatch.chdir(tmp_path)
    assert _activation() == ""
    (tmp_path / ".venv/bin").mkdir(parents=True)
    (tmp_path / ".venv/bin/activate").touch()
    assert _activation() == "  have trellis at the prompt   source .venv/bin/activate\n"
    (tmp_path / "trellis").touch(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert _activation() == ""


def test_what_next_starts_ranks_where_the_build_has_mpi(monkeypatch: pytest.MonkeyPatch) -> None:
    for library, words in (("Open MPI v4.1.4", "mpirun -n 2 "), ("none", "")):
        core = SimpleNamespace(communication_library=lambda library=library: library)
        monkeypatch.setattr("trellis.commands.demo.load", lambda core=core: core)
        assert _ranks() == words


def test_a_file_in_the_place_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "demo").touch()
    found = run("demo", cwd=tmp_path, status=1)
    assert found.stderr == "error: --output: demo cannot be made: expected a folder, found a file\n"


@pytest.mark.slow
def test_outputs(demo: Path) -> None:
    report = (demo / "report.html").read_text()
    assert report.lstrip().lower().startswith("<!doctype html")
    assert "http://" not in report.split("<style", 1)[0]
    results = json.loads((demo / "results.json").read_text())
    assert {"pion", "rho", "nucleon"} <= set(results["particles"]) | set(results["not_fitted"])
    assert "pion" in results["particles"]
    assert results["configurations"]["count"] == 12
    assert len(results["provenance"]["run_files"]) == 2


def test_the_masses_come_before_the_charge(demo: Path) -> None:
    """The analysis of masses waits for no charge, and for no other task that is ready."""
    tasks = {task["name"]: task for task in tomllib.loads((demo / "campaign.toml").read_text())["task"]}
    first = next(task for name, task in tasks.items() if name.startswith("hadrons-analysis-"))
    assert first["after"]
    assert all(name.startswith("hadrons-correlators-") for name in first["after"])
    assert first["priority"] > max(task["priority"] for task in tasks.values() if task is not first)
    results = json.loads((demo / "hadrons/results.json").read_text())
    assert "pion" in results["particles"]
    assert results["companion"] is None
    last = json.loads((demo / "results.json").read_text())
    assert results["particles"]["pion"]["mass"] == pytest.approx(last["particles"]["pion"]["mass"], rel=1e-12)


def test_status_and_report_of_its_campaign(demo: Path) -> None:
    """The commands work from its folder, and from where it was started."""
    for folder, name in ((demo, "campaign.toml"), (demo.parent, "demo/campaign.toml")):
        found = json.loads(run("campaign", "status", name, "--json", cwd=folder).stdout)
        assert found["tasks"] == {"done": TASKS}
        figures = json.loads(run("campaign", "report", name, "--json", cwd=folder).stdout)
        assert figures["counts"]["done"] == figures["tasks"] == TASKS
        page = (folder / figures["page"]).read_text()
        assert "hadrons-correlators-30-50" in page


def test_again_takes_no_new_work(demo: Path) -> None:
    before = (demo / "correlators" / "correlators.000030.h5").stat().st_mtime_ns
    found = json.loads(run("demo", "--json", cwd=demo.parent).stdout)
    assert found["tasks"] == {"done": TASKS}
    assert found["attempts"] == 0
    assert (demo / "correlators" / "correlators.000030.h5").stat().st_mtime_ns == before


@pytest.mark.slow
def test_killed_it_goes_on_where_it_was(demo: Path, tmp_path: Path) -> None:
    """A configuration without a result is measured again, and nothing else; new options give a new
    analysis."""
    shutil.copytree(demo, tmp_path / "demo")
    correlators = tmp_path / "demo/correlators"
    (correlators / "correlators.000140.h5").unlink()
    kept = (correlators / "correlators.000030.h5").stat().st_mtime_ns
    claims = tmp_path / "demo/demo.state/claims"
    for path in claims.rglob("hadrons-correlators-120-140.*.done"):
        path.unlink()  # this is as if its manager had been killed meanwhile
    found = json.loads(run("demo", "--json", cwd=tmp_path).stdout)
    assert found["attempts"] == 1
    assert Path(found["first_report"]).samefile(tmp_path / "demo/hadrons/report.html")
    assert (correlators / "correlators.000140.h5").exists()
    assert (correlators / "correlators.000030.h5").stat().st_mtime_ns == kept
    with open(tmp_path / "demo/analyze.toml", "a") as file:
        file.write("# changed\n")
    assert json.loads(run("demo", "--json", cwd=tmp_path).stdout)["attempts"] == 2


def test_changed_run_files_are_refused(demo: Path, tmp_path: Path) -> None:
    shutil.copytree(demo, tmp_path / "demo")
    path = tmp_path / "demo/measure.toml"
    path.write_text(path.read_text().replace("width = 1.0", "width = 1.5"))
    failed = run("demo", cwd=tmp_path, status=1)
    assert "measure.toml in demo changed since the demo ran there" in failed.stderr


@pytest.fixture(params=["small", *(["TRELLIS_DEMO"] if "TRELLIS_DEMO" in os.environ else [])])
def finished(request) -> Path:
    if request.param == "small":
        return request.getfixturevalue("demo")
    return Path(os.environ["TRELLIS_DEMO"])


def load_results(folder: Path) -> dict:
    return json.loads((folder / "results.json").read_text())


def correlators(folder: Path, name: str = "correlators") -> tuple[list[int], dict[str, np.ndarray]]:
    """Return the numbers of the configurations, and name -> [configuration, time] at zero momentum."""
    numbers, values = [], {}
    for path in sorted((folder / name).glob("*.h5")):
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
            for name in ("iterations", "relative_residual"):
                columns.setdefault(name, []).extend(file[f"solves/{name}"][()].ravel())
            for name in ("seconds", "gflops"):
                columns.setdefault(name, []).extend(file["solves"].attrs[name])
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
        companion=finished / "charges",
        output=tmp_path,
        options=AnalysisOptions.model_validate(results["options"]),
    )
    assert set(again.particles) == set(results["particles"])
    for name, particle in again.particles.items():
        stored = results["particles"][name]
        for key in ("mass", "mass_error", "statistical_error", "model_error"):
            assert getattr(particle, key) == pytest.approx(stored[key], rel=1e-6), (name, key)
    for key, value in again.model_dump(include=HEADLINE).items():
        assert value == pytest.approx(results[key], rel=1e-6), key
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


def mean_and_error(value: np.ndarray, influence: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    n = len(influence)
    return value, np.sqrt((influence**2).sum(axis=0) / (n * (n - 1)))


def ratio_of(numerator: np.ndarray, denominator: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the ratio of the means, and the influence of each configuration."""
    value = numerator.mean(axis=0) / denominator.mean(axis=0)
    return value, (numerator - denominator * value) / denominator.mean(axis=0)


def assert_series(series: dict, value: np.ndarray, error: np.ndarray, *, tau_int: bool = False) -> None:
    """Check a series with its errors; with `tau_int` each error has the 2 tau_int of its own quantity where
    that counts."""
    np.testing.assert_allclose(series["value"], value, rtol=1e-9, atol=1e-12)
    factors = np.array(series["error"]) / error
    assert np.all(factors > 1 - 1e-9)
    assert tau_int or np.all(factors < 1 + 1e-9)


def numerators(values: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {c[0]: values[f"fh_{c}_UU"] - values[f"fh_{c}_DD"] for c in ("A3", "V4")}


def test_effective_charges_and_residual_mass(finished: Path) -> None:
    """The values g_eff of both methods and m_res come straight from the correlators."""
    results = load_results(finished)
    record = results["companion"]["nucleon_charges"]
    _, values = correlators(finished, "charges")
    C = values["nucleon"]
    for name, N in numerators(values).items():
        R, influence = ratio_of(N, C)
        value, error = mean_and_error(np.diff(R), np.diff(influence, axis=1))
        t = np.array(record["effective"][name]["x"], dtype=int)
        assert_series(record["effective"][name], value[t], error[t])
    midpoints = {}
    for name, current in (("A", "A3"), ("V", "V4")):
        fixed = record["three_point"][name]
        middle = []
        for k, t in enumerate(fixed["separations"]):
            C3 = values[f"three_point_{current}_t{t:02d}"][:, : t + 1]
            R, influence = ratio_of(C3, C[:, [t]])
            assert_series(fixed["ratio"][k], *mean_and_error(R, influence), tau_int=True)
            both = [t // 2, (t + 1) // 2]
            middle.append((R[both].mean(), influence[:, both].mean(axis=1)))
        midpoints[name] = middle
        value, error = mean_and_error(np.array([m for m, _ in middle]), np.array([i for _, i in middle]).T)
        assert_series(fixed["midpoint"], value, error, tau_int=True)
    pairs = list(zip(midpoints["A"], midpoints["V"], strict=True))
    value = np.array([a / v for (a, _), (v, _) in pairs])
    influence = np.array([(i - j * a / v) / v for (a, i), (v, j) in pairs]).T
    assert_series(record["three_point_ratio"], *mean_and_error(value, influence), tau_int=True)
    chosen = slice(2, C.shape[1] - 1)
    R, influence = ratio_of(values["midpoint"][:, chosen], values["midpoint_pion"][:, chosen])
    assert R.min() < results["m_res"] < R.max()
    window = results["companion"]["residual_mass"]
    inside = slice(window["t_min"] - 2, window["t_max"] - 1)
    assert abs(results["m_res"] - R[inside].mean()) < 2 * np.ptp(R[inside]) + 3 * results["m_res_error"]


def test_sum_over_the_current_s_time(finished: Path) -> None:
    """On the same configurations N(t) = sum_tau C3(t, tau) holds as far as the solver permits."""
    _, values = correlators(finished, "charges")
    for name, N in numerators(values).items():
        current = {"A": "A3", "V": "V4"}[name]
        for key in [k for k in values if k.startswith(f"three_point_{current}_t")]:
            t = int(key[-2:])
            C3 = values[key]
            difference = np.abs(C3.sum(axis=1) - N[:, t])
            assert np.all(difference < 2e-4 * np.abs(C3).sum(axis=1)), key


def test_headline(finished: Path) -> None:
    """The numbers at the top come from the windows of the fits; one-state windows are fitted here again from
    the files."""
    results = load_results(finished)
    assert set(results) >= HEADLINE
    part = results["companion"]
    for key, name in (("m_pi", "pion"), ("m_nucleon", "nucleon")):
        particle = part["particles"].get(name)
        assert results[key] == (particle["mass"] if particle else None)
        assert particle or name in part["not_fitted"]
    record = part["nucleon_charges"]
    if not record["charges"]:  # the reason is told
        assert results["g_a_over_g_v"] is None
        assert "nucleon charges" in part["not_fitted"]
        return
    weights = np.array([w["weight"] for w in record["windows"]])
    assert weights.sum() == pytest.approx(1, rel=1e-9)
    g = {name: np.array([w["values"][name] for w in record["windows"]]) for name in ("A", "V")}
    for name in ("A", "V"):
        assert record["charges"][name]["value"] == pytest.approx(weights @ g[name], rel=1e-9)
    assert results["z_v"] == pytest.approx(1 / (weights @ g["V"]), rel=1e-9)
    ratio = weights @ (g["A"] / g["V"])
    assert results["g_a_over_g_v"] == pytest.approx(ratio, rel=1e-9)
    assert results["tau_n"] == pytest.approx(5172.0 / (1 + 3 * ratio**2), rel=1e-9)
    slope = 6 * ratio * results["tau_n"] ** 2 / 5172.0
    assert results["tau_n_error"] == pytest.approx(slope * results["g_a_over_g_v_error"], rel=1e-6)
    _, values = correlators(finished, "charges")
    for window in record["windows"]:
        if window["states"] == 1:
            assert not window["profiled"]
            refitted = one_state_charges(values, window, record["autocorrelation_factor"])
            for name, value in refitted.items():
                assert window["values"][name] == pytest.approx(value, abs=0.02 * window["errors"][name])


def shrunk_correlation(influence: np.ndarray, factor: float) -> np.ndarray:
    """Return (1 - lambda) r + lambda 1, lambda = factor sum Var(r_ij) / sum r_ij^2 (Schaefer and Strimmer,
    2005)."""
    n, points = influence.shape
    x = influence / influence.std(axis=0, ddof=1)
    variance = squares = 0.0
    for i in range(points):
        for j in range(points):
            if i != j:
                w = x[:, i] * x[:, j]
                variance += n / (n - 1) ** 3 * ((w - w.mean()) ** 2).sum()
                squares += w.mean() ** 2
    shrinkage = min(max(min(variance / squares, 1.0) * factor, 0.02), 1.0)
    return (1 - shrinkage) * (x.T @ x) / (n - 1) + shrinkage * np.eye(points)


def one_state_charges(values: dict[str, np.ndarray], window: dict, factor: float) -> dict[str, float]:
    """Return a0 exp(-E0 t) and A0 exp(-E0 t) (g t + c) fitted to C and N again, by another minimiser.

    Few configurations: shrunk correlations of C, N/C at the first time and every g_eff, to first order around
    the data. `factor`: 2 tau_int of the data.
    """
    t = np.arange(window["t_min"], window["t_max"] + 1)
    C = values["nucleon"]
    assert len(C) < 4 * window["points"]
    mean_C, error_C = mean_and_error(C.mean(axis=0), C - C.mean(axis=0))
    ratios = {name: ratio_of(N, C) for name, N in numerators(values).items()}
    decay = np.polyfit(t, np.log(mean_C[t]), 1)
    influences = [(C - C.mean(axis=0))[:, t]]
    for _, influence in ratios.values():
        influences += [influence[:, t[:1]], np.diff(influence[:, t], axis=1)]
    whiten = np.linalg.inv(np.linalg.cholesky(shrunk_correlation(np.hstack(influences), factor)))

    def in_errors(p: np.ndarray) -> np.ndarray:
        model = np.exp(p[0] + p[1] * t)
        parts = [(mean_C[t] - model) / error_C[t]]
        for i, (R, influence) in enumerate(ratios.values()):
            g, c = p[2 + 2 * i : 4 + 2 * i]
            miss = model / mean_C[t] * (R[t] - R[t[0]] - g * t - c)
            _, first = mean_and_error(R[t[:1]], influence[:, t[:1]])
            _, steps = mean_and_error(np.diff(R[t]), np.diff(influence[:, t], axis=1))
            parts += [miss[:1] / first, np.diff(miss) / steps]
        return whiten @ np.concatenate(parts)

    start = [decay[1], decay[0]]
    for R, _ in ratios.values():
        g = float(np.diff(R[t]).mean())
        start += [g, -g * float(t[0])]
    best = least_squares(in_errors, start, x_scale="jac", xtol=1e-12, ftol=1e-14, gtol=1e-14).x
    return {name: float(best[2 + 2 * i]) for i, name in enumerate(ratios)}
