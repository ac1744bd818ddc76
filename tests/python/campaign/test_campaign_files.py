"""These tests cover campaign and machine files: expansion, messages, schema; no compiled part."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from campaign_tools import HEAD
from typer.testing import CliRunner

from trellis.campaign.files import load_machine, machine_names, parse_campaign, parse_machine
from trellis.campaign.times import parse_seconds, show_seconds
from trellis.commands.cli import app
from trellis.errors import BadArgument, Error

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"


def parse(tasks: str, head: str = HEAD):
    return parse_campaign(head + tasks, Path("/tmp")).tasks


def test_expansion_over_streams_configurations_and_rows() -> None:
    head = HEAD + '[variables]\nstreams = ["a", "b"]\nvolume = 100\n'
    tasks = parse(
        """
[[task]]
name = "generate-{s}-{n}"
over = { s = "streams", n = "10..30..10" }
command = ["run", "{s}", "{n:04d}", "{output}"]
after = ["generate-{s}-{n-10}?"]
outputs = ["{s}.{n:04d}"]
estimate = { formula = "0.1 * volume * n" }
[[task]]
name = "measure-{s}-{n}-{mass}"
over = { s = "streams", n = "10..30..10" }
rows = [{ mass = 0.1, k = 1 }, { mass = 0.2, k = 2 }]
command = "measure {s} {n} {mass} {k}"
after = ["generate-{s}-{n}"]
estimate = { by = "mass", table = { "0.1" = "1h", "0.2" = "30min" } }
[[task]]
name = "analyse-{s}"
over = { s = "streams" }
command = "analyse"
after = ["measure-{s}-*"]
[[task]]
name = "all"
command = "all"
after = ["analyse"]
""",
        head,
    )
    assert len(tasks) == 6 + 12 + 2 + 1
    assert tasks["generate-a-10"].after == ()
    assert tasks["generate-b-30"].after == ("generate-b-20",)
    assert tasks["generate-a-20"].command == ("run", "a", "0020", "{output}")
    assert tasks["generate-a-20"].estimate == 200.0
    assert tasks["measure-a-10-0.2"].command == ("/bin/sh", "-c", "measure a 10 0.2 2")
    assert tasks["measure-a-10-0.2"].estimate == 1800.0
    assert len(tasks["analyse-a"].after) == 6
    assert tasks["all"].after == ("analyse-a", "analyse-b")


def test_durations() -> None:
    words = {"90": 90, "1.5min": 90, "2h": 7200, "1d": 86400, "2hr": 7200, "10:30": 630, "1:00:00": 3600}
    words["2-00:00:00"] = 172800
    assert {word: parse_seconds(word) for word in words} == words
    assert parse_seconds(5) == 5.0
    assert [show_seconds(s) for s in (5, 90, 7260, 90000)] == ["5 s", "1 min 30 s", "2 h 1 min", "1 d 1 h"]
    with pytest.raises(BadArgument):
        parse_seconds("-3")


def test_stages_get_checked_run_files(tmp_path: Path) -> None:
    (tmp_path / "q.toml").write_text((EXAMPLES / "quenched.toml").read_text())
    text = """
[[task]]
name = "g-{n}"
over = { n = [20, 40] }
kind = "generate"
run_file = "q.toml"
set = { "sweeps.total" = "{n}", "random.seed" = 7 }
arguments = ["--resume"]
outputs = ["ensemble/configuration.{n:06d}.ildg"]
"""
    tasks = parse_campaign(
        HEAD + text.replace('"{n}"', '"{n}", "sweeps.thermalisation" = 10'), tmp_path
    ).tasks
    assert "total = 40" in tasks["g-40"].run_file
    assert tasks["g-40"].outputs[0].is_atomic
    assert tasks["g-40"].command[-3:] == ("generate", "{run_file}", "--resume")
    with pytest.raises(BadArgument, match="sweeps"):
        parse_campaign(HEAD + text.replace("sweeps.total", "sweeps.totl"), tmp_path)


def test_mistakes_of_changed_run_files_are_those_of_run_files() -> None:
    """Mistakes had the name of the model in their keys, and the first one alone was said."""
    stage = (
        '[[task]]\nname = "m"\nkind = "measure"\nrun_file = "measure.toml"\noutputs = ["a"]\nset = {{ {} }}\n'
    )
    for changes, said in (
        (
            '"fermion.boundary_t" = "periodic", "smearing.stout_steps" = 2',
            [
                "fermion.boundary_t: write boundary = [0.0, 0.0, 0.0, 0.0] (x, y, z, t)",
                "smearing.stout_steps: write stout = { rho = 0.1, steps = 2 }",
            ],
        ),
        ('"fermion.kapa" = 0.1', ["fermion.kapa: unknown key; did you mean 'kappa'?"]),
    ):
        with pytest.raises(BadArgument) as refused:
            parse_campaign(HEAD + stage.format(changes), EXAMPLES)
        for text in said:
            assert f"task 'm': the run file with `set`: {text}" in str(refused.value)


def test_run_files_of_stages_from_other_editors(tmp_path: Path) -> None:
    """A byte order mark is passed over, as in all run files; what is no TOML is named."""
    text = (EXAMPLES / "quenched.toml").read_text()
    stage = """
[[task]]
name = "g"
kind = "generate"
run_file = "q.toml"
outputs = ["done"]
"""
    (tmp_path / "q.toml").write_text(text)
    plain = parse_campaign(HEAD + stage, tmp_path).tasks["g"].run_file
    (tmp_path / "q.toml").write_text(text, encoding="utf-8-sig", newline="\r\n")
    assert parse_campaign(HEAD + stage, tmp_path).tasks["g"].run_file == plain
    (tmp_path / "q.toml").write_bytes(b"# \xff\n" + text.encode())
    with pytest.raises(BadArgument, match=r"task 'g'.*q\.toml: expected a text in UTF-8, found byte 0xff"):
        parse_campaign(HEAD + stage, tmp_path)


def test_machines_that_come_with_it() -> None:
    assert {"laptop", "slurm_cpu", "node_4gpu", "node_6gpu", "virtual"} <= set(machine_names())
    large = load_machine("node_4gpu")
    assert len(large.nodes) == 4000
    assert large.nodes[159].lump == 0
    assert large.nodes[160].lump == 1
    assert large.nodes[16].block == 1
    assert load_machine("node_6gpu").nodes[0].gpus[5].cpus == (15, 16, 17)
    with pytest.raises(BadArgument, match="no machine 'nowhere'"):
        load_machine("nowhere")
    with pytest.raises(Error, match="do not consist of blocks"):
        parse_machine("[machine]\nname='m'\n[[nodes]]\ncount=4\ncpus=1\n[allocation]\nlump=4\nblock=3\n")
    bad = parse_machine("[machine]\nname='m'\n[[nodes]]\ncount=4\ncpus=1\n[allocation]\nbad_hosts=['n2']\n")
    assert [node.name for node in bad.usable] == ["n1", "n3", "n4"]


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("campaign_*.toml")), ids=lambda path: path.stem)
def test_examples_are_valid(path: Path) -> None:
    text = path.read_text().replace("1..14300", "1..30")
    assert parse_campaign(text, EXAMPLES).tasks


def test_schema_and_no_compiled_part() -> None:
    found = CliRunner().invoke(app, ["schema", "campaign"])
    assert "task" in json.loads(found.stdout)["properties"]
    code = (
        "import sys, trellis.campaign.manager, trellis.commands.cli; sys.exit('trellis._core' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
