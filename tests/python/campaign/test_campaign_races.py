"""Two managers act between each other's steps, and a manager dies between two of its own; each test replaces
one step by one before or after which the other manager acts."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import campaign_tools as tools
import pytest
from campaign_tools import attempts, events, machine, run, start, write

from trellis.campaign import records
from trellis.campaign.claims import Claims
from trellis.campaign.files import load_campaign
from trellis.campaign.history import read_history
from trellis.campaign.launchers.base import Orphan
from trellis.campaign.manager import Manager
from trellis.campaign.model import Machine

MACHINE = tools.machine_text(nodes=2, cpus=4)
#: The program notes who runs it, and ends when the file go is there.
WAITS = (
    "[[task]]\nname = 't'\noutputs = ['t']\n"
    "command = 'echo $$ >> pids; until test -e go; do sleep 0.02; done; echo x > {output}'\n"
)


def once(action: Callable[[], object]) -> Callable[[], None]:
    """Return a function that does the action at its first call, and nothing later."""
    left = [action]
    return lambda: left.pop()() and None if left else None


def begun(folder: Path) -> bool:
    return (folder / "work/pids").exists() and (folder / "work/pids").read_text().endswith("\n")


def pids(folder: Path) -> list[str]:
    return (folder / "work/pids").read_text().split()


def end_well(folder: Path, process) -> None:
    """Let the task that waits end, and its manager with it."""
    (folder / "work/go").touch()
    text, _ = process.communicate(timeout=300)
    assert process.returncode == 0, text


@pytest.mark.parametrize("look", ["histories", "history"])
def test_a_manager_that_ends_between_a_look_at_claims_and_one_at_managers(tmp_path: Path, look: str) -> None:
    """The manager ends there at the beginning, or while the task is known as another one's."""
    path = write(tmp_path, WAITS)
    first = start(path, MACHINE)
    tools.wait_for(lambda: begun(tmp_path))
    second = Manager(load_campaign(path), machine())
    real, end = getattr(second.claims, look), once(lambda: end_well(tmp_path, first))

    def look_then_end(*names: str) -> object:
        found = real(*names)
        end()
        return found

    setattr(second.claims, look, look_then_end)
    result = second.run()
    assert (result.counts, result.started) == ({"done": 1}, 0)
    assert len(pids(tmp_path)) == 1


def test_a_manager_that_begins_between_a_look_at_managers_and_one_at_processes(tmp_path: Path) -> None:
    """A process that the new manager starts is not taken for an orphan."""
    path = write(tmp_path, WAITS)
    second = Manager(load_campaign(path), machine())
    managers, look = second.claims.known_managers, second.past.look_at_history
    others = []

    def know_then_begin() -> dict[str, bool]:
        known = managers()
        if not others:
            others.append(start(path, MACHINE))
            tools.wait_for(lambda: begun(tmp_path))
        return known

    def look_then_end() -> None:
        look()
        (tmp_path / "work/go").touch()

    second.claims.known_managers, second.past.look_at_history = know_then_begin, look_then_end
    assert second.run().counts == {"done": 1}
    end_well(tmp_path, others[0])
    assert events(tmp_path, "orphan-ended") == []
    assert len(pids(tmp_path)) == 1


def run_until_killed(path: Path, kind: str, where: Machine | None = None) -> None:
    """Run a manager that is killed at its first attempt to say that an attempt has ended so."""

    def target() -> None:
        manager = Manager(load_campaign(path), where or machine())
        end = manager.claims.end

        def end_or_die(task: str, attempt: int, which: str, content: dict) -> None:
            if which == kind:
                os.kill(os.getpid(), signal.SIGKILL)
            end(task, attempt, which, content)

        manager.claims.end = end_or_die
        manager.run()

    process = multiprocessing.get_context("fork").Process(target=target)
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL


PROVEN = "[[task]]\nname = 't'\noutputs = [{ path = 't', end_marker = 'END' }]\n"


