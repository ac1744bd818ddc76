"""These tests cover trellis measure with propagators that are stored: it measures from them instead of
solving again."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest
from command_line import flip_a_bit, run

import trellis as tr
from trellis.commands.measure import measure
from trellis.run_files import MeasureRun, parse_run_file

HEAD = '[configurations]\nfiles = "field.*"\n'
CLOVER = """\
[fermion]
type = "clover"
kappa = 0.1
csw = 1.0
strange_kappa = 0.09
[smearing]
stout.rho = 0.1
stout.steps = 1
[source]
type = "gaussian"
width = 1.0
steps = 4
positions = [[0, 0, 0, 0], [2, 1, 2, 5]]
[sink]
type = "gaussian"
"""
MOEBIUS = """\
[fermion]
type = "domain_wall"
mass = 0.3
Ls = 4
[solver]
tolerance = 1e-8
[source]
positions = [[1, 2, 3, 4]]
"""
#: The first run measures FEW, and MORE is thought of later.
FEW = '[correlators]\nmesons = ["pion"]\nbaryons = []\n'
MORE = """\
[correlators]
mesons = ["pion", "rho"]
max_momentum_squared = 1
[feynman_hellmann]
currents = ["A3"]
[three_point]
currents = ["V4"]
separations = [2]
"""
STORE = '[output]\npropagators = true\npropagator_format = "{}"\npropagator_bits = {}\ndirectory = "{}"\n'
FROM = '[stored_propagators]\ndirectory = "{}"\n'


def measured(folder: Path, text: str) -> None:
    """Make a run in this process."""
    (folder / "run.toml").write_text(text)
    measure(Path("run.toml"), resume=False, json=True)


def datasets(path: Path) -> dict[str, bytes]:
    """Return all datasets: none depends on clocks."""
    with h5py.File(path) as file:
        names = [f"{group}/{name}" for group in ("correlators", "solves") for name in file[group]]
        return {name: file[name][()].tobytes() for name in names}


def stored_runs(path: Path) -> list[int] | None:
    with h5py.File(path) as file:
        return [int(n) for n in file["solves"].attrs["stored"]] if "stored" in file["solves"].attrs else None


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make two fields, runs that store propagators, and what runs find that solve for all."""
    folder = tmp_path_factory.mktemp("stored")
    for number in (1, 2):
        tr.weak_field((4, 4, 4, 8), seed=number).write(folder / f"field.{number}.ildg")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for format, bits in (("hdf5", 64), ("lime", 64), ("hdf5", 32), ("lime", 32)):
            measured(folder, HEAD + CLOVER + FEW + STORE.format(format, bits, f"{format}_{bits}"))
        measured(folder, HEAD + CLOVER + MORE + '[output]\ndirectory = "direct"\n')
        measured(folder, HEAD + MOEBIUS + MORE + '[output]\ndirectory = "walls"\n')
        for format in ("hdf5", "lime"):
            measured(folder, HEAD + MOEBIUS + FEW + STORE.format(format, 64, f"walls_{format}"))
    return folder


