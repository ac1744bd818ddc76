"""These tests cover faults of nodes, launchers and file systems: resident agents without Slurm play the
nodes."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import campaign_tools as tools
import pytest
from campaign_tools import agents, attempts, events, machine, run, write

from trellis.campaign import claims as claims_module
from trellis.campaign.claims import Claims
from trellis.campaign.files import load_campaign, parse_machine
from trellis.campaign.launchers import agent
from trellis.campaign.manager import Manager
from trellis.campaign.model import Machine
from trellis.errors import FileError, NotAvailable

TASKS = """
[[task]]
name = "t-{i}"
over = { i = "1..COUNT" }
command = "echo $SLURMD_NODENAME >> nodes; sleep SECONDS; echo {i} > {output}"
outputs = ["t.{i}"]
estimate = SECONDS
"""


def tasks(count: int, seconds: float) -> str:
    return TASKS.replace("COUNT", str(count)).replace("SECONDS", str(seconds))


def template(wrapper: Path, script: str, settle: str = "0") -> Machine:
    """Return a machine whose programs are started by a shell script."""
    wrapper.write_text(f"#!/bin/bash\n{script}\n")
    wrapper.chmod(0o755)
    return parse_machine(
        f'[machine]\nname = "m"\nlauncher = "template"\nsettle = {settle}\n[[nodes]]\ncpus = 2\n'
        f'[launcher_options]\ncommand = ["{wrapper}"]\n'
    )


def test_a_launcher_that_returns_0_for_a_dead_step(tmp_path: Path) -> None:
    """The first program is killed in its midst; its launcher says that all went well."""
    where = template(
        tmp_path / "launch",
        f'test -e {tmp_path}/once && exec "$@"\ntouch {tmp_path}/once\n"$@" & sleep 0.3; kill -9 $!; exit 0',
    )
    command = "echo begun > {output}; sleep 0.6; echo end >> {output}"
    path = write(
        tmp_path,
        f"[[task]]\nname = 'a'\ncommand = '{command}'\noutputs = [{{ path = 'a', end_marker = 'end' }}]\n",
    )
    assert run(path, where).counts == {"done": 1}
    first, second = attempts(tmp_path)
    assert (first["status"], first["outcome"], second["outcome"]) == (0, "task", "done")
    assert "does not end with" in first["reason"]
    assert (tmp_path / "work/a").read_text() == "begun\nend\n"


def test_a_launcher_that_fails_after_good_output(tmp_path: Path) -> None:
    where = template(tmp_path / "launch", '"$@"\nexit 7')
    path = write(tmp_path, "[[task]]\nname = 'a'\ncommand = 'echo x > {output}'\noutputs = ['a']\n")
    assert run(path, where).counts == {"done": 1}
    assert [(row["status"], row["outcome"]) for row in attempts(tmp_path)] == [(7, "done")]


@pytest.mark.skipif(shutil.which("mpirun") is None, reason="no mpirun")
def test_one_rank_of_a_task_is_killed(tmp_path: Path) -> None:
    """The launcher ends the other ranks; the task runs again, and nothing of the first attempt is left."""
    command = (
        "echo $$ > rank.{attempt}.$OMPI_COMM_WORLD_RANK; test {attempt} != 0 || sleep 600; "
        "test $OMPI_COMM_WORLD_RANK != 0 || echo x > {output}"
    )
    path = write(tmp_path, f'[[task]]\nname = "a"\nranks = 3\ncommand = "{command}"\noutputs = ["a"]\n')
    words = '["mpirun", "-n", "{ranks}", "--oversubscribe", "--allow-run-as-root"]'
    where = tools.machine_text(cpus=3) + f"[launcher_options]\nmpi = {words}\n"
    process = tools.start(path, where)
    pids = [tmp_path / f"work/rank.0.{rank}" for rank in range(3)]
    tools.wait_for(lambda: all(p.exists() and p.read_text().endswith("\n") for p in pids))
    first = [int(p.read_text()) for p in pids]
    os.kill(first[1], signal.SIGKILL)
    text, _ = process.communicate(timeout=300)
    assert process.returncode == 0, text
    assert [row["outcome"] for row in attempts(tmp_path)] == ["task", "done"]
    assert not any(map(tools.alive, first))


ESCAPE = """
[[task]]
name = "a"
command = "setsid sleep 300 & echo $! > {output}"
outputs = ["a"]
[[task]]
name = "b"
after = ["a"]
command = "test ! -e /proc/$(cat a) && echo ended > {output}"
outputs = ["b"]
retries = { task = 0 }
"""


@pytest.mark.parametrize("launcher", ["process", "agents"])
def test_what_left_its_session_is_ended_before_the_next_task(tmp_path: Path, launcher: str) -> None:
    """A daemon, or an MPI rank, would go on to hold its GPU."""
    where = machine(nodes=1) if launcher == "process" else agents(tmp_path, "node n1 &", "n1")
    assert run(write(tmp_path, ESCAPE), where).counts == {"done": 2}
    assert not tools.alive(int((tmp_path / "work/a").read_text()))


class SlowClock:
    """A millisecond passes with each look at this clock, however slow the machine is."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        self.now += 1e-3
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        time.sleep(seconds)


