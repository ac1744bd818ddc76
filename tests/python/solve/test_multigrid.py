"""These tests cover multigrid from Python: the solver, its report, what it serves and what it refuses."""

from __future__ import annotations

import re

import numpy as np
import pytest

import trellis as tr
from trellis.ground.compiled_core import load
from trellis.run_files.multigrid import MultigridTable

EXTENTS = (8, 8, 8, 8)
CLOVER = {"csw": 1.769}


@pytest.fixture(scope="module")
def links():
    return tr.quenched(EXTENTS, beta=6.0, seed=5, sweeps=30)


@pytest.fixture(scope="module")
def M(links):
    return tr.WilsonClover(links, kappa=0.1345, **CLOVER)


@pytest.fixture(scope="module")
def mg(M):
    return tr.multigrid(M, vectors=12, sweeps=2)


def column(M, seed=1):
    """Return a random right-hand side."""
    numbers = np.random.default_rng(seed).standard_normal((2, *reversed(EXTENTS), 4, 3))
    return numbers[0] + 1j * numbers[1]


def test_solutions_are_those_of_other_solvers_in_few_iterations(M, mg):
    b = column(M)
    x, report = tr.gcr(tolerance=1e-10, preconditioner=mg)(M).solve(b)
    y, other = tr.even_odd(tr.bicgstab(tolerance=1e-11))(M).solve(b)
    assert np.linalg.norm(M.apply(x) - b) <= 1e-10 * np.linalg.norm(b)
    assert np.linalg.norm(x - y) <= 1e-8 * np.linalg.norm(y)
    assert report.iterations < 30 < other.iterations
    assert "multigrid" in report.method


def test_another_mass_and_both_twisted_masses_take_it_as_it_is(links, mg):
    for parameters in (
        {"kappa": 0.1330},
        {"kappa": 0.1345, "twisted_mass": 0.03},
        {"kappa": 0.1345, "twisted_mass": -0.03},
    ):
        M = tr.WilsonClover(links, **parameters, **CLOVER)
        _, report = tr.gcr(tolerance=1e-9, preconditioner=mg, fallback=False)(M).solve(column(M))
        assert report.iterations < 30, parameters


def test_the_same_seed_gives_the_same_bits_and_another_seed_does_not(M, mg):
    b = column(M, 2)
    solutions = [
        tr.gcr(tolerance=1e-6, preconditioner=g)(M).solve(b)[0]
        for g in (mg, tr.multigrid(M, vectors=12, sweeps=2), tr.multigrid(M, vectors=12, sweeps=2, seed=7))
    ]
    assert np.array_equal(solutions[0], solutions[1])
    assert not np.array_equal(solutions[0], solutions[2])


def test_the_report_names_blocks_vectors_and_what_the_setup_cost(mg):
    assert mg.block == (4, 4, 4, 4)
    assert mg.coarse_lattice == (2, 2, 2, 2)
    assert len(mg.residuals) == 3
    assert "12 vectors on blocks of 4x4x4x4" in str(mg)
    assert "set-up" in str(mg)
    assert mg.bytes > 12 * 8**4 * (24 * 2 + 4)  # 16-bit numbers have a scale


@pytest.mark.parametrize("cycle", ["k", "v"])
def test_three_levels_solve_and_tell_what_each_did(links, M, cycle):
    mg = tr.multigrid(M, vectors=[8, 10], block=[(2, 2, 2, 2), (2, 2, 2, 2)], sweeps=1, cycle=cycle)
    assert (mg.levels, mg.coarse_blocks, mg.coarse_vectors) == (3, ((2, 2, 2, 2),), (10,))
    b = column(M)
    x, report = tr.gcr(tolerance=1e-10, preconditioner=mg, fallback=False)(M).solve(b)
    assert np.linalg.norm(M.apply(x) - b) <= 1e-10 * np.linalg.norm(b)
    assert report.iterations < 40
    finest, second, coarsest = mg.table
    assert [level.lattice for level in mg.table] == [EXTENTS, (4, 4, 4, 4), (2, 2, 2, 2)]
    assert [level.vectors for level in mg.table] == [8, 10, 0]
    assert (finest.block, second.block, coarsest.block) == ((2, 2, 2, 2), (2, 2, 2, 2), None)
    assert len(second.residuals) == 3
    assert sum(level.bytes for level in mg.table) == mg.bytes
    assert finest.cycles == report.iterations
    assert second.cycles >= finest.cycles
    assert set(second.cycle_seconds) == {"coarse", "residual", "smoother", "transfer"}
    assert "2      4x4x4x4  2x2x2x2  10" in str(mg)
    assert "solves: level 2: " in str(mg)
    shifted = tr.WilsonClover(links, kappa=0.1330, twisted_mass=-0.02, **CLOVER)
    assert tr.gcr(tolerance=1e-9, preconditioner=mg, fallback=False)(shifted).solve(b)[1].iterations < 40


