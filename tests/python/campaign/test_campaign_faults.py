"""These tests inject faults into campaigns on the process launcher: what fails, what is repeated, what
counts."""

from __future__ import annotations

import hashlib
import os
import signal
import sys
import time
from pathlib import Path

import campaign_tools as tools
import pytest
from campaign_tools import attempts, events, machine, run, write

from trellis.campaign import watching
from trellis.campaign.claims import Claims
from trellis.campaign.files import load_campaign
from trellis.campaign.shapes import Unsatisfiable
from trellis.campaign.status import read_status


def test_task_fails_once_and_is_repeated(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        """
[[task]]
name = "a"
command = "test -e mark || { touch mark; exit 3; }; echo ok > {output}"
outputs = ["a"]
[[task]]
name = "b"
after = ["a"]
command = "cat a > {output}"
outputs = ["b"]
""",
    )
    result = run(path)
    assert result.counts == {"done": 2}
    assert [(row["task"], row["outcome"], row["status"]) for row in attempts(tmp_path)] == [
        ("a", "task", 3),
        ("a", "done", 0),
        ("b", "done", 0),
    ]
    assert (tmp_path / "work/b").read_text() == "ok\n"


def test_task_fails_always_and_its_dependents_are_skipped(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        """
[[task]]
name = "a"
command = "exit 3"
outputs = ["a"]
retries = { task = 2 }
[[task]]
name = "b"
after = ["a"]
command = "true"
[[task]]
name = "other"
command = "true"
""",
    )
    result = run(path)
    assert result.counts == {"done": 1, "failed": 1, "skipped": 1}
    log = tmp_path / "work/c.state/logs/a.2.log"
    assert result.failed["a"] == f"task: status 3; a: not there; log: {log}"
    assert log.exists()
    assert read_status(load_campaign(path))["failed"] == result.failed
    assert len([row for row in attempts(tmp_path) if row["task"] == "a"]) == 3
    assert run(path).started == 0  # the failures are remembered


@pytest.mark.parametrize(
    "command, output",
    [
        ("true", '"a"'),  # it is missing
        ("printf 12345 > {output}", '{ path = "a", bytes = 6 }'),  # it is truncated
        ("echo begun > {output}", '{ path = "a", end_marker = "end" }'),
        ("echo x > {output}", f'{{ path = "a", sha256 = "{hashlib.sha256(b"y").hexdigest()}" }}'),
        ("true", '{ path = "a", min_bytes = 1 }'),
    ],
)
def test_status_0_without_a_valid_output_is_a_failure(tmp_path: Path, command: str, output: str) -> None:
    path = write(tmp_path, f"[[task]]\nname = 'a'\ncommand = '{command}'\noutputs = [{output}]\n")
    result = run(path)
    assert result.counts == {"failed": 1}
    assert not (tmp_path / "work/a").exists()
    assert len(attempts(tmp_path)) == 2


def test_an_output_of_an_older_run_does_not_count(tmp_path: Path) -> None:
    path = write(tmp_path, "[[task]]\nname = 'a'\ncommand = 'true'\noutputs = ['a']\n")
    (tmp_path / "work").mkdir()
    (tmp_path / "work/a").write_text("old")
    assert run(path).counts == {"failed": 1}
    assert (tmp_path / "work/a.set-aside.0").read_text() == "old"


def test_good_output_counts_whatever_the_status(tmp_path: Path) -> None:
    path = write(
        tmp_path, "[[task]]\nname = 'a'\ncommand = 'echo good > {output}; exit 9'\noutputs = ['a']\n"
    )
    assert run(path).counts == {"done": 1}
    assert attempts(tmp_path)[0]["status"] == 9


def test_partial_output_is_set_aside_and_not_overwritten(tmp_path: Path) -> None:
    command = "echo part > {output}; test -e mark && echo end >> {output}; touch mark"
    path = write(
        tmp_path,
        f"[[task]]\nname = 'a'\ncommand = '{command}'\noutputs = [{{ path = 'a', end_marker = 'end' }}]\n",
    )
    assert run(path).counts == {"done": 1}
    aside = list((tmp_path / "work").glob("*set-aside*"))
    assert [file.read_text() for file in aside] == ["part\n"]
    assert events(tmp_path, "set-aside")


