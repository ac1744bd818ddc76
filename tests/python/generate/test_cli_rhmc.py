"""These tests cover trellis generate with sea quarks: bits, resuming, intervals, the legal parameters,
tuning."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import h5py
import pytest
from command_line import run, sha256, write_run_file
from run_file_texts import changed, level, trajectories

import trellis
import trellis as tr
from trellis.evolve.monomials import make_sea
from trellis.generate.step_proposal import acceptance_of, deviation_for, whole_steps
from trellis.run_files import HmcRun, load_run_file, parse_run_file

RUN = {
    "lattice": {"extents": [4, 4, 4, 8]},
    "action": {"type": "symanzik", "beta": 4.0},
    "smearing": {"stout": {"rho": 0.12, "steps": 1}},
    "background": {"b": [0, 0, 1]},
    "integrator": [level(2, "up", "light", "strange"), level(2)],
    "molecular_dynamics": {"length": 0.3, "tolerance": 1e-7},
    "metropolis": {"tolerance": 1e-9},
    "start": {"type": "weak", "spread": 0.3},
    "trajectories": {"total": 3, "thermalisation": 1},
}
QUARKS = {
    "up": {
        "name": "up",
        "type": "staggered",
        "n_f": 2,
        "mass": 0.2,
        "charge_thirds": 2,
        "mu_over_ipiT": 0.1,
        "rational": {"order": 7, "dynamics_order": 5},
    },
    "light": {
        "name": "light",
        "type": "clover",
        "n_f": 2,
        "kappa": 0.12,
        "csw": 1.0,
        "hasenbusch": [0.5],
    },
    "strange": {
        "name": "strange",
        "type": "wilson",
        "n_f": 1,
        "kappa": 0.11,
        "rational": {"order": 5, "dynamics_order": 4, "low": 0.01, "high": 40.0},
    },
}


def run_text(**tables: Any) -> str:
    """Return a run of three kinds of sea quarks; up, light and strange change one of them, other names a
    table."""
    quarks = {name: tables.pop(name) for name in QUARKS if name in tables}
    return trajectories(RUN, {"fermions": list(changed(QUARKS, quarks).values())}, tables)


def write_run(folder: Path, **tables: Any) -> Path:
    return write_run_file(folder, run_text(**tables))


def content(folder: Path) -> dict[str, str | bytes]:
    last = max(folder.glob("out/*.ildg"))
    found: dict[str, str | bytes] = {"links": sha256(last)}
    with h5py.File(folder / "out" / "stream.h5") as file:
        for name, dataset in file["observables"].items():
            if not name.startswith("seconds"):
                found[name] = dataset[()].tobytes()
    return found


@pytest.fixture(scope="module")
def plain(tmp_path_factory) -> Path:
    folder = write_run(tmp_path_factory.mktemp("plain"))
    run("generate", "run.toml", cwd=folder)
    return folder


def test_the_stream(plain: Path) -> None:
    with h5py.File(plain / "out" / "stream.h5") as file:
        names = set(file["observables"])
        assert {
            "force.up",
            "force.light.0",
            "force.light.1",
            "force.light_determinant",
            "iterations.strange",
        } <= names
        assert abs(file["observables/dH"][1:]).max() < 5.0
        assert file["observables/iterations.up"][0] > 0
    record = json.loads(max((plain / "out").glob("*.json")).read_text())
    assert record["intervals"]["up"]["low"] == pytest.approx(0.04)
    assert record["intervals"]["strange"] == {"low": 0.01, "high": 40.0}
    assert "light" not in record["intervals"]


def test_the_same_bits_on_four_ranks_and_after_a_stop_with_other_lanes(plain: Path, tmp_path: Path) -> None:
    folder = write_run(tmp_path)
    run("generate", "run.toml", "--trajectories", 2, cwd=folder, TRELLIS_LANES="8")
    run("generate", "run.toml", cwd=folder, ranks=4, TRELLIS_LANES="4")
    assert content(folder) == content(plain)


@pytest.mark.parametrize("lanes", [1, 16])
def test_the_same_bits_with_any_lanes(plain: Path, tmp_path: Path, lanes: int) -> None:
    folder = write_run(tmp_path)
    run("generate", "run.toml", cwd=folder, TRELLIS_LANES=str(lanes))
    assert content(folder) == content(plain)


@pytest.mark.parametrize("precision", ["mixed", "single"])
def test_molecular_dynamics_in_single_precision(plain: Path, tmp_path: Path, precision: str) -> None:
    """The dH is nearly that of double precision; bits are the same after a stop, on other ranks and with
    other lanes."""
    tables = {"molecular_dynamics": {"precision": precision}}
    whole, parts = write_run(tmp_path / "whole", **tables), write_run(tmp_path / "parts", **tables)
    run("generate", "run.toml", cwd=whole)
    run("generate", "run.toml", "--trajectories", 2, cwd=parts, TRELLIS_LANES="4")
    run("generate", "run.toml", cwd=parts, ranks=2)
    assert content(whole) == content(parts)
    with (
        h5py.File(plain / "out" / "stream.h5") as double,
        h5py.File(whole / "out" / "stream.h5") as single,
    ):
        name = "observables/dH"
        difference = abs(double[name][:] - single[name][:]).max()
        assert 0 < difference < 1e-3


def levels(**keys: Any) -> list[dict[str, Any]]:
    """Return the levels of the run, with other keys in each."""
    return [table | keys for table in RUN["integrator"]]


@pytest.mark.parametrize(
    "tables, text",
    [
        ({"smearing": {"stout": {"rho": -1e7}}}, "smearing.stout.rho"),
        (
            {"background": {"b": [0, 2.5, 1]}},
            "background.b: b_y = 2.5: quanta of flux are integers, in the",
        ),
        (
            {"background": {"b": None, "e": [0, 0, 1.5]}},
            "background.e: e_z = 1.5: quanta of flux are integers, in the",
        ),
        ({"up": {"mass": 0.0}}, "fermions.0.mass: expected a mass above 0; found 0.0"),
        ({"up": {"mass": -0.2}}, "expected a mass above 0; found -0.2"),
        (
            {"up": {"mass": None, "kappa": 0.12}},
            "kappa: belongs to type wilson or clover or twisted_mass, not to type st",
        ),
        ({"up": {"mass": None}}, "fermions.0.mass: missing"),
        (
            {"strange": {"kappa": None, "mass": -4}},
            "fermions.2.mass: expected another mass or kappa: 4 + mass, the",
        ),
        ({"light": {"kappa": None}}, "fermions.1: give mass or kappa, and not both"),
        ({"light": {"mass": 0.1}}, "give mass or kappa"),
        ({"up": {"n_f": 0}}, "n_f: Input should be greater than or equal to 0.001; found 0"),
        ({"lattice": {"extents": [4, 4, 3, 8]}}, "the extent in z is 3"),
        ({"strange": {"name": "up"}}, "fermions.2.name: the name 'up' is taken by fermions 'up'"),
        ({"strange": {"name": "strange.1"}}, "fermions.2.name: has a dot"),
        ({"integrator": levels(scheme="rk4")}, "'leapfrog', 'omelyan2', 'omelyan4' or 'force_gradient'"),
        (
            {"integrator": levels(scheme="leapfrog", **{"lambda": 0.2})},
            "lambda is a parameter of omelyan2",
        ),
        ({"up": {"charge_thirds": 0}}, "no flavour of the sea has charge_thirds"),
        ({"strange": {"rational": {"low": 50.0}}}, "low = 50 is not below high = 40"),
        ({"light": {"rational": {"order": 5}}}, "need no rational function"),
        ({"metropolis": {"tolerance": 1e-18}}, "metropolis.tolerance"),
        ({"output": {"directory": ""}}, "output.directory"),
        ({"light": {"hasenbusch": [0.2, 0.5]}}, "descend"),
        (
            {"light": {"hasenbusch": None, "mu_over_ipiT": 0.5}},
            "belongs to type staggered or hisq, not to type clover",
        ),
        ({"up": {"n_f": 6}}, "pseudofermions of at least"),
        (
            {"strange": {"rational": {"high": 1.0}}},
            "is above rational.high = 1: raise that, or leave it out\n",
        ),
        (
            {"strange": {"rational": {"low": 20.0, "high": None}}},
            "is below rational.low = 20: lower that, or leave",
        ),
        ({"light": {"csw": 1000.0}}, "fermions 'light' (csw = 1000, kappa = 0.12): clover term: pivot"),
        (
            {
                "up": {
                    "mass": 1e-12,
                    "mu_over_ipiT": None,
                    "rational": {"order": None, "dynamics_order": None, "tolerance": 1e-14},
                }
            },
            "fermions 'up': no rational approximation of order 60 or below has an error of 1e-14 on [1e-24,",
        ),
        (
            {"metropolis": {"tolerance": None, "max_iterations": 5}},
            "the run file has metropolis.max_iterations = 5,",
        ),
        ({"molecular_dynamics": {"tolerance": 1e-9, "precision": "single"}}, "beyond single precision"),
        ({"molecular_dynamics": {"precision": "half"}}, "molecular_dynamics.precision"),
        (
            {"integrator": [RUN["integrator"][0], level(2, "gauge", "light.0")]},
            "integrator.1.monomials: 'light.0' is in more than one place",
        ),
        ({"integrator": [level(2, "up", "light"), level(2)]}, "no level has 'strange'"),
    ],
)
def test_bad_run_files(tmp_path: Path, tables: dict[str, Any], text: str) -> None:
    folder = write_run(tmp_path, **tables)
    assert text in run("generate", "run.toml", cwd=folder, status=1).stderr


def test_an_unknown_monomial_is_named_with_its_line(tmp_path: Path) -> None:
    folder = write_run(tmp_path, integrator=[RUN["integrator"][0], level(2, "gage")])
    line = (folder / "run.toml").read_text().splitlines().index('monomials = ["gage"]') + 1
    said = run("generate", "run.toml", cwd=folder, status=1).stderr
    assert f"run.toml:{line}: integrator.1.monomials: 'gage' is no" in said


def test_whole_quanta_may_have_a_point() -> None:
    text = run_text(background={"b": [0.0, 0, 1.0]})
    assert parse_run_file(text, HmcRun) == parse_run_file(run_text(), HmcRun)


def test_a_step_that_is_too_large_is_warned_about(tmp_path: Path) -> None:
    folder = write_run(tmp_path, molecular_dynamics={"length": 3.0}, integrator=levels(steps=1))
    found = run("generate", "run.toml", cwd=folder)
    assert "is above 10: raise the steps of [[integrator]]" in found.stdout + found.stderr


def test_a_rational_function_that_is_too_coarse_is_warned_about(tmp_path: Path) -> None:
    folder = write_run(tmp_path, up={"rational": {"order": 2}}, trajectories={"total": 2})
    found = run("generate", "run.toml", cwd=folder)
    assert "fermions 'up': a rational function is wrong by" in found.stdout + found.stderr


def test_seconds_of_the_spectral_check(plain: Path) -> None:
    with h5py.File(plain / "out" / "stream.h5") as file:
        spectrum, whole = (file[f"observables/{name}"][:] for name in ("seconds.spectrum", "seconds"))
    assert (spectrum > 0).all()
    assert (spectrum < whole).all()


def test_work_of_each_part(plain: Path) -> None:
    """Every trajectory has flops, bytes and what the machine would allow, where arithmetic is counted."""
    with h5py.File(plain / "out" / "stream.h5") as file:
        work = {name: dataset[:] for name, dataset in file["work"].items()}
        count = len(file["trajectory"])
        taken = {name: file[f"observables/seconds.{name}"][:] for name in ("solver", "gauge_force")}
    for name, seconds in taken.items():
        for key in ("flops", "bytes", "roof_seconds"):
            assert work[f"{name}.{key}"].shape == (count,)
            assert (work[f"{name}.{key}"] > 0).all()
        assert (work[f"{name}.flops"] < 1e12 * seconds).all()
    assert not any(name.startswith("spectrum") for name in work)


def test_tune(plain: Path) -> None:
    found = json.loads(run("generate", "run.toml", "--tune", "--acceptance", 0.9, "--json", cwd=plain).stdout)
    assert found["wished"] == 0.9
    assert len(found["levels"]) == 2
    assert all(level["proposed"] >= 1 for level in found["levels"])
    assert 0 < found["acceptance"] <= 1


def test_the_acceptance_formula() -> None:
    assert acceptance_of(0.0) == 1.0
    assert acceptance_of(deviation_for(0.8)) == pytest.approx(0.8)
    # The integral is <min(1, exp(-dH))> of a normal dH with mean s^2 / 2 and variance s^2.
    s, steps = 1.3, 20000
    h = 16 * s / steps
    total = 0.0
    for k in range(steps + 1):
        x = s * s / 2 - 8 * s + k * h
        weight = math.exp(-((x - s * s / 2) ** 2) / (2 * s * s)) / (s * math.sqrt(2 * math.pi))
        total += h * weight * min(1.0, math.exp(-x))
    assert acceptance_of(s) == pytest.approx(total, rel=1e-6)


ONE_FLAVOUR = {
    "action": {"beta": 5.0},
    "molecular_dynamics": {"length": 1.0},
    "start": {"type": "cold"},
    "trajectories": {"total": 6, "thermalisation": 6},
    "random": {"seed": 8},
}
LIGHT = {
    "name": "light",
    "type": "staggered",
    "n_f": 2,
    "mass": 0.1,
    "rational": {"order": 8, "dynamics_order": 6},
}
WEAK = {"type": "weak", "spread": 0.3}
ONE = {"total": 1, "thermalisation": None}


def write_light(folder: Path, *, steps: int = 4, high: float | None = None, **tables: Any) -> Path:
    """Write a run of one staggered flavour whose interval ends at `high`; `light` changes it."""
    light = changed(LIGHT, {"rational": {"high": high}}, tables.pop("light", {}))
    levels = {"integrator": [level(steps, "light", "gauge")]}
    return write_run_file(folder, trajectories(ONE_FLAVOUR, {"fermions": [light]}, levels, tables))


def test_tune_tells_levels_apart_where_the_inner_has_one_step(tmp_path: Path) -> None:
    """Quarks of mass 5 hardly move links: dH is the gauge level's, whose single step cannot be halved."""
    levels = [level(4, "light"), level(1)]
    folder = write_light(tmp_path, high=100, light={"mass": 5.0}, integrator=levels)
    found = json.loads(run("generate", "run.toml", "--tune", "--json", cwd=folder).stdout)
    quarks, gauge = (level["part"] for level in found["levels"])
    assert gauge == pytest.approx(found["deviation"], rel=0.5)
    assert quarks < 0.1 * gauge


