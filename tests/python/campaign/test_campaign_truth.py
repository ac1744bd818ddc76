"""A manager knows which outputs count as made, and the next manager knows the past of the last one.

The cases are paths in lines for sh, killed attempts with whole outputs, files that changed since, and old
files of further tasks.
"""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

import pytest
from campaign_tools import alive, attempts, events, machine, run, write

from trellis.campaign import predicates
from trellis.campaign.files import load_campaign
from trellis.campaign.formats import fill_at_launch
from trellis.campaign.manager import Manager
from trellis.campaign.status import read_status

ODD = ["a b", "it's", 'say "x"', "$HOME", "back`tick", "back\\slash", "semi;colon", "é", "#1", "~", "plain"]
LINES = [
    "echo x > {output}",
    'echo x > "{output}"',
    "echo x > '{output}'",
    'echo "y $(echo x > {output})"',
    'echo "y $(echo "$(echo z)"; (echo x) > "{output}")"; test -e {output}',
    'echo "it\'s" > {output}',
    "echo it\\'s > {output}  # don't",
    "# don't \"stop\n echo x > {output}",
    "echo `echo 'x' > {output}`",
    'case a in (a) echo "$(printf %s ")")" > {output};; esac',
    "echo $((1 + (2))) > {output}",
]


@pytest.mark.parametrize("line", LINES)
def test_an_output_is_one_word_for_the_shell(tmp_path: Path, line: str) -> None:
    """An output is one word whatever is in its name, in quotes or not, and in what quotes."""
    for name in ODD if "`" not in line else set(ODD) - {"back`tick"}:  # these do not nest
        filled = fill_at_launch(line, {}, [name], "here", for_shell=True)
        subprocess.run(["/bin/sh", "-c", filled], cwd=tmp_path, check=True, capture_output=True)
        assert [path.name for path in tmp_path.iterdir()] == [name], filled
        (tmp_path / name).unlink()
    assert fill_at_launch(line, {}, ["plain"], "here", for_shell=True) == line.replace("{output}", "plain")


def test_outputs_with_blanks(tmp_path: Path) -> None:
    """Nothing else is written, and words that are no line for sh are left as they are."""
    path = write(
        tmp_path,
        """
[[task]]
name = "line"
command = "echo whole > {output}"
outputs = ["a b"]
[[task]]
name = "words"
command = ["/bin/cp", "a b", "{output}"]
after = ["line"]
outputs = ["it's $HOME"]
""",
    )
    (tmp_path / "work").mkdir()
    (tmp_path / "work/a").write_text("mine")
    assert run(path).counts == {"done": 2}
    assert (tmp_path / "work/it's $HOME").read_text() == "whole\n"
    assert (tmp_path / "work/a").read_text() == "mine"


@pytest.mark.parametrize("limit", ["timeout = 1", "silence = 1", "estimate = 1"])
def test_whole_outputs_of_an_attempt_that_was_ended_count(tmp_path: Path, limit: str) -> None:
    """A program that hangs at its end has done its work; one whose file proves nothing may not have done
    it."""
    tasks = "".join(
        f"[[task]]\nname = '{name}'\ncommand = 'echo END > {{output}}; sleep 60'\n{limit}\n"
        f"outputs = [{{ path = '{name}', {proof} }}]\n"
        for name, proof in [("whole", "end_marker = 'END'"), ("unclear", "min_bytes = 1")]
    )
    path = write(tmp_path, tasks)
    found = run(path, seconds=2.0 if "estimate" in limit else None)
    assert found.counts["done"] == 1
    assert (tmp_path / "work/whole").read_text() == "END\n"
    assert not (tmp_path / "work/unclear").exists()
    assert read_status(load_campaign(path))["tasks"].get("done") == 1
    last = {row["task"]: row["outcome"] for row in attempts(tmp_path)}
    assert last == {"whole": "done", "unclear": "released" if "estimate" in limit else "timeout"}


