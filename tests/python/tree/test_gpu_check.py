"""These tests run tools/gpu_check_run.sh with small programs in the place of the real ones: it tells of those
that fail, hang or skip, and runs the others. CI runs the real programs on a simulated GPU."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]

SETTINGS = """revision=abc packed=today simulated=
small=4 large= further= glass=8
"""
#: The program prints a result, and then does what the section's name stands for.
BENCH = r"""#!/usr/bin/env bash
printf '### %s\n| kernel | us |\n|---|---|\n| %s | 1.5 |\n{"section": "%s", "us": 1.5}\n' $1 $1 $1
echo "{\"cut off"
case $1 in
  solves) echo 'it says "why" \ here'; exit 3 ;;
  algebra) sleep 60 ;;
  gauge) kill -SEGV $$ ;;
esac
"""
TESTS = r"""#!/usr/bin/env bash
case $1 in
  --gtest_list_tests) printf 'Cuda.\n  loops\n  charges\n'; exit ;;
  *charges) printf '[ RUN      ] Cuda.charges\ntest.cpp:1: Skipped\nno GPU: none is here\n'
            printf '[  SKIPPED ] Cuda.charges\n'
            printf '[  PASSED  ] 0 tests.\n'; exit ;;
esac
printf '[ RUN      ] Cuda.loops\nplaquette: same bits\nrectangle: differs by 1e-15\n'
printf '[       OK ] Cuda.loops (1 ms)\n'
printf '[  PASSED  ] 1 test.\n'
[ "$OMPI_COMM_WORLD_SIZE" != 4 ] || { printf '[  FAILED  ] Cuda.halos (3 ms)\n'; exit 1; }
"""
LAUNCHER = r"""#!/usr/bin/env bash
OMPI_COMM_WORLD_SIZE=$2 exec "${@:3}"
"""
SANITIZER = r"""#!/usr/bin/env bash
while [ "$1" != env ]; do shift; done
exec "$@"
"""
#: The program prints a table of two launches behind what it prints; the second line has the units.
COUNTER = r"""#!/usr/bin/env bash
case "$*" in
  *"--metrics gpu__time_duration.sum,"*"gpu_bench counters 30 4") ;;
  *) echo "unexpected: $*"; exit 1 ;;
esac
echo '==PROF== Connected'
printf '"ID","Kernel Name","Grid Size","Block Size","dram__bytes.sum","gpu__time_duration.sum"\n'
printf '"","","","","Mbyte","us"\n'
printf '"0","void trellis::cuda::site_kernel<Hop<1, 2>>(T1)","(64, 1, 1)","(128, 1, 1)","1.5","4.25"\n'
printf '"1","void trellis::Sum(T1, T2)","(8, 1, 1)","(64, 1, 1)","2,5","6"\n'
"""
NVIDIA_SMI = r"""#!/usr/bin/env bash
case $1 in
  *power.limit*) echo 'Field "power.limit" is not a valid field to query.'; exit 2 ;;