@pytest.fixture
def folder(plain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a copy, in which runs start."""
    shutil.copytree(plain, tmp_path / "copy")
    monkeypatch.chdir(tmp_path / "copy")
    return tmp_path / "copy"


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("fermion", ["clover", "moebius"])
@pytest.mark.parametrize("format", ["hdf5", "lime"])
@pytest.mark.slow
def test_the_bits_of_a_run_that_solves(folder: Path, fermion: str, format: str, ranks: int) -> None:
    """Correlators, midpoints and what is said of solves are the same; only the currents' solves are done."""
    text, direct, stored = (
        (CLOVER, "direct", f"{format}_64") if fermion == "clover" else (MOEBIUS, "walls", f"walls_{format}")
    )
    (folder / "run.toml").write_text(
        HEAD + text + FROM.format(stored) + MORE + '[output]\ndirectory = "out"\n'
    )
    found = json.loads(run("measure", "run.toml", "--json", cwd=folder, ranks=ranks).stdout)
    sources, flavours = (2, 2) if fermion == "clover" else (1, 1)
    assert found["stored_propagators"] == 2 * sources * flavours
    assert found["solves"] == 2 * sources * 2
    for number in (1, 2):
        new, old = (folder / name / f"correlators.{number:06d}.h5" for name in ("out", direct))
        assert datasets(new) == datasets(old)
        assert fermion == "clover" or "correlators/midpoint" in datasets(new)
        assert stored_runs(new) == sources * ([1] * flavours + [0, 0])
        assert stored_runs(old) is None


def test_contractions_alone_take_no_solve(folder: Path) -> None:
    """Contractions take no low modes either, which nothing needs."""
    text = HEAD + CLOVER + FROM.format("hdf5_64") + "[deflation]\nmodes = 4\n" + FEW
    (folder / "run.toml").write_text(text + '[output]\ndirectory = "out"\n')
    said = run("measure", "run.toml", cwd=folder).stdout
    assert "configuration 1: 4 stored propagators, " in said
    assert "modes" not in said
    for number in (1, 2):
        name = f"correlators.{number:06d}.h5"
        assert datasets(folder / "out" / name) == datasets(folder / "hdf5_64" / name)


@pytest.mark.parametrize("format", ["hdf5", "lime"])
def test_numbers_of_32_bits_are_rounded(folder: Path, format: str, capsys: pytest.CaptureFixture) -> None:
    text = HEAD + CLOVER + FROM.format(f"{format}_32") + MORE
    measured(folder, text + STORE.format(format, 64, "out"))
    assert f"{format}_32/propagator.000001.0" in (said := capsys.readouterr().err)
    assert said.count("has 32 bits: its correlators have relative errors of about 1e-7") == 1
    with h5py.File("out/correlators.000001.h5") as new, h5py.File("direct/correlators.000001.h5") as old:
        for name, exact in old["correlators"].items():
            assert np.allclose(new["correlators"][name], exact, rtol=0, atol=1e-6 * np.abs(exact).max())
        assert (new["correlators/pion"][()] != old["correlators/pion"][()]).any()
    # Written in 64 bits they are no better, and say so.
    measured(folder, HEAD + CLOVER + FROM.format("out") + FEW + '[output]\ndirectory = "again"\n')
    assert "has 32 bits" in capsys.readouterr().err


def test_from_one_format_into_the_other(folder: Path) -> None:
    """A run that stores what it reads keeps it bit for bit, there and back."""
    text = HEAD + MOEBIUS + FEW
    measured(folder, text + FROM.format("walls_hdf5") + STORE.format("lime", 64, "there"))
    measured(folder, text + FROM.format("there") + STORE.format("hdf5", 64, "back"))
    assert sorted(path.name for path in (folder / "there").glob("*.lime")) == [
        f"propagator.00000{number}.0.{kind}" for number in (1, 2) for kind in ("lime", "midpoint.lime")
    ]
    first, last = (tr.read_propagator(f"{name}/propagator.000002.0.h5") for name in ("walls_hdf5", "back"))
    assert np.array_equal(first.to_numpy(), last.to_numpy())
    assert np.array_equal(first.midpoint.to_numpy(), last.midpoint.to_numpy())


OTHERS = [
    (
        ("kappa = 0.1\n", "kappa = 0.11\n"),
        ["fermion: expected WilsonClover(mass=0.545454", "found mass = 1.0"],
    ),
    (("csw = 1.0", "csw = 1.2"), ["found csw = 1.0, not 1.2"]),
    (("csw = 1.0", 'csw = 1.0\nboundary = [0, 0, 0, "periodic"]'), ["found boundary = "]),
    (("csw = 1.0", "csw = 1.0\nboundary = [0, 0, 0, 0.9]"), ["found boundary = "]),
    (
        ("stout.steps = 1", "stout.steps = 2"),
        ["smearing.stout.steps: expected 2, found 1", "source.links"],
    ),
    (
        ('type = "gaussian"\nwidth = 1.0', 'type = "point"\nwidth = 1.0'),
        ["source.type: expected 'point', found"],
    ),
    (("width = 1.0", "width = 1.1"), ["source.width: expected 1.1, found 1.0"]),
    (("steps = 4", "steps = 5"), ["source.steps: expected 5, found 4"]),
    (
        ("[2, 1, 2, 5]]", "[2, 1, 2, 6]]"),
        ["1.1.h5: not", "source.at: expected [2, 1, 2, 6], found [2, 1, 2, 5]"],
    ),
    (
        ("[fermion]", "[solver]\ntolerance = 1e-12\n[fermion]"),
        ["solver.tolerance: expected at most 1e-12, found 1e-10"],
    ),
    (('"field.*"', '"other.1.ildg"'), ["configuration: expected scidac_a=", ", found scidac_a="]),
    (
        ('"field.*"', '"other.3.ildg"'),
        ["propagator.000003.0.h5 or", "found neither; stored_propagators.missing"],
    ),
]


@pytest.mark.parametrize(("change", "words"), OTHERS, ids=lambda value: str(value[0])[:30])
def test_other_propagators_are_refused(folder: Path, change: tuple[str, str], words: list[str]) -> None:
    """Other propagators are refused with what was expected and found; nothing is measured."""
    for number in (1, 3):
        tr.weak_field((4, 4, 4, 8), seed=9).write(f"other.{number}.ildg")
    text = HEAD + CLOVER + FROM.format("hdf5_64") + FEW + '[output]\ndirectory = "out"\n'
    assert text.count(change[0]) == 1
    with pytest.raises(tr.BadArgument) as error:
        measured(folder, text.replace(*change))
    for word in words:
        assert word in str(error.value)
    assert not list((folder / "out").glob("*.h5"))


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def flip(path: Path) -> None:
    if path.suffix == ".h5":
        flip_a_bit(path, "propagator")
        return
    change(path, lambda b: b[: len(b) // 2] + bytes([b[len(b) // 2] ^ 1]) + b[len(b) // 2 + 1 :])


def change(path: Path, of: Callable[[bytes], bytes]) -> None:
    path.write_bytes(of(path.read_bytes()))


def forge(path: Path) -> None:
    """Change the record of the source in a file without mending the CRC."""
    change(path, lambda b: b.replace(b'"width": 1.0', b'"width": 2.0'))


DAMAGE = [
    ("lime", cut, "propagator.000002.1.lime"),
    ("hdf5", cut, "propagator.000002.1.h5"),
    ("lime", flip, "checksum"),
    ("hdf5", flip, "checksum"),
    ("lime", forge, "what it says of its measurement is damaged: expected CRC-32"),
    ("hdf5", forge, "propagator.000002.1.h5"),
    (
        "lime",
        lambda path: change(path, lambda b: b.replace(b"scidac-checksum", b"scidac-chexxxum")),
        "no checksum",
    ),
]


@pytest.mark.parametrize(("format", "damage", "word"), DAMAGE)
def test_damage_is_named(folder: Path, format: str, damage: Callable[[Path], None], word: str) -> None:
    """Earlier results stay, and the run goes on once the damaged file is gone."""
    path = folder / f"{format}_64" / f"propagator.000002.1.{'h5' if format == 'hdf5' else 'lime'}"
    damage(path)
    damaged = path.read_bytes()
    text = HEAD + CLOVER + FROM.format(f"{format}_64") + MORE + '[output]\ndirectory = "out"\n'
    with pytest.raises(tr.FileError) as error:
        measured(folder, text)
    assert word in str(error.value)
    assert path.name in str(error.value)
    assert path.read_bytes() == damaged
    assert sorted(path.name for path in (folder / "out").glob("corr*")) == [
        "correlators.000001.h5",
        "correlators.000002.unfinished",
    ]
    path.unlink()
    solve = '[stored_propagators]\nmissing = "solve"\n'
    (folder / "run.toml").write_text(text.replace("[stored_propagators]\n", solve))
    measure(Path("run.toml"), resume=True, json=True)
    for number in (1, 2):
        new, old = (folder / name / f"correlators.{number:06d}.h5" for name in ("out", "direct"))
        assert datasets(new) == datasets(old)
        assert stored_runs(new) == [1, 1, 0, 0, 1 if number == 1 else 0, 1, 0, 0]


def test_all_ranks_refuse(folder: Path) -> None:
    """The faults that rank 0 alone warns of and those that all ranks see are told without a traceback."""
    text = HEAD + CLOVER + FROM.format("lime_64") + FEW + '[output]\ndirectory = "out"\n'
    path = folder / "lime_64" / "propagator.000001.0.lime"
    for of, word in (
        (lambda b: b.replace(b"scidac-checksum", b"scidac-chexxxum"), "no checksum"),
        (lambda b: b[:5000], "propagator.000001.0.lime"),
    ):
        change(path, of)
        (folder / "run.toml").write_text(text)
        said = run("measure", "run.toml", cwd=folder, ranks=2, status=None).stderr
        assert word in said
        assert "Traceback" not in said


def test_midpoints_of_lime_files(folder: Path) -> None:
    """A file that is missing or of another propagator is named."""
    text = HEAD + MOEBIUS + FROM.format("walls_lime") + FEW + '[output]\ndirectory = "out"\n'
    first, second = (folder / f"walls_lime/propagator.00000{n}.0.midpoint.lime" for n in (1, 2))
    shutil.copy(second, first)
    with pytest.raises(tr.BadArgument, match=r"expected the midpoint of .*000001.0.lime, found another"):
        measured(folder, text)
    first.unlink()
    with pytest.raises(tr.FileError, match=r"expected its midpoint too, for m_res, in .*midpoint.lime"):
        measured(folder, text)


def test_conserved_axial_currents_are_stored_too(folder: Path) -> None:
    axial = FEW + "conserved_axial = true\n"
    measured(folder, HEAD + MOEBIUS + axial + STORE.format("lime", 64, "axial"))
    measured(folder, HEAD + MOEBIUS + FROM.format("axial") + axial + '[output]\ndirectory = "out"\n')
    assert datasets(folder / "out/correlators.000001.h5") == datasets(folder / "axial/correlators.000001.h5")
    with pytest.raises(tr.BadArgument, match=r"correlators.conserved_axial: expected True, found False"):
        measured(folder, HEAD + MOEBIUS + FROM.format("walls_lime") + axial + '[output]\ndirectory = "no"\n')


def test_guesses(folder: Path, capsys: pytest.CaptureFixture) -> None:
    """A guess of 32 bits leaves few iterations; it may be of another program or another mass."""
    (folder / "foreign").mkdir()
    S = tr.read_propagator("hdf5_64/propagator.000001.0.h5")
    S.write("foreign/propagator.000001.0.lime")
    guess = 'use = "guess"\n'
    text = HEAD.replace("*", "1.ildg") + CLOVER + FROM + FEW + '[output]\ndirectory = "{}"\n'
    with pytest.raises(tr.FileError, match="does not say of which configuration and source it is"):
        measured(folder, text.format("foreign", "out_0"))
    capsys.readouterr()
    runs = [("hdf5_32", guess), ("foreign", guess + 'missing = "solve"\n')]
    for name, keys in runs:
        measured(folder, text.format(name, f"out_{name}").replace("[correlators]", f"{keys}[correlators]"))
        found = json.loads(capsys.readouterr().out)
        assert (found["solves"], found["stored_propagators"]) == (4, 0)
        with (
            h5py.File(f"out_{name}/correlators.000001.h5") as new,
            h5py.File("direct/correlators.000001.h5") as old,
        ):
            pion = old["correlators/pion"][:, :, :1]
            assert np.allclose(new["correlators/pion"], pion, rtol=0, atol=1e-8 * np.abs(pion).max())
            fewer = new["solves/iterations"][0, 0] < 0.7 * old["solves/iterations"][0, 0]
            assert fewer


MISTAKES = [
    (
        MOEBIUS + FROM.format("a") + 'use = "guess"\n',
        "stored_propagators.use: the guess of a domain-wall solve is 5-D",
    ),
    (
        MOEBIUS + FROM.format("a") + '[feynman_hellmann]\ncurrents = ["V4_conserved"]\n',
        "V4_conserved of domain walls need the 5-D solution",
    ),
    ("[flow]\ntime = 1.0\n" + FROM.format("a"), "stored_propagators: [stored_propagators] belongs to quarks"),
    (CLOVER + FROM.format("a") + 'missing = "maybe"\n', "stored_propagators.missing"),
    (CLOVER + "[stored_propagators]\n", "stored_propagators.directory: missing"),
]


@pytest.mark.parametrize(("text", "words"), MISTAKES)
def test_mistakes_in_run_files(text: str, words: str) -> None:
    with pytest.raises(tr.RunFileError) as error:
        parse_run_file(HEAD + text + '[output]\ndirectory = "out"\n', MeasureRun)
    assert words in str(error.value)
