"""Some keys of solvers, boundaries, sources and channels in run files of trellis measure are refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError
from test_run_files import MEASURE

from trellis.errors import BadArgument, RunFileError
from trellis.measure.configuration_files import find_configurations
from trellis.measure.currents import require_momenta
from trellis.run_files import MeasureRun, parse_run_file
from trellis.run_files.contractions import ThreePointTable
from trellis.run_files.measure import ConfigurationsTable
from trellis.run_files.measured_quarks import MeasuredWilson
from trellis.run_files.multigrid import MeasuredMultigridTable
from trellis.run_files.quark import Quark
from trellis.run_files.sea import SeaStaggered
from trellis.run_files.solvers import SolverTable
from trellis.run_files.writing import model_to_toml


@pytest.mark.parametrize(
    "table, line, expected",
    [
        (
            "[source]\nmomentum = [0, 0, 1]",
            7,
            'source.momentum: expected source.type = "wall" beside it, found "point"; leave it out',
        ),
        ('[source]\ntype = "wall"\nmomentum = [0, 1]', 8, "source.momentum: expected exactly 3 values"),
        (
            '[source]\ntype = "wall"\nmomentum = [0, 1, 0]\n[correlators]\nmax_momentum_squared = 4',
            10,
            "correlators.max_momentum_squared: three quarks from walls with source.momentum = [0, 1, 0] have "
            "the momentum [0, 3, 0]: expected at least 9, or correlators.baryons = []; found 4",
        ),
        (
            '[source]\ntype = "wall"\nmomentum = [0, 1, 0]\n[feynman_hellmann]\ncurrents = ["A3"]',
            10,
            "feynman_hellmann.currents: nucleons with currents have walls at rest, found [0, 1, 0]",
        ),
        (
            "[deflation]\nmodes = 4\nupper = 0.1\ncutoff = 0.5",
            9,
            "deflation.cutoff: expected one below deflation.upper = 0.1, found 0.5",
        ),
        ("[deflation]\nmodes = 4\nreduction = 1.0", 8, "deflation.reduction: Input should be less than 1"),
        ("[deflation]\nmodes = 4\nmax_restarts = 0", 8, "deflation.max_restarts: Input should be greater"),
        (
            "[solver]\nrestart_length = 8",
            7,
            'solver.restart_length: expected type = "gcr" beside it, found "cg"; leave it out',
        ),
        (
            '[solver]\ntype = "gcr"\nrelaxation = 0.8',
            8,
            'solver.relaxation: expected type = "mr" beside it, found "gcr"; leave it out',
        ),
        (
            '[solver]\ninner_precision = "double"\nupdate_threshold = 0.1',
            8,
            'solver.update_threshold: expected inner_precision = "float", "half" or "fp16" beside it, '
            'found "double"',
        ),
        (
            '[solver]\npreconditioner = { type = "mr", iterations = 3 }',
            7,
            "solver.preconditioner: cg needs a hermitian preconditioner, which a solver is not",
        ),
        (
            '[solver]\ntype = "gcr"\npreconditioner = { type = "mr" }',
            8,
            "solver.preconditioner: give iterations or tolerance, and not both",
        ),
        (
            '[solver]\ntype = "gcr"\n[solver.preconditioner]\ntype = "mr"\ntolerance = 0.1\n'
            'even_odd = "symmetric"',
            8,
            "solver.preconditioner: the system of an even-odd solver has no even-odd form",
        ),
        (
            '[solver]\ntype = "gcr"\n[solver.preconditioner]\ntype = "mr"\nrestart_length = 3',
            10,
            'solver.preconditioner.restart_length: expected type = "gcr" beside it, found "mr"',
        ),
        (
            '[solver]\ntype = "multigrid"\neven_odd = "symmetric"',
            8,
            "solver.even_odd: multigrid solves on all sites, with vectors in float: "
            'expected "none", found "symmetric"; leave it out',
        ),
        (
            '[solver]\ntype = "multigrid"\ninner_precision = "half"',
            8,
            "solver.inner_precision: multigrid solves on all sites, with vectors in float: "
            'expected "float", found "half"; leave it out',
        ),
        (
            '[solver]\ntype = "multigrid"\npreconditioner = { type = "mr", iterations = 3 }',
            8,
            'solver.preconditioner: expected another type than "multigrid" beside it; leave it out',
        ),
        (
            '[solver]\ntype = "multigrid"\nupdate_threshold = 0.1',
            8,
            'solver.update_threshold: expected another type than "multigrid" beside it; leave it out',
        ),
        (
            "[solver.multigrid]\nvectors = 12",
            6,
            'solver.multigrid: expected type = "multigrid" beside it, found "cg"; leave it out',
        ),
        (
            '[solver]\ntype = "multigrid"\n[deflation]\nmodes = 4',
            8,
            'deflation: solver.type = "multigrid" takes the low modes out itself; leave it out',
        ),
        (
            '[solver]\ntype = "gcr"\n[solver.preconditioner]\ntype = "multigrid"\niterations = 1',
            9,
            "solver.preconditioner.type: Input should be 'cg', 'bicgstab', 'gcr' or 'mr'; found 'multigrid'",
        ),
        ("[solver]\nupdate_threshold = 0", 7, "solver.update_threshold: Input should be greater than 0"),
        ('[solver]\ntype = "mr"\nrelaxation = 2.0', 8, "solver.relaxation: Input should be less than 2"),
        (
            'boundary = [0, 0, 0, "anti"]',
            6,
            'fermion.boundary.3: expected "antiperiodic", "periodic", "dirichlet", or a phase over pi '
            "(1: antiperiodic) between -1e+06 and 1e+06; found 'anti'",
        ),
        ("boundary = [0, 0, 0, true]", 6, 'fermion.boundary.3: expected "antiperiodic"'),
        ("boundary = [0, 0, 0, nan]", 6, 'fermion.boundary.3: expected "antiperiodic"'),
        ("boundary = [0, 0, 0, [0.0, 1.0]]", 6, 'fermion.boundary.3: expected "antiperiodic"'),
        ("boundary = [0, 0, 0, 1e7]", 6, 'fermion.boundary.3: expected "antiperiodic"'),
        ('[solver]\ntype = "gcr"\nrestart_length = 0', 8, "solver.restart_length: Input should be greater"),
    ],
)
def test_keys_that_cannot_be(table: str, line: int, expected: str) -> None:
    with pytest.raises(RunFileError) as caught:
        parse_run_file(MEASURE.replace("[output]", table + "\n[output]"), MeasureRun, name="run.toml")
    assert str(caught.value).startswith(f"run.toml:{line}: {expected}")


@pytest.mark.parametrize(
    "table, text",
    [
        ('[correlators]\nbaryons = ["xi_negative"]', "xi_negative need fermion.strange_kappa"),
        (
            '[[correlators.meson]]\nname = "phi_x"\nsink = "gamma_x"\nsource = "gamma_x"\nquark = "strange"',
            "correlators: phi_x need fermion.strange_kappa or fermion.strange_mass",
        ),
        ('[correlators]\nbaryons = ["kaon_negative"]', "baryons.0: Input should be 'nucleon'"),
        (
            "boundary = [0, 1, 0, 1]",
            r"fermion.boundary: baryons are not periodic in space: expected multiples of 2/3, or "
            r"correlators.baryons = \[\] and no currents, found \[0",
        ),
        (
            'boundary = [0.5, 0, 0, 1]\n[correlators]\nbaryons = []\n[sink]\ntype = "gaussian"',
            "fermion.boundary: gaussian smearing is periodic in space",
        ),
        (
            'boundary = [0.5, 0, 0, 1]\n[correlators]\nbaryons = []\n[three_point]\ncurrents = ["V4"]\n'
            "separations = [2]",
            "fermion.boundary: baryons are not periodic",
        ),
        ("boundary = [0.5, 0, 1]", "fermion.boundary: expected exactly 4 values"),
    ],
)
def test_tables_that_do_not_fit_together(table: str, text: str) -> None:
    with pytest.raises(RunFileError, match=text):
        parse_run_file(MEASURE.replace("[output]", table + "\n[output]"), MeasureRun)


@pytest.mark.parametrize("type", ["domain_wall", "staggered", "hisq"])
def test_multigrid_is_refused_for_quarks_that_it_does_not_serve(type: str) -> None:
    text = MEASURE.replace('type = "wilson"\nkappa = 0.13', f'type = "{type}"\nmass = 0.1')
    with pytest.raises(RunFileError) as caught:
        parse_run_file(text + '[solver]\ntype = "multigrid"\n', MeasureRun, name="run.toml")
    assert str(caught.value) == (
        "run.toml:9: solver.type: multigrid solves quarks of type wilson, clover and twisted_mass: expected "
        f"another solver beside fermion.type = \"{type}\"; found 'multigrid'"
    )


def test_multigrid_is_recorded_with_its_table_and_read_again() -> None:
    """Records have what is done, and the text that programs write is the same run."""
    run = parse_run_file(MEASURE + '[solver]\ntype = "multigrid"\n', MeasureRun)
    assert (run.solver.even_odd, run.solver.inner_precision) == ("none", "float")
    assert run.solver.multigrid == MeasuredMultigridTable()
    assert parse_run_file(model_to_toml(run), MeasureRun) == run
    chosen = MEASURE + '[solver]\ntype = "multigrid"\nrestart_length = 8\n[solver.multigrid]\nvectors = 12\n'
    run = parse_run_file(chosen, MeasureRun)
    assert run.solver.model_dump()["multigrid"]["vectors"] == 12
    assert parse_run_file(model_to_toml(run), MeasureRun) == run
    assert SolverTable().multigrid is None


def test_levels_of_multigrid_follow_from_the_table_and_the_lattice() -> None:
    table = MeasuredMultigridTable()
    assert table.levels_on((16, 16, 16, 16)) == table.levels_on((32, 32, 32, 32)) == 2
    assert table.levels_on((32, 32, 32, 64)) == 3
    assert table.blocks_on((32, 32, 32, 64)) == [(4, 4, 4, 4), (2, 2, 2, 2)]
    assert table.vectors_on((32, 32, 32, 64)) == [20, 28]
    assert table.blocks_on((24, 24, 24, 48)) == [(4, 4, 4, 4)]
    text = MEASURE + '[solver]\ntype = "multigrid"\n[solver.multigrid]\nvectors = [12, 16, 20]\n'
    run = parse_run_file(text + "block = [[2, 2, 2, 2], [2, 2, 1, 2]]\n", MeasureRun)
    assert parse_run_file(model_to_toml(run), MeasureRun) == run
    table = run.solver.multigrid
    assert table is not None
    assert table.levels_on((16, 16, 8, 16)) == 4
    assert table.blocks_on((16, 16, 8, 16)) == [(2, 2, 2, 2), (2, 2, 1, 2), (2, 2, 2, 2)]
    assert table.vectors_on((16, 16, 8, 16)) == [12, 16, 20]
    for keys, extents, text in (
        ({"levels": 2, "vectors": [8, 10]}, (16, 16, 16, 16), "at most 1 of them for 2 levels, found 2"),
        (
            {"block": [(4, 4, 4, 4), (4, 2, 2, 2)]},
            (16, 16, 16, 16),
            r"coarse lattice has 4 sites \(legal: 1, 2",
        ),
        ({"levels": 4}, (16, 16, 16, 16), "no coarser one"),
    ):
        with pytest.raises(ValidationError, match=text):
            MeasuredMultigridTable(**keys).require_fit("solver.multigrid", extents)


def test_both_parities_take_both_twisted_flavours() -> None:
    text = MEASURE.replace("[output]", "twisted_mass = 0.1\nstrange_kappa = 0.1\n[output]")
    text = text.replace('"wilson"', '"twisted_mass"')
    for name, is_used in (("lambda_negative", True), ("omega_negative", False)):
        both = text + f'[correlators]\nbaryons = ["{name}"]\n'
        assert parse_run_file(both, MeasureRun).has_doublet == is_used


@pytest.mark.parametrize("model", ["measure", "generate"])
def test_factors_of_other_programs_are_no_phases(model: str) -> None:
    """Chroma's boundary 1 1 1 -1 would be antiperiodic in all directions here."""
    quark: type[Quark] = MeasuredWilson if model == "measure" else SeaStaggered
    own: dict = {"type": "wilson", "kappa": 0.12}
    if model == "generate":
        own = {"type": "staggered", "name": "light", "mass": 0.1, "n_f": 2}
    with pytest.raises(ValidationError, match=r"found factors of another program, \[1, 1, 1, -1\]"):
        quark.model_validate({**own, "boundary": [1, 1, 1, -1]})
    assert quark.model_validate({**own, "boundary": [0, 0, 0, -1]}).phase_factors[3] == pytest.approx(-1)
    assert quark.model_validate({**own, "boundary": [1, 1, 1, 1]}).phase_factors == (-1, -1, -1, -1)


