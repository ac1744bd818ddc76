"""These tests cover batch jobs of Slurm, PBS and LSF: scripts, the words of a site, and campaigns in false
PBS and LSF."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from campaign_tools import run, write
from false_batch import install, wait_for_jobs
from typer.testing import CliRunner

from trellis.campaign.allocations import batch_script, submit
from trellis.campaign.batch import Batch
from trellis.campaign.batch_systems import SYSTEMS
from trellis.campaign.files import load_campaign, load_machine, machine_names, parse_machine
from trellis.commands.cli import app
from trellis.errors import BadArgument, Error, NotAvailable

MACHINE = """
[machine]
name = "m"
launcher = "{launcher}"
settle = 0
[[nodes]]
count = 2
cpus = 2
gpus = {gpus}
[allocation]
length = "1h"
{batch}
"""
TASKS = """
[[task]]
name = "t{i}"
over = { i = "0..1" }
command = "echo $FROM_PROLOGUE $INSIDE > {output}"
outputs = ["o{i}"]
"""


def machine_of(batch: str = "", launcher: str = "process", gpus: int = 0):
    return parse_machine(MACHINE.format(batch=f"[batch]\n{batch}", launcher=launcher, gpus=gpus))


def script_of(folder: Path, batch: str, *, options: list[str] | None = None, nodes: int | None = None) -> str:
    path = write(folder, TASKS)
    machine = machine_of(batch, gpus=1)
    return batch_script(load_campaign(path), path, machine, "m.toml", options=options, nodes=nodes)


def heads(text: str, word: str) -> list[str]:
    return [line.removeprefix(f"#{word} ") for line in text.splitlines() if line.startswith(f"#{word} ")]


WORDS = 'account = "a1"\npartition = "p1"\nconstraint = "c1"\n'


def test_the_words_of_slurm(tmp_path: Path) -> None:
    text = script_of(tmp_path, f'{WORDS}qos = "q1"\noptions = ["--exclusive"]', options=["--mem=0"], nodes=1)
    found = heads(text, "SBATCH")
    assert found[:4] == ["--job-name=trellis-c", "--nodes=1", "--no-kill", "--no-requeue"]
    more = ["--time=60", "--account=a1", "--partition=p1", "--qos=q1", "--constraint=c1", "--gres=gpu:1"]
    assert found[6:] == [*more, "--exclusive", "--mem=0"]
    assert "--gpus-per-node=1" in script_of(tmp_path, 'gpu_option = "gpus-per-node"')
    assert "gpu" not in "".join(heads(script_of(tmp_path, 'gpu_option = "none"'), "SBATCH"))


def test_the_words_of_pbs(tmp_path: Path) -> None:
    found = heads(script_of(tmp_path, f'system = "pbs"\n{WORDS}', options=["-lfilesystems=home"]), "PBS")
    assert found == [
        "-N trellis-c",
        "-l select=2:ncpus=2:mpiprocs=1:ngpus=1:c1",
        "-l place=scatter:excl",
        "-l walltime=01:00:00",
        "-r n",
        "-j oe",
        f"-o {tmp_path}/work/c.state",
        "-A a1",
        "-q p1",
        "-lfilesystems=home",
    ]


def test_the_words_of_lsf(tmp_path: Path) -> None:
    found = heads(script_of(tmp_path, f'system = "lsf"\n{WORDS}', options=["-alloc_flags smt4"]), "BSUB")
    assert found == [
        "-J trellis-c",
        "-n 4",
        '-R "span[ptile=2]"',
        "-x",
        "-rn",
        "-W 60",
        f"-o {tmp_path}/work/c.state/allocation.%J.log",
        '-gpu "num=1/host"',
        '-R "select[c1]"',
        "-P a1",
        "-q p1",
        "-alloc_flags smt4",
    ]


@pytest.mark.parametrize(
    ("batch", "options", "message"),
    [
        ("", ["-p gpu"], "not an option of sbatch: '-p gpu'; write --name=value"),
        ('system = "pbs"', ["--time=3"], "not an option of qsub"),
        ('system = "lsf"', ["x\n#BSUB -x"], "not an option of bsub"),
        ('system = "pbs"\nqos = "high"', [], r"batch\.qos: PBS knows none; found 'high'"),
    ],
)
def test_words_that_a_system_does_not_know(
    tmp_path: Path, batch: str, options: list[str], message: str
) -> None:
    with pytest.raises(BadArgument, match=message):
        script_of(tmp_path, batch, options=options)


def test_what_is_refused(tmp_path: Path, monkeypatch) -> None:
    with pytest.raises(BadArgument, match="machine m has 1 to 2 nodes; found 3"):
        script_of(tmp_path, "", nodes=3)
    with pytest.raises(Error, match=r"batch\.system.*'sge'"):
        machine_of('system = "sge"')
    path = write(tmp_path, TASKS)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(
        NotAvailable, match=r"no qsub, qselect, qdel here: the batch system.*'pbs'; --dry-run"
    ):
        submit(load_campaign(path), path, machine_of('system = "pbs"'), "m.toml")
    with pytest.raises(NotAvailable, match="not inside a PBS job"):
        run(
            path,
            machine_of(launcher="pbs", batch='system = "pbs"\n[launcher_options]\ncommand = ["/bin/env"]'),
        )


@pytest.mark.parametrize(
    ("system", "script_goes_in", "successor"),
    [
        ("pbs", "qsub -V -N trellis-c-", "-W depend=afterany:101.server"),
        ("lsf", "bsub -J trellis-c-", "-w ended(101)"),
    ],
)
def test_a_chain_of_jobs(
    tmp_path: Path, monkeypatch, system: str, script_goes_in: str, successor: str
) -> None:
    """The first job submits its successor, runs the campaign on the job's nodes and cancels the successor."""
    here = install(tmp_path, monkeypatch)
    modules = tmp_path / "modules/init/bash"
    modules.parent.mkdir(parents=True)
    modules.write_text(f'module() {{ echo "$*" >> {tmp_path}/modules/loaded; }}\n')
    monkeypatch.setenv("MODULESHOME", str(tmp_path / "modules"))
    monkeypatch.delenv("LMOD_PKG", raising=False)
    batch = (
        f'system = "{system}"\nmodules = ["gcc/13", "openmpi"]\nprologue = ["export FROM_PROLOGUE=yes"]\n'
        'container = ["env", "INSIDE=container"]\n'
    )
    path = write(tmp_path, TASKS)
    machine_file = tmp_path / "machine.toml"
    machine_file.write_text(MACHINE.format(batch=f"[batch]\n{batch}", launcher=system, gpus=0))
    words = ["campaign", "submit", str(path), "--machine", str(machine_file), "--allocations", "2", "--json"]
    found = CliRunner().invoke(app, words)
    assert found.exit_code == 0, found.output
    assert json.loads(found.stdout)["job"].startswith("101")
    wait_for_jobs(here, 2)
    asked = (here / "asked").read_text()
    first, second = (line for line in asked.splitlines() if line.startswith(("qsub", "bsub")))
    assert first.startswith(script_goes_in)
    assert successor in second
    assert [path.name.split(".")[1] for path in here.glob("cancelled.*")] == ["102"]
    for i in range(2):
        assert (tmp_path / f"work/o{i}").read_text() == "yes container\n"
    launched = sorted(line.split()[3] for line in (here / "mpirun.words").read_text().splitlines())
    assert launched == ["n1:1", "n1:1"], "the names of the job's nodes, not those of the file"
    loaded = (tmp_path / "modules/loaded").read_text()
    assert set(loaded.splitlines()) == {"load gcc/13 openmpi"}
    state = tmp_path / "work/c.state"
    counts = [json.loads(path.read_text())["tasks"] for path in state.glob("allocation.101*.json")]
    assert counts == [{"done": 2}]


