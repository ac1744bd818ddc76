"""Runs are watched while they work, and after they ended, were killed or damaged; nothing in them changes."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import h5py
import numpy as np
import pytest
from command_line import command, environment, flip_a_bit, run, write_run_file
from run_file_texts import changed, heat_bath, level, measurement, trajectories
from typer.testing import CliRunner

import trellis as tr
from trellis.commands.cli import app
from trellis.commands.output import Output
from trellis.commands.watch import blocks, terminal_view
from trellis.errors import BadArgument, FileError
from trellis.runs.folder_lock import FolderLock
from trellis.watch import Watcher, alarms
from trellis.watch.campaign import last_whole_line
from trellis.watch.page import render_page, svg_of
from trellis.watch.server import PageServer
from trellis.watch.view_model import Curve, Picture, Watched

TRAJECTORIES = {
    "fermions": [{"name": "light", "type": "staggered", "n_f": 2, "mass": 0.2}],
    "integrator": [level(3, "gauge", "light")],
    "measure": {"flow": {"every": 1, "time": 0.2, "spacing": 0.05}},
}
GLASS = """
[lattice]
extents = [4, 4, 4]
[couplings]
type = "gaussian"
samples = 2
[spins]
temperatures = [0.5, 0.7]
[steps]
total = 8
checkpoint_every = 4
[random]
seed = 1
[output]
directory = "out"
"""


def content(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    """Return all that a reader could change in a folder: files, their times, and their bytes."""
    return {
        path.name: (path.stat().st_ino, path.stat().st_mtime_ns, path.read_bytes())
        for path in sorted(folder.iterdir())
    }


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a folder with a stream, a spin glass and a measurement, each in a folder of its own."""
    folder = tmp_path_factory.mktemp("finished")
    texts = {
        "generate": trajectories(TRAJECTORIES, trajectories={"total": 3}),
        "glass": GLASS,
        "measure": measurement(correlators={"mesons": ["pion"]}, solver={"tolerance": 1e-8}),
    }
    for kind, text in texts.items():
        write_run_file(folder / kind, text)
    for number in (1, 2):
        tr.weak_field((4, 4, 4, 4), seed=number).write(folder / f"measure/field.{number}.ildg")
    program = (
        "import os, trellis as tr\n"
        "for kind in ('generate', 'glass', 'measure'):\n"
        "    os.chdir(kind)\n"
        "    getattr(tr, kind).run('run.toml')\n"
        "    os.chdir('..')\n"
    )
    found = subprocess.run(
        [*command()[:1], "-c", program],
        cwd=folder,
        env=environment(),
        check=False,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert found.returncode == 0, found.stderr
    return folder


def test_a_finished_stream(finished: Path) -> None:
    """All numbers are those of the files, and the files stay as they were."""
    folder = finished / "generate" / "out"
    before = content(folder)
    found = Watcher(folder).look()
    assert content(folder) == before
    assert (found.kind, found.state, found.completed, found.total) == ("generate", "finished", 3, 3)
    assert found.is_over
    assert not [text for text in found.alarms if not text.startswith("disk")]
    with h5py.File(folder / "stream.h5") as file:
        stored = {name: dataset[()] for name, dataset in file["observables"].items()}
        charge = file["occasional/flow_charge_improved/value"][:, -1]
    pictures = {picture.title: picture for picture in found.pictures}
    for title, name in {"Plaquette": "plaquette", "dH": "dH", "exp(-dH)": "exp_minus_dH"}.items():
        assert pictures[title].curves[0].y == stored[name].tolist()
    assert {curve.name: curve.y for curve in pictures["Mean force"].curves} == {
        name: stored[f"force.{name}"].tolist() for name in ("gauge", "light")
    }
    assert pictures["Solver iterations"].curves[0].y == stored["iterations.light"].tolist()
    assert pictures["|Polyakov loop|"].curves[0].y == np.abs(stored["polyakov_loop"]).tolist()
    assert pictures["Topological charge"].curves[0].y == charge.tolist()
    listings = {listing.title.split(",")[0]: listing for listing in found.listings}
    (record,) = list(folder.glob("*.000003.json"))
    interval = json.loads(record.read_text())["intervals"]["light"]
    (row,) = listings["Spectral intervals of the rational functions"].rows
    assert row[:3] == ["light", f"{interval['low']:.4g}", f"{interval['high']:.4g}"]
    shares = [float(row[2].rstrip(" %")) for row in listings["Time by part"].rows]
    assert sum(shares) == pytest.approx(100, abs=0.5)


def test_a_finished_measurement_and_glass(finished: Path) -> None:
    found = Watcher(finished / "measure" / "out").look()
    assert (found.state, found.completed, found.unit) == ("finished", 2, "configurations")
    residual = next(picture for picture in found.pictures if "residual" in picture.title)
    with h5py.File(finished / "measure/out/correlators.000002.h5") as file:
        assert residual.curves[0].y[-1] == file["solves/relative_residual"][()].max()
    assert residual.level == 1e-8
    assert not [text for text in found.alarms if not text.startswith("disk")]
    found = Watcher(finished / "glass" / "out").look()
    assert (found.kind, found.state, found.completed, found.total) == ("glass", "finished", 8, 8)
    energy = next(picture for picture in found.pictures if "Energy" in picture.title)
    with h5py.File(finished / "glass/out/glass.h5") as file:
        counts, sums = file["bins/counts"][:], file["bins/energy"][:]
    assert energy.curves[0].y[-1] == pytest.approx((sums[-1] / counts[-1])[:, 0].mean(), rel=1e-14)


@pytest.fixture
def under_way(tmp_path: Path) -> Iterator[tuple[Path, subprocess.Popen[bytes]]]:
    """Yield a run of trajectories that has made some and goes on, and its process."""
    text = trajectories(trajectories={"total": 10**6, "keep_every": 10**6, "checkpoint_every": 2})
    folder = write_run_file(tmp_path, text)
    process = subprocess.Popen(
        command("generate", "run.toml"), cwd=folder, env=environment(), stdout=subprocess.DEVNULL
    )
    deadline = time.monotonic() + 60
    while not list(folder.glob("out/checkpoint.*4.json")) and time.monotonic() < deadline:
        time.sleep(0.05)
    yield folder, process
    process.kill()
    process.wait()


def test_a_run_under_way_and_killed(
    under_way: tuple[Path, subprocess.Popen[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run is looked at again and again while it writes; then it is killed, and the watcher says so."""
    folder, process = under_way
    monkeypatch.chdir(folder)
    watcher = Watcher(Path("run.toml"))
    first = watcher.look()
    assert first.state == "running"
    assert first.seconds_left is not None
    assert first.seconds_left > 0
    assert any(str(process.pid) in text for name, text in first.facts if name == "writer")
    seen = [first.completed or 0]
    for _ in range(40):
        found = watcher.look()
        assert found.state == "running"
        assert not [text for text in found.alarms if text.startswith("damaged")]
        seen.append(found.completed or 0)
        time.sleep(0.02)
    assert seen == sorted(seen)
    assert seen[-1] > seen[0] > 0
    process.send_signal(signal.SIGKILL)
    process.wait()
    found = watcher.look()
    assert found.state == "killed"
    assert any(text.startswith("killed: ") for text in found.alarms)
    assert CliRunner().invoke(app, ["watch", "out", "--once"]).exit_code == 1


def test_a_stopped_run(tmp_path: Path) -> None:
    """A run that was stopped took its lock away, and has fewer sweeps than its run file asks for."""
    folder = write_run_file(tmp_path, heat_bath())
    run("generate", "run.toml", cwd=folder)
    found = Watcher(folder / "out").look()
    assert (found.state, found.completed, found.total, found.unit) == ("finished", 4, 4, "sweeps")
    longer = heat_bath(changed({}, {"sweeps": {"total": 9}}), output={"directory": str(folder / "out")})
    (folder / "longer.toml").write_text(longer)
    found = Watcher(folder / "longer.toml").look()
    assert (found.state, found.completed, found.total) == ("stopped", 4, 9)


def test_not_begun_empty_and_other_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run.toml").write_text(heat_bath())
    found = Watcher(Path("run.toml")).look()
    assert (found.state, found.completed, found.total) == ("not begun", 0, 4)
    (tmp_path / "empty").mkdir()
    with pytest.raises(BadArgument, match=r"expected a folder with stream\.h5.*found an empty folder"):
        Watcher(Path("empty"))
    with pytest.raises(FileError, match="there is no such file or folder"):
        Watcher(Path("missing.toml"))
    (tmp_path / "other.toml").write_text("[something]\nkey = 1\n")
    with pytest.raises(BadArgument, match=r"expected a run file .*found \[something\]"):
        Watcher(Path("other.toml"))


def test_alarms_are_whole_on_narrow_terminals(capsys: pytest.CaptureFixture) -> None:
    """Lines of the frame end where the terminal does, and all words of an alarm are inside."""
    alarm = "4.4 % of the exchanges of T = 0.25 with 0.3 are accepted: put temperatures between these two"
    output = Output(False)
    output.console.width = 60
    output.console.print(terminal_view(Watched("glass", "a run", alarms=[alarm], notices=[alarm])))
    lines = capsys.readouterr().out.splitlines()
    assert max(len(line) for line in lines) == 60
    inside = " ".join(line.strip("│ ") for line in lines)
    assert inside.count(alarm) == 2


def test_damage_keeps_what_was_read(finished: Path, tmp_path: Path) -> None:
    """A flipped bit, half a file and an empty one are alarms; numbers are those of the last sound look."""
    folder = tmp_path / "out"
    folder.mkdir()
    sound = (finished / "generate/out/stream.h5").read_bytes()
    stream = folder / "stream.h5"
    stream.write_bytes(sound)
    watcher = Watcher(folder)
    assert watcher.look().completed == 3
    for damage in ("bit", "half", "empty"):
        if damage == "bit":
            flip_a_bit(stream, "observables/plaquette")
        else:
            stream.write_bytes(sound[: len(sound) // 2] if damage == "half" else b"")
        found = watcher.look()
        assert found.completed == 3, damage
        assert sum(text.startswith("damaged: ") for text in found.alarms) == 1, damage
        stream.write_bytes(sound)
        assert not [text for text in watcher.look().alarms if text.startswith("damaged")]
    (folder / "generate.lock").write_text('{"pid": 1, "host": "x", "si')
    (folder / "checkpoint.000003.json").write_text('{"sweep": 3, "inter')
    assert watcher.look().completed == 3
    (folder / "failed_solve.000004.json").write_text(json.dumps({"error": "cg: stagnated"}))
    assert any("a solve failed in trajectory 4" in t and "stagnated" in t for t in watcher.look().alarms)


def test_a_damaged_result_of_a_measurement(finished: Path, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    for path in (finished / "measure/out").glob("*.h5"):
        (folder / path.name).write_bytes(path.read_bytes())
    flip_a_bit(folder / "correlators.000001.h5", "solves/iterations")
    (folder / "correlators.000003.unfinished").write_bytes(b"PK half")
    found = Watcher(folder).look()
    assert found.completed == 2
    assert sum("correlators.000001.h5" in text for text in found.alarms) == 1


def test_half_a_line_of_a_lock_is_waited_for(tmp_path: Path) -> None:
    """A line that is written in two halves is read when it is whole; a lock is seen from another process."""
    program = (
        "import sys; from pathlib import Path; from trellis.watch.locks import look_at_lock\n"
        "print('ready', flush=True); lock = look_at_lock(Path(sys.argv[1]), 'generate')\n"
        "print(lock.is_held, lock.is_left)"
    )
    with FolderLock(tmp_path, "generate", print) as lock:
        # Closing the file anywhere in this process would drop its locks.
        descriptor = lock._descriptor
        assert descriptor is not None
        whole = os.pread(descriptor, 10_000, 0)
        os.ftruncate(descriptor, 20)
        with subprocess.Popen(
            [*command()[:1], "-c", program, str(tmp_path)],
            stdout=subprocess.PIPE,
            text=True,
            env=environment(),
        ) as reader:
            assert reader.stdout is not None
            assert reader.stdout.readline() == "ready\n"
            time.sleep(0.03)
            os.pwrite(descriptor, whole, 0)
            assert reader.stdout.read().split() == ["True", "False"]


def test_alarms_name_what_is_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits have numbers whose answer is known; a sound run has no alarm."""
    assert alarms.acceptance([1.0] * 9 + [0.0] * 0) == []
    assert alarms.acceptance([1, 0] * 25) == []
    assert "48 % of the last 50" in alarms.acceptance([1] * 24 + [0] * 26)[0]
    quiet = np.random.default_rng(1).normal(0.005, 0.1, 100)  # <exp(-dH)> is exp(-0.005 + 0.1^2 / 2) = 1
    numbers = list(range(100))
    assert alarms.energy_violation(numbers, quiet.tolist()) == []
    assert "errors from 1" in alarms.energy_violation(numbers, (quiet + 0.2).tolist())[0]
    assert "dH = 12 in trajectory 99" in alarms.energy_violation(numbers, [*quiet[:-1], 12.0])[0]
    assert "dH = nan" in alarms.energy_violation([1], [float("nan")])[0]
    assert alarms.residuals([1e-9, 9e-9], 1e-8) == []
    assert "1 of 2 solves missed 1e-08" in alarms.residuals([1e-9, 1e-6], 1e-8)[0]
    monkeypatch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": 1 << 30}))
    assert alarms.disk(tmp_path, 1 << 20, 100) == []
    assert "200 more files need 2.00 GiB, and 1.00 GiB" in alarms.disk(tmp_path, 1 << 30, 2)[0].replace(
        "2 more", "200 more"
    )
    assert alarms.silence(500, 1.0) == []
    assert "hang" in alarms.silence(700, 1.0)[0]
    assert alarms.silence(700, 60.0) == []


def test_a_spectrum_that_left_its_interval(finished: Path, tmp_path: Path) -> None:
    for path in (finished / "generate/out").iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (newest,) = tmp_path.glob("*.000003.json")
    record = json.loads(newest.read_text())
    record["intervals"]["light"]["high"] = 99.0
    newest.write_text(json.dumps(record))
    found = [text for text in Watcher(tmp_path).look().alarms if text.startswith("spectrum")]
    assert len(found) == 1
    assert "light left its interval between trajectories 2 and 3" in found[0]
    assert "99]" in found[0]


def test_the_page_answers_this_machine_alone(finished: Path) -> None:
    """The server serves the page, its changing part and the numbers; other names, paths and methods are
    refused."""
    with PageServer(Watcher(finished / "generate/out")) as server:
        assert server.server_address[0] == "127.0.0.1"
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

        def ask(path: str, method: str = "GET", host: str | None = None) -> tuple[int, str]:
            connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=20)
            connection.request(method, path, headers={"Host": host} if host else {})
            answer = connection.getresponse()
            return answer.status, answer.read().decode()

        status, page = ask("/")
        assert status == 200
        assert "<title>generate: 4x4x4x4" in page
        assert not [word for word in ("http://", "https://", "@import") if word in page]
        _, _, changing = ask("/body")[1].partition("</p>")  # the first line has the seconds since a write
        assert len(changing) > 1000
        assert changing in page
        assert json.loads(ask("/data.json")[1])["state"] == "finished"
        assert ask("/etc/passwd")[0] == 404
        assert ask("/", host="evil.example")[0] == 403
        assert ask("/", method="POST")[0] == 501
        server.shutdown()


def test_texts_of_files_are_no_markup(tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text(heat_bath(output={"directory": str(tmp_path / "<b>&[red]x")}))
    found = Watcher(tmp_path / "run.toml").look()
    assert "&lt;b&gt;&amp;" in render_page(found)
    assert "<b>&[red]x" not in render_page(found)
    said = CliRunner().invoke(app, ["watch", str(tmp_path / "run.toml")])
    assert "<b>&[red]x" in said.stdout.replace("\n", "")


def test_curves_leave_out_what_is_not_finite() -> None:
    curve = Curve.of("x", range(1000), [float("nan"), *range(1, 1000)])
    assert curve.x[-1] == 999
    assert len(curve.x) <= 400
    assert blocks(Curve("x", [0, 1, 2], [1.0, 1.5, 2.0])) == "▁▅█"
    assert blocks(Curve("x", [0, 1], [1.0, 1.0])) == "▁▁"
    svg = svg_of(Picture("A & B", [Curve("one", [1.0], [1e-8])], is_logarithmic=True, level=1e-8))
    assert 'aria-label="A &amp; B against trajectory; newest: one 1e-08"' in svg
    assert svg.count("<circle") == 1
    assert svg_of(Picture("nothing", [Curve("one", [], [])])) == ""


def test_the_last_whole_line_of_a_log(tmp_path: Path) -> None:
    log = tmp_path / "log"
    assert last_whole_line(log) == ""
    log.write_text("one\ntwo\n\x1b[2Khalf a li")
    assert last_whole_line(log) == "two"
    log.write_text("no end")
    assert last_whole_line(log) == ""


def test_a_campaign(tmp_path: Path) -> None:
    """One campaign has not begun, one has run, and one has a failed task."""
    (tmp_path / "campaign.toml").write_text(
        '[campaign]\nname = "c"\nretries = {}\n'.replace("retries = {}\n", "")
        + '[[task]]\nname = "good"\ncommand = ["true"]\nestimate = "1s"\n'
        + '[[task]]\nname = "bad"\ncommand = ["false"]\nestimate = "1s"\n'
    )
    found = Watcher(tmp_path / "campaign.toml").look()
    assert (found.kind, found.state, found.completed, found.total) == ("campaign", "not begun", 0, 2)
    run("campaign", "run", "campaign.toml", cwd=tmp_path, status=1)
    before = sorted(path for path in tmp_path.rglob("*"))
    found = Watcher(tmp_path / "campaign.toml").look()
    assert sorted(path for path in tmp_path.rglob("*")) == before
    assert (found.state, found.completed, found.total) == ("finished", 1, 2)
    assert any(text.startswith("failed: bad") for text in found.alarms)
    assert os.path.exists(tmp_path / "c.state")
