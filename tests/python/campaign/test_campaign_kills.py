"""These tests cover managers killed at any time, and several managers on one directory."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path

import campaign_tools as tools
import pytest
from campaign_tools import attempts, events, kill, machine, run, start, write

from trellis.campaign.claims import Claims
from trellis.campaign.files import load_campaign
from trellis.campaign.launchers.base import MANAGER, MARKER
from trellis.campaign.launchers.process import ProcessLauncher
from trellis.campaign.manager import Manager

#: Each task notes when it began and when it ended, so that two at once would be seen.
TASKS = """
[[task]]
name = "{kind}-{i}"
over = { i = "1..COUNT", kind = ["a"] }
command = "echo begin {attempt} >> n.{kind}.{i}; sleep 0.1; echo {i} end > {output}; echo end >> n.{kind}.{i}"
outputs = [{ path = "{kind}.{i}", end_marker = "end" }]
[[task]]
name = "{kind}-{i}"
over = { i = "1..COUNT", kind = ["b"] }
after = ["a-{i}"]
command = "echo begin {attempt} >> n.{kind}.{i}; sleep 0.1; cat a.{i} > {output}; echo end >> n.{kind}.{i}"
outputs = ["{kind}.{i}"]
"""
#: The program notes its process; it ends at once when the file `second` is there.
LONG_UNLESS_SECOND = (
    '[[task]]\nname = "t"\ncommand = "echo $$ >> pids; test -e second || sleep 60; echo x > {output}"\n'
    'outputs = ["t"]\n'
)
MACHINE = tools.machine_text(nodes=2, cpus=4)


def check_each_valid_exactly_once(folder: Path, count: int = 12) -> None:
    """One attempt of each task counts, none follows it, and no two were at work at once."""
    claims = Claims(folder / "work/c.state")
    histories = claims.histories()
    done = Counter(path.name.split(".")[0] for path in (folder / "work/c.state/claims").rglob("*.done"))
    for kind in "ab":
        for i in range(1, count + 1):
            name = f"{kind}-{i}"
            assert histories[name].end == "done", name
            assert done[name] == 1, name
            assert (folder / f"work/{kind}.{i}").read_text() == f"{i} end\n"
            notes = (folder / f"work/n.{kind}.{i}").read_text().split("\n")[:-1]
            numbers = [int(line.split()[1]) for line in notes if line.startswith("begin")]
            assert numbers == sorted(set(numbers)), name
            assert "end" not in notes or notes[-2:] == [f"begin {numbers[-1]}", "end"], name


def claimed(folder: Path) -> int:
    return sum(path.suffix == ".claim" for path in (folder / "work/c.state/claims").rglob("*"))


def kill_at_random(folder: Path, kills: int, count: int, seed: int) -> int:
    """Kill managers at random times of their work, so many or until the campaign is done; return how many
    were."""
    path = write(folder, TASKS.replace("COUNT", str(count)))
    scatter = random.Random(seed)
    for killed in range(kills):
        before = claimed(folder)
        process = tools.fork(path, machine(nodes=1, cpus=2))
        while claimed(folder) == before and process.is_alive():
            time.sleep(0.005)
        process.join(0.25 * scatter.random())
        if process.exitcode is not None:
            return killed
        process.kill()
        process.join()
    return kills


@pytest.mark.slow
def test_random_kills_of_the_manager(tmp_path: Path) -> None:
    count = 100
    killed = kill_at_random(tmp_path, 40, count, seed=1)
    assert killed >= 20
    assert run(tmp_path / "campaign.toml", machine(nodes=2, cpus=20)).counts == {"done": 2 * count}
    check_each_valid_exactly_once(tmp_path, count)


@pytest.mark.skipif(
    "TRELLIS_CAMPAIGN_KILLS" not in os.environ, reason="TRELLIS_CAMPAIGN_KILLS=200 takes minutes"
)
@pytest.mark.slow
def test_many_random_kills_in_one_campaign(tmp_path: Path) -> None:
    wanted = int(os.environ["TRELLIS_CAMPAIGN_KILLS"])
    count = 4 * wanted
    killed = kill_at_random(tmp_path, wanted, count, seed=1)
    result = run(tmp_path / "campaign.toml", machine(nodes=2, cpus=40))
    assert result.counts == {"done": 2 * count}
    check_each_valid_exactly_once(tmp_path, count)
    print(f"{killed} kills, {2 * count} tasks, {claimed(tmp_path)} claims")


def test_orphans_are_ended_before_their_task_runs_again(tmp_path: Path) -> None:
    path = write(tmp_path, LONG_UNLESS_SECOND)
    process = start(path, MACHINE)
    tools.wait_for((tmp_path / "work/pids").exists)
    tools.wait_for(lambda: (tmp_path / "work/pids").read_text().endswith("\n"))
    kill(process)
    pid = int((tmp_path / "work/pids").read_text())
    assert tools.alive(pid)
    (tmp_path / "work/second").touch()
    assert run(path).counts == {"done": 1}
    assert not tools.alive(pid)
    assert [event["task"] for event in events(tmp_path, "orphan-ended")] == ["t"]


def test_an_orphan_gets_sigterm_once(tmp_path: Path) -> None:
    """A program that saves its work on SIGTERM is not interrupted again and again meanwhile."""
    command = "trap 'echo term >> terms' TERM; touch ready; while :; do sleep 0.05; done"
    identity = {MARKER: f"{tmp_path}:t:0", MANAGER: "dead"}
    process = subprocess.Popen(["sh", "-c", command], cwd=tmp_path, env={**os.environ, **identity})
    tools.wait_for((tmp_path / "ready").exists)
    launcher = ProcessLauncher(machine())
    (orphan,) = launcher.orphans(tmp_path, {})
    for _ in range(20):
        assert launcher.end_orphan(orphan, hard=False)
        time.sleep(0.02)
    tools.wait_for((tmp_path / "terms").exists)
    assert (tmp_path / "terms").read_text() == "term\n"
    launcher.end_orphan(orphan, hard=True)
    assert process.wait(10) == -signal.SIGKILL
    tools.wait_for(lambda: not launcher.end_orphan(orphan, hard=True))  # its child dies after it


def test_orphans_of_a_manager_that_dies_while_another_begins(tmp_path: Path) -> None:
    """The manager dies between the other one's search for orphans and its look at the claims."""
    path = write(tmp_path, LONG_UNLESS_SECOND)
    first = start(path, MACHINE)
    tools.wait_for((tmp_path / "work/pids").exists)
    tools.wait_for(lambda: (tmp_path / "work/pids").read_text().endswith("\n"))
    second = Manager(load_campaign(path), machine())
    look = second.past.look_at_history

    def look_after_a_death() -> None:
        (tmp_path / "work/second").touch()
        kill(first)
        look()

    second.past.look_at_history = look_after_a_death
    assert second.run().counts == {"done": 1}
    assert not tools.alive(int((tmp_path / "work/pids").read_text().split()[0]))
    assert [event["task"] for event in events(tmp_path, "orphan-ended")] == ["t"]


