"""These tests cover the campaign report: figures against a campaign done by hand, and the page in a real
browser."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import subprocess
from pathlib import Path

import matplotlib.image
import numpy as np
import pytest

from trellis.campaign.claims import Claims
from trellis.campaign.drawings import throughput
from trellis.campaign.history import gpu_idle_until_last, idle_by_cause, read_history
from trellis.campaign.model import Alternative, Campaign, Request, Task
from trellis.campaign.records import Records
from trellis.campaign.report import write_report
from trellis.errors import FileError


def gpu_task(name: str, *after: str) -> Task:
    return Task(name, name[0], ("true",), (Alternative(Request(gpus_per_rank=1)),), after=after)


def record(
    records: Records, task: str, number: int, start: float, end: float, outcome: str, gpu: int
) -> None:
    records.insert(
        "attempt", task=task, number=number, task_group=task[0], places=[["n1", 1, [gpu], [gpu], 1.0]],
        estimate=4.0, started=1000 + start, ended=1000 + end, status=0, outcome=outcome,
        reason="<no output>" if outcome != "done" else "", log=f"logs/{task}.{number}.log",
    )  # fmt: skip


@pytest.fixture
def campaign(tmp_path) -> Campaign:
    """Return a campaign on two GPUs from 0.5 to 12. Task a takes 1 to 5; b fails 1 to 3 and runs again 3 to
    7; c runs after a and b from 8 to 10."""
    records = Records(tmp_path / "state/records/m.sqlite")
    records.insert("manager", id="m", host="h", started=1000.0, ended=1012.0, code_version="1")
    records.insert("node", name="n1", lump=0, block=0, cpus=4, gpus=2, joined=1000.5)
    record(records, "a", 0, 1, 5, "done", 0)
    record(records, "b", 0, 1, 3, "task", 1)
    record(records, "b", 1, 3, 7, "done", 1)
    record(records, "c", 0, 8, 10, "done", 0)
    records.event("ended", detail="finished")
    records._base.execute("UPDATE event SET time = 1012.0")
    records.close()
    tasks = {task.name: task for task in (gpu_task("a"), gpu_task("b"), gpu_task("c", "a", "b"))}
    return Campaign("by-hand", str(tmp_path), str(tmp_path / "state"), tasks)


def test_idle_by_cause(campaign):
    history = read_history(Path(campaign.state))
    causes = idle_by_cause(history, campaign.tasks)
    assert causes == pytest.approx(
        {
            "work": 4 + 4 + 2,
            "start-up": 0.5 * 2,  # it counts from the node's start; nothing is there before
            "dependencies": 2 + 2,  # this is GPU 0 from 5 to 7, GPU 1 from 8 to 10
            "ready but not started": 2,  # both wait from 7, when c is ready, to 8
            "failed attempts": 2,
            "nodes lost": 0,
            "no work left": 4,
        }
    )
    assert gpu_idle_until_last(history) == pytest.approx(1 - 10 / (2 * 9))


def test_idle_cores_by_cause(campaign):
    """Four cores are there, of which an attempt has one: this counts without GPUs."""
    causes = idle_by_cause(read_history(Path(campaign.state)), campaign.tasks, of="cpus")
    assert causes == pytest.approx(
        {
            "work": 4 + 4 + 2,
            "start-up": 0.5 * 4,
            "dependencies": 4 * 2 + 2 * 3 + 2 * 3,  # from 1 to 5, 5 to 7 and 8 to 10 they wait
            "ready but not started": 4,
            "failed attempts": 2,
            "nodes lost": 0,
            "no work left": 2 * 4,
        }
    )


def test_a_page_without_gpus(campaign, tmp_path):
    records = Path(campaign.state) / "records/m.sqlite"
    base = sqlite3.connect(records)
    base.execute("UPDATE node SET gpus = 0")
    base.execute("UPDATE attempt SET places = '[[\"n1\", 1, [0], [], 1.0]]'")
    base.commit()
    base.close()
    write_report(campaign, tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text()
    assert "Where the cores&#39; time went" in text or "Where the cores' time went" in text
    assert "core seconds" in text
    assert re.search(r"work</td><td class=.number.>10\.0</td>", text)


def test_figures_and_page(campaign, tmp_path):
    figures = write_report(campaign, tmp_path / "report.html")
    assert figures["counts"] == {"done": 3}
    assert figures["failures"] == {"task": 1}
    assert (figures["attempts"], figures["tasks_run_twice"]) == (4, 0)
    assert figures["estimates"]["b"]["median"] == pytest.approx(1.0)
    text = (tmp_path / "report.html").read_text()
    assert "&lt;no output&gt;" in text
    assert "<no output>" not in text
    assert not re.search(r"""(src|href)=["'](?!#)""", text), "refers to something outside"
    assert text.count("</svg>") == 5


