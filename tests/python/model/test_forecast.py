"""These tests cover forecasts of run files: counts, limits, formats, choices, plans, and what is never
invented."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from trellis.commands.cli import app
from trellis.commands.model import gantt_lines, parse_nodes
from trellis.errors import BadArgument, FileError
from trellis.model.choose import candidates, choose
from trellis.model.fit import fit
from trellis.model.forecast import forecast
from trellis.model.machine import load_hardware
from trellis.model.tables import csv_text, latex_text
from trellis.model.workloads.gauge import LINK_BYTES, link_halo
from trellis.model.workloads.iterations import parse_iterations, read_iterations
from trellis.model.workloads.runs import drift_count, force_counts, load_any_run, workload_of
from trellis.run_files.dynamics import IntegratorLevel

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
STOUT = EXAMPLES / "stout_2p1.toml"


def level(scheme: str, steps: int) -> IntegratorLevel:
    return IntegratorLevel(scheme=scheme, steps=steps, monomials=["gauge"])  # type: ignore[arg-type]


def test_forces_and_drifts_of_nested_integrators() -> None:
    """Kicks that meet are one; they are counted by hand as integrator.cpp makes them."""
    assert force_counts([level("leapfrog", 4)]) == [5]
    assert force_counts([level("omelyan2", 8), level("omelyan2", 2)]) == [17, 65]
    assert drift_count([level("omelyan2", 8), level("omelyan2", 2)]) == 64
    assert force_counts([level("omelyan4", 3)]) == [16]


def test_the_halo_of_links_has_the_ghosts_of_a_count() -> None:
    found = link_halo((4, 6, 8, 10), (2, 1, 1, 2))
    ghosts = (4 + 4) * 6 * 8 * (10 + 4) - 4 * 6 * 8 * 10
    assert sum(m.size for m in found) == pytest.approx(ghosts * LINK_BYTES)
    assert not link_halo((4, 4, 4, 4), (1, 1, 1, 1))


def test_strong_scaling_of_a_run_file() -> None:
    run = load_any_run(EXAMPLES / "two_flavour_clover.toml")
    table = forecast(run, load_hardware("daint_gh200"), [1, 2], parse_iterations("100"), lattice=None)
    assert table.is_nominal
    assert [row.nodes for row in table.rows] == [1, 2]
    first, second = table.rows
    assert first.efficiency == 1
    assert second.speed_up == pytest.approx(first.seconds / second.seconds)
    assert first.low == pytest.approx(first.seconds / 2)
    assert sum(first.time.shares().values()) == pytest.approx(first.seconds, rel=0.2)
    assert sum(p.total for p in first.time.phases) == pytest.approx(first.seconds)


def test_twice_the_iterations_are_twice_the_solves() -> None:
    run = load_any_run(STOUT)
    once, twice = (
        workload_of(run, (8, 8, 8, 16), (1, 1, 1, 2), parse_iterations(text)) for text in ("100", "200")
    )

    def of(workload, words: str) -> float:  # type: ignore[no-untyped-def]
        return sum(p.flops * p.repeats for p in workload.phases if words in p.name)

    assert of(twice, "hops") == pytest.approx(2 * of(once, "hops"))
    assert of(twice, "gauge force") == of(once, "gauge force") > 0


def test_iterations_are_never_invented(tmp_path: Path) -> None:
    run = load_any_run(STOUT)
    with pytest.raises(BadArgument, match="iterations of the solves of 'light' are not known"):
        forecast(run, load_hardware("daint_gh200"), [1], parse_iterations(None))
    with pytest.raises(BadArgument, match="expected N or NAME=N, found 'light=many'"):
        parse_iterations("light=many")
    with pytest.raises(FileError, match="cannot be read"):
        read_iterations(tmp_path / "stream.h5")


@pytest.mark.parametrize(
    "name", ["measure", "quenched", "quenched_hmc", "hisq", "staggered_mesons", "stout_2p1", "spin_glass"]
)
def test_examples_have_forecasts(name: str) -> None:
    run = load_any_run(EXAMPLES / f"{name}.toml")
    table = forecast(run, load_hardware("daint_gh200"), [1], parse_iterations("50"), lattice=(8, 8, 8, 16))
    assert table.rows[0].seconds > 0
    assert table.rows[0].memory > 0


def test_formats(tmp_path: Path) -> None:
    words = [
        "model",
        "forecast",
        str(STOUT),
        "--machine",
        "daint_gh200",
        "--nodes",
        "1,2,3",
        "--iterations",
        "100",
    ]
    files = {kind: tmp_path / f"table.{kind}" for kind in ("csv", "latex", "page")}
    options = [word for kind, path in files.items() for word in (f"--{kind}", str(path))]
    ended = CliRunner().invoke(app, [*words, *options, "--production", "2", "--json"])
    found = json.loads(ended.stdout)
    assert found["nominal"] is True
    assert [row["nodes"] for row in found["forecasts"]] == [1, 2]
    assert "3" in found["left_out"]
    assert files["csv"].read_text().splitlines()[0].startswith("nodes,ranks,grid")
    assert r"\textbf{2}" in files["latex"].read_text()
    page = files["page"].read_text()
    assert page.count("<svg") == 5  # they are strong, weak, parts, phases, roofline
    assert "http" not in page.replace("http://www.w3.org", "")
    assert "factor 2" in page


@pytest.mark.parametrize(
    "words",
    [
        ["forecast", str(STOUT), "--nodes", "1,2,4,8,16,32"],
        ["choose", str(STOUT), "--efficiency", "0.5", "--most-nodes", "16"],
    ],
)
def test_answers_take_less_than_two_seconds_and_no_compiled_part(words: list[str]) -> None:
    """Seconds are those of the processor, so that other programs do not count."""
    arguments = ["model", *words, "-m", "daint_gh200", "--iterations", "100", "--json"]
    program = (
        "import resource, sys\n"
        "from trellis.commands.cli import app\n"
        f"app({arguments!r}, standalone_mode=False)\n"
        "assert 'trellis._core' not in sys.modules\n"
        "used = resource.getrusage(resource.RUSAGE_SELF)\n"
        "print(used.ru_utime + used.ru_stime, file=sys.stderr)\n"
    )
    ended = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    assert float(ended.stderr.split()[-1]) < 2


def test_a_machine_without_a_network_has_one_node() -> None:
    machine = replace(load_hardware("daint_gh200"), links=())
    run = load_any_run(EXAMPLES / "quenched.toml")
    table = forecast(run, machine, [1, 2], parse_iterations(None))
    assert [row.nodes for row in table.rows] == [1]
    assert "node-nic" in table.left_out[2]
    found = candidates(run, machine, parse_iterations(None), (8, 8, 8, 16), 8)
    assert [choice.forecast.nodes for choice in found] == [1]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--lattice", "0.8.8.8"], "--lattice: expected numbers above 0, found '0.8.8.8'"),
        (["--grid", "1.2.3"], "--grid: expected four numbers"),
        (["--nodes", "1,2", "--production", "7"], "--production: expected one of --nodes 1,2, found 7"),
        (["--order", "ab"], "expected an order of x, y, z and t"),
    ],
)
def test_mistakes_in_options(words: list[str], message: str) -> None:
    run = str(EXAMPLES / "quenched.toml")
    ended = CliRunner().invoke(app, ["model", "forecast", run, "-m", "daint_gh200", *words])
    assert ended.exit_code != 0
    assert message in " ".join(ended.output.split())


def test_iterations_say_what_auto_has_taken() -> None:
    run = load_any_run(EXAMPLES / "light_clover.toml")
    extents, grid = (32, 32, 32, 64), (1, 1, 1, 4)
    krylov = workload_of(run, extents, grid, parse_iterations("light=300,strange=200"))
    assert not any("level" in phase.name for phase in krylov.phases)
    counts = parse_iterations("light=12,strange=11,level2=3,coarse=20")
    multigrid = workload_of(run, extents, grid, counts)
    assert any("level 3" in phase.name for phase in multigrid.phases)


def test_fewer_ranks_on_a_node() -> None:
    machine = load_hardware("daint_gh200")
    assert machine.with_ranks(2).ranks_per_node == 2
    with pytest.raises(BadArgument, match="expected ranks for 4 devices of a node, found 8 ranks"):
        machine.with_ranks(8)


def test_choices() -> None:
    run = load_any_run(STOUT)
    machine = load_hardware("daint_gh200")
    found = candidates(run, machine, parse_iterations("100"), (32, 32, 32, 64), 16)
    cheap = choose(found, within=1e9, steps=10)
    assert cheap.forecast.node_hours == min(c.forecast.node_hours for c in found)
    fast = choose(found, efficiency=0.2)
    assert fast.forecast.efficiency >= 0.2
    assert fast.forecast.seconds == min(c.forecast.seconds for c in found if c.forecast.efficiency >= 0.2)
    with pytest.raises(BadArgument, match="the fastest way takes"):
        choose(found, within=1e-6, steps=10)
    with pytest.raises(BadArgument, match=r"found (both|none)$"):
        choose(found)


def test_a_plan_has_node_hours_and_a_gantt_chart(tmp_path: Path) -> None:
    run_file = tmp_path / "run.toml"
    run_file.write_text(STOUT.read_text())
    campaign = tmp_path / "campaign.toml"
    campaign.write_text(
        '[campaign]\nname = "two"\n[[task]]\nname = "make_{k}"\nkind = "generate"\nrun_file = "run.toml"\n'
        'over = { k = "1..2" }\nranks = 4\ngpus_per_rank = 1\n'
        'set = { "output.directory" = "out_{k}" }\n'
    )
    words = ["model", "plan", str(campaign), "--machine", "dgx1_v100", "--iterations", "100", "--json"]
    ended = CliRunner().invoke(app, words)
    found = json.loads(ended.stdout)
    estimates = found["estimates_by_the_model"]
    assert len(estimates) == 2
    assert len(set(estimates.values())) == 1
    assert len(found["gantt"]) == 2
    assert found["task_node_hours"] == pytest.approx(sum(estimates.values()) / 3600, rel=0.01)


def test_text_of_a_gantt_chart() -> None:
    lines = gantt_lines([("a", 0.0, 10.0), ("b", 10.0, 20.0)], width=10)
    assert "|##### " in lines[0]
    assert "|     #####|" in lines[1]


def test_a_fit_says_what_the_data_do_not_determine() -> None:
    import numpy as np

    found = fit(
        lambda c: np.log([c["a"] * (1 + 1e-12 * c["b"]), 2 * c["a"], 3 * c["a"]]), {"a": 0.5, "b": 1.0}
    )
    assert found.undetermined == ["b"]
    with pytest.raises(BadArgument, match="do not determine b"):
        found.require_determined()
    with pytest.raises(BadArgument, match="as many data"):
        fit(lambda c: np.log([c["a"]]), {"a": 1.0, "b": 1.0})


def test_numbers_of_nodes() -> None:
    assert parse_nodes("1,2,16") == [1, 2, 16]
    with pytest.raises(BadArgument, match="expected numbers above 0"):
        parse_nodes("1,-2")


def test_tables_are_of_one_text() -> None:
    run = load_any_run(STOUT)
    table = forecast(run, load_hardware("daint_gh200"), [1, 2], parse_iterations("100"))
    assert len(csv_text(table).splitlines()) == 3
    assert latex_text(table).startswith(r"\begin{tabular}")
