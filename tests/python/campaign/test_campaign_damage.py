"""These tests cover files of a campaign's state that are damaged, cannot be written, or were written by
another manager."""

from __future__ import annotations

import errno
import json
import os
import shutil
from pathlib import Path

import campaign_tools as tools
import pytest
from campaign_tools import attempts, machine, run, write
from typer.testing import CliRunner

from trellis.campaign.claims import Claims
from trellis.campaign.files import load_campaign
from trellis.campaign.manager import Manager
from trellis.campaign.records import Records
from trellis.campaign.status import read_status
from trellis.commands.cli import app
from trellis.errors import Error, FileError

TASKS = """
[[task]]
name = "good"
command = "echo good > {output}"
outputs = ["good"]
[[task]]
name = "bad"
command = "exit 3"
outputs = ["bad"]
retries = { task = 0 }
[[task]]
name = "maker"
command = "cp ../made.toml {output}"
outputs = ["made.toml"]
makes = "made.toml"
"""
MADE = "[[task]]\nname = 'made'\ncommand = 'true'\n"


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Path:
    """Return a folder with a campaign that was run: three tasks are done, one has failed."""
    folder = tmp_path_factory.mktemp("finished")
    path = write(folder, TASKS)
    (folder / "made.toml").write_text(MADE)
    assert run(path).counts == {"done": 3, "failed": 1}
    return folder


def claim(state: Path, name: str) -> Path:
    return next((state / "claims").rglob(name))


