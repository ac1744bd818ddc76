"""These tests run analyze() from end to end on synthetic files, and compute its numbers again without it."""

import json
import os
import re
import subprocess
import sys

import h5py
import numpy as np
import pytest
from scipy.optimize import least_squares

from trellis.analysis import AnalysisError, AnalysisOptions, Results, analyze, format_error
from trellis.analysis.synthetic import NUCLEON, PION, RHO, write_synthetic_measurements
from trellis.commands.analysis_summary import run

NUMBERS = tuple(range(1000, 1900, 10))
TRUTH = {"pion": 0.45, "rho": 0.65, "nucleon": 0.95, "nucleon_parity_partner": 1.35}


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    folder = tmp_path_factory.mktemp("analysis")
    path = folder / "correlators.h5"
    write_synthetic_measurements(path, configurations=NUMBERS, seed=24)
    results = analyze(path, output=folder / "out", title="a test")
    return path, folder / "out", results


def test_known_masses_are_recovered(measured):
    particles = measured[2].particles
    assert set(particles) == set(TRUTH)
    assert list(particles) == sorted(particles, key=lambda n: particles[n].mass)
    for name, truth in TRUTH.items():
        assert abs(particles[name].mass - truth) < 3 * particles[name].mass_error, name
        assert particles[name].mass_error < 0.06 * truth, name
        assert particles[name].fit.p_value > 0.01
    for name, particle in (("m_pi", particles["pion"]), ("m_nucleon", particles["nucleon"])):
        assert getattr(measured[2], name) == particle.mass
        assert getattr(measured[2], f"{name}_error") == particle.mass_error


def test_results_at_a_prompt_are_a_line(measured):
    results = measured[2]
    pion = results.particles["pion"]
    assert repr(pion) == f"<ParticleResult pion {pion.formatted}>"
    assert str(results) == repr(results)
    assert re.match(r"<Results on 8x8x8x16: pion 0\.\d+\(\d+\), rho ", repr(results))
    assert len(repr(results)) < 200


def test_results_json_round_trip(measured):
    _, output, results = measured
    again = Results.from_json(output / "results.json")
    assert again == results
    content = json.loads((output / "results.json").read_text())
    assert content["particles"]["pion"]["mass"] == results.particles["pion"].mass
    assert content["configurations"]["numbers"] == list(NUMBERS)
    assert content["options"]["max_states"] == 2
    assert set(content["particles"]["pion"]["fit"]) >= {
        "t_min",
        "t_max",
        "n_states",
        "chi2",
        "dof",
        "p_value",
        "Q",
    }


def test_the_same_files_give_the_same_numbers(measured):
    path, _, results = measured
    again = analyze(path, title="a test")
    assert again.model_dump(exclude={"created"}) == results.model_dump(exclude={"created"})


def folded(path, names):
    """Return folded correlator samples straight from the file, without the package."""
    with h5py.File(path) as file:
        c = np.mean([file[f"correlators/{n}"][:, :, 0, :].real.mean(axis=1) for n in names], axis=0)
    back = np.roll(c[:, ::-1], 1, axis=1)
    return 0.5 * (c + back)[:, :9]


@pytest.mark.parametrize("particle", ["pion", "rho"])
def test_fits_are_recomputed_from_the_file(measured, particle):
    """Every one-state fit of the scan is made again with scipy: mass and chi^2 agree."""
    path, output, _ = measured
    content = json.loads((output / "results.json").read_text())["particles"][particle]
    assert content["weights"] == "correlated"
    assert content["autocorrelation_factor"] == 1.0
    data = folded(path, content["members"])
    for fit in content["scan"]:
        if fit["n_states"] > 1:
            continue
        t = np.arange(fit["t_min"], fit["t_max"] + 1)
        y = data[:, t]
        root = np.linalg.cholesky(np.linalg.inv(np.cov(y.T, ddof=1) / len(y))).T

        def residual(p, t=t, y=y, root=root):
            return root @ (y.mean(axis=0) - np.exp(p[0]) * (np.exp(-p[1] * t) + np.exp(-p[1] * (16 - t))))

        solved = least_squares(residual, [0.0, 0.5], xtol=1e-14, ftol=1e-14, gtol=1e-14)
        # the ground state's priors (a factor e^5) pull by less than 1e-3 of the error
        assert fit["mass"] == pytest.approx(solved.x[1], abs=2e-3 * fit["mass_error"])
        assert fit["chi2"] == pytest.approx(2 * solved.cost, rel=1e-3)
        assert fit["n_data"] == len(t)
        assert fit["dof"] == len(t) - 2


