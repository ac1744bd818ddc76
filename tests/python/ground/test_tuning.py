"""These tests cover the tuner's cache: files of other processes, machines and times; the bits of runs with it
and without."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from command_line import environment, run, stream_content, write_run_file

from trellis.ground import tuning
from trellis.ground.tuning import MOST_FILES, read_cache, this_machine, write_choices

#: Links of 8^3 x 8 are 2.4 MB: beyond 512 KB kernels try their ways.
HEATBATH = """
[lattice]
extents = [8, 8, 8, 8]
[action]
beta = 5.7
[start]
type = "weak"
[random]
seed = 5
[heatbath]
over_relaxation = 3
[sweeps]
total = 4
keep_every = 2
[output]
directory = "out"
"""


def choice(**changes: object) -> dict:
    made = {"kernel": "hop", "storage": "double", "lattice": "8x8x8x16", "cut": "1x1x1x1", "columns": 1}
    made |= {"threads": 1, "working_set_bits": 22, "way": 1, "seconds": 2e-6, "repeats": 0}
    return made | changes


def halo(**changes: object) -> dict:
    of_halo = {"kernel": "halo on cpu, messages: 2", "storage": "8 bytes"}
    return choice(**of_halo, cut="1x1x1x2, at most 2 ranks a node") | changes


def only(folder: Path) -> dict:
    (found,) = read_cache(folder).choices.values()
    return found


def test_files_are_merged_and_the_best_choice_counts(tmp_path: Path) -> None:
    for made in (choice(), choice(way=2, seconds=1e-6), choice(way=3, seconds=3e-6)):
        write_choices([made], tmp_path)
    assert only(tmp_path) == choice(way=2, seconds=1e-6)
    write_choices([choice(way=0, seconds=5e-6, repeats=1)], tmp_path)  # it had become slow
    assert only(tmp_path)["way"] == 0
    write_choices([choice(columns=12)], tmp_path)
    assert len(read_cache(tmp_path).choices) == 2


def test_many_files_become_one(tmp_path: Path) -> None:
    for number in range(MOST_FILES):
        write_choices([choice(columns=number + 1)], tmp_path)
    foreign = tmp_path / "foreign.json"
    foreign.write_text(json.dumps({"schema": 1, "machine": {"processor": "another"}, "choices": []}))
    write_choices([choice(columns=100)], tmp_path)
    assert len(list(tmp_path.glob("*.json"))) == 2
    assert foreign.exists()
    assert len(read_cache(tmp_path).choices) == MOST_FILES + 1


def content(**changes: object) -> str:
    return json.dumps({"schema": 1, "machine": this_machine(), "choices": [choice()]} | changes)


@pytest.mark.parametrize(
    "text, damaged",
    [
        ("", "Invalid JSON"),
        (content()[:-20], "Invalid JSON"),
        ("[]", "Input should be an object"),
        (content(schema="1"), "schema"),
        (content(choices=[choice(way=-1)]), "choices.0.way"),
        (content(choices=[choice(seconds=0)]), "choices.0.seconds"),
        (content(choices=[{"kernel": "hop"}]), "choices.0.storage"),
        (content(choices=[choice(way=2**40)]), "choices.0.way"),
        (content(choices=[choice(repeats=2**31 - 1)]), "choices.0.repeats"),  # another repeat would overflow
        (content(choices=[choice(), halo(way="shared")]), "choices.1.way"),
        (content(choices=[halo(seconds=-1)]), "choices.0.seconds"),
        (content(schema=99, choices="of another form"), None),
        (content(machine={**this_machine(), "processor": "another"}), None),
        (content(machine={**this_machine(), "build": "0" * 16}), None),
    ],
)
def test_damaged_and_foreign_files_are_passed_over(tmp_path: Path, text: str, damaged: str | None) -> None:
    (tmp_path / "other.json").write_text(text)
    write_choices([choice(columns=3)], tmp_path)
    found = read_cache(tmp_path)
    assert [made["columns"] for made in found.choices.values()] == [3]
    assert found.foreign == (damaged is None)
    assert len(found.damaged) == (damaged is not None)
    if damaged is not None:
        assert f"{tmp_path / 'other.json'} is damaged: " in found.damaged[0]
        assert damaged in found.damaged[0]


def test_what_cannot_be_read_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "folder.json").mkdir()
    (tmp_path / "nowhere.json").symlink_to(tmp_path / "nowhere")
    assert not read_cache(tmp_path / "none").choices
    assert len(read_cache(tmp_path).damaged) == 1


def test_processes_write_at_the_same_time(tmp_path: Path) -> None:
    """Each process writes more often than files are merged; nothing is lost, and no reader finds half a
    file."""
    program = (
        "import sys; from pathlib import Path; from trellis.ground.tuning import *\n"
        "number, folder = int(sys.argv[1]), Path(sys.argv[2])\n"
        "for i in range(12):\n"
        f"    made = [dict(one, columns=100 * number + i + 1) for one in {[choice(), halo()]!r}]\n"
        "    write_choices(made, folder)\n"
        "    assert not read_cache(folder).damaged\n"
    )

    def write(number: int) -> None:
        command = [sys.executable, "-c", program, str(number), str(tmp_path)]
        subprocess.run(command, check=True, timeout=120, env=environment())

    with ThreadPoolExecutor() as pool:
        list(pool.map(write, range(3)))
    found = read_cache(tmp_path)
    for kernel in (choice()["kernel"], halo()["kernel"]):
        columns = {made["columns"] for made in found.choices.values() if made["kernel"] == kernel}
        assert columns == {100 * number + i + 1 for number in range(3) for i in range(12)}


def test_a_cache_that_cannot_be_written_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()  # root can write to any folder, but not below a file
    monkeypatch.setenv("TRELLIS_CACHE", str(tmp_path / "file"))
    said: list[str] = []
    assert tuning.keep([choice()], said.append) is None
    assert len(said) == 1
    assert said[0].startswith(f"the tuner's cache: {tmp_path / 'file' / 'tuning'}: ")
    assert said[0].endswith("what was tuned in this run is not kept")
    assert tuning.keep([], said.append) is None
    assert len(said) == 1


def test_the_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TRELLIS_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/home/somebody")
    assert tuning.cache_folder() == Path("/home/somebody/.cache/trellis/tuning")
    with monkeypatch.context() as unknown:
        unknown.delenv("HOME")
        unknown.setattr("pwd.getpwuid", {}.__getitem__)
        assert tuning.cache_folder() == Path("/nonexistent/.cache/trellis/tuning")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert tuning.cache_folder() == Path("/home/somebody/.cache/trellis/tuning")
    monkeypatch.setenv("XDG_CACHE_HOME", "/cache")
    assert tuning.cache_folder() == Path("/cache/trellis/tuning")
    monkeypatch.setenv("TRELLIS_CACHE", "/mine")
    assert tuning.cache_folder() == Path("/mine/tuning")


@pytest.fixture(scope="module")
def untuned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = write_run_file(tmp_path_factory.mktemp("untuned"), HEATBATH)
    run("generate", "run.toml", cwd=folder, TRELLIS_TUNE="off")
    return folder


def generated(folder: Path, untuned: Path, text: str = HEATBATH, **options: object) -> str:
    """Return the standard error of a run that has the bits of the one without trials."""
    found = run("generate", "run.toml", cwd=write_run_file(folder, text), **options)
    assert stream_content(folder) == stream_content(untuned)
    return found.stderr


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.slow
def test_equal_bits_tuned_untuned_and_with_a_foreign_cache(untuned: Path, tmp_path: Path, ranks: int) -> None:
    cache = tmp_path / "cache"
    tune: dict[str, Any] = {"TRELLIS_CACHE": str(cache), "ranks": ranks}
    assert generated(tmp_path / "read", untuned, **tune) == ""
    assert not cache.exists()
    found = json.loads(run("tune", tmp_path / "read" / "run.toml", "--json", cwd=tmp_path, **tune).stdout)
    walks = [made for made in found["choices"] if not made["kernel"].startswith("halo")]
    halos = [made for made in found["choices"] if made["kernel"].startswith("halo")]
    kernels = {made["kernel"].split("<")[0].removeprefix("trellis::") for made in walks}
    assert any("Heat" in name or "heat" in name for name in kernels), kernels
    assert {(made["lattice"], made["cut"], made["storage"]) for made in walks} == {
        ("8x8x8x8", f"1x1x1x{ranks}", "double")
    }
    assert {(made["kernel"], made["cut"], made["storage"]) for made in halos} == (
        {("halo on cpu, messages: 1", "1x1x1x2, at most 2 ranks a node", "8 bytes")} if ranks == 2 else set()
    )
    assert list((cache / "tuning").glob("*.json")) == [Path(found["file"])]
    doctor = json.loads(run("doctor", "--quick", "--json", cwd=tmp_path, TRELLIS_CACHE=str(cache)).stdout)
    assert sum(doctor["tuner"]["halos"].values()) == len(halos)
    generated(tmp_path / "tuned", untuned, **tune)
    # Each pass has one way that there can be, as the cache of another machine under this one's name.
    for way in range(4 if ranks == 1 else 3):
        for path in (cache / "tuning").glob("*.json"):
            path.unlink()
        write_choices([made | {"way": way} for made in found["choices"]], cache / "tuning")
        generated(tmp_path / f"way {way}", untuned, **tune)
    (cache / "tuning" / "damaged.json").write_text("{")
    assert "damaged.json is damaged" in generated(tmp_path / "damaged", untuned, **tune)


def test_a_run_that_tunes_keeps_what_it_finds(untuned: Path, tmp_path: Path) -> None:
    text = HEATBATH + '[machine]\ntune = "on"\n'  # the environment comes before it
    generated(tmp_path / "run", untuned, text, TRELLIS_TUNE="off", TRELLIS_CACHE=str(tmp_path))
    found = read_cache(tmp_path / "tuning")
    assert len(found.files) == 1
    assert found.choices
    doctor = json.loads(run("doctor", "--quick", "--json", cwd=tmp_path, TRELLIS_CACHE=str(tmp_path)).stdout)
    assert doctor["tuner"]["choices"] == len(found.choices)
    assert doctor["tuner"]["mode"] == "read"
    assert doctor["tuner"]["cache"] == str(tmp_path / "tuning")


def test_a_read_only_cache_loses_no_run(untuned: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    if os.geteuid() == 0:
        cache.touch()  # root can write to any folder, but not below a file
    else:
        cache.mkdir(mode=0o500)
    text = HEATBATH + '[machine]\ntune = "on"\n'
    (said,) = generated(tmp_path / "run", untuned, text, TRELLIS_CACHE=str(cache)).splitlines()
    assert said.startswith("warning: the tuner's cache: ")
    assert said.endswith("what was tuned in this run is not kept")


def test_another_word_is_refused(tmp_path: Path) -> None:
    found = run("generate", "run.toml", cwd=write_run_file(tmp_path, HEATBATH), status=1, TRELLIS_TUNE="yes")
    assert found.stderr == "error: TRELLIS_TUNE is off, read or on, found 'yes'\n"