def test_levels_that_one_asks_for_have_blocks_and_vectors_by_rule(M):
    mg = tr.multigrid(M, levels=3, vectors=8, block=(2, 2, 2, 2), sweeps=0)
    assert (mg.coarse_blocks, mg.coarse_vectors) == (((2, 2, 2, 2),), (11,))


def test_the_report_is_a_table_and_a_picture_by_level(M, tmp_path):
    mg = tr.multigrid(M, vectors=6, sweeps=1)
    fine, coarse = (line.split() for line in str(mg).splitlines()[2:4])
    assert fine[:4] == ["1", "8x8x8x8", "4x4x4x4", "6"]
    assert float(fine[4]) == pytest.approx(mg.residuals[-1], rel=1e-2)
    assert float(fine[4]) <= float(fine[5])
    assert coarse[:2] == ["2", "2x2x2x2"]
    megabytes = [float(line[-1]) for line in (fine, coarse)]
    assert sum(megabytes) == pytest.approx(mg.bytes / 1e6, abs=0.11)
    assert "cycles" not in str(mg)
    assert len(mg.plot().axes) == 2
    _, report = tr.gcr(preconditioner=mg)(M).solve(column(M))
    table = str(mg).splitlines()
    at = next(i for i, line in enumerate(table) if line.startswith("solves: "))
    assert int(table[at].split()[1]) == report.iterations
    shares = [[int(word) for word in re.findall(r"(\d+) %", line)] for line in table[at + 2 : at + 6]]
    assert all(98 <= sum(column) <= 102 for column in zip(*shares, strict=True))
    mg.plot(tmp_path / "levels.png")
    assert (tmp_path / "levels.png").read_bytes().startswith(b"\x89PNG")
    assert len(mg.plot().axes) == 3


def test_moved_links_are_refused_and_an_update_serves_them(links, M, mg):
    moved = tr.quenched(EXTENTS, beta=6.0, seed=5, sweeps=31)
    other = tr.WilsonClover(moved, kappa=0.1345, **CLOVER)
    solve = tr.gcr(tolerance=1e-8, preconditioner=mg)
    with pytest.raises(tr.BadArgument, match="links of plaquette"):
        solve(other)
    _, report = tr.gcr(tolerance=1e-8, preconditioner=mg.update(other), fallback=False)(other).solve(
        column(other)
    )
    assert report.iterations < 40


def test_operators_that_it_does_not_serve_are_refused(links, mg):
    with pytest.raises(tr.BadArgument, match="csw"):
        tr.gcr(preconditioner=mg)(tr.WilsonClover(links, kappa=0.1345, csw=1.0))
    with pytest.raises(tr.BadArgument, match="outside of even_odd"):
        tr.even_odd(tr.gcr(preconditioner=mg))(tr.WilsonClover(links, kappa=0.1345, **CLOVER))
    with pytest.raises(tr.BadArgument, match="Wilson, clover and twisted-mass"):
        tr.gcr(preconditioner=mg)(tr.Staggered(links, mass=0.1))
    with pytest.raises(tr.BadArgument, match="without mixed_precision"):
        tr.mixed_precision(tr.gcr(preconditioner=mg))
    with pytest.raises(tr.BadArgument, match="M must be"):
        tr.multigrid(tr.Staggered(links, mass=0.1))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"vectors": 0}, "vectors"),
        ({"vectors": 97}, "1 to 96"),
        ({"block": (4, 4, 4, 3)}, "legal extents there: 2, 4"),
        ({"block": (8, 4, 4, 4)}, "even number of blocks"),
        ({"levels": 1}, "levels"),
        ({"vectors": []}, "empty list"),
        ({"vectors": [8, 97]}, "1 to 96"),
        ({"block": [(2, 2, 2, 2), (4, 2, 2, 2)]}, "legal extents there: 1, 2"),
        ({"levels": 3}, "no coarser one"),
        ({"levels": 2, "vectors": [8, 10]}, "of 0 coarse lattices, not of 1"),
        ({"cycle": "w"}, "cycle"),
        ({"sweeps": -1}, "sweeps"),
        ({"smoothing": 0}, "smoothing"),
        ({"coarse_tolerance": 1.0}, "coarse_tolerance"),
        ({"coarse_solver": "cg"}, "coarse_solver"),
        ({"coarse_ranks": -1}, "coarse_ranks"),
        ({"prolongator_storage": "double"}, "prolongator_storage"),
    ],
)
def test_bad_arguments_say_what_is_legal(M, arguments, message):
    with pytest.raises(tr.BadArgument, match=message):
        tr.multigrid(M, **arguments)