def test_averages_are_recomputed_from_the_scan(measured):
    content = json.loads((measured[1] / "results.json").read_text())
    for p in content["particles"].values():
        weights = np.array([f["weight"] for f in p["scan"]])
        masses = np.array([f["mass"] for f in p["scan"]])
        assert weights.sum() == pytest.approx(1.0, abs=1e-12)
        assert p["mass"] == pytest.approx(weights @ masses, rel=1e-12)
        assert p["model_error"] == pytest.approx(np.sqrt(weights @ (masses - p["mass"]) ** 2), rel=1e-9)
        assert p["mass_error"] == pytest.approx(np.hypot(p["statistical_error"], p["model_error"]), rel=1e-12)
        assert p["fit"] == p["scan"][int(np.argmax(weights))]
        spread = np.array([f["mass_error"] for f in p["scan"]])
        assert p["mixture_error"] >= p["mass_error"] * (1 - 1e-9)
        assert p["mixture_error"] == pytest.approx(
            np.sqrt(weights @ spread**2 + p["model_error"] ** 2), rel=1e-6
        )


def test_correlators_and_effective_masses_are_recomputed(measured):
    path, output, _ = measured
    content = json.loads((output / "results.json").read_text())["particles"]["nucleon"]
    with h5py.File(path) as file:
        c = file["correlators/nucleon"][:, :, 0, :].real.mean(axis=1)
    np.testing.assert_allclose(content["correlator"]["value"], c.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(
        content["correlator"]["error"], c.std(axis=0, ddof=1) / np.sqrt(len(c)), rtol=1e-12
    )
    mean, n = c.mean(axis=0), len(c)
    logs = np.log(mean[:-1] / mean[1:])
    slope = c[:, :-1] / mean[:-1] - c[:, 1:] / mean[1:]
    for x, value, error in zip(*content["effective_mass"].values(), strict=True):
        t = int(x - 0.5)
        assert value == pytest.approx(logs[t], rel=1e-10)
        assert error == pytest.approx(slope[:, t].std(ddof=1) / np.sqrt(n), rel=1e-8)


def test_ratios_keep_the_correlation(measured):
    results = measured[2]
    ratio = results.ratios["pion/rho"]
    pion, rho = results.particles["pion"], results.particles["rho"]
    assert ratio.value == pytest.approx(pion.mass / rho.mass, rel=1e-12)
    a, b = pion.mass_error / pion.mass, rho.mass_error / rho.mass
    cross = ratio.correlation * pion.statistical_error * rho.statistical_error / (pion.mass * rho.mass)
    assert ratio.error == pytest.approx(ratio.value * np.sqrt(a * a + b * b - 2 * cross), rel=1e-9)


def test_solver_and_observables(measured):
    path, _, results = measured
    with h5py.File(path) as file:
        iterations, seconds = file["solves/iterations"][()], file["solves"].attrs["seconds"]
        plaquette = file["observables/plaquette"][()]
    assert results.solves.iterations_median == np.median(iterations)
    assert results.solves.solves == iterations.size
    assert results.solves.seconds_total == pytest.approx(seconds.sum())
    assert results.observables["plaquette"].mean == pytest.approx(plaquette.mean(), rel=1e-14)
    assert results.tau_int["plaquette"][0] == results.observables["plaquette"].tau_int


def test_dirichlet_boundaries_have_no_image(tmp_path):
    path = tmp_path / "open.h5"
    open_pion = type(PION)((0.45, 1.25), (1.0, 0.7), image=0, noise=0.05, growth=0.02)
    write_synthetic_measurements(path, configurations=NUMBERS, particles={"pion": open_pion})
    with h5py.File(path, "r+") as file:
        file["correlators/pion"].attrs["boundary_t"] = "dirichlet"
    pion = analyze(path).particles["pion"]
    assert pion.image == 0
    assert pion.fit.t_max > 8
    assert abs(pion.mass - 0.45) < 3 * pion.mass_error


def test_phases_in_time(tmp_path):
    """Mesons do not see the phases; what runs backwards in baryons has a sign where three quarks have one."""
    path = tmp_path / "phases.h5"
    write_synthetic_measurements(path, configurations=NUMBERS)
    partners = {}
    for boundary in ("0.3", "0.33333333333333333", "phase"):
        with h5py.File(path, "r+") as file:
            for dataset in file["correlators"].values():
                dataset.attrs["boundary_t"] = boundary
        if boundary == "phase":
            with pytest.raises(AnalysisError, match="or a phase over pi, found 'phase'"):
                analyze(path)
            break
        particles = analyze(path).particles
        assert particles["pion"].image == 1
        assert particles["pion"].boundary_t == boundary
        partners[boundary] = "nucleon_parity_partner" in particles
    assert partners == {"0.3": False, "0.33333333333333333": True}


@pytest.mark.parametrize("seed", range(3))
def test_baryons_without_a_backward_state(tmp_path, seed):
    """A forward correlator stands alone in a file that says antiperiodic: nothing falls from the far end."""
    path = tmp_path / "forward.h5"
    forward = type(PION)((0.6, 1.3), (1.0, 1.5), image=0, noise=0.03, growth=0.05)
    write_synthetic_measurements(path, configurations=NUMBERS, seed=seed, particles={"nucleon": forward})
    nucleon = analyze(path).particles["nucleon"]
    assert nucleon.fit.t_max == 8
    assert abs(nucleon.mass - 0.6) < 3 * nucleon.mass_error


def test_baryons_of_negative_parity_have_no_partner_of_their_own(tmp_path):
    """Since C_-(t) = - C_+(T - t), its state is the partner of the nucleon, and its partner is the
    nucleon."""
    path = tmp_path / "both.h5"
    write_synthetic_measurements(path, configurations=NUMBERS)
    with h5py.File(path, "r+") as file:
        nucleon = file["correlators/nucleon"]
        reversed_in_time = np.roll(nucleon[()][..., ::-1], 1, axis=-1)
        negative = file.create_dataset("correlators/nucleon_negative", data=-reversed_in_time)
        negative.attrs.update(nucleon.attrs)
        negative.attrs.update(particle="nucleon_negative", parity=-1.0)
    results = analyze(path, options={"particles": ["nucleon", "nucleon_negative"]})
    assert set(results.particles) == {"nucleon", "nucleon_parity_partner", "nucleon_negative"}
    found = results.particles["nucleon_negative"]
    assert abs(found.mass - TRUTH["nucleon_parity_partner"]) < 3 * found.mass_error < 0.6


def test_simultaneous_and_chosen_particles(tmp_path):
    path = tmp_path / "two.h5"
    smeared = type(PION)((0.45, 1.25), (0.6, 0.03), noise=0.1, growth=0.05)
    write_synthetic_measurements(
        path,
        configurations=NUMBERS,
        particles={"pion": PION, "pion_smeared": smeared, "rho_x": RHO, "nucleon": NUCLEON},
        seed=24,
    )
    with h5py.File(path, "r+") as file:
        file["correlators/pion_smeared"].attrs.update(particle="pion", source="gamma5", sink="gamma5")
    options = {"particles": ["pion"], "simultaneous": {"pion_both": ["pion", "pion_smeared"]}}
    results = analyze(path, options=options, output=tmp_path / "out")
    assert set(results.particles) == {"pion", "pion_smeared", "pion_both"}
    both = results.particles["pion_both"]
    assert abs(both.mass - 0.45) < 3 * both.mass_error
    assert both.mass_error < results.particles["pion"].mass_error
    with pytest.raises(AnalysisError, match=r"particles: expected names among .*found \['kaon'\]"):
        analyze(path, options={"particles": ["kaon"]})
    with pytest.raises(AnalysisError, match="simultaneous: expected names"):
        analyze(path, options={"simultaneous": {"x": ["pion", "kaon"]}})


def test_one_bad_particle_does_not_stop_the_others(tmp_path):
    path = tmp_path / "noise.h5"
    noise = type(PION)((0.45,), (1.0,), noise=60.0)
    write_synthetic_measurements(path, configurations=NUMBERS, particles={"pion": PION, "kaon": noise})
    results = analyze(path)
    assert set(results.particles) == {"pion"}
    assert "signal ends" in results.not_fitted["kaon"]


def test_small_samples_are_named(tmp_path):
    path = tmp_path / "few.h5"
    write_synthetic_measurements(path, configurations=NUMBERS[:8])
    results = analyze(path)
    assert any("8 configurations" in w for w in results.warnings)
    assert results.particles["pion"].weights == "uncorrelated"
    assert any("uncorrelated weights" in n for n in results.particles["pion"].notes)
    write_synthetic_measurements(path, configurations=NUMBERS[:4])
    with pytest.raises(AnalysisError, match=r"at least 5 independent configurations .*, found 4"):
        analyze(path)


@pytest.mark.parametrize(
    ("count", "tau_exp", "options", "words"),
    [
        (40, 0.0, {}, "40 configurations: the errors themselves are uncertain by 11 %"),
        (64, 0.0, {}, ""),
        (
            64,
            0.0,
            {"bin_size": 8},
            "64 configurations in 8 bins: the errors themselves are uncertain by 27 %",
        ),
        (120, 6.0, {}, "120 configurations, "),
    ],
)
def test_bins_and_autocorrelation_count_in_what_is_said_of_errors(tmp_path, count, tau_exp, options, words):
    numbers, pion = range(0, 10 * count, 10), {"pion": PION}
    write_synthetic_measurements(
        tmp_path / "m.h5", configurations=numbers, sources=1, seed=4, tau_exp=tau_exp, particles=pion
    )
    results = analyze(tmp_path / "m.h5", options=options)
    said = [warning for warning in results.warnings if "errors themselves" in warning]
    assert len(said) == bool(words)
    assert all(warning.startswith(words) for warning in said)
    if tau_exp:
        assert f"{results.particles['pion'].effective_samples:.0f} independent" in said[0]


def test_command_prints_a_table_or_json_and_nothing_else(measured, tmp_path, capsys):
    path = measured[0]
    assert run([path], tmp_path / "a", json=True) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["particles"]["pion"]["mass"] == measured[2].particles["pion"].mass
    assert run(path, tmp_path / "b", options={"particles": ["pion"]}) == 0
    printed = capsys.readouterr().out
    assert measured[2].particles["pion"].formatted in printed
    assert "report.html" in printed
    assert (tmp_path / "b" / "report.html").is_file()


@pytest.mark.parametrize("options", [{"max_state": 2}, {"max_states": 9}, {"weights": "best"}])
def test_command_refuses_wrong_options(measured, tmp_path, capsys, options):
    assert run(measured[0], tmp_path / "x", json=True, options=options) == 1
    printed = capsys.readouterr()
    assert next(iter(options)) in json.loads(printed.out)["error"]
    assert f"options: {next(iter(options))}: " in printed.err
    assert "pydantic" not in printed.err
    assert not (tmp_path / "x").exists()


def test_command_reports_missing_files(tmp_path, capsys):
    assert run(tmp_path / "absent.h5", tmp_path / "x") == 1
    assert "found nothing there" in capsys.readouterr().err.replace("\n", " ")


def test_an_output_that_cannot_be_is_refused_before_the_fits(tmp_path, capsys, monkeypatch):
    def fit(*_: object) -> None:
        raise AssertionError("fits were begun")

    monkeypatch.setattr("trellis.analysis.pipeline.fit_particle", fit)
    path = tmp_path / "c.h5"
    write_synthetic_measurements(path, configurations=NUMBERS[:6])
    (tmp_path / "file").write_text("mine")
    for output in (tmp_path / "file", tmp_path / "file" / "below"):
        assert run(path, output) == 1
        said = " ".join(capsys.readouterr().err.split())
        assert "cannot be made: expected a folder, found a file" in said.replace("- ", "-")
    assert (tmp_path / "file").read_text() == "mine"
    monkeypatch.setattr(os, "access", lambda *_: False)  # permissions do not stop root
    assert run(path, tmp_path / "closed") == 1
    assert "can be written to" in " ".join(capsys.readouterr().err.split())


def test_options_document_themselves():
    for name, entry in AnalysisOptions.model_json_schema()["properties"].items():
        assert entry.get("description"), name


def test_format():
    assert format_error(0.42135, 0.0017) == "0.4213(17)" or format_error(0.42135, 0.0017) == "0.4214(17)"
    assert format_error(1526.4, 463.0) == "1530(460)"
    assert format_error(-23.4, 12.0) == "-23(12)"


def test_analysis_and_report_never_load_the_core():
    code = (
        "import sys, trellis.analysis, trellis.commands.analysis_summary, trellis.report;"
        "bad = [m for m in sys.modules if m.startswith('trellis._core')];"
        "sys.exit(1 if bad else 0)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
