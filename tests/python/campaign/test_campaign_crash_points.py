"""Managers die, or are held up, at each of their durable operations; another one goes on.

The normal run takes a sample of the points. With TRELLIS_CRASH_POINTS=1 it is all of them, with 5 every fifth
(doc/campaign/faults.md).
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import json
import multiprocessing
import os
import shutil
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import campaign_tools as tools
import crash_points
import pytest
from campaign_tools import machine, write

from trellis.campaign import manager as manager_module
from trellis.campaign import metaq_queue
from trellis.campaign.claims import Claims
from trellis.campaign.files import load_campaign
from trellis.campaign.history import read_history
from trellis.campaign.launchers import agent
from trellis.campaign.launchers import process as process_launcher
from trellis.campaign.manager import Manager, Result
from trellis.campaign.model import Machine
from trellis.campaign.report import summarize

#: Every so many-th point is tried; 0 stands for a sample.
STRIDE = int(os.environ.get("TRELLIS_CRASH_POINTS", "0"))
#: Each attempt notes that it began; what it makes says which attempt it was, and ends with END.
TASKS = """
[[task]]
name = "{task}"
over = { task = ["first"] }
command = "echo {attempt} >> ledger/first; echo {attempt} > {output}; echo END >> {output}"
outputs = [{ path = "first", end_marker = "END" }]
[[task]]
name = "chain"
after = ["first"]
command = "echo {attempt} >> ledger/chain; test -s first && echo {attempt} > {output}; echo END >> {output}"
outputs = [{ path = "chain", end_marker = "END" }]
[[task]]
name = "two"
command = '''echo {attempt} >> ledger/two
for o in {output} {output:1}; do echo {attempt} > $o; echo END >> $o; done'''
outputs = [{ path = "two.a", end_marker = "END" }, { path = "two.b", end_marker = "END" }]
[[task]]
name = "fails-once"
command = '''echo {attempt} >> ledger/fails-once; echo {attempt} > {output}
test -e failed || { touch failed; exit 3; }; echo END >> {output}'''
outputs = [{ path = "fails-once", end_marker = "END" }]
[[task]]
name = "renames"
command = "echo {attempt} >> ledger/renames; (echo {attempt}; echo END) > renames.new; mv renames.new renames"
outputs = [{ path = "renames", atomic = true }]
[[task]]
name = "proves-nothing"
command = "echo {attempt} >> ledger/proves-nothing; (echo {attempt}; echo END) > {output}"
outputs = ["proves-nothing"]
[[task]]
name = "no-outputs"
command = "echo {attempt} >> ledger/no-outputs"
[[task]]
name = "fails"
command = "echo {attempt} >> ledger/fails; echo {attempt} > {output}; exit 3"
outputs = [{ path = "fails", end_marker = "END" }]
retries = { task = 0 }
[[task]]
name = "skipped"
after = ["fails"]
command = "echo {attempt} >> ledger/skipped"
[[task]]
name = "maker"
after = ["first"]
command = "echo {attempt} >> ledger/maker; cp ../made.toml {output}"
outputs = [{ path = "made.toml", end_marker = "# END" }]
makes = "made.toml"
"""
MADE = """[[task]]
name = "made"
after = ["chain"]
command = "echo {attempt} >> ledger/made; echo {attempt} > {output}; echo END >> {output}"
outputs = [{ path = "sub/made", end_marker = "END" }]
# END
"""
#: This is what tasks that are done have made, below work/.
OUTPUTS = {
    "first": ["first"],
    "chain": ["chain"],
    "two": ["two.a", "two.b"],
    "fails-once": ["fails-once"],
    "renames": ["renames"],
    "proves-nothing": ["proves-nothing"],
    "no-outputs": ["c.state/ended/no-outputs"],
    "maker": ["made.toml"],
    "made": ["sub/made"],
}
#: Only a claim tells that these outputs are whole.
UNPROVEN = {"proves-nothing"}


def campaign_in(folder: Path) -> Path:
    path = write(folder, TASKS)
    (folder / "made.toml").write_text(MADE)
    (folder / "work/ledger").mkdir(parents=True)
    return path


def quick(path: Path, where: Machine | None = None) -> Manager:
    """Return a manager of this process that looks around often."""
    manager_module.LOOK_SECONDS = 0.02
    return Manager(load_campaign(path), where or machine(nodes=1, cpus=4))


def manager_until(path: Path, number: int, side: str, how: signal.Signals) -> multiprocessing.Process:
    """Return the process of a manager that comes to its N-th operation."""
    note = path.parent / "note"

    def run() -> None:
        crash_points.install(crash_points.Stop(number, side, how, path.parent / "work", note))
        quick(path).run()

    return tools.fork_to(run)


# The next functions say what was there before, and what has to hold after.


def texts_of(paths: Iterable[Path]) -> Iterator[str]:
    """Yield the texts of the files that exist; other processes may be renaming them."""
    for path in paths:
        with contextlib.suppress(FileNotFoundError):
            yield path.read_text()


def whole(folder: Path, task: str) -> bool:
    """Return True if all outputs of a task exist with their ends, under either name, from one attempt."""
    makers = []
    for name in OUTPUTS[task]:
        found = [folder / "work" / name, *(folder / "work").glob(f"{name}.attempt-*.partial")]
        texts = list(texts_of(found))
        if task == "no-outputs":
            makers.append({"any"} if texts else set())
        else:
            makers.append({text.split()[0] for text in texts if text.endswith("END\n")})
    return bool(set.intersection(*makers))


def begun(folder: Path) -> dict[str, list[str]]:
    """Return the attempts of each task that have begun."""
    return {path.name: path.read_text().split() for path in (folder / "work/ledger").iterdir()}


def finished(folder: Path) -> dict[str, list[str]]:
    """Return the tasks that need not run again, with the attempts of them that have begun so far."""
    histories = Claims(folder / "work/c.state").histories()
    done = {name for name, history in histories.items() if history.end == "done"}
    found = {task for task in OUTPUTS if task in done or (task not in UNPROVEN and whole(folder, task))}
    found |= {"fails"} if "fails" in histories and histories["fails"].end == "failed" else set()
    notes = begun(folder)  # this comes last: what a dead manager started may begin only now
    return {task: notes[task] for task in found}


def check(folder: Path, before: dict[str, list[str]], result: Result) -> None:
    """Check the invariants, after the last manager."""
    assert result.counts == {"done": len(OUTPUTS), "failed": 1, "skipped": 1}
    assert list(result.failed) == ["fails"]
    notes, state = begun(folder), folder / "work/c.state"
    for task, attempts in before.items():
        assert notes[task] == attempts, f"{task} was whole, and began again"
    done = Counter(path.name.rsplit(".", 2)[0] for path in (state / "claims").rglob("*.done"))
    histories = Claims(state).histories()
    for task, numbers in notes.items():
        assert len(set(numbers)) == len(numbers), f"{task}: an attempt ran twice: {numbers}"
    assert "skipped" not in notes
    for task, outputs in OUTPUTS.items():
        assert done[task] == 1, task
        assert histories[task].end == "done", task
        for name in outputs if task not in ("no-outputs", "maker") else ():
            text = (folder / "work" / name).read_text().split()
            assert text == [notes[task][-1], "END"], f"{name}: {text}, {notes[task]}"
    left = [path for path in (folder / "work").rglob("*partial*") if "set-aside" not in path.name]
    assert [path for path in left if not is_stillborn(path)] == []
    assert [
        pid for pid, marker, _ in process_launcher._marked_processes() if marker.startswith(f"{state}:")
    ] == []
    check_report(folder, state)


def is_stillborn(path: Path) -> bool:
    """Return True if the first sign of life of a manager is cut: for a lease nobody knows whose it is."""
    try:
        json.loads(path.read_text())
    except ValueError:
        return path.parent.name == "managers" and not path.with_suffix("").exists()
    return False


def check_report(folder: Path, state: Path) -> None:
    """Check that the report can be read, and names all attempts."""
    history = read_history(state)
    named = {(attempt.task, attempt.number): attempt.outcome for attempt in history.attempts}
    assert len(named) == len(history.attempts)
    for path in (state / "claims").rglob("*.claim"):
        claim, number = json.loads(path.read_text()), int(path.name.rsplit(".", 2)[1])
        if "taken_over" not in claim and "adopted" not in claim:
            outcome = named.pop((claim["task"], number), None)
            assert outcome is not None, f"attempt {number} of {claim['task']} is not in the report"
            if path.with_suffix(".done").exists():
                assert outcome == "done", path
            elif path.with_suffix(".failed").exists():
                assert outcome == json.loads(path.with_suffix(".failed").read_text())["failure"], path
            else:
                assert outcome in ("lost", "released", "done"), (path, outcome)
    assert named == {}
    figures = summarize(history, load_campaign(folder / "campaign.toml").tasks)
    assert figures["counts"] == {"done": len(OUTPUTS), "not done": 1, "waiting": 1}
    assert figures["tasks_run_twice"] == 0
    assert figures["unreadable_records"] == []


def go_on(path: Path) -> Result:
    result = quick(path).run()
    again = quick(path).run()
    assert again.started == 0
    return result


# The next functions try one point.


def reached(folder: Path, process: multiprocessing.Process, how: signal.Signals) -> str | None:
    """Return the operation at which a manager stopped; None says that it came to its end before that."""
    note = folder / "note"
    while how == signal.SIGSTOP:
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        if note.exists() or process.exitcode is not None:
            break
        time.sleep(0.02)  # others may stop it, too
    if how == signal.SIGKILL or not note.exists():
        process.join()
    if not note.exists():
        assert process.exitcode == 0
        return None
    if how == signal.SIGKILL:
        assert process.exitcode == -signal.SIGKILL
    return note.read_text()


def killed(folder: Path, number: int, side: str) -> str | None:
    """Kill a manager there; another goes on when it is gone."""
    path = campaign_in(folder)
    process = manager_until(path, number, side, signal.SIGKILL)
    place = reached(folder, process, signal.SIGKILL)
    if place is not None:
        before = finished(folder)
        check(folder, before, go_on(path))
    return place


def killed_twice(folder: Path, number: int, side: str) -> str | None:
    """Kill a manager, and the next one at the same number of operations if it gets there."""
    path = campaign_in(folder)
    place = None
    for _ in range(2):
        (folder / "note").unlink(missing_ok=True)
        process = manager_until(path, number, side, signal.SIGKILL)
        last = reached(folder, process, signal.SIGKILL)
        if last is None:
            break
        place = last
    if place is not None:
        before = finished(folder)
        check(folder, before, go_on(path))
    return place


def killed_beside_another(folder: Path, number: int, side: str) -> str | None:
    """Kill a manager while another one works."""
    path = campaign_in(folder)
    other = tools.fork_to(lambda: quick(path).run())
    process = manager_until(path, number, side, signal.SIGKILL)
    place = reached(folder, process, signal.SIGKILL)
    before = finished(folder)
    other.join()
    assert other.exitcode == 0
    check(folder, before, quick(path).run())
    return place


def held_up(folder: Path, number: int, side: str) -> str | None:
    """Stop a manager; another one works until it only waits; then the first goes on."""
    path = campaign_in(folder)
    process = manager_until(path, number, side, signal.SIGSTOP)
    place = reached(folder, process, signal.SIGSTOP)
    if place is None:
        return None
    before = finished(folder)
    manager = quick(path)
    quiet = []

    def go_on_when_it_waits(done: int, total: int) -> None:
        course = manager.course
        active = course.running or course.planner.waiting or manager.judge.settling
        quiet.append(not active)
        if len(quiet) > 3 and all(quiet[-3:]):
            os.kill(process.pid, signal.SIGCONT)

    manager.on_progress = go_on_when_it_waits
    try:
        result = manager.run()
    finally:
        os.kill(process.pid, signal.SIGCONT)
    process.join()
    assert process.exitcode == 0
    check(folder, before, result)
    counts = {task: len(numbers) for task, numbers in begun(folder).items()}
    assert counts == {**dict.fromkeys([*OUTPUTS, "fails"], 1), "fails-once": 2}, "nobody died"
    return place


SWEEPS = [
    (killed, "before"),
    (killed, "midst"),
    (killed, "after"),
    (killed_twice, "before"),
    (killed_beside_another, "before"),
    (killed_beside_another, "after"),
    (held_up, "before"),
    (held_up, "after"),
]


def sweep(
    folder: Path, point: Callable[[Path, int, str], str | None], side: str, numbers: Iterable[int]
) -> int:
    """Return the number of points that were reached; the sweep ends when twenty in a row were not, or after
    ten failures."""
    failures, count, missed = [], 0, 0
    for number in numbers:
        where = folder / f"{number}"
        try:
            place = point(where, number, side)
        except Exception as error:
            note = where / "note"
            failures.append(f"{note.read_text() if note.exists() else (number, side)}: {error!r}")
            if len(failures) == 10:
                break
            continue
        shutil.rmtree(where)
        count, missed = count + (place is not None), 0 if place is not None else missed + 1
        if missed == 20 // max(STRIDE, 1) + 1:
            break
    assert not failures, "\n".join([f"{len(failures)} of {count + len(failures)}", *failures])
    return count


@pytest.mark.parametrize("point, side", SWEEPS)
def test_some_crash_points(tmp_path: Path, point: Callable, side: str) -> None:
    """The numbers have no common divisor with what a task needs, so that all kinds of operations occur."""
    numbers = range(2, 50, 17) if side == "midst" else range(7, 250, 53)
    assert sweep(tmp_path, point, side, numbers) >= 2


@pytest.mark.skipif(STRIDE == 0, reason="TRELLIS_CRASH_POINTS=1 takes long")
@pytest.mark.slow
@pytest.mark.parametrize("point, side", SWEEPS)
def test_all_crash_points(tmp_path: Path, point: Callable, side: str) -> None:
    count = sweep(tmp_path, point, side, itertools.count(1, STRIDE))
    print(f"{point.__name__} {side}: {count} points")
    assert count >= (25 if side == "midst" else 100) // STRIDE


# The next functions kill what runs in a task: scripts of METAQ directories, and the agents of nodes.


def sessions() -> set[int]:
    """Return the sessions of all processes."""
    return {agent._session(int(name)) for name in os.listdir("/proc") if name.isdigit()}


def metaq_words(folder: Path) -> list[str]:
    queue, output = folder / "queue", folder / "ended.json"
    return [str(queue), "todo/s", str(output), "--job", "17", "--machine", "m"]


def metaq_killed(folder: Path, number: int, side: str, more: str) -> str | None:
    """Kill the program that runs a script; the next attempt runs it again."""
    queue, note = folder / "queue", folder / "note"
    script = queue / "todo/s"
    script.parent.mkdir(parents=True)
    script.write_text(
        f"#!/bin/sh\n#METAQ NODES 2\n#METAQ GPUS 1\n#METAQ PROJECT p\necho ran >> {folder}/ran\n{more}\n"
    )
    script.chmod(0o755)

    def run() -> None:
        os.setsid()
        crash_points.install(crash_points.Stop(number, side, signal.SIGKILL, folder, note))
        metaq_queue.main(metaq_words(folder))

    process = tools.fork_to(run)
    place = reached(folder, process, signal.SIGKILL)
    tools.wait_for(lambda: process.pid not in sessions())  # the script goes on; a manager would end it
    own = queue / "jobs/m/17"
    has_said = (own / "status.jsonl").exists() and (own / "status.jsonl").read_text().endswith("\n")
    is_lost = not has_said and not script.exists() and not (queue / "working/m/17/s").exists()
    status = metaq_queue.main(metaq_words(folder))
    ran = (folder / "ran").read_text().count("ran")
    if is_lost:  # it removed itself: nobody has seen how it ended
        assert (status, ran) == (75, 1)
        return place
    assert status == 0
    assert ran == 1 if has_said else ran <= 2
    assert json.loads((folder / "ended.json").read_text())["status"] == 0
    left = {str(path.relative_to(queue)) for path in queue.rglob("*") if path.is_file()}
    logs = {f"jobs/m/17/{name}" for name in ("resources", "status.jsonl", "log/s.log")}
    assert left == logs | (set() if more else {"finished/s"})
    ledger = [line.split()[:2] for line in (own / "resources").read_text().splitlines()]
    assert sorted(ledger) == [["+1", "gpus"], ["+2", "nodes"], ["-1", "gpus"], ["-2", "nodes"]]
    return place


@pytest.mark.parametrize("more", ["", 'rm "$0"'])
@pytest.mark.parametrize("side", ["before", "after"])
def test_all_crash_points_of_metaq(tmp_path: Path, side: str, more: str) -> None:
    """A script that recorded its end does not run again, and its resources are given back once."""
    assert sweep(tmp_path, functools.partial(metaq_killed, more=more), side, itertools.count(1)) >= 20


def agent_killed(folder: Path, number: int, side: str) -> str | None:
    """Kill the agent of one of two nodes; what it ran is run again on the other."""
    path = campaign_in(folder)
    crash = f"{crash_points.__file__} {number} {side} {folder}/work {folder}/note"
    script = (
        "python=$1; shift; while [ ${1#-} != $1 ]; do shift; done\n"
        f'SLURMD_NODENAME=n1 $python {crash} "$@" &\nnode n2 &'
    )
    result = quick(path, tools.agents(folder, script, "n1 n2")).run()
    check(folder, {}, result)
    note = folder / "note"
    return note.read_text() if note.exists() else None


@pytest.mark.parametrize("side", ["before", "after"])
def test_some_crash_points_of_an_agent(tmp_path: Path, side: str) -> None:
    assert sweep(tmp_path, agent_killed, side, range(1, 6, 2)) >= 2


@pytest.mark.skipif(STRIDE == 0, reason="TRELLIS_CRASH_POINTS=1 takes long")
@pytest.mark.slow
@pytest.mark.parametrize("side", ["before", "after"])
def test_all_crash_points_of_an_agent(tmp_path: Path, side: str) -> None:
    count = sweep(tmp_path, agent_killed, side, itertools.count(1, STRIDE))
    print(f"agent_killed {side}: {count} points")
    assert count >= 5 // STRIDE
