"""With `trellis bench` every kernel is checked on any number of ranks, and wrong options are named."""

from __future__ import annotations

import json
import math
import os
import re
from pathlib import Path

import numpy as np
import pytest
from command_line import run
from scipy.sparse.linalg import LinearOperator, eigsh

import trellis as tr
from trellis.commands.bench import programs

MOST_THREADS = 8 * (os.cpu_count() or 1)
pytestmark = pytest.mark.skipif(not programs(), reason="this build has no benchmark programs")

SMALL = ("--lattice", "4.4.4.8", "--seconds", "0.001", "--rounds", "1")
#: The issue and the documentation promise these parts of each result.
COMMON = (
    "kernel backend precision link_reals lattice rhs threads ranks gflops must_move_gbytes_per_second "
    "read_bandwidth_gbytes_per_second peak_gflops fraction_of_bandwidth fraction_of_peak flops bytes"
).split()
#: An application of an operator, or a solve, has these parts besides.
COSTS = {"messages", "message_bytes", "sums", "launches"}
KERNELS = {
    "wilson": {"wilson_hop"},
    "staggered": {"staggered_hop", "improved_staggered_hop"},
    "domain_wall": {"domain_wall_hops", "domain_wall_schur", "domain_wall_schur_dagger"},
    "gauge": {
        *(
            "plaquette",
            "plaquette_force",
            "rectangle_force",
            "heatbath",
            "overrelaxation",
            "stout",
            "stout_chain",
        ),
        *("round_links", "widen_links", "combine", "combine_norm2", "norm2", "dot", "update"),
    },
}


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("what", KERNELS)
def test_every_kernel_is_checked(tmp_path: Path, what: str, ranks: int) -> None:
    found = json.loads(run("bench", what, *SMALL, "--check", "--json", cwd=tmp_path, ranks=ranks).stdout)
    assert {r["kernel"] for r in found["results"]} == KERNELS[what]
    for result in found["results"]:
        assert set(COMMON) <= set(result)
        assert result["ranks"] == ranks
        assert result["check"] == "passed", result
        assert 0 <= result["error_against_reference"] < 5e-3
        assert all(math.isfinite(v) for v in result.values() if isinstance(v, float))
        if what != "gauge":
            assert set(result) >= COSTS
            of_two_hops = 2  # one message holds all that goes to one rank
            assert result["messages"] == (of_two_hops if ranks == 2 else 0)
            assert (result["message_bytes"] > 0) == (ranks == 2)
            assert result["launches"] >= 2
            assert result["sums"] == 0


@pytest.mark.parametrize("ranks", [1, 2])
def test_spin_updates_are_checked(tmp_path: Path, ranks: int) -> None:
    words = ("--lattice", "32.32.32.1,4.4.4.2", "--precision", "float,double", "--rhs", "1,2", *SMALL[2:])
    found = json.loads(run("bench", "glass", *words, "--check", "--json", cwd=tmp_path, ranks=ranks).stdout)
    assert {r["kernel"] for r in found["results"]} == {"over_relaxation", "heat_bath"}
    for result in found["results"]:
        assert set(COMMON) - {"link_reals"} <= set(result)
        assert result["check"] == "passed", result
        assert result["couplings"] in ("gaussian", "plus_minus")
        assert result["nanoseconds_per_spin"] > 0
    passes = {r["sweeps_per_pass"] for r in found["results"] if r["lattice"] == [32, 32, 32, 1]}
    assert passes == ({1, 4} if ranks == 1 else {1})


def test_what_is_not_asked_for_is_not_checked(tmp_path: Path) -> None:
    found = json.loads(run("bench", "wilson", *SMALL, "--precision", "double", "--json", cwd=tmp_path).stdout)
    assert all("check" not in r and "error_against_reference" not in r for r in found["results"])


