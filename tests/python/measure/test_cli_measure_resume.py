"""These tests stop and resume trellis measure: what is saved, and what was changed since."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import h5py
import pytest
from command_line import command, environment, flip_a_bit, run
from run_file_texts import measurement

import trellis as tr

MEASURE = measurement()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Make two configurations with their results."""
    for number in (1, 2):
        tr.weak_field((4, 4, 4, 4), seed=number).write(tmp_path / f"field.{number}.ildg")
    (tmp_path / "run.toml").write_text(MEASURE)
    run("measure", "run.toml", cwd=tmp_path)
    return tmp_path


def replace(path: Path, seed: int, format: str = "ildg") -> None:
    """Replace a configuration by another field, which takes as many bytes."""
    tr.weak_field((4, 4, 4, 4), seed=seed).write(path, format)


def resume(folder: Path, status: int = 0, ranks: int = 1) -> str:
    found = run("measure", "run.toml", "--resume", cwd=folder, status=status, ranks=ranks)
    assert "Traceback" not in found.stderr
    return found.stdout + found.stderr


@pytest.mark.parametrize("ranks", [1, 2])
def test_replaced_configurations(folder: Path, ranks: int) -> None:
    """Replaced configurations are refused by name; without its result the new one is measured, and the other
    result stays as it was."""
    replace(folder / "field.2.ildg", seed=3)
    results = [folder / "out" / f"correlators.{number:06d}.h5" for number in (1, 2)]
    before = [path.read_bytes() for path in results]
    said = resume(folder, status=1, ranks=ranks)
    assert "field.2.ildg was replaced since out/correlators.000002.h5 was measured on it" in said
    with h5py.File(results[1]) as file:
        assert f"expected {file.attrs['input_checksum']}, found scidac_a=" in said
    assert "remove the result to measure the new one" in said
    assert [path.read_bytes() for path in results] == before
    results[1].unlink()
    resume(folder)
    assert results[0].read_bytes() == before[0]
    with h5py.File(results[1]) as file:
        assert file.attrs["plaquette"] == tr.weak_field((4, 4, 4, 4), seed=3).plaquette


def test_all_that_were_replaced_are_named(folder: Path) -> None:
    for number in (1, 2):
        replace(folder / f"field.{number}.ildg", seed=number + 5)
    said = resume(folder, status=1)
    assert "field.1.ildg was replaced" in said
    assert "the same holds for field.2.ildg" in said


def test_the_same_content_with_another_date_or_name(folder: Path) -> None:
    """A file that is copied or touched is read again, and is no reason to stop."""
    os.utime(folder / "field.1.ildg", ns=(0, 0))
    (folder / "field.2.ildg").rename(folder / "field.x2.ildg")
    said = resume(folder)
    assert "field.1.ildg has another name or date" in said
    assert "field.x2.ildg has another name or date" in said
    assert "2 of 2 configurations are done already" in said


def test_files_without_checksums_are_compared_by_their_plaquette(folder: Path) -> None:
    """The format of openQCD has none, and results of another format have checksums of another kind."""
    (folder / "field.1.ildg").unlink()
    replace(folder / "field.1.openqcd", 1, "openqcd")
    assert "field.1.openqcd has another name or date" in resume(folder)
    replace(folder / "field.1.openqcd", 7, "openqcd")
    assert "field.1.openqcd was replaced" in (said := resume(folder, status=1))
    old, new = (tr.weak_field((4, 4, 4, 4), seed=seed).plaquette for seed in (1, 7))
    assert f"expected the plaquette {old!r}, found {new!r}" in said


def test_results_of_older_versions(folder: Path) -> None:
    """These results say nothing of size and date: the checksums decide."""
    for path in folder.glob("out/*.h5"):
        with h5py.File(path, "a") as file:
            del file.attrs["input_bytes"], file.attrs["input_modified_ns"]
    assert "the same content" in resume(folder)
    replace(folder / "field.2.ildg", seed=3)
    assert "field.2.ildg was replaced" in resume(folder, status=1)


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("name", ["configurations", "correlators/pion", "solves/iterations"])
def test_results_with_a_flipped_bit(folder: Path, name: str, ranks: int) -> None:
    """Results with a flipped bit are refused by name of file and dataset; once moved away, they are measured
    again."""
    result = folder / "out/correlators.000002.h5"
    with h5py.File(result) as file:
        before = file["correlators/pion"][()].tobytes()
    flip_a_bit(result, name)
    said = resume(folder, status=1, ranks=ranks)
    assert f"out/correlators.000002.h5: /{name}: expected crc32 = " in said
    assert "the file is damaged, or not one of trellis measure: move it away" in said
    result.unlink()
    resume(folder, ranks=ranks)
    with h5py.File(result) as file:
        assert file["correlators/pion"][()].tobytes() == before