def test_the_schwarz_method_solves_the_coarse_operator(M):
    mg = tr.multigrid(M, vectors=12, sweeps=1, coarse_solver="schwarz", coarse_ranks=3)
    assert mg.coarse_ranks == 1  # only one rank is there
    b = column(M)
    x, report = tr.gcr(tolerance=1e-10, preconditioner=mg, fallback=False)(M).solve(b)
    assert np.linalg.norm(M.apply(x) - b) <= 1e-10 * np.linalg.norm(b)
    assert report.iterations < 30


def test_p_may_lie_in_single_precision_from_twice_the_memory(M):
    half = tr.multigrid(M, vectors=8, sweeps=0)
    single = tr.multigrid(M, vectors=8, sweeps=0, prolongator_storage="single")
    numbers = 8 * 8**4 * 24
    assert single.bytes - half.bytes == numbers * 4 - (numbers * 2 + 8 * 8**4 * 4)  # each spinor has a scale
    b = column(M)
    solutions = [tr.gcr(tolerance=1e-9, preconditioner=mg)(M).solve(b)[0] for mg in (half, single)]
    assert not np.array_equal(*solutions)
    assert np.linalg.norm(solutions[0] - solutions[1]) <= 1e-7 * np.linalg.norm(solutions[0])


def test_the_page_has_tables_and_the_picture_and_nothing_from_outside(M, tmp_path):
    mg = tr.multigrid(M, vectors=[6, 8], block=[(2, 2, 2, 2), (2, 2, 2, 2)], sweeps=0)
    tr.gcr(tolerance=1e-3, preconditioner=mg)(M).solve(column(M))
    mg.write_page(tmp_path / "levels.html", title="Levels & cycles")
    text = (tmp_path / "levels.html").read_text()
    assert "<h1>Levels &amp; cycles</h1>" in text
    rows = re.findall(r"<tr>(<td>.*?)</tr>", text)
    assert [re.findall(r"<td>(.*?)</td>", row)[:4] for row in rows[:3]] == [
        ["1", "8x8x8x8", "2x2x2x2", "6"],
        ["2", "4x4x4x4", "2x2x2x2", "8"],
        ["3", "2x2x2x2", "", ""],
    ]
    assert len(rows) == 3 + 2 * 4  # the cycles of two levels have parts, too
    assert text.count("<svg") == 1
    assert "|D v|/|v|" in text
    assert not re.search(r"<(script|link|img)|url\(http|@import", text)
    with pytest.raises(tr.FileError):
        mg.write_page(tmp_path)


def test_blocks_by_rule_are_those_of_run_files():
    for extents in ((8, 8, 8, 16), (12, 10, 20, 4), (6, 14, 18, 22), (24, 28, 36, 40), (4, 30, 44, 60)):
        chosen = load().multigrid_block(tr.Geometry(extents)._core, (0, 0, 0, 0))
        assert tuple(chosen) == MultigridTable().block_on(extents), extents


@pytest.mark.parametrize("additive", [False, True])
def test_the_schwarz_method_preconditions_gcr(M, additive):
    b = column(M)
    solve = tr.gcr(tolerance=1e-10, preconditioner=tr.schwarz(cycles=2, additive=additive))
    x, report = solve(M).solve(b)
    assert np.linalg.norm(M.apply(x) - b) <= 1e-10 * np.linalg.norm(b)
    _, plain = tr.gcr(tolerance=1e-10)(M).solve(b)
    assert report.iterations < plain.iterations / 2


def test_the_schwarz_method_refuses_what_it_does_not_serve(M):
    for keys, text in (
        ({"block": (4, 4, 4)}, "block"),
        ({"storage": "bf16"}, "storage"),
        ({"cycles": 0}, "cycles"),
    ):
        with pytest.raises(tr.BadArgument, match=text):
            tr.schwarz(**keys)
    with pytest.raises(tr.BadArgument, match=r"odd extent|legal extents"):
        tr.gcr(preconditioner=tr.schwarz(block=(4, 4, 4, 8)))(M).solve(column(M))
    with pytest.raises(tr.BadArgument, match="no tolerance of its own"):
        tr.schwarz()(M).solve(column(M))
    with pytest.raises(tr.BadArgument, match="on all sites"):
        tr.even_odd(tr.gcr(preconditioner=tr.schwarz()))(M).solve(column(M))