def test_what_is_in_the_middle_of_exec_is_ended_too(monkeypatch) -> None:
    """For a moment such a process has no environment; what has none for ever is left alone, and waited for
    once."""
    read, looks = agent._environment, []

    def in_exec(pid: int) -> bytes | None:
        if pid == left.pid:
            looks.append(pid)
            return b"" if len(looks) < 20 else read(pid)
        return read(pid)

    marked = {**os.environ, agent.MARKER: "/state:task:0"}
    left = subprocess.Popen(["sleep", "60"], env=marked, start_new_session=True)
    bare = subprocess.Popen(["sleep", "60"], env={}, start_new_session=True)
    escaped = agent.EscapedProcesses()
    escaped._own = None
    try:
        monkeypatch.setattr(agent, "_environment", in_exec)
        monkeypatch.setattr(agent, "time", SlowClock())
        escaped.end([], [])
        assert not tools.alive(left.pid)
        assert tools.alive(bare.pid)
        rounds, children = [], agent._children
        monkeypatch.setattr(agent, "_children", lambda: (rounds.append(1), children())[1])
        escaped.end([], [])
        assert len(rounds) == 1
    finally:
        for process in (left, bare):
            process.kill()
            process.wait()


def test_a_program_whose_agent_died_before_it_was_tied_to_it_ends() -> None:
    """The agent dies between the fork and the call that ties the program to it: no signal comes any more."""
    reader, writer = os.pipe()
    parent = os.fork()
    if parent == 0:
        own = os.getpid()
        if os.fork() == 0:
            while os.getppid() == own:
                time.sleep(0.001)
            agent.die_with_parent(own)
            os.write(writer, b"goes on")
            os._exit(0)
        os.kill(own, signal.SIGKILL)
    os.waitpid(parent, 0)
    os.close(writer)
    with open(reader, "rb") as pipe:
        assert pipe.read() == b""


def test_a_slow_node_is_no_bad_node(tmp_path: Path) -> None:
    """The node n2 takes five times as long: it gets fewer tasks, nothing runs twice, nothing is
    quarantined."""
    path = write(
        tmp_path,
        """
[[task]]
name = "t-{i}"
over = { i = "1..24" }
command = "test $TRELLIS_NODES = n2 && sleep 0.6; sleep 0.15; echo > {output}"
outputs = ["t.{i}"]
estimate = 0.15
""",
    )
    assert run(path, machine(nodes=3, cpus=1)).counts == {"done": 24}
    rows = attempts(tmp_path)
    assert len(rows) == 24
    assert not events(tmp_path, "quarantine")
    share = Counter(json.loads(row["places"])[0][0] for row in rows)
    assert 1 <= share["n2"] <= 6 <= min(share["n1"], share["n3"])


def test_a_lump_that_reports_late_and_one_that_never_does(tmp_path: Path) -> None:
    """The node n1 works alone after the join time; n2 is used from when it comes, and n3 is left out."""
    late = f"(until test -s {tmp_path}/work/nodes; do sleep 0.05; done; node n2) &"
    where = agents(tmp_path, f"node n1 &\n{late}", "n1 n2 n3", join=5)
    path = write(tmp_path, held(16))
    manager = Manager(load_campaign(path), where)
    let_go_when(manager, "n2 joined", tmp_path)
    assert manager.run().counts == {"done": 16}
    used = Counter((tmp_path / "work/nodes").read_text().split())
    assert set(used) == {"n1", "n2"}
    assert used["n1"] > 0 < used["n2"]
    assert [event["node"] for event in events(tmp_path, "node-joined")] == ["n2"]
    assert len(attempts(tmp_path)) == 16


def held(count: int) -> str:
    """Return tasks of which n1 ends only four before the file go is there."""
    wait = (
        "test $SLURMD_NODENAME = n2 || test $(wc -l < nodes) -le 4 || until test -e go; do sleep 0.05; done"
    )
    return tasks(count, 0.3).replace("; sleep 0.3;", f"; sleep 0.3; {wait};")


def let_go_when(manager: Manager, words: str, folder: Path) -> None:
    """Let the tasks that are held end once the manager says something with these words."""
    say = manager.course.say

    def say_and_let_go(line: str) -> None:
        say(line)
        if words in line:
            (folder / "work/go").touch()

    manager.course.say = say_and_let_go