def test_whole_outputs_of_an_ended_attempt_are_kept_for_one_that_goes_on(tmp_path: Path) -> None:
    """Files that the program itself renames are whole; what a done task's files became is not believed."""
    command = (
        "test -e a || echo {attempt} > a; test {attempt} != 0 || exit 1; test -e b || echo {attempt} > b"
    )
    outputs = "[{ path = 'a', atomic = true }, { path = 'b', atomic = true, end_marker = '1' }]"
    path = write(tmp_path, f"[[task]]\nname = 't'\ncommand = '{command}'\noutputs = {outputs}\n")
    assert run(path).counts == {"done": 1}
    assert [(tmp_path / f"work/{name}").read_text() for name in "ab"] == ["0\n", "1\n"]
    assert not events(tmp_path, "set-aside")
    (tmp_path / "work/a").write_text("changed")
    (tmp_path / "work/b").unlink()
    assert run(path).started >= 1
    assert (tmp_path / "work/a").read_text() != "changed"
    assert (tmp_path / "work/a.set-aside.0").read_text() == "changed"


def test_time_out_and_silence_end_the_task_and_all_it_started(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(watching, "GRACE_SECONDS", 0.5)
    path = write(
        tmp_path,
        """
[[task]]
name = "slow"
command = "sleep 60 & echo $! > slow.pid; wait"
outputs = ["never"]
timeout = 0.5
[[task]]
name = "silent"
command = "trap '' TERM; sleep 60 & echo $! > silent.pid; wait; sleep 60"
outputs = ["never2"]
silence = 0.5
""",
    )
    begin = time.monotonic()
    result = run(path)
    assert time.monotonic() - begin < 40  # each would take a minute
    assert result.counts == {"failed": 2}
    assert "timeout: ran longer" in result.failed["slow"]
    assert "timeout: neither log nor outputs grew" in result.failed["silent"]
    for name in ("slow", "silent"):
        assert not tools.alive(int((tmp_path / f"work/{name}.pid").read_text()))


def test_what_a_task_leaves_behind_is_ended(tmp_path: Path) -> None:
    path = write(
        tmp_path, "[[task]]\nname = 'a'\ncommand = 'sleep 60 & echo $! > {output}'\noutputs = ['a']\n"
    )
    assert run(path).counts == {"done": 1}
    pid = int((tmp_path / "work/a").read_text())
    tools.wait_for(lambda: not tools.alive(pid))


@pytest.mark.parametrize(
    "task, failure",
    [
        ("command = ['no-such-program']\noutputs = ['a']\nretries = { launcher = 1 }", "launcher"),
        ("command = 'echo std::bad_alloc; exit 1'", "out_of_memory"),
        ("command = 'true'\nneeds = ['nobody-makes-this']", "input"),
        ("command = 'true'\npredicate = 'exit 3'", "input"),
        ("command = 'true'\npredicate = ['no-such-program']", "input"),
    ],
)
def test_failures_are_classified(tmp_path: Path, task: str, failure: str) -> None:
    path = write(tmp_path, f"[[task]]\nname = 'a'\n{task}\n")
    result = run(path)
    assert result.failed["a"].startswith(f"{failure}: ")
    if "nobody-makes-this" not in task:  # it may still come
        assert read_status(load_campaign(path))["failed"]["a"].startswith(f"{failure}: ")


def test_predicates_and_files_are_waited_for(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        """
[[task]]
name = "skipped"
predicate = "exit 1"
command = "true"
[[task]]
name = "behind"
after = ["skipped"]
command = "true"
[[task]]
name = "asked-twice"
predicate = "test -e asked && exit 0; touch asked; exit 75"
command = "true"
[[task]]
name = "file"
command = "sleep 0.3; echo x > by-hand"
[[task]]
name = "needs"
needs = ["by-hand"]
command = "cp by-hand {output}"
outputs = ["copy"]
""",
    )
    before = read_status(load_campaign(path))
    assert before["tasks"] == {"waiting": 4, "ready": 1}  # only `file` needs nothing but room
    assert run(path).counts == {"done": 3, "skipped": 2}
    found = read_status(load_campaign(path))
    assert found["tasks"] == {"done": 3, "skipped": 2}
    assert found["skipped"] == {
        "skipped": "its predicate was false",
        "behind": "it needs skipped, which was skipped",
    }


def test_a_predicate_that_turns_true_is_asked_by_the_next_run(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        """
[[task]]
name = "a"
predicate = "test -e wanted"
command = "echo > {output}"
outputs = ["a.out"]
[[task]]
name = "b"
after = ["a"]
command = "exit 1"
[[task]]
name = "c"
after = ["b"]
command = "true"
""",
    )
    assert run(path).counts == {"skipped": 3}
    (tmp_path / "work" / "wanted").touch()
    assert run(path).counts == {"done": 1, "failed": 1, "skipped": 1}
    found = read_status(load_campaign(path))
    assert found["tasks"] == {"done": 1, "failed": 1, "skipped": 1}
    assert found["skipped"] == {"c": "it needs b, which failed"}


def test_a_file_in_the_place_of_a_folder_stops_one_task(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        """
[[task]]
name = "a"
command = "echo x > {output}"
outputs = ["file/a"]
[[task]]
name = "b"
command = "true"
""",
    )
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "file").write_text("mine")
    result = run(path)
    assert result.counts == {"done": 1, "failed": 1}
    assert "file" in result.failed["a"]
    assert (tmp_path / "work" / "file").read_text() == "mine"


