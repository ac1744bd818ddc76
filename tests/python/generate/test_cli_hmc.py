"""These tests cover trellis generate with [molecular_dynamics]: the same bits after any interruption and on
any ranks."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from command_line import command, environment, run, stopped_by_signal, write_run_file
from command_line import stream_content as content
from run_file_texts import level, trajectories

from trellis.analysis import analyze
from trellis.errors import RunFileError
from trellis.generate.trajectory_report import largest_change
from trellis.run_files import HmcRun, parse_run_file

RUN = {
    "lattice": {"extents": [4, 4, 4, 8]},
    "action": {"type": "symanzik", "beta": 4.0},
    "trajectories": {
        "total": 12,
        "thermalisation": 3,
        "keep_every": 4,
        "checkpoint_every": 2,
        "reversibility_every": 5,
    },
    "random": {"seed": 11},
}


def run_text(*, total: int = 12, **tables: Any) -> str:
    return trajectories(RUN, {"trajectories": {"total": total}}, tables)


def write_run(folder: Path, *, total: int = 12, **tables: Any) -> Path:
    return write_run_file(folder, run_text(total=total, **tables))


@pytest.fixture(scope="module")
def plain(tmp_path_factory) -> Path:
    folder = write_run(tmp_path_factory.mktemp("plain"))
    run("generate", "run.toml", cwd=folder)
    return folder


def test_what_a_run_leaves(plain: Path) -> None:
    names = sorted(path.name for path in (plain / "out").iterdir())
    assert names == [
        "checkpoint.000012.ildg",
        "checkpoint.000012.json",
        "configuration.000007.ildg",
        "configuration.000007.json",
        "configuration.000011.ildg",
        "configuration.000011.json",
        "stream.h5",
    ]
    with h5py.File(plain / "out" / "stream.h5") as file:
        assert np.array_equal(file["trajectory"][()], np.arange(1, 13))
        values = file["observables"]
        assert np.allclose(values["exp_minus_dH"][()], np.exp(-values["dH"][()]), rtol=1e-14)
        assert np.all(values["accepted"][:3] == 1.0)
        assert np.all(values["force.gauge"][()] > 0)
        assert file["occasional/reversibility_links/trajectory"][()].tolist() == [5, 10]
        assert np.all(file["occasional/reversibility_links/value"][()] < 1e-12)


@pytest.mark.parametrize("ranks, threads, lanes", [(1, 2, 1), (2, 1, 4), (4, 1, 16)])
def test_the_same_bits(plain: Path, tmp_path: Path, ranks: int, threads: int, lanes: int) -> None:
    folder = write_run(tmp_path)
    environment = {"TRELLIS_LANES": str(lanes), "OMP_NUM_THREADS": str(threads)}
    found = run("generate", "run.toml", cwd=folder, ranks=ranks, **environment)
    assert content(folder) == content(plain)
    assert "\x1b" not in found.stdout + found.stderr  # mpirun's ranks have a terminal, but no progress bar
    assert len(re.findall(r"^ +\d+  plaquette ", found.stdout, flags=re.MULTILINE)) == 12


def test_stopped_and_resumed_on_other_ranks(plain: Path, tmp_path: Path) -> None:
    folder = write_run(tmp_path)
    first = json.loads(run("generate", "run.toml", "--trajectories", 5, "--json", cwd=folder).stdout)
    assert first["made"] == first["trajectories"] == 5
    second = json.loads(run("generate", "run.toml", "--json", cwd=folder, ranks=2).stdout)
    assert second["resumed_from"] == 5
    found, expected = content(folder), content(plain)
    assert {name: found[name] for name in expected} == expected


@pytest.mark.parametrize("made, tested", [(2, 0), (5, 2)])
def test_the_acceptance_of_what_was_made(plain: Path, tmp_path: Path, made: int, tested: int) -> None:
    """The acceptance counts tested trajectories; without any, it is what the test would accept."""
    folder = write_run(tmp_path)
    arguments = ("generate", "run.toml", "--trajectories", made)
    found = json.loads(run(*arguments, "--json", cwd=folder).stdout)
    with h5py.File(plain / "out" / "stream.h5") as file:
        dH = file["observables/dH"][:made]
        accepted = file["observables/accepted"][:made]
    expected = np.minimum(1.0, np.exp(-dH)) if tested == 0 else accepted[-tested:]
    assert found["metropolis_tested"] == tested
    assert found["acceptance"] == pytest.approx(expected.mean(), rel=1e-12)
    assert found["exp_minus_dh"] == pytest.approx(np.exp(-dH[-tested:]).mean(), rel=1e-12)


def test_a_missing_stream(tmp_path: Path) -> None:
    folder = write_run(tmp_path, total=4)
    run("generate", "run.toml", cwd=folder)
    (folder / "out" / "stream.h5").unlink()
    said = run("generate", "run.toml", "--trajectories", 1, cwd=folder, status=1).stderr
    assert "Lost with it are the observables of 1 to 4" in said
    assert 'start.file = "out/checkpoint.000004.ildg" and another random.seed' in said
    assert not (folder / "out" / "stream.h5").exists()


def test_links_without_a_record_are_kept(tmp_path: Path) -> None:
    folder = write_run(tmp_path, total=4)
    (folder / "out").mkdir()
    (folder / "out" / "checkpoint.000004.ildg").write_text("of somebody else")
    said = " ".join(run("generate", "run.toml", cwd=folder).stderr.split())
    assert "out/checkpoint.000004.ildg has no checkpoint.000004.json" in said
    assert (folder / "out" / "checkpoint.000004.ildg.before_1").read_text() == "of somebody else"


def test_a_missing_table_is_named(tmp_path: Path) -> None:
    """The file was taken for one of a heat bath, and each of its tables was refused."""
    folder = write_run(tmp_path, molecular_dynamics=None)
    said = run("generate", "run.toml", cwd=folder, status=1).stderr
    assert said == "error: run.toml: molecular_dynamics: missing\n"
    quark = {"name": "u", "type": "staggered", "n_f": 4, "mass": 0.1}
    write_run(folder, integrator=None, molecular_dynamics=None, fermions=[quark])
    said = run("generate", "run.toml", cwd=folder, status=1).stderr
    expected = "error: run.toml: integrator: missing\nrun.toml: molecular_dynamics: missing\n"
    assert said == expected


@pytest.mark.parametrize(
    "tables, expected",
    [
        ({"heatbath": {"over_relaxation": 1}}, "[heatbath] beside [molecular_dynamics]: a run is one of the"),
        (
            {"heatbath": {}, "sweeps": {"total": 1, "keep_every": 1}, "molecular_dynamics": None},
            "[integrator] and [trajectories] beside [heatbath] or [sweeps]: the heat bath is quenched",
        ),
    ],
)
def test_two_algorithms_in_a_run_file(tmp_path: Path, tables: dict[str, Any], expected: str) -> None:
    folder = write_run(tmp_path, **tables)
    assert expected in run("generate", "run.toml", cwd=folder, status=1).stderr


@pytest.mark.parametrize(
    "by, ranks",
    [(signal.SIGTERM, 1), (signal.SIGINT, 1), (signal.SIGHUP, 1), (signal.SIGUSR1, 1), (signal.SIGUSR1, 2)],
)
def test_a_signal_finishes_the_trajectory(
    plain: Path, tmp_path: Path, by: signal.Signals, ranks: int
) -> None:
    """The launcher mpirun passes SIGUSR1 on to the ranks."""
    folder = write_run(tmp_path, total=100000)
    found = stopped_by_signal(
        "generate",
        "run.toml",
        cwd=folder,
        when=lambda: list(folder.glob("out/*.json")),
        by=by,
        ranks=ranks,
    )
    last = found["trajectories"]
    assert (folder / "out" / f"checkpoint.{last:06d}.json").exists() or (
        folder / "out" / f"configuration.{last:06d}.json"
    ).exists()
    with h5py.File(folder / "out" / "stream.h5") as file:
        assert file["trajectory"][-1] == last
        with h5py.File(plain / "out" / "stream.h5") as other:
            n = min(last, 12)
            assert np.array_equal(file["observables/dH"][:n], other["observables/dH"][:n])


@pytest.mark.slow
def test_killed_and_resumed(tmp_path: Path) -> None:
    """A kill -9 comes soon after a state was saved; TRELLIS_KILLS=50 makes it a campaign."""
    kills = int(os.environ.get("TRELLIS_KILLS", "5"))
    folder = write_run(tmp_path, total=12 * kills)
    whole = write_run(tmp_path / "whole", total=12 * kills)
    run("generate", "run.toml", cwd=whole)
    for kill in range(kills):
        process = subprocess.Popen(
            command("generate", "run.toml"),
            cwd=folder,
            env=environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        before = newest(folder)
        deadline = time.monotonic() + 60
        while process.poll() is None and newest(folder) == before and time.monotonic() < deadline:
            time.sleep(0.002)
        time.sleep(0.003 * (kill % 11))
        process.kill()
        process.wait()
    run("generate", "run.toml", cwd=folder)
    found, expected = content(folder), content(whole)
    kept = [name for name in expected if not name.startswith("checkpoint")]
    assert {name: found[name] for name in kept} == {name: expected[name] for name in kept}
    assert not list(folder.glob("out/*.partial"))


def test_killed_before_the_first_state(plain: Path, tmp_path: Path) -> None:
    """The stream is there after the first trajectory, and can be analysed; it is made again, bit for bit."""
    late = write_run(tmp_path, trajectories={"total": 10000, "checkpoint_every": 10000, "keep_every": None})
    stream = late / "out" / "stream.h5"
    process = subprocess.Popen(
        command("generate", "run.toml"), cwd=late, env=environment(), stdout=subprocess.DEVNULL
    )
    deadline = time.monotonic() + 60
    while not stream.exists() and time.monotonic() < deadline:
        time.sleep(0.005)
    found = analyze(stream)
    process.kill()
    process.wait()
    assert found.series["plaquette"].x == [1]
    assert not list(late.glob("out/*.json"))
    again = run("generate", "run.toml", "--trajectories", 12, cwd=late)
    assert "out/stream.h5 is of this run, which had no state yet" in again.stdout
    assert again.stderr == ""
    expected = {name: bits for name, bits in content(plain).items() if not name.endswith(".ildg")}
    assert {name: content(late)[name] for name in expected} == expected
    assert (late / "out" / "checkpoint.000012.ildg").exists()


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_stream_that_is_ahead_of_the_state(plain: Path, tmp_path: Path, ranks: int) -> None:
    """After a kill between two states, the trajectories beyond the state are made again, bit for bit."""
    folder = write_run(tmp_path, total=6)
    run("generate", "run.toml", cwd=folder)
    for path in (folder / "out").glob("checkpoint.000006.*"):
        path.unlink()
    with h5py.File(folder / "out" / "stream.h5") as file:
        assert file["trajectory"][-1] == 6
        assert file["occasional/reversibility_links/trajectory"][()].tolist() == [5]
        assert file.attrs["last_state"] == 6
    (folder / "out" / "checkpoint.000006.ildg").write_text("half of it")  # this is an interrupted save
    write_run(tmp_path)
    assert run("generate", "run.toml", cwd=folder, ranks=ranks).stderr == ""
    assert content(folder) == content(plain)


def test_a_damaged_state_is_not_one_of_the_last_two(plain: Path, tmp_path: Path) -> None:
    """The states 6 and then 5 are damaged: 4 is still there."""
    folder = write_run(tmp_path, trajectories={"total": 6, "keep_every": None})
    run("generate", "run.toml", cwd=folder)
    (folder / "out" / "checkpoint.000006.ildg").write_text("of a bad disk")
    found = run("generate", "run.toml", "--tune", cwd=folder)
    assert "are kept as" not in found.stderr
    found = run("generate", "run.toml", "--trajectories", 1, cwd=folder)
    assert "kept as checkpoint.000006.json.before_1, checkpoint.000006.ildg.before_1" in found.stderr
    assert sorted(path.name for path in folder.glob("out/*.json")) == [
        "checkpoint.000004.json",
        "checkpoint.000005.json",
    ]
    (folder / "out" / "checkpoint.000005.ildg").unlink()
    write_run(tmp_path, trajectories={"keep_every": None})
    assert "checkpoint.000005.json.before_1" in run("generate", "run.toml", cwd=folder).stderr
    expected = {name: bits for name, bits in content(plain).items() if "configuration" not in name}
    assert {name: content(folder)[name] for name in expected} == expected


def newest(folder: Path) -> str:
    return max((path.name[-11:] for path in folder.glob("out/*.json")), default="")


def test_a_changed_run_is_refused(tmp_path: Path) -> None:
    folder = write_run(tmp_path, total=4)
    run("generate", "run.toml", cwd=folder)
    write_run(tmp_path, action={"beta": 4.1}, integrator=[level(5)], random={"seed": 12})
    said = run("generate", "run.toml", cwd=folder, status=1).stderr
    assert (
        ".json: action.beta = 4.0 before and 4.1 now, random.seed = 11 before and 12 now: what decides"
        in said
    )
    assert "steps" not in said
    assert "action.beta = 4.0 before" in run("generate", "run.toml", "--tune", cwd=folder, status=1).stderr


def test_a_run_goes_on_with_other_steps(plain: Path, tmp_path: Path) -> None:
    """Keys that do not change the distribution may change and are recorded; the bits follow the new keys."""
    folder = write_run(tmp_path, trajectories={"total": 5, "checkpoint_every": 3})
    run("generate", "run.toml", cwd=folder)
    changed = {
        "integrator": [level(9, scheme="leapfrog")],
        "molecular_dynamics": {"length": 0.7},
        "measure": {"loops": {"every": 2, "spatial": 1, "temporal": 1}},
    }
    course = {"total": 8, "thermalisation": 6, "keep_every": 2, "checkpoint_every": 3}
    write_run(tmp_path, **changed, trajectories=course)
    tuned = run("generate", "run.toml", "--tune", cwd=folder)
    assert "notice" not in tuned.stderr
    said = run("generate", "run.toml", cwd=folder).stderr.splitlines()
    expected = [
        "integrator.0.scheme: 'omelyan2' -> 'leapfrog' from trajectory 6 on",
        "integrator.0.steps: 4 -> 9 from trajectory 6 on",
        "measure.loops.every: none -> 2 from trajectory 6 on",
        "molecular_dynamics.length: 0.5 -> 0.7 from trajectory 6 on",
        "trajectories.keep_every: 4 -> 2 from trajectory 6 on",
        "trajectories.thermalisation: 3 -> 6 from trajectory 6 on",
    ]
    assert said == [f"notice: {line}" for line in expected]
    # Once more, with nothing changed, the record stays, and nothing is said.
    assert run("generate", "run.toml", "--trajectories", 1, cwd=folder).stderr == ""
    last = json.loads((folder / "out" / "checkpoint.000009.json").read_text())
    assert [change["key"] for change in last["changes"]] == [line.split(":")[0] for line in expected]
    assert last["changes"][1] == {
        "from_trajectory": 6,
        "key": "integrator.0.steps",
        "before": 4,
        "now": 9,
    }
    with h5py.File(folder / "out" / "stream.h5") as file, h5py.File(plain / "out" / "stream.h5") as other:
        assert file.attrs["changes"].splitlines() == expected
        assert file.attrs["thermalisation"] == 6
        same = file["observables/dH"][:] == np.append(other["observables/dH"][:], 0.0)[:9]
        assert same.tolist() == 5 * [True] + 4 * [False]
        assert "changes" not in other.attrs
    found = analyze(folder / "out" / "stream.h5")
    assert "stream.h5: integrator.0.steps: 4 -> 9 from trajectory 6 on" in found.notes
    write_run(tmp_path, **changed, trajectories={**course, "total": 9, "thermalisation": 4})
    assert "expected at least 6" in run("generate", "run.toml", cwd=folder, status=1).stderr


def test_states_of_versions_with_fewer_keys(plain: Path, tmp_path: Path) -> None:
    folder = write_run(tmp_path, total=4)
    run("generate", "run.toml", cwd=folder)
    for path in (folder / "out").glob("*.json"):
        record = json.loads(path.read_text())
        del record["course"], record["changes"], record["physics"]["background"]
        path.write_text(json.dumps(record))
    write_run(tmp_path)
    assert run("generate", "run.toml", cwd=folder).stderr == ""
    assert content(folder) == content(plain)


def test_the_limit_of_iterations_may_change(plain: Path, tmp_path: Path) -> None:
    """A run that meets the limit is told to raise it; states of earlier versions have a limit, too."""
    folder = write_run(tmp_path, total=4)
    run("generate", "run.toml", cwd=folder)
    write_run(tmp_path, metropolis={"max_iterations": 30000})
    run("generate", "run.toml", cwd=folder)
    assert content(folder) == content(plain)


@pytest.mark.parametrize(
    "old, new, text",
    [
        ('monomials = ["gauge"]', 'monomials = ["light"]', "no monomial of this run"),
        ("steps = 4", "steps = 0", "integrator.0.steps"),
        (
            "steps = 4",
            "steps = 1000000000",
            "at most 1000000 steps of a level in a trajectory, found 10000000",
        ),
        ("steps = 4", "steps = 4\nlambda = 1e-300", "integrator.0.lambda: Input should be greater than or"),
        ("steps = 4", "steps = 4\nlambda = 0.4999", "integrator.0.lambda: Input should be less than or"),
        ("length = 0.5", "length = 0.0", "molecular_dynamics.length"),
        ("length = 0.5", "length = -1.0", "molecular_dynamics.length"),
        ("length = 0.5", "length = 1e-300", "molecular_dynamics.length"),
        (
            "length = 0.5",
            "length = 1e6",
            "molecular_dynamics.length: Input should be less than or equal to 100",
        ),
        ("steps = 4", "steps = 4\nlamda = 0.2", "did you mean 'lambda'? Valid here: lambda, monomials, sch"),
        ('scheme = "omelyan2"', 'scheme = "euler"', "force_gradient"),
        ("seed = 11", "seed = 11\nsed = 1", "unknown key"),
        ("extents = [4, 4, 4, 8]", "extents = [4, 4, 4, 7]", "the extent in t is 7"),
    ],
)
def test_bad_run_files(old: str, new: str, text: str) -> None:
    with pytest.raises(RunFileError, match=re.escape(text)):
        parse_run_file(run_text().replace(old, new), HmcRun)


def test_a_bad_run_file_is_refused(tmp_path: Path) -> None:
    folder = write_run(tmp_path, random={"sed": 1})
    line = (folder / "run.toml").read_text().splitlines().index("sed = 1") + 1
    found = run("generate", "run.toml", cwd=folder, status=1)
    assert found.stderr.startswith(f"error: run.toml:{line}: random.sed: unknown key; did you mean 'seed'?")
    assert not (folder / "out").exists()


def test_a_stream_without_states_is_kept(tmp_path: Path) -> None:
    folder = write_run(tmp_path, total=4)
    run("generate", "run.toml", cwd=folder)
    first = (folder / "out" / "stream.h5").read_bytes()
    for number in (1, 2):
        for state in [*(folder / "out").glob("*.json"), *(folder / "out").glob("*.ildg")]:
            state.unlink()
        said = run("generate", "run.toml", cwd=folder).stderr
        assert f"they are kept as stream.h5.before_{number}" in said
    assert (folder / "out" / "stream.h5.before_1").read_bytes() == first
    assert (folder / "out" / "stream.h5").exists()


def test_nothing_to_keep_is_said(tmp_path: Path) -> None:
    folder = write_run(tmp_path, total=6)
    said = run("generate", "run.toml", cwd=folder).stderr
    assert "keep_every = 4 keeps no configuration up to trajectory 6 after thermalisation = 3" in said
    assert "keeps no" not in run("generate", "run.toml", "--trajectories", 1, cwd=folder).stderr


def test_a_step_that_is_too_large_is_named(tmp_path: Path) -> None:
    course = {"total": 3, "thermalisation": 0}
    folder = write_run(
        tmp_path, integrator=[level(1)], molecular_dynamics={"length": 2.0}, trajectories=course
    )
    found = run("generate", "run.toml", cwd=folder)
    assert "dH = " in found.stderr
    assert "raise the steps of [[integrator]]" in found.stderr


@pytest.mark.parametrize(
    "text, expected",
    [
        (None, "error: nofile.toml: cannot be read: No such file or directory\n"),
        ("beta =", "error: nofile.toml: not valid TOML: Invalid value (at end of document)\n"),
        (
            "[integrator]\n[integrator]",
            "error: nofile.toml: not valid TOML: Cannot declare ('integrator',) tw",
        ),
    ],
)
def test_what_cannot_be_read_is_no_heat_bath(tmp_path: Path, text: str | None, expected: str) -> None:
    if text is not None:
        (tmp_path / "nofile.toml").write_text(text)
    for options in (("--trajectories", 2), ("--tune",)):
        assert run("generate", "nofile.toml", *options, cwd=tmp_path, status=1).stderr.startswith(expected)


def test_trajectories_are_not_for_tuning(tmp_path: Path) -> None:
    folder = write_run(tmp_path)
    said = run("generate", "run.toml", "--tune", "--trajectories", 5, cwd=folder, status=2).stderr
    assert "--trajectories belongs to a run" in said


def test_violations_at_the_begin_of_the_thermalisation(tmp_path: Path) -> None:
    """From the third in a row on, violations are no matter of the start; all are counted at the end."""
    course = {"total": 13, "thermalisation": 12}
    folder = write_run(
        tmp_path, integrator=[level(1)], molecular_dynamics={"length": 2.0}, trajectories=course
    )
    said = run("generate", "run.toml", "--trajectories", 6, "--json", cwd=folder).stderr.splitlines()
    early, summary = [line for line in said if "dH" in line]
    assert early.startswith("warning: trajectory 3: dH = ")
    assert ", the 3rd in a row, is above 10: raise the steps of [[integrator]] (of all actions" in early
    with h5py.File(folder / "out" / "stream.h5") as file:
        largest = file["observables/dH"][:].max()
    assert summary.startswith(
        f"warning: dH above 10 in 6 of 6 trajectories of the thermalisation, the largest {largest:.3g}: "
    )
    assert "raise the steps of [[integrator]]" in summary


def test_the_action_that_changes_most() -> None:
    monomials = [
        {"name": name, "action_before": 10.0, "action_after": 10.0 + change}
        for name, change in (("gauge", -300.0), ("light", 20.0))
    ]
    record = {"monomials": monomials, "kinetic_before": 5.0, "kinetic_after": 300.0}
    assert largest_change(record) == (
        "of all actions that of 'gauge' changes most, by -300; the kinetic energy by +295"
    )


def test_nothing_is_left_to_do(plain: Path) -> None:
    said = run("generate", "run.toml", cwd=plain).stdout
    assert "nothing to do: out has 12 trajectories, and trajectories.total = 12" in said


def test_tuning_does_not_extrapolate_from_a_large_dH(tmp_path: Path) -> None:
    """Two leapfrog steps of length 1.5 at beta 30 have dH of 10^5, which doubled steps do not quarter."""
    folder = write_run(
        tmp_path,
        action={"beta": 30.0},
        integrator=[level(2, scheme="leapfrog")],
        molecular_dynamics={"length": 3.0},
    )
    found = run("generate", "run.toml", "--tune", "--json", cwd=folder)
    assert json.loads(found.stdout)["levels"][0]["proposed"] == 4
    assert "tune again with them" in found.stderr
