"""These tests cover [measure] of `trellis generate`: values, bits after interruptions, reading meanwhile, the
analysis."""

from __future__ import annotations

import contextlib
import io
import json
import re
import signal
import subprocess
import time
import tomllib
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from command_line import command, environment, run
from command_line import write_run_file as write_run
from run_file_texts import Tables, heat_bath, level, trajectories

import trellis
from trellis.commands.analysis_summary import run as analyze
from trellis.evolve.online_measurements import OnlineMeasurements, sea_flavours
from trellis.run_files import HmcRun

RUN = {
    "lattice": {"extents": [4, 4, 4, 8]},
    "action": {"beta": 5.2},
    "smearing": {"stout": {"rho": 0.1, "steps": 1}},
    "background": {"b": [0, 0, 1]},
    "fermions": [
        {
            "name": "light",
            "type": "staggered",
            "n_f": 2,
            "mass": 0.2,
            "charge_thirds": 1,
            "mu_over_ipiT": 0.1,
            "rational": {"order": 7, "dynamics_order": 5},
        }
    ],
    "integrator": [level(3, "light", "gauge")],
    "start": {"type": "weak", "spread": 0.3},
    "trajectories": {"total": 9, "thermalisation": 1, "checkpoint_every": 2},
    "measure": {
        "fermions": {"every": 2, "vectors": 3, "susceptibility": True, "magnetisation": ["xy"]},
        "flow": {"every": 4, "time": 0.4, "spacing": 0.1, "step": 0.05},
        "loops": {
            "every": 2,
            "spatial": 2,
            "temporal": 3,
            "smearing": {"ape": {"alpha": 0.5, "steps": 2, "spatial": True}},
        },
    },
}
CHARM = {"name": "charm", "type": "hisq", "mass": 0.5, "epsilon": -0.1}
TWISTED = {
    "name": "twisted",
    "type": "twisted_mass",
    "n_f": 2,
    "kappa": 0.12,
    "csw": 1.2,
    "twisted_mass": 0.1,
    "smearing": {"stout": {"rho": 0.1, "steps": 1}},
}
HEAT_BATH = {
    "action": {"beta": 5.7},
    "random": {"seed": 3},
    "heatbath": {"over_relaxation": 1},
    "sweeps": {"thermalisation": 2, "checkpoint_every": 2},
    "measure": {
        "flow": {"every": 2, "time": 0.5},
        "loops": {"every": 1, "spatial": 2, "temporal": 2, "planes": "all"},
    },
}
#: This is a flavour for [[measure.valence]].
A = {"name": "a", "type": "staggered", "mass": 0.5}


def run_text(charm: Tables = CHARM, **measure: Any) -> str:
    """Return a run of trajectories with all measurements; `measure` changes the tables of [measure]."""
    return trajectories(RUN, {"measure": {"valence": [charm, TWISTED], **measure}})


def heat_bath_text(total: int, *, sweeps: Tables | None = None, **measure: Any) -> str:
    return heat_bath(HEAT_BATH, {"sweeps": {"total": total, **(sweeps or {})}, "measure": measure})


def occasional(folder: Path) -> dict[str, tuple[list[int], np.ndarray]]:
    with h5py.File(folder / "out" / "stream.h5") as file:
        return {
            name: (group["trajectory"][()].tolist(), group["value"][()])
            for name, group in file["occasional"].items()
        }


def bits(folder: Path) -> dict[str, bytes]:
    return {
        name: value.tobytes()
        for name, (_, value) in occasional(folder).items()
        if not name.startswith("seconds")
    }


@pytest.fixture(scope="module")
def plain(tmp_path_factory) -> Path:
    folder = write_run(tmp_path_factory.mktemp("plain"), run_text())
    run("generate", "run.toml", cwd=folder)
    return folder


def test_what_is_measured(plain: Path) -> None:
    found = occasional(plain)
    assert found["condensate.light"][0] == [3, 5, 7, 9]
    assert found["condensate.light"][1].shape == (4, 3)
    assert found["flow_energy_clover"][0] == [5, 9]
    assert found["flow_energy_clover"][1].shape == (2, 5)
    assert found["wilson_loops"][1].shape == (4, 2, 3)
    assert np.iscomplexobj(found["number_density.light"][1])
    assert found["magnetisation_xy.light"][1].shape == (4, 3)
    assert found["susceptibility_disconnected.light"][1].shape == (4,)
    assert "condensate.charm" in found
    with h5py.File(plain / "out" / "stream.h5") as file:
        axis = file["occasional/flow_energy_clover/axis"][()]
    assert np.allclose(axis, [0, 0.1, 0.2, 0.3, 0.4])


