"""These tests show that example run files are valid, and that mistakes are refused with file, line, key and
the nearest valid key."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from annotated_types import Ge, Gt, Le, Lt
from pydantic import ValidationError

from trellis import run_files
from trellis.campaign.files import load_campaign
from trellis.errors import BadArgument, RunFileError
from trellis.hadrons.channels import gamma_product_name
from trellis.measure.channels import meson_channels
from trellis.measure.configuration_files import find_configurations
from trellis.measure.currents import require_momenta
from trellis.measure.run_warnings import are_beyond, has_mirrored_mesons
from trellis.measure.sources import source_positions
from trellis.run_files import GenerateRun, HmcRun, MeasureRun, load_run_file, parse_run_file
from trellis.run_files.common import Table
from trellis.run_files.contractions import CorrelatorsTable, FeynmanHellmannTable
from trellis.run_files.glass import GlassRun
from trellis.run_files.loading import line_of, load_toml
from trellis.run_files.measured_sources import SourceTable
from trellis.run_files.multigrid import MeasuredMultigridTable
from trellis.run_files.sea_multigrid import SeaMultigridTable
from trellis.runs.setup import require_naik_fits

STAGGERED = (
    '[lattice]\nextents = [4, 4, 4, 4]\n[action]\nbeta = 5.0\n[[fermions]]\nname = "l"\n'
    'type = "staggered"\nn_f = 2\nmass = 0.5\n[[integrator]]\nsteps = 2\nmonomials = ["gauge", "l"]\n'
    '[molecular_dynamics]\n[trajectories]\ntotal = 1\n[random]\nseed = 1\n[output]\ndirectory = "out"\n'
)
TOML_PAGES = ("run_files.md", "sea_quarks.md")
EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
GENERATE = """\
[lattice]
extents = [4, 4, 4, 8]

[action]
beta = 6.0

[heatbath]
over_relaxation = 4

[sweeps]
total = 10
keep_every = 5

[output]
directory = "out"

[random]
seed = 1
"""
MEASURE = """\
[configurations]
files = "*.ildg"
[fermion]
type = "wilson"
kappa = 0.13
[output]
directory = "out"
"""


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.toml")), ids=lambda path: path.name)
def test_examples_are_valid(path: Path) -> None:
    if path.name.startswith("campaign"):
        assert load_campaign(path).tasks
        return
    model: type = GenerateRun if "trellis generate" in path.read_text() else MeasureRun
    if "molecular_dynamics" in load_toml(path):
        model = HmcRun
    if "couplings" in load_toml(path):
        model = GlassRun
    run, text = load_run_file(path, model)
    assert isinstance(run, model)
    assert text == path.read_text()


@pytest.mark.parametrize("name", ["measure", "axial_charge", "all_mesons", "twisted_mass_pion"])
def test_examples_find_what_others_make(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The examples find ILDG files alone: a list of patterns with *.lime in it was refused there."""
    for folder in (".", "ensemble", "twisted_mass"):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / "configuration.000220.ildg").write_bytes(b"")
    monkeypatch.chdir(tmp_path)
    run, _ = load_run_file(EXAMPLES / f"{name}.toml", MeasureRun)
    assert [number for number, _ in find_configurations(run.configurations)] == [220]


def test_there_are_examples() -> None:
    names = {path.name for path in EXAMPLES.glob("*.toml")}
    assert {"quenched.toml", "measure.toml"} <= names


def test_defaults() -> None:
    run = parse_run_file(GENERATE, GenerateRun)
    assert run.start.type == "hot"
    assert run.heatbath.over_relaxation == 4
    assert [n for n in range(1, 11) if run.sweeps.kept(n)] == [5, 10]


def test_runs_with_quarks_start_cold() -> None:
    """On a hot field dH is in the hundreds for tens of trajectories."""
    assert parse_run_file(STAGGERED, HmcRun).start.type == "cold"
    assert parse_run_file(STAGGERED + '[start]\ntype = "hot"\n', HmcRun).start.type == "hot"
    quenched = re.sub(r"\[\[fermions.*?mass = 0.5\n", "", STAGGERED, flags=re.DOTALL).replace(', "l"', "")
    assert parse_run_file(quenched, HmcRun).start.type == "hot"
    schema = HmcRun.model_json_schema()["properties"]["start"]
    assert "Without the table it is cold beside [[fermions]]" in schema["description"]
    assert "default" not in schema


