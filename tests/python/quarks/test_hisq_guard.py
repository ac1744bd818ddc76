"""These tests cover the guard of small eigenvalues in the force of HISQ: its cut as a key, and the links at
which it acted."""

from __future__ import annotations

import json
import re
from pathlib import Path

import h5py
import numpy as np
import pytest
from command_line import run, write_run_file

import trellis as tr
from trellis.run_files import HmcRun, parse_run_file

RUN = """\
[lattice]
extents = [4, 4, 4, 8]
[action]
beta = 5.0
[[fermions]]
name = "light"
type = "hisq"
n_f = 2
mass = 0.2
rational = { order = 8, dynamics_order = 6, high = 20 }
[[integrator]]
steps = 3
monomials = ["light", "gauge"]
[molecular_dynamics]
length = 0.5
[start]
type = "weak"
spread = 0.5
[trajectories]
total = 2
checkpoint_every = 1
[random]
seed = 8
[output]
directory = "out"
[hisq]
force_cut = 0.1
"""


def guarded(folder: Path) -> list[float]:
    with h5py.File(folder / "out" / "stream.h5") as file:
        return file["observables/hisq_guarded_links"][()].tolist()


def test_the_links_at_which_it_acted_are_counted_and_warned_about(tmp_path: Path) -> None:
    """The number is the same on one and two ranks, and there is none at the default cut."""
    counts = []
    for ranks, options in ((1, ["--json"]), (2, [])):
        folder = write_run_file(tmp_path / f"{ranks}", RUN)
        done = run("generate", "run.toml", *options, cwd=folder, ranks=ranks)
        counts.append(guarded(folder))
        said = " ".join(done.stderr.split())
        assert said.count("below hisq.force_cut = 0.1 at") == 1  # the first trajectory alone has it
        begin = (
            f"trajectory 1: eigenvalues of fat7 links below hisq.force_cut = 0.1 at {counts[0][0]:.0f} links"
        )
        assert begin in said
        if options:
            assert json.loads(done.stdout)["hisq_guarded_links"] == sum(counts[0])
        else:
            assert f"acted in 2 of 2 trajectories, at {sum(counts[0]):.0f} links" in done.stdout
    # Three steps of omelyan2 have seven forces, in all of which no more than all links count.
    assert counts[0] == counts[1]
    assert 0 < counts[0][0] < 7 * 4 * 512
    folder = write_run_file(tmp_path / "default", RUN.replace("[hisq]\nforce_cut = 0.1\n", ""))
    done = run("generate", "run.toml", "--json", cwd=folder)
    assert guarded(folder) == [0.0, 0.0]
    assert json.loads(done.stdout)["hisq_guarded_links"] == 0
    assert "force_cut" not in done.stderr


def test_the_cut_may_change_and_states_without_it_had_the_default(tmp_path: Path) -> None:
    """The cut changes forces, and no distribution."""
    text = RUN.replace("[hisq]\nforce_cut = 0.1\n", "")
    folder = write_run_file(tmp_path, text)
    run("generate", "run.toml", "--trajectories", 1, cwd=folder)
    record = max((folder / "out").glob("*.json"))
    content = json.loads(record.read_text())
    assert content["physics"].pop("hisq") == {"force_cut": 5e-5}
    record.write_text(json.dumps(content))
    assert "force_cut" not in run("generate", "run.toml", "--trajectories", 1, cwd=folder).stderr
    write_run_file(folder, RUN)
    said = run("generate", "run.toml", "--trajectories", 1, cwd=folder).stderr
    assert re.search(r"hisq\.force_cut: \S+ -> 0\.1 from\s+trajectory 3 on", said)
    assert guarded(folder)[:2] == [0, 0] < guarded(folder)[2:]


@pytest.mark.parametrize("cut", ["-1e-9", "1.01", '"1"'])
def test_cuts_that_make_no_sense_are_refused(cut: str) -> None:
    with pytest.raises(tr.RunFileError, match=r"hisq\.force_cut"):
        parse_run_file(RUN.replace("force_cut = 0.1", f"force_cut = {cut}"), HmcRun, name="run.toml")


def test_the_table_needs_a_flavour() -> None:
    with pytest.raises(tr.RunFileError, match=r"no flavour of .* has type hisq"):
        parse_run_file(RUN.replace('type = "hisq"', 'type = "staggered"'), HmcRun, name="run.toml")


def alternating_in_y(a: float) -> tr.GaugeField:
    """Return U_x = diag(e^{i a s}, e^{-i a s}, 1) with s = (-1)^y; two eigenvalues are cos(a)^2 in x, and
    cos(a)^4 in y."""
    links = np.zeros((4, 4, 4, 4, 4, 3, 3), complex)
    links[:] = np.eye(3)
    s = np.array([1, -1, 1, -1])[:, None]
    links[..., 0, 0, 0] = np.exp(1j * a * s)
    links[..., 0, 1, 1] = np.exp(-1j * a * s)
    return tr.GaugeField.from_numpy(links)


def test_forces_in_python(tmp_path: Path) -> None:
    """The guard changes the force where it acts, and nowhere else."""
    forces = {}
    for cut in (0.0, 5e-5, 0.5):
        text = RUN.replace("4, 4, 4, 8", "4, 4, 4, 4").replace("high = 20", "high = 50")
        (tmp_path / "run.toml").write_text(text.replace("force_cut = 0.1", f"force_cut = {cut}"))
        for name, a in (("small", np.arccos(1e-3)), ("large", 0.3)):
            U = alternating_in_y(a)
            (light,) = tr.hamiltonian(tmp_path / "run.toml", U)["light"]
            light.draw(U, seed=3)
            forces[name, cut] = light.force(U)
            expected = 0 if cut == 0 or name == "large" else 2 * 256
            assert light.guarded_links == expected
    assert np.array_equal(forces["large", 0.0], forces["large", 0.5])
    assert not np.allclose(forces["small", 0.0], forces["small", 5e-5])