def test_an_interval_that_is_too_short_is_widened(tmp_path: Path) -> None:
    """Unit links have eigenvalues up to 4 + m^2, rough ones have larger ones: the start's interval does not
    last."""
    folder = write_light(tmp_path, high=4.05)
    found = run("generate", "run.toml", cwd=folder)
    assert "warning: fermions 'light': the spectrum leaves its interval (above 4.05), which" in found.stderr
    record = json.loads(max((folder / "out").glob("*.json")).read_text())
    assert record["intervals"]["light"]["low"] == pytest.approx(0.01)
    assert record["intervals"]["light"]["high"] > 4.3
    # The wider interval is part of the state: going on begins with it, and widens no more than needed.
    again = run("generate", "run.toml", "--trajectories", 1, cwd=folder)
    assert "4.05" not in again.stderr + again.stdout


def test_a_trajectory_that_ends_outside_of_its_interval_is_repeated(tmp_path: Path) -> None:
    """The accept step counts where the rational functions hold at both ends; resumed runs repeat trajectories
    alike."""
    states = {}
    for name, parts in {"whole": [3], "parts": [1, 2]}.items():
        (tmp_path / name).mkdir()
        folder = write_light(tmp_path / name, high=4.05, trajectories={"thermalisation": 0})
        found = [run("generate", "run.toml", "--trajectories", n, cwd=folder).stderr for n in parts]
        assert "(above 4.05), which for trajectory 1, which is repeated, and from there on is" in found[0]
        record = json.loads(max((folder / "out").glob("*.json")).read_text())
        assert record["intervals"]["light"]["high"] > 4.3
        links = tr.read_gauge_field(max((folder / "out").glob("*.ildg")))
        states[name] = (record["intervals"], links.to_numpy().tobytes())
        with h5py.File(folder / "out" / "stream.h5") as file:
            assert len(file["trajectory"]) == 3
    assert states["whole"] == states["parts"]