SOLVERS = {
    "solver": (
        ("--precision", "half"),
        {"cg double", "cg double, to 1e-3", "bicgstab double", "cg double-half"},
    ),
    "staggered_solver": ((), {"cg, double", "12 shifts, float", "HISQ cg, double"}),
    "domain_wall_solver": (("--ls", "4"), {"cg double", "cg double-half"}),
}


@pytest.mark.parametrize("what", SOLVERS)
def test_solves_have_the_common_keys(tmp_path: Path, what: str) -> None:
    options, names = SOLVERS[what]
    found = json.loads(run("bench", what, *SMALL, *options, "--json", cwd=tmp_path).stdout)
    assert names <= {r["solver"] for r in found["results"]}
    for result in found["results"]:
        assert set(COMMON) | COSTS <= set(result)
        assert result["sums"] > result["iterations"]
        assert result["lattice"] == [4, 4, 4, 8]
        assert result["iterations"] > 0
        assert result["gflops"] > 0
        assert result["fraction_of_bandwidth"] > 0
    if what != "staggered_solver":
        assert found["summaries"][0]["lattice"] == [4, 4, 4, 8]


MULTIGRID = (
    *("--lattice", "4.4.4.8", "--block", "2.2.2.2", "--kappa", "0.12", "--vectors", "4"),
    *("--field-sweeps", "2", "--seconds", "0.001", "--rounds", "1", "--rhs", "1,2"),
)