def test_valid_outputs_are_adopted_after_a_death_in_the_middle_of_it(tmp_path: Path) -> None:
    path = write(tmp_path, PROVEN + "command = 'echo made >> n; echo END > {output}'\n")
    (tmp_path / "work").mkdir()
    (tmp_path / "work/t").write_text("mine END\n")
    run_until_killed(path, "done")
    assert run(path).counts == {"done": 1}
    assert (tmp_path / "work/t").read_text() == "mine END\n"
    assert not (tmp_path / "work/n").exists()


def test_valid_outputs_are_taken_over_after_a_death_in_the_middle_of_it(tmp_path: Path) -> None:
    """The manager that runs the task dies, and so do two that take it over."""
    path = write(tmp_path, PROVEN + "command = 'echo made >> n; echo END > {output}'\n")
    for _ in range(3):
        run_until_killed(path, "done")
    result = run(path)
    assert (result.counts, result.started) == ({"done": 1}, 0)
    assert (tmp_path / "work/n").read_text() == "made\n"
    assert (tmp_path / "work/t").read_text() == "END\n"
    assert [p.name for p in (tmp_path / "work").iterdir() if p.name.startswith("t.")] == []


def test_a_task_without_outputs_that_ended_well_does_not_run_again(tmp_path: Path) -> None:
    """The task's marker says that it ended well when its manager did not come to it, unless it is one for
    several ranks."""
    one = "[[task]]\nname = 't'\ncommand = 'echo ran >> n'\n"
    path = write(tmp_path / "one", one)
    run_until_killed(path, "done")
    result = run(path)
    assert (result.counts, result.started) == ({"done": 1}, 0)
    assert (tmp_path / "one/work/n").read_text() == "ran\n"
    assert list((tmp_path / "one/work/c.state").rglob("*.partial")) == []
    words = json.dumps(["/bin/sh", "-c", '"$@"', "sh"])
    where = tools.parse_machine(tools.machine_text() + f"[launcher_options]\nmpi = {words}\n")
    path = write(tmp_path / "two", one + "ranks = 2\n")
    run_until_killed(path, "done", where)
    result = run(path, where)
    assert (result.counts, result.started) == ({"done": 1}, 1)


def test_the_report_names_attempts_that_were_not_committed(tmp_path: Path, monkeypatch) -> None:
    """The report takes them from their claims: the history of a manager is written four times a second."""
    monkeypatch.setattr(records, "COMMIT_SECONDS", 1e9)
    fails_once = "command = 'test {attempt} = 1 && echo x > {output}'\n"
    path = write(tmp_path, f"[[task]]\nname = 't'\ngroup = 'g'\noutputs = ['t']\n{fails_once}")
    run_until_killed(path, "done")
    assert attempts(tmp_path) == []
    history = read_history(tmp_path / "work/c.state")
    assert [(a.number, a.group, a.outcome, a.status) for a in history.attempts] == [
        (0, "g", "task", 1),
        (1, "g", "lost", None),
    ]
    assert all(a.places[0][0] in ("n1", "n2") and a.end >= a.start for a in history.attempts)


def test_an_alternative_that_the_file_has_no_more_when_its_attempt_was_killed(tmp_path: Path) -> None:
    ways = "alternatives = [{ threads = 64 }, { threads = 1 }]\n"
    path = write(tmp_path, PROVEN + "command = 'echo END > {output}'\n")
    short = path.read_text()
    path.write_text(short + ways)
    run_until_killed(path, "done")
    (claim,) = (tmp_path / "work/c.state/claims").rglob("*.claim")
    content = json.loads(claim.read_text())
    claim.write_text(json.dumps({**content, "alternative": 1}))
    path.write_text(short)
    assert run(path).counts == {"done": 1}