DAMAGE = {
    "claims without content": lambda state: claim(state, "good.0.claim").write_bytes(b""),
    "claims of another form": lambda state: claim(state, "good.0.claim").write_text("[]"),
    "ends of another form": lambda state: claim(state, "good.0.done").write_text("[1]"),
    "ends without outputs": lambda state: claim(state, "good.0.done").write_text("{}"),
    "ends without sizes": lambda state: claim(state, "good.0.done").write_text('{"outputs": {"good": {}}}'),
    "bytes that are no text": lambda state: claim(state, "good.0.done").write_bytes(b"\xff\xfe\x00"),
    "failures without a reason": lambda state: claim(state, "bad.0.failed").write_text("{}"),
    "files of others": lambda state: [
        (state / "claims/stray").touch(),
        (claim(state, "good.0.claim").parent / "%zz.0.claim").touch(),
        (claim(state, "good.0.claim").parent / "%%long.0.claim").touch(),
    ],
    "managers of another form": lambda state: next((state / "managers").iterdir()).write_text("[]"),
    "managers without keys": lambda state: next((state / "managers").iterdir()).write_text("{}"),
    "quarantine without a reason": lambda state: [
        (state / "quarantine").mkdir(),
        (state / "quarantine/n1.json").write_text("x"),
    ],
    "records without tables": lambda state: (state / "records/0.sqlite").touch(),
    "records that are none": lambda state: (state / "records/0.sqlite").write_bytes(b"junk" * 2000),
    "records that are a folder": lambda state: (state / "records/0.sqlite").mkdir(),
    "records cut short": lambda state: [
        shutil.copy(next((state / "records").glob("2*.sqlite")), state / "records/0.sqlite"),
        os.truncate(state / "records/0.sqlite", 9000),
    ],
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_what_is_damaged_is_passed_over(finished: Path, tmp_path: Path, kind: str) -> None:
    """The commands status, report, retry and run work, and all that can be done is done in the end."""
    folder = tmp_path / "campaign"
    shutil.copytree(finished, folder)
    state, file = folder / "work/c.state", folder / "campaign.toml"
    DAMAGE[kind](state)
    (folder / "machine.toml").write_text(tools.machine_text())
    for words in (["status"], ["report"], ["retry"], ["run", "--machine", str(folder / "machine.toml")]):
        found = CliRunner().invoke(app, ["campaign", words[0], str(file), *words[1:], "--json"])
        assert found.exit_code == (1 if words[0] == "run" else 0), found.output
        assert "error" not in json.loads(found.stdout), found.output
    assert read_status(load_campaign(file))["tasks"] == {"done": 3, "failed": 1}


def test_a_campaign_that_never_ran_has_no_report_and_says_why(tmp_path: Path) -> None:
    path = write(tmp_path, TASKS)
    for _ in range(2):
        found = CliRunner().invoke(app, ["campaign", "report", str(path), "--json"])
        assert found.exit_code == 1
        assert json.loads(found.stdout)["error"].endswith("no records of a campaign (it was never run)")
        (tmp_path / "work/c.state").mkdir(parents=True, exist_ok=True)


def test_what_is_left_of_a_run_is_said_to_go_on(tmp_path: Path) -> None:
    path = write(
        tmp_path, '[[task]]\nname = "a"\ncommand = "echo a > {output}"\noutputs = ["a"]\nestimate = "1h"\n'
    )
    found = CliRunner().invoke(app, ["campaign", "run", str(path), "--seconds", "1"])
    assert found.exit_code == 0
    assert found.stdout.endswith(": 1 held; the same command goes on\n")
    found = CliRunner().invoke(app, ["campaign", "run", str(path)])
    assert found.stdout.endswith(": 1 done\n")
    found = CliRunner().invoke(app, ["campaign", "retry", str(path)])
    assert found.stdout == "0 tasks may run again, as none failed\n"


def test_brackets_in_names_are_no_markup(tmp_path: Path) -> None:
    names = ["x[/tmp]y", "x[red]z", "g[1]"]
    tasks = "".join(f"[[task]]\nname = '{n}'\ncommand = 'exit 3'\nretries = {{ task = 0 }}\n" for n in names)
    path = write(tmp_path, tasks)
    assert run(path).counts == {"failed": 3}
    found = CliRunner().invoke(app, ["campaign", "status", str(path)])
    assert found.exit_code == 0, found.output
    assert all(name in found.output for name in names)
    words = ["campaign", "retry", str(path), "g[1]", "x[red]z", "--json"]
    assert sorted(json.loads(CliRunner().invoke(app, words).stdout)["tasks"]) == ["g[1]", "x[red]z"]


def test_unreadable_records_are_named_in_the_report(finished: Path, tmp_path: Path) -> None:
    folder = tmp_path / "campaign"
    shutil.copytree(finished, folder)
    (folder / "work/c.state/records/0.sqlite").write_bytes(b"junk" * 2000)
    words = ["campaign", "report", str(folder / "campaign.toml"), "--json"]
    found = json.loads(CliRunner().invoke(app, words).stdout)
    assert "0.sqlite" in found["unreadable_records"][0]
    assert found["counts"]["done"] == 3
    assert "0.sqlite" in Path(found["page"]).read_text()


def test_made_tasks_that_are_refused_are_in_the_status(finished: Path, tmp_path: Path) -> None:
    folder = tmp_path / "campaign"
    shutil.copytree(finished, folder)
    (folder / "work/made.toml").write_text(MADE.replace("[[task]]", "[[task] "))
    found = read_status(load_campaign(folder / "campaign.toml"))
    assert "not valid TOML" in found["failed"]["maker (tasks made)"]


def test_status_changes_nothing(finished: Path, tmp_path: Path) -> None:
    """A rename that a dead manager did not come to is left to the next manager."""
    folder = tmp_path / "campaign"
    shutil.copytree(finished, folder)
    (folder / "work/good").rename(folder / "work/good.attempt-0.partial")
    assert read_status(load_campaign(folder / "campaign.toml"))["tasks"] == {"done": 3, "failed": 1}
    assert not (folder / "work/good").exists()
    run(folder / "campaign.toml")
    assert (folder / "work/good").read_text() == "good\n"
    assert len(attempts(folder)) == 4  # nothing ran again


def test_another_manager_may_publish_the_outputs_first(tmp_path: Path, monkeypatch) -> None:
    """The other manager sees the claim's end before the renames of the attempt's own manager, and finishes
    them."""
    end = Claims.end

    def end_and_be_overtaken(self, task, attempt, kind, content):
        end(self, task, attempt, kind, content)
        if kind == "done":
            (tmp_path / "work/good.attempt-0.partial").rename(tmp_path / "work/good")

    monkeypatch.setattr(Claims, "end", end_and_be_overtaken)
    path = write(tmp_path, TASKS.split("[[task]]\nname = 'bad'".replace("'", '"'))[0])
    assert run(path).counts == {"done": 1}
    assert [row["outcome"] for row in attempts(tmp_path)] == ["done"]


def test_an_attempt_that_was_taken_over_does_not_count(tmp_path: Path) -> None:
    """A manager was stopped for long: another has taken it for dead and claimed its task."""
    command = "if [ {attempt} = 0 ]; then sleep 1.3; fi; echo {attempt} > {output}"
    path = write(tmp_path, f'[[task]]\nname = "a"\ncommand = "{command}"\noutputs = ["a"]\n')
    campaign = load_campaign(path)
    manager = Manager(campaign, machine())
    other = Claims(Path(campaign.state))
    look = manager.watch.look_at_nodes

    def be_overtaken() -> None:
        look()
        if other.history("a").attempt == 0:
            other.beat()
            assert other.claim("a", 1, {"task": "a"})
            (tmp_path / "work/a").write_text("other\n")
            facts = {"bytes": 6}
            other.end("a", 1, "done", {"outputs": {"a": facts}})

    manager.watch.look_at_nodes = be_overtaken
    assert manager.run().counts == {"done": 1}
    assert [row["outcome"] for row in attempts(tmp_path)] == ["released"]
    assert (tmp_path / "work/a").read_text() == "other\n"


def test_a_full_disk_costs_the_history_only(tmp_path: Path) -> None:
    """SQLite says in its own words that a disk has no space, here from a limit on its file."""
    path = write(tmp_path, "[[task]]\nname = 'a-{i}'\nover = { i = '1..40' }\ncommand = 'true'\n")
    said: list[str] = []
    manager = Manager(load_campaign(path), machine(cpus=8), say=said.append)
    manager.course.records._base.execute("PRAGMA max_page_count = 10")
    assert manager.run().counts == {"done": 40}
    assert sum("disk is full" in line for line in said) == 1
    assert len(attempts(tmp_path)) < 40


def test_when_nothing_can_be_claimed_the_manager_says_so_and_ends(tmp_path: Path, monkeypatch) -> None:
    path = write(tmp_path, "[[task]]\nname = 'a-{i}'\nover = { i = '1..6' }\ncommand = 'sleep 0.1'\n")
    link, count = os.link, [0]

    def full_after_three(source, target) -> None:
        count[0] += 1
        if count[0] > 3:
            raise OSError(errno.ENOSPC, "No space left on device")
        link(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "link", full_after_three)
        with pytest.raises(FileError, match="No space left on device: no task can be claimed"):
            run(path)
    assert not list((tmp_path / "work/c.state/claims").rglob("*.partial"))
    assert run(path).counts == {"done": 6}


def test_a_manager_that_cannot_show_that_it_lives_ends_in_time(tmp_path: Path, monkeypatch) -> None:
    """The manager ends before its lease is over: after that, others may start its tasks."""
    head = tools.HEAD.replace("lease = 2", "lease = 1")
    path = write(tmp_path, "[[task]]\nname = 'a'\ncommand = 'exec sleep 60'\n", head)
    manager = Manager(load_campaign(path), machine())
    beats = []

    def beat(*, ended: bool = False) -> None:
        beats.append(ended)
        if len(beats) > 1:
            raise OSError(errno.ESTALE, "Stale file handle")

    monkeypatch.setattr(manager.claims, "beat", beat)
    with pytest.raises(Error, match=r"no sign of life could be written for 1 s.*Stale"):
        manager.run()
    assert len(beats) > 3  # it tried again
    assert attempts(tmp_path)[0]["outcome"] == "released"


def test_a_manager_whose_disk_is_full_is_over_all_the_same(tmp_path: Path, monkeypatch) -> None:
    """A manager is over in a notebook, too, where the process lives on: the next manager does not wait for
    its tasks."""

    def full(*args: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    path = write(tmp_path, "[[task]]\nname = 'a'\ncommand = 'true'\n")
    first = Claims(Path(load_campaign(path).state))
    first.beat()
    with monkeypatch.context() as patch:
        patch.setattr("trellis.campaign.claims.write_json", full)
        with pytest.raises(OSError):
            first.beat(ended=True)
        with pytest.raises(FileError, match=r"managers: no sign of life can be written .*No space left"):
            run(path)
    assert not Claims(Path(load_campaign(path).state)).is_alive(first.id)
    assert run(path).counts == {"done": 1}


def test_a_state_folder_that_cannot_be_written(finished: Path, tmp_path: Path) -> None:
    (tmp_path / "m.sqlite").mkdir()
    with pytest.raises(FileError, match="unable to open database file: managers write in the state folder"):
        Records(tmp_path / "m.sqlite")
    words = ["campaign", "report", str(finished / "campaign.toml"), "-o", "/proc/nowhere/page.html", "--json"]
    found = CliRunner().invoke(app, words)
    assert found.exit_code == 1
    assert "--output puts the page elsewhere" in json.loads(found.stdout)["error"]