def check_masses(M: tr.WilsonClover, found: dict[str, float]) -> None:
    """Check that the lowest eigenvalue is that of scipy, and that masses are those of the columns of other
    solvers."""
    gamma5 = np.array([1, 1, -1, -1])[:, None]
    shape = (8, 4, 4, 4, 4, 3)

    def squared(v: np.ndarray) -> np.ndarray:
        for _ in range(2):
            v = gamma5 * M.apply(v.reshape(shape))
        return v.ravel()

    Q2 = LinearOperator((8 * 64 * 12,) * 2, matvec=squared, dtype=complex)
    lowest = eigsh(Q2, k=1, which="SA", tol=1e-6, return_eigenvectors=False, ncv=60)[0]
    assert found["its_relative_error"] < 1e-3
    assert found["lowest_eigenvalue"] == pytest.approx(np.sqrt(lowest), rel=1e-3)
    solve = tr.even_odd(tr.bicgstab(tolerance=1e-10))(M)
    pseudoscalar, axial = np.zeros(8), np.zeros(8)
    for column in range(12):
        b = np.zeros(shape, dtype=complex)
        b[0, 0, 0, 0, column // 3, column % 3] = 1
        x, _ = solve.solve(b)
        pseudoscalar += (abs(x) ** 2).sum(axis=(1, 2, 3, 4, 5))
        gamma_t_x = x[..., [2, 3, 0, 1], :]  # this is the DeGrand-Rossi basis
        axial -= (x.conj() * gamma_t_x).real.sum(axis=(1, 2, 3, 4, 5))
    t = np.array([2, 3])
    pcac = ((axial[t + 1] - axial[t - 1]) / (4 * pseudoscalar[t])).mean()
    pion = np.arccosh((pseudoscalar[t + 1] + pseudoscalar[t - 1]) / (2 * pseudoscalar[t])).mean()
    assert found["pcac_mass"] == pytest.approx(pcac, rel=1e-4)
    assert found["pion_mass"] == pytest.approx(pion, rel=1e-4)
    assert found["is_safe"] == (found["lowest_eigenvalue"] >= found["pcac_mass"] / 2)


@pytest.mark.parametrize("ranks", [1, 2])
def test_multigrid_has_rows_of_set_up_solves_and_parts(tmp_path: Path, ranks: int) -> None:
    options = (*MULTIGRID, "--keep-field", "field.lime", "--json")
    found = json.loads(run("bench", "multigrid", *options, cwd=tmp_path, ranks=ranks).stdout)
    rows = found["results"]
    parts = ("coarse", "smoother", "transfer", "residual", "outside")
    of_columns = ["multigrid_solve", *(f"multigrid_solve_{part}" for part in parts)]
    expected = ["multigrid_setup", "multigrid_refresh", *2 * of_columns, *3 * ["krylov_solve"]]
    assert [r["kernel"] for r in rows] == expected
    for row in rows:
        assert set(COMMON) | COSTS | {"kappa", "seconds"} <= set(row)
        assert (row["messages"] > 0) == (ranks == 2 and row["kernel"] != "multigrid_solve_transfer")
        if row["kernel"] in ("multigrid_solve", "krylov_solve"):
            assert row["converged"]
            assert row["relative_residual"] <= 1e-10
            assert row["share_of_roof"] > 0
    for first in (2, 8):
        whole, split = rows[first], rows[first + 1 : first + 6]
        assert whole["rhs"] == (1 if first == 2 else 2)
        for key in ("seconds", "flops", "bytes", "messages", "message_bytes", "sums", "launches"):
            assert sum(part[key] for part in split) == pytest.approx(whole[key], rel=1e-4), key
        assert whole["cycles"] * whole["columns_per_cycle"] >= whole["iterations"] > 0
        assert whole["sums_per_iteration"] * whole["cycles"] == pytest.approx(whole["sums"], rel=1e-4)
    assert sum(v for k, v in rows[0].items() if k.startswith("seconds_of_")) <= rows[0]["seconds"]
    assert rows[0]["hierarchy_bytes"] == rows[0]["hierarchy_bytes_per_site"] * 512
    summary = found["summaries"][0]
    again = ("bench", "multigrid", *MULTIGRID, "--keep-field", "field.lime", "--mass-steps", "40", "--json")
    read = json.loads(run(*again, cwd=tmp_path, ranks=ranks).stdout)["summaries"][0]
    assert read["plaquette"] == summary["plaquette"]
    assert read["columns_2"]["iterations"] == summary["columns_2"]["iterations"]
    links = tr.read_gauge_field(str(tmp_path / "field.lime"))
    made = tr.quenched((4, 4, 4, 8), beta=6.0, seed=60161, sweeps=2)
    assert np.array_equal(links.to_numpy(), made.to_numpy())
    if ranks == 2:
        check_masses(tr.WilsonClover(made, kappa=0.12, csw=1.769), read)
    found = run(*again, "--seed", "5", cwd=tmp_path, ranks=ranks, status=2)
    assert "field.lime keeps another field" in found.stderr
    assert "name another file, or read it with --gauge" in found.stderr


EXCHANGE = ("--bytes", "8,5000", "--messages", "3", "--sums", "1,12", "--seconds", "0.0002", "--rounds", "3")


@pytest.mark.parametrize("ranks", [2, 4])
def test_exchanges_have_all_patterns_and_the_bytes_that_they_say(tmp_path: Path, ranks: int) -> None:
    """Four ranks pretend to be on two nodes."""
    pretend = {"TRELLIS_RANKS_PER_NODE": "2"}
    words = ("bench", "exchange", *EXCHANGE, "--json")
    found = json.loads(run(*words, cwd=tmp_path, ranks=ranks, **pretend).stdout)
    rows = found["results"]
    for row in rows:
        assert row["seconds_quartiles"][0] <= row["seconds"] <= row["seconds_quartiles"][1]
        assert 0 < row["seconds"] < 60
        assert row["ranks_per_node"] == 2
    sums = [(r["pattern"], r["ranks"], r["sums"]) for r in rows if "sums" in r]
    kinds = [("sum", 1), ("sum", 12), ("maximum", 1)]
    assert sums == [(name, n, numbers) for n in (2, 4)[: ranks // 2] for name, numbers in kinds]
    exchanges = [r for r in rows if "sums" not in r]
    near, far = "in a node", "between nodes"
    places = [(1, near)] if ranks == 2 else [(1, near), (2, near), (1, far), (2, far)]
    of_pairs = ("ping_pong", "both_ways", "messages")
    around = near if ranks == 2 else "both"
    wanted = {
        *((name, pairs, 0, place) for name in of_pairs for pairs, place in places),
        *(("neighbours", 0, n, around) for n in (1, 2)[: ranks // 2]),
        ("merged", 0, ranks // 2, around),
        ("overlap", 0, ranks // 2, near if ranks == 2 else "both"),
    }
    for way in ("requests", "shared", "copied"):
        for size in (8, 5000):
            of_way = [
                r for r in exchanges if (r["way"], r["bytes"]) == (way, size) and r["pattern"] != "endpoints"
            ]
            assert {(r["pattern"], r["pairs"], r["directions"], r["where"]) for r in of_way} == wanted
            assert len(of_way) == len(wanted)
    of_endpoints = [r for r in exchanges if r["pattern"] == "endpoints"]
    endpoints = {(r["bytes"], r["directions"], r["communicators"]) for r in of_endpoints}
    dealt = [(1, 1), (1, 2)] + ([(2, 1), (2, 2), (2, 4)] if ranks == 4 else [])
    assert endpoints == {(size, *counts) for size in (8, 5000) for counts in dealt}
    for row in exchanges:
        both = dict.fromkeys(("neighbours", "overlap", "endpoints"), 2 * row["directions"])
        count = {"messages": 3, "merged": row["directions"], **both}
        in_each = 2 if row["pattern"] == "merged" else 1
        assert row["messages"] == count.get(row["pattern"], 1)
        assert row["messages_per_second"] * row["seconds"] == pytest.approx(row["messages"], rel=1e-4)
        rate = row["messages_per_second"] * row["bytes"] * in_each
        assert row["bytes_per_second"] == pytest.approx(rate, rel=1e-4)
        if row["pattern"] == "overlap":
            assert math.isfinite(row["overlap"])
        else:
            assert row["counted_messages"] == row["messages"]
            assert row["counted_bytes"] == row["messages"] * row["bytes"] * in_each


def test_exchanges_are_printed_as_a_table(tmp_path: Path) -> None:
    said = run("bench", "exchange", *EXCHANGE, cwd=tmp_path, ranks=2).stdout
    assert re.search(r"^both_ways +shared +in a node +2 +1 +0 +1 +5000 +1 ", said, re.MULTILINE)
    assert re.search(r"^sum +2 +12 +[.0-9]+$", said, re.MULTILINE)


WRONG = [
    (("exchange",), "messages travel between two or more ranks, and this is one: mpirun -n 2 trellis bench"),
    (("exchange", "--bytes", "0"), "--bytes: expected an integer from 1 to 67108864, found '0'"),
    (("wilson", "--seconds", "0"), "--seconds: expected a number above 0 and up to 3600, found '0'"),
    (("wilson", "--seconds", "-1"), "--seconds: expected a number above 0 and up to 3600, found '-1'"),
    (("wilson", "--seconds", "nan"), "--seconds: expected a number above 0 and up to 3600, found 'nan'"),
    (("wilson", "--seconds", "abc"), "--seconds: expected a number above 0 and up to 3600, found 'abc'"),
    (("wilson", "--precision", ""), "--precision: unknown precision ''; legal: double, float (or single)"),
    (("wilson", "--lattice", ""), "--lattice: expected four extents such as 16.16.16.16, found ''"),
    (("wilson", "--lattice", "4.4.4.5"), "--lattice: expected even extents, found '4.4.4.5'"),
    (("wilson", "--lattice", "4.4.4.0"), "--lattice: expected an integer from 2 to 512, found '0'"),
    (("wilson", "--link-reals", "10"), "--link-reals: expected one of 18, 12, 8, found '10'"),
    (("wilson", "--rhs", "1,0"), "--rhs: expected an integer from 1 to 256, found '0'"),
    (("wilson", "--rhs=1,x"), "--rhs: expected an integer from 1 to 256, found 'x'"),
    (
        ("wilson", "--threads", "0"),
        f"--threads: expected an integer from 1 to {MOST_THREADS}, found '0'",
    ),
    (("wilson", "--rounds", "1.5"), "--rounds: expected an integer from 1 to 1000, found '1.5'"),
    (("wilson", "--rhs"), "option --rhs needs a value"),
    (("wilson", "--ls", "8"), "this benchmark has no option --ls; --help lists those that it has"),
    (("wilson", "--speed"), "this benchmark has no option --speed; --help lists those that it has"),
    (("wilson", "fast"), "this benchmark has no option fast; --help lists those that it has"),
    (("wilson", "--precision", "fp16", "--link-reals", "8"), "nothing to measure: no combination"),
    (("gauge", "--link-reals", "12"), "this benchmark has no option --link-reals"),
    (("domain_wall", "--rhs", "8"), "this benchmark has no option --rhs"),
    (("domain_wall", "--ls", "1"), "--ls: expected an integer from 2 to 32, found '1'"),
    (("wilson", "--json", "--markdown"), "--json excludes --markdown"),
    (("multigrid", "--kappa", "0.1,x"), "--kappa: expected a number from 0.01 to 1, found 'x'"),
    (("multigrid", "--vectors", "97"), "--vectors: expected an integer from 1 to 96, found '97'"),
    (("multigrid", "--smoother", "x"), "--smoother: multigrid has the smoothers auto, sap and mr, not x"),
    (("multigrid", "--block", "4.4"), "--block: expected four extents such as 4.4.4.4, found '4.4'"),
    (("multigrid", "--gauge", ""), "--gauge: expected a text that is not empty"),
    (("solver", "--check"), "this benchmark has no option --check"),
]


@pytest.mark.parametrize(("words", "text"), WRONG, ids=[" ".join(words) for words, _ in WRONG])
def test_wrong_options(tmp_path: Path, words: tuple[str, ...], text: str) -> None:
    """With --json wrong options are told on standard output too."""
    found = run("bench", *words, cwd=tmp_path, status=2)
    assert f"error: {text}" in found.stderr
    assert found.stdout == "" or "--json" in words
    found = run("bench", words[0], "--json", *words[1:], cwd=tmp_path, status=2)
    assert json.loads(found.stdout)["error"].startswith(text)
    assert "required" not in found.stderr


def test_wrong_options_are_told_once(tmp_path: Path) -> None:
    found = run("bench", "wilson", "--seconds", "0", cwd=tmp_path, ranks=2, status=2)
    assert found.stderr.count("error: --seconds") == 1


def test_combinations_that_there_are_not(tmp_path: Path) -> None:
    """A combination that there is not is left out with a line, beside what there is."""
    options = ("--precision", "float,fp16", "--link-reals", "8", "--json")
    found = run("bench", "wilson", *SMALL, *options, cwd=tmp_path)
    assert [r["precision"] for r in json.loads(found.stdout)["results"]] == ["float"]
    assert found.stderr.count("skipped: fp16, 8 link reals: links are not stored so") == 1
    found = run("bench", "solver", *SMALL, "--precision", "half", "--link-reals", "8", "--json", cwd=tmp_path)
    assert "skipped" not in found.stderr
    assert "cg double-fp16" not in {r["solver"] for r in json.loads(found.stdout)["results"]}


@pytest.mark.parametrize("what", [*KERNELS, *SOLVERS, "multigrid"])
def test_help_lists_the_options(tmp_path: Path, what: str) -> None:
    said = run("bench", what, "--help", cwd=tmp_path).stdout
    assert f"\nusage: bench_{what} [OPTIONS]\n" in said
    assert re.search(r"--lattice X\.Y\.Z\.T,\.\.\.=[.,0-9]+\s+even extents", said)
    assert ("--ls N,...=12" in said) == what.startswith("domain_wall")
    assert ("--check" in said) == (what in KERNELS)