def test_managers_are_merged(campaign):
    """A later manager works on the same node; the time in between is nobody's."""
    records = Records(Path(campaign.state) / "records/later.sqlite")
    records.insert("manager", id="later", host="h", started=1100.0, ended=1104.0, code_version="1")
    records.insert("node", name="n1", lump=0, block=0, cpus=4, gpus=2, joined=1100.0)
    record(records, "d", 0, 100, 104, "done", 1)
    records.close()
    campaign.tasks["d"] = gpu_task("d", "c")
    history = read_history(Path(campaign.state))
    assert history.nodes["n1"].stays == [(0.5, 12.0), (100.0, 104.0)]
    causes = idle_by_cause(history, campaign.tasks)
    assert sum(causes.values()) == pytest.approx(2 * (11.5 + 4))
    assert causes["work"] == 14


def test_what_a_killed_manager_was_running_is_lost_work(campaign, tmp_path):
    """Work is lost from its start to the manager's last record; while the manager lives, it is running."""
    claims = Claims(Path(campaign.state))
    claims.beat()
    records = Records(Path(campaign.state) / f"records/{claims.id}.sqlite")
    records.insert("manager", id=claims.id, host="h", started=1000.0, code_version="1")
    records.insert(
        "attempt", task="d", number=0, task_group="d", places=[["n1", 1, [2], [1], 1.0]], started=1010.0,
        outcome="running",
    )  # fmt: skip
    records.event("set-aside")
    records._base.execute("UPDATE event SET time = 1011.0")
    records.close()
    campaign.tasks["d"] = gpu_task("d")
    before = gpu_idle_by_cause_of(campaign)
    assert before["failed attempts"] == pytest.approx(2)  # these are b's
    claims.beat(ended=True)  # a reader sees this when the process is gone
    after = gpu_idle_by_cause_of(campaign)
    assert after["failed attempts"] == pytest.approx(2 + 1)
    figures = write_report(campaign, tmp_path / "report.html")
    assert figures["failures"] == {"task": 1, "lost": 1}
    assert figures["counts"]["not done"] == 1
    assert "its manager was killed" in (tmp_path / "report.html").read_text()


def test_what_the_claims_know_counts_as_done(campaign, tmp_path):
    """The last line of a killed manager was not written, and another task's outputs were taken over."""
    claims = Claims(Path(campaign.state))
    for task in ("d", "e"):
        claims.claim(task, 0, {"task": task})
        claims.end(task, 0, "done", {"outputs": {}, "seconds": 0.5})
        campaign.tasks[task] = gpu_task(task)
    records = Records(Path(campaign.state) / "records/killed.sqlite")
    records.insert("manager", id="killed", host="h", started=1000.0, code_version="1")
    places = [["n1", 1, [2], [1], 1.0]]
    records.insert(
        "attempt", task="d", number=0, task_group="d", places=places, started=1010.0, outcome="running"
    )
    records.close()
    figures = write_report(campaign, tmp_path / "report.html")
    assert figures["counts"] == {"done": 5}
    assert figures["failures"] == {"task": 1}
    assert figures["gpu_seconds"]["work"] == pytest.approx(10.5)


def gpu_idle_by_cause_of(campaign: Campaign) -> dict[str, float]:
    return idle_by_cause(read_history(Path(campaign.state)), campaign.tasks)