def test_a_pipe_of_an_outputs_name_is_left_alone(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        """
[[task]]
name = "a"
command = "echo x > {output}"
outputs = ["pipe"]
[[task]]
name = "b"
command = "true"
""",
    )
    (tmp_path / "work").mkdir()
    os.mkfifo(tmp_path / "work" / "pipe")
    result = run(path)
    assert result.counts == {"done": 1, "failed": 1}
    assert "only a regular file is replaced" in result.failed["a"]
    assert (tmp_path / "work" / "pipe").is_fifo()


def test_a_bad_node_is_quarantined_and_its_tasks_run_elsewhere(tmp_path: Path) -> None:
    """Everything fails on n1, and nothing else says that the node is bad."""
    path = write(
        tmp_path,
        """
[[task]]
name = "t-{i}"
over = { i = "1..8" }
command = "sleep 0.05; test $TRELLIS_NODES != n1 && echo {i} > {output}"
outputs = ["t.{i}"]
threads = 2
""",
    )
    result = run(path, machine(nodes=3))
    assert result.counts == {"done": 8}
    assert [event["node"] for event in events(tmp_path, "quarantine")] == ["n1"]
    on_bad = [row for row in attempts(tmp_path) if '"n1"' in row["places"]]
    assert 2 <= len(on_bad) <= 4
    again = write(tmp_path, path.read_text().removeprefix(tools.HEAD).replace("1..8", "1..12"))
    assert run(again, machine(nodes=3)).counts == {"done": 12}  # it stays out
    assert len([row for row in attempts(tmp_path) if '"n1"' in row["places"]]) == len(on_bad)


def test_the_health_command_tells_nodes_from_tasks(tmp_path: Path) -> None:
    """A node goes bad after two tasks: its failures do not use up the tasks' retries."""
    script = "n=$(ls -d on.$TRELLIS_NODES.* 2>/dev/null | wc -l); mkdir on.$TRELLIS_NODES.$$; "
    path = write(
        tmp_path,
        f"""
[[task]]
name = "t-{{i}}"
over = {{ i = "1..8" }}
command = "{script} [ $TRELLIS_NODES = n2 ] && [ $n -ge 2 ] && touch n2.bad && exit; echo > {{output}}"
outputs = ["t.{{i}}"]
threads = 2
retries = {{ task = 0 }}
""",
    )
    health = f"health = ['sh', '-c', 'test ! -e {tmp_path}/work/{{node}}.bad']"
    result = run(path, machine(more=health))
    assert result.counts == {"done": 8}
    assert [event["node"] for event in events(tmp_path, "quarantine")] == ["n2"]
    assert "node" in {row["outcome"] for row in attempts(tmp_path)}