def kill_agent_once(where: Machine, path: Path, node: str) -> Manager:
    """Return a manager under which a node's agent is killed once it has a task."""
    manager = Manager(load_campaign(path), where)
    look, killed = manager._look_around, []

    def look_and_kill() -> None:
        look()
        names = [name for name, attempt in manager.running.items() if node in attempt.placement.nodes]
        if names and not killed and (path.parent / "work/nodes").exists():
            if node in (path.parent / "work/nodes").read_text().split():
                pid = next(pid for pid, name in agent_processes(path.parent) if name == node)
                killed.append(pid)
                os.kill(pid, signal.SIGKILL)

    manager._look_around = look_and_kill  # type: ignore[method-assign]
    return manager


def agent_processes(folder: Path) -> list[tuple[int, str]]:
    """Return the agents that this folder's script has started, with their nodes."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
            environment = (entry / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if len(words) > 2 and words[2].endswith(b"launchers/agent.py"):
            name = next(w for w in environment if w.startswith(b"SLURMD_NODENAME=")).decode()
            if f"PWD={folder}".encode() in environment or str(os.getpid()) in _ancestors(entry.name):
                found.append((int(entry.name), name.partition("=")[2]))
    return found


def _ancestors(pid: str) -> list[str]:
    found = []
    while pid not in ("0", "1"):
        try:
            pid = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1]
        except OSError:
            break
        found.append(pid)
    return found


RETURNING = "node n1 &\n(node n2; sleep 0.5; node n2) &"


def test_a_node_that_returns_stays_out_until_it_is_found_sound(tmp_path: Path) -> None:
    """Without a health command nobody can say that the node is sound."""
    path = write(tmp_path, held(12))
    manager = kill_agent_once(agents(tmp_path, RETURNING, "n1 n2"), path, "n2")
    let_go_when(manager, "n2 is back", tmp_path)
    assert manager.run().counts == {"done": 12}
    assert [event["node"] for event in events(tmp_path, "quarantine")] == ["n2"]
    assert [event["node"] for event in events(tmp_path, "node-kept-out")] == ["n2"]
    assert sorted(row["outcome"] for row in attempts(tmp_path)) == ["done"] * 12 + ["node"]
    assert (tmp_path / "work/nodes").read_text().split().count("n2") <= 2


def test_a_node_that_returns_and_is_sound_is_used_again(tmp_path: Path) -> None:
    path = write(tmp_path, held(16))
    where = agents(tmp_path, RETURNING, "n1 n2", more='health = ["true"]')
    manager = kill_agent_once(where, path, "n2")
    let_go_when(manager, "n2 joined", tmp_path)
    assert manager.run().counts == {"done": 16}
    assert [event["node"] for event in events(tmp_path, "node-joined")] == ["n2"]
    lost = next(row for row in attempts(tmp_path) if row["outcome"] == "node")
    after = [row for row in attempts(tmp_path) if '"n2"' in row["places"] and row["started"] > lost["ended"]]
    assert {row["outcome"] for row in after} == {"done"}
    assert not list((tmp_path / "work/c.state/quarantine").glob("*"))


def test_an_agent_of_another_version_is_turned_away(tmp_path: Path) -> None:
    """The agent says its secret and its name, and speaks a protocol that this manager does not."""
    old = tmp_path / "old.py"
    old.write_text(
        "import json, os, socket, sys\n"
        "c = socket.create_connection((sys.argv[-2].split(',')[-1], int(sys.argv[-1])))\n"
        "hello = {'agent': 'n1', 'secret': os.environ['TRELLIS_AGENT_SECRET']}\n"
        "c.sendall(json.dumps(hello).encode() + b'\\n')\n"
        "c.recv(10)\n"
    )
    where = agents(tmp_path, f'{sys.executable} {old} "$@" &', "n1")
    with pytest.raises(NotAvailable, match="agent on n1 speaks protocol 0, this manager 1"):
        run(write(tmp_path, tasks(1, 0.1)), where)


def test_a_state_folder_of_another_version_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, tasks(1, 0.1))
    assert run(path).counts == {"done": 1}
    (tmp_path / "work/c.state/format").write_text("99\n")
    with pytest.raises(FileError, match="format 99 by another version"):
        run(path)


@pytest.mark.parametrize(("settle", "outcomes"), [("600", ["done"]), ("0", ["task", "task"])])
def test_an_output_that_is_seen_late(tmp_path: Path, settle: str, outcomes: list[str]) -> None:
    """The listing is stale: the file gets its name after its task has ended well, and been judged once."""
    where = template(tmp_path / "launch", 'exec "$@"', settle)
    path = write(
        tmp_path,
        "[[task]]\nname = 'a'\ncommand = 'echo x > hidden'\noutputs = [{ path = 'a', atomic = true }]\n",
    )
    manager = Manager(load_campaign(path), where)
    look = manager.judge.look_at_settling

    def show_and_look() -> None:
        os.rename(tmp_path / "work/hidden", tmp_path / "work/a")
        look()

    manager.judge.look_at_settling = show_and_look
    manager.run()
    assert [row["outcome"] for row in attempts(tmp_path)] == outcomes


def test_a_stale_listing_of_claims_makes_nothing_run_twice(tmp_path: Path, monkeypatch) -> None:
    """The folder does not show that tasks are done; their files are found by name."""
    path = write(tmp_path, tasks(4, 0.05))
    assert run(path).counts == {"done": 4}
    real = os.scandir

    def stale(folder):
        if "c.state/claims" not in str(folder):
            return real(folder)
        return [entry for entry in real(folder) if not entry.name.endswith(".done")]

    monkeypatch.setattr(claims_module.os, "scandir", stale)
    result = run(path)
    assert (result.started, result.counts) == (0, {"done": 4})


def test_a_link_whose_answer_was_lost_is_ours(tmp_path: Path, monkeypatch) -> None:
    """NFS repeats the request and says that the name exists: two names of one file are the proof."""
    first, second = Claims(tmp_path), Claims(tmp_path)
    real = os.link

    def twice(source, target):
        if not os.path.exists(target):
            real(source, target)
        real(source, target)

    monkeypatch.setattr(claims_module.os, "link", twice)
    assert first.claim("t", 0, {"task": "t"})
    assert not second.claim("t", 0, {"task": "t"})


@pytest.mark.parametrize("what", ["boot", "processes"])
def test_another_machine_of_the_same_name_is_judged_by_its_lease(tmp_path: Path, what: str) -> None:
    """Virtual nodes and containers share host names: a process number says nothing there."""
    other = Claims(tmp_path, lease_seconds=0.3)
    other.beat()
    file = tmp_path / f"managers/{other.id}.json"
    content = json.loads(file.read_text())
    assert content["host"] == socket.gethostname()
    file.write_text(json.dumps({**content, what: "other", "pid": 1 << 22}))
    observer = Claims(tmp_path, lease_seconds=0.3)
    assert observer.is_alive(other.id)
    time.sleep(0.4)
    assert not observer.is_alive(other.id)


def test_a_hanging_program_is_ended_without_a_timeout_of_its_own(tmp_path: Path) -> None:
    """One program never begins (as a stuck launcher), one stops later; estimates say how long is long."""
    path = write(
        tmp_path,
        """