def test_the_lower_end_of_the_spectrum_is_found(tmp_path: Path) -> None:
    """Wilson quarks have nearly their smallest mass: 40 Lanczos steps are 300 times above the lowest
    eigenvalue."""
    light = {"type": "wilson", "n_f": 1, "mass": -2.0, "rational": None}
    short = {"start": {"type": "hot"}, "molecular_dynamics": {"length": 0.01}}
    run_file = write_light(tmp_path, light=light, **short) / "run.toml"
    sea = make_sea(load_run_file(run_file, HmcRun)[0], tr.hot((4, 4, 4, 4), seed=8))
    U = tr.hot((4, 4, 4, 4), seed=8)
    few, low = sea._spectrum("light", U, 40, 0.0)[0], sea.ends("light", U)[0]
    lowest = sea._spectrum("light", U, 1500, 0.0)[0]
    assert few > 100 * lowest
    assert low == pytest.approx(lowest, rel=0.02)
    interval = sea.intervals["light"]
    assert interval.low < lowest
    write_light(tmp_path, light={**light, "rational": {"low": 2 * lowest}}, **short)
    with pytest.raises(tr.Error, match=r"is below rational\.low"):
        make_sea(load_run_file(run_file, HmcRun)[0], U)


def test_an_interval_that_is_too_short_at_the_start_is_an_error(tmp_path: Path) -> None:
    folder = write_light(tmp_path, high=3.0)
    found = run("generate", "run.toml", cwd=folder, status=1)
    assert "is above rational.high = 3: raise that" in found.stderr
    assert "rational.low" not in found.stderr