def test_what_a_killed_attempt_had_begun_is_set_aside(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        '[[task]]\nname = "t"\noutputs = ["t"]\n'
        'command = "echo {attempt} > {output}; test -e second || sleep 60"\n',
    )
    process = start(path, MACHINE)
    tools.wait_for(lambda: any(p.stat().st_size for p in (tmp_path / "work").glob("t.*")))
    kill(process)
    (tmp_path / "work/second").touch()
    assert run(path).counts == {"done": 1}
    assert (tmp_path / "work/t").read_text() == "1\n"
    (aside,) = (p for p in (tmp_path / "work").iterdir() if p.name.startswith("t."))
    assert aside.name.endswith(".set-aside.0"), aside
    assert aside.read_text() == "0\n"


def test_orphans_may_be_awaited(tmp_path: Path) -> None:
    head = tools.HEAD.replace("lease = 2", 'lease = 2\norphans = "await"')
    path = write(
        tmp_path,
        '[[task]]\nname = "t"\ncommand = "echo begun >> pids; sleep 2; echo end > {output}"\n'
        'outputs = [{ path = "t", end_marker = "end" }]\n',
        head,
    )
    process = start(path, MACHINE)
    tools.wait_for((tmp_path / "work/pids").exists)
    kill(process)
    result = run(path)
    assert result.counts == {"done": 1}
    assert result.started == 0
    assert (tmp_path / "work/pids").read_text() == "begun\n"


def test_two_managers_on_one_directory(tmp_path: Path) -> None:
    path = write(tmp_path, TASKS.replace("COUNT", "12"))
    managers = [start(path, MACHINE) for _ in range(2)]
    for process in managers:
        text, _ = process.communicate(timeout=300)
        assert process.returncode == 0, text
    check_each_valid_exactly_once(tmp_path)
    rows = attempts(tmp_path)
    assert len(rows) == 24
    assert len({row["log"] for row in rows}) == 24


def test_the_survivor_takes_over_from_a_killed_manager(tmp_path: Path) -> None:
    path = write(tmp_path, TASKS.replace("COUNT", "12"))
    first, second = start(path, MACHINE), start(path, MACHINE)
    tools.wait_for(lambda: len(list((tmp_path / "work").glob("n.a.*"))) >= 4)
    kill(first)
    text, _ = second.communicate(timeout=300)
    assert second.returncode == 0, text
    check_each_valid_exactly_once(tmp_path)


def test_only_one_claim_succeeds(tmp_path: Path) -> None:
    managers = [Claims(tmp_path, lease_seconds=0.2) for _ in range(3)]
    assert [manager.claim("x/y:z", 0, {"task": "x/y:z"}) for manager in managers] == [True, False, False]
    assert managers[2].history("x/y:z").manager == managers[0].id
    assert list(managers[1].histories()) == ["x/y:z"]


def test_a_manager_elsewhere_is_dead_when_its_count_stands_still(tmp_path: Path) -> None:
    observer = Claims(tmp_path, lease_seconds=0.3)
    file = tmp_path / "managers/other.json"
    file.parent.mkdir()
    content = {"id": "other", "host": "another-host", "boot": "b", "pid": 1, "started": "1", "ended": False}
    for count in range(3):
        file.write_text(json.dumps({**content, "count": count}))
        assert observer.is_alive("other")
        time.sleep(0.2)
    time.sleep(0.2)
    assert not observer.is_alive("other")


def test_records_cut_by_a_power_failure_do_not_stop_a_restart(tmp_path: Path) -> None:
    """A cut claim belongs to a dead manager after a lease; a cut failure counts no more."""
    claims = Claims(tmp_path, lease_seconds=0.0)
    assert claims.claim("one", 0, {"task": "one"})
    assert claims.claim("two", 0, {"task": "two"})
    claims.end("two", 0, "failed", {"failure": "task", "reason": "status 1", "nodes": []})
    for path in tmp_path.rglob("*"):
        if path.name in ("one.0.claim", "two.0.failed"):
            path.write_text(path.read_text()[:7])
    other = Claims(tmp_path, lease_seconds=0.0)
    histories = other.histories()
    assert (histories["one"].attempt, histories["one"].manager, histories["one"].end) == (0, "", "")
    assert not other.is_alive(histories["one"].manager)
    assert other.claim("one", 1, {"task": "one"})
    assert histories["two"].failures == []