def test_a_task_that_fails_everywhere_does_not_cost_nodes(tmp_path: Path) -> None:
    tasks = "[[task]]\nname = 'bad-{i}'\nover = { i = '1..6' }\ncommand = 'exit 1'\noutputs = ['b.{i}']\n"
    good = "command = 'echo > {output}'\noutputs = ['g.{i}']\n"
    tasks += f"[[task]]\nname = 'good-{{i}}'\nover = {{ i = '1..6' }}\n{good}"
    result = run(write(tmp_path, tasks))
    assert result.counts == {"done": 6, "failed": 6}
    assert not events(tmp_path, "quarantine")


def test_nothing_too_long_is_started_before_the_end(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        """
[[task]]
name = "short"
command = "true"
estimate = 0.2
[[task]]
name = "long"
command = "true"
estimate = 50
""",
    )
    result = run(path, machine(allocation="length = 60\ndrain = 0"), seconds=20.0)
    assert result.counts == {"done": 1, "held": 1}
    assert result.seconds < 10
    assert run(path, machine(allocation="length = 60")).counts == {"done": 2}


def test_sigterm_drains(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "[[task]]\nname = 't-{i}'\nover = { i = '1..20' }\ncommand = 'sleep 0.5; echo > {output}'"
        "\noutputs = ['t.{i}']\n",
    )
    process = tools.start(path, tools.machine_text())
    tools.wait_for(
        lambda: len(list((tmp_path / "work").glob("t.*.partial")) + list(tmp_path.glob("work/t.?"))) > 0
    )
    process.send_signal(signal.SIGTERM)
    text, _ = process.communicate(timeout=300)
    assert '"reason": "drained"' in text
    outcomes = [row["outcome"] for row in attempts(tmp_path)]
    assert set(outcomes) == {"done"}
    assert 0 < len(outcomes) < 20
    assert run(path).counts == {"done": 20}


@pytest.mark.parametrize(
    "keys, reason",
    [
        ("gpus_per_rank = 1\ngpu_kind = 'no-such'", "GPUs of kind 'no-such'"),
        ("ranks = 12\nnodes = 3\nthreads = 1", "3 nodes of one block, and the largest has 2"),
        ("threads = 5", "do not fit on a node with 4 cores"),
        ("estimate = '2h'", "an allocation has 3600 s"),
    ],
)
def test_what_can_never_run_is_refused_at_once(tmp_path: Path, keys: str, reason: str) -> None:
    path = write(
        tmp_path,
        f"[[task]]\nname = 'ok'\ncommand = 'touch ran'\n[[task]]\nname = 'a'\ncommand = 'true'\n{keys}\n",
    )
    with pytest.raises(Unsatisfiable, match=reason):
        run(path, machine(nodes=4, cpus=4, gpus=1, allocation="length = '1h'\nblock = 2"))
    assert not (tmp_path / "work/ran").exists()


@pytest.mark.skipif(os.geteuid() != 0 and not os.access("/proc", os.R_OK), reason="needs /proc")
def test_output_that_cannot_be_written_is_a_failure_with_its_reason(tmp_path: Path) -> None:
    path = write(tmp_path, "[[task]]\nname = 'a'\ncommand = 'echo x > {output}'\noutputs = ['/proc/x/a']\n")
    result = run(path)
    assert result.counts == {"failed": 1}
    assert "/proc/x" in result.failed["a"]


def test_a_full_disk_leaves_no_valid_output(tmp_path: Path) -> None:
    """A quota of no bytes stands for the disk: the write fails, whatever the program says about it."""
    command = "trap '' XFSZ; ulimit -f 0; echo data > {output}; exit 0"
    path = write(tmp_path, f'[[task]]\nname = "a"\ncommand = "{command}"\noutputs = ["a"]\n')
    assert run(path).counts == {"failed": 1}


def test_wrong_estimates_change_no_result(tmp_path: Path) -> None:
    a = "estimate = 2\ncommand = 'sleep 0.05; echo > {output}'\noutputs = ['a.{i}']\n"
    b = "estimate = 0.03\ncommand = 'sleep 0.3; echo > {output}'\noutputs = ['b.{i}']\n"
    tasks = f"[[task]]\nname = 'a-{{i}}'\nover = {{ i = '1..6' }}\n{a}"
    tasks += f"[[task]]\nname = 'b-{{i}}'\nover = {{ i = '1..4' }}\n{b}"
    assert run(write(tmp_path, tasks)).counts == {"done": 10}