def test_a_job_without_its_modules_has_no_successor(tmp_path: Path, monkeypatch) -> None:
    here = install(tmp_path, monkeypatch)
    text = script_of(tmp_path, 'system = "lsf"\nmodules = ["nowhere/1"]')
    (tmp_path / "init").mkdir()
    (tmp_path / "init/bash").write_text("module() { return 1; }\n")
    Path(load_campaign(tmp_path / "campaign.toml").state).mkdir(parents=True)
    environment = {**os.environ, "LSB_JOBID": "7", "TRELLIS_ALLOCATIONS_LEFT": "3", "LMOD_PKG": str(tmp_path)}
    ended = subprocess.run(["bash", "-c", text], env=environment, capture_output=True, text=True)
    assert ended.returncode == 1
    assert "no campaign: these modules could not be loaded: nowhere/1" in ended.stderr
    assert (here / "asked").read_text() == ""


def test_a_system_that_says_nothing_of_a_name() -> None:
    assert SYSTEMS["slurm"].job_in("7;cluster") == "7"
    assert SYSTEMS["pbs"].job_in("notice\n12.server") == "12.server"
    assert SYSTEMS["lsf"].job_in("Job <12> is submitted to default queue <normal>.") == "12"
    for system, answer in (("slurm", "no"), ("pbs", "qsub: would exceed limit"), ("lsf", "Request aborted")):
        assert SYSTEMS[system].job_in(answer) is None