def test_an_orphan_of_a_task_that_is_done_frees_nothing_twice(tmp_path: Path) -> None:
    """The orphan may lie on a host that the manager which took the task over does not see."""
    head = tools.HEAD.replace("lease = 2", 'lease = 2\norphans = "await"')
    path = write(
        tmp_path,
        "[[task]]\nname = 'quick'\ncommand = 'echo x > {output}'\noutputs = ['quick']\n",
        head,
    )
    assert run(path).counts == {"done": 1}
    with path.open("a") as file:
        file.write(
            "[[task]]\nname = 'slow'\ncommand = 'until test -e go; do sleep 0.02; done; echo x > {output}'\n"
            "outputs = ['slow']\n[[task]]\nname = 'both'\nafter = ['quick', 'slow']\n"
            "command = 'cat quick slow > {output}'\noutputs = ['both']\nretries = { task = 0 }\n"
        )
    manager = Manager(load_campaign(path), machine())
    looks = []

    def orphans(state: Path, managers: dict[str, bool]) -> list[Orphan]:
        looks.append(state)
        if len(looks) > 3:  # its end has been seen, and what it freed, if anything, has run
            (tmp_path / "work/go").touch()
        return [Orphan("quick", 0, "gone", {})] if len(looks) == 1 else []

    manager.launcher.orphans = orphans
    look = manager.past.look_at_awaited

    def look_again() -> None:
        look()
        if looks and not manager.course.awaited:
            orphans(tmp_path, {})

    manager.past.look_at_awaited = look_again
    assert manager.run().counts == {"done": 3}
    assert (tmp_path / "work/both").read_text() == "x\nx\n"


def test_a_done_task_stays_done_when_a_quarantine_cannot_be_written(tmp_path: Path, monkeypatch) -> None:
    """Two managers may write the quarantine at once, or the disk may be full."""
    path = write(
        tmp_path,
        "[[task]]\nname = 't-{i}'\nover = { i = '1..4' }\noutputs = ['t.{i}']\nretries = { task = 3 }\n"
        "command = 'echo x >> n.{i}; test $TRELLIS_NODES != n1 && echo x > {output}'\n",
    )
    said: list[str] = []
    (tmp_path / "work/c.state").mkdir(parents=True)
    (tmp_path / "work/c.state/quarantine").write_text("in the way of the folder")
    result = run(path, machine(nodes=2, cpus=1), say=said.append)
    assert result.counts == {"done": 4}
    assert all(row["outcome"] in ("done", "task") for row in attempts(tmp_path))
    done = [row["task"] for row in attempts(tmp_path) if row["outcome"] == "done"]
    assert sorted(done) == ["t-1", "t-2", "t-3", "t-4"]
    assert any("quarantine" in line for line in said)


def test_a_manager_that_was_silent_for_long_is_alive_when_it_counts_again(tmp_path: Path) -> None:
    """The attempts that such a manager claims from now on are its own."""
    observer = Claims(tmp_path, lease_seconds=0.0)
    file = tmp_path / "managers/other.json"
    file.parent.mkdir()
    content = {"id": "other", "host": "another-host", "boot": "b", "pid": 1, "started": "1", "ended": False}
    file.write_text(json.dumps({**content, "count": 1}))
    assert not observer.is_alive("other")
    observer.lease_seconds = 1e6
    file.write_text(json.dumps({**content, "count": 2}))
    assert observer.is_alive("other")
    file.write_text(json.dumps({**content, "count": 3, "ended": True}))
    assert not observer.is_alive("other")


def test_a_manager_shows_itself_alive_before_it_claims_after_long_judging(tmp_path: Path) -> None:
    """Large outputs take longer than a lease: others took the manager for dead, and its new claims over."""
    path = write(
        tmp_path,
        "[[task]]\nname = 'a'\ncommand = 'echo x > {output}'\noutputs = ['a']\n"
        "[[task]]\nname = 'b'\ncommand = 'cp a {output}'\nafter = ['a']\noutputs = ['b']\n",
    )
    manager = Manager(load_campaign(path), machine())
    told: list[str] = []
    ended, claim, beat = manager.judge.ended, manager.claims.claim, manager.claims.beat

    def judge_for_long(*words: object) -> None:
        ended(*words)
        manager.next_beat = 0.0
        told.append("judged")

    manager.judge.ended = judge_for_long
    manager.claims.claim = lambda *words: (told.append("claim"), claim(*words))[1]
    manager.claims.beat = lambda **words: (told.append("beat"), beat(**words))[1]
    assert manager.run().counts == {"done": 2}
    first = told.index("judged")
    assert "beat" in told[first : told.index("claim", first)]