def test_results_without_checksums_of_their_numbers(folder: Path) -> None:
    """Results of older versions have no such checksums; an attribute of another type is another checksum."""
    for path in folder.glob("out/*.h5"):
        with h5py.File(path, "a") as file:
            for name in ["configurations", *(f"solves/{n}" for n in file["solves"]), "correlators/pion"]:
                del file[name].attrs["crc32"]
    flip_a_bit(folder / "out/correlators.000002.h5", "correlators/pion")
    assert "2 of 2 configurations are done already" in resume(folder)
    with h5py.File(folder / "out/correlators.000002.h5", "a") as file:
        file["correlators/pion"].attrs["crc32"] = [1, 2]
    assert "/correlators/pion: expected crc32 = [1, 2], found" in resume(folder, status=1)


SEVERAL_SOLVES = measurement(
    fermion={"type": "clover", "csw": 1.0, "strange_kappa": 0.09},
    source={"positions": [[0, 0, 0, 0], [2, 2, 2, 2]]},
    correlators={"mesons": ["pion", "kaon"]},
    feynman_hellmann={"currents": ["A3"]},
    three_point={"currents": ["A3"], "separations": [2]},
    flow={"time": 0.5},
    output={"propagators": True},
)
#: A configuration has these solves: two sources, each with two quarks, a current, and a sink.
SOLVES = 8

# This run gets a signal in the middle of its solve of this number, and tells how many it began.
STOPPED = """
import os, signal, sys
from trellis.solve.bound import BoundSolver
from trellis.commands.cli import main
from trellis.ground.compiled_core import load
solve, begun = BoundSolver.propagator, 0
number, last, rank = getattr(signal, sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
def propagator(*arguments, **options):
    global begun
    begun += 1
    if begun == last and load().rank() == rank:
        os.kill(os.getpid(), number)
    return solve(*arguments, **options)
BoundSolver.propagator = propagator
sys.argv = ["trellis", "measure", "run.toml", "--resume"]
try:
    main()
finally:
    if load().rank() == 0:
        print("solves begun:", begun)
"""