[[task]]
name = "never-begins"
command = "test {attempt} = 0 && sleep 60; echo x > {output}"
outputs = ["a"]
estimate = 0.1
[[task]]
name = "stops"
command = "echo begun; sleep 60"
outputs = ["b"]
estimate = 0.1
[[task]]
name = "no-estimate"
command = "sleep 2; echo x > {output}"
outputs = ["c"]
""",
        tools.HEAD.replace("lease = 2", 'lease = 2\nhang_factor = 5\nhang_least = "1s"'),
    )
    result = run(path)
    assert result.counts == {"done": 2, "failed": 1}
    assert result.failed["stops"].startswith("timeout: ran so many times its estimate")
    outcomes = Counter((row["task"], row["outcome"]) for row in attempts(tmp_path))
    assert outcomes["never-begins", "launcher"] == outcomes["never-begins", "done"] == 1
    assert outcomes["no-estimate", "done"] == 1


def test_inputs_are_in_the_provenance(tmp_path: Path) -> None:
    """Files of `needs` are hashed once, and again when they change; large ones are named with their size."""
    path = write(
        tmp_path,
        """
[[task]]
name = "t-{i}"
over = { i = "1..2" }
needs = ["small", "large"]
command = "cat small > {output}"
outputs = ["t.{i}"]
""",
        tools.HEAD.replace("lease = 2", "lease = 2\nhash_inputs_mib = 0.001"),
    )
    (tmp_path / "work").mkdir()
    (tmp_path / "work/small").write_text("hello\n")
    (tmp_path / "work/large").write_text("x" * 2000)
    assert run(path).counts == {"done": 2}
    inputs = [json.loads(row["inputs"]) for row in attempts(tmp_path)]
    assert inputs[0] == inputs[1]
    assert inputs[0]["small"] == {
        "bytes": 6,
        "sha256": "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03",
    }
    assert inputs[0]["large"].keys() == {"bytes", "changed"}
