"""With solver.type = "multigrid" `trellis measure` has one set-up for a configuration, and the results of
cg."""

from __future__ import annotations

import inspect
import json
import re
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from command_line import run as run_command

import trellis as tr
from trellis.measure import Step
from trellis.measure import multigrid as of_measurement
from trellis.run_files.multigrid import MultigridTable
from trellis.solve.choice import KrylovTrial

RUN = """\
[configurations]
files = "field.*"
[fermion]
type = "{type}"
kappa = 0.1300
csw = 1.769
{fermion}
[solver]
tolerance = 1e-10
type = "multigrid"
[solver.multigrid]
vectors = 6
block = [2, 2, 2, 2]
sweeps = 1
[source]
positions = [[0, 0, 0, 0], [1, 0, 0, {time}]]
[correlators]
mesons = {mesons}
baryons = ["nucleon"]
[output]
directory = "out"
"""
TABLES = {"type": "clover", "fermion": "", "mesons": '["pion"]', "time": "2"}
STRANGE = TABLES | {"fermion": "strange_kappa = 0.1200", "mesons": '["pion", "kaon"]'}
#: Each name has its tables, and the kappa of the set-up.
RUNS = {
    "two masses": (STRANGE, 0.1300),
    "the second one is lighter": (STRANGE | {"fermion": "strange_kappa = 0.1310"}, 0.1310),
    "a doublet and a strange quark": (
        STRANGE | {"type": "twisted_mass", "fermion": "twisted_mass = 0.05\nstrange_mass = 0.3"},
        0.1300,
    ),
    "walls in time": (TABLES | {"fermion": 'boundary = [0, 0, 0, "dirichlet"]', "time": "0"}, 0.1300),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    tr.quenched((4, 4, 4, 4), beta=6.0, seed=5, sweeps=10).write(tmp_path / "field.1.ildg")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def correlators(folder: str) -> dict[str, np.ndarray]:
    with h5py.File(Path(folder) / "correlators.000001.h5") as file:
        return {name: dataset[()] for name, dataset in file["correlators"].items()}


@pytest.mark.parametrize("case", RUNS)
def test_results_are_those_of_cg_from_one_set_up(
    folder: Path, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    tables, kappa = RUNS[case]
    set_ups: list[float] = []

    def counted(M: tr.WilsonClover, **keys: Any) -> tr.Multigrid:
        set_ups.append(M.kappa)
        return tr.multigrid(M, **keys)

    monkeypatch.setattr(of_measurement, "multigrid", counted)
    text = RUN.format(**tables)
    (folder / "run.toml").write_text(text)
    result = tr.measure.run("run.toml")
    assert set_ups == [pytest.approx(kappa)]
    assert result.iterations_max is not None
    assert result.iterations_max < 20
    assert 0 < result.setup_seconds < result.seconds
    with h5py.File("out/correlators.000001.h5") as file:
        about = file["solves"].attrs
        assert about["multigrid_seconds"] == result.setup_seconds
        assert about["solver"] == "multigrid (6 vectors, blocks of 2x2x2x2)"
        assert "6 vectors on blocks of 2x2x2x2" in about["multigrid"]
        assert "smoother sap" in about["multigrid"]
        assert re.search(r"[1-9][0-9]* cycles of .* right-hand sides:\n(.*\n)*  smoother", about["multigrid"])
        assert "stages" not in about
    before, _, behind = text.partition('type = "multigrid"\n')
    of_cg = before + behind[behind.index("[source]") :].replace('"out"', '"cg"')
    (folder / "cg.toml").write_text(of_cg)
    assert tr.measure.run("cg.toml").setup_seconds == 0
    found, expected = correlators("out"), correlators("cg")
    assert list(found) == list(expected)
    for name, values in expected.items():
        assert np.allclose(found[name], values, rtol=0, atol=1e-8 * np.abs(values).max()), name


def test_two_ranks_have_the_bits_of_one_and_say_what_was_set_up(folder: Path) -> None:
    (folder / "run.toml").write_text(RUN.format(**STRANGE))
    said = run_command("measure", "run.toml", cwd=folder).stdout
    line = (
        "configuration 1: multigrid of 2 levels with 6 vectors on blocks of 2x2x2x2, coarse lattice 2x2x2x2, "
    )
    assert said.count("multigrid of") == 1
    assert line in said
    assert "mean |M v| / |v| of the test vectors" in said
    alone = correlators("out")
    page = (folder / "out" / "multigrid.000001.html").read_text()
    assert "<title>Multigrid of configuration 1</title>" in page
    assert "<svg" in page
    (folder / "out").rename(folder / "alone")
    run_command("measure", "run.toml", cwd=folder, ranks=2)
    assert all(np.array_equal(alone[name], values) for name, values in correlators("out").items())


def test_the_coarse_lattice_may_lie_on_one_of_two_ranks(folder: Path) -> None:
    """The coarse lattice is one box, which the Schwarz method solves at once."""
    keys = 'sweeps = 1\ncoarse_solver = "schwarz"\ncoarse_ranks = '
    text = RUN.format(**TABLES).replace("sweeps = 1", keys + "2")
    (folder / "run.toml").write_text(text)
    run_command("measure", "run.toml", cwd=folder)
    alone = correlators("out")
    (folder / "out").rename(folder / "alone")
    (folder / "run.toml").write_text(text.replace(keys + "2", keys + "1"))
    run_command("measure", "run.toml", cwd=folder, ranks=2)
    assert all(np.array_equal(alone[name], values) for name, values in correlators("out").items())


def test_a_run_goes_on_with_the_same_bits_and_refuses_another_set_up(folder: Path) -> None:
    text = RUN.format(**TABLES)
    (folder / "run.toml").write_text(text)
    tr.measure.run("run.toml")
    expected = correlators("out")
    (folder / "out").rename(folder / "whole")

    def stop_behind_the_first(step: Step) -> None:
        if step.what == "propagators" and step.completed == 1:
            raise KeyboardInterrupt

    assert tr.measure.run("run.toml", on_progress=stop_behind_the_first).stopped
    (folder / "run.toml").write_text(text.replace("vectors = 6", "vectors = 7"))
    with pytest.raises(tr.BadArgument, match=r"solver\.multigrid\.vectors"):
        tr.measure.run("run.toml", resume=True)
    (folder / "run.toml").write_text(text)
    assert tr.measure.run("run.toml", resume=True).solves == 1
    assert all(np.array_equal(expected[name], values) for name, values in correlators("out").items())


def test_a_set_up_is_kept_and_taken_by_later_runs(folder: Path) -> None:
    text = RUN.format(**STRANGE).replace("[source]", 'directory = "kept"\n[source]')
    (folder / "run.toml").write_text(text)
    steps: list[Step] = []
    assert tr.measure.run("run.toml", on_progress=steps.append).setup_seconds > 0
    assert any("; kept in kept/multigrid.000001.h5" in step.text for step in steps)
    (folder / "again.toml").write_text(text.replace('"out"', '"again"'))
    steps.clear()
    assert tr.measure.run("again.toml", on_progress=steps.append).setup_seconds == 0
    assert any("read from kept/multigrid.000001.h5" in step.text for step in steps)
    expected = correlators("out")
    assert all(np.array_equal(expected[name], values) for name, values in correlators("again").items())
    elsewhere = text.replace('"out"', '"elsewhere"').replace("sweeps = 1", "sweeps = 1\ncoarse_ranks = 1")
    (folder / "elsewhere.toml").write_text(elsewhere)  # this is no property of a set-up
    assert tr.measure.run("elsewhere.toml").setup_seconds == 0
    for old, new, key in (
        ("vectors = 6", "vectors = 7", r"solver\.multigrid\.vectors: expected a set-up with 7, found 6"),
        (
            "sweeps = 1",
            'sweeps = 1\ncoarse_solver = "schwarz"',
            "coarse_solver: expected a set-up with 'schwarz', found 'gcr'",
        ),
        (
            "sweeps = 1",
            'sweeps = 1\nprolongator_storage = "single"',
            "prolongator_storage: expected a set-up with 'single', found 'half'",
        ),
        ("sweeps = 1", "sweeps = 1\nsmoothing = 2", r"smoothing: expected a set-up with 2, found 3"),
        ("kappa = 0.1300", "kappa = 0.1290", "the lightest quark's mass"),
    ):
        (folder / "other.toml").write_text(text.replace('"out"', '"other"').replace(old, new))
        with pytest.raises(tr.BadArgument, match=key):
            tr.measure.run("other.toml")


def test_sweeps_by_rule_are_kept_and_taken_for_as_many_sources_only(folder: Path) -> None:
    text = (
        RUN.format(**TABLES).replace("sweeps = 1\n", "").replace("[source]", 'directory = "kept"\n[source]')
    )
    (folder / "run.toml").write_text(text)
    tr.measure.run("run.toml")
    (folder / "again.toml").write_text(text.replace('"out"', '"again"'))
    assert tr.measure.run("again.toml").setup_seconds == 0
    expected = correlators("out")
    assert all(np.array_equal(expected[name], values) for name, values in correlators("again").items())
    one_source = text.replace('"out"', '"other"').replace("[[0, 0, 0, 0], [1, 0, 0, 2]]", "[[0, 0, 0, 0]]")
    (folder / "other.toml").write_text(one_source)
    with pytest.raises(
        tr.BadArgument, match=r"not chosen for 12 right-hand sides.*sweeps = ([0-9]+)"
    ) as caught:
        tr.measure.run("other.toml")
    asked = re.search(r"sweeps = [0-9]+", str(caught.value))
    assert asked is not None
    (folder / "other.toml").write_text(one_source.replace("directory =", f"{asked[0]}\ndirectory =", 1))
    assert tr.measure.run("other.toml").setup_seconds == 0


AUTO = RUN.replace('type = "multigrid"', 'type = "auto"')


def test_auto_leaves_quarks_to_bicgstab_where_a_set_up_does_not_pay(folder: Path) -> None:
    (folder / "run.toml").write_text(AUTO.format(**STRANGE))
    said = run_command("measure", "run.toml", cwd=folder).stdout
    assert "configuration 1: multigrid does not pay: bicgstab; counted work for 48 right-hand sides" in said
    with h5py.File("out/correlators.000001.h5") as file:
        about = file["solves"].attrs
        assert "bicgstab" in about["solver"]
        assert about["solver_choice"].startswith("multigrid does not pay")
        assert "multigrid" not in about


def test_auto_takes_multigrid_for_the_quarks_for_which_it_pays(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The trial says that BiCGStab takes a hundred times as long for the light quark; the results are those
    of cg."""
    real = of_measurement.try_krylov

    def slow(M: tr.WilsonClover, **keys: Any) -> KrylovTrial:
        trial = real(M, **keys)
        return KrylovTrial(trial.iterations, trial.price * (100 if M.kappa > 0.125 else 1), trial.is_bound)

    monkeypatch.setattr(of_measurement, "try_krylov", slow)
    text = AUTO.format(**STRANGE)
    (folder / "run.toml").write_text(text)
    assert tr.measure.run("run.toml").setup_seconds > 0
    with h5py.File("out/correlators.000001.h5") as file:
        about = file["solves"].attrs
        assert about["solver_choice"].startswith("multigrid pays; counted work for 24 right-hand sides")
        assert about["solver_choice"].endswith("; bicgstab solves strange")
        assert "6 vectors on blocks of 2x2x2x2" in about["multigrid"]
    of_cg = re.sub(r"\[solver\.multigrid\][^\[]*(\[2.*\n.*\n)", "", text).replace('"auto"', '"cg"')
    (folder / "cg.toml").write_text(of_cg.replace('"out"', '"cg"'))
    tr.measure.run("cg.toml")
    found = correlators("out")
    for name, values in correlators("cg").items():
        assert np.allclose(found[name], values, rtol=0, atol=1e-8 * np.abs(values).max()), name


def test_a_choice_has_the_same_numbers_on_two_ranks(folder: Path) -> None:
    (folder / "run.toml").write_text(AUTO.format(**STRANGE))
    words = []
    for ranks in (1, 2):
        run_command("measure", "run.toml", cwd=folder, ranks=ranks)
        with h5py.File("out/correlators.000001.h5") as file:
            words.append(file["solves"].attrs["solver_choice"])
        (folder / "out").rename(folder / f"on_{ranks}")
    assert words[0] == words[1]


def test_blocks_that_do_not_suit_the_lattice_are_refused_before_any_work(folder: Path) -> None:
    (folder / "run.toml").write_text(RUN.format(**TABLES).replace("[2, 2, 2, 2]", "[2, 2, 4, 2]"))
    with pytest.raises(tr.RunFileError) as caught:
        tr.measure.run("run.toml")
    assert str(caught.value) == (
        "run.toml:13: solver.multigrid.block: expected an even number of blocks of at least 2 sites in z, "
        "where the lattice has 4 sites (legal: 2)"
    )
    assert not (folder / "out").exists()


def test_ranks_that_cut_blocks_are_refused(folder: Path) -> None:
    """No block follows from the ranks: the results would have other bits."""
    tr.weak_field((4, 4, 4, 12), seed=1).write(folder / "field.1.ildg")
    (folder / "run.toml").write_text(RUN.format(**TABLES).replace("[2, 2, 2, 2]", "[2, 2, 2, 6]"))
    said = run_command("measure", "run.toml", cwd=folder, ranks=3, status=None).stderr
    assert "run.toml:13: solver.multigrid.block: blocks of 2x2x2x6 do not suit the lattice 4x4x4x12" in said
    assert "legal extents there: 2" in said


def test_the_keys_are_arguments_of_multigrid_with_its_defaults() -> None:
    arguments = inspect.signature(tr.multigrid).parameters
    assert {"M", "sources", *MultigridTable.model_fields} == set(arguments)  # a run knows its sources
    for name, field in MultigridTable.model_fields.items():
        assert field.default == arguments[name].default, name


def test_parameters_by_the_clock_are_printed_and_not_kept(folder: Path) -> None:
    """The table is one of a run file, and the run solves with it."""
    text = RUN.format(**TABLES)
    (folder / "run.toml").write_text(text)
    cache = folder / "cache"
    said = run_command("tune", "run.toml", "--multigrid", "--json", cwd=folder, TRELLIS_CACHE=str(cache))
    found = json.loads(said.stdout)
    assert found["right_hand_sides"] == 24
    assert not list(cache.rglob("*.json"))
    totals = [trial["total"] for trial in found["trials"] if trial["iterations"]]
    assert len(totals) >= 10
    best = next(trial for trial in found["trials"] if found["best"].items() <= trial.items())
    assert best["total"] <= min(totals) / (1 - 0.02) ** 5
    assert found["multigrid_pays"] == (best["total"] < 24 * found["bicgstab_seconds"])
    before, _, behind = text.partition("[solver]\n")
    (folder / "tuned.toml").write_text(f"{before}{found['table']}\n{behind[behind.index('[source]') :]}")
    assert tr.measure.run("tuned.toml").solves == 2


def test_the_clock_of_multigrid_needs_quarks_that_it_solves(folder: Path) -> None:
    text = RUN.format(**TABLES)
    before = text.partition("[solver]\n")[0]
    staggered = re.sub(r"type = .*\nkappa = .*\ncsw = .*\n", 'type = "staggered"\nmass = 0.1\n', before)
    (folder / "run.toml").write_text(staggered + '[output]\ndirectory = "out"\n')
    said = run_command("tune", "run.toml", "--multigrid", cwd=folder, status=None).stderr
    assert "--multigrid: expected a run file of measure with a fermion of type wilson, clover" in said


def test_the_tuner_takes_it(folder: Path) -> None:
    (folder / "run.toml").write_text(RUN.format(**TABLES))
    run_command("tune", "run.toml", cwd=folder, TRELLIS_CACHE=str(folder / "cache"))