def test_the_values_are_those_of_the_configuration(plain: Path) -> None:
    """The values of the last trajectory are measured again on the links of the last state."""
    U = trellis.read_gauge_field(max((plain / "out").glob("checkpoint.*.ildg")))
    found = occasional(plain)
    smeared = U.ape(alpha=0.5, steps=2, spatial=True)
    assert np.array_equal(found["wilson_loops"][1][-1], smeared.wilson_loops(spatial=2, temporal=3))
    M = trellis.Staggered(U.stout(rho=0.1, steps=1), mass=0.2, mu_over_ipiT=0.1, charge_thirds=1, b=(0, 0, 1))
    again = M.observables(n_f=2, vectors=3, seed=5, configuration=9, planes=["xy"], susceptibility=True)
    assert np.allclose(found["condensate.light"][1][-1], again.condensate, rtol=1e-7)
    assert np.allclose(found["number_density.light"][1][-1], again.number_density, rtol=0, atol=1e-6)
    assert np.allclose(found["magnetisation_xy.light"][1][-1], again.magnetisation["xy"], rtol=0, atol=1e-7)
    charm = trellis.HISQ(U, mass=0.5, epsilon=-0.1)
    assert np.allclose(
        found["condensate.charm"][1][-1],
        charm.observables(n_f=1, vectors=3, seed=5, configuration=9).condensate,
    )
    doublet = trellis.WilsonClover(U.stout(rho=0.1, steps=1), kappa=0.12, csw=1.2, twisted_mass=0.1)
    solve = trellis.even_odd(trellis.cg(tolerance=1e-11))(doublet)
    again = solve.observables(n_f=2, vectors=3, seed=5, configuration=9, susceptibility=True)
    for name, values in (
        ("condensate", again.condensate),
        ("pseudoscalar", again.pseudoscalar),
        ("number_density", again.number_density),
        ("susceptibility_connected", again.susceptibility_connected),
        ("susceptibility_disconnected", again.susceptibility_disconnected),
    ):
        assert np.allclose(found[f"{name}.twisted"][1][-1], values, rtol=1e-7, atol=1e-7), name
    assert "magnetisation_xy.twisted" not in found
    flow = trellis.flow_history(U, time=0.4, spacing=0.1, step=0.05)
    assert np.array_equal(found["flow_charge_improved"][1][-1], flow.charge_improved)
    assert np.isnan(found["t0"][1][-1]) == np.isnan(flow.t0)
    # The loop W(1, 1) of thin links is the temporal plaquette.
    assert U.wilson_loops(spatial=1, temporal=1)[0, 0] == pytest.approx(
        U.loops()["plaquette_temporal"], rel=1e-14
    )


def test_the_same_bits_after_a_stop_on_other_ranks(plain: Path, tmp_path: Path) -> None:
    folder = write_run(tmp_path, run_text())
    run("generate", "run.toml", "--trajectories", 5, cwd=folder)
    run("generate", "run.toml", cwd=folder, ranks=2)
    assert bits(folder) == bits(plain)