def test_what_can_be() -> None:
    run = parse_run_file(
        MEASURE.replace("[output]", "boundary = [0, 0.66666666666666667, -2, 1]\n[output]")
        + '[solver]\ntype = "gcr"\nrestart_length = 8\nupdate_threshold = 0.1\n'
        + '[source]\ntype = "wall"\nmomentum = [0, 0, 1]\n[correlators]\nmax_momentum_squared = 9\n',
        MeasureRun,
    )
    assert run.fermion is not None
    assert run.fermion.has_twist
    assert run.fermion.has_periodic_baryons
    assert run.source.momentum == (0, 0, 1)


def _configurations(folder: Path, *names: str, **keys: object) -> tuple[list[tuple[int, str]], list[str]]:
    """Return number and name of those with these names in a folder, and what is said."""
    for name in names:
        (folder / name).write_bytes(b"")
    said: list[str] = []
    table = ConfigurationsTable(files=str(folder / "*"), **keys)
    found = find_configurations(table, said.append)
    names_found = [(number, Path(path).name) for number, path in found]
    return names_found, [line.replace(f"{folder}/", "") for line in said]


def test_a_name_without_a_number_gets_its_place(tmp_path: Path) -> None:
    found, said = _configurations(tmp_path, "cold.ildg", "7.ildg", "hot")
    assert found == [(2, "cold.ildg"), (3, "hot"), (7, "7.ildg")]
    assert said == [
        "2 files have no number in their names: they are configurations by their places in sorted order, "
        "from 2 (cold.ildg) to 3 (hot)"
    ]
    found, said = _configurations(tmp_path, last=2)
    assert found == [(2, "cold.ildg")]
    assert said == [
        "cold.ildg has no number in its name: it is configuration 2, by its place in sorted order"
    ]
    twice = r"configuration 3 twice: .*/3.ildg and .*/cold.ildg; .*/cold.ildg has no number in its name"
    with pytest.raises(BadArgument, match=twice):
        _configurations(tmp_path, "3.ildg")


