"""These tests cover campaigns written in Python: the words of the files in dictionaries."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from trellis.campaign.files import load_campaign, load_machine, make_campaign, make_machine
from trellis.errors import BadArgument, RunFileError

ROOT = Path(__file__).resolve().parents[3]


def test_the_documented_example_runs(tmp_path: Path) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", (ROOT / "doc/campaign/README.md").read_text(), re.DOTALL)
    ended = subprocess.run(
        [sys.executable, "-c", example], cwd=tmp_path, capture_output=True, text=True, env=dict(os.environ)
    )
    assert ended.stdout == "{'done': 5}\n", ended.stderr
    assert (tmp_path / "squares/all").read_text().split() == ["1", "4", "9", "16"]


@pytest.mark.parametrize("name", ["campaign_194", "campaign_mix", "campaign_spectrum"])
def test_dictionaries_mean_what_files_mean(name: str) -> None:
    path = ROOT / f"examples/{name}.toml"
    made, loaded = make_campaign(tomllib.loads(path.read_text()), path.parent), load_campaign(path)
    assert made.tasks == loaded.tasks
    assert (made.root, made.state, made.lease_seconds) == (loaded.root, loaded.state, loaded.lease_seconds)


@pytest.mark.parametrize("path", sorted((ROOT / "machines").glob("*.toml")), ids=lambda path: path.stem)
def test_machines_too(path: Path) -> None:
    assert make_machine(tomllib.loads(path.read_text())) == load_machine(path)


def test_what_is_wrong_is_named() -> None:
    words = {"campaign": {"name": "c"}, "task": [{"name": "t", "command": "true", "rank": 2}]}
    with pytest.raises(RunFileError, match=r"campaign: task\.0\.rank: unknown key; did you mean 'ranks'"):
        make_campaign(words)
    words["task"] = [{"name": n, "command": "true", "after": [o]} for n, o in ("ab", "ba")]
    with pytest.raises(BadArgument, match="wait for each other: a -> b -> a"):
        make_campaign(words)
    with pytest.raises(RunFileError, match=r"machine: nodes\.0\.cpus: missing"):
        make_machine({"machine": {"name": "m"}, "nodes": [{"count": 2}]})
