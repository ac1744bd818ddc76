"""In a real Slurm examples/campaign_ga.toml runs as a whole chain: each MPI task has two ranks on two
nodes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from trellis.campaign.files import load_campaign, parse_machine
from trellis.campaign.history import read_history
from trellis.campaign.manager import Manager

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"

#: There is one core a node: a task of two ranks takes two nodes, and two of them run at once.
MACHINE = """
[machine]
name = "virtual-slurm"
launcher = "slurm"
[[nodes]]
count = 4
cpus = 1
[launcher_options]
mpi = "pmix"
environment = { OMPI_MCA_btl = "self,tcp", PMIX_MCA_gds = "hash", OMPI_MCA_mpi_yield_when_idle = "1" }
"""


@pytest.mark.long
@pytest.mark.slow
def test_the_chain_to_the_axial_charge(allocation, tmp_path):
    pytest.importorskip("trellis._core", reason="the compiled part is needed")
    h5py = pytest.importorskip("h5py")
    shutil.copytree(EXAMPLES, tmp_path / "examples")
    campaign = load_campaign(tmp_path / "examples/campaign_ga.toml")
    found = Manager(campaign, parse_machine(MACHINE), say=print).run()
    logs = {path.name: path.read_text() for path in Path(campaign.state).glob("logs/*.log")}
    assert not found.failed, [text for name, text in logs.items() if name.rsplit(".", 2)[0] in found.failed]
    assert found.counts == {"done": 27}
    places = {a.group: {len(a.places)} for a in read_history(Path(campaign.state)).attempts}
    assert places == {"generate": {2}, "measure": {2}, "analyze": {1}, "table": {1}}

    root = tmp_path / "ga"
    for stream in (1, 2):
        results = json.loads((root / f"analysis_{stream}/results.json").read_text())
        assert results["configurations"]["count"] == 8
        charges = results["nucleon_charges"]["charges"]
        assert all(0 < charges[name]["value"] < 3 for name in "AV")
    assert len((root / "charges.md").read_text().splitlines()) == 4

    # One process of this host gives the same bits.
    run_file = root / "ga.state/run_files/measure-1-70.toml"
    text = run_file.read_text().replace('"measurements_1"', '"again"')
    (root / "again.toml").write_text(text)
    environment = {key: value for key, value in os.environ.items() if not key.startswith("SLURM")}
    words = [sys.executable, "-m", "trellis", "measure", "again.toml"]
    subprocess.run(words, cwd=root, env=environment, check=True, stdout=subprocess.DEVNULL)
    with (
        h5py.File(root / "measurements_1/correlators.000070.h5") as one,
        h5py.File(root / "again/correlators.000070.h5") as other,
    ):
        assert sorted(one["correlators"]) == sorted(other["correlators"])
        for name in one["correlators"]:
            assert (one["correlators"][name][()] == other["correlators"][name][()]).all(), name