def test_stages_run_by_the_interpreter_of_the_container() -> None:
    batch = Batch(container=("apptainer", "exec", "t.sif"))
    words = ("apptainer", "exec", "t.sif", "python3", "-m", "trellis")
    assert batch.inside_container([sys.executable, "-m", "trellis"]) == words
    assert batch.inside_container(["sh", "-c", "true"])[3:] == ("sh", "-c", "true")
    assert Batch().inside_container(["a"]) == ("a",)


CLUSTERS = {
    "perlmutter": (64, 4),
    "frontier": (56, 8),
    "lumi_g": (56, 8),
    "lumi_c": (128, 0),
    "juwels_booster": (48, 4),
    "leonardo": (32, 4),
    "marenostrum5": (80, 4),
}


@pytest.mark.parametrize(("name", "node"), CLUSTERS.items())
def test_dry_run_on_the_clusters_that_come_with_it(tmp_path: Path, name: str, node: tuple[int, int]) -> None:
    machine = load_machine(name)
    assert name in machine_names()
    assert {(n.cpus, len(n.gpus)) for n in machine.nodes} == {node}
    path = write(tmp_path, TASKS)
    words = ["campaign", "submit", str(path), "--machine", name, "--dry-run", "--nodes", "2"]
    found = CliRunner().invoke(app, words)
    assert found.exit_code == 0, found.output
    assert found.stdout.startswith("#!/bin/bash\n#SBATCH --job-name=trellis-c\n#SBATCH --nodes=2\n")
    assert subprocess.run(["bash", "-n"], input=found.stdout, text=True).returncode == 0
    assert not (tmp_path / "work").exists(), "nothing is written"


def test_events_are_lines_of_json(tmp_path: Path) -> None:
    path = write(
        tmp_path, TASKS + '[[task]]\nname = "bad"\ncommand = "echo why; false"\nretries = { task = 0 }\n'
    )
    assert run(path).counts == {"done": 2, "failed": 1}
    (file,) = (tmp_path / "work/c.state/events").glob("*.jsonl")
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert lines[0]["event"] == "started"
    assert (lines[0]["tasks"], lines[0]["machine"], lines[0]["campaign"]) == (3, "m", "c")
    assert {line["manager"] for line in lines} == {file.stem}
    assert [line["time"] for line in lines] == sorted(line["time"] for line in lines)
    started = {line["task"]: line for line in lines if line["event"] == "attempt-started"}
    assert set(started) == {"t0", "t1", "bad"}
    assert started["t0"]["group"] == "t"
    assert started["t0"]["nodes"] in (["n1"], ["n2"])
    ended = {line["task"]: line for line in lines if line["event"] == "attempt-ended"}
    assert (ended["t1"]["outcome"], ended["t1"]["status"]) == ("done", 0)
    assert ended["bad"]["outcome"] == "task"
    assert Path(ended["bad"]["log"]).read_text() == "why\n"
    assert lines[-1]["event"] == "tasks"
    assert (lines[-1]["done"], lines[-1]["failed"]) == (2, 1)


def test_monitors_are_no_reason_to_end(tmp_path: Path) -> None:
    said: list[str] = []
    path = write(tmp_path, TASKS)
    state = Path(load_campaign(path).state)
    state.mkdir(parents=True)
    (state / "events").write_text("a file stands where the folder should be")
    assert run(path, say=said.append).counts == {"done": 2}
    assert sum("monitors outside will miss events" in line for line in said) == 1
