"""The command trellis generate makes the same bits on any number of ranks and after any interruption; nothing
is lost."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from command_line import command, environment, flip_a_bit, run, sha256, stopped_by_signal, write_run_file
from command_line import stream_content as content
from run_file_texts import heat_bath, measurement

import trellis as tr
from trellis.analysis import MeasurementFileError, read_measurements
from trellis.analysis.synthetic import write_synthetic_measurements

RUN = {
    "lattice": {"extents": [4, 4, 4, 8]},
    "heatbath": {"over_relaxation": 2},
    "sweeps": {"total": 24, "thermalisation": 4, "keep_every": 10, "checkpoint_every": 3, "print_every": 5},
}


def write_run(folder: Path, *, total: int = 24, **tables: Any) -> Path:
    return write_run_file(folder, heat_bath(RUN, {"sweeps": {"total": total}}, tables))


@pytest.fixture(scope="module")
def plain(tmp_path_factory) -> Path:
    """Make a run that nothing disturbed."""
    folder = write_run(tmp_path_factory.mktemp("plain"))
    run("generate", "run.toml", cwd=folder)
    return folder


def test_nothing_to_keep_is_said(plain: Path, tmp_path: Path) -> None:
    said = run("generate", "run.toml", cwd=write_run(tmp_path, total=13)).stderr
    assert "keep_every = 10 keeps no configuration up to sweep 13 after thermalisation = 4" in said
    assert "keeps no" not in run("generate", "run.toml", "--resume", cwd=plain).stderr


def test_what_a_run_leaves(plain: Path) -> None:
    names = sorted(path.name for path in (plain / "out").iterdir())
    # Checkpoints were written after sweeps 3, 6, ... 21; of all states the last two are kept.
    assert names == [
        "checkpoint.000021.ildg",
        "checkpoint.000021.json",
        "configuration.000014.ildg",
        "configuration.000014.json",
        "configuration.000024.ildg",
        "configuration.000024.json",
        "stream.h5",
    ]
    record = json.loads((plain / "out" / "configuration.000024.json").read_text())
    assert record["sweep"] == 24
    assert record["physics"]["action"]["beta"] == 6.0
    assert record["provenance"]["run_file"] == (plain / "run.toml").read_text()
    with h5py.File(plain / "out" / "stream.h5") as file:
        assert file.attrs["kind"] == "gauge_stream"
        assert file.attrs["beta"] == 6.0
        assert file.attrs["run_file"] == (plain / "run.toml").read_text()
        assert np.array_equal(file["trajectory"][()], np.arange(1, 25))
        assert file["observables/plaquette"][-1] == record["plaquette"]
        assert file["observables/polyakov_loop"].dtype == np.complex128


def test_json(tmp_path: Path) -> None:
    folder = write_run(tmp_path)
    found = json.loads(run("generate", "run.toml", "--json", cwd=folder).stdout)
    assert found["sweeps"] == 24
    assert found["resumed_from"] is None
    assert found["configurations"] == ["out/configuration.000014.ildg", "out/configuration.000024.ildg"]
    with h5py.File(folder / "out" / "stream.h5") as file:
        plaquettes = file["observables/plaquette"][()]
    assert found["plaquette_mean"] == pytest.approx(plaquettes[4:].mean(), rel=1e-14)
    assert found["plaquette_last"] == plaquettes[-1]


@pytest.mark.parametrize("ranks, threads, lanes", [(1, 2, 1), (2, 1, 4), (4, 1, 16)])
def test_the_same_bits(plain: Path, tmp_path: Path, ranks: int, threads: int, lanes: int) -> None:
    folder = write_run(tmp_path)
    environment = {"TRELLIS_LANES": str(lanes), "OMP_NUM_THREADS": str(threads)}
    run("generate", "run.toml", cwd=folder, ranks=ranks, **environment)
    assert content(folder) == content(plain)


def test_stopping_early_and_going_on(plain: Path, tmp_path: Path) -> None:
    folder = write_run(tmp_path, total=13)
    run("generate", "run.toml", cwd=folder)
    write_run(tmp_path)
    found = json.loads(run("generate", "run.toml", "--resume", "--json", cwd=folder).stdout)
    assert found["resumed_from"] == 13
    same = content(folder)
    assert same == content(plain)


@pytest.mark.slow
def test_killed_and_resumed(tmp_path: Path) -> None:
    """A kill -9 comes at many instants, during checkpoints too."""
    whole, broken = write_run(tmp_path / "whole", total=150), write_run(tmp_path / "broken", total=150)
    run("generate", "run.toml", cwd=whole)
    kills = 0
    for attempt in range(40):
        process = subprocess.Popen(
            command("generate", "run.toml", "--resume"),
            cwd=broken,
            env=environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        before = newest(broken)
        deadline = time.monotonic() + 60
        while process.poll() is None and newest(broken) == before and time.monotonic() < deadline:
            time.sleep(0.002)
        time.sleep(0.003 * (attempt % 7))
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            kills += 1
        if process.wait() == 0:
            break
        if kills == 8:
            run("generate", "run.toml", "--resume", cwd=broken)
            break
    assert kills >= 3
    whole_content, broken_content = content(whole), content(broken)
    kept = {name for name in whole_content if not name.startswith("checkpoint")}
    assert {n: broken_content[n] for n in kept} == {n: whole_content[n] for n in kept}
    assert not list(broken.glob("out/*.partial"))


def newest(folder: Path) -> str:
    return max((path.name[-11:] for path in folder.glob("out/*.json")), default="")


def test_a_damaged_state_is_skipped(plain: Path, tmp_path: Path) -> None:
    folder = write_run(tmp_path, total=13)
    run("generate", "run.toml", cwd=folder)
    states = sorted((folder / "out").glob("*.000013.ildg"))
    data = bytearray(states[0].read_bytes())
    data[-3000] ^= 4
    states[0].write_bytes(data)
    write_run(tmp_path)
    found = run("generate", "run.toml", "--resume", cwd=folder)
    assert "checkpoint.000013.json is skipped" in found.stderr
    assert "resuming after sweep 12" in found.stdout
    kept = [f"{states[0].stem}.{end}.before_1" for end in ("json", "ildg")]
    assert f"out: damaged files are kept as {', '.join(kept)}" in " ".join(found.stderr.split())
    assert (folder / "out" / kept[1]).read_bytes() == data
    same = content(folder)
    assert {n: same[n] for n in content(plain)} == content(plain)


def test_states_that_are_all_damaged_are_kept(tmp_path: Path) -> None:
    folder = write_run(tmp_path, total=13)
    run("generate", "run.toml", cwd=folder)
    (folder / "out" / "checkpoint.000013.ildg").unlink()
    (folder / "out" / "checkpoint.000012.json").write_text("{")
    for record in (folder / "out").glob("configuration.*.json"):
        record.write_text("[]")
    before = content(folder)
    found = run("generate", "run.toml", "--resume", cwd=folder, status=1)
    assert "checkpoint.000013.json is skipped" in found.stderr
    assert "checkpoint.000012.json is skipped" in found.stderr
    assert "all damaged" in found.stderr
    assert content(folder) == before


@pytest.mark.parametrize("ranks", [1, 2])
def test_links_without_any_record_are_kept(tmp_path: Path, ranks: int) -> None:
    folder = write_run(tmp_path, total=6)
    run("generate", "run.toml", cwd=folder)
    for record in (folder / "out").glob("*.json"):
        record.unlink()
    (folder / "out" / "checkpoint.000003.ildg").write_text("of somebody else")
    before = sha256(folder / "out" / "checkpoint.000006.ildg")
    said = run("generate", "run.toml", "--resume", cwd=folder, ranks=ranks).stderr
    assert "out/checkpoint.000003.ildg (and 1 more) has no checkpoint.000003.json" in " ".join(said.split())
    assert (folder / "out" / "checkpoint.000003.ildg.before_1").read_text() == "of somebody else"
    assert sha256(folder / "out" / "checkpoint.000006.ildg.before_1") == before


def test_links_of_an_interrupted_save(plain: Path, tmp_path: Path) -> None:
    """Links that belong to the entry being saved go without a word; other files are kept."""
    folder = write_run(tmp_path, total=14)
    run("generate", "run.toml", cwd=folder)
    (folder / "out" / "configuration.000014.json").unlink()
    write_run(tmp_path)
    (folder / "out" / "configuration.000024.ildg").write_text("of somebody else")
    said = run("generate", "run.toml", "--resume", cwd=folder).stderr
    assert "configuration.000024.ildg has no configuration.000024.json" in " ".join(said.split())
    assert "000014" not in said
    names = [path.name for path in (folder / "out").glob("*.before_*")]
    assert names == ["configuration.000024.ildg.before_1"]
    assert content(folder) == content(plain)


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_stream_that_is_cut_off(plain: Path, tmp_path: Path, ranks: int) -> None:
    """Nothing is changed; each way that the message names works."""
    folder = write_run(tmp_path, total=14)
    run("generate", "run.toml", cwd=folder)
    stream, copy = folder / "out/stream.h5", (folder / "out/stream.h5").read_bytes()
    stream.write_bytes(copy[: len(copy) // 2])
    before = {path.name: sha256(path) for path in (folder / "out").iterdir()}
    write_run(tmp_path)
    said = run("generate", "run.toml", "--resume", cwd=folder, ranks=ranks, status=1).stderr
    assert "error: cannot open out/stream.h5: truncated file" in said
    assert "Lost with it are the observables of 1 to 14" in said
    assert 'start.file = "out/configuration.000014.ildg" and another random.seed' in said
    assert {path.name: sha256(path) for path in (folder / "out").iterdir()} == before
    # This starts a new run.
    new = heat_bath(
        RUN,
        random={"seed": 8},
        start={"type": "file", "file": "out/configuration.000014.ildg"},
        sweeps={"total": 5},
        output={"directory": "new"},
    )
    (folder / "new.toml").write_text(new)
    run("generate", "new.toml", cwd=folder)
    # This goes on from a copy.
    stream.write_bytes(copy)
    run("generate", "run.toml", "--resume", cwd=folder)
    same = content(folder)
    assert {n: same[n] for n in content(plain)} == content(plain)


@pytest.mark.parametrize("name", ["trajectory", "observables/plaquette"])
def test_a_stream_with_a_flipped_bit(plain: Path, tmp_path: Path, name: str) -> None:
    """Such a stream is neither carried on nor analysed; without the checksum, which older versions did not
    write, it is."""
    folder = tmp_path / "run"
    shutil.copytree(plain, folder)
    stream = folder / "out/stream.h5"
    flip_a_bit(stream, name)
    found = run("generate", "run.toml", "--resume", cwd=folder, status=1).stderr
    assert f"out/stream.h5: /{name}: expected crc32 = " in found
    assert "Lost with it are the observables" in found
    with pytest.raises(MeasurementFileError, match=rf"stream.h5: /{name}: expected crc32.*the file is damag"):
        read_measurements(stream)
    if name != "trajectory":
        with h5py.File(stream, "a") as file:
            del file[name].attrs["crc32"]
        run("generate", "run.toml", "--resume", cwd=folder)
        read_measurements(stream)


def test_a_copy_of_the_stream_that_ends_earlier(plain: Path, tmp_path: Path) -> None:
    folder = write_run(tmp_path, total=14)
    run("generate", "run.toml", cwd=folder)
    copy = (folder / "out/stream.h5").read_bytes()
    write_run(tmp_path)
    run("generate", "run.toml", "--resume", cwd=folder)
    (folder / "out/stream.h5").write_bytes(copy)
    said = run("generate", "run.toml", "--resume", cwd=folder, status=1).stderr
    assert "out/stream.h5: expected every sweep from 1 to 24, found 14 of them" in said
    assert "one that ends before 24 needs a state at or before its end" in said
    for path in (folder / "out").glob("*.0000[12]*"):
        if int(path.name.split(".")[1]) > 14:
            path.rename(folder / path.name)
    run("generate", "run.toml", "--resume", cwd=folder)
    assert content(folder) == content(plain)


def test_old_results_are_not_overwritten(plain: Path) -> None:
    found = run("generate", "run.toml", cwd=plain, status=1)
    assert "--resume" in found.stderr
    again = json.loads(run("generate", "run.toml", "--resume", "--json", cwd=plain).stdout)
    assert again["resumed_from"] == again["sweeps"] == 24


def test_a_changed_run_is_refused(tmp_path: Path) -> None:
    folder = write_run(tmp_path)
    run("generate", "run.toml", cwd=folder)
    write_run(tmp_path, action={"beta": 6.1}, total=30)
    found = run("generate", "run.toml", "--resume", cwd=folder, status=1)
    assert ".json: action.beta = 6.0 before and 6.1 now; a changed run needs another folder" in found.stderr


def test_an_output_folder_that_cannot_be_made(tmp_path: Path) -> None:
    folder = write_run(tmp_path)
    (folder / "out").write_text("not a folder")
    found = run("generate", "run.toml", cwd=folder, status=1)
    assert "output.directory: out cannot be made: expected a folder, found a file" in found.stderr
    assert (folder / "out").read_text() == "not a folder"


@pytest.mark.parametrize(
    "words",
    [
        ("generate", "run.toml"),
        ("measure", "measure.toml"),
        ("demo", "--output", "out"),
        ("analyze", "out.h5", "--output", "out"),
        ("campaign", "run", "campaign.toml"),
        ("campaign", "report", "campaign.toml", "--output", "out/page.html"),
    ],
    ids=lambda words: "-".join(words[: 2 if words[0] == "campaign" else 1]),
)
def test_an_output_folder_that_is_a_link_to_nowhere(tmp_path: Path, words: tuple[str, ...]) -> None:
    """The target of the link is missing, as on a scratch disk that was purged or is not mounted."""
    folder = write_run(tmp_path)
    (folder / "out").symlink_to("purged")
    (folder / "measure.toml").write_text(measurement())
    tr.cold((4, 4, 4, 4)).write(folder / "field.1.ildg")
    write_synthetic_measurements(folder / "out.h5", configurations=range(6))
    root = "out" if words[1] == "run" else "work"
    (folder / "campaign.toml").write_text(
        f'[campaign]\nname = "c"\nroot = "{root}"\n[[task]]\nname = "t"\ncommand = "true"\n'
    )
    if words[1] == "report":
        run("campaign", "run", "campaign.toml", cwd=folder)
    said = run(*words, cwd=folder, status=1).stderr
    assert "cannot be made: expected a folder, found a symbolic link to purged, which is not there" in said
    assert not (folder / "purged").exists()


@pytest.mark.parametrize(
    ("action", "text"), [("symanzik", "plaquette action alone (wilson); other"), ("x", "'wilson'")]
)
def test_an_action_without_a_heat_bath_is_refused(tmp_path: Path, action: str, text: str) -> None:
    folder = write_run(tmp_path, action={"type": action}, total=30)
    assert text in run("generate", "run.toml", cwd=folder, status=1).stderr


def test_too_much_memory_is_refused(tmp_path: Path) -> None:
    folder = write_run(tmp_path, machine={"memory_gib": 0.0001})
    found = run("generate", "run.toml", cwd=folder, status=1)
    assert "MiB per rank; machine.memory_gib allows 0.0001 GiB" in found.stderr
    assert not (folder / "out").exists()
    write_run(tmp_path, lattice={"extents": [128, 128, 128, 512]})
    found = run("generate", "run.toml", cwd=folder, status=1)
    assert "are available" in found.stderr


@pytest.mark.parametrize("grid, text", [([1, 1, 1, 3], "3"), ([0, 1, 1, 1], "at least one process")])
def test_a_wrong_grid_is_refused(tmp_path: Path, grid: list[int], text: str) -> None:
    folder = write_run(tmp_path, machine={"grid": grid})
    assert text in run("generate", "run.toml", cwd=folder, status=1).stderr


@pytest.mark.parametrize(
    "start",
    [{"type": "cold"}, {"type": "weak", "spread": 0.1}, {"type": "file", "file": "first.ildg"}],
    ids=lambda start: start["type"],
)
def test_starts(plain: Path, tmp_path: Path, start: dict[str, Any]) -> None:
    folder = write_run(tmp_path, start=start, total=5)
    (folder / "first.ildg").write_bytes((plain / "out" / "configuration.000014.ildg").read_bytes())
    found = json.loads(run("generate", "run.toml", "--json", cwd=folder).stdout)
    assert 0.4 < found["plaquette_last"] < 1.0


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_start_of_another_lattice(plain: Path, tmp_path: Path, ranks: int) -> None:
    start = {"type": "file", "file": "first.ildg"}
    folder = write_run(tmp_path, lattice={"extents": [4, 4, 4, 4]}, start=start)
    (folder / "first.ildg").write_bytes((plain / "out" / "configuration.000014.ildg").read_bytes())
    said = run("generate", "run.toml", cwd=folder, ranks=ranks, status=1).stderr
    expected = "start.file (lattice.extents = [4, 4, 4, 4]): first.ildg: expected the lattice 4x4x4x4"
    assert expected in said


SMALL_DISK = """
import resource, sys
from trellis.commands.cli import main
from trellis.ground.compiled_core import load
load().size()  # MPI writes files of its own when it starts
resource.setrlimit(resource.RLIMIT_FSIZE, (256 << 10, 256 << 10))  # the links take 288 KiB
sys.argv = ["trellis", "generate", "run.toml", "--resume"]
main()
"""


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_full_disk_loses_nothing(plain: Path, tmp_path: Path, ranks: int) -> None:
    """A limit on the size of files stands for the disk: the write fails, the earlier states stay."""
    folder = write_run(tmp_path, total=13)
    run("generate", "run.toml", cwd=folder)
    write_run(tmp_path)
    links = {path.name: sha256(path) for path in folder.glob("out/*.ildg")}
    found = subprocess.run(
        [*command(ranks=ranks)[: -len(command())], sys.executable, "-c", SMALL_DISK],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 1, found.stderr
    (said,) = [line for line in found.stderr.splitlines() if line.startswith("error")]  # one rank says it
    assert "ildg" in said
    assert "Traceback" not in found.stderr
    assert {path.name: sha256(path) for path in folder.glob("out/*.ildg")} == links
    run("generate", "run.toml", "--resume", cwd=folder)
    same = content(folder)
    assert {n: same[n] for n in content(plain)} == content(plain)


def test_sigterm_finishes_the_sweep(tmp_path: Path) -> None:
    def write(name: str, total: int) -> None:
        sweeps = {"total": total, "keep_every": 1000000, "checkpoint_every": 1000000}
        (tmp_path / f"{name}.toml").write_text(heat_bath(sweeps=sweeps, output={"directory": name}))

    write("long", 1000000)
    found = stopped_by_signal(
        "generate", "long.toml", cwd=tmp_path, when=(tmp_path / "long").exists, after=0.3
    )
    last = found["sweeps"]
    assert 0 < last < 1000000
    assert (tmp_path / "long" / f"checkpoint.{last:06d}.json").exists()
    write("plain", last)
    plain = json.loads(run("generate", "plain.toml", "--json", cwd=tmp_path).stdout)
    assert plain["plaquette_last"] == found["plaquette_last"]
