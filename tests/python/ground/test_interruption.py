"""Ctrl-C ends whatever the compiled part computes, on all ranks at one place, and work goes on after it."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

import h5py
import pytest
from command_line import command, environment, run, stream_content, write_run_file
from run_file_texts import level, measurement, trajectories

import trellis as tr

# These loops would last for hours. Each is begun on all ranks; then SIGINT comes to the last rank alone, or
# to all of them, one after the other.
PROGRAM = """
import json, os, signal, sys, threading, time
import numpy as np
import trellis as tr
from trellis.ground.compiled_core import load
from trellis.evolve.heatbath import HeatBath
from trellis.evolve.hmc import HMC, Level, gauge_monomial
from trellis.quarks.sources import point_source

which = sys.argv[1]
links = tr.weak_field((4, 4, 4, 8), seed=3)
M = tr.WilsonClover(links, mass=0.3, csw=1.0)
source = point_source(links.geometry, (0, 0, 0, 0))
solve = lambda: tr.cg(tolerance=1e-10)(M).propagator(source)
S = solve()
flow = tr.GradientFlow(links, step=1e-3)
U = links.copy()
slow = tr.mr(tolerance=1e-10, relaxation=1e-7, max_iterations=10**9, fallback=False)
hmc = HMC([Level("leapfrog", 10**9, [gauge_monomial(beta=5.6)])], seed=1)

def repeated(call):
    while True:
        call()

links.write("links.ildg")
values = links.to_numpy()
psi = np.ones((*values.shape[:4], 4, 3))

works = {
    "solve": lambda: slow(M).propagator(source),
    "flow": lambda: flow.advance(900),
    "heat bath": lambda: HeatBath(beta=6, seed=1, over_relaxation=10**9).sweep(U, 1),
    "trajectory": lambda: hmc.trajectory(U, 1),
    "smearing": lambda: links.stout(rho=0.01, steps=10**9),
    "contraction": lambda: repeated(lambda: tr.all_mesons(S, S)),
    "small calls": lambda: repeated(lambda: links.plaquette),
    # calls that sum nothing over ranks
    "operator": lambda: repeated(lambda: M(psi)),
    "reading": lambda: repeated(lambda: tr.read_gauge_field("links.ildg")),
    "links of an array": lambda: repeated(lambda: tr.GaugeField.from_numpy(values, links.geometry)),
    "source": lambda: tr.gaussian_source(links, (0, 0, 0, 0), width=1, steps=2**31 - 1),
    # searches, set-ups and updates that last for many steps of their own
    "low modes": lambda: repeated(lambda: tr.lanczos(M, count=8, tolerance=1e-12, allow_not_converged=True)),
    "multigrid": lambda: repeated(lambda: tr.multigrid(M, block=(2, 2, 2, 2), vectors=4)),
    "fat links": lambda: repeated(lambda: tr.HISQ(links, mass=0.1)),
    "domain wall": lambda: repeated(lambda: tr.cg(tolerance=1e-12)(
        tr.MoebiusDomainWall(links, mass=0.1, M5=1.8, Ls=4)).propagator(source)),
    "traces": lambda: repeated(
        lambda: tr.cg(tolerance=1e-12)(M).observables(n_f=2, vectors=4, seed=1, susceptibility=True)),
    "spins": lambda: repeated(lambda: spins.heat_bath([1.0], 1, 0, 1)),
    "over-relaxation of spins": lambda: spins.over_relax(2**31 - 1),
    "quenched": lambda: tr.quenched((4, 4, 4, 8), beta=6, seed=1, sweeps=10**9),
}
spins = load().SpinGlass(load().make_spin_lattice((4, 4, 4, 1), (0, 0, 0, 0)), "double", 1)
spins.draw_couplings("gaussian", 1, 0)
spins.randomise(1, 0)

sent = [0.0]

def send():
    sent[0] = time.monotonic()
    if which == "all" or tr.rank() == tr.ranks() - 1:
        os.kill(os.getpid(), signal.SIGINT)

lines = []
for name, work in works.items():
    tr.barrier()
    threading.Timer(0.3, send).start()
    try:
        work()
        ended = "went on"
    except KeyboardInterrupt as error:
        ended = str(error)
    lines.append({"name": name, "ended": ended, "steps": flow.steps, "time": flow.time,
                  "seconds": time.monotonic() - sent[0],
                  "same links": U.plaquette == links.plaquette})
same = bool((solve().to_numpy() == S.to_numpy()).all())
with open(f"told.{tr.rank()}", "w") as file:
    json.dump({"lines": lines, "same solution": same}, file)