def test_lost_node(campaign):
    records = Records(Path(campaign.state) / "records/other.sqlite")
    records.insert("manager", id="o", host="h", started=1000.0, ended=1012.0, code_version="1")
    records.insert(
        "node", name="n2", lump=0, block=0, cpus=4, gpus=2, joined=1000.5, left=1006.0, reason="node failure"
    )
    records.close()
    causes = idle_by_cause(read_history(Path(campaign.state)), campaign.tasks)
    assert causes["nodes lost"] == pytest.approx(2 * 6)


def test_tasks_that_are_groups_of_their_own_share_a_line(campaign):
    """Tasks a, b and c are done once each: one line ends at 3, instead of three that end at 1."""
    drawing = throughput(read_history(Path(campaign.state)))
    assert re.findall("<title>([^<]*)</title>", drawing) == ["tasks of no group"]
    heights = [float(y) for y in re.findall(r",([\d.]+)", drawing[drawing.index("points=") :])]
    assert heights.count(min(heights)) == 2  # these are the third end and the right edge
    assert len(set(heights)) >= 4


def test_many_attempts_are_binned_and_many_tasks_grouped(campaign, tmp_path):
    records = Records(Path(campaign.state) / "records/many.sqlite")
    records.insert("manager", id="many", host="h", started=1000.0, ended=1012.0, code_version="1")
    for i in range(12000):
        record(records, f"x{i}", 0, i / 1000, (i + 1) / 1000, "done", i % 2)
        campaign.tasks[f"x{i}"] = gpu_task(f"x{i}", "a")
    records.close()
    write_report(campaign, tmp_path / "report.html")
    page = tmp_path / "report.html"
    assert page.stat().st_size < 2_000_000
    assert "x: 12000 of 12000" in page.read_text()


def test_no_records(tmp_path):
    with pytest.raises(FileError, match="never run"):
        read_history(tmp_path)


def test_page_in_a_browser(campaign, tmp_path):
    """Chromium lays the page out: every drawing has a size, and the Gantt chart shows the groups' colours."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        assert os.environ.get("TRELLIS_REQUIRE_SLURM") != "1", "no chromium"
        pytest.skip("no chromium here (tests/support/slurm/install.sh --browser)")
    page = tmp_path / "report.html"
    write_report(campaign, page)
    options = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",
        f"--user-data-dir={tmp_path}/b",
    ]
    picture = tmp_path / "report.png"
    subprocess.run(
        [browser, *options, "--window-size=1120,2600", f"--screenshot={picture}", page.as_uri()],
        check=True, capture_output=True, timeout=120,
    )  # fmt: skip
    script = (
        "<script>document.body.setAttribute('data-sizes', JSON.stringify("
        "[...document.querySelectorAll('svg')].map(s => [s.id, s.clientWidth, s.clientHeight])))"
        "</script></body>"
    )
    probe = tmp_path / "probe.html"
    probe.write_text(page.read_text().replace("</body>", script))
    dump = [browser, *options, "--dump-dom", probe.as_uri()]
    dom = subprocess.run(dump, check=True, capture_output=True, text=True, timeout=120).stdout
    sizes = re.search(r'data-sizes="([^"]+)"', dom)[1]
    found = re.findall(r"\[&quot;(\w+)&quot;,([\d.]+),([\d.]+)\]", sizes)
    assert [name for name, _, _ in found] == ["idle", "gantt", "throughput", "estimates", "graph"]
    assert all(float(width) > 300 and float(height) > 20 for _, width, height in found)
    colours = pixels(picture)
    for colour in ((0x00, 0x72, 0xB2), (0x00, 0x9E, 0x73), (0xD6, 0x27, 0x28)):
        assert colours.get(colour, 0) > 200, colour


def pixels(path: Path) -> dict[tuple[int, int, int], int]:
    """Return colours of a picture and how often they occur."""
    image = (255 * matplotlib.image.imread(path)[:, :, :3]).round().astype(int).reshape(-1, 3)
    unique, counts = np.unique(image, axis=0, return_counts=True)
    return {tuple(int(v) for v in colour): int(count) for colour, count in zip(unique, counts, strict=True)}
