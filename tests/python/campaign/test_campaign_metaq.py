"""These tests cover METAQ directories: lines, times, folders, claims, and warnings where the original reads
it otherwise."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from campaign_tools import machine, run

from trellis.campaign import metaq, metaq_queue
from trellis.campaign.files import load_campaign
from trellis.commands.campaign_files import import_metaq
from trellis.errors import BadArgument, FileError, RunFileError


def script(path: Path, *lines: str, end: str = "\n", executable: bool = True) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(end.join(["#!/bin/bash", *lines, ""]).encode())
    path.chmod(0o755 if executable else 0o644)
    return path


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 0),
        ("90", 90),
        ("0.25", 0.25),
        ("1:30", 90),
        ("08:09", 489),
        ("1:00.5", 60.5),
        ("01:02:03", 3723),
        ("2-01:00:00", 176400),
        ("5min", 300),
        ("2hr", 7200),
        ("1d", 86400),
    ],
)
def test_times(text, expected):
    assert metaq.seconds(text) == expected


@pytest.mark.parametrize("text", ["soon", "1:2:3:4", "-5", "5m", "1-00:00", "1h"])
def test_wrong_times_are_refused(text):
    with pytest.raises(BadArgument, match="not a METAQ time"):
        metaq.seconds(text)


def test_first_line_wins_and_third_word_counts(tmp_path):
    path = script(
        tmp_path / "a", "  #METAQ NODES 4 # for now", "#METAQ NODES 8", "#METAQ GPUS 2", "#METAQ LOG /l/x"
    )
    task = metaq.read_task(path)
    assert task.requirement == metaq.Requirement(nodes=4, gpus=2)
    assert (task.log, task.warnings) == ("/l/x", ())


def test_project_containing_a_flag_is_not_the_flag(tmp_path):
    path = script(tmp_path / "a", "#METAQ PROJECT MANY_NODES", "#METAQ NODES 4")
    task = metaq.read_task(path)
    assert (task.requirement.nodes, task.project) == (4, "MANY_NODES")
    assert [w for w in task.warnings if w.startswith("NODES: METAQ would read 'MANY_NODES'")]


def test_line_that_only_the_original_would_take(tmp_path):
    task = metaq.read_task(script(tmp_path / "a", "echo '#METAQ GPUS 3'", "##METAQ NODES 2"))
    assert task.requirement == metaq.Requirement()
    assert len([w for w in task.warnings if "read here: nothing" in w]) == 2


def test_dos_line_ends(tmp_path):
    task = metaq.read_task(script(tmp_path / "a", "#METAQ NODES 2", "#METAQ MIN_WC_TIME 5min", end="\r\n"))
    assert task.requirement == metaq.Requirement(nodes=2, seconds=300)
    assert any("DOS line ends" in w for w in task.warnings)


def test_time_that_the_originals_shell_cannot_add(tmp_path):
    task = metaq.read_task(script(tmp_path / "a", "#METAQ MIN_WC_TIME 1:08:00"))
    assert task.requirement.seconds == 4080
    assert any("octal" in w for w in task.warnings)


def test_no_flags_and_not_executable(tmp_path):
    task = metaq.read_task(script(tmp_path / "a", "true", executable=False))
    assert task.requirement == metaq.Requirement()
    assert any("no #METAQ line" in w for w in task.warnings)
    assert any("not executable" in w for w in task.warnings)


@pytest.mark.parametrize("line", ["#METAQ NODES two", "#METAQ GPUS -1", "#METAQ MIN_WC_TIME late"])
def test_wrong_values_are_refused(tmp_path, line):
    with pytest.raises(FileError, match=line.split()[1]):
        metaq.read_task(script(tmp_path / "a", line))


def test_directory_order_and_what_is_passed_over(tmp_path):
    nodes = "#METAQ NODES 1"
    for name in ("todo/b", "todo/a/deep/z", "priority/x", "hold/h", "todo/.hidden/q", "finished/f"):
        script(tmp_path / name, nodes)
    (tmp_path / "todo" / "link").symlink_to(tmp_path / "todo" / "b")
    (tmp_path / "todo" / ".metaq").write_text("#METAQ NODES 2\n#METAQ MIN_WC_TIME 1hr\n")
    (tmp_path / "todo" / "a" / ".metaq").write_text("#METAQ NODES 9\n")
    found = metaq.read_directory(tmp_path)
    assert [str(t.path.relative_to(tmp_path)) for t in found.tasks] == [
        "priority/x",
        "todo/a/deep/z",
        "todo/b",
    ]
    assert [t.folder_bound.nodes for t in found.tasks] == [0, 2, 2]
    assert found.tasks[1].folder_bound.seconds == 3600
    assert found.tasks[1].requirement.nodes == 1
    assert any("symbolic link" in w for w in found.warnings)
    assert any("task folder only" in w for w in found.warnings)


def test_equal_names_collide(tmp_path):
    script(tmp_path / "todo/a/run", "#METAQ NODES 1")
    script(tmp_path / "todo/b/run", "#METAQ NODES 1")
    assert any("collide" in w for w in metaq.read_directory(tmp_path).warnings)


def test_other_folders_are_no_metaq_directory(tmp_path):
    with pytest.raises(FileError, match="no METAQ directory"):
        metaq.read_directory(tmp_path)


@pytest.fixture
def queue(tmp_path) -> metaq_queue.MetaqQueue:
    script(
        tmp_path / "todo/good",
        "#METAQ NODES 2",
        "#METAQ GPUS 1",
        "#METAQ PROJECT ga",
        "echo fine; echo bad >&2",
    )
    script(tmp_path / "priority/poor", "#METAQ NODES 1", "exit 7")
    return metaq_queue.MetaqQueue(tmp_path, job="17", machine="lassen")


def test_claim_is_a_rename_and_only_one_wins(queue):
    other = metaq_queue.MetaqQueue(queue.root, job="18", machine="lassen")
    task = metaq.read_directory(queue.root).tasks[1]
    assert queue.claim(task) == queue.root / "working/lassen/17/good"
    assert other.claim(task) is None
    assert not task.path.exists()


def test_run_keeps_the_layout_the_ledger_and_the_status(queue):
    good = metaq.read_directory(queue.root).tasks[1]
    ended = queue.run(good)
    assert (ended.status, ended.elsewhere) == (0, False)
    assert (queue.root / "finished/good").is_file()
    ledger = (queue.root / "jobs/lassen/17/resources").read_text().splitlines()
    assert [line.split(" at ")[0] for line in ledger] == [
        f"-2 nodes dedicated to {queue.root}/working/lassen/17/good for project ga",
        f"-1 gpus dedicated to {queue.root}/working/lassen/17/good for project ga",
        f"+2 nodes released by {queue.root}/working/lassen/17/good for project ga",
        f"+1 gpus released by {queue.root}/working/lassen/17/good for project ga",
    ]
    assert all("RUNTIME: 0 seconds" in line for line in ledger[2:])
    log = (queue.root / "jobs/lassen/17/log/good.log").read_text()
    assert log == "fine\nbad\n"


def test_a_script_without_its_interpreter_is_run_by_bash(queue):
    """The shell of METAQ's jobs does not need the first line either."""
    path = queue.root / "todo/bare"
    path.write_text("#METAQ NODES 1\na=(1 2 3)\necho bash ${#a[@]}\n")
    path.chmod(0o755)
    bare = next(task for task in metaq.read_directory(queue.root).tasks if task.name == "bare")
    assert queue.run(bare, strict=True).status == 0
    assert (queue.root / "jobs/lassen/17/log/bare.log").read_text() == "bash 3\n"