def test_hisq(tmp_path: Path) -> None:
    tables = {
        "light": {"type": "hisq", "rational": {"high": 6.0}},
        "lattice": {"extents": [4, 4, 4, 8]},
        "trajectories": {"total": 2, "thermalisation": 2},
    }
    folder = write_light(tmp_path, **tables)
    found = json.loads(run("generate", "run.toml", "--json", cwd=folder).stdout)
    assert found["seconds_by_part"]["smearing"] > 0
    with h5py.File(folder / "out" / "stream.h5") as file:
        assert file["observables/force.light"][-1] > 0
        assert file["observables/iterations.light"][-1] > 0
    other = write_light(tmp_path / "ranks", **tables)
    run("generate", "run.toml", cwd=other, ranks=2)
    assert content(other) == content(folder)
    found = run("generate", "run.toml", cwd=write_light(tmp_path / "short", **tables), ranks=4, status=None)
    assert "no grid of 4 ranks does on this lattice; numbers of ranks that do: 1, 2" in found.stderr
    tables["smearing"] = {"stout": {"rho": 0.1, "steps": 1}}
    refused = write_light(tmp_path / "refused", **tables)
    assert (
        "HISQ flavours have their own smearing" in run("generate", "run.toml", cwd=refused, status=1).stderr
    )