def test_a_rank_that_fails_fails_a_task_without_outputs(tmp_path: Path) -> None:
    """The task fails though another rank of it ended well, and an engine may lose the status of the
    launch."""
    ranks = tmp_path / "ranks.py"
    ranks.write_text(
        "import os, subprocess, sys\n"
        "def run(i): return subprocess.run(sys.argv[2:], env={**os.environ, 'RANK': str(i)}).returncode\n"
        "sys.exit(max([run(i) for i in range(int(sys.argv[1]))]))\n"
    )
    path = write(
        tmp_path, "[[task]]\nname = 't'\nranks = 2\ncommand = 'exit $RANK'\nretries = { task = 0 }\n"
    )
    words = json.dumps([sys.executable, str(ranks), "{ranks}"])
    where = tools.machine_text() + f"[launcher_options]\nmpi = {words}\n"
    result = run(path, tools.parse_machine(where))
    assert result.counts == {"failed": 1}
    assert "status 1" in result.failed["t"]


def test_tasks_that_are_made_again_do_not_run_again(tmp_path: Path) -> None:
    """The maker's output was lost; what it makes is done, whoever looks."""
    (tmp_path / "made.toml").write_text(
        "[[task]]\nname = 'made'\ncommand = 'echo x >> n; echo x > {output}'\noutputs = ['made']\n"
    )
    path = write(
        tmp_path,
        "[[task]]\nname = 'maker'\ncommand = 'cp ../made.toml {output}'\noutputs = ['made.toml']\n"
        "makes = 'made.toml'\n",
    )
    assert run(path).counts == {"done": 2}
    (tmp_path / "work/made.toml").unlink()
    result = run(path)
    assert (result.counts, result.started) == ({"done": 2}, 1)
    assert (tmp_path / "work/n").read_text() == "x\n"


def test_a_cut_claim_of_a_task_with_a_long_name(tmp_path: Path) -> None:
    """The name of the task is in the claim alone, which a power failure cut."""
    task = "command = 'echo x > {output}'\noutputs = ['t']\nestimate = 1\n"
    path = write(tmp_path, f"[[task]]\nname = '{'t' * 200}'\n{task}")
    head = path.read_text()
    path.write_text(head.replace("lease = 2", "lease = 0.1"))
    run_until_killed(path, "done")
    (claim,) = (tmp_path / "work/c.state/claims").rglob("*.claim")
    claim.write_text(claim.read_text()[:7])
    assert run(path, machine(allocation="drain = 0"), seconds=60).counts == {"done": 1}


def test_what_others_have_taken_over_is_ended_here(tmp_path: Path) -> None:
    """A manager was held up for longer than its lease, and is at work again."""
    path = write(
        tmp_path,
        "[[task]]\nname = 't'\noutputs = ['t']\nestimate = 1\n"
        "command = 'echo $$ >> pids; until test -e go; do sleep 0.02; done; echo x > {output}'\n",
    )
    manager = Manager(load_campaign(path), machine(allocation="drain = 0"), seconds=60)
    other, poll, free = Claims(tmp_path / "work/c.state"), manager.launcher.poll, manager.course.not_started

    def hold_up() -> None:
        assert other.claim("t", 1, {"task": "t"})
        manager.beaten -= 1000
        manager.next_beat = 0.0

    held_up = once(hold_up)

    def poll_held_up(seconds: float) -> list:
        if begun(tmp_path):
            held_up()
        return poll(seconds)

    def free_and_end(name: str) -> None:
        free(name)
        other.end("t", 1, "released", {})
        (tmp_path / "work/go").touch()

    manager.launcher.poll, manager.course.not_started = poll_held_up, free_and_end
    assert manager.run().counts == {"done": 1}
    assert [row["outcome"] for row in attempts(tmp_path)] == ["released", "done"]
    assert len(pids(tmp_path)) == 2