"""


#: The stop button works within these seconds.
LATE = 2.0


def told(folder: Path, ranks: int, which: str, *, program: str = PROGRAM) -> list[dict[str, Any]]:
    """Run a program and return the report of each rank."""
    launcher = command(ranks=ranks)[: -len(command())]
    (folder / "program.py").write_text(program)
    found = subprocess.run(
        [*launcher, *command()[:1], "program.py", which],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert found.returncode == 0, found.stdout + found.stderr
    return [json.loads((folder / f"told.{rank}").read_text()) for rank in range(ranks)]


@pytest.mark.parametrize(("ranks", "which"), [(1, "last"), (2, "last"), (2, "all")])
def test_every_loop_ends_and_work_goes_on(tmp_path: Path, ranks: int, which: str) -> None:
    """Each rank raises KeyboardInterrupt, at the same step; links are as before, and a solve has its bits."""
    found = told(tmp_path, ranks, which)
    assert all(rank["same solution"] for rank in found)
    late = {
        line["name"]: line["seconds"] for rank in found for line in rank["lines"] if line["seconds"] > LATE
    }
    assert not late
    for number, one in enumerate(found[-1]["lines"]):
        lines = [rank["lines"][number] for rank in found]
        assert any(line["ended"] == "" for line in lines), lines
        assert all(line["same links"] for line in lines), lines
        assert len({(line["steps"], line["time"]) for line in lines}) == 1, lines
        if which == "last":
            assert one["ended"] == ""
            assert all(line["ended"] == "another rank was interrupted" for line in lines[:-1]), lines
    assert 0 < found[0]["lines"][1]["steps"] < 900_000


GENERATE = trajectories(
    integrator=[level(4, scheme="leapfrog")],
    trajectories={"total": 4, "keep_every": 4},
)
MEASURE = measurement(
    fermion={"type": "clover", "csw": 1.0},
    source={"positions": [[0, 0, 0, 0], [2, 2, 2, 2]]},
    correlators={"mesons": ["pion"]},
)
# A run has a third trajectory, or a second solve, that would last for hours; the first Ctrl-C waits for its
# end, and the second one does not.
RUN_FOR_HOURS = """
import os, signal, sys, threading, time
import trellis as tr
from trellis.solve.bound import BoundSolver
from trellis.commands.cli import main
from trellis.evolve.hmc import HMC, Level, gauge_monomial
kind = sys.argv[1]
begun = 0

def send_twice():
    for _ in range(2):
        time.sleep(0.4)
        os.kill(os.getpid(), signal.SIGINT)

def lasting(plain, place, work):
    def run(self, first, *arguments, **options):
        global begun
        begun += 1
        if begun != place:
            return plain(self, first, *arguments, **options)
        if tr.rank() == tr.ranks() - 1:
            threading.Thread(target=send_twice, daemon=True).start()
        return work(self, first)
    return run

slow = HMC([Level("leapfrog", 10**9, [gauge_monomial(beta=5.6)])], seed=1)
mr = tr.mr(tolerance=1e-10, relaxation=1e-7, max_iterations=10**9, fallback=False)
trajectory, propagator = HMC.trajectory, BoundSolver.propagator
HMC.trajectory = lasting(trajectory, 3, lambda self, U: trajectory(slow, U, 1))
BoundSolver.propagator = lasting(propagator, 2, lambda self, b: propagator(mr(self.operator), b))
sys.argv = ["trellis", kind, "run.toml"]
main()
"""


def interrupted(folder: Path, kind: str, ranks: int) -> None:
    """Begin a run, and give up waiting for its work in hand."""
    launcher = command(ranks=ranks)[: -len(command())]
    found = subprocess.run(
        [*launcher, *command()[:1], "-c", RUN_FOR_HOURS, kind],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert found.returncode == 130, found.stdout + found.stderr
    assert "error: interrupted" in found.stderr
    assert "Traceback" not in found.stderr


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make the same runs, which nothing stops."""
    folder = tmp_path_factory.mktemp("plain")
    for kind, text in (("generate", GENERATE), ("measure", MEASURE)):
        write_run_file(folder / kind, text)
        tr.weak_field((4, 4, 4, 4), seed=1).write(folder / kind / "field.1.ildg")
        run(kind, "run.toml", cwd=folder / kind)
    return folder


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_second_interruption_of_generate(plain: Path, tmp_path: Path, ranks: int) -> None:
    """The second interruption ends the trajectory in hand; those before are saved, and the run goes on bit
    for bit."""
    folder = write_run_file(tmp_path, GENERATE)
    interrupted(folder, "generate", ranks)
    assert (folder / "out" / "checkpoint.000002.json").exists()
    assert not list(folder.glob("out/*.partial"))
    found = json.loads(run("generate", "run.toml", "--json", cwd=folder).stdout)
    assert found["resumed_from"] == 2
    assert stream_content(folder) == stream_content(plain / "generate")


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_second_interruption_of_measure(plain: Path, tmp_path: Path, ranks: int) -> None:
    """The second interruption ends the solve in hand; the source before is not solved again, and results have
    the same bits."""
    folder = write_run_file(tmp_path, MEASURE)
    shutil.copy2(plain / "measure/field.1.ildg", folder)
    interrupted(folder, "measure", ranks)
    assert [path.name for path in folder.glob("out/*")] == ["correlators.000001.unfinished"]
    said = run("measure", "run.toml", "--resume", cwd=folder)
    assert "configuration 1: 1 sources are done already" in said.stdout + said.stderr
    pions = []
    for path in (folder, plain / "measure"):
        with h5py.File(path / "out/correlators.000001.h5") as file:
            pions.append(file["correlators/pion"][()].tobytes())
    assert pions[0] == pions[1]