def stopped(folder: Path, solve: int, signal: str = "SIGTERM", rank: int = 0, status: int = 3) -> str:
    """Return the output of a run that gets a signal in its solve of this number, if it begins so many."""
    launcher = command(ranks=rank + 1)[: -len(command())]
    found = subprocess.run(
        [*launcher, sys.executable, "-c", STOPPED, signal, str(solve), str(rank)],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert found.returncode == status, found.stderr
    assert "Traceback" not in found.stderr
    return found.stdout + found.stderr


def correlators(folder: Path) -> dict[str, bytes]:
    found = {}
    for path in sorted(folder.glob("out/correlators.*.h5")):
        with h5py.File(path) as file:
            for name in [*file["correlators"]]:
                found[f"{path.name} {name}"] = file[f"correlators/{name}"][()].tobytes()
            found[f"{path.name} flow"] = file["flow/energy_clover"][()].tobytes()
    return found


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make two configurations, and their results of a run that nothing stops."""
    folder = tmp_path_factory.mktemp("plain")
    for number in (1, 2):
        tr.weak_field((4, 4, 4, 4), seed=number).write(folder / f"field.{number}.ildg")
    (folder / "run.toml").write_text(SEVERAL_SOLVES)
    run("measure", "run.toml", cwd=folder)
    return folder


@pytest.mark.parametrize(
    ("solve", "signal", "rank", "words", "saved"),
    [
        (1, "SIGTERM", 0, "in configuration 1, of which 1 propagator is saved; saved of this run: 0", 0),
        (3, "SIGTERM", 0, "in configuration 1, of which 2 propagators are saved; saved of this run: 0", 0),
        (5, "SIGINT", 0, "in configuration 1, of which 1 of 2 sources are saved; saved of this run: 0", 0),
        (SOLVES, "SIGTERM", 0, "before configuration 2; saved of this run: 1 configurations", 1),
        (SOLVES + 6, "SIGTERM", 0, "in configuration 2, of which 1 of 2 sources are saved; saved of this", 1),
        (SOLVES + 2, "SIGTERM", 1, "another rank was asked to stop: stopped in configuration 2", 1),
    ],
)
def test_a_stop_waits_for_one_solve(
    plain: Path, tmp_path: Path, solve: int, signal: str, rank: int, words: str, saved: int
) -> None:
    """No further solve begins, nothing half is saved, and --resume gives the bits of a plain run."""
    for path in [*plain.glob("field.*"), plain / "run.toml"]:
        shutil.copy2(path, tmp_path)
    said = stopped(tmp_path, solve, signal, rank)
    assert words in said
    assert f"solves begun: {solve}\n" in said
    answer = "the run stops after the solve in hand; Ctrl-C once more ends that, too\n"
    assert (answer in said) == (signal == "SIGINT")
    assert len(list(tmp_path.glob("out/correlators.*.h5"))) == saved
    assert not list(tmp_path.glob("out/*.partial"))
    resume(tmp_path)
    assert correlators(tmp_path) == correlators(plain)


@pytest.fixture
def begun(plain: Path, tmp_path: Path) -> Path:
    """Make a run that was killed in the second source of its first configuration."""
    for path in [*plain.glob("field.*"), plain / "run.toml"]:
        shutil.copy2(path, tmp_path)
    stopped(tmp_path, SOLVES // 2 + 2, "SIGKILL", status=-9)
    assert [path.name for path in tmp_path.glob("out/correlators.*")] == ["correlators.000001.unfinished"]
    return tmp_path


@pytest.mark.parametrize("rank", [0, 1])
def test_finished_sources_survive_a_kill(plain: Path, begun: Path, rank: int) -> None:
    """Finished sources are not solved again, on any number of ranks, and the results have the same bits; nor
    is the propagator of the source in hand that was stored."""
    said = stopped(begun, 0, rank=rank, status=0)
    assert "configuration 1: 1 sources are done already" in said
    assert f"solves begun: {2 * SOLVES - SOLVES // 2 - 1}\n" in said
    assert correlators(begun) == correlators(plain)
    assert not list(begun.glob("out/*.unfinished"))
    with (
        h5py.File(begun / "out/correlators.000001.h5") as new,
        h5py.File(plain / "out/correlators.000001.h5") as old,
    ):
        assert (new["solves/iterations"][()] == old["solves/iterations"][()]).all()


def test_a_run_that_does_not_go_on_leaves_finished_sources_alone(begun: Path) -> None:
    found = run("measure", "run.toml", cwd=begun, status=1)
    assert "out has some sources of configuration 1; go on with --resume" in found.stderr
    text = (begun / "run.toml").read_text()
    (begun / "run.toml").write_text(text.replace("csw = 1.0", "csw = 1.5"))
    assert "unfinished: fermion.csw = 1.0 before and 1.5 now; a changed run needs" in resume(begun, status=1)
    (begun / "run.toml").write_text(text)
    replace(begun / "field.1.ildg", seed=5)
    said = resume(begun, status=1)
    assert "field.1.ildg was replaced since out/correlators.000001.unfinished was measured" in said
    assert "expected scidac_a=" in said
    assert len(list(begun.glob("out/*.unfinished"))) == 1


def test_stored_propagators_of_another_run(plain: Path, begun: Path) -> None:
    """Propagators of another run are neither used nor replaced, and those that are damaged are named."""
    (begun / "out/correlators.000001.unfinished").unlink()
    assert "out has propagators of configuration 1; go on with --resume" in (
        run("measure", "run.toml", cwd=begun, status=1).stderr
    )
    path, text = begun / "out/propagator.000001.0.h5", (begun / "run.toml").read_text()
    before = path.read_bytes()
    for old, new, words in (
        ("csw = 1.0", "csw = 1.5", "found csw = 1.0, not 1.5; move it away, and --resume"),
        (
            "[source]",
            "[solver]\nmax_iterations = 99\n[source]",
            "solver.max_iterations: expected 99, found 10000",
        ),
    ):
        (begun / "run.toml").write_text(text.replace(old, new))
        assert words in resume(begun, status=1)
        assert path.read_bytes() == before
    (begun / "run.toml").write_text(text)
    path.write_bytes(before[:-5000])
    said = resume(begun, status=1)
    assert "out/propagator.000001.0.h5" in said
    assert "move it away, and --resume solves for it again" in said
    path.unlink()
    resume(begun)
    assert correlators(begun) == correlators(plain)


@pytest.mark.parametrize("damage", [lambda b: b[:-30], lambda b: b[:300] + bytes(8) + b[308:], lambda b: b""])
def test_damaged_files_of_sources_are_of_no_use(plain: Path, begun: Path, damage: Callable) -> None:
    """All sources are measured, and the run says why."""
    path = begun / "out/correlators.000001.unfinished"
    path.write_bytes(damage(path.read_bytes()))
    said = resume(begun)
    assert "unfinished: expected an archive of measured sources, found something else" in said
    assert correlators(begun) == correlators(plain)


def test_a_kill_right_behind_a_result(begun: Path) -> None:
    """The file with the sources of an unfinished configuration is removed."""
    left = begun / "out/correlators.000001.unfinished"
    content = left.read_bytes()
    resume(begun)
    left.write_bytes(content)
    assert "2 of 2 configurations are done already" in resume(begun)
    assert not left.exists()