def test_a_mistyped_flag_is_named(tmp_path):
    path = script(tmp_path / "a", "#METAQ NODES=2", "#METAQ GPU 1", "#METAQ", "echo '#METAQ X'")
    task = metaq.read_task(path)
    assert task.requirement == metaq.Requirement()
    assert [w.split(":")[0] for w in task.warnings[:2]] == ["#METAQ NODES=2", "#METAQ GPU"]


def test_failure_goes_to_finished_or_in_strict_mode_to_failed(queue):
    poor = metaq.read_directory(queue.root).tasks[0]
    assert queue.run(poor).status == 7
    assert (queue.root / "finished/poor").is_file()
    script(queue.root / "todo/poor", "#METAQ NODES 1", "exit 7")
    assert queue.run(metaq.read_directory(queue.root).tasks[-1], strict=True).status == 7
    assert (queue.root / "failed/poor").is_file()


def test_what_ran_already_does_not_run_again(queue):
    good = metaq.read_directory(queue.root).tasks[1]
    queue.run(good)
    again = metaq_queue.MetaqQueue(queue.root, job="18", machine="lassen").run(good)
    assert (again.status, again.elsewhere) == (0, True)
    assert not (queue.root / "jobs/lassen/18/log/good.log").exists()


def test_running_elsewhere_is_refused(queue):
    good = metaq.read_directory(queue.root).tasks[1]
    queue.claim(good)
    with pytest.raises(FileError, match="claimed by job 17"):
        metaq_queue.MetaqQueue(queue.root, job="18", machine="lassen").run(good)
    assert queue.run(good).status == 0  # an attempt that was killed left this claim of its own


def test_orphans_of_a_dead_job_go_back(queue):
    for task in metaq.read_directory(queue.root).tasks:
        queue.claim(task)
    other = metaq_queue.MetaqQueue(queue.root, job="18", machine="lassen")
    assert other.orphans(alive={"17"}) == []
    orphans = other.orphans(alive=set())
    assert [path.name for path in orphans] == ["good", "poor"]
    assert other.reset(orphans[0]) == queue.root / "priority/good"
    assert other.abandon(orphans[1]) == queue.root / "hold/poor"
    assert [task.name for task in metaq.read_directory(queue.root).tasks] == ["good"]