# Each entry has: model, text to replace, replacement, line in the message, parts of the message.
MISTAKES = [
    (GenerateRun, "beta =", "bata =", 5, ["action.bata", "did you mean 'beta'", "action.beta: missing"]),
    (GenerateRun, "[heatbath]", "[heat_bath]", 7, ["heat_bath", "did you mean 'heatbath'"]),
    (
        GenerateRun,
        "[output]",
        "color = 1\n[output]",
        14,
        ["sweeps.color: unknown key. Valid here: checkpoint"],
    ),
    (GenerateRun, "8]", "7]", 2, ["lattice.extents", "extent in t is 7", "even"]),
    (GenerateRun, "[4, 4, 4, 8]", "[4, 4, 8]", 2, ["lattice.extents"]),
    (GenerateRun, "beta = 6.0", 'beta = "six"', 5, ["action.beta", "valid number", "found 'six'"]),
    (
        GenerateRun,
        "[4, 4, 4, 8]",
        "[4, 4, 4, 8, 2]",
        2,
        ["lattice.extents: expected exactly 4 values; found"],
    ),
    (
        GenerateRun,
        "beta = 6.0",
        "beta = -6.0",
        5,
        ["action.beta", "greater than or equal to 0", "found -6.0"],
    ),
    (GenerateRun, "beta = 6.0", "beta = nan", 5, ["action.beta", "finite"]),
    (GenerateRun, "beta = 6.0", 'beta = "6.0"', 5, ["action.beta", "valid number", "found '6.0'"]),
    (GenerateRun, "beta = 6.0", "beta = true", 5, ["action.beta", "valid number", "found True"]),
    (GenerateRun, "[4, 4, 4, 8]", "[4, 4, 4, 8.0]", 2, ["lattice.extents.3", "valid integer", "found 8.0"]),
    (GenerateRun, "total = 10", 'total = "10"', 11, ["sweeps.total", "valid integer", "found '10'"]),
    (GenerateRun, "total = 10", "total = true", 11, ["sweeps.total", "valid integer", "found True"]),
    (
        GenerateRun,
        "total = 10",
        f"total = {2**63}",
        11,
        ["sweeps.total", "expected an integer of 64 bits", f"found {2**63}"],
    ),
    (MeasureRun, "[output]", "[output]\npropagators = 1", 7, ["propagators", "valid boolean", "found 1"]),
    (GenerateRun, "seed = 1", "seed = -1", 18, ["random.seed", "found -1"]),
    (
        GenerateRun,
        "total = 10",
        "total = 10\nthermalisation = 10",
        10,
        ["thermalisation = 10", "leaves none"],
    ),
    (GenerateRun, "[lattice]", '[start]\ntype = "file"\n[lattice]', 1, ["start.file is given exactly if"]),
    (
        MeasureRun,
        "kappa = 0.13",
        "kappa = 0.13\nmass = 0.1",
        3,
        ["fermion: give mass or kappa, and not both"],
    ),
    (
        MeasureRun,
        "kappa = 0.13",
        "kappa = 0.13\nstrange_kappa = 0.12\nstrange_mass = 0.2",
        3,
        ["fermion: give strange_kappa or strange_mass, and not both"],
    ),
    (MeasureRun, "kappa = 0.13", "link_reals = 18", 3, ["fermion: give mass or kappa, and not both"]),
    (MeasureRun, "kappa", "kapa", 5, ["did you mean 'kappa'"]),
    (
        MeasureRun,
        "[output]",
        '[correlators]\nmesons = ["pion", "roh"]\n[output]',
        7,
        ["correlators.mesons", "found 'roh'"],
    ),
    (
        MeasureRun,
        "[output]",
        '[[correlators.meson]]\nname = "x"\nsink = "gamma5"\nsorce = "gamma5"\n[output]',
        9,
        ["did you mean 'source'"],
    ),
    (
        MeasureRun,
        "[output]",
        "[flow]\ntime = 0.3\n[output]",
        6,
        ["flow.time = 0.3 is less than four times flow.spacing = 0.1", "five flow times"],
    ),
    (
        MeasureRun,
        "[output]",
        "[flow]\ntime = 3.0\nspacing = 1e-300\n[output]",
        6,
        ["flow.time = 3 is more than a million times flow.spacing = 1e-300"],
    ),
    (MeasureRun, 'directory = "out"', 'directory = ""', 7, ["output.directory", "at least 1 character"]),
    (GenerateRun, 'directory = "out"', 'directory = ""', 15, ["output.directory", "at least 1 character"]),
]


@pytest.mark.parametrize("model, old, new, line, parts", MISTAKES, ids=lambda value: str(value)[:25])
def test_mistakes_are_named(model: type, old: str, new: str, line: int, parts: list[str]) -> None:
    text = (GENERATE if model is GenerateRun else MEASURE).replace(old, new, 1)
    with pytest.raises(RunFileError) as caught:
        parse_run_file(text, model, name="run.toml")
    message = str(caught.value)
    assert f"run.toml:{line}:" in message
    for part in parts:
        assert part in message