def test_killed_resumed_and_read_meanwhile(tmp_path: Path) -> None:
    """A kill -9 comes at any moment; another process can open the stream whenever it is there."""
    whole = write_run(tmp_path / "whole", heat_bath_text(60))
    run("generate", "run.toml", cwd=whole)
    folder = write_run(tmp_path / "killed", heat_bath_text(60))
    reads = 0
    for kill in range(4):
        process = subprocess.Popen(
            command("generate", "run.toml", "--resume"),
            cwd=folder,
            env=environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        before = max((p.name for p in folder.glob("out/checkpoint.*.json")), default="")
        deadline = time.monotonic() + 60
        while process.poll() is None and time.monotonic() < deadline:
            if (folder / "out" / "stream.h5").exists():
                with h5py.File(folder / "out" / "stream.h5") as file:
                    if "occasional" in file:  # it is not there right after the thermalisation
                        assert file["occasional/wilson_loops/value"].shape[1:] == (2, 2)
                        reads += 1
            if max((p.name for p in folder.glob("out/checkpoint.*.json")), default="") != before:
                break
            time.sleep(0.005)
        time.sleep(0.01 * kill)
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert reads > 0
    run("generate", "run.toml", "--resume", cwd=folder)
    assert bits(folder) == bits(whole)
    assert occasional(folder)["t0"][0] == list(range(4, 61, 2))
    assert np.allclose(
        occasional(folder)["rectangle"][1], occasional(folder)["wilson_loops"][1][:, 0, 1], rtol=1e-12
    )


@pytest.mark.slow
def test_analysed_while_it_runs(tmp_path: Path) -> None:
    """Every state of the stream gives results or one sentence: none, too few trajectories, and more of
    them."""
    text = heat_bath_text(10**6, sweeps={"thermalisation": 200, "checkpoint_every": 1})
    folder = write_run(tmp_path, text)
    process = subprocess.Popen(
        command("generate", "run.toml"), cwd=folder, env=environment(), stdout=subprocess.DEVNULL
    )
    found: list[tuple[int, str]] = []
    counts: list[int] = []
    early = False
    try:
        deadline = time.monotonic() + 240
        while len(set(counts)) < 3 and process.poll() is None and time.monotonic() < deadline:
            with contextlib.redirect_stderr(io.StringIO()) as said:
                status = analyze(folder / "out", folder / "analysis")
            found.append((status, said.getvalue()))
            if status == 0:
                content = json.loads((folder / "analysis" / "results.json").read_text())
                early |= any("are all thermalisation, which ends at 200" in w for w in content["warnings"])
                counts.append(content["observables"].get("plaquette", {"count": 0})["count"])
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()
    assert early
    assert len(set(counts)) == 3
    assert counts == sorted(counts)
    sentences = {said for status, said in found if status}
    for said in sentences:
        assert said.startswith("error: "), said
        assert said.count("\n") == 1, said
        assert "expected" in said, said


def test_a_changed_table_is_refused(plain: Path, tmp_path: Path) -> None:
    folder = write_run(tmp_path, heat_bath_text(6))
    run("generate", "run.toml", cwd=folder)
    write_run(tmp_path, heat_bath_text(8, loops={"spatial": 3}))
    found = run("generate", "run.toml", "--resume", cwd=folder, status=1)
    assert "measure.loops was measured with spatial = 2 before, and 3 now" in found.stderr
    assert "a changed [measure] needs another folder" in found.stderr


def test_a_table_that_means_something_else_is_refused(tmp_path: Path) -> None:
    """The series kept their shape, and had values of two flow times, or of two masses, under one name."""
    valence: dict[str, Any] = {"fermions": {"vectors": 1}, "valence": [A]}
    folder = write_run(tmp_path, heat_bath_text(4, **valence))
    run("generate", "run.toml", cwd=folder)
    for tables, said in (
        (
            {"flow": {"time": 1.0, "spacing": 0.2}},
            "measure.flow was measured with time = 0.5 before, and 1.0 now",
        ),
        (
            {"valence": [A | {"mass": 0.4}]},
            "measure.valence 'a' was measured with mass = 0.5 before, and 0.4 now",
        ),
    ):
        write_run(tmp_path, heat_bath_text(6, **valence | tables))
        assert said in run("generate", "run.toml", "--resume", cwd=folder, status=1).stderr
    # It is left out for a while, and taken up again with another meaning.
    write_run(tmp_path, heat_bath_text(6, **valence, flow=None))
    run("generate", "run.toml", "--resume", cwd=folder)
    write_run(tmp_path, heat_bath_text(8, **valence, flow={"time": 0.6}))
    assert "measure.flow was measured" in run("generate", "run.toml", "--resume", cwd=folder, status=1).stderr
    # Another interval, accuracy, or a flavour more are no other meaning.
    more = {"vectors": 1, "tolerance": 1e-8, "every": 1}
    write_run(tmp_path, heat_bath_text(8, fermions=more, valence=[A, A | {"name": "b", "mass": 0.1}]))
    run("generate", "run.toml", "--resume", cwd=folder)
    assert "condensate.b" in occasional(folder)


def clover_sea(**noise: Any) -> str:
    light = {"name": "light", "type": "clover", "n_f": 2, "kappa": 0.12, "csw": 1.0}
    return trajectories(
        fermions=[light],
        integrator=[level(4, "light", "gauge")],
        start={"type": "cold"},
        random={"seed": 4},
        trajectories={"total": 1},
        measure={"fermions": {"every": 1, "vectors": 2, **noise}},
    )


def test_condensate_of_a_wilson_sea(tmp_path: Path) -> None:
    folder = write_run(tmp_path, clover_sea())
    run("generate", "run.toml", cwd=folder)
    U = trellis.read_gauge_field(max((folder / "out").glob("checkpoint.*.ildg")))
    solve = trellis.even_odd(trellis.cg(tolerance=1e-11))(trellis.WilsonClover(U, kappa=0.12, csw=1.0))
    again = solve.observables(n_f=2, vectors=2, seed=4, configuration=1)
    found = occasional(folder)
    assert np.allclose(found["condensate.light"][1][0], again.condensate, rtol=1e-8)
    assert "susceptibility_connected.light" not in found
    write_run(tmp_path, clover_sea(magnetisation=["xy"]))
    said = run("generate", "run.toml", cwd=folder, status=1).stderr
    assert "magnetisation is that of staggered and HISQ flavours" in said


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"type": "wilson", "mass": 0.1, "kappa": 0.12}, "give mass or kappa, and not both"),
        (
            {"type": "wilson", "mass": 0.1, "charge_thirds": 1},
            "charge_thirds: belongs to type staggered or hisq, not to type wilson",
        ),
        (
            {"type": "wilson", "mass": 0.1, "background": {"b": [0, 0, 1]}},
            "background: belongs to type staggered or hisq",
        ),
        ({"type": "wilson", "mass": -4.0}, "4 + mass"),
        ({"type": "staggered", "mass": 0.1, "csw": 1.0}, "csw: belongs to type clover or twisted_mass"),
        ({"type": "staggered", "mass": -0.1}, "mass: expected a mass above 0; found -0.1"),
        ({"type": "hisq"}, "measure.valence.0.mass: missing"),
    ],
)
def test_valence_keys_that_do_not_fit(tmp_path: Path, keys: dict[str, Any], said: str) -> None:
    text = heat_bath_text(4, fermions={}, valence=[{"name": "a", **keys}])
    found = run("generate", "run.toml", cwd=write_run(tmp_path, text), status=1)
    assert said in found.stderr