@pytest.mark.parametrize("number, largest", [(2**63, 2**63 - 1), (10**20, 2**63 - 1), (2**31, 2**31 - 1)])
def test_numbers_that_no_result_holds_are_refused(tmp_path: Path, number: int, largest: int) -> None:
    """Numbers of noise fields have a lower limit."""
    (tmp_path / f"field.{number}.ildg").write_bytes(b"")
    table = ConfigurationsTable(files=str(tmp_path / "*"))
    with pytest.raises(BadArgument, match=f"at most {largest} in the file's name, found {number}; rename"):
        find_configurations(table, largest=largest)
    (tmp_path / f"field.{number}.ildg").rename(tmp_path / f"field.{largest}.ildg")
    assert [n for n, _ in find_configurations(table, largest=largest)] == [largest]


def test_both_flavours_of_twisted_quarks_are_solved_for_where_they_are_used() -> None:
    text = MEASURE.replace('"wilson"', '"twisted_mass"\ntwisted_mass = 0.1')
    assert parse_run_file(text, MeasureRun).has_doublet  # baryons = ["nucleon"]
    mesons = text + "[correlators]\nbaryons = []\n"
    assert not parse_run_file(mesons, MeasureRun).has_doublet
    currents = '[three_point]\ncurrents = ["A3"]\nseparations = [2]\n'
    assert parse_run_file(mesons + currents, MeasureRun).has_doublet
    assert not parse_run_file(MEASURE + currents, MeasureRun).has_doublet