def test_integers_are_numbers_and_lists_are_tuples() -> None:
    run = parse_run_file((EXAMPLES / "magnetic_field.toml").read_text(), HmcRun)
    assert isinstance(run.background.b, tuple)
    assert isinstance(parse_run_file(GENERATE.replace("6.0", "6"), GenerateRun).action.beta, float)
    quarks = '[[measure.valence]]\nname = "v"\ntype = "staggered"\nmass = 1\nbackground = { b = [0, 0, 1] }\n'
    quarks += '[measure.fermions]\nmagnetisation = ["xy"]\n'
    measure = parse_run_file(GENERATE + quarks, GenerateRun).measure
    assert measure is not None
    assert measure.fermions is not None
    assert measure.fermions.magnetisation == ("xy",)
    assert measure.valence[0].background.b == (0, 0, 1)
    fermion = '[fermion]\ntype = "domain_wall"\nmass = 0\nLs = 2\nb5 = [1, [1.5, 2]]\n'
    domain_wall = parse_run_file(
        MEASURE.replace('[fermion]\ntype = "wilson"\nkappa = 0.13\n', fermion), MeasureRun
    ).fermion
    assert domain_wall is not None
    assert domain_wall.b5 == [1.0, (1.5, 2.0)]


@pytest.mark.parametrize(
    "text, model, found, expected",
    [
        (MEASURE, GenerateRun, "trellis measure, with [configurations] and [fermion]", "trellis generate"),
        (GENERATE, MeasureRun, "trellis generate, with [lattice] and [action]", "trellis measure"),
        ('[campaign]\nname = "a"\n[[task]]\nname = "b"', MeasureRun, "trellis campaign", "trellis measure"),
    ],
)
def test_files_of_another_command_are_named(text: str, model: type, found: str, expected: str) -> None:
    with pytest.raises(
        RunFileError, match=rf"^run.toml: expected a .*{re.escape(expected)}.*; found a "
    ) as said:
        parse_run_file(text, model, name="run.toml")
    assert found in str(said.value)
    assert "unknown key" not in str(said.value)


def test_no_toml_and_no_file(tmp_path: Path) -> None:
    with pytest.raises(RunFileError, match=r"not valid TOML.*line 1"):
        parse_run_file("a = = 1", GenerateRun)
    with pytest.raises(RunFileError, match="cannot be read"):
        load_run_file(tmp_path / "nothing.toml", GenerateRun)
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(RunFileError, match="expected a text in UTF-8, found byte 0xff at 0"):
        load_run_file(tmp_path / "binary.toml", GenerateRun)


@pytest.mark.parametrize(
    "changed, key",
    [
        ("mass = -4", "mass = -4.0"),
        ("mass = -2.5\nnu = 0.5", "mass = -2.5"),
        ("kappa = 0.2\nnu = 0.5\nxi0 = 3.0", "kappa = 0.2"),
        ("strange_mass = -4.0\nmass = 0.1", "strange_mass = -4.0"),
    ],
)
def test_wilson_quarks_without_a_diagonal(changed: str, key: str) -> None:
    with pytest.raises(RunFileError) as caught:
        parse_run_file(MEASURE.replace("kappa = 0.13", changed), MeasureRun, name="run.toml")
    name, _, found = key.partition(" = ")
    assert str(caught.value) == (
        f"run.toml:5: fermion.{name}: expected another mass or kappa: 1 + 3 nu / xi0 + mass, the diagonal of "
        f"the operator, would be zero; found {found}"
    )


@pytest.mark.parametrize(
    "type, beside",
    [
        ("clover", "csw = 1.0"),
        ("clover", "csw = 0.0\ncsw_temporal = 1.0"),
        ("twisted_mass", "twisted_mass = 0.1"),
    ],
)
def test_a_diagonal_of_matrices_needs_no_number(type: str, beside: str) -> None:
    text = MEASURE.replace("kappa = 0.13", f"mass = -4\n{beside}").replace("wilson", type)
    parse_run_file(text, MeasureRun)


MOEBIUS = MEASURE.replace('type = "wilson"\nkappa = 0.13', 'type = "domain_wall"\nmass = 0.1\nLs = 4')


def moebius_mistake(old: str, new: str) -> str:
    assert old in MOEBIUS
    with pytest.raises(RunFileError) as caught:
        parse_run_file(MOEBIUS.replace(old, new), MeasureRun, name="run.toml")
    return str(caught.value)


@pytest.mark.parametrize(
    "changed, expected",
    [
        ("mass = 1.0", "fermion.mass: m_f of domain-wall quarks lies between -1 and 1"),
        ("mass = -1.5", "found -1.5"),
        ("mass = 0.1\nstrange_mass = 2.0", "fermion.strange_mass: m_f of domain-wall quarks"),
        ("b5 = 1.5", "fermion.mass: missing"),
        ("mass = 0.1\nb5 = 0.0\nc5 = 0.0", "fermion: b5, c5: expected b5 + c5 above 0"),
        ("mass = 0.1\nb5 = -1.0", "expected b5 + c5 above 0 in the mean over the slices, found -0.5"),
        ("mass = 0.1\nb5 = [1.5, 1.4]", "fermion.b5: expected one number, or one for each of the Ls = 4"),
        ("mass = 0.1\nc5 = [0.5, 0.5, 0.5]", "Ls = 4 slices, found 3"),
    ],
)
def test_quarks_without_domain_walls(changed: str, expected: str) -> None:
    """Each mistake ran to its end, or only the first solve found it."""
    message = moebius_mistake("mass = 0.1", changed)
    assert expected in message
    assert "fermion: fermion.m" not in message