def test_stout_links_beside_hisq(tmp_path: Path) -> None:
    """The table [smearing] acts on the flavour that is not HISQ, and on its force: dH falls as the step
    squared."""
    light = changed(LIGHT, {"type": "hisq", "rational": {"high": 20}})
    other = {"name": "stout", "type": "staggered", "n_f": 1, "mass": 0.2}
    dH, forces = [], []
    for steps, rho in ((8, 0.1), (16, 0.1), (16, 0.0)):
        folder = write_light(
            tmp_path / f"{steps}_{rho}",
            fermions=[light, other],
            integrator=[level(steps, "light", "stout", "gauge")],
            smearing={"stout": {"rho": rho, "steps": 1}},
            start=WEAK,
            trajectories=ONE,
        )
        run("generate", "run.toml", cwd=folder)
        with h5py.File(folder / "out" / "stream.h5") as file:
            dH.append(abs(file["observables/dH"][0]))
            forces.append([file[f"observables/force.{name}"][0] for name in ("light", "stout")])
    assert dH[0] / dH[1] == pytest.approx(4, rel=0.2)
    assert forces[1][0] == forces[2][0]
    assert forces[1][1] != forces[2][1]


def test_negative_stout_weights(tmp_path: Path) -> None:
    """Negative weights are warned about, and the force is the derivative: dH of a trajectory falls as the
    square of its steps."""
    tables = {"smearing": {"stout": {"rho": -0.05, "steps": 2}}, "start": WEAK, "trajectories": ONE}
    found = []
    for steps in (8, 16):
        folder = write_light(tmp_path / f"{steps}", steps=steps, high=20, **tables)
        said = run("generate", "run.toml", cwd=folder).stderr
        assert "smearing.stout.rho = -0.05 is negative: all waves of the links grow" in " ".join(said.split())
        with h5py.File(folder / "out" / "stream.h5") as file:
            found.append(abs(file["observables/dH"][0]))
    assert found[0] / found[1] == pytest.approx(4, rel=0.2)


