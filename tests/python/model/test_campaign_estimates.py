"""These tests cover estimates of campaigns by the scaling model: `estimate = "model"`, and what it cannot
forecast."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from trellis.campaign.files import load_campaign, load_machine
from trellis.campaign.simulator import Simulator
from trellis.commands.campaign import load_for_machine
from trellis.commands.cli import app
from trellis.errors import BadArgument
from trellis.model.forecast import one_forecast
from trellis.model.machine import load_hardware
from trellis.model.workloads.iterations import parse_iterations
from trellis.model.workloads.runs import load_any_run

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"


def campaign_file(folder: Path, estimate: str, *, more: str = "", kind: str = "generate") -> Path:
    (folder / "run.toml").write_text((EXAMPLES / "stout_2p1.toml").read_text())
    path = folder / "campaign.toml"
    path.write_text(
        f'[campaign]\nname = "two"\n[[task]]\nname = "make"\nkind = "{kind}"\nrun_file = "run.toml"\n'
        f"ranks = 4\ngpus_per_rank = 1\nestimate = {estimate}\n{more}"
    )
    return path


def test_the_model_gives_the_estimate(tmp_path: Path) -> None:
    """A duration is the steps of the run file times the forecast of a step."""
    campaign, _ = load_for_machine(campaign_file(tmp_path, '{ model = "100" }'), "dgx1_v100")
    machine = load_hardware("dgx1_v100").with_ranks(4)
    run = load_any_run(EXAMPLES / "stout_2p1.toml")
    once = one_forecast(run, machine, 1, (8, 8, 8, 16), (1, 1, 1, 4), parse_iterations("100"))
    way = campaign.tasks["make"].alternatives[0]
    assert way.is_estimated
    assert way.estimate == pytest.approx(60 * once.seconds)


def test_plan_and_simulate_take_it(tmp_path: Path) -> None:
    path = campaign_file(tmp_path, '{ model = "light=100,strange=50" }')
    for command in ("plan", "simulate"):
        ended = CliRunner().invoke(app, ["campaign", command, str(path), "--machine", "dgx1_v100", "--json"])
        assert ended.exit_code == 0, ended.output
        assert json.loads(ended.stdout)["makespan_seconds"] > 0


@pytest.mark.parametrize(
    ("estimate", "machine", "message"),
    [
        ('"model"', "dgx1_v100", "task make: iterations of the solves of 'light' are not known"),
        ('{ model = "light=many" }', "dgx1_v100", "task make: --iterations: expected N or NAME=N"),
        ('{ model = "100", lattice = "8.8.8" }', "dgx1_v100", "estimate.lattice: expected four numbers"),
        ('{ model = "100" }', "laptop", r"the model needs a table \[\[device\]\]"),
    ],
)
def test_what_cannot_be_forecast(tmp_path: Path, estimate: str, machine: str, message: str) -> None:
    with pytest.raises(BadArgument, match=message):
        load_for_machine(campaign_file(tmp_path, estimate), machine)


def test_the_model_needs_a_run_file(tmp_path: Path) -> None:
    path = tmp_path / "campaign.toml"
    path.write_text('[campaign]\nname = "one"\n[[task]]\nname = "a"\ncommand = "true"\nestimate = "model"\n')
    with pytest.raises(BadArgument, match="the scaling model needs a run file"):
        load_campaign(path)


def test_an_unasked_model_is_no_minute(tmp_path: Path) -> None:
    """Whoever has not asked the model gets no silent default."""
    campaign = load_campaign(campaign_file(tmp_path, '{ model = "100" }'))
    assert not campaign.tasks["make"].alternatives[0].is_estimated
    with pytest.raises(BadArgument, match="expected a duration here"):
        Simulator(load_machine("dgx1_v100"), campaign.tasks)


def test_words_of_the_table(tmp_path: Path) -> None:
    from trellis.errors import RunFileError

    with pytest.raises(RunFileError, match="give `formula`, `model`, or `by` and `table`"):
        load_campaign(campaign_file(tmp_path, '{ model = "1", formula = "2" }'))
    with pytest.raises(RunFileError, match="`lattice` belongs to `model`"):
        load_campaign(campaign_file(tmp_path, '{ formula = "2", lattice = "8.8.8.8" }'))