def test_a_file_that_changed_within_its_size_runs_its_task_again(tmp_path: Path) -> None:
    """The outputs have a checksum or an end marker in the campaign file."""
    good = hashlib.sha256(b"good\n").hexdigest()
    outputs = {"sum": f"sha256 = '{good}'", "end": "end_marker = 'od'"}
    tasks = "".join(
        f"[[task]]\nname = '{name}'\ncommand = 'echo good > {{output}}'\n"
        f"outputs = [{{ path = '{name}', {proof} }}]\n"
        for name, proof in outputs.items()
    )
    path = write(tmp_path, tasks)
    assert run(path).counts == {"done": 2}
    for name in outputs:
        (tmp_path / f"work/{name}").write_text("evil\n")
    assert read_status(load_campaign(path))["tasks"] == {"ready": 2}
    assert run(path).started == 2
    assert [(tmp_path / f"work/{name}").read_text() for name in outputs] == ["good\n"] * 2
    assert run(path).started == 0


def test_further_tasks_of_an_older_run_do_not_count(tmp_path: Path) -> None:
    path = write(tmp_path, "[[task]]\nname = 'maker'\ncommand = 'true'\nmakes = 'made.toml'\n")
    made = tmp_path / "work/made.toml"
    made.parent.mkdir()
    made.write_text("[[task]]\nname = 'old'\ncommand = 'true'\n")
    found = run(path)
    assert found.counts == {"done": 1}
    assert "made.toml" in found.failed["maker (tasks made)"]
    assert not made.exists()
    assert [event["task"] for event in events(tmp_path, "set-aside")] == ["maker"]


def test_the_environment_of_an_alternative_may_name_an_output(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        """
[[task]]
name = "a"
command = "echo x > $OUT"
outputs = ["o"]
alternatives = [{ environment = { OUT = "{output}" } }]
""",
    )
    assert run(path).counts == {"done": 1}
    assert '"temporary"' in attempts(tmp_path)[0]["outputs"]


def test_few_predicates_are_asked_at_once(tmp_path: Path) -> None:
    """The limit holds with thousands of tasks that have one."""
    tasks = (
        "[[task]]\nname = 'a-{i}'\nover = { i = '1..60' }\ncommand = 'true'\n"
        "predicate = 'touch asked.$$; sleep 0.05; ls asked.* | wc -l >> seen; rm asked.$$'\n"
    )
    assert run(write(tmp_path, tasks)).counts == {"done": 60}
    seen = [int(line) for line in (tmp_path / "work/seen").read_text().split()]
    assert len(seen) == 60
    assert max(seen) <= predicates.MOST_ASKED


def test_a_predicate_that_gives_no_answer_fails_its_task_alone(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(predicates, "ANSWER_SECONDS", 0.5)
    path = write(
        tmp_path,
        "[[task]]\nname = 'a'\ncommand = 'true'\npredicate = 'sleep 60 & echo $! > pid; wait'\n"
        "[[task]]\nname = 'b'\ncommand = 'true'\n",
    )
    found = run(path)
    assert found.counts == {"done": 1, "failed": 1}
    assert found.failed["a"] == "input: predicate gave no answer in 0.5 s"
    assert not alive(int((tmp_path / "work/pid").read_text()))


def test_the_next_manager_knows_how_long_tasks_took(tmp_path: Path) -> None:
    """Estimates that the last allocation has mended are not unlearned by the next."""
    tasks = (
        "[[task]]\nname = 'a-{i}'\nover = { i = '1..4' }\ncommand = 'sleep 0.2'\nestimate = 100\n"
        "[[task]]\nname = 'b'\ncommand = 'true'\nneeds = ['later']\n"
    )
    path = write(tmp_path, tasks)
    assert run(path).counts["done"] == 4
    (tmp_path / "work/later").touch()
    manager = Manager(load_campaign(path), machine())
    manager.run()
    assert manager.course.cost.seconds(manager.course.tasks["a-1"], 0) < 10