DENSE = """
import json, os, signal, sys, threading, time
import trellis as tr

M = tr.WilsonClover(tr.weak_field((4, 4, 4, 2), seed=3), mass=0.3)
D = tr.dense(M)
before = D.log_det()
late, whole = {}, {}
works = {"eigenvalues": lambda: D.eigenvalues("M"), "traces": lambda: D.trace_inverse("gamma5")}
for name, work in works.items():
    tr.barrier()
    begin = time.monotonic()
    work()
    whole[name] = time.monotonic() - begin
    D._diagonal = None
    tr.barrier()
    sent = [0.0]

    def send():
        sent[0] = time.monotonic()
        if tr.rank() == tr.ranks() - 1:
            os.kill(os.getpid(), signal.SIGINT)

    threading.Timer(0.2, send).start()
    try:
        while True:
            work()
            D._diagonal = None
    except KeyboardInterrupt:
        late[name] = time.monotonic() - sent[0] if sent[0] else 0.0  # another rank was earlier
    time.sleep(0.5)
with open(f"told.{tr.rank()}", "w") as file:
    json.dump({"late": late, "whole": whole, "same": D.log_det() == before}, file)
"""


@pytest.mark.parametrize("ranks", [1, 2])
def test_dense_matrices_end_while_lapack_computes(tmp_path: Path, ranks: int) -> None:
    """LAPACK takes no signal: a process does its work, and ends with the wait for it on all ranks."""
    for rank in told(tmp_path, ranks, "last", program=DENSE):
        assert set(rank["late"]) == {"eigenvalues", "traces"}
        for name, late in rank["late"].items():
            # Other tests keep the cores busy: what is not ended takes nearly as long as the whole.
            assert late < max(LATE, rank["whole"][name] / 2), (name, rank)
        assert rank["same"]


FILES = """
import json, os, signal, sys, threading, time
import numpy as np
import trellis as tr

geometry = tr.Geometry((8, 8, 8, 64))
shape = (*geometry.local_extents[::-1], 4, 4, 3, 3)
S = tr.Propagator.from_numpy(np.ones(shape, complex), geometry, source_at=(0, 0, 0, 0), boundary=(1, 1, 1, 1))
U = tr.cold(geometry)
U.write("U.ildg")
S.write("S.h5")
S.write("S.lime")
kept = {name: os.stat(name).st_mtime_ns for name in ("U.ildg", "S.h5", "S.lime")}
ended = {}
for name, work in {
    "write ILDG": lambda: U.write("U.ildg"),
    "read ILDG": lambda: tr.read_gauge_field("U.ildg"),
    "write HDF5": lambda: S.write("S.h5"),
    "read HDF5": lambda: tr.read_propagator("S.h5"),
    "write SciDAC": lambda: S.write("S.lime"),
    "read SciDAC": lambda: tr.read_scidac_propagator("S.lime", geometry, source_at=(0, 0, 0, 0)),
}.items():
    tr.barrier()
    if tr.rank() == tr.ranks() - 1:  # the request waits when the call begins
        from trellis.ground.compiled_core import load
        load().request_stop()
    try:
        work()
        ended[name] = "went on"
    except KeyboardInterrupt:
        ended[name] = "ended"
tr.barrier()
left = sorted(name for name in os.listdir() if "partial" in name)
same = {name: os.stat(name).st_mtime_ns for name in kept} == kept
whole = tr.propagator_norm(tr.read_propagator("S.h5")).sum() == tr.propagator_norm(S).sum()
with open(f"told.{tr.rank()}", "w") as file:
    json.dump({"ended": ended, "left": left, "same": bool(same), "whole": bool(whole)}, file)
"""


@pytest.mark.parametrize("ranks", [1, 2])
def test_reading_and_writing_end_between_pieces_of_a_file(tmp_path: Path, ranks: int) -> None:
    """A file that is being written leaves the older one of its name, and nothing else."""
    for rank in told(tmp_path, ranks, "last", program=FILES):
        assert set(rank["ended"].values()) == {"ended"}, rank["ended"]
        assert (rank["left"], rank["same"], rank["whole"]) == ([], True, True)
