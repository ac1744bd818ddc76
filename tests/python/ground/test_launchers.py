"""These tests cover processes that a launcher started, by its environment; those that MPI does not know;
numbers of threads."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from campaign_tools import machine, write
from campaign_tools import run as run_campaign
from command_line import environment, run

from trellis.ground import launched_ranks as launchers
from trellis.ground.compiled_core import load

ROOT = Path(__file__).absolute().parents[3]
FIELD = ROOT / "tests" / "data" / "small.ildg"
SEVERAL = "processes were started together, but "


@pytest.fixture(autouse=True)
def _no_launcher(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (launchers.SINGLETONS, *(name for pair in launchers.VARIABLES for name in pair)):
        monkeypatch.delenv(name, raising=False)


def test_the_compiled_part_knows_the_same_launchers() -> None:
    assert load().launcher_variables() == list(launchers.VARIABLES)


def test_the_innermost_launcher_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    def found() -> tuple[int, int]:
        return launchers.launched_ranks(), launchers.launched_rank()

    assert found() == (1, 0)
    monkeypatch.setenv("SLURM_NTASKS", "8")  # this is an allocation
    monkeypatch.setenv("SLURM_PROCID", "0")
    assert found() == (1, 0)
    for count, (size, number) in enumerate(reversed(launchers.VARIABLES), start=4):
        monkeypatch.setenv(size, str(count))
        monkeypatch.setenv(number, "2")
        assert found() == (count, 2)
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "1")
    assert found() == (1, 0)
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "4")
    monkeypatch.setenv(launchers.SINGLETONS, "1")
    assert found() == (1, 0)


@pytest.mark.parametrize("pair", launchers.VARIABLES)
def test_processes_that_mpi_does_not_know_are_refused(tmp_path: Path, pair: tuple[str, str]) -> None:
    size, number = pair
    started = {size: "4", number: "0"}
    failed = run("info", FIELD, cwd=tmp_path, status=1, **started)
    assert failed.stderr.startswith(f"error: 4 {SEVERAL}")
    assert failed.stderr.count("\n") == 1
    assert "TRELLIS_SINGLETONS=1" in failed.stderr or load().communicator_name() != "MPI"
    assert failed.stdout == ""


def test_processes_that_work_each_for_itself(tmp_path: Path) -> None:
    """The last of four processes prints what it finds; one that mpirun started alone inside four tasks does
    so, too."""
    last = {"PMI_SIZE": "4", "PMI_RANK": "3"}
    failed = run("info", FIELD, cwd=tmp_path, status=1, **last)
    assert f"error (rank 3): 4 {SEVERAL}" in failed.stderr
    assert "plaquette" in run("info", FIELD, "--json", cwd=tmp_path, TRELLIS_SINGLETONS="1", **last).stdout
    inside = {"SLURM_STEP_NUM_TASKS": "4", "SLURM_PROCID": "3"}
    alone = {"OMPI_COMM_WORLD_SIZE": "1", "OMPI_COMM_WORLD_RANK": "0"}
    assert "plaquette" in run("info", FIELD, "--json", cwd=tmp_path, **inside, **alone).stdout
    allocated = {"SLURM_NTASKS": "4", "SLURM_NPROCS": "4", "SLURM_PROCID": "0", "SLURM_JOB_ID": "7"}
    assert "plaquette" in run("info", FIELD, "--json", cwd=tmp_path, **allocated).stdout
    run("info", "--help", cwd=tmp_path, **last)


def test_numbers_of_launchers_that_are_none(tmp_path: Path) -> None:
    failed = run("info", FIELD, cwd=tmp_path, status=1, PMI_SIZE="4294967298", PMI_RANK="0")
    assert "error: PMI_SIZE: expected a whole number from 1 on, found 4294967298\n" in failed.stderr
    failed = run("info", FIELD, cwd=tmp_path, status=1, TRELLIS_SINGLETONS="yes")
    assert "error: TRELLIS_SINGLETONS: expected a whole number from 0 to 1, found yes\n" in failed.stderr
    for size, number in launchers.VARIABLES:
        failed = run("info", FIELD, cwd=tmp_path, status=1, **{size: "four", number: "0"})
        assert failed.stderr == f"error: {size}: expected a whole number from 1 on, found four\n"


FROM_A_NOTEBOOK = """
import os, subprocess, trellis as tr
tr.cold((4, 4, 4, 4)).plaquette
print(os.listdir(os.environ["OMPI_MCA_orte_tmpdir_base"]), flush=True)
subprocess.run(["mpirun", "-n", "2", "echo", "hello"], check=True)
"""


@pytest.mark.skipif(load().communicator_name() != "MPI", reason="a build without MPI starts no mpirun")
def test_a_process_of_its_own_leaves_no_trace_of_mpi(tmp_path: Path) -> None:
    """A process of its own leaves no folder that it shares with others, and nothing that an mpirun that it
    starts would inherit."""
    words = [sys.executable, "-c", FROM_A_NOTEBOOK]
    variables = environment(OMPI_MCA_orte_tmpdir_base=str(tmp_path))
    found = subprocess.run(words, env=variables, capture_output=True, text=True, check=False)
    assert (found.returncode, found.stdout) == (0, "[]\nhello\nhello\n"), found.stderr


def test_mpirun_inside_a_job_step(tmp_path: Path) -> None:
    """There are two ranks of mpirun, in the environment of the last of three tasks."""
    inside = {"SLURM_STEP_NUM_TASKS": "3", "SLURM_PROCID": "2"}
    found = run("doctor", "--quick", "--json", cwd=tmp_path, ranks=2, **inside)
    assert json.loads(found.stdout)["parallel"]["ranks"] == 2


@pytest.mark.parametrize("pair", launchers.VARIABLES)
def test_tasks_of_a_campaign_are_none_of_the_managers_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pair: tuple[str, str]
) -> None:
    """The manager is the last of four tasks of a job step, say, and starts programs as its children."""
    size, number = pair
    monkeypatch.setenv(size, "4")
    monkeypatch.setenv(number, "3")
    words = json.dumps([sys.executable, "-m", "trellis", "info", str(FIELD), "--json"])
    task = f'[[task]]\nname = "t"\ncommand = {words}\n'
    path = write(tmp_path, task)
    (tmp_path / "work").mkdir(exist_ok=True)
    monkeypatch.chdir(tmp_path)
    found = run_campaign(path, machine())
    assert found.counts["done"] == 1
    [log] = tmp_path.rglob("logs/*.log")
    assert "plaquette" in log.read_text()


@pytest.mark.parametrize("threads", ["99999999999", "4294967298", "1000", "0", "-2", "two", "2,4294967298"])
def test_threads_of_the_environment(tmp_path: Path, threads: str) -> None:
    """OpenMP's runtime takes the first two modulo 2^32: it reads 1215752191 and 2."""
    failed = run("doctor", "--quick", cwd=tmp_path, status=1, OMP_NUM_THREADS=threads)
    cores = os.cpu_count()
    assert (
        f"error: OMP_NUM_THREADS: expected a whole number from 1 to {8 * (cores or 1)} "
        f"(this machine has {cores} cores), found {threads}\n"
    ) in failed.stderr