def test_a_jump_of_the_clock_changes_nothing(tmp_path: Path, monkeypatch) -> None:
    """Leases, time-outs and the end of the allocation go by the monotonic clock."""
    path = write(
        tmp_path,
        "[[task]]\nname = 't-{i}'\nover = { i = '1..4' }\ncommand = 'sleep 0.2; echo > {output}'"
        "\noutputs = ['t.{i}']\ntimeout = 30\n",
    )
    real, calls = time.time, [0]

    def jumping() -> float:
        calls[0] += 1
        return real() + (86400.0 if calls[0] % 2 else -86400.0)

    monkeypatch.setattr(time, "time", jumping)
    result = run(path, machine(allocation="length = 600"))
    assert calls[0] > 4
    assert result.counts == {"done": 4}
    assert len(attempts(tmp_path)) == 4


def test_a_changed_output_runs_its_task_again(tmp_path: Path) -> None:
    path = write(tmp_path, "[[task]]\nname = 'a'\ncommand = 'echo whole > {output}'\noutputs = ['a']\n")
    assert run(path).started == 1
    (tmp_path / "work/a").write_text("cut")
    assert run(path).started == 1
    assert (tmp_path / "work/a").read_text() == "whole\n"
    assert (tmp_path / "work/a.set-aside.0").read_text() == "cut"
    assert run(path).started == 0


def test_tasks_make_tasks(tmp_path: Path) -> None:
    made = (
        '[[task]]\\nname = "made-{i}"\\nover = { i = "1..3" }\\nafter = ["maker"]\\n'
        'command = "echo {i} > {output}"\\noutputs = ["m.{i}"]\\n'
    )
    script = tmp_path / "maker.py"
    script.write_text(f"import sys\nopen(sys.argv[1], 'w').write('''{made}''')\n")
    path = write(
        tmp_path,
        f'[[task]]\nname = "maker"\ncommand = ["{sys.executable}", "{script}", "{{output}}"]\n'
        'outputs = ["made.toml"]\nmakes = "made.toml"\n',
    )
    assert run(path).counts == {"done": 4}
    assert (tmp_path / "work/m.3").read_text() == "3\n"
    assert run(path).started == 0


def test_retry_lets_failed_tasks_run_again(tmp_path: Path) -> None:
    path = write(tmp_path, "[[task]]\nname = 'a'\ncommand = 'cp input {output}'\noutputs = ['a']\n")
    assert run(path).counts == {"failed": 1}
    (tmp_path / "work/input").write_text("now")
    assert run(path).started == 0
    campaign = load_campaign(path)
    claims = Claims(Path(campaign.state))
    claims.allow_retry("a", claims.history("a").attempt)
    assert run(path).counts == {"done": 1}


def test_a_task_with_several_gpus_gets_the_environment_of_each(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "[[task]]\nname = 't'\ngpus_per_rank = 3\noutputs = ['t']\ncommand = 'echo $NIC $SAME > {output}'\n",
    )
    entries = ", ".join(f'{{ NIC = "card{i // 2}", SAME = "yes" }}' for i in range(3))
    text = tools.machine_text(nodes=1, cpus=4, gpus=3)
    where = text.replace("gpus = 3", f"gpus = 3\ngpu_environment = [{entries}]")
    assert run(path, tools.parse_machine(where)).counts == {"done": 1}
    assert (tmp_path / "work/t").read_text() == "card0,card1 yes\n"


def test_launch_environment(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        """
[[task]]
name = "t-{i}"
over = { i = "1..2" }
command = "sleep 0.2; echo $CUDA_VISIBLE_DEVICES $OMP_NUM_THREADS $TRELLIS_NODES > {output}"
outputs = ["t.{i}"]
gpus_per_rank = 1
threads = 2
""",
    )
    assert run(path, machine(nodes=1, cpus=4, gpus=2)).counts == {"done": 2}
    assert {(tmp_path / f"work/t.{i}").read_text() for i in (1, 2)} == {"0 2 n1\n", "1 2 n1\n"}