def test_odd_parameters_are_named(tmp_path: Path) -> None:
    valence = {"name": "v", "type": "staggered", "mass": 0.5, "smearing": {"stout": {"rho": 0.2, "steps": 1}}}
    folder = write_light(
        tmp_path,
        high=9.0,
        smearing={"stout": {"rho": 0.24, "steps": 1}},
        metropolis={"tolerance": 1e-3},
        measure={"fermions": {}, "valence": [valence]},
        trajectories=ONE,
    )
    said = run("generate", "run.toml", cwd=folder).stderr
    assert said.count("smearing.stout.rho = 0.24 is above 0.16") == 1
    assert "measure.valence.0.smearing.stout.rho = 0.2 is above 0.16" in said
    assert "metropolis.tolerance = 0.001 is looser than molecular_dynamics.tolerance = 1e-07: " in said
    assert "set metropolis.tolerance to 1e-07 or less" in said


def test_steps_that_are_rounded_once() -> None:
    """Inner levels get steps for the drifts that the outer level really makes."""
    assert whole_steps([5, 1], [0.3, 0.25]) == [2, 1]  # this is 0.25 / (2/5) = 0.6
    assert whole_steps([5, 1], [0.3, 0.5]) == [2, 2]  # this is 1.25
    assert whole_steps([4, 2], [2.0, 2.0]) == [8, 2]
    assert whole_steps([4, 2, 3], [0.0, 0.0, 1.0]) == [1, 1, 24]


def test_tune_with_far_too_many_steps(tmp_path: Path) -> None:
    folder = write_light(
        tmp_path, steps=40, high=100, light={"mass": 5.0}, trajectories={"thermalisation": 2}
    )
    found = run("generate", "run.toml", "--tune", "--json", cwd=folder)
    assert json.loads(found.stdout)["levels"][0]["proposed"] < 20
    assert "level 1: less than half of the steps of a trajectory are proposed" in found.stderr
    assert "tune again with these" in found.stderr


def test_a_start_from_links_of_32_bits(tmp_path: Path) -> None:
    """A chain lives in SU(3): the links are brought back to it, and that is said."""
    trellis.quenched((4, 4, 4, 8), beta=6.0, seed=1, sweeps=2).write(tmp_path / "single.milc", "milc")
    folder = write_run(tmp_path, start={"type": "file", "spread": None, "file": "single.milc"})
    found = run("generate", "run.toml", "--trajectories", 1, cwd=folder)
    assert "single.milc: links are in SU(3) to " in found.stdout + found.stderr
    assert "; they are reunitarised" in found.stdout + found.stderr