def test_threads_of_nested_loops(tmp_path: Path) -> None:
    found = run("doctor", "--quick", "--json", cwd=tmp_path, OMP_NUM_THREADS="2,1")
    assert json.loads(found.stdout)["parallel"]["threads_per_rank"] == 2


def test_programs_in_python_are_refused_too(tmp_path: Path) -> None:
    program = "import trellis\ntrellis.rank()\n"
    ended = subprocess.run(
        [sys.executable, "-c", program],
        env=environment(PMI_SIZE="2", PMI_RANK="1"),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert ended.returncode == 1
    assert f"NotAvailable: 2 {SEVERAL}" in ended.stderr


def test_open_mpi_jobs_of_tests_share_a_folder_that_stays(open_mpi_folder: Path, tmp_path: Path) -> None:
    """Once, a job that ended last removed the folder in which another job made its own."""
    if (launcher := shutil.which("mpirun")) is None:
        pytest.skip("this machine has no mpirun")
    words = [launcher, "-n", "1", "printenv", "OMPI_MCA_orte_top_session_dir"]
    found = subprocess.run(
        words, cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False
    )
    if found.returncode != 0:
        pytest.skip("this mpirun is not that of Open MPI 4")
    used = Path(found.stdout.strip())
    assert used.parent == open_mpi_folder
    assert (used / "stays").is_dir()