@pytest.mark.parametrize(
    "value",
    [
        "nan",
        '"1.5"',
        "[]",
        '["1+1i", 1, 1, 1]',
        "[[1, 2, 3], 1, 1, 1]",
        "[[1]]",
        "1e300",
        "-101",
        "[1, 1, 1, [0, 1e7]]",
    ],
)
def test_coefficients_of_another_type_have_one_message(value: str) -> None:
    message = moebius_mistake("Ls = 4", f"Ls = 4\nb5 = {value}")
    expected = "run.toml:7: fermion.b5: expected a number, or a list with a number or [re, im] for each"
    assert message.startswith(expected)
    assert "slice, none larger than 100; found " in message
    assert "\n" not in message


def test_coefficients_of_every_kind() -> None:
    for text in ("1.5", "[1.5]", "[1, 1.5, 1, 1.5]", "[[1.3, 0.4], 0.9, 1, [1.3, -0.4]]"):
        parse_run_file(MOEBIUS.replace("Ls = 4", f"Ls = 4\nb5 = {text}"), MeasureRun)
    parse_run_file(MOEBIUS.replace("mass = 0.1", "mass = -0.01"), MeasureRun)  # towards m_f + m_res = 0


@pytest.mark.parametrize(
    "table, line, expected",
    [
        ('[feynman_hellmann]\ncurrents = ["A5"]', 8, "feynman_hellmann.currents.0: Input should be 'V1'"),
        (
            '[three_point]\ncurrents = ["A3", "A3"]\nseparations = [2]',
            8,
            "three_point.currents: twice the same; found ['A3', 'A3']",
        ),
        ('[three_point]\ncurrents = ["A3"]\nseparations = [-2]', 9, "three_point.separations.0: Input"),
        ('[three_point]\ncurrents = ["A3"]\nseparations = [0]', 9, "three_point.separations.0: Input"),
        ("[source]\npositions = [[0, 0, 0]]", 8, "source.positions.0: expected exactly 4 values"),
        ("[source]\npositions = [[0, 0]]", 8, "source.positions.0: expected exactly 4 values; found [0, 0]"),
        ("[source]\npositions = [[0, 0, 0, 0, 0]]", 8, "source.positions.0: expected exactly 4 values"),
        ("[source]\nindex = 3", 8, 'source.index: expected source.type = "noise" beside it, found "point"'),
        ('[source]\ntype = "noise"', 8, "source.type: noise needs source.noise_seed"),
        ("[source]\npositions = [0, 0, 0, 0]", 8, "source.positions.0: Input should be a valid list"),
        (
            "[source]\npositions = [[0, 0, 0, 0], [0, 0, 0, 0]]",
            8,
            "source.positions: twice the same; found [[",
        ),
        ('[source]\ntype = "wall"\npositions = [[0, 0, 0, 1], [1, 0, 0, 1]]', 9, "twice the same"),
        ("[source]\nshifts = 2", 8, "source.shifts: needs source.shift_seed; found 2"),
        ('[three_point]\ncurrents = ["A3"]', 7, "three_point: give currents and separations"),
        ("[solver]\ncolumns_per_solve = 5", 8, "solver.columns_per_solve"),
        (
            "[feynman_hellmann]\nmomenta = [[0, 0, 0], [0, 0, 0]]",
            8,
            "feynman_hellmann.momenta: twice the same; found [[0, 0, 0], [0, 0, 0]]",
        ),
        ("[correlators]\nmax_momentum_squared = 1000000000", 8, "less than or equal to 1000"),
    ],
)
def test_currents_sinks_and_sources_that_cannot_be(table: str, line: int, expected: str) -> None:
    message = moebius_mistake("[output]", table + "\n[output]")
    assert message.startswith(f"run.toml:{line}: ")
    assert expected in message
    assert "literal[" not in message