def test_imported_directory_runs(tmp_path):
    """A directory is imported and run, and the layout is METAQ's; in strict mode failures count."""
    root = tmp_path / "queue"
    script(
        root / "todo/sub/good",
        "#METAQ NODES 2",
        "#METAQ GPUS 2",
        "#METAQ MIN_WC_TIME 0:02",
        "echo ran >> ran",
    )
    script(root / "priority/poor", "#METAQ NODES 1", "exit 7")
    file = tmp_path / "old.toml"
    words = [sys.executable, "-m", "trellis", "campaign"]
    subprocess.run(
        [*words, "import-metaq", str(root), str(file), "--strict"], check=True, capture_output=True
    )
    campaign = load_campaign(file)
    assert list(campaign.tasks) == ["priority/poor", "todo/sub/good"]
    good = campaign.tasks["todo/sub/good"]
    assert (good.request.nodes, good.request.gpus, good.estimate) == (2, 2, 2.0)
    ended = subprocess.run(
        [*words, "run", str(file), "-m", "virtual", "--json"], capture_output=True, text=True, timeout=300
    )
    assert json.loads(ended.stdout)["tasks"] == {"done": 1, "failed": 1}
    assert ended.returncode == 1
    assert (root / "finished/good").is_file()
    assert (root / "failed/poor").is_file()
    assert (root / "ran").read_text() == "ran\n"  # it runs once, though it reserves two nodes
    status = json.loads((root / "old.state/metaq/todo/sub/good.json").read_text())
    assert status["status"] == 0
    again = subprocess.run([*words, "import-metaq", str(root), str(file)], capture_output=True, text=True)
    assert again.returncode == 1
    assert "not overwritten" in again.stderr


NAMES = ["-rf", "a 'b\" c$x`y`", "{output}", "100%", "#a", "é", "x" * 250, "gone", 'odd "project"']


def test_scripts_with_odd_names_run(tmp_path):
    """Nothing of a name is read by a shell or as a placeholder; a script may remove itself."""
    for name in NAMES:
        more = ['rm "$0"'] if name == "gone" else ['#METAQ PROJECT a"b\x00c'] if "odd" in name else []
        script(tmp_path / "queue/todo" / name, "echo x >> ran", *more)
    assert import_and_run(tmp_path) == {"done": len(NAMES)}
    assert (tmp_path / "queue/ran").read_text() == "x\n" * len(NAMES)
    left = {path.name for path in (tmp_path / "queue/finished").iterdir()}
    assert left == set(NAMES) - {"gone"}


def test_scripts_of_one_name_run_one_after_the_other(tmp_path):
    """The scripts share one place in working/; each of them runs once."""
    for where in ("priority/a", "todo/a", "todo/sub/a"):
        script(tmp_path / "queue" / where, f"echo {where} >> ran; sleep 0.2")
    assert import_and_run(tmp_path) == {"done": 3}
    assert (tmp_path / "queue/ran").read_text().split() == ["priority/a", "todo/a", "todo/sub/a"]
    assert {path.name for path in (tmp_path / "queue/finished").iterdir()} == {"a", "a.1", "a.2"}


def test_a_claimed_script_is_not_taken_for_another_of_its_name(tmp_path):
    queue = metaq_queue.MetaqQueue(tmp_path, job="17")
    first = metaq.read_task(script(tmp_path / "todo/a"))
    second = metaq.read_task(script(tmp_path / "todo/sub/a"))
    queue.claim(first)
    with pytest.raises(FileError, match="another script of this name is claimed"):
        queue.run(second)
    assert queue.run(first).status == 0
    assert queue.run(second).status == 0


@pytest.mark.parametrize("name", ["a\nb", b"a\xff".decode(errors="surrogateescape")])
def test_names_that_no_campaign_file_can_have_are_refused(tmp_path, name):
    script(tmp_path / "queue/todo" / name)
    with pytest.raises(FileError, match="rename it"):
        import_and_run(tmp_path)
    assert not (tmp_path / "c.toml").exists()


def test_a_file_that_would_not_be_valid_is_not_written(tmp_path):
    script(tmp_path / "queue/todo/a", "#METAQ NODES 99999999999")
    with pytest.raises(RunFileError, match="ranks"):
        import_directory(tmp_path / "queue", tmp_path / "c.toml")
    assert not (tmp_path / "c.toml").exists()


def import_directory(root: Path, file: Path) -> None:
    import_metaq(root, file, name=None, machine="machine", strict=False, cores_per_node=1, json=True)


def import_and_run(folder: Path) -> dict[str, int]:
    """Return numbers of tasks by state."""
    import_directory(folder / "queue", folder / "c.toml")
    return run(folder / "c.toml", machine(nodes=2, cpus=4)).counts
