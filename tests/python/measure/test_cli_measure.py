"""These tests cover trellis measure: what its files hold, the same bits on any number of ranks, resuming, and
mistakes."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import h5py
import numpy as np
import pytest
from command_line import command, environment, run, stopped_by_signal
from run_file_texts import heat_bath, measurement

import trellis as tr
from trellis.measure.speed import Speed, speed_in_json

GENERATE = heat_bath(
    lattice={"extents": [4, 4, 4, 8]},
    sweeps={"total": 12, "keep_every": 6},
    output={"directory": "ensemble"},
)
MEASURE = measurement(
    configurations={"files": "ensemble/configuration.*.ildg"},
    fermion={"type": "clover", "kappa": 0.125, "csw": 1.5},
    solver={"inner_precision": "half", "tolerance": 1e-9},
    source={"positions": [[0, 0, 0, 0], [2, 1, 0, 5]]},
    correlators={
        "mesons": ["pion", "rho"],
        "baryons": ["nucleon"],
        "max_momentum_squared": 1,
        "meson": [{"name": "axial", "sink": "gamma_t gamma5", "source": "gamma5"}],
    },
)


@pytest.fixture(scope="module")
def ensemble(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("ensemble")
    (folder / "generate.toml").write_text(GENERATE)
    run("generate", "generate.toml", cwd=folder)
    return folder


@pytest.fixture(scope="module")
def measured(ensemble: Path) -> Path:
    (ensemble / "measure.toml").write_text(MEASURE)
    (ensemble / "measure.json").write_text(run("measure", "measure.toml", "--json", cwd=ensemble).stdout)
    return ensemble


def write_run(folder: Path, *changes: tuple[str, str], name: str = "other.toml") -> str:
    text = MEASURE
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (folder / name).write_text(text)
    return name


def datasets(path: Path) -> dict[str, bytes]:
    """Return all datasets: none depends on clocks."""
    found: dict[str, bytes] = {}

    def take(name: str, dataset: h5py.Dataset | h5py.Group) -> None:
        if isinstance(dataset, h5py.Dataset):
            found[name] = dataset[()].tobytes()

    with h5py.File(path) as file:
        file.visititems(take)
    return found


def test_layout(measured: Path) -> None:
    files = sorted((measured / "out").iterdir())
    assert [path.name for path in files] == ["correlators.000006.h5", "correlators.000012.h5"]
    with h5py.File(files[0]) as file:
        root = dict(file.attrs)
        assert root["kind"] == "measurement"
        assert root["trellis_version"] == tr.__version__
        assert root["conventions_version"] == tr.conventions_version
        assert root["run_file"] == MEASURE
        assert list(root["lattice"]) == [4, 4, 4, 8]
        assert root["beta"] == 6.0
        assert root["input_file"] == "ensemble/configuration.000006.ildg"
        assert root["input_checksum"].startswith("scidac_a=")
        assert root["created"].endswith("Z")
        assert list(file["configurations"][()]) == [6]
        assert set(file["correlators"]) == {"pion", "rho_x", "rho_y", "rho_z", "axial", "nucleon"}
        for name, dataset in file["correlators"].items():
            assert dataset.shape == (1, 2, 7, 8), name
            assert dataset.dtype == np.complex128
            assert dataset.attrs["boundary_t"] == "antiperiodic"
            assert dataset.attrs["kappa"] == pytest.approx(0.125, rel=1e-15)
            assert dataset.attrs["csw"] == 1.5
            assert dataset.attrs["fermion"] == "clover"
            assert np.reshape(dataset.attrs["momenta"], (-1, 3)).shape == (7, 3)
            assert np.reshape(dataset.attrs["sources"], (-1, 4)).tolist() == [[0, 0, 0, 0], [2, 1, 0, 5]]
        pion, nucleon = file["correlators/pion"].attrs, file["correlators/nucleon"].attrs
        assert (pion["type"], pion["particle"], pion["sink"]) == ("meson", "pion", "gamma5")
        assert (nucleon["type"], nucleon["particle"]) == ("baryon", "nucleon")
        assert file["correlators/axial"].attrs["sink"] == "gamma_t gamma5"
        assert set(file["solves"]) == {"iterations", "relative_residual"}
        for name in ("iterations", "relative_residual"):
            assert file[f"solves/{name}"].shape == (1, 2)
        speeds = ("conventional_gflops", "intensity", "gbytes_per_second", "share_of_peak")
        for name in ("seconds", "gflops", *speeds):
            assert file["solves"].attrs[name].shape == (2,)
            assert np.all(file["solves"].attrs[name] > 0)
        assert "even-odd" in file["solves"].attrs["solver"]
        assert np.all(file["solves/relative_residual"][()] < 5e-9)


def test_numbers_are_those_of_the_python_interface(measured: Path) -> None:
    U = tr.read_gauge_field(measured / "ensemble" / "configuration.000012.ildg")
    M = tr.WilsonClover(U, kappa=0.125, csw=1.5)
    S = tr.even_odd(tr.cg(tolerance=1e-12))(M).propagator(tr.point_source(U.geometry, (2, 1, 0, 5)))
    with h5py.File(measured / "out" / "correlators.000012.h5") as file:
        momenta = np.reshape(file["correlators/pion"].attrs["momenta"], (-1, 3))
        stored = {name: dataset[0, 1] for name, dataset in file["correlators"].items()}
    expected = {
        "pion": tr.meson(S, S, "gamma5", "gamma5", momenta=momenta),
        "rho_y": tr.meson(S, S, "gamma_y", "gamma_y", momenta=momenta),
        "axial": tr.meson(S, S, "gamma_t gamma5", "gamma5", momenta=momenta),
        "nucleon": tr.nucleon(S, momenta=momenta),
    }
    for name, values in expected.items():
        np.testing.assert_allclose(stored[name], values, rtol=0, atol=1e-7 * np.abs(values).max())


def test_json(measured: Path) -> None:
    found = json.loads((measured / "measure.json").read_text())
    assert found["configurations"] == [6, 12]
    assert found["files"] == ["out/correlators.000006.h5", "out/correlators.000012.h5"]
    assert found["solves"] == 4
    assert 0 < found["iterations_max"] < 500
    assert 0 < found["relative_residual_max"] < 5e-9
    assert found["gflops"] > 0
    with h5py.File(measured / "out" / "correlators.000012.h5") as file:
        solves = dict(file["solves"].attrs)
    for name in ("conventional_gflops", "intensity", "gbytes_per_second", "share_of_peak"):
        assert 0.2 * solves[name].min() < found[name] < 5 * solves[name].max()
    assert found["gflops"] == pytest.approx(found["intensity"] * found["gbytes_per_second"], rel=0.5)


def test_the_speed_of_several_solves() -> None:
    """The speed is work over time: 30 s of 10 GF/s and 10 s of 30, at 20 and 10 GB/s, peak 100."""

    def report(seconds: float, gflops: float, gbytes: float) -> tr.SolveReport:
        return tr.SolveReport(
            "cg", 5, (1e-9,), True, "converged", seconds, gflops, gbytes, None, 2 * gflops, 100.0
        )

    speed = Speed.of([report(30.0, 10.0, 20.0), report(10.0, 30.0, 10.0)])
    assert speed == Speed(30.0, 600 / 700, 17.5, 0.3)
    assert str(speed) == "30.0 GF/s as papers count (30.0 % of the peak), 0.86 flop/byte, 17.5 GB/s"
    assert Speed.of([]) is None
    assert speed_in_json([])["intensity"] is None


@pytest.mark.parametrize("ranks, threads, lanes", [(1, 2, 8), (2, 1, 4), (4, 1, 16), (1, 1, 1)])
def test_the_same_bits(measured: Path, ranks: int, threads: int, lanes: int) -> None:
    folder = f"out_{ranks}_{threads}_{lanes}"
    name = write_run(measured, ('"out"', f'"{folder}"'), name=f"{folder}.toml")
    environment = {"TRELLIS_LANES": str(lanes), "OMP_NUM_THREADS": str(threads)}
    run("measure", name, cwd=measured, ranks=ranks, **environment)
    for path in sorted((measured / "out").iterdir()):
        assert datasets(measured / folder / path.name) == datasets(path)


@pytest.mark.parametrize("ranks, per_node", [(4, 2), (8, 4)])
def test_the_same_bits_with_ranks_grouped_by_node(measured: Path, ranks: int, per_node: int) -> None:
    """Nodes are pretended: each is a box of the process grid, which need not be in the order of ranks."""
    folder = f"nodes_{ranks}_{per_node}"
    grid = "[1, 2, 2, 1]" if ranks == 4 else "[1, 2, 2, 2]"
    text = (measured / "measure.toml").read_text().replace('"out"', f'"{folder}"')
    (measured / f"{folder}.toml").write_text(text + f"[machine]\ngrid = {grid}\n")
    run("measure", f"{folder}.toml", cwd=measured, ranks=ranks, TRELLIS_RANKS_PER_NODE=str(per_node))
    for path in sorted((measured / "out").iterdir()):
        assert datasets(measured / folder / path.name) == datasets(path)


@pytest.mark.parametrize("order", ['"time_fastest"', '"x_fastest"', "[3, 1, 0, 2]"])
@pytest.mark.slow
def test_the_same_bits_with_late_messages_and_any_order_of_ranks(measured: Path, order: str) -> None:
    """Two nodes are pretended, and messages between them take a millisecond."""
    folder = "order_" + "".join(letter for letter in order if letter.isalnum())
    text = (measured / "measure.toml").read_text().replace('"out"', f'"{folder}"')
    (measured / f"{folder}.toml").write_text(f"{text}[machine]\ngrid = [1, 1, 2, 2]\nrank_order = {order}\n")
    slow = {"TRELLIS_NODES": "2", "TRELLIS_MESSAGE_DELAY": "1000"}
    run("measure", f"{folder}.toml", cwd=measured, ranks=4, **slow)
    for path in sorted((measured / "out").iterdir()):
        assert datasets(measured / folder / path.name) == datasets(path)


@pytest.mark.parametrize(
    ("order", "said"),
    [
        ("[0, 0]", "machine.rank_order: expected each rank from 0 to 1 once, found [0, 0]"),
        ("[1, 0, 2]", "machine.rank_order: expected each rank from 0 to 1 once, found [1, 0, 2]"),
        ('"boxes"', "expected box, x_fastest, time_fastest, or a list of ranks"),
    ],
)
def test_an_order_of_ranks_that_there_is_not(measured: Path, order: str, said: str) -> None:
    text = (measured / "measure.toml").read_text().replace('"out"', '"none"')
    (measured / "no_order.toml").write_text(f"{text}[machine]\nrank_order = {order}\n")
    assert said in run("measure", "no_order.toml", cwd=measured, ranks=2, status=None).stderr
    assert not (measured / "none").exists()


def test_lanes_that_there_are_not(measured: Path) -> None:
    name = write_run(measured, ('"out"', '"no_lanes"'), name="no_lanes.toml")
    found = run("measure", name, cwd=measured, status=None, TRELLIS_LANES="3")
    assert "TRELLIS_LANES is 1, 4, 8 or 16, found 3" in found.stderr


def test_resume_measures_what_is_missing(measured: Path) -> None:
    lost = measured / "out" / "correlators.000006.h5"
    before = datasets(lost)
    lost.unlink()
    (lost.with_name(lost.name + ".partial")).write_bytes(b"killed while writing")
    assert "--resume" in run("measure", "measure.toml", cwd=measured, status=1).stderr
    other = (measured / "out" / "correlators.000012.h5").stat().st_mtime_ns
    found = json.loads(run("measure", "measure.toml", "--resume", "--json", cwd=measured).stdout)
    assert found["skipped"] == 1
    assert datasets(lost) == before
    assert (measured / "out" / "correlators.000012.h5").stat().st_mtime_ns == other
    name = write_run(measured, ("kappa = 0.125", "kappa = 0.12"))
    found_error = run("measure", name, "--resume", cwd=measured, status=1).stderr
    assert (
        "correlators.000006.h5: fermion.kappa = 0.125 before and 0.12 now; a changed run needs" in found_error
    )


def test_analysis_reads_it(measured: Path) -> None:
    from trellis.analysis import read_measurements

    found = read_measurements([measured / "out", measured / "ensemble" / "stream.h5"])
    assert found.beta == 6.0
    assert found.configurations.tolist() == [6, 12]
    assert found.correlators["pion"].values.shape == (2, 7, 8)
    assert len(found.observables["plaquette"].values) == 12


def test_numbers_of_files_without_and_with_too_many_digits(tmp_path: Path) -> None:
    """A number that no result holds is refused before the first solve, not after the last."""
    U = tr.weak_field((4, 4, 4, 4), seed=1)
    for name in ("cold.ildg", "hot"):
        U.write(tmp_path / name)
    (tmp_path / "run.toml").write_text(
        measurement(
            configurations={"files": ["cold.ildg", "h*"]}, correlators={"mesons": ["pion"], "baryons": []}
        )
    )
    said = run("measure", "run.toml", cwd=tmp_path).stderr
    assert "notice: 2 files have no number in their names" in said
    names = [f"correlators.{number:06d}.h5" for number in (1, 2)]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == names
    (tmp_path / "hot").rename(tmp_path / f"h.{10**19}")
    found = run("measure", "run.toml", "--resume", cwd=tmp_path, status=1)
    assert found.stderr == (
        f"error: run.toml:2: configurations.files: h.{10**19}: expected a number of at most {2**63 - 1} in "
        f"the file's name, found {10**19}; rename the file, or link it under another name\n"
    )
    (tmp_path / f"h.{10**19}").rename(tmp_path / f"h.{2**63 - 1}")
    run("measure", "run.toml", "--resume", cwd=tmp_path)
    assert (tmp_path / "out" / f"correlators.{2**63 - 1}.h5").exists()


@pytest.mark.parametrize("command", ["doctor", "info"])
def test_extents_beyond_32_bits(tmp_path: Path, command: str) -> None:
    words = [command, "--lattice", "3000000000.4.4.4", *(["field"] if command == "info" else ["--quick"])]
    found = run(*words, cwd=tmp_path, status=1)
    assert found.stderr == (
        "error: --lattice: expected numbers of at most 2147483647, found '3000000000.4.4.4'\n"
    )


def test_smearing_and_shifted_sources(measured: Path) -> None:
    name = write_run(
        measured,
        ('"out"', '"out_smeared"'),
        ("[source]", '[source]\ntype = "gaussian"\nwidth = 1.0\nsteps = 4\nshift_seed = 5'),
        (
            "[correlators]",
            '[sink]\ntype = "gaussian"\n[smearing]\nstout = { rho = 0.1, steps = 2 }\n[correlators]',
        ),
        ("max_momentum_squared = 1", ""),
    )
    run("measure", name, cwd=measured)
    positions = []
    for number in (6, 12):
        with h5py.File(measured / "out_smeared" / f"correlators.{number:06d}.h5") as file:
            pion = file["correlators/pion"]
            positions.append(np.reshape(pion.attrs["sources"], (-1, 4)))
            assert np.all(pion[0, :, 0].real > 0)
            assert pion.attrs["source_smearing"] == "gaussian width=1 steps=4"
            assert pion.attrs["sink_smearing"] == "gaussian width=1 steps=4"
    distance = np.array([2, 1, 0, 5])
    for first, second in positions:
        assert ((second - first - distance) % (4, 4, 4, 8)).tolist() == [0, 0, 0, 0]
    assert positions[0].tolist() != positions[1].tolist()


def test_strange_quarks_and_a_source_on_links_of_its_own(measured: Path) -> None:
    name = write_run(
        measured,
        ('directory = "out"', 'directory = "strange"'),
        ('type = "clover"', 'type = "twisted_mass"'),
        ("csw = 1.5", "csw = 1.5\ntwisted_mass = 0.01\nstrange_kappa = 0.12"),
        (
            "positions = [[0, 0, 0, 0], [2, 1, 0, 5]]",
            'type = "gaussian"\nwidth = 1.5\nsteps = 4\npositions = [[2, 1, 0, 5]]\n'
            "[source.links]\nape = { alpha = 0.5, steps = 3, spatial = true }\n"
            "stout = { rho = 0.1, steps = 2 }",
        ),
        ('mesons = ["pion", "rho"]', 'mesons = ["pion", "kaon"]'),
        ('baryons = ["nucleon"]', 'baryons = ["delta_full", "lambda", "sigma_star", "xi_star", "omega"]'),
        ("max_momentum_squared = 1", "max_momentum_squared = 0"),
    )
    run("measure", name, cwd=measured)
    U = tr.read_gauge_field(measured / "ensemble" / "configuration.000012.ildg")
    links = U.ape(alpha=0.5, steps=3, spatial=True).stout(steps=2, rho=0.1)
    source = tr.gaussian_source(links, (2, 1, 0, 5), width=1.5, steps=4)
    solve = tr.even_odd(tr.cg(tolerance=1e-12))
    S, down, strange = (
        solve(tr.WilsonClover(U, kappa=kappa, csw=1.5, twisted_mass=mu)).propagator(source)
        for kappa, mu in ((0.125, 0.01), (0.125, -0.01), (0.12, 0.01))
    )
    expected = {
        "pion": tr.meson(S, S, "gamma5", "gamma5"),
        "kaon": tr.meson(S, strange, "gamma5", "gamma5"),
        "delta_full": tr.baryon("delta_plus_plus", up=S),
        "lambda": tr.baryon("lambda", up=S, down=down, strange=strange),
        "sigma_star": tr.baryon("sigma_star_plus", up=S, strange=strange),
        "xi_star": tr.baryon("xi_star_zero", up=S, strange=strange),
        "omega": tr.baryon("omega_minus", strange=strange),
    }
    with h5py.File(measured / "strange" / "correlators.000012.h5") as file:
        for channel, values in expected.items():
            found = file[f"correlators/{channel}"][0, 0]
            assert np.allclose(found, values, rtol=1e-6, atol=1e-6 * np.abs(values).max()), channel
        kaon = file["correlators/kaon"].attrs
        assert kaon["strange_mass"] == pytest.approx(1 / 0.24 - 4)
        assert kaon["source_smearing"].endswith("links=ape_spatial 0.5x3 stout 0.1x2")


@pytest.mark.parametrize(("bits", "accuracy"), [(64, 1e-12), (32, 1e-6)])
def test_propagators_and_wall_sources(measured: Path, bits: int, accuracy: float) -> None:
    folder = f"out_wall_{bits}"
    name = write_run(
        measured,
        ("directory", f"propagators = true\npropagator_bits = {bits}\ndirectory"),
        ('"out"', f'"{folder}"'),
        ("[source]", '[source]\ntype = "wall"'),
        ("files =", "last = 6\nfiles ="),
    )
    run("measure", name, cwd=measured)
    names = sorted(path.name for path in (measured / folder).iterdir())
    assert names == ["correlators.000006.h5", "propagator.000006.0.h5", "propagator.000006.1.h5"]
    with h5py.File(measured / folder / names[2]) as file:
        S = file["propagator"][()]
        assert S.dtype.itemsize == bits // 4
        assert list(file["propagator"].attrs["source_at"]) == [0, 0, 0, 5]
    with h5py.File(measured / folder / names[0]) as file:
        pion = file["correlators/pion"][0, 1, 0]
    norms = (np.abs(S) ** 2).sum(axis=(1, 2, 3, 4, 5, 6, 7))
    np.testing.assert_allclose(np.roll(norms, -5), pion.real, rtol=accuracy)


WRONG = [
    ([("ensemble/", "nowhere/")], "nothing matches 'nowhere/configuration.*.ildg'"),
    ([('"ensemble/configuration.*.ildg"', "[]")], "at least one file name or pattern, found []"),
    (
        [("[correlators]", "[smearing]\nstout = { rho = 0.1, steps = 1000000000 }\n[correlators]")],
        "smearing.stout.steps",
    ),
    ([("files =", "first = 100\nfiles =")], "none of 2 (6 to 12) is at least first = 100\n"),
    ([("files =", "first = 9\nlast = 0\nfiles =")], "is at least first = 9 and at most last = 0\n"),
    ([("[2, 1, 0, 5]", "[2, 1, 0, 8]")], ": source.positions: [2, 1, 0, 8] lies outside the lattice"),
    (
        [("[output]", '[feynman_hellmann]\ncurrents = ["A3"]\nmomenta = [[0, 4, 0]]\n[output]')],
        "found [0, 4, 0] where L in y is 4",
    ),
    ([("tolerance = 1e-09", "max_iterations = 3")], "after 3 iterations; the largest true residual"),
    (
        [("tolerance = 1e-09", "max_iterations = 3")],
        "raise solver.max_iterations (3) or solver.tolerance (1e-10)",
    ),
    ([('sink = "gamma_t gamma5"', 'sink = "gamma_6"')], "gamma_6"),
    ([('name = "axial"', 'name = "pion"')], "found twice: pion"),
    ([('directory = "out"', 'directory = "a\\u0000b"')], "a folder's name"),
    ([("[output]", "[machine]\nmemory_gib = 0.001\n[output]")], "machine.memory_gib allows 0.001 GiB"),
    ([("[output]", "[machine]\ngrid = [1, 1, 1, 2]\n[output]")], "grid"),
]


@pytest.mark.parametrize("changes, text", WRONG, ids=[text[:30] for _, text in WRONG])
def test_mistakes(measured: Path, changes: list[tuple[str, str]], text: str) -> None:
    name = write_run(measured, *changes)
    content = (measured / name).read_text().replace('"out"', '"out_wrong"')
    (measured / name).write_text(content)
    found = run("measure", name, cwd=measured, status=1)
    assert text in found.stderr
    assert "Traceback" not in found.stderr
    assert not list(measured.glob("out_wrong/*.h5"))


def test_a_damaged_configuration_is_refused(measured: Path) -> None:
    data = bytearray((measured / "ensemble" / "configuration.000006.ildg").read_bytes())
    data[len(data) // 2] ^= 1
    (measured / "damaged.000001.ildg").write_bytes(data)
    name = write_run(measured, ("ensemble/configuration.", "damaged."), ('"out"', '"out_damaged"'))
    assert "damaged.000001.ildg" in run("measure", name, cwd=measured, status=1).stderr


SMALL_DISK = """
import resource, sys
from trellis.commands.cli import main
from trellis.ground.compiled_core import load
load().size()  # MPI writes files of its own when it starts
resource.setrlimit(resource.RLIMIT_FSIZE, (64 << 10, 64 << 10))  # these files are larger
sys.argv = ["trellis", "measure", sys.argv[1], "--resume"]
main()
"""


def test_a_full_disk_and_a_damaged_result(measured: Path) -> None:
    """The message names the file; what is finished stays, and --resume does the rest once there is room."""
    full = measured / "full"
    for change, lost in (
        (('["pion", "rho"]', '["all"]'), "correlators.000006.unfinished"),  # this is the first source
        (("directory", "propagators = true\ndirectory"), "propagator.000006.0.h5"),
    ):
        name = write_run(measured, ('"out"', '"full"'), change)
        found = subprocess.run(
            [sys.executable, "-c", SMALL_DISK, name],
            cwd=measured,
            env=environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        assert found.returncode == 1, found.stderr
        assert f"full/{lost}" in found.stderr
        assert "Traceback" not in found.stderr
        assert not list(full.iterdir())
    run("measure", name, "--resume", cwd=measured)
    assert [path.name for path in sorted(full.iterdir())] == [
        f"{kind}.{number:06d}{index}.h5"
        for kind, indices in (("correlators", [""]), ("propagator", [".0", ".1"]))
        for number in (6, 12)
        for index in indices
    ]
    for path in sorted((measured / "out").iterdir()):
        assert datasets(full / path.name) == datasets(path)
    result = full / "correlators.000006.h5"
    content = result.read_bytes()
    result.write_bytes(content[:1000])
    found_error = run("measure", name, "--resume", cwd=measured, status=1).stderr
    assert "full/correlators.000006.h5" in found_error
    assert "the file is damaged, or not one of trellis measure: move it away" in found_error
    result.write_bytes(content)
    with h5py.File(result, "a") as file:
        file.attrs["physics"] = "[]"
    found_error = run("measure", name, "--resume", cwd=measured, status=1).stderr
    assert (
        "expected the tables of a run file in the attribute physics, found '[]'; the file is" in found_error
    )
    with h5py.File(result, "a") as file:
        del file.attrs["physics"]
    assert "move it away" in run("measure", name, "--resume", cwd=measured, status=1).stderr
    result.unlink()
    run("measure", name, "--resume", cwd=measured)


def test_a_kill_loses_the_configuration_in_hand_only(measured: Path) -> None:
    name = write_run(measured, ("directory", "propagators = true\ndirectory"), ('"out"', '"killed"'))
    killed = measured / "killed"
    for wanted in ("propagator.000006.0.h5", "correlators.000006.h5*", "propagator.000012.1.h5*"):
        process = subprocess.Popen(command("measure", name, "--resume"), cwd=measured, env=environment())
        deadline = time.monotonic() + 240
        while not list(killed.glob(wanted)) and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.002)
        process.kill()
        process.wait()
    run("measure", name, "--resume", cwd=measured)
    assert len(list(killed.iterdir())) == 6  # nothing is half written
    for path in sorted((measured / "out").iterdir()):
        assert datasets(killed / path.name) == datasets(path)


def test_lattices_that_differ(measured: Path) -> None:
    """Lattices that differ are refused before anything is computed, and beside finished results."""
    tr.weak_field((4, 4, 4, 4), seed=1).write(measured / "small.13.ildg")
    files = '"ensemble/configuration.*.ildg"'
    changes = [("[2, 1, 0, 5]", "[2, 1, 0, 3]"), ('"out"', '"differ"')]
    name = write_run(measured, (files, '["ensemble/configuration.*.ildg", "small.13.ildg"]'), *changes)
    expected = (
        f"error: {name}:2: configurations.files: small.13.ildg has the lattice [4, 4, 4, 4]: expected that "
        "of the others, [4, 4, 4, 8]\n"
    )
    assert run("measure", name, cwd=measured, status=1).stderr == expected
    assert not (measured / "differ").exists()
    run("measure", write_run(measured, (files, '"small.13.ildg"'), *changes), cwd=measured)
    name = write_run(measured, *changes)
    found = run("measure", name, "--resume", cwd=measured)  # the numbers are other ones
    name = write_run(measured, (files, '["ensemble/configuration.000012.ildg", "small.13.ildg"]'), *changes)
    found = run("measure", name, "--resume", cwd=measured, status=1)
    assert "[4, 4, 4, 4]" in found.stderr


@pytest.mark.parametrize("ranks", [1, 2])
def test_all_files_that_cannot_be_measured_are_named_first(measured: Path, ranks: int) -> None:
    """All files are named with what is wrong; nothing is computed, and no folder is made."""
    whole = (measured / "ensemble" / "configuration.000006.ildg").read_bytes()
    for file, content in {
        "bad.20.ildg": whole[:-1000],
        "bad.21.ildg": b"no links",
        "bad.22.ildg": b"",
    }.items():
        (measured / file).write_bytes(content)
    tr.weak_field((4, 4, 4, 4), seed=1).write(measured / "bad.23.ildg")
    name = write_run(
        measured,
        ('"ensemble/configuration.*.ildg"', '["ensemble/configuration.*.ildg", "bad.*.ildg"]'),
        ('"out"', '"out_bad"'),
    )
    said = run("measure", name, cwd=measured, ranks=ranks, status=1).stderr
    assert f"error: {name}:2: configurations.files: 4 files cannot be measured:" in said
    for number in (20, 21, 22, 23):
        assert said.count(f"bad.{number}.ildg") == 1
    assert not (measured / "out_bad").exists()


def test_sources_that_no_step_smooths(measured: Path) -> None:
    name = write_run(
        measured,
        ("[source]", '[source]\ntype = "gaussian"\nwidth = 5.0\nsteps = 4'),
        ("files =", "last = 6\nfiles ="),
        ('"out"', '"rough"'),
    )
    said = run("measure", name, cwd=measured).stderr
    assert " ".join(said.split()).count("width^2 / (4 steps) is above 1/6") == 1
    assert "at least 38" in " ".join(said.split())


def test_two_files_of_one_number(measured: Path) -> None:
    path = measured / "ensemble" / "configuration.000006.ildg"
    (measured / "copy.6.ildg").write_bytes(path.read_bytes())
    name = write_run(
        measured, ('"ensemble/configuration.*.ildg"', '["ensemble/configuration.*.ildg", "copy.6.ildg"]')
    )
    assert "configuration 6 twice" in run("measure", name, cwd=measured, status=1).stderr


def test_sigterm_finishes_what_is_written(ensemble: Path) -> None:
    """The finished result is saved, and the other one is left to --resume."""
    text = MEASURE.replace('"out"', '"stopped"').replace("1e-09", "1e-13")
    (ensemble / "stopped.toml").write_text(text)
    found = stopped_by_signal(
        "measure", "stopped.toml", cwd=ensemble, when=lambda: list(ensemble.glob("stopped/*.h5*"))
    )
    assert found["configurations"] == [6]
    resumed = json.loads(run("measure", "stopped.toml", "--json", "--resume", cwd=ensemble).stdout)
    assert not resumed["stopped"]
    assert (resumed["skipped"], resumed["configurations"]) == (1, [6, 12])


def test_noise_and_the_minimal_residual(measured: Path) -> None:
    """The run file and the library agree on the one-end trick."""
    name = write_run(
        measured,
        ('directory = "out"', 'directory = "out_noise"'),
        ("kappa = 0.125", "kappa = 0.1"),
        ("[solver]", '[solver]\ntype = "mr"'),
        (
            "positions = [[0, 0, 0, 0], [2, 1, 0, 5]]",
            'type = "noise"\nnoise = "z2"\nnoise_seed = 7\nindex = 2',
        ),
        ('baryons = ["nucleon"]', "baryons = []"),
        ("max_momentum_squared = 1", "max_momentum_squared = 0"),
    )
    run("measure", name, "--last", 6, cwd=measured)
    U = tr.read_gauge_field(measured / "ensemble/configuration.000006.ildg")
    source = tr.noise_source(U.geometry, kind="z2", seed=7, configuration=6, index=2, time=0)
    M = tr.WilsonClover(U, kappa=0.1, csw=1.5, boundary=(1, 1, 1, -1))
    S = tr.even_odd(tr.cg(tolerance=1e-10))(M).propagator(source)
    with h5py.File(measured / "out_noise/correlators.000006.h5") as file:
        pion = file["correlators/pion"]
        assert pion.attrs["source_smearing"] == "noise z2"
        assert "mr" in file["solves"].attrs["solver"].lower()
        assert np.allclose(pion[0, 0, 0], tr.meson(S, S, "gamma5", "gamma5")[0], rtol=1e-6)


def test_all_pairs_are_no_particles(measured: Path) -> None:
    name = write_run(
        measured,
        ('directory = "out"', 'directory = "out_all"'),
        ('"pion", "rho"', '"all"'),
        ('baryons = ["nucleon"]', "baryons = []"),
        ("[[0, 0, 0, 0], [2, 1, 0, 5]]", "[[0, 0, 0, 0]]"),
    )
    run("measure", name, "--last", 6, cwd=measured)
    with h5py.File(measured / "out_all/correlators.000006.h5") as file:
        assert len(file["correlators"]) == 257
        assert [n for n, data in file["correlators"].items() if "particle" in data.attrs] == ["axial"]


def test_a_name_twice_is_named_with_its_line(measured: Path) -> None:
    name = write_run(measured, ('name = "axial"', 'name = "pion"'))
    said = " ".join(run("measure", name, cwd=measured, status=1).stderr.split())
    line = (measured / name).read_text().splitlines().index("[[correlators.meson]]") + 1
    assert f"{name}:{line}: correlators.meson: each name once, found twice: pion" in said