@pytest.mark.parametrize(
    "momenta, text",
    [
        ([[0, 0, 0], [4, 0, 0]], "found [4, 0, 0] where L in x is 4: it is the same as [0, 0, 0]"),
        ([[0, 0, -5]], "found [0, 0, -5] where L in z is 8: it is the same as [0, 0, 3]"),
        ([[2, 1, 0], [-2, 1, 0]], "[2, 1, 0] and [-2, 1, 0] are the same momentum on [4, 4, 8]"),
    ],
)
def test_momenta_of_currents_modulo_the_lattice(momenta: list, text: str) -> None:
    """Once, the second was solved for again, under the name of a larger momentum."""
    with pytest.raises(BadArgument, match=re.escape(text)):
        require_momenta(FeynmanHellmannTable(currents=["A3"], momenta=momenta), (4, 4, 8, 8))
    require_momenta(FeynmanHellmannTable(momenta=momenta), (4, 4, 8, 8))  # no current, no propagator
    allowed = [[0, 0, 0], [2, 0, 0], [0, -2, 3], [0, 0, -3]]
    require_momenta(FeynmanHellmannTable(currents=["A3"], momenta=allowed), (4, 4, 8, 8))


def test_sources_and_sink_momenta_that_repeat() -> None:
    walls = SourceTable(type="wall", positions=[(0, 0, 0, 0)], shift_seed=1, shifts=8)
    for number in range(5):
        times = [at[3] for at in source_positions(walls, number, (4, 4, 4, 8))]
        assert sorted(times) == list(range(8))
    with pytest.raises(BadArgument, match=r"source\.shifts: at most 8 shifts of 1 positions .* found 9"):
        source_positions(walls.model_copy(update={"shifts": 9}), 5, (4, 4, 4, 8))
    pairs = SourceTable(type="wall", positions=[(0, 0, 0, 0), (0, 0, 0, 3)], shift_seed=1, shifts=3)
    for number in range(20):  # a shift rules out itself, and those by 3 and -3
        assert len({at[3] for at in source_positions(pairs, number, (4, 4, 4, 8))}) == 6
    with pytest.raises(BadArgument, match=r"source\.shifts: at most 3 shifts of 2 positions"):
        source_positions(pairs.model_copy(update={"shifts": 4}), 5, (4, 4, 4, 8))
    few = SourceTable(shift_seed=1, shifts=3)  # the first ones are those of one shift, two shifts, ...
    assert source_positions(few, 7, (4, 4, 4, 8))[:2] == source_positions(
        few.model_copy(update={"shifts": 2}), 7, (4, 4, 4, 8)
    )
    assert are_beyond([(0, 0, 0), (0, -3, 0)], (4, 4, 4, 8), 2)
    assert not are_beyond([(2, -2, 3)], (4, 4, 6, 8), 2)
    assert are_beyond([(2, -2, 3)], (8, 8, 8, 8), 4)


def test_sources_keep_their_distance_from_a_wall() -> None:
    points = SourceTable(positions=[(0, 0, 0, 3), (1, 0, 0, 3)], shift_seed=4, shifts=16)
    places = source_positions(points, 1, (2, 4, 4, 8), fixed_time=True)
    assert {at[3] for at in places} == {3}
    assert len(set(places)) == 32  # these are all sites of the slice
    dirichlet = 'boundary = [0, 0, 0, "dirichlet"]\n'
    for table, line, expected in (
        ("positions = [[0, 0, 0, 1], [0, 0, 0, 3]]", 9, "source.positions: expected one t, found [1, 3]"),
        ('type = "wall"\nshift_seed = 1', 10, "source.shift_seed: a source of type wall has no place but"),
    ):
        message = moebius_mistake("[output]", f"{dirichlet}[source]\n{table}\n[output]")
        assert message.startswith(f"run.toml:{line}: {expected}"), message
        assert "the distance from the wall" in message


@pytest.mark.parametrize(
    "changes", ["Ls = 5", "Ls = 4\nb5 = [1.5, 1.4, 1.5, 1.4]", "Ls = 4\nb5 = [[1.5, 0.1]]"]
)
def test_conserved_axial_current_of_the_sink(changes: str) -> None:
    parse_run_file(MOEBIUS.replace("[output]", "[correlators]\nconserved_axial = true\n[output]"), MeasureRun)
    changes += "\n[correlators]\nconserved_axial = true"
    message = moebius_mistake("Ls = 4", changes)
    assert "correlators.conserved_axial: expected an even fermion.Ls and one real b5 and c5, found" in message
    line = MOEBIUS.replace("Ls = 4", changes).splitlines().index("conserved_axial = true") + 1
    assert message.startswith(f"run.toml:{line}: ")