def test_solves_that_do_not_converge_name_their_keys(tmp_path: Path) -> None:
    text = heat_bath_text(4, fermions={"every": 1, "max_iterations": 2}, valence=[A])
    folder = write_run(tmp_path, text)
    said = run("generate", "run.toml", cwd=folder, status=1).stderr
    assert "iterations ran out after 2 iterations" in said
    assert (
        "; the run file has measure.fermions.max_iterations = 2, measure.fermions.tolerance = 1e-10" in said
    )


def measurements_of(text: str) -> OnlineMeasurements:
    chain = HmcRun.model_validate(tomllib.loads(text))
    flavours = sea_flavours(chain.fermions, chain.smearing, chain.background)
    return OnlineMeasurements(chain.measure, flavours, seed=1, stream=0, thermalisation=0)


@pytest.mark.parametrize(
    "tables, text",
    [
        ({"loops": {"spatial": 5}}, "longer than the lattice"),
        ({"flow": {"time": 0.2}}, "five flow times"),
        ({"fermions": {"vectors": 0}}, "measure.fermions.vectors"),
        ({"fermions": {"magnetisation": ["yx"]}}, "magnetisation"),
        ({"charm": CHARM | {"name": "light"}}, "sea quark"),
        (
            {"loops": {"smearing": {"ape": {"spatial": None}}}},
            "spatial links alone are smeared here: expected spatial = true",
        ),
        (
            {"charm": CHARM | {"smearing": {"stout": {"rho": 0.1, "steps": 2}}}},
            "measure.valence.0.hisq.smearing",
        ),
    ],
)
def test_bad_tables(tables: dict[str, Any], text: str) -> None:
    with pytest.raises((ValueError, trellis.BadArgument), match=re.escape(text)):
        measurements_of(run_text(**tables))


def test_noise_needs_a_flavour(tmp_path: Path) -> None:
    folder = write_run(tmp_path, heat_bath_text(6, fermions={}))
    assert "[[measure.valence]]" in run("generate", "run.toml", cwd=folder, status=1).stderr


def test_analysis_of_a_heat_bath(tmp_path: Path) -> None:
    folder = write_run(tmp_path, heat_bath_text(60, flow={"time": 3.0}))
    run("generate", "run.toml", cwd=folder)
    found = json.loads(run("analyze", "out/stream.h5", "-o", "analysis", "--json", cwd=folder).stdout)
    stream = found["stream"]
    loops = stream["loops"]
    W = occasional(folder)["wilson_loops"][1]
    assert loops["loops"]["1x1"]["value"] == pytest.approx(W[:, 0, 0].mean(), rel=1e-12)
    mean = W.mean(axis=0)
    creutz = -np.log(mean[1, 1] * mean[0, 0] / (mean[1, 0] * mean[0, 1]))
    assert loops["creutz"]["2x2"]["value"] == pytest.approx(creutz, rel=1e-10)
    assert loops["potential"]["2x1"]["value"] == pytest.approx(np.log(mean[1, 0] / mean[1, 1]), rel=1e-10)
    assert all(record["error"] > 0 for record in loops["creutz"].values())
    assert stream["flow"]["count"] == 29
    assert stream["flow"]["t2_energy"]["value"][0] == 0.0
    page = (folder / "analysis" / "report.html").read_text()
    assert "Gradient flow" in page
    assert "Wilson loops" in page
    assert (folder / "analysis" / "plots" / "wilson_loops.png").stat().st_size > 5000


def test_analysis_of_a_sea(plain: Path) -> None:
    """Four measurements are too few for errors: the analysis says nothing about them, and does not fail."""
    found = json.loads(run("analyze", "out/stream.h5", "-o", "analysis", "--json", cwd=plain).stdout)
    assert found["stream"] is None
    assert "plaquette" in found["observables"]