esac
printf 'name, clocks.current.sm [MHz]\nSome GPU, 1980 MHz\n'
"""
PROBE = r"""#!/usr/bin/env bash
printf '### probe\n| probe | value |\n|---|---|\n| copy | 3000 |\n'
printf '{"section": "probe", "probe": "copy", "libraries": "%s"}\n' "$LD_LIBRARY_PATH"
"""


def make_pack(folder: Path) -> Path:
    """Write the script that runs a pack of the small programs."""
    pack = folder / "trellis-gpu-check"
    (pack / "bin").mkdir(parents=True)
    shutil.copy(ROOT / "tools" / "gpu_check_run.sh", pack / "run")
    (pack / "settings").write_text(SETTINGS)
    programs = {"gpu_bench": BENCH, "test_cuda": TESTS, "mpirun": LAUNCHER, "gpu_probe": PROBE}
    programs |= {"compute-sanitizer": SANITIZER, "nvidia-smi": NVIDIA_SMI, "ncu": COUNTER}
    for name, text in programs.items():
        (pack / "bin" / name).write_text(text)
        (pack / "bin" / name).chmod(0o755)
    (pack / "run").chmod(0o755)
    return pack / "run"


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> tuple[int, dict, str]:
    """Return exit status, results.json and table.md of a run in which a step of each kind goes wrong."""
    program = make_pack(tmp_path_factory.mktemp("pack"))
    results = program.parent / "results"
    run = subprocess.run(
        [program, results],
        env={
            "PATH": f"{program.parent}/bin:/usr/bin:/bin",
            "LD_LIBRARY_PATH": "/driver",
            "GPU_CHECK_STEP_SECONDS": "3",
        },
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert run.stderr == ""
    assert {f.name for f in results.iterdir()} == {"results.json", "table.md", "log.txt"}
    table = (results / "table.md").read_text()
    assert table in run.stdout
    return run.returncode, json.loads((results / "results.json").read_text()), table


def test_what_goes_wrong_ends_its_own_step_only(outcome: tuple[int, dict, str]) -> None:
    status, results, table = outcome
    steps = {step["name"]: step for step in results["steps"]}
    wrong = {name: step["remark"] for name, step in steps.items() if step["result"] == "failed"}
    assert wrong == {
        "solves": "status 3",
        "algebra": "stopped after 3 s",
        "gauge": "status 139",
        "test charges": "skipped: no GPU: none is here",
        "tests, 4 processes": "status 1",
    }
    assert status == 1
    assert results["failed_steps"] == len(wrong)
    assert 'it says "why" \\ here' in steps["solves"]["tail"]
    for name in (
        "hops",
        "trajectory",
        "measurements",
        "glass",
        "multigrid",
        "counters",
        "probe",
        "test loops",
        "tests, 2 processes",
        "halos",
        "halos, 2 processes",
        "memcheck",
    ):
        assert steps[name]["result"] == "ok", name
    for name in (
        "hops, large lattice",
        "solves, large lattice",
        "multigrid, large lattice",
        "hops, further lattices",
    ):
        assert (steps[name]["result"], steps[name]["remark"]) == ("not run", "it is for a real GPU"), name
    assert table.count('it says "why" \\ here') == 1


def test_results_of_steps_that_fail_are_kept(outcome: tuple[int, dict, str]) -> None:
    _, results, table = outcome
    sections = [line["section"] for line in results["results"]]
    assert sections[:11] == [
        "probe",
        "hops",
        "solves",
        "halos",
        "halos",
        "algebra",
        "gauge",
        "trajectory",
        "measurements",
        "glass",
        "multigrid",
    ]
    for section in sections[1:11]:
        assert f"\n### {section}\n\n| kernel | us |\n|---|---|\n| {section} | 1.5 |\n" in table


def test_counters_of_launches_are_rows(outcome: tuple[int, dict, str]) -> None:
    _, results, table = outcome
    units, first, second = (row for row in results["results"] if row["section"] == "counters")
    assert units["gpu__time_duration.sum"] == "us"
    assert first["Kernel Name"] == "void cuda::site_kernel<Hop<1, 2>>(T1)"
    assert first["Grid Size"] == "(64, 1, 1)"
    assert (first["gpu__time_duration.sum"], second["gpu__time_duration.sum"]) == ("4.25", "6")
    assert second["dram__bytes.sum"] == "2,5"
    head = "| Kernel Name | Block Size | Grid Size | gpu__time_duration.sum | dram__bytes.sum |"
    assert f"\n### counters\n\n{head}\n|---|---|---|---|---|\n" in table


def run_parts(program: Path, results: Path, only: str) -> subprocess.CompletedProcess[str]:
    """Run a pack with GPU_CHECK_ONLY."""
    return subprocess.run(
        [program, results],
        env={"PATH": "/usr/bin:/bin", "GPU_CHECK_ONLY": only, "GPU_CHECK_STEP_SECONDS": "3"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_single_parts_can_be_run(tmp_path: Path) -> None:
    program = make_pack(tmp_path)
    run = run_parts(program, tmp_path / "results", "glass,tests2")
    assert run.returncode == 0, run.stderr
    steps = json.loads((tmp_path / "results" / "results.json").read_text())["steps"]
    assert [step["name"] for step in steps] == ["nvidia-smi", "tests, 2 processes", "glass"]
    refused = run_parts(program, tmp_path / "other", "glass,hop")
    assert refused.returncode == 2
    assert "multigrid" in refused.stderr
    assert "found 'hop'" in refused.stderr


def test_two_results_are_compared(tmp_path: Path) -> None:
    rows = [
        {"section": "hops", "kernel": "Wilson", "columns": 1, "us": 12.0, "to CPU": "same bits"},
        {"section": "hops", "kernel": "Wilson", "columns": 12, "us": 40.0},
        {"section": "solves", "solve": "CG", "iterations": 100, "seconds": 0.5},
    ]
    later = [rows[0] | {"us": 6.0, "to CPU": "1e-7"}, rows[2] | {"iterations": 90, "seconds": 1.0}]
    later.append({"section": "glass", "kernel": "heat bath", "us": 3.0})
    for name, results in (("old", rows), ("new", later)):
        (tmp_path / f"{name}.json").write_text(json.dumps({"revision": name, "results": results}))
    compare = [ROOT / "tools" / "gpu_check", "compare", "old.json"]
    run = subprocess.run([*compare, "new.json"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines() == [
        "| result | old | new | old / new |",
        "|---|---|---|---|",
        "| hops, Wilson, 1, us | 12 | 6 | 2 |",
        "| solves, CG, seconds | 0.5 | 1 | 0.5 |",
        "",
        "Only in the old results: hops, Wilson, 12.",
        "",
        "Only in the new results: glass, heat bath.",
    ]
    run = subprocess.run([*compare, "none"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert run.returncode == 2
    run = subprocess.run([*compare, "none.json"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert run.returncode == 2


def test_programs_find_a_driver_that_is_on_the_library_path(outcome: tuple[int, dict, str]) -> None:
    _, results, _ = outcome
    first, then = results["results"][0]["libraries"].split(":")[:2]
    assert first.endswith("/trellis-gpu-check/lib")
    assert then == "/driver"


def test_the_gpu_is_named_also_by_a_driver_that_does_not_know_all_fields(
    outcome: tuple[int, dict, str],
) -> None:
    _, results, table = outcome
    assert results["machine"]["name, at the start"] == "Some GPU"
    assert results["machine"]["clocks.current.sm [MHz], after the hops"] == "1980 MHz"
    assert "| name, at the start | Some GPU |\n" in table


def test_equal_bits_are_counted_for_each_number_of_processes(outcome: tuple[int, dict, str]) -> None:
    _, results, table = outcome
    one, two, four = results["tests"]
    assert (one["processes"], one["passed"], one["same_bits"], one["different_bits"]) == (1, 1, 1, 1)
    assert one["failed_or_different"] == ["charges", "rectangle: differs by 1e-15"]
    assert (two["processes"], two["passed"], two["same_bits"]) == (2, 1, 1)
    assert four["failed_or_different"] == ["Cuda.halos", "rectangle: differs by 1e-15"]
    assert "| 4 | 1 | 1 | 1 | 1 |\n" in table


def test_steps_without_time_are_named(tmp_path: Path) -> None:
    program = make_pack(tmp_path)
    settings = program.parent / "settings"
    settings.write_text(settings.read_text().replace("large= further=", "large=8 further=24"))
    run = subprocess.run(
        [program, tmp_path / "results"],
        env={"PATH": f"{program.parent}/bin:/usr/bin:/bin", "GPU_CHECK_SECONDS": "10"},
        capture_output=True,
        text=True,
        check=False,
    )
    steps = json.loads((tmp_path / "results" / "results.json").read_text())["steps"]
    assert {step["result"] for step in steps} == {"not run"}
    assert [step["name"] for step in steps] == [
        "nvidia-smi, at the start",
        "probe",
        "list of tests",
        "hops",
        "nvidia-smi, after the hops",
        "solves",
        "tests, 2 processes",
        "tests, 4 processes",
        "halos",
        "halos, 2 processes",
        "algebra",
        "gauge",
        "trajectory",
        "measurements",
        "glass",
        "multigrid",
        "counters",
        "memcheck",
        "hops, large lattice",
        "solves, large lattice",
        "multigrid, large lattice",
        "hops, further lattices",
    ]
    assert run.returncode == 1


def test_a_run_that_is_killed_leaves_what_it_knows(tmp_path: Path) -> None:
    program = make_pack(tmp_path)
    results = tmp_path / "results"
    environment = {"PATH": "/usr/bin:/bin", "GPU_CHECK_STEP_SECONDS": "3"}
    with subprocess.Popen([program, results], env=environment, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        for line in run.stdout:
            if line.startswith("== tests, 4 processes"):  # algebra, which hangs, is next
                run.kill()
    told = json.loads((results / "results.json").read_text())
    assert [step["name"] for step in told["steps"]][-1] == "tests, 4 processes"
    assert [line["section"] for line in told["results"]] == ["probe", "hops", "solves"]
    assert "### solves" in (results / "table.md").read_text()


@pytest.mark.parametrize("value", ["", "soon", "-5"])
def test_a_limit_that_is_no_number_is_refused(value: str) -> None:
    run = subprocess.run(
        [ROOT / "tools" / "gpu_check_run.sh"],
        env=os.environ | {"GPU_CHECK_SECONDS": value or "1.5"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 2
    assert "GPU_CHECK_SECONDS and GPU_CHECK_STEP_SECONDS are numbers of seconds" in run.stderr


def test_a_missing_pack_is_named(tmp_path: Path) -> None:
    run = subprocess.run(
        [ROOT / "tools" / "gpu_check", "run", "none.tar.gz"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 2
    assert f"there is no pack {tmp_path}/none.tar.gz" in run.stderr