@pytest.mark.parametrize(
    "table, text",
    [
        (
            '[correlators]\nmesons = ["kaon"]\nbaryons = ["omega"]',
            "kaon, omega need fermion.strange_kappa or fermion.strange_mass",
        ),
        ("[source.links]\nape = { alpha = 0.5, steps = 2 }", "source.links is for gaussian sources or sinks"),
        ('[source]\ntype = "wall"\nwidth = 2.0', "source.width is for gaussian sources or sinks"),
        ("[source]\nsteps = 4", 'found "point" and "point"; leave it out'),
        (
            "[solver]\ncolumns_per_solve = 6",
            "solver.columns_per_solve: belongs to a fermion of type domain_wall",
        ),
        (
            '[source]\ntype = "noise"\nnoise_seed = 1',
            r"with a source of type noise expected correlators.baryons = \[\]: only mesons at rest",
        ),
        (
            '[correlators]\nbaryons = []\nmax_momentum_squared = 1\n[source]\ntype = "noise"\nnoise_seed = 1',
            "expected correlators.max_momentum_squared = 0",
        ),
        ("[correlators]\nmesons = []\nbaryons = []", "nothing is made of the solves"),
    ],
)
def test_tables_that_do_not_fit_together(table: str, text: str) -> None:
    with pytest.raises(RunFileError, match=text):
        parse_run_file(MEASURE.replace("[output]", table + "\n[output]"), MeasureRun)


@pytest.mark.parametrize(
    "table, old, new, found",
    [
        ("fermions.0.mass", "mass = 0.5", "mass = 1e300", "found 1e+300"),
        ("fermions.0.n_f", "n_f = 2", "n_f = 1e-300", "found 1e-300"),
        (
            "fermions.0.charge_thirds",
            "mass = 0.5",
            "mass = 0.5\ncharge_thirds = 9999999999",
            "found 9999999999",
        ),
        (
            "background.b.2",
            "[output]",
            "[background]\nb = [0, 0, 9999999999]\n[output]",
            "found 9999999999",
        ),
        ("action.beta", "beta = 5.0", "beta = 1e300", "found 1e+300"),
        ("action.beta", "beta = 5.0", "beta = -5.0", "greater than or equal to 0; found -5.0"),
    ],
)
def test_numbers_beyond_any_use_are_refused(table: str, old: str, new: str, found: str) -> None:
    """Such numbers would leave the range of the core's integers, or of the squares that are formed."""
    parse_run_file(STAGGERED, HmcRun)
    with pytest.raises(RunFileError) as caught:
        parse_run_file(STAGGERED.replace(old, new), HmcRun)
    assert f"{table}: Input should be" in str(caught.value)
    assert found in str(caught.value)


