"""These tests cover launching by a site's command: a recorded jsrun and aprun, and the real mpirun on this
host."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from trellis.campaign.files import parse_campaign, parse_machine
from trellis.campaign.manager import Manager
from trellis.errors import BadArgument, NotAvailable

MACHINE = """
[machine]
name = "site"
launcher = "template"
[[nodes]]
{nodes}
cpus = 4
gpus = 2
[launcher_options]
{options}
"""
CAMPAIGN = """
[campaign]
name = "c"
[[task]]
name = "wide"
command = "echo here >> ran; echo x > {output}"
nodes = 2
ranks = 4
gpus_per_rank = 1
outputs = ["out"]
"""


@pytest.fixture
def recorder(tmp_path, monkeypatch) -> Path:
    """Write jsrun and aprun that write their words down and run the command once."""
    for name, options in (("jsrun", 10), ("aprun", 8)):
        path = tmp_path / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(
            f'#!/bin/bash\necho "$0 ${{@:1:{options}}}" > {tmp_path}/words\nshift {options}\nexec "$@"\n'
        )
        path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")
    return tmp_path


def run(folder: Path, options: str, nodes: str = 'count = 2\nprefix = "h"', campaign: str = CAMPAIGN):
    machine = parse_machine(MACHINE.format(nodes=nodes, options=options))
    return Manager(parse_campaign(campaign, folder), machine).run()


@pytest.mark.parametrize(
    ("preset", "words"),
    [
        ("jsrun", "--nrs 4 --tasks_per_rs 1 --cpu_per_rs 1 --gpu_per_rs 1 --rs_per_host 2"),
        ("aprun", "-n 4 -N 2 -d 1 -L h1,h2"),
    ],
)
def test_presets(recorder, preset, words):
    assert run(recorder, f'preset = "{preset}"').counts == {"done": 1}
    assert (recorder / "words").read_text().split(maxsplit=1)[1].strip() == words


def test_real_mpirun(tmp_path):
    if shutil.which("mpirun") is None:
        pytest.skip("no mpirun")
    options = 'command = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "{ranks}"]'
    campaign = CAMPAIGN.replace("nodes = 2\n", "").replace("gpus_per_rank = 1\n", "")
    nodes = 'names = ["localhost"]'
    assert run(tmp_path, options, nodes=nodes, campaign=campaign).counts == {"done": 1}
    assert (tmp_path / "ran").read_text() == "here\n" * 4


@pytest.mark.parametrize(
    ("options", "text"),
    [("", "preset"), ('preset = "srun"', "no preset"), ('command = ["x", "{rank}"]', "unknown rank")],
)
def test_wrong_options(tmp_path, options, text):
    with pytest.raises(BadArgument, match=text):
        run(tmp_path, options)


def test_command_that_is_not_there(tmp_path):
    with pytest.raises(NotAvailable, match="no-such-launcher"):
        run(tmp_path, 'command = ["no-such-launcher"]')