def test_momenta_of_three_points() -> None:
    table = '[three_point]\ncurrents = ["A3"]\nseparations = [2]\n'
    assert parse_run_file(MEASURE + table, MeasureRun).three_point.momenta is None
    found = parse_run_file(MEASURE + table + "momenta = [[0, 0, 0], [0, 0, 1]]\n", MeasureRun).three_point
    assert found.momenta == [[0, 0, 0], [0, 0, 1]]
    for line, message in (
        ("momenta = [[0, 1, 0], [0, 1, 0]]", "three_point.momenta: twice the same"),
        ("momenta = []", "three_point.momenta"),
        ("sink_momentum = [0, 1]", "three_point.sink_momentum"),
    ):
        with pytest.raises(RunFileError, match=message):
            parse_run_file(f"{MEASURE}{table}{line}\n", MeasureRun)
    with pytest.raises(RunFileError, match=r"three_point\.momenta: give three_point\.currents and"):
        parse_run_file(MEASURE + "[three_point]\nmomenta = [[0, 0, 0]]\n", MeasureRun)
    with pytest.raises(BadArgument, match=r"three_point.momenta: expected components .* found \[3, 0, 0\]"):
        require_momenta(
            ThreePointTable(currents=["A3"], separations=[1], momenta=[[3, 0, 0]]),
            (4, 4, 4, 8),
            "three_point",
        )


def test_links_of_8_reals_are_not_stored_in_fp16() -> None:
    """The run file is refused with the line, and not by the first solve."""
    text = (
        '[configurations]\nfiles = "c.*"\n[fermion]\ntype = "wilson"\nkappa = 0.1\nlink_reals = 8\n[solver]\n'
        'inner_precision = "{}"\n[correlators]\nmesons = ["pion"]\nbaryons = []\n'
        '[output]\ndirectory = "out"\n'
    )
    parse_run_file(text.format("half"), MeasureRun)
    with pytest.raises(RunFileError, match=r":6: fermion.link_reals: links are not stored as 8 reals in"):
        parse_run_file(text.format("fp16"), MeasureRun)