@dataclass(frozen=True)
class Cut:
    """This class is a lattice on a process grid, as Geometry says it."""

    extents: tuple[int, ...]
    grid: tuple[int, ...]

    @property
    def local_extents(self) -> tuple[int, ...]:
        return tuple(extent // n for extent, n in zip(self.extents, self.grid, strict=True))


def test_grids_for_hisq_are_named() -> None:
    require_naik_fits(Cut((2, 4, 8, 8), (1, 1, 2, 2)))
    with pytest.raises(
        BadArgument, match=r"found 4x4x2x8 on the grid \[1, 1, 2, 1\]; set machine.grid to one "
    ):
        require_naik_fits(Cut((4, 4, 4, 8), (1, 1, 2, 1)))
    with pytest.raises(BadArgument, match=r"to one of \[1, 1, 2, 2\]$"):
        require_naik_fits(Cut((4, 4, 8, 8), (1, 2, 1, 2)))
    with pytest.raises(
        BadArgument, match=r"no grid of 8 ranks does on this lattice; numbers .* that do: 1, 2, 4$"
    ):
        require_naik_fits(Cut((4, 4, 8, 8), (2, 2, 2, 1)))


def test_no_text(tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_bytes(b"[lattice]\n\xff\n")
    with pytest.raises(RunFileError, match="expected a text in UTF-8, found byte 0xff at 10"):
        load_run_file(tmp_path / "run.toml", GenerateRun)
    with pytest.raises(RunFileError, match="cannot be read: Is a directory"):
        load_run_file(tmp_path, GenerateRun)


@pytest.mark.parametrize("change", [lambda b: b"\xef\xbb\xbf" + b, lambda b: b.replace(b"\n", b"\r\n")])
def test_files_of_other_editors(tmp_path: Path, change) -> None:
    """A byte order mark, and other ends of lines, are taken."""
    (tmp_path / "run.toml").write_bytes(change(MEASURE.encode()))
    assert load_run_file(tmp_path / "run.toml", MeasureRun)[0] == parse_run_file(MEASURE, MeasureRun)
    assert "configurations" in load_toml(tmp_path / "run.toml")


def test_texts_with_a_mark(tmp_path: Path) -> None:
    """A caller reads them as plain UTF-8; a file in UTF-16 is refused."""
    assert parse_run_file("\ufeff" + MEASURE, MeasureRun) == parse_run_file(MEASURE, MeasureRun)
    path = tmp_path / "options.toml"
    path.write_bytes(b"\xef\xbb\xbfseed = 3\r\n")
    assert load_toml(path) == {"seed": 3}
    path.write_bytes("seed = 3\n".encode("utf-16"))
    with pytest.raises(RunFileError, match="found byte 0xff at 0"):
        load_toml(path)


@pytest.mark.parametrize(
    ("therm", "keep", "is_refused"),
    [(2, "", True), (1, "", False), (1, "keep_every = 1\n", True), (0, "keep_every = 1\n", False)],
)
def test_trajectories_that_the_thermalisation_takes(therm: int, keep: str, is_refused: bool) -> None:
    """`total` includes them; a run that only thermalises says so by keeping nothing."""
    text = STAGGERED.replace("total = 1\n", f"total = 1\nthermalisation = {therm}\n{keep}")
    if not is_refused:
        assert parse_run_file(text, HmcRun).trajectories.thermalisation == therm
        return
    with pytest.raises(RunFileError) as raised:
        parse_run_file(text, HmcRun)
    assert f"total = 1 includes trajectories.thermalisation = {therm}, which leaves no" in str(raised.value)
    assert "run file:14: trajectories:" in str(raised.value)


def test_lines_of_keys() -> None:
    text = 'a = 1\n[t]\n"b c" = 2\n[t.u]\nx.y = 3\n[[t.v]]\nz = 4\n'
    assert line_of(text, ["a"]) == 1
    assert line_of(text, ["t", "b c"]) == 3
    assert line_of(text, ["t", "u", "x", "y"]) == 5
    assert line_of(text, ["t", "v", 0, "z"]) == 7
    assert line_of(text, ["t", "missing"]) == 2
    assert line_of(text, ["missing"]) is None


def test_lines_in_lists_of_tables_and_of_values() -> None:
    text = "[[f]]\nm = 1\n[f.r]\no = 2\n[[f]]\nm = 3\n[f.r]\no = 4\n[s]\np = [\n  [0, 0],\n  [1, 2]]\nq = 5\n"
    assert line_of(text, ["f"]) == 1
    assert line_of(text, ["f", 0, "m"]) == 2
    assert line_of(text, ["f", 0, "r", "o"]) == 4
    assert line_of(text, ["f", 1]) == 5
    assert line_of(text, ["f", 1, "m"]) == 6
    assert line_of(text, ["f", 1, "missing"]) == 5
    assert line_of(text, ["f", 1, "r", "o"]) == 8
    assert line_of(text, ["s", "p", 1, 0]) == 10
    assert line_of(text, ["s", "q"]) == 13


def test_channels() -> None:
    names = [c.name for c in meson_channels(CorrelatorsTable(mesons=["pion", "rho"]))]
    assert names == ["pion", "rho_x", "rho_y", "rho_z"]
    assert len(meson_channels(CorrelatorsTable(mesons=["all"]))) == 256
    assert gamma_product_name(0) == "1"
    assert gamma_product_name(0b1001) == "gamma_x gamma_t"
    with pytest.raises(ValueError, match=r"correlators\.mesons: each name once, found twice: pion"):
        meson_channels(CorrelatorsTable(mesons=["pion", "pion"]))


def test_run_files_and_analysis_leave_the_core_alone() -> None:
    code = (
        "import sys, trellis, trellis.run_files, trellis.analysis, trellis.commands.cli; "
        "sys.exit('trellis._core' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_run_files_of_the_manual() -> None:
    """The tables that doc/howto shows are valid, the ones of on-line measurements inside a run of staggered
    quarks."""
    howto = EXAMPLES.parent / "doc" / "howto"
    shown = {name: re.findall(r"```toml\n(.*?)```", (howto / name).read_text(), re.S) for name in TOML_PAGES}
    generate, measure, staggered, storing, stored, low_modes, multigrid = shown["run_files.md"]
    parse_run_file(generate, GenerateRun)
    parse_run_file(measure, MeasureRun)
    frame = measure[: measure.index("[fermion]")] + staggered + measure[measure.index("[output]") :]
    assert parse_run_file(frame, MeasureRun).staggered_quark is not None
    assert parse_run_file(measure.replace("[output]\n", storing.replace("directory", "#")), MeasureRun).output
    later = parse_run_file(measure + stored, MeasureRun).stored_propagators
    assert later is not None
    assert later.directory == "propagators"
    assert parse_run_file(measure + low_modes, MeasureRun).deflation is not None
    solved = measure[: measure.index("[solver]")] + multigrid + measure[measure.index("[source]") :]
    assert parse_run_file(solved, MeasureRun).solver.multigrid == MeasuredMultigridTable(block=(4, 4, 4, 4))
    light, online = shown["sea_quarks.md"]
    sea = STAGGERED.replace('[[fermions]]\nname = "l"\ntype = "staggered"\nn_f = 2\nmass = 0.5\n', light)
    sea = sea.replace('"gauge", "l"', '"gauge", "light"')
    assert parse_run_file(sea, HmcRun).fermions[0].multigrid_table == SeaMultigridTable()
    larger = STAGGERED.replace("[4, 4, 4, 4]", "[8, 8, 8, 16]")
    run = parse_run_file(larger + online, HmcRun)
    assert run.measure is not None
    assert run.measure.valence[0].name == "charm"


def tables() -> Iterator[type[Table]]:
    """Yield all tables of all run files."""
    for module in pkgutil.iter_modules(run_files.__path__):
        for value in vars(importlib.import_module(f"{run_files.__name__}.{module.name}")).values():
            if inspect.isclass(value) and issubclass(value, Table):
                yield value


#: Each limit has a number on its wrong side.
BEYOND = {Ge: lambda x: x.ge - 1, Gt: lambda x: x.gt, Le: lambda x: x.le + 1, Lt: lambda x: x.lt}


def test_every_limit_holds() -> None:
    """Every limit holds also where a key narrows the limits of its type: pydantic keeps one limit of a
    kind."""
    tried = 0
    for table in set(tables()):
        for key, field in table.model_fields.items():
            for limit in (x for x in field.metadata if type(x) in BEYOND):
                with pytest.raises(ValidationError) as refused:
                    table.__pydantic_validator__.validate_assignment(
                        table.model_construct(), key, BEYOND[type(limit)](limit)
                    )
                assert refused.value.errors()[0]["loc"][0] == key, (table, key)
                tried += 1
    assert tried > 50


@pytest.mark.parametrize("text, run", [(GENERATE, GenerateRun), (STAGGERED, HmcRun)])
def test_a_negative_coupling_is_refused_with_its_line(text: str, run: type) -> None:
    changed = re.sub("beta = .*", "beta = -1.0", text)
    line = changed.splitlines().index("beta = -1.0") + 1
    with pytest.raises(RunFileError, match=rf"run.toml:{line}: action.beta: .*; found -1.0"):
        parse_run_file(changed, run, "run.toml")


@pytest.mark.parametrize(
    "coefficients, is_hermitian",
    [
        ("b5 = 1.5", True),
        ("b5 = [[1.5, 0.2]]", False),  # a dense matrix gives .19 from gamma5 S gamma5
        ("b5 = [1.5, 1.2, 1.2, 1.5]", True),
        ("b5 = [[1.3, 0.4], 1, 1, [1.3, -0.4]]", True),
        ("b5 = [1.5, 1.4, 1.6, 1.2]", False),
        ("b5 = [1.5, 2.0, 1.8, 1.2]\nc5 = [0.5, 1.0, 0.8, 0.2]", True),  # with b5 - c5 = 1 kernels commute
        ("b5 = [[1.5, 0.1], 2.0, [1.5, -0.1], 1.2]\nc5 = [[0.5, 0.1], 1.0, [0.5, -0.1], 0.2]", True),
        ("b5 = [[1.5, 0.1], 2.0, 1.5, 1.2]\nc5 = [[0.5, 0.1], 1.0, 0.5, 0.2]", False),
    ],
)
def test_three_points_need_gamma5_hermitian_quarks(coefficients: str, is_hermitian: bool) -> None:
    text = MOEBIUS.replace("Ls = 4", f"Ls = 4\n{coefficients}")
    assert parse_run_file(text, MeasureRun).fermion.is_gamma5_hermitian == is_hermitian
    with_mesons = parse_run_file(
        text.replace("[fermion]", '[correlators]\nmesons = ["pion"]\n[fermion]'), MeasureRun
    )
    assert has_mirrored_mesons(with_mesons) != is_hermitian
    text += '[three_point]\ncurrents = ["A3"]\nseparations = [2]\n'
    if is_hermitian:
        parse_run_file(text, MeasureRun)
    else:
        with pytest.raises(RunFileError, match="three_point: sequential propagators need"):
            parse_run_file(text, MeasureRun)


def test_a_flavour_cannot_have_the_name_of_a_determinant() -> None:
    quark = '[[fermions]]\nname = "{}"\ntype = "clover"\nn_f = 2\nkappa = 0.12\ncsw = 1.0\n'
    text = STAGGERED.replace('"gauge", "l"', '"gauge", "l", "u", "u_determinant"')
    text += quark.format("u") + quark.format("u_determinant")
    with pytest.raises(RunFileError, match="the name 'u_determinant' is taken"):
        parse_run_file(text, HmcRun)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("lattice = 5\n", ":1: [lattice] must be a table; found 5"),
        ("lattice = [8, 8, 8, 8]\n", ":1: [lattice] must be a table; found [8, 8, 8, 8]"),
        ("[fermions]\nmass = 0.1\n", ":1: [[fermions]] must be a list of tables; found {'mass': 0.1}"),
    ],
)
def test_what_is_no_table(text: str, message: str) -> None:
    with pytest.raises(RunFileError) as caught:
        parse_run_file(text, HmcRun)
    assert message in str(caught.value)
    assert "dictionary" not in str(caught.value)
    assert "Table" not in str(caught.value)
